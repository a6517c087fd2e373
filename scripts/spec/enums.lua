-- Every enumeration and flag set of the domain, with rdma-core's values.
-- kind "enum": one value at a time; kind "flags": bits that may be combined.
-- The C constant is prefix + name with SRD_ in place of IBV_, EFADV_ or EFA_;
-- the printed name is the one given here, which is rdma-core's own.
-- hw/ asserts that each value that rdma-core has too is the same there; since: the rdma-core
-- release that a value came with, where that is newer than the oldest supported one (44).
return {
	{
		name = "qp_state", kind = "enum", prefix = "IBV_QPS_",
		source = "rdma-core libibverbs/verbs.h enum ibv_qp_state",
		values = {
			{ "RESET", 0 }, { "INIT", 1 }, { "RTR", 2 }, { "RTS", 3 }, { "SQD", 4 },
			{ "SQE", 5 }, { "ERR", 6 }, { "UNKNOWN", 7 },
		},
	},
	{
		name = "qp_attr_mask", kind = "flags", prefix = "IBV_QP_",
		source = "rdma-core libibverbs/verbs.h enum ibv_qp_attr_mask",
		values = {
			{ "STATE", 0x1 }, { "CUR_STATE", 0x2 }, { "EN_SQD_ASYNC_NOTIFY", 0x4 },
			{ "ACCESS_FLAGS", 0x8 }, { "PKEY_INDEX", 0x10 }, { "PORT", 0x20 }, { "QKEY", 0x40 },
			{ "AV", 0x80 }, { "PATH_MTU", 0x100 }, { "TIMEOUT", 0x200 }, { "RETRY_CNT", 0x400 },
			{ "RNR_RETRY", 0x800 }, { "RQ_PSN", 0x1000 }, { "MAX_QP_RD_ATOMIC", 0x2000 },
			{ "ALT_PATH", 0x4000 }, { "MIN_RNR_TIMER", 0x8000 }, { "SQ_PSN", 0x10000 },
			{ "MAX_DEST_RD_ATOMIC", 0x20000 }, { "PATH_MIG_STATE", 0x40000 }, { "CAP", 0x80000 },
			{ "DEST_QPN", 0x100000 }, { "RATE_LIMIT", 0x2000000 },
		},
	},
	{
		name = "qp_type", kind = "enum", prefix = "IBV_QPT_",
		source = "rdma-core libibverbs/verbs.h enum ibv_qp_type",
		values = { { "RC", 2 }, { "UC", 3 }, { "UD", 4 }, { "DRIVER", 0xff } },
	},
	{
		name = "send_ops", kind = "flags", prefix = "IBV_QP_EX_WITH_",
		source = "rdma-core libibverbs/verbs.h enum ibv_qp_create_send_ops_flags",
		values = {
			{ "RDMA_WRITE", 0x1 }, { "RDMA_WRITE_WITH_IMM", 0x2 }, { "SEND", 0x4 },
			{ "SEND_WITH_IMM", 0x8 }, { "RDMA_READ", 0x10 },
		},
	},
	{
		name = "wr_opcode", kind = "enum", prefix = "IBV_WR_",
		source = "rdma-core libibverbs/verbs.h enum ibv_wr_opcode",
		values = {
			{ "RDMA_WRITE", 0 }, { "RDMA_WRITE_WITH_IMM", 1 }, { "SEND", 2 },
			{ "SEND_WITH_IMM", 3 }, { "RDMA_READ", 4 },
		},
	},
	{
		name = "send_flags", kind = "flags", prefix = "IBV_SEND_",
		source = "rdma-core libibverbs/verbs.h enum ibv_send_flags",
		values = {
			{ "FENCE", 1 }, { "SIGNALED", 2 }, { "SOLICITED", 4 }, { "INLINE", 8 },
			{ "IP_CSUM", 16 },
		},
	},
	{
		name = "wc_opcode", kind = "enum", prefix = "IBV_WC_",
		source = "rdma-core libibverbs/verbs.h enum ibv_wc_opcode",
		values = {
			{ "SEND", 0 }, { "RDMA_WRITE", 1 }, { "RDMA_READ", 2 }, { "RECV", 128 },
			{ "RECV_RDMA_WITH_IMM", 129 },
		},
	},
	{
		name = "wc_flags", kind = "flags", prefix = "IBV_WC_",
		source = "rdma-core libibverbs/verbs.h enum ibv_wc_flags",
		values = { { "GRH", 1 }, { "WITH_IMM", 2 } },
	},
	{
		name = "wc_status", kind = "enum", prefix = "IBV_WC_",
		source = "rdma-core libibverbs/verbs.h enum ibv_wc_status",
		values = {
			{ "SUCCESS", 0 }, { "LOC_LEN_ERR", 1 }, { "LOC_QP_OP_ERR", 2 },
			{ "LOC_EEC_OP_ERR", 3 }, { "LOC_PROT_ERR", 4 }, { "WR_FLUSH_ERR", 5 },
			{ "MW_BIND_ERR", 6 }, { "BAD_RESP_ERR", 7 }, { "LOC_ACCESS_ERR", 8 },
			{ "REM_INV_REQ_ERR", 9 }, { "REM_ACCESS_ERR", 10 }, { "REM_OP_ERR", 11 },
			{ "RETRY_EXC_ERR", 12 }, { "RNR_RETRY_EXC_ERR", 13 }, { "LOC_RDD_VIOL_ERR", 14 },
			{ "REM_INV_RD_REQ_ERR", 15 }, { "REM_ABORT_ERR", 16 }, { "INV_EECN_ERR", 17 },
			{ "INV_EEC_STATE_ERR", 18 }, { "FATAL_ERR", 19 }, { "RESP_TIMEOUT_ERR", 20 },
			{ "GENERAL_ERR", 21 },
		},
	},
	{
		name = "access_flags", kind = "flags", prefix = "IBV_ACCESS_",
		source = "rdma-core libibverbs/verbs.h enum ibv_access_flags",
		values = {
			{ "LOCAL_WRITE", 1 }, { "REMOTE_WRITE", 2 }, { "REMOTE_READ", 4 },
			{ "REMOTE_ATOMIC", 8 }, { "MW_BIND", 16 }, { "ZERO_BASED", 32 },
			{ "ON_DEMAND", 64 }, { "HUGETLB", 128 },
		},
	},
	{
		name = "device_caps", kind = "flags", prefix = "EFADV_DEVICE_ATTR_CAPS_",
		source = "rdma-core providers/efa/efadv.h",
		values = {
			{ "RDMA_READ", 1 }, { "RNR_RETRY", 2 }, { "CQ_WITH_SGID", 4 },
			{ "RDMA_WRITE", 8, since = "46" }, { "UNSOLICITED_WRITE_RECV", 16, since = "52" },
			{ "CQ_WITH_EXT_MEM_DMABUF", 32, since = "61" }, { "COMP_CNTR", 64, since = "65" },
		},
	},
	{
		name = "efa_qp_flags", kind = "flags", prefix = "EFADV_QP_FLAGS_",
		source = "rdma-core providers/efa/efadv.h",
		values = {
			{ "UNSOLICITED_WRITE_RECV", 1, since = "52" }, { "INLINE_WRITE", 2, since = "63" },
		},
	},
	{
		name = "driver_qp_type", kind = "enum", prefix = "EFADV_QP_DRIVER_TYPE_",
		source = "rdma-core providers/efa/efadv.h",
		values = { { "SRD", 0 } },
	},
	{
		name = "port_state", kind = "enum", prefix = "IBV_PORT_",
		source = "rdma-core libibverbs/verbs.h enum ibv_port_state",
		values = {
			{ "NOP", 0 }, { "DOWN", 1 }, { "INIT", 2 }, { "ARMED", 3 }, { "ACTIVE", 4 },
		},
	},
	{
		name = "op_kind", kind = "enum", prefix = "SRD_OP_",
		source = "srdlab: the transfers that a queue pair offers",
		values = { { "PUT", 0 }, { "GET", 1 } },
	},
	{
		name = "event_source", kind = "enum", prefix = "SRD_SOURCE_",
		source = "srdlab: who saw the event",
		values = { { "ENGINE", 0 }, { "SEAM", 1 }, { "DEVICE", 2 } },
	},
	{
		name = "buffer_kind", kind = "enum", prefix = "SRD_BUFFER_",
		source = "srdlab: REAL holds bytes, ORIGIN only remembers where each byte came from, DEVICE holds bytes that "
			.. "the processor cannot read, as an accelerator's memory does",
		values = { { "REAL", 0 }, { "ORIGIN", 1 }, { "DEVICE", 2 } },
	},
	{
		name = "verdict", kind = "enum", prefix = "SRD_",
		source = "srdlab: what became of a scenario",
		values = { { "PASSED", 0 }, { "FAILED", 1 }, { "SKIPPED", 2 } },
	},
	{
		name = "session_misuse", kind = "enum", prefix = "SRD_MISUSE_",
		source = "srdlab: calls of a posting session that rdma-core leaves undefined",
		values = {
			{ "SETTER_FIRST", 1 }, -- a setter before any builder of the session
			{ "NO_SESSION", 2 }, -- a builder or setter outside a session
			{ "END_WITHOUT_START", 3 }, -- complete or abort outside a session
			{ "START_TWICE", 4 }, -- start inside a session
			{ "DESTROY_IN_SESSION", 5 }, -- destroy of a queue pair with an open session
			{ "POLL_IN_SESSION", 6 }, -- poll of the send completion queue with an open session
		},
	},
	{
		name = "create_cq_wc_flags", kind = "flags", prefix = "IBV_WC_EX_",
		source = "rdma-core libibverbs/verbs.h enum ibv_create_cq_wc_flags",
		values = {
			{ "WITH_BYTE_LEN", 1 }, { "WITH_IMM", 2 }, { "WITH_QP_NUM", 4 }, { "WITH_SRC_QP", 8 },
			{ "WITH_SLID", 16 }, { "WITH_SL", 32 }, { "WITH_DLID_PATH_BITS", 64 },
			{ "WITH_COMPLETION_TIMESTAMP", 128 },
		},
	},
	{
		name = "efa_wc_flags", kind = "flags", prefix = "EFADV_WC_EX_",
		source = "rdma-core providers/efa/efadv.h",
		values = { { "WITH_SGID", 1 }, { "WITH_IS_UNSOLICITED", 2, since = "52" } },
	},
	{
		name = "cq_misuse", kind = "enum", prefix = "SRD_CQ_MISUSE_",
		source = "srdlab: calls on a completion queue that rdma-core leaves undefined",
		values = {
			{ "NOT_EXTENDED", 1 }, -- start_poll on a queue of create_cq
			{ "POLL_TWICE", 2 }, -- start_poll or poll_cq inside an extended poll
			{ "POLL_WITHOUT_START", 3 }, -- next_poll, end_poll or read_wc outside one
			{ "NEXT_AFTER_EMPTY", 4 }, -- next_poll or read_wc after the queue was found empty
			{ "DESTROY_IN_POLL", 5 }, -- destroy of the queue, or of a queue pair that uses it, inside one
			{ "NOTIFY_WITHOUT_CHANNEL", 6 }, -- req_notify_cq on a queue without a channel
			{ "EVENT_NOT_ACKED", 7 }, -- destroy of the queue with events not acknowledged
			{ "ACK_TOO_MANY", 8 }, -- more acknowledged than came
		},
	},
	{
		name = "packet_event", kind = "enum", prefix = "SRD_PACKET_",
		source = "srdlab: what happened to a packet",
		values = { { "SENT", 0 }, { "ARRIVED", 1 }, { "LOST", 2 }, { "RESENT", 3 } },
	},
	{
		name = "rule_class", kind = "enum", prefix = "SRD_RULE_",
		source = "srdlab: law binds every user of SRD, contract our queue pair, advice is a risk",
		values = { { "LAW", 0 }, { "CONTRACT", 1 }, { "ADVICE", 2 } },
	},
}
