/* SPDX-License-Identifier: MIT */
/*
 * What the software device lets its laboratory do, `srdlab run --backend efa` in a group of its
 * own (srdlab exec --clock called): be another device for each scenario, with its profile and
 * seed, whose time moves only where the laboratory waits. By name, from the library that is
 * preloaded: both are of one build. Errors are positive errnos.
 */
#ifndef SRD_SOFTEFA_LAB_H
#define SRD_SOFTEFA_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include <srdlab/chooser.h>
#include <srdlab/error.h>
#include <srdlab/event.h>
#include <srdlab/lab.h>
#include <srdlab/profile.h>

#define SOFT_LAB_CALLS "srdlab_lab_calls"

struct soft_lab_calls {
	uint32_t profile_size; /* of struct srd_profile, as the library knows it */
	/* Whether this group can have one: it logs no decisions and no events, and has no script. */
	bool (*offered)(void);
	/*
	 * A fresh device. What PROFILE leaves as in the profile efa1 is as srdlab exec said.
	 * Nobody has a device open. EOPNOTSUPP, EBUSY or ENOSPC, with the reason in *error.
	 */
	int (*begin)(const struct srd_profile *profile, uint64_t seed, struct srd_chooser *chooser,
		     struct srd_error *error);
	/* Device events, with the kernel's handles; NULL: none are wanted any more. */
	void (*tell)(struct srd_stream *stream);
	/* The device is again as srdlab exec made it. */
	void (*end)(void);
	uint64_t (*now)(void); /* virtual, ns */
	/* As the operation "wait" of the table; *SEEN is the caller's to keep. */
	int (*wait)(uint64_t *seen, uint64_t deadline);
	/* What is opened next is device number HOST of the model, of max_hosts. */
	void (*next_device)(uint32_t host);
	uint32_t max_hosts;
	/*
	 * SET, COUNTER, KILL, RESTART of command->host, LOCATE of command->ordinal of the queue
	 * pair that annotate.h names QP: EINVAL, ENOENT as srdlab/lab.h says.
	 */
	int (*command)(struct srd_lab *command, uint64_t qp);
};

#endif
