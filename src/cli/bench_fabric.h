/* SPDX-License-Identifier: MIT */
/*
 * A full fabric at the packet level, on the mock and nothing above it: 250 hosts in a ring,
 * four queue pairs each, which write 1 MiB at a time to the next one. A model has 256 hosts
 * at most, so that a thousand senders are four to a host; some ten thousand packets are under
 * way at any time.
 */
#ifndef SRD_CLI_BENCH_FABRIC_H
#define SRD_CLI_BENCH_FABRIC_H

#include <stdint.h>

#include <srdlab/error.h>

struct srd_bench_fabric;

/* Close it in any case; *OUT is NULL where there was no memory for it. */
int srd_bench_fabric_open(struct srd_bench_fabric **out, struct srd_error *error);
void srd_bench_fabric_close(struct srd_bench_fabric *fabric);

/* COUNT writes; EVENTS of the mock's heap were processed for them. */
int srd_bench_fabric_run(struct srd_bench_fabric *fabric, uint64_t count, uint64_t *events,
			 struct srd_error *error);

#endif
