/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>

#include "qp/rails.h"
#include "verbs/alloc.h"

/* One striped transfer, from its submission to its answer. */
struct transfer {
	TAILQ_ENTRY(transfer) link; /* of the line, or of the done */
	struct srd_rails_transfer as;
	uint64_t size;
	uint64_t next;    /* offset of the first byte that no stripe has had yet */
	bool cut;         /* all of it is in stripes, or the rest is left out */
	uint32_t pending; /* stripes without an answer */
	uint32_t waiting; /* of them, those that have to be sent */
	struct srd_rails_result result;
	struct srd_rail_keys keys[];
};

/* A piece of a transfer that is out, or to be sent again. */
struct stripe {
	TAILQ_ENTRY(stripe) link;
	struct transfer *of;
	uint64_t offset;
	uint64_t size;
};

struct rail {
	struct srd_rail as;
	bool lost;
};

struct srd_rails {
	uint32_t num;
	uint32_t turn; /* the rail to be asked first */
	uint32_t max_in_flight;
	uint64_t stripe;
	TAILQ_HEAD(transfers, transfer) line; /* that are not answered, oldest first */
	struct transfers done;
	TAILQ_HEAD(stripes, stripe) out;
	struct stripes again; /* to be sent before all else */
	struct rail rails[];
};

static const char *kind_name(enum srd_op_kind kind)
{
	return kind == SRD_OP_PUT ? "put" : "get";
}

/* --- making them --- */

static uint64_t requests_of(const struct srd_rail *rail, enum srd_op_kind kind, uint64_t size)
{
	return rail->ops->num_requests(rail->qp, kind, size);
}

/* A stripe that could never be sent would hold the line for ever. */
static int stripe_check(const struct srd_rails *r, struct srd_error *error)
{
	for (uint32_t i = 0; i < r->num; i++) {
		const struct srd_rail *rail = &r->rails[i].as;
		uint64_t put = requests_of(rail, SRD_OP_PUT, r->stripe);
		uint64_t get = requests_of(rail, SRD_OP_GET, r->stripe);
		uint64_t count = put > get ? put : get;

		if (count > rail->max_send_wr)
			return srd_error_set(error, -EINVAL,
					     "a stripe of %" PRIu64 " bytes is %" PRIu64
					     " requests on rail %u, more than its max_send_wr %u",
					     r->stripe, count, i + 1, rail->max_send_wr);
		if (count > r->max_in_flight)
			return srd_error_set(error, -EINVAL,
					     "a stripe of %" PRIu64 " bytes is %" PRIu64
					     " requests on rail %u, more than the %u that all "
					     "rails together may have in flight",
					     r->stripe, count, i + 1, r->max_in_flight);
	}
	return 0;
}

static void defaults(struct srd_rails *r, const struct srd_rails_config *config)
{
	uint64_t stripe = UINT64_MAX, credits = 0;

	for (uint32_t i = 0; i < r->num; i++) {
		const struct srd_rail *rail = &r->rails[i].as;
		uint64_t max = rail->ops->max_msg_size(rail->qp);

		stripe = max < stripe ? max : stripe;
		credits += rail->max_send_wr;
	}
	r->stripe = config->stripe ? config->stripe : stripe;
	r->max_in_flight = config->max_in_flight  ? config->max_in_flight
			   : credits < UINT32_MAX ? (uint32_t)credits
						  : UINT32_MAX;
}

static int striping_create(const struct srd_rail *rails, uint32_t num,
			   const struct srd_rails_config *config, struct srd_rails **out,
			   struct srd_error *error)
{
	struct srd_rails *r;
	int rc;

	if (!num)
		return srd_error_set(error, -EINVAL, "there is no rail: one at least is needed");
	if (num != config->num_peer_rails)
		return srd_error_set(error, -EINVAL,
				     "this host has %u rails and its peer has %u: each rail needs "
				     "one at the other end",
				     num, config->num_peer_rails);
	r = srd_calloc(1, sizeof(*r) + num * sizeof(r->rails[0]));
	if (!r)
		return srd_error_set(error, -ENOMEM, "out of memory for %u rails", num);
	r->num = num;
	for (uint32_t i = 0; i < num; i++)
		r->rails[i].as = rails[i];
	TAILQ_INIT(&r->line);
	TAILQ_INIT(&r->done);
	TAILQ_INIT(&r->out);
	TAILQ_INIT(&r->again);
	defaults(r, config);
	rc = stripe_check(r, error);
	if (rc) {
		srd_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

static void stripes_free(struct stripes *stripes)
{
	struct stripe *stripe;

	while ((stripe = TAILQ_FIRST(stripes))) {
		TAILQ_REMOVE(stripes, stripe, link);
		srd_free(stripe);
	}
}

static void transfers_free(struct transfers *transfers)
{
	struct transfer *transfer;

	while ((transfer = TAILQ_FIRST(transfers))) {
		TAILQ_REMOVE(transfers, transfer, link);
		srd_free(transfer);
	}
}

static void striping_destroy(struct srd_rails *r)
{
	if (!r)
		return;
	stripes_free(&r->out);
	stripes_free(&r->again);
	transfers_free(&r->line);
	transfers_free(&r->done);
	srd_free(r);
}

/* --- how they end --- */

static void settle(struct srd_rails *r, struct transfer *t)
{
	if (!t->cut || t->pending)
		return;
	TAILQ_REMOVE(&r->line, t, link);
	TAILQ_INSERT_TAIL(&r->done, t, link);
}

/* The first cause counts. What was not sent yet is left out. */
static void fail(struct transfer *t, const struct srd_op_result *cause)
{
	t->cut = true;
	if (t->result.result)
		return;
	t->result.result = cause->result;
	t->result.status = cause->status;
	t->result.vendor_err = cause->vendor_err;
	t->result.error = cause->error;
}

static void stripe_drop(struct srd_rails *r, struct stripes *from, struct stripe *stripe)
{
	struct transfer *t = stripe->of;

	TAILQ_REMOVE(from, stripe, link);
	srd_free(stripe);
	t->pending--;
	settle(r, t);
}

static uint32_t striping_alive(struct srd_rails *r)
{
	uint32_t alive = 0;

	for (uint32_t i = 0; i < r->num; i++)
		alive += !r->rails[i].lost;
	return alive;
}

static uint32_t striping_in_flight(struct srd_rails *r)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->num; i++)
		count += r->rails[i].as.scheduler_ops->in_flight(r->rails[i].as.scheduler);
	return count;
}

static uint32_t striping_queued(struct srd_rails *r)
{
	const struct transfer *t;
	uint32_t count = 0;

	TAILQ_FOREACH(t, &r->line, link)
	count += !t->cut || t->waiting;
	return count;
}

/* --- sending --- */

/* The next rail in turn that has credits for SIZE bytes; NULL: none has, or the budget. */
static struct rail *rail_for(struct srd_rails *r, enum srd_op_kind kind, uint64_t size)
{
	uint32_t in_flight = striping_in_flight(r);

	for (uint32_t i = 0; i < r->num; i++) {
		struct rail *rail = &r->rails[(r->turn + i) % r->num];
		const struct srd_rail *as = &rail->as;
		uint64_t count;

		if (rail->lost)
			continue;
		count = requests_of(as, kind, size);
		if (as->scheduler_ops->in_flight(as->scheduler) + count > as->max_send_wr ||
		    in_flight + count > r->max_in_flight)
			continue;
		r->turn = (r->turn + i + 1) % r->num;
		return rail;
	}
	return NULL;
}

static int stripe_submit(const struct srd_rails *r, struct rail *rail, struct stripe *stripe,
			 struct srd_error *error)
{
	const struct transfer *t = stripe->of;
	const struct srd_rail_keys *keys = &t->keys[rail - r->rails];
	const struct srd_op op = {
		.kind = t->as.kind,
		.local = {t->as.local_addr + stripe->offset, stripe->size, keys->lkey},
		.remote = {t->as.remote_addr + stripe->offset, stripe->size, keys->rkey},
		.cookie = (uintptr_t)stripe,
		.whole = t->as.cookie,
	};

	return rail->as.scheduler_ops->submit(rail->as.scheduler, &op, error);
}

/* False: it has to wait. */
static bool stripe_send(struct srd_rails *r, struct stripe *stripe)
{
	struct srd_op_result refused = {.result = 0};
	struct transfer *t = stripe->of;
	struct rail *rail = rail_for(r, t->as.kind, stripe->size);

	if (!rail)
		return false;
	TAILQ_REMOVE(&r->again, stripe, link);
	TAILQ_INSERT_TAIL(&r->out, stripe, link);
	t->waiting--;
	refused.result = stripe_submit(r, rail, stripe, &refused.error);
	if (refused.result) {
		fail(t, &refused);
		stripe_drop(r, &r->out, stripe);
		return true;
	}
	t->result.num_stripes++;
	return true;
}

/* The first transfer with bytes that are in no stripe; NULL: there is none. */
static struct transfer *next_in_line(const struct srd_rails *r)
{
	struct transfer *t;

	TAILQ_FOREACH(t, &r->line, link)
	if (!t->cut)
		return t;
	return NULL;
}

/* False: no memory for it. */
static bool stripe_cut(struct srd_rails *r, struct transfer *t)
{
	struct stripe *stripe = srd_malloc(sizeof(*stripe));
	uint64_t left = t->size - t->next;

	if (!stripe)
		return false;
	stripe->of = t;
	stripe->offset = t->next;
	stripe->size = left < r->stripe ? left : r->stripe;
	t->next += stripe->size;
	t->cut = t->next == t->size;
	t->pending++;
	t->waiting++;
	TAILQ_INSERT_TAIL(&r->again, stripe, link);
	return true;
}

static void none_left(struct srd_rails *r)
{
	struct srd_op_result why = {.result = -ENETDOWN};
	struct stripe *stripe;
	struct transfer *t;

	srd_error_set(&why.error, why.result, "no rail of %u is left", r->num);
	while ((stripe = TAILQ_FIRST(&r->again))) {
		fail(stripe->of, &why);
		stripe->of->waiting--;
		stripe_drop(r, &r->again, stripe);
	}
	while ((t = next_in_line(r))) {
		fail(t, &why);
		settle(r, t);
	}
}

/* As much as the credits allow. -ENOMEM: the rest waits for the next round. */
static int send_all(struct srd_rails *r)
{
	struct stripe *stripe;
	struct transfer *t;

	if (!striping_alive(r)) {
		none_left(r);
		return 0;
	}
	for (;;) {
		while ((stripe = TAILQ_FIRST(&r->again))) {
			/* Its transfer has failed meanwhile: nobody needs it any more. */
			if (stripe->of->result.result) {
				stripe->of->waiting--;
				stripe_drop(r, &r->again, stripe);
			} else if (!stripe_send(r, stripe)) {
				return 0;
			}
		}
		t = next_in_line(r);
		if (!t)
			return 0;
		if (!stripe_cut(r, t))
			return -ENOMEM;
	}
}

static int striping_submit(struct srd_rails *r, const struct srd_rails_transfer *transfer,
			   struct srd_error *error)
{
	bool put = transfer->kind == SRD_OP_PUT;
	uint64_t from = put ? transfer->local_size : transfer->remote_size;
	uint64_t to = put ? transfer->remote_size : transfer->local_size;
	struct transfer *t;

	if (to < from)
		return srd_error_set(error, -EMSGSIZE,
				     "%s over %u rails: the destination has %" PRIu64
				     " bytes, the source %" PRIu64,
				     kind_name(transfer->kind), r->num, to, from);
	t = srd_calloc(1, sizeof(*t) + r->num * sizeof(t->keys[0]));
	if (!t)
		return srd_error_set(error, -ENOMEM, "out of memory for a %s of %" PRIu64 " bytes",
				     kind_name(transfer->kind), from);
	t->as = *transfer;
	t->size = from;
	memcpy(t->keys, transfer->keys, r->num * sizeof(t->keys[0]));
	t->result.cookie = transfer->cookie;
	TAILQ_INSERT_TAIL(&r->line, t, link);
	send_all(r);
	return 0;
}

/* --- what comes back --- */

/* The queue pair is in no state to go on, or nobody answers it any more. */
static bool rail_is_lost(const struct srd_rail *rail, const struct srd_op_result *result)
{
	enum srd_qp_state state;

	if (result->result == -EIO &&
	    (result->status == SRD_WC_WR_FLUSH_ERR || result->status == SRD_WC_RESP_TIMEOUT_ERR))
		return true;
	return result->result == -ECANCELED || rail->ops->state(rail->qp, &state, NULL) ||
	       (state != SRD_QPS_RTS && state != SRD_QPS_SQD);
}

static void stripe_answered(struct srd_rails *r, struct rail *rail,
			    const struct srd_op_result *result)
{
	struct stripe *stripe = (struct stripe *)(uintptr_t)result->cookie;

	if (!result->result) {
		stripe_drop(r, &r->out, stripe);
		return;
	}
	if (!rail_is_lost(&rail->as, result)) {
		fail(stripe->of, result);
		stripe_drop(r, &r->out, stripe);
		return;
	}
	rail->lost = true;
	stripe->of->result.num_moved++;
	stripe->of->waiting++;
	TAILQ_REMOVE(&r->out, stripe, link);
	TAILQ_INSERT_TAIL(&r->again, stripe, link);
}

/* A scheduler that has ended answers all that it had: its rail is lost with its results. */
static int rail_progress(struct srd_rails *r, struct rail *rail)
{
	struct srd_op_result result;
	int reaped = rail->as.scheduler_ops->progress(rail->as.scheduler, NULL);

	while (rail->as.scheduler_ops->result(rail->as.scheduler, &result))
		stripe_answered(r, rail, &result);
	return reaped > 0 ? reaped : 0;
}

static int striping_progress(struct srd_rails *r, struct srd_error *error)
{
	int reaped = 0;

	for (uint32_t i = 0; i < r->num; i++)
		reaped += rail_progress(r, &r->rails[i]);
	if (send_all(r))
		return srd_error_set(error, -ENOMEM, "out of memory for a stripe");
	return reaped;
}

static int striping_result(struct srd_rails *r, struct srd_rails_result *out)
{
	struct transfer *t = TAILQ_FIRST(&r->done);

	if (!t)
		return 0;
	*out = t->result;
	TAILQ_REMOVE(&r->done, t, link);
	srd_free(t);
	return 1;
}

const struct srd_rails_ops srd_striping_rails_ops = {
	.name = "striping",
	.create = striping_create,
	.destroy = striping_destroy,
	.submit = striping_submit,
	.progress = striping_progress,
	.result = striping_result,
	.in_flight = striping_in_flight,
	.queued = striping_queued,
	.alive = striping_alive,
};
