/* SPDX-License-Identifier: MIT */
/* What the device tells the stream. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/event.h>

#include "mock_pair.h"

#define MAX_EVENTS 256

static struct {
	struct srd_stream stream;
	uint32_t count;
	union {
		struct srd_event ev;
		struct srd_ev_dev_request request;
		struct srd_ev_dev_place place;
		struct srd_ev_dev_cqe cqe;
		struct srd_ev_dev_qp_state state;
		struct srd_ev_dev_fault fault;
	} at[MAX_EVENTS];
} seen;

static struct pair p;

static void record(void *reader, const struct srd_event *event)
{
	assert_true(seen.count < MAX_EVENTS);
	assert_int_equal(event->source, SRD_SOURCE_DEVICE);
	memcpy(&seen.at[seen.count++], event, srd_event_infos[event->type].size);
}

static int open_pair(void **state)
{
	memset(&seen, 0, sizeof(seen));
	srd_stream_add(&seen.stream, record, NULL);
	pair_init(&p, "efa1");
	p.profile.order = SRD_PROFILE_ORDER_IN_ORDER;
	p.stream = &seen.stream;
	pair_open(&p);
	assert_int_equal(seen.count, 0);
	return 0;
}

static int close_pair(void **state)
{
	uint32_t count;

	pair_audit(&p);
	count = seen.count;
	p.v->close(p.v);
	/* The end of a table is nobody's business. */
	assert_int_equal(seen.count, count);
	return 0;
}

static uint32_t find(enum srd_event_type type, uint32_t from)
{
	while (from < seen.count && seen.at[from].ev.type != type)
		from++;
	return from;
}

static void a_write(void **state)
{
	uint64_t sent;

	p.v->wait(p.v, 777);
	pair_write(&p, 5, 64, 1000);
	sent = p.v->now(p.v);
	side_expect(&p, &p.a, 5, SRD_EFA_OK);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.at[0].ev.type, SRD_EV_DEV_REQUEST);
	assert_int_equal(seen.at[0].ev.object, p.a.qp->handle);
	assert_int_equal(seen.at[0].ev.host, 0);
	assert_int_equal(seen.at[0].ev.time, sent);
	assert_int_equal(seen.at[0].request.ordinal, 0);
	assert_int_equal(seen.at[0].request.length, 1000);
	assert_int_equal(seen.at[0].request.opcode, SRD_WR_RDMA_WRITE);
	assert_int_equal(seen.at[0].request.dest_host, 1);
	assert_int_equal(seen.at[1].ev.type, SRD_EV_DEV_PLACE);
	assert_int_equal(seen.at[1].ev.object, p.b.mr->handle);
	assert_int_equal(seen.at[1].ev.host, 1);
	assert_int_equal(seen.at[1].place.addr, p.b.buffer->addr + 64);
	assert_int_equal(seen.at[1].place.length, 1000);
	assert_true(seen.at[1].ev.time >= sent + p.profile.latency);
	assert_int_equal(seen.at[2].ev.type, SRD_EV_DEV_CQE);
	assert_int_equal(seen.at[2].ev.object, p.a.cq->handle);
	assert_int_equal(seen.at[2].cqe.qp, p.a.qp->handle);
	assert_int_equal(seen.at[2].cqe.vendor_err, 0);
	assert_int_equal(seen.at[2].cqe.occupancy, 1);
	assert_int_equal(seen.at[2].cqe.lost, 0);
	assert_int_equal(seen.at[2].ev.time, p.v->now(p.v));
}

static void a_read(void **state)
{
	uint32_t at;

	pair_read(&p, 5, 0, 100);
	side_expect(&p, &p.a, 5, SRD_EFA_OK);
	at = find(SRD_EV_DEV_PLACE, 0);
	assert_true(at < seen.count);
	assert_int_equal(seen.at[at].ev.object, p.a.mr->handle);
	assert_int_equal(seen.at[at].place.addr, p.a.buffer->addr);
}

static void faults(void **state)
{
	uint32_t at;

	pair_write(&p, 1, 0, 64);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_HOLD, 1), 0);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	at = find(SRD_EV_DEV_FAULT, 0);
	assert_true(at < seen.count);
	assert_int_equal(seen.at[at].ev.object, p.a.qp->handle);
	assert_int_equal(seen.at[at].fault.kind, SRD_LAB_HOLD);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_QP_ERR, 0), 0);
	at = find(SRD_EV_DEV_QP_STATE, at);
	assert_true(at < seen.count);
	assert_int_equal(seen.at[at].state.from, SRD_QPS_RTS);
	assert_int_equal(seen.at[at].state.to, SRD_QPS_ERR);
	assert_int_equal(seen.at[at - 1].ev.type, SRD_EV_DEV_CQE);
	assert_int_equal(seen.at[at - 1].cqe.vendor_err, SRD_EFA_FLUSHED);
}

static void lost_entries(void **state)
{
	uint32_t lost = 0;

	p.a.cq = p.v->create_cq(p.v, p.a.context, 2);
	p.a.qp = side_create_qp(&p, &p.a);
	side_connect(&p, &p.a);
	for (uint64_t i = 0; i < 4; i++)
		pair_write(&p, i, 0, 8);
	while (p.v->wait(p.v, UINT64_MAX) == 0)
		;
	for (uint32_t i = 0; i < seen.count; i++)
		if (seen.at[i].ev.type == SRD_EV_DEV_CQE)
			lost += seen.at[i].cqe.lost;
	assert_int_equal(lost, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write),
		TEST(a_read),
		TEST(faults),
		TEST(lost_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
