/* SPDX-License-Identifier: MIT */
/*
 * Virtual time: it stands still until the next event is processed. A request that was
 * ended early leaves an event behind, which is passed over without moving the clock.
 */
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

uint64_t srd_model_next(struct srd_model *m)
{
	uint64_t time = srd_heap_next_time(m->heap);
	uint32_t request;

	while (time != UINT64_MAX) {
		if (likely(m->request[srd_heap_next_payload(m->heap)].phase != SRD_PHASE_DEAD))
			return time;
		srd_heap_pop(m->heap, &time, &request);
		srd_model_request_drop(m, &m->request[request]);
		time = srd_heap_next_time(m->heap);
	}
	return UINT64_MAX;
}

void srd_model_step(struct srd_model *m)
{
	uint64_t time = srd_model_next(m);
	uint32_t request;

	if (time == UINT64_MAX)
		return;
	srd_heap_pop(m->heap, &time, &request);
	srd_model_set_now(m, time);
	srd_request_due(m, &m->request[request]);
}
