/* SPDX-License-Identifier: MIT */
/* What is known of the program's objects. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "observer.h"

#define NUM_LISTS 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct seen *) lists[NUM_LISTS];
static _Atomic(struct seen_context *) contexts;

/* A library that was loaded for somebody alone is not among those that are next to us. */
void *observer_real(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void *real = dlsym(handle ? handle : RTLD_NEXT, name);

	if (handle)
		dlclose(handle);
	return real;
}

const struct srd_recorder *observer_recorder(void)
{
	static const struct srd_recorder *recorder;

	if (!recorder)
		recorder = dlsym(RTLD_DEFAULT, SRD_RECORDER);
	return recorder && recorder->on() ? recorder : NULL;
}

static void free_locks(struct seen *seen)
{
	if (seen->kind == SRD_RECORDER_CQ) {
		observer_turn_over(&seen->cq.telling);
	} else if (seen->kind == SRD_RECORDER_QP) {
		observer_turn_over(&seen->qp.telling);
		observer_turn_over(&seen->qp.telling_receives);
	}
}

static void fork_left(struct seen *seen)
{
	free_locks(seen);
	if (seen->kind == SRD_RECORDER_QP)
		seen->qp.untold = false;
}

/* Another thread of the parent may have held them, and the parent's sessions are its own. */
static void forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (uint32_t i = 0; i < NUM_LISTS; i++)
		for (struct seen *seen = lists[i]; seen; seen = seen->next)
			fork_left(seen);
	observer_memory_forked();
}

__attribute__((constructor)) static void start(void)
{
	pthread_atfork(NULL, NULL, forked);
}

/* Nobody else will tell of sessions that are open when the program ends. */
__attribute__((destructor)) static void end(void)
{
	for (uint32_t i = 0; i < NUM_LISTS; i++)
		for (struct seen *seen = lists[i]; seen; seen = seen->next)
			if (seen->kind == SRD_RECORDER_QP)
				observer_session_told(seen);
}

static uint32_t list_of(const void *at)
{
	return (uint32_t)((uintptr_t)at >> 4) * 2654435761u >> 20;
}

struct seen *observer_find(const void *at, enum srd_recorder_kind kind)
{
	static __thread struct seen *last[3];
	struct seen *seen = last[kind];

	if (seen && seen->at == at && !seen->dead)
		return seen;
	/* The newest is first: the one that is there now, where there is one. */
	for (seen = lists[list_of(at)]; seen; seen = seen->next)
		if (seen->at == at && seen->kind == kind)
			break;
	if (seen)
		last[kind] = seen;
	return seen;
}

struct seen *observer_add(const void *at, enum srd_recorder_kind kind, struct ibv_context *context,
			  uint32_t handle)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct seen *seen, *old;
	uint8_t host = 0;
	uint32_t number = recorder ? recorder->number(kind, context->cmd_fd, handle, &host) : 0;

	seen = number ? calloc(1, sizeof(*seen)) : NULL;
	if (!seen)
		return NULL;
	seen->at = at;
	seen->kind = kind;
	seen->number = number;
	seen->host = host;
	free_locks(seen);
	/* Its memory had another one, which an unwatched way has destroyed. */
	old = observer_find(at, kind);
	if (old)
		old->dead = true;
	pthread_mutex_lock(&lock);
	seen->next = lists[list_of(at)];
	lists[list_of(at)] = seen;
	pthread_mutex_unlock(&lock);
	return seen;
}

struct seen_context *observer_context(const struct ibv_context *context)
{
	struct seen_context *seen = contexts;

	while (seen && seen->context != context)
		seen = seen->next;
	return seen;
}

void observer_add_context(struct ibv_context *context)
{
	struct seen_context *seen = calloc(1, sizeof(*seen));
	extern struct ibv_cq_ex *observer_create_cq_ex(struct ibv_context *,
						       struct ibv_cq_init_attr_ex *);
	extern struct ibv_qp *observer_create_qp_ex(struct ibv_context *,
						    struct ibv_qp_init_attr_ex *);
	struct verbs_context *verbs = verbs_get_ctx(context);

	if (!seen)
		return;
	seen->context = context;
	seen->ops = context->ops;
	context->ops.poll_cq = observer_poll_cq;
	context->ops.post_send = observer_post_send;
	context->ops.post_recv = observer_post_recv;
	if (verbs) {
		seen->create_cq_ex = verbs->create_cq_ex;
		seen->create_qp_ex = verbs->create_qp_ex;
		verbs->create_cq_ex = observer_create_cq_ex;
		verbs->create_qp_ex = observer_create_qp_ex;
	}
	pthread_mutex_lock(&lock);
	seen->next = contexts;
	contexts = seen;
	pthread_mutex_unlock(&lock);
}
