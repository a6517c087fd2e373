-- Queue pairs of unreliable datagrams, which EFA has besides SRD, in outline: the same states,
-- the same sends, and nobody tells the sender what became of one.
local srd = require "srdlab"

local cap = { max_send_wr = 8, max_recv_wr = 8, max_send_sge = 2, max_recv_sge = 2 }
local ops = "SEND|SEND_WITH_IMM"
local header = 40 -- bytes in front of what a datagram carries

local function rts(t, qp, qkey)
	t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = qkey or 0x4242 }):equals "OK"
	t:expect(qp:modify { state = "RTR" }):equals "OK"
	t:expect(qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
end

local function datagram_end(t, name)
	local host = t:host(name)
	local cq = host.verbs:create_cq(32)
	local qp = host.verbs:create_qp_ex { qp_type = "UD", send_ops_flags = ops, send_cq = cq, recv_cq = cq, cap = cap }
	rts(t, qp)
	return { host = host, cq = cq, qp = qp, mem = host:memory(16384), qkey = 0x4242 }
end

local function two(t)
	local a, b = datagram_end(t, "a"), datagram_end(t, "b")
	a.peer, b.peer = srd.address(a, b), srd.address(b, a)
	return a, b
end

srd.scenario("a datagram lands behind the header", { tags = { "law", "datagram" } }, function(t)
	local a, b = two(t)
	a.mem:fill "random"
	t:expect(b.qp:post_recv { wr_id = 5, sg_list = b.mem:slice(0, 1024) }):equals "OK"
	t:expect(a.qp:post({ { "send_imm", wr_id = 1, from = a.mem:slice(0, 100), imm_data = 7 } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	local wc = b.cq:wait()[1]
	t:expect(wc.wr_id):equals(5)
	t:expect(wc.byte_len):equals(header + 100)
	t:expect(wc.imm_data):equals(7)
	t:expect(wc.src_qp):equals(a.qp.qp_num)
	t:expect(b.mem:slice(header, 100)):same_content(a.mem:slice(0, 100))
end)

srd.scenario("whether a datagram is received is nobody's concern", {
	needs = { "hosts" }, tags = { "datagram" },
}, function(t)
	local a, b = two(t)
	local function send(id, peer)
		t:expect(a.qp:post({ { "send", wr_id = id, from = a.mem:slice(0, 100) } }, peer)):equals "OK"
		t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	end
	send(1, a.peer) -- no receive
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem:slice(0, header + 99) }):equals "OK"
	send(2, a.peer) -- a receive that is too small
	t:expect(b.cq:wait()[1].status):equals "IBV_WC_LOC_LEN_ERR"
	send(3, { ah = a.peer.ah, remote_qpn = 77, remote_qkey = 0x4242 }) -- nobody
end)

srd.scenario("a datagram with a wrong queue key is dropped in silence", {
	needs = { "hosts" }, tags = { "datagram" }, violates = "address.qkey",
}, function(t)
	local a, b = two(t)
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem }):equals "OK"
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem:slice(0, 8) } },
		{ ah = a.peer.ah, remote_qpn = a.peer.remote_qpn, remote_qkey = 1 })):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:run_for "1ms"
	t:expect(b.cq:poll()):equals {}
end)

srd.scenario("a datagram and SRD do not meet", { needs = { "hosts" }, tags = { "datagram" } }, function(t)
	local a, b = datagram_end(t, "a"), t:verbs_end("b", { memory = 4096 })
	a.peer, b.peer = srd.address(a, b), srd.address(b, a)
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem }):equals "OK"
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem:slice(0, 8) } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(b.qp:post({ { "send", wr_id = 1, from = b.mem:slice(0, 8) } }, b.peer)):equals "OK"
	t:expect(b.cq:wait()[1].vendor_err):equals(9)
end)

srd.scenario("what is made as a queue pair of datagrams", { tags = { "law", "datagram" } }, function(t)
	local v = t:host("a").verbs
	local cq = v:create_cq(16)
	for _, case in ipairs {
		{ {} }, { { send_ops_flags = "SEND|RDMA_WRITE" }, "EOPNOTSUPP" }, { { send_ops_flags = "RDMA_READ" }, "EOPNOTSUPP" },
		{ { qp_type = "RC" }, "EOPNOTSUPP" }, { { comp_mask = 0x40 }, "EINVAL" },
		{ { comp_mask = 0x41 | 0x80 }, "EOPNOTSUPP" }, { { cap = { max_send_wr = 2 ^ 20 // 1, max_recv_wr = 1,
			max_send_sge = 1, max_recv_sge = 1 } }, "EINVAL" },
	} do
		local attr = { qp_type = "UD", send_ops_flags = ops, send_cq = cq, recv_cq = cq, cap = cap }
		for k, value in pairs(case[1]) do
			attr[k] = value
		end
		local qp, errno = v:create_qp_ex(attr)
		t:expect(errno):equals(case[2])
		t:expect(qp ~= nil):equals(case[2] == nil)
	end
	-- efadv makes no datagrams
	local qp, errno = v:create_qp_ex { send_cq = cq, recv_cq = cq, qp_type = "UD", efa = {} }
	t:expect(qp):equals(nil)
	t:expect(errno):equals "EINVAL"
end)

srd.scenario("the states of datagrams are SRD's, without the retries", { tags = { "law", "datagram" } }, function(t)
	local v = t:host("a").verbs
	local cq = v:create_cq(16)
	local qp = v:create_qp_ex { qp_type = "UD", send_ops_flags = ops, send_cq = cq, recv_cq = cq, cap = cap }
	t:expect(qp:modify { state = "RTR" }):equals "EINVAL"
	t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 1 }):equals "OK"
	t:expect(qp:modify { state = "RTR" }):equals "OK"
	t:expect(qp:modify { state = "RTS", sq_psn = 0, rnr_retry = 3 }):equals "EINVAL"
	t:expect(qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
	t:expect(qp:modify { state = "SQD" }):equals "OK"
	t:expect(qp:modify { state = "RTS" }):equals "OK"
	t:expect(qp:modify { state = "ERR" }):equals "OK"
	t:expect(qp:modify { state = "RESET" }):equals "OK"
end)

srd.scenario("a datagram has the length of a packet at most", {
	tags = { "datagram" }, violates = "chunk.limit",
}, function(t)
	local a = two(t)
	local mtu = a.host.verbs:query_port().max_msg_sz
	local big = a.host:memory(mtu + 1)
	t:expect(a.qp:post({ { "send", wr_id = 1, from = big } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_LOC_LEN_ERR"
end)
