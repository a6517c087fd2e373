/* SPDX-License-Identifier: MIT */
/* How requests are handed to the queue pair. */
#include <inttypes.h>
#include <stdio.h>

#include <srdlab/verbs.h>

#include "judge.h"

/* The calls of srd_ev_wr_post.setters, 4 bits each from the lowest. */
#define SET_UD_ADDR      3u
#define SGE              1u
#define SGE_THEN_UD_ADDR 0x31u

static const char *setters_text(uint32_t setters, char *buf, size_t size)
{
	static const char *const names[] = {"?", "set_sge", "set_inline_data", "set_ud_addr"};
	size_t at = 0;

	snprintf(buf, size, "none");
	for (; setters && at < size; setters >>= 4)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "",
				       names[(setters & 15) < 4 ? setters & 15 : 0]);
	return buf;
}

static bool has_destination(uint32_t setters)
{
	for (; setters; setters >>= 4)
		if ((setters & 15) == SET_UD_ADDR)
			return true;
	return false;
}

static void setter_misuse(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_setter_misuse *ev = (const void *)event;
	const char *verb = srd_verb_str(ev->verb);
	uint32_t line = rules->book.qp ? rules->book.qp->session_line : 0;

	switch ((enum srd_session_misuse)ev->what) {
	case SRD_MISUSE_SETTER_FIRST:
		FAIL(rules, SESSION_BUILDER_FIRST, "%s before any builder of the session", verb);
		break;
	case SRD_MISUSE_NO_SESSION:
		FAIL(rules, SESSION_BUILDER_FIRST, "%s outside a session", verb);
		break;
	case SRD_MISUSE_END_WITHOUT_START:
		FAIL(rules, SESSION_PAIR, "%s outside a session", verb);
		break;
	case SRD_MISUSE_START_TWICE:
		FAIL(rules, SESSION_PAIR, "%s inside the session that line %u started", verb, line);
		break;
	case SRD_MISUSE_DESTROY_IN_SESSION:
		FAIL(rules, SESSION_DESTROY, "%s inside the session that line %u started", verb,
		     line);
		break;
	case SRD_MISUSE_POLL_IN_SESSION:
		FAIL(rules, SESSION_POLL, "%s inside the session that line %u started", verb, line);
		break;
	}
}

static void wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_wr_post *post = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_op *op = rules->book.op;
	char text[160];

	if (qp && !(qp->made.send_ops_flags & 1u << (post->opcode & 31)))
		FAIL(rules, SESSION_DECLARED, "request %" PRIu64 " is %s; send_ops_flags is 0x%x",
		     post->wr_id, srd_wr_opcode_str(post->opcode), qp->made.send_ops_flags);
	if (!op)
		return;
	/* Only where the destination is in each request is there a call for it. */
	if (post->setters != (qp && srd_book_is_rc(qp) ? SGE : SGE_THEN_UD_ADDR))
		FAIL(rules, SESSION_SETTERS, "op %u, request %" PRIu64 ": %s", op->number,
		     post->wr_id, setters_text(post->setters, text, sizeof(text)));
	if (post->wr_flags != SRD_SEND_SIGNALED)
		FAIL(rules, SESSION_FLAGS, "op %u, request %" PRIu64 ": wr_flags is 0x%x",
		     op->number, post->wr_id, post->wr_flags);
}

static void op_post_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_op *op = rules->book.op;

	if (op && op->sessions > 1 && !srd_book_is_rc(op->qp))
		FAIL(rules, SESSION_ONE, "op %u: %u sessions", op->number, op->sessions);
	if (qp && qp->in_session)
		FAIL(rules, SESSION_OPEN, "the session of line %u is open after the op was posted",
		     qp->session_line);
}

/* --- what the device took --- */

static void compare(struct srd_rules *rules, uint64_t ordinal, const struct srd_place *place,
		    uint64_t length, uint8_t opcode)
{
	if (place->length == length && place->opcode == opcode)
		return;
	FAIL(rules, SESSION_ATOMIC,
	     "request %" PRIu64 " of the queue pair was built as %s of %" PRIu64
	     " bytes and the device took %s of %" PRIu64,
	     ordinal, srd_wr_opcode_str(place->state == SRD_BOOK_POSTED ? place->opcode : opcode),
	     place->state == SRD_BOOK_POSTED ? place->length : length,
	     srd_wr_opcode_str(place->state == SRD_BOOK_POSTED ? opcode : place->opcode),
	     place->state == SRD_BOOK_POSTED ? length : place->length);
}

/* The device may take a request before the library's answer is in the stream, or after. */
static void dev_request(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_request *ev = (const void *)event;
	const struct srd_place *place;

	if (!rules->book.qp)
		return;
	place = srd_book_place(rules->book.qp, ev->ordinal);
	if (place && place->state == SRD_BOOK_POSTED)
		compare(rules, ev->ordinal, place, ev->length, (uint8_t)ev->opcode);
}

static void request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_place *place = srd_book_place(qp, qp->num_posted);
	char text[160];

	if (place && place->state == SRD_BOOK_TAKEN)
		compare(rules, qp->num_posted, place, post->length, post->opcode);
	if (!has_destination(post->setters) && !srd_book_is_rc(qp))
		FAIL(rules, SESSION_DESTINATION,
		     "request %" PRIu64 " has no destination; setters: %s", post->wr_id,
		     setters_text(post->setters, text, sizeof(text)));
}

/* Nothing of a session that was not accepted may be with the device. */
static void refused(struct srd_rules *rules, const struct srd_book_qp *qp)
{
	const struct srd_place *place = qp ? srd_book_place(qp, qp->num_posted) : NULL;

	if (place && place->state == SRD_BOOK_TAKEN)
		FAIL(rules, SESSION_ATOMIC,
		     "the session was not posted, and the device took request %" PRIu64
		     " of the queue pair: %s of %" PRIu64 " bytes",
		     qp->num_posted, srd_wr_opcode_str(place->opcode), place->length);
}

static void session_complete(struct srd_rules *rules, const struct srd_event *event)
{
	if (((const struct srd_ev_session_complete *)event)->result)
		refused(rules, rules->book.qp);
}

static void session_abort(struct srd_rules *rules, const struct srd_event *event)
{
	refused(rules, rules->book.qp);
}

static void unrung(struct srd_rules *rules, const struct srd_book_qp *qp)
{
	if (qp && qp->unrung)
		srd_judge_fail(rules, SRD_R_SESSION_DOORBELL,
			       (struct srd_where){.qp = qp, .line = qp->unrung_line},
			       "%u request%s in the ring since line %u, which no doorbell told the "
			       "device of",
			       qp->unrung, SRD_S(qp->unrung), qp->unrung_line);
}

static void qp_destroy(struct srd_rules *rules, const struct srd_event *event)
{
	unrung(rules, rules->book.qp);
}

static void finish(struct srd_rules *rules)
{
	for (struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		struct srd_book_qp *qp = (struct srd_book_qp *)thing;

		if (thing->kind == SRD_KIND_QP && thing->alive)
			unrung(rules, qp);
		if (thing->kind == SRD_KIND_QP && thing->alive && qp->in_session)
			srd_judge_fail(rules, SRD_R_SESSION_OPEN,
				       (struct srd_where){.qp = qp, .line = qp->session_line},
				       "the session of line %u was never ended", qp->session_line);
	}
}

const struct srd_family srd_session_family = {
	.name = "session",
	.check =
		{
			[SRD_EV_SETTER_MISUSE] = setter_misuse,
			[SRD_EV_WR_POST] = wr_post,
			[SRD_EV_OP_POST_END] = op_post_end,
			[SRD_EV_QP_DESTROY] = qp_destroy,
			[SRD_EV_DEV_REQUEST] = dev_request,
			[SRD_EV_SESSION_COMPLETE] = session_complete,
			[SRD_EV_SESSION_ABORT] = session_abort,
		},
	.request = request,
	.finish = finish,
};
