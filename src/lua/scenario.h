/* SPDX-License-Identifier: MIT */
/*
 * Lua scenarios: load a file, list what it holds, run one scenario of it. Each load and
 * each run has a Lua state of its own.
 */
#ifndef SRD_SCENARIO_H
#define SRD_SCENARIO_H

#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/queue_pair.h>

#include "verbs/backend.h"

struct srd_script;

struct srd_scenario_info {
	const char *name;
	const char *description; /* may be empty */
	int line;                /* where srd.scenario was called */
	const char *const *tags; /* NULL-terminated */
	const char *const *needs;
	const char *violates; /* the rule that must fire; NULL: none may */
	const char *fails;    /* a part of the message it must fail with; NULL: it must not */
	const char *bug;      /* the bug of a list that it shows; NULL: none */
	bool all_orders;      /* it is run in every order of its messages */
	uint32_t orders_max;  /* of them at most; 0: a default */
	bool is_broken;       /* it shows the bug itself, to be flagged; else the cure */
};

struct srd_sandbox {
	size_t memory_limit;  /* bytes of Lua memory; 0: the default, 256 MiB */
	uint64_t time_limit;  /* wall ns of one scenario; 0: the default, 60 s */
	bool unsafe;          /* open io, os and package too */
	const char *lib_path; /* where require finds scripts/lib; NULL: as built */
};

struct srd_run_config {
	const struct srd_backend *backend;
	const struct srd_profile *profile; /* NULL: efa1 */
	const char *device;                /* hardware */
	uint64_t seed;
	/* What is tested; NULL: srdlab's own. */
	const struct srd_queue_pair_ops *queue_pair_ops;
	const struct srd_scheduler_ops *scheduler_ops;
	const char *rules;        /* as srd_rules_create; NULL: the default */
	const char *suppressions; /* path or NULL */
	struct srd_sandbox sandbox;
	bool hash; /* compute the trace hash */
	/* Of a scenario that asks for every order. */
	uint32_t orders_max; /* 0: what the scenario says */
	const char *order;   /* only this one; NULL: all */
	/* Extra readers of the stream (trace file, timeline), called for every event. */
	struct {
		srd_event_fn *fn;
		void *reader;
	} readers[4];
	int num_readers;
	/* Called at each t:log; may be NULL. */
	void (*log)(void *arg, const char *text);
	void *log_arg;
};

struct srd_failure {
	char *file;
	int line;
	char *rule;    /* id where a rule was violated; NULL otherwise */
	char *message; /* the first line is the summary; more lines are detail */
};

struct srd_scenario_result {
	enum srd_verdict verdict;
	char *skip_reason; /* NULL unless skipped */
	struct srd_failure *failures;
	int num_failures;
	uint64_t virtual_time; /* ns */
	uint64_t wall_time;    /* ns */
	uint64_t num_events;
	uint64_t trace_hash; /* 0 unless asked for */
	uint64_t not_judged
		[2];         /* bit by rule: it is selected, and events that it needs never came */
	uint64_t num_orders; /* that were run; 0: it does not ask for every order */
	bool orders_left;    /* there are more, and the bound was reached */
	char *order;         /* in which it failed; NULL: it did not, or there is but one */
	uint64_t suppressions; /* bit by entry of the suppression file, 64 at most: it was needed */
};

/*
 * Load PATH and collect its scenarios. Errors carry "file:line: ". -ENOEXEC: it asks for what
 * scripts over a program have (steer.h).
 */
int srd_script_load(const char *path, const struct srd_sandbox *sandbox, struct srd_script **out,
		    struct srd_error *error);
/* The same from memory; PATH names it in messages. */
int srd_script_load_text(const char *path, const char *text, size_t size,
			 const struct srd_sandbox *sandbox, struct srd_script **out,
			 struct srd_error *error);
void srd_script_free(struct srd_script *script);
const char *srd_script_path(const struct srd_script *script);
int srd_script_count(const struct srd_script *script);
const struct srd_scenario_info *srd_script_scenario(const struct srd_script *script, int index);

/*
 * Run one scenario. 0 whatever its verdict; a negative errno where the tool itself failed.
 * Release the result with srd_scenario_result_release in either case.
 */
int srd_scenario_run(const struct srd_script *script, int index,
		     const struct srd_run_config *config, struct srd_scenario_result *result,
		     struct srd_error *error);
void srd_scenario_result_release(struct srd_scenario_result *result);

/*
 * Time is over for the script that the calling thread runs, if it runs one. May be called
 * by a handler of signals.
 */
void srd_watchdog_expire(void);
/*
 * Called by a handler of signals in the thread of a script that has not stopped long after
 * its time was over, with the LINE where it is (0: unknown) and what it does there: a call
 * into a library cannot be interrupted, only ended with its process. NULL: nobody does.
 */
#define SRD_STUCK_TEXT 96 /* bytes of WHAT, at most */
extern void (*srd_watchdog_stuck)(int line, const char *what);

#endif
