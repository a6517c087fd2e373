-- The posting session by verbs: all of its requests are posted or none, the first error is
-- the one that counts, and the depth is exact.
local srd = require "srdlab"

-- Two bare queue pairs in RTS towards each other, each with a completion queue and memory.
-- FIELDS are of the one that posts.
local function two(t, fields)
	local sides = {}
	for i, name in ipairs { "a", "b" } do
		local host = t:host(name)
		local s = { v = host.verbs, cq = host.verbs:create_cq(64), mem = host:memory(4096) }
		local attr = i == 1 and fields or {}
		attr.send_cq, attr.recv_cq = s.cq, s.cq
		s.qp = s.v:create_qp_ex(attr)
		t:expect(s.qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
		t:expect(s.qp:modify { state = "RTR" }):equals "OK"
		t:expect(s.qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
		sides[i] = s
	end
	local a, b = sides[1], sides[2]
	a.ah = a.v.pd:create_ah { dgid = b.v:query_gid() }
	b.ah = b.v.pd:create_ah { dgid = a.v:query_gid() }
	a.peer, b.peer = b, a
	return a, b
end

-- One more write in the open session of S; CHANGED replaces fields of its builder.
local function add(s, id, changed)
	local wr = { wr_id = id, rkey = s.peer.mem.rkey, remote_addr = s.peer.mem.addr }
	for k, v in pairs(changed or {}) do
		wr[k] = v
	end
	s.qp:wr_rdma_write(wr)
	s.qp:wr_set_sge(s.mem:slice(0, 64))
	s.qp:wr_set_ud_addr { ah = s.ah, remote_qpn = s.peer.qp.qp_num }
end

-- A whole session of N writes, with the ids FROM, FROM + 1, ...
local function post(s, n, from)
	s.qp:wr_start()
	for i = 0, n - 1 do
		add(s, from + i)
	end
	return s.qp:wr_complete()
end

-- The ids of N completions, in order of size: SRD promises no order.
local function reaped(s, n)
	local ids = {}
	for i, wc in ipairs(s.cq:wait(n)) do
		ids[i] = wc.wr_id
	end
	table.sort(ids)
	return ids
end

srd.scenario("a session posts all of its requests", { tags = { "law", "session" } }, function(t)
	local a = two(t)
	t:expect(post(a, 3, 10)):equals "OK"
	t:expect(reaped(a, 3)):equals { 10, 11, 12 }
end)

srd.scenario("an aborted session posts none", { tags = { "law", "session" } }, function(t)
	local a = two(t)
	a.qp:wr_start()
	add(a, 1)
	add(a, 2)
	a.qp:wr_abort()
	t:expect(post(a, 1, 3)):equals "OK"
	t:expect(reaped(a, 1)):equals { 3 }
	t:expect(a.cq:poll()):equals {}
end)

srd.scenario("an empty session is no error", { tags = { "law", "session" } }, function(t)
	local a = two(t)
	a.qp:wr_start()
	t:expect(a.qp:wr_complete()):equals "OK"
	a.qp:wr_start()
	a.qp:wr_abort()
	t:expect(post(a, 1, 1)):equals "OK"
	t:expect(reaped(a, 1)):equals { 1 }
end)

-- Flags that EFA does not know, and the lack of the one that it insists on.
for name, flags in pairs { unsignaled = 0, fenced = "SIGNALED|FENCE", solicited = "SIGNALED|SOLICITED" } do
	srd.scenario(("one request that is %s refuses its whole session"):format(name), {
		tags = { "law", "session" },
	}, function(t)
		local a = two(t)
		a.qp:wr_start()
		add(a, 1)
		add(a, 2, { flags = flags })
		add(a, 3)
		t:expect(a.qp:wr_complete()):equals "EINVAL"
		t:expect(post(a, 1, 4)):equals "OK"
		t:expect(reaped(a, 1)):equals { 4 }
		t:expect(a.cq:poll()):equals {}
	end)
end

srd.scenario("all requests signaled by the queue pair itself", { tags = { "law", "session" } }, function(t)
	local a = two(t, { sq_sig_all = 1 })
	a.qp:wr_start()
	add(a, 1, { flags = 0 })
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(reaped(a, 1)):equals { 1 }
end)

srd.scenario("the first error of a session is the one reported", { tags = { "law", "session" } }, function(t)
	local a = two(t, { cap = { max_send_wr = 2, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1 } })
	a.qp:wr_start()
	add(a, 1)
	add(a, 2)
	add(a, 3) -- ENOMEM: two are all that fit
	add(a, 4, { flags = 0 }) -- would be EINVAL
	t:expect(a.qp:wr_complete()):equals "ENOMEM"
	a.qp:wr_start()
	add(a, 5, { flags = 0 })
	add(a, 6)
	t:expect(a.qp:wr_complete()):equals "EINVAL"
end)

srd.scenario("an error does not outlive its session", { tags = { "law", "session" } }, function(t)
	local a = two(t)
	for i = 1, 20 do -- more often than the queue is deep: nothing may leak
		a.qp:wr_start()
		add(a, i)
		add(a, i, { flags = 0 })
		t:expect(a.qp:wr_complete()):equals "EINVAL"
	end
	t:expect(post(a, 16, 100)):equals "OK"
	t:expect(#reaped(a, 16)):equals(16)
end)

srd.scenario("a send queue is as deep as it was granted, to the request", {
	tags = { "law", "session", "credit" },
}, function(t)
	local a = two(t)
	local depth = a.qp:query("CAP").cap.max_send_wr
	t:expect(post(a, depth + 1, 0)):equals "ENOMEM"
	t:expect(post(a, depth, 0)):equals "OK"
	t:expect(post(a, 1, depth)):equals "ENOMEM"
	t:expect(#reaped(a, depth)):equals(depth)
	t:expect(post(a, depth, depth)):equals "OK"
	t:expect(#reaped(a, depth)):equals(depth)
end)

srd.scenario("a slot is free when its completion is polled, and only that one", {
	tags = { "law", "session", "credit" },
}, function(t)
	local a = two(t)
	t:expect(post(a, 16, 0)):equals "OK"
	t:run_for "1ms" -- all are completed, none is polled
	t:expect(post(a, 1, 16)):equals "ENOMEM"
	reaped(a, 1)
	t:expect(post(a, 2, 16)):equals "ENOMEM"
	t:expect(post(a, 1, 16)):equals "OK"
	t:expect(post(a, 1, 17)):equals "ENOMEM"
	t:expect(#reaped(a, 16)):equals(16)
end)

srd.scenario("a depth that is no power of two is rounded up, and usable", {
	tags = { "law", "session", "credit" },
}, function(t)
	local a = two(t, { cap = { max_send_wr = 5, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1 } })
	t:expect(a.qp:query("CAP").cap.max_send_wr):equals(8)
	t:expect(post(a, 8, 0)):equals "OK"
	t:expect(post(a, 1, 8)):equals "ENOMEM"
	t:expect(#reaped(a, 8)):equals(8)
end)

srd.scenario("an id is the program's own: all 64 bits, and any twice", { tags = { "law", "session" } }, function(t)
	local a = two(t)
	for _, id in ipairs { 0, -1, math.mininteger, 0x10000, 7, 7 } do
		t:expect(post(a, 1, id)):equals "OK"
		t:expect(reaped(a, 1)):equals { id }
	end
end)

srd.scenario("nothing is posted before RTS", { tags = { "law", "session", "state" } }, function(t)
	local a, b = two(t)
	local cq = a.v:create_cq(16)
	local early = { qp = a.v:create_qp_ex { send_cq = cq, recv_cq = cq }, mem = a.mem, ah = a.ah, peer = b }
	t:expect(post(early, 1, 0)):equals "EINVAL"
	t:expect(early.qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 1 }):equals "OK"
	t:expect(post(early, 1, 0)):equals "EINVAL"
	t:expect(early.qp:modify { state = "RTR" }):equals "OK"
	t:expect(post(early, 1, 0)):equals "EINVAL"
	t:expect(early.qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
	t:expect(post(early, 1, 0)):equals "OK"
	t:expect(cq:wait()[1].status):equals "IBV_WC_SUCCESS"
end)

srd.scenario("SQD takes requests, ERR refuses them", { tags = { "law", "session", "state" } }, function(t)
	local a = two(t)
	t:expect(a.qp:modify { state = "SQD" }):equals "OK"
	t:expect(post(a, 1, 1)):equals "OK"
	t:expect(a.qp:modify { state = "RTS" }):equals "OK"
	t:expect(reaped(a, 1)):equals { 1 }
	t:expect(a.qp:modify { state = "ERR" }):equals "OK"
	t:expect(post(a, 1, 2)):equals "EINVAL"
	t:expect(a.qp:post_recv { sg_list = a.mem }):equals "EINVAL"
	t:expect(a.cq:poll()):equals {}
end)

srd.scenario("a session that is open when the queue pair is reset is refused", {
	tags = { "law", "session", "state" },
}, function(t)
	local a = two(t)
	a.qp:wr_start()
	add(a, 1)
	t:expect(a.qp:modify { state = "RESET" }):equals "OK"
	t:expect(a.qp:wr_complete()):equals "EINVAL"
end)

srd.scenario("RDMA takes one scatter entry", { tags = { "law", "session" } }, function(t)
	local a, b = two(t, { cap = { max_send_wr = 4, max_recv_wr = 1, max_send_sge = 2, max_recv_sge = 1 } })
	local halves = { a.mem:slice(0, 32), a.mem:slice(32, 32) }
	a.qp:wr_start()
	a.qp:wr_rdma_write { wr_id = 1, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_sge_list(halves)
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "EINVAL"
	a.qp:wr_start()
	a.qp:wr_rdma_write { wr_id = 2, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_sge_list { halves[1] }
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(reaped(a, 1)):equals { 2 }
end)

srd.scenario("RDMA has no room for inline data unless asked for", { tags = { "law", "session" } }, function(t)
	local a, b = two(t)
	a.qp:wr_start()
	a.qp:wr_rdma_write { wr_id = 1, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_inline_data(a.mem:slice(0, 8))
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "EINVAL"
	t:expect(post(a, 1, 2)):equals "OK"
	t:expect(reaped(a, 1)):equals { 2 }
end)

srd.scenario("two queue pairs have sessions open at once", { tags = { "law", "session" } }, function(t)
	local a, b = two(t)
	a.qp:wr_start()
	b.qp:wr_start()
	add(a, 1)
	add(b, 2)
	add(a, 3)
	t:expect(b.qp:wr_complete()):equals "OK"
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(reaped(a, 2)):equals { 1, 3 }
	t:expect(reaped(b, 1)):equals { 2 }
end)

-- Misuse: each is undefined with rdma-core, and a rule names it.

srd.scenario("a setter before any builder is found", {
	tags = { "law", "session", "misuse" },
	violates = "session.builder_first",
}, function(t)
	local a = two(t)
	a.qp:wr_start()
	a.qp:wr_set_sge(a.mem)
	t:expect(a.qp:wr_complete()):equals "EINVAL"
end)

srd.scenario("a session that is completed twice is found", {
	tags = { "law", "session", "misuse" },
	violates = "session.pair",
}, function(t)
	local a = two(t)
	t:expect(post(a, 1, 1)):equals "OK"
	t:expect(a.qp:wr_complete()):equals "EINVAL"
	t:expect(reaped(a, 1)):equals { 1 }
end)

srd.scenario("a session in a session is found", {
	tags = { "law", "session", "misuse" },
	violates = "session.pair",
}, function(t)
	local a = two(t)
	a.qp:wr_start()
	add(a, 1)
	a.qp:wr_start()
	add(a, 2)
	t:expect(a.qp:wr_complete()):equals "EINVAL"
end)

srd.scenario("a poll inside a session is found", {
	tags = { "law", "session", "misuse" },
	violates = "session.poll",
}, function(t)
	local a = two(t)
	a.qp:wr_start()
	add(a, 1)
	t:expect(select(2, a.cq:poll())):equals "EDEADLK"
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(reaped(a, 1)):equals { 1 }
end)

srd.scenario("a queue pair destroyed inside a session is found", {
	tags = { "law", "session", "misuse" },
	violates = "session.destroy",
}, function(t)
	local a = two(t)
	a.qp:wr_start()
	add(a, 1)
	t:expect(a.qp:destroy_qp()):equals "OK"
end)

srd.scenario("a request without a destination is found", {
	tags = { "law", "session", "misuse" },
	needs = { "faults" }, -- nobody knows where a device would send it
	violates = "session.destination",
}, function(t)
	local a, b = two(t)
	a.qp:wr_start()
	a.qp:wr_rdma_write { wr_id = 1, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_sge(a.mem)
	t:expect(a.qp:wr_complete()):equals "OK"
	t:expect(a.cq:wait()[1].status):differs_from "IBV_WC_SUCCESS"
end)

srd.scenario("a builder that was not asked for at creation is found", {
	tags = { "law", "session", "misuse" },
	violates = "session.declared",
}, function(t)
	local a = two(t)
	a.qp:wr_start()
	a.qp:wr_send { wr_id = 1 }
	a.qp:wr_set_sge(a.mem)
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = a.peer.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "EOPNOTSUPP"
end)

srd.scenario("a request longer than the device takes is found", {
	tags = { "law", "session", "misuse" },
	needs = { "fabric" },
	profile = { max_rdma_size = 1000 },
	violates = "chunk.limit",
}, function(t)
	local a, b = two(t)
	a.qp:wr_start()
	a.qp:wr_rdma_write { wr_id = 1, rkey = b.mem.rkey, remote_addr = b.mem.addr }
	a.qp:wr_set_sge(a.mem:slice(0, 1001))
	a.qp:wr_set_ud_addr { ah = a.ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:wr_complete()):equals "OK"
	local wc = a.cq:wait()[1]
	t:expect(wc.status):equals "IBV_WC_LOC_LEN_ERR"
	t:expect(wc.vendor_err):equals(6)
end)
