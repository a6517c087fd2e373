-- The built-in profiles: what each changes of the defaults in spec/profile.lua. A value is
-- the field's, or { the field's, where it is known from }; without that it is "set by profile
-- NAME". capture: what becomes of the source of a field that the profile leaves at the 0xefa1
-- capture; without it the capture stands for this profile too.
local as_efa1 = "guess: as measured on 0xefa1"
local layout = "source: efa_io_defs.h, the layout of a descriptor"
local memory = "guess: from memory, of AWS's launch texts"

return {
	efa0 = {
		doc = "0xefa0, the first generation: no RDMA, several rings a completion queue. Mostly guesses",
		capture = as_efa1,
		set = {
			vendor_part_id = { 0xefa0, "source: rdma-core and amzn-drivers, tables of PCI ids" },
			cap_rdma_read = { false, "guess" }, cap_rdma_write = { false, "guess" },
			max_rdma_size = { 0, "guess: none without RDMA" }, max_sge_rd = { 0, "guess: none without RDMA" },
			inline_buf_size = { 32, layout }, inline_buf_size_ex = { 32, layout },
			sub_cqs_per_cq = { 2, "guess: libfabric prov/efa knows of more than one, not of how many" },
			bandwidth = { 12500000000, memory .. ": 100 Gbps" },
		},
	},
	efa1 = { doc = "the 0xefa1 capture: the only complete one there is", set = {} },
	efa2 = {
		doc = "0xefa2: as 0xefa1 for all that is known. Mostly guesses",
		capture = as_efa1,
		set = {
			vendor_part_id = { 0xefa2, "source: rdma-core and amzn-drivers, tables of PCI ids" },
			cap_rdma_read = { true, "source: AWS, RDMA read on all Nitro v4 types" },
			cap_rdma_write = { true, "guess: AWS, RDMA write on most Nitro v4 types" },
			bandwidth = { 12500000000, memory .. ": 100 Gbps" },
		},
	},
	efa3 = {
		doc = "0xefa3: receives of writes with immediate need no entry. Mostly guesses",
		capture = as_efa1,
		set = {
			vendor_part_id = { 0xefa3, "source: rdma-core and amzn-drivers, tables of PCI ids" },
			cap_rdma_read = { true, "source: AWS, RDMA read on all Nitro v4 types" },
			cap_rdma_write = { true, "guess: AWS, RDMA write on most Nitro v4 types" },
			cap_unsolicited_write_recv = { true, "guess" },
			bandwidth = { 25000000000, memory .. ": 200 Gbps" },
			latency = { "8us", "guess: a third less than the generation before, as AWS's launch text says" },
		},
	},
	efa4 = {
		doc = "0xefa4, the newest: wide descriptors too. Mostly guesses",
		capture = as_efa1,
		set = {
			vendor_part_id = { 0xefa4, "source: rdma-core, table of PCI ids" },
			cap_rdma_read = { true, "source: AWS, RDMA read on all Nitro v4 types" },
			cap_rdma_write = { true, "guess" },
			cap_unsolicited_write_recv = { true, "guess" },
			max_rdma_size = { 2 ^ 30, "source: libfabric PR 11842, up to 1 GB on the newest" },
			inline_buf_size_ex = { 80, "guess; " .. layout .. " has room for 80" },
			bandwidth = { 50000000000, memory .. ": 400 Gbps" },
			latency = { "8us", "guess: as 0xefa3" },
		},
	},
	small = {
		doc = "tiny limits, so that boundaries are near",
		set = {
			max_qp = 8, max_cq = 16, max_cqe = 64, max_sq_wr = 16, max_rq_wr = 16, max_rdma_size = 4096,
			max_ah = 8, max_mr = 64, max_pd = 4, max_tx_batch = 4,
		},
	},
	no_rdma = {
		doc = "0xefa1 without RDMA read and write",
		set = { cap_rdma_read = false, cap_rdma_write = false, max_rdma_size = 0, max_sge_rd = 0 },
	},
	rc = {
		doc = "no EFA: a device with reliable-connected queue pairs, for the contrast. Its limits are a guess",
		set = {
			transport = "rc", vendor_part_id = 0, max_sq_sge = 2, max_rq_sge = 30, mtu = 4096, paths = 1,
			cap_rnr_retry = true, cap_unsolicited_write_recv = false,
		},
	},
	wide_wqe = {
		doc = "0xefa1 with 128-byte descriptors: 80 bytes inline, and then half the depth",
		set = { inline_buf_size_ex = { 80, layout } },
	},
	id64 = {
		doc = "0xefa1 whose send queues carry 64-bit request ids",
		set = { id64 = { true, "source: rdma-core v65, SQ_64_BIT_REQ_ID" } },
	},
	huge = {
		doc = "lifted limits: thousands of queue pairs, regions of terabytes. No device is like it",
		set = {
			max_qp = 16384, max_cq = 16384, max_cqe = 1048576, max_sq_wr = 65536, max_llq_size = 2 ^ 22,
			max_rq_wr = 65536, max_ah = 65535, max_mr = 1048576, max_mr_pages = 2 ^ 34, max_pd = 16384,
		},
	},
}
