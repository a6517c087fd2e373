local srd = require "srdlab"

srd.scenario("what a device says of itself", {}, function(t)
	local v = t:host("a").verbs
	t:expect(v:efa_query_device().max_rdma_size):at_least(1)
	t:expect(v:efa_query_device().device_caps):contains "EFADV_DEVICE_ATTR_CAPS_RDMA_READ"
	t:expect(v:query_port().state):equals "IBV_PORT_ACTIVE"
	t:expect(v:query_gid()):matches "^fe80:"
	t:expect(select(2, v:query_port(2))):equals "EINVAL"
	t:expect(select(2, v:query_gid(1, 7))):differs_from(nil)
	t:expect(v.name):matches "%w"
end)

srd.scenario("objects are made, refused and destroyed", {}, function(t)
	local v = t:host("a").verbs
	local pd = v:alloc_pd()
	local memory = t:host("a"):memory(4096, { register = false })
	t:expect(memory.lkey):equals(0)
	local mr = pd:reg_mr(memory, { "LOCAL_WRITE", "REMOTE_READ" })
	t:expect(mr.length):equals(4096)
	t:expect(mr.addr):equals(memory.addr)
	t:expect(select(2, pd:reg_mr(memory, "REMOTE_WRITE"))):equals "EINVAL"
	t:expect(pd:dealloc_pd()):equals "EBUSY"
	t:expect(mr:dereg_mr()):equals "OK"
	t:expect(function()
		return mr.lkey
	end):raises "this memory region is released"
	local ah = pd:create_ah { dgid = v:query_gid() }
	t:expect(ah:destroy_ah()):equals "OK"
	local cq = v:create_cq(5)
	t:expect(cq.cqe):equals(8)
	t:expect(cq:poll(4)):equals {}
	t:expect(select(2, v:create_cq(0))):equals "EINVAL"
	local qp = v:create_qp_ex { pd = pd, send_cq = cq, recv_cq = cq }
	t:expect(qp.state):equals "RESET"
	t:expect(cq:destroy_cq()):equals "EBUSY"
	t:expect(qp:destroy_qp()):equals "OK"
	t:expect(cq:destroy_cq()):equals "OK"
	t:expect(pd:dealloc_pd()):equals "OK"
	t:expect(select(2, v:create_qp_ex { qp_type = "RC" })):equals "EOPNOTSUPP"
	t:expect(function()
		v.pd:dealloc_pd()
	end):raises "belongs to the host"
	local other = v:open_device()
	t:expect(other:close_device()):equals "OK"
end)

srd.scenario("a send meets a receive, by verbs alone", {}, function(t)
	local a, b = t:host "a", t:host "b"
	local function side(h)
		local cq = h.verbs:create_cq(16)
		local qp = h.verbs:create_qp_ex { send_cq = cq, recv_cq = cq, send_ops_flags = "SEND|SEND_WITH_IMM" }
		t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
		t:expect(qp:modify { state = "RTR" }):equals "OK"
		t:expect(qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
		return qp, cq, h:memory(256)
	end
	local qa, cqa, ma = side(a)
	local qb, cqb, mb = side(b)
	local to_b = a.verbs.pd:create_ah { dgid = b.verbs:query_gid() }
	t:expect(b.verbs.pd:create_ah { dgid = a.verbs:query_gid() }):differs_from(nil)
	t:expect(qb:post_recv { wr_id = 7, sg_list = mb }):equals "OK"
	ma:write(0, "hello")
	qa:wr_start()
	qa:wr_send_imm { wr_id = 3, imm_data = 0x01020304 }
	qa:wr_set_sge(ma:slice(0, 5))
	qa:wr_set_ud_addr { ah = to_b, remote_qpn = qb.qp_num }
	t:expect(qa:wr_complete()):equals "OK"
	local received = cqb:wait(1)[1]
	t:expect(received.wr_id):equals(7)
	t:expect(received.status):equals "IBV_WC_SUCCESS"
	t:expect(received.byte_len):equals(5)
	t:expect(received.imm_data):equals(0x01020304)
	t:expect(received.wc_flags):contains "IBV_WC_WITH_IMM"
	t:expect(mb:bytes(0, 5)):equals "hello"
	t:expect(cqa:wait()[1].wr_id):equals(3)
	qa:wr_start()
	qa:wr_send { wr_id = 4 }
	qa:wr_set_sge(ma)
	qa:wr_abort()
	t:expect(cqa:poll()):equals {}
end)

srd.scenario("an attribute mask of one's own", {}, function(t)
	local q = t:host("a"):queue_pair {}
	t:expect(q.verbs:modify { state = "INIT", port_num = 1, pkey_index = 0, qkey = 1, mask = "STATE|PORT" }):equals "EINVAL"
	t:expect(q.verbs:modify { state = "INIT", path_mtu = 5 }):equals "EOPNOTSUPP"
	t:expect(q.verbs:modify { mask = 0x71, state = "INIT", port_num = 1 }):equals "OK"
	t:expect(q.verbs.state):equals "INIT"
	t:expect(function()
		q.verbs:destroy_qp()
	end):raises "belongs to the queue pair"
end)

srd.scenario("the queue pair's own operations", {}, function(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	local q = p.a.qp
	t:expect(q:max_msg_size()):equals(q.host.verbs:efa_query_device().max_rdma_size)
	t:expect(q:endpoint().qp_num):equals(q.verbs.qp_num)
	t:expect(q:endpoint().has_gid):equals(true)
	t:expect(q:poll "send"):equals(nil)
	t:expect(q:progress()):equals(0)
	local op = q:get { from = p.b.mem:fill(7), to = p.a.mem }
	t:wait(op)
	t:expect(op.kind):equals "get"
	t:expect(op.queue_pair == q):equals(true)
	t:expect(p.a.mem):same_content(p.b.mem)
	t:expect(q:progress()):equals(0)
	q:destroy()
	t:expect(function()
		q:state()
	end):raises "this queue pair is released"
	t:expect(function()
		return q.verbs
	end):raises "this queue pair is released"
end)

srd.scenario("completion queues of one's own", {}, function(t)
	local a, b = t:host "a", t:host "b"
	local cq = a.verbs:create_cq(64)
	local qa, qb = a:queue_pair { send_cq = cq, recv_cq = cq }, b:queue_pair {}
	t:connect(qa, qb)
	local from, to = a:memory(64), b:memory(64)
	t:wait(qa:put { from = from, to = to })
	t:expect(cq:destroy_cq()):equals "EBUSY"
	qa:destroy()
	t:expect(cq:destroy_cq()):equals "OK"
end)

srd.scenario("handles outlive what they stood for", { needs = { "faults" } }, function(t)
	local p = t:pair { memory = 64 }
	local held = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	local request = held:request(1)
	t:hold(request)
	p.a.qp:destroy()
	for i = 1, 1000 do -- so that what is not kept would be gone
		p.a[i] = { i }
	end
	t:expect(t:result(held).status):equals "IBV_WC_WR_FLUSH_ERR"
	t:expect(held.queue_pair == p.a.qp):equals(true)
	t:expect(held:wr_ids()):equals { 0 }
	t:expect(function()
		t:release(request)
	end):raises "the queue pair of this request is released"
end)

srd.scenario("two bare ends, and a session in one call", {}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	a.mem:fill "random"
	t:expect(b.qp:post_recv { wr_id = 5, sg_list = b.mem:slice(32, 32) }):equals "OK"
	t:expect(a.qp:post({
		{ "write", wr_id = 1, from = a.mem:slice(0, 32), to = b.mem:slice(0, 32) },
		{ "send_imm", wr_id = 2, from = a.mem:slice(32, 32), imm_data = 9 },
	}, a.peer)):equals "OK"
	t:expect(b.cq:wait(1)[1].imm_data):equals(9)
	a.cq:wait(2)
	t:expect(b.mem):same_content(a.mem)
	t:expect(b.qp:post { { "read", wr_id = 3, from = a.mem, to = b.mem, peer = b.peer } }):equals "OK"
	t:expect(b.cq:wait(1)[1].wr_id):equals(3)
	t:expect(function()
		a.qp:post({ { "put" } }, a.peer)
	end):raises 'qp:post: "put" is no operation'
	t:expect(a.qp:post({ { "send", wr_id = 4, from = a.mem:slice(0, 0) } }, a.peer)):equals "OK"
end)

srd.scenario("a bare end that cannot be made", { limits = { max_cqe = 16 } }, function(t)
	t:expect(function()
		t:verbs_end("a", { cqe = 17 })
	end):raises "create_cq: EINVAL"
	t:expect(function()
		t:verbs_end("a", { cqe = 16, cap = { max_send_wr = 1 << 20 } })
	end):raises "create_qp_ex: EINVAL"
end)

-- A connected pair of bare verbs that may send as well.
local function bare(t, flags)
	local sides = {}
	for i, name in ipairs { "a", "b" } do
		local h = t:host(name)
		local cq = h.verbs:create_cq(16)
		local qp = h.verbs:create_qp_ex {
			send_cq = cq, recv_cq = cq, send_ops_flags = flags or "SEND|RDMA_WRITE|RDMA_READ", sq_sig_all = 0, comp_mask = 0x41,
			cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 2, max_recv_sge = 2, max_inline_data = 32 },
			efa = { driver_qp_type = 0, flags = 0 },
		}
		t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
		t:expect(qp:modify { state = "RTR" }):equals "OK"
		t:expect(qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
		sides[i] = { host = h, cq = cq, qp = qp, mem = h:memory(4096) }
	end
	sides[1].ah = sides[1].host.verbs.pd:create_ah { dgid = sides[2].host.verbs:query_gid() }
	sides[2].ah = sides[2].host.verbs.pd:create_ah { dgid = sides[1].host.verbs:query_gid() }
	return sides[1], sides[2]
end

srd.scenario("scatter, gather and inline", { violates = "completion.empty_receive" }, function(t)
	local a, b = bare(t)
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = { b.mem:slice(0, 3), b.mem:slice(10, 100) } }):equals "OK"
	t:expect(b.qp:post_recv { wr_id = 2, sg_list = { addr = b.mem.addr + 200, length = 100, lkey = b.mem.lkey } }):equals "OK"
	a.mem:write(0, "onetwo")
	a.qp:wr_start()
	a.qp:wr_send { wr_id = 5 }
	a.qp:wr_set_sge_list { a.mem:slice(0, 3), { addr = a.mem.addr + 3, length = 3, lkey = a.mem.lkey } }
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	a.qp:wr_send { wr_id = 6, flags = { "SIGNALED", "INLINE" } }
	a.qp:wr_set_inline_data(a.mem:slice(3, 3))
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "OK"
	t:spawn(function()
		t:expect(#a.cq:wait(2)):equals(2)
	end)
	t:expect(#b.cq:wait(2)):equals(2)
	t:expect(b.qp:post_recv { wr_id = 3 }):equals "OK"
end)

srd.scenario("reads and writes by verbs", {}, function(t)
	local a, b = bare(t)
	b.mem:fill "random"
	a.qp:wr_start()
	a.qp:wr_rdma_read { wr_id = 1, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_sge(a.mem)
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num, remote_qkey = 0x4242 }
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(a.cq:wait()[1].opcode):equals "IBV_WC_SEND"
	t:expect(a.mem):same_content(b.mem)
	a.mem:fill(3)
	a.qp:wr_start()
	a.qp:wr_rdma_write { wr_id = 2, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_sge(a.mem)
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(a.cq:wait()[1].opcode):equals "IBV_WC_RDMA_WRITE"
	t:expect(a.mem):same_content(b.mem)
end)

srd.scenario("a write with immediate data", {}, function(t)
	local a, b = bare(t, "RDMA_WRITE_WITH_IMM")
	t:expect(b.qp:post_recv { wr_id = 9, sg_list = b.mem:slice(0, 8) }):equals "OK"
	a.qp:wr_start()
	a.qp:wr_rdma_write_imm { wr_id = 1, rkey = b.mem.rkey, remote_addr = b.mem.addr, imm_data = 77 }
	a.qp:wr_set_sge(a.mem:slice(0, 8))
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "OK"
	local wc = b.cq:wait()[1]
	t:expect(wc.opcode):equals "IBV_WC_RECV_RDMA_WITH_IMM"
	t:expect(wc.imm_data):equals(77)
end)

srd.scenario("a completion as the queue pair hands it on", {}, function(t)
	local a = t:host "a"
	local q = a:queue_pair { max_recv_wr = 4 }
	local _, b = bare(t)
	t:expect(t:backend()):equals "mock"
	q:connect { qp_num = b.qp.qp_num, gid = b.host.verbs:query_gid() }
	t:expect(q.verbs:post_recv { wr_id = 5, sg_list = a:memory(64) }):equals "OK"
	b.qp:wr_start()
	b.qp:wr_send {}
	b.qp:wr_set_sge(b.mem:slice(0, 64))
	b.qp:wr_set_ud_addr { ah = b.ah, remote_qpn = q.verbs.qp_num }
	t:expect(b.qp:wr_complete()):equals "OK"
	t:expect(b.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	local completion = q:poll "recv"
	t:expect(completion.wr_id):equals(5)
	t:expect(completion.opcode):equals "IBV_WC_RECV"
end)

srd.scenario("connecting by an endpoint that is written by hand", {}, function(t)
	local a, b = t:host("a"):queue_pair(), t:host("b"):queue_pair()
	b:connect { qp_num = a.verbs.qp_num, gid = t:host("a").verbs:query_gid() }
	a:connect { qp_num = b.verbs.qp_num, gid = t:host("b").verbs:query_gid(), psn = 5 }
	t:expect(a):is "RTS"
	t:connect(t:host("a"):queue_pair(), t:host("a"):queue_pair())
	local own = t:host("a"):queue_pair()
	t:connect(own, own)
end)

-- A write with immediate between ends of which only B needs no receive for it.
local function disagree(t)
	local a, b = t:verbs_pair { a = { memory = 64 }, b = { memory = 64, efa = { flags = "UNSOLICITED_WRITE_RECV" } } }
	t:expect(a.qp:post({ { "write_imm", from = a.mem, to = b.mem, imm_data = 7 } }, a.peer)):equals "OK"
	return a.cq:wait()[1].vendor_err, b.cq:poll()
end

srd.scenario("one side lacks a feature", { profile = { cap_unsolicited_write_recv = true } }, function(t)
	local vendor_err, arrivals = disagree(t)
	t:expect(vendor_err):equals(18)
	t:expect(arrivals):equals {}
end)

srd.scenario("one side lacks a feature, and the target's word counts", {
	profile = { cap_unsolicited_write_recv = true, unsolicited_mismatch = "ignored" },
}, function(t)
	local vendor_err, arrivals = disagree(t)
	t:expect(vendor_err):equals(0)
	t:expect(arrivals[1].imm_data):equals(7)
end)

srd.scenario("requests of one id are told apart by nobody, and no rule takes one for another", {}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	for _ = 1, 4 do
		t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
		t:expect(a.qp:post({ { "send", from = a.mem }, { "write", from = a.mem, to = b.mem } }, a.peer)):equals "OK"
		a.cq:wait()
	end
	a.cq:wait(4)
end)
