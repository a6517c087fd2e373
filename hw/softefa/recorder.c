/* SPDX-License-Identifier: MIT */
#include "recorder.h"

#include "events.h"
#include "files.h"
#include "stack.h"

static __thread const struct srd_recorder_asked *asked_now;

const struct srd_recorder_asked *soft_recorder_asked(void)
{
	return asked_now;
}

static bool on(void)
{
	return soft_events_wanted();
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

static void put(void *events, uint32_t num, struct srd_event *tail)
{
	uint8_t *at = events;

	if (!soft_events_wanted() || soft_lock())
		return;
	for (uint32_t i = 0; i < num; i++) {
		struct srd_event *event = (struct srd_event *)at;

		soft_event(event);
		at += srd_event_infos[event->type].size;
	}
	if (tail)
		soft_event(tail);
	soft_unlock();
}

__attribute__((visibility("default"))) const struct srd_recorder srdlab_recorder = {
	.on = on,
	.asked = asked,
	.number = number,
	.stack = soft_stack,
	.put = put,
};
