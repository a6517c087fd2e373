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

struct srd_observer {
	struct srd_verbs verbs;
	struct srd_stream *stream;
	struct srd_inject *inject;
	struct srd_session **sessions; /* by the handle of the queue pair; NULL: destroyed */
	uint32_t num_sessions;
	uint32_t open_sessions;
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
	if (!o->stream->num_readers)
		return;
	srd_observer_clock(o);
	srd_stream_emit(o->stream, ev);
}

/* VERB answered with RESULT, where positive an errno that is to be shown. Returns RESULT. */
int srd_observer_failed(struct srd_observer *o, enum srd_verb verb, int result, uint32_t host);
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
/* QP is about to be destroyed: abort a session that is open on it. */
void srd_session_end(struct srd_observer *o, struct srd_qp *qp);

#endif
