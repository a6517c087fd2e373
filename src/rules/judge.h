/* SPDX-License-Identifier: MIT */
/*
 * Between the machinery and the families. A family is a table of checks by event type; a
 * check sees the book as it was before the event, and calls srd_judge_fail where a rule is
 * broken. A family of which no rule is selected is never called.
 */
#ifndef SRD_JUDGE_H
#define SRD_JUDGE_H

#include "book.h"
#include "rules/rule_ids.h"
#include "rules.h"

typedef void srd_check_fn(struct srd_rules *rules, const struct srd_event *event);

struct srd_family {
	const char *name;
	srd_check_fn *check[SRD_NUM_EVENT_TYPES];
	/*
	 * One request of a session that the library accepted; what it names is in
	 * book->qp->route. request_rule: the only rule that it is for, plus one; 0: several.
	 */
	void (*request)(struct srd_rules *rules, const struct srd_ev_wr_post *post);
	int request_rule;
	/* An event of the seam or the device about an object that is gone. */
	srd_check_fn *dead;
	/* The run is over. */
	void (*finish)(struct srd_rules *rules);
};

extern const struct srd_family srd_chunk_family;
extern const struct srd_family srd_session_family;
extern const struct srd_family srd_id_family;
extern const struct srd_family srd_credit_family;
extern const struct srd_family srd_completion_family;
extern const struct srd_family srd_state_family;
extern const struct srd_family srd_memory_family;
extern const struct srd_family srd_address_family;
extern const struct srd_family srd_lifetime_family;
extern const struct srd_family srd_rail_family;

#define SRD_NUM_FAMILIES 10

/* What an event of one type asks for. */
struct srd_plan {
	bool structural;
	enum { SRD_RECORD_NEVER, SRD_RECORD_FAILED, SRD_RECORD_ALWAYS } record;
	enum srd_book_need need; /* before it is applied */
	srd_apply_fn *apply;     /* NULL: it changes nothing */
	int num_checks;
	srd_check_fn *check[SRD_NUM_FAMILIES]; /* of the families in use */
};

struct srd_rules {
	struct srd_book book;
	srd_check_fn *take[SRD_NUM_EVENT_TYPES]; /* srd_rules_judge, or a short way */
	struct srd_plan plan[SRD_NUM_EVENT_TYPES];
	void (*request[SRD_NUM_FAMILIES + 1])(struct srd_rules *rules,
					      const struct srd_ev_wr_post *post);
	const struct srd_event *event; /* being judged; NULL: finishing */
	uint64_t now;
	bool recorded; /* event is in a history */
	bool advised;  /* a rule is selected that src/rules/steady.c knows nothing of */
	bool finished;

	const struct srd_family *families[SRD_NUM_FAMILIES + 1]; /* in use; NULL-terminated */
	bool selected[SRD_NUM_RULES];

	const char *script;
	struct srd_suppression *suppressions;
	int num_suppressions;
	struct srd_violation violations[SRD_MAX_VIOLATIONS];
	int num_violations;
	uint64_t left_out;
	uint64_t num_failures; /* of selected rules, with all that is repeated or suppressed */
};

/* What a violation is about. What is 0 is taken from the event being judged. */
struct srd_where {
	const struct srd_book_qp *qp;
	const struct srd_thing *thing; /* where it is about another object */
	uint32_t op;
	uint32_t line;
};

void srd_judge_fail(struct srd_rules *rules, enum srd_rule rule, struct srd_where where,
		    const char *evidence, ...) __attribute__((format(printf, 4, 5), cold));

/* Behind a noun in EVIDENCE: the end of the plural, unless N is 1. */
#define SRD_S(n) ((n) == 1 ? "" : "s")

/* Of the queue pair and op of the event being judged. */
#define FAIL(rules, rule, ...) \
	srd_judge_fail(rules, SRD_R_##rule, (struct srd_where){.qp = (rules)->book.qp}, __VA_ARGS__)

/* Any event: look up what it is about, ask the families, take it in. */
srd_check_fn srd_rules_judge __attribute__((cold, noinline));
/* Keep EVENT for timelines. */
void srd_rules_record(struct srd_rules *rules, const struct srd_event *event);
/* SELECT into SELECTED; -EINVAL with a message that lists what there is. */
int srd_select_parse(const char *select, bool selected[SRD_NUM_RULES], struct srd_error *error);
/* The file at PATH. */
int srd_suppressions_load(const char *path, struct srd_suppression **list, int *count,
			  struct srd_error *error);
void srd_suppressions_free(struct srd_suppression *list, int count);
/* Whether one of RULES's suppressions takes VIOLATION; counts its use. */
bool srd_suppressions_match(struct srd_rules *rules, const struct srd_violation *violation);

#endif
