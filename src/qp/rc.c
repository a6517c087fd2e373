/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qp/base.h"
#include "qp/rc.h"
#include "verbs/alloc.h"

#define HOP_LIMIT 255
#define QPN_BITS  24

struct rc {
	struct srd_qp_base base;
	struct srd_queue_pair_config config;
	uint8_t path_mtu;
	bool connected;
	uint32_t remote_qpn;
};

static struct rc *self(struct srd_queue_pair *qp)
{
	return (struct rc *)qp;
}

void srd_rc_defaults(struct srd_queue_pair_config *config)
{
	config->timeout = 14; /* 67 ms */
	config->retry_cnt = 7;
	config->rnr_retry = 7;
	config->min_rnr_timer = 12; /* 640 us */
	config->max_rd_atomic = 16;
	config->max_dest_rd_atomic = 16;
}

static int config_check(const struct srd_queue_pair_config *config, struct srd_error *error)
{
	int rc = srd_qp_base_depth("max_send_wr", config->max_send_wr, error);

	if (!rc)
		rc = srd_qp_base_depth("max_recv_wr", config->max_recv_wr, error);
	if (!rc && config->psn >> 24)
		rc = srd_error_set(error, -EINVAL, "psn is 0x%x, but it has 24 bits", config->psn);
	return rc;
}

static int rc_create(struct srd_verbs *verbs, struct srd_pd *pd,
		     const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		     struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error)
{
	struct srd_port_attr port;
	struct srd_qp_base base;
	struct rc *r;
	int rc;

	rc = srd_qp_base_init(&base, verbs, pd, config, config->sgid_index, &port, error);
	if (!rc)
		rc = config_check(config, error);
	if (rc)
		return rc;
	r = srd_calloc(1, sizeof(*r));
	if (!r)
		return srd_error_set(error, -ENOMEM, "out of memory for a queue pair on device %s",
				     pd->context->name);
	r->base = base;
	r->base.max_msg_size = port.max_msg_sz;
	r->config = *config;
	r->path_mtu = config->path_mtu ? config->path_mtu : port.active_mtu;
	r->config.max_send_sge = config->max_send_sge ? config->max_send_sge : 1;
	r->config.max_recv_sge = config->max_recv_sge ? config->max_recv_sge : 1;
	rc = srd_qp_base_create(&r->base, pd, &r->config, send_cq, recv_cq, NULL, error);
	if (rc) {
		srd_free(r);
		return rc;
	}
	*out = (struct srd_queue_pair *)r;
	return 0;
}

static void rc_destroy(struct srd_queue_pair *qp)
{
	struct rc *r = self(qp);

	if (!r)
		return;
	r->base.verbs->destroy_qp(r->base.verbs, r->base.qp);
	srd_qp_base_release(&r->base);
	srd_free(r);
}

static int peer_check(const struct rc *r, const struct srd_endpoint *peer, struct srd_error *error)
{
	uint32_t qp_num = r->base.qp->qp_num;

	if (r->connected)
		return srd_qp_base_connected(&r->base, r->remote_qpn, error);
	/* Without a GID the port's LID is the address; Ethernet has none. */
	if (!peer->has_gid && !peer->lid)
		return srd_error_set(error, -EINVAL,
				     "queue pair %u cannot be connected: the peer's endpoint has "
				     "neither a GID nor a LID",
				     qp_num);
	if (peer->qp_num >> QPN_BITS || peer->psn >> 24)
		return srd_error_set(error, -EINVAL,
				     "queue pair %u cannot be connected: the peer's qp_num 0x%x "
				     "and psn 0x%x have 24 bits",
				     qp_num, peer->qp_num, peer->psn);
	return 0;
}

static struct srd_ah_attr path_to(const struct rc *r, const struct srd_endpoint *peer)
{
	struct srd_ah_attr path = {.port_num = r->base.port_num, .dlid = peer->lid};

	if (!peer->has_gid)
		return path;
	path.is_global = 1;
	path.dgid = peer->gid;
	path.sgid_index = r->base.sgid_index; /* the peer's index is of the peer's table */
	path.hop_limit = HOP_LIMIT;
	return path;
}

static int to_rts(struct rc *r, const struct srd_endpoint *peer, struct srd_error *error)
{
	const struct srd_queue_pair_config *config = &r->config;
	const struct srd_qp_step steps[] = {
		{"INIT",
		 SRD_QP_STATE | SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_ACCESS_FLAGS,
		 {.qp_state = SRD_QPS_INIT,
		  .pkey_index = r->base.pkey_index,
		  .port_num = r->base.port_num,
		  .qp_access_flags = SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE |
				     SRD_ACCESS_REMOTE_READ}},
		{"RTR",
		 SRD_QP_STATE | SRD_QP_AV | SRD_QP_PATH_MTU | SRD_QP_DEST_QPN | SRD_QP_RQ_PSN |
			 SRD_QP_MAX_DEST_RD_ATOMIC | SRD_QP_MIN_RNR_TIMER,
		 {.qp_state = SRD_QPS_RTR,
		  .ah_attr = path_to(r, peer),
		  .path_mtu = r->path_mtu,
		  .dest_qp_num = peer->qp_num,
		  .rq_psn = peer->psn,
		  .max_dest_rd_atomic = config->max_dest_rd_atomic,
		  .min_rnr_timer = config->min_rnr_timer}},
		{"RTS",
		 SRD_QP_STATE | SRD_QP_TIMEOUT | SRD_QP_RETRY_CNT | SRD_QP_RNR_RETRY |
			 SRD_QP_SQ_PSN | SRD_QP_MAX_QP_RD_ATOMIC,
		 {.qp_state = SRD_QPS_RTS,
		  .timeout = config->timeout,
		  .retry_cnt = config->retry_cnt,
		  .rnr_retry = config->rnr_retry,
		  .sq_psn = r->base.psn,
		  .max_rd_atomic = config->max_rd_atomic}},
	};

	return srd_qp_base_walk(&r->base, steps, 3, error);
}

static int rc_connect(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
		      struct srd_error *error)
{
	struct rc *r = self(qp);
	int rc;

	/* Somebody has taken it back to RESET: it may be connected anew. */
	if (r->base.qp->state == SRD_QPS_RESET)
		r->connected = false;
	rc = peer_check(r, peer, error);
	if (!rc)
		rc = to_rts(r, peer, error);
	if (rc)
		return rc;
	r->remote_qpn = peer->qp_num;
	r->connected = true;
	return 0;
}

static int refused(const struct srd_qp_base *base, enum srd_op_kind kind, uint64_t size,
		   const struct srd_wr_ids *ids, int errnum, struct srd_error *error)
{
	return srd_error_set(error, -errnum,
			     "request %u of %" PRIu64 " of a %s on queue pair %u was refused: %s; "
			     "those before it are posted",
			     ids->count + 1, srd_chunk_count(size, base->max_msg_size),
			     srd_op_kind_name(kind), base->qp->qp_num, strerror(errnum));
}

/* Each request by itself. */
static int transfer(struct rc *r, enum srd_op_kind kind, const struct srd_local_view *local,
		    const struct srd_remote_view *remote, uint64_t to_size, uint64_t from_size,
		    struct srd_wr_ids *ids, struct srd_error *error)
{
	struct srd_verbs *verbs = r->base.verbs;
	struct srd_qp *qp = r->base.qp;
	struct srd_chunk_plan plan;
	struct srd_chunk chunk;
	int rc = srd_qp_base_plan(&r->base, kind, r->connected, local, remote, to_size, from_size,
				  &plan, ids, error);

	while (!rc && srd_chunk_plan_next(&plan, &chunk)) {
		ids->id[ids->count] = r->base.next_id;
		verbs->wr_start(verbs, qp);
		srd_qp_base_build(&r->base, kind, &chunk, local->lkey, remote->rkey);
		rc = verbs->wr_complete(verbs, qp);
		if (rc)
			return refused(&r->base, kind, from_size, ids, rc, error);
		ids->count++;
	}
	return rc;
}

static int rc_put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		  const struct srd_local_view *from, struct srd_wr_ids *ids,
		  struct srd_error *error)
{
	return transfer(self(qp), SRD_OP_PUT, from, to, to->size, from->size, ids, error);
}

static int rc_get(struct srd_queue_pair *qp, const struct srd_local_view *to,
		  const struct srd_remote_view *from, struct srd_wr_ids *ids,
		  struct srd_error *error)
{
	return transfer(self(qp), SRD_OP_GET, to, from, to->size, from->size, ids, error);
}

const struct srd_queue_pair_ops srd_rc_ops = {
	.abi = SRD_QUEUE_PAIR_ABI,
	.name = "rc",
	.create = rc_create,
	.destroy = rc_destroy,
	.verbs_qp = srd_qp_base_verbs_qp,
	.connect = rc_connect,
	.endpoint = srd_qp_base_endpoint,
	.state = srd_qp_base_state,
	.max_msg_size = srd_qp_base_max_msg_size,
	.num_requests = srd_qp_base_num_requests,
	.put = rc_put,
	.get = rc_get,
	.poll = srd_qp_base_poll,
	.one_by_one = true,
};
