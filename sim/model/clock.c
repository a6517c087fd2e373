/* SPDX-License-Identifier: MIT */
/*
 * Virtual time: it stands still until the next event is processed. A request that was
 * ended early leaves an event behind, which is passed over without moving the clock.
 */
#include <errno.h>

#include "state.h"

uint64_t srd_model_now(const struct srd_model *m)
{
	return m->state->now;
}

uint64_t srd_model_arrivals(const struct srd_model *m)
{
	return m->state->arrivals;
}

void srd_model_set_now(struct srd_model *m, uint64_t now)
{
	m->state->now = now;
	if (m->stream)
		m->stream->now = now;
}

/* What it was about has ended. */
static bool is_stale(const struct srd_model *m, uint32_t payload)
{
	if (payload & SRD_EVENT_PACKET)
		return srd_packet_is_stale(m, payload & ~SRD_EVENT_PACKET);
	return m->request[payload].phase == SRD_PHASE_DEAD;
}

static void drop(struct srd_model *m, uint32_t payload)
{
	if (payload & SRD_EVENT_PACKET)
		srd_packet_drop(m, payload & ~SRD_EVENT_PACKET);
	else
		srd_model_request_drop(m, &m->request[payload]);
}

uint64_t srd_model_next(struct srd_model *m)
{
	uint64_t time = srd_heap_next_time(m->heap);
	uint32_t payload;

	while (time != UINT64_MAX && is_stale(m, srd_heap_next_payload(m->heap))) {
		srd_heap_pop(m->heap, &time, &payload);
		drop(m, payload);
		time = srd_heap_next_time(m->heap);
	}
	return time;
}

bool srd_model_busy(const struct srd_model *m)
{
	const volatile struct srd_heap *heap = m->heap;

	return heap->count || heap->near_first != heap->near_end;
}

bool srd_model_next_is_timer(const struct srd_model *m)
{
	const struct srd_request *r;
	uint32_t payload;

	if (srd_heap_next_time(m->heap) == UINT64_MAX)
		return false;
	payload = srd_heap_next_payload(m->heap);
	if (payload & SRD_EVENT_PACKET)
		return false;
	r = &m->request[payload];
	return r->phase == SRD_PHASE_RNR_TIMER || r->phase == SRD_PHASE_TIMEOUT ||
	       r->faults & SRD_FAULTED_LATE;
}

/* Take the first event, which must be there, and let it happen. */
static inline void process(struct srd_model *m)
{
	uint32_t payload;
	uint64_t time;

	srd_heap_pop(m->heap, &time, &payload);
	if (unlikely(is_stale(m, payload))) {
		drop(m, payload);
		return;
	}
	srd_model_set_now(m, time);
	m->state->events++;
	if (unlikely(payload & SRD_EVENT_PACKET))
		srd_packet_due(m, payload & ~SRD_EVENT_PACKET);
	else
		srd_request_due(m, &m->request[payload]);
}

void srd_model_step(struct srd_model *m)
{
	process(m);
}

/* Events until a completion entry is written. */
static int run(struct srd_model *m, uint64_t deadline)
{
	uint64_t arrivals = m->state->arrivals, time;

	do {
		time = srd_heap_next_time(m->heap);
		if (unlikely(time > deadline || time == UINT64_MAX)) {
			if (deadline == UINT64_MAX)
				return EDEADLK;
			if (deadline > m->state->now)
				srd_model_set_now(m, deadline);
			return ETIMEDOUT;
		}
		if (unlikely(m->chooser) && !srd_choose(m))
			return ECANCELED;
		process(m);
	} while (m->state->arrivals == arrivals);
	return 0;
}

int srd_model_wait(struct srd_model *m, uint64_t *seen, uint64_t deadline)
{
	struct srd_model_state *state = m->state;
	int err = 0;

	/* Of what was taken already nobody needs to be told. */
	if (state->arrivals == *seen || state->arrivals == state->departures)
		err = run(m, deadline);
	*seen = state->arrivals;
	return err;
}
