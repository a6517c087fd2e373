/* SPDX-License-Identifier: MIT */
/* What the model holds: nothing grows with what is done; the audit finds what is broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "door/door.h"
#include "mock_pair.h"
#include "model/state.h"

static struct pair p;

static int open_pair(void **state)
{
	pair_init(&p, "efa1");
	pair_open(&p);
	return 0;
}

static int close_pair(void **state)
{
	pair_close(&p);
	return 0;
}

static struct srd_model *model(void)
{
	return &door_of(p.v)->model;
}

static void requests_are_used_again(void **state)
{
	const struct srd_pool *pools = model()->state->pool;
	uint64_t blocks = model()->state->blocks.high;
	struct srd_wc wc[16];
	uint64_t done = 0, posted = 0;

	while (done < 100000) {
		while (posted - done < 16)
			pair_write(&p, posted++, 0, 64);
		assert_int_equal(p.v->wait(p.v, UINT64_MAX), 0);
		done += (uint64_t)p.v->poll_cq(p.v, p.a.cq, 16, wc);
	}
	assert_in_range(pools[SRD_POOL_REQUEST].high, 16, 16);
	assert_int_equal(model()->state->blocks.high, blocks);
}

static void objects_are_used_again(void **state)
{
	const struct srd_model_state *s = model()->state;
	struct srd_pool before[SRD_NUM_POOLS];
	uint64_t blocks = 0;

	for (int i = 0; i < 1000; i++) {
		struct side side;

		side_open(&p, &side, 0);
		side.ah = side_create_ah(&p, &side, 1);
		lab_ordinal(&p, side.qp, SRD_LAB_HOLD, 3);
		assert_int_equal(p.v->destroy_qp(p.v, side.qp), 0);
		assert_int_equal(p.v->destroy_ah(p.v, side.ah), 0);
		assert_int_equal(p.v->dereg_mr(p.v, side.mr), 0);
		assert_int_equal(p.v->free_buffer(p.v, side.buffer), 0);
		assert_int_equal(p.v->destroy_cq(p.v, side.cq), 0);
		assert_int_equal(p.v->dealloc_pd(p.v, side.pd), 0);
		assert_int_equal(p.v->close_device(p.v, side.context), 0);
		if (i == 0) {
			memcpy(before, s->pool, sizeof(before));
			blocks = s->blocks.high;
		}
	}
	for (int i = 0; i < SRD_NUM_POOLS; i++) {
		assert_int_equal(s->pool[i].high, before[i].high);
		assert_int_equal(s->pool[i].used, before[i].used);
	}
	assert_int_equal(s->blocks.high, blocks);
}

static void flushed_requests_come_back(void **state)
{
	const struct srd_pool *pool = &model()->state->pool[SRD_POOL_REQUEST];
	struct srd_wc wc[16];

	for (int i = 0; i < 1000; i++) {
		for (uint64_t n = 0; n < 16; n++)
			pair_write(&p, n, 0, 64);
		assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
		assert_int_equal(p.v->poll_cq(p.v, p.a.cq, 16, wc), 16);
		assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
		assert_int_equal(side_modify(&p, &p.a, SRD_QPS_RESET), 0);
		side_connect(&p, &p.a);
	}
	assert_int_equal(pool->used, 0);
	assert_int_equal(pool->high, 16);
}

static void pool_of_requests_is_empty(void **state)
{
	struct srd_pool *pool = &model()->state->pool[SRD_POOL_REQUEST];
	uint32_t capacity = pool->capacity;

	pool->capacity = 2;
	p.v->wr_start(p.v, p.a.qp);
	for (uint64_t i = 0; i < 3; i++)
		build_write(&p, i, 0, 64);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), ENOMEM);
	assert_int_equal(pool->used, 0);
	pool->capacity = capacity;
	pair_write(&p, 4, 0, 64);
	side_expect(&p, &p.a, 4, SRD_EFA_OK);
}

static struct srd_qp *create_qp(void)
{
	struct srd_efa_qp_init_attr efa = {.flags = 0};
	struct srd_qp_init_attr_ex attr = {
		.pd = p.a.pd,
		.send_cq = p.a.cq,
		.recv_cq = p.a.cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD,
	};

	return p.v->create_qp_ex(p.v, p.a.context, &attr, &efa);
}

static void pools_of_objects_are_empty(void **state)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
	struct srd_pool *pools = model()->state->pool;
	uint32_t capacity[SRD_NUM_POOLS];
	uint64_t room;

	for (int i = 0; i < SRD_NUM_POOLS; i++) {
		capacity[i] = pools[i].capacity;
		pools[i].capacity = pools[i].high;
	}
	assert_null(p.v->alloc_pd(p.v, p.a.context));
	assert_int_equal(errno, ENOMEM);
	assert_null(p.v->create_cq(p.v, p.a.context, 4));
	assert_int_equal(errno, ENOMEM);
	assert_null(p.v->reg_mr(p.v, p.a.pd, p.a.buffer->addr, 8, 0));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(p.v->query_gid(p.v, p.a.context, 1, 0, &attr.dgid), 0);
	assert_null(p.v->create_ah(p.v, p.a.pd, &attr));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_HOLD, 3), ENOMEM);
	assert_null(create_qp());
	assert_int_equal(errno, ENOMEM);
	for (int i = 0; i < SRD_NUM_POOLS; i++)
		pools[i].capacity = capacity[i];

	/* There is a place for the queue pair, but none for its ring. */
	room = model()->state->blocks.capacity;
	model()->state->blocks.capacity = model()->state->blocks.high;
	assert_null(create_qp());
	assert_int_equal(errno, ENOMEM);
	model()->state->blocks.capacity = room;
	assert_non_null(create_qp());
}

/* The audit after VALUE was put where *PLACE is. */
static int audit_with(uint32_t *place, uint32_t value, char *text, size_t size)
{
	uint32_t good = *place;
	int err;

	*place = value;
	err = srd_model_audit(model(), text, size);
	*place = good;
	return err;
}

static void audit_finds_what_is_broken(void **state)
{
	struct srd_lab command = {.kind = SRD_LAB_AUDIT};
	struct srd_model *m = model();
	struct srd_model_qp *qp = &m->qp[door_qp(p.a.qp)->model];
	struct srd_request *r;
	char text[256];
	uint8_t phase;

	pair_write(&p, 1, 0, 64);
	pair_write(&p, 2, 0, 64);
	r = &m->request[qp->first_request];
	assert_int_equal(audit_with(&r->prev, 7, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "linked wrongly"));
	assert_int_equal(audit_with(&qp->last_request, 7, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "not the last"));
	assert_int_equal(audit_with(&m->device[0].num_qp, 3, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "counts 3"));
	assert_int_equal(audit_with(&m->device[0].num_qp, 0, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "more than its 0"));
	assert_int_equal(audit_with(&m->state->pool[SRD_POOL_REQUEST].used, 1, text, sizeof(text)),
			 EUCLEAN);
	assert_non_null(strstr(text, "ring"));
	assert_int_equal(audit_with(&m->state->pool[SRD_POOL_REQUEST].used, 3, text, sizeof(text)),
			 EUCLEAN);
	assert_non_null(strstr(text, "3 counted"));
	assert_int_equal(audit_with(&qp->rq_head, 1000, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "too many receives"));
	assert_int_equal(audit_with(&m->qpn[qp->qpn - 1].qp, 0, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "not found by number"));
	phase = r->phase;
	r->phase = SRD_PHASE_FREE;
	assert_int_equal(srd_model_audit(m, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "in phase 0"));
	r->phase = SRD_PHASE_LOST;
	assert_int_equal(p.v->lab(p.v, &command), EUCLEAN);
	assert_non_null(strstr(command.text, "1 things wait"));
	r->phase = phase;
	m->state->departures = 1;
	assert_int_equal(srd_model_audit(m, text, sizeof(text)), EUCLEAN);
	assert_non_null(strstr(text, "more completions"));
	m->state->departures = 0;
	assert_int_equal(srd_model_audit(m, text, sizeof(text)), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_used_again),    TEST(objects_are_used_again),
		TEST(flushed_requests_come_back), TEST(pool_of_requests_is_empty),
		TEST(pools_of_objects_are_empty), TEST(audit_finds_what_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
