/* SPDX-License-Identifier: MIT */
/* The observer of completion queues: the extended poll, notifications, and their misuse. */
#include <errno.h>

#include "alloc.h"
#include "observe_internal.h"

static inline struct srd_observer *observer(struct srd_verbs *verbs)
{
	return (struct srd_observer *)verbs;
}

static inline struct srd_watched_cq *watched(struct srd_observer *o, const struct srd_cq *cq)
{
	return &o->cqs[cq->handle];
}

static struct srd_event header(enum srd_event_type type, const struct srd_cq *cq)
{
	return (struct srd_event){
		.type = type,
		.source = SRD_SOURCE_SEAM,
		.host = (uint8_t)cq->context->host,
		.object = cq->handle,
	};
}

static void misuse(struct srd_observer *o, const struct srd_cq *cq, enum srd_cq_misuse what,
		   enum srd_verb verb)
{
	struct srd_ev_cq_misuse e = {
		.ev = header(SRD_EV_CQ_MISUSE, cq),
		.what = what,
		.verb = verb,
	};

	srd_observer_emit(o, &e.ev);
}

/* Room for the queue with the next handle. False: out of memory. */
static bool make_room(struct srd_observer *o, uint32_t handle)
{
	uint32_t num = o->num_cqs ? o->num_cqs : 8;
	struct srd_watched_cq *cqs;

	if (handle < o->num_cqs)
		return true;
	while (num <= handle)
		num *= 2;
	cqs = srd_reallocarray(o->cqs, num, sizeof(*cqs));
	if (!cqs)
		return false;
	o->cqs = cqs;
	o->num_cqs = num;
	return true;
}

struct srd_cq *srd_observer_new_cq(struct srd_observer *o, struct srd_cq *cq,
				   const struct srd_cq_init_attr_ex *attr, bool extended,
				   enum srd_verb verb, struct srd_context *context)
{
	struct srd_ev_cq_create e = {
		.context = context->handle,
		.requested = attr->cqe,
		.channel = attr->channel ? attr->channel->handle : 0,
		.extended = extended,
		.wc_flags = attr->wc_flags,
		.efa_wc_flags = (uint32_t)attr->efa_wc_flags,
	};

	if (cq && !make_room(o, cq->handle)) {
		o->verbs.next->destroy_cq(o->verbs.next, cq);
		cq = NULL;
		errno = ENOMEM;
	}
	if (!cq) {
		errno = srd_observer_answer(o, verb, errno, context->host);
		return NULL;
	}
	*watched(o, cq) = (struct srd_watched_cq){
		.extended = extended,
		.channel = attr->channel != NULL,
	};
	e.ev = header(SRD_EV_CQ_CREATE, cq);
	e.granted = cq->cqe;
	srd_observer_emit(o, &e.ev);
	return cq;
}

static struct srd_cq *create_cq_ex(struct srd_verbs *verbs, struct srd_context *context,
				   const struct srd_cq_init_attr_ex *attr)
{
	struct srd_cq *cq = verbs->next->create_cq_ex(verbs->next, context, attr);

	return srd_observer_new_cq(observer(verbs), cq, attr, true, SRD_VERB_CREATE_CQ_EX, context);
}

/* --- the extended poll --- */

static void emit_entry(struct srd_observer *o, struct srd_cq *cq)
{
	struct srd_wc_ex wc;

	o->verbs.next->read_wc(o->verbs.next, cq, &wc);
	if (!o->stream->fn)
		return;
	srd_observer_sync(o);
	srd_observer_wc(o->stream, cq, &wc.wc);
}

/* ASKED is one more than FOUND where no more was there. */
static void emit_poll(struct srd_observer *o, const struct srd_cq *cq, uint32_t asked, int found)
{
	struct srd_ev_cq_poll e = {
		.ev = header(SRD_EV_CQ_POLL, cq),
		.num_entries = asked,
		.result = (uint32_t)found,
		.extended = 1,
	};

	srd_observer_emit(o, &e.ev);
}

/* A poll is not to reach for the lock that a session holds. */
static bool in_session(struct srd_observer *o, struct srd_cq *cq, enum srd_verb verb)
{
	struct srd_qp *qp = o->open_sessions ? srd_session_on(o, cq) : NULL;

	if (qp)
		srd_session_misuse(o, qp, SRD_MISUSE_POLL_IN_SESSION, verb);
	return qp != NULL;
}

static int answer(struct srd_observer *o, enum srd_verb verb, int result, struct srd_cq *cq)
{
	return result == ENOENT ? result : srd_observer_answer(o, verb, result, cq->context->host);
}

static int start_poll(struct srd_verbs *verbs, struct srd_cq *cq)
{
	struct srd_observer *o = observer(verbs);
	struct srd_watched_cq *w = watched(o, cq);
	int result = EDEADLK;

	if (!w->extended) {
		misuse(o, cq, SRD_CQ_MISUSE_NOT_EXTENDED, SRD_VERB_START_POLL);
		return answer(o, SRD_VERB_START_POLL, EOPNOTSUPP, cq);
	}
	if (w->polling)
		misuse(o, cq, SRD_CQ_MISUSE_POLL_TWICE, SRD_VERB_START_POLL);
	else if (!in_session(o, cq, SRD_VERB_START_POLL))
		result = verbs->next->start_poll(verbs->next, cq);
	if (!result) {
		w->polling = true;
		w->at_end = false;
		w->found = 1;
		o->open_polls++;
		emit_entry(o, cq);
	} else if (result != EDEADLK) {
		emit_poll(o, cq, 1, result == ENOENT ? 0 : -result);
	}
	return answer(o, SRD_VERB_START_POLL, result, cq);
}

/* Whether an entry can be current: a poll is open and has not come to its end. */
static bool polled(struct srd_observer *o, struct srd_cq *cq, enum srd_verb verb)
{
	const struct srd_watched_cq *w = watched(o, cq);

	if (!w->polling)
		misuse(o, cq, SRD_CQ_MISUSE_POLL_WITHOUT_START, verb);
	else if (w->at_end)
		misuse(o, cq, SRD_CQ_MISUSE_NEXT_AFTER_EMPTY, verb);
	return w->polling && !w->at_end;
}

static int next_poll(struct srd_verbs *verbs, struct srd_cq *cq)
{
	struct srd_observer *o = observer(verbs);
	struct srd_watched_cq *w = watched(o, cq);
	int result;

	if (!polled(o, cq, SRD_VERB_NEXT_POLL))
		return answer(o, SRD_VERB_NEXT_POLL, EINVAL, cq);
	if (in_session(o, cq, SRD_VERB_NEXT_POLL))
		return answer(o, SRD_VERB_NEXT_POLL, EDEADLK, cq);
	result = verbs->next->next_poll(verbs->next, cq);
	if (!result) {
		w->found++;
		emit_entry(o, cq);
	}
	w->at_end = result == ENOENT;
	return answer(o, SRD_VERB_NEXT_POLL, result, cq);
}

static void finish_poll(struct srd_observer *o, struct srd_cq *cq)
{
	struct srd_watched_cq *w = watched(o, cq);

	w->polling = false;
	o->open_polls--;
	o->verbs.next->end_poll(o->verbs.next, cq);
	emit_poll(o, cq, w->found + w->at_end, (int)w->found);
}

static void end_poll(struct srd_verbs *verbs, struct srd_cq *cq)
{
	struct srd_observer *o = observer(verbs);
	struct srd_qp *qp;

	if (!watched(o, cq)->polling) {
		misuse(o, cq, SRD_CQ_MISUSE_POLL_WITHOUT_START, SRD_VERB_END_POLL);
		return;
	}
	while ((qp = o->open_sessions ? srd_session_on(o, cq) : NULL))
		srd_session_end(o, qp, SRD_MISUSE_POLL_IN_SESSION, SRD_VERB_END_POLL);
	finish_poll(o, cq);
}

static void read_wc(struct srd_verbs *verbs, struct srd_cq *cq, struct srd_wc_ex *wc)
{
	*wc = (struct srd_wc_ex){0};
	if (polled(observer(verbs), cq, SRD_VERB_READ_WC))
		verbs->next->read_wc(verbs->next, cq, wc);
}

bool srd_observer_polls(struct srd_observer *o, const struct srd_cq *cq, enum srd_verb verb)
{
	if (!watched(o, cq)->polling)
		return false;
	misuse(o, cq, SRD_CQ_MISUSE_POLL_TWICE, verb);
	return true;
}

void srd_observer_end_poll(struct srd_observer *o, struct srd_cq *cq, enum srd_verb verb)
{
	if (!watched(o, cq)->polling)
		return;
	misuse(o, cq, SRD_CQ_MISUSE_DESTROY_IN_POLL, verb);
	finish_poll(o, cq);
}

/* --- events --- */

static struct srd_comp_channel *create_comp_channel(struct srd_verbs *verbs,
						    struct srd_context *context)
{
	struct srd_observer *o = observer(verbs);
	struct srd_comp_channel *channel = verbs->next->create_comp_channel(verbs->next, context);
	struct srd_ev_channel_create e = {
		.ev = {.type = SRD_EV_CHANNEL_CREATE,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)context->host},
		.context = context->handle,
	};

	if (!channel) {
		errno = srd_observer_answer(o, SRD_VERB_CREATE_COMP_CHANNEL, errno, context->host);
		return NULL;
	}
	e.channel = channel->handle;
	srd_observer_emit(o, &e.ev);
	return channel;
}

static int destroy_comp_channel(struct srd_verbs *verbs, struct srd_comp_channel *channel)
{
	struct srd_observer *o = observer(verbs);
	struct srd_ev_channel_destroy e = {
		.ev = {.type = SRD_EV_CHANNEL_DESTROY,
		       .source = SRD_SOURCE_SEAM,
		       .host = (uint8_t)channel->context->host},
		.channel = channel->handle,
	};
	int result = verbs->next->destroy_comp_channel(verbs->next, channel);

	if (result)
		return srd_observer_answer(o, SRD_VERB_DESTROY_COMP_CHANNEL, result, e.ev.host);
	srd_observer_emit(o, &e.ev);
	return 0;
}

static int req_notify_cq(struct srd_verbs *verbs, struct srd_cq *cq, int solicited_only)
{
	struct srd_observer *o = observer(verbs);
	struct srd_ev_cq_notify e = {
		.ev = header(SRD_EV_CQ_NOTIFY, cq),
		.solicited_only = solicited_only != 0,
	};
	int result = EINVAL;

	if (watched(o, cq)->channel)
		result = verbs->next->req_notify_cq(verbs->next, cq, solicited_only);
	else
		misuse(o, cq, SRD_CQ_MISUSE_NOTIFY_WITHOUT_CHANNEL, SRD_VERB_REQ_NOTIFY_CQ);
	e.result = (uint32_t)result;
	srd_observer_emit(o, &e.ev);
	return answer(o, SRD_VERB_REQ_NOTIFY_CQ, result, cq);
}

static int get_cq_event(struct srd_verbs *verbs, struct srd_comp_channel *channel,
			struct srd_cq **cq)
{
	struct srd_observer *o = observer(verbs);
	struct srd_ev_cq_event e;
	int result = verbs->next->get_cq_event(verbs->next, channel, cq);

	if (result == EAGAIN)
		return result;
	if (result)
		return srd_observer_answer(o, SRD_VERB_GET_CQ_EVENT, result,
					   channel->context->host);
	e = (struct srd_ev_cq_event){
		.ev = header(SRD_EV_CQ_EVENT, *cq),
		.unacked = ++watched(o, *cq)->unacked,
	};
	srd_observer_emit(o, &e.ev);
	return 0;
}

static void ack_cq_events(struct srd_verbs *verbs, struct srd_cq *cq, unsigned int nevents)
{
	struct srd_observer *o = observer(verbs);
	struct srd_watched_cq *w = watched(o, cq);
	struct srd_ev_cq_ack e = {.ev = header(SRD_EV_CQ_ACK, cq), .num_events = nevents};

	if (nevents > w->unacked) {
		misuse(o, cq, SRD_CQ_MISUSE_ACK_TOO_MANY, SRD_VERB_ACK_CQ_EVENTS);
		nevents = w->unacked;
	}
	w->unacked -= nevents;
	e.unacked = w->unacked;
	verbs->next->ack_cq_events(verbs->next, cq, nevents);
	srd_observer_emit(o, &e.ev);
}

void srd_observer_cq_gone(struct srd_observer *o, const struct srd_cq *was)
{
	struct srd_watched_cq *w = watched(o, was);

	if (w->polling) {
		misuse(o, was, SRD_CQ_MISUSE_DESTROY_IN_POLL, SRD_VERB_DESTROY_CQ);
		emit_poll(o, was, w->found + w->at_end, (int)w->found);
		o->open_polls--;
	}
	if (w->unacked)
		misuse(o, was, SRD_CQ_MISUSE_EVENT_NOT_ACKED, SRD_VERB_DESTROY_CQ);
	*w = (struct srd_watched_cq){0};
}

void srd_observer_cq_fill(struct srd_verbs *verbs)
{
	verbs->create_cq_ex = create_cq_ex;
	verbs->start_poll = start_poll;
	verbs->next_poll = next_poll;
	verbs->end_poll = end_poll;
	verbs->read_wc = read_wc;
	verbs->create_comp_channel = create_comp_channel;
	verbs->destroy_comp_channel = destroy_comp_channel;
	verbs->req_notify_cq = req_notify_cq;
	verbs->get_cq_event = get_cq_event;
	verbs->ack_cq_events = ack_cq_events;
}
