/* SPDX-License-Identifier: MIT */
/*
 * What the stream costs a request: over a table that does nothing, requests are posted and
 * polled 16 at a time, in sessions of 1 and of 16, with more and more standing between. The
 * bare loop calls the table itself.
 */
#include <string.h>

#include "bench.h"
#include "forward.h"
#include "inject.h"
#include "observe.h"
#include "report/trace.h"

#define REQUESTS (1u << 21)
#define WINDOW   16u

static struct srd_context context = {.handle = 1};
static struct srd_cq cq = {.context = &context, .handle = 1};
static struct srd_pd pd = {.context = &context, .handle = 1};
static struct srd_qp the_qp = {.context = &context,
			       .pd = &pd,
			       .send_cq = &cq,
			       .recv_cq = &cq,
			       .handle = 1,
			       .wr_flags = SRD_SEND_SIGNALED};
static struct srd_ah ah = {.context = &context, .pd = &pd, .handle = 1};
static uint64_t built;

static struct srd_qp *create_qp_ex(struct srd_verbs *verbs, struct srd_context *of,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	return &the_qp;
}

static void wr_start(struct srd_verbs *verbs, struct srd_qp *qp)
{
}

static void wr_rdma_write(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey,
			  uint64_t remote_addr)
{
	built++;
}

static void wr_set_sge(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
}

static void wr_set_ud_addr(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *of,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
}

static int wr_complete(struct srd_verbs *verbs, struct srd_qp *qp)
{
	return 0;
}

static int poll_cq(struct srd_verbs *verbs, struct srd_cq *of, int num_entries, struct srd_wc *wc)
{
	for (int i = 0; i < num_entries; i++) {
		wc[i].wr_id = built;
		wc[i].status = SRD_WC_SUCCESS;
		wc[i].opcode = SRD_WC_RDMA_WRITE;
		wc[i].qp_num = 1;
	}
	return num_entries;
}

static uint64_t now(struct srd_verbs *verbs)
{
	return built;
}

static void close_nothing(struct srd_verbs *verbs)
{
}

static struct srd_verbs nothing = {
	.name = "nothing",
	.create_qp_ex = create_qp_ex,
	.wr_start = wr_start,
	.wr_rdma_write = wr_rdma_write,
	.wr_set_sge = wr_set_sge,
	.wr_set_ud_addr = wr_set_ud_addr,
	.wr_complete = wr_complete,
	.poll_cq = poll_cq,
	.now = now,
	.close = close_nothing,
};

static void post(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t num)
{
	verbs->wr_start(verbs, qp);
	for (uint32_t i = 0; i < num; i++) {
		qp->wr_id++;
		verbs->wr_rdma_write(verbs, qp, 1, i);
		verbs->wr_set_sge(verbs, qp, 2, i, 4096);
		verbs->wr_set_ud_addr(verbs, qp, &ah, 3, 4);
	}
	bench_check(!verbs->wr_complete(verbs, qp));
}

/* Seconds for all requests. */
static double run(struct srd_verbs *verbs, uint32_t session)
{
	struct srd_wc wc[WINDOW];
	double start = bench_now();

	for (uint32_t i = 0; i < REQUESTS; i += WINDOW) {
		for (uint32_t j = 0; j < WINDOW; j += session)
			post(verbs, &the_qp, session);
		bench_check(verbs->poll_cq(verbs, &cq, WINDOW, wc) == WINDOW);
	}
	return bench_now() - start;
}

static double bare[2]; /* sessions of 1 and of 16 */

static void report(const char *what, struct srd_verbs *verbs)
{
	char line[64];

	for (int i = 0; i < 2; i++) {
		uint32_t session = i ? WINDOW : 1;
		double each;

		snprintf(line, sizeof(line), "%s, sessions of %u", what, session);
		each = bench_report(line, REQUESTS, run(verbs, session), bare[i]);
		if (!bare[i])
			bare[i] = each;
	}
}

static uint64_t events;

static void count_event(void *reader, const struct srd_event *event)
{
	events++;
}

static struct srd_verbs *observe(struct srd_stream *stream)
{
	struct srd_qp_init_attr_ex attr = {.pd = &pd, .send_cq = &cq, .recv_cq = &cq};
	struct srd_verbs *verbs;

	bench_check(!srd_observe_open(&nothing, stream, NULL, &verbs, NULL));
	bench_check(verbs->create_qp_ex(verbs, &context, &attr, NULL));
	return verbs;
}

static void observed(const char *what, srd_event_fn *fn, void *reader)
{
	struct srd_stream stream = {0};
	struct srd_verbs *verbs = observe(&stream);

	if (fn)
		bench_check(!srd_stream_add(&stream, fn, reader));
	report(what, verbs);
	verbs->close(verbs);
}

static void traced(const char *what, const char *path)
{
	struct srd_trace_run what_ran = {.script = "bench"};
	struct srd_trace *trace;

	bench_check(!srd_trace_create(path, &what_ran, &trace, NULL));
	observed(what, srd_trace_event, trace);
	printf("    %.1f events a request\n", (double)srd_trace_count(trace) / REQUESTS / 2);
	bench_check(!srd_trace_close(trace, NULL));
}

int main(void)
{
	struct srd_inject *inject;
	struct srd_verbs forward;

	report("bare", &nothing);
	srd_verbs_forward(&forward, "forward", &nothing);
	report("forwarded", &forward);
	bench_check(!srd_inject_open(&nothing, &inject, NULL));
	report("injector", srd_inject_verbs(inject));
	srd_inject_verbs(inject)->close(srd_inject_verbs(inject));
	observed("observed", NULL, NULL);
	observed("observed, a reader that counts", count_event, NULL);
	traced("observed, trace hash", NULL);
	traced("observed, trace file /dev/null", "/dev/null");
	return events ? 0 : 1;
}
