/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <srdlab/error.h>

int srd_error_set(struct srd_error *error, int code, const char *format, ...)
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
