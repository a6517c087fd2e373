/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "group.h"
#include "share.h"

#define ADDRESSES (1ull << 47) /* of a process */
#define MAX_SHARE (1ull << 30) /* bytes of one process */

/* One line of /proc/self/maps. */
struct mapping {
	uint64_t start, end, offset;
	int protection;
	bool private; /* and anonymous, and no stack */
	bool shared;
	bool ours; /* of the file */
};

static int file = -1; /* of this process */
static dev_t file_device;
static ino_t file_inode;
static uint64_t shared_bytes;
static int fork_pipe[2] = {-1, -1};

static bool parse(const char *line, struct mapping *m)
{
	unsigned long long start, end, offset, inode;
	unsigned int major, minor;
	char mode[5];
	int name = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, mode, &offset, &major,
		   &minor, &inode, &name) != 7)
		return false;
	*m = (struct mapping){.start = start, .end = end, .offset = offset};
	m->protection = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) |
			(mode[2] == 'x' ? PROT_EXEC : 0);
	m->private = !strncmp(mode, "rw-p", 4) && !inode &&
		     (!line[name] || line[name] == '\n' || !strncmp(line + name, "[heap]", 6) ||
		      !strncmp(line + name, "[anon:", 6));
	m->shared = mode[3] == 's';
	m->ours = file >= 0 && inode == file_inode && makedev(major, minor) == file_device;
	return true;
}

/* Each mapping of this process, in order, until LOOK says false; whether none did. */
static bool each_mapping(bool (*look)(void *context, const struct mapping *m), void *context)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool go_on = maps != NULL;
	struct mapping m;
	char line[512];

	while (go_on && fgets(line, sizeof(line), maps))
		if (parse(line, &m))
			go_on = look(context, &m);
	if (maps)
		fclose(maps);
	return go_on;
}

static bool file_open(void)
{
	struct rlimit limit;
	char path[192];
	struct stat st;

	if (file >= 0)
		return true;
	/* Beyond that limit a file does not just fail to grow: it ends the program (SIGXFSZ). */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur != RLIM_INFINITY)
		return false;
	soft_share_path(soft.process, path);
	file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return false;
	if (!ftruncate(file, (off_t)ADDRESSES) && !fstat(file, &st)) {
		file_device = st.st_dev;
		file_inode = st.st_ino;
		return true;
	}
	close(file);
	file = -1;
	return false;
}

/* What stands between a range and its being shared. */
struct survey {
	uint64_t start, end;
	uint64_t at;    /* up to here it can be */
	uint64_t fresh; /* bytes that are private */
};

static bool survey_mapping(void *context, const struct mapping *m)
{
	struct survey *s = context;
	bool in_place = m->ours && m->offset == m->start;
	uint64_t part;

	/* A page of the file that was moved elsewhere (mremap): its place is taken. */
	if (m->ours && !in_place && m->offset < s->end &&
	    m->offset + (m->end - m->start) > s->start)
		return false;
	if (m->end <= s->at || s->at == s->end)
		return true;
	if (m->start > s->at || !(in_place || m->private))
		return false;
	part = (m->end < s->end ? m->end : s->end) - s->at;
	s->at += part;
	s->fresh += in_place ? 0 : part;
	return true;
}

static bool one_thread(void)
{
	struct stat st;

	return !stat("/proc/self/task", &st) && st.st_nlink == 3;
}

static bool room_for(uint64_t bytes)
{
	struct statvfs fs;

	/* As much again stays for the queues, which have no other way. */
	return shared_bytes + bytes <= MAX_SHARE && !fstatvfs(file, &fs) &&
	       (uint64_t)fs.f_bavail * fs.f_frsize / 2 >= bytes;
}

/* The pages of [START, END) become those of the file. No handler may write to them now. */
static bool replace(uint64_t start, uint64_t end, int protection)
{
	void *at = (void *)(uintptr_t)start;

	for (uint64_t done = start; done < end;) {
		ssize_t n = pwrite(file, (void *)(uintptr_t)done, end - done, (off_t)done);

		if (n <= 0 && errno != EINTR)
			goto undo;
		done += n > 0 ? (uint64_t)n : 0;
	}
	if (mmap(at, end - start, protection, MAP_SHARED | MAP_FIXED, file, (off_t)start) ==
	    MAP_FAILED)
		goto undo;
	shared_bytes += end - start;
	return true;
undo:
	fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
		  (off_t)(end - start));
	return false;
}

/* Replace the first private part of a range, and stop there: that changes the mappings. */
static bool replace_first(void *context, const struct mapping *m)
{
	struct survey *s = context;
	uint64_t start = m->start > s->start ? m->start : s->start;
	uint64_t end = m->end < s->end ? m->end : s->end;

	if (start >= end || !m->private)
		return true;
	s->fresh = replace(start, end, m->protection) ? end - start : 0;
	return false;
}

/* False: at least a part of it is not shared. */
static bool share(uint64_t start, uint64_t end)
{
	struct survey s = {.start = start, .end = end, .at = start};
	sigset_t all, before;

	if (end > ADDRESSES || !file_open() || !each_mapping(survey_mapping, &s) || s.at != end)
		return false;
	if (!s.fresh)
		return true;
	if (!one_thread() || !room_for(s.fresh))
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!each_mapping(replace_first, &s) && s.fresh)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s.fresh;
}

void soft_share(uint64_t addr, uint64_t length)
{
	struct soft_ranges *ranges = &soft.group->process[soft.process].shared;
	uint64_t start = addr & ~(uint64_t)(SOFT_PAGE - 1);
	uint64_t end = (addr + length + SOFT_PAGE - 1) & ~(uint64_t)(SOFT_PAGE - 1);
	int saved = errno;

	if (!soft.shares || !length || end <= start)
		return;
	/* What was shared there may be gone, with other memory in its place. */
	soft_ranges_remove(ranges, start, end);
	if (soft_ranges_fit(ranges) && share(start, end))
		soft_ranges_add(ranges, start, end);
	errno = saved;
}

struct where {
	uint64_t addr;
	bool private;
};

static bool find(void *context, const struct mapping *m)
{
	struct where *where = context;

	if (where->addr >= m->end)
		return true;
	where->private = where->addr >= m->start && !m->shared;
	return false;
}

bool soft_share_is_private(uint64_t addr)
{
	struct where where = {.addr = addr};

	each_mapping(find, &where);
	return where.private;
}

/* ---- fork ---- */

/* The first mapping of the file becomes private memory with the same bytes. */
static bool privatise_first(void *context, const struct mapping *m)
{
	uint64_t length = m->end - m->start;
	void *to = (void *)(uintptr_t)m->start, *copy;

	if (!m->ours)
		return true;
	copy = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return true; /* it shares the page with its parent: nothing better is left */
	mprotect(to, length, PROT_READ);
	memcpy(copy, to, length);
	mprotect(copy, length, m->protection);
	mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	return false;
}

void soft_share_fork_prepare(void)
{
	if (!shared_bytes || pipe2(fork_pipe, O_CLOEXEC))
		fork_pipe[0] = fork_pipe[1] = -1;
}

void soft_share_fork_parent(void)
{
	char byte;

	if (fork_pipe[0] < 0)
		return;
	close(fork_pipe[1]);
	/* Until its last copy is closed: the child is done, or there is none. */
	while (read(fork_pipe[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(fork_pipe[0]);
}

void soft_share_fork_child(void)
{
	while (shared_bytes && !each_mapping(privatise_first, NULL))
		;
	if (file >= 0)
		close(file);
	file = -1;
	shared_bytes = 0;
	if (fork_pipe[0] < 0)
		return;
	close(fork_pipe[0]);
	close(fork_pipe[1]);
}
