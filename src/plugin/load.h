/* SPDX-License-Identifier: MIT */
/*
 * The ways into a shared library that somebody else has built (srdlab/plugin.h). What is
 * loaded stays until the process ends.
 */
#ifndef SRD_PLUGIN_LOAD_H
#define SRD_PLUGIN_LOAD_H

#include <srdlab/queue_pair.h>

/*
 * Load PATH, which is always a file, and ask it for its table. -ENOENT: it cannot be loaded.
 * -ENOSYS: it has no such function. -ESTALE: it was built for another ABI. -EINVAL: it
 * returns NULL, or a table with a function missing.
 */
int srd_plugin_load_queue_pair(const char *path, const struct srd_queue_pair_ops **out,
			       struct srd_error *error);
int srd_plugin_load_scheduler(const char *path, const struct srd_scheduler_ops **out,
			      struct srd_error *error);

#endif
