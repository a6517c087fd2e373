/* SPDX-License-Identifier: MIT */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drain.h"
#include "events.h"

#define PAUSE 5000000 /* ns, unless a writer finds the ring half full before */

static const struct srd_launch_record *record;
static pthread_t thread;
static uint32_t ending;

static void hand_on(const struct soft_record *r, uint32_t length)
{
	union {
		struct srd_event ev;
		uint8_t bytes[SRD_EVENT_MAX_SIZE];
	} copy;
	const uint8_t *at = (const uint8_t *)(r + 1);
	struct srd_stream *stream = record->stream;

	/* All there can be of it: a few moves. */
	memcpy(copy.bytes, at, sizeof(copy.bytes));
	if (copy.ev.type == SOFT_EVENT_STACK && length >= sizeof(copy.ev)) {
		record->stack(record->context, copy.ev.line, r->pid,
			      (const char *)at + sizeof(copy.ev), length - sizeof(copy.ev));
		return;
	}
	/* A program that writes to the ring itself is no reason to fall over. */
	if (copy.ev.type >= SRD_NUM_EVENT_TYPES || length != srd_event_infos[copy.ev.type].size)
		return;
	stream->now = copy.ev.time;
	stream->line = copy.ev.line;
	stream->op = copy.ev.op;
	srd_stream_emit(stream, &copy.ev);
}

static void read_all(void)
{
	while (soft_events_read(hand_on))
		;
}

static void pause_reading(void)
{
	struct timespec time = {0, PAUSE};
	struct soft_events *e = soft.events;
	uint32_t seen = __atomic_load_n(&e->wake, __ATOMIC_ACQUIRE);

	__atomic_store_n(&e->asleep, 1, __ATOMIC_RELAXED);
	syscall(SYS_futex, &e->wake, FUTEX_WAIT, seen, &time, NULL, 0);
	__atomic_store_n(&e->asleep, 0, __ATOMIC_RELAXED);
}

static void *run(void *unused)
{
	while (!__atomic_load_n(&ending, __ATOMIC_ACQUIRE)) {
		read_all();
		pause_reading();
	}
	return NULL;
}

/* The supervisor's signals are for its own thread. */
int soft_drain_start(const struct srd_launch_record *r)
{
	sigset_t all, before;
	int err;

	record = r;
	ending = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

void soft_drain_end(void)
{
	bool locked = !soft_lock();

	/* What the others of the group do from here on is not seen. */
	for (uint32_t i = 1; locked && i < SOFT_MAX_PROCESSES; i++)
		if (soft.group->process[i].pid)
			soft_contexts_lost(i);
	__atomic_store_n(&soft.events->on, 0, __ATOMIC_RELAXED);
	if (locked)
		soft_unlock();
	__atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	read_all();
}
