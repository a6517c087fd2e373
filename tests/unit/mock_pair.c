/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mock_pair.h"

#define ALL_RIGHTS (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_READ)

void pair_init(struct pair *p, const char *profile)
{
	memset(p, 0, sizeof(*p));
	p->profile = *srd_profile_find(profile);
	p->seed = 1;
	p->depth = 16;
	if (getenv("SRD_TEST_LEVEL"))
		p->profile.level = SRD_PROFILE_LEVEL_PACKET;
}

struct srd_qp *side_create_qp(struct pair *p, struct side *s)
{
	struct srd_qp_init_attr_ex attr = {
		.pd = s->pd,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {.max_send_wr = p->depth,
			.max_recv_wr = p->depth,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = p->max_inline},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_SEND | SRD_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct srd_efa_qp_init_attr efa = {.flags = (uint16_t)p->efa_flags};
	struct srd_qp *qp;

	if (p->profile.cap_rdma_read)
		attr.send_ops_flags |= SRD_QP_EX_WITH_RDMA_READ;
	if (p->profile.cap_rdma_write)
		attr.send_ops_flags |=
			SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	qp = p->v->create_qp_ex(p->v, s->context, &attr, &efa);
	assert_non_null(qp);
	return qp;
}

struct srd_ah *side_create_ah(struct pair *p, struct side *s, uint32_t host)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct srd_context *context = host ? p->b.context : p->a.context;
	struct srd_ah *ah;

	assert_int_equal(p->v->query_gid(p->v, context, 1, 0, &attr.dgid), 0);
	ah = p->v->create_ah(p->v, s->pd, &attr);
	assert_non_null(ah);
	return ah;
}

void side_open(struct pair *p, struct side *s, uint32_t host)
{
	s->context = p->v->open_device(p->v, host, NULL);
	assert_non_null(s->context);
	s->pd = p->v->alloc_pd(p->v, s->context);
	assert_non_null(s->pd);
	s->cq = p->v->create_cq(p->v, s->context, 4 * p->depth);
	assert_non_null(s->cq);
	s->qp = side_create_qp(p, s);
	s->buffer = p->v->alloc_buffer(p->v, s->context, PAIR_MEMORY, SRD_BUFFER_REAL);
	assert_non_null(s->buffer);
	s->mr = p->v->reg_mr(p->v, s->pd, s->buffer->addr, PAIR_MEMORY,
			     p->profile.cap_rdma_write ? ALL_RIGHTS : SRD_ACCESS_LOCAL_WRITE);
	assert_non_null(s->mr);
}

int side_modify(struct pair *p, struct side *s, enum srd_qp_state state)
{
	struct srd_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = PAIR_QKEY};
	uint32_t mask = SRD_QP_STATE;

	if (state == SRD_QPS_INIT)
		mask |= SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY;
	if (state == SRD_QPS_RTS && s->qp->state == SRD_QPS_RTR)
		mask |= SRD_QP_SQ_PSN;
	return p->v->modify_qp(p->v, s->qp, &attr, mask);
}

void side_connect(struct pair *p, struct side *s)
{
	assert_int_equal(side_modify(p, s, SRD_QPS_INIT), 0);
	assert_int_equal(side_modify(p, s, SRD_QPS_RTR), 0);
	assert_int_equal(side_modify(p, s, SRD_QPS_RTS), 0);
}

void pair_open(struct pair *p)
{
	struct srd_backend_options options = {
		.profile = &p->profile, .seed = p->seed, .stream = p->stream};

	assert_int_equal(srd_backend_find("mock")->open(&options, &p->v, NULL), 0);
	side_open(p, &p->a, 0);
	side_open(p, &p->b, 1);
	p->a.ah = side_create_ah(p, &p->a, 1);
	p->b.ah = side_create_ah(p, &p->b, 0);
	side_connect(p, &p->a);
	side_connect(p, &p->b);
	assert_int_equal(p->v->fill_buffer(p->v, p->a.buffer, 0, PAIR_MEMORY, 7), 0);
}

void pair_audit(struct pair *p)
{
	struct srd_lab command = {.kind = SRD_LAB_AUDIT};

	if (p->v->lab(p->v, &command))
		fail_msg("audit: %s", command.text);
}

void pair_close(struct pair *p)
{
	pair_audit(p);
	p->v->close(p->v);
}

void build_write(struct pair *p, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	p->a.qp->wr_id = wr_id;
	p->a.qp->wr_flags = SRD_SEND_SIGNALED;
	p->v->wr_rdma_write(p->v, p->a.qp, p->b.mr->rkey, p->b.buffer->addr + offset);
	p->v->wr_set_sge(p->v, p->a.qp, p->a.mr->lkey, p->a.buffer->addr + offset, length);
	p->v->wr_set_ud_addr(p->v, p->a.qp, p->a.ah, p->b.qp->qp_num, PAIR_QKEY);
}

void pair_write(struct pair *p, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	p->v->wr_start(p->v, p->a.qp);
	build_write(p, wr_id, offset, length);
	assert_int_equal(p->v->wr_complete(p->v, p->a.qp), 0);
}

void pair_read(struct pair *p, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	p->v->wr_start(p->v, p->a.qp);
	p->a.qp->wr_id = wr_id;
	p->a.qp->wr_flags = SRD_SEND_SIGNALED;
	p->v->wr_rdma_read(p->v, p->a.qp, p->b.mr->rkey, p->b.buffer->addr + offset);
	p->v->wr_set_sge(p->v, p->a.qp, p->a.mr->lkey, p->a.buffer->addr + offset, length);
	p->v->wr_set_ud_addr(p->v, p->a.qp, p->a.ah, p->b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p->v->wr_complete(p->v, p->a.qp), 0);
}

struct srd_wc side_wait(struct pair *p, struct side *s)
{
	struct srd_wc wc = {.byte_len = 0};
	int n;

	while (!(n = p->v->poll_cq(p->v, s->cq, 1, &wc)))
		assert_int_equal(p->v->wait(p->v, UINT64_MAX), 0);
	assert_int_equal(n, 1);
	return wc;
}

void side_expect(struct pair *p, struct side *s, uint64_t wr_id, enum srd_efa_status status)
{
	struct srd_wc wc = side_wait(p, s);

	assert_int_equal(wc.wr_id, wr_id);
	assert_string_equal(srd_efa_status_str(wc.vendor_err), srd_efa_status_str(status));
	assert_int_equal(wc.status, srd_efa_status_to_wc(status));
}

void side_expect_none(struct pair *p, struct side *s)
{
	struct srd_wc wc;

	assert_int_equal(p->v->poll_cq(p->v, s->cq, 1, &wc), 0);
}

int lab_request(struct pair *p, struct srd_qp *qp, enum srd_lab_kind kind, uint64_t wr_id)
{
	struct srd_lab command = {.kind = kind, .qp = qp, .wr_id = wr_id};

	return p->v->lab(p->v, &command);
}

int lab_ordinal(struct pair *p, struct srd_qp *qp, enum srd_lab_kind kind, uint64_t ordinal)
{
	struct srd_lab command = {
		.kind = kind, .flags = SRD_LAB_BY_ORDINAL, .qp = qp, .ordinal = ordinal};

	return p->v->lab(p->v, &command);
}

enum srd_request_place lab_locate(struct pair *p, struct srd_qp *qp, uint64_t wr_id)
{
	struct srd_lab command = {.kind = SRD_LAB_LOCATE, .qp = qp, .wr_id = wr_id};

	p->v->lab(p->v, &command);
	return command.place;
}

int lab_host(struct pair *p, enum srd_lab_kind kind, uint32_t host)
{
	struct srd_lab command = {.kind = kind, .host = host};

	return p->v->lab(p->v, &command);
}

int lab_set(struct pair *p, const char *name, uint64_t value)
{
	struct srd_lab command = {.kind = SRD_LAB_SET, .name = name, .value = value};

	return p->v->lab(p->v, &command);
}

uint64_t lab_counter(struct pair *p, uint32_t host, const char *name)
{
	struct srd_lab command = {.kind = SRD_LAB_COUNTER, .name = name, .host = host};

	assert_int_equal(p->v->lab(p->v, &command), 0);
	return command.value;
}
