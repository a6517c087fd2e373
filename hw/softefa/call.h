/* SPDX-License-Identifier: MIT */
/*
 * One RDMA_VERBS_IOCTL of a program: its attributes, copied once from its memory, and the
 * ways to read what they point to and to answer. Nothing of it is trusted. Results are
 * positive errnos, as the kernel would give them.
 */
#ifndef SRD_SOFTEFA_CALL_H
#define SRD_SOFTEFA_CALL_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#define SOFT_MAX_ATTRS 32

struct soft_call {
	uint64_t user; /* where the header lies */
	uint16_t object;
	uint16_t method;
	uint32_t num;
	uint32_t file;
	uint32_t host;
	struct ib_uverbs_attr attr[SOFT_MAX_ATTRS];
};

int soft_call_read(struct soft_call *call, uint64_t user);

/* NULL: it was not given. */
const struct ib_uverbs_attr *soft_attr(const struct soft_call *call, uint16_t id);

/*
 * SIZE bytes of the attribute, of which at least MIN must be given; the rest is zero. What
 * is given beyond SIZE must be zero. EINVAL where it is missing, unless MIN is 0.
 */
int soft_in(const struct soft_call *call, uint16_t id, void *to, size_t size, size_t min);
/* A handle or number that lies in the attribute itself; UINT64_MAX: it was not given. */
uint64_t soft_in_number(const struct soft_call *call, uint16_t id);
/* As much as fits; nothing where it was not asked for. */
int soft_out(struct soft_call *call, uint16_t id, const void *from, size_t size);
/* EINVAL where it was not asked for. */
int soft_out_number(struct soft_call *call, uint16_t id, uint64_t value);

/* Perform it. With the lock held. */
int soft_command(struct soft_call *call);

#endif
