/* SPDX-License-Identifier: MIT */
/*
 * A queue pair with its scheduler. The scheduler comes with the first traffic: one that
 * only receives, or that a script moves by verbs, has none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "qp/cq_pool.h"
#include "qp/observe.h"
#include "qp/retire.h"
#include "qp/rc.h"

/* How long a queue pair that ends is waited for; on the mock this is virtual time. */
#define RETIRE_GRACE UINT64_C(200000000)

static const struct srd_queue_pair_ops *const qp_ops = &srd_observed_queue_pair_ops;
static const struct srd_scheduler_ops *const scheduler_ops = &srd_observed_scheduler_ops;

static struct srd_queue_pair_object *check_queue_pair(lua_State *L, int index)
{
	return srd_object_check(L, index, SRD_OBJECT_QUEUE_PAIR);
}

/* ---- making one ---- */

/* A number below 2^24 that differs from queue pair to queue pair and from seed to seed. */
static uint32_t default_psn(const struct srd_run *run)
{
	uint64_t z = run->config->seed + run->num_objects[SRD_OBJECT_QUEUE_PAIR];

	z = (z ^ (z >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(z >> 40);
}

/*
 * The queues that the script gives in the table at INDEX. What it does not give is leased,
 * with room for receives, in *RECEIVES, where the script asks for a depth of them.
 */
static void read_queues(lua_State *L, int index, struct srd_queue_pair_object *q,
			uint32_t *receives)
{
	if (lua_getfield(L, index, "send_cq") != LUA_TNIL)
		q->send_cq = srd_verbs_check(L, -1, SRD_OBJECT_CQ);
	if (lua_getfield(L, index, "recv_cq") != LUA_TNIL)
		q->recv_cq = srd_verbs_check(L, -1, SRD_OBJECT_CQ);
	*receives = lua_getfield(L, index, "max_recv_wr") == LUA_TNIL ? 0 : q->config.max_recv_wr;
	lua_pop(L, 3);
}

static int lease_queues(struct srd_queue_pair_object *q, uint32_t receives, struct srd_error *error)
{
	int ret;

	if (q->send_cq && q->recv_cq)
		return 0;
	ret = srd_cq_pool_acquire(q->host->pool, q->config.max_send_wr, receives, &q->lease, error);
	if (ret)
		return ret;
	q->send_cq = q->send_cq ? q->send_cq : q->lease;
	q->recv_cq = q->recv_cq ? q->recv_cq : q->lease;
	return 0;
}

static void release_lease(struct srd_queue_pair_object *q, bool clean)
{
	if (q->lease)
		srd_cq_pool_release(q->host->pool, q->lease, clean, NULL);
	q->lease = NULL;
}

void srd_queue_pair_new(lua_State *L, struct srd_host *host, int index)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_queue_pair_object *q = srd_object_new(L, SRD_OBJECT_QUEUE_PAIR, sizeof(*q), 0);
	struct srd_error error;
	uint32_t receives;
	int ret;

	q->host = host;
	q->object.line = run->stream.line;
	q->config = (struct srd_queue_pair_config){
		.max_send_wr = 16,
		.max_recv_wr = 16,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.port_num = 1,
		.qkey = SRD_DEFAULT_QKEY,
		.psn = default_psn(run),
	};
	srd_rc_defaults(&q->config);
	srd_marshal_from(L, index, &srd_struct_queue_pair, &q->config);
	read_queues(L, index, q, &receives);
	q->verbs_qp = srd_verbs_object_new(L, SRD_OBJECT_QP, host, true);
	lua_pop(L, 1);
	srd_object_keep(L, q); /* from here to the end nothing else may raise */
	ret = lease_queues(q, receives, &error);
	if (!ret)
		ret = srd_observed_queue_pair_create(run->queue_pair_ops, &run->stream, run->verbs,
						     host->pd->verbs, &q->config, q->send_cq,
						     q->recv_cq, &q->qp, &error);
	if (ret) {
		release_lease(q, true);
		srd_object_drop(L, q->verbs_qp);
		srd_object_drop(L, q);
		srd_raise(L, "host:queue_pair: %s", error.message);
	}
	q->verbs_qp->verbs = qp_ops->verbs_qp(q->qp);
}

void srd_queue_pair_schedule(lua_State *L, struct srd_queue_pair_object *q)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_scheduler_config config = {.max_send_wr = q->config.max_send_wr};
	struct srd_error error;

	if (q->scheduler)
		return;
	if (srd_observed_scheduler_create(run->scheduler_ops, q->qp, &config, &q->scheduler,
					  &error))
		srd_raise(L, "the scheduler of this queue pair: %s", error.message);
}

/* ---- connecting ---- */

static int q_endpoint(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_endpoint endpoint = {0};
	struct srd_error error;

	srd_run_at(L);
	if (qp_ops->endpoint(q->qp, &endpoint, &error))
		srd_raise(L, "q:endpoint: %s", error.message);
	srd_marshal_to(L, &srd_struct_endpoint, &endpoint);
	return 1;
}

static void connect_to(lua_State *L, struct srd_queue_pair_object *q,
		       const struct srd_endpoint *peer)
{
	struct srd_error error;

	if (qp_ops->connect(q->qp, peer, &error))
		srd_raise(L, "connect: %s", error.message);
}

static void read_endpoint(lua_State *L, int index, struct srd_endpoint *peer)
{
	srd_marshal_from(L, index, &srd_struct_endpoint, peer);
	if (lua_getfield(L, index, "has_gid") == LUA_TNIL &&
	    lua_getfield(L, index, "gid") != LUA_TNIL)
		peer->has_gid = true;
}

/* q:connect(endpoint) */
static int q_connect(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_endpoint peer = {0};

	srd_run_at(L);
	read_endpoint(L, 2, &peer);
	connect_to(L, q, &peer);
	return 0;
}

/* q:add_peer(endpoint or queue pair): its number, for the field peer of a transfer. */
static int q_add_peer(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_queue_pair_object *other = srd_object_test(L, 2, SRD_OBJECT_QUEUE_PAIR);
	struct srd_endpoint peer = {0};
	struct srd_error error;
	uint32_t number;

	srd_run_at(L);
	if (other) {
		other = check_queue_pair(L, 2);
		if (qp_ops->endpoint(other->qp, &peer, &error))
			srd_raise(L, "q:add_peer: %s", error.message);
	} else {
		read_endpoint(L, 2, &peer);
	}
	if (qp_ops->add_peer(q->qp, &peer, &number, &error))
		srd_raise(L, "q:add_peer: %s", error.message);
	lua_pushinteger(L, number);
	return 1;
}

/* t:connect(a, b): the second, which is the passive one, is ready before the first. */
int srd_connect(lua_State *L)
{
	struct srd_queue_pair_object *a = check_queue_pair(L, 2), *b = check_queue_pair(L, 3);
	struct srd_endpoint to_a = {0}, to_b = {0};
	struct srd_error error;

	srd_run_at(L);
	if (qp_ops->endpoint(a->qp, &to_a, &error) || qp_ops->endpoint(b->qp, &to_b, &error))
		srd_raise(L, "t:connect: %s", error.message);
	connect_to(L, b, &to_a);
	if (a != b)
		connect_to(L, a, &to_b);
	return 0;
}

/* ---- transfers ---- */

struct transfer {
	struct srd_view from;
	struct srd_view to;
	uint32_t peer; /* 0: that of connect */
};

/* The fields of the table at 2: from and to, and peer where it is not that of connect. */
static void read_transfer(lua_State *L, const char *what, enum srd_op_kind kind, struct transfer *t)
{
	bool from = false, to = false;

	if (!lua_istable(L, 2))
		srd_raise(L, "%s: a table { from = memory, to = memory } is expected", what);
	for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
		const char *name;

		if (lua_type(L, -2) != LUA_TSTRING)
			srd_raise(L,
				  "%s: its fields need their names: { from = memory, to = memory }",
				  what);
		name = lua_tostring(L, -2);
		if (!strcmp(name, "from")) {
			srd_view_check(L, -1, what, kind == SRD_OP_PUT, &t->from);
			from = true;
		} else if (!strcmp(name, "to")) {
			srd_view_check(L, -1, what, kind == SRD_OP_GET, &t->to);
			to = true;
		} else if (!strcmp(name, "peer")) {
			t->peer = (uint32_t)srd_check_uint(L, -1, what, UINT32_MAX);
		} else {
			srd_raise(
				L,
				"%s: unknown field \"%s\"; there are \"from\", \"to\" and \"peer\"",
				what, name);
		}
	}
	if (!from || !to)
		srd_raise(L, "%s: \"%s\" is missing", what, from ? "to" : "from");
}

void srd_transfer_memory(lua_State *L, int index, const char *what, struct srd_memory_object **from,
			 struct srd_memory_object **to)
{
	static const char *const names[] = {"from", "to"};
	struct srd_memory_object **const out[] = {from, to};

	if (!lua_istable(L, index))
		srd_raise(L, "%s: a table { from = memory, to = memory } is expected", what);
	for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
		const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

		if (strcmp(name, "from") && strcmp(name, "to"))
			srd_raise(L, "%s: there are the fields \"from\" and \"to\" only", what);
	}
	for (int i = 0; i < 2; i++) {
		if (lua_getfield(L, index, names[i]) == LUA_TNIL)
			srd_raise(L, "%s: \"%s\" is missing", what, names[i]);
		*out[i] = srd_memory_object_arg(L, -1);
		lua_pop(L, 1);
	}
}

static void make_op(const struct transfer *t, enum srd_op_kind kind, struct srd_op *op)
{
	const struct srd_view *local = kind == SRD_OP_PUT ? &t->from : &t->to;
	const struct srd_view *remote = kind == SRD_OP_PUT ? &t->to : &t->from;

	*op = (struct srd_op){
		.kind = kind,
		.local = {local->addr, local->size, local->key},
		.remote = {remote->addr, remote->size, remote->key},
		.peer = t->peer,
	};
}

static struct srd_op_object *new_op(lua_State *L, struct srd_queue_pair_object *q, const char *what,
				    enum srd_op_kind kind)
{
	struct transfer t = {{0}};
	struct srd_op op;

	srd_run_at(L);
	if (q->is_rail)
		srd_raise(L, "%s: this queue pair is a rail: its ops are for the rails to submit",
			  what);
	read_transfer(L, what, kind, &t);
	srd_queue_pair_schedule(L, q);
	make_op(&t, kind, &op);
	return srd_op_new(L, q, &op, qp_ops->num_requests(q->qp, kind, t.from.size));
}

static int submit(lua_State *L, const char *what, enum srd_op_kind kind)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_op_object *op = new_op(L, q, what, kind);
	struct srd_error error;
	int ret;

	if (op->op.peer && !srd_scheduler_has_peers(run->scheduler_ops)) {
		srd_op_settle(run, op);
		srd_raise(L, "%s: scheduler %s knows of one peer only", what,
			  run->scheduler_ops->name);
	}
	op->sequence = ++q->num_submitted;
	q->num_pending++;
	run->submitting = op;
	ret = scheduler_ops->submit(q->scheduler, &op->op, &error);
	run->submitting = NULL;
	if (ret) {
		q->num_pending--;
		q->num_submitted--;
		srd_op_settle(run, op);
		srd_raise(L, "%s: %s", what, error.message);
	}
	srd_op_activate(run, q);
	return 1;
}

static int q_submit_put(lua_State *L)
{
	return submit(L, "q:submit_put", SRD_OP_PUT);
}

static int q_submit_get(lua_State *L)
{
	return submit(L, "q:submit_get", SRD_OP_GET);
}

/*
 * Straight to the queue pair; the scheduler only counts it. The ids need a place: a
 * userdata, since the call after it may raise.
 */
static int post(lua_State *L, const char *what, enum srd_op_kind kind)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_op_object *op = new_op(L, q, what, kind);
	struct srd_wr_ids ids = {.capacity = op->capacity};
	struct srd_error error;
	int ret;

	ids.id = lua_newuserdatauv(L, (op->capacity ? op->capacity : 1) * sizeof(*ids.id), 0);
	lua_pop(L, 1);
	run->submitting = op;
	if (kind == SRD_OP_PUT)
		ret = qp_ops->put_to(q->qp, op->op.peer, &op->op.remote, &op->op.local, &ids,
				     &error);
	else
		ret = qp_ops->get_from(q->qp, op->op.peer, &op->op.local, &op->op.remote, &ids,
				       &error);
	run->submitting = NULL;
	if (!ret)
		ret = scheduler_ops->adopt(q->scheduler, &ids, op->op.cookie, &error);
	else if (ids.count && !scheduler_ops->adopt(q->scheduler, &ids, op->op.cookie, NULL)) {
		/* Those before the one that was refused are posted, and counted. */
		q->num_pending++;
		srd_op_activate(run, q);
		srd_raise(L, "%s: %s", what, error.message);
	}
	if (ret) {
		srd_op_forget(run, op);
		srd_raise(L, "%s: %s", what, error.message);
	}
	q->num_pending++;
	srd_op_activate(run, q);
	return 1;
}

static int q_put(lua_State *L)
{
	return post(L, "q:put", SRD_OP_PUT);
}

static int q_get(lua_State *L)
{
	return post(L, "q:get", SRD_OP_GET);
}

/* ---- questions ---- */

static int q_state(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	enum srd_qp_state state;
	struct srd_error error;

	srd_run_at(L);
	if (qp_ops->state(q->qp, &state, &error))
		srd_raise(L, "q:state: %s", error.message);
	srd_push_enum(L, &srd_names_qp_state, state);
	return 1;
}

static int q_in_flight(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);

	lua_pushinteger(L, q->scheduler ? scheduler_ops->in_flight(q->scheduler) : 0);
	return 1;
}

static int q_queued(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);

	lua_pushinteger(L, q->scheduler ? scheduler_ops->queued(q->scheduler) : 0);
	return 1;
}

static int q_max_msg_size(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);

	lua_pushinteger(L, (lua_Integer)qp_ops->max_msg_size(q->qp));
	return 1;
}

/* q:poll("send" or "recv"): one completion as the queue pair hands it on; nil: none. */
static int q_poll(lua_State *L)
{
	static const char *const names[] = {"send", "recv"};
	static const struct srd_names queues = {"", names, NULL, 2, false};
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_completion completion;
	struct srd_error error;
	int ret;

	srd_run_at(L);
	ret = qp_ops->poll(q->qp, (enum srd_queue)srd_check_enum(L, 2, "q:poll", &queues),
			   &completion, &error);
	if (ret < 0)
		srd_raise(L, "q:poll: %s", error.message);
	if (!ret)
		return 0;
	srd_marshal_to(L, &srd_struct_completion, &completion);
	return 1;
}

/* One progress round of the scheduler, without waiting; the completions that it reaped. */
static int q_progress(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);
	struct srd_error error;
	int ret;

	srd_run_at(L);
	if (!q->scheduler) {
		lua_pushinteger(L, 0);
		return 1;
	}
	ret = scheduler_ops->progress(q->scheduler, &error);
	srd_op_take_results(srd_run_of(L), q);
	if (ret < 0)
		srd_raise(L, "q:progress: %s", error.message);
	lua_pushinteger(L, ret);
	return 1;
}

/* q:next_request(n): the n-th request that it will be given from now on; 1: the next. */
static int q_next_request(lua_State *L)
{
	return srd_request_next(L, check_queue_pair(L, 1)->verbs_qp, "q:next_request");
}

/* ---- its end ---- */

/* ERR, drain, destroy; the answers of its ops; and the lease where all is accounted for. */
static void retire(struct srd_run *run, struct srd_queue_pair_object *q)
{
	struct srd_traffic traffic = srd_run_traffic(run, q->verbs_qp->verbs);
	struct srd_retirement retirement = {
		.verbs = run->verbs,
		.ops = qp_ops,
		.qp = q->qp,
		.scheduler_ops = scheduler_ops,
		.scheduler = q->scheduler,
		.send_cq = q->send_cq,
		.recv_cq = q->recv_cq,
		.receives = traffic.receives,
		.grace = RETIRE_GRACE,
	};
	bool clean;

	srd_queue_pair_drain(&retirement);
	if (q->scheduler) {
		srd_op_take_results(run, q);
		scheduler_ops->destroy(q->scheduler);
		q->scheduler = NULL;
	}
	clean = srd_queue_pair_finish(&retirement) && traffic.requests == traffic.of_ops;
	q->qp = NULL;
	release_lease(q, clean);
	srd_op_deactivate(run, q);
	srd_object_retire(q->verbs_qp);
}

static int q_destroy(lua_State *L)
{
	struct srd_queue_pair_object *q = check_queue_pair(L, 1);

	srd_run_at(L);
	for (const struct srd_rails_object *r = srd_run_of(L)->rails; r; r = r->next)
		for (uint32_t i = 0; i < r->num; i++)
			if (r->rail[i].qp == q)
				srd_raise(L, "q:destroy: this queue pair is a rail: destroy the "
					     "rails first");
	retire(srd_run_of(L), q);
	srd_object_retire(q); /* its ops and requests may outlive it */
	return 0;
}

void srd_queue_pair_release(struct srd_run *run, struct srd_queue_pair_object *q)
{
	retire(run, q);
}

static bool q_property(lua_State *L, const char *name)
{
	struct srd_queue_pair_object *q = lua_touserdata(L, 1);

	if (!strcmp(name, "verbs"))
		srd_object_push(L, q->verbs_qp);
	else if (!strcmp(name, "host"))
		srd_object_push(L, q->host);
	else if (!strcmp(name, "max_send_wr"))
		lua_pushinteger(L, q->config.max_send_wr);
	else
		return false;
	return true;
}

static const luaL_Reg methods[] = {
	{"connect", q_connect},
	{"add_peer", q_add_peer},
	{"endpoint", q_endpoint},
	{"put", q_put},
	{"get", q_get},
	{"submit_put", q_submit_put},
	{"submit_get", q_submit_get},
	{"state", q_state},
	{"in_flight", q_in_flight},
	{"queued", q_queued},
	{"max_msg_size", q_max_msg_size},
	{"poll", q_poll},
	{"progress", q_progress},
	{"next_request", q_next_request},
	{"destroy", q_destroy},
	{NULL, NULL},
};

void srd_bind_queue_pair(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_QUEUE_PAIR, methods, q_property};

	srd_class_register(L, &class);
}
