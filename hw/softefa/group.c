/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "decide.h"
#include "engine.h"
#include "event.h"
#include "events.h"
#include "group.h"
#include "hold.h"
#include "memory.h"

#define NAP          50000 /* ns */
#define MODEL_OFFSET (((uint64_t)sizeof(struct soft_group) + SOFT_PAGE - 1) & ~(SOFT_PAGE - 1ull))
#define TRIES        1000         /* for the lock, before a thread sleeps on it */
#define RINGS_SIZE   (8ull << 30) /* address space; a page takes room once it is used */

struct soft_view soft;

static void *map_file(const char *folder, const char *name, int flags, uint64_t *size)
{
	char path[192];
	void *at = MAP_FAILED;
	off_t end;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return MAP_FAILED;
	if (flags & O_CREAT && ftruncate(fd, (off_t)*size))
		goto close_fd;
	end = lseek(fd, 0, SEEK_END);
	if (end <= 0)
		goto close_fd;
	*size = (uint64_t)end;
	at = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
close_fd:
	close(fd);
	return at;
}

/* 0: it is not known. */
static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

static int map_group(const char *folder, int flags, uint64_t size)
{
	uint64_t rings = RINGS_SIZE;
	void *group = map_file(folder, "model", flags, &size);

	if (group == MAP_FAILED)
		return -errno;
	soft.rings = map_file(folder, "rings", flags, &rings);
	if (soft.rings == MAP_FAILED) {
		munmap(group, size);
		return -errno;
	}
	soft.group = group;
	soft.namespace = pid_namespace();
	soft.group_size = size;
	snprintf(soft.folder, sizeof(soft.folder), "%s", folder);
	return 0;
}

static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	/* A signal handler that calls in while its thread holds it must not wait for itself. */
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int soft_group_create(const char *folder, const struct srd_profile *profile, uint64_t seed,
		      enum soft_clock clock, struct srd_error *error)
{
	int err = map_group(folder, O_CREAT | O_EXCL, MODEL_OFFSET + srd_model_arena_size(profile));

	if (err)
		return srd_error_set(error, err, "the files of the device in %s cannot be made: %s",
				     folder, strerror(-err));
	srd_model_init(&soft.model, (uint8_t *)soft.group + MODEL_OFFSET, profile, seed);
	soft_engine_attach(&soft.model);
	lock_init(&soft.group->lock);
	soft.group->launched = *profile;
	soft.group->clock = clock;
	soft.group->pages_high = 1; /* so that no key is 0 */
	__atomic_store_n(&soft.group->version, SOFT_VERSION, __ATOMIC_RELEASE);
	return 0;
}

int soft_group_attach(const char *folder)
{
	int err = map_group(folder, 0, 0);

	if (err)
		return err;
	if (soft.group_size <= MODEL_OFFSET || soft.group->version != SOFT_VERSION) {
		soft_group_detach();
		return -EPROTO;
	}
	srd_model_attach(&soft.model, (uint8_t *)soft.group + MODEL_OFFSET);
	soft_engine_attach(&soft.model);
	err = soft_events_attach(folder);
	if (!err)
		err = soft_decide_attach(folder);
	if (err)
		soft_group_detach();
	return err;
}

void soft_group_detach(void)
{
	if (!soft.group)
		return;
	soft_events_detach();
	soft_decide_detach();
	munmap(soft.rings, RINGS_SIZE);
	munmap(soft.group, soft.group_size);
	memset(&soft, 0, sizeof(soft));
}

/* The last owner died in the middle of something. */
static void recover(void)
{
	char text[sizeof(soft.group->complaint)];

	pthread_mutex_consistent(&soft.group->lock);
	soft_engine_recount();
	if (!srd_model_audit(&soft.model, text, sizeof(text)))
		return;
	if (!srd_model_repair(&soft.model) && !srd_model_audit(&soft.model, text, sizeof(text)))
		return;
	snprintf(soft.group->complaint, sizeof(soft.group->complaint),
		 "a process died in the middle of a call and left the device broken: %.150s", text);
	soft.group->broken = 1;
}

/*
 * The lock knows its owner by the number of a thread, which one in another PID namespace may
 * have too: that one is waited for.
 */
static __thread uint32_t locking __attribute__((tls_model("initial-exec")));

static int lock_of_namesake(void)
{
	struct timespec time = {0, NAP};
	int err;

	do {
		nanosleep(&time, NULL);
		err = pthread_mutex_trylock(&soft.group->lock);
	} while (err == EDEADLK || err == EBUSY);
	return err;
}

static int locked(int err)
{
	if (err == EOWNERDEAD) {
		recover();
		err = 0;
	}
	if (err)
		return err == EBUSY ? EBUSY : EIO;
	if (!soft.group->broken)
		return 0;
	pthread_mutex_unlock(&soft.group->lock);
	return EIO;
}

int soft_lock(void)
{
	int err;

	locking++;
	err = pthread_mutex_lock(&soft.group->lock);
	if (err == EDEADLK && locking == 1)
		err = lock_of_namesake();
	err = locked(err);
	if (err)
		locking--;
	return err;
}

int soft_trylock(void)
{
	int err;

	locking++;
	err = pthread_mutex_trylock(&soft.group->lock);
	if (err == EDEADLK && locking == 1)
		err = EBUSY;
	err = locked(err);
	if (err)
		locking--;
	return err;
}

int soft_lock_patiently(void)
{
	int err;

	for (int i = 0; i < TRIES; i++) {
		err = soft_trylock();
		if (err != EBUSY)
			return err;
		sched_yield();
	}
	return soft_lock();
}

void soft_unlock(void)
{
	pthread_mutex_unlock(&soft.group->lock);
	locking--;
}

/* The file that a process and its children of fork hold: hold.h. */
static void life_name(uint32_t process, char name[32])
{
	snprintf(name, 32, "process-%u-%u", process, soft.group->process[process].generation);
}

bool soft_process_descends(uint32_t process, uint32_t from)
{
	do
		process = soft.group->process[process].parent;
	while (process && process != from);
	return process;
}

bool soft_process_adopt(uint32_t process)
{
	struct soft_process *p = &soft.group->process[process], *child;

	for (uint32_t i = 1; i < SOFT_MAX_PROCESSES; i++) {
		child = &soft.group->process[i];
		if (child->pid <= 0 || child->kept || !soft_process_descends(i, process))
			continue;
		p->pid = child->pid;
		p->namespace = child->namespace;
		return true;
	}
	return false;
}

static int enter(uint32_t i)
{
	struct soft_group *g = soft.group;
	struct soft_process *p = &g->process[i];
	char name[32];
	int err;

	p->generation++;
	life_name(i, name);
	err = soft_hold(soft.folder, name);
	if (err)
		return err;
	p->namespace = soft.namespace = pid_namespace();
	p->shared.num = 0;
	p->number = (uint16_t)++g->entered;
	p->polling = 0;
	lock_init(&p->life);
	pthread_mutex_lock(&p->life);
	p->exits = p->kept = false;
	p->parent = soft.parent;
	g->children += soft.parent != 0;
	/* Last: the supervisor looks at those that have one, without the lock. */
	__atomic_store_n(&p->pid, getpid(), __ATOMIC_RELEASE);
	soft.process = i;
	soft_supervisor_wake();
	return 0;
}

static bool is_gone(const struct soft_process *p)
{
	return p->pid > 0 && p->namespace == soft.namespace && kill(p->pid, 0) && errno == ESRCH;
}

int soft_process_enter(void)
{
	struct soft_group *g = soft.group;
	uint32_t i = 1;

	/* Others of the group copy to and from our memory, where Yama would forbid it. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	while (i < SOFT_MAX_PROCESSES && g->process[i].pid)
		i++;
	/* The supervisor did not get to it yet, or there is none any more. */
	if (i == SOFT_MAX_PROCESSES && soft_decides() == SOFT_FREE_COURSE)
		for (i = 1; i < SOFT_MAX_PROCESSES; i++)
			if (is_gone(&g->process[i]) && !soft_process_lives(i) &&
			    !soft_process_stays(i)) {
				soft_process_leave(i);
				break;
			}
	if (i == SOFT_MAX_PROCESSES)
		return EMFILE;
	return enter(i);
}

void soft_share_path(uint32_t process, char path[192])
{
	snprintf(path, 192, "%s/memory-%u-%u", soft.folder, process,
		 soft.group->process[process].generation);
}

bool soft_process_lives(uint32_t process)
{
	pthread_mutex_t *life = &soft.group->process[process].life;
	int err = pthread_mutex_trylock(life);
	char name[32];

	/* One that is left broken glibc would let the next who tries have, unlike what it says. */
	if (err == EOWNERDEAD)
		pthread_mutex_consistent(life);
	if (!err || err == EOWNERDEAD)
		pthread_mutex_unlock(life);
	/* Or it is held by the same number in another PID namespace. */
	if (err == EBUSY || err == EDEADLK)
		return true;
	/* That was only the thread that entered, maybe. */
	life_name(process, name);
	return soft_held(soft.folder, name);
}

static uint32_t opener(uint32_t file)
{
	for (uint32_t i = 0; i < SOFT_MAX_CONTEXTS; i++)
		if (soft.group->context[i].file == file)
			return soft.group->context[i].process;
	return 0;
}

bool soft_process_stays(uint32_t process)
{
	const struct soft_group *g = soft.group;
	uint32_t owner;

	if (!g->process[process].parent)
		return false;
	for (uint32_t i = 1; i <= g->objects_high; i++) {
		if (g->object[i].process != process || g->object[i].kind == SOFT_FREE)
			continue;
		owner = opener(g->object[i].file);
		if (owner && owner != process && g->process[owner].pid)
			return true;
	}
	return false;
}

void soft_process_leave(uint32_t process)
{
	static const enum soft_kind order[] = {SOFT_QP, SOFT_AH, SOFT_MR,
					       SOFT_CQ, SOFT_PD, SOFT_CHANNEL};
	struct soft_group *g = soft.group;
	char path[192], name[32];

	soft_contexts_lost(process);
	/* Also what one that went before could not give back, as this one had some of it. */
	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (uint32_t i = 1; i <= g->objects_high; i++)
			if (g->object[i].kind == order[k] &&
			    (g->object[i].process == process ||
			     !g->process[g->object[i].process].pid))
				soft_object_destroy(&g->object[i]);
	soft_share_path(process, path);
	unlink(path);
	life_name(process, name);
	snprintf(path, sizeof(path), "%s/%s", soft.folder, name);
	unlink(path);
	g->process[process].pid = 0;
	for (uint32_t i = 1; i < SOFT_MAX_PROCESSES; i++)
		if (g->process[i].kept && !soft_process_adopt(i))
			g->process[i].pid = -1;
}

static uint32_t page_list(uint64_t bytes)
{
	uint32_t list = 0;

	while ((uint64_t)SOFT_PAGE << list < bytes)
		list++;
	return list;
}

uint64_t soft_pages_get(uint64_t bytes)
{
	struct soft_group *g = soft.group;
	uint32_t list = page_list(bytes), page;

	if (list >= SOFT_NUM_PAGE_LISTS)
		return 0;
	page = g->pages_free[list];
	if (page) {
		memcpy(&g->pages_free[list], soft.rings + (uint64_t)(page - 1) * SOFT_PAGE,
		       sizeof(page));
		page--;
	} else {
		if ((g->pages_high + (1ull << list)) * SOFT_PAGE > RINGS_SIZE)
			return 0;
		page = (uint32_t)g->pages_high;
		g->pages_high += 1ull << list;
	}
	memset(soft.rings + (uint64_t)page * SOFT_PAGE, 0, bytes);
	return (uint64_t)page * SOFT_PAGE;
}

void soft_pages_put(uint64_t key, uint64_t bytes)
{
	struct soft_group *g = soft.group;
	uint32_t list = page_list(bytes), page = (uint32_t)(key / SOFT_PAGE) + 1;

	memcpy(soft.rings + key, &g->pages_free[list], sizeof(page));
	g->pages_free[list] = page;
}
