/* SPDX-License-Identifier: MIT */
#include "alloc.h"
#include "fake.h"
#include "inject.h"
#include "observe.h"

static struct fake fake;
static struct srd_inject *inject;
static struct srd_verbs *verbs;
static struct srd_stream stream;

/* What the stream showed since the last `forget`. */
static struct {
	union {
		struct srd_event ev;
		struct srd_ev_wr_post wr_post;
		struct srd_ev_qp_create qp_create;
		struct srd_ev_device_open device_open;
		struct srd_ev_qp_modify qp_modify;
		struct srd_ev_qp_query qp_query;
		struct srd_ev_call_failed call_failed;
		struct srd_ev_setter_misuse misuse;
		struct srd_ev_session_complete complete;
		struct srd_ev_session_abort abort;
		struct srd_ev_recv_post recv_post;
		struct srd_ev_wc wc;
		struct srd_ev_cq_poll cq_poll;
		struct srd_ev_mr_reg mr_reg;
		struct srd_ev_ah_create ah_create;
		struct srd_ev_cq_create cq_create;
		struct srd_ev_buffer_alloc buffer_alloc;
		struct srd_ev_pd_alloc pd_alloc;
	} event[128];
	int num;
} seen;

static void watch(void *reader, const struct srd_event *event)
{
	assert_true(seen.num < 128);
	memcpy(&seen.event[seen.num++], event, srd_event_infos[event->type].size);
}

static void forget(void)
{
	seen.num = 0;
	fake.num = 0;
}

static struct srd_context *context;
static struct srd_pd *pd;
static struct srd_cq *cq;
static struct srd_ah *ah;
static struct srd_qp *qp;

static void make_objects(void)
{
	struct srd_ah_attr ah_attr = {.is_global = 1, .port_num = 1, .dgid.raw = {0xfe, 0x80}};
	struct srd_qp_init_attr_ex attr = {
		.cap = {.max_send_wr = 3, .max_recv_wr = 5, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE,
	};
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};

	context = verbs->open_device(verbs, 2, NULL);
	assert_non_null(context);
	pd = verbs->alloc_pd(verbs, context);
	assert_non_null(pd);
	cq = verbs->create_cq(verbs, context, 7);
	assert_non_null(cq);
	ah = verbs->create_ah(verbs, pd, &ah_attr);
	assert_non_null(ah);
	attr.pd = pd;
	attr.send_cq = attr.recv_cq = cq;
	qp = verbs->create_qp_ex(verbs, context, &attr, &efa);
	assert_non_null(qp);
	assert_int_equal(attr.cap.max_send_wr, 4);
}

static int open_tables(void **state)
{
	struct srd_error error = {0};

	fake_init(&fake);
	fake.attr = (struct srd_device_attr){.max_mr_size = 1 << 20, .max_qp = 9, .max_cqe = 99};
	fake.efa = (struct srd_efa_device_attr){
		.max_rdma_size = 4096, .max_sq_wr = 16, .max_rq_wr = 32, .device_caps = 9};
	fake.now = 1000;
	memset(&stream, 0, sizeof(stream));
	seen.num = 0;
	srd_stream_add(&stream, watch, NULL);
	assert_int_equal(srd_inject_open(&fake.verbs, &inject, &error), 0);
	assert_int_equal(
		srd_observe_open(srd_inject_verbs(inject), &stream, inject, &verbs, &error), 0);
	return 0;
}

static int setup(void **state)
{
	open_tables(state);
	make_objects();
	forget();
	return 0;
}

static int teardown(void **state)
{
	verbs->close(verbs);
	assert_true(fake.closed);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static void assert_types(const int *types, int num)
{
	for (int i = 0; i < num && i < seen.num; i++)
		if (seen.event[i].ev.type != types[i])
			fail_msg("event %d is %s, not %s", i,
				 srd_event_infos[seen.event[i].ev.type].name,
				 srd_event_infos[types[i]].name);
	assert_int_equal(seen.num, num);
}

#define ASSERT_TYPES(...) \
	assert_types((const int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

/* The calls that reached the table below, reading of the clock left out. */
static void assert_below(const enum srd_verb *calls, int num)
{
	int n = 0;

	for (int i = 0; i < fake.num; i++)
		if (fake.log[i] != SRD_VERB_NOW) {
			assert_true(n < num);
			assert_int_equal(fake.log[i], calls[n++]);
		}
	assert_int_equal(n, num);
}

#define ASSERT_BELOW(...)                                  \
	assert_below((const enum srd_verb[]){__VA_ARGS__}, \
		     sizeof((enum srd_verb[]){__VA_ARGS__}) / sizeof(enum srd_verb))

static void objects_come(void **state)
{
	make_objects();
	ASSERT_TYPES(SRD_EV_DEVICE_OPEN, SRD_EV_PD_ALLOC, SRD_EV_CQ_CREATE, SRD_EV_AH_CREATE,
		     SRD_EV_QP_CREATE);
	for (int i = 0; i < seen.num; i++) {
		assert_int_equal(seen.event[i].ev.host, 2);
		assert_int_equal(seen.event[i].ev.object, 1);
		assert_int_equal(seen.event[i].ev.source, SRD_SOURCE_SEAM);
		assert_int_equal(seen.event[i].ev.time, 1000);
	}
	assert_int_equal(seen.event[0].device_open.max_rdma_size, 4096);
	assert_int_equal(seen.event[0].device_open.max_mr_size, 1 << 20);
	assert_int_equal(seen.event[0].device_open.max_cqe, 99);
	assert_int_equal(seen.event[0].device_open.caps, 9);
	assert_int_equal(seen.event[1].pd_alloc.context, 1);
	assert_int_equal(seen.event[2].cq_create.requested, 7);
	assert_int_equal(seen.event[2].cq_create.granted, 8);
	assert_true(seen.event[3].ah_create.gid_hi == 0xfe80000000000000u);
	assert_int_equal(seen.event[3].ah_create.is_global, 1);
	assert_int_equal(seen.event[4].qp_create.qp_num, 0x77);
	assert_int_equal(seen.event[4].qp_create.requested_send_wr, 3);
	assert_int_equal(seen.event[4].qp_create.granted_send_wr, 4);
	assert_int_equal(seen.event[4].qp_create.requested_recv_wr, 5);
	assert_int_equal(seen.event[4].qp_create.granted_recv_wr, 7);
	assert_int_equal(seen.event[4].qp_create.send_ops_flags, SRD_QP_EX_WITH_RDMA_WRITE);
	/* the observer's own questions are not calls of the engine */
	assert_int_equal(srd_inject_calls(inject, SRD_INJECT_ANY), 5);
}

static void limits_that_a_device_does_not_tell_are_0(void **state)
{
	fake.answer[SRD_VERB_QUERY_DEVICE] = EIO;
	fake.answer[SRD_VERB_EFA_QUERY_DEVICE] = EOPNOTSUPP;
	assert_non_null(verbs->open_device(verbs, 0, NULL));
	ASSERT_TYPES(SRD_EV_DEVICE_OPEN);
	assert_int_equal(seen.event[0].device_open.max_qp, 0);
	assert_int_equal(seen.event[0].device_open.max_rdma_size, 0);
}

static void objects_go(void **state)
{
	struct srd_mr *mr = verbs->reg_mr(verbs, pd, 0x4000, 0x100, SRD_ACCESS_LOCAL_WRITE);
	struct srd_buffer *buffer = verbs->alloc_buffer(verbs, context, 64, SRD_BUFFER_REAL);

	assert_int_equal(verbs->destroy_qp(verbs, qp), 0);
	assert_int_equal(verbs->destroy_ah(verbs, ah), 0);
	assert_int_equal(verbs->destroy_cq(verbs, cq), 0);
	assert_int_equal(verbs->dereg_mr(verbs, mr), 0);
	assert_int_equal(verbs->free_buffer(verbs, buffer), 0);
	assert_int_equal(verbs->dealloc_pd(verbs, pd), 0);
	assert_int_equal(verbs->close_device(verbs, context), 0);
	ASSERT_TYPES(SRD_EV_MR_REG, SRD_EV_BUFFER_ALLOC, SRD_EV_QP_DESTROY, SRD_EV_AH_DESTROY,
		     SRD_EV_CQ_DESTROY, SRD_EV_MR_DEREG, SRD_EV_BUFFER_FREE, SRD_EV_PD_DEALLOC,
		     SRD_EV_DEVICE_CLOSE);
	assert_int_equal(seen.event[0].mr_reg.addr, 0x4000);
	assert_int_equal(seen.event[0].mr_reg.rkey, 0x10);
	assert_int_equal(seen.event[1].buffer_alloc.addr, 0x1000);
	assert_int_equal(seen.event[1].buffer_alloc.length, 64);
}

/* Every operation that can fail: the result passes through, the failure is shown. */
static void failures(void **state)
{
	struct srd_error error;

	assert_int_equal(srd_inject_fail(inject, SRD_VERB_ALLOC_PD, 1, ENOSPC, &error), 0);
	errno = 0;
	assert_null(verbs->alloc_pd(verbs, context));
	assert_int_equal(errno, ENOSPC);
	fake.answer[SRD_VERB_ALLOC_PD] = ENOMEM;
	assert_null(verbs->alloc_pd(verbs, context));
	assert_int_equal(errno, ENOMEM);
	ASSERT_TYPES(SRD_EV_CALL_FAILED, SRD_EV_CALL_FAILED);
	assert_int_equal(seen.event[0].call_failed.verb, SRD_VERB_ALLOC_PD);
	assert_int_equal(seen.event[0].call_failed.error, ENOSPC);
	assert_int_equal(seen.event[0].call_failed.injected, 1);
	assert_int_equal(seen.event[0].ev.host, 2);
	assert_int_equal(seen.event[1].call_failed.error, ENOMEM);
	assert_int_equal(seen.event[1].call_failed.injected, 0);

	forget();
	fake.answer[SRD_VERB_DESTROY_QP] = EBUSY;
	assert_int_equal(verbs->destroy_qp(verbs, qp), EBUSY);
	ASSERT_TYPES(SRD_EV_CALL_FAILED);
	fake.answer[SRD_VERB_DESTROY_QP] = 0;
	assert_int_equal(verbs->destroy_qp(verbs, qp), 0); /* it was still alive */
}

static struct srd_comp_channel channel;

static struct srd_cq *extended(void)
{
	struct srd_cq_init_attr_ex attr = {.cqe = 1, .channel = &channel};
	struct srd_cq *made = verbs->create_cq_ex(verbs, context, &attr);

	assert_non_null(made);
	return made;
}

static int next_of(struct srd_cq *polled)
{
	assert_int_equal(verbs->start_poll(verbs, polled), 0);
	return verbs->next_poll(verbs, polled);
}

/* The call VERB with real objects; its result as an integer. */
static intptr_t call(enum srd_verb verb)
{
	struct srd_qp_init_attr_ex init = {.pd = pd, .send_cq = cq, .recv_cq = cq};
	struct srd_recv_wr wr = {.wr_id = 1}, *bad;
	struct srd_ah_attr ah_attr = {.port_num = 1};
	struct srd_efa_device_attr efa;
	struct srd_qp_attr qp_attr = {0};
	struct srd_buffer buffer = {.context = context};
	struct srd_mr mr = {.context = context, .pd = pd};
	struct srd_device_attr attr;
	struct srd_port_attr port;
	union srd_gid gid = {0};
	struct srd_cq_init_attr_ex cq_attr = {.cqe = 1};
	struct srd_cq *told;
	struct srd_wc wc[8];
	uint64_t first;

	channel.context = context;
	switch ((int)verb) {
	case SRD_VERB_OPEN_DEVICE:
		return (intptr_t)verbs->open_device(verbs, 2, NULL);
	case SRD_VERB_CLOSE_DEVICE:
		return verbs->close_device(verbs, context);
	case SRD_VERB_QUERY_DEVICE:
		return verbs->query_device(verbs, context, &attr);
	case SRD_VERB_EFA_QUERY_DEVICE:
		return verbs->efa_query_device(verbs, context, &efa);
	case SRD_VERB_QUERY_PORT:
		return verbs->query_port(verbs, context, 1, &port);
	case SRD_VERB_QUERY_GID:
		return verbs->query_gid(verbs, context, 1, 0, &gid);
	case SRD_VERB_ALLOC_PD:
		return (intptr_t)verbs->alloc_pd(verbs, context);
	case SRD_VERB_DEALLOC_PD:
		return verbs->dealloc_pd(verbs, pd);
	case SRD_VERB_REG_MR:
		return (intptr_t)verbs->reg_mr(verbs, pd, 0, 1, 1);
	case SRD_VERB_DEREG_MR:
		return verbs->dereg_mr(verbs, &mr);
	case SRD_VERB_CREATE_CQ:
		return (intptr_t)verbs->create_cq(verbs, context, 1);
	case SRD_VERB_DESTROY_CQ:
		return verbs->destroy_cq(verbs, cq);
	case SRD_VERB_CREATE_COMP_CHANNEL:
		return (intptr_t)verbs->create_comp_channel(verbs, context);
	case SRD_VERB_DESTROY_COMP_CHANNEL:
		return verbs->destroy_comp_channel(verbs, &channel);
	case SRD_VERB_CREATE_CQ_EX:
		return (intptr_t)verbs->create_cq_ex(verbs, context, &cq_attr);
	case SRD_VERB_START_POLL:
		return verbs->start_poll(verbs, extended());
	case SRD_VERB_NEXT_POLL:
		return next_of(extended());
	case SRD_VERB_REQ_NOTIFY_CQ:
		return verbs->req_notify_cq(verbs, extended(), 0);
	case SRD_VERB_GET_CQ_EVENT:
		return verbs->get_cq_event(verbs, &channel, &told);
	case SRD_VERB_CREATE_AH:
		return (intptr_t)verbs->create_ah(verbs, pd, &ah_attr);
	case SRD_VERB_DESTROY_AH:
		return verbs->destroy_ah(verbs, ah);
	case SRD_VERB_CREATE_QP_EX:
		return (intptr_t)verbs->create_qp_ex(verbs, context, &init, NULL);
	case SRD_VERB_DESTROY_QP:
		return verbs->destroy_qp(verbs, qp);
	case SRD_VERB_MODIFY_QP:
		return verbs->modify_qp(verbs, qp, &qp_attr, SRD_QP_STATE);
	case SRD_VERB_QUERY_QP:
		return verbs->query_qp(verbs, qp, &qp_attr, SRD_QP_STATE);
	case SRD_VERB_WR_COMPLETE:
		verbs->wr_start(verbs, qp);
		return verbs->wr_complete(verbs, qp);
	case SRD_VERB_POST_RECV:
		return verbs->post_recv(verbs, qp, &wr, &bad);
	case SRD_VERB_POLL_CQ:
		return verbs->poll_cq(verbs, cq, 8, wc);
	case SRD_VERB_ALLOC_BUFFER:
		return (intptr_t)verbs->alloc_buffer(verbs, context, 1, SRD_BUFFER_REAL);
	case SRD_VERB_FREE_BUFFER:
		return verbs->free_buffer(verbs, &buffer);
	case SRD_VERB_FILL_BUFFER:
		return verbs->fill_buffer(verbs, &buffer, 0, 1, 1);
	case SRD_VERB_WRITE_BUFFER:
		return verbs->write_buffer(verbs, &buffer, 0, &gid, 1);
	case SRD_VERB_READ_BUFFER:
		return verbs->read_buffer(verbs, &buffer, 0, &gid, 1);
	case SRD_VERB_COMPARE_BUFFER:
		return verbs->compare_buffer(verbs, &buffer, 0, &buffer, 0, 1, &first);
	}
	fail_msg("no call of %s", srd_verb_str(verb));
	return 0;
}

static void every_failure_is_shown(void **state)
{
	struct srd_error error;

	for (int v = 0; v < SRD_NUM_VERBS; v++) {
		const struct srd_ev_call_failed *last;
		intptr_t result;

		if (srd_inject_fail(inject, v, 1, EPERM, &error))
			continue;
		forget();
		errno = 0;
		result = call((enum srd_verb)v);
		assert_true(result == EPERM || result == -EPERM || (!result && errno == EPERM));
		last = &seen.event[seen.num - 1].call_failed;
		assert_int_equal(last->ev.type, SRD_EV_CALL_FAILED);
		assert_int_equal(last->ev.host, 2);
		assert_int_equal(last->verb, v);
		assert_int_equal(last->error, EPERM);
		assert_int_equal(last->injected, 1);
	}
}

static void modify_and_query(void **state)
{
	struct srd_qp_attr attr;

	memset(&attr, 0xee, sizeof(attr)); /* what the mask does not name is not shown */
	attr.qp_state = SRD_QPS_INIT;
	attr.qkey = 0x4242;
	fake.answer[SRD_VERB_MODIFY_QP] = EINVAL;
	assert_int_equal(verbs->modify_qp(verbs, qp, &attr, SRD_QP_STATE | SRD_QP_QKEY), EINVAL);
	ASSERT_TYPES(SRD_EV_QP_MODIFY, SRD_EV_CALL_FAILED);
	assert_int_equal(seen.event[0].qp_modify.from, SRD_QPS_RESET);
	assert_int_equal(seen.event[0].qp_modify.to, SRD_QPS_INIT);
	assert_int_equal(seen.event[0].qp_modify.mask, SRD_QP_STATE | SRD_QP_QKEY);
	assert_int_equal(seen.event[0].qp_modify.qkey, 0x4242);
	assert_int_equal(seen.event[0].qp_modify.port_num, 0);
	assert_int_equal(seen.event[0].qp_modify.sq_psn, 0);
	assert_int_equal(seen.event[0].qp_modify.result, EINVAL);

	forget();
	attr.qp_state = SRD_QPS_ERR;
	assert_int_equal(verbs->query_qp(verbs, qp, &attr, SRD_QP_STATE), 0);
	fake.answer[SRD_VERB_QUERY_QP] = EOPNOTSUPP;
	assert_int_equal(verbs->query_qp(verbs, qp, &attr, SRD_QP_STATE), EOPNOTSUPP);
	ASSERT_TYPES(SRD_EV_QP_QUERY, SRD_EV_QP_QUERY, SRD_EV_CALL_FAILED);
	assert_int_equal(seen.event[0].qp_query.state, SRD_QPS_ERR);
	assert_int_equal(seen.event[1].qp_query.state, SRD_QPS_RESET); /* the cached one */
	assert_int_equal(seen.event[1].qp_query.result, EOPNOTSUPP);
}

static void a_session(void **state)
{
	struct srd_sge list[2] = {{0x100, 10, 1}, {0x200, 20, 2}};
	const struct srd_ev_wr_post *wr;

	qp->state = SRD_QPS_RTS;
	qp->wr_id = 41;
	qp->wr_flags = SRD_SEND_SIGNALED;
	stream.line = 7;
	stream.op = 3;
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 0x22, 0x9000);
	verbs->wr_set_sge(verbs, qp, 0x11, 0x8000, 1000);
	verbs->wr_set_ud_addr(verbs, qp, ah, 0x33, 0x4242);
	stream.line = 8;
	qp->wr_id = 42;
	qp->wr_flags = 0x102;
	verbs->wr_send_imm(verbs, qp, 0x01020304);
	verbs->wr_set_sge_list(verbs, qp, 2, list);
	verbs->wr_set_inline_data(verbs, qp, 0x300, 5);
	assert_int_equal(seen.num, 1); /* the start only */
	stream.line = 9;
	stream.op = 4;
	fake.now = 2000;
	assert_int_equal(verbs->wr_complete(verbs, qp), 0);

	ASSERT_TYPES(SRD_EV_SESSION_START, SRD_EV_WR_POST, SRD_EV_WR_POST, SRD_EV_SESSION_COMPLETE);
	ASSERT_BELOW(SRD_VERB_WR_START, SRD_VERB_WR_RDMA_WRITE, SRD_VERB_WR_SET_SGE,
		     SRD_VERB_WR_SET_UD_ADDR, SRD_VERB_WR_SEND_IMM, SRD_VERB_WR_SET_SGE_LIST,
		     SRD_VERB_WR_SET_INLINE_DATA, SRD_VERB_WR_COMPLETE);
	wr = &seen.event[1].wr_post;
	assert_int_equal(wr->ev.line, 7);
	assert_int_equal(wr->ev.op, 3);
	assert_int_equal(wr->ev.time, 2000);
	assert_int_equal(wr->ev.object, 1);
	assert_int_equal(wr->wr_id, 41);
	assert_int_equal(wr->wr_flags, SRD_SEND_SIGNALED);
	assert_int_equal(wr->opcode, SRD_WR_RDMA_WRITE);
	assert_int_equal(wr->rkey, 0x22);
	assert_int_equal(wr->remote_addr, 0x9000);
	assert_int_equal(wr->addr, 0x8000);
	assert_int_equal(wr->length, 1000);
	assert_int_equal(wr->lkey, 0x11);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->ah, 1);
	assert_int_equal(wr->remote_qpn, 0x33);
	assert_int_equal(wr->remote_qkey, 0x4242);
	assert_int_equal(wr->setters, 0x31);
	wr = &seen.event[2].wr_post;
	assert_int_equal(wr->ev.line, 8);
	assert_int_equal(wr->wr_id, 42);
	assert_int_equal(wr->wr_flags, 0x82);
	assert_int_equal(wr->opcode, SRD_WR_SEND_WITH_IMM);
	assert_int_equal(wr->imm_data, 0x01020304);
	assert_int_equal(wr->num_sge, 2);
	assert_int_equal(wr->addr2, 0x200);
	assert_int_equal(wr->length2, 20);
	assert_int_equal(wr->lkey2, 2);
	assert_int_equal(wr->setters, 0x21);
	assert_int_equal(wr->inline_data, 1);
	assert_int_equal(wr->length, 5);
	assert_int_equal(seen.event[3].complete.num_wr, 2);
	assert_int_equal(seen.event[3].ev.line, 9);
	assert_int_equal(seen.event[3].ev.op, 4);
}

static void the_other_builders(void **state)
{
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_read(verbs, qp, 1, 2);
	for (int i = 0; i < 9; i++) /* the first 8 setters are kept */
		verbs->wr_set_ud_addr(verbs, qp, NULL, 1, 1);
	verbs->wr_rdma_write_imm(verbs, qp, 3, 4, 5);
	verbs->wr_send(verbs, qp);
	verbs->wr_set_sge_list(verbs, qp, 0, NULL);
	verbs->wr_abort(verbs, qp);
	ASSERT_TYPES(SRD_EV_SESSION_START, SRD_EV_WR_POST, SRD_EV_WR_POST, SRD_EV_WR_POST,
		     SRD_EV_SESSION_ABORT);
	assert_int_equal(seen.event[1].wr_post.opcode, SRD_WR_RDMA_READ);
	assert_int_equal(seen.event[1].wr_post.setters, 0x33333333);
	assert_int_equal(seen.event[1].wr_post.ah, 0);
	assert_int_equal(seen.event[2].wr_post.opcode, SRD_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(seen.event[2].wr_post.imm_data, 5);
	assert_int_equal(seen.event[3].wr_post.opcode, SRD_WR_SEND);
	assert_int_equal(seen.event[3].wr_post.num_sge, 0);
	assert_int_equal(seen.event[4].abort.num_wr, 3);
}

static void a_session_grows(void **state)
{
	verbs->wr_start(verbs, qp);
	for (uint32_t i = 0; i < 100; i++) {
		qp->wr_id = i;
		verbs->wr_rdma_write(verbs, qp, 1, i);
		verbs->wr_set_sge(verbs, qp, 1, i, i);
	}
	fake.answer[SRD_VERB_WR_COMPLETE] = ENOMEM; /* the device's queue is full */
	assert_int_equal(verbs->wr_complete(verbs, qp), ENOMEM);
	assert_int_equal(seen.num, 103);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(seen.event[i + 1].wr_post.wr_id, i);
		assert_int_equal(seen.event[i + 1].wr_post.length, i);
	}
	assert_int_equal(seen.event[101].complete.result, ENOMEM);
	assert_int_equal(seen.event[102].ev.type, SRD_EV_CALL_FAILED);
}

static void no_memory_for_a_request(void **state)
{
	verbs->wr_start(verbs, qp);
	for (uint32_t i = 0; i < 17; i++) {
		if (i == 16)
			srd_alloc_fail_at(1);
		verbs->wr_rdma_write(verbs, qp, 1, i);
		verbs->wr_set_sge(verbs, qp, 1, i, i);
	}
	verbs->wr_send(verbs, qp); /* there is memory again, and the error stays */
	assert_int_equal(verbs->wr_complete(verbs, qp), ENOMEM);
	assert_int_equal(seen.num, 20);
	for (int i = 0; i < fake.num; i++)
		assert_int_not_equal(fake.log[i], SRD_VERB_WR_COMPLETE);
	assert_int_equal(seen.event[18].complete.num_wr, 17);
	assert_int_equal(seen.event[18].complete.result, ENOMEM);
}

static void a_trap_leaves_the_session_with_an_error(void **state)
{
	verbs->wr_start(verbs, qp);
	verbs->wr_set_ud_addr(verbs, qp, ah, 1, 1);
	verbs->wr_set_sge(verbs, qp, 1, 1, 1); /* shown once a session */
	verbs->wr_rdma_write(verbs, qp, 1, 1);
	verbs->wr_set_sge(verbs, qp, 1, 1, 50);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	ASSERT_TYPES(SRD_EV_SESSION_START, SRD_EV_SETTER_MISUSE, SRD_EV_WR_POST,
		     SRD_EV_SESSION_COMPLETE, SRD_EV_CALL_FAILED);
	ASSERT_BELOW(SRD_VERB_WR_START, SRD_VERB_WR_ABORT);
	assert_int_equal(seen.event[1].misuse.what, SRD_MISUSE_SETTER_FIRST);
	assert_int_equal(seen.event[1].misuse.verb, SRD_VERB_WR_SET_UD_ADDR);
	assert_int_equal(seen.event[2].wr_post.length, 50);
	assert_int_equal(seen.event[3].complete.result, EINVAL);

	forget(); /* the next session is a good one */
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 1, 1);
	assert_int_equal(verbs->wr_complete(verbs, qp), 0);
	ASSERT_BELOW(SRD_VERB_WR_START, SRD_VERB_WR_RDMA_WRITE, SRD_VERB_WR_COMPLETE);
}

static void start_twice(void **state)
{
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 1, 1);
	verbs->wr_start(verbs, qp);
	verbs->wr_set_sge(verbs, qp, 1, 1, 1);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	ASSERT_TYPES(SRD_EV_SESSION_START, SRD_EV_SETTER_MISUSE, SRD_EV_WR_POST,
		     SRD_EV_SESSION_COMPLETE, SRD_EV_CALL_FAILED);
	ASSERT_BELOW(SRD_VERB_WR_START, SRD_VERB_WR_RDMA_WRITE, SRD_VERB_WR_ABORT);
	assert_int_equal(seen.event[1].misuse.what, SRD_MISUSE_START_TWICE);
}

static void outside_a_session(void **state)
{
	verbs->wr_rdma_write(verbs, qp, 1, 1);
	verbs->wr_set_sge(verbs, qp, 1, 1, 1);
	verbs->wr_abort(verbs, qp);
	assert_int_equal(verbs->wr_complete(verbs, qp), EINVAL);
	ASSERT_TYPES(SRD_EV_SETTER_MISUSE, SRD_EV_SETTER_MISUSE, SRD_EV_SETTER_MISUSE,
		     SRD_EV_SETTER_MISUSE, SRD_EV_CALL_FAILED);
	assert_below(NULL, 0);
	assert_int_equal(seen.event[0].misuse.what, SRD_MISUSE_NO_SESSION);
	assert_int_equal(seen.event[1].misuse.what, SRD_MISUSE_NO_SESSION);
	assert_int_equal(seen.event[1].misuse.verb, SRD_VERB_WR_SET_SGE);
	assert_int_equal(seen.event[2].misuse.what, SRD_MISUSE_END_WITHOUT_START);
	assert_int_equal(seen.event[3].misuse.what, SRD_MISUSE_END_WITHOUT_START);
	assert_int_equal(seen.event[3].misuse.verb, SRD_VERB_WR_COMPLETE);
}

/* Outside a session each builder and each setter is stopped. */
static void nothing_reaches_the_table_below(void **state)
{
	struct srd_sge sge = {0};
	int num = 0;

	for (int i = 0; i < 9; i++) {
		switch (i) {
		case 0:
			verbs->wr_rdma_write(verbs, qp, 1, 1);
			break;
		case 1:
			verbs->wr_rdma_write_imm(verbs, qp, 1, 1, 1);
			break;
		case 2:
			verbs->wr_rdma_read(verbs, qp, 1, 1);
			break;
		case 3:
			verbs->wr_send(verbs, qp);
			break;
		case 4:
			verbs->wr_send_imm(verbs, qp, 1);
			break;
		case 5:
			verbs->wr_set_sge(verbs, qp, 1, 1, 1);
			break;
		case 6:
			verbs->wr_set_sge_list(verbs, qp, 1, &sge);
			break;
		case 7:
			verbs->wr_set_inline_data(verbs, qp, 1, 1);
			break;
		case 8:
			verbs->wr_set_ud_addr(verbs, qp, ah, 1, 1);
			break;
		}
		assert_int_equal(seen.num, ++num);
		assert_int_equal(seen.event[num - 1].misuse.what, SRD_MISUSE_NO_SESSION);
		assert_below(NULL, 0);
	}
	/* and in a session with an error each is swallowed, but the builders show */
	forget();
	verbs->wr_start(verbs, qp);
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 1, 1);
	verbs->wr_rdma_write_imm(verbs, qp, 1, 1, 1);
	verbs->wr_rdma_read(verbs, qp, 1, 1);
	verbs->wr_send_imm(verbs, qp, 1);
	verbs->wr_send(verbs, qp);
	verbs->wr_set_sge(verbs, qp, 1, 1, 1);
	verbs->wr_set_sge_list(verbs, qp, 1, &sge);
	verbs->wr_set_inline_data(verbs, qp, 1, 1);
	verbs->wr_set_ud_addr(verbs, qp, ah, 1, 1);
	verbs->wr_abort(verbs, qp);
	ASSERT_BELOW(SRD_VERB_WR_START, SRD_VERB_WR_ABORT);
	assert_int_equal(seen.event[seen.num - 1].abort.num_wr, 5);
}

static void destroy_in_a_session(void **state)
{
	verbs->wr_start(verbs, qp);
	verbs->wr_rdma_write(verbs, qp, 1, 1);
	assert_int_equal(verbs->destroy_qp(verbs, qp), 0);
	ASSERT_TYPES(SRD_EV_SESSION_START, SRD_EV_SETTER_MISUSE, SRD_EV_WR_POST,
		     SRD_EV_SESSION_ABORT, SRD_EV_QP_DESTROY);
	ASSERT_BELOW(SRD_VERB_WR_START, SRD_VERB_WR_RDMA_WRITE, SRD_VERB_WR_ABORT,
		     SRD_VERB_DESTROY_QP);
	assert_int_equal(seen.event[1].misuse.what, SRD_MISUSE_DESTROY_IN_SESSION);
}

static void poll_in_a_session(void **state)
{
	struct srd_cq *other = verbs->create_cq(verbs, context, 1);
	struct srd_wc wc;

	verbs->wr_start(verbs, qp);
	forget();
	assert_int_equal(verbs->poll_cq(verbs, cq, 1, &wc), -EDEADLK);
	ASSERT_TYPES(SRD_EV_SETTER_MISUSE, SRD_EV_CQ_POLL, SRD_EV_CALL_FAILED);
	assert_int_equal(seen.event[0].misuse.what, SRD_MISUSE_POLL_IN_SESSION);
	assert_int_equal(seen.event[1].cq_poll.result, (uint32_t)-EDEADLK);
	assert_below(NULL, 0);
	assert_int_equal(verbs->poll_cq(verbs, other, 1, &wc), 0);
	verbs->wr_abort(verbs, qp);
	assert_int_equal(verbs->poll_cq(verbs, cq, 1, &wc), 0);
}

/* Fields that libefa does not set hold what the caller had there: they are not shown. */
static void completions(void **state)
{
	struct srd_wc wc[3];

	memset(fake.wc, 0xee, sizeof(fake.wc));
	fake.wc[0].wr_id = 5;
	fake.wc[0].status = SRD_WC_REM_ACCESS_ERR;
	fake.wc[0].vendor_err = 7;
	fake.wc[0].opcode = SRD_WC_SEND;
	fake.wc[0].qp_num = 0x77;
	fake.wc[0].wc_flags = 0;
	fake.wc[1] = (struct srd_wc){.wr_id = 6,
				     .opcode = SRD_WC_RECV,
				     .byte_len = 100,
				     .src_qp = 3,
				     .imm_data = 9,
				     .wc_flags = 0};
	fake.wc[2] = (struct srd_wc){.opcode = SRD_WC_RECV_RDMA_WITH_IMM,
				     .byte_len = 200,
				     .src_qp = 4,
				     .imm_data = 9,
				     .wc_flags = SRD_WC_WITH_IMM};
	fake.answer[SRD_VERB_POLL_CQ] = 3;
	assert_int_equal(verbs->poll_cq(verbs, cq, 3, wc), 3);
	ASSERT_TYPES(SRD_EV_WC, SRD_EV_WC, SRD_EV_WC, SRD_EV_CQ_POLL);
	assert_int_equal(seen.event[0].wc.wr_id, 5);
	assert_int_equal(seen.event[0].wc.status, SRD_WC_REM_ACCESS_ERR);
	assert_int_equal(seen.event[0].wc.vendor_err, 7);
	assert_int_equal(seen.event[0].wc.qp_num, 0x77);
	assert_int_equal(seen.event[0].wc.byte_len, 0);
	assert_int_equal(seen.event[0].wc.src_qp, 0);
	assert_int_equal(seen.event[0].wc.imm_data, 0);
	assert_int_equal(seen.event[1].wc.byte_len, 100);
	assert_int_equal(seen.event[1].wc.imm_data, 0);
	assert_int_equal(seen.event[2].wc.byte_len, 200);
	assert_int_equal(seen.event[2].wc.src_qp, 4);
	assert_int_equal(seen.event[2].wc.imm_data, 9);
	assert_int_equal(seen.event[3].cq_poll.num_entries, 3);
	assert_int_equal(seen.event[3].cq_poll.result, 3);

	forget();
	fake.answer[SRD_VERB_POLL_CQ] = -EINVAL;
	assert_int_equal(verbs->poll_cq(verbs, cq, 3, wc), -EINVAL);
	ASSERT_TYPES(SRD_EV_CQ_POLL, SRD_EV_CALL_FAILED);
	assert_int_equal(seen.event[1].call_failed.error, EINVAL);
}

static int post_recv_second_is_bad(struct srd_verbs *below, struct srd_qp *of,
				   struct srd_recv_wr *wr, struct srd_recv_wr **bad_wr)
{
	*bad_wr = wr->next;
	return ENOMEM;
}

static void receives(void **state)
{
	struct srd_sge sge = {0x100, 10, 1};
	struct srd_recv_wr third = {.wr_id = 3};
	struct srd_recv_wr second = {.wr_id = 2, .next = &third};
	struct srd_recv_wr first = {.wr_id = 1, .next = &second, .sg_list = &sge, .num_sge = 1};
	struct srd_recv_wr *bad = NULL;

	assert_int_equal(verbs->post_recv(verbs, qp, &first, &bad), 0);
	ASSERT_TYPES(SRD_EV_RECV_POST, SRD_EV_RECV_POST, SRD_EV_RECV_POST);
	assert_int_equal(seen.event[0].recv_post.addr, 0x100);
	assert_int_equal(seen.event[0].recv_post.length, 10);
	assert_int_equal(seen.event[1].recv_post.wr_id, 2);
	assert_int_equal(seen.event[1].recv_post.num_sge, 0);

	forget();
	fake.verbs.post_recv = post_recv_second_is_bad;
	assert_int_equal(verbs->post_recv(verbs, qp, &first, &bad), ENOMEM);
	assert_ptr_equal(bad, &second);
	ASSERT_TYPES(SRD_EV_RECV_POST, SRD_EV_RECV_POST, SRD_EV_CALL_FAILED);
	assert_int_equal(seen.event[0].recv_post.result, 0);
	assert_int_equal(seen.event[1].recv_post.result, ENOMEM);
}

static void the_clock(void **state)
{
	fake.now = 5000;
	assert_int_equal(verbs->now(verbs), 5000);
	assert_int_equal(stream.now, 5000);
	fake.now = 6000;
	fake.answer[SRD_VERB_WAIT] = ETIMEDOUT;
	assert_int_equal(verbs->wait(verbs, 6000), ETIMEDOUT);
	assert_int_equal(stream.now, 6000);
	assert_int_equal(seen.num, 0);
}

static void many_queue_pairs(void **state)
{
	struct srd_qp_init_attr_ex attr = {.pd = pd, .send_cq = cq, .recv_cq = cq};
	struct srd_qp *list[40];

	for (int i = 0; i < 40; i++) {
		list[i] = verbs->create_qp_ex(verbs, context, &attr, NULL);
		assert_non_null(list[i]);
		verbs->wr_start(verbs, list[i]);
	}
	for (int i = 0; i < 40; i++) {
		verbs->wr_send(verbs, list[i]);
		assert_int_equal(verbs->wr_complete(verbs, list[i]), 0);
		forget();
		assert_int_equal(verbs->destroy_qp(verbs, list[i]), 0);
	}
}

static void no_memory_for_a_queue_pair(void **state)
{
	struct srd_qp_init_attr_ex attr = {.pd = pd, .send_cq = cq, .recv_cq = cq};

	for (int n = 1; n <= 2; n++) {
		forget();
		srd_alloc_fail_at((uint64_t)n);
		errno = 0;
		assert_null(verbs->create_qp_ex(verbs, context, &attr, NULL));
		assert_int_equal(errno, ENOMEM);
		ASSERT_TYPES(SRD_EV_CALL_FAILED);
	}
	fake.handles[SRD_VERB_CREATE_QP_EX] = 15; /* the next one needs a longer array */
	forget();
	srd_alloc_fail_at(3);
	assert_null(verbs->create_qp_ex(verbs, context, &attr, NULL));
	assert_int_equal(errno, ENOMEM);
	ASSERT_BELOW(SRD_VERB_CREATE_QP_EX, SRD_VERB_DESTROY_QP);
	srd_alloc_fail_at(0);
	assert_non_null(verbs->create_qp_ex(verbs, context, &attr, NULL));
}

static void no_memory_for_the_observer(void **state)
{
	struct srd_verbs *other = NULL;
	struct srd_error error;

	srd_alloc_fail_at(1);
	assert_int_equal(srd_observe_open(&fake.verbs, &stream, NULL, &other, &error), -ENOMEM);
	srd_alloc_fail_at(0);
	assert_false(fake.closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_come, open_tables, teardown),
		cmocka_unit_test_setup_teardown(limits_that_a_device_does_not_tell_are_0,
						open_tables, teardown),
		cmocka_unit_test_setup_teardown(objects_go, setup, teardown),
		cmocka_unit_test_setup_teardown(failures, setup, teardown),
		cmocka_unit_test_setup_teardown(every_failure_is_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(modify_and_query, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session, setup, teardown),
		cmocka_unit_test_setup_teardown(the_other_builders, setup, teardown),
		cmocka_unit_test_setup_teardown(a_session_grows, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_a_request, setup, teardown),
		cmocka_unit_test_setup_teardown(a_trap_leaves_the_session_with_an_error, setup,
						teardown),
		cmocka_unit_test_setup_teardown(start_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(outside_a_session, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_reaches_the_table_below, setup, teardown),
		cmocka_unit_test_setup_teardown(destroy_in_a_session, setup, teardown),
		cmocka_unit_test_setup_teardown(poll_in_a_session, setup, teardown),
		cmocka_unit_test_setup_teardown(completions, setup, teardown),
		cmocka_unit_test_setup_teardown(receives, setup, teardown),
		cmocka_unit_test_setup_teardown(the_clock, setup, teardown),
		cmocka_unit_test_setup_teardown(many_queue_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_a_queue_pair, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_the_observer, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
