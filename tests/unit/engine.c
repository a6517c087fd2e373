/* SPDX-License-Identifier: MIT */
/*
 * The whole engine over the mock: two hosts, a leased completion queue each, observed queue
 * pairs and schedulers, the seam's observer and the rules. A transfer in both directions
 * moves its bytes and breaks no rule; and whichever allocation or verbs call fails, it is
 * reported, everything is released, and no rule is broken by what is left.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/lab.h>
#include <srdlab/profile.h>

#include "qp/cq_pool.h"
#include "qp/efa_srd.h"
#include "qp/observe.h"
#include "qp/retire.h"
#include "qp/scheduler.h"
#include "rules/rules.h"
#include "verbs/alloc.h"
#include "verbs/backend.h"
#include "verbs/inject.h"
#include "verbs/observe.h"

#define SIZE  UINT64_C(20000) /* bytes of each side's memory */
#define DEPTH 4

static const struct srd_queue_pair_ops *const qp_ops = &srd_observed_queue_pair_ops;
static const struct srd_scheduler_ops *const s_ops = &srd_observed_scheduler_ops;

struct side {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_buffer *buffer;
	struct srd_mr *mr;
	struct srd_cq_pool *pool;
	struct srd_cq *cq;
	struct srd_queue_pair *qp;
	struct srd_scheduler *scheduler;
	struct srd_endpoint endpoint;
};

struct engine {
	struct srd_stream stream;
	struct srd_rules *rules;
	struct srd_verbs *verbs;
	struct srd_inject *inject; /* owned by the table */
	struct side side[2];
	struct srd_error error;
};

/* The table: the mock, the injector, the observer. */
static int tables_open(struct engine *e, const char *profile)
{
	const struct srd_backend_options options = {
		.profile = srd_profile_find(profile),
		.seed = 1,
		.stream = &e->stream,
	};
	struct srd_verbs *mock, *observed;
	int rc;

	rc = srd_backend_find("mock")->open(&options, &mock, &e->error);
	if (rc)
		return rc;
	rc = srd_inject_open(mock, &e->inject, &e->error);
	if (rc) {
		mock->close(mock);
		return rc;
	}
	e->verbs = srd_inject_verbs(e->inject);
	rc = srd_observe_open(e->verbs, &e->stream, e->inject, &observed, &e->error);
	if (!rc)
		e->verbs = observed;
	return rc;
}

static int memory_open(struct engine *e, struct side *side)
{
	struct srd_verbs *v = e->verbs;

	side->buffer = v->alloc_buffer(v, side->context, SIZE, SRD_BUFFER_REAL);
	if (!side->buffer)
		return -errno;
	side->mr = v->reg_mr(v, side->pd, side->buffer->addr, SIZE,
			     SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE |
				     SRD_ACCESS_REMOTE_READ);
	return side->mr ? 0 : -errno;
}

static int side_open(struct engine *e, uint32_t host)
{
	const struct srd_queue_pair_config config = {
		.max_send_wr = DEPTH,
		.max_recv_wr = 1,
		.psn = 7,
		.port_num = 1,
	};
	const struct srd_scheduler_config credits = {.max_send_wr = DEPTH};
	struct side *side = &e->side[host];
	struct srd_verbs *v = e->verbs;
	int rc;

	side->context = v->open_device(v, host, NULL);
	if (!side->context)
		return -errno;
	side->pd = v->alloc_pd(v, side->context);
	if (!side->pd)
		return -errno;
	rc = memory_open(e, side);
	if (!rc)
		rc = srd_cq_pool_create(v, side->context, 1, &e->stream, &side->pool, &e->error);
	if (!rc)
		rc = srd_cq_pool_acquire(side->pool, DEPTH, 0, &side->cq, &e->error);
	if (!rc)
		rc = srd_observed_queue_pair_create(&srd_efa_srd_ops, &e->stream, v, side->pd,
						    &config, side->cq, side->cq, &side->qp,
						    &e->error);
	if (!rc)
		rc = srd_observed_scheduler_create(&srd_credit_scheduler_ops, side->qp, &credits,
						   &side->scheduler, &e->error);
	if (!rc)
		rc = qp_ops->endpoint(side->qp, &side->endpoint, &e->error);
	return rc;
}

static int sides_open(struct engine *e)
{
	int rc = 0;

	for (uint32_t host = 0; !rc && host < 2; host++)
		rc = side_open(e, host);
	for (int i = 1; !rc && i >= 0; i--)
		rc = qp_ops->connect(e->side[i].qp, &e->side[!i].endpoint, &e->error);
	return rc;
}

static int engine_open(struct engine *e, const char *profile, const char *rules)
{
	int rc;

	rc = srd_rules_create(rules, NULL, &e->rules, &e->error);
	if (!rc)
		rc = srd_stream_add(&e->stream, srd_rules_event, e->rules);
	if (!rc)
		rc = tables_open(e, profile);
	return rc ? rc : sides_open(e);
}

static bool queue_pair_close(struct engine *e, struct side *side)
{
	struct srd_retirement retirement = {
		.verbs = e->verbs,
		.ops = qp_ops,
		.qp = side->qp,
		.scheduler_ops = s_ops,
		.scheduler = side->scheduler,
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.grace = 1000000,
	};
	struct srd_op_result result;

	if (!side->qp)
		return true;
	srd_queue_pair_drain(&retirement);
	while (side->scheduler && s_ops->result(side->scheduler, &result))
		;
	s_ops->destroy(side->scheduler);
	return srd_queue_pair_finish(&retirement);
}

static void side_close(struct engine *e, struct side *side)
{
	struct srd_verbs *v = e->verbs;
	bool clean = queue_pair_close(e, side);

	if (side->cq)
		assert_int_equal(srd_cq_pool_release(side->pool, side->cq, clean, NULL), 0);
	srd_cq_pool_destroy(side->pool);
	if (side->mr)
		v->dereg_mr(v, side->mr);
	if (side->buffer)
		v->free_buffer(v, side->buffer);
	if (side->pd)
		v->dealloc_pd(v, side->pd);
	if (side->context)
		v->close_device(v, side->context);
}

static void expect_no_violation(struct engine *e)
{
	const struct srd_violation *list;
	int rc = srd_rules_finish(e->rules, NULL);

	/* Without memory for what it saw, it judges nothing, and says so. */
	if (rc == -ENOMEM)
		return;
	assert_int_equal(rc, 0);
	if (srd_rules_violations(e->rules, &list))
		fail_msg("%s: %s", srd_rule_infos[list->rule].id, list->evidence);
}

/* Nothing fails here any more, so that what is left was forgotten before. */
static void engine_close(struct engine *e)
{
	srd_alloc_fail_at(0);
	if (e->inject)
		srd_inject_clear(e->inject);
	for (int i = 0; i < 2; i++)
		if (e->verbs)
			side_close(e, &e->side[i]);
	if (e->verbs)
		e->verbs->close(e->verbs);
	if (e->rules)
		expect_no_violation(e);
	srd_rules_destroy(e->rules);
	assert_int_equal(srd_alloc_live(), 0);
}

/* Side 0 sends (put) or fetches (get) SIZE bytes at the offset of both memories. */
static struct srd_op op_between(struct engine *e, enum srd_op_kind kind, uint64_t offset,
				uint64_t size)
{
	const struct side *a = &e->side[0], *b = &e->side[1];

	return (struct srd_op){
		.kind = kind,
		.local = {.addr = a->mr->addr + offset, .size = size, .lkey = a->mr->lkey},
		.remote = {.addr = b->mr->addr + offset, .size = size, .rkey = b->mr->rkey},
		.cookie = offset,
	};
}

/* The first error of N results; waits as a program does. */
static int results_take(struct engine *e, int n)
{
	struct srd_scheduler *s = e->side[0].scheduler;
	struct srd_op_result result;
	int rc = 0;

	while (n) {
		int reaped = s_ops->progress(s, &e->error);

		if (s_ops->result(s, &result)) {
			n--;
			if (result.result && !rc) {
				rc = result.result;
				e->error = result.error;
			}
			continue;
		}
		if (reaped < 0 && reaped != -ENOMEM)
			return reaped;
		if (e->verbs->wait(e->verbs, UINT64_MAX))
			return rc ? rc : -EDEADLK;
	}
	return rc;
}

/* Half of the memory is put, the other half is fetched, and one byte goes straight. */
static int transfer(struct engine *e)
{
	struct srd_verbs *v = e->verbs;
	const struct srd_op ops[] = {
		op_between(e, SRD_OP_PUT, 0, SIZE / 2),
		op_between(e, SRD_OP_GET, SIZE / 2, SIZE / 2),
		op_between(e, SRD_OP_PUT, 100, 0),
	};
	const struct srd_op direct = op_between(e, SRD_OP_PUT, 0, 1);
	uint64_t id[1];
	struct srd_wr_ids ids = {.id = id, .capacity = 1};
	int rc;

	rc = v->fill_buffer(v, e->side[0].buffer, 0, SIZE / 2, 1);
	if (!rc)
		rc = v->fill_buffer(v, e->side[1].buffer, SIZE / 2, SIZE / 2, 1);
	if (rc)
		return -rc;
	rc = qp_ops->put(e->side[0].qp, &direct.remote, &direct.local, &ids, &e->error);
	if (!rc)
		rc = s_ops->adopt(e->side[0].scheduler, &ids, 9, &e->error);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		rc = s_ops->submit(e->side[0].scheduler, &ops[i], &e->error);
		if (rc)
			return rc;
	}
	return results_take(e, 4);
}

static void expect_same_bytes(struct engine *e)
{
	uint64_t difference;

	assert_int_equal(e->verbs->compare_buffer(e->verbs, e->side[0].buffer, 0, e->side[1].buffer,
						  0, SIZE, &difference),
			 0);
	assert_int_equal(difference, SIZE);
}

static void bytes_go_both_ways(void **state)
{
	const char *const profiles[] = {"small", "efa1"};

	for (int i = 0; i < 2; i++) {
		struct engine e = {0};

		assert_int_equal(engine_open(&e, profiles[i], NULL), 0);
		assert_int_equal(transfer(&e), 0);
		expect_same_bytes(&e);
		engine_close(&e);
	}
}

static int lab(struct engine *e, enum srd_lab_kind kind, uint64_t ordinal)
{
	struct srd_lab command = {
		.kind = kind,
		.flags = SRD_LAB_BY_ORDINAL,
		.qp = qp_ops->verbs_qp(e->side[0].qp),
		.ordinal = ordinal,
		.status = 7, /* REMOTE_ERROR_BAD_ADDRESS */
	};

	return e->verbs->lab(e->verbs, &command);
}

/* Entries that nobody waits for, among good ones: told, not credited, and passed over. */
static void strange_completions_harm_nobody(void **state)
{
	struct engine e = {0};

	assert_int_equal(engine_open(&e, "small", "none"), 0);
	assert_int_equal(lab(&e, SRD_LAB_DUPLICATE, 0), 0);
	assert_int_equal(lab(&e, SRD_LAB_STALE_CQE, 0), 0);
	assert_int_equal(transfer(&e), 0);
	expect_same_bytes(&e);
	assert_int_equal(s_ops->in_flight(e.side[0].scheduler), 0);
	engine_close(&e);
}

/* A failed request is the cause of its own op; the others succeed, and later ones too. */
static void a_failed_request_fails_its_op_alone(void **state)
{
	struct engine e = {0};
	struct srd_scheduler *s;
	struct srd_op_result result;
	struct srd_op first, second;

	assert_int_equal(engine_open(&e, "small", NULL), 0);
	s = e.side[0].scheduler;
	first = op_between(&e, SRD_OP_PUT, 0, 10000);
	second = op_between(&e, SRD_OP_PUT, 10000, 4096);
	assert_int_equal(lab(&e, SRD_LAB_FAIL, 1), 0);
	assert_int_equal(s_ops->submit(s, &first, &e.error), 0);
	assert_int_equal(s_ops->submit(s, &second, &e.error), 0);
	for (int answers = 0; answers < 2;) {
		assert_int_equal(e.verbs->wait(e.verbs, UINT64_MAX), 0);
		assert_true(s_ops->progress(s, &e.error) >= 0);
		for (; s_ops->result(s, &result); answers++) {
			bool failed = result.cookie == first.cookie;

			assert_int_equal(result.result, failed ? -EIO : 0);
			assert_int_equal(result.status,
					 failed ? SRD_WC_REM_ACCESS_ERR : SRD_WC_SUCCESS);
			assert_int_equal(result.wr_id, failed);
			assert_int_equal(result.num_wr, failed ? 3 : 1);
		}
	}
	assert_int_equal(transfer(&e), 0);
	expect_same_bytes(&e);
	engine_close(&e);
}

/* What is held back for ever keeps the completion queue from being leased again. */
static void a_lost_completion_condemns_the_queue(void **state)
{
	struct engine e = {0};
	struct srd_op op;
	uint32_t before;

	assert_int_equal(engine_open(&e, "small", "none"), 0);
	op = op_between(&e, SRD_OP_PUT, 0, 1);
	assert_int_equal(lab(&e, SRD_LAB_DROP, 0), 0);
	assert_int_equal(s_ops->submit(e.side[0].scheduler, &op, &e.error), 0);
	assert_int_equal(e.verbs->wait(e.verbs, UINT64_MAX), EDEADLK);
	before = e.side[0].cq->handle;
	assert_false(queue_pair_close(&e, &e.side[0]));
	e.side[0].qp = NULL;
	e.side[0].scheduler = NULL;
	assert_int_equal(srd_cq_pool_release(e.side[0].pool, e.side[0].cq, false, NULL), 0);
	assert_int_equal(srd_cq_pool_acquire(e.side[0].pool, DEPTH, 0, &e.side[0].cq, &e.error), 0);
	assert_int_not_equal(e.side[0].cq->handle, before);
	engine_close(&e);
}

/*
 * Until no allocation is left to fail. Without memory an op may be refused out of its turn;
 * but no law is broken by it.
 */
static void each_allocation_fails(void **state)
{
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct engine e = {0};
		int rc;

		srd_alloc_fail_at(nth);
		rc = engine_open(&e, "small", "law");
		if (!rc)
			rc = transfer(&e);
		failed = srd_alloc_count() >= nth;
		assert_true(rc == 0 || (failed && rc == -ENOMEM));
		if (!rc)
			expect_same_bytes(&e);
		engine_close(&e);
	}
}

/* Until no call is left to fail: open first, then everything after it. */
static void each_verbs_call_fails(void **state)
{
	bool failed = true;

	for (uint64_t nth = 1; failed; nth++) {
		struct engine e = {0};
		int rc;

		assert_int_equal(srd_rules_create(NULL, NULL, &e.rules, &e.error), 0);
		assert_int_equal(srd_stream_add(&e.stream, srd_rules_event, e.rules), 0);
		assert_int_equal(tables_open(&e, "small"), 0);
		assert_int_equal(srd_inject_fail(e.inject, SRD_INJECT_ANY, nth, EIO, &e.error), 0);
		rc = sides_open(&e);
		if (!rc)
			rc = transfer(&e);
		failed = srd_inject_calls(e.inject, SRD_INJECT_ANY) >= nth;
		/* A poll that fails ends the scheduler, which cancels what is outstanding. */
		assert_true(failed ? rc == -EIO || rc == -ECANCELED : rc == 0);
		engine_close(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_go_both_ways),
		cmocka_unit_test(strange_completions_harm_nobody),
		cmocka_unit_test(a_failed_request_fails_its_op_alone),
		cmocka_unit_test(a_lost_completion_condemns_the_queue),
		cmocka_unit_test(each_allocation_fails),
		cmocka_unit_test(each_verbs_call_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
