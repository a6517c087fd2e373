/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "bindings.h"
#include "marshal.h"
#include "qp/cq_pool.h"
#include "verbs/limit_table.h"

#define MAX_HOSTS 256 /* an event has 8 bits for it */

static struct srd_host *check_host(lua_State *L)
{
	return srd_object_check(L, 1, SRD_OBJECT_HOST);
}

/* ---- opening ---- */

static struct srd_host *find_host(struct srd_run *run, const char *name, uint32_t device)
{
	struct srd_object *at = run->objects[SRD_OBJECT_HOST];

	while (at && (strcmp(((struct srd_host *)at)->name, name) ||
		      ((struct srd_host *)at)->device != device))
		at = at->prev;
	return (struct srd_host *)at;
}

/* The verbs objects behind HOST. What was made is found, and released, by its objects. */
static int open_host(struct srd_run *run, struct srd_host *host, struct srd_error *error)
{
	struct srd_verbs *verbs = run->verbs;
	const struct srd_error *limits;
	char name[16];

	/* Where all hosts share one device, that is the host's second as well. */
	snprintf(name, sizeof(name), "mock%u", host->device - 1);
	host->context->verbs = verbs->open_device(
		verbs, host->index,
		host->device > 1 && verbs->can & SRD_VERBS_CAN_HOSTS ? name : NULL);
	if (!host->context->verbs) {
		limits = run->limits ? srd_limits_error(run->limits) : NULL;
		if (limits && limits->code)
			return srd_error_set(error, limits->code, "%s", limits->message);
		return srd_error_set(error, -errno, "open_device failed: %s",
				     srd_errno_name(errno));
	}
	host->index = ((struct srd_context *)host->context->verbs)->host;
	host->pd->verbs = verbs->alloc_pd(verbs, host->context->verbs);
	if (!host->pd->verbs)
		return srd_error_set(error, -errno, "alloc_pd failed: %s", srd_errno_name(errno));
	return srd_cq_pool_create(verbs, host->context->verbs, 1, &run->stream, &host->pool, error);
}

/* Give back what open_host or the whole life of HOST has left. */
void srd_host_release(struct srd_run *run, struct srd_host *host)
{
	struct srd_verbs *verbs = run->verbs;

	srd_cq_pool_destroy(host->pool);
	host->pool = NULL;
	if (host->pd && host->pd->verbs)
		srd_teardown_check(run, &host->object, "dealloc_pd",
				   verbs->dealloc_pd(verbs, host->pd->verbs));
	if (host->context && host->context->verbs)
		srd_teardown_check(run, &host->object, "close_device",
				   verbs->close_device(verbs, host->context->verbs));
}

/* Device DEVICE of the host NAME; INDEX is what the host was opened with. */
static void push_device(lua_State *L, const char *name, uint32_t device, uint32_t index)
{
	struct srd_run *run = srd_run_of(L);
	struct srd_host *host = find_host(run, name, device);
	struct srd_error error;

	if (host) {
		srd_object_push(L, host);
		return;
	}
	if (run->num_objects[SRD_OBJECT_HOST] == MAX_HOSTS)
		srd_raise(L, "t:host: a scenario has at most %d hosts", MAX_HOSTS);
	if (strlen(name) >= sizeof(host->name))
		srd_raise(L, "t:host: the name has more than %d letters",
			  (int)sizeof(host->name) - 1);
	host = srd_object_new(L, SRD_OBJECT_HOST, sizeof(*host), 0);
	snprintf(host->name, sizeof(host->name), "%s", name);
	host->index = index;
	host->device = device;
	host->object.line = run->stream.line;
	host->context = srd_verbs_object_new(L, SRD_OBJECT_CONTEXT, host, true);
	host->pd = srd_verbs_object_new(L, SRD_OBJECT_PD, host, true);
	lua_pop(L, 2);
	srd_object_keep(L, host);
	if (open_host(run, host, &error)) {
		srd_host_release(run, host);
		srd_object_drop(L, host);
		srd_object_drop(L, host->pd);
		srd_object_drop(L, host->context);
		srd_raise(L, "t:host: %s", error.message);
	}
}

void srd_host_push(lua_State *L, const char *name)
{
	push_device(L, name, 1, srd_run_of(L)->num_objects[SRD_OBJECT_HOST]);
}

/* ---- what a host has ---- */

/* host:device(n): the n-th of its devices, which reach the same memory. */
static int host_device(lua_State *L)
{
	struct srd_host *host = check_host(L);
	uint64_t n = srd_check_uint(L, 2, "host:device", 64);

	srd_run_at(L);
	if (!n)
		srd_raise(L, "host:device: the first device is number 1");
	if (host->device != 1)
		host = find_host(srd_run_of(L), host->name, 1);
	push_device(L, host->name, (uint32_t)n, host->index);
	return 1;
}

static int host_queue_pair(lua_State *L)
{
	struct srd_host *host = check_host(L);

	srd_run_at(L);
	lua_settop(L, 2);
	if (lua_isnil(L, 2)) {
		lua_newtable(L);
		lua_replace(L, 2);
	}
	srd_queue_pair_new(L, host, 2);
	return 1;
}

static int host_memory(lua_State *L)
{
	struct srd_host *host = check_host(L);
	struct srd_memory_options options = {
		.access = SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_READ,
		.kind = SRD_BUFFER_REAL,
		.register_it = true,
	};
	uint64_t size;

	srd_run_at(L);
	size = srd_check_size(L, 2, "host:memory: size");
	if (!lua_isnoneornil(L, 3))
		srd_marshal_from(L, 3, &srd_struct_memory_options, &options);
	srd_memory_object_new(L, host, size, &options);
	return 1;
}

static bool host_property(lua_State *L, const char *name)
{
	struct srd_host *host = lua_touserdata(L, 1);

	if (!strcmp(name, "verbs"))
		srd_object_push(L, host->context);
	else if (!strcmp(name, "name"))
		lua_pushstring(L, host->name);
	else
		return false;
	return true;
}

static int command(lua_State *L, const char *what, enum srd_lab_kind kind)
{
	struct srd_host *host = check_host(L);
	struct srd_lab lab = {.kind = kind, .host = host->index};

	srd_run_at(L);
	srd_lab_check(L, what, &lab);
	return 0;
}

static int host_kill(lua_State *L)
{
	return command(L, "host:kill", SRD_LAB_KILL);
}

static int host_restart(lua_State *L)
{
	return command(L, "host:restart", SRD_LAB_RESTART);
}

static const luaL_Reg methods[] = {
	{"device", host_device}, {"queue_pair", host_queue_pair}, {"memory", host_memory},
	{"kill", host_kill},     {"restart", host_restart},       {NULL, NULL},
};

void srd_bind_host(lua_State *L)
{
	static const struct srd_class class = {SRD_OBJECT_HOST, methods, host_property};

	srd_class_register(L, &class);
}
