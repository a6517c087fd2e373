/* SPDX-License-Identifier: MIT */
/*
 * A plug-in runs in a process of its own: this program, executed anew, so that nothing of
 * one run is left in the next and every address is another one. The parent gives it a
 * request, takes its events and waits for its answer, however it ends.
 *
 * With two processes at once the events of both are compared: a plug-in that decides by the
 * clock, by an address or by what is left in memory is found so.
 */
#ifndef SRD_PLUGIN_PROCESS_H
#define SRD_PLUGIN_PROCESS_H

#include <srdlab/error.h>
#include <srdlab/event.h>

/* Of time_limit: for the process to end by itself, ns. */
#define SRD_PLUGIN_GRACE UINT64_C(3000000000)

/* argv[0] of such a process. */
#define SRD_PLUGIN_PROCESS "srdlab-plug-in"

struct srd_plugin_work {
	const char *request; /* text, handed to the process as it is */
	bool twice;          /* in two processes */
	uint64_t time_limit; /* wall ns that it has; it is told to stop a little later */
	uint64_t memory;     /* bytes that may be resident in it; 0: any */
	/* Readers of the events of the first process. */
	struct {
		srd_event_fn *fn;
		void *reader;
	} readers[4];
	int num_readers;
};

enum srd_plugin_end {
	SRD_PLUGIN_RESULT,  /* text is what the process answered */
	SRD_PLUGIN_REFUSED, /* the plug-in could not be loaded: text says why */
	SRD_PLUGIN_BLAMED,  /* the plug-in ended the process: text says how, with a stack */
};

struct srd_plugin_answer {
	enum srd_plugin_end end;
	char *text;            /* for srd_free */
	uint32_t line;         /* of the script, at the last event; 0: unknown */
	char difference[1024]; /* of the two runs; empty: there is none, or it was one */
};

/*
 * 0 however the plug-in behaves. A negative errno with *error: no process could be started,
 * or there is no memory.
 */
int srd_plugin_run(const struct srd_plugin_work *work, struct srd_plugin_answer *answer,
		   struct srd_error *error);

/* --- in the process --- */

/*
 * Open what the parent left in ARGV: *REQUEST is its text, for srd_free. From here on a
 * crash is told to the parent. 0 or a negative errno.
 */
int srd_plugin_process_open(int argc, char **argv, char **request, struct srd_error *error);
/* A reader of the stream that sends every event to the parent. */
void srd_plugin_process_event(void *unused, const struct srd_event *event);
/* Send what is left and the answer, KIND being SRD_TOLD_RESULT or SRD_TOLD_REFUSED. */
int srd_plugin_process_answer(char kind, const char *text);

#endif
