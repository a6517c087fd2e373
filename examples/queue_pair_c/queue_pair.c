/* SPDX-License-Identifier: MIT */
/*
 * A small queue pair for EFA: RDMA write and read towards one peer.
 *
 *     cc -shared -fPIC $(pkg-config --cflags srdlab-plugin) -o libmine.so queue_pair.c
 *     srdlab run --queue-pair ./libmine.so scripts/scenarios
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <srdlab/plugin.h>

struct srd_queue_pair {
	struct srd_verbs *verbs;
	struct srd_qp *qp;
	struct srd_ah *ah; /* NULL: not connected */
	struct srd_endpoint here;
	uint32_t remote_qpn;
	uint32_t qkey;
	uint32_t max_rdma_size;
	uint32_t steps; /* of the way to RTS that are done */
	uint16_t pkey_index;
	uint8_t port_num;
	uint64_t next_id;
	/* Completions of the other queue that a poll met, where both share one. */
	struct srd_completion *kept;
	uint32_t num_kept, room;
};

/* What the device allows, before anything is made. */
static int check(struct srd_verbs *v, struct srd_pd *pd, const struct srd_queue_pair_config *config,
		 struct srd_endpoint *here, uint32_t *max_rdma_size, struct srd_error *error)
{
	const uint32_t caps =
		SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ | SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
	struct srd_efa_device_attr device;
	struct srd_port_attr port;
	int rc;

	if (!pd)
		return srd_plugin_error(error, -EINVAL, "there is no protection domain");
	rc = v->query_port(v, pd->context, config->port_num, &port);
	if (!rc)
		rc = v->query_gid(v, pd->context, config->port_num, 0, &here->gid);
	if (rc)
		return srd_plugin_error(error, -rc, "port %u: %s", config->port_num, strerror(rc));
	if (config->pkey_index >= port.pkey_tbl_len)
		return srd_plugin_error(error, -EINVAL, "there is no partition key %u",
					config->pkey_index);
	rc = v->efa_query_device(v, pd->context, &device);
	if (rc)
		return srd_plugin_error(error, -rc, "no device attributes: %s", strerror(rc));
	if ((device.device_caps & caps) != caps || !device.max_rdma_size)
		return srd_plugin_error(error, -EOPNOTSUPP, "%s cannot do RDMA", pd->context->name);
	if (!config->max_send_wr || config->max_send_wr > device.max_sq_wr)
		return srd_plugin_error(error, -EINVAL, "max_send_wr is %u; 1 to %u are possible",
					config->max_send_wr, device.max_sq_wr);
	if (!config->max_recv_wr || config->max_recv_wr > device.max_rq_wr)
		return srd_plugin_error(error, -EINVAL, "max_recv_wr is %u; 1 to %u are possible",
					config->max_recv_wr, device.max_rq_wr);
	if (config->psn >> 24 || config->qkey >> 31)
		return srd_plugin_error(error, -EINVAL, "psn 0x%x or qkey 0x%x is too large",
					config->psn, config->qkey);
	here->lid = port.lid;
	*max_rdma_size = device.max_rdma_size;
	return 0;
}

static struct srd_qp *make_qp(struct srd_verbs *v, struct srd_pd *pd,
			      const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			      struct srd_cq *recv_cq)
{
	const struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};
	struct srd_qp_init_attr_ex attr = {
		.pd = pd,
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.cap = {.max_send_wr = config->max_send_wr,
			.max_recv_wr = config->max_recv_wr,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ,
	};

	return v->create_qp_ex(v, pd->context, &attr, &efa);
}

static int create(struct srd_verbs *v, struct srd_pd *pd,
		  const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		  struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error)
{
	struct srd_endpoint here = {.has_gid = true, .psn = config->psn};
	uint32_t max_rdma_size = 0;
	int rc = check(v, pd, config, &here, &max_rdma_size, error);
	struct srd_queue_pair *q;

	if (rc)
		return rc;
	q = calloc(1, sizeof(*q));
	if (!q)
		return srd_plugin_error(error, -ENOMEM, "out of memory");
	q->verbs = v;
	q->here = here;
	q->max_rdma_size = max_rdma_size;
	q->qkey = config->qkey ? config->qkey : SRD_DEFAULT_QKEY;
	q->pkey_index = config->pkey_index;
	q->port_num = config->port_num;
	q->qp = make_qp(v, pd, config, send_cq, recv_cq);
	if (!q->qp) {
		rc = errno;
		free(q);
		return srd_plugin_error(error, -rc, "the device makes no queue pair: %s",
					strerror(rc));
	}
	q->here.qp_num = q->qp->qp_num;
	*out = q;
	return 0;
}

static void destroy(struct srd_queue_pair *q)
{
	if (!q)
		return;
	q->verbs->destroy_qp(q->verbs, q->qp);
	if (q->ah)
		q->verbs->destroy_ah(q->verbs, q->ah);
	free(q->kept);
	free(q);
}

static struct srd_qp *verbs_qp(struct srd_queue_pair *q)
{
	return q->qp;
}

/* Each state is entered once: after a failure it goes on with the step that failed. */
static int to_rts(struct srd_queue_pair *q, struct srd_error *error)
{
	const struct srd_qp_attr attr[] = {
		{.qp_state = SRD_QPS_INIT,
		 .pkey_index = q->pkey_index,
		 .port_num = q->port_num,
		 .qkey = q->qkey},
		{.qp_state = SRD_QPS_RTR},
		{.qp_state = SRD_QPS_RTS, .sq_psn = q->here.psn},
	};
	static const uint32_t masks[] = {
		SRD_QP_STATE | SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY,
		SRD_QP_STATE,
		SRD_QP_STATE | SRD_QP_SQ_PSN,
	};

	if (q->qp->state == SRD_QPS_RESET)
		q->steps = 0;
	for (; q->steps < 3; q->steps++) {
		int rc = q->verbs->modify_qp(q->verbs, q->qp, &attr[q->steps], masks[q->steps]);

		if (rc)
			return srd_plugin_error(error, -rc, "it cannot be moved to %s: %s",
						(const char *[]){"INIT", "RTR", "RTS"}[q->steps],
						strerror(rc));
	}
	return 0;
}

static int connect_to(struct srd_queue_pair *q, const struct srd_endpoint *peer,
		      struct srd_error *error)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = q->port_num};
	struct srd_ah *ah;
	int rc;

	if (q->ah)
		return srd_plugin_error(error, -EISCONN, "it is connected already");
	if (!peer->has_gid || peer->qp_num > UINT16_MAX)
		return srd_plugin_error(error, -EINVAL,
					"the peer has no GID, or its queue pair number %u has more "
					"than 16 bits",
					peer->qp_num);
	attr.dgid = peer->gid;
	ah = q->verbs->create_ah(q->verbs, q->qp->pd, &attr);
	if (!ah) {
		rc = errno;
		return srd_plugin_error(error, -rc, "no address handle: %s", strerror(rc));
	}
	rc = to_rts(q, error);
	if (rc) {
		q->verbs->destroy_ah(q->verbs, ah);
		return rc;
	}
	q->remote_qpn = peer->qp_num;
	q->ah = ah;
	return 0;
}

static int endpoint(struct srd_queue_pair *q, struct srd_endpoint *out, struct srd_error *error)
{
	*out = q->here;
	return 0;
}

static int query_state(struct srd_queue_pair *q, enum srd_qp_state *out, struct srd_error *error)
{
	struct srd_qp_attr attr;
	int rc = q->verbs->query_qp(q->verbs, q->qp, &attr, SRD_QP_STATE);

	if (rc)
		return srd_plugin_error(error, -rc, "the state is unknown: %s", strerror(rc));
	*out = attr.qp_state;
	return 0;
}

static uint64_t max_msg_size(struct srd_queue_pair *q)
{
	return q->max_rdma_size;
}

/* Nothing is one request, too. In 64 bits: 32 would wrap for a large size and a small limit. */
static uint64_t num_requests(struct srd_queue_pair *q, enum srd_op_kind kind, uint64_t size)
{
	return size ? (size - 1) / q->max_rdma_size + 1 : 1;
}

/* One session with one request for each chunk: all of them are posted, or none. */
static int transfer(struct srd_queue_pair *q, enum srd_op_kind kind,
		    const struct srd_local_view *local, const struct srd_remote_view *remote,
		    uint64_t size, uint64_t room, struct srd_wr_ids *ids, struct srd_error *error)
{
	uint64_t count = num_requests(q, kind, size), at = 0;
	struct srd_verbs *v = q->verbs;
	int rc;

	ids->count = 0;
	if (room < size)
		return srd_plugin_error(error, -EMSGSIZE, "%llu bytes do not fit into %llu",
					(unsigned long long)size, (unsigned long long)room);
	if (!q->ah)
		return srd_plugin_error(error, -ENOTCONN, "it is not connected");
	if (size &&
	    (local->addr + (size - 1) < local->addr || remote->addr + (size - 1) < remote->addr))
		return srd_plugin_error(error, -EOVERFLOW,
					"there is no memory behind the last address");
	if (count > ids->capacity)
		return srd_plugin_error(error, -ENOSPC, "no room for %llu ids",
					(unsigned long long)count);
	v->wr_start(v, q->qp);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t left = size - at;
		uint32_t length = left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;

		ids->id[i] = q->qp->wr_id = q->next_id++;
		q->qp->wr_flags = SRD_SEND_SIGNALED;
		if (kind == SRD_OP_PUT)
			v->wr_rdma_write(v, q->qp, remote->rkey, remote->addr + at);
		else
			v->wr_rdma_read(v, q->qp, remote->rkey, remote->addr + at);
		v->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);
		v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);
		at += length;
	}
	rc = v->wr_complete(v, q->qp);
	if (rc)
		return srd_plugin_error(error, -rc, "the device refused it: %s", strerror(rc));
	ids->count = (uint32_t)count;
	return 0;
}

static int put(struct srd_queue_pair *q, const struct srd_remote_view *to,
	       const struct srd_local_view *from, struct srd_wr_ids *ids, struct srd_error *error)
{
	return transfer(q, SRD_OP_PUT, from, to, from->size, to->size, ids, error);
}

/* A read moves as much as there is at its source, which is the peer's side. */
static int get(struct srd_queue_pair *q, const struct srd_local_view *to,
	       const struct srd_remote_view *from, struct srd_wr_ids *ids, struct srd_error *error)
{
	return transfer(q, SRD_OP_GET, to, from, from->size, to->size, ids, error);
}

static enum srd_queue queue_of(const struct srd_completion *completion)
{
	return completion->opcode & SRD_WC_RECV ? SRD_QUEUE_RECV : SRD_QUEUE_SEND;
}

/* Room for one more is made before the entry is taken out, so that none is ever lost. */
static int make_room(struct srd_queue_pair *q)
{
	uint32_t room = q->room ? 2 * q->room : 16;
	struct srd_completion *kept;

	if (q->num_kept < q->room)
		return 0;
	kept = realloc(q->kept, room * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	q->kept = kept;
	q->room = room;
	return 0;
}

static bool take_kept(struct srd_queue_pair *q, enum srd_queue which, struct srd_completion *out)
{
	for (uint32_t i = 0; i < q->num_kept; i++) {
		if (queue_of(&q->kept[i]) != which)
			continue;
		*out = q->kept[i];
		q->num_kept--;
		memmove(&q->kept[i], &q->kept[i + 1], (q->num_kept - i) * sizeof(*out));
		return true;
	}
	return false;
}

static int poll(struct srd_queue_pair *q, enum srd_queue which, struct srd_completion *out,
		struct srd_error *error)
{
	struct srd_cq *cq = which == SRD_QUEUE_SEND ? q->qp->send_cq : q->qp->recv_cq;
	struct srd_wc wc;
	int n;

	if (take_kept(q, which, out))
		return 1;
	for (;;) {
		if (make_room(q))
			return srd_plugin_error(error, -ENOMEM, "out of memory for completions");
		n = q->verbs->poll_cq(q->verbs, cq, 1, &wc);
		if (n < 0)
			return srd_plugin_error(error, n, "the poll failed: %s", strerror(-n));
		if (!n)
			return 0;
		if (wc.qp_num != q->qp->qp_num)
			return srd_plugin_error(error, -EINVAL, "a completion of queue pair %u",
						wc.qp_num);
		*out = (struct srd_completion){wc.wr_id, wc.status, wc.vendor_err, wc.opcode};
		if (q->qp->send_cq != q->qp->recv_cq || queue_of(out) == which)
			return 1;
		q->kept[q->num_kept++] = *out;
	}
}

const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	static const struct srd_queue_pair_ops ops = {
		.abi = SRD_QUEUE_PAIR_ABI,
		.name = "example in C",
		.create = create,
		.destroy = destroy,
		.verbs_qp = verbs_qp,
		.connect = connect_to,
		.endpoint = endpoint,
		.state = query_state,
		.max_msg_size = max_msg_size,
		.num_requests = num_requests,
		.put = put,
		.get = get,
		.poll = poll,
	};

	return &ops;
}
