/* SPDX-License-Identifier: MIT */
/*
 * Memory without bytes: a map of where each range's bytes came from. A range holds part of
 * a pattern (srdlab/pattern.h) or literal bytes that were written. The cost is proportional
 * to the number of distinct ranges, not to the length; neighbours that continue each other
 * are one range.
 *
 * Results are 0 or a positive errno. Ranges must lie inside the map and not be empty; after
 * ENOMEM it is as before.
 */
#ifndef SRD_ORIGIN_H
#define SRD_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

struct srd_origin_leaf;

struct srd_origin {
	uint64_t length; /* bytes */
	uint64_t *first; /* by leaf: where it begins */
	struct srd_origin_leaf **leaf;
	uint32_t num_leaves;
	uint32_t capacity;
	uint32_t hint; /* the leaf found last */
};

/* Bytes that lie together and have one source. */
struct srd_run {
	uint64_t length;
	const uint8_t *bytes; /* NULL: the pattern SEED from offset AT of it */
	uint64_t seed;
	uint64_t at;
};

/* LENGTH zeros, up to 2^62. To be released also where it is empty. */
int srd_origin_init(struct srd_origin *map, uint64_t length);
void srd_origin_release(struct srd_origin *map);

/* The byte at OFFSET + i becomes byte AT + i of pattern SEED. */
int srd_origin_fill(struct srd_origin *map, uint64_t offset, uint64_t length, uint64_t seed,
		    uint64_t at);

/* Keeps a copy of FROM for as long as any byte of it is held anywhere. */
int srd_origin_write(struct srd_origin *map, uint64_t offset, const void *from, size_t length);

/* TO and FROM may be the same map and the ranges may overlap: as memmove. */
int srd_origin_copy(struct srd_origin *to, uint64_t to_offset, struct srd_origin *from,
		    uint64_t from_offset, uint64_t length);

/* What begins at OFFSET. Bytes stay valid until the map is changed. */
void srd_origin_run(struct srd_origin *map, uint64_t offset, struct srd_run *run);

/* How many ranges it consists of. */
uint64_t srd_origin_ranges(const struct srd_origin *map);

#endif
