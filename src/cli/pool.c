/* SPDX-License-Identifier: MIT */
/*
 * Each worker is a fork of this process, with all scripts loaded, and two pipes: numbers of
 * items go down, results come up as a length and the text. There is one even where no more
 * are asked for: only another process can end a call of Lua's library that does not end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/pool.h"
#include "lua/scenario.h"
#include "verbs/alloc.h"

/* How far the work may be ahead of the results that are handed on. */
#define WINDOW 1024

struct worker {
	pid_t pid; /* 0: none */
	int down, up;
	bool busy;
	uint64_t item;
};

struct slot {
	bool finished;
	char *text;
	char death[192];
};

struct run {
	const struct srd_cli_pool *pool;
	struct srd_error *error;
	struct worker *workers;
	int num_workers;
	sigset_t mask; /* of before, which a worker has again */
	struct pollfd *fds;
	struct slot slots[WINDOW];
	uint64_t next;     /* to be started */
	uint64_t reported; /* handed to done */
};

uint64_t srd_cli_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int srd_cli_jobs(uint64_t wanted)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted)
		return (int)wanted;
	return processors > 0 ? (int)processors : 1;
}

/* How a run that may not go on ends; SRD_POOL_DONE: it may. */
static enum srd_cli_pool_end ended(const struct srd_cli_pool *pool)
{
	if (pool->stop && *pool->stop)
		return SRD_POOL_STOPPED;
	if (pool->deadline && srd_cli_now() >= pool->deadline)
		return SRD_POOL_OUT_OF_TIME;
	return SRD_POOL_DONE;
}

/* Whole or not at all. */
static bool transfer(ssize_t (*move)(int, void *, size_t), int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t n = move(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

static ssize_t put(int fd, void *data, size_t size)
{
	return write(fd, data, size);
}

/* In place of a length: the worker ends itself, and says where it is. */
#define STUCK UINT32_MAX

struct stuck {
	int line;
	char what[SRD_STUCK_TEXT];
};

static int stuck_up; /* where a worker tells it */

static void stuck(int line, const char *what)
{
	uint32_t length = STUCK;
	struct stuck told = {.line = line};

	snprintf(told.what, sizeof(told.what), "%s", what);
	transfer(put, stuck_up, &length, sizeof(length));
	transfer(put, stuck_up, &told, sizeof(told));
	_exit(EXIT_FAILURE);
}

static void expire(int number)
{
	srd_watchdog_expire();
}

static bool work_on(const struct srd_cli_pool *pool, uint64_t item, int up)
{
	char *text = pool->run(pool->arg, item);
	uint32_t length = text ? (uint32_t)strlen(text) : 0;
	bool good = text && transfer(put, up, &length, sizeof(length)) &&
		    transfer(put, up, text, length);

	free(text);
	return good;
}

/* The life of a worker. exit, not _exit: coverage and leak checks look at workers too. */
static void __attribute__((noreturn)) work(const struct srd_cli_pool *pool, int down, int up)
{
	bool good = !pool->enter || pool->enter(pool->arg);
	uint64_t item;

	stuck_up = up;
	srd_watchdog_stuck = stuck;
	while (good && transfer(read, down, &item, sizeof(item)))
		good = work_on(pool, item, up);
	if (pool->leave && !pool->leave(pool->arg))
		good = false;
	exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void enter(struct run *run, const int down[2], const int up[2], pid_t parent)
{
	signal(SIGINT, SIG_IGN); /* the parent decides */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, expire);
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	/* A pipe that another process holds open would never tell its end. */
	for (int i = 0; i < run->num_workers; i++) {
		if (!run->workers[i].pid)
			continue;
		close(run->workers[i].down);
		close(run->workers[i].up);
	}
	close(down[1]);
	close(up[0]);
	work(run->pool, down[0], up[1]);
}

static int hire(struct run *run, struct worker *worker)
{
	pid_t parent = getpid(), pid = -1;
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC))
		return srd_error_set(run->error, -errno, "no pipe to a process: %m");
	if (pipe2(up, O_CLOEXEC)) {
		srd_error_set(run->error, -errno, "no pipe to a process: %m");
		goto close_down;
	}
	fflush(NULL); /* what is buffered must not be written twice */
	pid = fork();
	if (pid == 0)
		enter(run, down, up, parent);
	if (pid < 0) {
		srd_error_set(run->error, -errno, "no process can be started: %m");
		goto close_up;
	}
	close(down[0]);
	close(up[1]);
	*worker = (struct worker){.pid = pid, .down = down[1], .up = up[0]};
	return 0;

close_up:
	close(up[0]);
	close(up[1]);
close_down:
	close(down[0]);
	close(down[1]);
	return run->error->code;
}

/* TEXT says how the process ended. */
static void describe(int status, char *text, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "its process was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "its process ended by itself with status %d",
			 WEXITSTATUS(status));
}

static void close_pipes(struct worker *worker)
{
	close(worker->down);
	close(worker->up);
}

/* How the process ended, once it has. */
static int bury(struct worker *worker)
{
	int status = 0;

	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	worker->pid = 0;
	worker->busy = false;
	return status;
}

static bool receive_text(struct slot *slot, int up)
{
	struct stuck told;
	uint32_t length;

	if (!transfer(read, up, &length, sizeof(length)))
		return false;
	if (length == STUCK) {
		if (transfer(read, up, &told, sizeof(told)))
			snprintf(slot->death, sizeof(slot->death), "out of time: line %d %s",
				 told.line, told.what);
		return false;
	}
	slot->text = malloc((size_t)length + 1);
	if (!slot->text || !transfer(read, up, slot->text, length))
		return false;
	slot->text[length] = '\0';
	return true;
}

static void receive(struct run *run, struct worker *worker)
{
	struct slot *slot = &run->slots[worker->item % WINDOW];
	int status;

	slot->finished = true;
	if (receive_text(slot, worker->up)) {
		worker->busy = false;
		return;
	}
	free(slot->text);
	slot->text = NULL;
	close_pipes(worker);
	status = bury(worker);
	if (!slot->death[0])
		describe(status, slot->death, sizeof(slot->death));
}

/* Give work to whoever has none. */
static int assign(struct run *run)
{
	for (int i = 0; i < run->num_workers; i++) {
		struct worker *worker = &run->workers[i];

		if (worker->busy || run->next == run->pool->count ||
		    run->next - run->reported == WINDOW)
			continue;
		if (!worker->pid) {
			int rc = hire(run, worker);

			if (rc)
				return rc;
		}
		/* Should it be dead, its end of the other pipe will say so. */
		transfer(put, worker->down, &run->next, sizeof(run->next));
		worker->busy = true;
		worker->item = run->next++;
	}
	return 0;
}

static int hand_on(struct run *run)
{
	struct slot *slot = &run->slots[run->reported % WINDOW];
	int rc = run->pool->done(run->pool->arg, run->reported++, slot->text,
				 slot->text ? NULL : slot->death);

	free(slot->text);
	*slot = (struct slot){0};
	return rc ? srd_error_set(run->error, rc, "%s", strerror(-rc)) : 0;
}

/* Until something can be read, the time is over, or a signal asks to stop. */
static void wait_for_workers(struct run *run, const sigset_t *mask)
{
	struct timespec timeout = {.tv_sec = 3600};
	uint64_t now = srd_cli_now(), deadline = run->pool->deadline;

	if (deadline) {
		uint64_t left = deadline > now ? deadline - now : 0;

		timeout.tv_sec = (time_t)(left / 1000000000);
		timeout.tv_nsec = (long)(left % 1000000000);
	}
	for (int i = 0; i < run->num_workers; i++)
		run->fds[i] = (struct pollfd){
			.fd = run->workers[i].busy ? run->workers[i].up : -1,
			.events = POLLIN,
		};
	if (ppoll(run->fds, (nfds_t)run->num_workers, &timeout, mask) < 0)
		return;
	for (int i = 0; i < run->num_workers; i++)
		if (run->workers[i].busy && run->fds[i].revents)
			receive(run, &run->workers[i]);
}

static int work_through(struct run *run, const sigset_t *mask)
{
	while (run->reported < run->pool->count) {
		enum srd_cli_pool_end end = ended(run->pool);
		int rc;

		if (end != SRD_POOL_DONE)
			return end;
		rc = assign(run);
		if (rc)
			return rc;
		wait_for_workers(run, mask);
		while (run->reported < run->next && run->slots[run->reported % WINDOW].finished) {
			rc = hand_on(run);
			if (rc)
				return rc;
		}
	}
	return SRD_POOL_DONE;
}

/* After an early end: what is finished, though something before it is not. */
static int hand_on_rest(struct run *run)
{
	while (run->reported < run->next) {
		int rc = 0;

		if (run->slots[run->reported % WINDOW].finished)
			rc = hand_on(run);
		else
			run->reported++;
		if (rc)
			return rc;
	}
	return 0;
}

/* Whether WORKER has ended within the time that is LEFT, ns, of which some is used up. */
static bool ends_in(const struct worker *worker, uint64_t *left)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	siginfo_t info = {0};

	while (!waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       !info.si_pid && *left) {
		nanosleep(&nap, NULL);
		*left = *left > 5000000 ? *left - 5000000 : 0;
	}
	return info.si_pid != 0;
}

/*
 * Who is still at work is asked to stop, so that what it writes by itself comes to its end,
 * and is killed where it does not. Who was not is expected to end well: -ECHILD.
 */
static int dismiss_all(struct run *run)
{
	uint64_t left = 1000000000;
	int rc = 0;

	for (int i = 0; i < run->num_workers; i++) {
		if (!run->workers[i].pid)
			continue;
		if (run->workers[i].busy)
			kill(run->workers[i].pid, SIGUSR1);
		close_pipes(&run->workers[i]);
	}
	for (int i = 0; i < run->num_workers; i++) {
		struct worker *worker = &run->workers[i];
		bool busy = worker->busy;
		int status;

		if (!worker->pid)
			continue;
		if (busy && !ends_in(worker, &left))
			kill(worker->pid, SIGKILL);
		status = bury(worker);
		if (status && !busy)
			rc = -ECHILD;
	}
	for (int i = 0; i < WINDOW; i++)
		free(run->slots[i].text);
	return rc;
}

static int run_workers(struct run *run)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	sigset_t block;
	int rc, rest, end;

	/* They may come only while nothing but waiting is done. */
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGHUP);
	sigprocmask(SIG_BLOCK, &block, &run->mask);
	sigaction(SIGPIPE, &ignore, &before);
	rc = work_through(run, &run->mask);
	if (rc == SRD_POOL_STOPPED || rc == SRD_POOL_OUT_OF_TIME) {
		rest = hand_on_rest(run);
		rc = rest ? rest : rc;
	}
	end = dismiss_all(run);
	if (end && rc >= 0)
		rc = srd_error_set(run->error, end,
				   "a process that ran scenarios did not end well");
	sigaction(SIGPIPE, &before, NULL);
	sigprocmask(SIG_SETMASK, &run->mask, NULL);
	return rc;
}

int srd_cli_pool_run(const struct srd_cli_pool *pool, struct srd_error *error)
{
	struct run *run = srd_calloc(1, sizeof(*run));
	uint64_t jobs = pool->jobs > 1 ? (uint64_t)pool->jobs : 1;
	int rc = -ENOMEM;

	if (!run)
		return srd_error_set(error, -ENOMEM, "out of memory");
	run->pool = pool;
	run->error = error;
	run->num_workers = (int)(pool->count < jobs ? pool->count : jobs);
	run->workers = srd_calloc((size_t)run->num_workers + 1, sizeof(*run->workers));
	run->fds = srd_calloc((size_t)run->num_workers + 1, sizeof(*run->fds));
	if (run->workers && run->fds)
		rc = run_workers(run);
	else
		srd_error_set(error, rc, "out of memory");
	srd_free(run->fds);
	srd_free(run->workers);
	srd_free(run);
	return rc;
}
