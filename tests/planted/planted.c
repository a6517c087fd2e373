/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "planted.h"
#include "verbs/alloc.h"

/* --- the verdict --- */

static const char *id_of(const struct srd_violation *violation)
{
	return srd_rule_infos[violation->rule].id;
}

/* Whether LIST, separated by spaces, names ID. */
static bool names(const char *list, const char *id)
{
	size_t length = strlen(id);

	for (const char *at = list; at && (at = strstr(at, id)); at += length)
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

static void judge(const struct planted *p, const struct srd_violation *list, int count)
{
	bool fired = false;

	for (int i = 0; i < count; i++) {
		if (!strcmp(id_of(&list[i]), p->rule))
			fired = true;
		else if (!names(p->also, id_of(&list[i])))
			fail_msg("%s (%s): %s fired too: %s", p->rule, p->what, id_of(&list[i]),
				 list[i].evidence);
	}
	if (!fired)
		fail_msg("%s did not find: %s", p->rule, p->what);
}

static void play(void **state)
{
	const struct planted *p = *state;
	const struct srd_violation *list;
	int64_t blocks = srd_alloc_live();
	char select[80];
	struct stage s;
	int count;

	snprintf(select, sizeof(select), "law,contract,%s", p->rule);
	stage_init(&s, p, select);
	stage_open(&s);
	(p->run ? p->run : standard_run)(&s);
	stage_close(&s);
	count = srd_rules_violations(s.rules, &list);
	judge(p, list, count);
	srd_rules_destroy(s.rules);
	assert_int_equal(srd_alloc_live(), blocks);
}

/* Our own parts, with nothing planted. */
static void nothing_planted(void **state)
{
	static const struct planted none = {.what = "nothing"};
	int64_t blocks = srd_alloc_live();
	const struct srd_violation *list;
	struct stage s;

	stage_init(&s, &none, "all");
	stage_open(&s);
	standard_run(&s);
	stage_close(&s);
	if (srd_rules_violations(s.rules, &list))
		fail_msg("%s: %s", id_of(&list[0]), list[0].evidence);
	assert_int_equal(s.answers, 16);
	assert_int_equal(s.last_result.result, 0);
	srd_rules_destroy(s.rules);
	assert_int_equal(srd_alloc_live(), blocks);
}

/* The small rails of rails.c, without their defects. */
static void nothing_planted_in_rails(void **state)
{
	static const struct planted none = {.what = "nothing", .run = planted_rails_nothing};
	const struct srd_violation *list;
	struct stage s;

	stage_init(&s, &none, "all");
	stage_open(&s);
	none.run(&s);
	stage_close(&s);
	if (srd_rules_violations(s.rules, &list))
		fail_msg("%s: %s", id_of(&list[0]), list[0].evidence);
	srd_rules_destroy(s.rules);
}

static const struct planted *const tables[] = {
	planted_chunk,      planted_session, planted_id,     planted_credit,
	planted_completion, planted_state,   planted_memory, planted_address,
	planted_lifetime,   planted_peers,   planted_rails,
};

#define NUM_TABLES (sizeof(tables) / sizeof(tables[0]))

static void every_rule_is_planted(void **state)
{
	for (int rule = 0; rule < srd_num_rules; rule++) {
		bool found = false;

		for (size_t i = 0; i < NUM_TABLES && !found; i++)
			for (const struct planted *p = tables[i]; p->rule && !found; p++)
				found = !strcmp(p->rule, srd_rule_infos[rule].id);
		if (!found)
			fail_msg("no defect is planted for %s", srd_rule_infos[rule].id);
	}
}

int main(void)
{
	static char labels[200][120];
	static struct CMUnitTest tests[203] = {
		cmocka_unit_test(nothing_planted),
		cmocka_unit_test(nothing_planted_in_rails),
		cmocka_unit_test(every_rule_is_planted),
	};
	size_t count = 3;

	for (size_t i = 0; i < NUM_TABLES; i++) {
		for (const struct planted *p = tables[i]; p->rule; p++) {
			snprintf(labels[count - 3], sizeof(labels[0]), "%s: %s", p->rule, p->what);
			tests[count] =
				(struct CMUnitTest){labels[count - 3], play, NULL, NULL, (void *)p};
			count++;
		}
	}
	return _cmocka_run_group_tests("planted", tests, count, NULL, NULL);
}
