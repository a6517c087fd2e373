/* SPDX-License-Identifier: MIT */
/*
 * Memory that a program gives back while it is registered: nobody but the allocator is told
 * of that. What is freed is nearly always elsewhere, which one look at a table tells.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <uthash.h>

/* The header has macros of these names. */
#include "observer.h"
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define GRANULE   16 /* bits of an address */
#define NUM_COUNT 65536

struct region {
	const struct ibv_mr *mr;
	uintptr_t addr;
	size_t length;
	int fd;
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Reached without a call of the library that a sanitizer stands in for, too early. */
#define EARLY __attribute__((tls_model("initial-exec")))
/* This thread holds the lock, or tells: its own frees are nothing. */
static __thread bool inside EARLY;
static struct region *regions;
static _Atomic uint32_t num_regions;
static _Atomic uint32_t count[NUM_COUNT]; /* of regions, by granule of their addresses */

void observer_memory_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	inside = false;
}

static void count_add(uintptr_t addr, size_t length, uint32_t change)
{
	size_t first = addr >> GRANULE, num = ((addr + length - 1) >> GRANULE) - first + 1;

	if (num > NUM_COUNT)
		num = NUM_COUNT;
	for (size_t i = 0; i < num; i++)
		count[(first + i) & (NUM_COUNT - 1)] += change;
}

static bool may_be_registered(uintptr_t addr, size_t length)
{
	size_t first = addr >> GRANULE, num = ((addr + length - 1) >> GRANULE) - first + 1;

	if (num > NUM_COUNT)
		return true;
	for (size_t i = 0; i < num; i++)
		if (count[(first + i) & (NUM_COUNT - 1)])
			return true;
	return false;
}

static struct ibv_mr *registered(struct ibv_mr *mr, uintptr_t addr, size_t length)
{
	struct region *region =
		mr && length && observer_recorder() ? calloc(1, sizeof(*region)) : NULL;

	if (!region)
		return mr;
	*region = (struct region){
		.mr = mr, .addr = addr, .length = length, .fd = mr->context->cmd_fd};
	inside = true;
	pthread_mutex_lock(&lock);
	HASH_ADD_PTR(regions, mr, region);
	pthread_mutex_unlock(&lock);
	inside = false;
	count_add(addr, length, 1);
	num_regions++;
	return mr;
}

static void forget(const struct ibv_mr *mr)
{
	struct region *region;

	inside = true;
	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(regions, &mr, region);
	if (region)
		HASH_DEL(regions, region);
	pthread_mutex_unlock(&lock);
	inside = false;
	if (!region)
		return;
	count_add(region->addr, region->length, (uint32_t)-1);
	num_regions--;
	free(region);
}

static int region_at(uintptr_t addr, size_t length)
{
	struct region *region, *next;
	int fd = -1;

	pthread_mutex_lock(&lock);
	HASH_ITER(hh, regions, region, next)
	if (region->addr < addr + length && addr < region->addr + region->length)
		fd = region->fd;
	pthread_mutex_unlock(&lock);
	return fd;
}

static void given_back(const void *at, size_t length)
{
	const struct srd_recorder *recorder;
	int fd;

	if (inside || !length || !may_be_registered((uintptr_t)at, length))
		return;
	inside = true;
	recorder = observer_recorder();
	fd = recorder ? region_at((uintptr_t)at, length) : -1;
	if (fd >= 0)
		recorder->freed(fd, (uintptr_t)at, length);
	inside = false;
}

/* The allocator is called before there is anything else, and by what finds it. */
SRD_EXPORT void free(void *at)
{
	static void (*real)(void *);
	static __thread volatile bool finding EARLY; /* dlsym is said not to call us */

	if (!real && !finding) {
		finding = true;
		real = (void (*)(void *))dlsym(RTLD_NEXT, "free");
		finding = false;
	}
	if (!real || !at)
		return;
	/* A sanitizer that comes behind us is asked nothing before it has begun. */
	if (num_regions)
		given_back(at, malloc_usable_size(at));
	real(at);
}

SRD_EXPORT int munmap(void *at, size_t length)
{
	static int (*real)(void *, size_t);

	if (!real)
		real = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
	given_back(at, length);
	return real(at, length);
}

SRD_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return registered(REAL_VERB(ibv_reg_mr)(pd, addr, length, access), (uintptr_t)addr, length);
}

SRD_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, int access)
{
	return registered(REAL_VERB(ibv_reg_mr_iova)(pd, addr, length, iova, access),
			  (uintptr_t)addr, length);
}

SRD_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					   uint64_t iova, unsigned int access)
{
	return registered(REAL_VERB(ibv_reg_mr_iova2)(pd, addr, length, iova, access),
			  (uintptr_t)addr, length);
}

SRD_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	forget(mr);
	return REAL_VERB(ibv_dereg_mr)(mr);
}
