/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ask.h"
#include "call.h"
#include "command.h"
#include "decide.h"
#include "engine.h"
#include "events.h"
#include "files.h"
#include "group.h"
#include "hold.h"
#include "names.h"
#include "share.h"
#include "stack.h"
#include "tell.h"
#include "wrap.h"

#define MAX_FDS 4096

/* What a descriptor is; by number. */
static struct entry {
	uint32_t file;    /* of a device; 0: none */
	uint32_t channel; /* object; 0: none */
	uint16_t number;
	uint16_t host;  /* counted from the group's first one */
	bool inherited; /* from a fork: that one gives it back */
	ino_t inode;    /* of what was opened: it may be closed without a word to us */
} fds[MAX_FDS];

static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;

int soft_device_of_path(const char *path)
{
	const char *folder = getenv(SOFT_ENV_FOLDER), *count = getenv(SOFT_ENV_DEVICES);
	size_t n = sizeof(SOFT_DEVICE_PATH) - 1;
	char *end;
	long number;

	if (!folder || !count || strncmp(path, SOFT_DEVICE_PATH, n) || !path[n])
		return -1;
	number = strtol(path + n, &end, 10);
	return *end || number < 0 || number >= atol(count) ? -1 : (int)number;
}

void soft_device_stat(int number, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFCHR | 0666;
	st->st_nlink = 1;
	st->st_rdev = makedev(SOFT_DEVICE_MAJOR, SOFT_DEVICE_MINOR + number);
}

uint32_t soft_first_host(void)
{
	const char *first = getenv(SOFT_ENV_FIRST_HOST);

	return first ? (uint32_t)atol(first) : 0;
}

uint32_t soft_host_of_fd(int fd)
{
	return soft_first_host() + fds[fd].host;
}

static uint32_t next_host;

void soft_device_next(uint32_t host)
{
	next_host = host;
}

/*
 * A child of fork has its parent's descriptors and queues, as it has in the kernel, which asks
 * nobody for their process: ib_uverbs_ioctl goes by the file, rdma_umap_open gives the child the
 * doorbells. But its memory is another, and what the parent registered is the parent's.
 */
static void forked(void)
{
	soft_share_fork_child();
	soft_stack_forked();
	for (int fd = 0; fd < MAX_FDS; fd++)
		fds[fd].inherited = true;
	if (soft.process)
		soft.parent = soft.process;
	soft.process = 0;
	pthread_mutex_init(&attach_lock, NULL);
}

/* The folder stays as long as anybody is in the group, be it without `srdlab exec`. */
__attribute__((constructor)) static void begins(void)
{
	const char *folder = getenv(SOFT_ENV_FOLDER);

	if (folder)
		soft_hold(folder, SOFT_HELD);
}

void soft_tell_lost(void)
{
	static bool told;
	const char *folder = getenv(SOFT_ENV_FOLDER);
	char path[192];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/rings", folder);
	if (!access(path, R_OK | W_OK) || __atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		return;
	dprintf(STDERR_FILENO,
		"srdlab: process %d, of user %u, finds no device: its folder %s cannot be used: "
		"%s; "
		"the srdlab exec that made it has to live, be of the same user, and see the same "
		"files\n",
		(int)getpid(), (unsigned int)geteuid(), folder, strerror(errno));
}

static void tell_orphaned(void)
{
	if (!soft_held(soft.folder, SOFT_LAUNCHED))
		dprintf(STDERR_FILENO,
			"srdlab: process %d opens a device whose srdlab exec was killed: it works "
			"in calls of its programs only, so that one may wait for ever for an event "
			"that only time would bring\n",
			(int)getpid());
}

/* What is not destroyed by now never is. One that is killed does not come here. */
__attribute__((destructor)) static void exits(void)
{
	if (soft.process)
		soft.group->process[soft.process].exits = true;
}

/* AddressSanitizer reckons with pages of its own, that turn to zeros when it gives them back. */
static bool sanitized(void)
{
	return dlsym(RTLD_DEFAULT, "__asan_init");
}

/* libibverbs says no more than that there is no device. */
static void tell_unattached(int err)
{
	static bool told;
	const char *why = err == ENOMEM ? "it takes some 16 GiB of address space (RLIMIT_AS)"
			  : err == EMFILE
				  ? "255 processes of a group are the most, and each needs a "
				    "descriptor for a moment (RLIMIT_NOFILE)"
			  : err == EPROTO ? "its srdlab exec is of another version"
					  : strerror(err);

	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		dprintf(STDERR_FILENO, "srdlab: process %d cannot use its devices: %s\n",
			(int)getpid(), why);
}

int soft_attach(void)
{
	int err = 0;

	pthread_mutex_lock(&attach_lock);
	if (!soft.group) {
		err = -soft_group_attach(getenv(SOFT_ENV_FOLDER));
		if (!err)
			pthread_atfork(soft_share_fork_prepare, soft_share_fork_parent, forked);
	}
	if (!err && !soft.process) {
		err = soft_lock();
		if (!err)
			err = soft_turn(SOFT_ENTER, 0);
		if (!err) {
			err = soft_process_enter();
			soft.shares = !err && !soft.group->copied && !sanitized();
			soft_turn_over();
			soft_unlock();
		}
		if (!err)
			tell_orphaned();
	}
	pthread_mutex_unlock(&attach_lock);
	if (err)
		tell_unattached(err);
	return err;
}

void soft_join(void)
{
	if (soft.group && !soft.process)
		soft_attach();
}

static uint32_t last_ours; /* that soft_file_is_ours found */

bool soft_file_is_ours(uint32_t file)
{
	if (__atomic_load_n(&last_ours, __ATOMIC_RELAXED) == file)
		return true;
	for (int fd = 0; fd < MAX_FDS; fd++)
		if (fds[fd].file == file) {
			__atomic_store_n(&last_ours, file, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return soft_real_fstat(fd, &st) ? 0 : st.st_ino;
}

int soft_device_open(int number)
{
	uint32_t host = next_host ? next_host : (uint32_t)number;
	char path[192];
	int err = soft_attach(), fd;

	if (err) {
		errno = err;
		return -1;
	}
	snprintf(path, sizeof(path), "%s/rings", soft.folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	err = fd < MAX_FDS ? soft_lock() : EMFILE;
	if (!err)
		err = soft_turn(SOFT_COMMAND, SOFT_COMMAND_OPEN + (uint32_t)number);
	if (!err) {
		err = srd_model_device_open(&soft.model, soft_first_host() + host);
		if (!err) {
			fds[fd] = (struct entry){.file = ++soft.group->next_file,
						 .number = (uint16_t)number,
						 .host = (uint16_t)host,
						 .inode = inode_of(fd)};
			soft_context_opened(fds[fd].file, soft_host_of_fd(fd));
			soft_ask_device(soft_host_of_fd(fd));
		}
		soft_turn_over();
		soft_unlock();
	}
	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

/* What FD is, NULL: none of ours, or none any more. */
static struct entry *entry_of(int fd)
{
	struct entry *entry;

	if (fd < 0 || fd >= MAX_FDS || (!fds[fd].file && !fds[fd].channel))
		return NULL;
	entry = &fds[fd];
	/* Closed by dup2, close_range or a system call of its own, and something else now. */
	if (inode_of(fd) == entry->inode)
		return entry;
	soft_fd_close(fd);
	return NULL;
}

int soft_device_of_fd(int fd)
{
	const struct entry *entry = entry_of(fd);

	return entry && entry->file ? entry->number : -1;
}

uint32_t soft_file_of_fd(int fd)
{
	return fd >= 0 && fd < MAX_FDS ? fds[fd].file : 0;
}

struct soft_object *soft_channel_of(int fd)
{
	const struct entry *entry = entry_of(fd);

	return entry && entry->channel && soft_object(entry->channel)->kind == SOFT_CHANNEL
		       ? soft_object(entry->channel)
		       : NULL;
}

void soft_channel_note(int fd, struct soft_object *channel)
{
	if (fd < MAX_FDS)
		fds[fd] = (struct entry){.channel = soft_handle(channel), .inode = inode_of(fd)};
}

/* While the program has its queues mapped the kernel keeps it, and so its objects. */
static bool is_mapped(uint32_t file)
{
	for (uint32_t i = 1; i <= soft.group->objects_high; i++)
		if (soft_object(i)->file == file &&
		    (soft_object(i)->kind == SOFT_QP || soft_object(i)->kind == SOFT_CQ))
			return true;
	return false;
}

void soft_fd_close(int fd)
{
	uint32_t file, host, line;
	bool inherited;

	if (fd < 0 || fd >= MAX_FDS)
		return;
	file = fds[fd].file;
	host = soft_host_of_fd(fd);
	inherited = fds[fd].inherited;
	fds[fd] = (struct entry){0};
	__atomic_store_n(&last_ours, 0, __ATOMIC_RELAXED);
	if (!file || inherited || soft_file_is_ours(file))
		return;
	line = soft_stack();
	if (soft_lock() || soft_turn(SOFT_COMMAND, SOFT_COMMAND_CLOSE))
		return;
	if (soft_events_wanted())
		soft_tell_close(file, host, line);
	soft_context_closed(file);
	if (!is_mapped(file))
		soft_file_release(file);
	soft_turn_over();
	soft_unlock();
}

void soft_fd_copy(int from, int to)
{
	const struct entry *entry = entry_of(from);

	if (to < 0 || to >= MAX_FDS || to == from)
		return;
	if (fds[to].file || fds[to].channel)
		soft_fd_close(to);
	if (entry)
		fds[to] = *entry;
}

int soft_ioctl(int fd, void *argument)
{
	struct soft_call call = {.file = fds[fd].file, .host = soft_host_of_fd(fd)};
	struct soft_tale tale = {.line = soft_stack()};
	int err = soft_call_read(&call, (uintptr_t)argument);

	if (!err && !soft.process)
		err = soft_attach();
	if (!err)
		err = soft_lock();
	if (!err)
		err = soft_turn(SOFT_COMMAND, (uint32_t)call.object << 16 | call.method);
	if (!err) {
		if (soft_events_wanted())
			soft_tell_before(&call, &tale);
		err = soft_command(&call);
		if (soft_events_wanted())
			soft_tell(&call, &tale, err);
		soft_turn_over();
		soft_unlock();
		soft_supervisor_wake();
	}
	if (!err)
		return 0;
	errno = err;
	return -1;
}
