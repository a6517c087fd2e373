/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/chunk.h"
#include "qp/efa_srd.h"
#include "qp/stash.h"
#include "verbs/alloc.h"

/* Where requests go. */
struct peer {
	struct srd_ah *ah; /* NULL: there is none */
	uint32_t qp_num;
	bool borrows; /* the handle of an earlier peer at the same GID */
	union srd_gid gid;
};

struct efa_srd {
	struct srd_verbs *verbs;
	struct srd_qp *qp;
	struct peer connected; /* number 0 */
	struct peer *peers;    /* from number 1 on */
	uint32_t num_peers;
	uint64_t next_id;
	uint32_t max_rdma_size;
	uint32_t qkey;
	uint32_t psn;
	uint32_t transitions; /* of connect, done so far */
	uint16_t pkey_index;
	uint8_t port_num;
	union srd_gid gid;
	bool shared_cq; /* both queues report to the same one */
	/* by enum srd_queue: entries of it that were met in polls of the other */
	struct srd_stash stash[2];
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
	e->shared_cq = send_cq == recv_cq;
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

static void peer_release(struct efa_srd *e, struct peer *peer)
{
	if (peer->ah && !peer->borrows)
		e->verbs->destroy_ah(e->verbs, peer->ah);
	peer->ah = NULL;
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
	peer_release(e, &e->connected);
	for (uint32_t i = 0; i < e->num_peers; i++)
		peer_release(e, &e->peers[i]);
	srd_free(e->peers);
	srd_stash_release(&e->stash[SRD_QUEUE_SEND]);
	srd_stash_release(&e->stash[SRD_QUEUE_RECV]);
	srd_free(e);
}

static struct srd_qp *efa_srd_verbs_qp(struct srd_queue_pair *qp)
{
	return self(qp)->qp;
}

static int endpoint_check(const struct efa_srd *e, const struct srd_endpoint *peer,
			  struct srd_error *error)
{
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

/* An address handle of an earlier peer at this GID; NULL: there is none. */
static struct srd_ah *ah_at(const struct efa_srd *e, const union srd_gid *gid)
{
	if (e->connected.ah && !memcmp(&e->connected.gid, gid, sizeof(*gid)))
		return e->connected.ah;
	for (uint32_t i = 0; i < e->num_peers; i++)
		if (!memcmp(&e->peers[i].gid, gid, sizeof(*gid)))
			return e->peers[i].ah;
	return NULL;
}

/*
 * Make PEER of ENDPOINT. Peers at one GID share a handle, for a device has few of them. The
 * handle first of all, so that a peer that cannot be reached leaves the queue pair as it is.
 */
static int peer_reach(struct efa_srd *e, const struct srd_endpoint *endpoint, struct peer *peer,
		      struct srd_error *error)
{
	const struct srd_ah_attr attr = {
		.is_global = 1, .port_num = e->port_num, .dgid = endpoint->gid};
	int rc = endpoint_check(e, endpoint, error);

	if (rc)
		return rc;
	*peer = (struct peer){
		.ah = ah_at(e, &endpoint->gid), .qp_num = endpoint->qp_num, .gid = endpoint->gid};
	peer->borrows = peer->ah;
	if (!peer->ah)
		peer->ah = e->verbs->create_ah(e->verbs, e->qp->pd, &attr);
	if (!peer->ah) {
		rc = errno;
		return srd_error_set(
			error, -rc,
			"no address handle could be created for the peer of queue pair "
			"%u: %s",
			e->qp->qp_num, strerror(rc));
	}
	rc = to_rts(e, error);
	if (rc)
		peer_release(e, peer);
	return rc;
}

static int efa_srd_connect(struct srd_queue_pair *qp, const struct srd_endpoint *endpoint,
			   struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct peer peer;
	int rc;

	if (e->connected.ah)
		return srd_error_set(error, -EISCONN,
				     "queue pair %u is connected to queue pair %u already",
				     e->qp->qp_num, e->connected.qp_num);
	rc = peer_reach(e, endpoint, &peer, error);
	if (!rc)
		e->connected = peer;
	return rc;
}

static int efa_srd_add_peer(struct srd_queue_pair *qp, const struct srd_endpoint *endpoint,
			    uint32_t *number, struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct peer *peers;
	int rc;

	/* Room in powers of two: it is full whenever the count is one. */
	if (!(e->num_peers & (e->num_peers - 1))) {
		peers = srd_reallocarray(e->peers, e->num_peers ? 2 * (size_t)e->num_peers : 1,
					 sizeof(*peers));
		if (!peers)
			return srd_error_set(error, -ENOMEM,
					     "out of memory for a peer of queue pair %u",
					     e->qp->qp_num);
		e->peers = peers;
	}
	rc = peer_reach(e, endpoint, &e->peers[e->num_peers], error);
	if (!rc)
		*number = ++e->num_peers;
	return rc;
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

static const char *kind_name(enum srd_op_kind kind)
{
	return kind == SRD_OP_PUT ? "put" : "get";
}

__attribute__((cold)) static int too_small(const struct efa_srd *e, enum srd_op_kind kind,
					   uint64_t to_size, uint64_t from_size,
					   struct srd_error *error)
{
	return srd_error_set(error, -EMSGSIZE,
			     "%s on queue pair %u: the destination has %" PRIu64
			     " bytes, the source %" PRIu64,
			     kind_name(kind), e->qp->qp_num, to_size, from_size);
}

__attribute__((cold)) static int not_connected(const struct efa_srd *e, enum srd_op_kind kind,
					       struct srd_error *error)
{
	return srd_error_set(error, -ENOTCONN, "%s on queue pair %u, which has not been connected",
			     kind_name(kind), e->qp->qp_num);
}

__attribute__((cold)) static int beyond_memory(const struct efa_srd *e, enum srd_op_kind kind,
					       int rc, const struct srd_local_view *local,
					       const struct srd_remote_view *remote,
					       struct srd_error *error)
{
	return srd_error_set(error, rc,
			     "%s on queue pair %u: %" PRIu64 " bytes at local 0x%" PRIx64
			     " or %" PRIu64 " at remote 0x%" PRIx64
			     " reach beyond the last address",
			     kind_name(kind), e->qp->qp_num, local->size, local->addr, remote->size,
			     remote->addr);
}

__attribute__((cold)) static int too_many(const struct efa_srd *e, uint64_t size,
					  const struct srd_chunk_plan *plan,
					  const struct srd_wr_ids *ids, struct srd_error *error)
{
	return srd_error_set(error, -ENOSPC,
			     "%" PRIu64 " bytes on queue pair %u are %" PRIu64
			     " requests, but there is room for %u ids",
			     size, e->qp->qp_num, plan->num_left, ids->capacity);
}

__attribute__((cold)) static int refused(const struct efa_srd *e, enum srd_op_kind kind,
					 uint64_t size, int errnum, struct srd_error *error)
{
	return srd_error_set(error, -errnum,
			     "%s of %" PRIu64 " requests on queue pair %u was refused: %s",
			     kind_name(kind), srd_chunk_count(size, e->max_rdma_size),
			     e->qp->qp_num, strerror(errnum));
}

static inline void chunk_build(struct efa_srd *e, const struct peer *peer, enum srd_op_kind kind,
			       const struct srd_chunk *chunk, uint32_t lkey, uint32_t rkey)
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
	verbs->wr_set_ud_addr(verbs, qp, peer->ah, peer->qp_num, e->qkey);
}

/* The whole transfer as one session: all of its requests are posted, or none. */
static inline int transfer_post(struct efa_srd *e, const struct peer *peer, enum srd_op_kind kind,
				struct srd_chunk_plan *plan, uint32_t lkey, uint32_t rkey,
				struct srd_wr_ids *ids)
{
	struct srd_chunk chunk;
	uint32_t count = 0;
	int rc;

	e->verbs->wr_start(e->verbs, e->qp);
	while (srd_chunk_plan_next(plan, &chunk)) {
		ids->id[count++] = e->next_id;
		chunk_build(e, peer, kind, &chunk, lkey, rkey);
	}
	rc = e->verbs->wr_complete(e->verbs, e->qp);
	if (!rc)
		ids->count = count;
	return rc;
}

/*
 * What can be known before the session opens consumes nothing. Compiled once for each kind,
 * so that nothing is decided again for each chunk.
 */
__attribute__((always_inline)) static inline int
transfer(struct efa_srd *e, const struct peer *peer, enum srd_op_kind kind,
	 const struct srd_local_view *local, const struct srd_remote_view *remote, uint64_t to_size,
	 uint64_t from_size, struct srd_wr_ids *ids, struct srd_error *error)
{
	struct srd_chunk_plan plan;
	int rc;

	ids->count = 0;
	if (to_size < from_size)
		return too_small(e, kind, to_size, from_size, error);
	if (!peer->ah)
		return not_connected(e, kind, error);
	rc = srd_chunk_plan_start(&plan, local->addr, remote->addr, from_size, e->max_rdma_size);
	if (rc)
		return beyond_memory(e, kind, rc, local, remote, error);
	if (plan.num_left > ids->capacity)
		return too_many(e, from_size, &plan, ids, error);
	rc = transfer_post(e, peer, kind, &plan, local->lkey, remote->rkey, ids);
	return rc ? refused(e, kind, from_size, rc, error) : 0;
}

static int efa_srd_put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		       const struct srd_local_view *from, struct srd_wr_ids *ids,
		       struct srd_error *error)
{
	return transfer(self(qp), &self(qp)->connected, SRD_OP_PUT, from, to, to->size, from->size,
			ids, error);
}

static int efa_srd_get(struct srd_queue_pair *qp, const struct srd_local_view *to,
		       const struct srd_remote_view *from, struct srd_wr_ids *ids,
		       struct srd_error *error)
{
	return transfer(self(qp), &self(qp)->connected, SRD_OP_GET, to, from, to->size, from->size,
			ids, error);
}

/* NULL: there is none with this number. */
static const struct peer *peer_of(const struct efa_srd *e, uint32_t number)
{
	if (!number)
		return &e->connected;
	return number <= e->num_peers ? &e->peers[number - 1] : NULL;
}

__attribute__((cold)) static int no_peer(const struct efa_srd *e, uint32_t number,
					 struct srd_error *error)
{
	return srd_error_set(error, -ENOTCONN, "queue pair %u has no peer %u; it has %u",
			     e->qp->qp_num, number, e->num_peers);
}

static int efa_srd_put_to(struct srd_queue_pair *qp, uint32_t number,
			  const struct srd_remote_view *to, const struct srd_local_view *from,
			  struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct peer *peer = peer_of(self(qp), number);

	if (!peer)
		return no_peer(self(qp), number, error);
	return transfer(self(qp), peer, SRD_OP_PUT, from, to, to->size, from->size, ids, error);
}

static int efa_srd_get_from(struct srd_queue_pair *qp, uint32_t number,
			    const struct srd_local_view *to, const struct srd_remote_view *from,
			    struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct peer *peer = peer_of(self(qp), number);

	if (!peer)
		return no_peer(self(qp), number, error);
	return transfer(self(qp), peer, SRD_OP_GET, to, from, to->size, from->size, ids, error);
}

__attribute__((cold)) static int poll_failed(const struct efa_srd *e, int n,
					     struct srd_error *error)
{
	return srd_error_set(error, n,
			     "the completion queue of queue pair %u could not be polled: %s%s",
			     e->qp->qp_num, strerror(-n),
			     n == -EINVAL ? ", the entry was of no live queue pair" : "");
}

/* An entry as rdma-core takes it out; the fields that it sets for either queue. */
static int entry_poll(struct efa_srd *e, struct srd_cq *cq, struct srd_completion *out,
		      struct srd_error *error)
{
	struct srd_wc wc;
	int n = e->verbs->poll_cq(e->verbs, cq, 1, &wc);

	if (n <= 0)
		return n ? poll_failed(e, n, error) : 0;
	if (wc.qp_num != e->qp->qp_num)
		return srd_error_set(error, -EINVAL,
				     "the completion queue of queue pair %u held an entry of queue "
				     "pair %u",
				     e->qp->qp_num, wc.qp_num);
	out->wr_id = wc.wr_id;
	out->status = wc.status;
	out->vendor_err = wc.vendor_err;
	out->opcode = wc.opcode;
	return 1;
}

static int efa_srd_poll(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
			struct srd_error *error)
{
	struct efa_srd *e = self(qp);
	struct srd_stash *other = &e->stash[!which];
	struct srd_cq *cq = which == SRD_QUEUE_SEND ? e->qp->send_cq : e->qp->recv_cq;
	int n;

	if (srd_stash_take(&e->stash[which], out))
		return 1;
	for (;;) {
		/* Room before the entry is taken out, or it would be lost without. */
		if (e->shared_cq && srd_stash_reserve(other))
			return srd_error_set(error, -ENOMEM,
					     "out of memory for completions of queue pair %u",
					     e->qp->qp_num);
		n = entry_poll(e, cq, out, error);
		if (n <= 0 || !e->shared_cq ||
		    (which == SRD_QUEUE_RECV) == !!(out->opcode & SRD_WC_RECV))
			return n;
		srd_stash_put(other, out);
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
	.add_peer = efa_srd_add_peer,
	.put_to = efa_srd_put_to,
	.get_from = efa_srd_get_from,
};
