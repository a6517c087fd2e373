/* SPDX-License-Identifier: MIT */
/*
 * The judge: a reader of the stream that knows nothing but events. Rules are described in
 * scripts/spec/rules.lua and selected by id, family or class.
 */
#ifndef SRD_RULES_H
#define SRD_RULES_H

#include <stdio.h>

#include <srdlab/error.h>
#include <srdlab/event.h>

struct srd_rules;

/* One rule, as generated from the specification. */
#define SRD_KINDS_SRD 0x1
#define SRD_KINDS_RC  0x2
#define SRD_KINDS_ALL 0x3

struct srd_rule_info {
	const char *id;     /* "chunk.cover" */
	const char *family; /* "chunk" */
	enum srd_rule_class rule_class;
	const char *statement; /* one sentence */
	const char *why;       /* what goes wrong on a device where it is broken */
	const char *evidence;  /* what the numbers of a violation mean */
	uint64_t needs;        /* bit by event type: without each of them it is not judged */
	/* SRD_KINDS_...: nor where there is no queue pair of these kinds */
	uint8_t kinds;
};

extern const struct srd_rule_info srd_rule_infos[];
extern const int srd_num_rules;
/* The number of rule ID; -1: there is none. */
int srd_rule_find(const char *id);

struct srd_violation {
	int rule; /* index into srd_rule_infos */
	uint64_t time;
	uint32_t line;   /* of the script; 0: unknown */
	uint32_t op;     /* 0: none */
	uint32_t qp;     /* handle; 0: none */
	uint32_t object; /* handle of the object that it is about, where that is no queue pair */
	const char *object_kind; /* such as "memory region"; NULL: none */
	uint64_t count;          /* violations of this rule by the same object; this is the first */
	char evidence[512];      /* the numbers */
	char *timeline; /* the last events of the objects involved, a line each; may be NULL */
};

/*
 * SELECT is a comma-separated list of ids, families, classes, "all" or "none", each with
 * an optional leading '-' that takes away; NULL means "law,contract". SUPPRESS is the path
 * of a suppression file, or NULL. Unknown names are an error that lists what there is.
 */
int srd_rules_create(const char *select, const char *suppress, struct srd_rules **out,
		     struct srd_error *error);
void srd_rules_destroy(struct srd_rules *rules);
/* The reader: give it to srd_stream_add with the rules as its argument. */
void srd_rules_event(void *rules, const struct srd_event *event);
/*
 * The run is over: judge what is left (requests without completion, leaks). Idempotent.
 * -ENOMEM: the rules could not follow the stream to its end, and nothing is judged.
 */
int srd_rules_finish(struct srd_rules *rules, struct srd_error *error);
/*
 * The violations so far in the order of the stream, repetitions and suppressed ones left
 * out; at most SRD_MAX_VIOLATIONS, srd_rules_left_out counts those beyond. Owned by RULES.
 */
#define SRD_MAX_VIOLATIONS 100
int srd_rules_violations(const struct srd_rules *rules, const struct srd_violation **list);
uint64_t srd_rules_left_out(const struct srd_rules *rules);
struct srd_book;
/* What is known of the run so far; NULL: no event came, or there was no memory to follow. */
struct srd_book *srd_rules_book(struct srd_rules *rules);
/* Whether RULE is selected. */
int srd_rules_selected(const struct srd_rules *rules, int rule);
/*
 * Whether RULE was judged: 1 yes, 0 no: it is not selected, or an event that it needs never
 * came.
 */
int srd_rules_judged(const struct srd_rules *rules, int rule);

/*
 * A suppression file has a line for each: RULE-ID [MATCH] # REASON. MATCH is qp=N, FILE:LINE
 * (the end of the script's path, see srd_rules_script), or a text that the evidence
 * contains; without it the whole rule is suppressed. The reason is mandatory.
 */
struct srd_suppression {
	int rule;
	uint32_t line; /* of the file */
	char *match;   /* NULL: everything */
	char *reason;
	uint64_t uses;
};

/* Those of the file, in its order; one that no run used is worth a warning. Owned by RULES. */
int srd_rules_suppressions(const struct srd_rules *rules, const struct srd_suppression **list);
/* PATH is the script whose lines the events carry; kept as a pointer. */
void srd_rules_script(struct srd_rules *rules, const char *path);

#endif
