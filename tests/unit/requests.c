/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/requests.h"
#include "stream_script.h"
#include "verbs/alloc.h"

static struct {
	struct srd_request posted[64];
	int num_posted;
	struct {
		uint64_t number;
		uint32_t status; /* 99: it has no completion */
		uint64_t time;
	} gone[64];
	int num_gone;
	struct srd_requests_qp qp[16];
	int num_qps;
} seen;

static void posted(void *arg, const struct srd_request *request)
{
	seen.posted[seen.num_posted++] = *request;
}

static void gone(void *arg, const struct srd_request *request, const struct srd_ev_wc *wc,
		 uint64_t time)
{
	seen.gone[seen.num_gone].number = request->number;
	seen.gone[seen.num_gone].status = wc ? wc->status : 99;
	seen.gone[seen.num_gone++].time = time;
}

static void qp_ended(void *arg, const struct srd_requests_qp *qp)
{
	seen.qp[seen.num_qps++] = *qp;
}

static const struct srd_requests_ops ops = {posted, gone, qp_ended};
static struct srd_requests *requests;
static struct script s;

static void feed(void *reader, const struct srd_event *event)
{
	srd_requests_event(reader, event);
}

static int setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	requests = srd_requests_create(&ops, NULL);
	assert_non_null(requests);
	s = (struct script){.fn = feed, .reader = requests};
	return 0;
}

static int teardown(void **state)
{
	srd_requests_destroy(requests);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static void posted_and_completed(void **state)
{
	const struct srd_requests_qp *qp;

	script_qp(&s, 0, 1, 3, 0x30);
	script_post(&s, 10, 1, 3, 100, 3, 1000, 0);
	assert_int_equal(seen.num_posted, 3);
	assert_int_equal(seen.posted[2].number, 3);
	assert_int_equal(seen.posted[2].wr.wr_id, 102);
	assert_int_equal(seen.posted[2].posted, 10);
	script_wc(&s, 20, 1, 3, 0x30, 102, SRD_WC_SUCCESS);
	script_wc(&s, 30, 1, 3, 0x30, 100, SRD_WC_REM_ACCESS_ERR);
	script_wc(&s, 30, 1, 3, 0x30, 100, SRD_WC_SUCCESS); /* completed already */
	assert_int_equal(seen.num_gone, 2);
	assert_int_equal(seen.gone[0].number, 3);
	assert_int_equal(seen.gone[0].status, SRD_WC_SUCCESS);
	assert_int_equal(seen.gone[0].time, 20);
	assert_int_equal(seen.gone[1].number, 1);
	assert_int_equal(seen.gone[1].status, SRD_WC_REM_ACCESS_ERR);
	qp = srd_requests_qp_find(requests, 3);
	assert_non_null(qp);
	assert_int_equal(qp->in_flight, 1);
	assert_int_equal(qp->max_in_flight, 3);
	assert_int_equal(qp->posted, 3);
	assert_int_equal(qp->bytes, 3000);
	assert_int_equal(qp->completed, 2);
	assert_int_equal(qp->failed, 1);
	assert_int_equal(qp->qp_num, 0x30);
	assert_int_equal(qp->host, 1);
	assert_null(srd_requests_qp_find(requests, 4));

	srd_requests_finish(requests);
	assert_int_equal(seen.num_gone, 3);
	assert_int_equal(seen.gone[2].number, 2);
	assert_int_equal(seen.gone[2].status, 99);
	assert_int_equal(seen.num_qps, 1);
	assert_int_equal(seen.qp[0].lost, 1);
	assert_int_equal(seen.qp[0].in_flight, 0);
}

static void refused_sessions(void **state)
{
	struct srd_ev_wr_post wr = {.ev = {.type = SRD_EV_WR_POST, .object = 3}};
	struct srd_ev_session_abort end = {.ev = {.type = SRD_EV_SESSION_ABORT, .object = 3}};

	script_qp(&s, 0, 1, 3, 0x30);
	script_post(&s, 10, 1, 3, 100, 2, 1000, 12);
	srd_requests_event(requests, &wr.ev);
	srd_requests_event(requests, &end.ev);
	assert_int_equal(seen.num_posted, 0);
	assert_int_equal(srd_requests_qp_find(requests, 3)->refused, 3);
	script_post(&s, 10, 1, 3, 100, 1, 1000, 0);
	assert_int_equal(seen.num_posted, 1);
	assert_int_equal(seen.posted[0].number, 1);
}

/* The same numbers on another host, and again after a destroy, are other queue pairs. */
static void whose_completion(void **state)
{
	script_qp(&s, 0, 0, 1, 0x30);
	script_qp(&s, 0, 1, 2, 0x30);
	script_post(&s, 1, 0, 1, 7, 1, 10, 0);
	script_post(&s, 1, 1, 2, 7, 1, 20, 0);
	script_wc(&s, 2, 1, 2, 0x30, 7, SRD_WC_SUCCESS);
	assert_int_equal(seen.gone[0].number, 2);
	script_qp_destroy(&s, 3, 0, 1);
	assert_int_equal(seen.num_gone, 2);
	assert_int_equal(seen.gone[1].number, 1);
	assert_int_equal(seen.gone[1].status, 99);
	script_wc(&s, 4, 0, 1, 0x30, 7, SRD_WC_SUCCESS); /* stale */
	script_qp(&s, 5, 0, 3, 0x30);
	script_post(&s, 6, 0, 3, 7, 1, 10, 0);
	script_wc(&s, 7, 0, 1, 0x30, 7, SRD_WC_SUCCESS);
	assert_int_equal(seen.num_gone, 3);
	assert_int_equal(seen.gone[2].number, 3);
	script_post(&s, 8, 0, 1, 8, 1, 10, 0); /* destroyed */
	assert_int_equal(seen.num_posted, 3);
}

/* Only its own requests go with a queue pair. */
static void a_destroy_takes_its_own(void **state)
{
	script_qp(&s, 0, 0, 1, 1);
	script_qp(&s, 0, 0, 2, 2);
	for (uint32_t i = 0; i < 3; i++) {
		script_post(&s, 1, 0, 1, i, 1, 10, 0);
		script_post(&s, 1, 0, 2, i, 1, 10, 0);
	}
	script_qp_destroy(&s, 3, 0, 1);
	assert_int_equal(seen.num_gone, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(seen.gone[i].number, 1 + 2 * i);
	assert_int_equal(srd_requests_qp_find(requests, 2)->in_flight, 3);
	assert_null(srd_requests_qp_by_number(requests, 0, 1));
	assert_int_equal(srd_requests_qp_by_number(requests, 0, 2)->handle, 2);
}

static void other_events_are_no_requests(void **state)
{
	struct srd_ev_wc recv = {
		.ev = {.type = SRD_EV_WC, .host = 1, .object = 3},
		.qp_num = 0x30,
		.wr_id = 100,
		.opcode = SRD_WC_RECV,
	};

	script_post(&s, 10, 1, 9, 100, 2, 1000, 0); /* unknown */
	script_qp(&s, 0, 1, 3, 0x30);
	script_post(&s, 10, 1, 3, 100, 1, 1000, 0);
	srd_requests_event(requests, &recv.ev);
	assert_int_equal(seen.num_gone, 0);
	assert_int_equal(seen.num_posted, 1);
	script_qp_destroy(&s, 20, 1, 3);
	script_qp_destroy(&s, 20, 1, 3);
	assert_int_equal(seen.num_gone, 1);
}

static void a_scenario_starts_afresh(void **state)
{
	script_scenario(&s, 0, 0);
	script_qp(&s, 0, 1, 1, 0x30);
	script_post(&s, 10, 1, 1, 100, 1, 1000, 0);
	script_scenario(&s, 0, 1);
	assert_int_equal(seen.num_gone, 1);
	assert_int_equal(seen.num_qps, 1);
	assert_null(srd_requests_qp_find(requests, 1));
}

static void no_memory(void **state)
{
	srd_alloc_fail_at(1);
	assert_null(srd_requests_create(&ops, NULL));
	for (uint64_t n = 1; n < 60; n++) {
		struct srd_requests *other;

		srd_alloc_fail_at(0);
		memset(&seen, 0, sizeof(seen));
		other = srd_requests_create(&ops, NULL);
		s.reader = other;
		srd_alloc_fail_at(n);
		script_qp(&s, 0, 1, 1, 1);
		for (uint32_t i = 0; i < 40; i++)
			script_post(&s, 1, 1, 1, i, 1, 1, 0);
		for (uint32_t i = 0; i < 40; i++)
			script_wc(&s, 2, 1, 1, 1, i, 0);
		assert_int_equal(srd_requests_incomplete(other), n <= srd_alloc_count());
		srd_requests_finish(other);
		assert_int_equal(seen.num_gone, seen.num_posted);
		srd_requests_destroy(other);
	}
	srd_alloc_fail_at(0);
	s.reader = requests;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(posted_and_completed, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_sessions, setup, teardown),
		cmocka_unit_test_setup_teardown(whose_completion, setup, teardown),
		cmocka_unit_test_setup_teardown(a_destroy_takes_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(other_events_are_no_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(a_scenario_starts_afresh, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
