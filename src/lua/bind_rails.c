/* SPDX-License-Identifier: MIT */
/*
 * Rails: queue pairs of several devices of a host as one. A transfer takes memory of the
 * two hosts, which is registered on each device the first time that it is needed there.
 */
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "qp/observe.h"
#include "qp/observe_rails.h"

static const struct srd_rails_ops *const rails_ops = &srd_observed_rails_ops;

static struct srd_rails_object *check_rails(lua_State *L)
{
	return srd_object_check(L, 1, SRD_OBJECT_RAILS);
}

/* --- making them --- */

/* The list at INDEX has queue pairs, all of one host, and no rails yet. */
static void check_list(lua_State *L, int index)
{
	const struct srd_queue_pair_object *first = NULL, *q;
	lua_Integer n = lua_istable(L, index) ? luaL_len(L, index) : 0;

	if (n < 1 || n > SRD_MAX_RAILS)
		srd_raise(L, "t:rails: two lists of 1 to %d queue pairs are expected",
			  SRD_MAX_RAILS);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, index, i);
		q = srd_object_check(L, -1, SRD_OBJECT_QUEUE_PAIR);
		lua_pop(L, 1);
		if (q->is_rail || q->scheduler)
			srd_raise(L,
				  "t:rails: the queue pair of line %d is a rail already, or has "
				  "had ops of its own",
				  (int)q->object.line);
		first = first ? first : q;
		if (strcmp(first->host->name, q->host->name))
			srd_raise(L,
				  "t:rails: a list has queue pairs of host %s and of host %s: "
				  "rails are of one host",
				  first->host->name, q->host->name);
	}
}

static struct srd_queue_pair_object *nth(lua_State *L, int index, uint32_t i)
{
	struct srd_queue_pair_object *q;

	lua_rawgeti(L, index, i + 1);
	q = lua_touserdata(L, -1);
	lua_pop(L, 1);
	return q;
}

/* Push the rails of the list at HERE towards those at THERE. */
static void make(lua_State *L, int here, int there, const struct srd_rails_options *options)
{
	uint32_t num = (uint32_t)luaL_len(L, here), num_peer = (uint32_t)luaL_len(L, there);
	struct srd_run *run = srd_run_of(L);
	struct srd_rails_config config = {
		.num_peer_rails = num_peer,
		.max_in_flight = options->max_in_flight,
		.stripe = options->stripe,
	};
	struct srd_rail list[SRD_MAX_RAILS];
	struct srd_rails_object *r;
	struct srd_error error;

	r = srd_object_new(L, SRD_OBJECT_RAILS, sizeof(*r) + num * sizeof(r->rail[0]), 0);
	r->object.line = run->stream.line;
	r->num = num;
	for (uint32_t i = 0; i < num; i++) {
		struct srd_queue_pair_object *q = nth(L, here, i);

		srd_queue_pair_schedule(L, q);
		r->rail[i].qp = q;
		r->rail[i].peer = i < num_peer ? nth(L, there, i)->host : NULL;
		list[i] = (struct srd_rail){
			.ops = &srd_observed_queue_pair_ops,
			.qp = q->qp,
			.scheduler_ops = &srd_observed_scheduler_ops,
			.scheduler = q->scheduler,
			.max_send_wr = q->config.max_send_wr,
		};
	}
	r->here = r->rail[0].qp->host;
	r->there = nth(L, there, 0)->host;
	srd_object_keep(L, r);
	if (srd_observed_rails_create(&srd_striping_rails_ops, &run->stream, list, num, &config,
				      &r->rails, &error)) {
		srd_object_drop(L, r);
		srd_raise(L, "t:rails: host %s: %s", r->here->name, error.message);
	}
	for (uint32_t i = 0; i < num; i++)
		r->rail[i].qp->is_rail = true;
	r->next = run->rails;
	run->rails = r;
}

/* t:rails(a, b[, options]): the two ends, all queue pairs connected. */
int srd_rails(lua_State *L)
{
	struct srd_rails_options options = {0};
	struct srd_rails_object *a;

	srd_run_at(L);
	lua_settop(L, 4);
	if (!lua_isnil(L, 4))
		srd_marshal_from(L, 4, &srd_struct_rails_options, &options);
	check_list(L, 2);
	check_list(L, 3);
	make(L, 2, 3, &options); /* 5 */
	make(L, 3, 2, &options); /* 6 */
	a = lua_touserdata(L, 5);
	for (uint32_t i = 0; i < a->num; i++) {
		lua_pushcfunction(L, srd_connect);
		lua_pushvalue(L, 1);
		lua_rawgeti(L, 2, i + 1);
		lua_rawgeti(L, 3, i + 1);
		lua_call(L, 3, 0);
	}
	return 2;
}

/* --- transfers --- */

static int submit(lua_State *L, const char *what, enum srd_op_kind kind)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_rails_object *r = check_rails(L);
	struct srd_memory_object *from, *to, *local, *remote;
	struct srd_rail_keys keys[SRD_MAX_RAILS] = {{0}};
	struct srd_rails_transfer transfer = {.kind = kind, .keys = keys};
	struct srd_op op = {.kind = kind};
	struct srd_op_object *o;
	struct srd_error error;

	srd_run_at(L);
	srd_transfer_memory(L, 2, what, &from, &to);
	local = kind == SRD_OP_PUT ? from : to;
	remote = kind == SRD_OP_PUT ? to : from;
	for (uint32_t i = 0; i < r->num; i++) {
		const struct srd_mr *mr = srd_memory_on(L, local, r->rail[i].qp->host, what);

		keys[i].lkey = mr ? mr->lkey : 0;
		mr = srd_memory_on(L, remote, r->rail[i].peer, what);
		keys[i].rkey = mr ? mr->rkey : 0;
	}
	op.local.addr = local->buffer->addr + local->offset;
	op.local.size = local->size;
	op.remote.addr = remote->buffer->addr + remote->offset;
	op.remote.size = remote->size;
	o = srd_op_new_over(L, r, &op);
	transfer.local_addr = op.local.addr;
	transfer.local_size = op.local.size;
	transfer.remote_addr = op.remote.addr;
	transfer.remote_size = op.remote.size;
	transfer.cookie = (uintptr_t)o;
	if (rails_ops->submit(r->rails, &transfer, &error)) {
		srd_op_forget(run, o);
		srd_raise(L, "%s: %s", what, error.message);
	}
	r->num_pending++;
	return 1;
}

static int rails_submit_put(lua_State *L)
{
	return submit(L, "rails:submit_put", SRD_OP_PUT);
}

static int rails_submit_get(lua_State *L)
{
	return submit(L, "rails:submit_get", SRD_OP_GET);
}

bool srd_rails_take_results(struct srd_run *run, struct srd_rails_object *r)
{
	struct srd_rails_result result;
	bool any = false;

	while (rails_ops->result(r->rails, &result) == 1) {
		const struct srd_op_result as = {
			.result = result.result,
			.status = result.status,
			.vendor_err = result.vendor_err,
			.error = result.error,
		};

		srd_op_finish(run, (struct srd_op_object *)(uintptr_t)result.cookie, &as);
		any = true;
	}
	return any;
}

/* --- questions --- */

static int rails_in_flight(lua_State *L)
{
	lua_pushinteger(L, rails_ops->in_flight(check_rails(L)->rails));
	return 1;
}

static int rails_queued(lua_State *L)
{
	lua_pushinteger(L, rails_ops->queued(check_rails(L)->rails));
	return 1;
}

static int rails_alive(lua_State *L)
{
	lua_pushinteger(L, rails_ops->alive(check_rails(L)->rails));
	return 1;
}

/* rails:queue_pair(i) */
static int rails_queue_pair(lua_State *L)
{
	struct srd_rails_object *r = check_rails(L);
	uint64_t i = srd_check_uint(L, 2, "rails:queue_pair", UINT32_MAX);

	if (i < 1 || i > r->num)
		srd_raise(L, "rails:queue_pair: %d is out of range: there are %d", (int)i,
			  (int)r->num);
	srd_object_push(L, r->rail[i - 1].qp);
	return 1;
}

/* --- their end --- */

/* The queue pairs stay, and stay rails: nobody else knows what their schedulers still have. */
void srd_rails_release(struct srd_run *run, struct srd_rails_object *r)
{
	struct srd_rails_object **at = &run->rails;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	rails_ops->destroy(r->rails);
	r->rails = NULL;
}

static int rails_destroy(lua_State *L)
{
	struct srd_rails_object *r = check_rails(L);

	srd_run_at(L);
	if (r->num_pending)
		srd_raise(L, "rails:destroy: %d transfers have no answer yet", (int)r->num_pending);
	srd_rails_release(srd_run_of(L), r);
	srd_object_retire(r);
	return 0;
}

static bool rails_property(lua_State *L, const char *name)
{
	if (strcmp(name, "count"))
		return false;
	lua_pushinteger(L, ((struct srd_rails_object *)lua_touserdata(L, 1))->num);
	return true;
}

static const luaL_Reg methods[] = {
	{"submit_put", rails_submit_put}, {"submit_get", rails_submit_get},
	{"in_flight", rails_in_flight},   {"queued", rails_queued},
	{"alive", rails_alive},           {"queue_pair", rails_queue_pair},
	{"destroy", rails_destroy},       {NULL, NULL},
};

void srd_bind_rails(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_RAILS, methods, rails_property};

	srd_class_register(L, &class);
}
