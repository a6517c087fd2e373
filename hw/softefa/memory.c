/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "group.h"
#include "guard.h"
#include "memory.h"
#include "share.h"

#define BOUNCE 65536 /* bytes between two processes neither of which is ours */

enum way { READ, WRITE };

/* The first reason why memory is out of reach is the one that the user is told. */
__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
	va_list args;

	if (!soft.group || soft.group->complaint[0])
		return;
	va_start(args, format);
	vsnprintf(soft.group->complaint, sizeof(soft.group->complaint), format, args);
	va_end(args);
}

/*
 * Where process_vm_readv is forbidden by a filter of system calls, this is mostly not. WHY is
 * its errno.
 */
static bool copy_through_file(enum way way, int32_t pid, uint8_t *ours, uint64_t theirs,
			      size_t length, int why)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		complain("this system does not let processes reach each other's memory "
			 "(process_vm_readv: %s; %s: %s): what passes between them fails as if it "
			 "were not there",
			 strerror(why), path, strerror(errno));
		return false;
	}
	while (length) {
		ssize_t n = way == READ ? pread(fd, ours, length, (off_t)theirs)
					: pwrite(fd, ours, length, (off_t)theirs);

		if (n <= 0)
			break;
		ours += n;
		theirs += (uint64_t)n;
		length -= (size_t)n;
	}
	close(fd);
	return !length;
}

static bool forbidden(int err)
{
	return err == EPERM || err == ENOSYS || err == EACCES;
}

static ssize_t copy_by_kernel(enum way way, int32_t pid, void *ours, uint64_t theirs, size_t length)
{
	struct iovec here = {ours, length};
	struct iovec there = {(void *)(uintptr_t)theirs, length};

	return way == READ ? process_vm_readv(pid, &here, 1, &there, 1, 0)
			   : process_vm_writev(pid, &here, 1, &there, 1, 0);
}

/* The kernel copies between OURS here and THEIRS of OWNER; whether all of it went. */
static bool copy(enum way way, uint32_t owner, void *ours, uint64_t theirs, size_t length)
{
	const struct soft_process *process = &soft.group->process[owner];
	ssize_t n;
	bool adopted = false;

	if (!length)
		return true;
	/* There its number may be that of another process here. */
	if (process->namespace != soft.namespace) {
		complain("processes of different PID namespaces reach each other's memory only "
			 "where it is shared (see --memory): what passes between them otherwise "
			 "fails as if it were not there");
		return false;
	}
	do
		n = copy_by_kernel(way, process->pid, ours, theirs, length);
	while (n < 0 && errno == ESRCH && !adopted && (adopted = soft_process_adopt(owner)));
	if (n < 0 && forbidden(errno))
		return copy_through_file(way, process->pid, ours, theirs, length, errno);
	return n >= 0 && (size_t)n == length;
}

/* In our own process; where the kernel must not, a fault is caught instead. */
static bool copy_own(enum way way, void *ours, uint64_t theirs, size_t length)
{
	void *there = (void *)(uintptr_t)theirs;
	ssize_t n = length ? copy_by_kernel(way, getpid(), ours, theirs, length) : 0;

	if (n < 0 && forbidden(errno))
		return way == READ ? soft_guarded_copy(ours, there, length)
				   : soft_guarded_copy(there, ours, length);
	return n >= 0 && (size_t)n == length;
}

bool soft_user_read(void *to, uint64_t from, size_t length)
{
	return copy_own(READ, to, from, length);
}

bool soft_user_write(uint64_t to, const void *from, size_t length)
{
	return copy_own(WRITE, (void *)(uintptr_t)from, to, length);
}

/* Mapped or not: what pinning it would find. */
bool soft_memory_present(void *context, uint32_t owner, uint64_t addr, uint64_t length)
{
	unsigned char pages[4096];
	uint64_t at = addr & ~(uint64_t)(SOFT_PAGE - 1);

	while (at < addr + length) {
		uint64_t part = addr + length - at;

		if (part > sizeof(pages) * SOFT_PAGE)
			part = sizeof(pages) * SOFT_PAGE;
		if (mincore((void *)(uintptr_t)at, part, pages))
			return false;
		at += part;
	}
	return true;
}

/* Whether LENGTH bytes of OWNER can be read: which side it was that failed. */
static bool readable(uint32_t owner, uint64_t addr, uint64_t length)
{
	uint8_t byte;

	for (uint64_t at = addr; at - addr < length; at = (at | (SOFT_PAGE - 1)) + 1)
		if (!copy(READ, owner, &byte, at, 1))
			return false;
	return true;
}

static bool copy_foreign(uint32_t to_owner, uint64_t to, uint32_t from_owner, uint64_t from,
			 uint64_t length)
{
	static __thread uint8_t bounce[BOUNCE];

	while (length) {
		uint64_t part = length < BOUNCE ? length : BOUNCE;

		if (!copy(READ, from_owner, bounce, from, part) ||
		    !copy(WRITE, to_owner, bounce, to, part))
			return false;
		to += part;
		from += part;
		length -= part;
	}
	return true;
}

/* Where memory of OWNER lies in ours; NULL: only the kernel can reach it. */
static void *near(uint32_t owner, uint64_t addr, uint64_t length)
{
	return owner == soft.process ? (void *)(uintptr_t)addr : soft_view(owner, addr, length);
}

enum srd_memory_side soft_memory_copy(void *context, uint32_t to_owner, uint64_t to,
				      uint32_t from_owner, uint64_t from, uint64_t length)
{
	void *target = near(to_owner, to, length), *source = near(from_owner, from, length);
	bool done;

	if (target && source)
		done = soft_guarded_copy(target, source, length);
	else if (from_owner == soft.process)
		done = copy(WRITE, to_owner, (void *)(uintptr_t)from, to, length);
	else if (to_owner == soft.process)
		done = copy(READ, from_owner, (void *)(uintptr_t)to, from, length);
	else
		done = copy_foreign(to_owner, to, from_owner, from, length);
	if (done)
		return SRD_MEMORY_OK;
	return readable(from_owner, from, length) ? SRD_MEMORY_NO_TARGET : SRD_MEMORY_NO_SOURCE;
}

enum srd_memory_side soft_memory_store(void *context, uint32_t owner, uint64_t addr,
				       const void *bytes, size_t length)
{
	void *target = near(owner, addr, length);
	bool done = target ? soft_guarded_copy(target, bytes, length)
			   : copy(WRITE, owner, (void *)(uintptr_t)bytes, addr, length);

	return done ? SRD_MEMORY_OK : SRD_MEMORY_NO_TARGET;
}
