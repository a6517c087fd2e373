/* SPDX-License-Identifier: MIT */
/*
 * The limits table: lowers what a device reports, on any backend, and refuses what the
 * lowered limits forbid with the errno that a device with such limits gives. It stands
 * below the fault injector and the observer.
 *
 * A limit is a field of struct srd_device_attr or struct srd_efa_device_attr by its name
 * (max_qp, max_cq, max_cqe, max_mr, max_mr_size, max_pd, max_ah, max_sge_rd; max_sq_wr,
 * max_rq_wr, max_sq_sge, max_rq_sge, inline_buf_size, inline_buf_size_ex, max_rdma_size);
 * max_send_wr and max_recv_wr are other names for max_sq_wr and max_rq_wr. max_qp_wr and
 * max_sge follow from these, as the kernel driver computes them.
 *
 * Depths are compared after rounding up to a power of two, as the device gets them: with
 * max_sq_wr 3 a send queue of 3 is refused, since libefa makes 4 of it (rdma-core
 * providers/efa/verbs.c efa_setup_qp, kernel efa_verbs.c efa_qp_validate_cap).
 *
 * Divergence from EFA: a request longer than the lowered max_rdma_size is still carried out,
 * since only the device could complete it with an error; and a call that is wrong in two
 * ways gets the errno of the limit.
 */
#ifndef SRD_LIMITS_H
#define SRD_LIMITS_H

#include <srdlab/error.h>
#include <srdlab/verbs.h>

struct srd_limits;

struct srd_limit {
	const char *name;
	uint64_t value;
};

/*
 * A table over NEXT, which it closes when it is closed, with the NUM limits of LIST. -EINVAL:
 * no such limit, or a value that it cannot have. -ENOMEM. After an error NEXT is still the
 * caller's.
 */
int srd_limits_open(struct srd_verbs *next, const struct srd_limit *list, int num,
		    struct srd_limits **out, struct srd_error *error);
struct srd_verbs *srd_limits_verbs(struct srd_limits *limits);

/*
 * open_device is EINVAL where a limit is above what the device itself reports: this is the
 * sentence that names the limit and both numbers. Its code is 0 where no open failed so.
 */
const struct srd_error *srd_limits_error(const struct srd_limits *limits);

#endif
