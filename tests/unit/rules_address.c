/* SPDX-License-Identifier: MIT */
/* The address family: each rule fires on a stream of its own. */
#include "rules_world.h"

static void raw(struct world *w, struct srd_ev_wr_post request)
{
	raw_post(w, request);
	completion(w, request.wr_id, SRD_EFA_LOCAL_ERROR_INVALID_AH);
}

static void dead_handle(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	EMIT(w, AH_CREATE, ah_create, 9, .pd = H(0), .gid_lo = GID(1), .port_num = 1,
	     .is_global = 1);
	EMIT(w, AH_DESTROY, ah_destroy, 9, );
	request.ah = 9;
	raw(w, request);
}

static void other_pd(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	EMIT(w, PD_ALLOC, pd_alloc, 8, .context = H(0));
	EMIT(w, AH_CREATE, ah_create, 9, .pd = 8, .gid_lo = GID(1), .port_num = 1, .is_global = 1);
	request.ah = 9;
	raw(w, request);
	EMIT(w, AH_DESTROY, ah_destroy, 9, );
	EMIT(w, PD_DEALLOC, pd_dealloc, 8, );
}

/* An op of one request that goes where REQUEST says. */
static void op_of(struct world *w, struct srd_ev_wr_post request)
{
	op_begin(w, SRD_OP_PUT, request.length, request.length);
	post_begin(w, 1);
	post(w, request);
	post_end(w, 1);
	completion(w, request.wr_id, 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void stranger(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_qpn = 0x77;
	op_of(w, request);
}

static void decorated_handle(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	EMIT(w, AH_CREATE, ah_create, 9, .pd = H(0), .gid_lo = GID(1), .port_num = 1,
	     .is_global = 1, .sgid_index = 3);
	request.ah = 9;
	op_of(w, request);
	EMIT(w, AH_DESTROY, ah_destroy, 9, );
}

static void wrong_qkey(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_qkey = QKEY + 1;
	raw(w, request);
}

static void privileged_qkey(struct world *w)
{
	EMIT(w, QP_MODIFY, qp_modify, H(0), .mask = 0x41, .from = SRD_QPS_RTS, .to = SRD_QPS_RTS,
	     .qkey = 0x80000000u);
}

static void wide_number(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_qpn = 0x10000 + QPN(1);
	raw(w, request);
}

static void handle_gone_at_the_peer(struct world *w)
{
	EMIT(w, AH_DESTROY, ah_destroy, H(1), );
	raw(w, good_post(w, 0, 100));
	EMIT(w, AH_CREATE, ah_create, H(1), .pd = H(1), .gid_lo = GID(0), .port_num = 1,
	     .is_global = 1);
}

static void peer_in_init(struct world *w)
{
	EMIT(w, QP_MODIFY, qp_modify, H(1), .mask = 1, .from = SRD_QPS_RTS, .to = SRD_QPS_RESET);
	op_of(w, good_post(w, 0, 100));
}

static void no_target(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.remote_qpn = 0x77;
	raw(w, request);
}

static void one_sided(struct world *w)
{
	EMIT(w, CONNECT, connect, H(1), .remote_qpn = 0x1234, .gid_lo = GID(0));
	EMIT(w, CONNECT, connect, H(0), .remote_qpn = QPN(1), .gid_lo = GID(1));
}

static void same_qkey(struct world *w)
{
	EMIT(w, QP_CREATE, qp_create, 9, .qp_num = 99, .pd = H(0), .send_cq = H(0), .recv_cq = H(0),
	     .requested_send_wr = 4, .granted_send_wr = 4);
	EMIT(w, QP_MODIFY, qp_modify, 9, .mask = 0x71, .from = SRD_QPS_RESET, .to = SRD_QPS_INIT,
	     .qkey = QKEY, .port_num = 1);
	EMIT(w, QP_DESTROY, qp_destroy, 9, );
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"address.ah", dead_handle, NULL},
		{"address.ah", other_pd, NULL},
		{"address.peer", stranger, "address.target"},
		{"address.fields", decorated_handle, "lifetime.ah_order"},
		{"address.qkey", wrong_qkey, NULL},
		{"address.qkey_range", privileged_qkey, NULL},
		{"address.qpn", wide_number, "address.target"},
		{"address.unknown_peer", handle_gone_at_the_peer, NULL},
		{"address.peer_ready", peer_in_init, NULL},
		{"address.target", no_target, NULL},
		{"address.mutual", one_sided, NULL},
		{"address.shared_qkey", same_qkey, NULL},
	};

	run_cases("address", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
