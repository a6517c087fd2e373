/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "recorder.h"

#include "blind.h"
#include "events.h"
#include "files.h"
#include "stack.h"
#include "wrap.h"

static __thread const struct srd_recorder_asked *asked_now;

const struct srd_recorder_asked *soft_recorder_asked(void)
{
	return asked_now;
}

static bool on(void)
{
	return soft_events_wanted();
}

static bool all(void)
{
	return soft.events->all;
}

static void asked(const struct srd_recorder_asked *what)
{
	asked_now = what;
}

static uint32_t number(enum srd_recorder_kind kind, int fd, uint32_t handle, uint8_t *host)
{
	static const enum soft_kind kinds[] = {
		[SRD_RECORDER_CQ] = SOFT_CQ,
		[SRD_RECORDER_QP] = SOFT_QP,
		[SRD_RECORDER_AH] = SOFT_AH,
	};
	uint32_t file = soft_file_of_fd(fd), name = 0;
	struct soft_object *object;

	if (!file || soft_lock())
		return 0;
	object = soft_object_find(handle, kinds[kind], file);
	if (object) {
		name = object->name;
		object->observed = true;
		*host = (uint8_t)soft_host_of_fd(fd);
	}
	soft_unlock();
	return name;
}

static uint32_t op(void)
{
	return soft_events_wanted() ? __atomic_add_fetch(&soft.events->last_op, 1, __ATOMIC_RELAXED)
				    : 0;
}

/* A region of another process has these addresses too: the stream cannot tell them apart. */
static bool is_ambiguous(uint64_t addr, uint64_t length)
{
	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		const struct soft_object *object = soft_object(i);

		if (object->kind == SOFT_MR && object->process != soft.process &&
		    srd_model_mr_meets(&soft.model, object->model, addr, length))
			return true;
	}
	return false;
}

/* The stream knows memory as buffers: here is one, only just to go. */
static void freed(int fd, uint64_t addr, uint64_t length)
{
	uint32_t line = soft_stack();
	struct srd_ev_buffer_alloc made = {
		.ev = {.type = SRD_EV_BUFFER_ALLOC,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)soft_host_of_fd(fd),
		       .line = line},
		.addr = addr,
		.length = length,
	};
	struct srd_event gone = made.ev;

	if (!soft_file_of_fd(fd) || !soft_events_wanted() || soft_lock())
		return;
	if (is_ambiguous(addr, length)) {
		soft_unlock();
		return;
	}
	made.ev.object = gone.object = ++soft.group->last_name;
	gone.type = SRD_EV_BUFFER_FREE;
	soft_event(&made.ev);
	soft_event(&gone);
	soft_unlock();
}

static bool is_queue(const struct soft_object *object, uint64_t name)
{
	return (object->kind == SOFT_QP || object->kind == SOFT_CQ) && object->name == name;
}

/* The queue that EVENT is about, which this process may have from its parent; NULL. */
static struct soft_object *find_queue(const struct srd_event *event)
{
	static uint32_t
		last; /* the handle of the one that was found; mostly it is asked for again */

	if (last && is_queue(soft_object(last), event->object))
		return soft_object(last);
	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		if (!is_queue(soft_object(i), event->object))
			continue;
		last = i;
		return soft_object(i);
	}
	return NULL;
}

/*
 * The library's counters are each process's own since the fork: each takes the entries that the
 * others took, and gives slots that they gave. No device could tell these requests apart.
 */
static void shared(struct soft_object *queue)
{
	static bool said;

	soft_blind_take_over(queue, SOFT_NOBODY);
	if (!said)
		dprintf(STDERR_FILENO,
			"srdlab: process %d uses queues that were made before fork: posts and "
			"completions of these are neither judged nor traced from here on\n",
			(int)getpid());
	said = true;
}

static bool is_use(const struct srd_event *event)
{
	return event->type == SRD_EV_WR_POST || event->type == SRD_EV_RECV_POST ||
	       event->type == SRD_EV_WC;
}

/* Of what has another teller some goes by the functions that are seen. */
static void put_one(const struct srd_event *event)
{
	bool used = soft.parent && is_use(event);
	struct soft_object *queue = NULL;

	if (soft.group->taken_over || used)
		queue = find_queue(event);
	if (queue && used && queue->process != soft.process && queue->teller == SOFT_OBSERVER)
		shared(queue);
	if (!queue || queue->teller == SOFT_OBSERVER)
		soft_event(event);
}

static void put(const struct srd_event *head, const void *events, uint32_t num,
		const struct srd_event *tail)
{
	const uint8_t *at = events;

	if (!soft_events_wanted() || soft_lock())
		return;
	if (head)
		put_one(head);
	for (uint32_t i = 0; i < num; i++) {
		const struct srd_event *event = (const struct srd_event *)at;

		put_one(event);
		at += srd_event_infos[event->type].size;
	}
	if (tail)
		put_one(tail);
	soft_unlock();
}

__attribute__((visibility("default"))) const struct srd_recorder srdlab_recorder = {
	.on = on,
	.all = all,
	.asked = asked,
	.number = number,
	.hold = soft_posts_hold,
	.release = soft_posts_release,
	.stack = soft_stack,
	.op = op,
	.freed = freed,
	.put = put,
};
