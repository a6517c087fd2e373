/* SPDX-License-Identifier: MIT */
/* Faults and the fabric: what a laboratory can do and a datacentre cannot. */
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "verbs/inject.h"
#include "verbs/nearest.h"
#include "verbs/profile.h"

/* Why COMMAND was EINVAL. */
static const char *why_invalid(const struct srd_lab *command)
{
	switch (command->kind) {
	case SRD_LAB_RELEASE:
		return "nothing holds this request";
	case SRD_LAB_NOT_READY:
		return "at most 255 times are possible";
	case SRD_LAB_QP_ERR:
		return "the queue pair is in RESET, or in ERR already, or destroyed";
	case SRD_LAB_STALE_CQE:
	case SRD_LAB_COMPLETE_ALL:
	case SRD_LAB_FAIL_RECEIVE:
		return "the queue pair is destroyed";
	default:
		return "";
	}
}

void srd_lab_check(lua_State *L, const char *what, struct srd_lab *command)
{
	const char *why;

	struct srd_verbs *verbs = srd_run_of(L)->verbs;
	int ret = verbs->lab(verbs, command);

	switch (ret) {
	case 0:
		return;
	case EOPNOTSUPP:
		srd_raise(L, "%s: the backend cannot do this; say so in the scenario's needs",
			  what);
	case ENOENT:
		srd_raise(L, "%s: there is no such request or it is completed", what);
	default:
		why = *command->text || ret != EINVAL ? command->text : why_invalid(command);
		srd_raise(L, "%s: %s%s%s", what, srd_errno_name(ret), *why ? ": " : "", why);
	}
}

/* The request at 2, for a command of KIND. */
static struct srd_lab check_request(lua_State *L, enum srd_lab_kind kind)
{
	struct srd_request_object *request = srd_object_check(L, 2, SRD_OBJECT_REQUEST);
	struct srd_lab command = {.kind = kind};

	srd_run_at(L);
	if (request->qp->gone)
		srd_raise(L, "the queue pair of this request is released");
	command.qp = request->qp->verbs;
	command.wr_id = request->wr_id;
	command.ordinal = request->ordinal;
	command.flags = request->by_ordinal ? SRD_LAB_BY_ORDINAL : 0;
	return command;
}

struct srd_request_object *srd_request_new(lua_State *L, struct srd_object *qp)
{
	struct srd_request_object *request =
		srd_object_new(L, SRD_OBJECT_REQUEST, sizeof(*request), 1);

	request->qp = qp;
	srd_object_push(L, qp);
	lua_setiuservalue(L, -2, 1); /* its handle lives as long as this one */
	return request;
}

int srd_request_next(lua_State *L, struct srd_object *qp, const char *what)
{
	uint64_t n = lua_isnoneornil(L, 2) ? 1 : srd_check_uint(L, 2, what, INT32_MAX);
	struct srd_request_object *request;

	if (!n)
		srd_raise(L, "%s: 0 is out of range: 1 is the next request", what);
	request = srd_request_new(L, qp);
	request->by_ordinal = true;
	request->ordinal = srd_run_traffic(srd_run_of(L), qp->verbs).requests + n - 1;
	return 1;
}

static int on_request(lua_State *L, const char *what, enum srd_lab_kind kind)
{
	struct srd_lab command = check_request(L, kind);

	srd_lab_check(L, what, &command);
	return 0;
}

static int t_hold(lua_State *L)
{
	return on_request(L, "t:hold", SRD_LAB_HOLD);
}

static int t_release(lua_State *L)
{
	return on_request(L, "t:release", SRD_LAB_RELEASE);
}

static int t_drop(lua_State *L)
{
	return on_request(L, "t:drop", SRD_LAB_DROP);
}

static int t_duplicate(lua_State *L)
{
	return on_request(L, "t:duplicate", SRD_LAB_DUPLICATE);
}

/* t:fail(request, status) */
static int t_fail(lua_State *L)
{
	struct srd_lab command = check_request(L, SRD_LAB_FAIL);

	command.status = srd_check_failure(L, 3, "t:fail: status");
	srd_lab_check(L, "t:fail", &command);
	return 0;
}

/* t:delay(request, time) */
static int t_delay(lua_State *L)
{
	struct srd_lab command = check_request(L, SRD_LAB_DELAY);

	command.time = srd_check_time(L, 3, "t:delay");
	srd_lab_check(L, "t:delay", &command);
	return 0;
}

/* The verbs queue pair of the q, or the verbs object, at 2. */
static struct srd_lab check_queue_pair(lua_State *L, enum srd_lab_kind kind)
{
	struct srd_queue_pair_object *q = srd_object_test(L, 2, SRD_OBJECT_QUEUE_PAIR);
	struct srd_lab command = {.kind = kind};

	srd_run_at(L);
	if (q) {
		srd_object_check(L, 2, SRD_OBJECT_QUEUE_PAIR);
		command.qp = q->verbs_qp->verbs;
	} else {
		command.qp = srd_verbs_check(L, 2, SRD_OBJECT_QP);
	}
	return command;
}

static int on_queue_pair(lua_State *L, const char *what, enum srd_lab_kind kind)
{
	struct srd_lab command = check_queue_pair(L, kind);

	srd_lab_check(L, what, &command);
	return 0;
}

static int t_release_all(lua_State *L)
{
	return on_queue_pair(L, "t:release_all", SRD_LAB_COMPLETE_ALL);
}

static int t_device_error(lua_State *L)
{
	return on_queue_pair(L, "t:device_error", SRD_LAB_QP_ERR);
}

static int t_stale_completion(lua_State *L)
{
	return on_queue_pair(L, "t:stale_completion", SRD_LAB_STALE_CQE);
}

/* t:lose_doorbells(q, count, after) */
static int t_lose_doorbells(lua_State *L)
{
	struct srd_lab command = check_queue_pair(L, SRD_LAB_LOSE_DOORBELLS);

	command.value = lua_isnoneornil(L, 3)
				? 1
				: srd_check_uint(L, 3, "t:lose_doorbells: count", INT64_MAX);
	command.ordinal = lua_isnoneornil(L, 4)
				  ? 0
				  : srd_check_uint(L, 4, "t:lose_doorbells: after", INT64_MAX);
	srd_lab_check(L, "t:lose_doorbells", &command);
	return 0;
}

static int t_ring_doorbell(lua_State *L)
{
	return on_queue_pair(L, "t:ring_doorbell", SRD_LAB_RING_DOORBELL);
}

/* t:doorbells(q) */
static int t_doorbells(lua_State *L)
{
	struct srd_lab command = check_queue_pair(L, SRD_LAB_DOORBELLS);

	srd_lab_check(L, "t:doorbells", &command);
	lua_pushinteger(L, (lua_Integer)command.value);
	return 1;
}

/* t:fail_receive(q, status, after) */
static int t_fail_receive(lua_State *L)
{
	struct srd_lab command = check_queue_pair(L, SRD_LAB_FAIL_RECEIVE);

	command.status = srd_check_failure(L, 3, "t:fail_receive: status");
	command.ordinal = lua_isnoneornil(L, 4)
				  ? 0
				  : srd_check_uint(L, 4, "t:fail_receive: after", UINT32_MAX);
	srd_lab_check(L, "t:fail_receive", &command);
	return 0;
}

/* t:not_ready(request, times) */
static int t_not_ready(lua_State *L)
{
	struct srd_lab command = check_request(L, SRD_LAB_NOT_READY);

	command.value = lua_isnoneornil(L, 3) ? 1 : srd_check_uint(L, 3, "t:not_ready", UINT8_MAX);
	srd_lab_check(L, "t:not_ready", &command);
	return 0;
}

const char *srd_place_name(uint32_t place)
{
	static const char *const words[] = {
		[SRD_PLACE_UNKNOWN] = "unknown",
		[SRD_PLACE_SESSION] = "session",
		[SRD_PLACE_SEND_QUEUE] = "send_queue",
		[SRD_PLACE_WIRE] = "wire",
		[SRD_PLACE_HELD] = "held",
		[SRD_PLACE_LOST] = "lost",
		[SRD_PLACE_COMPLETED] = "completed",
		[SRD_PLACE_RNR] = "rnr",
		[SRD_PLACE_DOORBELL] = "doorbell",
		[SRD_PLACE_QKEY] = "qkey",
		[SRD_PLACE_NOBODY] = "nobody",
		[SRD_PLACE_OVERRUN] = "overrun",
	};

	return words[place < sizeof(words) / sizeof(words[0]) ? place : SRD_PLACE_UNKNOWN];
}

/* t:locate(request): where it is, as a word. */
static int t_locate(lua_State *L)
{
	struct srd_lab command = check_request(L, SRD_LAB_LOCATE);

	srd_lab_check(L, "t:locate", &command);
	lua_pushstring(L, srd_place_name(command.place));
	return 1;
}

void srd_refuse_fixed(lua_State *L, const char *what, const char *name, const char *where)
{
	const char *before = "";
	luaL_Buffer list;

	luaL_buffinit(L, &list);
	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
		if (!srd_profile_fields[i].live)
			continue;
		luaL_addstring(&list, before);
		luaL_addstring(&list, srd_profile_fields[i].name);
		before = ", ";
	}
	luaL_pushresult(&list);
	srd_raise(L, "%s: %s cannot change while a device runs; set it %s. Those that can are %s",
		  what, name, where, lua_tostring(L, -1));
}

/* t:fabric { name = value, ... }: fields of the profile that may change while it runs. */
static int t_fabric(lua_State *L)
{
	struct srd_profile *profile = &srd_run_of(L)->profile;
	struct srd_lab command = {.kind = SRD_LAB_SET};

	srd_run_at(L);
	luaL_checktype(L, 2, LUA_TTABLE);
	srd_marshal_from(L, 2, &srd_struct_profile, profile);
	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
		const struct srd_profile_field *field = &srd_profile_fields[i];

		if (lua_getfield(L, 2, field->name) != LUA_TNIL) {
			if (!field->live)
				srd_refuse_fixed(L, "t:fabric", field->name,
						 "in the scenario's profile");
			command.name = field->name;
			command.value = srd_profile_get(profile, field);
			srd_lab_check(L, "t:fabric", &command);
		}
		lua_pop(L, 1);
	}
	return 0;
}

/* t:counter(name[, host]): of all hosts together, or of one. */
static int t_counter(lua_State *L)
{
	struct srd_lab command = {.kind = SRD_LAB_COUNTER, .name = luaL_checkstring(L, 2)};
	struct srd_run *run = srd_run_of(L);
	uint32_t first = 0, last = run->num_objects[SRD_OBJECT_HOST];
	uint64_t sum = 0;

	if (!lua_isnoneornil(L, 3)) {
		first = ((struct srd_host *)srd_object_check(L, 3, SRD_OBJECT_HOST))->index;
		last = first + 1;
	}
	for (command.host = first; command.host < last || command.host == first; command.host++) {
		int ret = run->verbs->lab(run->verbs, &command);

		if (ret)
			srd_raise(L, "t:counter: \"%s\": %s%s", command.name,
				  ret == ENOENT ? "there is no such counter" : srd_errno_name(ret),
				  command.text);
		sum += command.value;
	}
	lua_pushinteger(L, (lua_Integer)sum);
	return 1;
}

/* t:audit(): the model's own check of itself; raises where it is broken. */
static int t_audit(lua_State *L)
{
	struct srd_lab command = {.kind = SRD_LAB_AUDIT};

	srd_run_at(L);
	srd_lab_check(L, "t:audit", &command);
	return 0;
}

/* t:fail_call(verb, { nth = 1, errno = "EINVAL" }) */
static int t_fail_call(lua_State *L)
{
	const char *name = luaL_checkstring(L, 2), *nearest, *names[SRD_NUM_VERBS];
	struct srd_fault_call call = {.nth = 1};
	struct srd_error error;
	int verb = srd_verb_parse(name), errnum;

	srd_run_at(L);
	if (verb < 0) {
		for (int i = 0; i < SRD_NUM_VERBS; i++)
			names[i] = srd_verb_str((uint32_t)i);
		nearest = srd_nearest(name, names, SRD_NUM_VERBS);
		srd_raise(L, "t:fail_call: no verb \"%s\"%s%s%s", name,
			  nearest ? "; did you mean \"" : "", nearest ? nearest : "",
			  nearest ? "\"?" : "");
	}
	srd_marshal_from(L, 3, &srd_struct_fault_call, &call);
	lua_getfield(L, 3, "errno");
	errnum = lua_isstring(L, -1) ? srd_errno_parse(lua_tostring(L, -1)) : EINVAL;
	if (!errnum)
		srd_raise(L, "t:fail_call: errno = \"%s\": no such errno", lua_tostring(L, -1));
	if (srd_inject_fail(srd_run_of(L)->inject, verb, call.nth, errnum, &error))
		srd_raise(L, "t:fail_call: %s", error.message);
	return 0;
}

/* t:restore_calls(): forget what fail_call asked for. */
static int t_restore_calls(lua_State *L)
{
	srd_inject_clear(srd_run_of(L)->inject);
	return 0;
}

const luaL_Reg srd_fault_methods[] = {
	{"hold", t_hold},
	{"release", t_release},
	{"release_all", t_release_all},
	{"drop", t_drop},
	{"duplicate", t_duplicate},
	{"fail", t_fail},
	{"delay", t_delay},
	{"not_ready", t_not_ready},
	{"locate", t_locate},
	{"fail_receive", t_fail_receive},
	{"lose_doorbells", t_lose_doorbells},
	{"ring_doorbell", t_ring_doorbell},
	{"doorbells", t_doorbells},
	{"device_error", t_device_error},
	{"stale_completion", t_stale_completion},
	{"fabric", t_fabric},
	{"counter", t_counter},
	{"audit", t_audit},
	{"fail_call", t_fail_call},
	{"restore_calls", t_restore_calls},
	{NULL, NULL},
};
