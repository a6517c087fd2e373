/* SPDX-License-Identifier: MIT */
/*
 * A table of verbs for tests of what stands above one: it does nothing, logs each call, and
 * answers as it is told.
 */
#ifndef FAKE_H
#define FAKE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/verbs.h>

struct fake {
	struct srd_verbs verbs;
	enum srd_verb log[4096];
	int num;                   /* calls in the log; the oldest are dropped when it is full */
	int answer[SRD_NUM_VERBS]; /* what errno and count operations return; errno of the others */
	uint64_t now;
	uint32_t handles[SRD_NUM_VERBS]; /* given out so far, by the operation that makes them */
	struct srd_device_attr attr;
	struct srd_efa_device_attr efa;
	struct srd_wc wc[8]; /* what poll_cq finds */
	void *objects[64];   /* live until close, destroyed or not */
	int num_objects;
	bool closed;
};

static inline int fake_call(struct srd_verbs *verbs, enum srd_verb verb)
{
	struct fake *fake = (struct fake *)verbs;

	if (fake->num == (int)(sizeof(fake->log) / sizeof(fake->log[0])))
		fake->num = 0;
	fake->log[fake->num++] = verb;
	return fake->answer[verb];
}

/* Whether the operation succeeds; the next handle in *handle. */
static inline bool fake_make(struct srd_verbs *verbs, enum srd_verb verb, uint32_t *handle)
{
	struct fake *fake = (struct fake *)verbs;

	errno = fake_call(verbs, verb);
	if (errno)
		return false;
	*handle = ++fake->handles[verb];
	return true;
}

static inline void *fake_keep(struct srd_verbs *verbs, const void *object, size_t size)
{
	struct fake *fake = (struct fake *)verbs;
	void *copy = malloc(size);

	assert_non_null(copy);
	assert_true(fake->num_objects < (int)(sizeof(fake->objects) / sizeof(fake->objects[0])));
	memcpy(copy, object, size);
	fake->objects[fake->num_objects++] = copy;
	return copy;
}

#define FAKE_OBJECT(kind, verb, ...)                             \
	struct srd_##kind object = {__VA_ARGS__}, *out = NULL;   \
                                                                 \
	if (fake_make(verbs, SRD_VERB_##verb, &object.handle)) { \
		out = fake_keep(verbs, &object, sizeof(object)); \
	}                                                        \
	return out

static struct srd_context *fake_open_device(struct srd_verbs *verbs, uint32_t host,
					    const char *name)
{
	FAKE_OBJECT(context, OPEN_DEVICE, .host = host, .name = "fake0");
}

static struct srd_pd *fake_alloc_pd(struct srd_verbs *verbs, struct srd_context *context)
{
	FAKE_OBJECT(pd, ALLOC_PD, .context = context);
}

static struct srd_mr *fake_reg_mr(struct srd_verbs *verbs, struct srd_pd *pd, uint64_t addr,
				  uint64_t length, uint32_t access)
{
	FAKE_OBJECT(mr, REG_MR, .context = pd->context, .pd = pd, .addr = addr, .length = length,
		    .lkey = 0x10, .rkey = 0x10);
}

static struct srd_cq *fake_create_cq(struct srd_verbs *verbs, struct srd_context *context,
				     uint32_t cqe)
{
	FAKE_OBJECT(cq, CREATE_CQ, .context = context, .cqe = cqe + 1);
}

static struct srd_cq *fake_create_cq_ex(struct srd_verbs *verbs, struct srd_context *context,
					const struct srd_cq_init_attr_ex *attr)
{
	struct srd_cq cq = {.context = context, .cqe = attr->cqe + 1};
	struct fake *fake = (struct fake *)verbs;

	if (!fake_make(verbs, SRD_VERB_CREATE_CQ_EX, &cq.handle))
		return NULL;
	/* Both kinds of queue are numbered together. */
	cq.handle = ++fake->handles[SRD_VERB_CREATE_CQ];
	return fake_keep(verbs, &cq, sizeof(cq));
}

static struct srd_comp_channel *fake_create_comp_channel(struct srd_verbs *verbs,
							 struct srd_context *context)
{
	FAKE_OBJECT(comp_channel, CREATE_COMP_CHANNEL, .context = context);
}

static struct srd_ah *fake_create_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				     const struct srd_ah_attr *attr)
{
	FAKE_OBJECT(ah, CREATE_AH, .context = pd->context, .pd = pd);
}

static struct srd_qp *fake_create_qp_ex(struct srd_verbs *verbs, struct srd_context *context,
					struct srd_qp_init_attr_ex *attr,
					const struct srd_efa_qp_init_attr *efa)
{
	attr->cap.max_send_wr += 1;
	attr->cap.max_recv_wr += 2;
	FAKE_OBJECT(qp, CREATE_QP_EX, .context = context, .pd = attr->pd, .send_cq = attr->send_cq,
		    .recv_cq = attr->recv_cq, .qp_num = 0x77);
}

static struct srd_buffer *fake_alloc_buffer(struct srd_verbs *verbs, struct srd_context *context,
					    uint64_t length, enum srd_buffer_kind kind)
{
	FAKE_OBJECT(buffer, ALLOC_BUFFER, .context = context, .length = length, .kind = kind,
		    .addr = 0x1000);
}

static void fake_close(struct srd_verbs *verbs)
{
	struct fake *fake = (struct fake *)verbs;

	while (fake->num_objects)
		free(fake->objects[--fake->num_objects]);
	fake->closed = true;
}

#include "fake_ops.h"

static int fake_query_limits(struct srd_verbs *verbs, struct srd_context *context,
			     struct srd_device_attr *attr)
{
	*attr = ((struct fake *)verbs)->attr;
	return fake_call(verbs, SRD_VERB_QUERY_DEVICE);
}

static int fake_query_efa_limits(struct srd_verbs *verbs, struct srd_context *context,
				 struct srd_efa_device_attr *attr)
{
	*attr = ((struct fake *)verbs)->efa;
	return fake_call(verbs, SRD_VERB_EFA_QUERY_DEVICE);
}

static int fake_poll(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries, struct srd_wc *wc)
{
	int n = fake_call(verbs, SRD_VERB_POLL_CQ);

	for (int i = 0; i < n; i++)
		wc[i] = ((struct fake *)verbs)->wc[i];
	return n;
}

/* The entry of an extended poll is always the first. */
static void fake_read_entry(struct srd_verbs *verbs, struct srd_cq *cq, struct srd_wc_ex *wc)
{
	fake_call(verbs, SRD_VERB_READ_WC);
	*wc = (struct srd_wc_ex){.wc = ((struct fake *)verbs)->wc[0]};
}

static uint64_t fake_time(struct srd_verbs *verbs)
{
	fake_call(verbs, SRD_VERB_NOW);
	return ((struct fake *)verbs)->now;
}

static inline void fake_init(struct fake *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->verbs.name = "fake";
	fake_fill(&fake->verbs);
	fake->verbs.query_device = fake_query_limits;
	fake->verbs.efa_query_device = fake_query_efa_limits;
	fake->verbs.poll_cq = fake_poll;
	fake->verbs.read_wc = fake_read_entry;
	fake->verbs.now = fake_time;
}

#endif
