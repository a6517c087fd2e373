/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/requests.h"
#include "report/show.h"
#include "report/trace.h"
#include "verbs/alloc.h"
#include "verbs/event_text.h"
#include "verbs/nearest.h"

struct show {
	const struct srd_show_options *options;
	FILE *out;
	bool types[SRD_NUM_EVENT_TYPES]; /* to be shown */
	struct srd_requests *requests;
	/* the table of queue pairs, written when all else is known */
	char *qps;
	size_t qps_size;
	FILE *qps_out;
	/* the summary */
	uint64_t events;
	uint64_t scenarios;
	uint64_t ops;
	uint64_t ops_ended;
	uint64_t ops_failed;
	uint64_t receives;
	uint64_t completions[SRD_NUM_WC_STATUS];
	uint64_t other_completions; /* of a status that verbs do not have */
	struct srd_requests_qp total;
};

static int unknown_type(const char *name, struct srd_error *error)
{
	const char *names[SRD_NUM_EVENT_TYPES];
	const char *near;

	for (int i = 0; i < SRD_NUM_EVENT_TYPES; i++)
		names[i] = srd_event_infos[i].name;
	near = srd_nearest(name, names, SRD_NUM_EVENT_TYPES);
	return srd_error_set(error, -EINVAL, "there is no event %s%s%s%s", name,
			     near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
}

static int select_types(struct show *show, struct srd_error *error)
{
	const struct srd_show_options *options = show->options;

	for (int i = 0; i < SRD_NUM_EVENT_TYPES; i++)
		show->types[i] = !options->num_types;
	for (int i = 0; i < options->num_types; i++) {
		int type = srd_event_type_parse(options->types[i]);

		if (type < 0)
			return unknown_type(options->types[i], error);
		show->types[type] = true;
	}
	return 0;
}

/* The handle of the queue pair that EVENT is about; 0: of none. */
static uint32_t qp_of(const struct show *show, const struct srd_event *event)
{
	const struct srd_requests_qp *qp;

	if (event->type == SRD_EV_WC) {
		qp = srd_requests_qp_by_number(show->requests, event->host,
					       ((const struct srd_ev_wc *)event)->qp_num);
		return qp ? qp->handle : 0;
	}
	if (event->type == SRD_EV_DEV_CQE)
		return ((const struct srd_ev_dev_cqe *)event)->qp;
	return strcmp(srd_event_infos[event->type].object, "qp") ? 0 : event->object;
}

static bool selected(const struct show *show, const struct srd_event *event)
{
	uint32_t qp;

	if (!show->types[event->type])
		return false;
	if (!show->options->num_qps)
		return true;
	qp = qp_of(show, event);
	for (int i = 0; i < show->options->num_qps; i++)
		if (show->options->qps[i] == qp)
			return true;
	return false;
}

static void count_completion(struct show *show, const struct srd_ev_wc *wc)
{
	if (wc->opcode == SRD_WC_RECV || wc->opcode == SRD_WC_RECV_RDMA_WITH_IMM)
		show->receives++;
	for (int i = 0; i < SRD_NUM_WC_STATUS; i++) {
		if (srd_wc_status_values[i] == wc->status) {
			show->completions[i]++;
			return;
		}
	}
	show->other_completions++;
}

static void count(struct show *show, const struct srd_event *event)
{
	show->events++;
	switch (event->type) {
	case SRD_EV_SCENARIO_BEGIN:
		show->scenarios++;
		break;
	case SRD_EV_OP_BEGIN:
		show->ops++;
		break;
	case SRD_EV_OP_END:
		show->ops_ended++;
		show->ops_failed += ((const struct srd_ev_op_end *)event)->result != 0;
		break;
	case SRD_EV_WC:
		count_completion(show, (const struct srd_ev_wc *)event);
		break;
	}
}

static void one_event(struct show *show, const struct srd_event *event)
{
	char line[2048];

	/* before the destroy of a queue pair forgets its number */
	if (!show->options->no_events && selected(show, event)) {
		srd_event_text(event, line, sizeof(line));
		fprintf(show->out, "%s\n", line);
	}
	count(show, event);
	srd_requests_event(show->requests, event);
}

static void end_qp(void *arg, const struct srd_requests_qp *qp)
{
	struct show *show = arg;

	show->total.posted += qp->posted;
	show->total.bytes += qp->bytes;
	show->total.refused += qp->refused;
	show->total.lost += qp->lost;
	if (!show->scenarios)
		fprintf(show->qps_out, "%8s ", "-");
	else
		fprintf(show->qps_out, "%8" PRIu64 " ", show->scenarios);
	fprintf(show->qps_out,
		"%5d %5" PRIu32 " %6" PRIu32 " %10" PRIu64 " %15" PRIu64 " %10" PRIu64 " %8" PRIu64
		" %8" PRIu64 " %14" PRIu32 "\n",
		qp->host, qp->handle, qp->qp_num, qp->posted, qp->bytes, qp->completed, qp->failed,
		qp->lost, qp->max_in_flight);
}

static void show_head(const struct show *show, const struct srd_trace_run *run)
{
	fprintf(show->out, "trace of srdlab %s", run->tool ? run->tool : "?");
	if (run->script)
		fprintf(show->out, ": %s", run->script);
	if (run->backend)
		fprintf(show->out, ", backend %s", run->backend);
	if (run->profile)
		fprintf(show->out, ", profile %s", run->profile);
	fprintf(show->out, ", seed %" PRIu64, run->seed);
	if (run->options)
		fprintf(show->out, ", %s", run->options);
	fprintf(show->out, "\n");
	if (!show->options->no_events)
		fprintf(show->out, "%14s %-4s %-10s %-16s %s\n", "time/us", "host", "object",
			"event", "fields");
}

static void show_completions(const struct show *show)
{
	const char *between = "";

	fprintf(show->out, "completions ");
	for (int i = 0; i < SRD_NUM_WC_STATUS; i++) {
		if (!show->completions[i])
			continue;
		fprintf(show->out, "%s%" PRIu64 " %s", between, show->completions[i],
			srd_wc_status_names[i]);
		between = ", ";
	}
	if (show->other_completions)
		fprintf(show->out, "%s%" PRIu64 " of an unknown status", between,
			show->other_completions);
	else if (!*between)
		fprintf(show->out, "none");
	if (show->receives)
		fprintf(show->out, "; %" PRIu64 " of them of receives", show->receives);
	fprintf(show->out, "\n");
}

static void show_summary(const struct show *show, uint64_t skipped)
{
	fprintf(show->out, "\nevents      %" PRIu64, show->events);
	if (skipped)
		fprintf(show->out, ", and %" PRIu64 " of types that this srdlab does not know",
			skipped);
	fprintf(show->out, "\nscenarios   %" PRIu64 "\n", show->scenarios);
	fprintf(show->out,
		"ops         %" PRIu64 " begun, %" PRIu64 " ended, %" PRIu64 " of them failed\n",
		show->ops, show->ops_ended, show->ops_failed);
	fprintf(show->out,
		"requests    %" PRIu64 " posted of %" PRIu64 " bytes, %" PRIu64
		" without a completion, %" PRIu64 " refused\n",
		show->total.posted, show->total.bytes, show->total.lost, show->total.refused);
	show_completions(show);
	if (!show->qps_size)
		return;
	fprintf(show->out, "\n%8s %5s %5s %6s %10s %15s %10s %8s %8s %14s\n%s", "scenario", "host",
		"qp", "number", "posted", "bytes", "completed", "failed", "lost", "most in flight",
		show->qps);
}

/* All events, and the summary of those that could be read. */
static int show_trace(struct show *show, struct srd_trace_reader *reader, struct srd_error *error)
{
	const struct srd_event *event;
	int result;

	show_head(show, srd_trace_reader_run(reader));
	while ((result = srd_trace_next(reader, &event, error)) == 1)
		one_event(show, event);
	srd_requests_finish(show->requests);
	if (fflush(show->qps_out) || srd_requests_incomplete(show->requests))
		return srd_error_set(error, -ENOMEM, "no memory to follow the requests of a trace");
	if (!show->options->no_summary)
		show_summary(show, srd_trace_reader_skipped(reader));
	return result;
}

int srd_show(const char *path, const struct srd_show_options *options, FILE *out,
	     struct srd_error *error)
{
	static const struct srd_requests_ops ops = {.qp = end_qp};
	struct show *show = srd_calloc(1, sizeof(*show));
	struct srd_trace_reader *reader = NULL;
	int result;

	if (!show)
		return srd_error_set(error, -ENOMEM, "no memory to show a trace");
	show->options = options;
	show->out = out;
	result = select_types(show, error);
	if (result)
		goto free_show;
	result = srd_trace_read(path, &reader, error);
	if (result)
		goto free_show;
	show->requests = srd_requests_create(&ops, show);
	show->qps_out = open_memstream(&show->qps, &show->qps_size);
	if (show->requests && show->qps_out)
		result = show_trace(show, reader, error);
	else
		result = srd_error_set(error, -ENOMEM, "no memory to show a trace");
	srd_requests_destroy(show->requests);
	if (show->qps_out)
		fclose(show->qps_out);
	free(show->qps);
	srd_trace_reader_close(reader);
free_show:
	srd_free(show);
	return result;
}
