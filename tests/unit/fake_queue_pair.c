/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_queue_pair.h"

#define POLL_ERROR UINT32_MAX

static struct fake_queue_pair *fake_of(struct srd_queue_pair *qp)
{
	return (struct fake_queue_pair *)qp;
}

static int create(struct srd_verbs *verbs, struct srd_pd *pd,
		  const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		  struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error)
{
	/* The test hands the queue pair over in place of a protection domain. */
	*out = (struct srd_queue_pair *)pd;
	return 0;
}

static void destroy(struct srd_queue_pair *qp)
{
	fake_of(qp)->destroyed = true;
}

static struct srd_qp *verbs_qp(struct srd_queue_pair *qp)
{
	return fake_of(qp)->verbs_qp.handle ? &fake_of(qp)->verbs_qp : NULL;
}

static int connect(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
		   struct srd_error *error)
{
	return peer->has_gid ? 0 : srd_error_set(error, -EINVAL, "no GID");
}

static int endpoint(struct srd_queue_pair *qp, struct srd_endpoint *out, struct srd_error *error)
{
	*out = (struct srd_endpoint){.qp_num = 5};
	return 0;
}

static int state(struct srd_queue_pair *qp, enum srd_qp_state *out, struct srd_error *error)
{
	*out = SRD_QPS_RTS;
	return 0;
}

static uint64_t max_msg_size(struct srd_queue_pair *qp)
{
	return fake_of(qp)->max;
}

static uint64_t num_requests(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size)
{
	uint64_t max = fake_of(qp)->max;

	return size <= max ? 1 : (size - 1) / max + 1;
}

static int post(struct fake_queue_pair *fake, const struct srd_op *op, uint64_t size,
		struct srd_wr_ids *ids, struct srd_error *error)
{
	uint64_t count =
		num_requests((struct srd_queue_pair *)fake, op->kind, size) + (uint64_t)fake->extra;

	assert_true(fake->num_posts < FAKE_QP_POSTS);
	fake->posts[fake->num_posts++] = *op;
	if (fake->post_result)
		return fake->silent ? fake->post_result
				    : srd_error_set(error, fake->post_result, "the post failed");
	if (fake->too_many) {
		ids->count = ids->capacity + 1;
		return 0;
	}
	assert_true(count <= ids->capacity);
	for (uint64_t i = 0; i < count; i++, fake->next_id += fake->id_step)
		ids->id[i] = fake->next_id;
	ids->count = (uint32_t)count;
	return 0;
}

static int put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
	       const struct srd_local_view *from, struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_PUT, .local = *from, .remote = *to};

	return post(fake_of(qp), &op, from->size, ids, error);
}

static int get(struct srd_queue_pair *qp, const struct srd_local_view *to,
	       const struct srd_remote_view *from, struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_GET, .local = *to, .remote = *from};

	return post(fake_of(qp), &op, from->size, ids, error);
}

static int poll(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
		struct srd_error *error)
{
	struct fake_queue_pair *fake = fake_of(qp);

	fake->polls++;
	if (which != SRD_QUEUE_SEND || fake->head == fake->tail)
		return 0;
	*out = fake->completions[fake->head++ % FAKE_QP_COMPLETIONS];
	if (out->status != POLL_ERROR)
		return 1;
	if (fake->silent)
		return -(int)out->wr_id;
	return srd_error_set(error, -(int)out->wr_id, "the poll failed");
}

const struct srd_queue_pair_ops fake_queue_pair_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "fake",
	.create = create,
	.destroy = destroy,
	.verbs_qp = verbs_qp,
	.connect = connect,
	.endpoint = endpoint,
	.state = state,
	.max_msg_size = max_msg_size,
	.num_requests = num_requests,
	.put = put,
	.get = get,
	.poll = poll,
};

void fake_queue_pair_init(struct fake_queue_pair *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->max = 1000;
	fake->id_step = 1;
	fake->context.host = 2;
	fake->verbs_qp = (struct srd_qp){.context = &fake->context, .handle = 7, .qp_num = 5};
}

static void entry(struct fake_queue_pair *fake, uint64_t wr_id, uint32_t status)
{
	assert_true(fake->tail - fake->head < FAKE_QP_COMPLETIONS);
	fake->completions[fake->tail++ % FAKE_QP_COMPLETIONS] = (struct srd_completion){
		.wr_id = wr_id,
		.status = status,
		/* as good as any: 1 is a flush, so that a test sees where it came from */
		.vendor_err = status == SRD_WC_WR_FLUSH_ERR ? 1
			      : status                      ? 7
							    : 0,
	};
}

void fake_queue_pair_complete(struct fake_queue_pair *fake, uint64_t wr_id,
			      enum srd_wc_status status)
{
	entry(fake, wr_id, status);
}

void fake_queue_pair_poll_error(struct fake_queue_pair *fake, int errnum)
{
	entry(fake, (uint64_t)errnum, POLL_ERROR);
}
