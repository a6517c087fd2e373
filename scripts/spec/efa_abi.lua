-- What the software device speaks besides the kernel's generic uverbs calls: the descriptors
-- of the queues in memory, and the EFA driver's private parts of the calls.
-- Source: rdma-core providers/efa/efa_io_defs.h (prefix efa_io_) and
-- kernel-headers/rdma/efa-abi.h (prefix efa_ibv_); tests/hw/efa_abi.lua compares them.
-- A structure: name, bytes, fields { name, type, count }. A mask: lowest and highest bit.
local function s(name, bytes, fields)
	return { name = name, bytes = bytes, fields = fields }
end

return {
	structs = {
		-- queues
		s("efa_io_tx_meta_desc", 32, {
			{ "req_id", "u16" }, { "ctrl1", "u8" }, { "ctrl2", "u8" }, { "dest_qp_num", "u16" },
			{ "length", "u16" }, { "immediate_data", "u32" }, { "ah", "u16" }, { "ctrl3", "u8" },
			{ "reserved", "u8" }, { "qkey", "u32" }, { "reserved2", "u8", 6 }, { "req_id_ex", "u16", 3 },
		}),
		s("efa_io_tx_buf_desc", 16, {
			{ "length", "u32" }, { "lkey", "u32" }, { "buf_addr_lo", "u32" }, { "buf_addr_hi", "u32" },
		}),
		s("efa_io_remote_mem_addr", 16, {
			{ "length", "u32" }, { "rkey", "u32" }, { "buf_addr_lo", "u32" }, { "buf_addr_hi", "u32" },
		}),
		s("efa_io_rx_desc", 16, {
			{ "buf_addr_lo", "u32" }, { "buf_addr_hi", "u32" }, { "req_id", "u16" }, { "length", "u16" },
			{ "lkey_ctrl", "u32" },
		}),
		s("efa_io_cdesc_common", 6, {
			{ "req_id", "u16" }, { "status", "u8" }, { "flags", "u8" }, { "qp_num", "u16" },
		}),
		s("efa_io_tx_cdesc", 16, {
			{ "common", "efa_io_cdesc_common" }, { "req_id_ex", "u16", 3 }, { "reserved", "u8", 4 },
		}),
		s("efa_io_rx_cdesc", 16, {
			{ "common", "efa_io_cdesc_common" }, { "length", "u16" }, { "ah", "u16" },
			{ "src_qp_num", "u16" }, { "imm", "u32" },
		}),
		s("efa_io_rx_cdesc_rdma_write", 2, { { "length_hi", "u16" } }),
		-- calls
		s("efa_ibv_alloc_ucontext_resp", 24, {
			{ "comp_mask", "u32" }, { "cmds_supp_udata_mask", "u32" }, { "sub_cqs_per_cq", "u16" },
			{ "inline_buf_size", "u16" }, { "max_llq_size", "u32" }, { "max_tx_batch", "u16" },
			{ "min_sq_wr", "u16" }, { "inline_buf_size_ex", "u16" }, { "reserved_b0", "u8", 2 },
		}),
		s("efa_ibv_alloc_pd_resp", 8, { { "comp_mask", "u32" }, { "pdn", "u16" }, { "reserved_30", "u8", 2 } }),
		s("efa_ibv_create_cq", 16, {
			{ "comp_mask", "u32" }, { "cq_entry_size", "u32" }, { "num_sub_cqs", "u16" }, { "flags", "u8" },
			{ "reserved_58", "u8", 5 },
		}),
		s("efa_ibv_create_cq_resp", 40, {
			{ "comp_mask", "u32" }, { "reserved_20", "u8", 4 }, { "q_mmap_key", "u64" },
			{ "q_mmap_size", "u64" }, { "cq_idx", "u16" }, { "reserved_d0", "u8", 2 }, { "db_off", "u32" },
			{ "db_mmap_key", "u64" },
		}),
		s("efa_ibv_create_qp", 24, {
			{ "comp_mask", "u32" }, { "rq_ring_size", "u32" }, { "sq_ring_size", "u32" },
			{ "driver_qp_type", "u32" }, { "flags", "u16" }, { "sl", "u8" }, { "reserved_98", "u8", 5 },
		}),
		s("efa_ibv_create_qp_resp", 64, {
			{ "comp_mask", "u32" }, { "rq_db_offset", "u32" }, { "sq_db_offset", "u32" },
			{ "llq_desc_offset", "u32" }, { "rq_mmap_key", "u64" }, { "rq_mmap_size", "u64" },
			{ "rq_db_mmap_key", "u64" }, { "sq_db_mmap_key", "u64" }, { "llq_desc_mmap_key", "u64" },
			{ "send_sub_cq_idx", "u16" }, { "recv_sub_cq_idx", "u16" }, { "reserved_1e0", "u8", 4 },
		}),
		s("efa_ibv_create_ah_resp", 8, {
			{ "comp_mask", "u32" }, { "efa_address_handle", "u16" }, { "reserved_30", "u8", 2 },
		}),
		s("efa_ibv_ex_query_device_resp", 24, {
			{ "comp_mask", "u32" }, { "max_sq_wr", "u32" }, { "max_rq_wr", "u32" }, { "max_sq_sge", "u16" },
			{ "max_rq_sge", "u16" }, { "max_rdma_size", "u32" }, { "device_caps", "u32" },
		}),
	},
	masks = {
		{ "EFA_IO_TX_META_DESC_OP_TYPE", 0, 3 }, { "EFA_IO_TX_META_DESC_HAS_IMM", 4, 4 },
		{ "EFA_IO_TX_META_DESC_INLINE_MSG", 5, 5 }, { "EFA_IO_TX_META_DESC_META_EXTENSION", 6, 6 },
		{ "EFA_IO_TX_META_DESC_META_DESC", 7, 7 }, { "EFA_IO_TX_META_DESC_PHASE", 0, 0 },
		{ "EFA_IO_TX_META_DESC_FIRST", 2, 2 }, { "EFA_IO_TX_META_DESC_LAST", 3, 3 },
		{ "EFA_IO_TX_META_DESC_COMP_REQ", 4, 4 }, { "EFA_IO_TX_BUF_DESC_LKEY", 0, 23 },
		{ "EFA_IO_RX_DESC_LKEY", 0, 23 }, { "EFA_IO_RX_DESC_FIRST", 30, 30 },
		{ "EFA_IO_RX_DESC_LAST", 31, 31 }, { "EFA_IO_CDESC_COMMON_PHASE", 0, 0 },
		{ "EFA_IO_CDESC_COMMON_Q_TYPE", 1, 2 }, { "EFA_IO_CDESC_COMMON_HAS_IMM", 3, 3 },
		{ "EFA_IO_CDESC_COMMON_OP_TYPE", 4, 6 }, { "EFA_IO_CDESC_COMMON_UNSOLICITED", 7, 7 },
	},
	-- Enumerators and definitions by the same name there.
	values = {
		{ "EFA_IO_SEND_QUEUE", 1 }, { "EFA_IO_RECV_QUEUE", 2 },
		{ "EFA_IO_SEND", 0 }, { "EFA_IO_RDMA_READ", 1 }, { "EFA_IO_RDMA_WRITE", 2 },
		{ "EFA_IO_TX_DESC_NUM_BUFS", 2 }, { "EFA_IO_TX_DESC_NUM_RDMA_BUFS", 1 },
		{ "EFA_IO_TX_DESC_INLINE_MAX_SIZE", 32 }, { "EFA_IO_TX_DESC_INLINE_MAX_SIZE_128", 80 },
		{ "EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE", 1 }, { "EFA_USER_CMDS_SUPP_UDATA_CREATE_AH", 2 },
		{ "EFA_CREATE_CQ_WITH_COMPLETION_CHANNEL", 1 }, { "EFA_CREATE_CQ_WITH_SGID", 2 },
		{ "EFA_CREATE_CQ_RESP_DB_OFF", 1 }, { "EFA_QP_DRIVER_TYPE_SRD", 0 },
		{ "EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV", 1 }, { "EFA_CREATE_QP_WITH_SQ_64_BIT_REQ_ID", 2 },
		{ "EFA_QUERY_DEVICE_CAPS_RDMA_READ", 1 }, { "EFA_QUERY_DEVICE_CAPS_RNR_RETRY", 2 },
		{ "EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS", 4 }, { "EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID", 8 },
		{ "EFA_QUERY_DEVICE_CAPS_RDMA_WRITE", 32 }, { "EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV", 64 },
		{ "EFA_QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM", 128 }, { "EFA_QUERY_DEVICE_CAPS_SQ_64_BIT_REQ_ID", 512 },
	},
}
