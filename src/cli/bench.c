/* SPDX-License-Identifier: MIT */
/*
 * srdlab bench: how fast the laboratory is. Each measurement runs several times, each time
 * beside a bare loop, so that a figure can be compared between machines; the medians are
 * printed. Time is the processor time of the thread: what else runs on the machine costs
 * less of it than of the wall's, and on a quiet machine the two are the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include <srdlab/lab.h>

#include "cli/bench_compare.h"
#include "cli/bench_fabric.h"
#include "cli/bench_rig.h"
#include "cli/cli.h"
#include "cli/written.h"
#include "lua/scenario.h"
#include "verbs/alloc.h"
#include "verbs/backend.h"

#define MAX_RUNS 99
#define WINDOW   16

/* One measurement: *UNITS of it were done for each of COUNT rounds. */
struct measure {
	const char *name;
	const char *unit;
	const char *what;
	int (*run)(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		   struct srd_error *error);
	enum srd_bench_watch watch;
	const char *detail; /* the script of those in Lua; the counter of those of packets */
};

struct figures {
	double per_second; /* medians */
	double bare_per_second;
	double runs[MAX_RUNS];
	double bare[MAX_RUNS];
	uint64_t units; /* in all runs */
};

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Bytes of KIND that are in memory now ("Rss:"); 0: this system does not say. Not from
 * statm, which is allowed to lag behind by some dozens of pages.
 */
static uint64_t in_memory(const char *kind)
{
	size_t length = strlen(kind);
	uint64_t kib = 0;
	char line[128];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, kind, length))
			kib = strtoull(line + length, NULL, 10);
	fclose(f);
	return kib * 1024;
}

/* ---- the bare loop: a record of 64 bytes into a ring of the window and out again ---- */

struct ring {
	uint64_t record[WINDOW][8];
	uint64_t sum;
};

__attribute__((noinline)) static void ring_put(struct ring *ring, uint64_t i)
{
	for (int word = 0; word < 8; word++)
		ring->record[i % WINDOW][word] = i + (uint64_t)word;
}

__attribute__((noinline)) static void ring_take(struct ring *ring, uint64_t i)
{
	for (int word = 0; word < 8; word++)
		ring->sum += ring->record[i % WINDOW][word];
}

static double bare_loop(void)
{
	const uint64_t count = 100000;
	void (*volatile put)(struct ring *, uint64_t) = ring_put;
	void (*volatile take)(struct ring *, uint64_t) = ring_take;
	struct ring ring = {0};
	uint64_t start = cpu_time();

	for (uint64_t i = 0; i < count; i++) {
		put(&ring, i);
		take(&ring, i);
	}
	return (double)count * 1e9 / (double)(cpu_time() - start);
}

/* ---- what is measured ---- */

static int requests(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		    struct srd_error *error)
{
	struct srd_bench_rig rig;
	int rc = srd_bench_rig_open(&rig, srd_profile_find("efa1"), measure->watch, 4096,
				    SRD_BUFFER_REAL, error);
	uint64_t start = cpu_time();

	if (!rc)
		rc = srd_bench_rig_put(&rig, count, 64, WINDOW, error);
	*ns = cpu_time() - start;
	*units = count;
	srd_bench_rig_close(&rig);
	return rc;
}

/* A counter of the mock: a host's own is summed over both; "events" is the whole mock's. */
static uint64_t counted(struct srd_verbs *verbs, const char *name)
{
	uint32_t hosts = strcmp(name, "events") ? 2 : 1;
	uint64_t sum = 0;

	for (uint32_t host = 0; host < hosts; host++) {
		struct srd_lab command = {.kind = SRD_LAB_COUNTER, .host = host, .name = name};

		if (!verbs->lab(verbs, &command))
			sum += command.value;
	}
	return sum;
}

static int packets(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		   struct srd_error *error)
{
	const uint64_t size = 1 << 16;
	struct srd_profile profile = *srd_profile_find("efa1");
	struct srd_bench_rig rig;
	uint64_t start;
	int rc;

	profile.level = SRD_PROFILE_LEVEL_PACKET;
	/* Real bytes would measure how fast this machine copies 8 KiB. */
	rc = srd_bench_rig_open(&rig, &profile, measure->watch, size, SRD_BUFFER_ORIGIN, error);
	start = cpu_time();
	if (!rc)
		rc = srd_bench_rig_put(&rig, count, size, WINDOW, error);
	*ns = cpu_time() - start;
	*units = rc ? 0 : counted(rig.verbs, measure->detail);
	srd_bench_rig_close(&rig);
	return rc;
}

#define CHUNK      (UINT64_C(1) << 20)
#define PUT_CHUNKS 16
#define TEBIBYTE   (UINT64_C(1) << 40)

/* What arrived is what was sent. */
static int verify(struct srd_bench_rig *rig, uint64_t length, struct srd_error *error)
{
	struct srd_buffer *from = rig->side[0].buffer, *to = rig->side[1].buffer;
	uint64_t same = 0;
	int rc = rig->verbs->compare_buffer(rig->verbs, from, 0, to, 0, length, &same);

	if (rc)
		return srd_error_set(error, -rc, "compare_buffer: %s", strerror(rc));
	return same == length ? 0 : srd_error_set(error, -EPROTO, "byte %" PRIu64 " differs", same);
}

/* Puts of 16 chunks each, through a tebibyte of memory on either side. */
static int chunks(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		  struct srd_error *error)
{
	struct srd_profile profile = *srd_profile_find("huge");
	uint64_t start, bytes = count * PUT_CHUNKS * CHUNK;
	struct srd_bench_rig rig;
	int rc;

	profile.max_rdma_size = CHUNK;
	rc = srd_bench_rig_open(&rig, &profile, measure->watch, TEBIBYTE, SRD_BUFFER_ORIGIN, error);
	start = cpu_time();
	if (!rc)
		rc = -rig.verbs->fill_buffer(rig.verbs, rig.side[0].buffer, 0, TEBIBYTE, 1);
	if (!rc)
		rc = srd_bench_rig_put(&rig, count, PUT_CHUNKS * CHUNK, WINDOW, error);
	if (!rc)
		rc = verify(&rig, bytes < TEBIBYTE ? bytes : TEBIBYTE, error);
	*ns = cpu_time() - start;
	*units = count * PUT_CHUNKS;
	srd_bench_rig_close(&rig);
	return rc;
}

static int hosts(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		 struct srd_error *error)
{
	struct srd_bench_fabric *fabric;
	int rc = srd_bench_fabric_open(&fabric, error);
	uint64_t start = cpu_time();

	if (!rc)
		rc = srd_bench_fabric_run(fabric, count, units, error);
	*ns = cpu_time() - start;
	srd_bench_fabric_close(fabric);
	return rc;
}

/* Run the one scenario of SCRIPT TIMES times. */
static int script_run(const char *text, uint64_t times, uint64_t *ns, struct srd_error *error)
{
	struct srd_run_config config = {.backend = srd_backend_find("mock"), .seed = 1};
	struct srd_scenario_result result;
	struct srd_script *script;
	uint64_t start = cpu_time();
	int rc;

	rc = srd_script_load_text("bench.lua", text, strlen(text), &config.sandbox, &script, error);
	for (uint64_t i = 0; !rc && i < times; i++) {
		rc = srd_scenario_run(script, 0, &config, &result, error);
		if (!rc && result.verdict != SRD_PASSED)
			rc = srd_error_set(error, -EPROTO, "the scenario did not pass: %s",
					   result.num_failures ? result.failures[0].message
							       : result.skip_reason);
		srd_scenario_result_release(&result);
	}
	srd_script_free(script);
	*ns = cpu_time() - start;
	return rc;
}

static int lua_ops(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		   struct srd_error *error)
{
	char *text = srd_asprintf(measure->detail, count);
	int rc;

	if (!text)
		return srd_error_set(error, -ENOMEM, "out of memory for a script");
	*units = count * WINDOW;
	rc = script_run(text, 1, ns, error);
	srd_free(text);
	return rc;
}

static int scenarios(const struct measure *measure, uint64_t count, uint64_t *units, uint64_t *ns,
		     struct srd_error *error)
{
	*units = count;
	return script_run(measure->detail, count, ns, error);
}

static const char ops_script[] =
	"local srd = require 'srdlab'\n"
	"srd.scenario('ops', {}, function(t)\n"
	"  local p = t:pair { max_send_wr = 16, memory = 4096 }\n"
	"  local q, from, to = p.a.qp, p.a.mem:slice(0, 64), p.b.mem:slice(0, 64)\n"
	"  for _ = 1, %" PRIu64 " do\n"
	"    local ops = {}\n"
	"    for i = 1, 16 do ops[i] = q:submit_put { from = from, to = to } end\n"
	"    t:wait(ops)\n"
	"  end\n"
	"end)\n";

static const char scenario_script[] = "local srd = require 'srdlab'\n"
				      "srd.scenario('small', {}, function(t)\n"
				      "  local p = t:pair { memory = 4096 }\n"
				      "  p.a.mem:fill 'random'\n"
				      "  t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })\n"
				      "  t:expect(p.b.mem):same_content(p.a.mem)\n"
				      "end)\n";

static const struct measure measures[] = {
	{"requests", "requests", "C, one chunk each, window 16, no rules", requests,
	 SRD_BENCH_ALONE, NULL},
	{"requests-rules", "requests", "the same, judged by every law and contract", requests,
	 SRD_BENCH_JUDGED, NULL},
	{"requests-trace", "requests", "judged, and recorded to /dev/null", requests,
	 SRD_BENCH_TRACED, NULL},
	{"packets", "packets", "C, puts of 64 KiB at the packet level, no rules", packets,
	 SRD_BENCH_ALONE, "tx_pkts"},
	{"packet-events", "events", "what the mock takes from its heap for them", packets,
	 SRD_BENCH_ALONE, "events"},
	{"packet-hosts", "events", "the same with 250 hosts of 4 queue pairs each", hosts,
	 SRD_BENCH_ALONE, NULL},
	{"chunks", "chunks", "C, origin-only, judged, compared; 1,048,576 are 1 TiB", chunks,
	 SRD_BENCH_JUDGED, NULL},
	{"lua-ops", "ops", "Lua, one chunk each, 16 at a time, judged", lua_ops, SRD_BENCH_JUDGED,
	 ops_script},
	{"scenarios", "scenarios", "two hosts, one put, compared; judged", scenarios,
	 SRD_BENCH_JUDGED, scenario_script},
};

#define NUM_MEASURES (sizeof(measures) / sizeof(measures[0]))

/* ---- running them ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, uint64_t count)
{
	double sorted[MAX_RUNS];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), by_value);
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* As many rounds as take TIME ns. */
static int calibrate(const struct measure *m, uint64_t time, uint64_t *count,
		     struct srd_error *error)
{
	uint64_t units, ns = 0;
	int rc = 0;

	for (*count = 1; !rc && ns < time / 4; *count *= 2)
		rc = m->run(m, *count, &units, &ns, error);
	*count = (uint64_t)((double)*count / 2 * (double)time / (double)(ns ? ns : 1)) + 1;
	return rc;
}

static int measure_run(const struct measure *m, const struct srd_cli_bench_options *options,
		       struct figures *f, struct srd_error *error)
{
	uint64_t count, units, ns;
	int rc = calibrate(m, options->time, &count, error);

	for (uint64_t i = 0; !rc && i < options->runs; i++) {
		f->bare[i] = bare_loop();
		rc = m->run(m, count, &units, &ns, error);
		f->runs[i] = (double)units * 1e9 / (double)(ns ? ns : 1);
		f->units += units;
	}
	if (rc)
		return rc;
	f->per_second = median(f->runs, options->runs);
	f->bare_per_second = median(f->bare, options->runs);
	return 0;
}

/* ---- the report ---- */

static void line_print(const struct measure *m, const struct figures *f)
{
	printf("%-15s %12.0f %-9s/s %9.1f ns each %8.1f bare loops each   %s\n", m->name,
	       f->per_second, m->unit, 1e9 / f->per_second, f->bare_per_second / f->per_second,
	       m->what);
	fflush(stdout);
}

static json_t *line_json(const struct measure *m, const struct figures *f, uint64_t runs)
{
	json_t *list = json_array();

	for (uint64_t i = 0; i < runs; i++)
		json_array_append_new(list, json_real(f->runs[i]));
	return json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:o}", "name", m->name, "unit", m->unit,
			 "what", m->what, "per_second", f->per_second, "bare_loops_per_second",
			 f->bare_per_second, "units", (json_int_t)f->units, "runs", list);
}

static int json_write(const char *path, json_t *report)
{
	if (!json_dump_file(report, path, JSON_INDENT(2) | JSON_SORT_KEYS))
		return SRD_EXIT_PASSED;
	srd_cli_error("%s could not be written: %s", path, strerror(errno));
	return SRD_EXIT_INTERNAL;
}

static bool is_named(const struct srd_cli_list *names, const char *name)
{
	for (int i = 0; i < names->count; i++)
		if (!strcmp(names->items[i], name))
			return true;
	return false;
}

static bool is_wanted(const struct srd_cli_list *names, const char *name)
{
	return !names->count || is_named(names, name);
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < NUM_MEASURES; i++)
		if (!strcmp(name, measures[i].name))
			return true;
	return !strcmp(name, "memory") || !strcmp(name, "linear");
}

static int names_check(const struct srd_cli_list *names)
{
	for (int i = 0; i < names->count; i++)
		if (!is_known(names->items[i]))
			return srd_cli_refuse("there is no measurement '%s'", names->items[i]);
	return SRD_EXIT_PASSED;
}

static int speed(const struct srd_cli_bench_options *options, json_t *report)
{
	json_t *lines = json_array();
	struct srd_error error = {0};

	json_object_set_new(report, "measurements", lines);
	for (size_t i = 0; i < NUM_MEASURES; i++) {
		const struct measure *m = &measures[i];
		struct figures f = {0};

		if (!is_wanted(&options->arguments, m->name))
			continue;
		if (measure_run(m, options, &f, &error)) {
			srd_cli_error("%s: %s", m->name, error.message);
			return SRD_EXIT_INTERNAL;
		}
		line_print(m, &f);
		json_array_append_new(lines, line_json(m, &f, options->runs));
	}
	return SRD_EXIT_PASSED;
}

/*
 * What a long run keeps: the memory after some requests, and what ten times as many add to it,
 * without the program's own pages, which come as they are first executed.
 */
static int memory(json_t *report)
{
	const uint64_t some = 10000;
	struct srd_bench_rig rig;
	struct srd_error error = {0};
	uint64_t early = 0, late = 0, all = 0;
	int rc = srd_bench_rig_open(&rig, srd_profile_find("efa1"), SRD_BENCH_JUDGED, 4096,
				    SRD_BUFFER_REAL, &error);

	if (!rc)
		rc = srd_bench_rig_put(&rig, some, 64, WINDOW, &error);
	all = in_memory("Rss:");
	early = in_memory("Anonymous:");
	if (!rc)
		rc = srd_bench_rig_put(&rig, 9 * some, 64, WINDOW, &error);
	late = in_memory("Anonymous:");
	srd_bench_rig_close(&rig);
	if (rc) {
		srd_cli_error("memory: %s", error.message);
		return SRD_EXIT_INTERNAL;
	}
	printf("%-15s %12.1f MiB resident after %" PRIu64
	       " judged requests; %+.1f KiB after %" PRIu64 "\n",
	       "memory", (double)all / 1048576, some, ((double)late - (double)early) / 1024,
	       10 * some);
	json_object_set_new(report, "resident_bytes", json_integer((json_int_t)all));
	json_object_set_new(report, "resident_growth_bytes",
			    json_integer((json_int_t)late - (json_int_t)early));
	return SRD_EXIT_PASSED;
}

/* Whether the hundred millionth request costs what the first ones do. */
static int linear(json_t *report)
{
	const struct measure *judged = &measures[1];
	json_t *list = json_array();

	json_object_set_new(report, "linear", list);
	for (uint64_t count = 1000000; count <= 100000000; count *= 10) {
		struct srd_error error = {0};
		uint64_t units, ns;

		if (judged->run(judged, count, &units, &ns, &error)) {
			srd_cli_error("linear: %s", error.message);
			return SRD_EXIT_INTERNAL;
		}
		printf("%-15s %12.1f ns each of %" PRIu64 " judged requests\n", "linear",
		       (double)ns / (double)count, count);
		fflush(stdout);
		json_array_append_new(list, json_pack("{s:I, s:f}", "requests", (json_int_t)count,
						      "ns_each", (double)ns / (double)count));
	}
	return SRD_EXIT_PASSED;
}

static int compare(const struct srd_cli_bench_options *options)
{
	const struct srd_cli_list *files = &options->arguments;

	if (files->count != 1)
		return srd_cli_refuse("--compare takes the old report, and one argument, the new "
				      "one: srdlab bench --compare OLD NEW");
	return srd_bench_compare(options->compare, files->items[0]);
}

int srd_cli_bench(const struct srd_cli_bench_options *options)
{
	const struct srd_cli_written file = {"--json", options->json, true};
	struct srd_error error;
	json_t *report;
	int status;

	if (options->compare)
		return compare(options);
	report = json_object();
	status = names_check(&options->arguments);
	if (!status && srd_cli_written_check(&file, 1, &error))
		status = srd_cli_refuse("%s", error.message);
	if (!status)
		status = speed(options, report);
	if (!status && is_named(&options->arguments, "linear"))
		status = linear(report);
	if (!status && is_wanted(&options->arguments, "memory"))
		status = memory(report);
	if (!status && options->json)
		status = json_write(options->json, report);
	json_decref(report);
	return status;
}
