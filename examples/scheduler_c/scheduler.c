/* SPDX-License-Identifier: MIT */
/*
 * A small credit scheduler: first in, first out; an op is posted when all of its requests
 * fit into the credits, and answered when the last of them is reaped.
 *
 *     cc -shared -fPIC $(pkg-config --cflags srdlab-plugin) -o libmine.so scheduler.c
 *     srdlab run --scheduler ./libmine.so scripts/scenarios
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <srdlab/plugin.h>

struct entry {
	struct entry *next;
	struct srd_op op;
	struct srd_op_result result;
	uint64_t asked;   /* requests, as the queue pair says */
	uint64_t *ids;    /* of its requests; those that are outstanding come first */
	uint32_t pending; /* so many */
};

struct list {
	struct entry *first, **end;
};

struct srd_scheduler {
	const struct srd_queue_pair_ops *ops;
	struct srd_queue_pair *qp;
	uint32_t credits;
	uint32_t in_flight;
	uint32_t num_queued;
	uint32_t lost; /* requests in flight for whose op there was no memory */
	bool full;     /* the send queue refused the head: wait for a completion */
	int ended;     /* the poll's errno that ended it */
	struct list queued, posted, done;
};

static void add(struct list *list, struct entry *entry)
{
	entry->next = NULL;
	*list->end = entry;
	list->end = &entry->next;
}

/* Take out what *AT points to. */
static struct entry *take(struct list *list, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	if (list->end == &entry->next)
		list->end = at;
	return entry;
}

static void drop(struct entry *entry)
{
	free(entry->ids);
	free(entry);
}

static struct entry *make(uint64_t cookie, uint64_t ids)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->result.cookie = cookie;
	entry->ids = ids <= UINT32_MAX ? calloc(ids, sizeof(*entry->ids)) : NULL;
	if (ids && !entry->ids) {
		free(entry);
		return NULL;
	}
	return entry;
}

static int create(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
		  const struct srd_scheduler_config *config, struct srd_scheduler **out,
		  struct srd_error *error)
{
	struct srd_scheduler *s = calloc(1, sizeof(*s));

	if (!s)
		return srd_plugin_error(error, -ENOMEM, "out of memory");
	s->ops = ops;
	s->qp = qp;
	s->credits = config->max_send_wr;
	s->queued.end = &s->queued.first;
	s->posted.end = &s->posted.first;
	s->done.end = &s->done.first;
	*out = s;
	return 0;
}

static void destroy(struct srd_scheduler *s)
{
	if (!s)
		return;
	while (s->queued.first)
		drop(take(&s->queued, &s->queued.first));
	while (s->posted.first)
		drop(take(&s->posted, &s->posted.first));
	while (s->done.first)
		drop(take(&s->done, &s->done.first));
	free(s);
}

static void answer(struct srd_scheduler *s, struct entry *entry, int result)
{
	entry->result.result = result;
	if (result && !entry->result.error.code)
		srd_plugin_error(&entry->result.error, result, "%s", strerror(-result));
	add(&s->done, entry);
}

static int post(struct srd_scheduler *s, struct entry *entry)
{
	const struct srd_op *op = &entry->op;
	struct srd_wr_ids ids = {.id = entry->ids, .capacity = (uint32_t)entry->asked};
	struct srd_error *error = &entry->result.error;
	int rc = op->kind == SRD_OP_PUT ? s->ops->put(s->qp, &op->remote, &op->local, &ids, error)
					: s->ops->get(s->qp, &op->local, &op->remote, &ids, error);

	if (rc)
		return rc;
	entry->pending = entry->result.num_wr = ids.count;
	s->in_flight += ids.count;
	return 0;
}

/* What credits allow, strictly in the order of the line. */
static void post_line(struct srd_scheduler *s)
{
	struct entry *head;

	while ((head = s->queued.first)) {
		int rc;

		/* In 64 bits: the sum may be more than 32 hold. */
		if (s->full || s->in_flight + head->asked > s->credits)
			return;
		rc = post(s, head);
		s->full = rc == -ENOMEM && s->in_flight;
		if (s->full) {
			/* Direct puts fill the send queue: after the next completion. */
			head->result.error.code = 0;
			return;
		}
		s->num_queued--;
		take(&s->queued, &s->queued.first);
		if (rc || !head->pending)
			answer(s, head, rc);
		else
			add(&s->posted, head);
	}
}

static int submit(struct srd_scheduler *s, const struct srd_op *op, struct srd_error *error)
{
	/* A get moves what there is on the other side. */
	uint64_t size = op->kind == SRD_OP_PUT ? op->local.size : op->remote.size;
	uint64_t asked = s->ops->num_requests(s->qp, op->kind, size);
	struct entry *entry = make(op->cookie, asked > s->credits ? 0 : asked);

	if (!entry)
		return srd_plugin_error(error, -ENOMEM, "out of memory for an op");
	entry->op = *op;
	entry->asked = asked;
	if (s->ended) {
		answer(s, entry, -ECANCELED);
	} else if (asked > s->credits) {
		srd_plugin_error(&entry->result.error, -E2BIG,
				 "%llu requests are more than %u credits",
				 (unsigned long long)asked, s->credits);
		answer(s, entry, -E2BIG);
	} else {
		add(&s->queued, entry);
		s->num_queued++;
		post_line(s);
	}
	return 0;
}

/* The cause is the first error that is no flush; a flush only where there is nothing else. */
static void note(struct srd_op_result *result, const struct srd_completion *completion)
{
	if (completion->status == SRD_WC_SUCCESS)
		return;
	if (result->result &&
	    (result->status != SRD_WC_WR_FLUSH_ERR || completion->status == SRD_WC_WR_FLUSH_ERR))
		return;
	result->result = -EIO;
	result->wr_id = completion->wr_id;
	result->status = completion->status;
	result->vendor_err = completion->vendor_err;
}

/* True: it was the completion of a request that is outstanding. */
static bool credit(struct srd_scheduler *s, const struct srd_completion *completion)
{
	for (struct entry **at = &s->posted.first; *at; at = &(*at)->next) {
		struct entry *entry = *at;

		for (uint32_t i = 0; i < entry->pending; i++) {
			if (entry->ids[i] != completion->wr_id)
				continue;
			entry->ids[i] = entry->ids[--entry->pending];
			note(&entry->result, completion);
			if (!entry->pending)
				answer(s, take(&s->posted, at), entry->result.result);
			return true;
		}
	}
	if (!s->lost)
		return false;
	s->lost--;
	return true;
}

static void end(struct srd_scheduler *s, int rc)
{
	s->ended = rc;
	while (s->posted.first)
		answer(s, take(&s->posted, &s->posted.first), -ECANCELED);
	while (s->queued.first)
		answer(s, take(&s->queued, &s->queued.first), -ECANCELED);
	s->num_queued = 0;
}

static int progress(struct srd_scheduler *s, struct srd_error *error)
{
	struct srd_completion completion;
	int reaped = 0, strays = 0;

	if (s->ended)
		return srd_plugin_error(error, s->ended, "it ended after a poll failed");
	while (s->in_flight && strays < 1000) {
		int n = s->ops->poll(s->qp, SRD_QUEUE_SEND, &completion, error);

		if (n == 0)
			break;
		if (n < 0 && n != -EINVAL) {
			if (n != -ENOMEM)
				end(s, n);
			return n;
		}
		if (n > 0 && credit(s, &completion)) {
			s->in_flight--;
			s->full = false;
			reaped++;
			continue;
		}
		strays++;
		if (n > 0)
			srd_plugin_error(error, -ENOENT, "a completion with the unknown id %llu",
					 (unsigned long long)completion.wr_id);
	}
	post_line(s);
	return reaped;
}

static int result(struct srd_scheduler *s, struct srd_op_result *out)
{
	struct entry *entry = s->done.first;

	if (!entry)
		return 0;
	take(&s->done, &s->done.first);
	*out = entry->result;
	drop(entry);
	return 1;
}

static uint32_t in_flight(struct srd_scheduler *s)
{
	return s->in_flight;
}

static uint32_t queued(struct srd_scheduler *s)
{
	return s->num_queued;
}

static int adopt(struct srd_scheduler *s, const struct srd_wr_ids *ids, uint64_t cookie,
		 struct srd_error *error)
{
	struct entry *entry = make(cookie, ids->count);

	s->in_flight += ids->count;
	if (!entry) {
		s->lost += ids->count;
		return srd_plugin_error(error, -ENOMEM, "out of memory for an op");
	}
	memcpy(entry->ids, ids->id, ids->count * sizeof(*ids->id));
	entry->pending = entry->result.num_wr = ids->count;
	if (ids->count)
		add(&s->posted, entry);
	else
		answer(s, entry, 0);
	return 0;
}

static uint64_t poll_delay(struct srd_scheduler *s, uint64_t now)
{
	return 0;
}

const struct srd_scheduler_ops *srdlab_scheduler_v1(void)
{
	static const struct srd_scheduler_ops ops = {
		.abi = SRD_QUEUE_PAIR_ABI,
		.name = "example in C",
		.create = create,
		.destroy = destroy,
		.submit = submit,
		.progress = progress,
		.result = result,
		.in_flight = in_flight,
		.queued = queued,
		.adopt = adopt,
		.poll_delay = poll_delay,
	};

	return &ops;
}
