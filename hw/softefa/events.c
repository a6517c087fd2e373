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
#define LOOKS      32     /* a ring, of each of reader and writers at the other */
#define AHEAD      512    /* bytes that the reader fetches before it comes to them */

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

static srd_event_fn model_event;

static struct srd_stream stream = {
	.fn = model_event,
};

int soft_events_create(const char *folder, bool all)
{
	int err = open_ring(folder, O_CREAT | O_EXCL);

	if (err)
		return err;
	soft.events->size = RING_SIZE;
	soft.events->all = all;
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

/*
 * Whether there is room for BYTES more; false: nobody reads any more. It is asked for a part of
 * the ring at a time: where the reader is lies in a line of memory that it writes to.
 */
__attribute__((noinline)) static bool make_room(struct soft_events *e, uint64_t bytes)
{
	struct timespec time = {0, WAIT};
	uint64_t tail = __atomic_load_n(&e->tail, __ATOMIC_ACQUIRE), end = e->head + bytes;

	for (uint32_t i = 1; end - tail > e->size; i++) {
		if (!soft_events_wanted())
			return false;
		wake_reader(e);
		nanosleep(&time, NULL);
		/* Its number means nothing in another PID namespace. */
		if (i % LOOK_AFTER == 0 && kill(e->reader, 0) && errno == ESRCH &&
		    !soft_held(soft.folder, SOFT_FIRST))
			__atomic_store_n(&e->on, 0, __ATOMIC_RELAXED);
		tail = __atomic_load_n(&e->tail, __ATOMIC_ACQUIRE);
	}
	if (end - tail > e->size / 2)
		wake_reader(e);
	e->look_at = end + e->size / LOOKS;
	if (e->look_at > tail + e->size)
		e->look_at = tail + e->size;
	return true;
}

/* Room for a record with LENGTH bytes behind its head: where they go; NULL: nobody reads. */
static void *begin_record(uint32_t length)
{
	struct soft_events *e = soft.events;
	struct soft_record *record;

	length += (uint32_t)sizeof(*record);
	if (e->head + rounded(length) > e->look_at && !make_room(e, rounded(length)))
		return NULL;
	record = (struct soft_record *)ring_at(e->head);
	record->length = length;
	record->pid = soft.process ? soft.group->process[soft.process].pid : 0;
	return record + 1;
}

/* It is whole: the reader may see it. */
static void end_record(uint32_t length)
{
	struct soft_events *e = soft.events;

	__atomic_store_n(&e->head, e->head + rounded((uint32_t)sizeof(struct soft_record) + length),
			 __ATOMIC_RELEASE);
}

/*
 * Whether only a trace shows it. Of completion entries that were not lost one tells rules that
 * they are told of.
 */
static bool is_for_show(const struct srd_event *event)
{
	bool told = soft.events->entry_told;

	if (event->type != SRD_EV_DEV_CQE || ((const struct srd_ev_dev_cqe *)event)->lost)
		return event->type == SRD_EV_DEV_PACKET;
	soft.events->entry_told = true;
	return told;
}

/* An event of the model, which knows objects by their handles. */
static void model_event(void *reader, const struct srd_event *event)
{
	uint32_t size = srd_event_infos[event->type].size;
	struct srd_event *copy;

	if (!soft_events_wanted() || (!soft.events->all && is_for_show(event)))
		return;
	copy = begin_record(size);
	if (!copy)
		return;
	memcpy(copy, event, size);
	copy->time = srd_model_now(&soft.model);
	copy->object = soft_object(event->object)->name;
	if (event->type == SRD_EV_DEV_CQE) {
		struct srd_ev_dev_cqe *cqe = (struct srd_ev_dev_cqe *)copy;

		cqe->qp = soft_object(cqe->qp)->name;
	}
	end_record(size);
}

void soft_event(const struct srd_event *event)
{
	uint32_t size = srd_event_infos[event->type].size;
	struct srd_event *copy = begin_record(size);

	if (!copy)
		return;
	memcpy(copy, event, size);
	copy->time = srd_model_now(&soft.model);
	end_record(size);
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
	uint8_t *at;

	if (!soft_events_wanted())
		return 0;
	event.line = ++soft.events->last_stack;
	at = begin_record((uint32_t)sizeof(event) + length);
	if (!at)
		return 0;
	memcpy(at, &event, sizeof(event));
	memcpy(at + sizeof(event), text, length);
	end_record((uint32_t)sizeof(event) + length);
	return event.line;
}

/*
 * A writer that waits for room need not wait for all of it: a part of the ring at a time. A
 * record that cannot be was written by the program itself; nothing behind it can be found.
 */
bool soft_events_read(soft_event_read_fn *read)
{
	struct soft_events *e = soft.events;
	uint64_t head = __atomic_load_n(&e->head, __ATOMIC_ACQUIRE), tail = e->tail;
	uint64_t end = head - tail < e->size / LOOKS ? head : tail + e->size / LOOKS;

	if (head == tail)
		return false;
	while (tail < end) {
		const struct soft_record *record = (const struct soft_record *)ring_at(tail);
		uint32_t length = __atomic_load_n(&record->length, __ATOMIC_RELAXED);

		if (length < sizeof(*record) || rounded(length) > head - tail) {
			tail = head;
			break;
		}
		__builtin_prefetch((const uint8_t *)record + AHEAD);
		read(record, length - (uint32_t)sizeof(*record));
		tail += rounded(length);
	}
	__atomic_store_n(&e->tail, tail, __ATOMIC_RELEASE);
	return true;
}
