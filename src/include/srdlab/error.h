/* SPDX-License-Identifier: MIT */
/*
 * How a fallible function above the seam reports: it returns 0 or a negative errno and
 * fills in a struct srd_error with one sentence that says what failed, on which object,
 * with which values, and what would be right.
 */
#ifndef SRDLAB_ERROR_H
#define SRDLAB_ERROR_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct srd_error {
	int code; /* negative errno; 0 where nothing failed */
	char message[508];
};

/*
 * Fill in *error (NULL is allowed) and return CODE, a negative errno, so that a function
 * can end with `return srd_error_set(...)`. A message that is too long is cut.
 */
int srd_error_set(struct srd_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4), cold));

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
