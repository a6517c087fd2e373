/* SPDX-License-Identifier: MIT */
/* A stream by hand, for tests of what reads one: a few events a call, at a time in ns. */
#ifndef STREAM_SCRIPT_H
#define STREAM_SCRIPT_H

#include <srdlab/event.h>

/* Where the events go. */
struct script {
	srd_event_fn *fn;
	void *reader;
	uint32_t op;
};

#define SCRIPT_EVENT(kind, of_source, at_time, of_host, handle)                             \
	{                                                                                   \
		.time = (at_time), .type = SRD_EV_##kind, .source = SRD_SOURCE_##of_source, \
		.host = (of_host), .object = (handle), .op = s->op                          \
	}

static inline void script_qp(struct script *s, uint64_t time, uint8_t host, uint32_t qp,
			     uint32_t qp_num)
{
	struct srd_ev_qp_create e = {
		.ev = SCRIPT_EVENT(QP_CREATE, SEAM, time, host, qp),
		.qp_num = qp_num,
		.send_cq = qp,
	};

	s->fn(s->reader, &e.ev);
}

static inline void script_qp_destroy(struct script *s, uint64_t time, uint8_t host, uint32_t qp)
{
	struct srd_event e = SCRIPT_EVENT(QP_DESTROY, SEAM, time, host, qp);

	s->fn(s->reader, &e);
}

/* A session of NUM requests of LENGTH bytes from WR_ID on, that ends with RESULT. */
static inline void script_post(struct script *s, uint64_t time, uint8_t host, uint32_t qp,
			       uint64_t wr_id, uint32_t num, uint64_t length, uint32_t result)
{
	struct srd_ev_session_start start = {
		.ev = SCRIPT_EVENT(SESSION_START, SEAM, time, host, qp),
	};
	struct srd_ev_session_complete end = {
		.ev = SCRIPT_EVENT(SESSION_COMPLETE, SEAM, time, host, qp),
		.result = result,
		.num_wr = num,
	};

	s->fn(s->reader, &start.ev);
	for (uint32_t i = 0; i < num; i++) {
		struct srd_ev_wr_post e = {
			.ev = SCRIPT_EVENT(WR_POST, SEAM, time, host, qp),
			.wr_id = wr_id + i,
			.length = length,
			.opcode = SRD_WR_RDMA_READ,
		};

		s->fn(s->reader, &e.ev);
	}
	s->fn(s->reader, &end.ev);
}

static inline void script_wc(struct script *s, uint64_t time, uint8_t host, uint32_t cq,
			     uint32_t qp_num, uint64_t wr_id, uint32_t status)
{
	struct srd_ev_wc e = {
		.ev = SCRIPT_EVENT(WC, SEAM, time, host, cq),
		.qp_num = qp_num,
		.wr_id = wr_id,
		.status = status,
	};

	s->fn(s->reader, &e.ev);
}

static inline void script_scenario(struct script *s, uint64_t time, uint32_t index)
{
	struct srd_ev_scenario_begin e = {
		.ev = SCRIPT_EVENT(SCENARIO_BEGIN, ENGINE, time, 0, 0),
		.index = index,
	};

	s->fn(s->reader, &e.ev);
}

#endif
