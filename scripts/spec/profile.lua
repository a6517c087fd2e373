-- A device profile: every field with its type, unit, range, default and where the default
-- comes from. type: u16 u32 u64 bool, size (bytes, takes "4KiB"), time (ns, takes "12us"),
-- ppm (parts per million), or { "choice", ... }. live = true: may be changed while it runs
-- (struct srd_lab SRD_LAB_SET). The defaults are the 0xefa1 capture.
-- source: "measured: ...", "source: ..." or "guess".
local capture = "measured: 0xefa1 device dump in UCX contrib/ibmock"
local function f(name, type, default, range, source, doc, extra)
	local field = { name = name, type = type, default = default, range = range, source = source, doc = doc }
	for k, v in pairs(extra or {}) do
		field[k] = v
	end
	return field
end
local live = { live = true }

return {
	f("transport", { "srd", "rc" }, "srd", nil, "srdlab",
		"reliable queue pairs that the device has: EFA's, or those of any other RDMA device"),
	-- limits
	f("vendor_part_id", "u32", 0xefa1, { 0, 0xffff }, capture, "PCI device id"),
	f("devices", "u32", 0, { 0, 64 }, "srdlab: an instance type says how many it has", "devices of a host; 0: as many as are asked for"),
	f("max_qp", "u32", 256, { 1, 65535 }, capture, "queue pairs"),
	f("first_qpn", "u32", 1, { 1, 65535 }, "guess", "number of the first queue pair"),
	f("qpn_reuse", { "same", "raised" }, "same", nil, "source: rdma-core PRs 1731 and 1670 each tell of one; when a device does which is a guess",
		"a queue pair's number when it is given out again: as it was, or raised to the next with the same low bits"),
	f("max_cq", "u32", 512, { 1, 65535 }, capture, "completion queues"),
	f("max_cqe", "u32", 32768, { 1, 1048576 }, capture, "entries of one completion queue"),
	f("max_sq_wr", "u32", 4096, { 1, 65536 }, capture, "depth of a send queue"),
	f("min_sq_wr", "u32", 0, { 0, 65536 }, "guess", "smallest depth of a send queue"),
	f("max_rq_wr", "u32", 32768, { 1, 65536 }, capture, "depth of a receive queue, in descriptors"),
	f("max_llq_size", "size", "256KiB", { 64, 2 ^ 30 }, "guess", "bytes of a send queue in device memory"),
	f("max_sq_sge", "u16", 2, { 1, 2 }, capture, "scatter entries of a send"),
	f("max_rq_sge", "u16", 3, { 1, 64 }, capture, "scatter entries of a receive"),
	f("max_sge_rd", "u16", 1, { 0, 1 }, capture, "scatter entries of an RDMA read"),
	f("inline_buf_size", "size", 32, { 0, 32 }, capture, "inline bytes in a 64-byte entry"),
	f("inline_buf_size_ex", "size", 32, { 0, 80 }, capture, "inline bytes in a 128-byte entry"),
	f("max_tx_batch", "u32", 0, { 0, 65535 }, "guess", "entries between doorbells; 0: no limit"),
	f("max_mr", "u32", 262144, { 1, 16777215 }, capture, "memory regions"),
	f("max_mr_pages", "u64", 25165824, { 1, 2 ^ 40 }, capture, "pages of 4 KiB in one region"),
	f("max_pd", "u32", 256, { 1, 65535 }, capture, "protection domains"),
	f("max_ah", "u32", 1024, { 1, 65535 }, capture, "address handles"),
	f("max_rdma_size", "size", 2 ^ 30, { 0, 2 ^ 32 - 1 }, capture, "bytes of one RDMA request; 0: no RDMA"),
	f("mtu", "size", 8928, { 256, 65535 }, capture, "payload bytes of a packet"),
	f("sub_cqs_per_cq", "u16", 1, { 1, 16 }, "source: libfabric prov/efa, more than one on 0xefa0 only", "rings of one completion queue"),
	f("cap_rdma_read", "bool", true, nil, capture, "device capability"),
	f("cap_rdma_write", "bool", true, nil, capture, "device capability"),
	f("cap_rnr_retry", "bool", true, nil, capture, "device capability"),
	f("cap_unsolicited_write_recv", "bool", false, nil, capture, "device capability"),
	f("cap_data_polling_128", "bool", false, nil, "guess", "bytes land in order within aligned 128"),
	f("id64", "bool", false, nil, "source: rdma-core v65, the device may carry 64-bit request ids", "64-bit request ids"),
	-- what the documents leave open
	f("flush_on_destroy", "bool", true, nil, "source: libfabric PR 10968", "destroy writes error completions"),
	f("flush_on_reset", "bool", false, nil, "guess", "RESET writes error completions"),
	f("flush_on_ah_destroy", "bool", true, nil, "source: efa_io_defs.h, status FLUSHED", "destroying an address handle aborts its requests"),
	f("ah_tokens", { "shared_last", "shared_first", "unique" }, "shared_last", nil, "source: libfabric commit faf13301a; which destroy aborts is a guess",
		"one number for one (PD, GID), and which destroy aborts"),
	f("cq_overrun", { "drop_newest", "overwrite_oldest" }, "drop_newest", nil, "guess", "a full completion queue"),
	f("notify", { "pending", "next" }, "pending", nil, "guess: the doorbell that asks tells how far the program has read",
		"what an event is for: any entry not read yet, or only those that come later"),
	f("stale_check", { "generation", "qpn" }, "generation", nil, "source: rdma-core PR 1731 added the generation", "how libefa knows an old completion"),
	f("qkey_mismatch", { "drop_then_timeout", "bad_qpn", "never" }, "drop_then_timeout", nil, "guess", "a wrong queue key"),
	f("unknown_peer_check", "bool", true, nil, "source: efa_io_defs.h, status 14", "RDMA needs an address handle at the responder"),
	f("unsolicited_mismatch", { "refused", "ignored" }, "refused", nil, "guess: efa_io_defs.h has status 18 for a feature that one side lacks",
		"a write with immediate where one side only needs no receive; ignored: the target's word counts"),
	f("loopback", "bool", true, nil, "guess: pyverbs loops back, monarch reports that it does not", "a device reaches itself"),
	f("read_opcode", { "SEND", "RDMA_READ" }, "SEND", nil, "source: rdma-core providers/efa/verbs.c", "opcode of a completed read"),
	f("partial_on_error", "bool", true, nil, "guess", "a failed request may have placed some packets", live),
	f("zero_length_checks_key", "bool", false, nil, "guess", "an empty request looks at its keys"),
	-- the fabric
	f("level", { "message", "packet" }, "message", nil, "srdlab", "simulate requests, or each packet of them"),
	f("order", { "in_order", "random", "adversarial" }, "random", nil, "source: SRD promises no order", "order in which things arrive", live),
	f("latency", "time", "12us", { 0, 10 ^ 12 }, "guess", "one way", live),
	f("jitter", "time", "4us", { 0, 10 ^ 12 }, "guess", "mean of what is added to each packet", live),
	f("bandwidth", "size", 12500000000, { 1, 10 ^ 13 }, "source: 100 Gbps a device", "bytes per second of the link", live),
	f("paths", "u32", 4, { 1, 64 }, "source: AWS names up to 64", "paths between two hosts"),
	f("loss", "ppm", 0, { 0, 1000000 }, "guess", "packets lost", live),
	f("retransmit", "time", "100us", { 1, 10 ^ 12 }, "guess", "until a lost packet is sent again", live),
	f("rnr_timer", "time", "100us", { 1, 10 ^ 12 }, "guess", "between two tries at a receiver that is not ready", live),
	f("unresponsive_timeout", "time", "50ms", { 1, 10 ^ 13 }, "guess: the real one is unpublished and far longer", "until a silent peer is given up", live),
}
