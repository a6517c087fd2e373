/* SPDX-License-Identifier: MIT */
/* Each report of the same small run, to the letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <srdlab/version.h>

#include "report/report.h"
#include "report/result_json.h"
#include "report/text.h"
#include "verbs/alloc.h"

static struct srd_failure failure = {
	.file = (char *)"dir/a.lua",
	.line = 41,
	.rule = (char *)"chunk.cover",
	.message = (char *)"expected 2 & <more>, got 3\nexpected { 1, 2 }\n\n     got { 1, 3 }",
};
static const struct srd_scenario_result passed = {
	.verdict = SRD_PASSED,
	.virtual_time = 12345,
	.wall_time = 1500000,
	.num_events = 77,
	.trace_hash = UINT64_C(0xfedcba9876543210),
};
static const struct srd_scenario_result failed = {
	.verdict = SRD_FAILED,
	.failures = &failure,
	.num_failures = 1,
	.wall_time = 2500000,
};
static const struct srd_scenario_result skipped = {
	.verdict = SRD_SKIPPED,
	.skip_reason = (char *)"no EFA device was found\nat all",
};
static struct srd_failure load_failure = {
	.file = (char *)"b.lua",
	.line = 3,
	.message = (char *)"unexpected symbol",
};
static const struct srd_scenario_result unloaded = {
	.verdict = SRD_FAILED,
	.failures = &load_failure,
	.num_failures = 1,
};

static const struct srd_report_case cases[] = {
	{.file = "dir/a.lua", .name = "one #1", .line = 3, .seed = 1, .result = &passed},
	{.file = "dir/a.lua",
	 .name = "two",
	 .line = 40,
	 .seed = 1,
	 .result = &failed,
	 .log = "posting\n",
	 .repeat = "srdlab run --seed 1 dir/a.lua:40",
	 .replay = "srdlab-replay/a-40-seed1.json"},
	{.file = "dir/a.lua", .name = "three", .line = 60, .seed = 1, .result = &skipped},
	{.file = "b.lua", .line = 3, .seed = 1, .result = &unloaded},
};
#define NUM_CASES (sizeof(cases) / sizeof(cases[0]))

static struct srd_report_head head = {
	.backend = "mock",
	.profile = "efa1",
	.first_seed = 1,
	.last_seed = 1,
	.num_cases = NUM_CASES,
	.file_width = 9,
};
static struct srd_report_tail tail = {
	.passed = 1,
	.failed = 2,
	.skipped = 1,
	.wall_time = 12345678,
};

static char *text;
static size_t text_size;
static FILE *out;

static int open_text(void **state)
{
	out = open_memstream(&text, &text_size);
	head.last_seed = 1;
	tail.ended = NULL;
	return !out;
}

static int drop_text(void **state)
{
	free(text);
	text = NULL;
	return 0;
}

static void write_report(struct srd_report *report)
{
	assert_non_null(report);
	assert_int_equal(report->ops->begin(report, &head), 0);
	for (size_t i = 0; i < NUM_CASES; i++)
		assert_int_equal(report->ops->add(report, &cases[i]), 0);
	assert_int_equal(report->ops->end(report, &tail), 0);
	report->ops->destroy(report);
	fclose(out);
}

static void terminal(void **state)
{
	struct srd_terminal_options options = {.slowest = 1};

	write_report(srd_report_terminal(out, &options));
	assert_string_equal(text, "srdlab " SRDLAB_VERSION ": mock, profile efa1, seed 1\n"
				  "\n"
				  "dir/a.lua:41: error: expected 2 & <more>, got 3\n"
				  "    in \"two\"\n"
				  "    expected { 1, 2 }\n"
				  "\n"
				  "         got { 1, 3 }\n"
				  "    | posting\n"
				  "    repeat: srdlab run --seed 1 dir/a.lua:40\n"
				  "    replay: srdlab-replay/a-40-seed1.json\n"
				  "\n"
				  "FAIL  dir/a.lua  1 passed, 1 failed, 1 skipped\n"
				  "b.lua:3: error: unexpected symbol\n"
				  "\n"
				  "FAIL  b.lua      1 failed\n"
				  "\n"
				  "skipped 1: no EFA device was found\n"
				  "at all\n"
				  "\n"
				  "failed:\n"
				  "    dir/a.lua:40  two\n"
				  "    b.lua\n"
				  "\n"
				  "slowest:\n"
				  "         2.500 ms  dir/a.lua:40  two\n"
				  "\n"
				  "1 passed, 2 failed, 1 skipped\n");
}

static void terminal_verbose(void **state)
{
	struct srd_terminal_options options = {.verbose = true, .timing = true};

	tail.ended = "out of time";
	write_report(srd_report_terminal(out, &options));
	assert_non_null(strstr(text, "pass  dir/a.lua:3  one #1\n"
				     "      12.345 us, 77 events, trace fedcba9876543210\n"));
	assert_non_null(strstr(text, "FAIL  dir/a.lua:40  two\n"));
	assert_non_null(strstr(text, "      | posting\ndir/a.lua:41: error:"));
	assert_non_null(strstr(text, "skip  dir/a.lua:60  three\n"));
	assert_non_null(strstr(text, "\nout of time\n0.012 s\n1 passed, 2 failed, 1 skipped\n"));
	assert_null(strchr(text, '\033'));
}

static void terminal_colours(void **state)
{
	struct srd_terminal_options options = {.colours = true};

	write_report(srd_report_terminal(out, &options));
	assert_non_null(strstr(text, "\033[1;31mFAIL\033[0m  b.lua"));
	assert_non_null(strstr(text, "\033[1;31m1 passed, 2 failed, 1 skipped\033[0m\n"));
}

/* Many seeds of one scenario: the first in full, the others by number. */
static void terminal_seeds(void **state)
{
	struct srd_terminal_options options = {0};
	struct srd_report *report = srd_report_terminal(out, &options);
	struct srd_report_case one = cases[1];

	head.last_seed = 20;
	assert_int_equal(report->ops->begin(report, &head), 0);
	for (one.seed = 3; one.seed < 15; one.seed++)
		assert_int_equal(report->ops->add(report, &one), 0);
	tail.failed = 12;
	assert_int_equal(report->ops->end(report, &tail), 0);
	tail.failed = 2;
	report->ops->destroy(report);
	fclose(out);
	assert_non_null(strstr(text, "efa1, seeds 1..20\n"));
	assert_non_null(strstr(text, "    in \"two\", seed 3\n"));
	assert_null(strstr(text, "seed 4"));
	assert_non_null(strstr(text, "    dir/a.lua:40  two [seeds 3, 4, 5, 6, 7, 8, 9, 10, 11, 12"
				     " and 2 more]\n"));
}

static const struct srd_scenario_info flagged = {.bug = "B2", .is_broken = true, .violates = "r.a"};
static const struct srd_scenario_info missed = {.bug = "B9", .is_broken = true, .fails = "x"};
static const struct srd_scenario_info deadlock = {
	.bug = "B2", .is_broken = true, .violates = "r.a", .fails = "deadlock"};
static const struct srd_scenario_info cure = {.bug = "B2"};
static const struct srd_scenario_info bad_cure = {.bug = "B9"};
static const struct srd_scenario_info unseen = {.bug = "B1", .is_broken = true, .fails = "x"};

/* A row a bug, in their order, whatever the order of the scenarios. */
static void terminal_bugs(void **state)
{
	static const struct srd_report_case list[] = {
		{.file = "a", .name = "a thing", .result = &passed, .info = &flagged},
		{.file = "a", .name = "more", .result = &passed, .info = &flagged},
		{.file = "a", .name = "again", .result = &passed, .info = &deadlock},
		{.file = "a", .name = "better", .result = &passed, .info = &cure},
		{.file = "a", .name = "another", .result = &failed, .info = &missed},
		{.file = "a", .name = "worse", .result = &failed, .info = &bad_cure},
		{.file = "a", .name = "elsewhere", .result = &skipped, .info = &unseen},
	};
	struct srd_terminal_options options = {0};
	struct srd_report *report = srd_report_terminal(out, &options);

	assert_int_equal(report->ops->begin(report, &head), 0);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(report->ops->add(report, &list[i]), 0);
	assert_int_equal(report->ops->end(report, &tail), 0);
	report->ops->destroy(report);
	fclose(out);
	assert_non_null(strstr(text, "\n"
				     "bug  broken form  right form  flagged by\n"
				     "B1   elsewhere    not run     skipped\n"
				     "B2   a thing      passed      r.a; deadlock\n"
				     "B9   another      FAILED      NOT FLAGGED\n"
				     "\n"));
}

static void tap(void **state)
{
	write_report(srd_report_tap(out));
	assert_string_equal(text, "TAP version 13\n"
				  "1..4\n"
				  "# srdlab " SRDLAB_VERSION ": mock, profile efa1\n"
				  "ok 1 - dir/a.lua: one \\#1\n"
				  "not ok 2 - dir/a.lua: two\n"
				  "  ---\n"
				  "  seed: 1\n"
				  "  repeat: \"srdlab run --seed 1 dir/a.lua:40\"\n"
				  "  replay: \"srdlab-replay/a-40-seed1.json\"\n"
				  "  failures:\n"
				  "  - message: \"expected 2 & <more>, got 3\"\n"
				  "    file: \"dir/a.lua\"\n"
				  "    line: 41\n"
				  "    rule: \"chunk.cover\"\n"
				  "    detail: |2\n"
				  "      expected { 1, 2 }\n"
				  "\n"
				  "           got { 1, 3 }\n"
				  "  ...\n"
				  "ok 3 - dir/a.lua: three # SKIP no EFA device was found\n"
				  "not ok 4 - b.lua: it could not be loaded\n"
				  "  ---\n"
				  "  failures:\n"
				  "  - message: \"unexpected symbol\"\n"
				  "    file: \"b.lua\"\n"
				  "    line: 3\n"
				  "  ...\n"
				  "# 1 passed, 2 failed, 1 skipped\n");
}

static void tap_early_end(void **state)
{
	tail.ended = "out of time";
	head.last_seed = 2;
	write_report(srd_report_tap(out));
	assert_non_null(strstr(text, "ok 1 - dir/a.lua: one \\#1 [seed 1]\n"));
	assert_non_null(strstr(text, "\nBail out! out of time\n# 1 passed"));
}

static void junit(void **state)
{
	xmlSchemaParserCtxtPtr parser = xmlSchemaNewParserCtxt(getenv("SRDLAB_TEST_XSD"));
	xmlSchemaPtr schema = xmlSchemaParse(parser);
	xmlSchemaValidCtxtPtr valid = xmlSchemaNewValidCtxt(schema);
	xmlDocPtr doc;

	write_report(srd_report_junit(out));
	doc = xmlReadMemory(text, (int)text_size, "report.xml", NULL, 0);
	assert_non_null(doc);
	assert_non_null(valid);
	assert_int_equal(xmlSchemaValidateDoc(valid, doc), 0);
	assert_non_null(strstr(text, "<testsuite name=\"dir/a.lua\" tests=\"3\" failures=\"1\" "
				     "errors=\"0\" skipped=\"1\" time=\"0.004000\">"));
	assert_non_null(strstr(text, "<testsuite name=\"b.lua\" tests=\"1\" failures=\"0\" "
				     "errors=\"1\" skipped=\"0\" time=\"0.000000\">"));
	assert_non_null(strstr(text, "<testcase name=\"two\" classname=\"dir/a.lua\" "
				     "time=\"0.002500\">"));
	assert_non_null(strstr(text, "<failure type=\"chunk.cover\" message=\"expected 2 &amp; "
				     "&lt;more&gt;, got 3\">dir/a.lua:41: error: expected 2"));
	assert_non_null(strstr(text, "<system-out>posting\n</system-out>"));
	assert_non_null(strstr(text, "repeat: srdlab run --seed 1 dir/a.lua:40\n</system-err>"));
	assert_non_null(strstr(text, "<error type=\"error\" message=\"unexpected symbol\">"));
	xmlFreeDoc(doc);
	xmlSchemaFreeValidCtxt(valid);
	xmlSchemaFree(schema);
	xmlSchemaFreeParserCtxt(parser);
	xmlCleanupParser();
}

static void json(void **state)
{
	json_t *root, *one;

	write_report(srd_report_json(out));
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "format")), "srdlab-report");
	assert_int_equal(json_integer_value(json_object_get(root, "failed")), 2);
	assert_true(json_is_null(json_object_get(root, "ended")));
	assert_int_equal(json_array_size(json_object_get(root, "scenarios")), NUM_CASES);
	one = json_array_get(json_object_get(root, "scenarios"), 0);
	assert_string_equal(json_string_value(json_object_get(one, "trace_hash")),
			    "fedcba9876543210");
	one = json_array_get(json_object_get(root, "scenarios"), 1);
	assert_string_equal(json_string_value(json_object_get(one, "verdict")), "failed");
	assert_string_equal(json_string_value(json_object_get(one, "repeat")), cases[1].repeat);
	one = json_array_get(json_object_get(one, "failures"), 0);
	assert_string_equal(json_string_value(json_object_get(one, "message")), failure.message);
	one = json_array_get(json_object_get(root, "scenarios"), 3);
	assert_true(json_is_null(json_object_get(one, "name")));
	json_decref(root);
}

static void result_round_trip(void **state)
{
	static const struct srd_scenario_result *const results[] = {&passed, &failed, &skipped};

	fclose(out);
	for (int i = 0; i < 3; i++) {
		const struct srd_scenario_result *r = results[i];
		struct srd_scenario_result back;
		json_t *object = srd_result_to_json(r);

		assert_int_equal(srd_result_from_json(object, &back), 0);
		json_decref(object);
		assert_int_equal(back.verdict, r->verdict);
		assert_true(back.trace_hash == r->trace_hash);
		assert_int_equal(back.virtual_time, r->virtual_time);
		assert_int_equal(back.wall_time, r->wall_time);
		assert_int_equal(back.num_events, r->num_events);
		assert_int_equal(back.num_failures, r->num_failures);
		if (r->skip_reason)
			assert_string_equal(back.skip_reason, r->skip_reason);
		if (r->num_failures) {
			assert_string_equal(back.failures[0].file, failure.file);
			assert_string_equal(back.failures[0].rule, failure.rule);
			assert_string_equal(back.failures[0].message, failure.message);
			assert_int_equal(back.failures[0].line, failure.line);
		}
		srd_scenario_result_release(&back);
	}
}

static void clean_text(void **state)
{
	static const char *const texts[][2] = {
		{"", ""},
		{"plain\ttext\n", "plain\ttext\n"},
		{"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x9f",
		 "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x9f"},
		{"a\033[31mb", "a\xef\xbf\xbd[31mb"},
		{"a\rb\177", "a\xef\xbf\xbd"
			     "b\xef\xbf\xbd"},
		{"a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd"}, /* half of a surrogate pair */
	};

	fclose(out);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *clean = srd_text_clean(texts[i][0]);

		assert_string_equal(clean, texts[i][1]);
		srd_free(clean);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(terminal, open_text, drop_text),
		cmocka_unit_test_setup_teardown(terminal_verbose, open_text, drop_text),
		cmocka_unit_test_setup_teardown(terminal_colours, open_text, drop_text),
		cmocka_unit_test_setup_teardown(terminal_seeds, open_text, drop_text),
		cmocka_unit_test_setup_teardown(terminal_bugs, open_text, drop_text),
		cmocka_unit_test_setup_teardown(tap, open_text, drop_text),
		cmocka_unit_test_setup_teardown(tap_early_end, open_text, drop_text),
		cmocka_unit_test_setup_teardown(junit, open_text, drop_text),
		cmocka_unit_test_setup_teardown(json, open_text, drop_text),
		cmocka_unit_test_setup_teardown(result_round_trip, open_text, drop_text),
		cmocka_unit_test_setup_teardown(clean_text, open_text, drop_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
