/* SPDX-License-Identifier: MIT */
/*
 * The example queue pair with one thing wrong that no process survives, or that may not be:
 * which one, -DDEFECT_... says. They all show at the first put.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <srdlab/plugin.h>

const struct srd_queue_pair_ops *good(void);
#define srdlab_queue_pair_v1 good
#include "../../examples/queue_pair_c/queue_pair.c"
#undef srdlab_queue_pair_v1

__attribute__((noinline)) void plant_here(void);

#ifdef DEFECT_CRASH
void plant_here(void)
{
	volatile int *volatile nowhere = (volatile int *)16;

	*nowhere = 1;
}
#endif

#ifdef DEFECT_ABORT
void plant_here(void)
{
	abort();
}
#endif

#ifdef DEFECT_OVERFLOW
static volatile int depth = 1;

static int deeper(void)
{
	volatile char here[4096] = {0};

	return depth ? deeper() + here[depth] : 0;
}

void plant_here(void)
{
	deeper();
}
#endif

#ifdef DEFECT_LOOP
void plant_here(void)
{
	for (volatile unsigned int i = 0;; i++)
		;
}
#endif

#ifdef DEFECT_SLEEP
void plant_here(void)
{
	for (;;)
		pause();
}
#endif

#ifdef DEFECT_EXIT
void plant_here(void)
{
	exit(3);
}
#endif

#ifdef DEFECT_QUIT
void plant_here(void)
{
	_exit(4);
}
#endif

#if defined(DEFECT_COUNT) || defined(DEFECT_RESULT) || defined(DEFECT_IDS)
void plant_here(void)
{
}
#endif

#ifdef DEFECT_THREAD
static struct srd_queue_pair *shared;

void *start_here(void *unused);

void *start_here(void *unused)
{
	shared->verbs->wr_start(shared->verbs, shared->qp);
	return NULL;
}

void plant_here(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, start_here, NULL);
	pthread_join(thread, NULL);
}
#endif

#ifdef DEFECT_RANDOM
static struct srd_queue_pair *shared;

/* Request ids that are a matter of chance. */
void plant_here(void)
{
	uint32_t chance;

	if (getrandom(&chance, sizeof(chance), 0) == sizeof(chance))
		shared->next_id += chance;
}
#endif

#ifdef DEFECT_FORK
/*
 * A child that keeps all that its parent had open, and never ends: made without the C library,
 * which would tell of it.
 */
void plant_here(void)
{
	static bool forked;
	const char *path = getenv("SRD_TEST_FILE");
	pid_t child = forked ? 1 : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	FILE *file;

	forked = true;
	if (!child)
		for (;;)
			pause();
	file = child > 1 && path ? fopen(path, "a") : NULL;
	if (!file)
		return;
	fprintf(file, "%d\n", (int)child);
	fclose(file);
}
#endif

static int bad_put(struct srd_queue_pair *q, const struct srd_remote_view *to,
		   const struct srd_local_view *from, struct srd_wr_ids *ids,
		   struct srd_error *error)
{
	int rc;

#if defined(DEFECT_THREAD) || defined(DEFECT_RANDOM)
	shared = q;
#endif
	plant_here();
	rc = put(q, to, from, ids, error);
#ifdef DEFECT_COUNT
	ids->count = 123456;
#endif
#ifdef DEFECT_IDS
	for (uint32_t i = 0; i < ids->count; i++)
		ids->id[i] ^= 0xdeadbeef;
#endif
#ifdef DEFECT_RESULT
	rc = 22; /* as verbs have it */
#endif
	return rc;
}

const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	static struct srd_queue_pair_ops ops;

	ops = *good();
	ops.put = bad_put;
	return &ops;
}
