/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <lualib.h>

#include "sandbox.h"

const char srd_lua_sentinel[1];

/* Lua's allocator: counted, so that a script cannot take more than its share. */
static void *allocate(void *arg, void *block, size_t old_size, size_t new_size)
{
	struct srd_lua *lua = arg;
	size_t old = block ? old_size : 0; /* else it is the kind of object */
	void *moved;

	if (!new_size) {
		lua->used -= old;
		srd_arena_free(&lua->arena, block, old);
		return NULL;
	}
	if (new_size > old && new_size - old > lua->limit - lua->used)
		return NULL;
	moved = srd_arena_resize(&lua->arena, block, old, new_size);
	if (moved)
		lua->used += new_size - old;
	return moved;
}

struct setup {
	const struct srd_sandbox *sandbox;
	uint64_t seed;
};

static int setup(lua_State *L)
{
	const struct setup *s = lua_touserdata(L, 1);

	srd_sandbox_open(L, s->sandbox->unsafe, s->seed);
	return 0;
}

int srd_lua_open(struct srd_lua *lua, const struct srd_sandbox *sandbox, uint64_t seed)
{
	struct setup s = {.sandbox = sandbox, .seed = seed};

	lua->limit = sandbox->memory_limit ? sandbox->memory_limit : SRD_LUA_MEMORY_LIMIT;
	lua->L = lua_newstate(allocate, lua);
	if (!lua->L)
		return -ENOMEM;
	*(struct srd_lua **)lua_getextraspace(lua->L) = lua;
	lua->running = lua->L;
	lua_gc(lua->L, LUA_GCSTOP); /* nothing is garbage until a script runs */
	lua_pushcfunction(lua->L, setup);
	lua_pushlightuserdata(lua->L, &s);
	return lua_pcall(lua->L, 1, 0, 0) == LUA_OK ? 0 : -ENOMEM;
}

void srd_lua_close(struct srd_lua *lua)
{
	if (lua->L) {
		lua->running = NULL;
		lua_close(lua->L);
		lua->L = NULL;
	}
	srd_arena_release(&lua->arena);
}

lua_State *srd_lua_enter(struct srd_lua *lua, lua_State *co)
{
	lua_State *before = lua->running;

	lua->running = co;
	return before;
}

/* Else a loop that makes a coroutine each turn would lose one of them to each signal. */
void srd_lua_leave(struct srd_lua *lua, lua_State *before)
{
	lua->running = before;
	if (lua->out_of_time && before != lua->L)
		srd_watchdog_interrupt(before);
}

int srd_lua_resume(lua_State *co, lua_State *from, int num_args, int *num_results)
{
	struct srd_lua *lua = srd_lua_of(co);
	lua_State *before = srd_lua_enter(lua, co);
	int status = lua_resume(co, from, num_args, num_results);

	srd_lua_leave(lua, before);
	return status;
}

/* Frames that are looked at: lua_getstack takes the longer the deeper the frame is. */
#define MAX_LEVELS 250

/*
 * The innermost frame of the script from LEVEL on, in *AR; false: there is none. The
 * libraries are compiled without lines, so that a frame with a line is the script's: to
 * ask for the source as well would cost as much as the rest of a short binding.
 */
static bool script_frame(lua_State *L, int level, lua_Debug *ar)
{
	for (; level < MAX_LEVELS && lua_getstack(L, level, ar); level++) {
		lua_getinfo(L, "l", ar);
		if (ar->currentline > 0)
			return true;
	}
	return false;
}

/* Level 0 is the binding itself, except where the script was interrupted or has failed. */
int srd_lua_line(lua_State *L)
{
	lua_Debug ar;

	return script_frame(L, 1, &ar) ? ar.currentline : 0;
}

int srd_lua_error_line(lua_State *co)
{
	lua_Debug ar;

	return script_frame(co, 0, &ar) ? ar.currentline : 0;
}

#define MAX_CALLERS 4

void srd_lua_callers(lua_State *co, char *text, size_t size)
{
	size_t used = strlen(text);
	lua_Debug ar;
	int shown = 0, last = 0;

	for (int level = 0;
	     shown <= MAX_CALLERS && level < MAX_LEVELS && lua_getstack(co, level, &ar); level++) {
		lua_getinfo(co, "l", &ar);
		/* A line once more, of a recursion or of what stands in one line, tells nothing. */
		if (ar.currentline <= 0 || ar.currentline == last)
			continue;
		last = ar.currentline;
		if (shown++ && used < size)
			used += (size_t)snprintf(text + used, size - used,
						 "\n  called from line %d", last);
	}
}

int srd_raise(lua_State *L, const char *format, ...)
{
	lua_Debug ar;
	va_list args;

	luaL_checkstack(L, 4, NULL);
	if (script_frame(L, 0, &ar) && lua_getinfo(L, "S", &ar))
		lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
	else
		lua_pushliteral(L, "");
	va_start(args, format);
	lua_pushvfstring(L, format, args);
	va_end(args);
	lua_concat(L, 2);
	lua_error(L);
	__builtin_unreachable();
}
