/* SPDX-License-Identifier: MIT */
/* Loading and running scenarios: the C side of it. The language itself: tests/lua. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lua/object.h"
#include "lua/scenario.h"
#include "lua/script.h"
#include "qp/scheduler.h"
#include "verbs/alloc.h"

#include "lua/api_names.h"

#define PRELUDE "local srd = require 'srdlab'\n"

static struct srd_run_config mock_config(void)
{
	return (struct srd_run_config){.backend = srd_backend_find("mock"), .hash = true};
}

static struct srd_script *load(const char *text)
{
	struct srd_sandbox sandbox = {0};
	struct srd_script *script;
	struct srd_error error = {0};

	if (srd_script_load_text("dir/test.lua", text, strlen(text), &sandbox, &script, &error))
		fail_msg("%s", error.message);
	return script;
}

static uint64_t time_limit; /* of the next load; 0: the default */

static void refused(const char *text, int code, const char *message)
{
	struct srd_sandbox sandbox = {.time_limit = time_limit, .memory_limit = 4 << 20};
	struct srd_script *script = (void *)1;
	struct srd_error error = {0};

	assert_int_equal(
		srd_script_load_text("dir/test.lua", text, strlen(text), &sandbox, &script, &error),
		code);
	assert_null(script);
	assert_string_equal(error.message, message);
}

/* Run the first scenario of TEXT. */
static void run(const char *text, const struct srd_run_config *config,
		struct srd_scenario_result *result)
{
	struct srd_script *script = load(text);
	struct srd_error error = {0};

	if (srd_scenario_run(script, 0, config, result, &error))
		fail_msg("%s", error.message);
	srd_script_free(script);
}

static void passes(const char *text)
{
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;

	run(text, &config, &result);
	if (result.num_failures)
		fail_msg("%d: %s", result.failures[0].line, result.failures[0].message);
	assert_int_equal(result.verdict, SRD_PASSED);
	srd_scenario_result_release(&result);
}

static void test_infos(void **state)
{
	struct srd_script *script =
		load(PRELUDE "srd.scenario('one', { description = 'first',\n"
			     "tags = { 'x', 'y' }, needs = { 'faults' },\n"
			     "violates = 'chunk.cover', seeds = true }, function() end)\n"
			     "srd.scenario('two', {}, function() end)\n"
			     "srd.scenario('three', function() end)\n");
	const struct srd_scenario_info *one = srd_script_scenario(script, 0);
	const struct srd_scenario_info *two = srd_script_scenario(script, 1);

	assert_int_equal(srd_script_count(script), 3);
	assert_string_equal(srd_script_path(script), "dir/test.lua");
	assert_null(srd_script_scenario(script, 3));
	assert_null(srd_script_scenario(script, -1));
	assert_string_equal(one->name, "one");
	assert_string_equal(one->description, "first");
	assert_string_equal(one->tags[0], "x");
	assert_string_equal(one->tags[1], "y");
	assert_string_equal(one->tags[2], "seeds");
	assert_null(one->tags[3]);
	assert_string_equal(one->needs[0], "faults");
	assert_null(one->needs[1]);
	assert_string_equal(one->violates, "chunk.cover");
	assert_string_equal(two->name, "two");
	assert_int_equal(two->line, 5);
	assert_string_equal(two->description, "");
	assert_null(two->tags[0]);
	assert_null(two->violates);
	srd_script_free(script);
}

static void test_groups(void **state)
{
	struct srd_script *script =
		load(PRELUDE
		     "srd.describe('outer', { tags = { 'x' }, needs = { 'faults' } }, function()\n"
		     "srd.scenario('one', { tags = { 'y' } }, print)\n"
		     "srd.describe('inner', { description = 'd', needs = {} }, function()\n"
		     "srd.scenario('two', print)\n"
		     "end) end)\n"
		     "srd.scenario('three', print)\n");
	const struct srd_scenario_info *one = srd_script_scenario(script, 0);
	const struct srd_scenario_info *two = srd_script_scenario(script, 1);

	assert_string_equal(one->name, "outer: one");
	assert_string_equal(one->tags[0], "x");
	assert_string_equal(one->tags[1], "y");
	assert_string_equal(one->needs[0], "faults");
	assert_int_equal(one->line, 3);
	assert_string_equal(two->name, "outer: inner: two");
	assert_string_equal(two->description, "d");
	assert_string_equal(two->tags[0], "x");
	assert_null(two->needs[0]);
	assert_int_equal(two->line, 5);
	assert_string_equal(srd_script_scenario(script, 2)->name, "three");
	srd_script_free(script);
	refused(PRELUDE "srd.describe('x', print)", -EINVAL,
		"dir/test.lua:2: srd.describe: the arguments are a name, a table of options, and a "
		"function");
}

static void test_bad_scripts(void **state)
{
	struct srd_sandbox sandbox = {0};
	struct srd_script *script;
	struct srd_error error;

	refused("x = = 1", -EINVAL, "dir/test.lua:1: unexpected symbol near '='");
	refused("\n\nerror 'no'", -EINVAL, "dir/test.lua:3: no");
	refused(PRELUDE "srd.scenario(1)", -EINVAL,
		"dir/test.lua:2: srd.scenario: the first argument is the scenario's name, a "
		"string");
	refused(PRELUDE "srd.scenario('', print)", -EINVAL,
		"dir/test.lua:2: srd.scenario: the name is empty");
	refused(PRELUDE "srd.scenario('x\\ny', print)", -EINVAL,
		"dir/test.lua:2: srd.scenario: the name has a control character at 2: it is one "
		"line of text");
	refused(PRELUDE "srd.scenario('x', {})", -EINVAL,
		"dir/test.lua:2: srd.scenario: the arguments are a name, a table of options, and "
		"a function");
	refused(PRELUDE "local f = function() end\nsrd.scenario('x', f)\nsrd.scenario('x', f)",
		-EEXIST, "dir/test.lua:4: a second scenario named \"x\"; the first is at line 3");
	refused(PRELUDE "srd.scenario('x', { timeout = '5KiB' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: timeout = \"5KiB\": a time is expected, such as "
		"500 or \"50us\" (units ns, us, ms, s)");
	refused(PRELUDE "srd.scenario('x', { limits = { max_sq_wrr = 1 } }, print)", -EINVAL,
		"dir/test.lua:2: limits: unknown field \"max_sq_wrr\"; did you mean "
		"\"max_sq_wr\"?");
	refused(PRELUDE "srd.scenario('x', { needs = { 'fault' } }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: needs = \"fault\": no such ability; did you "
		"mean \"faults\"?");
	refused(PRELUDE "srd.scenario('x', { bug = 'B1' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: bug and form go together");
	refused(PRELUDE "srd.scenario('x', { bug = 'B1', form = 'wrong' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: form = \"wrong\": it is broken or right");
	refused(PRELUDE "srd.scenario('x', { bug = 'B1', form = 'broken' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: the broken form of a bug says in violates or "
		"fails what flags it");
	refused(PRELUDE "srd.scenario('x', { bug = 'B1', form = 'right', fails = 'x' }, print)",
		-EINVAL,
		"dir/test.lua:2: scenario_options: the right form of a bug violates and fails "
		"nothing");
	refused(PRELUDE "srd.scenario('x', { violates = 'chunk.covr' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: violates = \"chunk.covr\": no such rule; did "
		"you mean \"chunk.cover\"?");
	refused(PRELUDE "srd.scenario('x', { profile = 'tiny' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: profile = \"tiny\": no such profile; there are "
		"efa0, efa1, efa2, efa3, efa4, huge, id64, no_rdma, rc, small, wide_wqe, and "
		"instance "
		"types such as trn2.48xlarge");
	refused(PRELUDE "srd.scenario('x', { profile = { mtuu = 1 } }, print)", -EINVAL,
		"dir/test.lua:2: profile: unknown field \"mtuu\"; did you mean \"mtu\"?");
	refused("coroutine.yield()", -EINVAL,
		"dir/test.lua:1: coroutine.yield outside of a scenario");
	refused("error {}", -EINVAL,
		"dir/test.lua:1: error was called with a table that has no text");
	refused("error(setmetatable({}, { __tostring = error }))", -EINVAL,
		"dir/test.lua:1: error was called with a table whose __tostring fails");
	refused(PRELUDE "srd.scenario('x', { needs = { 'q' } }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: needs = \"q\": no such ability");
	refused(PRELUDE "srd.scenario('x', { tags = 'a' }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: tags = \"a\": a list of strings is expected");
	refused(PRELUDE "srd.scenario('x', { tags = { 1 } }, print)", -EINVAL,
		"dir/test.lua:2: scenario_options: tags = 1: a list of strings is expected");
	refused(PRELUDE "srd.scenario('x', { limits = { [1] = 2 } }, print)", -EINVAL,
		"dir/test.lua:2: limits: unknown field \"1\"");
	refused("local t = {}\nwhile true do t[#t + 1] = {} end", -ENOMEM,
		"dir/test.lua:2: out of memory: the script may take 4MiB (--memory)");
	assert_int_equal(srd_script_load("/nowhere/x.lua", &sandbox, &script, &error), -ENOENT);
	assert_null(script);
	assert_non_null(strstr(error.message, "/nowhere/x.lua"));
}

__attribute__((unused)) static void test_load_ends_in_time(void **state)
{
	time_limit = 200000000;
	refused("while true do end", -EINVAL,
		"dir/test.lua:1: out of time: the scenario ran longer than 200 ms of wall time");
	time_limit = 0;
}

static void test_first_line_of_a_shell(void **state)
{
	struct srd_script *script = load("\xef\xbb\xbf#!/usr/bin/env srdlab\n" PRELUDE
					 "srd.scenario('x', {}, function() end)");

	assert_int_equal(srd_script_scenario(script, 0)->line, 3);
	srd_script_free(script);
}

static void test_result(void **state)
{
	static const char text[] =
		PRELUDE "srd.scenario('x', {}, function(t)\n"
			"local p = t:pair { memory = 64 }\n"
			"t:wait(p.a.qp:put { from = p.a.mem:fill 'random', to = p.b.mem })\n"
			"end)";
	struct srd_run_config config = mock_config();
	struct srd_scenario_result first, second, other;

	run(text, &config, &first);
	run(text, &config, &second);
	config.seed = 1;
	run(text, &config, &other);
	assert_int_equal(first.verdict, SRD_PASSED);
	assert_true(first.virtual_time > 0);
	assert_true(first.wall_time > 0);
	assert_true(first.num_events > 20);
	assert_int_not_equal(first.trace_hash, 0);
	assert_int_equal(first.trace_hash, second.trace_hash);
	assert_int_not_equal(first.trace_hash, other.trace_hash);
	srd_scenario_result_release(&first);
	srd_scenario_result_release(&second);
	srd_scenario_result_release(&other);
	config.hash = false;
	run(text, &config, &first);
	assert_int_equal(first.trace_hash, 0);
	srd_scenario_result_release(&first);
}

/* A scheduler that takes ops and does nothing: what it says of them is set here. */
static struct {
	uint32_t queued, in_flight;
} idle;

static int idle_create(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
		       const struct srd_scheduler_config *config, struct srd_scheduler **out,
		       struct srd_error *error)
{
	*out = (struct srd_scheduler *)&idle;
	return 0;
}

static void idle_destroy(struct srd_scheduler *scheduler)
{
}

static int idle_submit(struct srd_scheduler *scheduler, const struct srd_op *op,
		       struct srd_error *error)
{
	return 0;
}

static int idle_progress(struct srd_scheduler *scheduler, struct srd_error *error)
{
	return 0;
}

static int idle_result(struct srd_scheduler *scheduler, struct srd_op_result *out)
{
	return 0;
}

static uint32_t idle_in_flight(struct srd_scheduler *scheduler)
{
	return idle.in_flight;
}

static uint32_t idle_queued(struct srd_scheduler *scheduler)
{
	return idle.queued;
}

static int idle_adopt(struct srd_scheduler *scheduler, const struct srd_wr_ids *ids,
		      uint64_t cookie, struct srd_error *error)
{
	return 0;
}

static uint64_t idle_poll_delay(struct srd_scheduler *scheduler, uint64_t now)
{
	return 0;
}

/* The rows of the report of who waits for whom that only a broken scheduler comes to. */
static void test_scheduler_that_does_nothing(void **state)
{
	static const struct srd_scheduler_ops ops = {
		.abi = SRD_QUEUE_PAIR_ABI,
		.name = "idle",
		.create = idle_create,
		.destroy = idle_destroy,
		.submit = idle_submit,
		.progress = idle_progress,
		.result = idle_result,
		.in_flight = idle_in_flight,
		.queued = idle_queued,
		.adopt = idle_adopt,
		.poll_delay = idle_poll_delay,
	};
	static const char text[] =
		PRELUDE "srd.scenario('x', {}, function(t)\n"
			"local p = t:pair { memory = 64, max_send_wr = 4 }\n"
			"t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })\n"
			"end)";
	static const struct {
		uint32_t queued, in_flight;
		const char *message;
	} cases[] = {
		{0, 0,
		 "deadlock at 0ns: nothing can happen any more\n"
		 "  likely cause: the scheduler has taken the put of line 4 and posted nothing for "
		 "it\n"
		 "  line 4 waits for the put of line 4\n"
		 "  the put of line 4 on queue pair 1 of host a: taken, and nothing was posted for "
		 "it"},
		{1, 0,
		 "deadlock at 0ns: nothing can happen any more\n"
		 "  likely cause: nothing is in flight on queue pair 1, and the scheduler keeps "
		 "the put of line 4 back all the same\n"
		 "  line 4 waits for the put of line 4\n"
		 "  the put of line 4 on queue pair 1 of host a: queued, though nothing is in "
		 "flight: it needs 1, and 4 of 4 are free (max_send_wr)"},
		{1, 4,
		 "deadlock at 0ns: nothing can happen any more\n"
		 "  likely cause: the scheduler counts more requests in flight on queue pair 1 "
		 "than there are, and keeps the put of line 4 back: credits were not returned\n"
		 "  line 4 waits for the put of line 4\n"
		 "  the put of line 4 on queue pair 1 of host a: queued, it waits for credits: it "
		 "needs 1, and 0 of 4 are free (max_send_wr)"},
	};
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;

	config.scheduler_ops = &ops;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		idle.queued = cases[i].queued;
		idle.in_flight = cases[i].in_flight;
		run(text, &config, &result);
		assert_int_equal(result.verdict, SRD_FAILED);
		assert_string_equal(result.failures[0].message, cases[i].message);
		srd_scenario_result_release(&result);
	}
}

/* One that does its work and tells nobody. */
static void test_scheduler_that_answers_nothing(void **state)
{
	static const char text[] =
		PRELUDE "srd.scenario('x', {}, function(t)\n"
			"local p = t:pair { memory = 64, max_send_wr = 4 }\n"
			"t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })\n"
			"end)";
	struct srd_scheduler_ops ops = srd_credit_scheduler_ops;
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;

	ops.result = idle_result;
	config.scheduler_ops = &ops;
	run(text, &config, &result);
	assert_int_equal(result.verdict, SRD_FAILED);
	assert_non_null(
		strstr(result.failures[0].message,
		       "\n  likely cause: all completions of the put of line 4 were polled, "
		       "and the scheduler does not answer it\n"));
	assert_non_null(
		strstr(result.failures[0].message,
		       "\n  the put of line 4 on queue pair 1 of host a: posted, and all of "
		       "its completions were polled"));
	srd_scenario_result_release(&result);
}

static void count_event(void *arg, const struct srd_event *event)
{
	(*(uint64_t *)arg)++;
}

static void test_readers_see_every_event(void **state)
{
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;
	uint64_t seen = 0;

	config.readers[0].fn = count_event;
	config.readers[0].reader = &seen;
	config.num_readers = 1;
	config.rules = "none";
	run(PRELUDE "srd.scenario('x', {}, function(t) t:pair() end)", &config, &result);
	assert_true(seen > 0);
	assert_int_equal(seen, result.num_events);
	srd_scenario_result_release(&result);
}

static void take_line(void *arg, const char *text)
{
	snprintf(arg, 64, "%s", text);
}

static void test_log(void **state)
{
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;
	char line[64];

	config.log = take_line;
	config.log_arg = line;
	run(PRELUDE "srd.scenario('x', {}, function(t) t:log('a', 1, {}) end)", &config, &result);
	assert_string_equal(line, "a\t1\ttable");
	srd_scenario_result_release(&result);
}

static int no_device(const struct srd_backend_options *options, struct srd_verbs **out,
		     struct srd_error *error)
{
	return srd_error_set(error, -ENODEV, "no such thing here");
}

static int no_memory(const struct srd_backend_options *options, struct srd_verbs **out,
		     struct srd_error *error)
{
	return srd_error_set(error, -ENOMEM, "out of memory");
}

static void skipped(const char *options, const char *reason)
{
	struct srd_backend backend = {.name = "bare", .open = no_device};
	struct srd_run_config config = {.backend = &backend};
	struct srd_scenario_result result;
	char text[256];

	snprintf(text, sizeof(text), PRELUDE "srd.scenario('x', { %s }, function() end)", options);
	run(text, &config, &result);
	assert_int_equal(result.verdict, SRD_SKIPPED);
	assert_string_equal(result.skip_reason, reason);
	assert_int_equal(result.num_failures, 0);
	srd_scenario_result_release(&result);
}

static void test_skips(void **state)
{
	skipped("", "no such thing here");
	skipped("needs = { 'faults' }", "needs \"faults\": the bare backend cannot inject faults");
	skipped("needs = { 'virtual_time' }",
		"needs \"virtual_time\": the bare backend has no virtual time");
	skipped("profile = 'small'", "has a profile of its own: the bare backend takes none");
}

static void test_tool_failures(void **state)
{
	struct srd_script *script = load(PRELUDE "srd.scenario('x', {}, function() end)");
	struct srd_backend backend = {.name = "bare", .open = no_memory};
	struct srd_run_config config = {.backend = &backend};
	struct srd_scenario_result result;
	struct srd_error error;

	assert_int_equal(srd_scenario_run(script, 0, &config, &result, &error), -ENOMEM);
	srd_scenario_result_release(&result);
	assert_int_equal(srd_scenario_run(script, 1, &config, &result, &error), -EINVAL);
	assert_string_equal(error.message, "dir/test.lua has no scenario 1");
	srd_scenario_result_release(&result);
	config = mock_config();
	config.rules = "nonsense";
	assert_int_equal(srd_scenario_run(script, 0, &config, &result, &error), -EINVAL);
	srd_scenario_result_release(&result);
	srd_script_free(script);
}

/* The file runs again for each scenario: with another seed it may take another course. */
static void test_another_course_when_run(void **state)
{
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;

	config.seed = 1;
	run(PRELUDE "if math.random(1000) == 962 then\n"
		    "srd.scenario('x', {}, function() end)\n"
		    "end",
	    &config, &result);
	assert_int_equal(result.verdict, SRD_FAILED);
	assert_string_equal(result.failures[0].message,
			    "the script makes other scenarios than when it was loaded");
	srd_scenario_result_release(&result);
	run(PRELUDE "srd.scenario('x', {}, function() end)\n"
		    "if math.random(1000) ~= 962 then error 'not now' end",
	    &config, &result);
	assert_int_equal(result.verdict, SRD_FAILED);
	assert_int_equal(result.failures[0].line, 3);
	assert_string_equal(result.failures[0].message, "not now");
	assert_string_equal(result.failures[0].file, "dir/test.lua");
	srd_scenario_result_release(&result);
}

static void test_unsafe(void **state)
{
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;

	config.sandbox.unsafe = true;
	run(PRELUDE "srd.scenario('x', {}, function(t)\n"
		    "t:expect(io.open('/nowhere')):equals(nil)\n"
		    "t:expect(os.getenv 'SRDLAB_NO_SUCH'):equals(nil)\n"
		    "t:expect(require 'string' == string):equals(true)\n"
		    "t:expect(function() io.stdout:equals() end):raises 'equals'\n"
		    "t:expect(function() t:connect(io.stdout) end):raises 'queue pair'\n"
		    "end)",
	    &config, &result);
	if (result.num_failures)
		fail_msg("%s", result.failures[0].message);
	srd_scenario_result_release(&result);
}

/* A library in a folder takes the place of the one that is built in. */
static void test_lib_path(void **state)
{
	char folder[] = "/tmp/srdlab-lib-XXXXXX", path[64];
	struct srd_sandbox sandbox = {.lib_path = folder};
	struct srd_script *script;
	struct srd_error error;
	FILE *file;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(srd_script_load_text("x.lua", "", 0, &sandbox, &script, &error), -ENOENT);
	for (int i = 0; i < srd_num_lua_lib; i++) {
		snprintf(path, sizeof(path), "%s/%s.lua", folder, srd_lua_lib[i].name);
		file = fopen(path, "w");
		assert_non_null(file);
		fwrite(srd_lua_lib[i].text, 1, srd_lua_lib[i].size, file);
		fclose(file);
	}
	assert_int_equal(
		srd_script_load_text("x.lua", PRELUDE, strlen(PRELUDE), &sandbox, &script, &error),
		0);
	srd_script_free(script);
	file = fopen(path, "w"); /* the last of them */
	assert_non_null(file);
	fputs("this is no Lua", file);
	fclose(file);
	assert_int_equal(srd_script_load_text("x.lua", "", 0, &sandbox, &script, &error), -EINVAL);
	assert_non_null(strstr(error.message, "srdlab/srdlab.lua:1:"));
	for (int i = 0; i < srd_num_lua_lib; i++) {
		snprintf(path, sizeof(path), "%s/%s.lua", folder, srd_lua_lib[i].name);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(folder), 0);
}

/* What the script leaves is released in order, whatever it is. */
static void test_leftovers_are_released(void **state)
{
	passes(PRELUDE "srd.scenario('x', {}, function(t)\n"
		       "local v = t:host('a').verbs\n"
		       "local pd, cq = v:alloc_pd(), v:create_cq(4)\n"
		       "v:create_qp_ex { pd = pd, send_cq = cq, recv_cq = cq }\n"
		       "pd:create_ah { dgid = v:query_gid() }\n"
		       "pd:reg_mr(t:host('a'):memory(64, { register = false }), 1)\n"
		       "v:open_device():alloc_pd()\n"
		       "local p = t:pair { memory = 64 }\n"
		       "t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })\n"
		       "end)");
}

/* A destroy that is refused at the end is a failure of the scenario, at the object's line. */
static void test_teardown_failures(void **state)
{
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;

	run(PRELUDE "srd.scenario('x', {}, function(t)\n"
		    "local m = t:host('a'):memory(64)\n"
		    "t:fail_call('dereg_mr', { errno = 'EIO' })\n"
		    "end)",
	    &config, &result);
	assert_int_equal(result.verdict, SRD_FAILED);
	assert_int_equal(result.failures[0].line, 3);
	assert_string_equal(result.failures[0].message,
			    "at the scenario's end dereg_mr of memory 1, made here, failed: EIO");
	srd_scenario_result_release(&result);
}

/* ---- sweeps ---- */

static const char whole[] = PRELUDE
	"srd.scenario('x', { tags = { 'a' }, limits = { max_rdma_size = 16 } }, function(t)\n"
	"local p = t:pair { memory = 64 }\n"
	"local ops = {}\n"
	"for i = 1, 3 do\n"
	"  ops[i] = p.a.qp:submit_put { from = p.a.mem:slice(0, 48), to = p.b.mem }\n"
	"end\n"
	"t:spawn(function() t:wait(ops) end)\n"
	"t:wait(p.a.qp:get { from = p.b.mem, to = p.a.mem })\n"
	"t:expect(#ops[1]:chunks()):equals(3)\n"
	"t:expect(p.a.mem):same_content(p.b.mem)\n"
	"local keys = {}\n"
	"for k in pairs { b = 1, a = 2, [1] = 3 } do keys[#keys + 1] = k end\n"
	"t:expect(keys):equals { 1, 'a', 'b' }\n"
	"end)";

/* What is told of runs that fail: what is waited for, a rule with its events, the order. */
static const char *const failing[] = {
	PRELUDE "srd.scenario('x', { limits = { max_rdma_size = 16 } }, function(t)\n"
		"local p = t:pair { memory = 64 }\n"
		"t:spawn(function() p.a.qp:put { from = p.a.mem,\n"
		"  to = { addr = p.b.mem.addr, size = 64, key = 99 } } end)\n"
		"t:run_for '1ms'\n"
		"local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }\n"
		"t:drop(op:request(2))\n"
		"t:wait(op)\n"
		"end)",
	PRELUDE "srd.scenario('x', { orders = 'all', orders_max = 6 }, function(t)\n"
		"local p = t:pair { memory = 64, max_send_wr = 4 }\n"
		"local get = p.a.qp:submit_get { from = p.b.mem, to = p.a.mem }\n"
		"local put = p.b.qp:submit_put { from = p.b.mem, to = p.a.mem }\n"
		"while put:status() == 'pending' do t:run_for '1us' p.b.qp:progress() end\n"
		"p.a.qp:progress()\n"
		"t:expect(get:status()):equals 'pending'\n"
		"end)",
	PRELUDE "srd.scenario('x', { limits = { max_rdma_size = 64 } }, function(t)\n"
		"local p = t:rail_pair { memory = 512, stripe = 64, max_send_wr = 2 }\n"
		"t:fail(p.a.qps[2]:next_request(2), 'REMOTE_ERROR_ABORT')\n"
		"t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem })\n"
		"end)",
};

static uint64_t last_count; /* allocations of the last load and run that got by */

/* One load and run of TEXT with the N-th allocation failing; false: there were fewer than N. */
static bool run_without_memory(const char *text, uint64_t n)
{
	struct srd_sandbox sandbox = {0};
	struct srd_run_config config = mock_config();
	struct srd_scenario_result result;
	struct srd_script *script;
	struct srd_error error = {0};
	bool reached;
	int ret;

	srd_alloc_fail_at(n);
	ret = srd_script_load_text("x.lua", text, strlen(text), &sandbox, &script, &error);
	if (!ret) {
		ret = srd_scenario_run(script, 0, &config, &result, &error);
		last_count = srd_alloc_count();
		reached = last_count >= n;
		srd_alloc_fail_at(0);
		/* Lua tries again after a collection, so that it may well succeed. */
		if (!ret && result.verdict == SRD_FAILED)
			assert_true(result.num_failures > 0);
		srd_scenario_result_release(&result);
		srd_script_free(script);
	} else {
		reached = true;
		srd_alloc_fail_at(0);
		assert_null(script);
	}
	if (ret && ret != -ENOMEM)
		fail_msg("allocation %d: %s", (int)n, error.message);
	return reached;
}

__attribute__((unused)) static void test_every_allocation_fails(void **state)
{
	int64_t live = srd_alloc_live();
	uint64_t n = 1, step = 1;

	/* Every one at the beginning, then fewer: Lua's own allocations are thousands. */
	for (; run_without_memory(whole, n); n += step) {
		assert_int_equal(srd_alloc_live(), live);
		step = 1 + n / 100;
	}
	assert_true(n > 2000);
	assert_int_equal(srd_alloc_live(), live);
}

/* Every one near the end, where it is told, and some before. */
__attribute__((unused)) static void test_allocations_of_failures_fail(void **state)
{
	int64_t live = srd_alloc_live();

	for (size_t i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
		uint64_t all, n;

		assert_false(run_without_memory(failing[i], UINT64_MAX));
		all = last_count;
		for (n = all - 1000; run_without_memory(failing[i], n); n += n + 150 < all ? 7 : 1)
			assert_int_equal(srd_alloc_live(), live);
		assert_true(n > all);
	}
}

static void test_every_call_fails(void **state)
{
	struct srd_run_config config = mock_config();
	int64_t live = srd_alloc_live();
	struct srd_scenario_result result;
	char text[2048];

	for (int verb = 0; verb < SRD_NUM_VERBS; verb++) {
		for (int nth = 0; nth <= 3; nth++) {
			snprintf(text, sizeof(text),
				 PRELUDE
				 "srd.scenario('x', {}, function(t)\n"
				 "if not pcall(t.fail_call, t, '%s', { nth = %d }) then\n"
				 "return end\n"
				 "local p = t:pair { memory = 64 }\n"
				 "t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem }, '1s')\n"
				 "t:expect(p.b.mem):same_content(p.a.mem)\n"
				 "p.b.qp:destroy()\n"
				 "end)",
				 srd_verb_str((uint32_t)verb), nth);
			run(text, &config, &result);
			srd_scenario_result_release(&result);
			assert_int_equal(srd_alloc_live(), live);
		}
	}
}

/* ---- the API and its specification ---- */

static int open_api(lua_State *L)
{
	struct srd_script script = {.chunk_name = (char *)"@x.lua",
				    .code = (char *)"return require 'srdlab'",
				    .code_size = strlen("return require 'srdlab'")};

	srd_script_open(L, &script);
	lua_call(L, 0, 1);
	return 1;
}

/* Push the table of the methods of CLASS; the module is at 1. */
static void push_methods(lua_State *L, const char *class)
{
	if (!strcmp(class, "module")) {
		lua_pushvalue(L, 1);
		return;
	}
	if (!strcmp(class, "expectation")) {
		srd_class_methods(L, SRD_OBJECT_SCENARIO);
		lua_getfield(L, -1, "expect");
		lua_pushnil(L);
		lua_pushnil(L);
		lua_call(L, 2, 1);
		assert_true(lua_getmetatable(L, -1));
		return;
	}
	for (int type = 0; type < SRD_NUM_OBJECT_TYPES; type++) {
		if (strcmp(srd_object_name((enum srd_object_type)type), class))
			continue;
		srd_class_methods(L, (enum srd_object_type)type);
		return;
	}
	fail_msg("no class %s", class);
}

static bool described(const char *class, const char *name)
{
	for (size_t i = 0; i < sizeof(api_names) / sizeof(api_names[0]); i++)
		if (!strcmp(api_names[i].class, class) && !strcmp(api_names[i].name, name))
			return true;
	return false;
}

static void check_class(lua_State *L, const char *class)
{
	push_methods(L, class);
	for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
		const char *name = lua_tostring(L, -2);

		if (strncmp(name, "__", 2) && lua_isfunction(L, -1) && !described(class, name))
			fail_msg("%s.%s lacks an annotation in scripts/spec/api.lua", class, name);
	}
	for (size_t i = 0; i < sizeof(api_names) / sizeof(api_names[0]); i++) {
		if (strcmp(api_names[i].class, class) || !api_names[i].is_method)
			continue;
		lua_pushstring(L, api_names[i].name);
		if (lua_rawget(L, -2) != LUA_TFUNCTION)
			fail_msg("%s.%s is described and does not exist", class, api_names[i].name);
		lua_pop(L, 1);
	}
	lua_settop(L, 1);
}

static void test_api_is_described(void **state)
{
	struct srd_sandbox sandbox = {0};
	struct srd_lua lua = {0};

	assert_int_equal(srd_lua_open(&lua, &sandbox, 0), 0);
	lua_pushcfunction(lua.L, open_api);
	if (lua_pcall(lua.L, 0, 1, 0))
		fail_msg("%s", lua_tostring(lua.L, -1));
	check_class(lua.L, "module");
	check_class(lua.L, "expectation");
	for (int type = 0; type < SRD_NUM_OBJECT_TYPES; type++)
		check_class(lua.L, srd_object_name((enum srd_object_type)type));
	srd_lua_close(&lua);
}

/* A script that asks an object of each class for each property that is described. */
static void test_properties_are_there(void **state)
{
	static const char begin[] = PRELUDE
		"srd.scenario('x', {}, function(t)\n"
		"local p = t:pair { memory = 64 }\n"
		"local v = p.a.host.verbs\n"
		"local o = { ['host'] = p.a.host, ['memory'] = p.a.mem,\n"
		"['rails'] = t:rail_pair().a.rails,\n"
		"['queue pair'] = p.a.qp, ['device'] = v, ['protection domain'] = v.pd,\n"
		"['memory region'] = v.pd:reg_mr(p.a.mem, 1),\n"
		"['completion queue'] = v:create_cq(1), ['verbs queue pair'] = p.a.qp.verbs,\n"
		"['op'] = p.a.qp:put { from = p.a.mem, to = p.b.mem } }\n";
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof(text), "%s", begin);

	for (size_t i = 0; i < sizeof(api_names) / sizeof(api_names[0]); i++)
		if (!api_names[i].is_method)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "t:expect(o['%s'].%s):differs_from(nil)\n",
						 api_names[i].class, api_names[i].name);
	snprintf(text + used, sizeof(text) - used, "end)\n");
	passes(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_infos),
		cmocka_unit_test(test_groups),
#ifndef __SANITIZE_THREAD__ /* it keeps a signal back until a call that blocks: none in a loop */
		cmocka_unit_test(test_load_ends_in_time),
#endif
		cmocka_unit_test(test_bad_scripts),
		cmocka_unit_test(test_first_line_of_a_shell),
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_scheduler_that_does_nothing),
		cmocka_unit_test(test_scheduler_that_answers_nothing),
		cmocka_unit_test(test_readers_see_every_event),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_skips),
		cmocka_unit_test(test_tool_failures),
		cmocka_unit_test(test_another_course_when_run),
		cmocka_unit_test(test_unsafe),
		cmocka_unit_test(test_lib_path),
		cmocka_unit_test(test_leftovers_are_released),
		cmocka_unit_test(test_teardown_failures),
#ifndef __SANITIZE_THREAD__ /* one thread alone: minutes, and nothing for it to see */
		cmocka_unit_test(test_every_allocation_fails),
		cmocka_unit_test(test_allocations_of_failures_fail),
#endif
		cmocka_unit_test(test_every_call_fails),
		cmocka_unit_test(test_api_is_described),
		cmocka_unit_test(test_properties_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
