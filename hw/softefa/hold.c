/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_file(const char *folder, const char *name, int flags)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, O_RDWR | O_CLOEXEC | flags, 0600);
}

int soft_hold(const char *folder, const char *name)
{
	int fd = open_file(folder, name, O_CREAT), err = 0;

	if (fd < 0)
		return errno;
	if (flock(fd, LOCK_SH) || mmap(NULL, 1, PROT_NONE, MAP_SHARED, fd, 0) == MAP_FAILED)
		err = errno;
	close(fd);
	return err;
}

bool soft_held(const char *folder, const char *name)
{
	int fd = open_file(folder, name, 0);
	bool held = fd < 0 ? errno != ENOENT : flock(fd, LOCK_EX | LOCK_NB) != 0;

	if (fd >= 0)
		close(fd);
	return held;
}
