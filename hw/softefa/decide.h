/* SPDX-License-Identifier: MIT */
/*
 * The decision log. The model is a function of what it is given and of when it moves in
 * between, so that is all the log holds: an entry for each section in which a process gave
 * the device something (SOFT_ENTER to SOFT_ASK) or moved it, with the number of events that
 * took place, and of polls since the entry before. It lies in a file that all processes map.
 *
 * In a replay each section waits for its turn, and moves the device by as many events as it
 * did then; what the supervisor did is done by whoever comes to it. A poll finds something only
 * where it did then. So a program that does the same again finds the same completions at the
 * same calls. With the lock held, unless a function says otherwise.
 */
#ifndef SRD_SOFTEFA_DECIDE_H
#define SRD_SOFTEFA_DECIDE_H

#include "group.h"

enum soft_section {
	SOFT_NO_SECTION,
	SOFT_ENTER,   /* a process is new in the group */
	SOFT_LEAVE,   /* and one is gone: the supervisor found it */
	SOFT_COMMAND, /* a call of the kernel; object: which */
	SOFT_POST,    /* object: queue pair */
	SOFT_REQUEST_EVENT,
	SOFT_POLL,  /* object: completion queue, which was empty */
	SOFT_FOUND, /* in which there was something; events: so many entries, 0: it is not known */
	SOFT_HELP,  /* the supervisor moved the device */
};

#define SOFT_COMMAND_OPEN  0xffff0000u
#define SOFT_COMMAND_CLOSE 0xfffe0000u
#define SOFT_COMMAND_FAULT 0xfffd0000u

enum soft_decide { SOFT_FREE_COURSE, SOFT_RECORDS, SOFT_REPLAYS };

struct soft_decisions {
	uint32_t mode; /* enum soft_decide */
	uint32_t num;
	uint32_t capacity;
	uint32_t next;    /* in a replay */
	uint32_t polls;   /* since the last entry */
	uint32_t helping; /* the supervisor moves the device: polls wait */
	uint32_t several; /* the log is of more than one process */
	uint32_t replay;  /* it is one, or was before the program left it */
	uint32_t strays;  /* the program did something else than the log says */
	uint32_t left;    /* events that this section has still to take, in a replay */
	uint64_t since;   /* real ns: of the last progress in a replay */
	struct srd_launch_decision now; /* the section that is open */
	struct srd_launch_decision list[];
};

/* For the launcher: make the log of the group that was just made, to record or to replay LOG. */
int soft_decide_create(const char *folder, const struct srd_launch_log *log, bool replay);
/* All that was recorded into *LOG; or a complaint, where a replay was not over. */
int soft_decide_finish(struct srd_launch_log *log);
/* Map the log of a group that has one. A negative errno. */
int soft_decide_attach(const char *folder);
void soft_decide_detach(void);

static inline enum soft_decide soft_decides(void)
{
	return soft.decisions
		       ? (enum soft_decide)__atomic_load_n(&soft.decisions->mode, __ATOMIC_RELAXED)
		       : SOFT_FREE_COURSE;
}

int soft_turn_wait(enum soft_section kind, uint32_t object);
void soft_turn_end(void);
bool soft_turn_poll(uint32_t cq);
bool soft_poll_turn(uint32_t cq, int *num);
void soft_poll_tell(uint32_t cq, int num);
void soft_poll_over(void);

/*
 * A section begins, once it is its turn; the lock may have been free in between. 0, or EIO,
 * and then the lock is not held.
 */
static inline int soft_turn(enum soft_section kind, uint32_t object)
{
	return soft_decides() ? soft_turn_wait(kind, object) : 0;
}

/* It is over. */
static inline void soft_turn_over(void)
{
	if (soft_decides())
		soft_turn_end();
}

/* Whether the program that polls CQ may move the device now; if so a section begins. */
static inline bool soft_may_move(uint32_t cq)
{
	return !soft_decides() || soft_turn_poll(cq);
}

/*
 * The program polls CQ for *NUM entries at most, which may become fewer; false: then it found
 * nothing. It has found NUM without moving the device; its poll is over. Without the lock.
 */
static inline bool soft_poll_begin(uint32_t cq, int *num)
{
	return !soft_decides() || soft_poll_turn(cq, num);
}

static inline void soft_poll_found(uint32_t cq, int num)
{
	if (soft_decides() == SOFT_RECORDS)
		soft_poll_tell(cq, num);
}

static inline void soft_poll_end(void)
{
	if (soft_decides())
		soft_poll_over();
}

/* Whether the supervisor may move the device; if so a section begins. */
bool soft_may_help(void);

/* Whether the supervisor may take away what PROCESS, which is dead, had; if so a section begins. */
bool soft_may_bury(uint32_t process);

/* Events that this section is to take in a replay: what there is to take them is engine.c's. */
static inline uint32_t *soft_events_left(void)
{
	return soft_decides() == SOFT_REPLAYS ? &soft.decisions->left : NULL;
}
/* It cannot take them all. */
void soft_events_lack(void);
/* NUM took place. */
static inline void soft_events_took(uint32_t num)
{
	if (soft.decisions)
		soft.decisions->now.events += num;
}

#endif
