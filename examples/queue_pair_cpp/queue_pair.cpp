/* SPDX-License-Identifier: MIT */
/*
 * A small queue pair for EFA, in C++17: RDMA write and read towards one peer.
 *
 *     c++ -std=c++17 -shared -fPIC $(pkg-config --cflags srdlab-plugin) -o libmine.so queue_pair.cpp
 *     srdlab run --queue-pair ./libmine.so scripts/scenarios
 *
 * Inside, failures are exceptions; none leaves the table's functions.
 */
#include <cerrno>
#include <cstring>
#include <deque>
#include <new>
#include <stdexcept>
#include <string>

#include <srdlab/plugin.h>

namespace
{

struct failure : std::runtime_error {
	int code; /* negative errno */
	failure(int c, const std::string &what) : std::runtime_error(what), code(c)
	{
	}
};

[[noreturn]] void fail(int errnum, const std::string &what)
{
	throw failure(-errnum, what + ": " + std::strerror(errnum));
}

void demand(bool condition, int errnum, const std::string &what)
{
	if (!condition)
		fail(errnum, what);
}

void check(int errnum, const std::string &what)
{
	demand(!errnum, errnum, what);
}

/* What BODY throws becomes the answer of a function of the table. */
template <typename Body> int guarded(srd_error *error, Body body)
{
	try {
		return body();
	} catch (const failure &f) {
		return srd_plugin_error(error, f.code, "%s", f.what());
	} catch (const std::bad_alloc &) {
		return srd_plugin_error(error, -ENOMEM, "out of memory");
	}
}

class queue_pair
{
      public:
	queue_pair(srd_verbs *verbs, srd_pd *pd, const srd_queue_pair_config &config,
		   srd_cq *send_cq, srd_cq *recv_cq)
	    : v(verbs), config(config)
	{
		demand(pd, EINVAL, "there is no protection domain");
		look_at_device(pd->context);
		make(pd, send_cq, recv_cq);
	}

	~queue_pair()
	{
		v->destroy_qp(v, qp);
		if (ah)
			v->destroy_ah(v, ah);
	}

	queue_pair(const queue_pair &) = delete;
	queue_pair &operator=(const queue_pair &) = delete;

	srd_qp *verbs_qp() const
	{
		return qp;
	}

	void connect(const srd_endpoint &peer)
	{
		demand(!ah, EISCONN, "it is connected already");
		demand(peer.has_gid, EINVAL, "the peer has no GID");
		demand(peer.qp_num <= UINT16_MAX, EINVAL,
		       "the peer's number has more than 16 bits");
		srd_ah_attr attr = {};
		attr.dgid = peer.gid;
		attr.is_global = 1;
		attr.port_num = config.port_num;
		srd_ah *fresh = v->create_ah(v, qp->pd, &attr);
		demand(fresh, errno, "there is no address handle");
		try {
			to_rts();
		} catch (...) {
			v->destroy_ah(v, fresh);
			throw;
		}
		remote_qpn = peer.qp_num;
		ah = fresh;
	}

	srd_endpoint endpoint() const
	{
		srd_endpoint out = {};
		out.qp_num = qp->qp_num;
		out.psn = config.psn;
		out.lid = port.lid;
		out.has_gid = true;
		out.gid = gid;
		return out;
	}

	srd_qp_state state()
	{
		srd_qp_attr attr = {};
		check(v->query_qp(v, qp, &attr, SRD_QP_STATE), "the state is unknown");
		return attr.qp_state;
	}

	uint64_t max_msg_size() const
	{
		return device.max_rdma_size;
	}

	/* Nothing is one request, too. */
	uint64_t num_requests(uint64_t size) const
	{
		return size ? (size - 1) / device.max_rdma_size + 1 : 1;
	}

	/* One session with one request for each chunk: all of them are posted, or none. */
	void transfer(srd_op_kind kind, const srd_local_view &local, const srd_remote_view &remote,
		      uint64_t size, uint64_t room, srd_wr_ids &ids)
	{
		uint64_t count = num_requests(size);

		ids.count = 0;
		demand(size <= room, EMSGSIZE,
		       std::to_string(size) + " bytes do not fit into " + std::to_string(room));
		demand(ah, ENOTCONN, "it is not connected");
		demand(!size || (local.addr + (size - 1) >= local.addr &&
				 remote.addr + (size - 1) >= remote.addr),
		       EOVERFLOW, "the memory ends behind the last address");
		demand(count <= ids.capacity, ENOSPC, "there is no room for the ids");
		v->wr_start(v, qp);
		for (uint64_t at = 0, i = 0; i < count; i++) {
			uint64_t left = size - at;
			uint32_t length = left < device.max_rdma_size ? static_cast<uint32_t>(left)
								      : device.max_rdma_size;

			ids.id[i] = qp->wr_id = next_id++;
			qp->wr_flags = SRD_SEND_SIGNALED;
			if (kind == SRD_OP_PUT)
				v->wr_rdma_write(v, qp, remote.rkey, remote.addr + at);
			else
				v->wr_rdma_read(v, qp, remote.rkey, remote.addr + at);
			v->wr_set_sge(v, qp, local.lkey, local.addr + at, length);
			v->wr_set_ud_addr(v, qp, ah, remote_qpn, qkey());
			at += length;
		}
		check(v->wr_complete(v, qp), "the device refused it");
		ids.count = static_cast<uint32_t>(count);
	}

	/* Where both queues share one, a poll may meet entries of the other: they are kept. */
	bool poll(srd_queue which, srd_completion &out)
	{
		srd_cq *cq = which == SRD_QUEUE_SEND ? qp->send_cq : qp->recv_cq;
		srd_wc wc = {};

		if (!kept[which].empty()) {
			out = kept[which].front();
			kept[which].pop_front();
			return true;
		}
		for (;;) {
			int n = v->poll_cq(v, cq, 1, &wc);

			demand(n >= 0, -n, "the poll failed");
			if (!n)
				return false;
			demand(wc.qp_num == qp->qp_num, EINVAL, "it is of another queue pair");
			out = {wc.wr_id, wc.status, wc.vendor_err, wc.opcode};
			srd_queue of = wc.opcode & SRD_WC_RECV ? SRD_QUEUE_RECV : SRD_QUEUE_SEND;
			if (qp->send_cq != qp->recv_cq || of == which)
				return true;
			kept[of].push_back(out);
		}
	}

      private:
	srd_verbs *v;
	srd_queue_pair_config config;
	srd_port_attr port = {};
	srd_efa_device_attr device = {};
	srd_gid gid = {};
	srd_qp *qp = nullptr;
	srd_ah *ah = nullptr; /* null: not connected */
	uint32_t remote_qpn = 0;
	int steps = 0; /* of the way to RTS that are done */
	uint64_t next_id = 0;
	std::deque<srd_completion> kept[2];

	uint32_t qkey() const
	{
		return config.qkey ? config.qkey : SRD_DEFAULT_QKEY;
	}

	void look_at_device(srd_context *context)
	{
		const uint32_t caps = SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ |
				      SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;

		check(v->query_port(v, context, config.port_num, &port),
		      "port " + std::to_string(config.port_num));
		check(v->query_gid(v, context, config.port_num, 0, &gid), "there is no GID");
		demand(config.pkey_index < port.pkey_tbl_len, EINVAL,
		       "there is no such partition key");
		check(v->efa_query_device(v, context, &device), "the device tells nothing");
		demand((device.device_caps & caps) == caps && device.max_rdma_size, EOPNOTSUPP,
		       "the device cannot do RDMA");
		demand(config.max_send_wr && config.max_send_wr <= device.max_sq_wr, EINVAL,
		       "max_send_wr is not possible");
		demand(config.max_recv_wr && config.max_recv_wr <= device.max_rq_wr, EINVAL,
		       "max_recv_wr is not possible");
		demand(!(config.psn >> 24) && !(config.qkey >> 31), EINVAL,
		       "psn or qkey is too large");
	}

	void make(srd_pd *pd, srd_cq *send_cq, srd_cq *recv_cq)
	{
		srd_qp_init_attr_ex attr = {};
		srd_efa_qp_init_attr efa = {};

		attr.pd = pd;
		attr.send_cq = send_cq;
		attr.recv_cq = recv_cq;
		attr.cap.max_send_wr = config.max_send_wr;
		attr.cap.max_recv_wr = config.max_recv_wr;
		attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
		attr.qp_type = SRD_QPT_DRIVER;
		attr.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ;
		efa.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD;
		qp = v->create_qp_ex(v, pd->context, &attr, &efa);
		demand(qp, errno, "the device makes no queue pair");
	}

	/* Each state is entered once: after a failure it goes on with the step that failed. */
	void to_rts()
	{
		static const uint32_t masks[] = {
			SRD_QP_STATE | SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY,
			SRD_QP_STATE,
			SRD_QP_STATE | SRD_QP_SQ_PSN,
		};
		static const srd_qp_state states[] = {SRD_QPS_INIT, SRD_QPS_RTR, SRD_QPS_RTS};

		if (qp->state == SRD_QPS_RESET)
			steps = 0;
		for (; steps < 3; steps++) {
			srd_qp_attr attr = {};

			attr.qp_state = states[steps];
			attr.pkey_index = config.pkey_index;
			attr.port_num = config.port_num;
			attr.qkey = qkey();
			attr.sq_psn = config.psn;
			check(v->modify_qp(v, qp, &attr, masks[steps]),
			      std::string("it does not move to ") + state_names[steps]);
		}
	}

	static constexpr const char *state_names[] = {"INIT", "RTR", "RTS"};
};

queue_pair *self(srd_queue_pair *q)
{
	return reinterpret_cast<queue_pair *>(q);
}

int create(srd_verbs *verbs, srd_pd *pd, const srd_queue_pair_config *config, srd_cq *send_cq,
	   srd_cq *recv_cq, srd_queue_pair **out, srd_error *error)
{
	return guarded(error, [&] {
		*out = reinterpret_cast<srd_queue_pair *>(
			new queue_pair(verbs, pd, *config, send_cq, recv_cq));
		return 0;
	});
}

void destroy(srd_queue_pair *q)
{
	delete self(q);
}

srd_qp *verbs_qp(srd_queue_pair *q)
{
	return self(q)->verbs_qp();
}

int connect(srd_queue_pair *q, const srd_endpoint *peer, srd_error *error)
{
	return guarded(error, [&] { return self(q)->connect(*peer), 0; });
}

int endpoint(srd_queue_pair *q, srd_endpoint *out, srd_error *error)
{
	return guarded(error, [&] { return *out = self(q)->endpoint(), 0; });
}

int state(srd_queue_pair *q, srd_qp_state *out, srd_error *error)
{
	return guarded(error, [&] { return *out = self(q)->state(), 0; });
}

uint64_t max_msg_size(srd_queue_pair *q)
{
	return self(q)->max_msg_size();
}

uint64_t num_requests(srd_queue_pair *q, srd_op_kind, uint64_t size)
{
	return self(q)->num_requests(size);
}

int put(srd_queue_pair *q, const srd_remote_view *to, const srd_local_view *from, srd_wr_ids *ids,
	srd_error *error)
{
	return guarded(error, [&] {
		return self(q)->transfer(SRD_OP_PUT, *from, *to, from->size, to->size, *ids), 0;
	});
}

/* A read moves as much as there is at its source, which is the peer's side. */
int get(srd_queue_pair *q, const srd_local_view *to, const srd_remote_view *from, srd_wr_ids *ids,
	srd_error *error)
{
	return guarded(error, [&] {
		return self(q)->transfer(SRD_OP_GET, *to, *from, from->size, to->size, *ids), 0;
	});
}

int poll(srd_queue_pair *q, srd_queue which, srd_completion *out, srd_error *error)
{
	return guarded(error, [&] { return self(q)->poll(which, *out) ? 1 : 0; });
}

} // namespace

const srd_queue_pair_ops *srdlab_queue_pair_v1()
{
	// By name: what is optional, and what a later header adds, stays zero.
	static const srd_queue_pair_ops ops = [] {
		srd_queue_pair_ops table{};

		table.abi = SRD_QUEUE_PAIR_ABI;
		table.name = "example in C++";
		table.create = create;
		table.destroy = destroy;
		table.verbs_qp = verbs_qp;
		table.connect = connect;
		table.endpoint = endpoint;
		table.state = state;
		table.max_msg_size = max_msg_size;
		table.num_requests = num_requests;
		table.put = put;
		table.get = get;
		table.poll = poll;
		return table;
	}();

	return &ops;
}
