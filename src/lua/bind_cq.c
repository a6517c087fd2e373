/* SPDX-License-Identifier: MIT */
/* Completion queues by verbs: plain and extended polls, and events through a channel. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"

static struct srd_verbs *verbs_of(lua_State *L)
{
	return srd_run_of(L)->verbs;
}

/* Append to the list on top of the stack what is there, up to WANTED entries in all. */
static int poll_into(lua_State *L, struct srd_cq *cq, int wanted)
{
	struct srd_wc wc[16];
	int have = (int)lua_rawlen(L, -1), got;

	while (have < wanted) {
		int ask = wanted - have < 16 ? wanted - have : 16;

		memset(wc, 0, sizeof(wc));
		got = verbs_of(L)->poll_cq(verbs_of(L), cq, ask, wc);
		if (got <= 0)
			return got;
		for (int i = 0; i < got; i++) {
			srd_marshal_to(L, &srd_struct_wc, &wc[i]);
			lua_rawseti(L, -2, ++have);
		}
	}
	return 0;
}

static int wanted_argument(lua_State *L)
{
	uint64_t n = lua_isnoneornil(L, 2) ? 1 : srd_check_uint(L, 2, "number of entries", 65536);

	return (int)n;
}

/* cq:poll(n): up to n completions, maybe none; or nil and the errno. */
static int poll_cq(lua_State *L)
{
	struct srd_cq *cq = srd_verbs_check(L, 1, SRD_OBJECT_CQ);
	int wanted = wanted_argument(L), ret;

	srd_run_at(L);
	lua_newtable(L);
	ret = poll_into(L, cq, wanted);
	if (ret >= 0 || lua_rawlen(L, -1))
		return 1;
	lua_pushnil(L);
	srd_push_errno(L, -ret);
	return 2;
}

/* cq:wait(n): n completions, as soon as they are there. The list is at 3. */
static int wait_k(lua_State *L, int status, lua_KContext wanted)
{
	for (;;) {
		struct srd_cq *cq = srd_verbs_check(L, 1, SRD_OBJECT_CQ);
		int ret = poll_into(L, cq, (int)wanted);

		if (ret < 0)
			srd_raise(L, "cq:wait: poll_cq failed: %s", srd_errno_name(-ret));
		if ((int)lua_rawlen(L, 3) >= (int)wanted)
			return 1;
		srd_task_waits_for(L, lua_touserdata(L, 1),
				   (uint32_t)(wanted - (lua_KContext)lua_rawlen(L, 3)));
		if (!srd_task_alone(L))
			return srd_task_yield(L, UINT64_MAX, wanted, wait_k);
		srd_task_step(L, UINT64_MAX);
	}
}

static int wait_cq(lua_State *L)
{
	int wanted = wanted_argument(L);

	srd_task_at(L);
	lua_settop(L, 2);
	lua_newtable(L);
	return wait_k(L, LUA_OK, wanted);
}

static int destroy_cq(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_CQ);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->destroy_cq(verbs_of(L), o->object.verbs));
}

static bool cq_property(lua_State *L, const char *name)
{
	const struct srd_cq *cq = ((struct srd_object *)lua_touserdata(L, 1))->verbs;

	if (strcmp(name, "cqe"))
		return false;
	lua_pushinteger(L, cq->cqe);
	return true;
}

/* ---- its extended poll ---- */

static struct srd_cq *check_cq(lua_State *L)
{
	srd_run_at(L);
	return srd_verbs_check(L, 1, SRD_OBJECT_CQ);
}

static int start_poll(lua_State *L)
{
	return srd_verbs_answer(L, verbs_of(L)->start_poll(verbs_of(L), check_cq(L)));
}

static int next_poll(lua_State *L)
{
	return srd_verbs_answer(L, verbs_of(L)->next_poll(verbs_of(L), check_cq(L)));
}

static int end_poll(lua_State *L)
{
	verbs_of(L)->end_poll(verbs_of(L), check_cq(L));
	return 0;
}

static void forget_unasked(lua_State *L, uint32_t asked)
{
	static const struct {
		uint32_t flag;
		const char *field;
	} fields[] = {
		{SRD_WC_EX_WITH_BYTE_LEN, "byte_len"},
		{SRD_WC_EX_WITH_IMM, "imm_data"},
		{SRD_WC_EX_WITH_QP_NUM, "qp_num"},
		{SRD_WC_EX_WITH_SRC_QP, "src_qp"},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (asked & fields[i].flag)
			continue;
		lua_pushnil(L);
		lua_setfield(L, -2, fields[i].field);
	}
}

/* cq:read_wc(): the current entry; only the fields that the creation asked for. */
static int read_wc(lua_State *L)
{
	char text[INET6_ADDRSTRLEN];
	struct srd_wc_ex wc;

	verbs_of(L)->read_wc(verbs_of(L), check_cq(L), &wc);
	srd_marshal_to(L, &srd_struct_wc, &wc.wc);
	forget_unasked(L, wc.asked);
	lua_pushboolean(L, wc.unsolicited);
	lua_setfield(L, -2, "is_unsolicited");
	if (wc.has_sgid) {
		lua_pushstring(L, inet_ntop(AF_INET6, wc.sgid.raw, text, sizeof(text)));
		lua_setfield(L, -2, "sgid");
	}
	return 1;
}

/* ---- its events ---- */

static int req_notify(lua_State *L)
{
	struct srd_cq *cq = check_cq(L);

	return srd_verbs_answer(L,
				verbs_of(L)->req_notify_cq(verbs_of(L), cq, lua_toboolean(L, 2)));
}

static int ack_events(lua_State *L)
{
	struct srd_cq *cq = check_cq(L);
	unsigned int n = lua_isnoneornil(L, 2)
				 ? 1
				 : (unsigned int)srd_check_uint(L, 2, "cq:ack_events", INT32_MAX);

	verbs_of(L)->ack_cq_events(verbs_of(L), cq, n);
	return 0;
}

static const luaL_Reg cq_methods[] = {
	{"poll", poll_cq},          {"wait", wait_cq},
	{"start_poll", start_poll}, {"next_poll", next_poll},
	{"end_poll", end_poll},     {"read_wc", read_wc},
	{"req_notify", req_notify}, {"ack_events", ack_events},
	{"destroy_cq", destroy_cq}, {NULL, NULL},
};

/* ---- a completion channel ---- */

/* The script's object for CQ, which it made. */
static int push_cq(lua_State *L, const struct srd_cq *cq)
{
	struct srd_object *o = srd_run_of(L)->objects[SRD_OBJECT_CQ];

	while (o && o->verbs != cq)
		o = o->prev;
	if (o)
		srd_object_push(L, o);
	else
		lua_pushnil(L);
	return 1;
}

/* channel:get_event(): the completion queue whose entry it tells of; or nil and the errno. */
static int get_event(lua_State *L)
{
	struct srd_comp_channel *channel = srd_verbs_check(L, 1, SRD_OBJECT_COMP_CHANNEL);
	struct srd_cq *cq = NULL;
	int ret;

	srd_run_at(L);
	ret = verbs_of(L)->get_cq_event(verbs_of(L), channel, &cq);
	if (!ret)
		return push_cq(L, cq);
	lua_pushnil(L);
	srd_push_errno(L, ret);
	return 2;
}

static int wait_event_k(lua_State *L, int status, lua_KContext unused)
{
	for (;;) {
		struct srd_comp_channel *channel = srd_verbs_check(L, 1, SRD_OBJECT_COMP_CHANNEL);
		struct srd_cq *cq = NULL;
		int ret = verbs_of(L)->get_cq_event(verbs_of(L), channel, &cq);

		if (!ret)
			return push_cq(L, cq);
		if (ret != EAGAIN)
			srd_raise(L, "channel:wait: get_cq_event failed: %s", srd_errno_name(ret));
		srd_task_waits_for(L, lua_touserdata(L, 1), 0);
		if (!srd_task_alone(L))
			return srd_task_yield(L, UINT64_MAX, 0, wait_event_k);
		srd_task_step(L, UINT64_MAX);
	}
}

/* channel:wait(): as soon as there is an event. */
static int wait_event(lua_State *L)
{
	srd_task_at(L);
	lua_settop(L, 1);
	return wait_event_k(L, LUA_OK, 0);
}

static int destroy_comp_channel(lua_State *L)
{
	struct srd_verbs_object *o = srd_verbs_check_destroy(L, SRD_OBJECT_COMP_CHANNEL);

	return srd_verbs_destroyed(L, &o->object,
				   verbs_of(L)->destroy_comp_channel(verbs_of(L), o->object.verbs));
}

static const luaL_Reg channel_methods[] = {
	{"get_event", get_event},
	{"wait", wait_event},
	{"destroy_comp_channel", destroy_comp_channel},
	{NULL, NULL},
};

void srd_bind_cq(lua_State *L)
{
	static const struct srd_class classes[] = {
		{SRD_OBJECT_CQ, cq_methods, cq_property},
		{SRD_OBJECT_COMP_CHANNEL, channel_methods, NULL},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		srd_class_register(L, &classes[i]);
}
