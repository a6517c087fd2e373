/* SPDX-License-Identifier: MIT */
/*
 * Another order than that of time: whoever chooses is shown all messages that are under way,
 * and the one that is chosen trades its place in time with the first. So a run has the same
 * moments whatever the order is.
 */
#include "state.h"

/* Messages and answers: their order is the fabric's to choose, that of timers is not. */
static bool can_choose(const struct srd_model *m, uint32_t payload)
{
	const struct srd_request *r = &m->request[payload];

	if (payload & SRD_EVENT_PACKET)
		return false;
	return r->phase == SRD_PHASE_SENT || r->phase == SRD_PHASE_ANSWERED;
}

static bool before(const struct srd_heap_event *a, const struct srd_heap_event *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

struct candidates {
	struct srd_heap_event *list[SRD_MAX_CHOICES]; /* the earliest first */
	uint32_t count;
};

static void add(struct candidates *c, struct srd_heap_event *event)
{
	uint32_t at = c->count;

	if (c->count == SRD_MAX_CHOICES) {
		if (!before(event, c->list[--at]))
			return;
	} else {
		c->count++;
	}
	for (; at > 0 && before(event, c->list[at - 1]); at--)
		c->list[at] = c->list[at - 1];
	c->list[at] = event;
}

static void gather(struct srd_model *m, struct candidates *c)
{
	c->count = 0;
	for (uint32_t i = 0; i < srd_heap_count(m->heap); i++) {
		struct srd_heap_event *event = srd_heap_at(m->heap, i);

		if (can_choose(m, (uint32_t)event->order))
			add(c, event);
	}
}

static void describe(const struct srd_model *m, uint32_t payload, struct srd_choice *out)
{
	const struct srd_request *r = &m->request[payload];

	*out = (struct srd_choice){
		.qp = m->qp[r->qp].tag,
		.dest_host = r->dest_host,
		.dest_qpn = r->dest_qpn,
		.opcode = r->opcode,
		.arrives = r->phase == SRD_PHASE_SENT,
		.ordinal = r->ordinal,
		.local_addr = r->num_sge ? r->sge[0].addr : 0,
		.remote_addr = r->remote_addr,
		/* One that was made to fail moves no bytes. */
		.length = r->faults & SRD_FAULTED_FAIL ? 0 : r->length,
	};
}

bool srd_choose(struct srd_model *m)
{
	struct srd_choice choices[SRD_MAX_CHOICES];
	struct candidates c;
	uint64_t payload;
	int chosen;

	if (srd_model_next(m) == UINT64_MAX || !can_choose(m, srd_heap_next_payload(m->heap)))
		return true;
	gather(m, &c);
	for (uint32_t i = 0; i < c.count; i++)
		describe(m, (uint32_t)c.list[i]->order, &choices[i]);
	chosen = m->chooser->choose(m->chooser, choices, c.count);
	if (chosen < 0)
		return false;
	payload = (c.list[0]->order ^ c.list[chosen]->order) & UINT32_MAX;
	c.list[0]->order ^= payload;
	c.list[chosen]->order ^= payload;
	return true;
}
