/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "folder.h"
#include "hold.h"

#define MAX_GROUP 40         /* bytes of a name */
#define ROOM      (1u << 20) /* bytes that a small program takes */

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

static int open_lock(const char *path)
{
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* Remove the folder if no `srdlab exec` has it, and unless ANYWAY no program either. */
static void sweep_one(const char *path, bool anyway)
{
	if (!soft_held(path, SOFT_LAUNCHED) && (anyway || !soft_held(path, SOFT_HELD)))
		soft_folder_remove(path);
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
			sweep_one(path, false);
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

static void prefix_of(char prefix[32])
{
	snprintf(prefix, 32, "srdlab-%u-", (unsigned int)getuid());
}

/* Folders are neither made nor removed by others from here until soft_folder_ready. */
static int lock_base(struct soft_folder *folder)
{
	char prefix[32], path[128];

	prefix_of(prefix);
	snprintf(path, sizeof(path), "%s/%slock", base_folder(), prefix);
	folder->base = open_lock(path);
	return folder->base < 0 || flock(folder->base, LOCK_EX) ? -errno : 0;
}

static bool has_room(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) || (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM;
}

static int enter(const char *group, struct soft_folder *folder)
{
	char prefix[32], path[128];
	int err = lock_base(folder);

	if (err)
		return err;
	prefix_of(prefix);
	sweep(base_folder(), prefix);
	err = make(base_folder(), prefix, group, folder);
	/* A page that is not there when it is first written to ends whoever writes (SIGBUS). */
	if (!err && folder->fresh && !has_room(folder->path)) {
		rmdir(folder->path);
		err = -ENOSPC;
	}
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/" SOFT_LAUNCHED, folder->path);
	folder->lock = open_lock(path);
	if (folder->lock < 0 || flock(folder->lock, LOCK_SH))
		return -errno;
	err = folder->fresh ? soft_hold(folder->path, SOFT_FIRST) : 0;
	return -err;
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

void soft_folder_leave(struct soft_folder *folder, bool anyway)
{
	if (folder->lock < 0)
		return;
	lock_base(folder);
	close(folder->lock);
	folder->lock = -1;
	sweep_one(folder->path, anyway);
	soft_folder_ready(folder);
}
