/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <srdlab/verbs.h>

#include "report/timeline.h"
#include "stream_script.h"
#include "verbs/alloc.h"

static int fd = -1;
static char path[64];
static struct srd_timeline *timeline;
static struct script script;
static struct script *s = &script;
static json_t *root;    /* after read_back */
static json_t *entries; /* of it */

static int setup(void **state)
{
	struct srd_error error = {0};

	fd = memfd_create("timeline", 0);
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(srd_timeline_create(path, &timeline, &error), 0);
	script = (struct script){.fn = srd_timeline_event, .reader = timeline};
	return 0;
}

static int teardown(void **state)
{
	json_decref(root);
	root = NULL;
	close(fd);
	srd_alloc_fail_at(0);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static void read_back(void)
{
	struct srd_error error = {0};
	json_error_t why;

	assert_int_equal(srd_timeline_close(timeline, &error), 0);
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		fail_msg("line %d: %s", why.line, why.text);
	assert_string_equal(json_string_value(json_object_get(root, "displayTimeUnit")), "ns");
	entries = json_object_get(root, "traceEvents");
	assert_true(json_is_array(entries));
}

static const char *text(const json_t *entry, const char *key)
{
	const char *value = json_string_value(json_object_get(entry, key));

	return value ? value : "";
}

static double at(const json_t *entry)
{
	assert_true(json_is_number(json_object_get(entry, "ts")));
	return json_number_value(json_object_get(entry, "ts"));
}

static json_int_t number(const json_t *entry, const char *key)
{
	assert_true(json_is_integer(json_object_get(entry, key)));
	return json_integer_value(json_object_get(entry, key));
}

static const json_t *arg(const json_t *entry, const char *key)
{
	return json_object_get(json_object_get(entry, "args"), key);
}

/* Entry NTH, from 0, with this phase and name; NULL: none. */
static const json_t *find(const char *phase, const char *name, int nth)
{
	json_t *entry;
	size_t i;

	json_array_foreach(entries, i, entry)
	{
		if (!strcmp(text(entry, "ph"), phase) && !strcmp(text(entry, "name"), name) &&
		    nth-- == 0)
			return entry;
	}
	return NULL;
}

static int count(const char *phase)
{
	json_t *entry;
	int num = 0;
	size_t i;

	json_array_foreach(entries, i, entry) num += !strcmp(text(entry, "ph"), phase);
	return num;
}

/* Every START has one END with its category and id, which comes after it, and the reverse. */
static void check_pairs(const char *start, const char *end)
{
	json_t *a, *b;
	size_t i, j;

	assert_int_equal(count(start), count(end));
	json_array_foreach(entries, i, a)
	{
		int found = 0;

		if (strcmp(text(a, "ph"), start))
			continue;
		json_array_foreach(entries, j, b)
		{
			if (strcmp(text(b, "ph"), end) || strcmp(text(a, "cat"), text(b, "cat")) ||
			    strcmp(text(a, "id"), text(b, "id")))
				continue;
			found++;
			assert_true(j > i);
			assert_true(at(b) >= at(a));
			assert_string_equal(text(a, "name"), text(b, "name"));
			assert_int_equal(number(a, "pid"), number(b, "pid"));
			assert_int_equal(number(a, "tid"), number(b, "tid"));
		}
		assert_int_equal(found, 1);
	}
}

static void check_all(void)
{
	json_t *entry;
	size_t i;

	json_array_foreach(entries, i, entry)
	{
		assert_int_equal(strlen(text(entry, "ph")), 1);
		assert_true(text(entry, "name")[0]);
		assert_true(number(entry, "pid") > 0);
		assert_true(number(entry, "tid") >= 0);
		assert_true(at(entry) >= 0);
	}
	check_pairs("b", "e");
	check_pairs("s", "f");
	assert_int_equal(count("B"), count("E"));
}

static void nothing(void **state)
{
	read_back();
	assert_int_equal(json_array_size(entries), 0);
}

static void requests_overlap(void **state)
{
	const json_t *b, *e, *f;

	script_qp(s, 0, 1, 3, 0x30);
	s->op = 7;
	script_post(s, 1500, 1, 3, UINT64_MAX - 1, 2, 4096, 0);
	s->op = 0;
	script_wc(s, 20001, 1, 3, 0x30, UINT64_MAX, SRD_WC_SUCCESS);
	script_wc(s, 30000, 1, 3, 0x30, UINT64_MAX - 1, SRD_WC_WR_FLUSH_ERR);
	script_post(s, 40000, 1, 3, 5, 1, 10, ENOMEM);
	read_back();
	check_all();
	assert_int_equal(count("b"), 2);
	assert_int_equal(count("s"), 2);
	assert_int_equal(count("B"), 2);
	assert_int_equal(count("X"), 2);

	b = find("b", "RDMA_READ", 0);
	assert_non_null(b);
	assert_int_equal(number(b, "pid"), 2);
	assert_int_equal(number(b, "tid"), 3);
	assert_true(at(b) == 1.5);
	assert_int_equal(json_integer_value(arg(b, "op")), 7);
	assert_int_equal(json_integer_value(arg(b, "length")), 4096);
	/* too large for JSON's usual readers */
	assert_string_equal(json_string_value(arg(b, "wr_id")), "18446744073709551614");
	e = find("e", "RDMA_READ", 0);
	assert_true(at(e) == 20.001);
	assert_string_equal(text(e, "id"), "0x2");
	assert_string_equal(json_string_value(arg(e, "status")), "SUCCESS");
	assert_string_equal(json_string_value(arg(find("e", "RDMA_READ", 1), "status")),
			    "WR_FLUSH_ERR");
	f = find("f", "request", 0);
	assert_string_equal(text(f, "bp"), "e");
	assert_true(at(f) == 20.001);

	assert_int_equal(json_integer_value(arg(find("C", "qp 3 in flight", 0), "in flight")), 2);
	assert_int_equal(json_integer_value(arg(find("C", "qp 3 in flight", 1), "in flight")), 1);
	assert_int_equal(json_integer_value(arg(find("C", "qp 3 in flight", 2), "in flight")), 0);
	assert_string_equal(json_string_value(arg(find("M", "thread_name", 0), "name")),
			    "qp 3, number 48");
}

static void a_request_without_a_completion(void **state)
{
	const json_t *e;

	script_qp(s, 0, 0, 1, 1);
	script_post(s, 10, 0, 1, 1, 1, 1, 0);
	script_qp_destroy(s, 5000, 0, 1);
	read_back();
	check_pairs("b", "e");
	assert_int_equal(count("s"), 1); /* an arrow to nowhere */
	assert_int_equal(count("f"), 0);
	e = find("e", "RDMA_READ", 0);
	assert_true(at(e) == 5);
	assert_string_equal(json_string_value(arg(e, "status")), "none");
}

/* Each has a clock of its own, and handles of its own. */
static void scenarios_follow_each_other(void **state)
{
	struct srd_ev_op_begin begin = {
		.ev = {.type = SRD_EV_OP_BEGIN, .op = 1, .object = 1, .time = 100},
		.kind = SRD_OP_GET,
	};
	struct srd_ev_op_end end = {
		.ev = {.type = SRD_EV_OP_END, .op = 1, .object = 1, .time = 200},
		.result = (uint32_t)-EIO,
	};

	for (uint32_t i = 0; i < 2; i++) {
		script_scenario(s, 0, i);
		script_qp(s, 0, 0, 1, 1);
		srd_timeline_event(timeline, &begin.ev);
		script_post(s, 100, 0, 1, 1, 1, 1, 0);
		srd_timeline_event(timeline, &end.ev);
		script_post(s, 1000000, 0, 1, 1, 1, 1, 0); /* the id of one that is in flight */
	}
	read_back();
	check_pairs("b", "e");
	assert_int_equal(count("b"), 2 * (1 + 1 + 2));
	assert_true(at(find("b", "scenario", 0)) == 0);
	assert_true(at(find("e", "scenario", 0)) == 1000);
	assert_true(at(find("e", "RDMA_READ", 0)) == 1000);
	assert_true(at(find("b", "scenario", 1)) == 1010);
	assert_true(at(find("b", "op", 1)) == 1010.1);
	assert_true(at(find("e", "scenario", 1)) == 2010);
	assert_string_equal(json_string_value(arg(find("b", "op", 0), "kind")), "GET");
	assert_string_equal(json_string_value(arg(find("e", "op", 0), "result")), "-EIO");
}

static void counters(void **state)
{
	struct srd_ev_scheduler_state state_ev = {
		.ev = {.type = SRD_EV_SCHEDULER_STATE, .object = 1, .time = 10},
		.in_flight = 3,
		.queued = 4,
	};
	struct srd_ev_dev_cqe cqe = {
		.ev = {.type = SRD_EV_DEV_CQE, .object = 40, .time = 20},
		.occupancy = 5,
	};
	struct srd_ev_cq_poll poll = {
		.ev = {.type = SRD_EV_CQ_POLL, .object = 40, .time = 30},
		.result = 3,
	};

	srd_timeline_event(timeline, &poll.ev); /* nothing is known yet */
	srd_timeline_event(timeline, &state_ev.ev);
	srd_timeline_event(timeline, &cqe.ev);
	srd_timeline_event(timeline, &poll.ev);
	srd_timeline_event(timeline, &poll.ev); /* more than is known to be there */
	poll.result = (uint32_t)-EINVAL;
	srd_timeline_event(timeline, &poll.ev);
	read_back();
	check_all();
	assert_int_equal(count("C"), 5);
	assert_int_equal(json_integer_value(arg(find("C", "qp 1 credits", 0), "credits")), 3);
	assert_int_equal(json_integer_value(arg(find("C", "qp 1 queued", 0), "queued")), 4);
	assert_int_equal(json_integer_value(arg(find("C", "cq 40 entries", 0), "entries")), 5);
	assert_int_equal(json_integer_value(arg(find("C", "cq 40 entries", 1), "entries")), 2);
	assert_int_equal(json_integer_value(arg(find("C", "cq 40 entries", 2), "entries")), 0);
}

static void instants(void **state)
{
	struct srd_ev_qp_modify modify = {
		.ev = {.type = SRD_EV_QP_MODIFY, .object = 1, .time = 10},
		.from = SRD_QPS_INIT,
		.to = SRD_QPS_RTR,
		.result = EINVAL,
	};
	struct srd_ev_call_failed failed = {
		.ev = {.type = SRD_EV_CALL_FAILED, .time = 20, .host = 1},
		.verb = SRD_VERB_CREATE_AH,
		.error = ENOMEM,
	};
	struct srd_ev_mark mark = {.ev = {.type = SRD_EV_MARK, .time = 30}, .id = UINT64_MAX};
	struct srd_ev_device_open open = {.ev = {.type = SRD_EV_DEVICE_OPEN, .host = 1}};

	srd_timeline_event(timeline, &open.ev);
	srd_timeline_event(timeline, &modify.ev);
	srd_timeline_event(timeline, &failed.ev);
	srd_timeline_event(timeline, &mark.ev);
	read_back();
	check_all();
	assert_string_equal(json_string_value(arg(find("i", "INIT to RTR", 0), "result")),
			    "EINVAL");
	assert_string_equal(text(find("i", "INIT to RTR", 0), "s"), "t");
	assert_string_equal(json_string_value(arg(find("i", "create_ah", 0), "error")), "ENOMEM");
	assert_int_equal(number(find("i", "create_ah", 0), "pid"), 2);
	assert_string_equal(text(find("i", "mark", 0), "s"), "p");
	assert_string_equal(json_string_value(arg(find("M", "process_name", 0), "name")), "host 1");
}

/* Whatever an event holds, the file stays JSON. */
static void every_event(void **state)
{
	uint64_t record[64];

	for (int round = 0; round < 2; round++) {
		for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++) {
			struct srd_event *e = (struct srd_event *)record;

			memset(record, round ? 0xff : 0, sizeof(record));
			e->type = (uint16_t)type;
			e->time = 1000;
			e->object = 7;
			srd_timeline_event(timeline, e);
		}
	}
	read_back();
	assert_true(json_array_size(entries) > 20);
}

static void cannot_be_written(void **state)
{
	struct srd_timeline *other = NULL;
	struct srd_error error;

	assert_int_equal(srd_timeline_create("/nowhere/t.json", &other, &error), -ENOENT);
	assert_string_equal(error.message, "cannot write the timeline /nowhere/t.json: "
					   "No such file or directory");
	assert_int_equal(srd_timeline_create("/dev/full", &other, &error), 0);
	script.reader = other;
	for (uint32_t i = 0; i < 1000; i++)
		script_qp(s, i, 0, i, i);
	assert_int_equal(srd_timeline_close(other, &error), -ENOSPC);
	assert_string_equal(error.message,
			    "cannot write the timeline /dev/full: No space left on device");
	assert_int_equal(srd_timeline_close(NULL, &error), 0);
	read_back();
}

static void no_memory(void **state)
{
	struct srd_ev_dev_cqe cqe = {.ev = {.type = SRD_EV_DEV_CQE, .object = 40}, .occupancy = 1};
	struct srd_timeline *other = NULL;
	struct srd_error error = {0};
	int result = -1;

	read_back();
	for (uint64_t n = 1; result; n++) {
		srd_alloc_fail_at(n);
		result = srd_timeline_create(path, &other, &error);
		if (result) {
			assert_int_equal(result, -ENOMEM);
			continue;
		}
		script.reader = other;
		script_qp(s, 0, 0, 1, 1);
		script_post(s, 1, 0, 1, 1, 1, 1, 0);
		srd_timeline_event(other, &cqe.ev);
		result = srd_timeline_close(other, &error);
		assert_true(!result || result == -ENOMEM);
	}
	assert_non_null(strstr(error.message, " lacks some requests: there was no memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_overlap, setup, teardown),
		cmocka_unit_test_setup_teardown(a_request_without_a_completion, setup, teardown),
		cmocka_unit_test_setup_teardown(scenarios_follow_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(counters, setup, teardown),
		cmocka_unit_test_setup_teardown(instants, setup, teardown),
		cmocka_unit_test_setup_teardown(every_event, setup, teardown),
		cmocka_unit_test_setup_teardown(cannot_be_written, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
