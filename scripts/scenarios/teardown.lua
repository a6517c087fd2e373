-- The end of things: destroying under load, the order of destroying, and what comes after.
local srd = require "srdlab"

local flushed = { status = "IBV_WC_WR_FLUSH_ERR", vendor_err = 1 }

srd.scenario("a queue pair that is destroyed answers all of its ops", {
	tags = { "contract", "srd", "teardown" },
	needs = { "faults" },
	limits = { max_rdma_size = 16 },
}, function(t)
	local p = t:pair { memory = 64, max_send_wr = 8 }
	local ops = {}
	for i = 1, 4 do -- two are posted, two wait
		ops[i] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	t:expect(p.a.qp:queued()):equals(2)
	t:hold(ops[1]:request(1))
	p.a.qp:destroy()
	t:expect(t:result(ops[1])):equals(flushed)
	t:expect(t:result(ops[2])):equals(flushed)
	t:expect(ops[3]):is "failed"
	t:expect(ops[4]):is "failed"
	t:expect(ops[3]:error()):differs_from(nil)
end)

srd.scenario("the next queue pair starts from nothing", {
	description = "It leases the completion queue of the last one; nothing of it may be left there.",
	tags = { "contract", "teardown" },
	needs = { "faults" },
}, function(t)
	local a, b = t:host "a", t:host "b"
	local from, to = a:memory(64):fill "random", b:memory(64)
	for round = 1, 5 do
		local qa, qb = a:queue_pair {}, b:queue_pair {}
		t:connect(qa, qb)
		local ops = {}
		for i = 1, 8 do
			ops[i] = qa:submit_put { from = from, to = to }
		end
		if round % 2 == 1 then
			t:hold(ops[1]:request(1))
		else
			t:wait(ops)
		end
		t:expect(ops[1]:wr_ids()):equals { 0 }
		qa:destroy()
		qb:destroy()
		for _, op in ipairs(ops) do
			t:expect(op:status()):differs_from "pending"
		end
	end
end)

srd.scenario("three hundred queue pairs, one after the other", {
	description = "More than the generation in a request's number tells apart, and more than the device has.",
	tags = { "contract", "teardown" },
}, function(t)
	local a, b = t:host "a", t:host "b"
	local from, to = a:memory(64), b:memory(64)
	for i = 1, 300 do
		local qa, qb = a:queue_pair {}, b:queue_pair {}
		t:connect(qa, qb)
		local op = qa:put { from = from:fill(i), to = to }
		t:wait(op)
		t:expect(op:wr_ids()):equals { 0 }
		qa:destroy()
		qb:destroy()
	end
	t:expect(to):same_content(from)
end)

srd.scenario("what something stands on cannot be destroyed", {
	tags = { "law", "teardown" },
}, function(t)
	local v = t:host("a").verbs
	local pd, cq = v:alloc_pd(), v:create_cq(16)
	local qp = v:create_qp_ex { pd = pd, send_cq = cq, recv_cq = cq }
	t:expect(cq:destroy_cq()):equals "EBUSY"
	t:expect(pd:dealloc_pd()):equals "EBUSY"
	t:expect(qp:destroy_qp()):equals "OK"
	local ah = pd:create_ah { dgid = v:query_gid() }
	t:expect(pd:dealloc_pd()):equals "EBUSY"
	t:expect(ah:destroy_ah()):equals "OK"
	local mr = pd:reg_mr(t:host("a"):memory(64, { register = false }), "LOCAL_WRITE")
	t:expect(pd:dealloc_pd()):equals "EBUSY"
	t:expect(mr:dereg_mr()):equals "OK"
	t:expect(pd:dealloc_pd()):equals "OK"
	t:expect(cq:destroy_cq()):equals "OK"
end)

srd.scenario("memory that is freed under a put is found", {
	tags = { "law", "teardown", "memory" },
	needs = { "faults" },
	violates = "memory.dereg",
}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(p.a.mem:free()):equals "OK"
	t:expect(t:result(op).vendor_err):equals(5)
end)

srd.scenario("a queue pair in ERR comes back through RESET", {
	tags = { "law", "teardown", "state" },
}, function(t)
	local p = t:pair { memory = 64 }
	local b = p.b.qp.verbs
	t:expect(b:modify { state = "ERR" }):equals "OK"
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }).vendor_err):equals(9)
	t:expect(b:modify { state = "RESET" }):equals "OK"
	t:expect(b:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(b:modify { state = "RTR" }):equals "OK"
	t:wait(p.a.qp:submit_put { from = p.a.mem:fill "random", to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

for _, flush in ipairs { true, false } do
	srd.scenario(("RESET under load %s"):format(flush and "flushes, on a device that does" or "drops in silence"), {
		tags = { "law", "teardown", "state" },
		needs = { "faults", "fabric" },
		profile = { flush_on_reset = flush },
		-- the library has started its counts anew by then
		violates = flush and "completion.after_reset" or nil,
	}, function(t)
		local a = t:host "a"
		local cq = a.verbs:create_cq(16)
		local q, peer, mem = a:queue_pair { send_cq = cq, recv_cq = cq }, a:queue_pair {}, a:memory(64)
		t:connect(q, peer)
		local ah = a.verbs.pd:create_ah { dgid = a.verbs:query_gid() }
		q.verbs:wr_start()
		q.verbs:wr_rdma_write { wr_id = 1, rkey = mem.rkey, remote_addr = mem.addr }
		q.verbs:wr_set_sge(mem)
		q.verbs:wr_set_ud_addr { ah = ah, remote_qpn = peer.verbs.qp_num }
		t:expect(q.verbs:wr_complete()):equals "OK"
		t:expect(q.verbs:modify { state = "RESET" }):equals "OK"
		t:run_for "1s"
		t:expect(#cq:poll(4)):equals(flush and 1 or 0)
	end)
end

srd.scenario("a peer that is destroyed under load fails the rest, and nothing else", {
	tags = { "law", "teardown" },
	needs = { "faults" },
	seeds = true,
}, function(t)
	local p = t:pair { memory = 6400, max_send_wr = 4 }
	local ops = {}
	for i = 0, 99 do
		ops[#ops + 1] = p.a.qp:submit_put { from = p.a.mem:slice(i * 64, 64), to = p.b.mem:slice(i * 64, 64) }
	end
	t:wait(ops[20])
	p.b.qp:destroy()
	local failed = 0
	for _, op in ipairs(ops) do
		local result = t:result(op)
		if result.status ~= "IBV_WC_SUCCESS" then
			t:expect(result.vendor_err):equals(9)
			failed = failed + 1
		end
	end
	t:expect(failed):at_least(1)
	t:expect(p.a.qp):is "RTS"
	t:expect(p.a.qp:in_flight()):equals(0)
end)

-- 10 MiB take 100 ms; 1 MiB and what the link of a host may have under way take 40 at most.
for _, level in ipairs { "message", "packet" } do
	for _, order in ipairs { "random", "in_order", "adversarial" } do
		local function link(name, body, violates)
			srd.scenario(("what is not sent when %s takes no time of the link: %s level, %s"):format(name, level, order), {
				tags = { "engine", "teardown" },
				needs = { "fabric" },
				profile = { level = level, order = order, bandwidth = "100MiB", ah_tokens = "unique" },
				violates = violates,
			}, function(t)
				local a, b = t:host "a", t:host "b"
				local from, to = a:memory "1MiB", b:memory "1MiB"
				local function connected(x, y)
					local q, peer = x:queue_pair {}, y:queue_pair {}
					t:connect(q, peer)
					return q
				end
				local there, back = connected(a, b), connected(b, a)
				local early
				if order ~= "adversarial" then -- that may keep it until far later
					early = there:submit_put { from = from, to = to }
				end
				body(t, connected(a, b))
				if early then
					t:wait(early)
				end
				from, to = from:slice(0, 64), to:slice(0, 64)
				t:wait { there:put { from = from, to = to }, back:put { from = to, to = from } }
				t:expect(t:now()):at_least(srd.time(early and "9ms" or 0)):at_most(srd.time "40ms")
			end)
		end
		link("its queue pair is destroyed", function(t, q)
			local from, to = t:host("a"):memory "10MiB", t:host("b"):memory "10MiB"
			local late = q:submit_put { from = from, to = to }
			q:destroy()
			t:expect(late):is "failed"
			t:expect(late:error()):differs_from(nil)
		end)
		link("the queue pair that reads is destroyed", function(t, q)
			local from, to = t:host("b"):memory "10MiB", t:host("a"):memory "10MiB"
			local late = q:submit_get { from = from, to = to }
			t:run_for "11ms" -- the peer has been asked
			q:destroy()
			t:expect(late):is "failed"
		end)
		link("the queue pair that reads is reset", function(t)
			local a, b = t:verbs_pair { memory = "10MiB" }
			t:expect(a.qp:post({ { "read", from = b.mem, to = a.mem } }, a.peer)):equals "OK"
			t:run_for "11ms"
			t:expect(a.qp:modify { state = "RESET" }):equals "OK"
			t:expect(a.qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = a.qkey }):equals "OK"
			t:expect(a.qp:modify { state = "RTR" }):equals "OK"
			t:expect(a.qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
			local small = { "write", wr_id = 1, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) }
			t:expect(a.qp:post({ small }, a.peer)):equals "OK"
			t:expect(a.cq:wait()[1].wr_id):equals(1)
		end)
		link("its address handle is destroyed", function(t)
			local a, b = t:verbs_pair { memory = "10MiB" }
			t:expect(a.qp:post({ { "write", from = a.mem, to = b.mem } }, a.peer)):equals "OK"
			t:expect(a.peer.ah:destroy_ah()):equals "OK"
			t:expect(a.cq:wait()[1].status):equals "IBV_WC_WR_FLUSH_ERR"
		end)
		link("its memory is deregistered", function(t)
			local a, b = t:verbs_pair { memory = "10MiB" }
			t:expect(a.qp:post({ { "write", from = a.mem, to = b.mem } }, a.peer)):equals "OK"
			t:expect(a.mem:free()):equals "OK"
			t:expect(a.cq:wait()[1].vendor_err):equals(5)
		end, "memory.dereg")
	end
end
