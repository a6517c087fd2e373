-- The seam: every operation of struct srd_verbs, in the order of the table.
--
-- returns: "errno"   0 or a positive errno, as rdma-core's verbs do
--          "object"  a pointer, or NULL with errno set
--          "count"   a number of entries, or a negative errno, as ibv_poll_cq does
--          "void"    nothing; the posting builders latch their error until wr_complete
--          "time"    nanoseconds
-- data = true marks the data path: setters and builders, which wrapping tables treat
-- as one request when the session completes.
local function op(name, returns, args, doc, extra)
	local o = { name = name, returns = returns, args = args, doc = doc }
	for k, v in pairs(extra or {}) do
		o[k] = v
	end
	return o
end

return {
	-- devices
	op("open_device", "object:context", { "uint32_t host", "const char *name" },
		"Open the device NAME for HOST (0, 1, ... in the order that a scenario makes them); "
		.. "NULL means the first device. In the mock each host has devices of its own; on one "
		.. "EFA machine all hosts share a device. ENODEV: no such device."),
	op("close_device", "errno", { "struct srd_context *context" },
		"Close it. EBUSY: a protection domain or completion queue is left."),
	op("query_device", "errno", { "struct srd_context *context", "struct srd_device_attr *attr" },
		"ibv_query_device."),
	op("efa_query_device", "errno",
		{ "struct srd_context *context", "struct srd_efa_device_attr *attr" },
		"efadv_query_device. EOPNOTSUPP: not an EFA device."),
	op("query_port", "errno",
		{ "struct srd_context *context", "uint8_t port_num", "struct srd_port_attr *attr" },
		"ibv_query_port. EINVAL: EFA has port 1 only."),
	op("query_gid", "errno",
		{ "struct srd_context *context", "uint8_t port_num", "int index", "union srd_gid *gid" },
		"ibv_query_gid. The table has one entry."),
	-- protection domain, memory, address handle, completion queue
	op("alloc_pd", "object:pd", { "struct srd_context *context" }, "ibv_alloc_pd."),
	op("dealloc_pd", "errno", { "struct srd_pd *pd" },
		"ibv_dealloc_pd. EBUSY: a queue pair, address handle or memory region is left."),
	op("reg_mr", "object:mr",
		{ "struct srd_pd *pd", "uint64_t addr", "uint64_t length", "uint32_t access" },
		"ibv_reg_mr with enum srd_access_flags. EINVAL: REMOTE_WRITE without LOCAL_WRITE, no "
		.. "pages, too long. EOPNOTSUPP: a right that the device lacks. EFAULT: no such memory."),
	op("dereg_mr", "errno", { "struct srd_mr *mr" }, "ibv_dereg_mr."),
	op("create_cq", "object:cq", { "struct srd_context *context", "uint32_t cqe" },
		"ibv_create_cq without a completion channel; cqe is rounded up to a power of two. "
		.. "EINVAL: 0 or over max_cqe."),
	op("destroy_cq", "errno", { "struct srd_cq *cq" },
		"ibv_destroy_cq. EBUSY: a queue pair uses it. A poll is ended first, and events that are not "
		.. "acknowledged are: rdma-core would wait for that for ever."),
	op("create_comp_channel", "object:comp_channel", { "struct srd_context *context" },
		"ibv_create_comp_channel."),
	op("destroy_comp_channel", "errno", { "struct srd_comp_channel *channel" },
		"ibv_destroy_comp_channel. EBUSY: a completion queue reports to it."),
	op("create_cq_ex", "object:cq",
		{ "struct srd_context *context", "const struct srd_cq_init_attr_ex *attr" },
		"efadv_create_cq, or without efa_wc_flags ibv_create_cq_ex: a completion queue for the "
		.. "extended poll as well, with or without a channel. EOPNOTSUPP: a flag that EFA lacks."),
	op("create_ah", "object:ah", { "struct srd_pd *pd", "const struct srd_ah_attr *attr" },
		"ibv_create_ah."),
	op("destroy_ah", "errno", { "struct srd_ah *ah" }, "ibv_destroy_ah."),
	-- queue pair
	op("create_qp_ex", "object:qp",
		{ "struct srd_context *context", "struct srd_qp_init_attr_ex *attr",
			"const struct srd_efa_qp_init_attr *efa" },
		"efadv_create_qp_ex, or ibv_create_qp_ex where EFA is NULL, by which EFA makes queue pairs of "
		.. "type UD; the granted depths are written back into ATTR. EOPNOTSUPP: the device has no queue "
		.. "pairs of this type."),
	op("destroy_qp", "errno", { "struct srd_qp *qp" },
		"ibv_destroy_qp; a session that is open is aborted first."),
	op("modify_qp", "errno",
		{ "struct srd_qp *qp", "const struct srd_qp_attr *attr", "uint32_t mask" },
		"ibv_modify_qp with enum srd_qp_attr_mask. A move to RESET lets an open session fail "
		.. "with EINVAL."),
	op("query_qp", "errno", { "struct srd_qp *qp", "struct srd_qp_attr *attr", "uint32_t mask" },
		"ibv_query_qp; refreshes the cached qp->state when the mask has STATE."),
	-- the posting session: wr_id and wr_flags of the queue pair are read by each builder
	-- what rdma-core would not survive is latched like an error of its own, by every backend
	op("wr_start", "void", { "struct srd_qp *qp" },
		"ibv_wr_start. Inside an open session it latches EINVAL.", { data = true }),
	op("wr_rdma_write", "void",
		{ "struct srd_qp *qp", "uint32_t rkey", "uint64_t remote_addr" },
		"ibv_wr_rdma_write. A builder that send_ops_flags did not name latches EOPNOTSUPP; "
		.. "outside a session it does nothing.", { data = true, builder = "RDMA_WRITE" }),
	op("wr_rdma_write_imm", "void",
		{ "struct srd_qp *qp", "uint32_t rkey", "uint64_t remote_addr", "uint32_t imm_data" },
		"ibv_wr_rdma_write_imm; imm_data in network order.",
		{ data = true, builder = "RDMA_WRITE_WITH_IMM" }),
	op("wr_rdma_read", "void",
		{ "struct srd_qp *qp", "uint32_t rkey", "uint64_t remote_addr" },
		"ibv_wr_rdma_read.", { data = true, builder = "RDMA_READ" }),
	op("wr_send", "void", { "struct srd_qp *qp" },
		"ibv_wr_send.", { data = true, builder = "SEND" }),
	op("wr_send_imm", "void", { "struct srd_qp *qp", "uint32_t imm_data" },
		"ibv_wr_send_imm; imm_data in network order.",
		{ data = true, builder = "SEND_WITH_IMM" }),
	op("wr_set_sge", "void",
		{ "struct srd_qp *qp", "uint32_t lkey", "uint64_t addr", "uint32_t length" },
		"ibv_wr_set_sge. A setter before any builder of the session latches EINVAL; outside a "
		.. "session it does nothing.", { data = true }),
	op("wr_set_sge_list", "void",
		{ "struct srd_qp *qp", "uint32_t num_sge", "const struct srd_sge *sg_list" },
		"ibv_wr_set_sge_list.", { data = true }),
	op("wr_set_inline_data", "void",
		{ "struct srd_qp *qp", "uint64_t addr", "uint32_t length" },
		"ibv_wr_set_inline_data; ADDR is a buffer address like any other.", { data = true }),
	op("wr_set_ud_addr", "void",
		{ "struct srd_qp *qp", "struct srd_ah *ah", "uint32_t remote_qpn",
			"uint32_t remote_qkey" },
		"ibv_wr_set_ud_addr.", { data = true }),
	op("wr_complete", "errno", { "struct srd_qp *qp" },
		"ibv_wr_complete: all requests of the session, or none and the first error. EINVAL: no "
		.. "session is open.",
		{ data = true }),
	op("wr_abort", "void", { "struct srd_qp *qp" },
		"ibv_wr_abort. Nothing where no session is open.", { data = true }),
	op("post_recv", "errno",
		{ "struct srd_qp *qp", "struct srd_recv_wr *wr", "struct srd_recv_wr **bad_wr" },
		"ibv_post_recv."),
	op("poll_cq", "count", { "struct srd_cq *cq", "int num_entries", "struct srd_wc *wc" },
		"ibv_poll_cq. -EINVAL: the first entry belongs to no live queue pair; it is consumed. "
		.. "-EDEADLK: a session is open on a queue pair that sends to CQ, whose lock libefa "
		.. "would wait for.",
		{ data = true }),
	-- the extended poll
	op("start_poll", "errno", { "struct srd_cq *cq" },
		"ibv_start_poll: the first entry is the current one. ENOENT: there is none, and no poll to "
		.. "end. EINVAL: it belongs to no live queue pair; it is consumed. EOPNOTSUPP: a queue of "
		.. "create_cq. EDEADLK: in a poll, or in a session of a queue pair that sends to CQ."),
	op("next_poll", "errno", { "struct srd_cq *cq" },
		"ibv_next_poll: the current entry is done with, and gives its credit back; the next one is "
		.. "current. ENOENT, EINVAL: as start_poll, but the poll goes on until end_poll. EINVAL: not in a poll, or "
		.. "called again after ENOENT. EDEADLK: as start_poll."),
	op("end_poll", "void", { "struct srd_cq *cq" },
		"ibv_end_poll: the current entry is done with too. Nothing outside a poll."),
	op("read_wc", "void", { "struct srd_cq *cq", "struct srd_wc_ex *wc" },
		"What ibv_wc_read_opcode and its siblings tell of the current entry, all at once; all zero "
		.. "where there is none."),
	-- completion events
	op("req_notify_cq", "errno", { "struct srd_cq *cq", "int solicited_only" },
		"ibv_req_notify_cq. EOPNOTSUPP: solicited_only. EINVAL: CQ has no channel; libefa would "
		.. "write to a doorbell that is not there."),
	op("get_cq_event", "errno", { "struct srd_comp_channel *channel", "struct srd_cq **cq" },
		"ibv_get_cq_event on a channel that does not block. EAGAIN: there is no event."),
	op("ack_cq_events", "void", { "struct srd_cq *cq", "unsigned int nevents" },
		"ibv_ack_cq_events. More than there were: only those."),
	-- memory: addresses are the backend's; the mock's are not addresses of this process
	op("alloc_buffer", "object:buffer",
		{ "struct srd_context *context", "uint64_t length", "enum srd_buffer_kind kind" },
		"Memory of CONTEXT's host, page aligned, zero. EOPNOTSUPP: another kind than REAL on a device."),
	op("free_buffer", "errno", { "struct srd_buffer *buffer" },
		"Give it back, registered or not: what happens to a request that still uses it is the "
		.. "backend's to show."),
	op("fill_buffer", "errno",
		{ "struct srd_buffer *buffer", "uint64_t offset", "uint64_t length", "uint64_t seed" },
		"Fill with the bytes of pattern SEED (srdlab/pattern.h): the byte at offset o of the "
		.. "buffer becomes byte o of the pattern; seed 0 is zeros. ERANGE."),
	op("write_buffer", "errno",
		{ "struct srd_buffer *buffer", "uint64_t offset", "const void *from", "size_t length" },
		"Store bytes. ERANGE: outside the buffer."),
	op("read_buffer", "errno",
		{ "struct srd_buffer *buffer", "uint64_t offset", "void *to", "size_t length" },
		"Load bytes. ERANGE: outside the buffer."),
	op("compare_buffer", "errno",
		{ "struct srd_buffer *a", "uint64_t a_offset", "struct srd_buffer *b",
			"uint64_t b_offset", "uint64_t length", "uint64_t *first_difference" },
		"Compare LENGTH bytes; *first_difference is relative to the offsets, or LENGTH where "
		.. "there is none. ERANGE: outside a buffer."),
	-- the clock
	op("now", "time", {}, "Nanoseconds since the table was opened.", { data = true }),
	op("wait", "errno", { "uint64_t deadline" },
		"Wait until something arrives in a completion queue, or until DEADLINE (UINT64_MAX: "
		.. "none). 0: something arrived. ETIMEDOUT: the deadline is now. EDEADLK: the mock has "
		.. "no event left and there is no deadline.", { data = true }),
	-- the laboratory
	op("lab", "errno", { "struct srd_lab *command" },
		"Faults, fabric and questions about requests (srdlab/lab.h). EOPNOTSUPP: this backend "
		.. "cannot.", { data = true }),
	op("close", "void", {}, "Release the table and every object that is left."),
}
