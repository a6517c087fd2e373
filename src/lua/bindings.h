/* SPDX-License-Identifier: MIT */
/* What the files of the bindings, bind_*.c, share with each other and with nobody else. */
#ifndef SRD_LUA_BINDINGS_H
#define SRD_LUA_BINDINGS_H

#include <srdlab/lab.h>

#include "run.h"

#define SRD_MAX_RAILS 32 /* of one end */

/* "EINVAL"; a number for an errno that has no name. */
const char *srd_errno_name(int error);

/* A range of memory with the key that its side needs. */
struct srd_view {
	uint64_t addr;
	uint64_t size;
	uint32_t key;
};

/* Fill in *VIEW from memory or a table at INDEX; LOCAL: the key is the lkey. Raises. */
void srd_view_check(lua_State *L, int index, const char *what, bool local, struct srd_view *view);

/*
 * MEMORY's registration on DEVICE, which is made where there is none yet; NULL: it has none
 * at all. Raises, on behalf of WHAT, where DEVICE is of another host than the memory.
 */
struct srd_mr *srd_memory_on(lua_State *L, struct srd_memory_object *memory,
			     struct srd_host *device, const char *what);

struct srd_memory_object *srd_memory_object_arg(lua_State *L, int index);
/* Push a new one; raises where the backend refuses it. */
void srd_memory_object_new(lua_State *L, struct srd_host *host, uint64_t size,
			   const struct srd_memory_options *options);

/* Push the host NAME, opened the first time; raises where there is no device. */
void srd_host_push(lua_State *L, const char *name);
/* Push a new queue pair of HOST with the fields of the table at INDEX. */
void srd_queue_pair_new(lua_State *L, struct srd_host *host, int index);

struct srd_verbs_object {
	struct srd_object object;
	struct srd_host *host;
};

/* Push an object of TYPE that stands for VERBS; BORROWED: another object releases it. */
struct srd_object *srd_verbs_object_new(lua_State *L, enum srd_object_type type,
					struct srd_host *host, bool borrowed);
/* The verbs object of TYPE at INDEX. */
void *srd_verbs_check(lua_State *L, int index, enum srd_object_type type);

/* The object is on top of the stack and VERBS what the table answered: give it or errno. */
int srd_verbs_made(lua_State *L, struct srd_object *object, void *verbs);
/* Give the errno's name. */
int srd_verbs_answer(lua_State *L, int error);
/* A destroy: where it succeeds the handle is gone. */
int srd_verbs_destroyed(lua_State *L, struct srd_object *object, int error);
/* The object of TYPE at 1, which a script may destroy; raises where it may not. */
struct srd_verbs_object *srd_verbs_check_destroy(lua_State *L, enum srd_object_type type);

/* bind_cq.c */
void srd_bind_cq(lua_State *L);

/* A call of the teardown answered RET, a positive errno or 0: a failure where it is one. */
void srd_teardown_check(struct srd_run *run, const struct srd_object *object, const char *call,
			int ret);
void srd_queue_pair_release(struct srd_run *run, struct srd_queue_pair_object *q);
void srd_rails_release(struct srd_run *run, struct srd_rails_object *rails);
void srd_memory_object_release(struct srd_run *run, struct srd_memory_object *memory);
void srd_host_release(struct srd_run *run, struct srd_host *host);

/* Push the N-th request that QP will be given from now on, where N is the number at 2. */
int srd_request_next(lua_State *L, struct srd_object *qp, const char *what);

/* Give COMMAND to the backend; raises, on behalf of WHAT, where it is refused. */
void srd_lab_check(lua_State *L, const char *what, struct srd_lab *command);

/* Raise: the profile's field NAME is none that may change; WHERE it is set instead. */
void srd_refuse_fixed(lua_State *L, const char *what, const char *name, const char *where)
	__attribute__((noreturn));

/* "wire", for enum srd_request_place. */
const char *srd_place_name(uint32_t place);

/* t:connect */
int srd_connect(lua_State *L);
/* t:rails */
int srd_rails(lua_State *L);
/* Make Q's scheduler, where it has none yet; raises. */
void srd_queue_pair_schedule(lua_State *L, struct srd_queue_pair_object *q);
/* The memory FROM and TO of the table at INDEX, which has no other fields. Raises. */
void srd_transfer_memory(lua_State *L, int index, const char *what, struct srd_memory_object **from,
			 struct srd_memory_object **to);

/* The methods of faults, which are t's: the scenario's class takes them in. */
extern const luaL_Reg srd_fault_methods[];

#endif
