/* SPDX-License-Identifier: MIT */
/*
 * pairs and next in an order that depends on nothing but the keys: numbers by value, then
 * strings by their bytes, then false and true. Lua's own order is that of a hash whose
 * seed differs in every process.
 */
#include <stdlib.h>
#include <string.h>

#include "sandbox.h"

struct key {
	int rank;
	bool is_integer;
	lua_Integer integer;
	lua_Number number;
	const char *text; /* anchored by the table that it is a key of */
	size_t length;
	int index;
};

/* Objects have no order of their own. One alone in its table needs none. */
#define RANK_OBJECT 3

static void read_key(lua_State *L, int at, struct key *key)
{
	memset(key, 0, sizeof(*key));
	switch (lua_type(L, at)) {
	case LUA_TNUMBER:
		key->is_integer = lua_isinteger(L, at);
		key->number = lua_tonumber(L, at);
		if (key->is_integer)
			key->integer = lua_tointeger(L, at);
		break;
	case LUA_TSTRING:
		key->rank = 1;
		key->text = lua_tolstring(L, at, &key->length);
		break;
	case LUA_TBOOLEAN:
		key->rank = 2;
		key->integer = lua_toboolean(L, at);
		key->is_integer = true;
		break;
	default:
		key->rank = RANK_OBJECT;
		break;
	}
}

static int compare(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->is_integer && b->is_integer)
		return (a->integer > b->integer) - (a->integer < b->integer);
	if (a->rank == 0)
		return (a->number > b->number) - (a->number < b->number);
	order = shorter ? memcmp(a->text, b->text, shorter) : 0;
	return order ? order : (a->length > b->length) - (a->length < b->length);
}

static void refuse_objects(lua_State *L, int count, int key)
{
	if (count > 1)
		srd_raise(L,
			  "the keys of this table have no order: two or more are of type %s; "
			  "keep them in an array and walk it with ipairs",
			  luaL_typename(L, key));
}

/* Whether the table at 1 is an array without holes; *COUNT: its entries. */
static bool is_array(lua_State *L, size_t *count)
{
	lua_Integer length = (lua_Integer)lua_rawlen(L, 1);
	bool array = true;

	*count = 0;
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		if (array && lua_isinteger(L, -2)) {
			lua_Integer i = lua_tointeger(L, -2);

			array = i >= 1 && i <= length;
		} else {
			array = false;
		}
		(*count)++;
	}
	return array && *count == (size_t)length;
}

static int array_next(lua_State *L)
{
	lua_Integer i = luaL_optinteger(L, 2, 0) + 1;

	lua_pushinteger(L, i);
	if (lua_rawgeti(L, 1, i) != LUA_TNIL)
		return 2;
	return 0;
}

/* Upvalues: the sorted keys, how many of them were given out. */
static int sorted_next(lua_State *L)
{
	lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));

	for (;;) {
		if (lua_rawgeti(L, lua_upvalueindex(1), ++i) == LUA_TNIL)
			return 1;
		lua_pushvalue(L, -1);
		if (lua_rawget(L, 1) != LUA_TNIL)
			break;
		lua_pop(L, 2); /* taken out since the walk began */
	}
	lua_pushinteger(L, i);
	lua_replace(L, lua_upvalueindex(2));
	return 2;
}

/* Push an array of the COUNT keys of the table at 1, sorted. */
static void push_sorted_keys(lua_State *L, size_t count)
{
	struct key *keys;
	int num_objects = 0, n = 0;

	lua_createtable(L, (int)count, 0);
	keys = lua_newuserdatauv(L, (count ? count : 1) * sizeof(*keys), 0);
	lua_createtable(L, (int)count, 0); /* as Lua walks them */
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		read_key(L, -2, &keys[n]);
		if (keys[n].rank == RANK_OBJECT)
			refuse_objects(L, ++num_objects, -2);
		keys[n].index = n + 1;
		lua_pushvalue(L, -2);
		lua_rawseti(L, -4, ++n);
	}
	qsort(keys, (size_t)n, sizeof(*keys), compare);
	for (int i = 0; i < n; i++) {
		lua_rawgeti(L, -1, keys[i].index);
		lua_rawseti(L, -4, i + 1);
	}
	lua_pop(L, 2);
}

int srd_pairs(lua_State *L)
{
	size_t count;

	luaL_checkany(L, 1);
	if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
		lua_pushvalue(L, 1);
		lua_call(L, 1, 3);
		return 3;
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	if (is_array(L, &count)) {
		lua_pushcfunction(L, array_next);
	} else {
		push_sorted_keys(L, count);
		lua_pushinteger(L, 0);
		lua_pushcclosure(L, sorted_next, 2);
	}
	lua_pushvalue(L, 1);
	lua_pushnil(L);
	return 3;
}

/* The smallest key that is larger than the one given: linear, since it keeps no state. */
int srd_next(lua_State *L)
{
	struct key last, best = {0}, key;
	bool first, found = false;
	int num_objects = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	first = lua_isnil(L, 2);
	read_key(L, 2, &last);
	lua_pushnil(L); /* 3: the best so far */
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
		read_key(L, -2, &key);
		if (key.rank == RANK_OBJECT)
			refuse_objects(L, ++num_objects, -2);
		if ((first || compare(&key, &last) > 0) && (!found || compare(&key, &best) < 0)) {
			best = key;
			found = true;
			lua_pushvalue(L, -2);
			lua_replace(L, 3);
		}
	}
	if (!found)
		return 1;
	lua_pushvalue(L, 3);
	lua_rawget(L, 1);
	return 2;
}
