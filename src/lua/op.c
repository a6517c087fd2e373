/* SPDX-License-Identifier: MIT */
/*
 * Ops: one put or get each, from its submission until the script knows how it ended. One
 * that is done well is the script's alone; one that failed is kept until somebody looks
 * at it, since a failure that nobody looks at fails the scenario.
 */
#include <errno.h>
#include <string.h>

#include "marshal.h"
#include "qp/observe.h"
#include "qp/observe_rails.h"
#include "run.h"
#include "verbs/alloc.h"

/* No send queue is deeper, so that no op posts more. */
#define MAX_REQUESTS (1 << 16)

const char *srd_op_name(const struct srd_op_object *op)
{
	return op->op.kind == SRD_OP_PUT ? "put" : "get";
}

static void forget_number(struct srd_run *run, struct srd_op_object *op);

/* ---- the run's list ---- */

/* A place in the table; there is always room to take it back. */
static int take_slot(lua_State *L, struct srd_run *run)
{
	uint32_t size = run->num_slots ? run->num_slots * 2 : 32;
	int *list;

	if (run->num_free_slots)
		return run->free_slots[--run->num_free_slots];
	list = srd_reallocarray(run->free_slots, size, sizeof(*list));
	if (!list)
		srd_raise(L, "out of memory");
	for (uint32_t slot = size; slot > run->num_slots; slot--)
		list[run->num_free_slots++] = (int)slot;
	run->free_slots = list;
	run->num_slots = size;
	return list[--run->num_free_slots];
}

static struct srd_op_object *new_op(lua_State *L, struct srd_queue_pair_object *q,
				    struct srd_rails_object *rails, const struct srd_op *op,
				    uint64_t num_requests)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_op_object *o;
	size_t size = sizeof(*o);

	if (num_requests > MAX_REQUESTS)
		num_requests = MAX_REQUESTS;
	size += (size_t)num_requests * sizeof(o->requests[0]);
	o = srd_object_new(L, SRD_OBJECT_OP, size, 0);
	o->object.line = run->stream.line;
	o->qp = q;
	o->rails = rails;
	o->op = *op;
	o->op.cookie = (uintptr_t)o;
	o->capacity = (uint32_t)num_requests;
	o->slot = take_slot(L, run);
	lua_pushvalue(L, -1);
	lua_rawseti(L, LUA_REGISTRYINDEX, SRD_KEY_OPS + o->slot);
	o->prev = run->last_op;
	if (run->last_op)
		run->last_op->next = o;
	else
		run->ops = o;
	run->last_op = o;
	return o;
}

struct srd_op_object *srd_op_new(lua_State *L, struct srd_queue_pair_object *q,
				 const struct srd_op *op, uint64_t num_requests)
{
	return new_op(L, q, NULL, op, num_requests);
}

struct srd_op_object *srd_op_new_over(lua_State *L, struct srd_rails_object *rails,
				      const struct srd_op *op)
{
	return new_op(L, NULL, rails, op, 0);
}

/* Take it out of the list. It must be reachable from a stack or be done with. */
void srd_op_settle(struct srd_run *run, struct srd_op_object *op)
{
	lua_State *L = run->lua.L;

	if (!op->slot)
		return;
	if (op->next)
		op->next->prev = op->prev;
	else
		run->last_op = op->prev;
	if (op->prev)
		op->prev->next = op->next;
	else
		run->ops = op->next;
	lua_pushnil(L);
	lua_rawseti(L, LUA_REGISTRYINDEX, SRD_KEY_OPS + op->slot);
	run->free_slots[run->num_free_slots++] = op->slot;
	op->slot = 0;
}

/* It never came to be: the post failed. */
void srd_op_forget(struct srd_run *run, struct srd_op_object *op)
{
	forget_number(run, op);
	srd_op_settle(run, op);
}

void srd_op_inspect(struct srd_op_object *op)
{
	op->inspected = true;
	srd_op_settle(op->object.lua->run, op);
}

/* ---- their numbers in the stream ---- */

static bool number_op(struct srd_run *run, struct srd_op_object *op)
{
	while (!run->by_number_size || run->by_number[op->number & (run->by_number_size - 1)]) {
		uint32_t size = run->by_number_size ? run->by_number_size * 2 : 16;
		struct srd_op_object **table = srd_calloc(size, sizeof(*table));

		if (!table) {
			run->failed_alloc = true;
			return false;
		}
		for (uint32_t i = 0; i < run->by_number_size; i++)
			if (run->by_number[i])
				table[run->by_number[i]->number & (size - 1)] = run->by_number[i];
		srd_free(run->by_number);
		run->by_number = table;
		run->by_number_size = size;
	}
	run->by_number[op->number & (run->by_number_size - 1)] = op;
	return true;
}

static struct srd_op_object *find_op(struct srd_run *run, uint32_t number)
{
	struct srd_op_object *op;

	if (!run->by_number_size)
		return NULL;
	op = run->by_number[number & (run->by_number_size - 1)];
	return op && op->number == number ? op : NULL;
}

static void forget_number(struct srd_run *run, struct srd_op_object *op)
{
	if (op->number && find_op(run, op->number) == op)
		run->by_number[op->number & (run->by_number_size - 1)] = NULL;
}

/* ---- what went to each verbs queue pair ---- */

static struct srd_traffic *traffic(struct srd_run *run, uint32_t handle)
{
	static struct srd_traffic none; /* stands in where there is no memory: see failed_alloc */

	if (handle >= run->num_traffic) {
		uint32_t n = handle + 16;
		struct srd_traffic *list = srd_reallocarray(run->traffic, n, sizeof(*list));

		if (!list) {
			run->failed_alloc = true;
			none = (struct srd_traffic){0};
			return &none;
		}
		memset(&list[run->num_traffic], 0, (n - run->num_traffic) * sizeof(*list));
		run->traffic = list;
		run->num_traffic = n;
	}
	return &run->traffic[handle];
}

struct srd_traffic srd_run_traffic(struct srd_run *run, const struct srd_qp *qp)
{
	return *traffic(run, qp->handle);
}

static void remember_request(struct srd_run *run, const struct srd_ev_wr_post *wr)
{
	struct srd_op_object *op = find_op(run, wr->ev.op);
	struct srd_op_request *request;

	if (!op)
		return;
	if (op->num_requests < op->capacity) {
		request = &op->requests[op->num_requests];
		request->wr_id = wr->wr_id;
		request->offset = wr->addr - op->op.local.addr;
		request->length = (uint32_t)wr->length;
	}
	op->num_requests++;
	traffic(run, wr->ev.object)->of_ops++;
}

static void count_session(struct srd_run *run, const struct srd_ev_session_complete *event)
{
	struct srd_traffic *t = traffic(run, event->ev.object);

	if (!event->result)
		t->requests += event->num_wr;
}

static void count_receive(struct srd_run *run, const struct srd_ev_recv_post *event)
{
	if (!event->result)
		traffic(run, event->ev.object)->receives++;
}

static __attribute__((noinline)) void take_event(struct srd_run *run, const struct srd_event *event)
{
	switch (event->type) {
	case SRD_EV_OP_BEGIN:
		if (!run->submitting)
			break;
		run->submitting->number = event->op;
		number_op(run, run->submitting);
		break;
	case SRD_EV_WR_POST:
		remember_request(run, (const struct srd_ev_wr_post *)event);
		break;
	case SRD_EV_SESSION_COMPLETE:
		count_session(run, (const struct srd_ev_session_complete *)event);
		break;
	case SRD_EV_RECV_POST:
		count_receive(run, (const struct srd_ev_recv_post *)event);
		break;
	default:
		break;
	}
}

/* Few are of interest: the others have to cost next to nothing. */
static const uint64_t events_taken =
	UINT64_C(1) << SRD_EV_OP_BEGIN | UINT64_C(1) << SRD_EV_WR_POST |
	UINT64_C(1) << SRD_EV_SESSION_COMPLETE | UINT64_C(1) << SRD_EV_RECV_POST;

_Static_assert(SRD_NUM_EVENT_TYPES <= 64, "a bit for each type");

void srd_run_event(void *arg, const struct srd_event *event)
{
	struct srd_run *run = arg;

	run->result->num_events++;
	if (events_taken >> event->type & 1)
		take_event(run, event);
}

/* ---- how they end ---- */

void srd_op_finish(struct srd_run *run, struct srd_op_object *op,
		   const struct srd_op_result *result)
{
	op->done = true;
	op->result = result->result;
	op->status = result->status;
	op->vendor_err = result->vendor_err;
	op->wr_id = result->wr_id;
	if (result->result && result->error.message[0])
		op->message = srd_run_text(run, result->error.message);
	forget_number(run, op);
	if (op->rails)
		op->rails->num_pending--;
	else
		op->qp->num_pending--;
	run->changes++;
	if (!result->result)
		srd_op_settle(run, op);
}

bool srd_op_take_results(struct srd_run *run, struct srd_queue_pair_object *q)
{
	struct srd_op_result result;
	bool any = false;

	/* The results of a rail are its stripes', and for whoever cut them. */
	if (q->is_rail)
		return false;
	while (srd_observed_scheduler_ops.result(q->scheduler, &result) == 1) {
		srd_op_finish(run, (struct srd_op_object *)(uintptr_t)result.cookie, &result);
		any = true;
	}
	return any;
}

void srd_op_activate(struct srd_run *run, struct srd_queue_pair_object *q)
{
	struct srd_queue_pair_object **at = &run->active;

	if (q->is_active)
		return;
	while (*at)
		at = &(*at)->active;
	*at = q;
	q->active = NULL;
	q->is_active = true;
}

void srd_op_deactivate(struct srd_run *run, struct srd_queue_pair_object *q)
{
	struct srd_queue_pair_object **at = &run->active;

	if (!q->is_active)
		return;
	while (*at != q)
		at = &(*at)->active;
	*at = q->active;
	q->is_active = false;
}

bool srd_run_has_work(const struct srd_run *run)
{
	for (const struct srd_rails_object *r = run->rails; r; r = r->next)
		if (r->num_pending)
			return true;
	return run->active;
}

bool srd_run_progress(struct srd_run *run)
{
	struct srd_queue_pair_object **at = &run->active, *q;
	bool any = false;

	while ((q = *at)) {
		any |= srd_observed_scheduler_ops.progress(q->scheduler, NULL) > 0;
		any |= srd_op_take_results(run, q);
		if (q->num_pending) {
			at = &q->active;
		} else {
			*at = q->active;
			q->is_active = false;
		}
	}
	for (struct srd_rails_object *r = run->rails; r; r = r->next) {
		if (!r->num_pending)
			continue;
		any |= srd_observed_rails_ops.progress(r->rails, NULL) > 0;
		any |= srd_rails_take_results(run, r);
	}
	return any;
}

/* First in, first out: those still queued are the last that were submitted. */
bool srd_op_is_queued(const struct srd_op_object *op)
{
	const struct srd_queue_pair_object *q = op->qp;

	if (op->done || !op->sequence || !q || !q->scheduler)
		return false;
	return op->sequence > q->num_submitted - srd_observed_scheduler_ops.queued(q->scheduler);
}

void srd_op_cause(const struct srd_op_object *op, char *text, size_t size)
{
	if (op->message)
		snprintf(text, size, "%s", op->message);
	else if (op->result == -EIO)
		snprintf(text, size, "%s, vendor status %u: %s", srd_wc_status_str(op->status),
			 op->vendor_err, srd_efa_status_meaning(op->vendor_err));
	else
		snprintf(text, size, "%s", strerror(-op->result));
}

/* ---- the class ---- */

static struct srd_op_object *check_op(lua_State *L)
{
	return srd_object_check(L, 1, SRD_OBJECT_OP);
}

/* The same, up to date: one that the scheduler refused is done without any progress. */
static struct srd_op_object *check_done(lua_State *L)
{
	struct srd_op_object *op = check_op(L);

	if (!op->done && op->rails)
		srd_rails_take_results(srd_run_of(L), op->rails);
	else if (!op->done && op->qp->scheduler)
		srd_op_take_results(srd_run_of(L), op->qp);
	return op;
}

static int op_status(lua_State *L)
{
	struct srd_op_object *op = check_done(L);

	if (!op->done)
		lua_pushstring(L, srd_op_is_queued(op) ? "queued" : "pending");
	else
		lua_pushstring(L, op->result ? "failed" : "done");
	if (op->done)
		srd_op_inspect(op);
	return 1;
}

static int op_error(lua_State *L)
{
	struct srd_op_object *op = check_done(L);
	char cause[700];

	if (!op->done || !op->result)
		return 0;
	srd_op_inspect(op);
	srd_op_cause(op, cause, sizeof(cause));
	lua_pushstring(L, cause);
	return 1;
}

/* The requests that were posted so far; raises where they were more than foreseen. */
static uint32_t check_requests(lua_State *L, struct srd_op_object *op)
{
	if (op->rails)
		srd_raise(L,
			  "this %s goes over rails: its requests are those of their queue pairs, "
			  "to be named by q:next_request",
			  srd_op_name(op));
	if (op->num_requests > op->capacity)
		srd_raise(L, "this %s posted %d requests, and only %d were foreseen",
			  srd_op_name(op), (int)op->num_requests, (int)op->capacity);
	return op->num_requests;
}

static int op_chunks(lua_State *L)
{
	struct srd_op_object *op = check_op(L);
	uint32_t n = check_requests(L, op);

	lua_createtable(L, (int)n, 0);
	for (uint32_t i = 0; i < n; i++) {
		lua_createtable(L, 2, 0);
		lua_pushinteger(L, (lua_Integer)op->requests[i].offset);
		lua_rawseti(L, -2, 1);
		lua_pushinteger(L, op->requests[i].length);
		lua_rawseti(L, -2, 2);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

static int op_wr_ids(lua_State *L)
{
	struct srd_op_object *op = check_op(L);
	uint32_t n = check_requests(L, op);

	lua_createtable(L, (int)n, 0);
	for (uint32_t i = 0; i < n; i++) {
		lua_pushinteger(L, (lua_Integer)op->requests[i].wr_id);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

static int op_request(lua_State *L)
{
	struct srd_op_object *op = check_op(L);
	uint32_t n = check_requests(L, op);
	uint64_t i = srd_check_uint(L, 2, "op:request", UINT32_MAX);
	struct srd_request_object *request;

	if (!n && !op->done)
		srd_raise(L,
			  "op:request: this %s is queued, so that it has no request yet; name "
			  "one to come with q:next_request",
			  srd_op_name(op));
	if (i < 1 || i > n)
		srd_raise(L, "op:request: %d is out of range: this %s posted %d", (int)i,
			  srd_op_name(op), (int)n);
	if (op->qp->object.gone)
		srd_raise(L, "op:request: the queue pair of this %s is released", srd_op_name(op));
	request = srd_request_new(L, op->qp->verbs_qp);
	request->wr_id = op->requests[i - 1].wr_id;
	return 1;
}

static bool op_property(lua_State *L, const char *name)
{
	struct srd_op_object *op = lua_touserdata(L, 1);

	if (!strcmp(name, "line"))
		lua_pushinteger(L, op->object.line);
	else if (!strcmp(name, "kind"))
		lua_pushstring(L, srd_op_name(op));
	else if (!strcmp(name, "queue_pair") && op->qp)
		srd_object_push(L, op->qp);
	else if (!strcmp(name, "queue_pair"))
		lua_pushnil(L);
	else
		return false;
	return true;
}

static const luaL_Reg methods[] = {
	{"status", op_status}, {"error", op_error},     {"chunks", op_chunks},
	{"wr_ids", op_wr_ids}, {"request", op_request}, {NULL, NULL},
};

void srd_bind_op(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_OP, methods, op_property};
	static const luaL_Reg none[] = {{NULL, NULL}};
	static const struct srd_class request = {SRD_OBJECT_REQUEST, none, NULL};

	srd_class_register(L, &class);
	srd_class_register(L, &request);
}
