/* SPDX-License-Identifier: MIT */
/*
 * Running a program on a device that is not there. hw/ registers how before main, where it
 * can; the command knows it only by this.
 */
#ifndef SRD_LAUNCH_H
#define SRD_LAUNCH_H

#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/profile.h>

/* What becomes of the events of the programs. The functions are called by another thread. */
struct srd_launch_record {
	struct srd_stream *stream;
	bool packets; /* their events are wanted too */
	void *context;
	/*
	 * The stack that events give as their line NUMBER, in process PID. TEXT has LENGTH bytes
	 * and a line for each frame, innermost first: file, tab, address in it, tab, function or
	 * nothing. It comes before its first use.
	 */
	void (*stack)(void *context, uint32_t number, int pid, const char *text, size_t length);
};

struct srd_launch_options {
	const struct srd_profile *profile;
	uint64_t seed;
	uint32_t devices;
	bool called_clock; /* time passes in the program's calls only */
	bool copied;       /* memory of other processes is never mapped, only copied */
	uint32_t doorbell; /* how the device learns of work: auto, trapped, watched */
	const char *group; /* programs of one group reach each other; NULL: this one alone */
	char **argv;       /* ends with NULL */
	const struct srd_launch_record *record; /* NULL: no events are wanted */
	/* A sentence for the user, such as why something does not work here. */
	void (*say)(const char *text);
};

struct srd_launcher {
	/*
	 * Run the program to its end. *STATUS as waitpid gives it. A negative errno with *error:
	 * it was not started.
	 */
	int (*run)(const struct srd_launch_options *options, int *status, struct srd_error *error);
};

void srd_launcher_register(const struct srd_launcher *launcher);
const struct srd_launcher *srd_launcher_get(void); /* NULL: built without one */

#endif
