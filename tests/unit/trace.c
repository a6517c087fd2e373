/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/trace.h"
#include "report/trace_format.h"
#include "verbs/alloc.h"

/* A file without a name of its own; its path under /proc. */
static int file_fd = -1;
static char file_path[64];

static int setup(void **state)
{
	file_fd = memfd_create("trace", 0);
	assert_true(file_fd >= 0);
	snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file_fd);
	return 0;
}

static int teardown(void **state)
{
	close(file_fd);
	srd_alloc_fail_at(0);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

/* What the file holds, to be released with free. */
static char *content(size_t *size)
{
	struct stat st;
	char *bytes;

	assert_int_equal(fstat(file_fd, &st), 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size + 1);
	assert_non_null(bytes);
	assert_int_equal(pread(file_fd, bytes, *size, 0), *size);
	return bytes;
}

static const struct srd_trace_run run = {
	.script = "scripts/scenarios/put.lua",
	.backend = "mock",
	.profile = "efa1",
	.options = "--seed 18446744073709551615",
	.seed = UINT64_MAX,
};

union record {
	struct srd_event ev;
	char bytes[512];
	uint64_t words[64];
};

/* Event NUMBER of a made-up stream: each type in turn, every byte of it set. */
static void make(union record *r, uint32_t number)
{
	for (uint32_t i = 0; i < 64; i++)
		r->words[i] = (number + 1) * UINT64_C(0x9e3779b97f4a7c15) + i;
	r->ev.type = (uint16_t)(number % SRD_NUM_EVENT_TYPES);
	assert_true(srd_event_infos[r->ev.type].size <= sizeof(*r));
}

static uint64_t write_trace(const char *path, uint32_t num)
{
	struct srd_error error = {0};
	struct srd_trace *trace;
	union record r;
	uint64_t hash;

	assert_int_equal(srd_trace_create(path, &run, &trace, &error), 0);
	for (uint32_t i = 0; i < num; i++) {
		make(&r, i);
		srd_trace_event(trace, &r.ev);
	}
	assert_int_equal(srd_trace_count(trace), num);
	hash = srd_trace_hash(trace);
	assert_int_equal(srd_trace_close(trace, &error), 0);
	return hash;
}

static void round_trip(void **state)
{
	/* more than a buffer of the writer */
	static const uint32_t nums[] = {0, 1, 2 * SRD_NUM_EVENT_TYPES, 10000};
	uint64_t last = 0;

	for (size_t n = 0; n < sizeof(nums) / sizeof(nums[0]); n++) {
		uint64_t hash = write_trace(file_path, nums[n]);
		struct srd_error error = {0};
		struct srd_trace_reader *reader;
		const struct srd_event *event;
		union record r;

		assert_true(hash == write_trace(NULL, nums[n]));
		assert_true(hash != last);
		last = hash;
		assert_int_equal(srd_trace_read(file_path, &reader, &error), 0);
		for (uint32_t i = 0; i < nums[n]; i++) {
			make(&r, i);
			assert_int_equal(srd_trace_next(reader, &event, &error), 1);
			assert_memory_equal(event, &r, srd_event_infos[r.ev.type].size);
		}
		assert_int_equal(srd_trace_next(reader, &event, &error), 0);
		assert_int_equal(srd_trace_next(reader, &event, &error), 0);
		assert_int_equal(srd_trace_reader_skipped(reader), 0);
		srd_trace_reader_close(reader);
	}
}

static void the_hash_is_that_of_the_bytes(void **state)
{
	/* XXH64 of nothing, seed 0: the number that its specification gives */
	assert_true(write_trace(NULL, 0) == UINT64_C(0xef46db3751d8e999));
}

static void what_was_run(void **state)
{
	struct srd_trace_run none = {.seed = 7, .script = "caf\xe9.lua"};
	const struct srd_trace_run *its;
	struct srd_trace_reader *reader;
	struct srd_error error = {0};
	struct srd_trace *trace;

	write_trace(file_path, 3);
	assert_int_equal(srd_trace_read(file_path, &reader, &error), 0);
	its = srd_trace_reader_run(reader);
	assert_non_null(its->tool);
	assert_string_equal(its->script, run.script);
	assert_string_equal(its->backend, run.backend);
	assert_string_equal(its->profile, run.profile);
	assert_string_equal(its->options, run.options);
	assert_true(its->seed == UINT64_MAX);
	srd_trace_reader_close(reader);

	assert_int_equal(srd_trace_create(file_path, &none, &trace, &error), 0);
	assert_int_equal(srd_trace_close(trace, &error), 0);
	assert_int_equal(srd_trace_read(file_path, &reader, &error), 0);
	its = srd_trace_reader_run(reader);
	assert_null(its->backend);
	assert_string_equal(its->script, "caf?.lua");
	assert_int_equal(its->seed, 7);
	srd_trace_reader_close(reader);
}

/* The schema says all that is needed to read the file without srdlab. */
static void the_schema(void **state)
{
	const json_t *events, *event, *field;
	json_t *header = json_object();
	size_t fields = 0;

	assert_int_equal(srd_trace_schema_write(header), 0);
	events = json_object_get(header, "events");
	assert_int_equal(json_array_size(events), SRD_NUM_EVENT_TYPES);
	event = json_array_get(events, SRD_EV_WC);
	assert_string_equal(json_string_value(json_object_get(event, "name")), "wc");
	assert_string_equal(json_string_value(json_object_get(event, "object")), "cq");
	assert_int_equal(json_integer_value(json_object_get(event, "size")),
			 sizeof(struct srd_ev_wc));
	fields = json_array_size(json_object_get(event, "fields"));
	assert_int_equal(fields, srd_event_infos[SRD_EV_WC].num_fields);
	field = json_array_get(json_object_get(event, "fields"), 2);
	assert_string_equal(json_string_value(json_object_get(field, "name")), "status");
	assert_int_equal(json_integer_value(json_object_get(field, "offset")),
			 offsetof(struct srd_ev_wc, status));
	assert_int_equal(json_integer_value(json_object_get(field, "size")), 4);
	assert_string_equal(json_string_value(json_object_get(field, "shown")), "wc_status");
	event = json_object_get(json_object_get(header, "enums"), "wc_status");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(event, "values"),
							    "IBV_WC_WR_FLUSH_ERR")),
			 SRD_WC_WR_FLUSH_ERR);
	json_decref(header);
}

/* Read a whole trace from memory: the number of events, or the error. */
static int read_all(const char *bytes, size_t size, struct srd_error *error)
{
	/* fmemopen refuses an empty buffer */
	FILE *file =
		size ? fmemopen((void *)(uintptr_t)bytes, size, "rb") : fopen("/dev/null", "rb");
	struct srd_trace_reader *reader;
	const struct srd_event *event;
	int result, num = 0;

	assert_non_null(file);
	result = srd_trace_read_file(file, "t", &reader, error);
	if (result)
		return result;
	while ((result = srd_trace_next(reader, &event, error)) == 1)
		num++;
	srd_trace_reader_close(reader);
	return result ? result : num;
}

static void cut_short_anywhere(void **state)
{
	struct srd_error error;
	size_t size, step, records;
	char *bytes;

	write_trace(file_path, SRD_NUM_EVENT_TYPES);
	bytes = content(&size);
	records = sizeof(struct srd_trace_start) + ((struct srd_trace_start *)bytes)->header;
	assert_int_equal(read_all(bytes, size, &error), SRD_NUM_EVENT_TYPES);
	for (size_t cut = 0; cut < size; cut += step) {
		step = cut < 64 || cut + 60 > size ? 1 : cut < records ? 997 : 29;
		error.message[0] = 0;
		assert_int_equal(read_all(bytes, cut, &error), -EINVAL);
		assert_non_null(strstr(error.message, "t: offset "));
	}
	free(bytes);
}

static void changed_anywhere(void **state)
{
	struct srd_error error;
	size_t size, records;
	char *bytes;

	write_trace(file_path, SRD_NUM_EVENT_TYPES);
	bytes = content(&size);
	records = sizeof(struct srd_trace_start) + ((struct srd_trace_start *)bytes)->header;
	for (size_t at = 0; at < size; at += 31) {
		bytes[at] ^= 0x40;
		if (at >= records && at < size - sizeof(struct srd_trace_trailer))
			assert_int_equal(read_all(bytes, size, &error), -EINVAL);
		else if (at < records && at % 341 == 0) /* may be a letter of a name */
			read_all(bytes, size, &error);
		bytes[at] ^= 0x40;
	}
	bytes[size - 1] ^= 1;
	assert_int_equal(read_all(bytes, size, &error), -EINVAL);
	assert_non_null(strstr(error.message, "hash"));
	bytes[size - 1] ^= 1;
	bytes[size - 16] ^= 1;
	assert_int_equal(read_all(bytes, size, &error), -EINVAL);
	assert_non_null(strstr(error.message, "the trailer counts "));
	free(bytes);
}

static void something_follows(void **state)
{
	struct srd_error error;
	size_t size;
	char *bytes;

	write_trace(file_path, 1);
	bytes = content(&size);
	bytes[size] = 0;
	assert_int_equal(read_all(bytes, size + 1, &error), -EINVAL);
	assert_non_null(strstr(error.message, "something follows the trailer"));
	free(bytes);
}

/* A trace by hand: HEADER and RECORDS, and a trailer that is right. */
static char foreign[8192];

static size_t make_foreign(const char *header, const void *records, size_t size, uint64_t count)
{
	struct srd_trace_trailer trailer = {.ev.type = SRD_TRACE_END, .count = count};
	size_t length = (strlen(header) + 7) / 8 * 8;
	struct srd_trace_start start = {SRD_TRACE_MAGIC, SRD_TRACE_VERSION, (uint32_t)length};

	/* the only hash that these tests need to get right is that of no records */
	trailer.hash = count ? 0 : UINT64_C(0xef46db3751d8e999);
	assert_true(sizeof(start) + length + size + sizeof(trailer) <= sizeof(foreign));
	memset(foreign, ' ', sizeof(foreign));
	memcpy(foreign, &start, sizeof(start));
	memcpy(foreign + sizeof(start), header, strlen(header));
	if (size)
		memcpy(foreign + sizeof(start) + length, records, size);
	memcpy(foreign + sizeof(start) + length + size, &trailer, sizeof(trailer));
	return sizeof(start) + length + size + sizeof(trailer);
}

/* qp_close with a field of its own, a type from the future, and a wc that is laid out
 * differently: vendor_err of 2 bytes first, no src_qp, a field that is not known here. */
static const char older[] = "{\"version\":\"0.0.1\",\"seed\":\"5\",\"events\":["
			    "{\"name\":\"qp_close\",\"size\":32,\"fields\":[{\"name\":\"reason\","
			    "\"offset\":24,\"size\":4}]},"
			    "{\"name\":\"from_the_future\",\"size\":40,\"fields\":[]},"
			    "{\"name\":\"wc\",\"size\":56,\"fields\":["
			    "{\"name\":\"vendor_err\",\"offset\":24,\"size\":2},{\"name\":"
			    "\"opcode\",\"offset\":26,\"size\":1},"
			    "{\"name\":\"wr_id\",\"offset\":32,\"size\":8},{\"name\":\"qp_num\","
			    "\"offset\":40,\"size\":8},"
			    "{\"name\":\"colour\",\"offset\":48,\"size\":8}]}]}";

struct older_wc {
	struct srd_event ev;
	uint16_t vendor_err;
	uint8_t opcode;
	uint8_t pad[5];
	uint64_t wr_id, qp_num, colour;
};

static void another_schema(void **state)
{
	struct {
		struct srd_event close;
		uint64_t reason;
		struct srd_event future;
		uint64_t more[2];
		struct older_wc wc, large;
	} records = {
		.close = {.type = 0, .time = 10, .object = 3},
		.future = {.type = 1},
		.wc = {.ev = {.type = 2,
			      .time = 20,
			      .object = 4,
			      .line = 5,
			      .op = 6,
			      .source = 1,
			      .host = 7},
		       .vendor_err = 8,
		       .opcode = 129,
		       .wr_id = UINT64_MAX,
		       .qp_num = 9,
		       .colour = 1},
		.large = {.ev = {.type = 2}, .qp_num = UINT64_C(1) << 32},
	};
	size_t size = make_foreign(older, &records, sizeof(records), 4);
	struct srd_trace_reader *reader;
	const struct srd_event *event;
	const struct srd_ev_wc *wc;
	struct srd_error error;

	assert_int_equal(srd_trace_read_file(fmemopen(foreign, size, "rb"), "old", &reader, &error),
			 0);
	assert_int_equal(srd_trace_reader_run(reader)->seed, 5);
	assert_int_equal(srd_trace_next(reader, &event, &error), 1);
	assert_int_equal(event->type, SRD_EV_QP_CLOSE);
	assert_int_equal(event->time, 10);
	assert_int_equal(event->object, 3);
	assert_int_equal(srd_trace_next(reader, &event, &error), 1);
	assert_int_equal(srd_trace_reader_skipped(reader), 1);
	wc = (const struct srd_ev_wc *)event;
	assert_int_equal(wc->ev.type, SRD_EV_WC);
	assert_int_equal(wc->ev.time, 20);
	assert_int_equal(wc->ev.object, 4);
	assert_int_equal(wc->ev.line, 5);
	assert_int_equal(wc->ev.op, 6);
	assert_int_equal(wc->ev.host, 7);
	assert_int_equal(wc->vendor_err, 8);
	assert_int_equal(wc->opcode, 129);
	assert_true(wc->wr_id == UINT64_MAX);
	assert_int_equal(wc->qp_num, 9);
	assert_int_equal(wc->status, 0);
	assert_int_equal(wc->src_qp, 0);
	assert_int_equal(srd_trace_next(reader, &event, &error), -EINVAL);
	assert_non_null(strstr(error.message,
			       ": qp_num of wc is 4294967296, which does not fit in 4 bytes"));
	srd_trace_reader_close(reader);
}

static void refuse(const char *header, const char *message)
{
	struct srd_error error = {0};
	size_t size = make_foreign(header, NULL, 0, 0);

	assert_int_equal(read_all(foreign, size, &error), -EINVAL);
	if (!strstr(error.message, message))
		fail_msg("\"%s\" is not in \"%s\"", message, error.message);
	assert_int_equal(error.code, -EINVAL);
}

#define HEAD      "{\"seed\":\"1\",\"events\":["
#define FIELDS(s) HEAD "{\"name\":\"wc\",\"size\":32,\"fields\":[" s "]}]}"

static void hostile_headers(void **state)
{
	struct srd_error error;

	assert_int_equal(read_all(foreign,
				  make_foreign(HEAD "{\"name\":\"wc\",\"size\":32,"
						    "\"fields\":[]}]}",
					       NULL, 0, 0),
				  &error),
			 0);
	refuse("{", "t: offset 24: the header is not JSON: ");
	refuse("[]", "the header has no seed");
	refuse("{\"seed\":\"x\"}", "the header's seed \"x\" is not a number");
	refuse("{\"seed\":\"\"}", "the header's seed \"\" is not a number");
	refuse("{\"seed\":\"99999999999999999999\"}", "is not a number");
	refuse("{\"seed\":\"1\"}", "it names no types of events, or too many");
	refuse("{\"seed\":\"1\",\"events\":[]}", "it names no types of events, or too many");
	refuse("{\"seed\":\"1\",\"seed\":\"1\"}", "is not JSON: duplicate");
	refuse(HEAD "5]}", "event type 0 has no name or no fields");
	refuse(HEAD "{\"name\":\"wc\",\"size\":32}]}", "event type 0 has no name or no fields");
	refuse(HEAD "{\"name\":\"wc\",\"fields\":[]}]}",
	       "records of wc are not a multiple of 8 from 24 to 4096 bytes long");
	refuse(HEAD "{\"name\":\"wc\",\"size\":16,\"fields\":[]}]}", "records of wc are not");
	refuse(HEAD "{\"name\":\"wc\",\"size\":-8,\"fields\":[]}]}", "records of wc are not");
	refuse(HEAD "{\"name\":\"wc\",\"size\":25,\"fields\":[]}]}", "records of wc are not");
	refuse(HEAD "{\"name\":\"wc\",\"size\":4104,\"fields\":[]}]}", "records of wc are not");
	refuse(FIELDS("{\"name\":\"wr_id\",\"offset\":25,\"size\":8}"),
	       "the header is wrong: field wr_id has no place of 1, 2, 4 or 8 bytes in a record of "
	       "32");
	refuse(FIELDS("{\"name\":\"wr_id\",\"offset\":24,\"size\":3}"), "field wr_id has no place");
	refuse(FIELDS("{\"name\":\"wr_id\",\"offset\":24,\"size\":0}"), "field wr_id has no place");
	refuse(FIELDS("{\"name\":\"wr_id\",\"offset\":0,\"size\":8}"), "field wr_id has no place");
	refuse(FIELDS("{\"name\":\"wr_id\",\"size\":8}"), "field wr_id has no place");
	refuse("{\"seed\":\"1\",\"enums\":{\"wc_status\":{\"values\":{\"IBV_WC_SUCCESS\":3}}},"
	       "\"events\":[{\"name\":\"wc\",\"size\":32,\"fields\":[]}]}",
	       "IBV_WC_SUCCESS is 3 in the trace and 0 in this srdlab");
}

static void hostile_records(void **state)
{
	const char *header = HEAD "{\"name\":\"wc\",\"size\":32,\"fields\":[]}]}";
	struct srd_event wrong = {.type = 1};
	struct srd_error error;

	assert_int_equal(read_all(foreign, make_foreign(header, &wrong, sizeof(wrong), 1), &error),
			 -EINVAL);
	assert_non_null(
		strstr(error.message, ": a record of type 1, but the header names 1 types"));
}

static void not_a_trace(void **state)
{
	struct srd_trace_start start = {SRD_TRACE_MAGIC, SRD_TRACE_VERSION + 1, 8};
	struct srd_trace_reader *reader;
	struct srd_error error;

	assert_int_equal(read_all("hello, I am a text file", 23, &error), -EINVAL);
	assert_string_equal(error.message, "t: offset 0: this is not a trace of srdlab");
	assert_int_equal(read_all("", 0, &error), -EINVAL);
	assert_string_equal(error.message, "t: offset 0: this is not a trace of srdlab");
	assert_int_equal(read_all((char *)&start, sizeof(start), &error), -EINVAL);
	assert_string_equal(error.message,
			    "t: offset 0: the trace has version 2, this srdlab reads version 1");
	start.version = SRD_TRACE_VERSION;
	start.header = UINT32_MAX;
	assert_int_equal(read_all((char *)&start, sizeof(start), &error), -EINVAL);
	assert_non_null(strstr(error.message, "a header of 4294967295 bytes is not"));
	start.header = 12;
	assert_int_equal(read_all((char *)&start, sizeof(start), &error), -EINVAL);

	assert_int_equal(srd_trace_read("/nowhere/trace", &reader, &error), -ENOENT);
	assert_string_equal(error.message,
			    "cannot read the trace /nowhere/trace: No such file or directory");
	assert_int_equal(srd_trace_read("/", &reader, &error), -EISDIR);
	assert_string_equal(error.message, "cannot read the trace /: Is a directory");
}

static void cannot_be_written(void **state)
{
	struct srd_trace *trace = NULL;
	struct srd_error error;

	assert_int_equal(srd_trace_create("/nowhere/trace", &run, &trace, &error), -ENOENT);
	assert_string_equal(error.message,
			    "cannot write the trace /nowhere/trace: No such file or directory");
	assert_int_equal(srd_trace_create("/dev/full", &run, &trace, &error), -ENOSPC);
	assert_string_equal(error.message,
			    "cannot write the trace /dev/full: No space left on device");
	assert_null(trace);
	assert_int_equal(srd_trace_close(NULL, &error), 0);
}

/* The disk is full in the middle: reported once, at the end; the events go on. */
static void full_in_the_middle(void **state)
{
	struct rlimit limit, before;
	struct srd_error error = {0};
	struct srd_trace *trace;
	union record r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit = before;
	limit.rlim_cur = 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(srd_trace_create(file_path, &run, &trace, &error), 0);
	for (uint32_t i = 0; i < 10000; i++) {
		make(&r, i);
		srd_trace_event(trace, &r.ev);
	}
	assert_int_equal(srd_trace_count(trace), 10000);
	assert_true(srd_trace_hash(trace) == write_trace(NULL, 10000));
	assert_int_equal(srd_trace_close(trace, &error), -EFBIG);
	assert_non_null(strstr(error.message, ": File too large; it ends after 100000 bytes"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* jansson allocates in the same place here, so that its failures come too: some thousands. */
static void no_memory(void **state)
{
	struct srd_trace_reader *reader = NULL;
	struct srd_trace *trace = NULL;
	struct srd_error error = {0};
	bool failed = true;
	int result;

	json_set_alloc_funcs(srd_malloc, srd_free);
	for (uint64_t n = 1; failed; n += n < 30 ? 1 : 97) {
		srd_alloc_fail_at(n);
		result = srd_trace_create(file_path, &run, &trace, &error);
		failed = srd_alloc_count() >= n;
		assert_true(!result || result == -ENOMEM);
		if (!result)
			assert_int_equal(srd_trace_close(trace, &error), 0);
	}
	failed = true;
	for (uint64_t n = 1; failed; n += n < 30 ? 1 : 97) {
		srd_alloc_fail_at(n);
		result = srd_trace_read(file_path, &reader, &error);
		failed = srd_alloc_count() >= n;
		/* the JSON reader has no words of its own for it */
		assert_true(!result || result == -ENOMEM || strstr(error.message, "not JSON"));
		if (!result)
			srd_trace_reader_close(reader);
	}
	srd_trace_reader_close(NULL);
	json_set_alloc_funcs(malloc, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(the_hash_is_that_of_the_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_run, setup, teardown),
		cmocka_unit_test_setup_teardown(the_schema, setup, teardown),
		cmocka_unit_test_setup_teardown(cut_short_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(changed_anywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(something_follows, setup, teardown),
		cmocka_unit_test_setup_teardown(another_schema, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_records, setup, teardown),
		cmocka_unit_test_setup_teardown(not_a_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(cannot_be_written, setup, teardown),
		cmocka_unit_test_setup_teardown(full_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
