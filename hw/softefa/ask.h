/* SPDX-License-Identifier: MIT */
/*
 * A script over the programs lives in the process of `srdlab exec`, and the device in those
 * of the programs. So at a moment that the script wants, whoever holds the lock stops and
 * asks: it writes the moment into the group's memory, and carries out the commands that come
 * back, one after the other, until the script is done. There is no Lua in the program, which
 * may be in a handler of SIGSEGV or a child of fork, and one script for all processes. Should
 * either side die the other goes on. With the lock held.
 */
#ifndef SRD_SOFTEFA_ASK_H
#define SRD_SOFTEFA_ASK_H

#include "group.h"

static inline bool soft_asks(enum srd_launch_what what)
{
	return __atomic_load_n(&soft.group->script.wanted, __ATOMIC_RELAXED) >> what & 1;
}

/* Tell the script, which may do something about it now. */
void soft_ask_device(uint32_t host);
void soft_ask_queue_pair(const struct soft_object *qp);
/* REQUEST is submitted to QP next. */
void soft_ask_request(const struct soft_object *qp, const struct srd_request *request);
/* Its alarm came due. */
void soft_ask_time(void);

/* Perform COMMAND: 0 or a positive errno. */
int soft_lab(struct srd_launch_command *command);

/* The queue pair of that name; NULL: it is gone. */
struct soft_object *soft_qp_named(uint64_t name);
/* Its request of that number which is not completed; NULL. */
struct srd_request *soft_request_numbered(const struct soft_object *qp, uint64_t ordinal);

/* The name of QP in commands. */
static inline uint64_t soft_qp_name(const struct soft_object *qp)
{
	return (uint64_t)qp->name << 32 | soft_handle(qp);
}

/* Sleep on *WORD while it is SEEN, 100 ms at most; wake who sleeps on it. */
void soft_ask_sleep(uint32_t *word, uint32_t seen);
void soft_ask_wake(uint32_t *word);

#endif
