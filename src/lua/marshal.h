/* SPDX-License-Identifier: MIT */
/*
 * Between Lua tables and C structures, driven by descriptions that the build generates from
 * scripts/spec/structs.lua. Every function here may raise: a bad value's message names the
 * structure, the field, the value and what would be right.
 */
#ifndef SRD_LUA_MARSHAL_H
#define SRD_LUA_MARSHAL_H

#include "state.h"

#define SRD_MAX_TIME (UINT64_C(365 * 24 * 3600) * 1000000000) /* ns: a year */

enum srd_value_type {
	SRD_VALUE_UINT, /* 1, 2, 4 or 8 bytes */
	SRD_VALUE_INT,  /* 4 bytes */
	SRD_VALUE_BOOL,
	SRD_VALUE_SIZE,
	SRD_VALUE_TIME,
	SRD_VALUE_ADDR,
	SRD_VALUE_BE32,
	SRD_VALUE_GID,
	SRD_VALUE_ENUM,
	SRD_VALUE_FLAGS,
	SRD_VALUE_STRUCT,
	SRD_VALUE_OBJECT,
	SRD_VALUE_STRING, /* this one and the rest: only looked at */
	SRD_VALUE_STRINGS,
	SRD_VALUE_TABLE,
	SRD_VALUE_ANY,
};

/* The names of an enumeration or flag set. */
struct srd_names {
	const char *prefix; /* that a name may go without */
	const char *const *names;
	const uint32_t *values; /* NULL: 0, 1, 2, ... */
	int count;
	bool is_short; /* a script sees the names without their prefix */
};

struct srd_struct;

struct srd_field {
	const char *name;
	enum srd_value_type type;
	uint16_t offset;
	uint16_t size;
	uint64_t min;
	uint64_t max;
	uint32_t mask;
	int kind; /* of an object: enum srd_object_type */
	bool in;
	bool out;
	const struct srd_names *names;
	const struct srd_struct *nested;
};

struct srd_struct {
	const char *name; /* "queue_pair" */
	const struct srd_field *fields;
	int count;
	uint16_t size;
};

/*
 * Fill in OUT from the table at INDEX; a field that is not given keeps what OUT holds.
 * Returns the masks of those that are given, together.
 */
uint32_t srd_marshal_from(lua_State *L, int index, const struct srd_struct *type, void *out);
/* Push a table with the fields of IN. */
void srd_marshal_to(lua_State *L, const struct srd_struct *type, const void *in);
/* One value, for the argument WHAT of a function. */
uint64_t srd_check_size(lua_State *L, int index, const char *what);
/* At most SRD_MAX_TIME, so that sums of some stay far from the end of 64 bits. */
uint64_t srd_check_time(lua_State *L, int index, const char *what);
uint64_t srd_check_uint(lua_State *L, int index, const char *what, uint64_t max);
uint32_t srd_check_enum(lua_State *L, int index, const char *what, const struct srd_names *names);
uint32_t srd_check_flags(lua_State *L, int index, const char *what, const struct srd_names *names);
/* The EFA status that something fails with: its name, one of libibverbs' that is no other's, or 1 to 255. */
uint32_t srd_check_failure(lua_State *L, int index, const char *what);
void srd_push_enum(lua_State *L, const struct srd_names *names, uint32_t value);

#include "marshal_structs.h"

#endif
