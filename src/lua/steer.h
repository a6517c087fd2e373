/* SPDX-License-Identifier: MIT */
/*
 * A script over a program that runs on the software device: its functions are called at the
 * moments of the device that it asks for, and answer with faults. The language is that of
 * scenarios, in the same sandbox; scripts/lib/steer.lua is its module.
 */
#ifndef SRD_LUA_STEER_H
#define SRD_LUA_STEER_H

#include "scenario.h"
#include "verbs/launch.h"

struct srd_steer;

struct srd_steer_options {
	const char *path;
	const char *text; /* NULL: it is read from PATH */
	size_t length;
	uint64_t seed;
	struct srd_sandbox sandbox; /* its limits are those of one call of a function */
	/* What the script logs, and what it fails with ("PATH:LINE: ..."). Any thread. */
	void (*log)(void *arg, const char *text);
	void (*failed)(const char *path, const char *text);
};

/* Load and run it. A negative errno with *error, "FILE:LINE: ...". */
int srd_steer_open(const struct srd_steer_options *options, struct srd_steer **out,
		   struct srd_error *error);
/* What a launcher asks; it lives as long as STEER. */
const struct srd_launch_script *srd_steer_script(const struct srd_steer *steer);
/* A function of it has failed. */
bool srd_steer_has_failed(const struct srd_steer *steer);
void srd_steer_close(struct srd_steer *steer); /* NULL is allowed */

#endif
