/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/written.h"

static bool is_file(const struct srd_cli_written *file)
{
	return file->path && strcmp(file->path, "-");
}

/* A device, such as /dev/null, takes everything. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) || stat(b, &y))
		return !strcmp(a, b);
	return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ARGUMENT may be FILE:LINE. */
static bool is_read(const char *argument, const char *path)
{
	const char *colon = strrchr(argument, ':');
	char file[4096];

	if (same_file(argument, path))
		return true;
	if (!colon)
		return false;
	snprintf(file, sizeof(file), "%.*s", (int)(colon - argument), argument);
	return same_file(file, path);
}

static int check_one(const struct srd_cli_written *file, const struct srd_cli_list *read,
		     struct srd_error *error)
{
	for (int i = 0; i < read->count; i++)
		if (is_read(read->items[i], file->path))
			return srd_error_set(error, -EINVAL,
					     "%s would write over %s, which this command reads",
					     file->option, file->path);
	return 0;
}

int srd_cli_written_check(const struct srd_cli_written *files, int count,
			  const struct srd_cli_list *read, struct srd_error *error)
{
	int rc = 0;

	for (int i = 0; !rc && i < count; i++) {
		if (!is_file(&files[i]))
			continue;
		rc = check_one(&files[i], read, error);
		for (int k = 0; !rc && k < i; k++)
			if (is_file(&files[k]) && same_file(files[k].path, files[i].path))
				rc = srd_error_set(error, -EINVAL, "%s and %s cannot both go to %s",
						   files[k].option, files[i].option, files[i].path);
	}
	return rc;
}
