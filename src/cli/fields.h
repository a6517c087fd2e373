/* SPDX-License-Identifier: MIT */
/* The fields of a file in JSON that srdlab wrote: all of them, of their types, and no others. */
#ifndef SRD_CLI_FIELDS_H
#define SRD_CLI_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <srdlab/error.h>
#include <srdlab/profile.h>

enum srd_cli_field_kind {
	SRD_FIELD_TEXT,
	SRD_FIELD_TEXT_OR_NULL,
	SRD_FIELD_BYTES,  /* text that may hold the byte 0 */
	SRD_FIELD_NUMBER, /* into a uint64_t */
	SRD_FIELD_SHORT,  /* into 32 bits */
	SRD_FIELD_FLAG,
	SRD_FIELD_LIST, /* it has a reader of its own, as an object has */
	SRD_FIELD_OBJECT,
};

struct srd_cli_field {
	const char *name;
	enum srd_cli_field_kind kind;
	ptrdiff_t at; /* in what is read; -1: it is only looked at */
};

/* One object of the file. */
struct srd_cli_part {
	const char *path;   /* of the file, for messages */
	const char *what;   /* the file is: "a replay file" */
	const char *prefix; /* of its fields' names in messages */
	const struct srd_cli_field *fields;
	int count; /* SRD_CLI_MAX_FIELDS at most */
};
#define SRD_CLI_MAX_FIELDS 32

/* The object that TEXT is, from the file PATH; -EPROTO or -ENOMEM with *error. */
int srd_cli_fields_parse(const char *path, const char *text, size_t length, json_t **root,
			 struct srd_error *error);
/* The same of the file itself, of LIMIT bytes at most. */
int srd_cli_fields_load(const char *path, size_t limit, json_t **root, struct srd_error *error);

/* Whether ROOT says of itself that it is of FORMAT, of whatever schema. */
bool srd_cli_fields_are(const json_t *root, const char *format);
/* Whether it is of this SCHEMA too; -EPROTO with *error. */
int srd_cli_fields_schema(const char *path, const json_t *root, int schema,
			  struct srd_error *error);

/* Whether LENGTH bytes at TEXT are UTF-8, so that a file can hold them; true without memory. */
bool srd_cli_fields_hold(const char *text, size_t length);

/*
 * All that PART lists from OBJECT into OUT, whose texts belong to OBJECT. -EPROTO with *error:
 * something is missing, of another type, or nothing that PART lists.
 */
int srd_cli_fields_read(const struct srd_cli_part *part, json_t *object, void *out,
			struct srd_error *error);

/* A profile of which every field is given: one that is missing would make another run of it. */
int srd_cli_fields_profile(json_t *object, const char *path, struct srd_profile *profile,
			   struct srd_error *error);

#endif
