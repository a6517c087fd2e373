/* SPDX-License-Identifier: MIT */
/* The laboratory as a library, by its public functions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <srdlab/plugin.h>
#include <srdlab/srdlab.h>

#include "verbs/alloc.h"

const struct srd_queue_pair_ops *example(void);
#define srdlab_queue_pair_v1 example
#include "../../examples/queue_pair_c/queue_pair.c"
#undef srdlab_queue_pair_v1

static struct srdlab *open_lab(const char *profile, uint64_t seed)
{
	const struct srdlab_limit limits[] = {{"max_rdma_size", 1000}};
	const struct srdlab_options options = {
		.profile = profile, .seed = seed, .limits = limits, .num_limits = 1};
	struct srd_error error = {0};
	struct srdlab *lab;

	if (srdlab_open(&options, &lab, &error))
		fail_msg("%s", error.message);
	return lab;
}

static struct srd_op_result carry(struct srdlab *lab, struct srdlab_pair *pair,
				  enum srd_op_kind kind, uint64_t size)
{
	struct srd_op_result result;

	assert_int_equal(srdlab_submit(pair, kind, 0, size, 5, NULL), 0);
	assert_int_equal(srdlab_wait(lab, pair->a.scheduler, &result, NULL), 0);
	assert_int_equal(result.cookie, 5);
	return result;
}

static void count_event(void *reader, const struct srd_event *event)
{
	if (event->type == SRD_EV_WR_POST)
		++*(int *)reader;
}

static void transfers_are_watched(void **state)
{
	struct srdlab *lab = open_lab(NULL, 1);
	struct srd_verbs *v = srdlab_verbs(lab);
	struct srdlab_pair pair;
	unsigned char there[2500];
	int posts = 0;

	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, NULL), 0);
	assert_int_equal(srdlab_read(lab, count_event, &posts), 0);
	assert_int_equal(v->fill_buffer(v, pair.a.buffer, 0, 2500, 9), 0);
	assert_int_equal(carry(lab, &pair, SRD_OP_PUT, 2500).num_wr, 3);
	assert_int_equal(v->read_buffer(v, pair.b.buffer, 0, there, sizeof(there)), 0);
	assert_int_not_equal(there[2499], 0);
	assert_int_equal(posts, 3);
	srdlab_stop_reading(lab, count_event, &posts);
	assert_int_equal(carry(lab, &pair, SRD_OP_GET, 1000).num_wr, 1);
	assert_int_equal(posts, 3);
	srdlab_pair_close(lab, &pair);
	assert_int_equal(srdlab_judge(lab, NULL), 0);
	srdlab_close(lab);
}

static uint64_t hash_of_run(uint64_t seed)
{
	struct srdlab *lab = open_lab("{\"base\": \"small\"}", seed);
	struct srdlab_pair pair;
	uint64_t hash;

	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, NULL), 0);
	carry(lab, &pair, SRD_OP_PUT, 2500);
	srdlab_pair_close(lab, &pair);
	hash = srdlab_trace_hash(lab);
	srdlab_close(lab);
	return hash;
}

static void the_seed_decides_the_run(void **state)
{
	assert_true(hash_of_run(3) == hash_of_run(3));
	assert_true(hash_of_run(3) != hash_of_run(4));
}

static void time_is_moved(void **state)
{
	struct srdlab *lab = open_lab(NULL, 1);
	struct srd_op_result result;
	struct srdlab_pair pair;

	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, NULL), 0);
	assert_int_equal(srdlab_submit(&pair, SRD_OP_PUT, 0, 2500, 1, NULL), 0);
	assert_int_equal(srdlab_now(lab), 0);
	srdlab_advance(lab, 1000000000);
	assert_int_equal(srdlab_now(lab), 1000000000);
	assert_int_equal(srdlab_scheduler_ops()->result(pair.a.scheduler, &result), 0);
	assert_int_equal(srdlab_scheduler_ops()->progress(pair.a.scheduler, NULL), 3);
	assert_int_equal(srdlab_scheduler_ops()->result(pair.a.scheduler, &result), 1);
	srdlab_pair_close(lab, &pair);
	srdlab_close(lab);
}

static void calls_are_made_to_fail(void **state)
{
	struct srdlab *lab = open_lab(NULL, 1);
	struct srd_error error = {0};
	struct srdlab_pair pair;

	assert_int_equal(srdlab_fail_call(lab, "modify_qp", 2, EIO, NULL), 0);
	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, &error), -EIO);
	assert_non_null(strstr(error.message, "RTR"));
	assert_int_equal(srdlab_fail_call(lab, NULL, 0, EBUSY, NULL), 0);
	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, &error), -EBUSY);
	srdlab_clear_failures(lab);
	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, &error), 0);
	srdlab_pair_close(lab, &pair);
	assert_int_equal(srdlab_fail_call(lab, "modify", 1, EIO, &error), -EINVAL);
	assert_string_equal(error.message, "there is no verb \"modify\"");
	srdlab_close(lab);
}

static void who_waits_for_ever_is_told(void **state)
{
	struct srdlab *lab = open_lab(NULL, 1);
	struct srd_verbs *v = srdlab_verbs(lab);
	struct srd_lab lose = {.kind = SRD_LAB_DROP, .flags = SRD_LAB_BY_ORDINAL, .ordinal = 0};
	struct srd_error error = {0};
	struct srd_op_result result;
	struct srdlab_pair pair;

	assert_int_equal(srdlab_pair_open(lab, NULL, &pair, NULL), 0);
	lose.qp = srdlab_queue_pair_ops()->verbs_qp(pair.a.qp);
	assert_int_equal(v->lab(v, &lose), 0);
	assert_int_equal(srdlab_submit(&pair, SRD_OP_PUT, 0, 8, 1, NULL), 0);
	assert_int_equal(srdlab_wait(lab, pair.a.scheduler, &result, &error), -EDEADLK);
	assert_non_null(strstr(error.message, "requests in flight: 1, ops queued: 0"));
	srdlab_pair_close(lab, &pair);
	srdlab_close(lab);
}

static int skip_ids(struct srd_queue_pair *q, const struct srd_remote_view *to,
		    const struct srd_local_view *from, struct srd_wr_ids *ids,
		    struct srd_error *error)
{
	q->next_id += 10;
	return example()->put(q, to, from, ids, error);
}

/* A queue pair of the test's own, good and bad. */
static void rules_judge_a_queue_pair(void **state)
{
	struct srd_queue_pair_ops ops = *example();
	const struct srdlab_pair_options options = {.queue_pair = &ops, .max_send_wr = 4};
	struct srdlab *lab = open_lab(NULL, 1);
	struct srdlab_violation violation;
	struct srdlab_pair pair;

	assert_int_equal(srdlab_pair_open(lab, &options, &pair, NULL), 0);
	carry(lab, &pair, SRD_OP_PUT, 2500);
	assert_int_equal(srdlab_violation(lab, 0, &violation), -ENOENT);
	srdlab_pair_close(lab, &pair);
	assert_int_equal(srdlab_judge(lab, NULL), 0);
	srdlab_close(lab);

	lab = open_lab(NULL, 1);
	ops.put = skip_ids;
	assert_int_equal(srdlab_pair_open(lab, &options, &pair, NULL), 0);
	carry(lab, &pair, SRD_OP_PUT, 2500);
	srdlab_pair_close(lab, &pair);
	assert_int_equal(srdlab_judge(lab, NULL), 1);
	assert_int_equal(srdlab_violation(lab, 0, &violation), 0);
	assert_string_equal(violation.rule, "id.first");
	assert_non_null(strstr(violation.evidence, "10"));
	assert_int_equal(violation.count, 1);
	assert_int_equal(srdlab_violation(lab, 1, &violation), -ENOENT);
	srdlab_close(lab);
}

static void wrong_options_are_refused(void **state)
{
	static const struct {
		const char *profile, *rules, *limit;
		const char *message;
	} wrong[] = {
		{"nothing", NULL, NULL, "nothing"},
		{"{\"latency\": true}", NULL, NULL, "latency"},
		{NULL, "nothing", NULL, "nothing"},
		{NULL, NULL, "max_nothing", "max_nothing"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct srdlab_limit limit = {wrong[i].limit, 1};
		const struct srdlab_options options = {
			.profile = wrong[i].profile,
			.rules = wrong[i].rules,
			.limits = &limit,
			.num_limits = wrong[i].limit ? 1 : 0,
		};
		struct srd_error error = {0};
		struct srdlab *lab;

		assert_true(srdlab_open(&options, &lab, &error) < 0);
		assert_non_null(strstr(error.message, wrong[i].message));
	}
}

/* Open, transfer, judge; the first negative answer, with everything released. */
static int whole_life(void)
{
	const struct srdlab_limit limit = {"max_rdma_size", 1000};
	const struct srdlab_options options = {.limits = &limit, .num_limits = 1};
	struct srd_op_result result;
	struct srdlab_pair pair;
	struct srdlab *lab;
	int rc = srdlab_open(&options, &lab, NULL);

	if (rc)
		return rc;
	rc = srdlab_pair_open(lab, NULL, &pair, NULL);
	if (rc)
		goto close;
	rc = srdlab_submit(&pair, SRD_OP_PUT, 0, 2500, 1, NULL);
	if (!rc)
		rc = srdlab_wait(lab, pair.a.scheduler, &result, NULL);
	if (!rc)
		rc = result.result;
	srdlab_pair_close(lab, &pair);
	if (!rc)
		rc = srdlab_judge(lab, NULL);
close:
	srdlab_close(lab);
	return rc;
}

static void each_allocation_may_fail(void **state)
{
	int64_t live = srd_alloc_live();
	uint64_t n, failed = 0;
	int rc;

	for (n = 1;; n++) {
		srd_alloc_fail_at(n);
		rc = whole_life();
		if (srd_alloc_count() < n)
			break;
		assert_int_equal(srd_alloc_live(), live);
		failed += rc < 0;
	}
	srd_alloc_fail_at(0);
	assert_int_equal(rc, 0);
	assert_true(failed > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfers_are_watched),
		cmocka_unit_test(the_seed_decides_the_run),
		cmocka_unit_test(time_is_moved),
		cmocka_unit_test(calls_are_made_to_fail),
		cmocka_unit_test(who_waits_for_ever_is_told),
		cmocka_unit_test(rules_judge_a_queue_pair),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
