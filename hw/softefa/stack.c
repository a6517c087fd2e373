/* SPDX-License-Identifier: MIT */
/*
 * To unwind a stack takes microseconds. So each thread remembers those that it unwound last
 * and where on the stack the return addresses lay: while they still lie there, from the same
 * place, it is the same stack.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "events.h"
#include "stack.h"

#define MAX_FRAMES 24
#define REMEMBERED 8
#define MAX_STACKS 4096 /* of a process, a power of two; what comes later has no number */

struct frames {
	uint32_t count;
	bool whole; /* every return address was found on the stack */
	uintptr_t pc[MAX_FRAMES];
	const uintptr_t *slot[MAX_FRAMES]; /* where pc[i] lies; [0]: nowhere */
	uintptr_t cfa;
};

/* Where soft_stack was called from is looked at first: it is in a line of memory of its own. */
static __thread struct {
	const void *frame[REMEMBERED]; /* NULL: none */
	uint32_t number[REMEMBERED];
	uint32_t next; /* place of the next that is new */
	/* That was asked for: it or the one behind it is again, more often than not. */
	uint32_t last;
	struct frames frames[REMEMBERED];
} remembered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint64_t hash;
	uint32_t number;
} known[MAX_STACKS];
static uint32_t num_known;

static const uintptr_t *find_slot(uintptr_t from, uintptr_t to, uintptr_t pc)
{
	for (const uintptr_t *at = (const uintptr_t *)to - 1; (uintptr_t)at >= from; at--)
		if (*at == pc)
			return at;
	return NULL;
}

static _Unwind_Reason_Code one_frame(struct _Unwind_Context *context, void *to)
{
	struct frames *f = to;
	uintptr_t pc = _Unwind_GetIP(context), cfa = _Unwind_GetCFA(context);

	if (!pc || f->count == MAX_FRAMES)
		return _URC_END_OF_STACK;
	f->pc[f->count] = pc;
	/* In the frame of the function before, at its end. */
	f->slot[f->count] =
		f->count && f->cfa < cfa ? find_slot(f->cfa - sizeof(pc), cfa, pc) : NULL;
	if (f->count && !f->slot[f->count])
		f->whole = false;
	f->cfa = cfa;
	f->count++;
	return _URC_NO_REASON;
}

static bool still_there(const struct frames *f)
{
	for (uint32_t i = 1; i < f->count; i++)
		if (*f->slot[i] != f->pc[i])
			return false;
	return true;
}

static bool is_ours(const Dl_info *info)
{
	return info->dli_fname && strstr(info->dli_fname, "libsrdlab-");
}

/* A program at a fixed address has its own addresses in its tables, a library offsets. */
static uintptr_t offset_in(const Dl_info *info, uintptr_t pc)
{
	const ElfW(Ehdr) *header = info->dli_fbase;

	return header->e_type == ET_EXEC ? pc : pc - (uintptr_t)info->dli_fbase;
}

/* What lies inside the libraries of verbs, below the function that the program called. */
static bool is_inside(const char *file, uintptr_t caller)
{
	Dl_info info;

	return (strstr(file, "libibverbs.") || strstr(file, "libefa.")) &&
	       dladdr((void *)caller, &info) && info.dli_fname &&
	       (strstr(info.dli_fname, "libibverbs.") || strstr(info.dli_fname, "libefa."));
}

static uint32_t describe(const struct frames *f, char *text, size_t size)
{
	size_t at = 0;

	for (uint32_t i = 0; i < f->count && at < size; i++) {
		/* A return address may lie behind the function that called. */
		uintptr_t pc = f->pc[i] - 1;
		Dl_info info;

		if (!dladdr((void *)pc, &info) || is_ours(&info) ||
		    (i + 1 < f->count && is_inside(info.dli_fname, f->pc[i + 1] - 1)))
			continue;
		at += (size_t)snprintf(text + at, size - at, "%s\t0x%lx\t%s\n", info.dli_fname,
				       (unsigned long)offset_in(&info, pc),
				       info.dli_sname ? info.dli_sname : "");
	}
	return (uint32_t)(at < size ? at : size - 1);
}

static uint64_t hash_of(const struct frames *f)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < f->count; i++)
		hash = (hash ^ f->pc[i]) * 1099511628211u;
	return hash;
}

static uint32_t put(const struct frames *f)
{
	char text[8192];
	uint32_t length = describe(f, text, sizeof(text)), number;

	if (soft_lock())
		return 0;
	number = soft_event_stack(text, length);
	soft_unlock();
	return number;
}

static uint32_t number_of(const struct frames *f)
{
	uint64_t hash = hash_of(f);
	uint32_t number = 0, i = (uint32_t)hash & (MAX_STACKS - 1);

	pthread_mutex_lock(&lock);
	while (known[i].number && known[i].hash != hash)
		i = (i + 1) & (MAX_STACKS - 1);
	number = known[i].number;
	if (!number && num_known < MAX_STACKS / 2) {
		number = put(f);
		known[i].hash = hash;
		known[i].number = number;
		num_known++;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

/* Number the stack F of the call of soft_stack from FRAME, and remember it where that is possible. */
__attribute__((noinline)) static uint32_t take_in(const struct frames *f, const void *frame)
{
	uint32_t number = number_of(f), i;

	if (!f->whole)
		return number;
	i = remembered.next++ % REMEMBERED;
	remembered.frame[i] = frame;
	remembered.number[i] = number;
	remembered.frames[i] = *f;
	return number;
}

uint32_t soft_stack(void)
{
	const void *frame = __builtin_frame_address(0);
	struct frames f;

	if (!soft_events_wanted())
		return 0;
	for (uint32_t n = 0, i = remembered.last; n < REMEMBERED; n++, i = (i + 1) % REMEMBERED) {
		if (remembered.frame[i] != frame || !still_there(&remembered.frames[i]))
			continue;
		remembered.last = i;
		return remembered.number[i];
	}
	f.count = 0;
	f.whole = true;
	/* From here, so that each return address of it lies where the next call will look. */
	_Unwind_Backtrace(one_frame, &f);
	return take_in(&f, frame);
}

/* A child's stacks are its own. */
void soft_stack_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(known, 0, sizeof(known));
	memset(remembered.frame, 0, sizeof(remembered.frame));
	num_known = 0;
}
