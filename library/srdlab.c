/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <xxhash.h>

#include <srdlab/profile.h>
#include <srdlab/srdlab.h>

#include "mock.h"
#include "qp/transport.h"
#include "qp/observe.h"
#include "qp/scheduler.h"
#include "rules/rules.h"
#include "verbs/alloc.h"
#include "verbs/inject.h"
#include "verbs/limit_table.h"
#include "verbs/observe.h"
#include "verbs/profile.h"

struct srdlab {
	struct srd_verbs *verbs; /* the topmost table */
	struct srd_inject *inject;
	struct srd_rules *rules;
	struct srd_stream stream;
	struct srd_profile profile;
	XXH64_state_t *hash;
};

static void hash_event(void *hash, const struct srd_event *event)
{
	XXH64_update(hash, event, srd_event_infos[event->type].size);
}

static int open_stream(struct srdlab *lab, const char *rules, struct srd_error *error)
{
	int rc = srd_rules_create(rules, NULL, &lab->rules, error);

	if (rc)
		return rc;
	lab->hash = XXH64_createState();
	if (!lab->hash)
		return srd_error_set(error, -ENOMEM, "out of memory");
	XXH64_reset(lab->hash, 0);
	/* There is room for both in a stream that is new. */
	srd_stream_add(&lab->stream, srd_rules_event, lab->rules);
	srd_stream_add(&lab->stream, hash_event, lab->hash);
	return 0;
}

static int open_profile(struct srdlab *lab, const char *profile, struct srd_error *error)
{
	if (profile && *profile == '{')
		return srd_profile_parse("the profile", profile, strlen(profile), &lab->profile,
					 error);
	return srd_profile_open(profile ? profile : "efa1", &lab->profile, error);
}

static int lower_limits(struct srdlab *lab, const struct srdlab_options *options,
			struct srd_error *error)
{
	struct srd_limits *limits;
	struct srd_limit *list;
	int rc;

	if (!options->num_limits)
		return 0;
	list = srd_calloc(options->num_limits, sizeof(*list));
	if (!list)
		return srd_error_set(error, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < options->num_limits; i++)
		list[i] = (struct srd_limit){options->limits[i].name, options->limits[i].value};
	rc = srd_limits_open(lab->verbs, list, (int)options->num_limits, &limits, error);
	srd_free(list);
	if (!rc)
		lab->verbs = srd_limits_verbs(limits);
	return rc;
}

static int open_tables(struct srdlab *lab, const struct srdlab_options *options,
		       struct srd_error *error)
{
	const struct srd_backend_options of_mock = {
		.profile = &lab->profile,
		.seed = options->seed,
		.stream = &lab->stream,
	};
	struct srd_verbs *observed;
	int rc = srd_mock.open(&of_mock, &lab->verbs, error);

	if (!rc)
		rc = lower_limits(lab, options, error);
	if (!rc)
		rc = srd_inject_open(lab->verbs, &lab->inject, error);
	if (rc)
		return rc;
	lab->verbs = srd_inject_verbs(lab->inject);
	rc = srd_observe_open(lab->verbs, &lab->stream, lab->inject, &observed, error);
	if (!rc)
		lab->verbs = observed;
	return rc;
}

int srdlab_open(const struct srdlab_options *options, struct srdlab **out, struct srd_error *error)
{
	static const struct srdlab_options none;
	struct srdlab *lab = srd_calloc(1, sizeof(*lab));
	int rc;

	if (!lab)
		return srd_error_set(error, -ENOMEM, "out of memory");
	options = options ? options : &none;
	rc = open_profile(lab, options->profile, error);
	if (!rc)
		rc = open_stream(lab, options->rules, error);
	if (!rc)
		rc = open_tables(lab, options, error);
	if (rc) {
		srdlab_close(lab);
		return rc;
	}
	*out = lab;
	return 0;
}

void srdlab_close(struct srdlab *lab)
{
	if (!lab)
		return;
	if (lab->verbs)
		lab->verbs->close(lab->verbs);
	XXH64_freeState(lab->hash);
	srd_rules_destroy(lab->rules);
	srd_free(lab);
}

struct srd_verbs *srdlab_verbs(struct srdlab *lab)
{
	return lab->verbs;
}

int srdlab_fail_call(struct srdlab *lab, const char *name, uint64_t nth, int errnum,
		     struct srd_error *error)
{
	int verb = name ? srd_verb_parse(name) : SRD_INJECT_ANY;

	if (name && verb < 0)
		return srd_error_set(error, -EINVAL, "there is no verb \"%s\"", name);
	return srd_inject_fail(lab->inject, verb, nth, errnum, error);
}

void srdlab_clear_failures(struct srdlab *lab)
{
	srd_inject_clear(lab->inject);
}

uint64_t srdlab_now(struct srdlab *lab)
{
	return lab->verbs->now(lab->verbs);
}

void srdlab_advance(struct srdlab *lab, uint64_t time)
{
	uint64_t now = srdlab_now(lab);
	uint64_t deadline = time < UINT64_MAX - 1 - now ? now + time : UINT64_MAX - 1;

	/* An arrival ends a wait before its time. */
	while (!lab->verbs->wait(lab->verbs, deadline))
		;
}

int srdlab_read(struct srdlab *lab, srd_event_fn *fn, void *reader)
{
	return srd_stream_add(&lab->stream, fn, reader);
}

void srdlab_stop_reading(struct srdlab *lab, srd_event_fn *fn, void *reader)
{
	srd_stream_remove(&lab->stream, fn, reader);
}

uint64_t srdlab_trace_hash(const struct srdlab *lab)
{
	return XXH64_digest(lab->hash);
}

int srdlab_judge(struct srdlab *lab, struct srd_error *error)
{
	const struct srd_violation *list;
	int rc = srd_rules_finish(lab->rules, error);

	return rc ? rc : srd_rules_violations(lab->rules, &list);
}

int srdlab_violation(const struct srdlab *lab, uint32_t index, struct srdlab_violation *out)
{
	const struct srd_violation *list;
	uint32_t count = (uint32_t)srd_rules_violations(lab->rules, &list);

	if (index >= count)
		return -ENOENT;
	*out = (struct srdlab_violation){
		.rule = srd_rule_infos[list[index].rule].id,
		.statement = srd_rule_infos[list[index].rule].statement,
		.evidence = list[index].evidence,
		.timeline = list[index].timeline ? list[index].timeline : "",
		.time = list[index].time,
		.count = list[index].count,
	};
	return 0;
}

int srdlab_queue_pair(struct srdlab *lab, const struct srd_queue_pair_ops *ops, struct srd_pd *pd,
		      const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		      struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error)
{
	return srd_observed_queue_pair_create(ops ? ops : srd_queue_pair_ops_for(lab->verbs),
					      &lab->stream, lab->verbs, pd, config, send_cq,
					      recv_cq, out, error);
}

int srdlab_scheduler(struct srdlab *lab, const struct srd_scheduler_ops *ops,
		     struct srd_queue_pair *qp, const struct srd_scheduler_config *config,
		     struct srd_scheduler **out, struct srd_error *error)
{
	return srd_observed_scheduler_create(ops ? ops : &srd_credit_scheduler_ops, qp, config, out,
					     error);
}

const struct srd_queue_pair_ops *srdlab_queue_pair_ops(void)
{
	return &srd_observed_queue_pair_ops;
}

const struct srd_scheduler_ops *srdlab_scheduler_ops(void)
{
	return &srd_observed_scheduler_ops;
}
