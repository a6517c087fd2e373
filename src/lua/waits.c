/* SPDX-License-Identifier: MIT */
/*
 * What is known of each thing that is outstanding are a few facts: the place of a request
 * and why it is there, from the backend; ops, credits and states, from the book and the
 * scheduler. One table turns them into words: the first row whose facts are all known says
 * where a thing is, and the first row of all that has a sentence says what the likely cause is.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <srdlab/lab.h>

#include "qp/observe.h"
#include "qp/observe_rails.h"
#include "rules/book.h"
#include "rules/rules.h"
#include "waits.h"

/* Facts. Those of a place and of a reason are one bit each, above the others. */
enum {
	IS_REQUEST = 1 << 0,
	IS_OP = 1 << 1,
	IS_QUEUE = 1 << 2, /* a completion queue that is waited for */
	IS_TASK = 1 << 3,
	FAILED = 1 << 4, /* it has a status, which is not success, or will have one */
	OVER_TIME = 1 << 5,
	IN_ERROR = 1 << 6,    /* its queue pair is in ERR */
	QUEUED = 1 << 7,      /* the op waits in the scheduler */
	HEAD = 1 << 8,        /* and is the first that does */
	IDLE = 1 << 9,        /* nothing is in flight on its queue pair */
	MISCOUNTED = 1 << 10, /* the scheduler counts more in flight than there is */
	REAPED = 1 << 11,     /* all that the op posted was polled */
	UNPOSTED = 1 << 12,   /* nothing was posted for the op */
	RECEIVES = 1 << 13,   /* receives are posted on a queue pair of the queue */
	CIRCLE = 1 << 14,
};

#define AT(place) (UINT64_C(1) << (16 + SRD_PLACE_##place))
#define BY(why)   (UINT64_C(1) << (32 + SRD_WHY_##why))

/* Of the words: {it} is the thing, {peer} where it goes to, {host} the host there, {status}
 * what it failed with, {qp} its queue pair, {cq} the completion queue, {credits} a count. */
static const struct row {
	uint64_t facts;
	const char *where; /* NULL: as the next row that holds says */
	const char *cause; /* NULL: it explains nothing */
} rows[] = {
	{AT(SESSION), "not completed: its doorbell was not rung",
	 "{it} was never completed, so that its doorbell was never rung and the device knows of "
	 "nothing that was built in it (wr_complete)"},
	{AT(DOORBELL), "in the send queue's ring: no doorbell told the device",
	 "no doorbell told the device of {it}, which lies in the send queue's ring"},
	{AT(OVERRUN), "completed, and its entry is lost: {cq} was full",
	 "{it} has completed, and {cq} was full and lost its entry"},
	{AT(COMPLETED) | FAILED, "failed with {status}, and not polled",
	 "{it} has failed with {status}, and nobody polls {cq}"},
	{AT(QKEY) | FAILED, "dropped by the receiver, for its queue key; it will end with {status}",
	 "{peer} drops {it} without a word, since its queue key is another than the one that "
	 "the request carries; it will end with {status}"},
	{AT(QKEY), "lost: dropped by the receiver, for its queue key",
	 "{peer} drops {it} without a word, since its queue key is another than the one that "
	 "the request carries (qkey, remote_qkey)"},
	{AT(LOST) | BY(FAULT), "lost: dropped by a fault (t:drop)",
	 "a fault of the scenario drops {it} (t:drop), so that it never completes"},
	{AT(LOST) | BY(LOOPBACK), "lost: this device does not reach itself",
	 "{it} goes to the device that sends it, which does not reach itself (loopback = false in "
	 "the profile)"},
	{AT(LOST) | BY(CUT_OFF), "lost: its own host is dead",
	 "{qp} is cut off, its host being dead or restarted: nothing that it posts completes"},
	{AT(NOBODY) | FAILED, "unanswered: {host} is not there; it will end with {status}",
	 "{host} does not answer, so that {it} will end with {status}"},
	{AT(NOBODY), "lost: {peer} is not there, and there is no timeout",
	 "{peer} does not answer {it}, whose queue pair waits for ever (timeout = 0)"},
	{AT(RNR), "at {peer}, until a receive is posted there",
	 "{peer} has no receive for {it}, which waits for one without end (rnr_retry = 7): "
	 "post_recv there"},
	{AT(WIRE) | BY(RNR), "tried again and again: {peer} has no receive",
	 "{peer} has no receive for {it}, which is tried again and again: post_recv there"},
	{AT(WIRE) | BY(LOSS) | FAILED,
	 "given up: the fabric lost it too often; it will end with {status}",
	 "the fabric has lost {it} too often, so that it will end with {status}"},
	{AT(HELD) | FAILED, "held: it failed with {status}, and waits for t:release",
	 "a fault of the scenario holds the completion of {it}, which failed with {status}: "
	 "t:release lets it go"},
	{AT(HELD), "held: its completion waits for t:release",
	 "a fault of the scenario holds the completion of {it} (t:hold): t:release lets it go"},
	{IS_OP | QUEUED | HEAD | MISCOUNTED, "queued, it waits for credits: {credits}",
	 "the scheduler counts more requests in flight on {qp} than there are, and keeps {it} "
	 "back: credits were not returned"},
	{IS_OP | QUEUED | HEAD | IDLE, "queued, though nothing is in flight: {credits}",
	 "nothing is in flight on {qp}, and the scheduler keeps {it} back all the same"},
	{IS_OP | REAPED, "posted, and all of its completions were polled",
	 "all completions of {it} were polled, and the scheduler does not answer it"},
	{IS_OP | UNPOSTED, "taken, and nothing was posted for it",
	 "the scheduler has taken {it} and posted nothing for it"},
	{IS_OP | QUEUED | HEAD, "queued, it waits for credits: {credits}", NULL},
	{IS_OP | QUEUED, "queued behind the one before it", NULL},
	{AT(COMPLETED), "completed, and not polled", "{it} has completed, and nobody polls {cq}"},
	{AT(WIRE) | OVER_TIME, "on the wire",
	 "{it} is under way: it takes longer than the time that it was given"},
	{AT(SEND_QUEUE) | OVER_TIME, "in the send queue",
	 "{it} is in the send queue still: it takes longer than the time that it was given"},
	{AT(SEND_QUEUE), "in the send queue", NULL},
	{AT(WIRE), "on the wire", NULL},
	{IS_REQUEST, "posted, and not completed; this backend does not say where it is", NULL},
	{IS_OP, "posted", NULL},
	{IS_TASK | CIRCLE, NULL, "tasks wait for one another to end, in a circle"},
	{IS_QUEUE | IN_ERROR, NULL,
	 "{qp} is in ERR: after what was flushed nothing completes in {cq}"},
	{IS_QUEUE | RECEIVES, NULL,
	 "a receive is posted on {qp}, and no message is on its way to it"},
	{IS_QUEUE, NULL,
	 "nothing is posted that completes in {cq}, so that no completion can come"},
};

#define NUM_ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

/* The text of a fixed size that all goes into; what does not fit is cut. */
struct text {
	char *at;
	size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at + text->used, text->size - text->used, format, args);
	va_end(args);
	text->used += n < 0 ? 0 : (size_t)n;
	if (text->used >= text->size)
		text->used = text->size - 1;
}

/* One thing that is outstanding. */
struct thing {
	uint64_t facts;
	char name[120];
	const struct srd_lab *lab;     /* of a request; NULL: it cannot be located */
	const struct srd_book_qp *qp;  /* NULL: unknown */
	const struct srd_qp *verbs_qp; /* the same; NULL: unknown */
	uint32_t cq;                   /* handle of the completion queue that it completes in */
	char credits[80];
};

struct report {
	struct srd_run *run;
	struct srd_book *book; /* NULL: nobody keeps one */
	enum srd_trouble trouble;
	struct text lines;
	int shown;   /* requests that have a line */
	int left;    /* that have none */
	int alike;   /* that are as the one of the last line */
	bool waited; /* somebody is known to wait for what the best cause is about */
	int best;    /* row */
	char cause[400];
};

/* What the line of a request by verbs alone says, but for its id. */
struct raw {
	uint32_t line;
	uint8_t opcode;
	struct srd_lab lab;
};

#define MAX_SHOWN 12 /* lines of requests */

/* ---- names ---- */

static const char *host_name(const struct report *report, uint32_t index)
{
	const struct srd_object *host = report->run->objects[SRD_OBJECT_HOST];

	while (host && ((const struct srd_host *)host)->index != index)
		host = host->prev;
	return host ? ((const struct srd_host *)host)->name : "?";
}

static struct srd_book_qp *book_qp(const struct report *report, uint32_t handle)
{
	return report->book ? (struct srd_book_qp *)srd_book_find(report->book, SRD_KIND_QP, handle)
			    : NULL;
}

/* Where the request goes to, as the book knows it; NULL: it does not. */
static const struct srd_book_qp *peer_of(const struct report *report, const struct srd_lab *lab)
{
	const struct srd_thing *thing = report->book && lab ? report->book->all : NULL;

	for (; thing; thing = thing->next)
		if (thing->kind == SRD_KIND_QP && thing->alive && thing->host == lab->host &&
		    ((const struct srd_book_qp *)thing)->made.qp_num == lab->peer_qpn)
			break;
	return (const struct srd_book_qp *)thing;
}

static void put_peer(const struct report *report, const struct thing *thing, struct text *out)
{
	const struct srd_book_qp *peer = peer_of(report, thing->lab);

	if (peer)
		add(out, "queue pair %u of host %s", peer->thing.handle,
		    host_name(report, thing->lab->host));
	else if (thing->lab)
		add(out, "the queue pair with number %u of host %s", thing->lab->peer_qpn,
		    host_name(report, thing->lab->host));
	else
		add(out, "the peer");
}

static void put_status(const struct thing *thing, struct text *out)
{
	uint32_t status = thing->lab ? thing->lab->status : 0;

	add(out, "vendor status %u (%s: %s)", status,
	    srd_efa_status_str(status) + strlen(srd_efa_status_info.prefix),
	    srd_efa_status_meaning(status));
}

static bool is(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

static void put_word(const struct report *report, const struct thing *thing, const char *word,
		     size_t length, struct text *out)
{
	if (is(word, length, "it"))
		add(out, "%s", thing->name);
	else if (is(word, length, "peer"))
		put_peer(report, thing, out);
	else if (is(word, length, "host"))
		add(out, "host %s", thing->lab ? host_name(report, thing->lab->host) : "?");
	else if (is(word, length, "status"))
		put_status(thing, out);
	else if (is(word, length, "credits"))
		add(out, "%s", thing->credits);
	else if (is(word, length, "cq"))
		add(out, "completion queue %u", thing->cq);
	else if (thing->verbs_qp) /* qp */
		add(out, "queue pair %u", thing->verbs_qp->handle);
	else if (thing->qp)
		add(out, "queue pair %u", thing->qp->thing.handle);
}

static void put_words(const struct report *report, const struct thing *thing, const char *words,
		      struct text *out)
{
	for (const char *open; (open = strchr(words, '{')); words = strchr(open, '}') + 1) {
		add(out, "%.*s", (int)(open - words), words);
		put_word(report, thing, open + 1, strcspn(open + 1, "}"), out);
	}
	add(out, "%s", words);
}

/* ---- the table ---- */

static bool holds(const struct row *row, const struct thing *thing)
{
	return (row->facts & ~thing->facts) == 0;
}

static void put_where(const struct report *report, const struct thing *thing, struct text *out)
{
	int i = 0;

	while (i < NUM_ROWS && !(rows[i].where && holds(&rows[i], thing)))
		i++;
	if (i < NUM_ROWS)
		put_words(report, thing, rows[i].where, out);
}

static const struct row failed = {AT(COMPLETED) | FAILED, NULL, NULL};

/*
 * Whether a task waits for what THING would bring, as far as is known. What has failed and
 * what was left half done is in the way of everybody.
 */
static bool is_waited_for(const struct report *report, const struct thing *thing)
{
	const struct srd_book_qp *peer = peer_of(report, thing->lab);
	const struct srd_task *task = report->run->tasks;

	if (thing->facts & (AT(SESSION) | AT(DOORBELL)) || holds(&failed, thing))
		return true;
	for (; task; task = task->next) {
		const struct srd_object *on = task->done || !task->waiting ? NULL : task->on;
		uint32_t handle;

		if (!on)
			continue;
		if (on->type == SRD_OBJECT_OP && thing->verbs_qp &&
		    ((const struct srd_op_object *)on)->qp &&
		    ((const struct srd_op_object *)on)->qp->verbs_qp->verbs == thing->verbs_qp)
			return true;
		if (on->type != SRD_OBJECT_CQ || on->gone)
			continue;
		handle = ((const struct srd_cq *)on->verbs)->handle;
		if (handle == thing->cq ||
		    (peer && peer->recv_cq && peer->recv_cq->thing.handle == handle))
			return true;
	}
	return false;
}

/* Whether THING explains more than what was found so far: note its sentence then. */
static void consider(struct report *report, const struct thing *thing)
{
	struct text cause = {report->cause, sizeof(report->cause), 0};
	bool waited;
	int i = 0;

	while (i < NUM_ROWS && !(rows[i].cause && holds(&rows[i], thing)))
		i++;
	if (i == NUM_ROWS)
		return;
	waited = is_waited_for(report, thing);
	if (report->waited > waited || (report->waited == waited && report->best <= i))
		return;
	report->waited = waited;
	report->best = i;
	put_words(report, thing, rows[i].cause, &cause);
}

/* ---- requests ---- */

/* Where the request of COMMAND is. False: it is neither with the device nor in a queue. */
static bool locate(struct report *report, struct thing *thing, struct srd_lab *command)
{
	struct srd_run *run = report->run;
	int ret = run->verbs->lab(run->verbs, command);

	thing->facts = IS_REQUEST;
	thing->lab = ret ? NULL : command;
	if (ret)
		return ret != ENOENT;
	thing->facts |= UINT64_C(1) << (16 + command->place) | UINT64_C(1) << (32 + command->why);
	if (command->status)
		thing->facts |= FAILED;
	return true;
}

static void set_qp(struct report *report, struct thing *thing, const struct srd_qp *qp)
{
	thing->verbs_qp = qp;
	thing->qp = book_qp(report, qp->handle);
	thing->cq = qp->send_cq->handle;
	if (thing->qp && thing->qp->state == SRD_QPS_ERR)
		thing->facts |= IN_ERROR;
	if (report->trouble == SRD_TROUBLE_TIME)
		thing->facts |= OVER_TIME;
}

static bool may_show(struct report *report)
{
	if (report->shown < MAX_SHOWN) {
		report->shown++;
		return true;
	}
	report->left++;
	return false;
}

static bool same_place(const struct srd_lab *a, const struct srd_lab *b)
{
	return a->place == b->place && a->why == b->why && a->status == b->status;
}

/* The requests of OP from FIRST on, as many as are at the same place, in one line. */
static uint32_t explain_requests(struct report *report, struct srd_op_object *op, uint32_t first,
				 uint32_t known)
{
	const struct srd_qp *qp = op->qp->verbs_qp->verbs;
	struct srd_lab command = {.kind = SRD_LAB_LOCATE,
				  .qp = op->qp->verbs_qp->verbs,
				  .wr_id = op->requests[first].wr_id};
	struct srd_lab next;
	struct thing thing, other;
	uint32_t last = first;

	if (!locate(report, &thing, &command))
		return first + 1; /* it was polled */
	set_qp(report, &thing, qp);
	while (last + 1 < known) {
		next = (struct srd_lab){.kind = SRD_LAB_LOCATE,
					.qp = command.qp,
					.wr_id = op->requests[last + 1].wr_id};
		if (!locate(report, &other, &next) || !same_place(&next, &command))
			break;
		last++;
	}
	if (op->num_requests == 1)
		snprintf(thing.name, sizeof(thing.name), "the %s of line %u", srd_op_name(op),
			 op->object.line);
	else
		snprintf(thing.name, sizeof(thing.name), "request %u of the %s of line %u",
			 first + 1, srd_op_name(op), op->object.line);
	consider(report, &thing);
	if (!may_show(report))
		return last + 1;
	if (last == first)
		add(&report->lines, "\n    request %u of %u (wr_id %llu): ", first + 1,
		    op->num_requests, (unsigned long long)op->requests[first].wr_id);
	else
		add(&report->lines,
		    "\n    requests %u to %u of %u (wr_id %llu to %llu): ", first + 1, last + 1,
		    op->num_requests, (unsigned long long)op->requests[first].wr_id,
		    (unsigned long long)op->requests[last].wr_id);
	put_where(report, &thing, &report->lines);
	return last + 1;
}

static const char *opcode_name(uint8_t opcode)
{
	static const char *const names[] = {
		[SRD_WR_RDMA_WRITE] = "write",       [SRD_WR_RDMA_WRITE_WITH_IMM] = "write_imm",
		[SRD_WR_RDMA_READ] = "read",         [SRD_WR_SEND] = "send",
		[SRD_WR_SEND_WITH_IMM] = "send_imm",
	};

	return opcode < sizeof(names) / sizeof(names[0]) && names[opcode] ? names[opcode]
									  : "request";
}

/* The last line was about more requests than one. */
static void end_alike(struct report *report)
{
	if (report->alike)
		add(&report->lines, ", and %d more like it", report->alike);
	report->alike = 0;
}

/* One request that a script posted by verbs alone; LAST is the one before it, or zero. */
static void explain_raw(struct report *report, struct srd_qp *qp, const struct srd_request *r,
			struct raw *last)
{
	struct raw raw = {
		.line = r->line,
		.opcode = r->opcode,
		.lab = {.kind = SRD_LAB_LOCATE,
			.flags = SRD_LAB_BY_ORDINAL,
			.qp = qp,
			.ordinal = r->ordinal},
	};
	struct thing thing;

	if (!locate(report, &thing, &raw.lab))
		return;
	if (last->line == raw.line && last->opcode == raw.opcode &&
	    same_place(&last->lab, &raw.lab)) {
		report->alike++;
		return;
	}
	end_alike(report);
	*last = raw;
	set_qp(report, &thing, qp);
	snprintf(thing.name, sizeof(thing.name), "the %s of line %u (wr_id %llu)",
		 opcode_name(r->opcode), r->line, (unsigned long long)r->wr_id);
	consider(report, &thing);
	if (!may_show(report))
		return;
	add(&report->lines, "\n  %s on queue pair %u of host %s: ", thing.name, qp->handle,
	    thing.qp ? host_name(report, thing.qp->thing.host) : "?");
	put_where(report, &thing, &report->lines);
}

static bool is_raw(const struct srd_request *r)
{
	return !r->op && !r->dropped;
}

/* In the order of posting, which the book's table does not have. */
static void explain_posted(struct report *report, const struct srd_book_qp *book, struct srd_qp *qp)
{
	struct raw last = {0};
	uint64_t after = 0; /* ordinal + 1 of the last one */

	for (;;) {
		const struct srd_request *next = NULL, *r = NULL;

		while ((r = srd_requests_next(&book->requests, r)))
			if (is_raw(r) && r->ordinal >= after &&
			    (!next || r->ordinal < next->ordinal))
				next = r;
		if (!next)
			break;
		after = next->ordinal + 1;
		if (report->shown >= MAX_SHOWN) { /* to sort the rest would take long */
			for (r = NULL; (r = srd_requests_next(&book->requests, r));)
				report->left += is_raw(r) && r->ordinal >= next->ordinal;
			break;
		}
		explain_raw(report, qp, next, &last);
	}
	end_alike(report);
}

/* What is built in it is not known before it ends. */
static void explain_session(struct report *report, const struct srd_book_qp *book,
			    const struct srd_qp *qp)
{
	struct thing thing = {.facts = AT(SESSION)};

	set_qp(report, &thing, qp);
	snprintf(thing.name, sizeof(thing.name), "the session that line %u started",
		 book->session_line);
	consider(report, &thing);
	add(&report->lines, "\n  %s on queue pair %u of host %s: ", thing.name, qp->handle,
	    host_name(report, book->thing.host));
	put_where(report, &thing, &report->lines);
}

/* ---- ops ---- */

static void set_credits(const struct report *report, const struct srd_op_object *op,
			struct thing *thing)
{
	const struct srd_book_op *known =
		report->book ? srd_book_op(report->book, op->number) : NULL;
	uint32_t limit = op->qp->config.max_send_wr;
	uint32_t busy = srd_observed_scheduler_ops.in_flight(op->qp->scheduler);
	uint64_t needed = known ? known->due : 0;
	struct text credits = {thing->credits, sizeof(thing->credits), 0};

	if (needed)
		add(&credits, "it needs %llu, and ", (unsigned long long)needed);
	add(&credits, "%u of %u are free (max_send_wr)", busy < limit ? limit - busy : 0, limit);
	if (!busy)
		thing->facts |= IDLE;
	if (thing->qp && busy > thing->qp->in_flight)
		thing->facts |= MISCOUNTED;
}

/* Whether OP is the first of its queue pair that its scheduler has queued. */
static bool is_head(const struct srd_run *run, const struct srd_op_object *op)
{
	const struct srd_op_object *o = run->ops;

	while (o != op && !(o->qp == op->qp && srd_op_is_queued(o)))
		o = o->next;
	return o == op;
}

/* Each of its rails is a queue pair of its own, with requests of its own. */
static void explain_transfer(struct report *report, const struct srd_op_object *op)
{
	struct srd_rails *rails = op->rails->rails;

	add(&report->lines,
	    "\n  the %s of line %u: over %u rails, of which %u are not lost; %u requests of theirs "
	    "are in flight",
	    srd_op_name(op), op->object.line, op->rails->num, srd_observed_rails_ops.alive(rails),
	    srd_observed_rails_ops.in_flight(rails));
}

static void explain_op(struct report *report, struct srd_op_object *op)
{
	struct srd_run *run = report->run;
	uint32_t known = op->num_requests < op->capacity ? op->num_requests : op->capacity;
	struct thing thing = {.facts = IS_OP};
	uint32_t missing = 0;

	if (op->rails) {
		explain_transfer(report, op);
		return;
	}
	if (op->qp->verbs_qp->gone) {
		add(&report->lines,
		    "\n  the %s of line %u: its queue pair was destroyed before it was answered",
		    srd_op_name(op), op->object.line);
		return;
	}
	set_qp(report, &thing, op->qp->verbs_qp->verbs);
	snprintf(thing.name, sizeof(thing.name), "the %s of line %u", srd_op_name(op),
		 op->object.line);
	if (srd_op_is_queued(op)) {
		thing.facts |= QUEUED;
		if (is_head(run, op)) {
			thing.facts |= HEAD;
			set_credits(report, op, &thing);
		}
	} else if (!op->num_requests) {
		thing.facts |= UNPOSTED;
	}
	for (uint32_t i = 0; i < known; i++) {
		struct srd_lab command = {.kind = SRD_LAB_LOCATE,
					  .qp = op->qp->verbs_qp->verbs,
					  .wr_id = op->requests[i].wr_id};
		struct thing request;

		missing += locate(report, &request, &command);
	}
	if (op->num_requests && !missing && op->num_requests <= op->capacity)
		thing.facts |= REAPED;
	consider(report, &thing);
	add(&report->lines, "\n  %s on queue pair %u of host %s: ", thing.name,
	    thing.verbs_qp->handle, op->qp->host->name);
	put_where(report, &thing, &report->lines);
	if (missing)
		add(&report->lines, "; %u completion%s of %u missing", missing,
		    missing == 1 ? "" : "s", op->num_requests);
	for (uint32_t i = 0; i < known && missing;)
		i = explain_requests(report, op, i, known);
}

/* ---- who waits ---- */

/* Whether TASK waits for one that waits, directly or not, for it. */
static bool in_circle(const struct srd_task *task)
{
	const struct srd_task *at = task;

	for (int i = 0; i < 1000; i++) {
		if (at->done || !at->waiting || !at->on || at->on->type != SRD_OBJECT_TASK)
			return false;
		at = (const struct srd_task *)at->on;
		if (at == task)
			return true;
	}
	return false;
}

/* The completion queue that nothing outstanding was found for. */
static void consider_queue(struct report *report, const struct srd_cq *cq)
{
	struct thing thing = {.facts = IS_QUEUE, .cq = cq->handle};
	struct srd_thing *all = report->book ? report->book->all : NULL;

	for (; all; all = all->next) {
		struct srd_book_qp *qp = (struct srd_book_qp *)all;

		if (all->kind != SRD_KIND_QP || !all->alive)
			continue;
		if (qp->recv_cq && qp->recv_cq->thing.handle == cq->handle && qp->receives) {
			thing.facts |= RECEIVES;
			thing.qp = qp;
		}
		if (((qp->recv_cq && qp->recv_cq->thing.handle == cq->handle) ||
		     (qp->send_cq && qp->send_cq->thing.handle == cq->handle)) &&
		    qp->state == SRD_QPS_ERR) {
			thing.facts |= IN_ERROR;
			thing.qp = qp;
		}
	}
	consider(report, &thing);
}

static void explain_task(struct report *report, const struct srd_task *task)
{
	struct thing thing = {.facts = IS_TASK};
	struct text *out = &report->lines;

	add(out, "\n  line %u waits for ", task->line);
	if (!task->on) {
		add(out, "a time to pass");
		return;
	}
	if (task->on->type == SRD_OBJECT_OP) {
		add(out, "the %s of line %u", srd_op_name((const struct srd_op_object *)task->on),
		    task->on->line);
	} else if (task->on->type == SRD_OBJECT_TASK) {
		add(out, "the task of line %u to end", task->on->line);
		if (in_circle(task))
			thing.facts |= CIRCLE;
		consider(report, &thing);
	} else if (task->on->type == SRD_OBJECT_COMP_CHANNEL) {
		add(out, "an event in a completion channel, of line %u", task->on->line);
	} else if (!task->on->gone) {
		const struct srd_cq *cq = task->on->verbs;

		add(out, "%u more completion%s in completion queue %u, of line %u", task->wanted,
		    task->wanted == 1 ? "" : "s", cq->handle, task->on->line);
		consider_queue(report, cq);
	}
}

static void explain_queue_pair(struct report *report, struct srd_object *object)
{
	struct srd_qp *qp = object->verbs;
	const struct srd_book_qp *book = book_qp(report, qp->handle);

	if (!book)
		return;
	explain_posted(report, book, qp);
	if (book->in_session)
		explain_session(report, book, qp);
	if (book->receives && report->trouble != SRD_TROUBLE_END)
		add(&report->lines,
		    "\n  queue pair %u of host %s: %u receive%s posted, and not used", qp->handle,
		    host_name(report, book->thing.host), book->receives,
		    book->receives == 1 ? "" : "s");
}

void srd_waits_explain(struct srd_run *run, enum srd_trouble trouble, char *text, size_t size)
{
	char lines[2800] = "";
	struct report report = {
		.run = run,
		.book = srd_rules_book(run->rules),
		.trouble = trouble,
		.lines = {lines, sizeof(lines), 0},
		.best = NUM_ROWS,
	};
	struct text out = {text, size, 0};
	struct srd_object *qp = run->objects[SRD_OBJECT_QP];

	for (struct srd_task *task = run->tasks; task; task = task->next)
		if (!task->done && task->waiting && (task->on || trouble != SRD_TROUBLE_END))
			explain_task(&report, task);
	for (struct srd_op_object *op = run->ops; op; op = op->next)
		if (!op->done)
			explain_op(&report, op);
	while (qp && qp->prev)
		qp = qp->prev;
	for (; qp; qp = qp->next)
		explain_queue_pair(&report, qp);
	text[0] = '\0';
	if (report.cause[0] && (trouble != SRD_TROUBLE_END || run->result->verdict == SRD_FAILED))
		add(&out, "\n  likely cause: %s", report.cause);
	if (report.lines.used == sizeof(lines) - 1) /* full: the last line is half a line */
		strcpy(strrchr(lines, '\n'), "\n  ...");
	add(&out, "%s", lines);
	if (report.left)
		add(&out, "\n  and %d more requests", report.left);
}
