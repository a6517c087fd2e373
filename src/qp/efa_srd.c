/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/base.h"
#include "qp/efa_srd.h"
#include "verbs/alloc.h"

/* Where requests go. */
struct peer {
	struct srd_ah *ah; /* NULL: there is none */
	uint32_t qp_num;
	bool borrows; /* the handle of an earlier peer at the same GID */
	union srd_gid gid;
};

struct efa_srd {
	struct srd_qp_base base;
	struct peer connected; /* number 0 */
	struct peer *peers;    /* from number 1 on */
	uint32_t num_peers;
	uint32_t qkey;
};

static struct efa_srd *self(struct srd_queue_pair *qp)
{
	return (struct efa_srd *)qp;
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

static int depth_check(const char *name, uint32_t wanted, uint32_t limit, const char *device,
		       struct srd_error *error)
{
	int rc = srd_qp_base_depth(name, wanted, error);

	if (!rc && wanted > limit)
		rc = srd_error_set(error, -EINVAL, "%s is %u, but device %s allows at most %u",
				   name, wanted, device, limit);
	return rc;
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

static int verbs_qp_create(struct srd_qp_base *base, struct srd_pd *pd,
			   const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			   struct srd_cq *recv_cq, struct srd_error *error)
{
	const struct srd_efa_qp_init_attr efa = {
		.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD,
	};
	struct srd_queue_pair_config made = *config;

	/* RDMA takes one entry whatever the configuration says. */
	made.max_send_sge = made.max_recv_sge = 1;
	return srd_qp_base_create(base, pd, &made, send_cq, recv_cq, &efa, error);
}

static int efa_srd_create(struct srd_verbs *verbs, struct srd_pd *pd,
			  const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			  struct srd_cq *recv_cq, struct srd_queue_pair **out,
			  struct srd_error *error)
{
	struct srd_efa_device_attr device;
	struct srd_qp_base base;
	struct srd_port_attr port;
	struct efa_srd *e;
	int rc;

	/* Always the first GID: EFA has one, and a peer's index is of its own table. */
	rc = srd_qp_base_init(&base, verbs, pd, config, 0, &port, error);
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
	e->base = base;
	e->base.max_msg_size = device.max_rdma_size;
	e->qkey = config->qkey ? config->qkey : SRD_DEFAULT_QKEY;
	rc = verbs_qp_create(&e->base, pd, config, send_cq, recv_cq, error);
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
		e->base.verbs->destroy_ah(e->base.verbs, peer->ah);
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
	e->base.verbs->destroy_qp(e->base.verbs, e->base.qp);
	peer_release(e, &e->connected);
	for (uint32_t i = 0; i < e->num_peers; i++)
		peer_release(e, &e->peers[i]);
	srd_free(e->peers);
	srd_qp_base_release(&e->base);
	srd_free(e);
}

static int endpoint_check(const struct efa_srd *e, const struct srd_endpoint *peer,
			  struct srd_error *error)
{
	uint32_t qp_num = e->base.qp->qp_num;

	if (!peer->has_gid)
		return srd_error_set(error, -EINVAL,
				     "queue pair %u cannot be connected: EFA addresses by GID and "
				     "the peer's endpoint carries none",
				     qp_num);
	/* The descriptor has 16 bits for it: the rest would be cut and name another one. */
	if (peer->qp_num > SRD_EFA_MAX_QP_NUM)
		return srd_error_set(
			error, -EINVAL,
			"queue pair %u cannot be connected: the peer's qp_num is %u, but "
			"EFA's go up to %u",
			qp_num, peer->qp_num, SRD_EFA_MAX_QP_NUM);
	return 0;
}

/* Nothing of the peer is an attribute of the queue pair: its address is in every request. */
static int to_rts(struct efa_srd *e, struct srd_error *error)
{
	const struct srd_qp_step steps[] = {
		{"INIT",
		 SRD_QP_STATE | SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY,
		 {.qp_state = SRD_QPS_INIT,
		  .pkey_index = e->base.pkey_index,
		  .port_num = e->base.port_num,
		  .qkey = e->qkey}},
		{"RTR", SRD_QP_STATE, {.qp_state = SRD_QPS_RTR}},
		{"RTS",
		 SRD_QP_STATE | SRD_QP_SQ_PSN,
		 {.qp_state = SRD_QPS_RTS, .sq_psn = e->base.psn}},
	};

	return srd_qp_base_walk(&e->base, steps, 3, error);
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
		.is_global = 1, .port_num = e->base.port_num, .dgid = endpoint->gid};
	int rc = endpoint_check(e, endpoint, error);

	if (rc)
		return rc;
	*peer = (struct peer){
		.ah = ah_at(e, &endpoint->gid), .qp_num = endpoint->qp_num, .gid = endpoint->gid};
	peer->borrows = peer->ah;
	if (!peer->ah)
		peer->ah = e->base.verbs->create_ah(e->base.verbs, e->base.qp->pd, &attr);
	if (!peer->ah) {
		rc = errno;
		return srd_error_set(
			error, -rc,
			"no address handle could be created for the peer of queue pair "
			"%u: %s",
			e->base.qp->qp_num, strerror(rc));
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
		return srd_qp_base_connected(&e->base, e->connected.qp_num, error);
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
					     e->base.qp->qp_num);
		e->peers = peers;
	}
	rc = peer_reach(e, endpoint, &e->peers[e->num_peers], error);
	if (!rc)
		*number = ++e->num_peers;
	return rc;
}

__attribute__((cold)) static int refused(const struct srd_qp_base *base, enum srd_op_kind kind,
					 uint64_t size, int errnum, struct srd_error *error)
{
	return srd_error_set(error, -errnum,
			     "%s of %" PRIu64 " requests on queue pair %u was refused: %s",
			     srd_op_kind_name(kind), srd_chunk_count(size, base->max_msg_size),
			     base->qp->qp_num, strerror(errnum));
}

/* The whole transfer as one session: all of its requests are posted, or none. */
static inline int transfer_post(struct efa_srd *e, const struct peer *peer, enum srd_op_kind kind,
				struct srd_chunk_plan *plan, uint32_t lkey, uint32_t rkey,
				struct srd_wr_ids *ids)
{
	struct srd_verbs *verbs = e->base.verbs;
	struct srd_qp *qp = e->base.qp;
	struct srd_chunk chunk;
	uint32_t count = 0;
	int rc;

	verbs->wr_start(verbs, qp);
	while (srd_chunk_plan_next(plan, &chunk)) {
		ids->id[count++] = e->base.next_id;
		srd_qp_base_build(&e->base, kind, &chunk, lkey, rkey);
		verbs->wr_set_ud_addr(verbs, qp, peer->ah, peer->qp_num, e->qkey);
	}
	rc = verbs->wr_complete(verbs, qp);
	if (!rc)
		ids->count = count;
	return rc;
}

/* Compiled once for each kind, so that nothing is decided again for each chunk. */
__attribute__((always_inline)) static inline int
transfer(struct efa_srd *e, const struct peer *peer, enum srd_op_kind kind,
	 const struct srd_local_view *local, const struct srd_remote_view *remote, uint64_t to_size,
	 uint64_t from_size, struct srd_wr_ids *ids, struct srd_error *error)
{
	struct srd_chunk_plan plan;
	int rc = srd_qp_base_plan(&e->base, kind, peer->ah != NULL, local, remote, to_size,
				  from_size, &plan, ids, error);

	if (rc)
		return rc;
	rc = transfer_post(e, peer, kind, &plan, local->lkey, remote->rkey, ids);
	return rc ? refused(&e->base, kind, from_size, rc, error) : 0;
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
					 struct srd_wr_ids *ids, struct srd_error *error)
{
	ids->count = 0;
	return srd_error_set(error, -ENOTCONN, "queue pair %u has no peer %u; it has %u",
			     e->base.qp->qp_num, number, e->num_peers);
}

static int efa_srd_put_to(struct srd_queue_pair *qp, uint32_t number,
			  const struct srd_remote_view *to, const struct srd_local_view *from,
			  struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct peer *peer = peer_of(self(qp), number);

	if (!peer)
		return no_peer(self(qp), number, ids, error);
	return transfer(self(qp), peer, SRD_OP_PUT, from, to, to->size, from->size, ids, error);
}

static int efa_srd_get_from(struct srd_queue_pair *qp, uint32_t number,
			    const struct srd_local_view *to, const struct srd_remote_view *from,
			    struct srd_wr_ids *ids, struct srd_error *error)
{
	const struct peer *peer = peer_of(self(qp), number);

	if (!peer)
		return no_peer(self(qp), number, ids, error);
	return transfer(self(qp), peer, SRD_OP_GET, to, from, to->size, from->size, ids, error);
}

const struct srd_queue_pair_ops srd_efa_srd_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "efa-srd",
	.create = efa_srd_create,
	.destroy = efa_srd_destroy,
	.verbs_qp = srd_qp_base_verbs_qp,
	.connect = efa_srd_connect,
	.endpoint = srd_qp_base_endpoint,
	.state = srd_qp_base_state,
	.max_msg_size = srd_qp_base_max_msg_size,
	.num_requests = srd_qp_base_num_requests,
	.put = efa_srd_put,
	.get = efa_srd_get,
	.poll = srd_qp_base_poll,
	.add_peer = efa_srd_add_peer,
	.put_to = efa_srd_put_to,
	.get_from = efa_srd_get_from,
};
