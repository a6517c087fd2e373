/* SPDX-License-Identifier: MIT */
/*
 * The Test Anything Protocol with diagnostics in YAML. Without subtests version 14 is 13, and
 * that number is written: prove before Perl 5.38 refuses a higher one.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>
#include <srdlab/version.h>

#include "report.h"
#include "text.h"
#include "verbs/alloc.h"

struct tap {
	struct srd_report report;
	FILE *out;
	uint64_t number;
	bool seeds;
};

static int begin(struct srd_report *report, const struct srd_report_head *head)
{
	struct tap *tap = (struct tap *)report;

	tap->seeds = head->first_seed != head->last_seed;
	fprintf(tap->out, "TAP version 13\n1..%" PRIu64 "%s\n", head->num_cases,
		head->num_cases ? "" : " # SKIP no scenario was selected");
	fprintf(tap->out, "# srdlab %s: %s%s%s\n", SRDLAB_VERSION, head->backend,
		head->profile ? ", profile " : "", head->profile ? head->profile : "");
	return 0;
}

/* A name may hold the signs that begin a directive. */
static void put_name(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '#' || *text == '\\')
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
}

/* A string of JSON is one of YAML. */
static int put_string(FILE *out, const char *key, const char *text, size_t length)
{
	json_t *string = json_stringn(text, length);

	if (!string)
		return -ENOMEM;
	fprintf(out, "%s: ", key);
	json_dumpf(string, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(string);
	return 0;
}

static int put_failure(FILE *out, const struct srd_failure *failure)
{
	int length = srd_report_summary_length(failure->message);
	int rc;

	rc = put_string(out, "  - message", failure->message, length);
	if (!rc)
		rc = put_string(out, "    file", failure->file, strlen(failure->file));
	fprintf(out, "    line: %d\n", failure->line);
	if (!rc && failure->rule)
		rc = put_string(out, "    rule", failure->rule, strlen(failure->rule));
	if (failure->message[length]) {
		fputs("    detail: |2\n", out);
		srd_text_indent(out, "      ", failure->message + length + 1);
	}
	return rc;
}

static int put_diagnostics(struct tap *tap, const struct srd_report_case *one)
{
	FILE *out = tap->out;
	int rc = 0;

	fputs("  ---\n", out);
	if (one->name)
		fprintf(out, "  seed: %" PRIu64 "\n", one->seed);
	if (one->repeat)
		rc = put_string(out, "  repeat", one->repeat, strlen(one->repeat));
	if (!rc && one->replay)
		rc = put_string(out, "  replay", one->replay, strlen(one->replay));
	fputs("  failures:\n", out);
	for (int i = 0; !rc && i < one->result->num_failures; i++)
		rc = put_failure(out, &one->result->failures[i]);
	fputs("  ...\n", out);
	return rc;
}

static int add(struct srd_report *report, const struct srd_report_case *one)
{
	struct tap *tap = (struct tap *)report;
	bool failed = one->result->verdict == SRD_FAILED;

	fprintf(tap->out, "%s %" PRIu64 " - ", failed ? "not ok" : "ok", ++tap->number);
	put_name(tap->out, one->file);
	fputs(": ", tap->out);
	put_name(tap->out, one->name ? one->name : "it could not be loaded");
	if (tap->seeds)
		fprintf(tap->out, " [seed %" PRIu64 "]", one->seed);
	if (one->result->verdict == SRD_SKIPPED)
		fprintf(tap->out, " # SKIP %.*s",
			srd_report_summary_length(one->result->skip_reason),
			one->result->skip_reason);
	fputc('\n', tap->out);
	return failed ? put_diagnostics(tap, one) : 0;
}

static int end(struct srd_report *report, const struct srd_report_tail *tail)
{
	struct tap *tap = (struct tap *)report;

	if (tail->ended)
		fprintf(tap->out, "Bail out! %s\n", tail->ended);
	fprintf(tap->out, "# %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " skipped\n",
		tail->passed, tail->failed, tail->skipped);
	return 0;
}

static void destroy(struct srd_report *report)
{
	srd_free(report);
}

static const struct srd_report_ops ops = {begin, add, end, destroy};

struct srd_report *srd_report_tap(FILE *out)
{
	struct tap *tap = srd_calloc(1, sizeof(*tap));

	if (!tap)
		return NULL;
	tap->report.ops = &ops;
	tap->out = out;
	return &tap->report;
}
