/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include <lualib.h>

#include "sandbox.h"

/* Whether it has a sign differs from processor to processor. */
static bool is_nan(lua_State *L, int index)
{
	return lua_type(L, index) == LUA_TNUMBER && isnan(lua_tonumber(L, index));
}

/*
 * The text of a value. Lua's own shows the address of what has no text; we name its type.
 */
const char *srd_tostring(lua_State *L, int index)
{
	index = lua_absindex(L, index);
	switch (lua_type(L, index)) {
	case LUA_TTABLE:
	case LUA_TUSERDATA:
		if (luaL_getmetafield(L, index, "__tostring") != LUA_TNIL) {
			lua_pop(L, 1);
			return luaL_tolstring(L, index, NULL);
		}
		if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
			return lua_tostring(L, -1);
		/* fall through */
	case LUA_TFUNCTION:
	case LUA_TTHREAD:
	case LUA_TLIGHTUSERDATA:
		return lua_pushstring(L, luaL_typename(L, index));
	case LUA_TNUMBER:
		if (is_nan(L, index))
			return lua_pushliteral(L, "nan");
		/* fall through */
	default:
		return luaL_tolstring(L, index, NULL);
	}
}

void srd_plain_nan(char *text)
{
	for (char *at = text; (at = strstr(at, "-nan"));) {
		if (isalnum((unsigned char)at[4]) || (at > text && isalnum((unsigned char)at[-1])))
			at += 4;
		else
			memmove(at, at + 1, strlen(at + 1) + 1);
	}
}

static int tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	srd_tostring(L, 1);
	return 1;
}

void srd_show_zeros(lua_State *L)
{
	size_t size, part;
	const char *text = lua_tolstring(L, -1, &size);
	luaL_Buffer whole;

	if (strlen(text) == size)
		return;
	luaL_buffinit(L, &whole);
	for (; (part = strnlen(text, size)) < size; text += part + 1, size -= part + 1) {
		luaL_addlstring(&whole, text, part);
		luaL_addstring(&whole, "\xef\xbf\xbd");
	}
	luaL_addlstring(&whole, text, size);
	luaL_pushresult(&whole);
	lua_replace(L, -2);
}

/* print hands its line to whoever runs the scenario: the library itself prints nothing. */
static int print(lua_State *L)
{
	struct srd_lua *lua = srd_lua_of(L);
	int n = lua_gettop(L);
	luaL_Buffer line;
	size_t size;
	char *text;

	for (int i = 1; i <= n; i++) {
		srd_tostring(L, i);
		lua_replace(L, i);
	}
	luaL_buffinit(L, &line);
	for (int i = 1; i <= n; i++) {
		if (i > 1)
			luaL_addchar(&line, '\t');
		lua_pushvalue(L, i);
		luaL_addvalue(&line);
	}
	luaL_pushresult(&line);
	srd_show_zeros(L);
	size = lua_rawlen(L, -1) + 1;
	text = lua_newuserdatauv(L, size, 0);
	memcpy(text, lua_tostring(L, -2), size);
	srd_plain_nan(text); /* that of the concatenation */
	if (lua->log)
		lua->log(lua->log_arg, text);
	return 0;
}

/* string.format: the values become texts without addresses before Lua's own sees them. */
static int format(lua_State *L)
{
	int n = lua_gettop(L);

	for (const char *at = luaL_checkstring(L, 1); (at = strchr(at, '%')); at++) {
		at++;
		at += strspn(at, "-+ #0123456789.");
		if (*at == 'p')
			srd_raise(L, "string.format: %%p shows an address, which differs from run "
				     "to run");
		if (!*at)
			break;
	}
	for (int i = 2; i <= n; i++) {
		switch (lua_type(L, i)) {
		case LUA_TTABLE:
		case LUA_TUSERDATA:
		case LUA_TFUNCTION:
		case LUA_TTHREAD:
		case LUA_TLIGHTUSERDATA:
			srd_tostring(L, i);
			lua_replace(L, i);
			break;
		default:
			if (is_nan(L, i)) {
				lua_pushnumber(L, NAN);
				lua_replace(L, i);
			}
			break;
		}
	}
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, n, 1);
	return 1;
}

/* load: text only, since binary code can break the interpreter. */
static int load(lua_State *L)
{
	int n = lua_gettop(L);

	lua_settop(L, n < 4 ? 3 : 4);
	lua_pushliteral(L, "t");
	lua_replace(L, 3);
	n = lua_gettop(L);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, n, LUA_MULTRET);
	return lua_gettop(L);
}

/* Without an argument Lua's own would take the clock and an address. */
static int randomseed(lua_State *L)
{
	luaL_checkinteger(L, 1);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 0);
	return 0;
}

/* Weak tables and finalizers would show when the collector runs. */
static int set_metatable(lua_State *L)
{
	if (lua_istable(L, 2)) {
		lua_pushliteral(L, "__gc");
		if (lua_rawget(L, 2) != LUA_TNIL)
			srd_raise(L, "setmetatable: __gc is not to be had: nothing may depend on "
				     "when the garbage collector runs; use a <close> variable");
		lua_pushliteral(L, "__mode");
		if (lua_rawget(L, 2) != LUA_TNIL)
			srd_raise(L, "setmetatable: __mode is not to be had: nothing may depend on "
				     "when the garbage collector runs");
		lua_settop(L, 2);
	}
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, 1);
	return 1;
}

/*
 * coroutine.resume. A yield of our own task scheduler (a wait inside the coroutine) is not
 * the caller's: it goes on outwards, and comes back in here when the task goes on.
 */
static int resume_in(lua_State *L, lua_State *co, int num_args);

static int resume_again(lua_State *L, int status, lua_KContext context)
{
	return resume_in(L, (lua_State *)context, 0);
}

static int resume_in(lua_State *L, lua_State *co, int num_args)
{
	int n, status = srd_lua_resume(co, L, num_args, &n);

	if (status == LUA_YIELD && n == 1 && lua_touserdata(co, -1) == srd_lua_sentinel) {
		lua_pop(co, 1);
		lua_pushlightuserdata(L, (void *)srd_lua_sentinel);
		return lua_yieldk(L, 1, (lua_KContext)co, resume_again);
	}
	lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
	if (status != LUA_OK && status != LUA_YIELD) {
		lua_xmove(co, L, 1);
		return 2;
	}
	if (!lua_checkstack(L, n + 1)) {
		lua_pop(co, n);
		return luaL_error(L, "too many results to resume");
	}
	lua_xmove(co, L, n);
	return n + 1;
}

static int resume(lua_State *L)
{
	lua_State *co = lua_tothread(L, 1);
	int n = lua_gettop(L) - 1;

	luaL_argexpected(L, co, 1, "coroutine");
	if (lua_status(co) == LUA_OK && !lua_gettop(co)) {
		lua_pushboolean(L, false);
		lua_pushliteral(L, "cannot resume dead coroutine");
		return 2;
	}
	if (co == L || !lua_checkstack(co, n)) {
		lua_pushboolean(L, false);
		lua_pushstring(L, co == L ? "cannot resume non-suspended coroutine"
					  : "too many arguments to resume");
		return 2;
	}
	lua_xmove(L, co, n);
	return resume_in(L, co, n);
}

/*
 * Lua counts how deep C calls itself in each coroutine, and 5.4.4 begins anew in one that is
 * closed: a chain of them would use up the stack of the process. So deep is never needed.
 */
#define MAX_CLOSE_DEPTH 10

/* coroutine.close, with the watchdog looking at the __close of what is closed. */
static int close_coroutine(lua_State *L)
{
	struct srd_lua *lua = srd_lua_of(L);
	lua_State *co = lua_tothread(L, 1), *before;
	int status;

	luaL_argexpected(L, co, 1, "coroutine");
	if (lua->close_depth >= MAX_CLOSE_DEPTH)
		srd_raise(L,
			  "coroutine.close: coroutines that close one another are more than %d "
			  "deep",
			  MAX_CLOSE_DEPTH);
	lua_settop(L, 1);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua->close_depth++;
	before = srd_lua_enter(lua, co);
	status = lua_pcall(L, 1, LUA_MULTRET, 0);
	srd_lua_leave(lua, before);
	lua->close_depth--;
	if (status != LUA_OK)
		return lua_error(L);
	return lua_gettop(L);
}

/* The handler of xpcall. No hook is called in the handler of an error that a hook raised. */
static int handle(lua_State *L)
{
	if (srd_lua_of(L)->out_of_time)
		return 1;
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 1, 1);
	return 1;
}

static int handled(lua_State *L, int status, lua_KContext context)
{
	return lua_gettop(L);
}

/* xpcall: a handler that does not end would else outlive the limit of time. */
static int guarded_call(lua_State *L)
{
	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, handle, 1);
	lua_replace(L, 2);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, handled);
	return handled(L, LUA_OK, 0);
}

static void remove_fields(lua_State *L, int table, const char *const *names)
{
	table = lua_absindex(L, table);
	for (; *names; names++) {
		lua_pushnil(L);
		lua_setfield(L, table, *names);
	}
}

/* Put FN in the place of NAME in the table on top; Lua's own becomes its upvalue. */
static void replace(lua_State *L, const char *name, lua_CFunction fn)
{
	lua_getfield(L, -1, name);
	lua_pushcclosure(L, fn, 1);
	lua_setfield(L, -2, name);
}

static void open_base(lua_State *L)
{
	static const char *const unwanted[] = {"dofile", "loadfile", "collectgarbage", "warn",
					       NULL};

	luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
	remove_fields(L, -1, unwanted);
	replace(L, "load", load);
	replace(L, "tostring", tostring);
	replace(L, "print", print);
	replace(L, "pairs", srd_pairs);
	replace(L, "next", srd_next);
	replace(L, "setmetatable", set_metatable);
	replace(L, "xpcall", guarded_call);
	lua_pop(L, 1);
}

static void open_string(lua_State *L)
{
	static const char *const unwanted[] = {"dump", NULL};

	luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
	remove_fields(L, -1, unwanted);
	replace(L, "format", format);
	lua_pop(L, 1);
}

static void open_math(lua_State *L, uint64_t seed)
{
	luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
	replace(L, "randomseed", randomseed);
	lua_getfield(L, -1, "randomseed");
	lua_pushinteger(L, (lua_Integer)seed);
	lua_call(L, 1, 0);
	lua_pop(L, 1);
}

void srd_sandbox_open(lua_State *L, bool unsafe, uint64_t seed)
{
	open_base(L);
	open_string(L);
	open_math(L, seed);
	luaL_requiref(L, LUA_COLIBNAME, luaopen_coroutine, 1);
	replace(L, "resume", resume);
	replace(L, "close", close_coroutine);
	luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
	luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 1);
	if (unsafe) {
		luaL_requiref(L, LUA_IOLIBNAME, luaopen_io, 1);
		luaL_requiref(L, LUA_OSLIBNAME, luaopen_os, 1);
		luaL_requiref(L, LUA_LOADLIBNAME, luaopen_package, 1);
	}
	lua_settop(L, 0);
}
