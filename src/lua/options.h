/* SPDX-License-Identifier: MIT */
/* What a script may say beside a name: plain structures, filled in from Lua tables. */
#ifndef SRD_LUA_OPTIONS_H
#define SRD_LUA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <srdlab/verbs.h>

#include "verbs/limit_table.h"

#define SRD_MAX_LIMITS 20

struct srd_memory_options {
	uint32_t access; /* enum srd_access_flags */
	enum srd_buffer_kind kind;
	bool register_it;
};

struct srd_rails_options {
	uint32_t max_in_flight; /* requests, over all rails; 0: their credits together */
	uint64_t stripe;        /* bytes; 0: the largest that is one request */
};

struct srd_scenario_options {
	bool seeds;          /* its course depends on the seed */
	uint32_t orders_max; /* orders that are run at most; 0: SRD_ORDERS_MAX */
	uint64_t timeout;    /* ns of the table's clock; 0: none */
	struct srd_limit limits[SRD_MAX_LIMITS];
	int num_limits;
};

struct srd_wr_options {
	uint64_t wr_id;
	uint32_t flags; /* enum srd_send_flags */
	uint32_t rkey;
	uint64_t remote_addr;
	uint32_t imm_data; /* network order */
};

struct srd_ud_addr_options {
	struct srd_ah *ah;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
};

struct srd_fault_call {
	uint64_t nth; /* 1: the next one; 0: every one */
};

#endif
