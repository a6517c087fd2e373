/* SPDX-License-Identifier: MIT */
/*
 * Numbers, sizes and times as people write them: "4096", "0x1000", "4KiB", "12us". A number
 * is whole; a unit follows it with or without spaces between.
 */
#ifndef SRD_UNITS_H
#define SRD_UNITS_H

#include <stddef.h>
#include <stdint.h>

enum srd_unit_kind {
	SRD_UNIT_NONE, /* a bare number */
	SRD_UNIT_SIZE, /* bytes: B KiB MiB GiB TiB; a bare number is bytes */
	SRD_UNIT_TIME, /* nanoseconds: ns us ms s min h; a bare number is nanoseconds */
};

/* 0; -EINVAL: not such a number or unit; -ERANGE: above 2^64 - 1. */
int srd_units_parse(enum srd_unit_kind kind, const char *text, uint64_t *out);

/*
 * The shortest exact form, such as "4KiB", "1500ns" or "2s", into TEXT. Returns TEXT. 24
 * bytes are always enough.
 */
const char *srd_units_format(enum srd_unit_kind kind, uint64_t value, char *text, size_t size);

#endif
