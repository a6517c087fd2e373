/* SPDX-License-Identifier: MIT */
#include "rng.h"

void srd_rng_seed(struct srd_rng *rng, uint64_t seed, uint64_t concern)
{
	uint64_t state = seed ^ srd_splitmix(&concern);

	for (int i = 0; i < 4; i++)
		rng->s[i] = srd_splitmix(&state);
}

/*
 * The high word of a 64 by 64 bit product is below the bound; products whose low word lies
 * in the first 2^64 mod BOUND values would favour some results and are drawn again.
 */
uint64_t srd_rng_below(struct srd_rng *rng, uint64_t bound)
{
	unsigned __int128 product = (unsigned __int128)srd_rng_next(rng) * bound;

	if ((uint64_t)product < bound) {
		uint64_t unfair = -bound % bound;

		while ((uint64_t)product < unfair)
			product = (unsigned __int128)srd_rng_next(rng) * bound;
	}
	return (uint64_t)(product >> 64);
}

bool srd_rng_chance(struct srd_rng *rng, uint32_t ppm)
{
	if (ppm == 0 || ppm >= 1000000)
		return ppm != 0;
	return srd_rng_below(rng, 1000000) < ppm;
}

/* log2(1 + i/64) in units of 1/65536, rounded. */
static const uint32_t log2_table[65] = {
	0,     1466,  2909,  4331,  5732,  7112,  8473,  9814,  11136, 12440, 13727, 14996, 16248,
	17484, 18704, 19909, 21098, 22272, 23433, 24579, 25711, 26830, 27936, 29029, 30109, 31178,
	32234, 33279, 34312, 35334, 36346, 37346, 38336, 39316, 40286, 41246, 42196, 43137, 44068,
	44990, 45904, 46809, 47705, 48593, 49472, 50344, 51207, 52063, 52911, 53751, 54584, 55410,
	56229, 57040, 57845, 58643, 59434, 60219, 60997, 61769, 62534, 63294, 64047, 64794, 65536,
};

/* -log2(x / 2^64) in units of 1/65536; x is not 0. */
static uint32_t negative_log2(uint64_t x)
{
	uint32_t zeros = (uint32_t)__builtin_clzll(x);
	uint64_t fraction = x << zeros << 1;
	uint32_t i = (uint32_t)(fraction >> 58), rest = (uint32_t)(fraction >> 42) & 0xffff;
	uint32_t log = log2_table[i] + ((log2_table[i + 1] - log2_table[i]) * rest >> 16);

	return ((zeros + 1) << 16) - log;
}

uint64_t srd_rng_exponential(struct srd_rng *rng, uint64_t mean)
{
	const uint32_t ln2 = 45426; /* in units of 1/65536 */
	uint64_t x = srd_rng_next(rng);
	unsigned __int128 log = negative_log2(x ? x : 1);

	return (uint64_t)((log * ln2 * mean) >> 32);
}
