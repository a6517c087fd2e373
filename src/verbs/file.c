/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "file.h"

#define STEP ((size_t)65536)

/* Up to LIMIT + 1 bytes, so that too many can be told. */
static int read_all(FILE *file, size_t limit, char **text, size_t *length)
{
	size_t got = 0, room = 0;

	do {
		char *moved;

		room = room * 2 + STEP;
		if (room > limit + 1)
			room = limit + 1;
		moved = srd_realloc(*text, room + 1);
		if (!moved)
			return -ENOMEM;
		*text = moved;
		errno = 0;
		got += fread(*text + got, 1, room - got, file);
		if (ferror(file))
			return errno ? -errno : -EIO;
	} while (got == room && got <= limit);
	(*text)[got] = '\0';
	*length = got;
	return got > limit ? -EFBIG : 0;
}

int srd_file_read(const char *path, size_t limit, char **text, size_t *length,
		  struct srd_error *error)
{
	FILE *file = fopen(path, "re");
	int rc;

	*text = NULL;
	*length = 0;
	if (!file)
		return srd_error_set(error, -errno, "%s: cannot be read: %s", path,
				     strerror(errno));
	rc = read_all(file, limit, text, length);
	fclose(file);
	if (!rc)
		return 0;
	srd_free(*text);
	*text = NULL;
	if (rc == -EFBIG)
		return srd_error_set(error, rc, "%s: has more than the %zu bytes that it may have",
				     path, limit);
	return srd_error_set(error, rc, "%s: cannot be read: %s", path, strerror(-rc));
}
