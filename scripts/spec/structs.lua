-- The structures that cross between Lua and C: for each field its name in a script, its
-- type, and where it lies in C. A message about a bad value is made from this.
--
-- type: u8 u16 u32 u64 i32, bool, size (bytes, takes "4KiB"), time (ns, takes "12us"),
-- addr (any 64 bits), be32 (a number, kept in network order), gid (text form), enum:NAME
-- and flags:NAME of spec/enums.lua, struct:NAME of this file, object:KIND (a verbs object).
-- string, strings, table and any are checked for their type only: the binding reads them.
-- member: the C member where it has another name. range: what is accepted (else the
-- type's). mask: the bit that a field sets when it is given. only = "in": a script gives it
-- and never sees it; "out": the other way round.
local function f(name, type, extra)
	local field = { name = name, type = type }
	for k, v in pairs(extra or {}) do
		field[k] = v
	end
	return field
end

-- A list of fields; a bare name is a u32.
local function list(fields)
	for i, field in ipairs(fields) do
		fields[i] = type(field) == "string" and f(field, "u32") or field
	end
	return fields
end

return {
	{
		name = "device_attr", c = "struct srd_device_attr", doc = "ibv_query_device",
		fields = list {
			f("max_mr_size", "size"),
			"vendor_id", "vendor_part_id", "max_qp", "max_qp_wr", "max_sge", "max_sge_rd",
				"max_cq", "max_cqe", "max_mr", "max_pd", "max_ah",
			f("phys_port_cnt", "u8"),
		},
	},
	{
		name = "efa_device_attr", c = "struct srd_efa_device_attr", doc = "efadv_query_device",
		fields = list {
			f("max_sq_wr", "u32"), f("max_rq_wr", "u32"), f("max_sq_sge", "u16"),
			f("max_rq_sge", "u16"), f("inline_buf_size", "u16"), f("inline_buf_size_ex", "u16"),
			f("device_caps", "flags:device_caps"), f("max_rdma_size", "u32"),
		},
	},
	{
		name = "port_attr", c = "struct srd_port_attr", doc = "ibv_query_port",
		fields = list {
			f("state", "enum:port_state"), f("max_msg_sz", "u32"), f("gid_tbl_len", "u32"),
			f("pkey_tbl_len", "u16"), f("lid", "u16"), f("active_mtu", "u8"),
		},
	},
	{
		name = "ah_attr", c = "struct srd_ah_attr", doc = "the attributes of an address handle",
		fields = list {
			f("dgid", "gid"), f("flow_label", "u32"), f("dlid", "u16"), f("sgid_index", "u8"),
			f("hop_limit", "u8"), f("traffic_class", "u8"), f("sl", "u8"), f("is_global", "u8"),
			f("port_num", "u8"),
		},
	},
	{
		name = "qp_cap", c = "struct srd_qp_cap", doc = "the depths of a queue pair",
		fields = list { "max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data" },
	},
	{
		name = "cq_init_attr_ex", c = "struct srd_cq_init_attr_ex",
		doc = "ibv_cq_init_attr_ex and efadv_cq_init_attr in one",
		fields = list {
			f("cqe", "u32"), f("channel", "object:comp_channel"), f("wc_flags", "flags:create_cq_wc_flags"),
			f("comp_mask", "u32"), f("flags", "u32"), f("efa_wc_flags", "flags:efa_wc_flags"),
		},
	},
	{
		name = "qp_init_attr", c = "struct srd_qp_init_attr_ex", doc = "ibv_qp_init_attr_ex",
		fields = list {
			f("pd", "object:pd"), f("send_cq", "object:cq"), f("recv_cq", "object:cq"),
			f("cap", "struct:qp_cap"), f("qp_type", "enum:qp_type"), f("sq_sig_all", "i32"),
			f("comp_mask", "u32"), f("send_ops_flags", "flags:send_ops"),
			f("efa", "table", { only = "in" }),
		},
	},
	{
		name = "efa_qp_init_attr", c = "struct srd_efa_qp_init_attr", doc = "efadv_qp_init_attr",
		fields = list {
			f("driver_qp_type", "u32"), f("flags", "flags:efa_qp_flags"), f("comp_mask", "u64"),
		},
	},
	{
		name = "qp_attr", c = "struct srd_qp_attr", doc = "ibv_qp_attr, with the masks that fields stand for",
		fields = list {
			f("state", "enum:qp_state", { member = "qp_state", mask = "STATE" }),
			f("cur_state", "enum:qp_state", { member = "cur_qp_state", mask = "CUR_STATE" }),
			f("qkey", "u32", { mask = "QKEY" }), f("rq_psn", "u32", { mask = "RQ_PSN" }),
			f("sq_psn", "u32", { mask = "SQ_PSN" }), f("dest_qp_num", "u32", { mask = "DEST_QPN" }),
			f("access_flags", "flags:access_flags", { member = "qp_access_flags", mask = "ACCESS_FLAGS" }),
			f("path_mtu", "u32", { mask = "PATH_MTU" }), f("cap", "struct:qp_cap", { mask = "CAP" }),
			f("ah_attr", "struct:ah_attr", { mask = "AV" }),
			f("pkey_index", "u16", { mask = "PKEY_INDEX" }),
			f("en_sqd_async_notify", "u8", { mask = "EN_SQD_ASYNC_NOTIFY" }),
			f("sq_draining", "u8", { only = "out" }),
			f("max_rd_atomic", "u8", { mask = "MAX_QP_RD_ATOMIC" }),
			f("max_dest_rd_atomic", "u8", { mask = "MAX_DEST_RD_ATOMIC" }),
			f("min_rnr_timer", "u8", { mask = "MIN_RNR_TIMER" }), f("port_num", "u8", { mask = "PORT" }),
			f("timeout", "u8", { mask = "TIMEOUT" }), f("retry_cnt", "u8", { mask = "RETRY_CNT" }),
			f("rnr_retry", "u8", { mask = "RNR_RETRY" }),
			f("mask", "any", { only = "in" }),
		},
	},
	{
		name = "sge", c = "struct srd_sge", doc = "a scatter/gather entry",
		fields = list { f("addr", "addr"), f("length", "u32"), f("lkey", "u32") },
	},
	{
		name = "wc", c = "struct srd_wc", doc = "a completion, with the fields that libefa sets",
		fields = list {
			f("wr_id", "addr"), f("status", "enum:wc_status"), f("opcode", "enum:wc_opcode"),
			f("vendor_err", "u32"), f("byte_len", "u32"), f("imm_data", "be32"), f("qp_num", "u32"),
			f("src_qp", "u32"), f("wc_flags", "flags:wc_flags"),
		},
	},
	{
		name = "queue_pair", c = "struct srd_queue_pair_config", doc = "the fields of host:queue_pair",
		fields = list {
			"max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "psn", "qkey",
			f("pkey_index", "u16"), f("port_num", "u8"),
			f("sgid_index", "u8"), f("path_mtu", "u8", { range = { 0, 5 } }),
			f("timeout", "u8", { range = { 0, 31 } }), f("retry_cnt", "u8", { range = { 0, 7 } }),
			f("rnr_retry", "u8", { range = { 0, 7 } }), f("min_rnr_timer", "u8", { range = { 0, 31 } }),
			f("max_rd_atomic", "u8"), f("max_dest_rd_atomic", "u8"),
			f("send_cq", "any", { only = "in" }), f("recv_cq", "any", { only = "in" }),
		},
	},
	{
		name = "completion", c = "struct srd_completion",
		doc = "a completion as the queue pair hands it on",
		fields = list {
			f("wr_id", "addr"), f("status", "enum:wc_status"), f("vendor_err", "u32"),
			f("opcode", "enum:wc_opcode"),
		},
	},
	{
		name = "endpoint", c = "struct srd_endpoint", doc = "what a peer needs to connect",
		fields = list {
			f("qp_num", "u32"), f("psn", "u32"), f("lid", "u16"), f("has_gid", "bool"),
			f("gid_index", "u32"), f("gid", "gid"),
		},
	},
	{
		name = "rails_options", c = "struct srd_rails_options", header = "lua/options.h",
		doc = "the options of t:rails",
		fields = list {
			f("max_in_flight", "u32"), f("stripe", "size"),
		},
	},
	{
		name = "memory_options", c = "struct srd_memory_options", header = "lua/options.h",
		doc = "the second argument of host:memory",
		fields = list {
			f("access", "flags:access_flags"), f("kind", "enum:buffer_kind"), f("register", "bool", { member = "register_it" }),
		},
	},
	{
		name = "scenario_options", c = "struct srd_scenario_options", header = "lua/options.h",
		doc = "the second argument of srd.scenario",
		fields = list {
			f("description", "string", { only = "in" }), f("tags", "strings", { only = "in" }),
			f("needs", "strings", { only = "in" }), f("violates", "string", { only = "in" }),
			f("fails", "string", { only = "in" }), f("bug", "string", { only = "in" }),
			f("form", "string", { only = "in" }),
			f("limits", "table", { only = "in" }), f("profile", "any", { only = "in" }),
			f("orders", "string", { only = "in" }), f("orders_max", "u32", { range = { 1, 1000000000 } }),
			f("seeds", "bool"), f("timeout", "time"),
		},
	},
	{
		name = "view", c = "struct srd_view", header = "lua/bindings.h",
		doc = "a range of memory by its numbers",
		fields = list { f("addr", "addr"), f("size", "size"), f("key", "u32") },
	},
	{
		name = "wr", c = "struct srd_wr_options", header = "lua/options.h",
		doc = "a request of a posting session",
		fields = list {
			f("wr_id", "addr"), f("flags", "flags:send_flags"), f("rkey", "u32"),
			f("remote_addr", "addr"), f("imm_data", "be32"),
		},
	},
	{
		name = "ud_addr", c = "struct srd_ud_addr_options", header = "lua/options.h",
		doc = "where a request goes",
		fields = list { f("ah", "object:ah"), f("remote_qpn", "u32"), f("remote_qkey", "u32") },
	},
	{
		name = "recv_wr", c = "struct srd_recv_wr", doc = "a receive",
		fields = list { f("wr_id", "addr"), f("sg_list", "any", { only = "in" }) },
	},
	{
		name = "fault_call", c = "struct srd_fault_call", header = "lua/options.h",
		doc = "the second argument of t:fail_call",
		fields = list { f("nth", "u64"), f("errno", "string", { only = "in" }) },
	},
}
