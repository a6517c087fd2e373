-- Who waits for whom: for each row of the table in src/lua/waits.c a run that does not get on,
-- or ends with something outstanding. What is compared is the whole report.
local srd = require "srdlab"

local function put(p, size)
	return p.a.qp:submit_put { from = p.a.mem:slice(0, size or p.a.mem.size), to = p.b.mem }
end

-- A receive on the end E.
local function receive(e)
	return e.qp:post_recv { wr_id = 7, sg_list = { { addr = e.mem.addr, length = 64, lkey = e.mem.lkey } } }
end

local function send(a)
	return a.qp:post({ { "send", wr_id = 5, from = a.mem } }, a.peer)
end

srd.scenario("a session that was not completed", { violates = "session.destroy" }, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	receive(b)
	a.qp:wr_start()
	a.qp:wr_send { wr_id = 5 }
	a.qp:wr_set_sge(a.mem)
	a.qp:wr_set_ud_addr(a.peer)
	b.cq:wait(1)
end)

srd.scenario("a failure that nobody polls", { violates = "memory.rkey" }, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	a.qp:post({ { "write", wr_id = 5, from = a.mem, to = { addr = b.mem.addr, rkey = 99 } } }, a.peer)
	b.cq:wait(1)
end)

srd.scenario("a completion that nobody polls, and that the other side does not get", {}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	a.qp:post({ { "write", wr_id = 5, from = a.mem, to = b.mem } }, a.peer)
	b.cq:wait(1)
end)

srd.scenario("a queue key that is another, and no word", {
	profile = { qkey_mismatch = "never" },
	violates = "address.qkey",
}, function(t)
	local p = t:pair { memory = 64 }
	p.b.qp.verbs:modify { qkey = 1 }
	t:wait(put(p))
end)

srd.scenario("a queue key that is another, and an end to come", { timeout = "1ms", violates = "address.qkey" }, function(t)
	local p = t:pair { memory = 64 }
	t:wait(put(p))
	p.b.qp.verbs:modify { qkey = 1 }
	t:wait(put(p))
end)

srd.scenario("a request that a fault drops, of three", { limits = { max_rdma_size = 100 } }, function(t)
	local p = t:pair { memory = 300 }
	local op = put(p)
	t:drop(op:request(2))
	t:wait(op)
end)

srd.scenario("a device that does not reach itself", { profile = { loopback = false } }, function(t)
	local a = t:host "a"
	local one, two = a:queue_pair {}, a:queue_pair {}
	t:connect(one, two)
	t:wait(one:submit_put { from = a:memory(64), to = a:memory(64) })
end)

srd.scenario("a host that is dead itself", {}, function(t)
	local p = t:pair { memory = 64 }
	p.a.host:kill()
	t:wait(put(p))
end)

srd.scenario("a peer that is dead", { timeout = "1ms" }, function(t)
	local p = t:pair { memory = 64 }
	t:wait(put(p))
	p.b.host:kill()
	t:wait(put(p))
end)

srd.scenario("a fabric that loses all", { profile = { unresponsive_timeout = "30ms", retransmit = "1ms" } }, function(t)
	local p = t:pair { memory = 64 }
	t:fabric { loss = 1000000 }
	t:wait(put(p), "1ms")
end)

srd.scenario("no receive, and a sender that waits without end", {}, function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 7 }
	send(a)
	b.cq:wait(1)
end)

srd.scenario("no receive, and a sender that tries again", {
	timeout = "100us", profile = { rnr_timer = "60us" },
}, function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 6 }
	send(a)
	b.cq:wait(1)
end)

srd.scenario("completions that are held, and who waits for their credits", { limits = { max_rdma_size = 100 } }, function(t)
	local p = t:pair { memory = 300, max_send_wr = 3 }
	local held = put(p)
	t:hold(held:request(2))
	t:hold(held:request(3))
	local behind = p.a.qp:submit_get { from = p.b.mem, to = p.a.mem }
	put(p, 100)
	t:wait(behind)
end)

srd.scenario("a failure that is held", {}, function(t)
	local p = t:pair { memory = 64 }
	local op = put(p)
	t:hold(op:request(1))
	t:fail(op:request(1), "REMOTE_ERROR_ABORT")
	t:wait(op)
end)

srd.scenario("a transfer that takes longer than it may", { timeout = "1ms", profile = { bandwidth = "1MiB" } }, function(t)
	local p = t:pair { memory = "1MiB" }
	local one = put(p)
	t:wait { one, put(p) }
end)

srd.scenario("a wait that is over before anything is sent", { profile = { bandwidth = "1MiB" } }, function(t)
	local p = t:pair { memory = "1MiB" }
	put(p)
	t:wait(put(p, 64), "1ms")
end)

srd.scenario("tasks in a circle", {}, function(t)
	local first, second
	first = t:spawn(function()
		t:wait(second)
	end)
	second = t:spawn(function()
		t:wait(first)
	end)
	t:wait(first)
end)

srd.scenario("a queue pair in ERR", {}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	receive(b)
	b.qp:modify { state = "ERR" }
	b.cq:wait(2)
	send(a)
end)

srd.scenario("a receive that no message comes for", {}, function(t)
	local _, b = t:verbs_pair { memory = 64 }
	receive(b)
	b.cq:wait(1)
end)

srd.scenario("nothing that could complete", {}, function(t)
	t:host("a").verbs:create_cq(4):wait(2)
end)

srd.scenario("many alike", {}, function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 7 }
	for _ = 1, 10 do
		send(a)
	end
	receive(b)
	b.cq:wait(2)
end)

srd.scenario("more than a report has room for", {}, function(t)
	local a = t:verbs_pair { memory = 64, cap = { max_send_wr = 64 }, rnr_retry = 7 }
	for i = 1, 30 do
		send(a)
		a.qp:post({ { "send", wr_id = i, from = a.mem } }, a.peer)
	end
	t:host("c").verbs:create_cq(4):wait(1)
end)

srd.scenario("an expectation that fails with something outstanding", {}, function(t)
	local p = t:pair { memory = 64 }
	local op = put(p)
	t:hold(op:request(1))
	t:run_for "1ms"
	t:expect(op):is "done"
end)

srd.scenario("a doorbell that was never rung", { violates = "session.doorbell" }, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	receive(b)
	t:lose_doorbells(a.qp)
	send(a)
	b.cq:wait(1)
end)

srd.scenario("a put whose doorbell was lost", { violates = "session.doorbell" }, function(t)
	local p = t:pair { memory = 64 }
	t:lose_doorbells(p.a.qp)
	t:wait(put(p))
end)

srd.scenario("a completion queue that had no room", { violates = "completion.overrun" }, function(t)
	local a, b = t:verbs_pair { memory = 64, cqe = 1 }
	for id = 1, 2 do
		a.qp:post({ { "write", wr_id = id, from = a.mem, to = b.mem } }, a.peer)
	end
	t:run_for "1ms"
	a.cq:wait(2)
end)

srd.scenario("a time-out whose entry had no room", {
	violates = "completion.overrun", profile = { unresponsive_timeout = "1ms" },
}, function(t)
	local a, b = t:verbs_pair { memory = 64, cqe = 1 }
	b.host:kill()
	for id = 1, 2 do
		a.qp:post({ { "write", wr_id = id, from = a.mem, to = b.mem } }, a.peer)
	end
	t:run_for "1s"
	a.cq:wait(2)
end)

srd.scenario("RC: behind one that is held nothing completes", { profile = "rc" }, function(t)
	local p = t:pair { memory = 64 }
	local first = put(p)
	t:hold(first:request(1))
	t:wait { put(p), first }
end)

srd.scenario("RC: a peer that is dead, and nobody who gives it up", { profile = "rc" }, function(t)
	local p = t:pair { memory = 64, timeout = 0 }
	p.b.host:kill()
	t:wait(put(p))
end)

srd.scenario("RC: a queue pair that is gone, and nobody who gives it up", { profile = "rc" }, function(t)
	local p = t:pair { memory = 64, timeout = 0 }
	p.b.qp:destroy()
	t:wait(put(p))
end)
