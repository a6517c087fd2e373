/* SPDX-License-Identifier: MIT */
/*
 * No false alarm: random work of our own queue pair and scheduler, on random devices and
 * fabrics, with random faults of the device and the peer, and no rule that says a word.
 * usage: test_quiet [FIRST [COUNT]]
 */
#include <errno.h>
#include <stdio.h>

#include "planted.h"
#include "qp/observe.h"
#include "verbs/alloc.h"

static uint64_t random_state;

/* splitmix64 */
static uint64_t random_below(uint64_t limit)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % limit;
}

static bool one_in(uint64_t n)
{
	return !random_below(n);
}

static void random_device(struct stage *s)
{
	static const uint32_t sizes[] = {1, 7, 64, 1000, 4096};
	struct srd_profile *p = &s->profile;

	p->max_rdma_size = sizes[random_below(5)];
	p->mtu = 256 + random_below(1000);
	p->level = (enum srd_profile_level)random_below(2);
	p->order = (enum srd_profile_order)random_below(3);
	p->read_opcode = (enum srd_profile_read_opcode)random_below(2);
	p->ah_tokens = (enum srd_profile_ah_tokens)random_below(3);
	p->stale_check = (enum srd_profile_stale_check)random_below(2);
	p->flush_on_destroy = one_in(2);
	p->flush_on_reset = one_in(2);
	p->id64 = one_in(4);
	p->loss = one_in(3) ? (uint32_t)random_below(100000) : 0;
	s->depth = 1 + (uint32_t)random_below(9);
}

/* Mostly near a boundary of the chunk planner; now and then one that never fits. */
static uint64_t random_size(const struct stage *s)
{
	uint64_t max = s->profile.max_rdma_size, size = max * random_below(s->depth + 2);

	switch (random_below(4)) {
	case 0:
		size += random_below(max);
		break;
	case 1:
		size += 1;
		break;
	case 2:
		size -= size ? 1 : 0;
		break;
	default:
		break;
	}
	return size < BUFFER_SIZE / 2 ? size : BUFFER_SIZE / 2;
}

static struct srd_op random_op(const struct stage *s)
{
	uint64_t size = random_size(s);
	struct srd_op op = op_of((enum srd_op_kind)random_below(2),
				 random_below(BUFFER_SIZE - size + 1), size);

	/* A destination may be larger; one that is smaller is refused. */
	if (one_in(5))
		*(op.kind == SRD_OP_PUT ? &op.remote.size : &op.local.size) += 5;
	else if (one_in(20) && size)
		*(op.kind == SRD_OP_PUT ? &op.remote.size : &op.local.size) -= 1;
	return op;
}

static void random_fault(struct stage *s)
{
	static const enum srd_lab_kind kinds[] = {SRD_LAB_FAIL, SRD_LAB_HOLD, SRD_LAB_DELAY};
	static const enum srd_efa_status statuses[] = {
		SRD_EFA_FLUSHED,
		SRD_EFA_LOCAL_ERROR_QP_INTERNAL_ERROR,
		SRD_EFA_LOCAL_ERROR_INVALID_LKEY,
		SRD_EFA_REMOTE_ERROR_BAD_ADDRESS,
		SRD_EFA_REMOTE_ERROR_ABORT,
		SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE,
		SRD_EFA_REMOTE_ERROR_FEATURE_MISMATCH,
	};
	struct srd_lab command = {
		.kind = kinds[random_below(3)],
		.flags = SRD_LAB_BY_ORDINAL,
		.qp = raw_qp(),
		.ordinal = random_below(20),
		.status = statuses[random_below(7)],
		.time = random_below(100000),
	};

	s->verbs->lab(s->verbs, &command);
}

/*
 * A stale entry takes a place in the completion queue that nobody has reckoned with: there
 * is one to spare, once, where nothing is posted past the gate.
 */
static bool with_stale, gate_only;

static void host_or_queue_pair_dies(struct stage *s)
{
	struct srd_lab command = {.kind = SRD_LAB_QP_ERR, .qp = raw_qp(), .host = 1};

	if (one_in(2))
		command.kind = SRD_LAB_KILL;
	else if (with_stale && one_in(3))
		command.kind = SRD_LAB_STALE_CQE;
	if (command.kind == SRD_LAB_STALE_CQE)
		with_stale = false;
	s->verbs->lab(s->verbs, &command);
}

/* Past the scheduler's gate, and taken into its account. */
static void direct_put(struct stage *s)
{
	uint64_t id[64];
	struct srd_wr_ids ids = {.id = id, .capacity = 64};
	struct srd_op op = random_op(s);
	struct srd_error error;

	if (srd_observed_queue_pair_ops.put(s->a.qp, &op.remote, &op.local, &ids, &error))
		return;
	assert_int_equal(srd_observed_scheduler_ops.adopt(s->a.scheduler, &ids, 0, &error), 0);
	s->outstanding++;
}

static void random_step(struct stage *s)
{
	struct srd_verbs *v = s->verbs;

	switch (random_below(8)) {
	case 0:
		srd_observed_scheduler_ops.progress(s->a.scheduler, NULL);
		take_results(s);
		break;
	case 1:
		v->wait(v, v->now(v) + random_below(50000));
		break;
	case 2:
		random_fault(s);
		break;
	case 3:
		if (one_in(3) && !gate_only)
			direct_put(s);
		break;
	default:
		submit(random_op(s));
		break;
	}
	if (one_in(60))
		host_or_queue_pair_dies(s);
}

static uint64_t num_answers;

static void play(uint64_t seed)
{
	static const struct planted none = {.what = "nothing"};
	const struct srd_violation *list;
	struct srd_lab release = {.kind = SRD_LAB_COMPLETE_ALL};
	int64_t blocks = srd_alloc_live();
	struct stage s;
	int steps;

	random_state = seed;
	stage_init(&s, &none, "law,contract");
	s.seed = seed;
	random_device(&s);
	stage_open(&s);
	with_stale = gate_only = one_in(3) && s.a.cq->cqe > s.depth;
	for (steps = 10 + (int)random_below(30); steps; steps--)
		random_step(&s);
	settle();
	release.qp = raw_qp();
	s.verbs->lab(s.verbs, &release);
	settle();
	stage_close(&s);
	if (srd_rules_violations(s.rules, &list))
		fail_msg("seed %llu: %s: %s\n%s", (unsigned long long)seed,
			 srd_rule_infos[list[0].rule].id, list[0].evidence, list[0].timeline);
	num_answers += s.answers;
	srd_rules_destroy(s.rules);
	assert_int_equal(srd_alloc_live(), blocks);
}

static uint64_t first_seed = 1, num_seeds = 200;

static void all_is_quiet(void **state)
{
	for (uint64_t i = 0; i < num_seeds; i++)
		play(first_seed + i);
	/* Silence because nothing was done would be no proof. */
	assert_true(num_answers >= 5 * num_seeds);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_quiet),
	};

	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		num_seeds = strtoull(argv[2], NULL, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
