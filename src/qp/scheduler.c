/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/ledger.h"
#include "qp/scheduler.h"
#include "verbs/alloc.h"

#define NONE UINT32_MAX

/* A round ends after so many stale entries, lest a device that never stops hold it. */
#define STALE_LIMIT 1024

#define MS UINT64_C(1000000) /* ns */

enum entry_state { FREE, QUEUED, POSTED, DONE };

/* One op, in a place that is used again. */
struct entry {
	struct srd_op op;
	uint64_t num_asked;      /* requests, as the queue pair says */
	uint64_t wr_id;          /* of the cause */
	struct srd_error *error; /* NULL: none, or no memory for it */
	enum entry_state state;
	uint32_t next;    /* in the one list that it is in */
	uint32_t pending; /* requests that are outstanding */
	uint32_t num_wr;
	int result;
	enum srd_wc_status status;
	uint32_t vendor_err;
};

struct list {
	uint32_t head;
	uint32_t tail;
	uint32_t count;
};

struct credit_scheduler {
	const struct srd_queue_pair_ops *ops;
	struct srd_queue_pair *qp;
	uint32_t max_send_wr;
	uint32_t in_flight;
	uint32_t orphans; /* in flight without an entry: there was no memory to adopt them */
	bool full;        /* the send queue refused the head: wait for a completion */
	int broken;       /* what ended the scheduler; 0: it lives */
	struct srd_ledger ledger;
	struct srd_wr_ids ids;
	struct entry *entries;
	uint32_t capacity;
	uint32_t free; /* first free entry */
	struct list queued;
	struct list done;
	/* the back-off policy, all in ns */
	uint64_t poll_window;
	uint64_t idle_since;
	uint64_t next_poll;
	uint32_t idle_step;
	bool idle;
};

static struct credit_scheduler *self(struct srd_scheduler *scheduler)
{
	return (struct credit_scheduler *)scheduler;
}

static void list_add(struct credit_scheduler *s, struct list *list, uint32_t at)
{
	s->entries[at].next = NONE;
	if (list->head == NONE)
		list->head = at;
	else
		s->entries[list->tail].next = at;
	list->tail = at;
	list->count++;
}

static uint32_t list_take(struct credit_scheduler *s, struct list *list)
{
	uint32_t at = list->head;

	list->head = s->entries[at].next;
	list->count--;
	return at;
}

/* At the head again. */
static void list_put_back(struct credit_scheduler *s, struct list *list, uint32_t at)
{
	s->entries[at].next = list->head;
	if (list->head == NONE)
		list->tail = at;
	list->head = at;
	list->count++;
}

static int entries_grow(struct credit_scheduler *s)
{
	uint32_t capacity = s->capacity ? 2 * s->capacity : 32;
	struct entry *entries;

	if (capacity < s->capacity)
		return -ENOMEM;
	entries = srd_reallocarray(s->entries, capacity, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = s->capacity; i < capacity; i++) {
		entries[i].state = FREE;
		entries[i].next = i + 1 < capacity ? i + 1 : NONE;
	}
	s->entries = entries;
	s->free = s->capacity;
	s->capacity = capacity;
	return 0;
}

/* An entry without an op, in no list; NONE: out of memory. */
static uint32_t entry_alloc(struct credit_scheduler *s)
{
	struct entry *entry;
	uint32_t at;

	if (s->free == NONE && entries_grow(s))
		return NONE;
	at = s->free;
	entry = &s->entries[at];
	s->free = entry->next;
	entry->wr_id = 0;
	entry->error = NULL;
	entry->num_wr = 0;
	entry->result = 0;
	entry->status = SRD_WC_SUCCESS;
	entry->vendor_err = 0;
	return at;
}

static void entry_free(struct credit_scheduler *s, uint32_t at)
{
	if (s->entries[at].error)
		srd_free(s->entries[at].error);
	s->entries[at].state = FREE;
	s->entries[at].next = s->free;
	s->free = at;
}

static void entry_done(struct credit_scheduler *s, uint32_t at)
{
	s->entries[at].state = DONE;
	list_add(s, &s->done, at);
}

/* The op ends without a completion as its cause; ERROR may be kept only by its code. */
static void entry_fail(struct credit_scheduler *s, uint32_t at, int result,
		       const struct srd_error *error)
{
	struct entry *entry = &s->entries[at];

	entry->result = result;
	if (error->message[0])
		entry->error = srd_malloc(sizeof(*error));
	if (entry->error)
		*entry->error = *error;
	entry_done(s, at);
}

static uint64_t transferred(const struct srd_op *op)
{
	switch (op->kind) {
	case SRD_OP_PUT:
		return op->local.size;
	case SRD_OP_GET:
		return op->remote.size;
	}
	return 0;
}

static const char *kind_name(enum srd_op_kind kind)
{
	return kind == SRD_OP_PUT ? "put" : "get";
}

static void too_large(struct credit_scheduler *s, uint32_t at)
{
	const struct entry *entry = &s->entries[at];
	struct srd_error error;

	srd_error_set(&error, -E2BIG,
		      "%s is too large: %" PRIu64 " bytes between local 0x%" PRIx64
		      " and remote 0x%" PRIx64 " are %" PRIu64 " requests of at most %" PRIu64
		      " bytes, more than max_send_wr %u",
		      kind_name(entry->op.kind), transferred(&entry->op), entry->op.local.addr,
		      entry->op.remote.addr, entry->num_asked, s->ops->max_msg_size(s->qp),
		      s->max_send_wr);
	entry_fail(s, at, -E2BIG, &error);
}

/*
 * Room for the ids of a post and for their places in the ledger, before anything is
 * posted. There is room for twice what was asked, so that a queue pair that posts more
 * than it said is found out by what it did.
 */
static int ids_reserve(struct credit_scheduler *s, uint64_t num_asked, struct srd_error *error)
{
	uint64_t capacity = num_asked < 32 ? 64 : 2 * num_asked;
	uint64_t *id;

	if (capacity > s->ids.capacity) {
		if (capacity > UINT32_MAX)
			capacity = UINT32_MAX;
		id = srd_reallocarray(s->ids.id, capacity, sizeof(*id));
		if (!id)
			goto no_memory;
		s->ids.id = id;
		s->ids.capacity = (uint32_t)capacity;
	}
	if (!srd_ledger_reserve(&s->ledger, (uint64_t)s->in_flight + s->ids.capacity))
		return 0;

no_memory:
	return srd_error_set(error, -ENOMEM, "out of memory for the ids of %" PRIu64 " requests",
			     num_asked);
}

/* The requests of IDS are outstanding for the op at AT from now on. */
static inline void posted(struct credit_scheduler *s, uint32_t at, const struct srd_wr_ids *ids)
{
	struct entry *entry = &s->entries[at];
	uint32_t count = ids->count;

	for (uint32_t i = 0; i < count; i++)
		srd_ledger_put(&s->ledger, ids->id[i], at);
	s->in_flight += count;
	entry->state = POSTED;
	entry->pending = count;
	entry->num_wr = count;
	/* Some queue pairs post nothing for an empty transfer: it is done, not waiting. */
	if (!count)
		entry_done(s, at);
}

/* The op has failed, and is answered once what was posted of it is back. */
static void posted_in_part(struct credit_scheduler *s, uint32_t at, int result,
			   const struct srd_error *error)
{
	struct entry *entry = &s->entries[at];

	entry->result = result;
	entry->error = srd_malloc(sizeof(*error));
	if (entry->error)
		*entry->error = *error;
	posted(s, at, &s->ids);
}

static int ops_call(struct credit_scheduler *s, const struct srd_op *op, struct srd_error *error)
{
	switch (op->kind) {
	case SRD_OP_PUT:
		return op->peer ? s->ops->put_to(s->qp, op->peer, &op->remote, &op->local, &s->ids,
						 error)
				: s->ops->put(s->qp, &op->remote, &op->local, &s->ids, error);
	case SRD_OP_GET:
		return op->peer ? s->ops->get_from(s->qp, op->peer, &op->local, &op->remote,
						   &s->ids, error)
				: s->ops->get(s->qp, &op->local, &op->remote, &s->ids, error);
	}
	return srd_error_set(error, -EINVAL, "an op of kind %u is neither put nor get", op->kind);
}

static int op_post(struct credit_scheduler *s, const struct srd_op *op, struct srd_error *error)
{
	int rc = ops_call(s, op, error);

	if (rc && !srd_queue_pair_is_one_by_one(s->ops))
		s->ids.count = 0;
	if (s->ids.count <= s->ids.capacity)
		return rc;
	rc = srd_error_set(error, -EPROTO,
			   "the queue pair returned %u ids where there is room for %u",
			   s->ids.count, s->ids.capacity);
	s->ids.count = 0;
	return rc;
}

/*
 * Post the op at AT, which is in no list, or answer it. False where it must wait, and all
 * that came later with it.
 */
static bool op_try(struct credit_scheduler *s, uint32_t at)
{
	struct entry *entry = &s->entries[at];
	struct srd_error error;
	int rc;

	if (entry->num_asked > s->max_send_wr) {
		too_large(s, at);
		return true;
	}
	/* In 64 bits: the sum of two depths can be more than 32 hold. */
	if (s->full || s->in_flight + entry->num_asked > s->max_send_wr)
		return false;
	error.message[0] = 0;
	s->ids.count = 0; /* those of the op before it are not its own, even where it has none */
	rc = ids_reserve(s, entry->num_asked, &error);
	if (!rc) {
		rc = op_post(s, &entry->op, &error);
		s->full = rc == -ENOMEM && s->in_flight && !s->ids.count;
	}
	if (s->full)
		return false;
	if (!rc)
		posted(s, at, &s->ids);
	else if (!s->ids.count)
		entry_fail(s, at, rc, &error);
	else
		posted_in_part(s, at, rc, &error);
	return true;
}

static void line_post(struct credit_scheduler *s)
{
	while (s->queued.head != NONE) {
		uint32_t at = list_take(s, &s->queued);

		if (op_try(s, at))
			continue;
		list_put_back(s, &s->queued, at);
		break;
	}
}

/* A flush is never the reason where another request of the op failed for one of its own. */
static bool better_cause(const struct entry *entry, enum srd_wc_status status)
{
	if (status == SRD_WC_SUCCESS)
		return false;
	return !entry->result ||
	       (entry->status == SRD_WC_WR_FLUSH_ERR && status != SRD_WC_WR_FLUSH_ERR);
}

/* False: the completion is none of ours. */
static bool completion_take(struct credit_scheduler *s, const struct srd_completion *completion)
{
	uint32_t at = srd_ledger_take(&s->ledger, completion->wr_id);
	struct entry *entry;

	if (at == SRD_LEDGER_NONE && !s->orphans)
		return false;
	s->in_flight--;
	s->full = false;
	if (at == SRD_LEDGER_NONE) {
		s->orphans--;
		return true;
	}
	entry = &s->entries[at];
	if (better_cause(entry, completion->status)) {
		entry->result = -EIO;
		entry->wr_id = completion->wr_id;
		entry->status = completion->status;
		entry->vendor_err = completion->vendor_err;
	}
	if (!--entry->pending)
		entry_done(s, at);
	return true;
}

/*
 * Nobody will poll any more. Whoever waits is told, instead of waiting for ever: first the
 * ops that are posted, then those that are queued, in the order of the line. Not with the
 * errno of the poll, which would pass for that of one of their requests.
 */
static void scheduler_end(struct credit_scheduler *s, const struct srd_error *error)
{
	struct srd_error why;

	s->broken = error->code;
	srd_error_set(&why, -ECANCELED, "the scheduler ended: %s",
		      error->message[0] ? error->message : strerror(-error->code));
	for (uint32_t at = 0; at < s->capacity; at++)
		if (s->entries[at].state == POSTED)
			entry_fail(s, at, -ECANCELED, &why);
	while (s->queued.head != NONE)
		entry_fail(s, list_take(s, &s->queued), -ECANCELED, &why);
}

static int ended(const struct credit_scheduler *s, int code, struct srd_error *error)
{
	return srd_error_set(error, code, "the scheduler ended after a poll failed: %s",
			     strerror(-s->broken));
}

/* Poll until empty; only while requests are outstanding. */
static int completions_reap(struct credit_scheduler *s, struct srd_error *error)
{
	struct srd_completion completion;
	uint32_t stale = 0;
	int reaped = 0;

	while (s->in_flight && stale < STALE_LIMIT) {
		int n = s->ops->poll(s->qp, SRD_QUEUE_SEND, &completion, error);

		if (n == 0)
			break;
		if (n == -EINVAL) {
			stale++;
			continue;
		}
		if (n < 0) {
			error->code = n;
			return n;
		}
		if (completion_take(s, &completion)) {
			reaped++;
			continue;
		}
		stale++;
		srd_error_set(error, -ENOENT,
			      "a completion with id %" PRIu64
			      " (%s), which no outstanding request has",
			      completion.wr_id, srd_wc_status_str(completion.status));
	}
	return reaped;
}

static int credit_create(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
			 const struct srd_scheduler_config *config, struct srd_scheduler **out,
			 struct srd_error *error)
{
	struct credit_scheduler *s;

	if (!config->max_send_wr)
		return srd_error_set(error, -EINVAL,
				     "max_send_wr is 0: no op could ever be posted");
	s = srd_calloc(1, sizeof(*s));
	if (!s)
		return srd_error_set(error, -ENOMEM, "out of memory for a scheduler");
	s->ops = ops;
	s->qp = qp;
	s->max_send_wr = config->max_send_wr;
	s->poll_window = config->poll_window;
	s->free = NONE;
	s->queued.head = NONE;
	s->done.head = NONE;
	*out = (struct srd_scheduler *)s;
	return 0;
}

static void credit_destroy(struct srd_scheduler *scheduler)
{
	struct credit_scheduler *s = self(scheduler);

	if (!s)
		return;
	for (uint32_t at = 0; at < s->capacity; at++)
		if (s->entries[at].state != FREE)
			srd_free(s->entries[at].error);
	srd_free(s->entries);
	srd_free(s->ids.id);
	srd_ledger_release(&s->ledger);
	srd_free(s);
}

static int credit_submit(struct srd_scheduler *scheduler, const struct srd_op *op,
			 struct srd_error *error)
{
	struct credit_scheduler *s = self(scheduler);
	uint32_t at = entry_alloc(s);

	if (at == NONE)
		return srd_error_set(error, -ENOMEM, "out of memory for a %s of %" PRIu64 " bytes",
				     kind_name(op->kind), transferred(op));
	s->entries[at].op = *op;
	s->entries[at].num_asked = s->ops->num_requests(s->qp, op->kind, transferred(op));
	s->entries[at].state = QUEUED;
	if (s->broken) {
		struct srd_error why;

		entry_fail(s, at, ended(s, -ECANCELED, &why), &why);
		return 0;
	}
	if (op->peer && !srd_queue_pair_has_peers(s->ops)) {
		struct srd_error why;

		entry_fail(s, at,
			   srd_error_set(&why, -EOPNOTSUPP,
					 "a %s names peer %u, and queue pair %s has one peer only",
					 kind_name(op->kind), op->peer, s->ops->name),
			   &why);
		return 0;
	}
	if (s->queued.head != NONE || !op_try(s, at))
		list_add(s, &s->queued, at);
	return 0;
}

static int credit_progress(struct srd_scheduler *scheduler, struct srd_error *error)
{
	struct credit_scheduler *s = self(scheduler);
	struct srd_error local;
	int reaped;

	if (!error)
		error = &local;
	if (s->broken)
		return ended(s, s->broken, error);
	error->code = 0;
	error->message[0] = 0;
	reaped = completions_reap(s, error);
	if (reaped == -ENOMEM)
		return reaped;
	if (reaped < 0) {
		scheduler_end(s, error);
		return reaped;
	}
	if (reaped)
		s->idle = false;
	line_post(s);
	return reaped;
}

static int credit_result(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	struct credit_scheduler *s = self(scheduler);
	const struct entry *entry;
	uint32_t at;

	if (s->done.head == NONE)
		return 0;
	at = list_take(s, &s->done);
	entry = &s->entries[at];
	out->cookie = entry->op.cookie;
	out->result = entry->result;
	out->wr_id = entry->wr_id;
	out->status = entry->status;
	out->vendor_err = entry->vendor_err;
	out->num_wr = entry->num_wr;
	out->error.code = entry->result;
	out->error.message[0] = 0;
	if (entry->error)
		out->error = *entry->error;
	else if (entry->status != SRD_WC_SUCCESS && entry->vendor_err)
		srd_error_set(&out->error, entry->result, "request %" PRIu64 " failed with %s (%s)",
			      entry->wr_id, srd_wc_status_str(entry->status),
			      srd_efa_status_str(entry->vendor_err));
	else if (entry->status != SRD_WC_SUCCESS)
		srd_error_set(&out->error, entry->result, "request %" PRIu64 " failed with %s",
			      entry->wr_id, srd_wc_status_str(entry->status));
	else if (entry->result)
		srd_error_set(&out->error, entry->result, "%s", strerror(-entry->result));
	entry_free(s, at);
	return 1;
}

static uint32_t credit_in_flight(struct srd_scheduler *scheduler)
{
	return self(scheduler)->in_flight;
}

static uint32_t credit_queued(struct srd_scheduler *scheduler)
{
	return self(scheduler)->queued.count;
}

static int credit_adopt(struct srd_scheduler *scheduler, const struct srd_wr_ids *ids,
			uint64_t cookie, struct srd_error *error)
{
	struct credit_scheduler *s = self(scheduler);
	uint32_t at;

	if (s->broken)
		return ended(s, s->broken, error);
	if (srd_ledger_reserve(&s->ledger, (uint64_t)s->in_flight + ids->count))
		goto no_memory;
	at = entry_alloc(s);
	if (at == NONE)
		goto no_memory;
	s->entries[at].op.cookie = cookie;
	posted(s, at, ids);
	return 0;

no_memory:
	/* They are posted all the same: a credit that is not counted would be given out twice. */
	s->orphans += ids->count;
	s->in_flight += ids->count;
	return srd_error_set(error, -ENOMEM, "out of memory for the ids of %u requests",
			     ids->count);
}

/*
 * Without a window a poll is always worth while. With one, so it is until nothing has
 * completed for as long; then after 1, 2, 4, 8, 10, 10, ... ms. Asking again before that
 * time gives what is left of it. The stretch begins when this is first asked after a
 * completion.
 */
static uint64_t credit_poll_delay(struct srd_scheduler *scheduler, uint64_t now)
{
	struct credit_scheduler *s = self(scheduler);
	uint64_t delay;

	if (!s->poll_window)
		return 0;
	if (!s->idle) {
		s->idle = true;
		s->idle_since = now;
		s->idle_step = 0;
		s->next_poll = now;
	}
	if (now - s->idle_since < s->poll_window)
		return 0;
	if (now < s->next_poll)
		return s->next_poll - now;
	delay = s->idle_step < 4 ? MS << s->idle_step++ : 10 * MS;
	s->next_poll = now + delay;
	return delay;
}

const struct srd_scheduler_ops srd_credit_scheduler_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "credit",
	.create = credit_create,
	.destroy = credit_destroy,
	.submit = credit_submit,
	.progress = credit_progress,
	.result = credit_result,
	.in_flight = credit_in_flight,
	.queued = credit_queued,
	.adopt = credit_adopt,
	.poll_delay = credit_poll_delay,
	.peers = true,
};
