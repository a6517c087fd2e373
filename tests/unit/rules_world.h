/* SPDX-License-Identifier: MIT */
/*
 * A synthetic stream for the tests of the rules: two hosts, each with a device, a protection
 * domain, a buffer with a memory region, a completion queue, an address handle of the other
 * and a queue pair that is connected to the other's and gated by a scheduler. A test emits
 * what happens between world_open and world_close; all rules are selected.
 */
#ifndef RULES_WORLD_H
#define RULES_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rules.h"

/* Of host h, 0 or 1. */
#define H(h)    ((h) + 1) /* the handle of each object of the host */
#define GID(h)  ((h) + 0x100)
#define ADDR(h) (0x10000u * ((h) + 1))
#define LKEY(h) (0x11u + (h))
#define RKEY(h) (0x21u + (h))
#define QPN(h)  (0x31u + (h))
#define QKEY    0x4242

#define MAX_RDMA 1000u /* bytes */
#define MR_SIZE  0x8000u
#define DEPTH    4u

struct world {
	struct srd_rules *rules;
	uint64_t now;
	uint32_t line;
	uint32_t op; /* of what is emitted */
	uint32_t last_op;
	uint64_t next_id;   /* of queue pair 1 */
	uint32_t in_flight; /* on queue pair 1 */
};

static inline void emit(struct world *w, struct srd_event *event)
{
	event->time = ++w->now;
	event->line = ++w->line;
	event->op = w->op;
	event->source = srd_event_infos[event->type].source;
	srd_rules_event(w->rules, event);
}

#define EMIT(w, TYPE, type_, handle, ...)                                                   \
	emit(w, &(struct srd_ev_##type_){.ev = {.type = SRD_EV_##TYPE, .object = (handle)}, \
					 __VA_ARGS__}                                       \
			 .ev)

/* Everything up to the connection, without the scheduler. */
static inline void world_make(struct world *w)
{
	for (uint32_t h = 0; h < 2; h++) {
		EMIT(w, DEVICE_OPEN, device_open, H(h), .gid_lo = GID(h), .max_rdma_size = MAX_RDMA,
		     .max_msg_sz = 8928, .max_qp = 8, .max_cqe = 64, .max_sq_wr = 16);
		EMIT(w, PD_ALLOC, pd_alloc, H(h), .context = H(h));
		EMIT(w, BUFFER_ALLOC, buffer_alloc, H(h), .addr = ADDR(h), .length = MR_SIZE);
		EMIT(w, MR_REG, mr_reg, H(h), .pd = H(h), .access = 7, .addr = ADDR(h),
		     .length = MR_SIZE, .lkey = LKEY(h), .rkey = RKEY(h));
		EMIT(w, CQ_CREATE, cq_create, H(h), .context = H(h), .requested = 8, .granted = 8);
		EMIT(w, LEASE_ACQUIRE, lease_acquire, H(h), .leases = 1, .limit = 1);
		EMIT(w, QP_CREATE, qp_create, H(h), .qp_num = QPN(h), .pd = H(h), .send_cq = H(h),
		     .recv_cq = H(h), .requested_send_wr = DEPTH, .granted_send_wr = DEPTH,
		     .requested_recv_wr = 1, .granted_recv_wr = 1, .qp_type = SRD_QPT_DRIVER,
		     .send_ops_flags = 0x11);
		EMIT(w, QP_OPEN, qp_open, H(h), .max_msg_size = MAX_RDMA, .max_send_wr = DEPTH);
	}
	for (uint32_t h = 0; h < 2; h++) {
		EMIT(w, AH_CREATE, ah_create, H(h), .pd = H(h), .gid_lo = GID(1 - h), .port_num = 1,
		     .is_global = 1);
		EMIT(w, QP_MODIFY, qp_modify, H(h), .mask = 0x71, .from = SRD_QPS_RESET,
		     .to = SRD_QPS_INIT, .qkey = QKEY, .port_num = 1);
		EMIT(w, QP_MODIFY, qp_modify, H(h), .mask = 1, .from = SRD_QPS_INIT,
		     .to = SRD_QPS_RTR);
		EMIT(w, QP_MODIFY, qp_modify, H(h), .mask = 0x10001, .from = SRD_QPS_RTR,
		     .to = SRD_QPS_RTS, .sq_psn = 7);
		EMIT(w, CONNECT, connect, H(h), .remote_qpn = QPN(1 - h), .gid_lo = GID(1 - h));
	}
}

static inline void world_open(struct world *w, const char *select)
{
	struct srd_error error;

	*w = (struct world){0};
	assert_int_equal(srd_rules_create(select, NULL, &w->rules, &error), 0);
	EMIT(w, SCENARIO_BEGIN, scenario_begin, 0, .seed = 1);
	world_make(w);
	EMIT(w, SCHEDULER_OPEN, scheduler_open, H(0), .max_send_wr = DEPTH);
}

static inline void world_unmake(struct world *w)
{
	w->op = 0;
	EMIT(w, SCHEDULER_CLOSE, scheduler_close, H(0), );
	for (uint32_t h = 0; h < 2; h++) {
		EMIT(w, QP_CLOSE, qp_close, H(h), );
		EMIT(w, QP_DESTROY, qp_destroy, H(h), );
		EMIT(w, AH_DESTROY, ah_destroy, H(h), );
		EMIT(w, LEASE_RELEASE, lease_release, H(h), );
		EMIT(w, CQ_DESTROY, cq_destroy, H(h), );
		EMIT(w, MR_DEREG, mr_dereg, H(h), );
		EMIT(w, BUFFER_FREE, buffer_free, H(h), );
		EMIT(w, PD_DEALLOC, pd_dealloc, H(h), );
		EMIT(w, DEVICE_CLOSE, device_close, H(h), );
	}
}

/* The end of the run; the violations stay readable until world_release. */
static inline int world_finish(struct world *w, const struct srd_violation **list)
{
	assert_int_equal(srd_rules_finish(w->rules, NULL), 0);
	return srd_rules_violations(w->rules, list);
}

static inline void world_release(struct world *w)
{
	srd_rules_destroy(w->rules);
}

/* --- what a well-behaved engine does on queue pair 1 --- */

static inline void op_begin(struct world *w, enum srd_op_kind kind, uint64_t local, uint64_t remote)
{
	w->op = ++w->last_op;
	EMIT(w, OP_BEGIN, op_begin, H(0), .kind = kind, .path = 1, .local_addr = ADDR(0),
	     .local_size = local, .remote_addr = ADDR(1), .remote_size = remote, .lkey = LKEY(0),
	     .rkey = RKEY(1));
}

/* A request as a good queue pair builds it; change it before it is emitted. */
static inline struct srd_ev_wr_post good_post(const struct world *w, uint64_t offset,
					      uint64_t length)
{
	return (struct srd_ev_wr_post){
		.ev = {.type = SRD_EV_WR_POST, .object = H(0)},
		.wr_id = w->next_id,
		.remote_addr = ADDR(1) + offset,
		.length = length,
		.addr = ADDR(0) + offset,
		.lkey = LKEY(0),
		.rkey = RKEY(1),
		.ah = H(0),
		.remote_qpn = QPN(1),
		.remote_qkey = QKEY,
		.opcode = SRD_WR_RDMA_WRITE,
		.num_sge = 1,
		.wr_flags = SRD_SEND_SIGNALED,
		.setters = 0x31,
	};
}

static inline void post(struct world *w, struct srd_ev_wr_post request)
{
	w->next_id = request.wr_id + 1;
	emit(w, &request.ev);
}

static inline void session_start(struct world *w)
{
	EMIT(w, SESSION_START, session_start, H(0), .state = SRD_QPS_RTS);
}

static inline void session_complete(struct world *w, int result, uint32_t num_wr)
{
	EMIT(w, SESSION_COMPLETE, session_complete, H(0), .result = (uint32_t)result,
	     .num_wr = num_wr);
	if (!result)
		w->in_flight += num_wr;
}

/* A session of one request outside any op. */
static inline void raw_post(struct world *w, struct srd_ev_wr_post request)
{
	w->op = 0;
	session_start(w);
	post(w, request);
	session_complete(w, 0, 1);
}

static inline void post_begin(struct world *w, uint64_t asked)
{
	EMIT(w, OP_POST_BEGIN, op_post_begin, H(0), .num_wr_asked = asked);
	session_start(w);
}

static inline void post_end(struct world *w, uint32_t num_wr)
{
	session_complete(w, 0, num_wr);
	EMIT(w, OP_POST_END, op_post_end, H(0), .num_ids = num_wr,
	     .first_id = num_wr ? w->next_id - num_wr : 0, .last_id = num_wr ? w->next_id - 1 : 0);
}

static inline void completion(struct world *w, uint64_t id, uint32_t vendor_err)
{
	uint32_t op = w->op;

	w->op = 0;
	EMIT(w, WC, wc, H(0), .wr_id = id, .qp_num = QPN(0), .vendor_err = vendor_err,
	     .status = srd_efa_status_to_wc(vendor_err), .opcode = SRD_WC_RDMA_WRITE);
	EMIT(w, CQ_POLL, cq_poll, H(0), .num_entries = 1, .result = 1);
	w->in_flight--;
	w->op = op;
}

static inline void op_end(struct world *w, uint32_t op, int result, uint64_t wr_id,
			  uint32_t vendor_err)
{
	w->op = op;
	EMIT(w, OP_END, op_end, H(0), .result = (uint32_t)result, .wr_id = wr_id,
	     .status = srd_efa_status_to_wc(vendor_err), .vendor_err = vendor_err);
	w->op = 0;
}

static inline void scheduler_state(struct world *w, uint32_t queued)
{
	uint32_t op = w->op;

	w->op = 0;
	EMIT(w, SCHEDULER_STATE, scheduler_state, H(0), .in_flight = w->in_flight,
	     .queued = queued);
	w->op = op;
}

/* Submitted and posted as it should be; returns the op. */
static inline uint32_t good_op(struct world *w, enum srd_op_kind kind, uint64_t size)
{
	uint32_t count = size ? (uint32_t)((size + MAX_RDMA - 1) / MAX_RDMA) : 1;

	op_begin(w, kind, size, size);
	post_begin(w, count);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = (uint64_t)i * MAX_RDMA;
		struct srd_ev_wr_post request =
			good_post(w, offset, size - offset < MAX_RDMA ? size - offset : MAX_RDMA);

		request.opcode = kind == SRD_OP_PUT ? SRD_WR_RDMA_WRITE : SRD_WR_RDMA_READ;
		post(w, request);
	}
	post_end(w, count);
	scheduler_state(w, 0);
	w->op = 0;
	return w->last_op;
}

/* --- one rule a case --- */

struct rule_case {
	const char *rule; /* what has to fire first */
	void (*fire)(
		struct world *w); /* between world_open and world_unmake; NULL: has its own test */
	const char *also;         /* another rule that may fire; NULL: none */
};

static inline const char *rule_of(const struct srd_violation *violation)
{
	return srd_rule_infos[violation->rule].id;
}

static inline void run_case(const struct rule_case *c)
{
	const struct srd_violation *list;
	struct world w;
	const struct srd_violation *hit = NULL;
	int n;

	world_open(&w, "all");
	c->fire(&w);
	world_unmake(&w);
	n = world_finish(&w, &list);
	for (int i = 0; i < n; i++) {
		if (!strcmp(rule_of(&list[i]), c->rule))
			hit = &list[i];
		else if (!c->also || strcmp(rule_of(&list[i]), c->also))
			fail_msg("%s: %s fired too: %s", c->rule, rule_of(&list[i]),
				 list[i].evidence);
	}
	if (!hit)
		fail_msg("%s did not fire", c->rule);
	assert_true(strlen(hit->evidence) > 0);
	world_release(&w);
}

/* Every rule of FAMILY has a case, and each case its rule. */
static inline void run_cases(const char *family, const struct rule_case *cases, int count)
{
	for (int i = 0; i < count; i++)
		if (cases[i].fire)
			run_case(&cases[i]);
	for (int rule = 0; rule < srd_num_rules; rule++) {
		bool found = strcmp(srd_rule_infos[rule].family, family) != 0;

		for (int i = 0; i < count && !found; i++)
			found = !strcmp(cases[i].rule, srd_rule_infos[rule].id);
		if (!found)
			fail_msg("no case for %s", srd_rule_infos[rule].id);
	}
}

#endif
