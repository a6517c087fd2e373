/* SPDX-License-Identifier: MIT */
/*
 * Every order of a scenario: it is run again and again, and each time the fabric could
 * deliver more than one thing next, another one is chosen, depth first.
 *
 * Orders that do not differ in effect are run once. What has happened up to a choice is
 * summed up so that the order of what commutes does not count: deliveries to different
 * completion queues; messages that reach disjoint memory, or only read the same; receives
 * of different queue pairs. What the script sees (what it polls from each queue, what it
 * reads of memory) and does (each queue pair's posts) counts in its order. Where a sum was
 * met before, everything from there on was run before, and the run ends early. Told apart
 * is not how often a script looked in vain, and which of two queues had its entry first.
 */
#ifndef SRD_LUA_ORDERS_H
#define SRD_LUA_ORDERS_H

#include <srdlab/chooser.h>
#include <srdlab/error.h>
#include <srdlab/event.h>

#define SRD_ORDERS_MAX 1000 /* unless said otherwise */

struct srd_orders;

/*
 * All orders; or the one that ORDER, as srd_orders_text gives it, says (NULL: all). -EINVAL:
 * it is none; -ENOMEM.
 */
int srd_orders_open(const char *order, struct srd_orders **out, struct srd_error *error);
void srd_orders_close(struct srd_orders *orders);

/* What to give to the backend; a reader of the stream. */
struct srd_chooser *srd_orders_chooser(struct srd_orders *orders);
srd_event_fn srd_orders_event;
/* The script reads LENGTH bytes from ADDR on, which hash to SEEN; or writes them. */
void srd_orders_access(struct srd_orders *orders, uint64_t addr, uint64_t length, bool write,
		       uint64_t seen);

/* A run begins; its script is over, and nothing is chosen any more. */
void srd_orders_begin(struct srd_orders *orders);
void srd_orders_stop(struct srd_orders *orders);
/* The run was ended early: it is as one before. */
bool srd_orders_is_known(const struct srd_orders *orders);
/* It ended, and in another way than all before. */
bool srd_orders_is_new(const struct srd_orders *orders);
/* To be called once after each run. True: there is another order to be run. -ENOMEM: 0. */
bool srd_orders_next(struct srd_orders *orders);
bool srd_orders_is_single(const struct srd_orders *orders);
bool srd_orders_no_memory(const struct srd_orders *orders);

/* The choices of this run, such as "0.2.1", for srd_free; NULL: out of memory. */
char *srd_orders_text(const struct srd_orders *orders);
/* In words, a line for each choice where the first did not come; for srd_free. */
char *srd_orders_explain(const struct srd_orders *orders);

#endif
