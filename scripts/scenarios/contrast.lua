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
			needs = expected.needs or options.needs or { "fabric" },
			limits = options.limits,
			profile = kind == "RC" and "rc" or "efa1",
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

both("a request without the flag SIGNALED", {
	description = "RC code saves completions by signaling every n-th request. libefa refuses each one that is not "
		.. "signaled, and the whole session with it.",
	SRD = { "is refused with EINVAL", srd = true, errno = "EINVAL", done = {}, violates = nil },
	RC = { "is taken, and has a completion only where it fails", errno = "OK", done = { 3 } },
}, function(t, expected)
	local p = t:pair { memory = 192 }
	local list = {}
	for i = 1, 3 do
		list[i] = { "write", wr_id = i, flags = i == 3 and "SIGNALED" or 0,
			from = p.a.mem:slice(0, 64), to = p.b.mem:slice(0, 64) }
	end
	t:expect(p.a.qp.verbs:post(list, destination(p, expected))):equals(expected.errno)
	t:run_for "10ms"
	local ids = {}
	for c in function() return p.a.qp:poll "send" end do
		ids[#ids + 1] = c.wr_id
	end
	t:expect(ids):equals(expected.done)
end)

-- A queue pair of each side by verbs alone, with its builders for sends; what RC needs more.
local function ends(t, expected, rts)
	local sides = {}
	for _, name in ipairs { "a", "b" } do
		local v = t:host(name).verbs
		local cq = v:create_cq(64)
		sides[name] = { v = v, cq = cq, mem = t:host(name):memory(16384), qp = v:create_qp_ex {
			send_cq = cq, recv_cq = cq, qp_type = expected.srd and "DRIVER" or "RC",
			send_ops_flags = "SEND|RDMA_WRITE",
		} }
	end
	local a, b = sides.a, sides.b
	for _, pair in ipairs { { a, b }, { b, a } } do
		local own, other = table.unpack(pair)
		if expected.srd then
			own.peer = { ah = own.v.pd:create_ah { dgid = other.v:query_gid() }, remote_qpn = other.qp.qp_num }
			t:expect(own.qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
			t:expect(own.qp:modify { state = "RTR" }):equals "OK"
			t:expect(own.qp:modify(srd.with({ state = "RTS", sq_psn = 0 }, rts or {}))):equals "OK"
		else
			t:expect(own.qp:modify { state = "INIT", pkey_index = 0, port_num = 1,
				access_flags = expected.access or "REMOTE_WRITE|REMOTE_READ" }):equals "OK"
			t:expect(own.qp:modify { state = "RTR", path_mtu = 5, dest_qp_num = other.qp.qp_num, rq_psn = 0,
				max_dest_rd_atomic = 1, min_rnr_timer = 1,
				ah_attr = { dgid = other.v:query_gid(), is_global = 1, port_num = 1 } }):equals "OK"
			t:expect(own.qp:modify(srd.with({ state = "RTS", sq_psn = 0, timeout = 8, retry_cnt = 1, rnr_retry = 7,
				max_rd_atomic = 1 }, rts or {}))):equals "OK"
		end
	end
	return a, b
end

both("a receiver is not ready, and tries are limited", {
	description = "The error is the same; what it leaves is not.",
	needs = { "virtual_time" },
	SRD = { "the send fails and the queue pair goes on", srd = true, state = "RTS" },
	RC = { "the send fails and the connection with it", state = "ERR" },
}, function(t, expected)
	local a = ends(t, expected, { rnr_retry = 2 })
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem:slice(0, 64) } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_RNR_RETRY_EXC_ERR"
	t:expect(a.qp:query().state):equals(expected.state)
end)

both("a send that waits for a receive, and a write behind it", {
	description = "On RC whatever is posted later waits too, so that a receiver that is late stops all of a connection.",
	needs = { "virtual_time" },
	SRD = { "the write overtakes it", srd = true, first = { 2 } },
	RC = { "the write waits behind it", first = {} },
}, function(t, expected)
	local a, b = ends(t, expected)
	t:expect(a.qp:post({
		{ "send", wr_id = 1, from = a.mem:slice(0, 64) },
		{ "write", wr_id = 2, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) },
	}, a.peer)):equals "OK"
	t:run_for "1ms"
	local done = {}
	for i, wc in ipairs(a.cq:poll(4)) do
		done[i] = wc.wr_id
	end
	t:expect(done):equals(expected.first)
	t:expect(b.qp:post_recv { sg_list = b.mem:slice(64, 64) }):equals "OK"
	a.cq:wait(2 - #done)
end)

both("a send of more than a packet", {
	description = "An SRD message is one packet: a protocol with large sends needs RDMA, or pieces.",
	SRD = { "fails with LOC_LEN_ERR", srd = true, status = "IBV_WC_LOC_LEN_ERR", violates = "chunk.limit" },
	RC = { "arrives", status = "IBV_WC_SUCCESS" },
}, function(t, expected)
	local a, b = ends(t, expected)
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem:slice(0, 10000) } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals(expected.status)
end)

both("completions of a queue pair that is destroyed", {
	description = "Providers of RC clean the completion queue; libefa leaves entries there, which answer a later poll "
		.. "with EINVAL and may name a queue pair that got the number.",
	SRD = { "stay in the queue", srd = true, left = "EINVAL", needs = { "fabric", "rdma_core_65" } },
	RC = { "are gone with it" },
}, function(t, expected)
	local a, b = ends(t, expected)
	t:expect(a.qp:post({ { "write", wr_id = 1, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) } }, a.peer))
		:equals "OK"
	t:run_for "1ms"
	t:expect(a.qp:destroy_qp()):equals "OK"
	local entries, errno = a.cq:poll()
	t:expect(errno):equals(expected.left)
	t:expect(entries):equals(not expected.left and {} or nil)
end)

srd.scenario("a destination in a request is refused, on RC alone", {
	description = "An RC queue pair has no such setter; with rdma-core the pointer is NULL, and the program crashes.",
	tags = { "contrast", "rc" },
	needs = { "fabric" },
	profile = "rc",
}, function(t)
	local a, b = ends(t, {})
	local ah = a.v.pd:create_ah { dgid = b.v:query_gid() }
	local to = { ah = ah, remote_qpn = b.qp.qp_num }
	t:expect(a.qp:post({ { "write", wr_id = 1, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) } }, to))
		:equals "EOPNOTSUPP"
end)

srd.scenario("a queue pair that lets nobody write, on RC alone", {
	description = "qp_access_flags of INIT are a second lock beside the region's rights. SRD has the region's alone.",
	tags = { "contrast", "rc" },
	needs = { "fabric" },
	profile = "rc",
}, function(t)
	local a, b = ends(t, { access = 0 })
	t:expect(a.qp:post { { "write", wr_id = 1, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) } }):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_REM_INV_REQ_ERR"
	t:expect(b.qp:query().state):equals "ERR"
end)

srd.scenario("the responder needs an address handle of the initiator, on SRD alone", {
	description = "An RDMA request of a host that the responder has no handle for is answered with UNKNOWN_PEER. On RC "
		.. "the connection of both ends is all.",
	tags = { "contrast", "srd" },
	needs = { "hosts" },
	violates = "address.unknown_peer",
}, function(t)
	local a, b = ends(t, { srd = true })
	t:expect(b.peer.ah:destroy_ah()):equals "OK"
	t:expect(a.qp:post({ { "write", wr_id = 1, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) } }, a.peer))
		:equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(14)
end)
