/* SPDX-License-Identifier: MIT */
/* The device's counters in sysfs, by each of the ways in which a program may come to them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "end.h"

#define NAME   "rdma_read_wrs"
#define FOLDER "class/infiniband/efa_0/ports/1"

int __open_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);

static char at[512]; /* of the folder with counters */

/* What there is to be read from FD, a number. */
static long number(int fd)
{
	char text[32] = "";

	must(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	must(!close(fd));
	must(text[strlen(text) - 1] == '\n');
	return strtol(text, NULL, 10);
}

static long number_of(FILE *file)
{
	long value = -1;

	must(file && fscanf(file, "%ld", &value) == 1);
	must(!fclose(file));
	return value;
}

static const char *path_of(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", at, name);
	return path;
}

static int folder_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	must(fd >= 0);
	return fd;
}

static long by_open(void)
{
	return number(open(path_of(NAME), O_RDONLY));
}

static long by_open_2(void)
{
	return number(__open_2(path_of(NAME), O_RDONLY));
}

static long by_openat(void)
{
	int folder = folder_of(at);
	long value = number(openat(folder, NAME, O_RDONLY));

	must(!close(folder));
	return value;
}

static long by_openat_2(void)
{
	int folder = folder_of(at);
	long value = number(__openat_2(folder, "./" NAME, O_RDONLY));

	must(!close(folder));
	return value;
}

static long by_openat_absolute(void)
{
	return number(openat(-1, path_of(NAME), O_RDONLY));
}

static long by_opendir(void)
{
	DIR *folder = opendir(at);
	long value = -1;

	must(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		if (!strcmp(entry->d_name, NAME))
			value = number(openat(dirfd(folder), entry->d_name, O_RDONLY));
	must(!closedir(folder));
	return value;
}

/* From the top, folder by folder. */
static long by_walk(void)
{
	int top = folder_of(getenv("SYSFS_PATH")), port = openat(top, FOLDER, O_RDONLY);
	long value;

	must(port >= 0);
	value = number(openat(port, "../1/hw_counters/" NAME, O_RDONLY));
	must(!close(top) && !close(port));
	return value;
}

static long by_chdir(void)
{
	must(!chdir(at));
	return number(open(NAME, O_RDONLY));
}

static long by_fopen(void)
{
	return number_of(fopen(path_of(NAME), "r"));
}

/* Behind by_chdir. */
static long by_fopen_relative(void)
{
	return number_of(fopen("../hw_counters/" NAME, "r"));
}

int main(void)
{
	static long (*const ways[])(void) = {
		by_open,    by_open_2, by_openat, by_openat_2, by_openat_absolute,
		by_opendir, by_walk,   by_chdir,  by_fopen,    by_fopen_relative,
	};
	static uint8_t memory[4096];
	static struct end end;
	struct end_name name;
	int fd;

	alarm(60);
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	snprintf(at, sizeof(at), "%s/" FOLDER "/hw_counters", getenv("SYSFS_PATH"));
	must(by_open() == 0);
	/* It has grown each time, and so is not what was read before. */
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		must(!end_read(&end, &name, 2048, 64));
		if (ways[i]() != (long)i + 1) {
			fprintf(stderr, "way %zu does not see the last of %zu reads\n", i, i + 1);
			return 1;
		}
	}
	/* What is none stays what it is. */
	must(open("no_counter", O_RDONLY) < 0 && errno == ENOENT);
	must(openat(-1, NAME, O_RDONLY) < 0 && errno == EBADF);
	fd = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	must(fd < 0 || !close(fd));
	/* A device is one by an absolute path with openat as well. */
	fd = openat(-1, "/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	must(fd >= 0 && !close(fd));
	return 0;
}
