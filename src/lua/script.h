/* SPDX-License-Identifier: MIT */
/* A loaded script: its scenarios, and the byte code that each run starts from. */
#ifndef SRD_LUA_SCRIPT_H
#define SRD_LUA_SCRIPT_H

#include "state.h"

struct srd_script {
	char *path;
	char *chunk_name; /* "@chunks.lua": the last part of the path */
	char *code;       /* the script, compiled */
	size_t code_size;
	struct srd_lua_chunk *lib; /* scripts/lib, compiled; num_lib of them */
	int num_lib;
	struct srd_scenario_info *infos;
	int count;
	bool all_accepted; /* no srd.scenario raised while it was loaded, not even caught */
};

/*
 * In protected mode: give the state the libraries of SCRIPT (compiled already, or as built
 * in where there are none yet) and require; afterwards the script's chunk is on top of
 * the stack, to be called without arguments.
 */
void srd_script_open(lua_State *L, const struct srd_script *script);

struct srd_steer_options;

/*
 * The script that OPTIONS name, compiled with L. Errors as srd_script_load; *OUT is to be
 * freed in either case.
 */
int srd_script_compile(lua_State *L, const struct srd_steer_options *options,
		       struct srd_script **out, struct srd_error *error);

/* steer.c: what the module of a script over a program needs, into the table on top. */
void srd_steer_bind(lua_State *L);
/* And what the chunk of steer.lua gave: two functions on top of the stack, which are popped. */
void srd_steer_keep(lua_State *L);

/*
 * After the chunk has run: push the INDEX-th call of srd.scenario (0: the first), a table
 * { name, options, body, line }; nil where there is none.
 */
void srd_script_push(lua_State *L, int index);

/*
 * Run the function on top of the stack of L, with NUM_ARGS arguments over it, as a
 * coroutine to its end. Returns Lua's status; where it is not LUA_OK, *CO (anchored in L)
 * holds the error and the frames that led to it.
 */
int srd_script_call(lua_State *L, int num_args, lua_State **co);

struct srd_profile;
struct srd_scenario_options;

/* The limits of the scenario's options at INDEX. Raises. */
void srd_script_limits(lua_State *L, int index, struct srd_scenario_options *options);

/*
 * The profile that the value at INDEX describes: a built-in one's name, or a table of fields
 * that differ from "base" (else from OTHERWISE). Raises.
 */
void srd_script_profile(lua_State *L, int index, const struct srd_profile *otherwise,
			struct srd_profile *out);

/* Where an error of CO happened, and its text without the position in front. */
struct srd_place {
	int line; /* 0: not known */
	char text[2048];
};
void srd_script_explain(lua_State *co, int status, const struct srd_script *script,
			struct srd_place *out);

#endif
