/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/rng.h"

/* The reference implementation's first values for seed 1234567. */
static void splitmix_vectors(void **state)
{
	uint64_t s = 1234567;

	assert_int_equal(srd_splitmix(&s), 6457827717110365317u);
	assert_int_equal(srd_splitmix(&s), 3203168211198807973u);
	assert_int_equal(srd_splitmix(&s), 9817491932198370423u);
	assert_int_equal(srd_splitmix(&s), 4593380528125082431u);
	assert_int_equal(srd_splitmix(&s), 16408922859458223821u);
}

/* The reference implementation's first values for the state 1, 2, 3, 4. */
static void xoshiro_vectors(void **state)
{
	struct srd_rng rng = {{1, 2, 3, 4}};
	static const uint64_t want[] = {
		11520u,
		0u,
		1509978240u,
		1215971899390074240u,
		1216172134540287360u,
		607988272756665600u,
		16172922978634559625u,
		8476171486693032832u,
		10595114339597558777u,
		2904607092377533576u,
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(srd_rng_next(&rng), want[i]);
}

static void concerns_differ(void **state)
{
	struct srd_rng a, b, again;

	srd_rng_seed(&a, 7, 0);
	srd_rng_seed(&b, 7, 1);
	srd_rng_seed(&again, 7, 0);
	assert_memory_equal(&a, &again, sizeof(a));
	for (int i = 0; i < 1000; i++)
		assert_int_not_equal(srd_rng_next(&a), srd_rng_next(&b));
	/* Seed and concern do not cancel out. */
	srd_rng_seed(&a, 1, 2);
	srd_rng_seed(&b, 2, 1);
	assert_memory_not_equal(&a, &b, sizeof(a));
}

static void below_is_fair(void **state)
{
	struct srd_rng rng;
	uint32_t seen[7] = {0};

	srd_rng_seed(&rng, 1, 0);
	for (int i = 0; i < 70000; i++) {
		uint64_t x = srd_rng_below(&rng, 7);

		assert_true(x < 7);
		seen[x]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 9600, 10400);
	assert_int_equal(srd_rng_below(&rng, 0), 0);
	assert_int_equal(srd_rng_below(&rng, 1), 0);
}

/* With a bound of 3/4 of 2^64 a plain modulo would hit the lowest third twice as often. */
static void below_has_no_modulo_bias(void **state)
{
	struct srd_rng rng;
	uint64_t bound = 3ull << 62;
	uint32_t low = 0;

	srd_rng_seed(&rng, 2, 0);
	for (int i = 0; i < 30000; i++) {
		uint64_t x = srd_rng_below(&rng, bound);

		assert_true(x < bound);
		low += x < bound / 3;
	}
	assert_in_range(low, 9700, 10300);
}

static void chance_in_ppm(void **state)
{
	struct srd_rng rng, before;
	uint32_t hits = 0;

	srd_rng_seed(&rng, 3, 0);
	before = rng;
	assert_false(srd_rng_chance(&rng, 0));
	assert_true(srd_rng_chance(&rng, 1000000));
	assert_memory_equal(&rng, &before, sizeof(rng));
	for (int i = 0; i < 100000; i++)
		hits += srd_rng_chance(&rng, 250000);
	assert_in_range(hits, 24400, 25600);
}

/* Mean, and the share that lies beyond one and two means: 1/e and 1/e^2. */
static void exponential_shape(void **state)
{
	struct srd_rng rng;
	uint64_t sum = 0;
	uint32_t over1 = 0, over2 = 0;

	srd_rng_seed(&rng, 4, 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t x = srd_rng_exponential(&rng, 4000);

		assert_true(x <= 45 * 4000);
		sum += x;
		over1 += x > 4000;
		over2 += x > 8000;
	}
	assert_in_range(sum / 100000, 3950, 4050);
	assert_in_range(over1, 36300, 37300);
	assert_in_range(over2, 13100, 14000);
	assert_int_equal(srd_rng_exponential(&rng, 0), 0);
	assert_true(srd_rng_exponential(&rng, 1ull << 57) < 45ull << 57);
}

/* A state whose next value is known shows the fixed-point logarithm itself. */
static void exponential_values(void **state)
{
	static const struct {
		uint64_t draw, want;
	} cases[] = {
		{1ull << 63, 693147},                                 /* ln 2 */
		{1ull << 62, 1386294},                                /* ln 4 */
		{3ull << 62, 287682},                                 /* ln 4/3 */
		{UINT64_MAX, 0},       {1, 44361419},                 /* ln 2^64 */
		{0, 44361419},         {0xb504f333f9de6484u, 346573}, /* ln sqrt 2 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* next() is rotl(s1 * 5, 7) * 9: undo it. */
		uint64_t s1 = cases[i].draw * 0x8e38e38e38e38e39u;
		struct srd_rng rng = {{1, srd_rotl(s1, 57) * 0xcccccccccccccccdu, 3, 4}};
		uint64_t got = srd_rng_exponential(&rng, 1000000);
		uint64_t off = got > cases[i].want ? got - cases[i].want : cases[i].want - got;

		assert_in_range(off, 0, 250);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splitmix_vectors),         cmocka_unit_test(xoshiro_vectors),
		cmocka_unit_test(concerns_differ),          cmocka_unit_test(below_is_fair),
		cmocka_unit_test(below_has_no_modulo_bias), cmocka_unit_test(chance_in_ppm),
		cmocka_unit_test(exponential_shape),        cmocka_unit_test(exponential_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
