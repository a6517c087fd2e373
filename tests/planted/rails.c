/* SPDX-License-Identifier: MIT */
/*
 * Rails with one defect each. They are small ones, which do well but for it: one transfer
 * at a time, each rail in turn, no budget, nothing sent twice.
 */
#include <errno.h>

#include "planted.h"
#include "qp/observe.h"
#include "qp/observe_rails.h"

#define STRIPE 1000u
#define SIZE   8500u
#define RAILS  2u

enum defect {
	NOTHING,
	PEER_HAS_MORE,
	BACKWARDS,
	ASTRAY,
	TWICE_THE_SAME,
	A_BYTE_TOO_MUCH,
	NO_TAIL,
	OVER_BUDGET,
	BEFORE_THE_LAST,
	ANSWERED_TWICE,
	NEVER_ANSWERED,
	FAILS_FOR_NOTHING,
};

static enum defect defect;

struct srd_rails {
	struct srd_rail rails[RAILS];
	uint64_t cookie;
	uint32_t pending;
	uint32_t answers; /* to be given */
};

static int create(const struct srd_rail *rails, uint32_t num, const struct srd_rails_config *config,
		  struct srd_rails **out, struct srd_error *error)
{
	*out = calloc(1, sizeof(**out));
	assert_int_equal(num, RAILS);
	memcpy((*out)->rails, rails, sizeof((*out)->rails));
	return 0;
}

static void destroy(struct srd_rails *r)
{
	free(r);
}

static void send_stripe(struct srd_rails *r, const struct srd_rails_transfer *t, uint32_t i,
			uint64_t offset, uint64_t size)
{
	const struct srd_rail *rail = &r->rails[i % RAILS];
	struct srd_op op = {
		.kind = t->kind,
		.local = {t->local_addr + offset, size, t->keys[i % RAILS].lkey},
		.remote = {t->remote_addr + offset, size, t->keys[i % RAILS].rkey},
		.whole = t->cookie,
	};

	if (defect == BACKWARDS && i == 3)
		op.kind = SRD_OP_GET;
	if (defect == ASTRAY && i == 3)
		op.remote.addr += STRIPE;
	assert_int_equal(rail->scheduler_ops->submit(rail->scheduler, &op, NULL), 0);
	r->pending++;
}

static int small_submit(struct srd_rails *r, const struct srd_rails_transfer *t,
			struct srd_error *error)
{
	uint32_t i = 0;

	r->cookie = t->cookie;
	for (uint64_t at = 0; at < t->local_size; at += STRIPE, i++) {
		uint64_t left = t->local_size - at, size = left < STRIPE ? left : STRIPE;

		if (defect == NO_TAIL && left <= STRIPE)
			break;
		if (defect == A_BYTE_TOO_MUCH && i == 3)
			size++;
		send_stripe(r, t, i, at, size);
		if (defect == TWICE_THE_SAME && i == 3)
			send_stripe(r, t, i + 1, at, size);
	}
	return 0;
}

static int progress(struct srd_rails *r, struct srd_error *error)
{
	struct srd_op_result result;
	int reaped = 0;

	for (uint32_t i = 0; i < RAILS; i++) {
		const struct srd_rail *rail = &r->rails[i];

		reaped += rail->scheduler_ops->progress(rail->scheduler, NULL);
		while (rail->scheduler_ops->result(rail->scheduler, &result)) {
			r->pending--;
			if (r->pending == (defect == BEFORE_THE_LAST ? 2 : 0))
				r->answers = defect == ANSWERED_TWICE ? 2 : 1;
		}
	}
	return reaped;
}

static int result(struct srd_rails *r, struct srd_rails_result *out)
{
	if (!r->answers || defect == NEVER_ANSWERED)
		return 0;
	r->answers--;
	*out = (struct srd_rails_result){.cookie = r->cookie,
					 .result = defect == FAILS_FOR_NOTHING ? -EIO : 0};
	return 1;
}

static const struct srd_rails_ops small_rails = {
	.name = "small",
	.create = create,
	.destroy = destroy,
	.submit = small_submit,
	.progress = progress,
	.result = result,
};

/* The second rail: another device of each host, where the same memory is registered too. */
static struct side more_a, more_b;
static struct srd_mr *mr_a, *mr_b;

static struct srd_mr *shared(struct stage *s, const struct side *of, const struct side *on)
{
	struct srd_mr *mr = s->verbs->reg_mr(s->verbs, on->pd, of->buffer->addr, BUFFER_SIZE,
					     SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE |
						     SRD_ACCESS_REMOTE_READ);

	assert_non_null(mr);
	return mr;
}

static void second_rail_open(struct stage *s)
{
	const struct srd_scheduler_config config = {.max_send_wr = s->depth};

	side_open(s, &more_a, 0, "mock1");
	side_open(s, &more_b, 1, "mock1");
	mr_a = shared(s, &s->a, &more_a);
	mr_b = shared(s, &s->b, &more_b);
	srd_observed_queue_pair_ops.connect(more_b.qp, &more_a.endpoint, NULL);
	srd_observed_queue_pair_ops.connect(more_a.qp, &more_b.endpoint, NULL);
	assert_int_equal(srd_observed_scheduler_create(&s->scheduler_ops, more_a.qp, &config,
						       &more_a.scheduler, NULL),
			 0);
}

static void over_two_rails(struct stage *s)
{
	const struct srd_rails_ops *ops = &srd_observed_rails_ops;
	const struct srd_rails_config config = {
		.num_peer_rails = defect == PEER_HAS_MORE ? RAILS + 1 : RAILS,
		.max_in_flight = defect == OVER_BUDGET ? 2 * DEPTH - 1 : 2 * DEPTH,
		.stripe = STRIPE,
	};
	struct srd_rail list[RAILS];
	const struct srd_rail_keys keys[RAILS] = {{s->a.mr->lkey, s->b.mr->rkey},
						  {mr_a->lkey, mr_b->rkey}};
	const struct srd_rails_transfer transfer = {
		.local_addr = s->a.buffer->addr,
		.local_size = SIZE,
		.remote_addr = s->b.buffer->addr,
		.remote_size = SIZE,
		.keys = keys,
		.cookie = 7,
	};
	struct srd_rails_result answer;
	struct srd_rails *rails;

	for (uint32_t i = 0; i < RAILS; i++)
		list[i] = (struct srd_rail){&srd_observed_queue_pair_ops, i ? more_a.qp : s->a.qp,
					    &srd_observed_scheduler_ops,
					    i ? more_a.scheduler : s->a.scheduler, DEPTH};
	assert_int_equal(srd_observed_rails_create(&small_rails, &s->stream, list, RAILS, &config,
						   &rails, NULL),
			 0);
	assert_int_equal(ops->submit(rails, &transfer, NULL), 0);
	do {
		while (ops->progress(rails, NULL) > 0)
			while (ops->result(rails, &answer))
				assert_int_equal(answer.cookie, 7);
	} while (!s->verbs->wait(s->verbs, UINT64_MAX));
	ops->destroy(rails);
}

static void play_rails(struct stage *s)
{
	second_rail_open(s);
	over_two_rails(s);
	s->verbs->dereg_mr(s->verbs, mr_a);
	s->verbs->dereg_mr(s->verbs, mr_b);
	side_close(s, &more_a);
	side_close(s, &more_b);
}

#define RUN(name, which)                  \
	static void name(struct stage *s) \
	{                                 \
		defect = which;           \
		play_rails(s);            \
	}

RUN(peer_has_more, PEER_HAS_MORE)
RUN(backwards, BACKWARDS)
RUN(astray, ASTRAY)
RUN(twice_the_same, TWICE_THE_SAME)
RUN(a_byte_too_much, A_BYTE_TOO_MUCH)
RUN(no_tail, NO_TAIL)
RUN(over_budget, OVER_BUDGET)
RUN(before_the_last, BEFORE_THE_LAST)
RUN(answered_twice, ANSWERED_TWICE)
RUN(never_answered, NEVER_ANSWERED)
RUN(fails_for_nothing, FAILS_FOR_NOTHING)

/* Small rails without a defect break no rule. */
void planted_rails_nothing(struct stage *s)
{
	defect = NOTHING;
	play_rails(s);
}

const struct planted planted_rails[] = {
	{"rail.count", NULL, "the peer has a rail more", .run = peer_has_more},
	{"rail.place", "rail.cover", "a stripe of a put is a get", .run = backwards},
	{"rail.place", "rail.cover", "a stripe goes to the place of the next", .run = astray},
	{"rail.overlap", NULL, "a stripe is sent over both rails", .run = twice_the_same},
	{"rail.overlap", NULL, "a stripe has a byte of the next", .run = a_byte_too_much},
	{"rail.cover", NULL, "the tail is left out", .run = no_tail},
	{"rail.budget", NULL, "each rail looks at its own credits only", .run = over_budget},
	{"rail.early", NULL, "a transfer is answered before the last stripes",
	 .run = before_the_last},
	{"rail.answer", NULL, "a transfer is answered twice", .run = answered_twice},
	{"rail.answer", NULL, "a transfer is never answered", .run = never_answered},
	{"rail.result", NULL, "a transfer fails though all its stripes arrived",
	 .run = fails_for_nothing},
	{NULL},
};
