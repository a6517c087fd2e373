/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Each from the smallest to the largest. */
static const struct unit none[] = {{"", 1}, {NULL, 0}};
static const struct unit sizes[] = {
	{"B", 1},
	{"KiB", UINT64_C(1) << 10},
	{"MiB", UINT64_C(1) << 20},
	{"GiB", UINT64_C(1) << 30},
	{"TiB", UINT64_C(1) << 40},
	{NULL, 0},
};
static const struct unit times[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"min", UINT64_C(60000000000)},
	{"h", UINT64_C(3600000000000)},
	{NULL, 0},
};

static const struct unit *units_of(enum srd_unit_kind kind)
{
	switch (kind) {
	case SRD_UNIT_NONE:
		return none;
	case SRD_UNIT_SIZE:
		return sizes;
	case SRD_UNIT_TIME:
		return times;
	}
	return none;
}

int srd_units_parse(enum srd_unit_kind kind, const char *text, uint64_t *out)
{
	uint64_t factor = 1;
	unsigned long long n;
	char *end;

	/* strtoull would take a sign, and leading spaces. */
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end,
		     text[0] == '0' && tolower((unsigned char)text[1]) == 'x' ? 16 : 10);
	if (errno)
		return -errno;
	while (*end == ' ')
		end++;
	if (*end) {
		const struct unit *u = units_of(kind);

		while (u->name && strcmp(u->name, end))
			u++;
		if (!u->name)
			return -EINVAL;
		factor = u->factor;
	}
	return __builtin_mul_overflow((uint64_t)n, factor, out) ? -ERANGE : 0;
}

const char *srd_units_format(enum srd_unit_kind kind, uint64_t value, char *text, size_t size)
{
	const struct unit *u = units_of(kind);

	while (value && u[1].name && value % u[1].factor == 0)
		u++;
	snprintf(text, size, "%" PRIu64 "%s", value / u->factor,
		 kind == SRD_UNIT_SIZE && u->factor == 1 ? "" : u->name);
	return text;
}
