/* SPDX-License-Identifier: MIT */
/* The state family: each rule fires on a stream of its own. */
#include "rules_world.h"

static void modify(struct world *w, uint32_t handle, enum srd_qp_state from, enum srd_qp_state to,
		   uint32_t mask, uint32_t sq_psn)
{
	EMIT(w, QP_MODIFY, qp_modify, handle, .mask = mask, .from = from, .to = to,
	     .qkey = mask & SRD_QP_QKEY ? 0x99 : 0, .port_num = mask & SRD_QP_PORT ? 1 : 0,
	     .sq_psn = sq_psn);
}

/* A third queue pair, on host 0. */
static void open_third(struct world *w)
{
	EMIT(w, CQ_CREATE, cq_create, 9, .context = H(0), .requested = 4, .granted = 4);
	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = 9, .recv_cq = 9,
	     .requested_send_wr = 4, .granted_send_wr = 4, .send_ops_flags = 0x11);
	EMIT(w, QP_OPEN, qp_open, 9, .max_msg_size = MAX_RDMA, .max_send_wr = 4);
}

static void close_third(struct world *w)
{
	EMIT(w, QP_CLOSE, qp_close, 9, );
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
	EMIT(w, CQ_DESTROY, cq_destroy, 9, );
}

static void rekeyed_on_the_way(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	modify(w, 9, SRD_QPS_INIT, SRD_QPS_RTR, 0x41, 0);
	modify(w, 9, SRD_QPS_RTR, SRD_QPS_RTS, 0x10001, 0);
	EMIT(w, CONNECT, connect, 9, .remote_qpn = 1234, .gid_lo = GID(1));
	close_third(w);
}

static void refused_with_peer(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	EMIT(w, QP_MODIFY, qp_modify, 9, .mask = 0x100001, .from = SRD_QPS_INIT, .to = SRD_QPS_RTR,
	     .result = 95);
	w->line--; /* one line of a script */
	EMIT(w, CONNECT, connect, 9, .result = (uint32_t)-95, .remote_qpn = 1234, .gid_lo = GID(1));
	close_third(w);
}

static void refused_leap(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	EMIT(w, QP_MODIFY, qp_modify, 9, .mask = 0x10001, .from = SRD_QPS_INIT, .to = SRD_QPS_RTS,
	     .result = 22);
	w->line--; /* one line of a script */
	EMIT(w, CONNECT, connect, 9, .result = (uint32_t)-22, .remote_qpn = 1234, .gid_lo = GID(1));
	close_third(w);
}

static void never_moved(struct world *w)
{
	open_third(w);
	EMIT(w, CONNECT, connect, 9, .remote_qpn = 1234, .gid_lo = GID(1));
	close_third(w);
}

static void posted_in_init(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	EMIT(w, SESSION_START, session_start, 9, );
	request.ev.object = 9;
	emit(w, &request.ev);
	EMIT(w, SESSION_COMPLETE, session_complete, 9, .num_wr = 1);
	EMIT(w, WC, wc, 9, .wr_id = 0, .qp_num = 99, .opcode = SRD_WC_RDMA_WRITE);
	close_third(w);
}

static void refused_in_init(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	EMIT(w, SESSION_START, session_start, 9, );
	request.ev.object = 9;
	emit(w, &request.ev);
	EMIT(w, SESSION_COMPLETE, session_complete, 9, .result = 22, .num_wr = 1);
	close_third(w);
}

static void op_without_peer(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	open_third(w);
	w->op = ++w->last_op;
	EMIT(w, OP_BEGIN, op_begin, 9, .local_addr = ADDR(0), .local_size = 100,
	     .remote_addr = ADDR(1), .remote_size = 100, .lkey = LKEY(0), .rkey = RKEY(1));
	EMIT(w, SESSION_START, session_start, 9, );
	request.ev.object = 9;
	emit(w, &request.ev);
	EMIT(w, SESSION_COMPLETE, session_complete, 9, .result = 22, .num_wr = 1);
	op_end(w, w->last_op, -22, 0, 0);
	close_third(w);
}

static void not_in_table(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_RTS, 0x10001, 0);
	close_third(w);
}

static void missing_bit(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x31, 0);
	close_third(w);
}

static void unsupported_bit(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x79, 0);
	close_third(w);
}

static void wide_psn(struct world *w)
{
	open_third(w);
	modify(w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	modify(w, 9, SRD_QPS_INIT, SRD_QPS_RTR, 0x1, 0);
	modify(w, 9, SRD_QPS_RTR, SRD_QPS_RTS, 0x10001, 1u << 24);
	close_third(w);
}

static void moved_in_silence(struct world *w)
{
	EMIT(w, DEV_REQUEST, dev_request, H(0), .ordinal = 0, .length = 1);
	EMIT(w, QP_QUERY, qp_query, H(0), .mask = 1, .state = SRD_QPS_ERR);
}

/* Refused calls and moves that are told of are nobody's fault, but a risk. */
static void refusals_are_quiet(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "all");
	EMIT(&w, QP_MODIFY, qp_modify, H(0), .mask = 0x10001, .from = SRD_QPS_RESET,
	     .to = SRD_QPS_RTS, .result = 22);
	EMIT(&w, QP_MODIFY, qp_modify, H(0), .mask = 0x79, .from = SRD_QPS_RTS, .to = SRD_QPS_INIT,
	     .result = 95);
	EMIT(&w, QP_MODIFY, qp_modify, H(0), .mask = 0x41, .from = SRD_QPS_RTS, .to = SRD_QPS_RTS,
	     .qkey = QKEY);
	EMIT(&w, DEV_QP_STATE, dev_qp_state, H(0), .from = SRD_QPS_RTS, .to = SRD_QPS_ERR);
	EMIT(&w, QP_QUERY, qp_query, H(0), .mask = 1, .state = SRD_QPS_ERR);
	EMIT(&w, QP_QUERY, qp_query, H(0), .mask = 1, .state = SRD_QPS_ERR);
	open_third(&w);
	/* The step that is due; and one that connect did not try. */
	EMIT(&w, QP_MODIFY, qp_modify, 9, .mask = 0x71, .from = SRD_QPS_RESET, .to = SRD_QPS_INIT,
	     .result = 12);
	w.line--;
	EMIT(&w, CONNECT, connect, 9, .result = (uint32_t)-12, .remote_qpn = 1234,
	     .gid_lo = GID(1));
	modify(&w, 9, SRD_QPS_RESET, SRD_QPS_INIT, 0x71, 0);
	EMIT(&w, CONNECT, connect, 9, .result = (uint32_t)-12, .remote_qpn = 1234,
	     .gid_lo = GID(1));
	close_third(&w);
	session_start(&w);
	post(&w, good_post(&w, 0, 100));
	session_complete(&w, 22, 1);
	world_unmake(&w);
	assert_int_equal(world_finish(&w, &list), 1);
	assert_string_equal(rule_of(&list[0]), "state.refused");
	world_release(&w);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"state.path", rekeyed_on_the_way, NULL},
		{"state.path", never_moved, NULL},
		{"state.path", refused_with_peer, NULL},
		{"state.path", refused_leap, NULL},
		{"state.post", posted_in_init, NULL},
		{"state.refused", refused_in_init, NULL},
		{"state.connected", op_without_peer, "state.refused"},
		{"state.table", not_in_table, NULL},
		{"state.table", missing_bit, NULL},
		{"state.table", unsupported_bit, NULL},
		{"state.psn", wide_psn, NULL},
		{"state.silent", moved_in_silence, NULL},
	};

	run_cases("state", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
		cmocka_unit_test(refusals_are_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
