/* SPDX-License-Identifier: MIT */
/* The machinery of the rules: selection, suppression, repetition, timelines, what is judged. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "rules/map.h"
#include "rules_world.h"
#include "verbs/alloc.h"

static struct srd_error error;

static struct srd_rules *selection(const char *select)
{
	struct srd_rules *rules;

	assert_int_equal(srd_rules_create(select, NULL, &rules, &error), 0);
	return rules;
}

static int num_selected(const char *select, enum srd_rule_class rule_class)
{
	struct srd_rules *rules = selection(select);
	int n = 0;

	for (int i = 0; i < srd_num_rules; i++)
		n += srd_rules_selected(rules, i) && srd_rule_infos[i].rule_class == rule_class;
	srd_rules_destroy(rules);
	return n;
}

static int num_of(enum srd_rule_class rule_class)
{
	int n = 0;

	for (int i = 0; i < srd_num_rules; i++)
		n += srd_rule_infos[i].rule_class == rule_class;
	return n;
}

static void refuses_to_select_nothing(void **state)
{
	static const char *const texts[] = {"", ",", ",,"};

	for (int i = 0; i < 3; i++) {
		struct srd_rules *rules;

		assert_int_equal(srd_rules_create(texts[i], NULL, &rules, &error), -EINVAL);
		assert_string_equal(error.message,
				    "the selection of rules is empty: none judges by no rule");
	}
}

static void selects_by_class_family_and_id(void **state)
{
	struct srd_rules *rules;

	assert_int_equal(num_selected(NULL, SRD_RULE_LAW), num_of(SRD_RULE_LAW));
	assert_int_equal(num_selected(NULL, SRD_RULE_CONTRACT), num_of(SRD_RULE_CONTRACT));
	assert_int_equal(num_selected(NULL, SRD_RULE_ADVICE), 0);
	assert_int_equal(num_selected("all", SRD_RULE_ADVICE), num_of(SRD_RULE_ADVICE));
	assert_int_equal(num_selected("all,none", SRD_RULE_LAW), 0);
	assert_int_equal(num_selected("none", SRD_RULE_LAW), 0);
	rules = selection("chunk,-chunk.empty,id.first");
	assert_true(srd_rules_selected(rules, srd_rule_find("chunk.cover")));
	assert_false(srd_rules_selected(rules, srd_rule_find("chunk.empty")));
	assert_true(srd_rules_selected(rules, srd_rule_find("id.first")));
	assert_false(srd_rules_selected(rules, srd_rule_find("id.reuse")));
	srd_rules_destroy(rules);
	/* What begins with a minus takes away from the default. */
	rules = selection("-chunk");
	assert_false(srd_rules_selected(rules, srd_rule_find("chunk.cover")));
	assert_true(srd_rules_selected(rules, srd_rule_find("id.reuse")));
	assert_false(srd_rules_selected(rules, srd_rule_find("id.ambiguous")));
	srd_rules_destroy(rules);
}

static void unknown_names_say_what_there_is(void **state)
{
	struct srd_rules *rules;

	assert_int_equal(srd_rules_create("law,chunk.covers", NULL, &rules, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_non_null(strstr(error.message, "\"chunk.covers\""));
	assert_non_null(strstr(error.message, "did you mean chunk.cover?"));
	assert_non_null(strstr(error.message, "chunk, session, id, credit"));
	assert_int_equal(srd_rules_create("xyz", NULL, &rules, &error), -EINVAL);
	assert_null(strstr(error.message, "did you mean"));
	assert_int_equal(srd_rule_find("chunk"), -1);
}

/* A gap in COUNT ops of queue pair 1. */
static void gaps(struct world *w, int count)
{
	for (int i = 0; i < count; i++) {
		uint64_t id = w->next_id;

		op_begin(w, SRD_OP_PUT, 1000, 1000);
		post_begin(w, 1);
		post(w, good_post(w, 0, 999));
		post_end(w, 1);
		completion(w, id, 0);
		op_end(w, w->last_op, 0, 0, 0);
	}
}

static void repetitions_are_counted(void **state)
{
	const struct srd_violation *list;
	struct world w;
	uint32_t line;

	world_open(&w, NULL);
	gaps(&w, 1);
	line = w.line;
	gaps(&w, 6);
	world_unmake(&w);
	assert_int_equal(world_finish(&w, &list), 1);
	assert_string_equal(rule_of(&list[0]), "chunk.cover");
	assert_int_equal(list[0].count, 7);
	assert_int_equal(list[0].op, 1);
	assert_int_equal(list[0].qp, H(0));
	assert_true(list[0].line > 0 && list[0].line < line);
	assert_string_equal(list[0].evidence, "op 1 of 1000 bytes: in 1 request it covers 999");
	assert_int_equal(srd_rules_left_out(w.rules), 0);
	world_release(&w);
}

/* A different object each time: there is an end to the list. */
static void violations_are_limited(void **state)
{
	const struct srd_violation *list;
	struct world w;

	world_open(&w, "lifetime.twice");
	for (uint32_t i = 0; i < SRD_MAX_VIOLATIONS + 5; i++) {
		EMIT(&w, PD_ALLOC, pd_alloc, 100 + i, .context = H(0));
		EMIT(&w, PD_DEALLOC, pd_dealloc, 100 + i, );
		EMIT(&w, PD_DEALLOC, pd_dealloc, 100 + i, );
	}
	assert_int_equal(world_finish(&w, &list), SRD_MAX_VIOLATIONS);
	assert_int_equal(srd_rules_left_out(w.rules), 5);
	assert_string_equal(list[3].object_kind, "protection domain");
	assert_int_equal(list[3].object, 103);
	world_release(&w);
}

static int num_lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void timeline_has_the_last_events(void **state)
{
	const struct srd_violation *list;
	const char *wr_post, *other;
	struct world w;

	world_open(&w, NULL);
	for (int i = 0; i < 40; i++) {
		uint32_t op = good_op(&w, SRD_OP_PUT, 10);

		completion(&w, w.next_id - 1, 0);
		op_end(&w, op, 0, 0, 0);
	}
	EMIT(&w, BUFFER_ALLOC, buffer_alloc, 9, .addr = 1u << 30, .length = 8);
	EMIT(&w, CALL_FAILED, call_failed, 0, .error = 12);
	gaps(&w, 1);
	EMIT(&w, CALL_FAILED, call_failed, 0, .error = 5);
	EMIT(&w, BUFFER_FREE, buffer_free, 9, );
	world_unmake(&w);
	assert_int_equal(world_finish(&w, &list), 1);
	assert_non_null(list[0].timeline);
	/* The op, the last events, and the one that was judged. */
	assert_int_equal(num_lines(list[0].timeline), 8);
	assert_non_null(strstr(list[0].timeline, "op_begin"));
	assert_non_null(strstr(list[0].timeline, "op_post_end"));
	/* In the order of the stream, what is about no queue pair among them. */
	other = strstr(list[0].timeline, "error=ENOMEM");
	wr_post = strstr(list[0].timeline, "length=999");
	assert_non_null(other);
	assert_non_null(wr_post);
	assert_true(other < wr_post);
	assert_null(strstr(list[0].timeline, "error=EIO"));
	/* What is about other objects is not. */
	assert_null(strstr(list[0].timeline, "buffer_alloc"));
	world_release(&w);
}

static void without_its_events_a_rule_is_not_judged(void **state)
{
	const struct srd_violation *list;
	struct world w = {0};

	w.rules = selection("all");
	assert_int_equal(srd_rules_judged(w.rules, srd_rule_find("completion.unknown")), 0);
	EMIT(&w, CQ_CREATE, cq_create, 1, .granted = 4);
	EMIT(&w, WC, wc, 1, .wr_id = 5, .qp_num = 7);
	/* Posts are not in this stream, so a completion is not unknown for that. */
	assert_int_equal(world_finish(&w, &list), 0);
	assert_int_equal(srd_rules_judged(w.rules, srd_rule_find("completion.unknown")), 0);
	assert_int_equal(srd_rules_judged(w.rules, srd_rule_find("completion.vendor")), 1);
	assert_int_equal(srd_rules_judged(w.rules, srd_rule_find("chunk.cover")), 0);
	srd_rules_destroy(w.rules);
	w.rules = selection("none");
	EMIT(&w, WC, wc, 1, .wr_id = 5, .qp_num = 7);
	assert_int_equal(srd_rules_judged(w.rules, srd_rule_find("completion.vendor")), 0);
	srd_rules_destroy(w.rules);
}

static void events_of_a_later_version_are_passed_over(void **state)
{
	struct srd_event event = {.type = SRD_NUM_EVENT_TYPES};
	struct srd_rules *rules = selection("all");

	srd_rules_event(rules, &event);
	event.type = UINT16_MAX;
	srd_rules_event(rules, &event);
	assert_int_equal(srd_rules_finish(rules, &error), 0);
	srd_rules_destroy(rules);
}

/* --- suppression --- */

static char path[] = "/tmp/srdlab-suppress-XXXXXX";

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	unlink(path);
	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	return 0;
}

/* The gap of one op under the suppressions TEXT: violations that are left. */
static int left_with(const char *text, struct world *w)
{
	const struct srd_violation *list;

	write_file(text);
	*w = (struct world){0};
	assert_int_equal(srd_rules_create(NULL, path, &w->rules, &error), 0);
	srd_rules_script(w->rules, "scripts/scenarios/put.lua");
	world_make(w);
	EMIT(w, SCHEDULER_OPEN, scheduler_open, H(0), .max_send_wr = DEPTH);
	w->line = 100;
	gaps(w, 2);
	world_unmake(w);
	return world_finish(w, &list);
}

static void suppresses_with_a_reason(void **state)
{
	static const struct {
		const char *text;
		int left;
	} cases[] = {
		{"chunk.cover # known\n", 0},
		{"# a comment\n\n  chunk.cover   qp=1   # known\n", 0},
		{"chunk.cover qp=2 # another queue pair\n", 1},
		{"chunk.cover in 1 request it covers 999 # this very text\n", 0},
		{"chunk.cover cover 998 # another text\n", 1},
		{"chunk.cover put.lua:105 # the line of the post's end\n", 1},
		{"chunk.full # another rule\n", 1},
	};
	const struct srd_suppression *list;
	struct world w;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (left_with(cases[i].text, &w) != cases[i].left)
			fail_msg("%s", cases[i].text);
		assert_int_equal(srd_rules_suppressions(w.rules, &list), 1);
		assert_int_equal(list[0].uses > 0, !cases[i].left);
		world_release(&w);
	}
}

static void suppresses_by_place(void **state)
{
	const struct srd_violation *list;
	const struct srd_suppression *used;
	char text[200];
	struct world w;
	uint32_t line;

	assert_int_equal(left_with("chunk.full # nothing\n", &w), 1);
	srd_rules_violations(w.rules, &list);
	line = list[0].line;
	world_release(&w);
	/* Two ops, two lines: one of them is left. */
	snprintf(
		text, sizeof(text),
		"chunk.cover xput.lua:%u # another file\nchunk.cover scenarios/put.lua:%u # here\n",
		line, line);
	assert_int_equal(left_with(text, &w), 1);
	assert_int_equal(srd_rules_suppressions(w.rules, &used), 2);
	assert_int_equal(used[0].uses, 0);
	assert_int_equal(used[1].uses, 1);
	assert_int_equal(used[1].line, 2);
	assert_string_equal(used[1].reason, "here");
	srd_rules_violations(w.rules, &list);
	assert_int_equal(list[0].op, 2);
	world_release(&w);
}

static void bad_suppressions_name_file_and_line(void **state)
{
	struct srd_rules *rules;
	char want[100];

	write_file("\nchunk.cover\n");
	assert_int_equal(srd_rules_create(NULL, path, &rules, &error), -EINVAL);
	snprintf(want, sizeof(want), "%s:2: chunk.cover is suppressed without a reason", path);
	assert_non_null(strstr(error.message, want));
	write_file("chunk.cover #   \n");
	assert_int_equal(srd_rules_create(NULL, path, &rules, &error), -EINVAL);
	write_file("chunk.gap # why\n");
	assert_int_equal(srd_rules_create(NULL, path, &rules, &error), -EINVAL);
	assert_non_null(strstr(error.message, "there is no rule \"chunk.gap\""));
	assert_int_equal(srd_rules_create(NULL, "/nowhere/at/all", &rules, &error), -ENOENT);
	assert_non_null(strstr(error.message, "/nowhere/at/all"));
}

/* --- memory --- */

static int whole_run(void)
{
	const struct srd_violation *list;
	struct world w = {0};
	int result = srd_rules_create("all", path, &w.rules, &error);

	if (result)
		return result;
	world_make(&w);
	EMIT(&w, SCHEDULER_OPEN, scheduler_open, H(0), .max_send_wr = DEPTH);
	gaps(&w, 40);
	raw_post(&w, good_post(&w, 0, 8));
	completion(&w, w.next_id - 1, 0);
	world_unmake(&w);
	result = srd_rules_finish(w.rules, &error);
	if (!result)
		assert_int_equal(srd_rules_violations(w.rules, &list), 1);
	srd_rules_destroy(w.rules);
	return result;
}

static void each_allocation_may_fail(void **state)
{
	int64_t blocks = srd_alloc_live();
	uint64_t total, failed = 0;

	write_file("chunk.full text # why\n");
	srd_alloc_fail_at(0);
	assert_int_equal(whole_run(), 0);
	total = srd_alloc_count();
	assert_true(total > 20);
	for (uint64_t n = 1; n <= total; n++) {
		int result;

		srd_alloc_fail_at(n);
		result = whole_run();
		srd_alloc_fail_at(0);
		assert_int_equal(srd_alloc_live(), blocks);
		/* A timeline is left out where there is no memory for it. */
		if (result) {
			assert_int_equal(result, -ENOMEM);
			failed++;
		}
	}
	assert_true(failed >= total - 2);
}

static void map_finds_what_it_was_given(void **state)
{
	struct srd_map map = {0};
	static char value[500];

	assert_null(srd_map_get(&map, 1));
	srd_map_remove(&map, 1);
	for (uint64_t i = 1; i <= 500; i++)
		assert_int_equal(srd_map_set(&map, i << 32, &value[i - 1]), 0);
	for (uint64_t i = 1; i <= 500; i += 3)
		srd_map_remove(&map, i << 32);
	for (uint64_t i = 1; i <= 500; i++)
		assert_ptr_equal(srd_map_get(&map, i << 32), i % 3 == 1 ? NULL : &value[i - 1]);
	assert_int_equal(srd_map_set(&map, 2ull << 32, value), 0);
	assert_ptr_equal(srd_map_get(&map, 2ull << 32), value);
	assert_int_equal(map.count, 333);
	srd_map_release(&map);
	assert_null(srd_map_get(&map, 2ull << 32));
}

/*
 * Any stream at all, such as a trace that somebody damaged, is survived: random events with
 * small numbers, so that they hit the same objects again and again.
 */
static void any_stream_is_survived(void **state)
{
	struct {
		struct srd_event event;
		char fields[SRD_EVENT_MAX_SIZE - sizeof(struct srd_event)];
	} e;
	const struct srd_violation *list;
	uint64_t r = 1;

	for (int round = 0; round < 30; round++) {
		struct world w;

		world_open(&w, "all");
		for (int i = 0; i < 3000; i++) {
			for (size_t at = 0; at < sizeof(e); at++) {
				r = r * UINT64_C(6364136223846793005) +
				    UINT64_C(1442695040888963407);
				((char *)&e)[at] = (char)(at % 4 || r >> 62 ? 0 : r >> 33 & 7);
			}
			e.event.type = (uint16_t)((r >> 40) % SRD_NUM_EVENT_TYPES);
			e.event.source = srd_event_infos[e.event.type].source;
			srd_rules_event(w.rules, &e.event);
		}
		world_finish(&w, &list);
		world_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selects_by_class_family_and_id),
		cmocka_unit_test(refuses_to_select_nothing),
		cmocka_unit_test(unknown_names_say_what_there_is),
		cmocka_unit_test(repetitions_are_counted),
		cmocka_unit_test(violations_are_limited),
		cmocka_unit_test(timeline_has_the_last_events),
		cmocka_unit_test(without_its_events_a_rule_is_not_judged),
		cmocka_unit_test(events_of_a_later_version_are_passed_over),
		cmocka_unit_test_setup_teardown(suppresses_with_a_reason, make_path, remove_path),
		cmocka_unit_test_setup_teardown(suppresses_by_place, make_path, remove_path),
		cmocka_unit_test_setup_teardown(bad_suppressions_name_file_and_line, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(each_allocation_may_fail, make_path, remove_path),
		cmocka_unit_test(map_finds_what_it_was_given),
		cmocka_unit_test(any_stream_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
