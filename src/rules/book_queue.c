/* SPDX-License-Identifier: MIT */
/* The book's data path: sessions, requests and their completions. */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"

#include "book_internal.h"

/* REQUEST touches nothing any more. */
static void let_go(struct srd_request *request)
{
	if (request->mr)
		request->mr->in_flight--;
	if (request->remote_mr)
		request->remote_mr->in_flight--;
	if (request->ah)
		request->ah->in_flight--;
	request->mr = request->remote_mr = NULL;
	request->ah = NULL;
}

/*
 * A reset or a destroy: the device drops what QP has outstanding. The requests may still
 * complete or not (a knob of the model; nothing is documented), so nobody waits for them.
 */
void srd_book_drop_requests(struct srd_book_qp *qp)
{
	for (struct srd_request *request = srd_requests_next(&qp->requests, NULL); request;
	     request = srd_requests_next(&qp->requests, request)) {
		if (request->dropped)
			continue;
		let_go(request);
		if (request->op)
			request->op->in_flight--;
		request->op = NULL;
		request->dropped = true;
	}
	if (qp->send_cq)
		qp->send_cq->unpolled -= qp->in_flight;
	if (qp->recv_cq)
		qp->recv_cq->unpolled -= qp->receives;
	qp->has_dropped = qp->has_dropped || qp->in_flight;
	qp->in_flight = 0;
	qp->num_silent = 0;
	qp->in_flight_ops = 0;
	qp->receives = 0;
}

/* --- what the device took --- */

#define MAX_PLACES (1u << 17)

/* Twice the depth: one half that the library posted and one that the device took early. */
static uint32_t num_places(uint32_t depth)
{
	uint32_t size = 16;

	while (size / 2 < depth && size < MAX_PLACES)
		size *= 2;
	return size;
}

SRD_RARE static bool make_places(struct srd_book *book, struct srd_book_qp *qp)
{
	uint32_t size = num_places(qp->made.granted_send_wr);

	qp->places = srd_calloc(size, sizeof(*qp->places));
	qp->place_mask = size - 1;
	book->nomem = book->nomem || !qp->places;
	return qp->places;
}

static struct srd_place *place_slot(const struct srd_book_qp *qp, uint64_t ordinal)
{
	return &qp->places[ordinal & qp->place_mask];
}

const struct srd_place *srd_book_place(const struct srd_book_qp *qp, uint64_t ordinal)
{
	const struct srd_place *place = qp->places ? place_slot(qp, ordinal) : NULL;

	return place && place->state != SRD_BOOK_FREE && place->ordinal == ordinal ? place : NULL;
}

/*
 * The library says POSTED and the device TAKEN, in either order: whoever comes second
 * clears the place. At most a send queue of requests waits for the other's word.
 */
static void set_place(struct srd_book *book, struct srd_book_qp *qp, uint64_t ordinal, int state,
		      uint64_t length, uint8_t opcode)
{
	struct srd_place *place;

	if (!qp->places && !make_places(book, qp))
		return;
	place = place_slot(qp, ordinal);
	if (place->state != SRD_BOOK_FREE && place->ordinal == ordinal &&
	    (int)place->state != state) {
		place->state = SRD_BOOK_FREE;
		return;
	}
	*place = (struct srd_place){ordinal, length, opcode, state};
}

void srd_book_dev_request(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_dev_request *ev = (const void *)event;

	set_place(book, book->qp, ev->ordinal, SRD_BOOK_TAKEN, ev->length, (uint8_t)ev->opcode);
}

/* --- what became of requests --- */

static struct srd_fate *fate_slot(const struct srd_book_qp *qp, uint64_t wr_id)
{
	return &qp->fates[srd_map_hash(wr_id) % SRD_NUM_FATES];
}

const struct srd_fate *srd_book_fate(const struct srd_book_qp *qp, uint64_t wr_id)
{
	const struct srd_fate *fate = qp->fates ? fate_slot(qp, wr_id) : NULL;

	return fate && fate->what != SRD_FATE_NONE && fate->wr_id == wr_id ? fate : NULL;
}

__attribute__((noinline)) static void set_fate(struct srd_book *book, struct srd_book_qp *qp,
					       uint64_t wr_id, uint64_t time, int what)
{
	struct srd_fate *fate;

	if (!qp->fates) {
		qp->fates = srd_calloc(SRD_NUM_FATES, sizeof(*qp->fates));
		if (!qp->fates) {
			book->nomem = true;
			return;
		}
	}
	fate = fate_slot(qp, wr_id);
	fate->wr_id = wr_id;
	fate->time = time;
	fate->what = what;
}

/* --- posting --- */

/* Look up each name of POST. */
static void look_up(struct srd_book *book, const struct srd_book_qp *qp,
		    const struct srd_ev_wr_post *post, struct srd_book_route *route)
{
	*route = (struct srd_book_route){
		.generation = book->generation,
		.lkey = post->lkey,
		.rkey = post->rkey,
		.ah_handle = post->ah,
		.remote_qpn = post->remote_qpn,
		.mr = srd_book_mr_by_lkey(book, qp, post->lkey),
	};
	uint32_t qpn = post->remote_qpn;

	if (post->ah)
		route->ah = (void *)srd_book_find(book, SRD_KIND_AH, post->ah);
	route->target = route->ah ? route->ah->target : NULL;
	if (qp->has_peer) {
		route->target = srd_book_device_at(book, qp->peer_gid_hi, qp->peer_gid_lo);
		qpn = qp->peer_qpn;
	}
	if (!route->target)
		return;
	route->remote_mr = srd_map_get(&book->rkeys, srd_book_key(route->target->id, post->rkey));
	route->target_qp = srd_map_get(&book->qpns, srd_book_key(route->target->id, qpn));
	route->known_there =
		qp->device &&
		srd_map_get(&book->routes, srd_book_key(route->target->id, qp->device->id));
}

void srd_book_resolve_post(struct srd_book *book, const struct srd_ev_wr_post *post)
{
	struct srd_book_route *route = &book->qp->route;

	if (route->generation != book->generation || route->lkey != post->lkey ||
	    route->rkey != post->rkey || route->ah_handle != post->ah ||
	    route->remote_qpn != post->remote_qpn)
		look_up(book, book->qp, post, route);
}

static bool is_rdma(uint8_t opcode)
{
	return opcode != SRD_WR_SEND && opcode != SRD_WR_SEND_WITH_IMM;
}

static struct srd_book_mr *name_region(struct srd_book_mr *mr, const struct srd_book_qp *user,
				       uint32_t line)
{
	if (mr) {
		mr->in_flight++;
		mr->post_line = line;
		mr->user = user;
	}
	return mr;
}

void srd_book_apply_post(struct srd_book *book, const struct srd_ev_wr_post *post)
{
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op = book->op;
	struct srd_request *request =
		srd_requests_add(&qp->requests, post->wr_id, qp->made.granted_send_wr);

	if (!request) {
		book->nomem = true;
		return;
	}
	request->mr = request->remote_mr = NULL;
	/* An empty request touches no memory. */
	if (post->length) {
		request->mr = name_region(qp->route.mr, qp, post->ev.line);
		if (is_rdma(post->opcode))
			request->remote_mr = name_region(qp->route.remote_mr, qp, post->ev.line);
	}
	request->ah = qp->route.ah;
	if (request->ah) {
		request->ah->in_flight++;
		request->ah->user = qp;
	}
	request->op = op;
	request->line = post->ev.line;
	request->opcode = post->opcode;
	request->ordinal = qp->num_posted;
	request->silent =
		srd_book_is_rc(qp) && !qp->made.sq_sig_all && !(post->wr_flags & SRD_SEND_SIGNALED);
	qp->num_silent += request->silent;
	if (book->seen >> SRD_EV_DEV_REQUEST & 1)
		set_place(book, qp, qp->num_posted, SRD_BOOK_POSTED, post->length, post->opcode);
	qp->num_posted++;
	qp->in_flight++;
	if (qp->send_cq)
		qp->send_cq->unpolled++;
	if (op) {
		qp->in_flight_ops++;
		op->in_flight++;
		op->num_wr++;
	}
}

void srd_book_session_start(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_qp *qp = book->qp;

	qp->in_session = true;
	qp->session_line = event->line;
	srd_book_unstage(qp);
	if (book->op)
		book->op->sessions++;
}

/*
 * Room for a session's requests, which have to be judged together where the library accepts
 * them. It accepts no more than the depth: what is beyond is counted and not kept.
 */
static bool make_room(struct srd_book_qp *qp)
{
	uint32_t size = qp->posts.size;

	if (size && (qp->num_staged < size || size >= qp->made.granted_send_wr))
		return true;
	return !srd_history_reserve(&qp->posts, size + 1);
}

static void used_id(struct srd_book_qp *qp, uint64_t wr_id)
{
	qp->last_id = wr_id;
	if (!qp->has_id || wr_id > qp->top_id)
		qp->top_id = wr_id;
	qp->has_id = true;
}

__attribute__((noinline)) static void used_ah(struct srd_book *book, struct srd_book_qp *qp,
					      uint32_t handle)
{
	struct srd_book_ah *ah = (void *)srd_book_find(book, SRD_KIND_AH, handle);

	qp->last_ah = handle;
	if (!ah)
		return;
	ah->poster = qp;
	if (!qp->peer_ah)
		qp->peer_ah = ah;
}

static void used_by_op(struct srd_book *book, struct srd_book_qp *qp, struct srd_book_op *op,
		       const struct srd_ev_wr_post *post)
{
	if (!op->num_posts)
		op->first_id = post->wr_id;
	op->last_id = post->wr_id;
	op->num_posts++;
	op->bytes += post->length;
	op->last_length = post->length;
	used_id(qp, post->wr_id);
	if (qp->send_cq)
		qp->send_cq->poster = qp;
	if (post->ah && post->ah != qp->last_ah)
		used_ah(book, qp, post->ah);
}

void srd_book_wr_post(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_wr_post *post = (const void *)event;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op = book->op;
	struct srd_history_entry *entry;

	if (!make_room(qp)) {
		book->nomem = true;
		return;
	}
	if (op)
		used_by_op(book, qp, op, post);
	entry = srd_history_next(&qp->posts);
	entry->number = ++book->num_recorded;
	memcpy(&entry->event, post, sizeof(*post));
	qp->num_staged++;
}
SRD_RARE static void refuse_staged(struct srd_book *book, struct srd_book_qp *qp, uint64_t time)
{
	for (uint32_t i = 0; i < srd_book_num_kept(qp); i++)
		set_fate(book, qp, srd_book_staged(qp, i)->wr_id, time, SRD_FATE_REFUSED);
}

void srd_book_session_complete(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_session_complete *ev = (const void *)event;

	if (ev->result)
		refuse_staged(book, book->qp, event->time);
	book->qp->in_session = false;
	srd_book_unstage(book->qp);
}

void srd_book_session_abort(struct srd_book *book, const struct srd_event *event)
{
	refuse_staged(book, book->qp, event->time);
	book->qp->in_session = false;
	srd_book_unstage(book->qp);
}

void srd_book_recv_post(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_recv_post *ev = (const void *)event;

	if (ev->result)
		return;
	book->qp->receives++;
	if (book->qp->recv_cq)
		book->qp->recv_cq->unpolled++;
}

/*
 * Who told of its requests by their ids tells no more, and who does now has other ids for them:
 * nobody waits for what is under way, and nobody hears of it.
 */
void srd_book_qp_exposed(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_exposed *ev = (const void *)event;
	struct srd_book_qp *qp = book->qp;

	srd_book_drop_requests(qp);
	srd_requests_release(&qp->requests);
	srd_free(qp->fates);
	srd_free(qp->places);
	qp->fates = NULL;
	qp->places = NULL;
	qp->in_session = false;
	srd_book_unstage(qp);
	qp->num_posted = ev->num_posted;
	qp->receives = ev->receives;
	if (qp->recv_cq)
		qp->recv_cq->unpolled += ev->receives;
}

/* --- completing --- */

void srd_book_resolve_wc(struct srd_book *book, const struct srd_ev_wc *ev)
{
	struct srd_book_cq *cq = book->cq;
	struct srd_book_qp *qp = cq ? cq->last : NULL;

	if (cq && cq->device && (!qp || qp->made.qp_num != ev->qp_num)) {
		qp = srd_map_get(&book->qpns, srd_book_key(cq->device->id, ev->qp_num));
		cq->last = qp;
	}
	book->qp = qp;
	book->request = NULL;
	if (!qp || ev->opcode >= SRD_WC_RECV)
		return;
	book->request = srd_requests_find(&qp->requests, ev->wr_id);
	book->op = book->request ? book->request->op : NULL;
}

/* REQUEST of QP is not in flight any more, and is forgotten. */
static void reap(struct srd_book_qp *qp, struct srd_request *request)
{
	let_go(request);
	if (!request->dropped) {
		qp->in_flight--;
		qp->num_silent -= request->silent;
		qp->in_flight_ops -= request->op != NULL;
		if (qp->send_cq)
			qp->send_cq->unpolled--;
	}
	srd_requests_remove(&qp->requests, request);
}

/* In order, a completion tells of those before it that have none of their own. */
__attribute__((noinline)) static bool reap_silent(struct srd_book_qp *qp, uint64_t before)
{
	struct srd_request *request = NULL;
	bool any = false;

	while (qp->num_silent && (request = srd_requests_next(&qp->requests, request)))
		if (request->silent && !request->dropped && request->ordinal < before) {
			reap(qp, request);
			request = NULL; /* the others may have moved */
			any = true;
		}
	return any;
}

void srd_book_wc(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_wc *ev = (const void *)event;
	struct srd_request *request = book->request;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op;

	if (!request) {
		if (qp && ev->opcode >= SRD_WC_RECV && qp->receives) {
			qp->receives--;
			if (qp->recv_cq)
				qp->recv_cq->unpolled--;
		}
		return;
	}
	op = request->op;
	if (request->ordinal >= qp->done)
		qp->done = request->ordinal + 1;
	/* The ids of ops grow: that one came before is plain without its fate. */
	if (!op)
		set_fate(book, qp, ev->wr_id, event->time, SRD_FATE_COMPLETED);
	qp->full = false;
	if (qp->num_silent && reap_silent(qp, request->ordinal))
		request = srd_requests_find(&qp->requests, ev->wr_id);
	reap(qp, request);
	if (op)
		srd_book_op_reap(book, op, ev);
}

void srd_book_cq_poll(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_cq_poll *ev = (const void *)event;
	struct srd_book_cq *cq = book->cq;

	/* -EINVAL consumes an entry of no live queue pair; an empty queue holds none. */
	if (ev->result == (uint32_t)-EINVAL && cq->orphans)
		cq->orphans--;
	else if (!ev->result)
		cq->orphans = 0;
}
