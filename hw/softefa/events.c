/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "hold.h"

#define RING_SIZE  (8u << 20)
#define WAIT       100000 /* ns, for a reader that is behind */
#define LOOK_AFTER 1000   /* waits, after which it may have died */

static uint64_t rounded(uint32_t length)
{
	return (length + 7u) & ~7ull;
}

static uint8_t *ring_at(uint64_t position)
{
	return (uint8_t *)soft.events + SOFT_PAGE + (position & (soft.events->size - 1));
}

/* The ring twice in a row, so that a record that crosses its end is whole. */
static int map_ring(int fd, uint32_t size)
{
	uint8_t *at = mmap(NULL, SOFT_PAGE + 2ull * size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int flags = MAP_SHARED | MAP_FIXED, access = PROT_READ | PROT_WRITE;

	if (at == MAP_FAILED)
		return -errno;
	if (mmap(at, SOFT_PAGE + size, access, flags, fd, 0) == MAP_FAILED ||
	    mmap(at + SOFT_PAGE + size, size, access, flags, fd, SOFT_PAGE) == MAP_FAILED) {
		int err = -errno;

		munmap(at, SOFT_PAGE + 2ull * size);
		return err;
	}
	soft.events = (struct soft_events *)at;
	return 0;
}

static int open_ring(const char *folder, int flags)
{
	char path[192];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/events", folder);
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	if (flags & O_CREAT && ftruncate(fd, (off_t)SOFT_PAGE + RING_SIZE))
		err = -errno;
	if (!err)
		err = map_ring(fd, RING_SIZE);
	close(fd);
	return err;
}

/* An event of the model, which knows objects by their handles. */
static void model_event(void *reader, const struct srd_event *event)
{
	union {
		struct srd_event ev;
		struct srd_ev_dev_cqe cqe;
		uint8_t bytes[SRD_EVENT_MAX_SIZE];
	} copy;

	if (!soft_events_wanted() || (event->type == SRD_EV_DEV_PACKET && !soft.events->packets))
		return;
	memcpy(&copy, event, srd_event_infos[event->type].size);
	copy.ev.object = soft_object(event->object)->name;
	if (event->type == SRD_EV_DEV_CQE)
		copy.cqe.qp = soft_object(copy.cqe.qp)->name;
	soft_event(&copy.ev);
}

static struct srd_stream stream = {
	.fn = model_event,
};

int soft_events_create(const char *folder, bool packets)
{
	int err = open_ring(folder, O_CREAT | O_EXCL);

	if (err)
		return err;
	soft.events->size = RING_SIZE;
	soft.events->packets = packets;
	soft.events->reader = (int32_t)getpid();
	__atomic_store_n(&soft.events->on, 1, __ATOMIC_RELEASE);
	soft.model.stream = &stream;
	soft.group->recorded = 1;
	return 0;
}

int soft_events_attach(const char *folder)
{
	int err = soft.group->recorded ? open_ring(folder, 0) : 0;

	if (soft.events)
		soft.model.stream = &stream;
	return err;
}

void soft_events_detach(void)
{
	if (soft.events)
		munmap(soft.events, SOFT_PAGE + 2ull * soft.events->size);
	soft.events = NULL;
}

static void wake_reader(struct soft_events *e)
{
	if (!__atomic_load_n(&e->asleep, __ATOMIC_RELAXED))
		return;
	__atomic_add_fetch(&e->wake, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &e->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* False: nobody reads any more. */
static bool make_room(struct soft_events *e, uint64_t bytes)
{
	struct timespec time = {0, WAIT};

	for (uint32_t i = 1;
	     e->head + bytes - __atomic_load_n(&e->tail, __ATOMIC_ACQUIRE) > e->size; i++) {
		if (!soft_events_wanted())
			return false;
		wake_reader(e);
		nanosleep(&time, NULL);
		/* Its number means nothing in another PID namespace. */
		if (i % LOOK_AFTER == 0 && kill(e->reader, 0) && errno == ESRCH &&
		    !soft_held(soft.folder, SOFT_FIRST))
			__atomic_store_n(&e->on, 0, __ATOMIC_RELAXED);
	}
	return true;
}

static void put(const void *head, uint32_t head_length, const void *rest, uint32_t rest_length)
{
	struct soft_events *e = soft.events;
	struct soft_record record = {
		.length = (uint32_t)sizeof(record) + head_length + rest_length,
		.pid = soft.process ? soft.group->process[soft.process].pid : 0,
	};
	uint64_t bytes = rounded(record.length);
	uint8_t *at;

	if (!make_room(e, bytes))
		return;
	at = ring_at(e->head);
	memcpy(at, &record, sizeof(record));
	memcpy(at + sizeof(record), head, head_length);
	if (rest_length)
		memcpy(at + sizeof(record) + head_length, rest, rest_length);
	__atomic_store_n(&e->head, e->head + bytes, __ATOMIC_RELEASE);
	if (e->head - __atomic_load_n(&e->tail, __ATOMIC_RELAXED) > e->size / 2)
		wake_reader(e);
}

void soft_event(struct srd_event *event)
{
	event->time = srd_model_now(&soft.model);
	put(event, srd_event_infos[event->type].size, NULL, 0);
}

static struct soft_context *context_of(uint32_t file)
{
	for (uint32_t i = 0; i < SOFT_MAX_CONTEXTS; i++)
		if (soft.group->context[i].file == file)
			return &soft.group->context[i];
	return NULL;
}

void soft_context_opened(uint32_t file, uint32_t host)
{
	struct soft_context *context = context_of(0);

	if (context)
		*context = (struct soft_context){file, (uint8_t)soft.process, (uint8_t)host};
}

void soft_context_closed(uint32_t file)
{
	struct soft_context *context = context_of(file);

	if (context)
		context->file = 0;
}

/* One that has ended by itself left its objects: that is for the rules. */
void soft_contexts_lost(uint32_t process)
{
	for (uint32_t i = 0; i < SOFT_MAX_CONTEXTS; i++) {
		struct soft_context *context = &soft.group->context[i];
		struct srd_event event = {
			.type = SRD_EV_CONTEXT_LOST,
			.source = SRD_SOURCE_SEAM,
			.host = context->host,
			.object = context->file,
		};

		if (!context->file || context->process != process)
			continue;
		if (soft_events_wanted() && !soft.group->process[process].exits)
			soft_event(&event);
		context->file = 0;
	}
}

uint32_t soft_event_stack(const char *text, uint32_t length)
{
	struct srd_event event = {.type = SOFT_EVENT_STACK};

	if (!soft_events_wanted())
		return 0;
	event.line = ++soft.events->last_stack;
	put(&event, sizeof(event), text, length);
	return event.line;
}

const struct soft_record *soft_event_peek(void)
{
	struct soft_events *e = soft.events;

	if (__atomic_load_n(&e->head, __ATOMIC_ACQUIRE) == e->tail)
		return NULL;
	return (const struct soft_record *)ring_at(e->tail);
}

void soft_event_next(const struct soft_record *record)
{
	__atomic_store_n(&soft.events->tail, soft.events->tail + rounded(record->length),
			 __ATOMIC_RELEASE);
}
