/* SPDX-License-Identifier: MIT */
/*
 * From doorbells to the model, from the model to the rings, and who moves the device when.
 * The device has no thread: it moves in the calls of the programs that use it, and where
 * these do not come, the supervisor (launch.c) moves it after a while. With the lock held,
 * unless a function says otherwise.
 */
#ifndef SRD_SOFTEFA_ENGINE_H
#define SRD_SOFTEFA_ENGINE_H

#include "group.h"

/* Give MODEL the ways to our memory and rings. */
void soft_engine_attach(struct srd_model *model);

/* Take what the program has put into the queues of QP since the last time; how much it was. */
uint32_t soft_doorbell(struct soft_object *qp);
/* How far the program has read CQ, as far as it told. */
void soft_cq_look(struct soft_object *cq);
/* Whether it has read all that is in it, as far as it told: no lock is needed. */
bool soft_cq_is_read(const struct soft_object *cq);
/*
 * Whether it tells. With several rings the doorbell says how far in all of them; external memory
 * has none; and who reads the ring without libefa need not ring it, as the device minds only
 * requests for events.
 */
bool soft_cq_tells(const struct soft_object *cq);
/* Its doorbell as the program left it; as what follows without the lock. */
uint32_t soft_cq_doorbell_word(const struct soft_object *cq);
/*
 * How many entries were ever written to CQ, 0 where that is not one number; and a poll that
 * began when there were WRITTEN has found no more.
 */
uint32_t soft_cq_written(const struct soft_object *cq);
void soft_cq_saw_empty(struct soft_object *cq, uint32_t written);
/* Whether there is anything that it would take. */
bool soft_doorbell_waits(const struct soft_object *qp);
/* The program has read entries, or asks for an event. */
void soft_cq_doorbell(struct soft_object *cq);

/*
 * Move the device: until CQ has an entry, where one is given, else until nothing is left
 * that could happen now. Returns how many events took place.
 */
uint32_t soft_run(const struct soft_object *cq);
/* From now on, for this process: it is moved by soft_run, or by its laboratory alone (lab.h). */
void soft_engine_pace(bool paced);
/* Whether there may be anything that could happen, at once or in time: no lock is needed. */
bool soft_busy(void);
/* Doorbells of queue pairs that nobody tells of. */
uint32_t soft_raw_doorbells(void);

/* Nobody tells of its doorbells, so that they must be looked at; somebody does. */
void soft_engine_qp_raw(struct soft_object *qp);
void soft_engine_qp_told(struct soft_object *qp);

/* What is counted and listed, anew: a process ended in the middle of it. */
void soft_engine_recount(void);

/* There is work that somebody has to see to, should the program not call. */
void soft_supervisor_wake(void);

#endif
