/* SPDX-License-Identifier: MIT */
/*
 * What a script finds in its globals: Lua's own libraries without files, processes,
 * binary code, addresses, the wall clock or the order of a hash.
 */
#ifndef SRD_LUA_SANDBOX_H
#define SRD_LUA_SANDBOX_H

#include "state.h"

/* Called in protected mode. UNSAFE leaves io, os and package as Lua has them. */
void srd_sandbox_open(lua_State *L, bool unsafe, uint64_t seed);

/* tostring without addresses: pushes the text of the value at INDEX. */
const char *srd_tostring(lua_State *L, int index);

/* The string on top of the stack with U+FFFD for each zero, at which C would end it. */
void srd_show_zeros(lua_State *L);

/* "nan" for each "-nan" in TEXT, as which no two processors agree. */
void srd_plain_nan(char *text);

/* Ordered iteration (order.c): pairs and next. */
int srd_pairs(lua_State *L);
int srd_next(lua_State *L);

#endif
