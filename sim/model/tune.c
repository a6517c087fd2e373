/* SPDX-License-Identifier: MIT */
/*
 * Names from outside: the fields of the profile that may change while it runs, and the
 * counters.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

static uint64_t field_max(const struct srd_profile_field *field)
{
	uint64_t n = 0;

	if (field->type == SRD_PROFILE_TYPE_BOOL)
		return 1;
	if (field->type != SRD_PROFILE_TYPE_CHOICE)
		return field->max;
	while (field->choices[n])
		n++;
	return n - 1;
}

int srd_model_set(struct srd_model *m, const char *name, uint64_t value)
{
	const struct srd_profile_field *field = srd_profile_field_find(name);
	uint8_t *at = (uint8_t *)&m->state->profile;

	if (!field)
		return ENOENT;
	if (!field->live || value > field_max(field) || value < field->min)
		return EINVAL;
	/* EFA hosts are little endian: the low bytes come first. */
	memcpy(at + field->offset, &value, field->size);
	srd_fabric_tune(m);
	return 0;
}

#define COUNTER(name)                                      \
	{                                                  \
#name, offsetof(struct srd_counters, name) \
	}

#define OP_COUNTER(name, type, field)                                              \
	{                                                                          \
#name, offsetof(struct srd_counters, op[SRD_OP_TYPE_##type].field) \
	}

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
	COUNTER(tx_bytes),
	COUNTER(tx_pkts),
	COUNTER(rx_bytes),
	COUNTER(rx_pkts),
	COUNTER(rx_drops),
	OP_COUNTER(send_bytes, SEND, bytes),
	OP_COUNTER(send_wrs, SEND, wrs),
	COUNTER(recv_bytes),
	COUNTER(recv_wrs),
	OP_COUNTER(rdma_read_wrs, RDMA_READ, wrs),
	OP_COUNTER(rdma_read_bytes, RDMA_READ, bytes),
	OP_COUNTER(rdma_read_wr_err, RDMA_READ, errors),
	COUNTER(rdma_read_resp_bytes),
	OP_COUNTER(rdma_write_wrs, RDMA_WRITE, wrs),
	OP_COUNTER(rdma_write_bytes, RDMA_WRITE, bytes),
	OP_COUNTER(rdma_write_wr_err, RDMA_WRITE, errors),
	COUNTER(rdma_write_recv_bytes),
	COUNTER(retrans_bytes),
	COUNTER(retrans_pkts),
	COUNTER(retrans_timeout_events),
	COUNTER(unresponsive_remote_events),
	COUNTER(impaired_remote_conn_events),
	COUNTER(qkey_violations),
	COUNTER(cq_overruns),
};

const char *srd_model_counter_name(uint32_t i)
{
	return i < sizeof(counters) / sizeof(counters[0]) ? counters[i].name : NULL;
}

int srd_model_counter(const struct srd_model *m, uint32_t host, const char *name, uint64_t *value)
{
	const uint8_t *at = (const uint8_t *)&m->device[host].counters;

	if (host >= m->state->num_hosts)
		return ENOENT;
	/* Not of one host: what the model as a whole has processed, told with the first. */
	if (!strcmp(name, "events")) {
		*value = host ? 0 : m->state->events;
		return 0;
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (strcmp(counters[i].name, name))
			continue;
		memcpy(value, at + counters[i].offset, sizeof(*value));
		return 0;
	}
	return ENOENT;
}
