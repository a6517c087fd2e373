/* SPDX-License-Identifier: MIT */
#include <errno.h>
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

/* The kernel copies between OURS here and THEIRS in PID; whether all of it went. */
static bool copy(enum way way, int32_t pid, void *ours, uint64_t theirs, size_t length)
{
	struct iovec here = {ours, length};
	struct iovec there = {(void *)(uintptr_t)theirs, length};
	ssize_t n;

	if (!length)
		return true;
	n = way == READ ? process_vm_readv(pid, &here, 1, &there, 1, 0)
			: process_vm_writev(pid, &here, 1, &there, 1, 0);
	if (n < 0 && (errno == EPERM || errno == ENOSYS) && soft.group && !soft.group->complaint[0])
		snprintf(soft.group->complaint, sizeof(soft.group->complaint),
			 "this system does not let processes copy from one to another "
			 "(process_vm_readv: %s): what passes between them fails as if the memory "
			 "were not there",
			 strerror(errno));
	return n >= 0 && (size_t)n == length;
}

bool soft_user_read(void *to, uint64_t from, size_t length)
{
	return copy(READ, getpid(), to, from, length);
}

bool soft_user_write(uint64_t to, const void *from, size_t length)
{
	return copy(WRITE, getpid(), (void *)(uintptr_t)from, to, length);
}

static int32_t pid_of(uint32_t owner)
{
	return soft.group->process[owner].pid;
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
		if (!copy(READ, pid_of(owner), &byte, at, 1))
			return false;
	return true;
}

static bool copy_foreign(uint32_t to_owner, uint64_t to, uint32_t from_owner, uint64_t from,
			 uint64_t length)
{
	static __thread uint8_t bounce[BOUNCE];

	while (length) {
		uint64_t part = length < BOUNCE ? length : BOUNCE;

		if (!copy(READ, pid_of(from_owner), bounce, from, part) ||
		    !copy(WRITE, pid_of(to_owner), bounce, to, part))
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
		done = copy(WRITE, pid_of(to_owner), (void *)(uintptr_t)from, to, length);
	else if (to_owner == soft.process)
		done = copy(READ, pid_of(from_owner), (void *)(uintptr_t)to, from, length);
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
			   : copy(WRITE, pid_of(owner), (void *)(uintptr_t)bytes, addr, length);

	return done ? SRD_MEMORY_OK : SRD_MEMORY_NO_TARGET;
}
