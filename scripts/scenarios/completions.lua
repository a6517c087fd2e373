-- Completions: what is in them, that each request has exactly one, and what becomes of
-- those that are late, lost, strange or too many.
local srd = require "srdlab"

-- Two hosts and a connected queue pair each; that of the first has the completion queue CQ
-- of its own, which the scenario polls past the scheduler.
local function polled(t, options)
	local a, b = t:host "a", t:host "b"
	local cq = a.verbs:create_cq(options.cqe or 64)
	local qa = a:queue_pair { send_cq = cq, recv_cq = cq, max_send_wr = options.depth or 16 }
	local qb = b:queue_pair {}
	t:connect(qa, qb)
	return { qp = qa.verbs, q = qa, cq = cq, mem = a:memory(64), ah = a.verbs.pd:create_ah { dgid = b.verbs:query_gid() },
		to = b:memory(64), peer = qb }
end

local function to_rts(t, qp)
	t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(qp:modify { state = "RTR" }):equals "OK"
	t:expect(qp:modify { state = "RTS", sq_psn = 0 }):equals "OK"
	return qp
end

local function post(s, id, builder)
	s.qp:wr_start()
	s.qp[builder or "wr_rdma_write"](s.qp, { wr_id = id, rkey = s.to.rkey, remote_addr = s.to.addr })
	s.qp:wr_set_sge(s.mem)
	s.qp:wr_set_ud_addr { ah = s.ah, remote_qpn = s.peer.verbs.qp_num }
	return s.qp:wr_complete()
end

srd.scenario("a write completes as a write, a read as a send", {
	description = "libefa gives no opcode of its own to reads, so nothing may be decided by it.",
	tags = { "law", "completion" },
}, function(t)
	local s = polled(t, {})
	t:expect(post(s, 5)):equals "OK"
	local wc = s.cq:wait()[1]
	t:expect(wc.wr_id):equals(5)
	t:expect(wc.status):equals "IBV_WC_SUCCESS"
	t:expect(wc.vendor_err):equals(0)
	t:expect(wc.opcode):equals "IBV_WC_RDMA_WRITE"
	t:expect(wc.qp_num):equals(s.qp.qp_num)
	t:expect(post(s, 6, "wr_rdma_read")):equals "OK"
	wc = s.cq:wait()[1]
	t:expect(wc.wr_id):equals(6)
	t:expect(wc.opcode):equals "IBV_WC_SEND"
end)

srd.scenario("the queue pair hands completions on one by one", {
	tags = { "contract", "srd", "completion" },
}, function(t)
	local s = polled(t, {})
	t:expect(s.q:poll "send"):equals(nil)
	t:expect(post(s, 0)):equals "OK"
	t:expect(post(s, 1)):equals "OK"
	t:run_for "10ms"
	local seen = {}
	for _ = 1, 2 do
		local c = s.q:poll "send"
		t:expect(c.status):equals "IBV_WC_SUCCESS"
		seen[c.wr_id] = true
	end
	t:expect(seen):equals { [0] = true, [1] = true }
	t:expect(s.q:poll "send"):equals(nil)
	t:expect(s.q:poll "recv"):equals(nil)
end)

srd.scenario("a poll of one queue leaves the completions of the other", {
	tags = { "contract", "srd", "completion" },
}, function(t)
	local s = polled(t, {}) -- both report to one completion queue
	t:expect(post(s, 0)):equals "OK"
	t:run_for "10ms"
	t:expect(s.q:poll "recv"):equals(nil)
	t:expect(s.q:poll("send").wr_id):equals(0)
end)

srd.scenario("a poll gives no more than it is asked for", { tags = { "law", "completion" } }, function(t)
	local s = polled(t, {})
	for id = 1, 5 do
		t:expect(post(s, id)):equals "OK"
	end
	t:run_for "10ms"
	t:expect(#s.cq:poll(2)):equals(2)
	t:expect(#s.cq:poll(2)):equals(2)
	t:expect(#s.cq:poll(2)):equals(1)
	t:expect(#s.cq:poll(2)):equals(0)
end)

srd.scenario("every request completes exactly once", { tags = { "law", "completion" } }, function(t)
	local s = polled(t, {})
	local times = {}
	for id = 1, 100 do
		t:expect(post(s, id)):equals "OK"
		if id % 10 == 0 then
			for _, wc in ipairs(s.cq:wait(10)) do
				times[wc.wr_id] = (times[wc.wr_id] or 0) + 1
			end
		end
	end
	for id = 1, 100 do
		t:expect(times[id]):equals(1)
	end
end)

srd.scenario("completion queues have a power of two of entries, and at least one", {
	tags = { "law", "completion" },
}, function(t)
	local v = t:host("a").verbs
	local max = v:query_device().max_cqe
	t:expect(v:create_cq(1).cqe):equals(1)
	t:expect(v:create_cq(33).cqe):equals(64)
	t:expect(v:create_cq(64).cqe):equals(64)
	t:expect(v:create_cq(max)):differs_from(nil)
	t:expect(select(2, v:create_cq(0))):equals "EINVAL"
	t:expect(select(2, v:create_cq(max + 1))):equals "EINVAL"
end)

srd.scenario("a completion that comes twice is found, and credits nothing", {
	description = "Not on a device: libefa before rdma-core 65 writes beside its memory then.",
	tags = { "contract", "completion" },
	needs = { "faults", "model" },
	violates = "completion.twice",
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = 64 }
	local q = p.a.qp
	local second = q:next_request(2)
	t:duplicate(q:next_request(1))
	t:hold(second)
	local twice = q:submit_put { from = p.a.mem, to = p.b.mem }
	local late = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:wait(twice)
	t:run_for "100us"
	t:expect(q:in_flight()):equals(1)
	t:expect(late):is "pending"
	t:release(second)
	t:wait(late)
	t:expect(q:in_flight()):equals(0)
end)

srd.scenario("an entry of no live queue pair is passed over", {
	description = "libefa answers -EINVAL and consumes it; the completion queue is not broken.",
	tags = { "contract", "completion" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { memory = 64 }
	local q = p.a.qp
	local first = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:stale_completion(q)
	t:stale_completion(q)
	local second = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:wait { first, second }
	t:expect(q:in_flight()):equals(0)
end)

srd.scenario("a poll of an entry of no live queue pair is an error of that entry alone", {
	tags = { "law", "completion" },
	needs = { "faults", "virtual_time" },
}, function(t)
	local s = polled(t, {})
	t:expect(post(s, 1)):equals "OK"
	t:run_for "10ms"
	t:stale_completion(s.qp)
	t:expect(post(s, 2)):equals "OK"
	t:run_for "10ms"
	t:expect(s.cq:poll()[1].wr_id):equals(1)
	t:expect(select(2, s.cq:poll())):equals "EINVAL"
	t:expect(s.cq:poll()[1].wr_id):equals(2)
end)

-- A queue of 4 entries, and 8 requests that nobody polls.
for policy, ids in pairs { drop_newest = { 1, 2, 3, 4 }, overwrite_oldest = { 5, 6, 7, 8 } } do
	srd.scenario(("a completion queue that overruns is silent: %s"):format(policy), {
		description = "No event, no error: the requests whose entries are lost never complete.",
		tags = { "law", "completion", "misuse" },
		needs = { "faults", "fabric" },
		profile = { cq_overrun = policy, order = "in_order" },
		violates = "completion.overrun",
	}, function(t)
		local a, b = t:host "a", t:host "b"
		local cq = a.verbs:create_cq(4)
		local qp = to_rts(t, a.verbs:create_qp_ex { send_cq = cq, recv_cq = cq })
		local qb = b:queue_pair {}
		qb:connect { gid = a.verbs:query_gid(), qp_num = qp.qp_num }
		local s = { qp = qp, mem = a:memory(64), to = b:memory(64), peer = qb,
			ah = a.verbs.pd:create_ah { dgid = b.verbs:query_gid() } }
		for id = 1, 8 do
			t:expect(post(s, id)):equals "OK"
		end
		t:run_for "10ms"
		local got = {}
		for i, wc in ipairs(cq:poll(8)) do
			got[i] = wc.wr_id
		end
		t:expect(got):equals(ids)
		t:run_for "1s"
		t:expect(cq:poll()):equals {}
	end)
end

-- Numbers are used again; the generation in an entry tells whose it is, where there is one.
for name, case in pairs {
	["are not given to the next"] = { profile = { id64 = false, stale_check = "generation" } },
	["reach the next, where an old libefa looks at the number only"] = {
		profile = { id64 = false, stale_check = "qpn" }, violates = "completion.unknown",
	},
	["reach the next, where ids have 64 bits and no generation"] = {
		profile = { id64 = true }, violates = "completion.unknown",
	},
} do
	srd.scenario("completions of a dead queue pair " .. name, {
		tags = { "law", "completion" },
		needs = { "fabric", "rdma_core_65" },
		profile = case.profile,
		violates = case.violates,
	}, function(t)
		local a, b = t:host "a", t:host "b"
		local cq = a.verbs:create_cq(64)
		local attr = { send_cq = cq, recv_cq = cq }
		local old = to_rts(t, a.verbs:create_qp_ex(attr))
		local s = { qp = old, mem = a:memory(64), to = b:memory(64), peer = b:queue_pair {},
			ah = a.verbs.pd:create_ah { dgid = b.verbs:query_gid() } }
		s.peer:connect { gid = a.verbs:query_gid(), qp_num = old.qp_num }
		t:expect(post(s, 1)):equals "OK"
		t:run_for "10ms"
		local number = old.qp_num
		t:expect(old:destroy_qp()):equals "OK"
		local new = a.verbs:create_qp_ex(attr)
		t:expect(new.qp_num):equals(number)
		local got, why = cq:poll()
		if case.violates then
			t:expect(got[1].qp_num):equals(new.qp_num)
		else
			t:expect(why):equals "EINVAL"
		end
		t:expect(cq:poll()):equals {}
		t:expect(new:destroy_qp()):equals "OK"
	end)
end

srd.scenario("requests complete in an order that has nothing to do with that of posting", {
	tags = { "law", "completion", "ordering" },
	needs = { "faults" },
}, function(t)
	local s = polled(t, {})
	for i = 1, 6 do
		t:delay(s.q:next_request(i), (7 - i) * 1000000)
	end
	for id = 1, 6 do
		t:expect(post(s, id)):equals "OK"
	end
	local order = {}
	for i, wc in ipairs(s.cq:wait(6)) do
		order[i] = wc.wr_id
	end
	t:expect(order):equals { 6, 5, 4, 3, 2, 1 }
end)
