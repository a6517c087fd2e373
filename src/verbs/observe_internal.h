/* SPDX-License-Identifier: MIT */
/* Between observe.c, which sees objects come and go, and observe_session.c, the data path. */
#ifndef SRD_OBSERVE_INTERNAL_H
#define SRD_OBSERVE_INTERNAL_H

#include <srdlab/event.h>
#include <srdlab/verbs.h>

/* The posting session of one queue pair; its array is kept from session to session. */
struct srd_session {
	struct srd_qp *qp;
	bool open;
	int error; /* latched here: nothing more is forwarded; 0: none */
	uint32_t num_wr;
	uint32_t capacity;
	uint32_t num_setters;           /* of the current request */
	struct srd_ev_wr_post *wr;      /* the requests built so far */
	struct srd_ev_wr_post *current; /* the one that setters are for; NULL: none yet */
	struct srd_ev_wr_post
		blank; /* a request of which nothing is set: quicker to copy than to clear */
};

/* What the observer has to know of a completion queue. */
struct srd_watched_cq {
	bool extended;
	bool channel; /* it has one */
	bool polling; /* between start_poll and end_poll */
	bool at_end;  /* next_poll found no more */
	uint32_t found;
	uint32_t unacked; /* events */
};

struct srd_observer {
	struct srd_verbs verbs;
	struct srd_stream *stream;
	struct srd_inject *inject;
	struct srd_session **sessions; /* by the handle of the queue pair; NULL: destroyed */
	uint32_t num_sessions;
	uint32_t open_sessions;
	struct srd_watched_cq *cqs; /* by the handle of the completion queue */
	uint32_t num_cqs;
	uint32_t open_polls;
};

/* The stream's time is that of the table below, from now on. */
static inline void srd_observer_sync(struct srd_observer *o)
{
	o->stream->now = o->verbs.next->now(o->verbs.next);
}

/* Before an event of now. A virtual clock stands still between two waits, which keep it. */
static inline void srd_observer_clock(struct srd_observer *o)
{
	if (!(o->verbs.can & SRD_VERBS_CAN_VIRTUAL_TIME))
		srd_observer_sync(o);
}

/* Show an event of now; where nobody watches, the clock is not even read. */
static inline void srd_observer_emit(struct srd_observer *o, struct srd_event *ev)
{
	if (!o->stream->fn)
		return;
	srd_observer_clock(o);
	srd_stream_emit(o->stream, ev);
}

/* VERB answered with RESULT, where positive an errno that is to be shown. Returns RESULT. */
int srd_observer_failed(struct srd_observer *o, enum srd_verb verb, int result, uint32_t host)
	__attribute__((cold));
static inline int srd_observer_answer(struct srd_observer *o, enum srd_verb verb, int result,
				      uint32_t host)
{
	return result ? srd_observer_failed(o, verb, result, host) : 0;
}

/* Put the data path into the table. */
void srd_session_fill(struct srd_verbs *verbs);
/* A session for a new queue pair, closed; NULL: no memory. */
struct srd_session *srd_session_create(void);
/* QP is the one that it is for. */
void srd_session_for(struct srd_session *session, struct srd_qp *qp);
void srd_session_destroy(struct srd_session *session);
/* Abort a session that is open on QP: VERB is a misuse of it. */
void srd_session_end(struct srd_observer *o, struct srd_qp *qp, enum srd_session_misuse what,
		     enum srd_verb verb);
void srd_session_misuse(struct srd_observer *o, struct srd_qp *qp, enum srd_session_misuse what,
			enum srd_verb verb) __attribute__((cold));
/* The queue pair whose open session forbids a poll of CQ; NULL: none. */
struct srd_qp *srd_session_on(struct srd_observer *o, const struct srd_cq *cq);
/* Show one completion. */
void srd_observer_wc(struct srd_stream *stream, const struct srd_cq *cq, const struct srd_wc *wc);

/* Put what is about completion queues, but for poll_cq, into the table. */
void srd_observer_cq_fill(struct srd_verbs *verbs);
/* CQ was made, or is NULL with errno; answers with it. */
struct srd_cq *srd_observer_new_cq(struct srd_observer *o, struct srd_cq *cq,
				   const struct srd_cq_init_attr_ex *attr, bool extended,
				   enum srd_verb verb, struct srd_context *context);
/* Whether CQ is in an extended poll, which VERB is a misuse of. */
bool srd_observer_polls(struct srd_observer *o, const struct srd_cq *cq, enum srd_verb verb);
/* VERB would wait for the end of an extended poll of CQ: end it. */
void srd_observer_end_poll(struct srd_observer *o, struct srd_cq *cq, enum srd_verb verb);
/* A queue that looked so is destroyed. */
void srd_observer_cq_gone(struct srd_observer *o, const struct srd_cq *was);

#endif
