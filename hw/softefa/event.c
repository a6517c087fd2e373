/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdma/ib_user_verbs.h>

#include "engine.h"
#include "event.h"

static void channel_path(const struct soft_object *channel, char path[192])
{
	snprintf(path, 192, "%s/events-%u", soft.folder, soft_handle(channel));
}

int soft_channel_open(struct soft_object *channel)
{
	char path[192];
	int fd;

	channel_path(channel, path);
	if (mkfifo(path, 0600))
		return -errno;
	/* Both ways, so that it never seems closed at the other end. */
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void soft_channel_unlink(struct soft_object *channel)
{
	char path[192];

	channel_path(channel, path);
	unlink(path);
}

static int channel_reopen(uint32_t channel)
{
	char path[192];

	channel_path(soft_object(channel), path);
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

void soft_channel_event(struct soft_object *cq)
{
	struct ib_uverbs_comp_event_desc event = {.cq_handle = cq->user};
	int saved = errno, fd;

	if (!cq->cq.channel)
		return;
	fd = channel_reopen(cq->cq.channel);
	/* This process has no descriptor left, or another user or root: the supervisor does it. */
	if (fd < 0 && !cq->cq.due) {
		cq->cq.due = true;
		soft.group->due++;
		soft_supervisor_wake();
	}
	if (fd >= 0) {
		if (write(fd, &event, sizeof(event)) == sizeof(event))
			cq->cq.comp_events++;
		close(fd);
	}
	errno = saved;
}

void soft_channels_due(void)
{
	if (!soft.group->due || soft_lock())
		return;
	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		struct soft_object *object = soft_object(i);

		if (object->kind != SOFT_CQ || !object->cq.due)
			continue;
		soft_channel_event(object);
		object->cq.due = false;
	}
	soft.group->due = 0;
	soft_unlock();
}

uint32_t soft_channel_forget(struct soft_object *cq)
{
	struct ib_uverbs_comp_event_desc event;
	uint32_t unread = 0;
	int fd, waiting = 0;

	if (!cq->cq.channel || !cq->cq.comp_events)
		return 0;
	fd = channel_reopen(cq->cq.channel);
	if (fd < 0)
		return cq->cq.comp_events;
	if (ioctl(fd, FIONREAD, &waiting))
		waiting = 0;
	/* Each that waits, once: what is another queue's goes to the end again. */
	for (; waiting >= (int)sizeof(event); waiting -= (int)sizeof(event)) {
		if (read(fd, &event, sizeof(event)) != sizeof(event))
			break;
		if (event.cq_handle == cq->user)
			unread++;
		else if (write(fd, &event, sizeof(event)) != sizeof(event))
			break;
	}
	close(fd);
	return cq->cq.comp_events - unread;
}
