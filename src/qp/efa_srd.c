/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/chunk.h"
#include "qp/efa_srd.h"
#include "verbs/alloc.h"

/*
 * Completions of one queue that were met while the other was polled, where both share a
 * completion queue. Without this a poll of one would steal the completions of the other,
 * and whoever waits for those would wait for ever.
 */
struct stash {
	struct srd_completion *entries;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t head;
	uint32_t count;
};

struct efa_srd {
	struct srd_verbs *verbs;
	struct srd_qp *qp;
	struct srd_ah *ah; /* the peer's; NULL: not connected */
	uint64_t next_id;
	uint32_t max_rdma_size;
	uint32_t remote_qpn;
	uint32_t qkey;
	uint32_t psn;
	uint32_t transitions; /* of connect, done so far */
	uint16_t pkey_index;
	uint8_t port_num;
	union srd_gid gid;
	struct stash stash[2]; /* by enum srd_queue */
};

static struct efa_srd *self(struct srd_queue_pair *qp)
{
	return (struct efa_srd *)qp;
}

static int port_check(struct srd_verbs *verbs, struct srd_context *context,
		      const struct srd_queue_pair_config *config, union srd_gid *gid,
		      struct srd_error *error)
{
	struct srd_port_attr port;
	int rc;

	rc = verbs->query_port(verbs, context, config->port_num, &port);
	if (rc)
		return srd_error_set(error, -rc, "device %s has no port %u: %s", context->name,
				     config->port_num, strerror(rc));
	/* Always the first entry: EFA has one, and a peer's index is of its own table. */
	rc = verbs->query_gid(verbs, context, config->port_num, 0, gid);
	if (rc)
		return srd_error_set(error, -rc, "port %u of device %s has no GID at index 0: %s",
				     config->port_num, context->name, strerror(rc));
	if (config->pkey_index >= port.pkey_tbl_len)
		return srd_error_set(
			error, -EINVAL,
			"pkey_index is %u, but port %u of device %s has %u partition keys",
			config->pkey_index, config->port_num, context->name, port.pkey_tbl_len);
	return 0;
}

static int device_check(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_efa_device_attr *device, struct srd_error *error)
{
	const uint32_t needed =
		SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ | SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
	int rc;

	rc = verbs->efa_query_device(verbs, context, device);
	if (rc)
		return srd_error_set(error, -rc,
				     "the EFA device attributes of %s could not be queried: %s",
				     context->name, strerror(rc));
	if ((device->device_caps & needed) != needed)
		return srd_error_set(error, -EOPNOTSUPP,
				     "device %s does not support both RDMA read and RDMA write "
				     "(capabilities 0x%x, needed 0x%x)",
				     context->name, device->device_caps, needed);
	if (!device->max_rdma_size)
		return srd_error_set(error, -EOPNOTSUPP,
				     "the maximum RDMA transfer size of device %s is 0",
				     context->name);
	return 0;
}

/*
 * Zero is refused because libefa rounds a depth of 0 up with a shift by 64 bits, which C
 * leaves undefined.
 */
static int depth_check(const char *name, uint32_t wanted, uint32_t limit, const char *device,
		       struct srd_error *error)
{
	if (!wanted)
		return srd_error_set(error, -EINVAL, "%s is 0: a queue holds at least 1 request",
				     name);
	if (wanted > limit)
		return srd_error_set(error, -EINVAL, "%s is %u, but device %s allows at most %u",
				     name, wanted, device, limit);
	return 0;
}

static int config_check(const struct srd_queue_pair_config *config,
			const struct srd_efa_device_attr *device, const char *name,
			struct srd_error *error)
{
	int rc;

	rc = depth_check("max_send_wr", config->max_send_wr, device->max_sq_wr, name, error);
	if (!rc)
		rc = depth_check("max_recv_wr", config->max_recv_wr, device->max_rq_wr, name,
				 error);
	if (rc)
		return rc;
	if (config->psn >> 24)
		return srd_error_set(error, -EINVAL, "psn is 0x%x, but it has 24 bits",
				     config->psn);
	if (config->qkey >> 31)
		return srd_error_set(error, -EINVAL,
				     "qkey is 0x%x, but keys from 0x80000000 on are privileged",
				     config->qkey);
	return 0;
}

static int verbs_qp_create(struct efa_srd *e, struct srd_pd *pd,
			   const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			   struct srd_cq *recv_cq, struct srd_error *error)
{
	struct srd_qp_init_attr_ex attr = {
		.pd = pd,
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap =
			{
				.max_send_wr = config->max_send_wr,
				.max_recv_wr = config->max_recv_wr,
				/* RDMA takes one entry whatever the configuration says. */
				.max_send_sge = 1,
				.max_recv_sge = 1,
			},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ,
	};
	const struct srd_efa_qp_init_attr efa = {
		.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD,
	};
	int rc;

	e->qp = e->verbs->create_qp_ex(e->verbs, pd->context, &attr, &efa);
	if (e->qp)
		return 0;
	/*
	 * The device's own limits are not all among the attributes checked before: the send
	 * queue also has to fit its low-latency memory. So say what was asked for.
	 */
	rc = errno;
	return srd_error_set(error, -rc,
			     "failed to create EFA SRD queue pair on device %s with max_send_wr %u "
			     "and max_recv_wr %u: %s",
			     pd->context->name, config->max_send_wr, config->max_recv_wr,
			     strerror(rc));
}

static int efa_srd_create(struct srd_verbs *verbs, struct srd_pd *pd,
			  const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			  struct srd_cq *recv_cq, struct srd_queue_pair **out,
			  struct srd_error *error)
{
	struct srd_efa_device_attr device;
	struct efa_srd *e;
	union srd_gid gid;
	int rc;

	if (!pd)
		return srd_error_set(error, -EINVAL,
				     "a queue pair cannot stand on a null protection domain");
	rc = port_check(verbs, pd->context, config, &gid, error);
	if (!rc)
		rc = device_check(verbs, pd->context, &device, error);
	if (!rc)
		rc = config_check(config, &device, pd->context->name, error);
	if (rc)
		return rc;

	e = srd_calloc(1, sizeof(*e));
	if (!e)
		return srd_error_set(error, -ENOMEM, "out of memory for a queue pair on device %s",
				     pd->context->name);
	e->verbs = verbs;
	e->max_rdma_size = device.max_rdma_size;
	e->qkey = config->qkey ? config->qkey : SRD_DEFAULT_QKEY;
	e->psn = config->psn;
	e->pkey_index = config->pkey_index;
	e->port_num = config->port_num;
	e->gid = gid;
	rc = verbs_qp_create(e, pd, config, send_cq, recv_cq, error);
	if (rc) {
		srd_free(e);
		return rc;
	}
	*out = (struct srd_queue_pair *)e;
	return 0;
}

/*
 * The queue pair first: no request may be under way through an address handle that goes.
 * What a destroy answers changes nothing, for there is nothing else to be done.
 */
static void efa_srd_destroy(struct srd_queue_pair *qp)
{
	struct efa_srd *e = self(qp);

	if (!e)
		return;
	e->verbs->destroy_qp(e->verbs, e->qp);
	if (e->ah)
		e->verbs->destroy_ah(e->verbs, e->ah);
	srd_free(e->stash[SRD_QUEUE_SEND].entries);
	srd_free(e->stash[SRD_QUEUE_RECV].entries);
	srd_free(e);
}

static struct srd_qp *efa_srd_verbs_qp(struct srd_queue_pair *qp)
{
	return self(qp)->qp;
}

static int peer_check(const struct efa_srd *e, const struct srd_endpoint *peer,
		      struct srd_error *error)
{
	if (e->ah)
		return srd_error_set(error, -EISCONN,
				     "queue pair %u is connected to queue pair %u already",
				     e->qp->qp_num, e->remote_qpn);
	if (!peer->has_gid)
		return srd_error_set(error, -EINVAL,
				     "queue pair %u cannot be connected: EFA addresses by GID and "
				     "the peer's endpoint carries none",
				     e->qp->qp_num);
	/* The descriptor has 16 bits for it: the rest would be cut and name another one. */
	if (peer->qp_num > SRD_EFA_MAX_QP_NUM)
		return srd_error_set(
			error, -EINVAL,
			"queue pair %u cannot be connected: the peer's qp_num is %u, but "
			"EFA's go up to %u",
			e->qp->qp_num, peer->qp_num, SRD_EFA_MAX_QP_NUM);
	return 0;
}

/* Nothing of the peer is an attribute of the queue pair: its address is in every request. */
static int to_rts(struct efa_srd *e, struct srd_error *error)
{
	const struct {
		const char *name;
		uint32_t mask;
		struct srd_qp_attr attr;
	} transitions[] = {
		{"INIT",
		 SRD_QP_STATE | SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY,
		 {.qp_state = SRD_QPS_INIT,
		  .pkey_index = e->pkey_index,
		  .port_num = e->port_num,
		  .qkey = e->qkey}},
		{"RTR", SRD_QP_STATE, {.qp_state = SRD_QPS_RTR}},
		{"RTS", SRD_QP_STATE | SRD_QP_SQ_PSN, {.qp_state = SRD_QPS_RTS, .sq_psn = e->psn}},
	};
	int rc;

	if (e->qp->state == SRD_QPS_RESET)
		e->transitions = 0;
	while (e->transitions < sizeof(transitions) / sizeof(transitions[0])) {
		const char *name = transitions[e->transitions].name;

		rc = e->verbs->modify_qp(e->verbs, e->qp, &transitions[e->transitions].attr,
					 transitions[e->transitions].mask);
		if (rc)
			return srd_error_set(
				error, -rc, "queue pair %u could not be moved from %s to %s: %s",
				e->qp->qp_num, srd_qp_state_str(e->qp->state), name, strerror(rc));
		e->transitions++;
	}
	return 0;
}

static int efa_srd_connect(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
			   struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct srd_ah_attr attr = {.is_global = 1, .port_num = e->port_num};
	struct srd_ah *ah;
	int rc;

	rc = peer_check(e, peer, error);
	if (rc)
		return rc;
	/* First of all, so that a peer that cannot be reached leaves the queue pair as it is. */
	attr.dgid = peer->gid;
	ah = e->verbs->create_ah(e->verbs, e->qp->pd, &attr);
	if (!ah) {
		rc = errno;
		return srd_error_set(
			error, -rc,
			"no address handle could be created for the peer of queue pair "
			"%u: %s",
			e->qp->qp_num, strerror(rc));
	}
	rc = to_rts(e, error);
	if (rc) {
		e->verbs->destroy_ah(e->verbs, ah);
		return rc;
	}
	e->remote_qpn = peer->qp_num;
	e->ah = ah;
	return 0;
}

static int efa_srd_endpoint(struct srd_queue_pair *qp, struct srd_endpoint *out,
			    struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct srd_port_attr port;
	int rc;

	rc = e->verbs->query_port(e->verbs, e->qp->context, e->port_num, &port);
	if (rc)
		return srd_error_set(error, -rc, "port %u of device %s could not be queried: %s",
				     e->port_num, e->qp->context->name, strerror(rc));
	*out = (struct srd_endpoint){
		.qp_num = e->qp->qp_num,
		.psn = e->psn,
		.lid = port.lid,
		.has_gid = true,
		.gid = e->gid,
	};
	return 0;
}

/* The query also refreshes the state that the library goes by when it is asked to post. */
static int efa_srd_state(struct srd_queue_pair *qp, enum srd_qp_state *out, struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct srd_qp_attr attr;
	int rc;

	rc = e->verbs->query_qp(e->verbs, e->qp, &attr, SRD_QP_STATE);
	if (rc)
		return srd_error_set(error, -rc,
				     "the state of queue pair %u could not be queried: %s",
				     e->qp->qp_num, strerror(rc));
	*out = attr.qp_state;
	return 0;
}

static uint64_t efa_srd_max_msg_size(struct srd_queue_pair *qp)
{
	return self(qp)->max_rdma_size;
}

static uint64_t efa_srd_num_requests(struct srd_queue_pair *qp, enum srd_op_kind kind,
				     uint64_t size)
{
	return srd_chunk_count(size, self(qp)->max_rdma_size);
}

/* What can be known before the session opens; nothing is consumed where it fails. */
static int transfer_check(const struct efa_srd *e, const char *verb, uint64_t to_size,
			  uint64_t from_size, struct srd_error *error)
{
	if (to_size < from_size)
		return srd_error_set(error, -EMSGSIZE,
				     "%s on queue pair %u: the destination has %" PRIu64
				     " bytes, the source %" PRIu64,
				     verb, e->qp->qp_num, to_size, from_size);
	if (!e->ah)
		return srd_error_set(error, -ENOTCONN,
				     "%s on queue pair %u, which has not been connected", verb,
				     e->qp->qp_num);
	return 0;
}

static void chunk_build(struct efa_srd *e, enum srd_op_kind kind, const struct srd_chunk *chunk,
			uint32_t lkey, uint32_t rkey)
{
	struct srd_verbs *verbs = e->verbs;
	struct srd_qp *qp = e->qp;

	qp->wr_id = e->next_id++;
	/* EFA refuses a request without a completion. */
	qp->wr_flags = SRD_SEND_SIGNALED;
	switch (kind) {
	case SRD_OP_PUT:
		verbs->wr_rdma_write(verbs, qp, rkey, chunk->remote);
		break;
	case SRD_OP_GET:
		verbs->wr_rdma_read(verbs, qp, rkey, chunk->remote);
		break;
	}
	verbs->wr_set_sge(verbs, qp, lkey, chunk->local, chunk->length);
	verbs->wr_set_ud_addr(verbs, qp, e->ah, e->remote_qpn, e->qkey);
}

/* The whole transfer as one session: all of its requests are posted, or none. */
static int transfer_post(struct efa_srd *e, enum srd_op_kind kind, struct srd_chunk_plan *plan,
			 uint32_t lkey, uint32_t rkey, struct srd_wr_ids *ids,
			 struct srd_error *error)
{
	uint32_t count = (uint32_t)plan->num_left;
	struct srd_chunk chunk;
	int rc;

	e->verbs->wr_start(e->verbs, e->qp);
	for (uint32_t i = 0; srd_chunk_plan_next(plan, &chunk); i++) {
		ids->id[i] = e->next_id;
		chunk_build(e, kind, &chunk, lkey, rkey);
	}
	rc = e->verbs->wr_complete(e->verbs, e->qp);
	if (rc)
		return srd_error_set(
			error, -rc, "%s of %u requests on queue pair %u was refused: %s",
			kind == SRD_OP_PUT ? "put" : "get", count, e->qp->qp_num, strerror(rc));
	ids->count = count;
	return 0;
}

static int transfer(struct efa_srd *e, enum srd_op_kind kind, const struct srd_local_view *local,
		    const struct srd_remote_view *remote, uint64_t size, struct srd_wr_ids *ids,
		    struct srd_error *error)
{
	struct srd_chunk_plan plan;
	int rc;

	rc = srd_chunk_plan_start(&plan, local->addr, remote->addr, size, e->max_rdma_size, error);
	if (rc)
		return rc;
	if (plan.num_left > ids->capacity)
		return srd_error_set(error, -ENOSPC,
				     "%" PRIu64 " bytes on queue pair %u are %" PRIu64
				     " requests, but there is room for %u ids",
				     size, e->qp->qp_num, plan.num_left, ids->capacity);
	return transfer_post(e, kind, &plan, local->lkey, remote->rkey, ids, error);
}

static int efa_srd_put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		       const struct srd_local_view *from, struct srd_wr_ids *ids,
		       struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	int rc;

	ids->count = 0;
	rc = transfer_check(e, "put", to->size, from->size, error);
	return rc ? rc : transfer(e, SRD_OP_PUT, from, to, from->size, ids, error);
}

static int efa_srd_get(struct srd_queue_pair *qp, const struct srd_local_view *to,
		       const struct srd_remote_view *from, struct srd_wr_ids *ids,
		       struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	int rc;

	ids->count = 0;
	rc = transfer_check(e, "get", to->size, from->size, error);
	return rc ? rc : transfer(e, SRD_OP_GET, to, from, from->size, ids, error);
}

static bool stash_take(struct stash *stash, struct srd_completion *out)
{
	if (!stash->count)
		return false;
	*out = stash->entries[stash->head];
	stash->head = (stash->head + 1) & (stash->capacity - 1);
	stash->count--;
	return true;
}

/* Room for one more, found before the entry is taken from the completion queue. */
static int stash_reserve(struct stash *stash)
{
	uint32_t capacity = stash->capacity ? 2 * stash->capacity : 16;
	struct srd_completion *entries;

	if (stash->count < stash->capacity)
		return 0;
	entries = srd_reallocarray(NULL, capacity, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < stash->count; i++)
		entries[i] = stash->entries[(stash->head + i) & (stash->capacity - 1)];
	srd_free(stash->entries);
	stash->entries = entries;
	stash->capacity = capacity;
	stash->head = 0;
	return 0;
}

static void stash_put(struct stash *stash, const struct srd_completion *completion)
{
	stash->entries[(stash->head + stash->count) & (stash->capacity - 1)] = *completion;
	stash->count++;
}

/* The fields that libefa sets for either queue; the others of a send hold no value. */
static int entry_poll(struct efa_srd *e, struct srd_cq *cq, struct srd_completion *out,
		      enum srd_queue *from, struct srd_error *error)
{
	struct srd_wc wc;
	int n = e->verbs->poll_cq(e->verbs, cq, 1, &wc);

	if (n == 0)
		return 0;
	if (n < 0)
		return srd_error_set(
			error, n, "the completion queue of queue pair %u could not be polled: %s%s",
			e->qp->qp_num, strerror(-n),
			n == -EINVAL ? ", the entry was of no live queue pair" : "");
	if (wc.qp_num != e->qp->qp_num)
		return srd_error_set(error, -EINVAL,
				     "the completion queue of queue pair %u held an entry of queue "
				     "pair %u",
				     e->qp->qp_num, wc.qp_num);
	out->wr_id = wc.wr_id;
	out->status = wc.status;
	out->vendor_err = wc.vendor_err;
	out->opcode = wc.opcode;
	*from = wc.opcode & SRD_WC_RECV ? SRD_QUEUE_RECV : SRD_QUEUE_SEND;
	return 1;
}

static int efa_srd_poll(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
			struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct stash *other = &e->stash[which == SRD_QUEUE_SEND ? SRD_QUEUE_RECV : SRD_QUEUE_SEND];
	struct srd_cq *cq = which == SRD_QUEUE_SEND ? e->qp->send_cq : e->qp->recv_cq;
	enum srd_queue from;
	int n;

	if (stash_take(&e->stash[which], out))
		return 1;
	if (e->qp->send_cq != e->qp->recv_cq)
		return entry_poll(e, cq, out, &from, error);
	for (;;) {
		if (stash_reserve(other))
			return srd_error_set(error, -ENOMEM,
					     "out of memory for completions of queue pair %u",
					     e->qp->qp_num);
		n = entry_poll(e, cq, out, &from, error);
		if (n <= 0 || from == which)
			return n;
		stash_put(other, out);
	}
}

const struct srd_queue_pair_ops srd_efa_srd_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "efa-srd",
	.create = efa_srd_create,
	.destroy = efa_srd_destroy,
	.verbs_qp = efa_srd_verbs_qp,
	.connect = efa_srd_connect,
	.endpoint = efa_srd_endpoint,
	.state = efa_srd_state,
	.max_msg_size = efa_srd_max_msg_size,
	.num_requests = efa_srd_num_requests,
	.put = efa_srd_put,
	.get = efa_srd_get,
	.poll = efa_srd_poll,
};
