/* SPDX-License-Identifier: MIT */
/*
 * The bytes that fill a buffer: any byte of any pattern can be had on demand, so that a
 * transfer of terabytes is verified without holding it. Pattern 0 is all zeros.
 */
#ifndef SRDLAB_PATTERN_H
#define SRDLAB_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The 8 bytes (little endian) at OFFSET, a multiple of 8: splitmix64 of seed and place. */
static inline uint64_t srd_pattern_word(uint64_t seed, uint64_t offset)
{
	uint64_t z;

	if (!seed)
		return 0;
	z = seed * 0xd1342543de82ef95u + (offset >> 3) * 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline uint8_t srd_pattern_byte(uint64_t seed, uint64_t offset)
{
	return (uint8_t)(srd_pattern_word(seed, offset & ~(uint64_t)7) >> (8 * (offset & 7)));
}

/* Store the LENGTH bytes of the pattern that begin at OFFSET. */
static inline void srd_pattern_bytes(uint64_t seed, uint64_t offset, void *to, size_t length)
{
	uint8_t *p = (uint8_t *)to;

	while (length > 0) {
		uint64_t word = srd_pattern_word(seed, offset & ~(uint64_t)7);
		unsigned int skip = offset & 7;
		size_t n = 8 - skip < length ? 8 - skip : length;

		word >>= 8 * skip;
		for (size_t i = 0; i < n; i++)
			p[i] = (uint8_t)(word >> (8 * i));
		p += n;
		offset += n;
		length -= n;
	}
}

#ifdef __cplusplus
}
#endif

#endif
