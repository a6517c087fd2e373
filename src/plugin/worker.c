/* SPDX-License-Identifier: MIT */
/* The side of the process that the plug-in runs in. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/blame.h"
#include "plugin/process.h"
#include "verbs/alloc.h"

static struct {
	int answer;
	int events;
	size_t used;
	char buffer[65536];
} channel = {-1, -1, 0, {0}};

static bool send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EBADF)
			srd_blame_closed();
		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

/* In a handler too. Where nobody reads any more there is nobody to tell. */
static void flush(void)
{
	size_t used = channel.used;

	srd_blame_process();
	channel.used = 0;
	send_all(channel.events, channel.buffer, used);
}

void srd_plugin_process_event(void *unused, const struct srd_event *event)
{
	size_t size = srd_event_infos[event->type].size;

	if (sizeof(channel.buffer) - channel.used < size)
		flush();
	memcpy(channel.buffer + channel.used, event, size);
	channel.used += size;
}

int srd_plugin_process_answer(char kind, const char *text)
{
	srd_blame_stop();
	flush();
	return send_all(channel.answer, &kind, 1) && send_all(channel.answer, text, strlen(text))
		       ? 0
		       : -EPIPE;
}

static int read_request(int fd, char **request, struct srd_error *error)
{
	struct stat info;
	char *text;

	if (fstat(fd, &info))
		return srd_error_set(error, -errno, "the request cannot be read: %m");
	text = srd_malloc((size_t)info.st_size + 1);
	if (!text)
		return srd_error_set(error, -ENOMEM, "out of memory");
	if (pread(fd, text, (size_t)info.st_size, 0) != info.st_size) {
		srd_free(text);
		return srd_error_set(error, -EIO, "the request cannot be read: %m");
	}
	close(fd);
	text[info.st_size] = '\0';
	*request = text;
	return 0;
}

int srd_plugin_process_open(int argc, char **argv, char **request, struct srd_error *error)
{
	struct srd_blame_page *page;

	if (argc != 5)
		return srd_error_set(error, -EINVAL, "this is started by srdlab run only");
	signal(SIGINT, SIG_IGN); /* the parent decides */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	channel.answer = atoi(argv[2]);
	channel.events = atoi(argv[3]);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[4]), 0);
	if (page == MAP_FAILED)
		return srd_error_set(error, -errno, "no page that the parent sees: %m");
	close(atoi(argv[4]));
	if (read_request(atoi(argv[1]), request, error))
		return error->code;
	return srd_blame_start(channel.answer, flush, page, error);
}
