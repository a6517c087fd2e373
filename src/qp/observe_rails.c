/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/queue.h>

#include "qp/observe.h"
#include "qp/observe_rails.h"
#include "verbs/alloc.h"

/* A transfer without an answer. */
struct watched {
	LIST_ENTRY(watched) link;
	uint32_t number;
	uint64_t cookie;
};

struct observed_rails {
	const struct srd_rails_ops *ops;
	struct srd_rails *rails;
	struct srd_stream *stream;
	uint32_t id;
	LIST_HEAD(, watched) watched;
};

static struct observed_rails *self(struct srd_rails *rails)
{
	return (struct observed_rails *)rails;
}

static void emit(struct observed_rails *r, struct srd_event *event, enum srd_event_type type,
		 uint32_t number)
{
	uint32_t outer = r->stream->op;

	event->type = (uint16_t)type;
	event->source = SRD_SOURCE_ENGINE;
	r->stream->op = number;
	srd_stream_emit(r->stream, event);
	r->stream->op = outer;
}

static void emit_end(struct observed_rails *r, const struct srd_rails_result *result,
		     uint32_t number)
{
	struct srd_ev_transfer_end event = {
		.rails = r->id,
		.result = (uint32_t)result->result,
		.num_stripes = result->num_stripes,
		.num_moved = result->num_moved,
	};

	if (result->result) {
		event.status = result->status;
		event.vendor_err = result->vendor_err;
	}
	emit(r, &event.ev, SRD_EV_TRANSFER_END, number);
}

static void forget(struct watched *w)
{
	LIST_REMOVE(w, link);
	srd_free(w);
}

static int observed_submit(struct srd_rails *rails, const struct srd_rails_transfer *transfer,
			   struct srd_error *error)
{
	struct observed_rails *r = self(rails);
	struct srd_rails_transfer below = *transfer;
	struct srd_ev_transfer_begin event = {
		.rails = r->id,
		.kind = transfer->kind,
		.local_addr = transfer->local_addr,
		.local_size = transfer->local_size,
		.remote_addr = transfer->remote_addr,
		.remote_size = transfer->remote_size,
	};
	struct watched *w = srd_calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return srd_error_set(error, -ENOMEM, "out of memory for an observed transfer");
	w->number = ++r->stream->num_ops;
	w->cookie = transfer->cookie;
	LIST_INSERT_HEAD(&r->watched, w, link);
	emit(r, &event.ev, SRD_EV_TRANSFER_BEGIN, w->number);
	below.cookie = w->number;
	rc = r->ops->submit(r->rails, &below, error);
	if (rc) {
		emit_end(r, &(struct srd_rails_result){.result = rc}, w->number);
		forget(w);
	}
	return rc;
}

static int observed_progress(struct srd_rails *rails, struct srd_error *error)
{
	return self(rails)->ops->progress(self(rails)->rails, error);
}

/* An answer to nothing that is outstanding is an event and goes no further. */
static int observed_result(struct srd_rails *rails, struct srd_rails_result *out)
{
	struct observed_rails *r = self(rails);
	struct watched *w;

	while (r->ops->result(r->rails, out)) {
		emit_end(r, out, (uint32_t)out->cookie);
		LIST_FOREACH(w, &r->watched, link)
		if (w->number == out->cookie)
			break;
		if (!w)
			continue;
		out->cookie = w->cookie;
		forget(w);
		return 1;
	}
	return 0;
}

static void observed_destroy(struct srd_rails *rails)
{
	struct observed_rails *r = self(rails);
	struct srd_ev_rails_close event = {.rails = 0};

	if (!r)
		return;
	event.rails = r->id;
	r->ops->destroy(r->rails);
	emit(r, &event.ev, SRD_EV_RAILS_CLOSE, r->stream->op);
	while (!LIST_EMPTY(&r->watched))
		forget(LIST_FIRST(&r->watched));
	srd_free(r);
}

static uint32_t observed_in_flight(struct srd_rails *rails)
{
	return self(rails)->ops->in_flight(self(rails)->rails);
}

static uint32_t observed_queued(struct srd_rails *rails)
{
	return self(rails)->ops->queued(self(rails)->rails);
}

static uint32_t observed_alive(struct srd_rails *rails)
{
	return self(rails)->ops->alive(self(rails)->rails);
}

const struct srd_rails_ops srd_observed_rails_ops = {
	.name = "observed",
	.destroy = observed_destroy,
	.submit = observed_submit,
	.progress = observed_progress,
	.result = observed_result,
	.in_flight = observed_in_flight,
	.queued = observed_queued,
	.alive = observed_alive,
};

static void emit_open(struct observed_rails *r, const struct srd_rail *rails, uint32_t num_rails,
		      const struct srd_rails_config *config)
{
	struct srd_ev_rails_open event = {
		.rails = r->id,
		.num_rails = num_rails,
		.num_peer_rails = config->num_peer_rails,
		.max_in_flight = config->max_in_flight,
		.stripe = config->stripe,
	};

	emit(r, &event.ev, SRD_EV_RAILS_OPEN, r->stream->op);
	for (uint32_t i = 0; i < num_rails; i++) {
		const struct srd_qp *qp = rails[i].ops->verbs_qp(rails[i].qp);
		struct srd_ev_rails_join join = {.rails = r->id, .rail = i + 1};

		if (!qp)
			continue;
		join.ev.object = qp->handle;
		join.ev.host = (uint8_t)qp->context->host;
		emit(r, &join.ev, SRD_EV_RAILS_JOIN, r->stream->op);
	}
}

int srd_observed_rails_create(const struct srd_rails_ops *ops, struct srd_stream *stream,
			      const struct srd_rail *rails, uint32_t num_rails,
			      const struct srd_rails_config *config, struct srd_rails **out,
			      struct srd_error *error)
{
	struct observed_rails *r = srd_calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return srd_error_set(error, -ENOMEM, "out of memory for observed rails");
	rc = ops->create(rails, num_rails, config, &r->rails, error);
	if (rc) {
		srd_free(r);
		return rc;
	}
	r->ops = ops;
	r->stream = stream;
	r->id = ++stream->num_ops;
	LIST_INIT(&r->watched);
	emit_open(r, rails, num_rails, config);
	*out = (struct srd_rails *)r;
	return 0;
}
