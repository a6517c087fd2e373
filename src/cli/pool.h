/* SPDX-License-Identifier: MIT */
/*
 * Work on many items in other processes, one or several, with the results in order. A
 * process that dies costs the one item that it worked on.
 */
#ifndef SRD_CLI_POOL_H
#define SRD_CLI_POOL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <srdlab/error.h>

struct srd_cli_pool {
	uint64_t count; /* items, numbered from 0 */
	int jobs;       /* processes */
	void *arg;
	/* In each process, before its first item and after its last; false: it ends badly. May be
	 * NULL. A process that is killed never leaves. */
	bool (*enter)(void *arg);
	bool (*leave)(void *arg);
	/* Work on one item: its result as text, for free(); NULL: out of memory. */
	char *(*run)(void *arg, uint64_t item);
	/*
	 * Here, in the order of the items: the result, or what became of the process that
	 * should have given it (then TEXT is NULL). Other than 0 ends all.
	 */
	int (*done)(void *arg, uint64_t item, char *text, const char *death);
	uint64_t deadline;                 /* CLOCK_MONOTONIC ns; 0: none */
	const volatile sig_atomic_t *stop; /* ends early where it is not 0 */
};

enum srd_cli_pool_end {
	SRD_POOL_DONE,
	SRD_POOL_STOPPED,
	SRD_POOL_OUT_OF_TIME,
};

/*
 * An enum srd_cli_pool_end: what is finished by then has been handed to done. A negative
 * errno with *error: no process could be started, one ended badly, or done said so.
 */
int srd_cli_pool_run(const struct srd_cli_pool *pool, struct srd_error *error);

uint64_t srd_cli_now(void); /* CLOCK_MONOTONIC ns */
/* The processes that --jobs WANTED asks for: 0 is one for each processor. */
int srd_cli_jobs(uint64_t wanted);

#endif
