/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "bugs.h"
#include "verbs/alloc.h"

/* The row of BUG, made in its place where there is none; NULL: out of memory. */
static struct srd_bug_row *find(struct srd_bugs *bugs, const char *bug, const char *title)
{
	struct srd_bug_row *rows, row = {0};
	int i = 0;

	while (i < bugs->count && strcmp(bugs->rows[i].bug, bug) < 0)
		i++;
	if (i < bugs->count && !strcmp(bugs->rows[i].bug, bug))
		return &bugs->rows[i];
	rows = srd_reallocarray(bugs->rows, (size_t)bugs->count + 1, sizeof(*rows));
	if (!rows)
		return NULL;
	bugs->rows = rows;
	row.bug = srd_strdup(bug);
	row.title = srd_strdup(title);
	if (!row.bug || !row.title) {
		srd_free(row.bug);
		srd_free(row.title);
		return NULL;
	}
	memmove(&rows[i + 1], &rows[i], (size_t)(bugs->count++ - i) * sizeof(*rows));
	rows[i] = row;
	return &rows[i];
}

/* Whether WHAT is one of the names in LIST, which semicolons separate. */
static bool lists(const char *list, const char *what)
{
	size_t length = strlen(what);

	for (const char *at = list; (at = strstr(at, what)) != NULL; at++)
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ';'))
			return true;
	return false;
}

static int add_flag(struct srd_bug_row *row, const char *what)
{
	char *text;

	if (row->flagged && lists(row->flagged, what))
		return 0;
	text = row->flagged ? srd_asprintf("%s; %s", row->flagged, what) : srd_strdup(what);
	if (!text)
		return -ENOMEM;
	srd_free(row->flagged);
	row->flagged = text;
	return 0;
}

static int add_flags(struct srd_bug_row *row, const struct srd_scenario_info *info)
{
	int rc = info->violates ? add_flag(row, info->violates) : 0;

	return !rc && info->fails ? add_flag(row, info->fails) : rc;
}

static int add_broken(struct srd_bug_row *row, const struct srd_report_case *one)
{
	switch (one->result->verdict) {
	case SRD_PASSED:
		return add_flags(row, one->info);
	case SRD_FAILED:
		row->missed = true;
		return 0;
	case SRD_SKIPPED:
		row->unseen = true;
		return 0;
	}
	return 0;
}

static void add_right(struct srd_bug_row *row, const struct srd_report_case *one)
{
	switch (one->result->verdict) {
	case SRD_PASSED:
		row->passed = true;
		return;
	case SRD_FAILED:
		row->failed = true;
		return;
	case SRD_SKIPPED:
		row->skipped = true;
		return;
	}
}

int srd_bugs_add(struct srd_bugs *bugs, const struct srd_report_case *one)
{
	struct srd_bug_row *row;

	if (!one->info || !one->info->bug)
		return 0;
	row = find(bugs, one->info->bug, one->name);
	if (!row)
		return -ENOMEM;
	if (one->info->is_broken)
		return add_broken(row, one);
	add_right(row, one);
	return 0;
}

static const char *flagged(const struct srd_bug_row *row)
{
	if (row->missed)
		return "NOT FLAGGED";
	return row->flagged ? row->flagged : row->unseen ? "skipped" : "not run";
}

static const char *right(const struct srd_bug_row *row)
{
	if (row->failed)
		return "FAILED";
	return row->passed ? "passed" : row->skipped ? "skipped" : "not run";
}

/* The widest of what GET gives for each row, and of HEAD. */
static int width(const struct srd_bugs *bugs, const char *head,
		 const char *(*get)(const struct srd_bug_row *))
{
	size_t width = strlen(head);

	for (int i = 0; i < bugs->count; i++)
		if (strlen(get(&bugs->rows[i])) > width)
			width = strlen(get(&bugs->rows[i]));
	return (int)width;
}

static const char *bug(const struct srd_bug_row *row)
{
	return row->bug;
}

static const char *title(const struct srd_bug_row *row)
{
	return row->title;
}

void srd_bugs_put(const struct srd_bugs *bugs, FILE *out)
{
	static const char *const heads[] = {"bug", "broken form", "right form", "flagged by"};
	int first = width(bugs, heads[0], bug), second = width(bugs, heads[1], title);
	int third = width(bugs, heads[2], right);

	if (!bugs->count)
		return;
	fprintf(out, "\n%-*s  %-*s  %-*s  %s\n", first, heads[0], second, heads[1], third, heads[2],
		heads[3]);
	for (int i = 0; i < bugs->count; i++) {
		const struct srd_bug_row *row = &bugs->rows[i];

		fprintf(out, "%-*s  %-*s  %-*s  %s\n", first, row->bug, second, row->title, third,
			right(row), flagged(row));
	}
}

void srd_bugs_release(struct srd_bugs *bugs)
{
	for (int i = 0; i < bugs->count; i++) {
		srd_free(bugs->rows[i].bug);
		srd_free(bugs->rows[i].title);
		srd_free(bugs->rows[i].flagged);
	}
	srd_free(bugs->rows);
}
