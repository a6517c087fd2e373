/* SPDX-License-Identifier: MIT */
/*
 * Transfers that are striped over several queue pairs: what must hold of the whole. The
 * other families judge each rail's ops as any op.
 */
#include <errno.h>
#include <inttypes.h>

#include "judge.h"

static uint64_t size_of(const struct srd_ev_transfer_begin *begun)
{
	return begun->kind == SRD_OP_PUT ? begun->local_size : begun->remote_size;
}

static void rails_open(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_rails_open *ev = (const void *)event;

	if (ev->num_rails != ev->num_peer_rails)
		FAIL(rules, RAIL_COUNT, "%u rail%s here and %u at the peer", ev->num_rails,
		     SRD_S(ev->num_rails), ev->num_peer_rails);
}

/* Whether the stripe lies in its transfer as it should. */
static bool well_placed(const struct srd_ev_op_begin *ev, const struct srd_ev_transfer_begin *begun)
{
	uint64_t offset = ev->local_addr - begun->local_addr, size = size_of(begun);
	uint64_t length = ev->kind == SRD_OP_PUT ? ev->local_size : ev->remote_size;

	return ev->kind == begun->kind && ev->remote_addr - begun->remote_addr == offset &&
	       offset <= size && length <= size - offset;
}

static void op_begin(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_op_begin *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_transfer *t;
	const struct srd_book_stripe *other;
	uint64_t offset, length;

	if (!ev->transfer || !qp || !qp->rails)
		return;
	t = srd_book_transfer_find(&rules->book, ev->transfer);
	if (!t || t->begun.rails != qp->rails->opened.rails) {
		FAIL(rules, RAIL_PLACE, "op %u is a stripe of transfer %u, which is not under way",
		     event->op, ev->transfer);
		return;
	}
	offset = ev->local_addr - t->begun.local_addr;
	length = ev->kind == SRD_OP_PUT ? ev->local_size : ev->remote_size;
	if (!well_placed(ev, &t->begun)) {
		FAIL(rules, RAIL_PLACE,
		     "op %u, a %s of %" PRIu64 " bytes, has local offset %" PRIu64
		     " and remote offset %" PRIu64 " in transfer %u, a %s of %" PRIu64 " bytes",
		     event->op, ev->kind == SRD_OP_PUT ? "put" : "get", length, offset,
		     ev->remote_addr - t->begun.remote_addr, t->number,
		     t->begun.kind == SRD_OP_PUT ? "put" : "get", size_of(&t->begun));
		return;
	}
	other = srd_book_stripe_over(t, offset, length);
	if (other)
		FAIL(rules, RAIL_OVERLAP,
		     "op %u carries bytes %" PRIu64 " to %" PRIu64 " of transfer %u; op %u carries "
		     "%" PRIu64 " to %" PRIu64,
		     event->op, offset, offset + length - 1, t->number, other->op, other->offset,
		     other->offset + other->length - 1);
}

static void session_complete(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_session_complete *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	uint64_t in_flight;

	if (!qp || !qp->rails || !rules->book.op || !qp->rails->opened.max_in_flight)
		return;
	in_flight = srd_book_rails_in_flight(qp->rails);
	if (in_flight + ev->num_wr > qp->rails->opened.max_in_flight)
		FAIL(rules, RAIL_BUDGET,
		     "in flight over all rails %" PRIu64
		     ", %u more in this session, the budget is %u",
		     in_flight, ev->num_wr, qp->rails->opened.max_in_flight);
}

static void transfer_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_transfer_end *ev = (const void *)event;
	const struct srd_book_transfer *t = srd_book_transfer_find(&rules->book, event->op);
	uint64_t gap;

	if (!t) {
		FAIL(rules, RAIL_ANSWER, "transfer %u is answered and is not under way", event->op);
		return;
	}
	if (t->pending) {
		FAIL(rules, RAIL_EARLY, "transfer %u is answered with %u stripe%s of it out",
		     t->number, t->pending, SRD_S(t->pending));
		return;
	}
	gap = srd_book_transfer_gap(t);
	if (!ev->result && (gap != size_of(&t->begun) || !t->num_stripes))
		FAIL(rules, RAIL_COVER,
		     "transfer %u of %" PRIu64
		     " bytes succeeds; no stripe has brought byte %" PRIu64 " there",
		     t->number, size_of(&t->begun), gap);
	if (ev->result && t->num_sent && !t->num_failed)
		FAIL(rules, RAIL_RESULT,
		     "transfer %u fails with errno %d; none of its %u stripe%s did", t->number,
		     -(int)ev->result, t->num_sent, SRD_S(t->num_sent));
}

static void rails_close(struct srd_rules *rules, const struct srd_event *event)
{
	uint32_t id = ((const struct srd_ev_rails_close *)event)->rails;

	for (const struct srd_book_transfer *t = rules->book.all_transfers; t; t = t->next)
		if (t->begun.rails == id && !t->ended && !t->pending && t->num_stripes &&
		    srd_book_transfer_gap(t) == size_of(&t->begun))
			FAIL(rules, RAIL_ANSWER,
			     "all stripes of transfer %u were answered and it never was",
			     t->number);
}

const struct srd_family srd_rail_family = {
	.name = "rail",
	.check =
		{
			[SRD_EV_RAILS_OPEN] = rails_open,
			[SRD_EV_OP_BEGIN] = op_begin,
			[SRD_EV_SESSION_COMPLETE] = session_complete,
			[SRD_EV_TRANSFER_END] = transfer_end,
			[SRD_EV_RAILS_CLOSE] = rails_close,
		},
};
