/* SPDX-License-Identifier: MIT */
/*
 * JUnit XML in the form of Jenkins' xUnit plug-in (its junit-10.xsd): a suite for each
 * file. A test case has neither file nor line nor properties there, so the place stands in
 * the failure's text, and the command that repeats it in system-err.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <libxml/xmlwriter.h>
#include <srdlab/version.h>

#include "report.h"
#include "verbs/alloc.h"

struct junit {
	struct srd_report report;
	FILE *out;
	bool seeds;
	char backend[32];
	char profile[256];
	/* The suite that is being collected: its counts stand before its cases. */
	char *file;
	xmlBufferPtr cases;
	xmlTextWriterPtr writer;
	uint64_t tests, failures, errors, skipped;
	uint64_t time; /* ns */
};

/* libxml2 holds its memory itself, and reports every failure as -1. */
#define X(text) ((const xmlChar *)(text))

static void put_attribute(xmlTextWriterPtr w, const char *name, uint64_t value)
{
	xmlTextWriterWriteFormatAttribute(w, X(name), "%" PRIu64, value);
}

static void put_time(xmlTextWriterPtr w, uint64_t ns)
{
	xmlTextWriterWriteFormatAttribute(w, X("time"), "%" PRIu64 ".%06u", ns / 1000000000,
					  (unsigned int)(ns % 1000000000 / 1000));
}

static void put_property(xmlTextWriterPtr w, const char *name, const char *value)
{
	xmlTextWriterStartElement(w, X("property"));
	xmlTextWriterWriteAttribute(w, X("name"), X(name));
	xmlTextWriterWriteAttribute(w, X("value"), X(value));
	xmlTextWriterEndElement(w);
}

static void put_failure(xmlTextWriterPtr w, const struct srd_failure *failure, const char *element)
{
	xmlTextWriterStartElement(w, X(element));
	xmlTextWriterWriteAttribute(w, X("type"), X(failure->rule ? failure->rule : "error"));
	xmlTextWriterWriteFormatAttribute(w, X("message"), "%.*s",
					  srd_report_summary_length(failure->message),
					  failure->message);
	xmlTextWriterWriteFormatString(w, "%s:%d: error: %s", failure->file, failure->line,
				       failure->message);
	xmlTextWriterEndElement(w);
}

static void put_outcome(xmlTextWriterPtr w, const struct srd_report_case *one)
{
	const char *element = one->broken || !one->name ? "error" : "failure";

	if (one->result->verdict == SRD_SKIPPED) {
		xmlTextWriterStartElement(w, X("skipped"));
		xmlTextWriterWriteAttribute(w, X("message"), X(one->result->skip_reason));
		xmlTextWriterEndElement(w);
	}
	for (int i = 0; i < one->result->num_failures; i++)
		put_failure(w, &one->result->failures[i], element);
	if (one->log && *one->log)
		xmlTextWriterWriteElement(w, X("system-out"), X(one->log));
	if (one->repeat)
		xmlTextWriterWriteFormatElement(w, X("system-err"),
						"seed %" PRIu64 "\nrepeat: %s\n", one->seed,
						one->repeat);
}

static void count(struct junit *junit, const struct srd_report_case *one)
{
	junit->tests++;
	junit->time += one->result->wall_time;
	switch (one->result->verdict) {
	case SRD_PASSED:
		break;
	case SRD_SKIPPED:
		junit->skipped++;
		break;
	case SRD_FAILED:
		if (one->broken || !one->name)
			junit->errors++;
		else
			junit->failures++;
		break;
	}
}

static int put_case(struct junit *junit, const struct srd_report_case *one)
{
	xmlTextWriterPtr w = junit->writer;
	const char *name = one->name ? one->name : "it could not be loaded";

	xmlTextWriterStartElement(w, X("testcase"));
	if (junit->seeds)
		xmlTextWriterWriteFormatAttribute(w, X("name"), "%s [seed %" PRIu64 "]", name,
						  one->seed);
	else
		xmlTextWriterWriteAttribute(w, X("name"), X(name));
	xmlTextWriterWriteAttribute(w, X("classname"), X(one->file));
	put_time(w, one->result->wall_time);
	put_outcome(w, one);
	count(junit, one);
	return xmlTextWriterEndElement(w) < 0 ? -ENOMEM : 0;
}

static int open_suite(struct junit *junit, const char *file)
{
	junit->file = srd_strdup(file);
	junit->cases = xmlBufferCreate();
	junit->writer = junit->cases ? xmlNewTextWriterMemory(junit->cases, 0) : NULL;
	junit->tests = junit->failures = junit->errors = junit->skipped = junit->time = 0;
	if (!junit->file || !junit->writer)
		return -ENOMEM;
	xmlTextWriterSetIndent(junit->writer, 1);
	return 0;
}

static void drop_suite(struct junit *junit)
{
	if (junit->writer)
		xmlFreeTextWriter(junit->writer);
	if (junit->cases)
		xmlBufferFree(junit->cases);
	srd_free(junit->file);
	junit->writer = NULL;
	junit->cases = NULL;
	junit->file = NULL;
}

static void put_suite_head(xmlTextWriterPtr w, const struct junit *junit)
{
	xmlTextWriterStartElement(w, X("testsuite"));
	xmlTextWriterWriteAttribute(w, X("name"), X(junit->file));
	put_attribute(w, "tests", junit->tests);
	put_attribute(w, "failures", junit->failures);
	put_attribute(w, "errors", junit->errors);
	put_attribute(w, "skipped", junit->skipped);
	put_time(w, junit->time);
	xmlTextWriterStartElement(w, X("properties"));
	put_property(w, "version", SRDLAB_VERSION);
	put_property(w, "backend", junit->backend);
	if (*junit->profile)
		put_property(w, "profile", junit->profile);
	put_property(w, "file", junit->file);
	xmlTextWriterEndElement(w);
}

/* The suite to the file: its head through a writer of its own, then the cases as they are. */
static int close_suite(struct junit *junit)
{
	xmlBufferPtr buffer = xmlBufferCreate();
	xmlTextWriterPtr w = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
	int rc = -ENOMEM;

	if (!w || xmlTextWriterFlush(junit->writer) < 0)
		goto out;
	xmlTextWriterSetIndent(w, 1);
	put_suite_head(w, junit);
	xmlTextWriterWriteRaw(w, xmlBufferContent(junit->cases));
	if (xmlTextWriterEndElement(w) < 0 || xmlTextWriterFlush(w) < 0)
		goto out;
	fputs((const char *)xmlBufferContent(buffer), junit->out);
	rc = 0;
out:
	if (w)
		xmlFreeTextWriter(w);
	if (buffer)
		xmlBufferFree(buffer);
	drop_suite(junit);
	return rc;
}

static int begin(struct srd_report *report, const struct srd_report_head *head)
{
	struct junit *junit = (struct junit *)report;

	junit->seeds = head->first_seed != head->last_seed;
	snprintf(junit->backend, sizeof(junit->backend), "%s", head->backend);
	snprintf(junit->profile, sizeof(junit->profile), "%s", head->profile ? head->profile : "");
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"srdlab\">\n",
	      junit->out);
	return 0;
}

static int add(struct srd_report *report, const struct srd_report_case *one)
{
	struct junit *junit = (struct junit *)report;
	int rc = 0;

	if (junit->file && strcmp(junit->file, one->file))
		rc = close_suite(junit);
	if (!rc && !junit->file)
		rc = open_suite(junit, one->file);
	return rc ? rc : put_case(junit, one);
}

static int end(struct srd_report *report, const struct srd_report_tail *tail)
{
	struct junit *junit = (struct junit *)report;
	int rc = junit->file ? close_suite(junit) : 0;

	fputs("</testsuites>\n", junit->out);
	return rc;
}

static void destroy(struct srd_report *report)
{
	drop_suite((struct junit *)report);
	srd_free(report);
}

static const struct srd_report_ops ops = {begin, add, end, destroy};

struct srd_report *srd_report_junit(FILE *out)
{
	struct junit *junit = srd_calloc(1, sizeof(*junit));

	if (!junit)
		return NULL;
	junit->report.ops = &ops;
	junit->out = out;
	return &junit->report;
}
