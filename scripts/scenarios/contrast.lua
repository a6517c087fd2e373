-- SRD beside a reliable-connected queue pair (RC): what whoever ports RC code to EFA finds
-- different. Each difference is a pair of scenarios, or one that needs no other half. The
-- table of docs/contrast.md is made from their names and descriptions.
local srd = require "srdlab"

-- The same body on both kinds of device; what differs is its argument.
local function both(name, options, body)
	for _, kind in ipairs { "SRD", "RC" } do
		local expected = options[kind]
		srd.scenario(("%s, on %s: %s"):format(name, kind, expected[1]), {
			description = options.description,
			tags = { "contrast", kind:lower() },
			needs = options.needs or { "fabric" },
			limits = options.limits,
			profile = kind == "RC" and "rc" or nil,
			violates = expected.violates,
		}, function(t)
			body(t, expected)
		end)
	end
end

-- Where requests of p.a go: to be said in each of them on SRD, and never on RC.
local function destination(p, expected)
	if expected.srd then
		local pd = p.a.host.verbs.pd
		return { ah = pd:create_ah { dgid = p.b.host.verbs:query_gid() }, remote_qpn = p.b.qp.verbs.qp_num }
	end
end

-- COUNT requests past the scheduler; their completions in the order in which they come.
local function run(t, p, expected, builder, count)
	local list, done = {}, {}
	for i = 1, count do
		list[i] = { builder, wr_id = i, from = p.a.mem:slice((i - 1) * 64, 64), to = p.b.mem:slice((i - 1) * 64, 64) }
		if builder == "read" then
			list[i].from, list[i].to = list[i].to, list[i].from
		end
	end
	t:expect(p.a.qp.verbs:post(list, destination(p, expected))):equals "OK"
	t:run_for "10ms"
	for i = 1, count do
		done[i] = p.a.qp:poll "send"
	end
	return done
end

local function in_order(list)
	for i = 2, #list do
		if list[i].wr_id < list[i - 1].wr_id then
			return false
		end
	end
	return true
end

both("the order of completions", {
	description = "An SRD request completes when it is done; whoever takes the n-th completion for the n-th "
		.. "request credits, frees and reports the wrong one.",
	needs = { "fabric" },
	SRD = { "any", srd = true, ordered = false },
	RC = { "that of the posts", ordered = true },
}, function(t, expected)
	t:fabric { order = "adversarial" }
	local p = t:pair { memory = 32 * 64, max_send_wr = 32 }
	p.a.mem:fill "random"
	t:expect(in_order(run(t, p, expected, "write", 32))):equals(expected.ordered)
	t:expect(p.b.mem):same_content(p.a.mem)
end)

both("a request fails", {
	description = "On RC the first error is the last thing that a connection says. On SRD it is one request's own: "
		.. "code that tears the queue pair down after any error throws away work that is fine.",
	needs = { "faults" },
	SRD = { "its neighbours succeed and the queue pair stays in RTS", state = "RTS" },
	RC = { "what is behind it is flushed and the queue pair is in ERR", state = "ERR" },
}, function(t, expected)
	local p = t:pair { memory = 64 }
	t:fail(p.a.qp:next_request(2), "REMOTE_ERROR_BAD_ADDRESS")
	local ops = {}
	for i = 1, 3 do
		ops[i] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	t:wait(ops[1])
	t:expect(t:result(ops[2]).status):equals "IBV_WC_REM_ACCESS_ERR"
	if expected.state == "RTS" then
		t:wait(ops[3])
	else
		t:expect(t:result(ops[3]).status):equals "IBV_WC_WR_FLUSH_ERR"
	end
	t:expect(p.a.qp):is(expected.state)
	t:expect(p.b.qp):is(expected.state)
end)

both("one completion is late", {
	description = "A credit window that moves with the oldest request stalls on SRD for no reason.",
	needs = { "faults" },
	SRD = { "those behind it do not wait", late = { "done", "done" } },
	RC = { "those behind it come after it", late = { "pending", "pending" } },
}, function(t, expected)
	local p = t:pair { memory = 64 }
	local ops = {}
	for i = 1, 3 do
		ops[i] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	t:hold(ops[1]:request(1))
	t:run_for "1ms"
	p.a.qp:progress()
	t:expect(ops[1]):is "pending"
	t:expect(ops[2]):is(expected.late[1])
	t:expect(ops[3]):is(expected.late[2])
	t:release(ops[1]:request(1))
	t:wait(ops)
end)

both("a transfer that does not fit the send queue", {
	description = "ibv_post_send leaves what it took before the one that failed; a session of the extended verbs is all "
		.. "or nothing. Whoever forgets the ids of the first half meets their completions later.",
	limits = { max_rdma_size = 64 },
	SRD = { "nothing of it is posted", posted = 0 },
	RC = { "the first part of it is posted", posted = 4 },
}, function(t, expected)
	local p = t:pair { memory = 6 * 64, max_send_wr = 4 }
	t:expect(function()
		p.a.qp:put { from = p.a.mem:fill "random", to = p.b.mem }
	end):raises "Cannot allocate memory"
	t:expect(p.a.qp:in_flight()):equals(expected.posted)
	t:run_for "1ms"
	p.a.qp:progress()
	t:expect(p.a.qp:in_flight()):equals(0)
end)

both("a get completes", {
	description = "libefa names a read's completion SEND. Code that switches on the opcode drops it or asserts.",
	SRD = { "as IBV_WC_SEND", srd = true, opcode = "IBV_WC_SEND" },
	RC = { "as IBV_WC_RDMA_READ", opcode = "IBV_WC_RDMA_READ" },
}, function(t, expected)
	local p = t:pair { memory = 64 }
	t:expect(run(t, p, expected, "read", 1)[1].opcode):equals(expected.opcode)
end)

both("posting in ERR", {
	description = "A drain that posts a last request and waits for its flush works on RC; on EFA the post itself fails.",
	SRD = { "is refused with EINVAL", errno = "EINVAL" },
	RC = { "is taken and flushed", status = "IBV_WC_WR_FLUSH_ERR" },
}, function(t, expected)
	local p = t:pair { memory = 64 }
	t:expect(p.a.qp.verbs:modify { state = "ERR" }):equals "OK"
	local result = t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
	t:expect(result.errno):equals(expected.errno)
	t:expect(result.status):equals(expected.status)
end)

both("the peer's queue pair is gone", {
	description = "An SRD responder says so; on RC silence is all there is, for timeout times retry_cnt. Code that "
		.. "waits for IBV_WC_RETRY_EXC_ERR to fail over never sees it on EFA.",
	needs = { "virtual_time" },
	SRD = { "the responder says so at once", status = "IBV_WC_REM_INV_RD_REQ_ERR", least = 0, most = 1000000,
		violates = "address.target" },
	RC = { "all retries pass first", status = "IBV_WC_RETRY_EXC_ERR", least = 500000000, most = 600000000,
		violates = "address.target" },
}, function(t, expected)
	local p = t:pair { memory = 64 }
	p.b.qp:destroy()
	local began = t:now()
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }).status):equals(expected.status)
	t:expect(t:now() - began >= expected.least and t:now() - began <= expected.most):equals(true)
end)

both("what connect tells the queue pair", {
	description = "The peer is an attribute of an RC queue pair; on SRD it is in every request, and one queue pair has "
		.. "as many peers as it likes. Masks of RC code are refused by EFA's driver.",
	SRD = { "its key, and nothing of the peer" },
	RC = { "number, path and numbering of its one peer" },
}, function(t)
	local p = t:pair { memory = 64, psn = 77 }
	local attr = p.a.qp.verbs:query "STATE"
	t:expect(attr.state):equals "RTS"
	t:expect(attr.sq_psn):equals(77)
	if attr.qkey ~= 0 then -- SRD
		t:expect(attr.qkey):equals(0x4242)
		t:expect(attr.dest_qp_num):equals(0)
		return
	end
	t:expect(attr.dest_qp_num):equals(p.b.qp.verbs.qp_num)
	t:expect(attr.rq_psn):equals(77)
	t:expect(attr.retry_cnt):equals(7)
	t:expect(attr.path_mtu):equals(5)
end)

srd.scenario("numbers that the peer was not told: nothing arrives, on RC alone", {
	description = "Both ends count packets from the same number. SRD numbers its packets itself.",
	tags = { "contrast", "rc" },
	needs = { "virtual_time" },
	profile = "rc",
}, function(t)
	local p = t:pair { memory = 64, connect = false }
	local to_a = p.a.qp:endpoint()
	to_a.psn = (to_a.psn + 1) % (1 << 24)
	p.b.qp:connect(to_a)
	p.a.qp:connect(p.b.qp:endpoint())
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }).status):equals "IBV_WC_RETRY_EXC_ERR"
	t:expect(p.a.qp):is "ERR"
end)

srd.scenario("a connection that failed is made anew from RESET, on RC alone", {
	description = "Both ends have to go back, for numbers and queues of both are spent. An SRD queue pair has nothing to "
		.. "be repaired.",
	tags = { "contrast", "rc" },
	needs = { "faults" },
	profile = "rc",
}, function(t)
	local p = t:pair { memory = 64 }
	t:fail(p.a.qp:next_request(), "REMOTE_ERROR_BAD_ADDRESS")
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }).status):equals "IBV_WC_REM_ACCESS_ERR"
	for _, side in pairs { p.a, p.b } do
		t:expect(side.qp.verbs:modify { state = "RESET" }):equals "OK"
	end
	t:connect(p.a.qp, p.b.qp)
	t:wait(p.a.qp:submit_put { from = p.a.mem:fill "random", to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("a queue pair of the other kind is refused at its creation", {
	description = "ibv_create_qp with IBV_QPT_RC on EFA, and efadv_create_qp_ex on anything else: EOPNOTSUPP.",
	tags = { "contrast", "srd" },
	needs = { "fabric" },
}, function(t)
	local a = t:host("a").verbs
	local cq = a:create_cq(16)
	local qp, errno = a:create_qp_ex { send_cq = cq, recv_cq = cq, qp_type = "RC" }
	t:expect(qp):equals(nil)
	t:expect(errno):equals "EOPNOTSUPP"
end)
