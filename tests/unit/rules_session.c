/* SPDX-License-Identifier: MIT */
/* The session family: each rule fires on a stream of its own. */
#include "rules_world.h"

/* One op of one request, built as REQUEST says. */
static void op_of(struct world *w, struct srd_ev_wr_post request)
{
	op_begin(w, SRD_OP_PUT, request.length, request.length);
	post_begin(w, 1);
	post(w, request);
	post_end(w, 1);
	completion(w, request.wr_id, 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void two_sessions(struct world *w)
{
	uint64_t first = w->next_id;

	op_begin(w, SRD_OP_PUT, 2000, 2000);
	post_begin(w, 2);
	post(w, good_post(w, 0, 1000));
	session_complete(w, 0, 1);
	session_start(w);
	post(w, good_post(w, 1000, 1000));
	post_end(w, 1);
	/* It returned both ids. */
	completion(w, first, 0);
	completion(w, first + 1, 0);
	op_end(w, w->last_op, 0, 0, 0);
}

static void left_open(struct world *w)
{
	op_begin(w, SRD_OP_PUT, 100, 100);
	post_begin(w, 1);
	EMIT(w, OP_POST_END, op_post_end, H(0), .result = (uint32_t)-12);
	op_end(w, w->last_op, -12, 0, 0);
}

static void misuse(struct world *w, enum srd_session_misuse what)
{
	session_start(w);
	EMIT(w, SETTER_MISUSE, setter_misuse, H(0), .what = what);
	EMIT(w, SESSION_ABORT, session_abort, H(0), );
}

static void end_without_start(struct world *w)
{
	misuse(w, SRD_MISUSE_END_WITHOUT_START);
}

static void start_twice(struct world *w)
{
	misuse(w, SRD_MISUSE_START_TWICE);
}

static void setter_first(struct world *w)
{
	misuse(w, SRD_MISUSE_SETTER_FIRST);
}

static void no_session(struct world *w)
{
	misuse(w, SRD_MISUSE_NO_SESSION);
}

static void destroy_inside(struct world *w)
{
	misuse(w, SRD_MISUSE_DESTROY_IN_SESSION);
}

static void poll_inside(struct world *w)
{
	misuse(w, SRD_MISUSE_POLL_IN_SESSION);
}

static void no_destination(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.setters = 0x1;
	request.ah = 0;
	raw_post(w, request);
	completion(w, request.wr_id, SRD_EFA_LOCAL_ERROR_INVALID_AH);
}

static void setters_turned(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.setters = 0x13;
	op_of(w, request);
}

static void solicited(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.wr_flags = SRD_SEND_SIGNALED | SRD_SEND_SOLICITED;
	op_of(w, request);
}

static void undeclared(struct world *w)
{
	struct srd_ev_wr_post request = good_post(w, 0, 100);

	request.opcode = SRD_WR_SEND;
	session_start(w);
	post(w, request);
	EMIT(w, SESSION_ABORT, session_abort, H(0), );
}

static void dev_request(struct world *w, uint64_t ordinal, uint64_t length)
{
	EMIT(w, DEV_REQUEST, dev_request, H(0), .ordinal = ordinal, .length = length,
	     .opcode = SRD_WR_RDMA_WRITE);
}

static void taken_though_refused(struct world *w)
{
	session_start(w);
	dev_request(w, 0, 100);
	post(w, good_post(w, 0, 100));
	session_complete(w, 12, 1);
}

static void taken_another(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	dev_request(w, 0, 100);
	/* Early, before the library has answered; and of another length. */
	dev_request(w, 1, 300);
	raw_post(w, good_post(w, 0, 200));
	completion(w, 0, 0);
	completion(w, 1, 0);
}

static void doorbell(struct world *w, uint32_t num_wr, uint32_t waiting)
{
	EMIT(w, DEV_DOORBELL, dev_doorbell, H(0), .num_wr = num_wr, .waiting = waiting,
	     .lost = waiting != 0);
}

static void never_rung(struct world *w)
{
	raw_post(w, good_post(w, 0, 100));
	doorbell(w, 1, 1);
	/* The next takes it along, and then one is lost for good. */
	doorbell(w, 0, 0);
	doorbell(w, 1, 1);
	completion(w, 0, 0);
}

static void each_rule_fires(void **state)
{
	static const struct rule_case cases[] = {
		{"session.one", two_sessions, "id.returned"},
		{"session.open", left_open, NULL},
		{"session.pair", end_without_start, NULL},
		{"session.pair", start_twice, NULL},
		{"session.builder_first", setter_first, NULL},
		{"session.builder_first", no_session, NULL},
		{"session.destroy", destroy_inside, NULL},
		{"session.poll", poll_inside, NULL},
		{"session.destination", no_destination, NULL},
		{"session.setters", setters_turned, NULL},
		{"session.flags", solicited, NULL},
		{"session.declared", undeclared, NULL},
		{"session.doorbell", never_rung, NULL},
		{"session.atomic", taken_though_refused, NULL},
		{"session.atomic", taken_another, NULL},
	};

	run_cases("session", cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_fires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
