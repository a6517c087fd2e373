/* SPDX-License-Identifier: MIT */
/*
 * What a script holds: full userdata that begin with struct srd_object. Lua owns their
 * memory; the run owns what they stand for and keeps each one alive, in a list of its
 * type, until the script destroys it or the scenario ends. So nothing is ever released by
 * the garbage collector, and a handle that outlives its object says so when it is used.
 */
#ifndef SRD_LUA_OBJECT_H
#define SRD_LUA_OBJECT_H

#include <srdlab/queue_pair.h>

#include "state.h"

/* In the order in which a scenario's end releases them. */
enum srd_object_type {
	SRD_OBJECT_OP,
	SRD_OBJECT_REQUEST,
	SRD_OBJECT_TASK,
	SRD_OBJECT_RAILS,
	SRD_OBJECT_QUEUE_PAIR,
	SRD_OBJECT_QP,
	SRD_OBJECT_AH,
	SRD_OBJECT_MR,
	SRD_OBJECT_CQ,
	SRD_OBJECT_COMP_CHANNEL,
	SRD_OBJECT_PD,
	SRD_OBJECT_MEMORY,
	SRD_OBJECT_HOST,
	SRD_OBJECT_CONTEXT,
	SRD_OBJECT_SCENARIO,
	SRD_NUM_OBJECT_TYPES,
};

/*
 * What the bindings keep in Lua's registry, by small numbers: they are looked up in an
 * array, and for each op. The first few belong to Lua.
 */
enum srd_registry_key {
	SRD_KEY_SCENARIOS = 8, /* calls of srd.scenario */
	SRD_KEY_T,             /* the scenario's own object */
	SRD_KEY_CLASSES,       /* + enum srd_object_type: metatables */
	/* + slot, from 1: the ops that are kept alive */
	SRD_KEY_OPS = SRD_KEY_CLASSES + SRD_NUM_OBJECT_TYPES,
};

struct srd_object {
	struct srd_lua *lua; /* tells our userdata from any other */
	enum srd_object_type type;
	bool gone;                      /* released; only its handle is left */
	bool borrowed;                  /* released by the object that made it */
	uint32_t serial;                /* of its type, from 1 */
	uint32_t line;                  /* where the script made it */
	void *verbs;                    /* the verbs object, of the types that are one */
	struct srd_object *next, *prev; /* in the run's list of its type */
};

/*
 * Push a new object of SIZE bytes, zero but for its header. It is in no list yet: a raise
 * before srd_object_keep leaves nothing behind.
 */
void *srd_object_new(lua_State *L, enum srd_object_type type, size_t size, int num_uservalues);
/* Keep the object on top of the stack alive until srd_object_drop. May raise. */
void srd_object_keep(lua_State *L, void *object);
/* Take it out of its list: it is GONE for the script, though its memory stays. */
void srd_object_retire(void *object);
/* The same, and Lua may free it: nothing else may point to it. Cannot raise. */
void srd_object_drop(lua_State *L, void *object);
/* Push one that is kept. */
void srd_object_push(lua_State *L, void *object);

/* The object at INDEX, which may be gone; NULL: it is none of TYPE. */
void *srd_object_test(lua_State *L, int index, enum srd_object_type type);
/* The same; raises where it is no live object of TYPE. */
void *srd_object_check(lua_State *L, int index, enum srd_object_type type);

/* "queue pair", "memory region" */
const char *srd_object_name(enum srd_object_type type);

/*
 * The class of a type: METHODS are found by name, then PROPERTY (may be NULL) is asked with
 * the object at 1 and the name at 2; it pushes a value and returns true where it has one.
 */
struct srd_class {
	enum srd_object_type type;
	const luaL_Reg *methods;
	bool (*property)(lua_State *L, const char *name);
};
/* Push the table of TYPE's methods, to be added to. */
void srd_class_methods(lua_State *L, enum srd_object_type type);
void srd_class_register(lua_State *L, const struct srd_class *class);

#endif
