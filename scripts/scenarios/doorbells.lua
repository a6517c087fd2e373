-- The doorbell of a send queue: how often it is written, and what becomes of requests that
-- it never told the device of.
local srd = require "srdlab"

local function writes(a, b, count, first)
	local list = {}
	for i = 1, count do
		list[i] = { "write", wr_id = (first or 0) + i, from = a.mem, to = b.mem }
	end
	return list
end

local function pair(t, depth, flags)
	return t:verbs_pair { memory = 64, efa = flags and { flags = flags },
		cap = { max_send_wr = depth, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1 } }
end

srd.scenario("one doorbell a session, and none for an empty one",
	{ needs = { "faults", "model" }, tags = { "doorbell" } },
	function(t)
		local a, b = pair(t, 16)
		t:expect(a.qp:post(writes(a, b, 5), a.peer)):equals "OK"
		t:expect(t:doorbells(a.qp)):equals(1)
		t:expect(a.qp:post({}, a.peer)):equals "OK"
		a.qp:wr_start()
		a.qp:wr_abort()
		t:expect(t:doorbells(a.qp)):equals(1)
		a.cq:wait(5)
	end)

srd.scenario("a session over the batch rings after each of them", {
	needs = { "faults", "model" }, tags = { "doorbell" }, profile = { base = "efa1", max_tx_batch = 4 },
}, function(t)
	local a, b = pair(t, 32)
	for _, case in ipairs { { 1, 1 }, { 3, 1 }, { 4, 1 }, { 5, 2 }, { 8, 2 }, { 9, 3 }, { 32, 8 } } do
		local before = t:doorbells(a.qp)
		t:expect(a.qp:post(writes(a, b, case[1]), a.peer)):equals "OK"
		t:expect(t:doorbells(a.qp) - before):equals(case[2])
		t:expect(#a.cq:wait(case[1])):equals(case[1])
	end
end)

srd.scenario("wide entries halve the batch", {
	needs = { "faults", "model" }, tags = { "doorbell" }, profile = { base = "wide_wqe", max_tx_batch = 11 },
}, function(t)
	local a, b = pair(t, 32, "INLINE_WRITE")
	t:expect(a.qp:post(writes(a, b, 11), a.peer)):equals "OK"
	t:expect(t:doorbells(a.qp)):equals(3)
	a.cq:wait(11)
end)

srd.scenario("a device with a least depth takes no doorbell for a full queue", {
	needs = { "faults", "model" }, tags = { "doorbell" }, profile = { base = "efa1", min_sq_wr = 8 },
}, function(t)
	local a, b = pair(t, 1)
	t:expect(a.qp:post(writes(a, b, 8), a.peer)):equals "OK"
	t:expect(t:doorbells(a.qp)):equals(2)
	a.cq:wait(8)
end)

srd.scenario("the next doorbell makes up for a lost one", {
	needs = { "faults", "model" }, tags = { "doorbell" },
}, function(t)
	local a, b = pair(t, 16)
	t:lose_doorbells(a.qp)
	local first = a.qp:next_request()
	t:expect(a.qp:post(writes(a, b, 2), a.peer)):equals "OK"
	t:run_for "1ms"
	t:expect(a.cq:poll(4)):equals {}
	t:expect(t:locate(first)):equals "doorbell"
	t:expect(a.qp:post(writes(a, b, 1, 2), a.peer)):equals "OK"
	local seen = {}
	for _, wc in ipairs(a.cq:wait(3)) do
		seen[wc.wr_id] = wc.status
	end
	t:expect(seen):equals { "IBV_WC_SUCCESS", "IBV_WC_SUCCESS", "IBV_WC_SUCCESS" }
end)

srd.scenario("the doorbell of a session's last batch is lost", {
	needs = { "faults", "model" }, tags = { "doorbell" }, profile = { base = "efa1", max_tx_batch = 4 },
}, function(t)
	local a, b = pair(t, 16)
	t:lose_doorbells(a.qp, 1, 2)
	t:expect(a.qp:post(writes(a, b, 10), a.peer)):equals "OK"
	t:expect(#a.cq:wait(8)):equals(8)
	t:run_for "1ms"
	t:expect(a.cq:poll()):equals {}
	t:ring_doorbell(a.qp)
	t:expect(#a.cq:wait(2)):equals(2)
end)

srd.scenario("a doorbell left unrung is found", {
	needs = { "faults", "model" }, tags = { "doorbell" }, violates = "session.doorbell",
}, function(t)
	local a, b = pair(t, 16)
	t:lose_doorbells(a.qp)
	t:expect(a.qp:post(writes(a, b, 3), a.peer)):equals "OK"
	t:run_for "1ms"
end)

srd.scenario("RESET forgets what no doorbell told of", {
	needs = { "faults", "model" }, tags = { "doorbell" },
}, function(t)
	local a, b = pair(t, 4)
	t:lose_doorbells(a.qp)
	t:expect(a.qp:post(writes(a, b, 4), a.peer)):equals "OK"
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "ENOMEM"
	t:expect(a.qp:modify { state = "RESET" }):equals "OK"
	t:expect(a.qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(a.qp:modify { state = "RTR" }):equals "OK"
	t:expect(a.qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
	t:expect(a.qp:post(writes(a, b, 4, 10), a.peer)):equals "OK"
	local sum = 0
	for _, wc in ipairs(a.cq:wait(4)) do
		sum = sum + wc.wr_id
	end
	t:expect(sum):equals(11 + 12 + 13 + 14)
	t:audit()
end)

srd.scenario("a destroyed queue pair takes along what lies in its ring", {
	needs = { "faults", "model" }, tags = { "doorbell" }, violates = "session.doorbell",
}, function(t)
	local a, b = pair(t, 4)
	t:lose_doorbells(a.qp, 2)
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:expect(a.qp:post(writes(a, b, 2, 1), a.peer)):equals "OK"
	t:expect(a.qp:destroy_qp()):equals "OK"
	t:audit()
end)

-- Where a request is that will not complete as it should.
local function place(t, a, b, peer)
	local request = a.qp:next_request()
	t:expect(a.qp:post(writes(a, b, 1), peer or a.peer)):equals "OK"
	t:run_for "1ms"
	return t:locate(request)
end

srd.scenario("a request whose entry found the queue full is known as such", {
	needs = { "faults", "model" }, tags = { "doorbell" }, violates = "completion.overrun",
}, function(t)
	local a, b = t:verbs_pair { memory = 64, cqe = 1 }
	t:expect(place(t, a, b)):equals "completed"
	t:expect(place(t, a, b)):equals "overrun"
	t:audit()
end)

srd.scenario("a request with a wrong queue key is known as such", {
	needs = { "faults", "model" }, tags = { "doorbell" }, violates = "address.qkey",
}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	local peer = { ah = a.peer.ah, remote_qpn = a.peer.remote_qpn, remote_qkey = 1 }
	t:expect(place(t, a, b, peer)):equals "qkey"
	a.cq:wait()
end)

srd.scenario("a request that nobody answers is known as such", {
	needs = { "faults", "hosts", "model" }, tags = { "doorbell" },
}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	t:host("b"):kill()
	t:expect(place(t, a, b)):equals "nobody"
	t:expect(a.cq:wait()[1].vendor_err):equals(15)
end)
