/* SPDX-License-Identifier: MIT */
/*
 * The bytes that fill a buffer: any byte of any pattern can be had on demand, so that a
 * transfer of terabytes is verified without holding it. Pattern 0 is all zeros.
 */
#ifndef SRDLAB_PATTERN_H
#define SRDLAB_PATTERN_H

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

#ifdef __cplusplus
}
#endif

#endif
