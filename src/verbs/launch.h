/* SPDX-License-Identifier: MIT */
/*
 * Running a program on a device that is not there. hw/ registers how before main, where it
 * can; the command knows it only by this.
 */
#ifndef SRD_LAUNCH_H
#define SRD_LAUNCH_H

#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/lab.h>
#include <srdlab/profile.h>

/* What becomes of the events of the programs. The functions are called by another thread. */
struct srd_launch_record {
	struct srd_stream *stream;
	bool all; /* also what only a trace shows, and no rule looks at */
	void *context;
	/*
	 * The stack that events give as their line NUMBER, in process PID. TEXT has LENGTH bytes
	 * and a line for each frame, innermost first: file, tab, address in it, tab, function or
	 * nothing. It comes before its first use.
	 */
	void (*stack)(void *context, uint32_t number, int pid, const char *text, size_t length);
};

/* The moments of the programs' devices that a script can be asked at. */
enum srd_launch_what {
	SRD_LAUNCH_DEVICE,     /* a process opened a device */
	SRD_LAUNCH_QUEUE_PAIR, /* and made a queue pair on it */
	SRD_LAUNCH_REQUEST,    /* which is given a request: nothing is done about it yet */
	SRD_LAUNCH_TIME,       /* the virtual time that the script wanted is there */
	SRD_NUM_LAUNCH_WHATS,
};

/*
 * One of them. It comes from memory that the programs can write to: any value may be wrong.
 * Those below `qp` are of a queue pair, those below `ordinal` of a request.
 */
struct srd_launch_moment {
	uint32_t what; /* enum srd_launch_what */
	int32_t pid;
	uint64_t now; /* virtual ns */
	uint32_t host;
	uint32_t qp_num;
	uint64_t qp;      /* names the queue pair in commands; never used again */
	uint64_t ordinal; /* of the requests of its queue pair, from 0 */
	uint64_t local_addr;
	uint64_t remote_addr;
	uint32_t length;
	uint32_t imm_data;
	uint32_t remote_qpn;
	uint32_t opcode; /* enum srd_wr_opcode */
};

/* A command of srdlab/lab.h to the device; requests are by ordinal. */
struct srd_launch_command {
	uint32_t kind; /* enum srd_lab_kind */
	uint32_t host;
	uint64_t qp;
	uint64_t ordinal;
	uint64_t time;
	uint64_t value; /* also out */
	uint32_t status;
	uint32_t place; /* out: enum srd_request_place */
	char name[32];
};

/* The device, while it waits for a script. */
struct srd_launch_device {
	void *context;
	/* 0 or a positive errno as srdlab/lab.h has them; ESTALE: the queue pair is gone;
	 * ECANCELED: the process that waited is, and nothing more can be done. */
	int (*command)(void *context, struct srd_launch_command *command);
	const char *(*counter_name)(uint32_t i); /* from 0; NULL: there are no more */
};

/* A script over the programs. */
struct srd_launch_script {
	void *context;
	uint32_t wanted; /* bit by enum srd_launch_what */
	uint64_t alarm;  /* virtual ns of the first SRD_LAUNCH_TIME; 0: none is wanted */
	/*
	 * Called by another thread, with the device standing still until it returns. *ALARM:
	 * when SRD_LAUNCH_TIME is wanted next. Other than 0: the script has failed and said so;
	 * it is not asked again, and the program is sent SIGTERM.
	 */
	int (*moment)(void *context, const struct srd_launch_moment *moment,
		      const struct srd_launch_device *device, uint64_t *alarm);
};

/* One entry of a decision log: hw/softefa/decide.h. */
struct srd_launch_decision {
	uint32_t object;
	uint32_t polls;
	uint32_t events;
	uint16_t process;
	uint8_t kind;
	uint8_t reserved;
};

struct srd_launch_log {
	struct srd_launch_decision *list; /* for srd_free */
	uint64_t num;
	bool followed; /* by a replay, to its end */
};

/* Whether a process of the program opened a device, and where none did, why that may be. */
enum srd_launch_met {
	SRD_LAUNCH_MET,
	SRD_LAUNCH_UNUSED,  /* it looks as if it could have */
	SRD_LAUNCH_STATIC,  /* it loads no libraries, */
	SRD_LAUNCH_32BIT,   /* or others than ours, */
	SRD_LAUNCH_SETUID,  /* or not those that its environment names: it gains rights */
	SRD_LAUNCH_CAPABLE, /* ... in its file's capabilities */
};

struct srd_launch_reach {
	enum srd_launch_met met;
	char interpreter[128]; /* of a script, which this is about; "": it is the program */
};

struct srd_launch_options {
	const struct srd_profile *profile;
	uint64_t seed;
	uint32_t devices;
	bool called_clock; /* time passes in the program's calls only */
	bool copied;       /* memory of other processes is never mapped, only copied */
	uint32_t doorbell; /* how the device learns of work: auto, trapped, watched */
	const char *group; /* programs of one group reach each other; NULL: this one alone */
	/* Names of options that count only for the first program of a group; NULL: none was given. */
	const char *first;
	char **argv;                            /* ends with NULL */
	const struct srd_launch_record *record; /* NULL: no events are wanted */
	const struct srd_launch_script *script; /* NULL: there is none */
	struct srd_launch_log *log;             /* of decisions; NULL: none is wanted */
	bool replay;                            /* LOG is to be followed, else to be filled */
	/* A sentence for the user, such as why something does not work here. */
	void (*say)(const char *text);
};

struct srd_launcher {
	/*
	 * Run the program to its end. *STATUS as waitpid gives it. A negative errno with *error:
	 * it was not started.
	 */
	int (*run)(const struct srd_launch_options *options, int *status,
		   struct srd_launch_reach *reach, struct srd_error *error);
};

void srd_launcher_register(const struct srd_launcher *launcher);
const struct srd_launcher *srd_launcher_get(void); /* NULL: built without one */

#endif
