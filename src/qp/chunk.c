/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>

#include "qp/chunk.h"

/* The byte after the last may be 2^64, the last one not. */
static int range_check(const char *which, uint64_t addr, uint64_t size, struct srd_error *error)
{
	if (!size || size - 1 <= UINT64_MAX - addr)
		return 0;
	return srd_error_set(error, -EOVERFLOW,
			     "the %s range of %" PRIu64 " bytes at 0x%" PRIx64
			     " reaches beyond the last address",
			     which, size, addr);
}

int srd_chunk_plan_start(struct srd_chunk_plan *plan, uint64_t local, uint64_t remote,
			 uint64_t size, uint32_t max, struct srd_error *error)
{
	int rc;

	if (!max)
		return srd_error_set(error, -EINVAL,
				     "a transfer cannot be cut into chunks of 0 bytes");
	rc = range_check("local", local, size, error);
	if (!rc)
		rc = range_check("remote", remote, size, error);
	if (rc)
		return rc;
	*plan = (struct srd_chunk_plan){
		.local = local,
		.remote = remote,
		.left = size,
		.num_left = srd_chunk_count(size, max),
		.max = max,
	};
	return 0;
}
