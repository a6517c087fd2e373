/* SPDX-License-Identifier: MIT */
/* A script over a program, with a device that only notes what it is told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lua/state.h"
#include "lua/steer.h"
#include "verbs/alloc.h"

static struct {
	struct srd_launch_command last;
	int num, answer;
	char failed[512];
} device;

static int command(void *context, struct srd_launch_command *c)
{
	device.num++;
	device.last = *c;
	c->value = 7;
	c->place = SRD_PLACE_WIRE;
	return device.answer;
}

static const char *counter_name(uint32_t i)
{
	return i < 2 ? (const char *[]){"tx_bytes", "rx_drops"}[i] : NULL;
}

static void failed(const char *path, const char *text)
{
	snprintf(device.failed, sizeof(device.failed), "%s", text);
}

static int open_text(const char *text, struct srd_steer **steer, struct srd_error *error)
{
	struct srd_steer_options options = {
		.path = "some/x.lua", .text = text, .length = strlen(text), .failed = failed};

	memset(&device, 0, sizeof(device));
	return srd_steer_open(&options, steer, error);
}

/* Moment MOMENT of a script that is TEXT behind the first line: what it answers. */
static int at(const char *text, struct srd_launch_moment moment, int answer, uint64_t *alarm)
{
	static const struct srd_launch_device calls = {.command = command,
						       .counter_name = counter_name};
	const struct srd_launch_script *script;
	struct srd_steer *steer;
	struct srd_error error;
	char all[1024];
	int ret;

	snprintf(all, sizeof(all), "local srd = require 'srdlab'\n%s", text);
	ret = open_text(all, &steer, &error);
	if (ret)
		fail_msg("%s", error.message);
	device.answer = answer;
	script = srd_steer_script(steer);
	*alarm = 0;
	ret = script->moment(script->context, &moment, &calls, alarm);
	assert_int_equal(!!ret, srd_steer_has_failed(steer));
	srd_steer_close(steer);
	return ret;
}

static const struct srd_launch_moment request = {
	.what = SRD_LAUNCH_REQUEST, .qp = 5, .ordinal = 2, .opcode = 99, .now = 10};

static void test_commands(void **state)
{
	static const struct {
		const char *text;
		enum srd_lab_kind kind;
		uint64_t ordinal, time, value;
		uint32_t status;
	} cases[] = {
		{"r:hold()", SRD_LAB_HOLD, 2, 0, 0, 0},
		{"r:delay '2us'", SRD_LAB_DELAY, 2, 2000, 0, 0},
		{"r:not_ready()", SRD_LAB_NOT_READY, 2, 0, 1, 0},
		{"r:not_ready(255)", SRD_LAB_NOT_READY, 2, 0, 255, 0},
		{"r:fail(8)", SRD_LAB_FAIL, 2, 0, 0, 8},
		{"r.qp:request(1):drop()", SRD_LAB_DROP, 0, 0, 0, 0},
		{"r.qp:fail_receive('REMOTE_ERROR_ABORT', 3)", SRD_LAB_FAIL_RECEIVE, 3, 0, 0, 8},
		{"r.qp.device:restart()", SRD_LAB_RESTART, 0, 0, 0, 0},
		{"assert(r:locate() == 'wire' and r.opcode == 99)", SRD_LAB_LOCATE, 2, 0, 0, 0},
		{"assert(srd.counter('tx', r.qp.device) == 7)", SRD_LAB_COUNTER, 0, 0, 0, 0},
		{"srd.fabric { loss = 9 }", SRD_LAB_SET, 0, 0, 9, 0},
	};
	char text[200];
	uint64_t alarm;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "srd.on_request(function(r) %s end)", cases[i].text);
		if (at(text, request, 0, &alarm))
			fail_msg("%s: %s", cases[i].text, device.failed);
		assert_int_equal(device.num, 1);
		assert_int_equal(device.last.kind, cases[i].kind);
		assert_int_equal(device.last.ordinal, cases[i].ordinal);
		assert_int_equal(device.last.time, cases[i].time);
		assert_int_equal(device.last.value, cases[i].value);
		assert_int_equal(device.last.status, cases[i].status);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text;
		int answer;
		const char *message;
	} cases[] = {
		{"r:hold()", ENOMEM,
		 "request:hold: there are too many faults for requests that are not posted yet"},
		{"r:hold()", EIO, "request:hold: EIO"},
		{"r:drop()", EINVAL, "request:drop: EINVAL"},
		{"srd.counter('rx_drop', r.qp.device)", ENOENT,
		 "srd.counter: \"rx_drop\": there is no such counter; did you mean \"rx_drops\"?"},
		{"srd.counter('zzz', r.qp.device)", ENOENT,
		 "srd.counter: \"zzz\": there is no such counter; there are tx_bytes, rx_drops"},
		{"srd.fabric { loss = 1 }", EINVAL, "srd.fabric: EINVAL"},
		{"srd.after('365000000s', print)", 0,
		 "srd.after = \"365000000s\" is out of range: 0ns to 8760h"},
		{"r.qp:request(0)", 0, "queue_pair:request: 1 is the first that it posts, not 0"},
		{"r.qp.hold()", 0, "a queue pair has no \"hold\""},
		{"r:delay('soon')", 0,
		 "request:delay = \"soon\": a time is expected, such as 500 or \"50us\" (units ns, "
		 "us, ms, s)"},
	};
	char text[200], message[300];
	uint64_t alarm;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "srd.on_request(function(r) %s end)", cases[i].text);
		assert_int_not_equal(at(text, request, cases[i].answer, &alarm), 0);
		snprintf(message, sizeof(message), "some/x.lua:2: %s", cases[i].message);
		assert_string_equal(device.failed, message);
	}
	/* Nobody is there who would have it. */
	assert_int_equal(at("srd.on_request(function(r) r:hold() end)", request, ECANCELED, &alarm),
			 0);
	assert_string_equal(device.failed, "");
}

static void test_moments(void **state)
{
	struct srd_launch_moment moment = {.what = SRD_LAUNCH_DEVICE, .now = 1000};
	uint64_t alarm;

	assert_int_equal(
		at("srd.on_device(function(d) srd.after(5, print) end)\nsrd.at(2000, print)",
		   moment, 0, &alarm),
		0);
	assert_int_equal(alarm, 1005);
	moment.what = SRD_LAUNCH_TIME;
	assert_int_equal(at("srd.at(900, function() srd.at(1500, print) end)\nsrd.at(2000, print)",
			    moment, 0, &alarm),
			 0);
	assert_int_equal(alarm, 1500);
	/* From a program that writes where it must not. */
	moment.what = 77;
	assert_int_equal(at("srd.at(900, error)", moment, 0, &alarm), 0);
}

/* What has become of an object is no mistake of the script's. */
static void test_too_late(void **state)
{
	static const struct {
		const char *text;
		int answer;
		const char *why;
	} cases[] = {
		{"r:hold()", 0, NULL},
		{"r:hold()", ENOENT, "this request is completed or lost"},
		{"r:hold()", ESTALE, "this queue pair is destroyed"},
		{"r:locate()", ESTALE, "this queue pair is destroyed"},
		{"r:release()", EINVAL, "this request is not held"},
		{"r.qp:device_error()", EINVAL, "this queue pair is in RESET or ERR"},
		{"r.qp:release_all()", ESTALE, "this queue pair is destroyed"},
		{"r.qp.device:kill()", ENOENT, "there is no such device"},
		{"r.qp.device:restart()", ENOENT, "there is no such device"},
	};
	char text[200];
	uint64_t alarm;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = cases[i].why;

		snprintf(text, sizeof(text),
			 "srd.on_request(function(r) local a, b = %s assert(a == %s and b == "
			 "%s%s%s) "
			 "end)",
			 cases[i].text, why ? "false" : "true", why ? "'" : "", why ? why : "nil",
			 why ? "'" : "");
		if (at(text, request, cases[i].answer, &alarm))
			fail_msg("%s: %s", cases[i].text, device.failed);
	}
}

/* Virtual time has an end, and its beginning is no alarm that nobody sets. */
static void test_ends_of_time(void **state)
{
	struct srd_launch_moment late = request;
	uint64_t alarm;

	late.now = INT64_MAX - 5;
	assert_int_not_equal(
		at("srd.on_request(function() srd.after(6, print) end)", late, 0, &alarm), 0);
	assert_string_equal(device.failed,
			    "some/x.lua:2: srd.after: virtual time ends after 292 years");
	assert_int_equal(at("srd.on_request(function() srd.at(0, print) end)", request, 0, &alarm),
			 0);
	assert_int_equal(alarm, 1);
}

/* Whatever allocation fails, it is said, and nothing is left. */
static void test_out_of_memory(void **state)
{
	static const char text[] = "local srd = require 'srdlab'\nsrd.on_request(print)\n";
	int64_t live = srd_alloc_live();
	struct srd_steer *steer;
	struct srd_error error;
	int ret = -1;

	for (uint64_t n = 1; ret; n++) {
		memset(&error, 0, sizeof(error));
		srd_alloc_fail_at(n);
		ret = open_text(text, &steer, &error);
		srd_alloc_fail_at(0);
		if (ret) {
			assert_null(steer);
			assert_int_equal(ret, -ENOMEM);
			assert_non_null(strstr(error.message, "some/x.lua"));
			assert_int_equal(srd_alloc_live(), live);
		}
	}
	srd_steer_close(steer);
	assert_int_equal(srd_alloc_live(), live);
}

/* That a file of an endless loop ends without an option, though none waits for it here. */
static void test_load_limit(void **state)
{
	assert_int_equal(srd_load_limit(0), SRD_LUA_LOAD_LIMIT);
	assert_int_equal(srd_load_limit(SRD_LUA_TIME_LIMIT), SRD_LUA_LOAD_LIMIT);
	assert_int_equal(srd_load_limit(1000000), 1000000);
	assert_true(SRD_LUA_LOAD_LIMIT <= UINT64_C(10000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_limit),    cmocka_unit_test(test_commands),
		cmocka_unit_test(test_refusals),      cmocka_unit_test(test_moments),
		cmocka_unit_test(test_too_late),      cmocka_unit_test(test_ends_of_time),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("steer", tests, NULL, NULL);
}
