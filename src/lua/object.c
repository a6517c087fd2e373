/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "object.h"
#include "run.h"
#include "verbs/nearest.h"

static const char *const names[SRD_NUM_OBJECT_TYPES] = {
	[SRD_OBJECT_OP] = "op",
	[SRD_OBJECT_REQUEST] = "request",
	[SRD_OBJECT_TASK] = "task",
	[SRD_OBJECT_RAILS] = "rails",
	[SRD_OBJECT_QUEUE_PAIR] = "queue pair",
	[SRD_OBJECT_QP] = "verbs queue pair",
	[SRD_OBJECT_AH] = "address handle",
	[SRD_OBJECT_MR] = "memory region",
	[SRD_OBJECT_CQ] = "completion queue",
	[SRD_OBJECT_COMP_CHANNEL] = "completion channel",
	[SRD_OBJECT_PD] = "protection domain",
	[SRD_OBJECT_MEMORY] = "memory",
	[SRD_OBJECT_HOST] = "host",
	[SRD_OBJECT_CONTEXT] = "device",
	[SRD_OBJECT_SCENARIO] = "scenario",
};

const char *srd_object_name(enum srd_object_type type)
{
	return names[type];
}

void *srd_object_new(lua_State *L, enum srd_object_type type, size_t size, int num_uservalues)
{
	struct srd_object *object = lua_newuserdatauv(L, size, num_uservalues);

	memset(object, 0, size);
	object->lua = srd_lua_of(L);
	object->type = type;
	lua_rawgeti(L, LUA_REGISTRYINDEX, SRD_KEY_CLASSES + type);
	lua_setmetatable(L, -2);
	return object;
}

void srd_object_keep(lua_State *L, void *arg)
{
	struct srd_object *object = arg;
	struct srd_run *run = object->lua->run;

	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, object);
	object->serial = ++run->num_objects[object->type];
	object->next = NULL;
	object->prev = run->objects[object->type];
	if (object->prev)
		object->prev->next = object;
	run->objects[object->type] = object;
}

void srd_object_retire(void *arg)
{
	struct srd_object *object = arg;
	struct srd_run *run = object->lua->run;

	if (object->gone)
		return;
	object->gone = true;
	if (object->next)
		object->next->prev = object->prev;
	else
		run->objects[object->type] = object->prev;
	if (object->prev)
		object->prev->next = object->next;
	object->next = object->prev = NULL;
}

void srd_object_drop(lua_State *L, void *object)
{
	srd_object_retire(object);
	lua_pushnil(L); /* an entry that exists is set to nil: no memory is needed */
	lua_rawsetp(L, LUA_REGISTRYINDEX, object);
}

void srd_object_push(lua_State *L, void *object)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, object);
}

void *srd_object_test(lua_State *L, int index, enum srd_object_type type)
{
	struct srd_object *object = lua_touserdata(L, index);

	/* The length of what is no full userdata, or too short to be ours, rules it out. */
	if (!object || lua_rawlen(L, index) < sizeof(struct srd_object) ||
	    object->lua != srd_lua_of(L) || object->type != type)
		return NULL;
	return object;
}

/* The type of a value; of an object what it is. */
static const char *kind_of(lua_State *L, int index)
{
	const struct srd_object *object = lua_touserdata(L, index);

	if (object && lua_rawlen(L, index) >= sizeof(*object) && object->lua == srd_lua_of(L))
		return names[object->type];
	return luaL_typename(L, index);
}

void *srd_object_check(lua_State *L, int index, enum srd_object_type type)
{
	struct srd_object *object = srd_object_test(L, index, type);

	if (!object)
		srd_raise(L, "%s %s is expected, not %s",
			  strchr("aeiou", names[type][0]) ? "an" : "a", names[type],
			  kind_of(L, index));
	if (object->gone)
		srd_raise(L, "this %s is released", names[type]);
	return object;
}

static int to_string(lua_State *L)
{
	struct srd_object *object = lua_touserdata(L, 1);

	if (object->serial)
		lua_pushfstring(L, "%s %d", names[object->type], (int)object->serial);
	else /* one of many that are not numbered: an op, a slice */
		lua_pushstring(L, names[object->type]);
	return 1;
}

/* Raise: the class has no method or property NAME. Upvalue 1: its methods. */
static __attribute__((noreturn)) void refuse_name(lua_State *L, const char *class, const char *name)
{
	const char *known[64], *nearest;
	int count = 0;

	for (lua_pushnil(L); lua_next(L, lua_upvalueindex(1)) && count < 64; lua_pop(L, 1))
		known[count++] = lua_tostring(L, -2);
	nearest = srd_nearest(name, known, count);
	if (nearest)
		srd_raise(L, "a %s has no \"%s\"; did you mean \"%s\"?", class, name, nearest);
	srd_raise(L, "a %s has no \"%s\"", class, name);
}

/* Upvalues: the methods, the class. */
static int index_method(lua_State *L)
{
	const struct srd_class *class;
	struct srd_object *object; /* NULL: only the methods are known */

	lua_pushvalue(L, 2);
	if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL || lua_type(L, 2) != LUA_TSTRING)
		return 1;
	class = lua_touserdata(L, lua_upvalueindex(2));
	object = lua_touserdata(L, 1);
	if (object && object->gone)
		srd_raise(L, "this %s is released", names[class->type]);
	if (class->property && class->property(L, lua_tostring(L, 2)))
		return 1;
	refuse_name(L, names[class->type], lua_tostring(L, 2));
}

static int new_index(lua_State *L)
{
	struct srd_object *object = lua_touserdata(L, 1);

	srd_raise(L, "a %s cannot be written to", names[object->type]);
}

/*
 * What __index is, for the methods on top of the stack. A class without properties needs
 * no function for its methods, only for what is none of them.
 */
static void push_index(lua_State *L, const struct srd_class *class)
{
	lua_pushvalue(L, -1);
	lua_pushlightuserdata(L, (void *)class);
	lua_pushcclosure(L, index_method, 2);
	if (class->property)
		return;
	lua_createtable(L, 0, 1);
	lua_insert(L, -2);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	lua_pushvalue(L, -1);
}

void srd_class_register(lua_State *L, const struct srd_class *class)
{
	lua_createtable(L, 0, 6); /* the metatable */
	lua_newtable(L);          /* the methods */
	luaL_setfuncs(L, class->methods, 0);
	push_index(L, class);
	lua_setfield(L, -3, "__index");
	lua_setfield(L, -2, "methods"); /* where scripts/lib adds its own */
	lua_pushcfunction(L, new_index);
	lua_setfield(L, -2, "__newindex");
	lua_pushcfunction(L, to_string);
	lua_setfield(L, -2, "__tostring");
	lua_pushstring(L, names[class->type]);
	lua_setfield(L, -2, "__name");
	lua_pushboolean(L, false);
	lua_setfield(L, -2, "__metatable");
	lua_rawseti(L, LUA_REGISTRYINDEX, SRD_KEY_CLASSES + class->type);
}

void srd_class_methods(lua_State *L, enum srd_object_type type)
{
	lua_rawgeti(L, LUA_REGISTRYINDEX, SRD_KEY_CLASSES + type);
	lua_getfield(L, -1, "methods");
	lua_remove(L, -2);
}
