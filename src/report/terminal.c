/* SPDX-License-Identifier: MIT */
/*
 * The report for people: what failed, in full and at once; a line for each file; at the
 * end why scenarios were skipped, what failed, and the count.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <srdlab/version.h>

#include "bugs.h"
#include "report.h"
#include "text.h"
#include "verbs/alloc.h"

#define SEEDS_NAMED 10

/* A reason to skip, with how many scenarios had it. */
struct reason {
	char *text;
	uint64_t count;
};

/* A scenario that failed, with the seeds that it failed with. */
struct culprit {
	char *file;
	char *name;
	int line;
	uint64_t seeds[SEEDS_NAMED];
	uint64_t num_seeds;
};

struct slow {
	char *text;
	uint64_t wall_time; /* ns */
};

struct terminal {
	struct srd_report report;
	FILE *out;
	struct srd_terminal_options options;
	bool seeds;
	int file_width;
	/* The file whose scenarios are coming. */
	char *file;
	uint64_t passed, failed, skipped;
	int num_files;
	struct reason *reasons;
	int num_reasons;
	struct culprit *culprits;
	int num_culprits;
	struct srd_bugs bugs;
	struct slow *slowest; /* options.slowest of them, the slowest first */
	int num_slowest;
	/* scenarios that asked for every order */
	uint64_t num_ordered, num_orders;
	char **unordered; /* that have more than were run */
	uint64_t num_unordered;
};

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW };

static const char *paint(const struct terminal *t, enum colour colour)
{
	static const char *const codes[] = {
		[PLAIN] = "\033[0m",  [BOLD] = "\033[1m",   [DIM] = "\033[2m",
		[RED] = "\033[1;31m", [GREEN] = "\033[32m", [YELLOW] = "\033[33m",
	};

	return t->options.colours ? codes[colour] : "";
}

static int begin(struct srd_report *report, const struct srd_report_head *head)
{
	struct terminal *t = (struct terminal *)report;

	t->seeds = head->first_seed != head->last_seed;
	t->file_width = head->file_width;
	fprintf(t->out, "%ssrdlab %s: %s", paint(t, DIM), SRDLAB_VERSION, head->backend);
	if (head->profile)
		fprintf(t->out, ", profile %s", head->profile);
	fputs(", seed", t->out);
	if (t->seeds)
		fprintf(t->out, "s %" PRIu64 "..%" PRIu64, head->first_seed, head->last_seed);
	else
		fprintf(t->out, " %" PRIu64, head->first_seed);
	fprintf(t->out, "%s\n\n", paint(t, PLAIN));
	return 0;
}

static void put_count(struct terminal *t, bool *any, uint64_t count, enum colour colour,
		      const char *what)
{
	if (!count)
		return;
	fprintf(t->out, "%s%s%" PRIu64 " %s%s", *any ? ", " : "", paint(t, colour), count, what,
		paint(t, PLAIN));
	*any = true;
}

/* The line of the file that is complete. */
static void close_file(struct terminal *t)
{
	const char *word = t->failed ? "FAIL" : t->passed ? "ok  " : "skip";
	enum colour colour = t->failed ? RED : t->passed ? GREEN : YELLOW;
	bool any = false;

	if (!t->file)
		return;
	fprintf(t->out, "%s%s%s  %-*s  ", paint(t, colour), word, paint(t, PLAIN), t->file_width,
		t->file);
	put_count(t, &any, t->passed, PLAIN, "passed");
	put_count(t, &any, t->failed, RED, "failed");
	put_count(t, &any, t->skipped, YELLOW, "skipped");
	fputc('\n', t->out);
	srd_free(t->file);
	t->file = NULL;
	t->passed = t->failed = t->skipped = 0;
}

static int open_file(struct terminal *t, const char *file)
{
	if (t->file && !strcmp(t->file, file))
		return 0;
	close_file(t);
	t->num_files++;
	t->file = srd_strdup(file);
	return t->file ? 0 : -ENOMEM;
}

static void put_seed(struct terminal *t, const struct srd_report_case *one)
{
	if (t->seeds && one->name)
		fprintf(t->out, " %s[seed %" PRIu64 "]%s", paint(t, DIM), one->seed,
			paint(t, PLAIN));
}

/* "file.lua:12: error: summary", as compilers write it, so that editors find the place. */
static void put_summary(struct terminal *t, const struct srd_failure *failure)
{
	fprintf(t->out, "%s%s:", paint(t, BOLD), failure->file);
	if (failure->line)
		fprintf(t->out, "%d:", failure->line);
	fprintf(t->out, "%s %serror:%s %.*s\n", paint(t, PLAIN), paint(t, RED), paint(t, PLAIN),
		srd_report_summary_length(failure->message), failure->message);
}

static void put_detail(struct terminal *t, const struct srd_failure *failure)
{
	int length = srd_report_summary_length(failure->message);

	if (failure->message[length])
		srd_text_indent(t->out, "    ", failure->message + length + 1);
}

static void put_way(struct terminal *t, const char *what, const char *how)
{
	if (how)
		fprintf(t->out, "    %s%s:%s %s\n", paint(t, DIM), what, paint(t, PLAIN), how);
}

static void put_name(struct terminal *t, const struct srd_report_case *one)
{
	fprintf(t->out, "    %sin \"%s\"", paint(t, DIM), one->name);
	if (t->seeds)
		fprintf(t->out, ", seed %" PRIu64, one->seed);
	fprintf(t->out, "%s\n", paint(t, PLAIN));
}

static void put_failures(struct terminal *t, const struct srd_report_case *one)
{
	const struct srd_scenario_result *result = one->result;

	for (int i = 0; i < result->num_failures; i++) {
		put_summary(t, &result->failures[i]);
		if (!i && one->name)
			put_name(t, one);
		put_detail(t, &result->failures[i]);
	}
	if (one->log && *one->log && !t->options.verbose)
		srd_text_indent(t->out, "    | ", one->log);
	put_way(t, "repeat", one->repeat);
	put_way(t, "replay", one->replay);
	fputc('\n', t->out);
}

static void put_verbose(struct terminal *t, const struct srd_report_case *one)
{
	static const char *const words[] = {"pass", "FAIL", "skip"};
	static const enum colour colours[] = {GREEN, RED, YELLOW};
	const struct srd_scenario_result *r = one->result;

	fprintf(t->out, "%s%s%s  %s:%d  %s", paint(t, colours[r->verdict]), words[r->verdict],
		paint(t, PLAIN), one->file, one->line, one->name);
	put_seed(t, one);
	if (r->verdict == SRD_SKIPPED)
		fprintf(t->out, "\n      %s%s%s\n", paint(t, DIM), r->skip_reason, paint(t, PLAIN));
	else
		fprintf(t->out,
			"\n      %s%" PRIu64 ".%03u us, %" PRIu64 " events, trace %016" PRIx64 "%s",
			paint(t, DIM), r->virtual_time / 1000,
			(unsigned int)(r->virtual_time % 1000), r->num_events, r->trace_hash,
			paint(t, PLAIN));
	if (r->num_orders)
		fprintf(t->out, "%s, %" PRIu64 " orders%s%s", paint(t, DIM), r->num_orders,
			r->orders_left ? ", not exhausted" : "", paint(t, PLAIN));
	if (r->verdict != SRD_SKIPPED)
		fputc('\n', t->out);
	if (one->log && *one->log)
		srd_text_indent(t->out, "      | ", one->log);
}

static int note_reason(struct terminal *t, const char *text)
{
	struct reason *list;
	int i = 0;

	while (i < t->num_reasons && strcmp(t->reasons[i].text, text))
		i++;
	if (i < t->num_reasons) {
		t->reasons[i].count++;
		return 0;
	}
	list = srd_reallocarray(t->reasons, i + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	t->reasons = list;
	list[i] = (struct reason){srd_strdup(text), 1};
	if (!list[i].text)
		return -ENOMEM;
	t->num_reasons++;
	return 0;
}

/* The seeds of a scenario come one after the other. */
static struct culprit *last_culprit(struct terminal *t, const struct srd_report_case *one)
{
	struct culprit *last = t->num_culprits ? &t->culprits[t->num_culprits - 1] : NULL;

	if (last && one->name && last->name && last->line == one->line &&
	    !strcmp(last->name, one->name) && !strcmp(last->file, one->file))
		return last;
	return NULL;
}

static int note_culprit(struct terminal *t, const struct srd_report_case *one, bool *first)
{
	struct culprit *c = last_culprit(t, one);

	*first = !c;
	if (!c) {
		struct culprit *list =
			srd_reallocarray(t->culprits, t->num_culprits + 1, sizeof(*list));

		if (!list)
			return -ENOMEM;
		t->culprits = list;
		c = &list[t->num_culprits++];
		*c = (struct culprit){.file = srd_strdup(one->file), .line = one->line};
		c->name = one->name ? srd_strdup(one->name) : NULL;
		if (!c->file || (one->name && !c->name))
			return -ENOMEM;
	}
	if (c->num_seeds < SEEDS_NAMED)
		c->seeds[c->num_seeds] = one->seed;
	c->num_seeds++;
	return 0;
}

/* Keep the list of the slowest sorted: the new one sinks in from the end. */
static int note_slow(struct terminal *t, const struct srd_report_case *one)
{
	uint64_t wall = one->result->wall_time;
	struct slow new = {NULL, wall};
	int i;

	if (!one->name || !t->options.slowest ||
	    (t->num_slowest == t->options.slowest &&
	     wall <= t->slowest[t->num_slowest - 1].wall_time))
		return 0;
	new.text = t->seeds ? srd_asprintf("%s:%d  %s [seed %" PRIu64 "]", one->file, one->line,
					   one->name, one->seed)
			    : srd_asprintf("%s:%d  %s", one->file, one->line, one->name);
	if (!new.text)
		return -ENOMEM;
	if (t->num_slowest == t->options.slowest)
		srd_free(t->slowest[--t->num_slowest].text);
	for (i = t->num_slowest++; i > 0 && t->slowest[i - 1].wall_time < wall; i--)
		t->slowest[i] = t->slowest[i - 1];
	t->slowest[i] = new;
	return 0;
}

/* How many orders were run, and of which scenario not all of them. */
static int note_orders(struct terminal *t, const struct srd_report_case *one)
{
	const struct srd_scenario_result *r = one->result;
	char **list;

	if (!r->num_orders)
		return 0;
	t->num_ordered++;
	t->num_orders += r->num_orders;
	if (!r->orders_left)
		return 0;
	list = srd_reallocarray(t->unordered, t->num_unordered + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	t->unordered = list;
	list[t->num_unordered] =
		srd_asprintf("%s:%d  %s: bound of %" PRIu64 " reached: not exhausted", one->file,
			     one->line, one->name, r->num_orders);
	return list[t->num_unordered++] ? 0 : -ENOMEM;
}

static void put_orders(struct terminal *t)
{
	if (!t->num_ordered)
		return;
	fprintf(t->out, "\nevery order: %" PRIu64 " scenario%s in %" PRIu64 " orders%s\n",
		t->num_ordered, t->num_ordered == 1 ? "" : "s", t->num_orders,
		t->num_unordered ? "" : ", exhausted");
	for (uint64_t i = 0; i < t->num_unordered; i++)
		fprintf(t->out, "    %s\n", t->unordered[i]);
}

static int add(struct srd_report *report, const struct srd_report_case *one)
{
	struct terminal *t = (struct terminal *)report;
	bool first = true;
	int rc = open_file(t, one->file);

	if (!rc && t->options.verbose && one->name)
		put_verbose(t, one);
	if (!rc)
		rc = note_slow(t, one);
	if (!rc)
		rc = srd_bugs_add(&t->bugs, one);
	if (rc)
		return rc;
	rc = note_orders(t, one);
	if (rc)
		return rc;
	switch (one->result->verdict) {
	case SRD_PASSED:
		t->passed++;
		return 0;
	case SRD_SKIPPED:
		t->skipped++;
		return note_reason(t, one->result->skip_reason);
	case SRD_FAILED:
		t->failed++;
		rc = note_culprit(t, one, &first);
		if (first)
			put_failures(t, one);
		return rc;
	}
	return 0;
}

static void put_culprits(struct terminal *t)
{
	/* Where there is one file, and one seed, all of it was just said. */
	if (!t->num_culprits || (t->num_files < 2 && !t->seeds))
		return;
	fputs("\nfailed:\n", t->out);
	for (int i = 0; i < t->num_culprits; i++) {
		const struct culprit *c = &t->culprits[i];
		uint64_t named = c->num_seeds < SEEDS_NAMED ? c->num_seeds : SEEDS_NAMED;

		if (!c->name) {
			fprintf(t->out, "    %s\n", c->file);
			continue;
		}
		fprintf(t->out, "    %s:%d  %s", c->file, c->line, c->name);
		for (uint64_t s = 0; t->seeds && s < named; s++)
			fprintf(t->out, "%s%" PRIu64, s ? ", " : " [seeds ", c->seeds[s]);
		if (c->num_seeds > named)
			fprintf(t->out, " and %" PRIu64 " more", c->num_seeds - named);
		fputs(t->seeds ? "]\n" : "\n", t->out);
	}
}

static void put_slowest(struct terminal *t)
{
	if (!t->num_slowest)
		return;
	fputs("\nslowest:\n", t->out);
	for (int i = 0; i < t->num_slowest; i++)
		fprintf(t->out, "    %6" PRIu64 ".%03u ms  %s\n", t->slowest[i].wall_time / 1000000,
			(unsigned int)(t->slowest[i].wall_time % 1000000 / 1000),
			t->slowest[i].text);
}

static int end(struct srd_report *report, const struct srd_report_tail *tail)
{
	struct terminal *t = (struct terminal *)report;
	enum colour colour = tail->failed ? RED : tail->passed ? GREEN : YELLOW;

	close_file(t);
	if (t->num_reasons)
		fputc('\n', t->out);
	for (int i = 0; i < t->num_reasons; i++)
		fprintf(t->out, "%sskipped %" PRIu64 ":%s %s\n", paint(t, YELLOW),
			t->reasons[i].count, paint(t, PLAIN), t->reasons[i].text);
	put_orders(t);
	put_culprits(t);
	srd_bugs_put(&t->bugs, t->out);
	put_slowest(t);
	if (t->num_files)
		fputc('\n', t->out);
	if (tail->ended)
		fprintf(t->out, "%s%s%s\n", paint(t, RED), tail->ended, paint(t, PLAIN));
	if (t->options.timing)
		fprintf(t->out, "%s%" PRIu64 ".%03u s%s\n", paint(t, DIM),
			tail->wall_time / 1000000000,
			(unsigned int)(tail->wall_time % 1000000000 / 1000000), paint(t, PLAIN));
	fprintf(t->out, "%s%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " skipped%s\n",
		paint(t, colour), tail->passed, tail->failed, tail->skipped, paint(t, PLAIN));
	return 0;
}

static void destroy(struct srd_report *report)
{
	struct terminal *t = (struct terminal *)report;

	for (int i = 0; i < t->num_reasons; i++)
		srd_free(t->reasons[i].text);
	for (int i = 0; i < t->num_culprits; i++) {
		srd_free(t->culprits[i].file);
		srd_free(t->culprits[i].name);
	}
	for (int i = 0; i < t->num_slowest; i++)
		srd_free(t->slowest[i].text);
	for (uint64_t i = 0; i < t->num_unordered; i++)
		srd_free(t->unordered[i]);
	srd_free(t->unordered);
	srd_free(t->reasons);
	srd_free(t->culprits);
	srd_bugs_release(&t->bugs);
	srd_free(t->slowest);
	srd_free(t->file);
	srd_free(t);
}

static const struct srd_report_ops ops = {begin, add, end, destroy};

struct srd_report *srd_report_terminal(FILE *out, const struct srd_terminal_options *options)
{
	struct terminal *t = srd_calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->report.ops = &ops;
	t->out = out;
	t->options = *options;
	t->slowest = srd_calloc(options->slowest + 1, sizeof(*t->slowest));
	if (!t->slowest) {
		srd_free(t);
		return NULL;
	}
	return &t->report;
}
