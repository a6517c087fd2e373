/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "planted.h"
#include "qp/efa_srd.h"

static int empty_posts_nothing(struct srd_queue_pair *qp, const struct srd_remote_view *to,
			       const struct srd_local_view *from, struct srd_wr_ids *ids,
			       struct srd_error *error)
{
	if (from->size)
		return srd_efa_srd_ops.put(qp, to, from, ids, error);
	ids->count = 0;
	return 0;
}

static void plant_empty_posts_nothing(struct srd_queue_pair_ops *ops)
{
	ops->put = empty_posts_nothing;
}

static uint32_t empty_tail(uint64_t size, struct piece *out)
{
	uint32_t count = good_plan(size, out);

	if (size && size < 4000 && size % MAX_RDMA == 0)
		out[count++] = (struct piece){size, size, 0};
	return count;
}

/* The rest comes first. */
static uint32_t rest_first(uint64_t size, struct piece *out)
{
	uint64_t at = 0, length = size % MAX_RDMA ? size % MAX_RDMA : MAX_RDMA;
	uint32_t count = 0;

	if (!size)
		return good_plan(size, out);
	for (; at < size; length = MAX_RDMA) {
		out[count++] = (struct piece){at, at, length};
		at += length;
	}
	return count;
}

static uint32_t one_byte_gap(uint64_t size, struct piece *out)
{
	uint32_t count = good_plan(size, out);

	if (count > 1 && out[1].length > 1) {
		out[1].local++;
		out[1].remote++;
		out[1].length--;
	}
	return count;
}

static uint32_t last_byte_lost(uint64_t size, struct piece *out)
{
	uint32_t count = good_plan(size, out);

	if (size == 2500)
		out[count - 1].length--;
	return count;
}

static uint32_t one_byte_twice(uint64_t size, struct piece *out)
{
	uint32_t count = good_plan(size, out);

	if (count > 1) {
		out[1].local--;
		out[1].remote--;
		out[1].length++;
	}
	return count;
}

static uint32_t remote_stays(uint64_t size, struct piece *out)
{
	uint32_t count = good_plan(size, out);

	for (uint32_t i = 0; i < count; i++)
		out[i].remote = 0;
	return count;
}

static int get_by_local_size(struct srd_queue_pair *qp, const struct srd_local_view *to,
			     const struct srd_remote_view *from, struct srd_wr_ids *ids,
			     struct srd_error *error)
{
	struct srd_remote_view longer = *from;

	longer.size = to->size;
	return srd_efa_srd_ops.get(qp, to, &longer, ids, error);
}

static void plant_get_by_local_size(struct srd_queue_pair_ops *ops)
{
	ops->get = get_by_local_size;
}

static void get_into_larger(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_GET, 0, 600);

	op.local.size = 900;
	submit(op);
	settle();
}

static int cut_to_fit(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		      const struct srd_local_view *from, struct srd_wr_ids *ids,
		      struct srd_error *error)
{
	struct srd_local_view shorter = *from;

	if (to->size < from->size)
		shorter.size = to->size;
	return srd_efa_srd_ops.put(qp, to, &shorter, ids, error);
}

static void plant_cut_to_fit(struct srd_queue_pair_ops *ops)
{
	ops->put = cut_to_fit;
}

static void put_into_smaller(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, 0, 900);

	op.remote.size = 600;
	submit(op);
	settle();
}

/* Asked of no device: a constant. */
static uint64_t a_gigabyte(struct srd_queue_pair *qp)
{
	return 1u << 30;
}

static void plant_constant(struct srd_queue_pair_ops *ops)
{
	ops->max_msg_size = a_gigabyte;
}

static uint32_t in_one_piece(uint64_t size, struct piece *out)
{
	out[0] = (struct piece){0, 0, size};
	return 1;
}

static void get_by_writing(struct stage *s, struct srd_qp *qp, const struct srd_op *op,
			   const struct piece *piece, uint32_t number)
{
	struct srd_op put = *op;

	put.kind = SRD_OP_PUT;
	good_build(s, qp, &put, piece, number);
}

const struct planted planted_chunk[] = {
	{"chunk.count", "credit.predict", "an empty put posts nothing, as on RC",
	 .queue_pair = plant_empty_posts_nothing},
	{"chunk.empty", "credit.predict credit.overcommit", "an exact multiple gets an empty tail",
	 .plan = empty_tail},
	{"chunk.full", NULL, "the rest is posted first", .plan = rest_first},
	{"chunk.cover", NULL, "a byte between two requests is left out", .plan = one_byte_gap},
	{"chunk.cover", NULL, "the last byte is left out", .plan = last_byte_lost},
	{"chunk.overlap", "chunk.limit completion.op_result", "a byte is in two requests",
	 .plan = one_byte_twice},
	{"chunk.align", NULL, "every request goes to the start of the remote range",
	 .plan = remote_stays},
	{"chunk.transfer", NULL, "a get reads as much as the local range holds",
	 .queue_pair = plant_get_by_local_size, .run = get_into_larger},
	{"chunk.mismatch", "chunk.transfer", "a put into a smaller range is cut",
	 .queue_pair = plant_cut_to_fit, .run = put_into_smaller},
	{"chunk.limit", "credit.predict", "everything in one request", .plan = in_one_piece},
	{"chunk.max", NULL, "max_msg_size is a constant", .queue_pair = plant_constant},
	{"chunk.operation", NULL, "a get writes", .build = get_by_writing},
	{NULL},
};
