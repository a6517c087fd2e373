/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/blame.h"
#include "plugin/load.h"

/* A function of a table. */
struct part {
	const char *name;
	size_t offset;
};

#define PART(table, field)                      \
	{                                       \
#field, offsetof(table, field), \
	}
#define QUEUE_PAIR(field) PART(struct srd_queue_pair_ops, field)
#define SCHEDULER(field)  PART(struct srd_scheduler_ops, field)

static const struct part queue_pair_parts[] = {
	QUEUE_PAIR(name),     QUEUE_PAIR(create),       QUEUE_PAIR(destroy),
	QUEUE_PAIR(verbs_qp), QUEUE_PAIR(connect),      QUEUE_PAIR(endpoint),
	QUEUE_PAIR(state),    QUEUE_PAIR(max_msg_size), QUEUE_PAIR(num_requests),
	QUEUE_PAIR(put),      QUEUE_PAIR(get),          QUEUE_PAIR(poll),
};

static const struct part scheduler_parts[] = {
	SCHEDULER(name),     SCHEDULER(create),     SCHEDULER(destroy),   SCHEDULER(submit),
	SCHEDULER(progress), SCHEDULER(result),     SCHEDULER(in_flight), SCHEDULER(queued),
	SCHEDULER(adopt),    SCHEDULER(poll_delay),
};

/* Both tables begin with the number of their ABI. */
static int check(const char *path, const char *symbol, const void *table, const struct part *parts,
		 size_t count, struct srd_error *error)
{
	uint32_t abi;

	if (!table)
		return srd_error_set(error, -EINVAL, "%s: %s returned NULL, not a table", path,
				     symbol);
	memcpy(&abi, table, sizeof(abi));
	if (abi < SRD_QUEUE_PAIR_ABI_OLDEST || abi > SRD_QUEUE_PAIR_ABI)
		return srd_error_set(error, -ESTALE,
				     "%s was built for ABI %u, this srdlab has ABI %u: build it "
				     "again with its headers",
				     path, abi, SRD_QUEUE_PAIR_ABI);
	for (size_t i = 0; i < count; i++) {
		const void *part;

		memcpy(&part, (const char *)table + parts[i].offset, sizeof(part));
		if (!part)
			return srd_error_set(error, -EINVAL,
					     "%s: the table of %s has NULL for %s; every member is "
					     "needed",
					     path, symbol, parts[i].name);
	}
	return 0;
}

/* The parts for more peers than one: all three or none. */
static int check_peers(const char *path, const struct srd_queue_pair_ops *ops,
		       struct srd_error *error)
{
	if (ops->abi < 2 || (!ops->add_peer == !ops->put_to && !ops->put_to == !ops->get_from))
		return 0;
	return srd_error_set(error, -EINVAL,
			     "%s: the table of queue pair %s has NULL for %s, but not for all of "
			     "add_peer, put_to and get_from: it has all three or none",
			     path, ops->name,
			     !ops->add_peer ? "add_peer"
			     : !ops->put_to ? "put_to"
					    : "get_from");
}

/* The linker's message, without the path that it begins with. */
static int no_library(const char *path, const char *real, struct srd_error *error)
{
	const char *why = dlerror();
	size_t length = strlen(real);

	if (!strncmp(why, real, length) && !strncmp(why + length, ": ", 2))
		why += length + 2;
	return srd_error_set(error, -ENOENT, "%s cannot be loaded: %s", path, why);
}

static int load(const char *path, const char *symbol, void **function, struct srd_error *error)
{
	char real[PATH_MAX];
	void *library;

	/* A name without a slash would be looked for among the system's libraries. */
	if (!realpath(path, real))
		return srd_error_set(error, -ENOENT, "%s cannot be loaded: %m", path);
	library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return no_library(path, real, error);
	*function = dlsym(library, symbol);
	if (*function)
		return 0;
	return srd_error_set(error, -ENOSYS, "%s has no function %s (see srdlab/plugin.h)", path,
			     symbol);
}

int srd_plugin_load_queue_pair(const char *path, const struct srd_queue_pair_ops **out,
			       struct srd_error *error)
{
	static const char symbol[] = "srdlab_queue_pair_v1";
	const struct srd_queue_pair_ops *(*way_in)(void);
	void *function;
	int rc;

	srd_blame_load(path, "queue pair");
	rc = load(path, symbol, &function, error);

	if (rc)
		return rc;
	way_in = (const struct srd_queue_pair_ops *(*)(void))(uintptr_t)function;
	*out = way_in();
	rc = check(path, symbol, *out, queue_pair_parts,
		   sizeof(queue_pair_parts) / sizeof(queue_pair_parts[0]), error);
	srd_blame_loaded();
	return rc ? rc : check_peers(path, *out, error);
}

int srd_plugin_load_scheduler(const char *path, const struct srd_scheduler_ops **out,
			      struct srd_error *error)
{
	static const char symbol[] = "srdlab_scheduler_v1";
	const struct srd_scheduler_ops *(*way_in)(void);
	void *function;
	int rc;

	srd_blame_load(path, "scheduler");
	rc = load(path, symbol, &function, error);
	if (rc)
		return rc;
	way_in = (const struct srd_scheduler_ops *(*)(void))(uintptr_t)function;
	*out = way_in();
	rc = check(path, symbol, *out, scheduler_parts,
		   sizeof(scheduler_parts) / sizeof(scheduler_parts[0]), error);
	srd_blame_loaded();
	return rc;
}
