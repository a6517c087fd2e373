/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/program.h"

static const char *class_name(enum srd_rule_class rule_class)
{
	static const char *const names[] = {
		[SRD_RULE_LAW] = "law",
		[SRD_RULE_CONTRACT] = "contract",
		[SRD_RULE_ADVICE] = "advice",
	};

	return names[rule_class];
}

/* Rules speak of lines of a script; in a program a line is the number of a stack. */
static const char *next_line(const char *text, uint32_t *number)
{
	const char *at = text;

	while ((at = strstr(at, "line "))) {
		if (isdigit((unsigned char)at[5])) {
			*number = (uint32_t)strtoul(at + 5, NULL, 10);
			return at;
		}
		at++;
	}
	return NULL;
}

static void put_evidence(const struct srd_cli_program *program, const char *text)
{
	const char *at;
	uint32_t number;

	while ((at = next_line(text, &number))) {
		fprintf(stderr, "%.*s", (int)(at - text), text);
		text = at + 5;
		if (number) {
			fprintf(stderr, "%s ", program->line);
		} else {
			fprintf(stderr, "an unknown %s", program->line);
			text++;
		}
	}
	fprintf(stderr, "%s\n", text);
}

static void put_stacks(const struct srd_cli_program *program, const struct srd_violation *v)
{
	const char *at = v->evidence;
	uint32_t number;

	srd_cli_stacks_put(&program->stacks, v->line, stderr);
	for (; (at = next_line(at, &number)); at++) {
		if (number == v->line || !number)
			continue;
		if (number < program->stacks.size && program->stacks.text[number])
			fprintf(stderr, "    stack %u:\n", number);
		srd_cli_stacks_put(&program->stacks, number, stderr);
	}
}

static void put_violation(const struct srd_cli_program *program, const struct srd_violation *v)
{
	const struct srd_rule_info *rule = &srd_rule_infos[v->rule];

	fprintf(stderr, "srdlab: %s %s: %s\n    ", class_name(rule->rule_class), rule->id,
		rule->statement);
	put_evidence(program, v->evidence);
	if (v->line)
		fprintf(stderr, "    at %s %u\n", program->line, v->line);
	put_stacks(program, v);
	fprintf(stderr, "    %s\n", rule->why);
}

static bool was_shown(const struct srd_cli_program *program, const struct srd_violation *v)
{
	for (int i = 0; i < program->num_shown; i++) {
		const struct srd_cli_shown *shown = &program->shown[i];

		if (shown->rule == v->rule && shown->qp == v->qp && shown->object == v->object &&
		    shown->object_kind == v->object_kind)
			return true;
	}
	return false;
}

/* Rules that lack an event by now are judged at the end, or not at all. */
static void show(struct srd_cli_program *program, const struct srd_violation *v)
{
	if (!srd_rules_judged(program->rules, v->rule) || was_shown(program, v))
		return;
	put_violation(program, v);
	program->shown[program->num_shown++] =
		(struct srd_cli_shown){v->rule, v->qp, v->object, v->object_kind};
}

static void judge(void *arg, const struct srd_event *event)
{
	struct srd_cli_program *program = arg;
	const struct srd_violation *list;
	int n;

	srd_rules_event(program->rules, event);
	n = srd_rules_violations(program->rules, &list);
	for (; program->num_looked < n; program->num_looked++)
		show(program, &list[program->num_looked]);
}

static void add_stack(void *arg, uint32_t number, int pid, const char *text, size_t length)
{
	struct srd_cli_program *program = arg;

	/* Without memory for it a violation comes without its stack. */
	srd_cli_stacks_add(&program->stacks, number, text, length);
}

static int open_files(struct srd_cli_program *program,
		      const struct srd_cli_program_options *options, struct srd_error *error)
{
	int rc = 0;

	if (options->trace)
		rc = srd_trace_create(options->trace, options->run, &program->trace, error);
	if (!rc && options->timeline)
		rc = srd_timeline_create(options->timeline, &program->timeline, error);
	return rc;
}

int srd_cli_program_open(struct srd_cli_program *program,
			 const struct srd_cli_program_options *options, struct srd_error *error)
{
	int rc = 0;

	*program = (struct srd_cli_program){
		.line = options->script ? "line" : "stack",
		.record = {.stream = &program->stream, .context = program, .stack = add_stack},
	};
	if (options->rules)
		rc = srd_rules_create(options->rules, options->suppressions, &program->rules,
				      error);
	if (!rc)
		rc = open_files(program, options, error);
	if (rc)
		return rc;
	program->record.all = program->trace || program->timeline;
	if (program->trace)
		srd_stream_add(&program->stream, srd_trace_event, program->trace);
	if (program->timeline)
		srd_stream_add(&program->stream, srd_timeline_event, program->timeline);
	if (program->rules)
		srd_stream_add(&program->stream, judge, program);
	return 0;
}

void srd_cli_program_event(struct srd_cli_program *program, const struct srd_event *event)
{
	if (program->stream.fn)
		program->stream.fn(program->stream.reader, event);
}

bool srd_cli_program_wanted(const struct srd_cli_program *program)
{
	return program->stream.fn;
}

static void put_not_judged(const struct srd_rules *rules)
{
	const char *before = "srdlab: not judged, as events that they need never came: ";

	for (int rule = 0; rule < srd_num_rules; rule++) {
		if (!srd_rules_selected(rules, rule) || srd_rules_judged(rules, rule))
			continue;
		fprintf(stderr, "%s%s", before, srd_rule_infos[rule].id);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', stderr);
}

static void put_suppressions(const struct srd_rules *rules)
{
	const struct srd_suppression *list;
	int n = srd_rules_suppressions(rules, &list);

	for (int i = 0; i < n; i++)
		if (!list[i].uses)
			srd_cli_warning(
				"line %u of the suppressions: nothing needed this one of %s",
				list[i].line, srd_rule_infos[list[i].rule].id);
}

/* Violations of the end, the count of each rule, and what could not be judged. */
static uint64_t summary(struct srd_cli_program *program)
{
	uint64_t total = srd_rules_left_out(program->rules);
	const struct srd_violation *list;
	int n = srd_rules_violations(program->rules, &list);

	for (int i = 0; i < n; i++)
		total += list[i].count;
	for (int i = 0; i < n; i++)
		if (list[i].count > 1)
			fprintf(stderr, "srdlab: %s came %llu times by the same object\n",
				srd_rule_infos[list[i].rule].id, (unsigned long long)list[i].count);
	put_not_judged(program->rules);
	put_suppressions(program->rules);
	fprintf(stderr, "srdlab: %llu violations\n", (unsigned long long)total);
	return total;
}

static int finish_rules(struct srd_cli_program *program, uint64_t *violations,
			struct srd_error *error)
{
	const struct srd_violation *list;
	int rc = srd_rules_finish(program->rules, error), n;

	if (rc)
		return rc;
	n = srd_rules_violations(program->rules, &list);
	for (int i = 0; i < n; i++)
		show(program, &list[i]);
	*violations = summary(program);
	return 0;
}

int srd_cli_program_close(struct srd_cli_program *program, uint64_t *violations,
			  struct srd_error *error)
{
	int rc = 0, second;

	*violations = 0;
	if (program->rules && !program->unmet)
		rc = finish_rules(program, violations, error);
	second = srd_trace_close(program->trace, rc ? NULL : error);
	rc = rc ? rc : second;
	second = srd_timeline_close(program->timeline, rc ? NULL : error);
	rc = rc ? rc : second;
	srd_rules_destroy(program->rules);
	srd_cli_stacks_release(&program->stacks);
	return rc;
}
