-- The built-in profiles: what each changes of the defaults in spec/profile.lua.
return {
	efa1 = { doc = "the 0xefa1 capture: the only complete one there is", set = {} },
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
	huge = {
		doc = "lifted limits: thousands of queue pairs, regions of terabytes. No device is like it",
		set = {
			max_qp = 16384, max_cq = 16384, max_cqe = 1048576, max_sq_wr = 65536, max_llq_size = 2 ^ 22,
			max_rq_wr = 65536, max_ah = 65535, max_mr = 1048576, max_mr_pages = 2 ^ 34, max_pd = 16384,
		},
	},
}
