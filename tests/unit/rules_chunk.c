/* SPDX-License-Identifier: MIT */
/* The chunk family: each rule fires on a stream of its own, and not on good ones. */
#include "rules_world.h"

static void one_op(struct world *w, uint64_t size, uint32_t count,
		   const struct srd_ev_wr_post *list)
{
	op_begin(w, SRD_OP_PUT, size, size);
	post_begin(w, count);
	for (uint32_t i = 0; i < count; i++)
		post(w, list[i]);
	post_end(w, count);
	for (uint32_t i = 0; i < count; i++)
		completion(w, list[i].wr_id, 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void plan(struct world *w, uint64_t size, uint32_t count, const uint64_t (*chunks)[2])
{
	struct srd_ev_wr_post list[8];

	for (uint32_t i = 0; i < count; i++) {
		list[i] = good_post(w, chunks[i][0], chunks[i][1]);
		list[i].wr_id = w->next_id + i;
	}
	one_op(w, size, count, list);
}

static void nothing_for_empty(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 0, 0);
	EMIT(w, OP_POST_BEGIN, op_post_begin, H(0), .num_wr_asked = 0);
	EMIT(w, OP_POST_END, op_post_end, H(0), .num_ids = 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void empty_tail(struct world *w)
{
	plan(w, 2000, 3, (uint64_t[][2]){{0, 1000}, {1000, 1000}, {2000, 0}});
}

static void short_first(struct world *w)
{
	plan(w, 1500, 2, (uint64_t[][2]){{0, 500}, {500, 1000}});
}

static void gap(struct world *w)
{
	plan(w, 2500, 3, (uint64_t[][2]){{0, 1000}, {1001, 999}, {2000, 500}});
}

static void too_short(struct world *w)
{
	plan(w, 1500, 2, (uint64_t[][2]){{0, 1000}, {1000, 499}});
}

static void overlap(struct world *w)
{
	plan(w, 1999, 2, (uint64_t[][2]){{0, 1000}, {999, 1000}});
}

static void misaligned(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_addr += 8;
	one_op(w, 100, 1, &request);
}

static void larger_side(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 900);

	/* A get moves what is remote: 500 bytes. */
	op_begin(w, SRD_OP_GET, 900, 500);
	post_begin(w, 1);
	request.opcode = SRD_WR_RDMA_READ;
	post(w, request);
	post_end(w, 1);
	EMIT(w, WC, wc, H(0), .wr_id = request.wr_id, .qp_num = QPN(0));
	op_end(w, w->last_op, 0, 0, 0);
}

static void mismatch(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 800, 700);
	post_begin(w, 1);
	EMIT(w, SESSION_ABORT, session_abort, H(0), );
	EMIT(w, OP_POST_END, op_post_end, H(0), .result = (uint32_t)-90);
	op_end(w, w->last_op, -90, 0, 0);
}

static void too_long(struct world *w)
{
	raw_post(w, good_post(w, 0, MAX_RDMA + 1));
	completion(w, 0, SRD_EFA_LOCAL_ERROR_BAD_LENGTH);
}

static void too_long_in_op(struct world *w)
{
	plan(w, 1500, 1, (uint64_t[][2]){{0, 1500}});
}

static void other_max(struct world *w)
{
	EMIT(w, QP_OPEN, qp_open, H(0), .max_msg_size = 1u << 30, .max_send_wr = DEPTH);
}

static void put_as_read(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	op_begin(w, SRD_OP_PUT, 100, 100);
	post_begin(w, 1);
	request.opcode = SRD_WR_RDMA_READ;
	post(w, request);
	post_end(w, 1);
	EMIT(w, WC, wc, H(0), .wr_id = request.wr_id, .qp_num = QPN(0));
	op_end(w, w->last_op, 0, 0, 0);
}

/* With the key of a region of 50 bytes that the queue pair has registered by itself. */
static void own_region(struct world *w, uint64_t length)
{
	struct srd_ev_wr_post request = good_post(w, 0, length);

	EMIT(w, MR_REG, mr_reg, 9, .pd = H(0), .access = SRD_ACCESS_LOCAL_WRITE, .addr = ADDR(0),
	     .length = 50, .lkey = 0x77, .rkey = 0x78);
	request.lkey = 0x77;
	one_op(w, length, 1, &request);
	EMIT(w, MR_DEREG, mr_dereg, 9, );
}

static void region_too_small(struct world *w)
{
	own_region(w, 51);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"chunk.count", nothing_for_empty, NULL},
		{"chunk.empty", empty_tail, "credit.predict"},
		{"chunk.full", short_first, NULL},
		{"chunk.cover", gap, NULL},
		{"chunk.cover", too_short, NULL},
		{"chunk.overlap", overlap, NULL},
		{"chunk.align", misaligned, NULL},
		{"chunk.transfer", larger_side, NULL},
		{"chunk.mismatch", mismatch, NULL},
		{"chunk.limit", too_long, NULL},
		{"chunk.limit", too_long_in_op, NULL},
		{"chunk.max", other_max, NULL},
		{"chunk.operation", put_as_read, NULL},
		{"chunk.operation", region_too_small, "memory.local_range"},
	};

	run_cases("chunk", cases, sizeof(cases) / sizeof(cases[0]));
}

static void good_ops_are_quiet(void **state)
{
	static const uint64_t sizes[] = {0, 1, 999, 1000, 1001, 1999, 2000, 2001, 3999, 4000};
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "all");
	own_region(&w, 50);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t id = w.next_id;
		uint32_t op = good_op(&w, SRD_OP_PUT, sizes[i]);

		/* SRD completes in any order: the last one first. */
		for (uint64_t done = w.next_id; done-- > id;)
			completion(&w, done, 0);
		op_end(&w, op, 0, 0, 0);
		scheduler_state(&w, 0);
	}
	world_unmake(&w);
	if (world_finish(&w, &list))
		fail_msg("%s: %s", rule_of(&list[0]), list[0].evidence);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
		cmocka_unit_test(good_ops_are_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
