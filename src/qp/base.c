/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/base.h"

static struct srd_qp_base *base_of(struct srd_queue_pair *qp)
{
	return (struct srd_qp_base *)qp;
}

int srd_qp_base_depth(const char *name, uint32_t depth, struct srd_error *error)
{
	if (!depth)
		return srd_error_set(error, -EINVAL, "%s is 0: a queue holds at least 1 request",
				     name);
	return 0;
}

static int config_check(const struct srd_queue_pair_config *config, const char *device,
			const struct srd_port_attr *port, struct srd_error *error)
{
	if (config->pkey_index >= port->pkey_tbl_len)
		return srd_error_set(
			error, -EINVAL,
			"pkey_index is %u, but port %u of device %s has %u partition keys",
			config->pkey_index, config->port_num, device, port->pkey_tbl_len);
	return 0;
}

int srd_qp_base_init(struct srd_qp_base *base, struct srd_verbs *verbs, struct srd_pd *pd,
		     const struct srd_queue_pair_config *config, uint8_t sgid_index,
		     struct srd_port_attr *port, struct srd_error *error)
{
	struct srd_context *context;
	int rc;

	if (!pd)
		return srd_error_set(error, -EINVAL,
				     "a queue pair cannot stand on a null protection domain");
	context = pd->context;
	*base = (struct srd_qp_base){
		.verbs = verbs,
		.psn = config->psn,
		.pkey_index = config->pkey_index,
		.port_num = config->port_num,
		.sgid_index = sgid_index,
	};
	rc = verbs->query_port(verbs, context, config->port_num, port);
	if (rc)
		return srd_error_set(error, -rc, "device %s has no port %u: %s", context->name,
				     config->port_num, strerror(rc));
	rc = verbs->query_gid(verbs, context, config->port_num, sgid_index, &base->gid);
	if (rc)
		return srd_error_set(error, -rc, "port %u of device %s has no GID at index %u: %s",
				     config->port_num, context->name, sgid_index, strerror(rc));
	return config_check(config, context->name, port, error);
}

int srd_qp_base_create(struct srd_qp_base *base, struct srd_pd *pd,
		       const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		       struct srd_cq *recv_cq, const struct srd_efa_qp_init_attr *efa,
		       struct srd_error *error)
{
	struct srd_qp_init_attr_ex attr = {
		.pd = pd,
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap =
			{
				.max_send_wr = config->max_send_wr,
				.max_recv_wr = config->max_recv_wr,
				.max_send_sge = config->max_send_sge,
				.max_recv_sge = config->max_recv_sge,
			},
		.qp_type = efa ? SRD_QPT_DRIVER : SRD_QPT_RC,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ,
	};
	int rc;

	base->shared_cq = send_cq == recv_cq;
	base->qp = base->verbs->create_qp_ex(base->verbs, pd->context, &attr, efa);
	if (base->qp)
		return 0;
	rc = errno;
	return srd_error_set(error, -rc,
			     "failed to create %s queue pair on device %s with max_send_wr %u and "
			     "max_recv_wr %u: %s",
			     efa ? "EFA SRD" : "a reliable-connected", pd->context->name,
			     config->max_send_wr, config->max_recv_wr, strerror(rc));
}

void srd_qp_base_release(struct srd_qp_base *base)
{
	srd_stash_release(&base->stash[SRD_QUEUE_SEND]);
	srd_stash_release(&base->stash[SRD_QUEUE_RECV]);
}

int srd_qp_base_walk(struct srd_qp_base *base, const struct srd_qp_step *steps, uint32_t num,
		     struct srd_error *error)
{
	int rc;

	if (base->qp->state == SRD_QPS_RESET)
		base->num_steps = 0;
	for (; base->num_steps < num; base->num_steps++) {
		const struct srd_qp_step *step = &steps[base->num_steps];

		rc = base->verbs->modify_qp(base->verbs, base->qp, &step->attr, step->mask);
		if (rc)
			return srd_error_set(error, -rc,
					     "queue pair %u could not be moved from %s to %s: %s",
					     base->qp->qp_num, srd_qp_state_str(base->qp->state),
					     step->name, strerror(rc));
	}
	return 0;
}

int srd_qp_base_endpoint(struct srd_queue_pair *qp, struct srd_endpoint *out,
			 struct srd_error *error)
{
	struct srd_qp_base *base = base_of(qp);
	struct srd_port_attr port;
	int rc;

	rc = base->verbs->query_port(base->verbs, base->qp->context, base->port_num, &port);
	if (rc)
		return srd_error_set(error, -rc, "port %u of device %s could not be queried: %s",
				     base->port_num, base->qp->context->name, strerror(rc));
	*out = (struct srd_endpoint){
		.qp_num = base->qp->qp_num,
		.psn = base->psn,
		.lid = port.lid,
		.has_gid = true,
		.gid_index = base->sgid_index,
		.gid = base->gid,
	};
	return 0;
}

/* The query also refreshes the state that the library goes by when it is asked to post. */
int srd_qp_base_state(struct srd_queue_pair *qp, enum srd_qp_state *out, struct srd_error *error)
{
	struct srd_qp_base *base = base_of(qp);
	struct srd_qp_attr attr;
	int rc;

	rc = base->verbs->query_qp(base->verbs, base->qp, &attr, SRD_QP_STATE);
	if (rc)
		return srd_error_set(error, -rc,
				     "the state of queue pair %u could not be queried: %s",
				     base->qp->qp_num, strerror(rc));
	*out = attr.qp_state;
	return 0;
}

struct srd_qp *srd_qp_base_verbs_qp(struct srd_queue_pair *qp)
{
	return base_of(qp)->qp;
}

uint64_t srd_qp_base_max_msg_size(struct srd_queue_pair *qp)
{
	return base_of(qp)->max_msg_size;
}

uint64_t srd_qp_base_num_requests(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size)
{
	return srd_chunk_count(size, base_of(qp)->max_msg_size);
}

__attribute__((cold)) int srd_qp_base_too_small(const struct srd_qp_base *base,
						enum srd_op_kind kind, uint64_t to_size,
						uint64_t from_size, struct srd_error *error)
{
	return srd_error_set(error, -EMSGSIZE,
			     "%s on queue pair %u: the destination has %" PRIu64
			     " bytes, the source %" PRIu64,
			     srd_op_kind_name(kind), base->qp->qp_num, to_size, from_size);
}

__attribute__((cold)) int srd_qp_base_not_connected(const struct srd_qp_base *base,
						    enum srd_op_kind kind, struct srd_error *error)
{
	return srd_error_set(error, -ENOTCONN, "%s on queue pair %u, which has not been connected",
			     srd_op_kind_name(kind), base->qp->qp_num);
}

int srd_qp_base_connected(const struct srd_qp_base *base, uint32_t remote_qpn,
			  struct srd_error *error)
{
	return srd_error_set(error, -EISCONN, "queue pair %u is connected to queue pair %u already",
			     base->qp->qp_num, remote_qpn);
}

__attribute__((cold)) int srd_qp_base_beyond_memory(const struct srd_qp_base *base,
						    enum srd_op_kind kind, int rc,
						    const struct srd_local_view *local,
						    const struct srd_remote_view *remote,
						    struct srd_error *error)
{
	return srd_error_set(error, rc,
			     "%s on queue pair %u: %" PRIu64 " bytes at local 0x%" PRIx64
			     " or %" PRIu64 " at remote 0x%" PRIx64
			     " reach beyond the last address",
			     srd_op_kind_name(kind), base->qp->qp_num, local->size, local->addr,
			     remote->size, remote->addr);
}

__attribute__((cold)) int srd_qp_base_too_many(const struct srd_qp_base *base, uint64_t size,
					       const struct srd_chunk_plan *plan,
					       const struct srd_wr_ids *ids,
					       struct srd_error *error)
{
	return srd_error_set(error, -ENOSPC,
			     "%" PRIu64 " bytes on queue pair %u are %" PRIu64
			     " requests, but there is room for %u ids",
			     size, base->qp->qp_num, plan->num_left, ids->capacity);
}

__attribute__((cold)) static int poll_failed(const struct srd_qp_base *base, int n,
					     struct srd_error *error)
{
	return srd_error_set(error, n,
			     "the completion queue of queue pair %u could not be polled: %s%s",
			     base->qp->qp_num, strerror(-n),
			     n == -EINVAL ? ", the entry was of no live queue pair" : "");
}

/* An entry as rdma-core takes it out; the fields that it sets for either queue. */
static int entry_poll(struct srd_qp_base *base, struct srd_cq *cq, struct srd_completion *out,
		      struct srd_error *error)
{
	struct srd_wc wc;
	int n = base->verbs->poll_cq(base->verbs, cq, 1, &wc);

	if (n <= 0)
		return n ? poll_failed(base, n, error) : 0;
	if (wc.qp_num != base->qp->qp_num)
		return srd_error_set(error, -EINVAL,
				     "the completion queue of queue pair %u held an entry of queue "
				     "pair %u",
				     base->qp->qp_num, wc.qp_num);
	out->wr_id = wc.wr_id;
	out->status = wc.status;
	out->vendor_err = wc.vendor_err;
	out->opcode = wc.opcode;
	return 1;
}

int srd_qp_base_poll(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
		     struct srd_error *error)
{
	struct srd_qp_base *base = base_of(qp);
	struct srd_stash *other = &base->stash[!which];
	struct srd_cq *cq = which == SRD_QUEUE_SEND ? base->qp->send_cq : base->qp->recv_cq;
	int n;

	if (srd_stash_take(&base->stash[which], out))
		return 1;
	for (;;) {
		/* Room before the entry is taken out, or it would be lost without. */
		if (base->shared_cq && srd_stash_reserve(other))
			return srd_error_set(error, -ENOMEM,
					     "out of memory for completions of queue pair %u",
					     base->qp->qp_num);
		n = entry_poll(base, cq, out, error);
		if (n <= 0 || !base->shared_cq ||
		    (which == SRD_QUEUE_RECV) == !!(out->opcode & SRD_WC_RECV))
			return n;
		srd_stash_put(other, out);
	}
}
