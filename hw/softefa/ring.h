/* SPDX-License-Identifier: MIT */
/*
 * The descriptors of EFA's queues, to and from the model's terms. What a program has
 * written is looked at once and trusted nowhere.
 */
#ifndef SRD_SOFTEFA_RING_H
#define SRD_SOFTEFA_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "softefa/efa_abi.h"

#define SOFT_WQE_SIZE      64u
#define SOFT_WQE_SIZE_WIDE 128u
#define SOFT_CQE_SIZE      32u

/* What the depth of a queue of the device must be: its counters are masked. */
static inline bool soft_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/*
 * A send-queue entry of SIZE bytes (64 or 128) into *REQUEST, which is zero, with all 64 bits of
 * the id, and its inline bytes to INLINE_DATA (SOFT_WQE_SIZE_WIDE are enough). False: no device could make sense of
 * it; then only the id is set.
 */
bool soft_wqe_parse(const void *entry, uint32_t size, struct srd_request *request,
		    uint8_t *inline_data);

/* One receive descriptor: its scatter entry and flags. */
struct soft_receive {
	struct srd_sge sge;
	uint16_t id;
	bool first;
	bool last;
};
void soft_rx_parse(const void *entry, struct soft_receive *receive);

/*
 * A completion entry into AT (SIZE bytes), its flags last. GID: that of the sender, where it
 * is wanted and its address handle is not known; NULL.
 */
void soft_cqe_write(void *at, uint32_t size, const struct srd_cqe *entry, bool phase,
		    const union srd_gid *gid);

#endif
