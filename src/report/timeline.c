/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <srdlab/verbs.h>

#include "report/requests.h"
#include "report/timeline.h"
#include "verbs/alloc.h"
#include "verbs/event_text.h"

#define HASH_NONFATAL_OOM        1
#define uthash_malloc(size)      srd_malloc(size)
#define uthash_free(block, size) srd_free(block)
#include <uthash.h>

/* Perfetto takes process 0 for the idle one: hosts are numbered from 1 on. */
#define PID(host)    ((host) + 1)
#define PID_SCENARIO (UINT8_MAX + 2)

/* Between two scenarios on the time axis. */
#define GAP_NS 10000

/* An op whose span is begun. */
struct open_op {
	uint32_t number;
	uint32_t qp;
	uint8_t host;
	UT_hash_handle hh;
};

struct srd_timeline {
	FILE *file;
	char *path;
	int failed;        /* positive errno of the first write that failed */
	bool incomplete;   /* memory ran out */
	uint64_t events;   /* written */
	uint64_t base;     /* time of the current scenario's 0 */
	uint64_t last;     /* the latest time so far */
	uint64_t scenario; /* from 1; 0: none yet */
	bool in_scenario;
	struct srd_requests *requests;
	struct open_op *ops; /* in the order of their beginning */
	uint32_t *fill;      /* entries of the completion queues, by handle */
	uint32_t num_cqs;
};

__attribute__((format(printf, 2, 3))) static void put(struct srd_timeline *t, const char *format,
						      ...)
{
	va_list args;

	va_start(args, format);
	if (!t->failed && vfprintf(t->file, format, args) < 0)
		t->failed = errno ? errno : EIO;
	va_end(args);
}

/*
 * Begin one entry: its phase, name, process, thread and time. What follows adds fields,
 * each with its comma, and closes the brace. All texts here are names from tables of ours,
 * which need no escapes.
 */
static void begin(struct srd_timeline *t, char phase, const char *name, uint32_t pid, uint32_t tid,
		  uint64_t time)
{
	uint64_t at = t->base + time;

	if (at > t->last)
		t->last = at;
	put(t,
	    "%s{\"ph\":\"%c\",\"name\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
	    ",\"ts\":%" PRIu64 ".%03u",
	    t->events++ ? ",\n" : "", phase, name, pid, tid, at / 1000, (unsigned)(at % 1000));
}

/* The fields of EVENT as the entry's arguments, and the end of the entry. */
static void end_with(struct srd_timeline *t, const struct srd_event *event)
{
	const struct srd_event_info *info = &srd_event_infos[event->type];
	char text[128];

	put(t, ",\"args\":{\"line\":%" PRIu32 ",\"op\":%" PRIu32, event->line, event->op);
	for (int i = 0; i < info->num_fields; i++) {
		const struct srd_event_field *field = &info->fields[i];
		uint64_t value = srd_event_value(event, field);
		/* JSON readers keep integers in 64 bits with a sign at best */
		bool number = field->format == SRD_FIELD_DEC && value <= INT64_MAX;

		srd_event_value_text(field, value, text, sizeof(text));
		put(t, number ? ",\"%s\":%s" : ",\"%s\":\"%s\"", field->name, text);
	}
	put(t, "}}");
}

static void put_counter(struct srd_timeline *t, uint8_t host, uint64_t time, const char *kind,
			uint32_t handle, const char *what, uint64_t value)
{
	char name[64];

	snprintf(name, sizeof(name), "%s %" PRIu32 " %s", kind, handle, what);
	begin(t, 'C', name, PID(host), 0, time);
	put(t, ",\"args\":{\"%s\":%" PRIu64 "}}", what, value);
}

/* An entry without a length, about the thread TID or, where that is 0, the process. */
static void put_instant(struct srd_timeline *t, const struct srd_event *event, const char *name,
			uint32_t tid)
{
	begin(t, 'i', name, PID(event->host), tid, event->time);
	put(t, ",\"cat\":\"%s\",\"s\":\"%c\"", srd_event_infos[event->type].name, tid ? 't' : 'p');
	end_with(t, event);
}

static void put_name(struct srd_timeline *t, const char *what, uint32_t pid, uint32_t tid,
		     const char *name)
{
	begin(t, 'M', what, pid, tid, 0);
	put(t, ",\"args\":{\"name\":\"%s\"}}", name);
}

static const char *opcode_name(const struct srd_request *request)
{
	const char *name = srd_wr_opcode_str(request->wr.opcode);

	return name + strlen(srd_wr_opcode_info.prefix);
}

static void posted(void *arg, const struct srd_request *request)
{
	struct srd_timeline *t = arg;
	uint32_t pid = PID(request->qp->host), tid = request->qp->handle;

	begin(t, 'b', opcode_name(request), pid, tid, request->posted);
	put(t, ",\"cat\":\"request\",\"id\":\"0x%" PRIx64 "\"", request->number);
	end_with(t, &request->wr.ev);
	begin(t, 's', "request", pid, tid, request->posted);
	put(t, ",\"cat\":\"flow\",\"id\":\"0x%" PRIx64 "\"}", request->number);
}

static void gone(void *arg, const struct srd_request *request, const struct srd_ev_wc *wc,
		 uint64_t time)
{
	struct srd_timeline *t = arg;
	uint32_t pid = PID(request->qp->host), tid = request->qp->handle;

	if (wc) {
		begin(t, 'X', "completion", pid, tid, time);
		put(t, ",\"cat\":\"completion\",\"dur\":0");
		end_with(t, &wc->ev);
		begin(t, 'f', "request", pid, tid, time);
		put(t, ",\"cat\":\"flow\",\"bp\":\"e\",\"id\":\"0x%" PRIx64 "\"}", request->number);
	}
	begin(t, 'e', opcode_name(request), pid, tid, time);
	put(t, ",\"cat\":\"request\",\"id\":\"0x%" PRIx64 "\"", request->number);
	if (wc)
		end_with(t, &wc->ev);
	else
		put(t, ",\"args\":{\"status\":\"none\"}}");
}

static void count_in_flight(struct srd_timeline *t, const struct srd_requests_qp *qp, uint64_t time)
{
	if (qp)
		put_counter(t, qp->host, time, "qp", qp->handle, "in flight", qp->in_flight);
}

/* The branches of uthash's macros are not ours: LCOV_EXCL_BR_START */

static struct open_op *find_op(const struct srd_timeline *t, uint32_t number)
{
	struct open_op *op;

	HASH_FIND(hh, t->ops, &number, sizeof(number), op);
	return op;
}

/* Whether there was memory for it. */
static bool keep_op(struct srd_timeline *t, struct open_op *op)
{
	HASH_ADD(hh, t->ops, number, sizeof(op->number), op);
	return op->hh.tbl;
}

static void drop_op(struct srd_timeline *t, struct open_op *op)
{
	HASH_DEL(t->ops, op);
	srd_free(op);
}

/* LCOV_EXCL_BR_STOP */

/* Op numbers start again in each scenario. The end of the entry is left to the caller. */
static void op_span(struct srd_timeline *t, char phase, const struct open_op *op, uint64_t time)
{
	begin(t, phase, "op", PID(op->host), op->qp, time);
	put(t, ",\"cat\":\"op\",\"id\":\"0x%" PRIx64 "\"", t->scenario << 32 | op->number);
}

static void begin_op(struct srd_timeline *t, const struct srd_event *event)
{
	struct open_op *op = srd_malloc(sizeof(*op));

	if (!op) {
		t->incomplete = true;
		return;
	}
	*op = (struct open_op){event->op, event->object, event->host};
	if (!keep_op(t, op)) {
		t->incomplete = true;
		srd_free(op);
		return;
	}
	op_span(t, 'b', op, event->time);
	end_with(t, event);
}

static void end_op(struct srd_timeline *t, const struct srd_event *event)
{
	struct open_op *op = find_op(t, event->op);

	if (!op)
		return;
	op_span(t, 'e', op, event->time);
	end_with(t, event);
	drop_op(t, op);
}

/* A span has an end, though its op never got one. */
static void end_ops(struct srd_timeline *t, uint64_t time)
{
	while (t->ops) {
		op_span(t, 'e', t->ops, time);
		put(t, ",\"args\":{\"result\":\"none\"}}");
		drop_op(t, t->ops);
	}
}

static void end_scenario(struct srd_timeline *t, uint64_t time)
{
	end_ops(t, time);
	if (!t->in_scenario)
		return;
	begin(t, 'e', "scenario", PID_SCENARIO, 0, time);
	put(t, ",\"cat\":\"scenario\",\"id\":\"0x%" PRIx64 "\"}", t->scenario);
	t->in_scenario = false;
}

/* Each scenario has a clock of its own: it is shown after the one before. */
static void begin_scenario(struct srd_timeline *t, const struct srd_event *event)
{
	end_scenario(t, t->last - t->base);
	t->base = t->scenario++ ? t->last + GAP_NS : 0;
	t->in_scenario = true;
	put_name(t, "process_name", PID_SCENARIO, 0, "scenarios");
	begin(t, 'b', "scenario", PID_SCENARIO, 0, event->time);
	put(t, ",\"cat\":\"scenario\",\"id\":\"0x%" PRIx64 "\"", t->scenario);
	end_with(t, event);
	if (t->num_cqs)
		memset(t->fill, 0, t->num_cqs * sizeof(*t->fill));
}

static void name_host(struct srd_timeline *t, const struct srd_event *event)
{
	char name[32];

	snprintf(name, sizeof(name), "host %d", event->host);
	put_name(t, "process_name", PID(event->host), 0, name);
}

static void name_qp(struct srd_timeline *t, const struct srd_ev_qp_create *e)
{
	char name[48];

	snprintf(name, sizeof(name), "qp %" PRIu32 ", number %" PRIu32, e->ev.object, e->qp_num);
	put_name(t, "thread_name", PID(e->ev.host), e->ev.object, name);
}

static void state_change(struct srd_timeline *t, const struct srd_event *event, uint32_t from,
			 uint32_t to)
{
	size_t skip = strlen(srd_qp_state_info.prefix);
	char name[64];

	snprintf(name, sizeof(name), "%s to %s", srd_qp_state_str(from) + skip,
		 srd_qp_state_str(to) + skip);
	put_instant(t, event, name, event->object);
}

static void scheduler_state(struct srd_timeline *t, const struct srd_ev_scheduler_state *e)
{
	put_counter(t, e->ev.host, e->ev.time, "qp", e->ev.object, "credits", e->in_flight);
	put_counter(t, e->ev.host, e->ev.time, "qp", e->ev.object, "queued", e->queued);
}

/* The entries of completion queue HANDLE; NULL: no memory. */
static uint32_t *fill_of(struct srd_timeline *t, uint32_t handle)
{
	uint32_t num = t->num_cqs ? t->num_cqs : 16;
	uint32_t *fill;

	if (handle < t->num_cqs)
		return &t->fill[handle];
	while (num <= handle && num < UINT32_MAX / 2)
		num *= 2;
	fill = num > handle ? srd_reallocarray(t->fill, num, sizeof(*fill)) : NULL;
	if (!fill) {
		t->incomplete = true;
		return NULL;
	}
	memset(fill + t->num_cqs, 0, (num - t->num_cqs) * sizeof(*fill));
	t->fill = fill;
	t->num_cqs = num;
	return &fill[handle];
}

static void cq_written(struct srd_timeline *t, const struct srd_ev_dev_cqe *e)
{
	uint32_t *fill = fill_of(t, e->ev.object);

	if (!fill)
		return;
	*fill = e->occupancy;
	put_counter(t, e->ev.host, e->ev.time, "cq", e->ev.object, "entries", *fill);
}

/* Only a device that says what it writes makes the number known. */
static void cq_polled(struct srd_timeline *t, const struct srd_ev_cq_poll *e)
{
	uint32_t *fill = fill_of(t, e->ev.object);
	int32_t taken = (int32_t)e->result;

	if (!fill || taken <= 0 || !*fill)
		return;
	*fill -= (uint32_t)taken < *fill ? (uint32_t)taken : *fill;
	put_counter(t, e->ev.host, e->ev.time, "cq", e->ev.object, "entries", *fill);
}

static void session_start(struct srd_timeline *t, const struct srd_event *event)
{
	begin(t, 'B', "session", PID(event->host), event->object, event->time);
	put(t, ",\"cat\":\"session\"}");
}

/* After its requests: their arrows leave from it. */
static void session_end(struct srd_timeline *t, const struct srd_event *event)
{
	begin(t, 'E', "session", PID(event->host), event->object, event->time);
	end_with(t, event);
	count_in_flight(t, srd_requests_qp_find(t->requests, event->object), event->time);
}

static void write_event(struct srd_timeline *t, const struct srd_event *event)
{
	switch (event->type) {
	case SRD_EV_SCENARIO_BEGIN:
		begin_scenario(t, event);
		break;
	case SRD_EV_SCENARIO_END:
		end_scenario(t, event->time);
		break;
	case SRD_EV_DEVICE_OPEN:
		name_host(t, event);
		break;
	case SRD_EV_QP_CREATE:
		name_qp(t, (const struct srd_ev_qp_create *)event);
		break;
	case SRD_EV_QP_MODIFY:
		state_change(t, event, ((const struct srd_ev_qp_modify *)event)->from,
			     ((const struct srd_ev_qp_modify *)event)->to);
		break;
	case SRD_EV_DEV_QP_STATE:
		state_change(t, event, ((const struct srd_ev_dev_qp_state *)event)->from,
			     ((const struct srd_ev_dev_qp_state *)event)->to);
		break;
	case SRD_EV_OP_BEGIN:
		begin_op(t, event);
		break;
	case SRD_EV_OP_END:
		end_op(t, event);
		break;
	case SRD_EV_SESSION_START:
		session_start(t, event);
		break;
	case SRD_EV_SESSION_COMPLETE:
	case SRD_EV_SESSION_ABORT:
		session_end(t, event);
		break;
	case SRD_EV_WC:
		count_in_flight(
			t,
			srd_requests_qp_by_number(t->requests, event->host,
						  ((const struct srd_ev_wc *)event)->qp_num),
			event->time);
		break;
	case SRD_EV_SCHEDULER_STATE:
		scheduler_state(t, (const struct srd_ev_scheduler_state *)event);
		break;
	case SRD_EV_DEV_CQE:
		cq_written(t, (const struct srd_ev_dev_cqe *)event);
		break;
	case SRD_EV_CQ_POLL:
		cq_polled(t, (const struct srd_ev_cq_poll *)event);
		break;
	case SRD_EV_CALL_FAILED:
		put_instant(t, event,
			    srd_verb_str(((const struct srd_ev_call_failed *)event)->verb), 0);
		break;
	case SRD_EV_SETTER_MISUSE:
	case SRD_EV_DEV_FAULT:
		put_instant(t, event, srd_event_infos[event->type].name, event->object);
		break;
	case SRD_EV_MARK:
		put_instant(t, event, "mark", 0);
		break;
	}
}

void srd_timeline_event(void *arg, const struct srd_event *event)
{
	struct srd_timeline *t = arg;

	srd_requests_event(t->requests, event);
	write_event(t, event);
}

int srd_timeline_create(const char *path, struct srd_timeline **out, struct srd_error *error)
{
	static const struct srd_requests_ops ops = {.posted = posted, .gone = gone};
	struct srd_timeline *t = srd_calloc(1, sizeof(*t));
	int result = -ENOMEM;

	if (!t)
		goto no_timeline;
	t->path = srd_strdup(path);
	if (!t->path)
		goto free_timeline;
	t->requests = srd_requests_create(&ops, t);
	if (!t->requests)
		goto free_path;
	t->file = fopen(path, "we");
	if (t->file) {
		put(t, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
		*out = t;
		return 0;
	}
	result = -errno;
	srd_requests_destroy(t->requests);
free_path:
	srd_free(t->path);
free_timeline:
	srd_free(t);
no_timeline:
	return srd_error_set(error, result, "cannot write the timeline %s: %s", path,
			     strerror(-result));
}

/* The end of the file, and what it says of writing. */
static void finish(struct srd_timeline *t)
{
	srd_requests_finish(t->requests);
	end_scenario(t, t->last - t->base);
	put(t, "\n]}\n");
	if (fclose(t->file) && !t->failed)
		t->failed = errno;
	if (srd_requests_incomplete(t->requests))
		t->incomplete = true;
}

int srd_timeline_close(struct srd_timeline *t, struct srd_error *error)
{
	int result = 0;

	if (!t)
		return 0;
	finish(t);
	if (t->failed)
		result = srd_error_set(error, -t->failed, "cannot write the timeline %s: %s",
				       t->path, strerror(t->failed));
	else if (t->incomplete)
		result = srd_error_set(error, -ENOMEM,
				       "the timeline %s lacks some requests: there was no memory",
				       t->path);
	srd_requests_destroy(t->requests);
	srd_free(t->fill);
	srd_free(t->path);
	srd_free(t);
	return result;
}
