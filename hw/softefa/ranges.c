/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "ranges.h"

bool soft_ranges_fit(const struct soft_ranges *ranges)
{
	return ranges->num < SOFT_MAX_RANGES;
}

static void erase(struct soft_ranges *ranges, uint32_t first, uint32_t end)
{
	memmove(&ranges->at[first], &ranges->at[end], (ranges->num - end) * sizeof(ranges->at[0]));
	ranges->num -= end - first;
}

static void insert(struct soft_ranges *ranges, uint32_t i, uint64_t start, uint64_t end)
{
	memmove(&ranges->at[i + 1], &ranges->at[i], (ranges->num - i) * sizeof(ranges->at[0]));
	ranges->at[i].start = start;
	ranges->at[i].end = end;
	ranges->num++;
}

void soft_ranges_add(struct soft_ranges *ranges, uint64_t start, uint64_t end)
{
	uint32_t first = 0, last;

	while (first < ranges->num && ranges->at[first].end < start)
		first++;
	for (last = first; last < ranges->num && ranges->at[last].start <= end; last++) {
		start = ranges->at[last].start < start ? ranges->at[last].start : start;
		end = ranges->at[last].end > end ? ranges->at[last].end : end;
	}
	erase(ranges, first, last);
	insert(ranges, first, start, end);
}

void soft_ranges_remove(struct soft_ranges *ranges, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < ranges->num; i++) {
		uint64_t from = ranges->at[i].start, to = ranges->at[i].end;

		if (to <= start || from >= end)
			continue;
		erase(ranges, i, i + 1);
		if (to > end && soft_ranges_fit(ranges))
			insert(ranges, i, end, to);
		if (from < start && soft_ranges_fit(ranges))
			insert(ranges, i++, from, start);
		i--;
	}
}

int soft_ranges_find(const struct soft_ranges *ranges, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < ranges->num; i++)
		if (ranges->at[i].start <= start && start <= end && end <= ranges->at[i].end)
			return (int)i;
	return -1;
}
