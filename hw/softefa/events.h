/* SPDX-License-Identifier: MIT */
/*
 * The stream on its way out of the programs: one ring in shared memory that all processes of
 * a group write to, with the group's lock held, and that the supervisor reads, without it
 * (drain.c). An event is there before the lock is released, so that the order in the ring is
 * the order in which the device was used. Where the ring is full the writer waits: nothing
 * is lost while somebody reads.
 *
 * Objects have numbers in the stream that are never used again, unlike handles.
 */
#ifndef SRD_SOFTEFA_EVENTS_H
#define SRD_SOFTEFA_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <srdlab/event.h>

#include "group.h"

/* A record that is no event: the stack whose number is in `line`, and the text of it. */
#define SOFT_EVENT_STACK 0xfffe

struct soft_events {
	uint32_t size;   /* bytes of the ring; a power of two */
	uint32_t on;     /* somebody reads */
	uint32_t all;    /* also what only a trace shows */
	int32_t reader;  /* process */
	uint32_t asleep; /* the reader waits for WAKE */
	uint32_t wake;   /* futex */
	uint32_t last_stack;
	uint32_t last_op;
	/* The writers' line and the reader's; each looks at the other's seldom. */
	_Alignas(64) uint64_t head; /* bytes ever written */
	uint64_t look_at;           /* from there on a writer looks how far the reader is */
	uint32_t entry_told;        /* a completion entry that was not lost */
	_Alignas(64) uint64_t tail; /* bytes ever read */
};

/* In front of each record. Records begin at multiples of 8. */
struct soft_record {
	uint32_t length; /* bytes, with this head, not rounded */
	int32_t pid;     /* whose */
};

/* Make the ring of the group in FOLDER that was just made, for the calling process to read. */
int soft_events_create(const char *folder, bool all);
/* Map the ring of a group that has one. A negative errno. */
int soft_events_attach(const char *folder);
void soft_events_detach(void);

static inline bool soft_events_wanted(void)
{
	return soft.events && __atomic_load_n(&soft.events->on, __ATOMIC_RELAXED);
}

/* Its time is now. With the lock held, as all that writes. */
void soft_event(const struct srd_event *event);
/* The process opens or closes a device; where it dies, the stream is told of what it had open. */
void soft_context_opened(uint32_t file, uint32_t host);
void soft_context_closed(uint32_t file);
void soft_contexts_lost(uint32_t process);
/* TEXT as the stack with a new number, which is returned; 0: nobody reads. */
uint32_t soft_event_stack(const char *text, uint32_t length);

/*
 * For the reader: READ gets records that are there, in turn, with LENGTH bytes behind the
 * head of each; false: there is none. The program may still write to them. Up to
 * SRD_EVENT_MAX_SIZE bytes can be read whatever LENGTH is.
 */
typedef void soft_event_read_fn(const struct soft_record *record, uint32_t length);
bool soft_events_read(soft_event_read_fn *read);

#endif
