/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"

#define MAX_GROUP 40 /* bytes of a name */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	remove(path);
	return 0;
}

void soft_folder_remove(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Memory, where it can be had: files that many processes map are not for a disk. */
static const char *base_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (!access("/dev/shm", W_OK | X_OK))
		return "/dev/shm";
	return tmp && strlen(tmp) < 32 ? tmp : "/tmp";
}

static int open_lock(const char *path, int flags)
{
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
}

/* Remove the folder if nobody holds it. */
static void sweep_one(const char *path)
{
	char lock[128];
	int fd;

	snprintf(lock, sizeof(lock), "%s/lock", path);
	fd = open(lock, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		soft_folder_remove(path);
	close(fd);
}

static void sweep(const char *base, const char *prefix)
{
	DIR *dir = opendir(base);
	struct dirent *entry;
	char path[96];

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
		    snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) < (int)sizeof(path))
			sweep_one(path);
	closedir(dir);
}

static int make(const char *base, const char *prefix, const char *group, struct soft_folder *folder)
{
	size_t size = sizeof(folder->path);

	if (!group) {
		snprintf(folder->path, size, "%s/%sXXXXXX", base, prefix);
		folder->fresh = true;
		return mkdtemp(folder->path) ? 0 : -errno;
	}
	snprintf(folder->path, size, "%s/%sgroup-%s", base, prefix, group);
	folder->fresh = !mkdir(folder->path, 0700);
	return folder->fresh || errno == EEXIST ? 0 : -errno;
}

static int enter(const char *group, struct soft_folder *folder)
{
	const char *base = base_folder();
	char prefix[32], path[128];
	int err;

	snprintf(prefix, sizeof(prefix), "srdlab-%u-", (unsigned int)getuid());
	snprintf(path, sizeof(path), "%s/%slock", base, prefix);
	folder->base = open_lock(path, 0);
	if (folder->base < 0 || flock(folder->base, LOCK_EX))
		return -errno;
	sweep(base, prefix);
	err = make(base, prefix, group, folder);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/lock", folder->path);
	folder->lock = open_lock(path, 0);
	return folder->lock < 0 || flock(folder->lock, LOCK_SH) ? -errno : 0;
}

int soft_folder_enter(const char *group, struct soft_folder *folder, struct srd_error *error)
{
	int err;

	*folder = (struct soft_folder){.base = -1, .lock = -1};
	if (group && (!*group || strlen(group) > MAX_GROUP || strchr(group, '/')))
		return srd_error_set(
			error, -EINVAL,
			"\"%s\" is no name for a group: one to %d characters, and no /", group,
			MAX_GROUP);
	err = enter(group, folder);
	if (!err)
		return 0;
	soft_folder_ready(folder);
	return srd_error_set(error, err, "no folder for the device can be made in %s: %s",
			     base_folder(), strerror(-err));
}

void soft_folder_ready(struct soft_folder *folder)
{
	if (folder->base >= 0)
		close(folder->base);
	folder->base = -1;
}

void soft_folder_leave(struct soft_folder *folder)
{
	if (folder->lock < 0)
		return;
	close(folder->lock);
	folder->lock = -1;
	sweep_one(folder->path);
}
