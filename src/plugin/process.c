/* SPDX-License-Identifier: MIT */
/* The side of the parent: one or two processes, followed to their ends. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugin/blame.h"
#include "plugin/process.h"
#include "verbs/alloc.h"
#include "verbs/event_text.h"

#define EVENT_ROOM   262144
#define ANSWER_LIMIT ((size_t)16 << 20)
#define GRACE        SRD_PLUGIN_GRACE   /* for its own end, then for telling where it hangs */
#define LOOK         UINT64_C(50000000) /* ns from one look at its memory to the next */

struct process {
	pid_t pid; /* 0: it is gone */
	int status;
	int answer_fd, events_fd; /* -1: at its end */
	int pid_fd;               /* readable when it is gone; -1: this kernel has none */
	bool gone;                /* who holds the pipes now is a child of its */
	bool killed;              /* it took no signal */
	bool outlived;            /* it closed its pipes and went on */
	bool too_large;
	struct srd_blame_page *page; /* shared with it; NULL: none yet */
	char *answer;
	size_t answered, answer_room;
	char *events; /* not yet looked at */
	size_t used;
	uint64_t count; /* events that were looked at */
	uint32_t line;
};

struct following {
	const struct srd_plugin_work *work;
	struct srd_plugin_answer *answer;
	struct process processes[2];
	int num;
	bool differ;
	uint64_t started; /* CLOCK_MONOTONIC ns */
};

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- starting --- */

static int execute(struct process *p, int request, int answer, int events, int page,
		   struct srd_error *error)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	const int fds[] = {request, answer, events, page};
	char numbers[4][12];
	char *argv[] = {
		(char *)SRD_PLUGIN_PROCESS, numbers[0], numbers[1], numbers[2], numbers[3], NULL};
	int rc;

	for (int i = 0; i < 4; i++)
		snprintf(numbers[i], sizeof(numbers[i]), "%d", fds[i]);
	rc = posix_spawn_file_actions_init(&actions);
	if (rc)
		return srd_error_set(error, -rc, "no process can be started: %s", strerror(rc));
	/* Its children go with it: they are of a group of its own. */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	/* To itself: the process keeps it. What the plug-in prints must not be a report. */
	for (int i = 0; i < 4 && !rc; i++)
		rc = posix_spawn_file_actions_adddup2(&actions, fds[i], fds[i]);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!rc)
		rc = posix_spawn(&p->pid, "/proc/self/exe", &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		p->pid = 0;
	else
		p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return rc ? srd_error_set(error, -rc, "no process can be started: %s", strerror(rc)) : 0;
}

/* The page that is shared with P, as a file; -1 with *error. */
static int share_page(struct process *p, struct srd_error *error)
{
	int page = memfd_create("page", MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (page >= 0 && !ftruncate(page, sizeof(*p->page)))
		at = mmap(NULL, sizeof(*p->page), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
	if (at != MAP_FAILED) {
		p->page = at;
		return page;
	}
	srd_error_set(error, -errno, "no page to share with a process: %m");
	if (page >= 0)
		close(page);
	return -1;
}

static int start(struct process *p, int request, struct srd_error *error)
{
	int answer[2], events[2], page, rc;

	p->events = srd_malloc(EVENT_ROOM);
	if (!p->events)
		return srd_error_set(error, -ENOMEM, "out of memory");
	page = share_page(p, error);
	if (page < 0)
		return error->code;
	if (pipe2(answer, O_CLOEXEC)) {
		rc = srd_error_set(error, -errno, "no pipe to a process: %m");
		close(page);
		return rc;
	}
	if (pipe2(events, O_CLOEXEC)) {
		rc = srd_error_set(error, -errno, "no pipe to a process: %m");
		close(page);
		close(answer[0]);
		close(answer[1]);
		return rc;
	}
	p->answer_fd = answer[0];
	p->events_fd = events[0];
	/* When it is gone, what is there is all, though a child of its may hold the other end. */
	fcntl(p->answer_fd, F_SETFL, O_NONBLOCK);
	fcntl(p->events_fd, F_SETFL, O_NONBLOCK);
	rc = execute(p, request, answer[1], events[1], page, error);
	close(page);
	close(answer[1]);
	close(events[1]);
	return rc;
}

static int start_all(struct following *f, struct srd_error *error)
{
	size_t length = strlen(f->work->request);
	int request = memfd_create("request", MFD_CLOEXEC);
	int rc = 0;

	if (request < 0)
		return srd_error_set(error, -errno, "no room for a request: %m");
	if (write(request, f->work->request, length) != (ssize_t)length)
		rc = srd_error_set(error, -EIO, "no room for a request: %m");
	for (int i = 0; i < f->num && !rc; i++)
		rc = start(&f->processes[i], request, error);
	close(request);
	return rc;
}

/* --- its events --- */

/* The first event that is there as a whole; NULL: none is. */
static const struct srd_event *first(const struct process *p, size_t at)
{
	const struct srd_event *event = (const struct srd_event *)(p->events + at);
	size_t left = p->used - at;

	if (left < sizeof(*event) || event->type >= SRD_NUM_EVENT_TYPES ||
	    left < srd_event_infos[event->type].size)
		return NULL;
	return event;
}

static void drop(struct process *p, size_t size)
{
	memmove(p->events, p->events + size, p->used - size);
	p->used -= size;
}

static void describe(const struct srd_event *event, char *text, size_t size)
{
	if (event)
		srd_event_text(event, text, size);
	else
		snprintf(text, size, "(nothing: the run was over)");
}

/* What differs, in the words of the report. */
static void note_difference(struct following *f, const struct srd_event *a,
			    const struct srd_event *b)
{
	char of_a[400], of_b[400];

	f->differ = true;
	describe(a, of_a, sizeof(of_a));
	describe(b, of_b, sizeof(of_b));
	snprintf(f->answer->difference, sizeof(f->answer->difference),
		 "two runs of it differ from event %llu on:\n  first   %s\n  second  %s",
		 (unsigned long long)f->processes[0].count + 1, of_a, of_b);
}

static void take_event(struct following *f, struct process *p, const struct srd_event *event)
{
	p->count++;
	if (event->line)
		p->line = event->line;
	if (p == &f->processes[0])
		for (int i = 0; i < f->work->num_readers; i++)
			f->work->readers[i].fn(f->work->readers[i].reader, event);
}

/* Events of one, whose partner's do not matter any more. */
static void take_alone(struct following *f, struct process *p)
{
	const struct srd_event *event;
	size_t at = 0;

	while ((event = first(p, at))) {
		take_event(f, p, event);
		at += srd_event_infos[event->type].size;
	}
	drop(p, at);
}

static void take_both(struct following *f)
{
	struct process *p = &f->processes[0], *q = &f->processes[1];
	const struct srd_event *a, *b;
	size_t at = 0;

	while (!f->differ && (a = first(p, at)) && (b = first(q, at))) {
		size_t size = srd_event_infos[a->type].size;

		if (a->type != b->type || memcmp(a, b, size)) {
			note_difference(f, a, b);
			break;
		}
		take_event(f, p, a);
		take_event(f, q, b);
		at += size;
	}
	drop(p, at);
	drop(q, at);
}

/* Nothing more will come from it. */
static bool exhausted(const struct process *p)
{
	return p->events_fd < 0 && !first(p, 0);
}

static void take_events(struct following *f)
{
	struct process *p = &f->processes[0], *q = &f->processes[1];

	if (f->num == 1) {
		take_alone(f, p);
		return;
	}
	take_both(f);
	if (!f->differ && ((exhausted(p) && first(q, 0)) || (exhausted(q) && first(p, 0))))
		note_difference(f, first(p, 0), first(q, 0));
	/* Behind a difference nothing can be compared. */
	if (f->differ) {
		take_alone(f, p);
		take_alone(f, q);
	}
}

/* --- its answer, its end --- */

/* Whether a read that failed says that nothing will come any more. */
static bool at_end(const struct process *p)
{
	return errno != EINTR && (errno != EAGAIN || p->gone);
}

static int read_answer(struct process *p, struct srd_error *error)
{
	ssize_t n;

	if (p->answer_room - p->answered < 4096) {
		size_t room = p->answer_room ? 2 * p->answer_room : 16384;
		char *text = room > ANSWER_LIMIT ? NULL : srd_realloc(p->answer, room);

		if (!text)
			return srd_error_set(error, -ENOMEM, "out of memory for an answer");
		p->answer = text;
		p->answer_room = room;
	}
	n = read(p->answer_fd, p->answer + p->answered, p->answer_room - p->answered - 1);
	if (n > 0) {
		p->answered += (size_t)n;
		p->answer[p->answered] = '\0';
	} else if (n == 0 || at_end(p)) {
		close(p->answer_fd);
		p->answer_fd = -1;
	}
	return 0;
}

static void read_events(struct process *p)
{
	ssize_t n = read(p->events_fd, p->events + p->used, EVENT_ROOM - p->used);

	if (n > 0) {
		p->used += (size_t)n;
	} else if (n == 0 || at_end(p)) {
		close(p->events_fd);
		p->events_fd = -1;
	}
}

static bool open_still(const struct process *p)
{
	return p->answer_fd >= 0 || p->events_fd >= 0;
}

/* Whether it has ended, or does within the time: its pipes are closed a little before. */
static bool ends(const struct process *p)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	uint64_t deadline = monotonic() + GRACE / 2;
	siginfo_t info = {0};

	while (!waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid &&
	       monotonic() < deadline)
		nanosleep(&nap, NULL);
	return info.si_pid != 0;
}

/* It is at its end, or it has closed what it should have left open, or it is to end now. */
static void reap(struct process *p)
{
	if (!p->pid)
		return;
	p->outlived = !p->killed && !open_still(p) && !ends(p);
	kill(-p->pid, SIGKILL);
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &p->status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}

/* All that can be read now, waiting for it until DEADLINE. */
static int exchange(struct following *f, uint64_t deadline, struct srd_error *error)
{
	uint64_t now = monotonic(), left = deadline > now ? deadline - now : 0;
	struct pollfd fds[6];
	int rc = 0;

	for (int i = 0; i < f->num; i++) {
		struct process *p = &f->processes[i];
		struct pollfd *of = &fds[3 * i];

		of[0] = (struct pollfd){.fd = p->answer_fd, .events = POLLIN};
		of[1] = (struct pollfd){
			.fd = EVENT_ROOM - p->used >= SRD_EVENT_MAX_SIZE ? p->events_fd : -1,
			.events = POLLIN,
		};
		of[2] = (struct pollfd){.fd = p->gone ? -1 : p->pid_fd, .events = POLLIN};
		if (p->gone && (of[0].fd >= 0 || of[1].fd >= 0))
			left = 0;
	}
	if (poll(fds, 3 * (nfds_t)f->num, left ? (int)(left / 1000000) + 1 : 0) < 0 &&
	    errno != EINTR)
		return srd_error_set(error, -errno, "the processes cannot be waited for: %m");
	for (int i = 0; i < f->num && !rc; i++) {
		struct process *p = &f->processes[i];
		const struct pollfd *of = &fds[3 * i];

		p->gone = p->gone || of[2].revents;
		if (of[1].fd >= 0 && (of[1].revents || p->gone))
			read_events(p);
		if (of[0].fd >= 0 && (of[0].revents || p->gone))
			rc = read_answer(p, error);
	}
	take_events(f);
	return rc;
}

static void send_signal(struct following *f, int number)
{
	for (int i = 0; i < f->num; i++) {
		struct process *p = &f->processes[i];

		if (!p->pid || !open_still(p))
			continue;
		p->killed = number == SIGKILL;
		kill(p->pid, number);
	}
}

/* Bytes that are resident; 0: unknown. */
static uint64_t resident(const struct process *p)
{
	unsigned long pages = 0;
	char path[40];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)p->pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether one has taken more than it may, which its page then says. */
static bool too_much(struct following *f)
{
	bool any = false;

	for (int i = 0; i < f->num; i++) {
		struct process *p = &f->processes[i];

		if (!f->work->memory || !open_still(p) || resident(p) <= f->work->memory)
			continue;
		p->page->memory = f->work->memory;
		p->too_large = true;
		any = true;
	}
	return any;
}

/* First it may end by itself, then it is asked where it is, then it is killed. */
static int follow(struct following *f, struct srd_error *error)
{
	static const int signals[] = {SIGALRM, SIGKILL};
	uint64_t deadline = monotonic() + f->work->time_limit + GRACE, look = 0;
	size_t next = 0;

	while (open_still(&f->processes[0]) || (f->num > 1 && open_still(&f->processes[1]))) {
		uint64_t now = monotonic();
		int rc;

		if (!next && now >= look) {
			look = now + LOOK;
			if (too_much(f))
				deadline = now;
		}
		rc = exchange(f, !next && look < deadline ? look : deadline, error);
		if (rc)
			return rc;
		if (monotonic() < deadline)
			continue;
		/* An old kernel: who holds the pipes after it was killed is a child of its. */
		if (next == sizeof(signals) / sizeof(signals[0]))
			break;
		send_signal(f, signals[next++]);
		deadline = monotonic() + GRACE;
	}
	return 0;
}

/* --- the verdict --- */

static bool well(const struct process *p)
{
	return p->answered && p->answer[0] == SRD_TOLD_RESULT && WIFEXITED(p->status) &&
	       !WEXITSTATUS(p->status);
}

/* The process died and has not said why. */
static char *death(struct process *p)
{
	const char *when = p->answered ? ", after the scenario" : "";
	char *doing = p->page->doing;
	char text[512];

	doing[sizeof(p->page->doing) - 1] = '\0';
	if (p->killed) {
		srd_blame_stopped(p->page, "killed, as it took no signal,", text, sizeof(text));
		return srd_strdup(text);
	}
	if (p->outlived || (p->page->closed && WIFEXITED(p->status)))
		return srd_asprintf("the plug-in closed descriptors that are not its own%s", when);
	if (WIFSIGNALED(p->status))
		return srd_asprintf("the plug-in's process was killed by signal %d (%s)%s%s",
				    WTERMSIG(p->status), strsignal(WTERMSIG(p->status)), when,
				    doing);
	return srd_asprintf("the plug-in ended its process with status %d%s%s",
			    WEXITSTATUS(p->status), when, doing);
}

static int judge(struct process *p, struct srd_plugin_answer *answer, struct srd_error *error)
{
	char kind = p->answered ? p->answer[0] : SRD_TOLD_RESULT;

	answer->line = p->line;
	if (kind == SRD_TOLD_RESULT && !well(p)) {
		answer->end = SRD_PLUGIN_BLAMED;
		answer->text = death(p);
		return answer->text ? 0 : srd_error_set(error, -ENOMEM, "out of memory");
	}
	answer->end = kind == SRD_TOLD_RESULT    ? SRD_PLUGIN_RESULT
		      : kind == SRD_TOLD_REFUSED ? SRD_PLUGIN_REFUSED
						 : SRD_PLUGIN_BLAMED;
	memmove(p->answer, p->answer + 1, p->answered);
	answer->text = p->answer;
	p->answer = NULL;
	return 0;
}

/*
 * Of two that did not both end well the one that did not is told, and no difference. Where
 * the time was over each was stopped at an event of its own: that is no difference either.
 */
static int judge_all(struct following *f, struct srd_error *error)
{
	struct process *p = &f->processes[0];

	for (int i = 0; i < f->num; i++)
		reap(&f->processes[i]);
	if (monotonic() - f->started >= f->work->time_limit)
		f->answer->difference[0] = '\0';
	if (f->num == 2 && !(well(p) && well(p + 1))) {
		f->answer->difference[0] = '\0';
		if (well(p) || (p[1].too_large && !p->too_large))
			p++;
	}
	return judge(p, f->answer, error);
}

static void release(struct process *p)
{
	reap(p);
	if (p->pid_fd >= 0)
		close(p->pid_fd);
	if (p->answer_fd >= 0)
		close(p->answer_fd);
	if (p->events_fd >= 0)
		close(p->events_fd);
	if (p->page)
		munmap(p->page, sizeof(*p->page));
	srd_free(p->answer);
	srd_free(p->events);
}

int srd_plugin_run(const struct srd_plugin_work *work, struct srd_plugin_answer *answer,
		   struct srd_error *error)
{
	struct following f = {
		.work = work,
		.answer = answer,
		.processes = {{.answer_fd = -1, .events_fd = -1, .pid_fd = -1},
			      {.answer_fd = -1, .events_fd = -1, .pid_fd = -1}},
		.num = work->twice ? 2 : 1,
		.started = monotonic(),
	};
	int rc;

	*answer = (struct srd_plugin_answer){0};
	rc = start_all(&f, error);
	if (!rc)
		rc = follow(&f, error);
	if (!rc)
		rc = judge_all(&f, error);
	release(&f.processes[1]);
	release(&f.processes[0]);
	return rc;
}
