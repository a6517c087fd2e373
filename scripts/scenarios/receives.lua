-- Sends, receives and writes with immediate data, by verbs: they share the queue pair with
-- RDMA, and unlike it they need a receive at the other end.
local srd = require "srdlab"

local ops = "SEND|SEND_WITH_IMM|RDMA_WRITE|RDMA_WRITE_WITH_IMM"

-- Two bare queue pairs in RTS; RTS_FIELDS are added to the last step of the first.
local function two(t, rts_fields)
	local sides = {}
	for i, name in ipairs { "a", "b" } do
		local host = t:host(name)
		local s = { v = host.verbs, cq = host.verbs:create_cq(64), mem = host:memory(16384) }
		s.qp = s.v:create_qp_ex { send_cq = s.cq, recv_cq = s.cq, send_ops_flags = ops }
		t:expect(s.qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
		t:expect(s.qp:modify { state = "RTR" }):equals "OK"
		local rts = { state = "RTS", sq_psn = 0 }
		for k, v in pairs(i == 1 and rts_fields or {}) do
			rts[k] = v
		end
		t:expect(s.qp:modify(rts)):equals "OK"
		sides[i] = s
	end
	local a, b = sides[1], sides[2]
	a.ah = a.v.pd:create_ah { dgid = b.v:query_gid() }
	b.ah = b.v.pd:create_ah { dgid = a.v:query_gid() }
	a.peer, b.peer = b, a
	return a, b
end

local function send(s, id, size, builder, fields)
	local wr = { wr_id = id }
	for k, v in pairs(fields or {}) do
		wr[k] = v
	end
	s.qp:wr_start()
	s.qp[builder or "wr_send"](s.qp, wr)
	s.qp:wr_set_sge(s.mem:slice(0, size))
	s.qp:wr_set_ud_addr { ah = s.ah, remote_qpn = s.peer.qp.qp_num }
	return s.qp:wr_complete()
end

srd.scenario("a send lands in the receive that was posted first", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	a.mem:fill "random"
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem:slice(0, 100) }):equals "OK"
	t:expect(b.qp:post_recv { wr_id = 2, sg_list = b.mem:slice(100, 100) }):equals "OK"
	t:expect(send(a, 9, 64)):equals "OK"
	local wc = b.cq:wait()[1]
	t:expect(wc.wr_id):equals(1)
	t:expect(wc.opcode):equals "IBV_WC_RECV"
	t:expect(wc.byte_len):equals(64)
	t:expect(wc.src_qp):equals(a.qp.qp_num)
	t:expect(b.mem:slice(0, 64)):same_content(a.mem:slice(0, 64))
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
end)

srd.scenario("a send of nothing takes a receive all the same", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem:slice(0, 0) }):equals "OK"
	t:expect(send(a, 9, 0)):equals "OK"
	t:expect(b.cq:wait()[1].byte_len):equals(0)
	t:expect(a.cq:wait()[1].wr_id):equals(9)
end)

srd.scenario("a send without a receive waits for one", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	t:expect(send(a, 9, 64)):equals "OK"
	t:run_for "10ms"
	t:expect(a.cq:poll()):equals {}
	t:expect(b.qp:post_recv { wr_id = 3, sg_list = b.mem:slice(0, 64) }):equals "OK"
	t:expect(b.cq:wait()[1].wr_id):equals(3)
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
end)

srd.scenario("a send that may try again only so often fails without a receive", {
	tags = { "law", "receive" },
}, function(t)
	local a, b = two(t, { rnr_retry = 2 })
	t:expect(send(a, 9, 64)):equals "OK"
	local wc = a.cq:wait()[1]
	t:expect(wc.status):equals "IBV_WC_RNR_RETRY_EXC_ERR"
	t:expect(wc.vendor_err):equals(10)
	t:expect(b.cq:poll()):equals {}
	t:expect(a.qp:query().state):equals "RTS"
end)

srd.scenario("a send that waits does not hold up RDMA", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	a.mem:fill "random"
	t:expect(send(a, 1, 64)):equals "OK"
	t:expect(send(a, 2, 64, "wr_rdma_write", { rkey = b.mem.rkey, remote_addr = b.mem.addr })):equals "OK"
	t:expect(a.cq:wait()[1].wr_id):equals(2)
	t:expect(b.mem:slice(0, 64)):same_content(a.mem:slice(0, 64))
	t:expect(b.qp:post_recv { sg_list = b.mem:slice(64, 64) }):equals "OK"
	t:expect(a.cq:wait()[1].wr_id):equals(1)
end)

srd.scenario("a receive without an entry never reaches the device", {
	description = "libefa takes it and writes no descriptor, so that no message can land in it.",
	tags = { "law", "receive", "misuse" }, violates = "completion.empty_receive",
	needs = { "faults" },
}, function(t)
	local a, b = two(t)
	t:expect(b.qp:post_recv { wr_id = 1 }):equals "OK"
	t:expect(send(a, 9, 0)):equals "OK"
	t:run_for "10ms"
	t:expect(b.cq:poll()):equals {}
	t:expect(a.cq:poll()):equals {}
end)

srd.scenario("a receive that is too small fails both ends", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem:slice(0, 63) }):equals "OK"
	t:expect(send(a, 9, 64)):equals "OK"
	local wc = a.cq:wait()[1]
	t:expect(wc.status):equals "IBV_WC_REM_INV_REQ_ERR"
	t:expect(wc.vendor_err):equals(11)
	t:expect(b.cq:wait()[1].status):differs_from "IBV_WC_SUCCESS"
end)

srd.scenario("a write with immediate data says so at its target", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	a.mem:fill "random"
	t:expect(b.qp:post_recv { wr_id = 4, sg_list = b.mem:slice(0, 0) }):equals "OK"
	t:expect(send(a, 9, 4096, "wr_rdma_write_imm", { rkey = b.mem.rkey, remote_addr = b.mem.addr,
		imm_data = 0xdeadbeef })):equals "OK"
	local wc = b.cq:wait()[1]
	t:expect(wc.wr_id):equals(4)
	t:expect(wc.opcode):equals "IBV_WC_RECV_RDMA_WITH_IMM"
	t:expect(wc.imm_data):equals(0xdeadbeef)
	t:expect(wc.byte_len):equals(4096)
	t:expect(b.mem:slice(0, 4096)):same_content(a.mem:slice(0, 4096))
	t:expect(a.cq:wait()[1].opcode):equals "IBV_WC_RDMA_WRITE"
end)

srd.scenario("a send is one packet at most", { tags = { "law", "receive" }, violates = "chunk.limit" }, function(t)
	local a, b = two(t)
	local mtu = a.v:query_port().max_msg_sz
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	t:expect(send(a, 1, mtu)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(b.cq:wait()[1].byte_len):equals(mtu)
	t:expect(send(a, 2, mtu + 1)):equals "OK"
	local wc = a.cq:wait()[1]
	t:expect(wc.status):equals "IBV_WC_LOC_LEN_ERR"
	t:expect(wc.vendor_err):equals(6)
	t:expect(b.cq:poll()):equals {}
end)

srd.scenario("a receive queue is as deep as it was granted", { tags = { "law", "receive" } }, function(t)
	local a, b = two(t)
	local depth = b.qp:query("CAP").cap.max_recv_wr
	for id = 1, depth do
		t:expect(b.qp:post_recv { wr_id = id, sg_list = b.mem:slice(0, 64) }):equals "OK"
	end
	t:expect(b.qp:post_recv { wr_id = 0, sg_list = b.mem:slice(0, 64) }):equals "ENOMEM"
	t:expect(send(a, 1, 64)):equals "OK"
	t:expect(b.cq:wait()[1].wr_id):equals(1)
	t:expect(b.qp:post_recv { wr_id = 0, sg_list = b.mem:slice(0, 64) }):equals "OK"
	t:expect(a.cq:wait()[1].wr_id):equals(1)
end)

srd.scenario("ERR flushes receives too", { tags = { "law", "receive", "state" } }, function(t)
	local _, b = two(t)
	for id = 1, 3 do
		t:expect(b.qp:post_recv { wr_id = id, sg_list = b.mem:slice(0, 64) }):equals "OK"
	end
	t:expect(b.qp:modify { state = "ERR" }):equals "OK"
	local ids = {}
	for i, wc in ipairs(b.cq:wait(3)) do
		t:expect(wc.status):equals "IBV_WC_WR_FLUSH_ERR"
		ids[i] = wc.wr_id
	end
	table.sort(ids)
	t:expect(ids):equals { 1, 2, 3 }
end)

srd.scenario("two hundred sends meet two hundred receives, in whatever order", {
	tags = { "law", "receive", "ordering" },
	seeds = true,
}, function(t)
	local a, b = two(t)
	local seen, sent, got = {}, 0, 0
	while got < 200 do
		while sent < 200 and sent - got < 8 do
			t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 64) }):equals "OK"
			t:expect(send(a, sent, 8, "wr_send_imm", { imm_data = sent })):equals "OK"
			sent = sent + 1
		end
		local imm = b.cq:wait()[1].imm_data
		t:expect(seen[imm]):equals(nil)
		seen[imm] = true
		got = got + 1
		t:expect(#a.cq:wait()):equals(1)
	end
	t:expect(#seen):equals(199)
end)

srd.scenario("a receive that fails where it lands is used up, and says why", {
	tags = { "law", "receive" }, needs = { "faults" },
}, function(t)
	local a, b = two(t)
	for i = 1, 3 do
		t:expect(b.qp:post_recv { wr_id = i, sg_list = b.mem:slice(0, 100) }):equals "OK"
	end
	t:fail_receive(b.qp, "LOCAL_ERROR_INVALID_LKEY", 1)
	for i = 1, 3 do
		a.mem:fill "random"
		t:expect(send(a, i, 64)):equals "OK"
		local wc = b.cq:wait()[1]
		t:expect(wc.wr_id):equals(i)
		t:expect(wc.status):equals(i == 2 and "IBV_WC_LOC_PROT_ERR" or "IBV_WC_SUCCESS")
		t:expect(a.cq:wait()[1].vendor_err):equals(i == 2 and 12 or 0)
		if i ~= 2 then
			t:expect(b.mem:slice(0, 64)):same_content(a.mem:slice(0, 64))
		end
	end
end)
