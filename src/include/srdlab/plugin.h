/* SPDX-License-Identifier: MIT */
/*
 * A queue pair or a scheduler of your own, judged by srdlab. Compile it to a shared library
 * that has one or both of the functions below, and give that to
 *
 *     srdlab run --queue-pair ./libmine.so --scheduler ./libmine.so scripts/scenarios
 *
 * This header and what it includes is all that a plug-in needs; nothing has to be linked.
 *
 * Each returns a table that lives as long as the library, with every function in it, and
 * abi set to SRD_QUEUE_PAIR_ABI. The number in the name is that of the way in; the abi is
 * that of the structures behind it.
 */
#ifndef SRDLAB_PLUGIN_H
#define SRDLAB_PLUGIN_H

#include <stdarg.h>
#include <stdio.h>

#include <srdlab/queue_pair.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SRDLAB_EXPORT __attribute__((visibility("default")))

SRDLAB_EXPORT const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void);
SRDLAB_EXPORT const struct srd_scheduler_ops *srdlab_scheduler_v1(void);

/* srd_error_set (srdlab/error.h) for a plug-in, which links no library. */
static inline int srd_plugin_error(struct srd_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline int srd_plugin_error(struct srd_error *error, int code, const char *format, ...)
{
	va_list args;

	if (!error)
		return code;
	error->code = code;
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return code;
}

#ifdef __cplusplus
}
#endif

#endif
