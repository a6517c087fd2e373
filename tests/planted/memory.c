/* SPDX-License-Identifier: MIT */
#include "planted.h"

/* One request of OP, and its completion whatever it is. */
static void once(struct srd_op op)
{
	struct srd_wc wc;

	raw_post(0, &op, stage->above.ah);
	raw_wait(&wc);
}

static void wrong_lkey(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);

	op.local.lkey += 1000;
	once(op);
}

static void past_the_end(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, BUFFER_SIZE - 99, 100);

	op.remote.addr = s->b.buffer->addr;
	once(op);
}

static void past_the_remote_end(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, BUFFER_SIZE - 99, 100);

	op.local.addr = s->a.buffer->addr;
	once(op);
}

static void read_into_read_only(struct stage *s)
{
	struct srd_mr *mr = s->verbs->reg_mr(s->verbs, s->a.pd, s->a.buffer->addr, 4096, 0);
	struct srd_op op = op_of(SRD_OP_GET, 0, 100);

	op.local.lkey = mr->lkey;
	once(op);
	s->verbs->dereg_mr(s->verbs, mr);
}

static void wrong_rkey(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);

	op.remote.rkey += 1000;
	once(op);
}

static void write_to_read_only(struct stage *s)
{
	struct srd_mr *mr = s->verbs->reg_mr(s->verbs, s->b.pd, s->b.buffer->addr, 4096,
					     SRD_ACCESS_REMOTE_READ);
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);

	op.remote.rkey = mr->rkey;
	once(op);
	s->verbs->dereg_mr(s->verbs, mr);
}

static void round_the_end(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);

	op.remote.addr = UINT64_MAX - 10;
	once(op);
}

static void dereg_too_early(struct stage *s)
{
	struct srd_wc wc;

	raw_write(0, 100);
	s->verbs->dereg_mr(s->verbs, s->a.mr);
	s->a.mr = NULL;
	raw_wait(&wc);
}

static void remote_dereg_too_early(struct stage *s)
{
	struct srd_wc wc;

	raw_write(0, 100);
	s->verbs->dereg_mr(s->verbs, s->b.mr);
	s->b.mr = NULL;
	raw_wait(&wc);
}

static void free_too_early(struct stage *s)
{
	struct srd_wc wc;

	raw_write(0, 100);
	s->verbs->free_buffer(s->verbs, s->a.buffer);
	s->a.buffer = NULL;
	raw_wait(&wc);
}

static void placed_outside(struct stage *s)
{
	FORGE(DEV_PLACE, dev_place, s->b.mr->handle, .addr = s->b.mr->addr + s->b.mr->length,
	      .length = 1);
}

static void inlines_what_it_cannot_read(struct stage *s)
{
	struct srd_verbs *v = s->verbs;
	struct srd_buffer *buffer = v->alloc_buffer(v, s->a.context, 4096, SRD_BUFFER_DEVICE);

	v->wr_start(v, raw_qp());
	raw_qp()->wr_flags = SRD_SEND_SIGNALED | SRD_SEND_INLINE;
	v->wr_rdma_write(v, raw_qp(), s->b.mr->rkey, s->b.buffer->addr);
	v->wr_set_inline_data(v, raw_qp(), buffer->addr, 8);
	v->wr_set_ud_addr(v, raw_qp(), s->above.ah, s->b.endpoint.qp_num, SRD_DEFAULT_QKEY);
	v->wr_abort(v, raw_qp());
	v->free_buffer(v, buffer);
}

const struct planted planted_memory[] = {
	{"memory.lkey", NULL, "an lkey of nothing", .run = wrong_lkey},
	{"memory.local_range", NULL, "one byte past the local end", .run = past_the_end},
	{"memory.local_access", NULL, "a read into memory without LOCAL_WRITE",
	 .run = read_into_read_only},
	{"memory.rkey", NULL, "an rkey of nothing", .run = wrong_rkey},
	{"memory.remote_range", NULL, "one byte past the remote end", .run = past_the_remote_end},
	{"memory.remote_access", NULL, "a write to memory without REMOTE_WRITE",
	 .run = write_to_read_only},
	{"memory.wrap", NULL, "a range past 2^64", .run = round_the_end},
	{"memory.dereg", NULL, "the local region goes before the completion",
	 .run = dereg_too_early},
	{"memory.dereg", NULL, "the remote region goes before the completion",
	 .run = remote_dereg_too_early},
	{"memory.free", NULL, "the buffer goes before the completion", .run = free_too_early},
	{"memory.inline", NULL, "inline data in the memory of an accelerator",
	 .run = inlines_what_it_cannot_read},
	{"memory.place", NULL, "a byte behind a region changes", .run = placed_outside},
	{NULL},
};
