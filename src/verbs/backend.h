/* SPDX-License-Identifier: MIT */
/*
 * Where tables come from. sim/ and hw/ each register one backend before main; the engine
 * knows them by name only.
 */
#ifndef SRD_BACKEND_H
#define SRD_BACKEND_H

#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/verbs.h>

struct srd_chooser;
struct srd_profile;

struct srd_backend_options {
	const struct srd_profile *profile; /* the mock's device; NULL: the backend's default */
	const char *device;                /* hardware: name of the device; NULL: the first */
	uint64_t seed;
	struct srd_stream *stream; /* for device events; NULL: none are wanted */
	/* Of the mock, at the level of messages; NULL: they come in their own order. */
	struct srd_chooser *chooser;
};

struct srd_backend {
	const char *name; /* "mock", "efa" */
	const char *summary;
	uint32_t can; /* SRD_VERBS_CAN_... */
	/*
	 * A fresh table in *out, to be released by its close operation. -ENODEV: no device or
	 * no library, with the reason in *error: every scenario is skipped with it.
	 */
	int (*open)(const struct srd_backend_options *options, struct srd_verbs **out,
		    struct srd_error *error);
	/* Devices that open could use; returns how many there are, fills in up to MAX. */
	int (*devices)(struct srd_device_info *list, int max, struct srd_error *error);
	/* The versions of what it stands on, as one line for `srdlab version`; NULL: nothing. */
	void (*version)(char *text, size_t size);
	struct srd_backend *next; /* the registry's */
};

void srd_backend_register(struct srd_backend *backend);
const struct srd_backend *srd_backend_find(const char *name); /* NULL: no such backend */
const struct srd_backend *srd_backend_first(void);            /* follow ->next; sorted by name */

#endif
