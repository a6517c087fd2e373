/* SPDX-License-Identifier: MIT */
/* The memory family: each rule fires on a stream of its own. */
#include "rules_world.h"

static void raw(struct world *w, struct srd_ev_wr_post request)
{
	raw_post(w, request);
	completion(w, request.wr_id, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
}

static void unknown_lkey(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.lkey = 0x777;
	raw(w, request);
}

static void dead_lkey(struct world *w)
{
	EMIT(w, MR_REG, mr_reg, 9, .pd = H(0), .access = 7, .addr = ADDR(0), .length = 4096,
	     .lkey = 0x99, .rkey = 0x9a);
	EMIT(w, MR_DEREG, mr_dereg, 9, );
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.lkey = 0x99;
	raw(w, request);
}

static void other_pd(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	EMIT(w, PD_ALLOC, pd_alloc, 8, .context = H(0));
	EMIT(w, MR_REG, mr_reg, 9, .pd = 8, .access = 7, .addr = ADDR(0), .length = 4096,
	     .lkey = 0x99, .rkey = 0x9a);
	request.lkey = 0x99;
	raw(w, request);
	EMIT(w, MR_DEREG, mr_dereg, 9, );
	EMIT(w, PD_DEALLOC, pd_dealloc, 8, );
}

static void past_the_end(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.addr = ADDR(0) + MR_SIZE - 99;
	raw(w, request);
}

static void read_into_read_only(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	EMIT(w, MR_REG, mr_reg, 9, .pd = H(0), .access = 0, .addr = ADDR(0), .length = 4096,
	     .lkey = 0x99, .rkey = 0x9a);
	request.lkey = 0x99;
	request.opcode = SRD_WR_RDMA_READ;
	raw(w, request);
	EMIT(w, MR_DEREG, mr_dereg, 9, );
}

static void unknown_rkey(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.rkey = LKEY(0);
	raw(w, request);
}

static void before_the_start(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_addr = ADDR(1) - 1;
	raw(w, request);
}

static void write_to_read_only(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	EMIT(w, MR_REG, mr_reg, 9, .pd = H(1), .access = SRD_ACCESS_REMOTE_READ, .addr = ADDR(1),
	     .length = 4096, .lkey = 0x99, .rkey = 0x9a);
	request.rkey = 0x9a;
	raw(w, request);
	EMIT(w, MR_DEREG, mr_dereg, 9, );
}

static void round_the_end(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_addr = UINT64_MAX - 50;
	raw(w, request);
}

static void dereg_in_flight(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, MR_DEREG, mr_dereg, H(0), );
	completion(w, 0, 0);
	EMIT(w, MR_REG, mr_reg, H(0), .pd = H(0), .addr = ADDR(0), .length = 8);
}

static void remote_dereg_in_flight(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, MR_DEREG, mr_dereg, H(1), );
	completion(w, 0, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	EMIT(w, MR_REG, mr_reg, H(1), .pd = H(1), .addr = ADDR(1), .length = 8);
}

static void free_in_flight(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	EMIT(w, BUFFER_FREE, buffer_free, H(0), );
	completion(w, 0, 0);
	EMIT(w, BUFFER_ALLOC, buffer_alloc, H(0), .addr = ADDR(0), .length = 8);
}

static void placed_outside(struct world *w)
{
	EMIT(w, DEV_PLACE, dev_place, H(1), .addr = ADDR(1) + MR_SIZE - 4, .length = 8);
}

static void placed_late(struct world *w)
{
	EMIT(w, MR_DEREG, mr_dereg, H(1), );
	EMIT(w, DEV_PLACE, dev_place, H(1), .addr = ADDR(1), .length = 8);
	EMIT(w, MR_REG, mr_reg, H(1), .pd = H(1), .addr = ADDR(1), .length = 8);
}

/* To the last byte, empty with any key, and inline from anywhere. */
static void edges_are_quiet(void **state)
{
	const struct srd_violation *list;
	struct srd_ev_wr_post request;
	struct world w;

	world_open(&w, "all");
	request = good_post(&w, MR_SIZE - 100, 100);
	raw_post(&w, request);
	completion(&w, 0, 0);
	request = good_post(&w, 0, 0);
	request.lkey = request.rkey = 0x7777;
	request.remote_addr = UINT64_MAX;
	raw_post(&w, request);
	completion(&w, 1, 0);
	request = good_post(&w, 0, 16);
	request.inline_data = 1;
	request.lkey = 0;
	raw_post(&w, request);
	completion(&w, 2, 0);
	EMIT(&w, DEV_PLACE, dev_place, H(1), .addr = ADDR(1), .length = MR_SIZE);
	world_unmake(&w);
	if (world_finish(&w, &list))
		fail_msg("%s: %s", rule_of(&list[0]), list[0].evidence);
	world_release(&w);
}

static void inline_on_device(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 8);

	EMIT(w, BUFFER_ALLOC, buffer_alloc, 9, .addr = 1u << 30, .length = 64,
	     .kind = SRD_BUFFER_DEVICE);
	request.addr = (1u << 30) + 60;
	request.inline_data = 1;
	session_start(w);
	post(w, request);
	session_complete(w, 22, 1);
	EMIT(w, BUFFER_FREE, buffer_free, 9, );
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"memory.lkey", unknown_lkey, NULL},
		{"memory.lkey", dead_lkey, NULL},
		{"memory.lkey", other_pd, NULL},
		{"memory.local_range", past_the_end, NULL},
		{"memory.local_access", read_into_read_only, NULL},
		{"memory.rkey", unknown_rkey, NULL},
		{"memory.remote_range", before_the_start, NULL},
		{"memory.remote_access", write_to_read_only, NULL},
		{"memory.wrap", round_the_end, NULL},
		{"memory.dereg", dereg_in_flight, NULL},
		{"memory.dereg", remote_dereg_in_flight, NULL},
		{"memory.free", free_in_flight, NULL},
		{"memory.inline", inline_on_device, NULL},
		{"memory.place", placed_outside, NULL},
		{"memory.place", placed_late, NULL},
	};

	run_cases("memory", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
		cmocka_unit_test(edges_are_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
