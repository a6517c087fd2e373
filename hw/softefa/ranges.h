/* SPDX-License-Identifier: MIT */
/* A few ranges of addresses, in order, none of which touch. */
#ifndef SRD_SOFTEFA_RANGES_H
#define SRD_SOFTEFA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define SOFT_MAX_RANGES 64

struct soft_ranges {
	uint32_t num;
	struct {
		uint64_t start, end;
	} at[SOFT_MAX_RANGES];
};

/* Whether one more can be added, or a part of one be taken away. */
bool soft_ranges_fit(const struct soft_ranges *ranges);
void soft_ranges_add(struct soft_ranges *ranges, uint64_t start, uint64_t end);
/* Where what is left has no room, more is taken away. */
void soft_ranges_remove(struct soft_ranges *ranges, uint64_t start, uint64_t end);
/* Which of them holds all of [START, END); -1: none. */
int soft_ranges_find(const struct soft_ranges *ranges, uint64_t start, uint64_t end);

#endif
