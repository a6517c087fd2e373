/* SPDX-License-Identifier: MIT */
/*
 * Seeded randomness without floating point: xoshiro256** started by splitmix64 (both by
 * Blackman and Vigna). Each concern of the model (jitter, loss, order, ...) has a generator
 * of its own, so that a draw more in one leaves the others as they were. Plain data: it may
 * live in the arena and be copied.
 */
#ifndef SRD_RNG_H
#define SRD_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct srd_rng {
	uint64_t s[4];
};

/* The next value of a splitmix64 sequence whose state is *state. */
static inline uint64_t srd_splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The same SEED gives every CONCERN an unrelated sequence. Any values are good. */
void srd_rng_seed(struct srd_rng *rng, uint64_t seed, uint64_t concern);

static inline uint64_t srd_rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* 64 random bits. */
static inline uint64_t srd_rng_next(struct srd_rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = srd_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = srd_rotl(s[3], 45);
	return result;
}

/* Each of 0 to BOUND - 1 with the same probability; 0 where BOUND is 0. */
uint64_t srd_rng_below(struct srd_rng *rng, uint64_t bound);

/* True in PPM of 1,000,000 cases. Draws nothing where the answer is certain. */
bool srd_rng_chance(struct srd_rng *rng, uint32_t ppm);

/*
 * Exponentially distributed with the given MEAN (up to 2^57), rounded down, at most 45
 * times the mean. Computed as -ln(u) in fixed point with an error below 1/4000 of the mean.
 */
uint64_t srd_rng_exponential(struct srd_rng *rng, uint64_t mean);

#endif
