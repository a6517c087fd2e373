/* SPDX-License-Identifier: MIT */
/*
 * The memory of the mock's hosts. Each host has an address space of its own in which
 * buffers lie page aligned, with a gap behind each; the addresses depend on nothing but the
 * order of the allocations, are never those of another host, and are not used again. They
 * are not addresses of this process.
 *
 * A buffer of kind REAL holds bytes, one of kind ORIGIN only knows where its bytes came
 * from (origin.h). All functions take any mixture of kinds and hosts.
 *
 * Results are the seam's: 0 or a positive errno. EFAULT: the range is not inside one live
 * buffer; then nothing at all has changed. A range of no bytes is always good.
 */
#ifndef SRD_MEMORY_H
#define SRD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <srdlab/enums.h>

#define SRD_MEMORY_HOSTS 256
#define SRD_MEMORY_PAGE  4096

struct srd_memory;

struct srd_memory *srd_memory_create(void); /* NULL: out of memory */
void srd_memory_destroy(struct srd_memory *memory);

/*
 * LENGTH zeros on HOST (below SRD_MEMORY_HOSTS, else EINVAL). ENOMEM: no memory, a REAL
 * buffer of a tebibyte, or the 2^48 bytes of the host's addresses are used up.
 */
int srd_memory_alloc(struct srd_memory *memory, uint32_t host, uint64_t length,
		     enum srd_buffer_kind kind, uint64_t *addr);
/* ADDR as alloc gave it, else EFAULT. From now on its addresses fault. */
int srd_memory_free(struct srd_memory *memory, uint32_t host, uint64_t addr);

/* Whether the processor cannot reach the byte at ADDR: it is a DEVICE buffer's. */
bool srd_memory_on_device(struct srd_memory *memory, uint32_t host, uint64_t addr);
int srd_memory_check(struct srd_memory *memory, uint32_t host, uint64_t addr, uint64_t length);

/*
 * The byte at ADDR + i becomes byte AT + i of pattern SEED (srdlab/pattern.h). ENOMEM, here
 * and below: an ORIGIN buffer could not note it; nothing has changed.
 */
int srd_memory_fill(struct srd_memory *memory, uint32_t host, uint64_t addr, uint64_t length,
		    uint64_t seed, uint64_t at);
int srd_memory_write(struct srd_memory *memory, uint32_t host, uint64_t addr, const void *from,
		     size_t length);
int srd_memory_read(struct srd_memory *memory, uint32_t host, uint64_t addr, void *to,
		    size_t length);

/* The ranges may overlap: as memmove. */
int srd_memory_copy(struct srd_memory *memory, uint32_t to_host, uint64_t to, uint32_t from_host,
		    uint64_t from, uint64_t length);

/*
 * *first_difference is relative to both addresses, or LENGTH where the bytes are the same.
 * Exact; where both sides come from the same place of the same pattern no byte is looked at.
 */
int srd_memory_compare(struct srd_memory *memory, uint32_t a_host, uint64_t a, uint32_t b_host,
		       uint64_t b, uint64_t length, uint64_t *first_difference);

#endif
