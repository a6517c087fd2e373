/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "qp/observe.h"
#include "verbs/alloc.h"

#define NONE UINT32_MAX

/* A result with a cookie that is not outstanding is dropped; so many in one call. */
#define STRAY_LIMIT 64

enum watched_state { FREE, WAITING, POSTED };

/* An op that the scheduler has not answered; the place is used again. */
struct watched {
	struct srd_op op; /* as it was submitted, but for the cookie: the one that goes below */
	uint64_t cookie;  /* the submitter's */
	uint32_t number;
	uint32_t generation; /* of the place: half of the cookie that goes below */
	enum watched_state state;
	bool refused;        /* its post was, for good: another is more likely to be tried */
	uint32_t next, prev; /* in the line of those that wait; next also of the free ones */
};

struct observed_scheduler;

struct observed_qp {
	const struct srd_queue_pair_ops *ops;
	struct srd_queue_pair *qp;
	struct srd_stream *stream;
	struct observed_scheduler *scheduler; /* over this queue pair; or NULL */
	bool scheduler_calls;                 /* it is being called: what is posted is its post */
	uint32_t object;                      /* of its events */
	uint8_t host;
	/* the last direct op that was posted, until it is adopted */
	uint32_t direct_op;
	uint64_t direct_id;
};

struct observed_scheduler {
	const struct srd_scheduler_ops *ops;
	struct srd_scheduler *scheduler;
	struct observed_qp *qp;
	struct watched *watched;
	uint32_t capacity;
	uint32_t free;
	uint32_t head, tail; /* of the line */
};

static struct observed_qp *qp_of(struct srd_queue_pair *qp)
{
	return (struct observed_qp *)qp;
}

static struct observed_scheduler *scheduler_of(struct srd_scheduler *scheduler)
{
	return (struct observed_scheduler *)scheduler;
}

/* Emit an event of this queue pair that op NUMBER caused. */
static void emit(struct observed_qp *q, struct srd_event *event, enum srd_event_type type,
		 uint32_t number)
{
	event->object = q->object;
	event->host = q->host;
	event->source = SRD_SOURCE_ENGINE;
	event->type = (uint16_t)type;
	srd_stream_emit_as(q->stream, event, q->stream->line, number);
}

/* Events are built only where somebody reads them. */
static bool is_read(const struct observed_qp *q)
{
	return q->stream->fn;
}

static void emit_bare(struct observed_qp *q, enum srd_event_type type)
{
	struct srd_event event = {0};

	emit(q, &event, type, q->stream->op);
}

static void emit_op_begin(struct observed_qp *q, const struct srd_op *op, uint32_t number,
			  uint32_t path)
{
	struct srd_ev_op_begin event;

	if (!is_read(q))
		return;
	event = (struct srd_ev_op_begin){
		.kind = op->kind,
		.path = path,
		.local_addr = op->local.addr,
		.local_size = op->local.size,
		.remote_addr = op->remote.addr,
		.remote_size = op->remote.size,
		.lkey = op->local.lkey,
		.rkey = op->remote.rkey,
		.peer = op->peer,
		.transfer = (uint32_t)op->whole,
	};
	emit(q, &event.ev, SRD_EV_OP_BEGIN, number);
}

static void emit_op_end(struct observed_qp *q, const struct srd_op_result *result, uint32_t number)
{
	struct srd_ev_op_end event;

	if (!is_read(q))
		return;
	event = (struct srd_ev_op_end){.result = (uint32_t)result->result,
				       .num_wr = result->num_wr};
	if (result->status != SRD_WC_SUCCESS) {
		event.status = result->status;
		event.vendor_err = result->vendor_err;
		event.wr_id = result->wr_id;
	}
	emit(q, &event.ev, SRD_EV_OP_END, number);
}

/* --- the ops of a scheduler ---------------------------------------------------------- */

static int watched_grow(struct observed_scheduler *s)
{
	uint32_t capacity = s->capacity ? 2 * s->capacity : 32;
	struct watched *watched;

	if (capacity < s->capacity)
		return -ENOMEM;
	watched = srd_reallocarray(s->watched, capacity, sizeof(*watched));
	if (!watched)
		return -ENOMEM;
	for (uint32_t i = s->capacity; i < capacity; i++)
		watched[i] = (struct watched){.next = i + 1 < capacity ? i + 1 : NONE};
	s->watched = watched;
	s->free = s->capacity;
	s->capacity = capacity;
	return 0;
}

static inline uint32_t watched_alloc(struct observed_scheduler *s, const struct srd_op *op,
				     uint32_t number, enum watched_state state)
{
	struct watched *w;
	uint32_t at;

	if (s->free == NONE && watched_grow(s))
		return NONE;
	at = s->free;
	w = &s->watched[at];
	s->free = w->next;
	w->op = *op;
	w->cookie = op->cookie;
	w->number = number;
	w->generation++;
	w->op.cookie = (uint64_t)w->generation << 32 | at;
	w->state = state;
	w->refused = false;
	return at;
}

static void line_add(struct observed_scheduler *s, uint32_t at)
{
	s->watched[at].next = NONE;
	s->watched[at].prev = s->tail;
	if (s->tail == NONE)
		s->head = at;
	else
		s->watched[s->tail].next = at;
	s->tail = at;
}

static void line_remove(struct observed_scheduler *s, uint32_t at)
{
	const struct watched *w = &s->watched[at];

	if (w->prev == NONE)
		s->head = w->next;
	else
		s->watched[w->prev].next = w->next;
	if (w->next == NONE)
		s->tail = w->prev;
	else
		s->watched[w->next].prev = w->prev;
}

static void watched_posted(struct observed_scheduler *s, uint32_t at)
{
	if (s->watched[at].state == WAITING)
		line_remove(s, at);
	s->watched[at].state = POSTED;
}

/* The number stays, for a second result with the same cookie. */
static void watched_free(struct observed_scheduler *s, uint32_t at)
{
	watched_posted(s, at);
	s->watched[at].state = FREE;
	s->watched[at].next = s->free;
	s->free = at;
}

/* Where COOKIE was given out last, outstanding or not; NONE: never. */
static uint32_t watched_at(const struct observed_scheduler *s, uint64_t cookie)
{
	uint32_t at = (uint32_t)cookie;

	if (at >= s->capacity || !s->watched[at].generation || s->watched[at].op.cookie != cookie)
		return NONE;
	return at;
}

static bool same_views(const struct srd_op *a, const struct srd_op *b)
{
	return a->kind == b->kind && a->local.addr == b->local.addr &&
	       a->local.size == b->local.size && a->local.lkey == b->local.lkey &&
	       a->remote.addr == b->remote.addr && a->remote.size == b->remote.size &&
	       a->remote.rkey == b->remote.rkey;
}

/* Whether PART is inside WHOLE on either side. */
static bool lies_in(const struct srd_op *part, const struct srd_op *whole)
{
	return part->kind == whole->kind &&
	       (part->local.addr - whole->local.addr < whole->local.size ||
		part->remote.addr - whole->remote.addr < whole->remote.size);
}

/* Whose post this is; NONE: nobody's. One to another peer than its op's may be its too. */
static inline uint32_t match(const struct observed_scheduler *s, const struct srd_op *op)
{
	uint32_t best = NONE, misled = NONE;

	for (uint32_t at = s->head; at != NONE; at = s->watched[at].next) {
		const struct watched *w = &s->watched[at];

		if (!same_views(op, &w->op))
			continue;
		if (op->peer != w->op.peer)
			misled = misled == NONE ? at : misled;
		else if (!w->refused)
			return at;
		else
			best = best == NONE ? at : best;
	}
	best = best == NONE ? misled : best;
	if (best != NONE)
		return best;
	for (uint32_t at = 0; at < s->capacity; at++) {
		const struct watched *w = &s->watched[at];

		if (w->state != FREE && lies_in(op, &w->op) &&
		    (best == NONE || w->number < s->watched[best].number))
			best = at;
	}
	return best;
}

/* --- the queue pair ------------------------------------------------------------------ */

static int ops_call(struct observed_qp *q, const struct srd_op *op, struct srd_wr_ids *ids,
		    struct srd_error *error)
{
	switch (op->kind) {
	case SRD_OP_PUT:
		return op->peer ? q->ops->put_to(q->qp, op->peer, &op->remote, &op->local, ids,
						 error)
				: q->ops->put(q->qp, &op->remote, &op->local, ids, error);
	case SRD_OP_GET:
		return op->peer ? q->ops->get_from(q->qp, op->peer, &op->local, &op->remote, ids,
						   error)
				: q->ops->get(q->qp, &op->local, &op->remote, ids, error);
	}
	return -EINVAL;
}

static int one_peer(const struct observed_qp *q, struct srd_error *error)
{
	return srd_error_set(error, -EOPNOTSUPP, "queue pair %s has no add_peer: it has one peer",
			     q->ops->name);
}

static void emit_post_begin(struct observed_qp *q, const struct srd_op *op, uint32_t number)
{
	struct srd_ev_op_post_begin event = {0};

	if (!is_read(q))
		return;
	event.num_wr_asked = q->ops->num_requests(
		q->qp, op->kind, op->kind == SRD_OP_PUT ? op->local.size : op->remote.size);
	emit(q, &event.ev, SRD_EV_OP_POST_BEGIN, number);
}

static void emit_post_end(struct observed_qp *q, int result, const struct srd_wr_ids *ids,
			  uint32_t number)
{
	struct srd_ev_op_post_end event = {.result = (uint32_t)result};

	if (!is_read(q))
		return;
	if (ids->count && ids->count <= ids->capacity) {
		event.num_ids = ids->count;
		event.first_id = ids->id[0];
		event.last_id = ids->id[ids->count - 1];
	}
	emit(q, &event.ev, SRD_EV_OP_POST_END, number);
}

/* The call itself, with what the seam sees of it under the op's number. */
static inline int post(struct observed_qp *q, const struct srd_op *op, uint32_t number,
		       struct srd_wr_ids *ids, struct srd_error *error)
{
	uint32_t outer = q->stream->op;
	int rc;

	emit_post_begin(q, op, number);
	q->stream->op = number;
	rc = ops_call(q, op, ids, error);
	if (rc && !srd_queue_pair_is_one_by_one(q->ops))
		ids->count = 0;
	q->stream->op = outer;
	emit_post_end(q, rc, ids, number);
	return rc;
}

static inline int post_scheduled(struct observed_qp *q, const struct srd_op *op,
				 struct srd_wr_ids *ids, struct srd_error *error)
{
	struct observed_scheduler *s = q->scheduler;
	uint32_t at = match(s, op);
	int rc = post(q, op, at == NONE ? 0 : s->watched[at].number, ids, error);

	if ((!rc || ids->count) && at != NONE)
		watched_posted(s, at);
	else if (rc != -ENOMEM && at != NONE)
		s->watched[at].refused = true;
	return rc;
}

static int post_direct(struct observed_qp *q, const struct srd_op *op, struct srd_wr_ids *ids,
		       struct srd_error *error)
{
	uint32_t number = ++q->stream->num_ops;
	int rc;

	emit_op_begin(q, op, number, 0);
	/* Room to adopt it first: once it is posted it has to be counted. */
	if (q->scheduler && q->scheduler->free == NONE && watched_grow(q->scheduler))
		rc = srd_error_set(error, -ENOMEM, "out of memory for an observed op");
	else
		rc = post(q, op, number, ids, error);
	/* What was posted before one was refused is an op all the same, if it is adopted. */
	if (rc && !ids->count) {
		emit_op_end(q, &(struct srd_op_result){.result = rc}, number);
		return rc;
	}
	q->direct_op = number;
	q->direct_id = ids->count ? ids->id[0] : 0;
	return rc;
}

static int observed_post(struct srd_queue_pair *qp, const struct srd_op *op, struct srd_wr_ids *ids,
			 struct srd_error *error)
{
	struct observed_qp *q = qp_of(qp);

	if (op->peer && !srd_queue_pair_has_peers(q->ops))
		return one_peer(q, error);
	return q->scheduler_calls ? post_scheduled(q, op, ids, error)
				  : post_direct(q, op, ids, error);
}

static int observed_put_to(struct srd_queue_pair *qp, uint32_t peer,
			   const struct srd_remote_view *to, const struct srd_local_view *from,
			   struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_PUT, .local = *from, .remote = *to, .peer = peer};

	return observed_post(qp, &op, ids, error);
}

static int observed_get_from(struct srd_queue_pair *qp, uint32_t peer,
			     const struct srd_local_view *to, const struct srd_remote_view *from,
			     struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct srd_op op = {.kind = SRD_OP_GET, .local = *to, .remote = *from, .peer = peer};

	return observed_post(qp, &op, ids, error);
}

static int observed_put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
			const struct srd_local_view *from, struct srd_wr_ids *ids,
			struct srd_error *error)
{
	return observed_put_to(qp, 0, to, from, ids, error);
}

static int observed_get(struct srd_queue_pair *qp, const struct srd_local_view *to,
			const struct srd_remote_view *from, struct srd_wr_ids *ids,
			struct srd_error *error)
{
	return observed_get_from(qp, 0, to, from, ids, error);
}

static uint64_t gid_half(const union srd_gid *gid, size_t at)
{
	uint64_t half;

	memcpy(&half, &gid->raw[at], sizeof(half));
	return be64toh(half);
}

static int observed_connect(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
			    struct srd_error *error)
{
	struct observed_qp *q = qp_of(qp);
	struct srd_ev_connect event = {.remote_qpn = peer->qp_num};
	int rc = q->ops->connect(q->qp, peer, error);

	event.result = (uint32_t)rc;
	if (peer->has_gid) {
		event.gid_hi = gid_half(&peer->gid, 0);
		event.gid_lo = gid_half(&peer->gid, 8);
	}
	emit(q, &event.ev, SRD_EV_CONNECT, q->stream->op);
	return rc;
}

static int observed_add_peer(struct srd_queue_pair *qp, const struct srd_endpoint *endpoint,
			     uint32_t *peer, struct srd_error *error)
{
	struct observed_qp *q = qp_of(qp);
	struct srd_ev_peer_add event = {.remote_qpn = endpoint->qp_num};
	int rc;

	if (!srd_queue_pair_has_peers(q->ops))
		return one_peer(q, error);
	rc = q->ops->add_peer(q->qp, endpoint, peer, error);
	event.result = (uint32_t)rc;
	event.peer = rc ? 0 : *peer;
	if (endpoint->has_gid) {
		event.gid_hi = gid_half(&endpoint->gid, 0);
		event.gid_lo = gid_half(&endpoint->gid, 8);
	}
	emit(q, &event.ev, SRD_EV_PEER_ADD, q->stream->op);
	return rc;
}

static void observed_destroy(struct srd_queue_pair *qp)
{
	struct observed_qp *q = qp_of(qp);

	if (!q)
		return;
	emit_bare(q, SRD_EV_QP_CLOSE);
	q->ops->destroy(q->qp);
	srd_free(q);
}

static struct srd_qp *observed_verbs_qp(struct srd_queue_pair *qp)
{
	return qp_of(qp)->ops->verbs_qp(qp_of(qp)->qp);
}

static int observed_endpoint(struct srd_queue_pair *qp, struct srd_endpoint *out,
			     struct srd_error *error)
{
	return qp_of(qp)->ops->endpoint(qp_of(qp)->qp, out, error);
}

static int observed_state(struct srd_queue_pair *qp, enum srd_qp_state *out,
			  struct srd_error *error)
{
	return qp_of(qp)->ops->state(qp_of(qp)->qp, out, error);
}

static uint64_t observed_max_msg_size(struct srd_queue_pair *qp)
{
	return qp_of(qp)->ops->max_msg_size(qp_of(qp)->qp);
}

static uint64_t observed_num_requests(struct srd_queue_pair *qp, enum srd_op_kind kind,
				      uint64_t size)
{
	return qp_of(qp)->ops->num_requests(qp_of(qp)->qp, kind, size);
}

static int observed_poll(struct srd_queue_pair *qp, enum srd_queue which,
			 struct srd_completion *out, struct srd_error *error)
{
	return qp_of(qp)->ops->poll(qp_of(qp)->qp, which, out, error);
}

const struct srd_queue_pair_ops srd_observed_queue_pair_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "observed",
	.destroy = observed_destroy,
	.verbs_qp = observed_verbs_qp,
	.connect = observed_connect,
	.endpoint = observed_endpoint,
	.state = observed_state,
	.max_msg_size = observed_max_msg_size,
	.num_requests = observed_num_requests,
	.put = observed_put,
	.get = observed_get,
	.poll = observed_poll,
	.add_peer = observed_add_peer,
	.put_to = observed_put_to,
	.get_from = observed_get_from,
	.one_by_one = true, /* where that below is */
};

int srd_observed_queue_pair_create(const struct srd_queue_pair_ops *ops, struct srd_stream *stream,
				   struct srd_verbs *verbs, struct srd_pd *pd,
				   const struct srd_queue_pair_config *config,
				   struct srd_cq *send_cq, struct srd_cq *recv_cq,
				   struct srd_queue_pair **out, struct srd_error *error)
{
	struct srd_ev_qp_open event = {.max_send_wr = config->max_send_wr,
				       .max_recv_wr = config->max_recv_wr};
	struct observed_qp *q = srd_calloc(1, sizeof(*q));
	const struct srd_qp *verbs_qp;
	int rc;

	if (!q)
		return srd_error_set(error, -ENOMEM, "out of memory for an observed queue pair");
	rc = ops->create(verbs, pd, config, send_cq, recv_cq, &q->qp, error);
	if (rc) {
		srd_free(q);
		return rc;
	}
	q->ops = ops;
	q->stream = stream;
	verbs_qp = ops->verbs_qp(q->qp);
	if (verbs_qp) {
		q->object = verbs_qp->handle;
		q->host = (uint8_t)verbs_qp->context->host;
	}
	event.max_msg_size = ops->max_msg_size(q->qp);
	emit(q, &event.ev, SRD_EV_QP_OPEN, stream->op);
	*out = (struct srd_queue_pair *)q;
	return 0;
}

/* --- the scheduler ------------------------------------------------------------------- */

static void emit_state(struct observed_scheduler *s)
{
	struct srd_ev_scheduler_state event;

	if (!is_read(s->qp))
		return;
	event = (struct srd_ev_scheduler_state){
		.in_flight = s->ops->in_flight(s->scheduler),
		.queued = s->ops->queued(s->scheduler),
	};
	emit(s->qp, &event.ev, SRD_EV_SCHEDULER_STATE, 0);
}

static int observed_submit(struct srd_scheduler *scheduler, const struct srd_op *op,
			   struct srd_error *error)
{
	struct observed_scheduler *s = scheduler_of(scheduler);
	uint32_t number = ++s->qp->stream->num_ops;
	uint32_t at = watched_alloc(s, op, number, WAITING);
	int rc = -ENOMEM;

	emit_op_begin(s->qp, op, number, 1);
	if (at == NONE) {
		srd_error_set(error, rc, "out of memory for an observed op");
	} else {
		line_add(s, at);
		s->qp->scheduler_calls = true;
		rc = s->ops->submit(s->scheduler, &s->watched[at].op, error);
		s->qp->scheduler_calls = false;
	}
	if (rc) {
		emit_op_end(s->qp, &(struct srd_op_result){.result = rc}, number);
		if (at != NONE)
			watched_free(s, at);
	}
	emit_state(s);
	return rc;
}

static int observed_progress(struct srd_scheduler *scheduler, struct srd_error *error)
{
	struct observed_scheduler *s = scheduler_of(scheduler);
	int rc;

	s->qp->scheduler_calls = true;
	rc = s->ops->progress(s->scheduler, error);
	s->qp->scheduler_calls = false;
	emit_state(s);
	return rc;
}

static int observed_result(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	struct observed_scheduler *s = scheduler_of(scheduler);

	for (int stray = 0; stray < STRAY_LIMIT && s->ops->result(s->scheduler, out); stray++) {
		uint32_t at = watched_at(s, out->cookie);

		emit_op_end(s->qp, out, at == NONE ? 0 : s->watched[at].number);
		if (at == NONE || s->watched[at].state == FREE)
			continue;
		out->cookie = s->watched[at].cookie;
		watched_free(s, at);
		return 1;
	}
	return 0;
}

static int observed_adopt(struct srd_scheduler *scheduler, const struct srd_wr_ids *ids,
			  uint64_t cookie, struct srd_error *error)
{
	struct observed_scheduler *s = scheduler_of(scheduler);
	struct observed_qp *q = s->qp;
	const struct srd_op op = {.cookie = cookie};
	bool last = !ids->count || ids->id[0] == q->direct_id;
	uint32_t at = watched_alloc(s, &op, last ? q->direct_op : 0, POSTED);
	int rc;

	if (at == NONE)
		return srd_error_set(error, -ENOMEM, "out of memory for an observed op");
	rc = s->ops->adopt(s->scheduler, ids, s->watched[at].op.cookie, error);
	if (last)
		q->direct_op = 0;
	if (rc) {
		emit_op_end(q, &(struct srd_op_result){.result = rc}, s->watched[at].number);
		watched_free(s, at);
	}
	return rc;
}

static void observed_scheduler_destroy(struct srd_scheduler *scheduler)
{
	struct observed_scheduler *s = scheduler_of(scheduler);

	if (!s)
		return;
	emit_bare(s->qp, SRD_EV_SCHEDULER_CLOSE);
	s->qp->scheduler = NULL;
	s->ops->destroy(s->scheduler);
	srd_free(s->watched);
	srd_free(s);
}

static uint32_t observed_in_flight(struct srd_scheduler *scheduler)
{
	return scheduler_of(scheduler)->ops->in_flight(scheduler_of(scheduler)->scheduler);
}

static uint32_t observed_queued(struct srd_scheduler *scheduler)
{
	return scheduler_of(scheduler)->ops->queued(scheduler_of(scheduler)->scheduler);
}

static uint64_t observed_poll_delay(struct srd_scheduler *scheduler, uint64_t now)
{
	return scheduler_of(scheduler)->ops->poll_delay(scheduler_of(scheduler)->scheduler, now);
}

const struct srd_scheduler_ops srd_observed_scheduler_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "observed",
	.destroy = observed_scheduler_destroy,
	.submit = observed_submit,
	.progress = observed_progress,
	.result = observed_result,
	.in_flight = observed_in_flight,
	.queued = observed_queued,
	.adopt = observed_adopt,
	.poll_delay = observed_poll_delay,
	.peers = true,
};

int srd_observed_scheduler_create(const struct srd_scheduler_ops *ops, struct srd_queue_pair *qp,
				  const struct srd_scheduler_config *config,
				  struct srd_scheduler **out, struct srd_error *error)
{
	struct srd_ev_scheduler_open event = {.max_send_wr = config->max_send_wr};
	struct observed_scheduler *s = srd_calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return srd_error_set(error, -ENOMEM, "out of memory for an observed scheduler");
	rc = ops->create(&srd_observed_queue_pair_ops, qp, config, &s->scheduler, error);
	if (rc) {
		srd_free(s);
		return rc;
	}
	s->ops = ops;
	s->qp = qp_of(qp);
	s->qp->scheduler = s;
	s->free = s->head = s->tail = NONE;
	emit(s->qp, &event.ev, SRD_EV_SCHEDULER_OPEN, s->qp->stream->op);
	*out = (struct srd_scheduler *)s;
	return 0;
}
