/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <srdlab/version.h>

#include "report/show.h"
#include "report/trace.h"
#include "stream_script.h"
#include "verbs/alloc.h"

static int fd = -1;
static char path[64];
static char *shown; /* by the last show */
static struct srd_error error;

static int setup(void **state)
{
	static const struct srd_trace_run run = {
		.script = "put.lua",
		.backend = "mock",
		.profile = "efa1",
		.seed = 42,
	};
	struct srd_ev_op_begin begin = {.ev = {.type = SRD_EV_OP_BEGIN, .object = 1, .op = 1}};
	struct srd_ev_op_end end = {.ev = {.type = SRD_EV_OP_END, .object = 1, .op = 1},
				    .result = (uint32_t)-EIO};
	struct srd_ev_dev_cqe cqe = {
		.ev = {.type = SRD_EV_DEV_CQE, .object = 1, .source = 2}, .qp = 2, .vendor_err = 7};
	struct srd_ev_wc recv = {
		.ev = {.type = SRD_EV_WC, .object = 2}, .qp_num = 9, .opcode = SRD_WC_RECV};
	struct srd_trace *trace;
	struct script script, *s = &script;

	fd = memfd_create("trace", 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(srd_trace_create(path, &run, &trace, &error), 0);
	script = (struct script){.fn = srd_trace_event, .reader = trace};
	script_scenario(s, 0, 0);
	script_qp(s, 1000, 0, 1, 0x30);
	script_qp(s, 2000, 1, 2, 0x31);
	srd_trace_event(trace, &begin.ev);
	script_post(s, 3000, 0, 1, 10, 3, 1000, 0);
	script_post(s, 4000, 1, 2, 10, 2, 7, ENOMEM);
	srd_trace_event(trace, &cqe.ev);
	script_wc(s, 5000, 0, 1, 0x30, 10, SRD_WC_SUCCESS);
	script_wc(s, 6000, 0, 1, 0x30, 12, SRD_WC_REM_ACCESS_ERR);
	script_wc(s, 7000, 0, 1, 0x77, 12, 200); /* nobody's, and of no known status */
	srd_trace_event(trace, &recv.ev);
	srd_trace_event(trace, &end.ev);
	assert_int_equal(srd_trace_close(trace, &error), 0);
	return 0;
}

static int teardown(void **state)
{
	free(shown);
	shown = NULL;
	close(fd);
	srd_alloc_fail_at(0);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static int show(const struct srd_show_options *options)
{
	size_t size;
	FILE *out;
	int result;

	free(shown);
	shown = NULL;
	out = open_memstream(&shown, &size);
	assert_non_null(out);
	result = srd_show(path, options, out, &error);
	fclose(out);
	return result;
}

/* LINE, whole, is among what was shown. */
static void assert_line(const char *line)
{
	char *with_end;

	assert_true(asprintf(&with_end, "%s\n", line) > 0);
	if (!strstr(shown, with_end))
		fail_msg("\"%s\" is not in\n%s", line, shown);
	free(with_end);
}

static int lines(void)
{
	int num = 0;

	for (const char *c = shown; *c; c++)
		num += *c == '\n';
	return num;
}

static void everything(void **state)
{
	struct srd_show_options options = {0};

	assert_int_equal(show(&options), 0);
	assert_line("trace of srdlab " SRDLAB_VERSION
		    ": put.lua, backend mock, profile efa1, seed 42");
	assert_line("       time/us host object     event            fields");
	assert_line(
		"         7.000 h0   cq 1       wc               wr_id=12 qp_num=119 status=200 "
		"vendor_err=OK opcode=SEND byte_len=0 imm_data=0x0 src_qp=0 wc_flags=0");
	assert_line("         3.000 h0   qp 1       session_complete result=0 num_wr=3");
	assert_line("         0.000 h0   qp 1       op_end           result=-EIO status=SUCCESS "
		    "vendor_err=OK num_wr=0 wr_id=0 op=1");
	assert_line("events      19");
	assert_line("scenarios   1");
	assert_line("ops         1 begun, 1 ended, 1 of them failed");
	assert_line("requests    3 posted of 3000 bytes, 1 without a completion, 2 refused");
	assert_line(
		"completions 2 IBV_WC_SUCCESS, 1 IBV_WC_REM_ACCESS_ERR, 1 of an unknown status; "
		"1 of them of receives");
	assert_line(
		"scenario  host    qp number     posted           bytes  completed   failed     "
		"lost most in flight");
	assert_line(
		"       1     0     1     48          3            3000          2        1        "
		"1              3");
	assert_line(
		"       1     1     2     49          0               0          0        0        "
		"0              0");
}

static void selected_queue_pairs(void **state)
{
	uint32_t qps[] = {2, 5};
	struct srd_show_options options = {.qps = qps, .num_qps = 2, .no_summary = true};

	assert_int_equal(show(&options), 0);
	/* two of the head, the create, the session with its two requests, the device's entry */
	assert_int_equal(lines(), 2 + 1 + 4 + 1);
	qps[0] = 1;
	options.num_qps = 1;
	assert_int_equal(show(&options), 0);
	/* and the completions that name its number */
	assert_int_equal(lines(), 2 + 1 + 2 + 5 + 2);
}

static void selected_types(void **state)
{
	const char *types[] = {"wc", "qp_create"};
	uint32_t qp = 1;
	struct srd_show_options options = {.types = types, .num_types = 2, .no_summary = true};

	assert_int_equal(show(&options), 0);
	assert_int_equal(lines(), 2 + 4 + 2);
	options.qps = &qp;
	options.num_qps = 1;
	assert_int_equal(show(&options), 0);
	assert_int_equal(lines(), 2 + 2 + 1);
	types[1] = "qp_crate";
	assert_int_equal(show(&options), -EINVAL);
	assert_string_equal(error.message, "there is no event qp_crate: did you mean qp_create?");
	types[1] = "zzzzzzzzzzzz";
	assert_int_equal(show(&options), -EINVAL);
	assert_string_equal(error.message, "there is no event zzzzzzzzzzzz");
}

static void the_summary_only(void **state)
{
	struct srd_show_options options = {.no_events = true};

	assert_int_equal(show(&options), 0);
	assert_null(strstr(shown, "time/us"));
	assert_line("events      19");
}

static void a_trace_that_was_cut_short(void **state)
{
	struct srd_show_options options = {0};

	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 50), 0);
	assert_int_equal(show(&options), -EINVAL);
	assert_non_null(strstr(error.message, "the trace ends inside a record of op_end"));
	assert_line("events      18"); /* what there is */
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(show(&options), -EINVAL);
	assert_int_equal(strlen(shown), 0);
}

static void an_empty_trace(void **state)
{
	static const struct srd_trace_run run = {.options = "--filter x"};
	struct srd_show_options options = {0};
	struct srd_trace *trace;

	assert_int_equal(srd_trace_create(path, &run, &trace, &error), 0);
	assert_int_equal(srd_trace_close(trace, &error), 0);
	assert_int_equal(show(&options), 0);
	assert_line("trace of srdlab " SRDLAB_VERSION ", seed 0, --filter x");
	assert_line("completions none");
	assert_null(strstr(shown, "most in flight"));
}

static void no_memory(void **state)
{
	struct srd_show_options options = {0};
	int result = -1;
	uint64_t n;

	for (n = 1; result; n++) {
		srd_alloc_fail_at(n);
		result = show(&options);
		assert_true(!result || result == -ENOMEM);
	}
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(everything, setup, teardown),
		cmocka_unit_test_setup_teardown(selected_queue_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(selected_types, setup, teardown),
		cmocka_unit_test_setup_teardown(the_summary_only, setup, teardown),
		cmocka_unit_test_setup_teardown(a_trace_that_was_cut_short, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
