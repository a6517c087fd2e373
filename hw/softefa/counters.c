/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"
#include "group.h"
#include "names.h"

/* Cheap, as every file that the program opens comes here. */
static bool is_counter(const char *name)
{
	const char *counter;

	for (uint32_t i = 0; (counter = srd_model_counter_name(i)); i++)
		if (!strcmp(name, counter))
			return true;
	return false;
}

/* The real path of what openat would find. */
static bool find(int folder, const char *path, char found[PATH_MAX])
{
	char below[PATH_MAX];

	if (*path == '/' || folder == AT_FDCWD)
		return realpath(path, found);
	return snprintf(below, sizeof(below), "/proc/self/fd/%d/%s", folder, path) < PATH_MAX &&
	       realpath(below, found);
}

/* In place, where others may have it open; past our own open, which comes back here. */
static void put(const char *path, uint64_t value)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);

	if (fd < 0)
		return;
	/* It never gets shorter. Where it fails the file stays as it was. */
	(void)!pwrite(fd, text, (size_t)n, 0);
	syscall(SYS_close, fd);
}

void soft_counter_refresh(int folder, const char *path)
{
	const char *tree = getenv("SYSFS_PATH"), *name = strrchr(path, '/');
	char root[PATH_MAX], found[PATH_MAX];
	unsigned int device;
	uint64_t value;
	size_t n;
	int end = 0;

	if (!tree || !is_counter(name ? name + 1 : path) || !realpath(tree, root) ||
	    !find(folder, path, found))
		return;
	n = strlen(root);
	if (strncmp(found, root, n) != 0 ||
	    sscanf(found + n, "/class/infiniband/" SOFT_DEVICE_NAME "%u/ports/1/hw_counters/%n",
		   &device, &end) != 1 ||
	    !end || soft_attach() || soft_lock())
		return;
	if (!srd_model_counter(&soft.model, soft_first_host() + device, found + n + end, &value))
		put(found, value);
	soft_unlock();
}
