/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "planted.h"
#include "qp/efa_srd.h"

static uint64_t from_one(struct stage *s)
{
	return ++s->next_id;
}

static uint64_t in_two_bits(struct stage *s)
{
	return s->next_id++ % 16;
}

static uint64_t even(struct stage *s)
{
	return 2 * s->next_id++;
}

/* The ids of a refused session are used again. */
static int refuses_third(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct tamper *t = (struct tamper *)verbs;

	if (++t->calls != 3)
		return verbs->next->wr_complete(verbs->next, qp);
	verbs->next->wr_abort(verbs->next, qp);
	return EINVAL;
}

static void stays_after_refusal(struct srd_verbs *verbs)
{
	verbs->wr_complete = refuses_third;
}

static int takes_ids_back(struct srd_queue_pair *qp, const struct srd_remote_view *to,
			  const struct srd_local_view *from, struct srd_wr_ids *ids,
			  struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_PUT, .local = *from, .remote = *to};
	uint64_t before = stage->next_id;
	int result = small_post(qp, &op, ids, error);

	if (result)
		stage->next_id = before;
	return result;
}

static void plant_takes_ids_back(struct srd_queue_pair_ops *ops)
{
	ops->put = takes_ids_back;
}

static void six_puts(struct stage *s)
{
	for (int i = 0; i < 6; i++)
		submit(op_of(SRD_OP_PUT, 0, 100));
	settle();
}

/* It counts its calls, not its requests. */
static int skips_ids(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		     const struct srd_local_view *from, struct srd_wr_ids *ids,
		     struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_PUT, .local = *from, .remote = *to};

	stage->next_id += stage->next_id != 0;
	return small_post(qp, &op, ids, error);
}

static void plant_skips_ids(struct srd_queue_pair_ops *ops)
{
	ops->put = skips_ids;
}

static int forgets_the_last(struct srd_queue_pair *qp, const struct srd_remote_view *to,
			    const struct srd_local_view *from, struct srd_wr_ids *ids,
			    struct srd_error *error)
{
	int result = srd_efa_srd_ops.put(qp, to, from, ids, error);

	if (!result && ids->count > 1)
		ids->count--;
	return result;
}

static void plant_forgets_the_last(struct srd_queue_pair_ops *ops)
{
	ops->put = forgets_the_last;
}

static void two_alike(struct stage *s)
{
	struct srd_wc wc;

	raw_write(0x5eed, 100);
	raw_write(0x5eed, 100);
	raw_wait(&wc);
	raw_wait(&wc);
}

const struct planted planted_id[] = {
	{"id.first", NULL, "ids from one", .next_id = from_one},
	{"id.reuse", "id.consecutive id.ambiguous", "ids of four bits", .next_id = in_two_bits},
	{"id.reuse", NULL, "a refused put takes its ids back", .queue_pair = plant_takes_ids_back,
	 .above = stays_after_refusal, .run = six_puts},
	{"id.consecutive", "id.skipped", "even ids", .next_id = even},
	{"id.skipped", NULL, "an id is lost between two six_puts", .queue_pair = plant_skips_ids,
	 .run = six_puts},
	{"id.returned",
	 "credit.count credit.overcommit credit.granted credit.idle "
	 "completion.op_early completion.op_unanswered",
	 "the last id is not returned", .queue_pair = plant_forgets_the_last},
	{"id.ambiguous", NULL, "two requests with one id", .run = two_alike},
	{NULL},
};
