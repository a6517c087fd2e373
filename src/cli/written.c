/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/scripts.h"
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

/* One that is there, by whatever name. */
static bool is_script(const char *path)
{
	char *real = realpath(path, NULL);
	bool script = real && srd_cli_is_script(real);

	free(real);
	return script;
}

int srd_cli_written_check(const struct srd_cli_written *files, int count, struct srd_error *error)
{
	for (int i = 0; i < count; i++) {
		if (files[i].path && !is_file(&files[i]) && !files[i].standard)
			return srd_error_set(error, -EINVAL,
					     "%s - : this goes to a file, not to standard output",
					     files[i].option);
		if (!is_file(&files[i]))
			continue;
		if (is_script(files[i].path))
			return srd_error_set(error, -EINVAL, "%s would write over the script %s",
					     files[i].option, files[i].path);
		for (int k = 0; k < i; k++)
			if (is_file(&files[k]) && same_file(files[k].path, files[i].path))
				return srd_error_set(
					error, -EINVAL, "%s and %s cannot both go to %s",
					files[k].option, files[i].option, files[i].path);
	}
	return 0;
}

int srd_cli_written_spare(const struct srd_cli_written *files, int count, const char *read,
			  struct srd_error *error)
{
	for (int i = 0; read && i < count; i++)
		if (is_file(&files[i]) && same_file(read, files[i].path))
			return srd_error_set(error, -EINVAL,
					     "%s would write over %s, which this command reads",
					     files[i].option, files[i].path);
	return 0;
}
