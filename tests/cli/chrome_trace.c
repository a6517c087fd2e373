/* SPDX-License-Identifier: MIT */
/*
 * Whether a file holds to the rules of the Trace Event Format (the JSON object form), as its
 * description has them, and not only to what viewers forgive:
 *
 *  - every entry has ph, name, pid, tid, ts with the right types, and no negative time;
 *  - B and E nest on each thread, by name, and never go back in time; X has a dur;
 *  - i has a scope of g, p or t; M names a process or thread, with a name; C has numbers only;
 *  - b, n and e have a cat and an id; each b is ended by an e of the same cat, id and name, not
 *    before it, in the same process, and an id is never open twice;
 *  - s, t and f have a cat and an id; a flow starts once, with s, ends once, with f, not before
 *    it; s lies in a slice of its thread (B to E, or X), and so does f with bp = "e";
 *  - no key stands in an entry that its phase does not know.
 *
 * usage: chrome_trace FILE. Status 1 with a sentence for each of the first rules broken, 2 for
 * a file that is no JSON of that form.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <uthash.h>

#define MAX_DEPTH   16
#define MAX_REPORTS 20

/* A thread: the slices that are open, and those that are over and may hold arrows. */
struct thread {
	char key[48]; /* pid/tid */
	const char *open[MAX_DEPTH];
	double began[MAX_DEPTH];
	int depth;
	double last;     /* time of the last B or E */
	double from, to; /* the last slice that is over */
	UT_hash_handle hh;
};

/* What has an id: an async span, or a flow. */
struct span {
	char key[96]; /* cat/id */
	const char *name;
	json_int_t pid;
	double since;
	bool open;
	UT_hash_handle hh;
};

static struct thread *threads;
static struct span *spans, *flows;
static size_t number;
static int reports;
static uint64_t count[128];

__attribute__((format(printf, 1, 2))) static void broken(const char *format, ...)
{
	va_list args;

	if (++reports > MAX_REPORTS)
		return;
	printf("entry %zu: ", number);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static const char *text(const json_t *entry, const char *key)
{
	const char *value = json_string_value(json_object_get(entry, key));

	if (!value)
		broken("\"%s\" is no text", key);
	return value ? value : "";
}

static struct thread *thread_of(const json_t *entry)
{
	struct thread *thread;
	char key[sizeof(thread->key)];

	snprintf(key, sizeof(key), "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
		 json_integer_value(json_object_get(entry, "pid")),
		 json_integer_value(json_object_get(entry, "tid")));
	HASH_FIND_STR(threads, key, thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		abort();
	strcpy(thread->key, key);
	thread->from = thread->to = -1;
	HASH_ADD_STR(threads, key, thread);
	return thread;
}

static struct span *span_of(struct span **table, const json_t *entry)
{
	struct span *span;
	char key[sizeof(span->key)];

	snprintf(key, sizeof(key), "%s/%s", text(entry, "cat"), text(entry, "id"));
	HASH_FIND_STR(*table, key, span);
	if (span)
		return span;
	span = calloc(1, sizeof(*span));
	if (!span)
		abort();
	strcpy(span->key, key);
	HASH_ADD_STR(*table, key, span);
	return span;
}

static void check_duration(char phase, const json_t *entry, const char *name, double ts)
{
	struct thread *t = thread_of(entry);

	if (ts < t->last)
		broken("%c of \"%s\" goes back in time on thread %s", phase, name, t->key);
	t->last = ts;
	if (phase == 'B') {
		if (t->depth == MAX_DEPTH) {
			broken("more than %d slices in one another on thread %s", MAX_DEPTH,
			       t->key);
			return;
		}
		t->open[t->depth] = name;
		t->began[t->depth++] = ts;
		return;
	}
	if (!t->depth) {
		broken("E of \"%s\" without a B on thread %s", name, t->key);
		return;
	}
	t->depth--;
	if (strcmp(t->open[t->depth], name))
		broken("E of \"%s\" where \"%s\" is open on thread %s", name, t->open[t->depth],
		       t->key);
	t->from = t->began[t->depth];
	t->to = ts;
}

static void check_complete(const json_t *entry, double ts)
{
	struct thread *t = thread_of(entry);
	json_t *dur = json_object_get(entry, "dur");

	if (!json_is_number(dur) || json_number_value(dur) < 0) {
		broken("X without a dur");
		return;
	}
	t->from = ts;
	t->to = ts + json_number_value(dur);
}

static void check_async(char phase, const json_t *entry, const char *name, double ts)
{
	json_int_t pid = json_integer_value(json_object_get(entry, "pid"));
	struct span *span = span_of(&spans, entry);

	if (phase == 'b') {
		if (span->open)
			broken("b of %s, which is open", span->key);
		*span = (struct span){.name = name,
				      .pid = pid,
				      .since = ts,
				      .open = true,
				      .hh = span->hh,
				      .key = ""};
		snprintf(span->key, sizeof(span->key), "%s/%s", text(entry, "cat"),
			 text(entry, "id"));
		return;
	}
	if (!span->open) {
		broken("%c of %s without a b", phase, span->key);
		return;
	}
	if (strcmp(span->name, name) || span->pid != pid)
		broken("%c of %s as \"%s\", which was begun as \"%s\" or by another process", phase,
		       span->key, name, span->name);
	if (ts < span->since)
		broken("%c of %s before its b", phase, span->key);
	if (phase == 'e')
		span->open = false;
}

/* Whether a slice of the entry's thread holds the time TS. */
static bool in_slice(const json_t *entry, double ts)
{
	const struct thread *t = thread_of(entry);

	return (t->depth && t->began[t->depth - 1] <= ts) || (t->from <= ts && ts <= t->to);
}

static void check_flow(char phase, const json_t *entry, const char *name, double ts)
{
	struct span *flow = span_of(&flows, entry);
	json_t *bp = json_object_get(entry, "bp");

	if (phase == 's') {
		if (flow->name)
			broken("flow %s starts twice", flow->key);
		flow->name = name;
		flow->since = ts;
		flow->open = true;
	} else if (!flow->open) {
		broken("%c of flow %s, which has not started or has ended", phase, flow->key);
	} else {
		if (strcmp(flow->name, name))
			broken("flow %s has two names", flow->key);
		if (ts < flow->since)
			broken("flow %s ends before it starts", flow->key);
		flow->open = phase != 'f';
	}
	if ((phase != 'f' || bp) && !in_slice(entry, ts))
		broken("%c of flow %s in no slice of its thread", phase, flow->key);
	if (bp && (phase != 'f' || strcmp(text(entry, "bp"), "e")))
		broken("bp where only an f has one, which is \"e\"");
}

static void check_counter(const json_t *entry)
{
	json_t *args = json_object_get(entry, "args"), *value;
	const char *key;

	if (!json_object_size(args))
		broken("C without a series");
	json_object_foreach(args, key, value) if (!json_is_number(value))
		broken("series \"%s\" is no number", key);
}

static void check_metadata(const json_t *entry, const char *name)
{
	if (strcmp(name, "process_name") && strcmp(name, "thread_name"))
		broken("M of \"%s\", which this writer has no use for", name);
	if (!*text(json_object_get(entry, "args"), "name"))
		broken("M without a name");
}

static void check_phase(char phase, const json_t *entry, const char *name, double ts)
{
	switch (phase) {
	case 'B':
	case 'E':
		check_duration(phase, entry, name, ts);
		break;
	case 'X':
		check_complete(entry, ts);
		break;
	case 'i':
		if (strlen(text(entry, "s")) != 1 || !strchr("gpt", *text(entry, "s")))
			broken("the scope of an instant is g, p or t");
		break;
	case 'C':
		check_counter(entry);
		break;
	case 'b':
	case 'n':
	case 'e':
		check_async(phase, entry, name, ts);
		break;
	case 's':
	case 't':
	case 'f':
		check_flow(phase, entry, name, ts);
		break;
	case 'M':
		check_metadata(entry, name);
		break;
	default:
		broken("phase %c is not one of this writer", phase);
	}
}

/* Of each key: the phases that may have it; NULL: all. */
static const struct {
	const char *key, *phases;
} keys[] = {
	{"ph", NULL},     {"name", NULL}, {"pid", NULL}, {"tid", NULL},
	{"ts", NULL},     {"args", NULL}, {"cat", NULL}, {"dur", "X"},
	{"id", "bnestf"}, {"s", "i"},     {"bp", "f"},
};

static void check_keys(char phase, const json_t *entry)
{
	json_t *value;
	const char *key;

	json_object_foreach((json_t *)entry, key, value)
	{
		size_t i = 0;

		while (i < sizeof(keys) / sizeof(keys[0]) && strcmp(keys[i].key, key))
			i++;
		if (i == sizeof(keys) / sizeof(keys[0]) ||
		    (keys[i].phases && !strchr(keys[i].phases, phase)))
			broken("phase %c has no \"%s\"", phase, key);
	}
	value = json_object_get(entry, "args");
	if (value && !json_is_object(value))
		broken("args is no object");
}

static void check_entry(const json_t *entry)
{
	json_t *ts = json_object_get(entry, "ts");
	const char *phase = text(entry, "ph"), *name = text(entry, "name");

	if (strlen(phase) != 1 || !*name || !json_is_number(ts) || json_number_value(ts) < 0 ||
	    !json_is_integer(json_object_get(entry, "pid")) ||
	    !json_is_integer(json_object_get(entry, "tid"))) {
		broken("ph, name, pid, tid or ts is missing or of a wrong kind");
		return;
	}
	count[*phase & 127]++;
	check_keys(*phase, entry);
	check_phase(*phase, entry, name, json_number_value(ts));
}

static void check_ends(void)
{
	struct thread *thread, *next_thread;
	struct span *span, *next;

	HASH_ITER(hh, threads, thread, next_thread)
	{
		if (thread->depth)
			broken("B of \"%s\" is never ended on thread %s",
			       thread->open[thread->depth - 1], thread->key);
		HASH_DEL(threads, thread);
		free(thread);
	}
	HASH_ITER(hh, spans, span, next)
	{
		if (span->open)
			broken("b of %s is never ended", span->key);
		HASH_DEL(spans, span);
		free(span);
	}
	/* A flow may stay open: its request never completed. */
	HASH_ITER(hh, flows, span, next)
	{
		HASH_DEL(flows, span);
		free(span);
	}
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *root, *entries, *entry;

	if (argc != 2) {
		fprintf(stderr, "usage: chrome_trace FILE\n");
		return 2;
	}
	root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
	entries = json_object_get(root, "traceEvents");
	if (!json_is_array(entries)) {
		fprintf(stderr, "%s:%d: %s\n", argv[1], root ? 0 : error.line,
			root ? "no list of traceEvents" : error.text);
		json_decref(root);
		return 2;
	}
	json_array_foreach(entries, number, entry) check_entry(entry);
	check_ends();
	for (int phase = 0; phase < 128; phase++)
		if (count[phase])
			printf("%c %" PRIu64 "\n", phase, count[phase]);
	json_decref(root);
	return reports != 0;
}
