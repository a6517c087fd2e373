/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "alloc.h"
#include "forward.h"
#include "inject.h"
#include "inject_internal.h"

struct rule {
	int verb;    /* or SRD_INJECT_ANY */
	int errnum;  /* positive */
	uint64_t at; /* number of the call; 0: every one */
};

struct srd_inject {
	struct srd_verbs verbs;
	bool suspended;
	bool hit;
	uint64_t all_calls;
	uint64_t calls[SRD_NUM_VERBS];
	struct rule *rules;
	uint32_t num_rules;
};

static void inject_close(struct srd_verbs *verbs)
{
	struct srd_inject *inject = (struct srd_inject *)verbs;

	verbs->next->close(verbs->next);
	srd_free(inject->rules);
	srd_free(inject);
}

int srd_inject_open(struct srd_verbs *next, struct srd_inject **out, struct srd_error *error)
{
	struct srd_inject *inject = srd_calloc(1, sizeof(*inject));

	if (!inject)
		return srd_error_set(error, -ENOMEM, "no memory for the fault injector");
	srd_verbs_forward(&inject->verbs, "inject", next);
	srd_inject_fill(&inject->verbs);
	inject->verbs.close = inject_close;
	*out = inject;
	return 0;
}

struct srd_verbs *srd_inject_verbs(struct srd_inject *inject)
{
	return &inject->verbs;
}

uint64_t srd_inject_calls(const struct srd_inject *inject, int verb)
{
	return verb == SRD_INJECT_ANY ? inject->all_calls : inject->calls[verb];
}

int srd_inject_fail(struct srd_inject *inject, int verb, uint64_t nth, int errnum,
		    struct srd_error *error)
{
	struct rule *rules;

	if (verb != SRD_INJECT_ANY && (verb < 0 || verb >= SRD_NUM_VERBS))
		return srd_error_set(error, -EINVAL, "there is no verb %d", verb);
	if (verb != SRD_INJECT_ANY && !srd_inject_can_fail[verb])
		return srd_error_set(error, -EINVAL, "%s cannot be made to fail%s",
				     srd_verb_str((uint32_t)verb),
				     verb >= SRD_VERB_WR_START && verb <= SRD_VERB_WR_ABORT
					     ? ": the error of a session comes out of wr_complete"
					     : "");
	if (errnum <= 0)
		return srd_error_set(error, -EINVAL,
				     "a call fails with a positive errno, not with %d", errnum);
	rules = srd_reallocarray(inject->rules, inject->num_rules + 1, sizeof(*rules));
	if (!rules)
		return srd_error_set(error, -ENOMEM, "no memory for a fault of %s",
				     verb == SRD_INJECT_ANY ? "any verb"
							    : srd_verb_str((uint32_t)verb));
	inject->rules = rules;
	rules[inject->num_rules++] = (struct rule){
		.verb = verb,
		.errnum = errnum,
		.at = nth ? srd_inject_calls(inject, verb) + nth : 0,
	};
	return 0;
}

void srd_inject_clear(struct srd_inject *inject)
{
	inject->num_rules = 0;
}

bool srd_inject_take_hit(struct srd_inject *inject)
{
	bool hit = inject->hit;

	inject->hit = false;
	return hit;
}

void srd_inject_suspend(struct srd_inject *inject, bool suspended)
{
	inject->suspended = suspended;
}

/* The older rules stay in their order. */
static void remove_rule(struct srd_inject *inject, uint32_t i)
{
	for (inject->num_rules--; i < inject->num_rules; i++)
		inject->rules[i] = inject->rules[i + 1];
}

int srd_inject_next(struct srd_verbs *verbs, enum srd_verb verb)
{
	struct srd_inject *inject = (struct srd_inject *)verbs;

	if (inject->suspended)
		return 0;
	inject->all_calls++;
	inject->calls[verb]++;
	for (uint32_t i = 0; i < inject->num_rules; i++) {
		struct rule rule = inject->rules[i];

		if (rule.verb != SRD_INJECT_ANY && rule.verb != (int)verb)
			continue;
		if (rule.at > srd_inject_calls(inject, rule.verb))
			continue;
		if (rule.at)
			remove_rule(inject, i);
		inject->hit = true;
		return rule.errnum;
	}
	return 0;
}
