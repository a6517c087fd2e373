/* SPDX-License-Identifier: MIT */
/*
 * Memory of a host: a buffer and its registration, or a slice of one. Numbers that a slice
 * gives (addr, size) are of the slice.
 */
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "orders.h"
#include "verbs/alloc.h"

/* So much of a buffer at most becomes a Lua string at once. */
#define MAX_BYTES (UINT64_C(64) << 20)

struct srd_memory_object *srd_memory_object_arg(lua_State *L, int index)
{
	struct srd_memory_object *memory = srd_object_check(L, index, SRD_OBJECT_MEMORY);

	if (memory->whole->object.gone)
		srd_raise(L, "this memory is freed");
	return memory;
}

/* What all hosts of one scenario may hold in real bytes: the script is not to fill ours. */
#define MAX_REAL_BYTES (UINT64_C(1) << 30)

static void check_room(lua_State *L, uint64_t size, const struct srd_memory_options *options)
{
	struct srd_run *run = srd_run_of(L);

	if (options->kind != SRD_BUFFER_ORIGIN && size > MAX_REAL_BYTES - run->real_bytes)
		srd_raise(L,
			  "host:memory: %I bytes are too many: a scenario may hold 1 GiB of real "
			  "bytes; memory of kind = \"ORIGIN\" only remembers where its bytes "
			  "come from",
			  (lua_Integer)size);
}

/* What of it counts against the limit. To be asked while there is a buffer. */
static uint64_t real_bytes(const struct srd_memory_object *memory)
{
	return memory->buffer->kind != SRD_BUFFER_ORIGIN ? memory->size : 0;
}

static struct srd_memory_object *new_memory(lua_State *L)
{
	struct srd_memory_object *memory = srd_object_new(L, SRD_OBJECT_MEMORY, sizeof(*memory), 1);

	memory->whole = memory;
	return memory;
}

/* Raise that SIZE bytes cannot be registered on HOST, as ERROR says: by name where it is a limit. */
static void refused(lua_State *L, const struct srd_host *host, uint64_t size, int error)
{
	struct srd_verbs *verbs = srd_run_of(L)->verbs;
	struct srd_device_attr attr;

	if (error == EINVAL && !verbs->query_device(verbs, host->context->verbs, &attr) &&
	    size > attr.max_mr_size)
		srd_raise(L,
			  "host:memory: reg_mr failed: EINVAL: %I bytes are more than max_mr_size, "
			  "which is %I (max_mr_pages of a profile, of 4 KiB each)",
			  (lua_Integer)size, (lua_Integer)attr.max_mr_size);
	srd_raise(L, "host:memory: reg_mr failed: %s", srd_errno_name(error));
}

void srd_memory_object_new(lua_State *L, struct srd_host *host, uint64_t size,
			   const struct srd_memory_options *options)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_verbs *verbs = run->verbs;
	struct srd_memory_object *memory;

	check_room(L, size, options);
	if (!size && options->register_it)
		srd_raise(L, "host:memory: size = 0: a memory region has at least one byte");
	memory = new_memory(L);
	memory->host = host;
	memory->size = size;
	memory->access = options->access;
	memory->object.line = run->stream.line;
	srd_object_keep(L, memory);
	memory->buffer = verbs->alloc_buffer(verbs, host->context->verbs, size, options->kind);
	if (!memory->buffer) {
		srd_object_drop(L, memory);
		srd_raise(L, "host:memory: alloc_buffer failed: %s", srd_errno_name(errno));
	}
	run->real_bytes += real_bytes(memory);
	if (!options->register_it)
		return;
	memory->mr =
		verbs->reg_mr(verbs, host->pd->verbs, memory->buffer->addr, size, options->access);
	if (!memory->mr) {
		int error = errno;

		run->real_bytes -= real_bytes(memory);
		verbs->free_buffer(verbs, memory->buffer);
		srd_object_drop(L, memory);
		refused(L, host, size, error);
	}
}

/* The range [offset, offset + size) that two arguments name, inside of MEMORY. */
static void check_range(lua_State *L, int index, const char *what,
			const struct srd_memory_object *memory, uint64_t *offset, uint64_t *size)
{
	*offset = lua_isnoneornil(L, index) ? 0 : srd_check_size(L, index, what);
	if (*offset > memory->size)
		srd_raise(L, "%s: offset %I is behind the end: the memory has %I bytes", what,
			  (lua_Integer)*offset, (lua_Integer)memory->size);
	*size = lua_isnoneornil(L, index + 1) ? memory->size - *offset
					      : srd_check_size(L, index + 1, what);
	if (*size > memory->size - *offset)
		srd_raise(L,
			  "%s: %I bytes at offset %I reach behind the end: the memory has %I "
			  "bytes",
			  what, (lua_Integer)*size, (lua_Integer)*offset,
			  (lua_Integer)memory->size);
}

/* Where every order is run: what the script sees of memory, and does to it. */
static void note_access(struct srd_run *run, const struct srd_memory_object *memory,
			uint64_t offset, uint64_t size, bool write, uint64_t seen)
{
	if (run->orders)
		srd_orders_access(run->orders, memory->buffer->addr + memory->offset + offset, size,
				  write, seen);
}

static int memory_slice(lua_State *L)
{
	struct srd_memory_object *from = srd_memory_object_arg(L, 1), *slice;
	uint64_t offset, size;

	check_range(L, 2, "memory:slice", from, &offset, &size);
	slice = new_memory(L);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1); /* the whole lives as long as its slices */
	slice->whole = from->whole;
	slice->host = from->host;
	slice->buffer = from->buffer;
	slice->mr = from->whole->mr;
	slice->offset = from->offset + offset;
	slice->size = size;
	slice->object.line = from->object.line;
	return 1;
}

/* memory:fill(what): "random", "zero", a seed, or bytes that are repeated. */
static int memory_fill(lua_State *L)
{
	struct srd_memory_object *memory = srd_memory_object_arg(L, 1);
	struct srd_run *run = srd_run_of(L);
	uint64_t seed;
	int ret;

	srd_run_at(L);
	if (lua_type(L, 2) == LUA_TNUMBER) {
		seed = srd_check_uint(L, 2, "memory:fill", INT64_MAX);
	} else if (lua_isstring(L, 2) && !strcmp(lua_tostring(L, 2), "random")) {
		seed = (run->config->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + ++run->num_fills;
		seed |= 1; /* 0 would be zeros */
	} else if (lua_isstring(L, 2) && !strcmp(lua_tostring(L, 2), "zero")) {
		seed = 0;
	} else {
		srd_raise(L, "memory:fill: \"random\", \"zero\" or a number is expected; for bytes "
			     "of your own there is memory:write");
	}
	note_access(run, memory, 0, memory->size, true, seed);
	ret = run->verbs->fill_buffer(run->verbs, memory->buffer, memory->offset, memory->size,
				      seed);
	if (ret)
		srd_raise(L, "memory:fill: fill_buffer failed: %s", srd_errno_name(ret));
	lua_settop(L, 1);
	return 1;
}

/* memory:write(offset, bytes) */
static int memory_write(lua_State *L)
{
	struct srd_memory_object *memory = srd_memory_object_arg(L, 1);
	struct srd_run *run = srd_run_of(L);
	uint64_t offset = srd_check_size(L, 2, "memory:write"), left;
	size_t length;
	const char *bytes = luaL_checklstring(L, 3, &length);
	int ret;

	srd_run_at(L);
	left = offset > memory->size ? 0 : memory->size - offset;
	if (length > left)
		srd_raise(L,
			  "memory:write: %I bytes at offset %I reach behind the end: the memory "
			  "has %I bytes",
			  (lua_Integer)length, (lua_Integer)offset, (lua_Integer)memory->size);
	note_access(run, memory, offset, length, true, XXH64(bytes, length, 0));
	ret = run->verbs->write_buffer(run->verbs, memory->buffer, memory->offset + offset, bytes,
				       length);
	if (ret)
		srd_raise(L, "memory:write: write_buffer failed: %s", srd_errno_name(ret));
	lua_settop(L, 1);
	return 1;
}

static int memory_bytes(lua_State *L)
{
	struct srd_memory_object *memory = srd_memory_object_arg(L, 1);
	struct srd_run *run = srd_run_of(L);
	uint64_t offset, size;
	luaL_Buffer bytes;
	char *to;
	int ret;

	check_range(L, 2, "memory:bytes", memory, &offset, &size);
	if (size > MAX_BYTES)
		srd_raise(L, "memory:bytes: %I bytes are too many for a string; at most 64 MiB",
			  (lua_Integer)size);
	to = luaL_buffinitsize(L, &bytes, (size_t)size);
	ret = run->verbs->read_buffer(run->verbs, memory->buffer, memory->offset + offset, to,
				      (size_t)size);
	if (ret)
		srd_raise(L, "memory:bytes: read_buffer failed: %s", srd_errno_name(ret));
	note_access(run, memory, offset, size, false, XXH64(to, (size_t)size, 0));
	luaL_pushresultsize(&bytes, (size_t)size);
	return 1;
}

/* memory:first_difference(other): the offset; nil where both hold the same. */
static int memory_first_difference(lua_State *L)
{
	struct srd_memory_object *a = srd_memory_object_arg(L, 1), *b = srd_memory_object_arg(L, 2);
	struct srd_run *run = srd_run_of(L);
	uint64_t size = a->size < b->size ? a->size : b->size, at = size;
	int ret = run->verbs->compare_buffer(run->verbs, a->buffer, a->offset, b->buffer, b->offset,
					     size, &at);

	if (ret)
		srd_raise(L, "compare_buffer failed: %s", srd_errno_name(ret));
	note_access(run, a, 0, a->size, false, at);
	if (at == size && a->size == b->size)
		return 0;
	lua_pushinteger(L, (lua_Integer)at);
	return 1;
}

static void check_whole(lua_State *L, const struct srd_memory_object *memory, const char *what)
{
	if (memory->whole != memory)
		srd_raise(L, "%s: this is a slice; it ends with the memory that it is a part of",
			  what);
}

struct srd_mr *srd_memory_on(lua_State *L, struct srd_memory_object *memory,
			     struct srd_host *device, const char *what)
{
	struct srd_memory_object *whole = memory->whole;
	struct srd_verbs *verbs = srd_run_of(L)->verbs;
	struct srd_share *share;

	if (strcmp(whole->host->name, device->name))
		srd_raise(L, "%s: memory of host %s, not of host %s, is expected", what,
			  device->name, whole->host->name);
	if (whole->host == device || !whole->mr)
		return whole->mr;
	for (share = whole->shares; share; share = share->next)
		if (share->device == device)
			return share->mr;
	share = srd_calloc(1, sizeof(*share));
	if (!share)
		srd_raise(L, "out of memory");
	share->device = device;
	share->mr = verbs->reg_mr(verbs, device->pd->verbs, whole->buffer->addr, whole->size,
				  whole->access);
	if (!share->mr) {
		srd_free(share);
		srd_raise(L, "%s: reg_mr on device %d of host %s failed: %s", what,
			  (int)device->device, device->name, srd_errno_name(errno));
	}
	share->next = whole->shares;
	whole->shares = share;
	return share->mr;
}

/* All registrations of MEMORY; the first errno, after which the rest stays. */
static int deregister(struct srd_verbs *verbs, struct srd_memory_object *memory)
{
	int ret;

	while (memory->shares) {
		struct srd_share *share = memory->shares;

		ret = verbs->dereg_mr(verbs, share->mr);
		if (ret)
			return ret;
		memory->shares = share->next;
		srd_free(share);
	}
	ret = memory->mr ? verbs->dereg_mr(verbs, memory->mr) : 0;
	if (!ret)
		memory->mr = NULL;
	return ret;
}

/* memory:deregister(): the registration only; returns "OK" or the errno. */
static int memory_deregister(lua_State *L)
{
	struct srd_memory_object *memory = srd_memory_object_arg(L, 1);
	struct srd_verbs *verbs = srd_run_of(L)->verbs;
	int ret;

	check_whole(L, memory, "memory:deregister");
	if (!memory->mr)
		srd_raise(L, "memory:deregister: this memory is not registered");
	srd_run_at(L);
	ret = deregister(verbs, memory);
	srd_push_errno(L, ret);
	return 1;
}

/* memory:free(): the registration and the buffer. */
static int memory_free(lua_State *L)
{
	struct srd_memory_object *memory = srd_memory_object_arg(L, 1);
	struct srd_run *run = srd_run_of(L);
	struct srd_verbs *verbs = run->verbs;
	uint64_t bytes;
	int ret;

	check_whole(L, memory, "memory:free");
	bytes = real_bytes(memory);
	srd_run_at(L);
	ret = deregister(verbs, memory);
	if (!ret)
		ret = verbs->free_buffer(verbs, memory->buffer);
	if (!ret) {
		run->real_bytes -= bytes;
		srd_object_drop(L, memory);
	}
	srd_push_errno(L, ret);
	return 1;
}

void srd_memory_object_release(struct srd_run *run, struct srd_memory_object *memory)
{
	struct srd_verbs *verbs = run->verbs;

	srd_teardown_check(run, &memory->object, "dereg_mr", deregister(verbs, memory));
	/* What could not be deregistered is left to the backend's end. */
	while (memory->shares) {
		struct srd_share *share = memory->shares;

		memory->shares = share->next;
		srd_free(share);
	}
	memory->mr = NULL;
	srd_teardown_check(run, &memory->object, "free_buffer",
			   verbs->free_buffer(verbs, memory->buffer));
}

static bool memory_property(lua_State *L, const char *name)
{
	struct srd_memory_object *memory = srd_memory_object_arg(L, 1);
	const struct srd_mr *mr = memory->whole->mr;

	if (!strcmp(name, "size"))
		lua_pushinteger(L, (lua_Integer)memory->size);
	else if (!strcmp(name, "addr"))
		lua_pushinteger(L, (lua_Integer)(memory->buffer->addr + memory->offset));
	else if (!strcmp(name, "lkey"))
		lua_pushinteger(L, mr ? mr->lkey : 0);
	else if (!strcmp(name, "rkey"))
		lua_pushinteger(L, mr ? mr->rkey : 0);
	else if (!strcmp(name, "host"))
		srd_object_push(L, memory->host);
	else
		return false;
	return true;
}

/* ---- what a put or get takes: memory, or a table that says the numbers itself ---- */

void srd_view_check(lua_State *L, int index, const char *what, bool local, struct srd_view *view)
{
	struct srd_memory_object *memory = srd_object_test(L, index, SRD_OBJECT_MEMORY);
	const struct srd_mr *mr;

	memset(view, 0, sizeof(*view));
	if (memory) {
		if (memory->object.gone || memory->whole->object.gone)
			srd_memory_object_arg(L, index); /* raises */
		mr = memory->whole->mr;
		view->addr = memory->buffer->addr + memory->offset;
		view->size = memory->size;
		view->key = mr ? (local ? mr->lkey : mr->rkey) : 0;
		return;
	}
	if (!lua_istable(L, index))
		srd_raise(L, "%s: memory is expected, or a table { addr, size, key }, not %s", what,
			  luaL_typename(L, index));
	srd_marshal_from(L, index, &srd_struct_view, view);
}

static const luaL_Reg methods[] = {
	{"slice", memory_slice},
	{"fill", memory_fill},
	{"write", memory_write},
	{"bytes", memory_bytes},
	{"first_difference", memory_first_difference},
	{"deregister", memory_deregister},
	{"free", memory_free},
	{NULL, NULL},
};

void srd_bind_memory(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_MEMORY, methods, memory_property};

	srd_class_register(L, &class);
}
