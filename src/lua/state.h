/* SPDX-License-Identifier: MIT */
/*
 * One Lua state: its memory, its wall clock, the sandbox that a script sees, and the
 * libraries of scripts/lib. What a script may do is decided here and nowhere else.
 */
#ifndef SRD_LUA_STATE_H
#define SRD_LUA_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"
#include "scenario.h"

#define SRD_LUA_MEMORY_LIMIT ((size_t)256 << 20)
#define SRD_LUA_TIME_LIMIT   UINT64_C(60000000000)
#define SRD_LUA_LOAD_LIMIT   UINT64_C(10000000000)

struct srd_run;
struct srd_steer;

struct srd_lua {
	lua_State *L;
	lua_State *volatile running; /* the coroutine that executes, for the watchdog */
	struct srd_run *run;         /* NULL while a script is only loaded */
	struct srd_steer *steer;     /* NULL: it is one of scenarios */
	struct srd_arena arena;
	size_t used;
	size_t limit;
	uint64_t time_limit; /* ns of wall time, for the message */
	uint64_t deadline;   /* CLOCK_MONOTONIC ns */
	volatile sig_atomic_t out_of_time;
	uint32_t num_scenarios; /* that srd.scenario has made so far */
	uint32_t num_refused;   /* calls of srd.scenario that raised */
	bool is_other;          /* what it asked for is of scripts over a program */
	uint32_t wanted;        /* the only scenario that is kept, from 1 on; 0: all are */
	int close_depth;        /* calls of coroutine.close, one in another */
	void (*log)(void *arg, const char *text);
	void *log_arg;
};

/* A library of scripts/lib: as text, built in; compiled, kept by a script. */
struct srd_lua_chunk {
	const char *name; /* "expect" */
	const char *text;
	size_t size;
};

extern const struct srd_lua_chunk srd_lua_lib[]; /* generated; in the order to load them */
extern const int srd_num_lua_lib; /* one more is behind them, of scripts over a program */

/*
 * Make the sandboxed state of LUA, which the caller has zeroed. -ENOMEM. SEED is that of
 * math.random. srd_lua_close is needed in either case.
 */
int srd_lua_open(struct srd_lua *lua, const struct srd_sandbox *sandbox, uint64_t seed);
void srd_lua_close(struct srd_lua *lua);

/* The state that L belongs to. */
static inline struct srd_lua *srd_lua_of(lua_State *L)
{
	return *(struct srd_lua **)lua_getextraspace(L);
}

/*
 * Run the function on top of CO's stack as a coroutine until it ends, yields or fails, as
 * lua_resume does, with the watchdog looking at it.
 */
int srd_lua_resume(lua_State *co, lua_State *from, int num_args, int *num_results);

/* CO executes from here on. The one that did before, for srd_lua_leave. */
lua_State *srd_lua_enter(struct srd_lua *lua, lua_State *co);
/* BEFORE goes on: where time is over, not for long. */
void srd_lua_leave(struct srd_lua *lua, lua_State *before);

/* What a yield of the task scheduler hands through every coroutine of the script. */
extern const char srd_lua_sentinel[1];

/*
 * ns that a file may take to load, where a scenario of it may take TIME_LIMIT, 0 being the
 * default: as long, but not so long that who only wants it checked takes it for hung.
 */
static inline uint64_t srd_load_limit(uint64_t time_limit)
{
	return time_limit && time_limit < SRD_LUA_LOAD_LIMIT ? time_limit : SRD_LUA_LOAD_LIMIT;
}

/* Wall-clock limit of the calling thread's state; stop is harmless without a start. */
int srd_watchdog_start(struct srd_lua *lua, uint64_t time_limit);
void srd_watchdog_stop(struct srd_lua *lua);
/* Let the next instruction of CO raise that time is over. */
void srd_watchdog_interrupt(lua_State *co);
/* Raise the error of a state that has run out of time. */
int srd_watchdog_raise(lua_State *L);

/*
 * The line of the script that called the binding which asks; 0: none. A frame of
 * scripts/lib is not the script's.
 */
int srd_lua_line(lua_State *L);
/* The line where CO, which has failed, was. */
int srd_lua_error_line(lua_State *co);
/* Append to TEXT a line for each of the nearest places of the script that led there. */
void srd_lua_callers(lua_State *co, char *text, size_t size);

/* Raise an error with the script's position in front. */
int srd_raise(lua_State *L, const char *format, ...) __attribute__((noreturn));

#endif
