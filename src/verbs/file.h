/* SPDX-License-Identifier: MIT */
#ifndef SRD_FILE_H
#define SRD_FILE_H

#include <stddef.h>

#include <srdlab/error.h>

/*
 * All of the file PATH in *TEXT, with a zero byte behind its *LENGTH bytes; for srd_free.
 * It may be a pipe. 0, or a negative errno with "PATH: ..." in *error; -EFBIG where it has
 * more than LIMIT bytes.
 */
int srd_file_read(const char *path, size_t limit, char **text, size_t *length,
		  struct srd_error *error);

#endif
