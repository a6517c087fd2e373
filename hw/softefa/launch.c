/* SPDX-License-Identifier: MIT */
/*
 * `srdlab exec`: makes the group, starts the program in it, and supervises: it sees when
 * processes end, and moves the device where nobody else does. It sleeps in between, without
 * an end while there is nothing to see to.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answer.h"
#include "decide.h"
#include "drain.h"
#include "end_all.h"
#include "engine.h"
#include "event.h"
#include "events.h"
#include "folder.h"
#include "group.h"
#include "names.h"
#include "reach.h"
#include "sysfs.h"
#include "verbs/launch.h"

#define NAP_SHORT     50000      /* ns, while the supervisor has to move the device itself */
#define NAP_LONG      1000000    /* while others do */
#define NAP_WATCH     4000000    /* while doorbells are watched that nobody rings */
#define UNTOLD        3          /* looks */
#define UNTOLD_SURELY 200        /* where a thread that the kernel stopped must not count */
#define NAP_IDLE      100000000  /* while nothing is under way; processes may end unseen so long */
#define GRACE         2000000000 /* from SIGTERM to SIGKILL, after a script has failed */
#define LINGER        300000000  /* after the program, until it is said what is waited for */

/* Signals that mean something to the supervisor: to the program they are what they were. */
static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
#define NUM_SIGNALS (sizeof(signals) / sizeof(signals[0]))

struct supervisor {
	pid_t child;
	bool ignored[NUM_SIGNALS]; /* by who started us: nohup, a shell without jobs */
	bool ended;                /* the program has, with ... */
	int status;                /* ... this */
	bool told;                 /* that others have not */
	uint64_t since;            /* real ns */
	uint64_t ending;           /* real ns, since when all are told to end; 0: they are not */
	uint32_t slot[SOFT_MAX_PROCESSES]; /* generation that pidfd is of */
	int pidfd[SOFT_MAX_PROCESSES];
	uint64_t called;
	uint64_t nap;
	char sysfs[128];
};

static struct soft_group *signalled;    /* for the handlers, as what follows is */
static volatile pid_t child_of_handler; /* 0: the program has ended */
static volatile sig_atomic_t told_to_end;

static void on_child(int signal)
{
	__atomic_add_fetch(&signalled->wake, 1, __ATOMIC_RELEASE);
}

/* A signal that is the program's to answer; who only waits for what it left behind ends. */
static void on_end(int signal, siginfo_t *info, void *context)
{
	pid_t child = child_of_handler;
	bool from_terminal = info->si_code > 0 && signal != SIGTERM && signal != SIGHUP;

	if (!child) {
		told_to_end = 1;
		on_child(signal);
	} else if (!from_terminal) {
		/* What a terminal sends comes to the program too. */
		kill(child, signal);
	}
}

static void handle(int signal, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigaction(signal, &action, NULL);
}

static void find_ignored(struct supervisor *s)
{
	struct sigaction now;

	for (size_t i = 0; i < NUM_SIGNALS; i++)
		s->ignored[i] = !sigaction(signals[i], NULL, &now) && now.sa_handler == SIG_IGN;
}

static void handle_ends(const struct supervisor *s)
{
	struct sigaction action = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO};

	for (size_t i = 0; i < NUM_SIGNALS; i++)
		if (signals[i] != SIGCHLD && !s->ignored[i])
			sigaction(signals[i], &action, NULL);
}

/* What is preloaded: the device, an observer where one is wanted, what the user has. */
static int set_preload(const char *device, const char *observer)
{
	const char *before = getenv("LD_PRELOAD");
	char preload[3 * PATH_MAX];

	snprintf(preload, sizeof(preload), "%s%s%s%s%s", device, *observer ? ":" : "", observer,
		 before && *before ? ":" : "", before ? before : "");
	return setenv("LD_PRELOAD", preload, 1) ? -errno : 0;
}

/*
 * The AddressSanitizer of gcc is a library, which refuses to run where another one was loaded
 * before it, as ours are. It does work: of what they stand in for it minds nothing.
 */
static int set_sanitizer(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	char options[PATH_MAX];

	snprintf(options, sizeof(options), "verify_asan_link_order=0%s%s",
		 before && *before ? ":" : "", before ? before : "");
	return setenv("ASAN_OPTIONS", options, 1) ? -errno : 0;
}

/* What would hinder the program from meeting the device again in a child of its own. */
static int set_environment(const struct srd_launch_options *options, const char *folder,
			   const char *sysfs, uint32_t first)
{
	char number[16];

	if (setenv("SYSFS_PATH", sysfs, 1) || setenv(SOFT_ENV_FOLDER, folder, 1))
		return -errno;
	if (set_sanitizer())
		return -errno;
	snprintf(number, sizeof(number), "%u", options->devices);
	if (setenv(SOFT_ENV_DEVICES, number, 1))
		return -errno;
	snprintf(number, sizeof(number), "%u", first);
	return setenv(SOFT_ENV_FIRST_HOST, number, 1) ? -errno : 0;
}

/* Beside the program in a build, or where it was installed. */
static int find_library(const char *name, const char *variable, char path[PATH_MAX],
			struct srd_error *error)
{
	static const char *const places[] = {"hw/softefa", "hw/observer", ("../" SOFT_LIBDIR), "."};
	const char *given = getenv(variable);
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (given) {
		snprintf(path, PATH_MAX, "%s", given);
		return 0;
	}
	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(path, PATH_MAX, "%s/%s/%s", self, places[i], name) < PATH_MAX &&
		    !access(path, R_OK))
			return 0;
	}
	return srd_error_set(error, -ENOENT,
			     "%s is neither beside %s nor where it is installed; %s can name it",
			     name, self, variable);
}

static int preload(const struct srd_launch_options *options, struct srd_error *error)
{
	char device[PATH_MAX], observer[PATH_MAX] = "";
	int err = find_library(SOFT_LIBRARY, "SRDLAB_DEVICE_LIBRARY", device, error);

	if (!err && options->record)
		err = find_library(SOFT_OBSERVER, "SRDLAB_OBSERVER_LIBRARY", observer, error);
	return err ? err : set_preload(device, observer);
}

/* The program, in a child. *error only for what goes wrong before. */
static int start(const struct srd_launch_options *options, struct supervisor *s)
{
	s->child = fork();
	if (s->child < 0)
		return -errno;
	if (s->child) {
		child_of_handler = s->child;
		return 0;
	}
	for (size_t i = 0; i < NUM_SIGNALS; i++)
		handle(signals[i], s->ignored[i] ? SIG_IGN : SIG_DFL);
	execvp(options->argv[0], options->argv);
	fprintf(stderr, "srdlab exec: %s: %s\n", options->argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void forget(struct supervisor *s, uint32_t i)
{
	if (s->pidfd[i] >= 0)
		close(s->pidfd[i]);
	s->pidfd[i] = -1;
}

/* Whether process I, which is in the group, has ended. */
static bool has_ended(struct supervisor *s, uint32_t i)
{
	const struct soft_process *p = &soft.group->process[i];
	struct pollfd fd = {.events = POLLIN};

	if (s->slot[i] != p->generation) {
		forget(s, i);
		s->slot[i] = p->generation;
		s->pidfd[i] = (int)syscall(SYS_pidfd_open, p->pid, 0);
	}
	/* Its number means nothing here, or is a child's. */
	if (p->namespace != soft.namespace || p->kept)
		return !soft_process_lives(i) && !(p->kept && soft_process_stays(i));
	fd.fd = s->pidfd[i];
	if (fd.fd < 0)
		return kill(p->pid, 0) && errno == ESRCH;
	return poll(&fd, 1, 0) == 1;
}

static void bury(struct supervisor *s)
{
	for (uint32_t i = 1; i < SOFT_MAX_PROCESSES; i++) {
		struct soft_process *p = &soft.group->process[i];

		if (!__atomic_load_n(&p->pid, __ATOMIC_ACQUIRE) || !has_ended(s, i) || soft_lock())
			continue;
		/* Another supervisor of the group may have been here, and another process since. */
		if (!p->pid || p->generation != s->slot[i]) {
			soft_unlock();
			continue;
		}
		if (soft_process_lives(i) || soft_process_stays(i)) {
			p->kept = true;
			if (!soft_process_adopt(i))
				p->pid = -1;
		} else if (soft_may_bury(i)) {
			soft_process_leave(i);
			soft_turn_over();
			forget(s, i);
		}
		soft_unlock();
	}
}

/* Queue pairs with requests that nobody's calls have moved. */
static void note_stalls(void)
{
	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		struct soft_object *object = soft_object(i);

		if (object->kind == SOFT_QP && !object->qp.raw &&
		    srd_model_request_next(&soft.model, object->model, NULL))
			object->qp.stalls++;
	}
}

/*
 * Doorbells that were rung long ago while those who tell of them said nothing: the program
 * has found the rings without being told. From now on they are watched.
 */
static void find_untold(void)
{
	uint32_t looks = soft_decides() ? UNTOLD_SURELY : UNTOLD;

	for (uint32_t i = 1; i <= soft.group->objects_high; i++) {
		struct soft_object *object = soft_object(i);

		if (object->kind != SOFT_QP || object->qp.raw)
			continue;
		if (!soft_doorbell_waits(object))
			object->qp.untold = 0;
		else if (++object->qp.untold == looks)
			soft_engine_qp_raw(object);
	}
}

/* Move the device, unless somebody did since the last look. */
static void help(struct supervisor *s)
{
	uint64_t longest;
	uint32_t moved;

	if (soft.group->called != s->called || soft_lock()) {
		s->called = soft.group->called;
		s->nap = NAP_LONG;
		return;
	}
	if (!soft_may_help()) {
		soft_unlock();
		s->nap = NAP_SHORT;
		return;
	}
	moved = soft_raw_doorbells();
	if (!moved && srd_model_busy(&soft.model))
		note_stalls();
	find_untold();
	moved += soft_run(NULL);
	soft_turn_over();
	s->called = soft.group->called;
	soft_unlock();
	longest = soft_busy() ? NAP_LONG : NAP_WATCH;
	if (moved)
		s->nap = NAP_SHORT;
	else
		s->nap = s->nap * 2 < longest ? s->nap * 2 : longest;
}

/* Also while somebody moved it just now: to be woken for each request would cost them more. */
static bool under_way(const struct supervisor *s)
{
	return soft.group->clock == SOFT_CLOCK_AUTO &&
	       (soft_busy() || soft.group->first_raw || soft.group->called != s->called);
}

static void nap(struct supervisor *s, uint32_t seen, bool idle)
{
	struct soft_group *g = soft.group;
	uint64_t ns = idle ? NAP_IDLE : s->nap;
	struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	__atomic_store_n(&g->asleep, idle, __ATOMIC_SEQ_CST);
	/* What came just now did not see that we sleep. */
	if (idle && under_way(s))
		time.tv_nsec = NAP_LONG;
	syscall(SYS_futex, &g->wake, FUTEX_WAIT, seen, &time, NULL, 0);
	__atomic_store_n(&g->asleep, 0, __ATOMIC_RELAXED);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whether the program has ended, with all that it left behind: orphans come to us. */
static bool all_ended(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != s->child)
			continue;
		child_of_handler = 0;
		s->ended = true;
		s->status = status;
		s->since = now();
	}
	return pid < 0 || told_to_end;
}

static void tell_of_lingering(struct supervisor *s, const struct srd_launch_options *options)
{
	if (!s->ended || s->told || now() - s->since < LINGER)
		return;
	s->told = true;
	options->say("the program has ended, but not all of its processes: waiting for them, as "
		     "their devices go with this one (SIGINT ends that)");
}

/* What they would go on to show is not what the script was to make of them. */
static void end_all(struct supervisor *s)
{
	if (!s->ending) {
		s->ending = now();
		s->told = true; /* nobody needs to be told who is waited for */
		soft_signal_all(SIGTERM);
	} else if (now() - s->ending > GRACE) {
		soft_signal_all(SIGKILL);
	}
}

static int supervise(struct supervisor *s, const struct srd_launch_options *options)
{
	s->nap = NAP_LONG;
	for (;;) {
		uint32_t seen = __atomic_load_n(&soft.group->wake, __ATOMIC_ACQUIRE);
		bool active;

		if (all_ended(s))
			break;
		if (soft_answer_failed())
			end_all(s);
		bury(s);
		soft_channels_due();
		active = under_way(s);
		if (active) {
			help(s);
		} else if (soft.group->clock == SOFT_CLOCK_AUTO && !soft_lock()) {
			find_untold();
			soft_unlock();
		}
		nap(s, seen, !active);
		tell_of_lingering(s, options);
	}
	bury(s);
	return s->status;
}

/* Events are wanted from the first on, so that who comes later finds objects unknown. */
static int record(const struct srd_launch_record *record, const struct soft_folder *folder,
		  struct srd_error *error)
{
	int err;

	if (!folder->fresh)
		return srd_error_set(error, -EINVAL,
				     "this group has begun already: only the first program of a "
				     "group can ask for rules, a trace or a timeline");
	err = soft_events_create(folder->path, record->all);
	return err ? srd_error_set(error, err, "the ring of events in %s cannot be made: %s",
				   folder->path, strerror(-err))
		   : 0;
}

/* From the first decision on. */
static int decide(const struct srd_launch_options *options, const struct soft_folder *folder,
		  struct srd_error *error)
{
	int err;

	if (!folder->fresh)
		return srd_error_set(error, -EINVAL,
				     "this group has begun already: only the first program of a "
				     "group can have its decisions logged");
	err = soft_decide_create(folder->path, options->log, options->replay);
	return err ? srd_error_set(error, err, "the log of decisions in %s cannot be made: %s",
				   folder->path, strerror(-err))
		   : 0;
}

static void say_first(const struct srd_launch_options *options)
{
	char text[160];

	snprintf(
		text, sizeof(text),
		"this group has begun already: %s of its first program holds, not that of this one",
		options->first);
	options->say(text);
}

static int prepare(const struct srd_launch_options *options, const struct soft_folder *folder,
		   struct supervisor *s, struct srd_error *error)
{
	uint32_t first;
	int err = preload(options, error);

	if (err)
		return err;
	if (folder->fresh) {
		err = soft_group_create(folder->path, options->profile, options->seed,
					options->called_clock ? SOFT_CLOCK_CALLED : SOFT_CLOCK_AUTO,
					error);
	} else {
		err = soft_group_attach(folder->path);
		if (err)
			srd_error_set(error, err, "the group in %s cannot be joined: %s",
				      folder->path, strerror(-err));
		else if (options->first)
			say_first(options);
	}
	if (!err && options->record)
		err = record(options->record, folder, error);
	if (!err && options->script && !folder->fresh)
		err = srd_error_set(error, -EINVAL,
				    "this group has begun already: only the first program of a "
				    "group can have a script");
	if (!err && options->log)
		err = decide(options, folder, error);
	if (err)
		return err;
	if (folder->fresh) {
		soft.group->copied = options->copied;
		soft.group->doorbell = options->doorbell;
	}
	first = soft.group->num_hosts;
	if (first + options->devices > SRD_MODEL_MAX_HOSTS)
		return srd_error_set(error, -EMFILE, "the group has %u devices; %u are the most",
				     first, SRD_MODEL_MAX_HOSTS);
	soft.group->num_hosts += options->devices;
	snprintf(s->sysfs, sizeof(s->sysfs), "%s/sysfs-%d", folder->path, (int)getpid());
	err = soft_sysfs_write(s->sysfs, first, options->devices, error);
	if (err)
		return err;
	err = set_environment(options, folder->path, s->sysfs, first);
	return err ? srd_error_set(error, err, "the environment cannot be set: %s", strerror(-err))
		   : 0;
}

static int run(const struct srd_launch_options *options, int *status,
	       struct srd_launch_reach *reach, struct srd_error *error)
{
	struct supervisor s = {.child = 0};
	struct soft_folder folder;
	bool recording;
	int err = soft_folder_enter(options->group, &folder, error);

	if (err)
		return err;
	memset(s.pidfd, -1, sizeof(s.pidfd));
	err = prepare(options, &folder, &s, error);
	soft_folder_ready(&folder);
	if (err)
		goto leave;
	signalled = soft.group;
	find_ignored(&s);
	handle(SIGCHLD, on_child);
	/* A terminal sends these to the program too, and what it makes of them counts. */
	handle(SIGINT, SIG_IGN);
	handle(SIGQUIT, SIG_IGN);
	if (options->script)
		soft_answer_prepare(options->script);
	/* What the program leaves behind is on the device as well. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = start(options, &s);
	if (err) {
		srd_error_set(error, err, "no process can be started: %s", strerror(-err));
		goto leave;
	}
	handle_ends(&s);
	if (options->record)
		err = soft_drain_start(options->record);
	recording = options->record && !err;
	if (options->script && !err)
		err = soft_answer_start();
	*status = supervise(&s, options);
	if (!soft.group->next_file)
		soft_reach(options->argv[0], reach);
	if (options->script)
		soft_answer_end();
	if (recording)
		soft_drain_end();
	if (options->log && soft_decide_finish(options->log))
		err = srd_error_set(error, -ENOMEM, "out of memory for the log of decisions");
	if (soft.group->complaint[0])
		options->say(soft.group->complaint);
leave:
	handle(SIGCHLD, SIG_DFL); /* children that others make are none of the group */
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	soft_folder_remove(s.sysfs);
	soft_group_detach();
	soft_folder_leave(&folder, told_to_end);
	return err;
}

static const struct srd_launcher launcher = {.run = run};

__attribute__((constructor)) static void launch_register(void)
{
	srd_launcher_register(&launcher);
}
