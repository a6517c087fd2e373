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

/* A writer, and whether anything that it was asked for failed: libxml2 has one reason only. */
struct xml {
	xmlBufferPtr buffer;
	xmlTextWriterPtr writer;
	bool failed;
};

struct junit {
	struct srd_report report;
	FILE *out;
	bool seeds;
	char backend[32];
	char profile[256];
	/* The suite that is being collected: its counts stand before its cases. */
	char *file;
	struct xml cases;
	uint64_t tests, failures, errors, skipped;
	uint64_t time; /* ns */
};

#define X(text) ((const xmlChar *)(text))

static void xml_open(struct xml *xml)
{
	xmlResetLastError();
	xml->buffer = xmlBufferCreate();
	xml->writer = xml->buffer ? xmlNewTextWriterMemory(xml->buffer, 0) : NULL;
	xml->failed = !xml->writer || xmlTextWriterSetIndent(xml->writer, 1) < 0;
}

/* Some calls of libxml2 do without what they had no memory for, and note it only. */
static bool xml_failed(const struct xml *xml)
{
	const xmlError *error = xmlGetLastError();

	return xml->failed || (error && error->code == XML_ERR_NO_MEMORY);
}

static void xml_close(struct xml *xml)
{
	if (xml->writer)
		xmlFreeTextWriter(xml->writer);
	if (xml->buffer)
		xmlBufferFree(xml->buffer);
	memset(xml, 0, sizeof(*xml));
}

static void begin_element(struct xml *xml, const char *name)
{
	xml->failed = xml->failed || xmlTextWriterStartElement(xml->writer, X(name)) < 0;
}

static void end_element(struct xml *xml)
{
	xml->failed = xml->failed || xmlTextWriterEndElement(xml->writer) < 0;
}

static void __attribute__((format(printf, 3, 4)))
put_attribute(struct xml *xml, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	xml->failed = xml->failed ||
		      xmlTextWriterWriteVFormatAttribute(xml->writer, X(name), format, args) < 0;
	va_end(args);
}

static void __attribute__((format(printf, 2, 3))) put_text(struct xml *xml, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	xml->failed = xml->failed || xmlTextWriterWriteVFormatString(xml->writer, format, args) < 0;
	va_end(args);
}

static void put_number(struct xml *xml, const char *name, uint64_t value)
{
	put_attribute(xml, name, "%" PRIu64, value);
}

static void put_time(struct xml *xml, uint64_t ns)
{
	put_attribute(xml, "time", "%" PRIu64 ".%06u", ns / 1000000000,
		      (unsigned int)(ns % 1000000000 / 1000));
}

static void put_property(struct xml *xml, const char *name, const char *value)
{
	begin_element(xml, "property");
	put_attribute(xml, "name", "%s", name);
	put_attribute(xml, "value", "%s", value);
	end_element(xml);
}

static void put_failure(struct xml *xml, const struct srd_failure *failure, const char *element)
{
	begin_element(xml, element);
	put_attribute(xml, "type", "%s", failure->rule ? failure->rule : "error");
	put_attribute(xml, "message", "%.*s", srd_report_summary_length(failure->message),
		      failure->message);
	put_text(xml, "%s:%d: error: %s", failure->file, failure->line, failure->message);
	end_element(xml);
}

static void put_outcome(struct xml *xml, const struct srd_report_case *one)
{
	const char *element = one->broken || !one->name ? "error" : "failure";

	if (one->result->verdict == SRD_SKIPPED) {
		begin_element(xml, "skipped");
		put_attribute(xml, "message", "%s", one->result->skip_reason);
		end_element(xml);
	}
	for (int i = 0; i < one->result->num_failures; i++)
		put_failure(xml, &one->result->failures[i], element);
	if (one->log && *one->log) {
		begin_element(xml, "system-out");
		put_text(xml, "%s", one->log);
		end_element(xml);
	}
	if (one->repeat) {
		begin_element(xml, "system-err");
		put_text(xml, "seed %" PRIu64 "\nrepeat: %s\n", one->seed, one->repeat);
		end_element(xml);
	}
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
	const char *name = one->name ? one->name : "it could not be loaded";
	struct xml *xml = &junit->cases;

	begin_element(xml, "testcase");
	if (junit->seeds)
		put_attribute(xml, "name", "%s [seed %" PRIu64 "]", name, one->seed);
	else
		put_attribute(xml, "name", "%s", name);
	put_attribute(xml, "classname", "%s", one->file);
	put_time(xml, one->result->wall_time);
	put_outcome(xml, one);
	end_element(xml);
	count(junit, one);
	return xml_failed(xml) ? -ENOMEM : 0;
}

static int open_suite(struct junit *junit, const char *file)
{
	junit->tests = junit->failures = junit->errors = junit->skipped = junit->time = 0;
	junit->file = srd_strdup(file);
	xml_open(&junit->cases);
	return junit->file && !junit->cases.failed ? 0 : -ENOMEM;
}

static void drop_suite(struct junit *junit)
{
	xml_close(&junit->cases);
	srd_free(junit->file);
	junit->file = NULL;
}

static void put_suite_head(struct xml *xml, const struct junit *junit)
{
	begin_element(xml, "testsuite");
	put_attribute(xml, "name", "%s", junit->file);
	put_number(xml, "tests", junit->tests);
	put_number(xml, "failures", junit->failures);
	put_number(xml, "errors", junit->errors);
	put_number(xml, "skipped", junit->skipped);
	put_time(xml, junit->time);
	begin_element(xml, "properties");
	put_property(xml, "version", SRDLAB_VERSION);
	put_property(xml, "backend", junit->backend);
	if (*junit->profile)
		put_property(xml, "profile", junit->profile);
	put_property(xml, "file", junit->file);
	end_element(xml);
}

/* The suite to the file: its head through a writer of its own, then the cases as they are. */
static int close_suite(struct junit *junit)
{
	struct xml xml;
	int rc;

	xml_open(&xml);
	if (!xml.failed && xmlTextWriterFlush(junit->cases.writer) < 0)
		xml.failed = true;
	if (!xml.failed)
		put_suite_head(&xml, junit);
	if (!xml.failed &&
	    xmlTextWriterWriteRaw(xml.writer, xmlBufferContent(junit->cases.buffer)) < 0)
		xml.failed = true;
	end_element(&xml);
	if (!xml.failed && xmlTextWriterFlush(xml.writer) < 0)
		xml.failed = true;
	if (!xml_failed(&xml))
		fputs((const char *)xmlBufferContent(xml.buffer), junit->out);
	drop_suite(junit);
	rc = xml_failed(&xml) ? -ENOMEM : 0;
	xml_close(&xml);
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
