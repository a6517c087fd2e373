/* SPDX-License-Identifier: MIT */
/*
 * Profiles by name, from JSON and from single settings. A profile file is one object: the
 * fields of scripts/spec/profile.lua, "base" (the built-in profile that fills in the rest;
 * efa1 where it is missing) and "name". A size is a number or a string such as "4KiB", a
 * time one such as "12us", a choice its name.
 *
 * Functions that can fail return 0 or a negative errno and fill in *error; the profile is
 * then as it was.
 */
#ifndef SRD_PROFILE_H
#define SRD_PROFILE_H

#include <stdio.h>

#include <srdlab/error.h>
#include <srdlab/profile.h>

/* NAME is a built-in profile, or the path of a file where it has a '/' or ends in ".json". */
int srd_profile_open(const char *name, struct srd_profile *profile, struct srd_error *error);

/* The LENGTH bytes of TEXT as a profile file; PATH is for messages and the default name. */
int srd_profile_parse(const char *path, const char *text, size_t length,
		      struct srd_profile *profile, struct srd_error *error);

/*
 * One field. -ENOENT: no such field; -EINVAL: the value is of another kind; -ERANGE: it is
 * outside the field's range. Fields are not checked against each other: srd_profile_check
 * does that once all are set.
 */
int srd_profile_set(struct srd_profile *profile, const char *field, const char *value,
		    struct srd_error *error);
/* A choice is set by its number. */
int srd_profile_set_number(struct srd_profile *profile, const char *field, uint64_t value,
			   struct srd_error *error);
/* "field=value". */
int srd_profile_override(struct srd_profile *profile, const char *text, struct srd_error *error);

/* -EINVAL: two fields contradict each other; the sentence names both, with their values. */
int srd_profile_check(const struct srd_profile *profile, struct srd_error *error);

uint64_t srd_profile_get(const struct srd_profile *profile, const struct srd_profile_field *field);

#define SRD_PROFILE_TEXT 40

/* The value of FIELD as srd_profile_set takes it, into TEXT. Returns TEXT. */
const char *srd_profile_format(const struct srd_profile *profile,
			       const struct srd_profile_field *field, char text[SRD_PROFILE_TEXT]);

/* Every field with its value, what it is and where the value comes from, a line each. */
void srd_profile_print(const struct srd_profile *profile, FILE *to);

#endif
