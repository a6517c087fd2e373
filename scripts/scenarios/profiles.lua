-- Device generations and instance types: what differs between them shows at the seam.
local srd = require "srdlab"

for _, generation in ipairs { "efa1", "efa2", "efa3", "efa4" } do
	srd.scenario(generation .. " writes and reads", { profile = generation, tags = { "profile" } }, function(t)
		local p = t:pair { memory = "64KiB" }
		p.a.mem:fill "random"
		t:wait { p.a.qp:put { from = p.a.mem, to = p.b.mem } }
		t:expect(p.b.mem):same_content(p.a.mem)
		p.b.mem:fill "random"
		t:wait { p.a.qp:get { from = p.b.mem, to = p.a.mem } }
		t:expect(p.a.mem):same_content(p.b.mem)
		local id = p.a.host.verbs:query_device().vendor_part_id
		t:expect(("efa%x"):format(id & 0xf)):equals(generation)
	end)
end

srd.scenario("efa0 sends, and refuses every other operation", { profile = "efa0", tags = { "profile" } }, function(t)
	local v = t:host("a").verbs
	local cq = v:create_cq(16)
	for _, op in ipairs { "RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "RDMA_READ" } do
		local qp, errno = v:create_qp_ex { send_cq = cq, recv_cq = cq, send_ops_flags = op }
		t:expect(qp):equals(nil)
		t:expect(errno):equals "EOPNOTSUPP"
	end
	local a, b = t:verbs_pair { send_ops_flags = "SEND|SEND_WITH_IMM" }
	a.mem = a.host:memory(4096, { access = "LOCAL_WRITE" })
	b.mem = b.host:memory(4096, { access = "LOCAL_WRITE" })
	a.mem:fill "random"
	-- the receives and the sends of a queue pair have a ring each of the one completion queue
	for i = 1, 4 do
		t:expect(b.qp:post_recv { wr_id = i, sg_list = b.mem:slice((i - 1) * 1024, 1024) }):equals "OK"
	end
	local sends = {}
	for i = 1, 4 do
		sends[i] = { "send", wr_id = i, from = a.mem:slice(0, 1024) }
	end
	t:expect(a.qp:post(sends, a.peer)):equals "OK"
	t:expect(#a.cq:wait(4)):equals(4)
	t:expect(#b.cq:wait(4)):equals(4)
	t:expect(b.mem:slice(3072, 1024)):same_content(a.mem:slice(0, 1024))
end)

srd.scenario("a wide entry holds 80 bytes and halves the queue", {
	profile = "wide_wqe", needs = { "rdma_core_65" }, tags = { "profile" },
}, function(t)
	local v = t:host("a").verbs
	local cq = v:create_cq(16)
	local function create(depth, inline, flags)
		return v:create_qp_ex { send_cq = cq, recv_cq = cq, efa = { flags = flags }, send_ops_flags = "SEND|RDMA_WRITE",
			cap = { max_send_wr = depth, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1, max_inline_data = inline } }
	end
	for _, case in ipairs {
		{ 4096, 32 }, { 4096, 33, errno = "EINVAL" }, { 2048, 33 }, { 2048, 80 }, { 16, 81, errno = "EINVAL" },
		{ 2048, 0, "INLINE_WRITE" }, { 2049, 0, "INLINE_WRITE", errno = "EINVAL" },
	} do
		local _, errno = create(case[1], case[2], case[3])
		t:expect(errno):equals(case.errno)
	end
	local cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 1, max_recv_sge = 1, max_inline_data = 80 }
	local a, b = t:verbs_pair { memory = 256, cap = cap, efa = { flags = "INLINE_WRITE" } }
	a.mem:fill "random"
	t:expect(b.qp:post_recv { wr_id = 1, sg_list = b.mem:slice(0, 80) }):equals "OK"
	t:expect(a.qp:post({
		{ "send", wr_id = 1, inline = a.mem:slice(0, 80) },
		{ "write", wr_id = 2, inline = a.mem:slice(0, 80), to = b.mem:slice(128, 80) },
	}, a.peer)):equals "OK"
	a.cq:wait(2)
	t:expect(b.cq:wait()[1].byte_len):equals(80)
	t:expect(b.mem:slice(0, 80)):same_content(a.mem:slice(0, 80))
	t:expect(b.mem:slice(128, 80)):same_content(a.mem:slice(0, 80))
	t:expect(a.qp:post({ { "send", wr_id = 3, inline = a.mem:slice(0, 81) } }, a.peer)):equals "EINVAL"
end)

srd.scenario("ids of 64 bits come back whole", { profile = "id64", tags = { "profile" } }, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	local ids = { 1, 0x123456789abcdef0, -1 }
	for _, id in ipairs(ids) do
		t:expect(a.qp:post({ { "write", wr_id = id, from = a.mem, to = b.mem } }, a.peer)):equals "OK"
		t:expect(a.cq:wait()[1].wr_id):equals(id)
	end
end)

-- A queue pair on one of a host's devices, and memory that it reaches.
local function on_device(t, name, device)
	local host = t:host(name)
	local v = host.verbs:open_device(device)
	local pd, mem = v:alloc_pd(), host:memory(4096)
	local cq = v:create_cq(16)
	local qp = v:create_qp_ex { pd = pd, send_cq = cq, recv_cq = cq }
	t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(qp:modify { state = "RTR" }):equals "OK"
	t:expect(qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
	return { verbs = v, pd = pd, cq = cq, qp = qp, mem = mem,
		mr = pd:reg_mr(mem, "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ") }
end

local function write(from, to)
	from.qp:wr_start()
	from.qp:wr_rdma_write { wr_id = 7, rkey = to.mr.rkey, remote_addr = to.mr.addr }
	from.qp:wr_set_sge { addr = from.mr.addr, length = 4096, lkey = from.mr.lkey }
	from.qp:wr_set_ud_addr { ah = from.ah, remote_qpn = to.qp.qp_num }
	return from.qp:wr_complete()
end

srd.scenario("each device of an instance has an address of its own", { profile = "p4d.24xlarge",
	tags = { "profile" } }, function(t)
	local seen, host = {}, t:host "a"
	for i = 0, 3 do
		local gid = host.verbs:open_device("mock" .. i):query_gid()
		t:expect(seen[gid]):equals(nil)
		seen[gid] = true
	end
	local none, errno = host.verbs:open_device "mock4"
	t:expect(none):equals(nil)
	t:expect(errno):equals "ENODEV"

	local a, b = on_device(t, "a", "mock2"), on_device(t, "b", "mock1")
	a.ah = a.pd:create_ah { dgid = b.verbs:query_gid() }
	b.pd:create_ah { dgid = a.verbs:query_gid() }
	a.mem:fill "random"
	t:expect(write(a, b)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(b.mem):same_content(a.mem)
	-- what one device was told of, no other knows
	local none_made, why = a.verbs:create_qp_ex { pd = host.verbs.pd, send_cq = a.cq, recv_cq = a.cq }
	t:expect(none_made):equals(nil)
	t:expect(why):equals "EINVAL"
end)

srd.scenario("a host that dies takes all its devices along", { profile = "p4d.24xlarge", needs = { "faults", "hosts" },
	tags = { "profile" } }, function(t)
	local a, b = on_device(t, "a", "mock0"), on_device(t, "b", "mock3")
	a.ah = a.pd:create_ah { dgid = b.verbs:query_gid() }
	b.pd:create_ah { dgid = a.verbs:query_gid() }
	t:host("b"):kill()
	t:expect(write(a, b)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(15)
end)
