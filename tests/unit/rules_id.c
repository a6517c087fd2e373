/* SPDX-License-Identifier: MIT */
/* The id family: each rule fires on a stream of its own. */
#include "rules_world.h"

/* One op of COUNT full requests with these ids, which it returns. */
static void op_with_ids(struct world *w, uint32_t count, const uint64_t *ids)
{
	op_begin(w, SRD_OP_PUT, (uint64_t)count * MAX_RDMA, (uint64_t)count * MAX_RDMA);
	post_begin(w, count);
	for (uint32_t i = 0; i < count; i++) {
		struct srd_ev_wr_post request = good_post(w, (uint64_t)i * MAX_RDMA, MAX_RDMA);

		request.wr_id = ids[i];
		post(w, request);
	}
	session_complete(w, 0, count);
	EMIT(w, OP_POST_END, op_post_end, H(0), .num_ids = count, .first_id = ids[0],
	     .last_id = ids[count - 1]);
	for (uint32_t i = 0; i < count; i++)
		completion(w, ids[i], 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void from_one(struct world *w)
{
	op_with_ids(w, 1, (uint64_t[]){1});
}

static void again(struct world *w)
{
	op_with_ids(w, 2, (uint64_t[]){0, 1});
	op_with_ids(w, 1, (uint64_t[]){1});
}

static void after_refusal(struct world *w)
{
	op_with_ids(w, 1, (uint64_t[]){0});
	op_begin(w, SRD_OP_PUT, 100, 100);
	post_begin(w, 1);
	post(w, good_post(w, 0, 100)); /* id 1 */
	session_complete(w, 22, 1);
	EMIT(w, OP_POST_END, op_post_end, H(0), .result = (uint32_t)-22);
	op_end(w, w->last_op, -22, 0, 0);
	op_with_ids(w, 1, (uint64_t[]){1});
}

static void same_twice(struct world *w)
{
	op_with_ids(w, 2, (uint64_t[]){0, 0});
}

static void a_hole(struct world *w)
{
	op_with_ids(w, 3, (uint64_t[]){0, 1, 3});
}

static void skipped(struct world *w)
{
	op_with_ids(w, 2, (uint64_t[]){0, 1});
	op_with_ids(w, 1, (uint64_t[]){5});
}

static void one_not_returned(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 2000, 2000);
	post_begin(w, 2);
	post(w, good_post(w, 0, 1000));
	post(w, good_post(w, 1000, 1000));
	session_complete(w, 0, 2);
	EMIT(w, OP_POST_END, op_post_end, H(0), .num_ids = 1, .first_id = 0, .last_id = 0);
	completion(w, 0, 0);
	completion(w, 1, 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void two_in_flight(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.wr_id = 0xabcd00;
	raw_post(w, request);
	raw_post(w, request);
	completion(w, request.wr_id, 0);
	completion(w, request.wr_id, 0);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"id.first", from_one, NULL},
		{"id.reuse", again, NULL},
		{"id.reuse", after_refusal, NULL},
		{"id.reuse", same_twice, "id.ambiguous"},
		{"id.consecutive", a_hole, NULL},
		{"id.skipped", skipped, NULL},
		{"id.returned", one_not_returned, NULL},
		{"id.ambiguous", two_in_flight, NULL},
	};

	run_cases("id", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
