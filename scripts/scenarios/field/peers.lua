-- Peers: addresses, keys, limits, and who is ready when.
local srd = require "srdlab"

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "peers" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local function write(a, b, id)
	return { "write", wr_id = id, from = a.mem, to = b.mem }
end

local B51 = "B51 (https://github.com/ofiwg/libfabric/issues/11054): keys, number and queue key were right, "
	.. "and each RDMA write ended in a remote operation error: the target had no address handle of the "
	.. "initiator."

srd.scenario("the target has no address handle of the initiator", form(B51, "broken", {
	violates = "address.unknown_peer",
}), function(t)
	local a, b = t:verbs_end("a", { memory = 64 }), t:verbs_end("b", { memory = 64 })
	t:expect(a.qp:post({ write(a, b, 1) }, srd.address(a, b))):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_REM_OP_ERR" -- vendor 14 says why
end)

srd.scenario("each side makes an address handle of the other first", form(B51, "right"), function(t)
	local a, b = t:verbs_end("a", { memory = 64 }), t:verbs_end("b", { memory = 64 })
	local peer, back = srd.address(a, b), srd.address(b, a)
	t:expect(a.qp:post({ write(a, b, 1) }, peer)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(0)
	t:expect(b.qp:post({ write(b, a, 1) }, back)):equals "OK"
	t:expect(b.cq:wait()[1].vendor_err):equals(0)
end)

local B53 = "B53 (https://github.com/meta-pytorch/monarch/pull/3069): of several errors the first that was "
	.. "seen was reported, a flush, and the real cause was lost. On SRD a flush comes from ERR or a destroy, "
	.. "beside another's own error."

-- Four writes of one op: one ends with its own error, the others flushed. CAUSE(list) is what
-- the op reports.
local function one_fails(t, cause)
	local a, b = t:verbs_pair { memory = 64 }
	local writes, list = {}, {}
	for id = 1, 4 do
		t:fail(a.qp:next_request(id), id == 3 and "REMOTE_ERROR_BAD_ADDRESS" or "FLUSHED")
		writes[id] = write(a, b, id)
	end
	t:expect(a.qp:post(writes, a.peer)):equals "OK"
	for i = 1, 4 do
		list[i] = a.cq:wait()[1].vendor_err
	end
	t:expect(cause(list)):equals(7)
end

srd.scenario("the first error that is seen is a flush", form(B53, "broken", {
	needs = { "faults" }, orders = "all", fails = "expected 7, got 1",
}), function(t)
	one_fails(t, function(list)
		return list[1]
	end)
end)

srd.scenario("the error that is no flush is the cause, in every order", form(B53, "right", {
	needs = { "faults" }, orders = "all",
}), function(t)
	one_fails(t, function(list)
		for _, vendor_err in ipairs(list) do
			if vendor_err ~= 1 then
				return vendor_err
			end
		end
		return 1
	end)
end)

srd.scenario("an op whose queue pair goes to ERR reports its own cause", form(B53, "right", {
	needs = { "faults" }, orders = "all", limits = { max_rdma_size = 1000 },
}), function(t)
	local p = t:pair { memory = 4000, max_send_wr = 4 }
	for i = 1, 4 do
		t:fail(p.a.qp:next_request(i), i == 3 and "REMOTE_ERROR_BAD_ADDRESS" or "FLUSHED")
	end
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(op):is "pending"
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a queue pair that is moved to ERR flushes the rest, after one has failed", form(B53, "right", {
	needs = { "faults" }, limits = { max_rdma_size = 1000 },
}), function(t)
	local p = t:pair { memory = 4000, max_send_wr = 4 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:fail(op:request(3), "REMOTE_ERROR_BAD_ADDRESS")
	for _, i in ipairs { 1, 2, 4 } do
		t:hold(op:request(i))
	end
	t:run_for "1ms"
	t:expect(p.a.qp.verbs:modify { state = "ERR" }):equals "OK"
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
	t:expect(p.a.qp:in_flight()):equals(0)
end)

local C09 = "C09 (https://github.com/kvcache-ai/Mooncake/pull/2063): an address was read before there was "
	.. "one, zeros went to the peer, and the failure came much later under the name of success."

srd.scenario("a peer's address of zeros is taken as it is", form(C09, "broken", {
	violates = "address.target",
}), function(t)
	local a, b = t:verbs_pair { memory = 64 }
	local early = { qp_num = 0 } -- read before B's queue pair was made
	t:expect(a.qp:post({ write(a, b, 1) }, srd.with(a.peer, { remote_qpn = early.qp_num }))):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_REM_INV_RD_REQ_ERR"
end)

srd.scenario("an address is published when there is one, and zeros are refused", form(C09, "right"), function(t)
	local p = t:pair { connect = false, memory = 64 }
	local good = p.b.qp:endpoint()
	t:expect(good.qp_num):at_least(1)
	t:expect(good.gid):differs_from "::"
	t:expect(function()
		p.a.qp:connect(srd.with(good, { has_gid = false }))
	end):raises "GID"
	t:expect(p.a.qp):is "RESET"
	t:connect(p.a.qp, p.b.qp)
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)

local C10 = "C10 (https://github.com/linux-rdma/perftest/issues/113): an address handle without a global "
	.. "route, or with another index than 0, does not lead anywhere on EFA."

srd.scenario("an address handle without a global route", form(C10, "broken", {
	fails = "expected nil, got \"EINVAL\"",
}), function(t)
	local a, b = t:host "a", t:host "b"
	t:expect(select(2, a.verbs.pd:create_ah { dgid = b.verbs:query_gid(), is_global = 0 })):equals(nil)
end)

srd.scenario("an address handle with an index that is not there", form(C10, "broken", {
	fails = "expected nil, got \"EINVAL\"",
}), function(t)
	local a, b = t:host "a", t:host "b"
	t:expect(select(2, a.verbs.pd:create_ah { dgid = b.verbs:query_gid(), sgid_index = 1 })):equals(nil)
end)

srd.scenario("an address handle is global and of index 0", form(C10, "right"), function(t)
	local a, b = t:host "a", t:host "b"
	local ah = a.verbs.pd:create_ah { dgid = b.verbs:query_gid(), is_global = 1, sgid_index = 0 }
	t:expect(ah:destroy_ah()):equals "OK"
end)

local C12 = "C12 (https://github.com/uccl-project/uccl/pull/916): a queue pair for each peer, and the device "
	.. "ran out of them; SRD needs one for all peers, and an address handle for each."

-- Six peers on a device of four queue pairs.
local few = { max_qp = 4 }

local function peers(t)
	local list = {}
	for i = 1, 6 do
		list[i] = t:verbs_end("peer" .. i, { memory = 64 })
	end
	return list
end

-- A queue pair for each peer; nil and the error where one cannot be had.
local function queue_pairs(host, count)
	local cq, list = host.verbs:create_cq(64), {}
	for i = 1, count do
		local qp, errno = host.verbs:create_qp_ex { send_cq = cq, recv_cq = cq }
		if not qp then
			return nil, errno, list
		end
		list[i] = qp
	end
	return list
end

srd.scenario("a queue pair for each peer, and nobody looks whether there is one", form(C12, "broken", {
	profile = few, fails = "attempt to index a nil value",
}), function(t)
	local host = t:host "a"
	local cq = host.verbs:create_cq(64)
	for _ = 1, 6 do
		local qp = host.verbs:create_qp_ex { send_cq = cq, recv_cq = cq }
		t:expect(qp.state):equals "RESET"
	end
end)

srd.scenario("where a queue pair for each peer cannot be had all are given back", form(C12, "right", {
	profile = few,
}), function(t)
	local host = t:host "a"
	for _ = 1, 3 do
		local all, errno, made = queue_pairs(host, 6)
		t:expect(all):equals(nil)
		t:expect(errno):equals "ENOMEM"
		t:expect(#made):equals(4)
		for _, qp in ipairs(made) do
			t:expect(qp:destroy_qp()):equals "OK"
		end
	end
end)

srd.scenario("one queue pair for all peers, which share its credits", form(C12, "right", {
	profile = few, needs = { "faults" },
}), function(t)
	local a = t:verbs_end("a", { memory = 64, cap = { max_send_wr = 4, max_recv_wr = 1, max_send_sge = 1,
		max_recv_sge = 1 } })
	local list, in_flight, most = peers(t), 0, 0
	for _, b in ipairs(list) do
		b.address = srd.address(a, b)
		t:expect(srd.address(b, a)):differs_from(nil)
	end
	local function reap(n)
		for _, wc in ipairs(a.cq:wait(n)) do
			t:expect(wc.status):equals "IBV_WC_SUCCESS"
			in_flight = in_flight - 1
		end
	end
	for flow = 0, 11 do
		local b = list[flow % 6 + 1]
		if in_flight == 4 then
			reap(1)
		end
		t:expect(a.qp:post({ write(a, b, flow) }, b.address)):equals "OK"
		in_flight = in_flight + 1
		most = math.max(most, in_flight)
	end
	reap(in_flight)
	t:expect(most):equals(4)
end)

local C13 = "C13 (https://github.com/ofiwg/libfabric/pull/12678): two sides disagreed about the queue key; "
	.. "nothing arrives, and all that the sender may see is that time runs out."

srd.scenario("the queue key of the request is not that of its destination", form(C13, "broken", {
	violates = "address.qkey",
}), function(t)
	local a, b = t:verbs_pair { a = { memory = 64, qkey = 0x11 }, b = { memory = 64, qkey = 0x12 } }
	local peer = srd.with(a.peer, { remote_qkey = 0x11 })
	t:expect(a.qp:post({ write(a, b, 1) }, peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_RESP_TIMEOUT_ERR"
end)

srd.scenario("a queue key with its top bit set is privileged", form(C13, "broken", {
	violates = "address.qkey_range",
}), function(t)
	t:verbs_end("a", { qkey = 0x80000000 })
end)

srd.scenario("a request carries the queue key of its destination", form(C13, "right"), function(t)
	local a, b = t:verbs_pair { a = { memory = 64, qkey = 0x11 }, b = { memory = 64, qkey = 0x12 } }
	t:expect(a.qp:post({ write(a, b, 1) }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(0)
	t:expect(b.qp:post({ write(b, a, 1) }, b.peer)):equals "OK"
	t:expect(b.cq:wait()[1].vendor_err):equals(0)
end)

local C14 = "C14 (https://github.com/meta-pytorch/monarch/issues/3376): traffic of one node to itself was "
	.. "reported never to complete, and elsewhere to work at half the speed. Disputed: a device reaches itself "
	.. "here, and a knob says otherwise."

-- A write between two queue pairs of one device.
local function to_itself(t)
	local host = t:host "a"
	local one, two = host:queue_pair {}, host:queue_pair {}
	t:connect(one, two)
	local from, to = host:memory(64):fill "random", host:memory(64)
	t:wait(one:submit_put { from = from, to = to })
	t:expect(to):same_content(from)
end

srd.scenario("a device that does not reach itself is waited for without end", form(C14, "broken", {
	profile = { loopback = false }, fails = "deadlock",
}), to_itself)

srd.scenario("a device reaches itself", form(C14, "right"), to_itself)

local C20 = "C20 (https://github.com/meta-pytorch/monarch/pull/3814): a queue pair was handed out before it "
	.. "was ready to send, and the peer's first message came before its other end was ready to receive."

local steps = {
	{ state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }, { state = "RTR" }, { state = "RTS", sq_psn = 0 },
}

-- A bare queue pair in RESET.
local function fresh(t, name)
	local host = t:host(name)
	local cq = host.verbs:create_cq(16)
	local qp = host.verbs:create_qp_ex { send_cq = cq, recv_cq = cq }
	return { host = host, cq = cq, qp = qp, mem = host:memory(64), qkey = 0x4242 }
end

srd.scenario("a post before the queue pair is ready to send", form(C20, "broken", {
	fails = "expected \"OK\", got \"EINVAL\"",
}), function(t)
	local a, b = fresh(t, "a"), t:verbs_end("b", { memory = 64 })
	t:expect(a.qp:modify(steps[1])):equals "OK"
	t:expect(a.qp:modify(steps[2])):equals "OK"
	t:expect(a.qp:post({ write(a, b, 1) }, srd.address(a, b))):equals "OK"
end)

srd.scenario("the first message comes before the peer is ready to receive", form(C20, "broken", {
	fails = "got \"IBV_WC_REM_INV_RD_REQ_ERR\"",
}), function(t)
	local a, b = t:verbs_end("a", { memory = 64 }), fresh(t, "b")
	local peer = srd.address(a, b)
	t:expect(srd.address(b, a)):differs_from(nil)
	t:expect(b.qp:modify(steps[1])):equals "OK"
	t:expect(a.qp:post({ write(a, b, 1) }, peer)):equals "OK"
	t:run_for "1ms" -- long enough, somebody thought
	t:expect(b.qp:modify(steps[2])):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
end)

srd.scenario("which state takes which post", form(C20, "right"), function(t)
	local a, b = fresh(t, "a"), t:verbs_end("b", { memory = 64 })
	local peer = srd.address(a, b)
	t:expect(srd.address(b, a)):differs_from(nil)
	local function takes(send, receive)
		t:expect(a.qp:post({ write(a, b, 1) }, peer)):equals(send)
		t:expect(a.qp:post_recv { sg_list = a.mem }):equals(receive)
		if send == "OK" then
			a.cq:wait()
		end
	end
	takes("EINVAL", "EINVAL") -- RESET
	for _, step in ipairs(steps) do
		t:expect(a.qp:modify(step)):equals "OK"
		takes(step.state == "RTS" and "OK" or "EINVAL", "OK")
	end
	t:expect(a.qp:modify { state = "SQD" }):equals "OK"
	takes("OK", "OK")
	t:expect(a.qp:modify { state = "ERR" }):equals "OK"
	takes("EINVAL", "EINVAL")
end)

srd.scenario("both sides are seen in RTS before either posts, in every order of the steps",
	form(C20, "right"), function(t)
	-- Which of the two takes its next step, as bits of a number.
	for order = 0, 63 do
		local ones = 0
		for bit = 0, 5 do
			ones = ones + (order >> bit & 1)
		end
		if ones == 3 then
			local ends, at = { [0] = fresh(t, "a"), fresh(t, "b") }, { [0] = 0, 0 }
			local a, b = ends[0], ends[1]
			local to_b, to_a = srd.address(a, b), srd.address(b, a)
			for bit = 0, 5 do
				local who = order >> bit & 1
				at[who] = at[who] + 1
				t:expect(ends[who].qp:modify(steps[at[who]])):equals "OK"
			end
			t:expect({ a.qp.state, b.qp.state }):equals { "RTS", "RTS" }
			t:expect(a.qp:post({ write(a, b, 1) }, to_b)):equals "OK"
			t:expect(b.qp:post({ write(b, a, 1) }, to_a)):equals "OK"
			t:expect(a.cq:wait()[1].vendor_err):equals(0)
			t:expect(b.cq:wait()[1].vendor_err):equals(0)
		end
	end
end)

local C25 = "C25 (https://github.com/NVIDIA/nccl/issues/1921): one side had more rails than the other, and "
	.. "pieces were sent to queue pairs that did not exist, or set-up failed without a word about it."

-- Three rails at a, two at b; five pieces go where MAP(i, the ends at a) says.
local function rails(t, map, check)
	local as, bs = {}, {}
	for i = 1, 3 do
		as[i] = t:verbs_end("a", { memory = 20480, cap = { max_send_wr = 2, max_recv_wr = 1, max_send_sge = 1,
			max_recv_sge = 1 } })
		as[i].in_flight = 0
	end
	for i = 1, 2 do
		bs[i] = t:verbs_end("b", { memory = 20480 })
		t:expect(srd.address(bs[i], as[1])):differs_from(nil)
	end
	local b_numbers = { bs[1].qp.qp_num, bs[2].qp.qp_num, 99 } -- 99: what the table has behind its end
	local to = srd.address(as[1], bs[1])
	as[1].mem:fill "random"
	for i = 1, 5 do
		local mine, theirs = map(i, as)
		local a = as[mine]
		if a.in_flight == 2 then
			check(a.cq:wait()[1])
			a.in_flight = a.in_flight - 1
		end
		t:expect(a.qp:post({ { "write", wr_id = i, from = as[1].mem:slice(4096 * i - 4096, 4096),
			to = bs[1].mem:slice(4096 * i - 4096, 4096) } }, srd.with(to, { remote_qpn = b_numbers[theirs] }))):equals "OK"
		a.in_flight = a.in_flight + 1
	end
	for _, a in ipairs(as) do
		for _, wc in ipairs(a.cq:wait(a.in_flight)) do
			check(wc)
			a.in_flight = a.in_flight - 1
		end
	end
	return as[1].mem, bs[1].mem, as
end

srd.scenario("a rail is taken to have its like at the other side", form(C25, "broken", {
	violates = "address.target",
}), function(t)
	rails(t, function(i)
		return (i - 1) % 3 + 1, (i - 1) % 3 + 1
	end, function() end)
end)

srd.scenario("both sides use as many rails as the smaller one has", form(C25, "right"), function(t)
	local from, to = rails(t, function(i)
		return (i - 1) % 2 + 1, (i - 1) % 2 + 1
	end, function(wc)
		t:expect(wc.vendor_err):equals(0)
	end)
	t:expect(to):same_content(from)
end)

srd.scenario("three rails to two, each piece to one that exists", form(C25, "right"), function(t)
	local from, to = rails(t, function(i)
		return (i - 1) % 3 + 1, (i - 1) % 2 + 1
	end, function(wc)
		t:expect(wc.vendor_err):equals(0)
	end)
	t:expect(to):same_content(from)
end)

srd.scenario("a rail that fails fails the message once, and every credit comes back", form(C25, "right", {
	needs = { "faults" },
}), function(t)
	local failed = 0
	local _, _, as = rails(t, function(i, list)
		if i == 2 then
			t:fail(list[2].qp:next_request(), "REMOTE_ERROR_ABORT")
		end
		return i == 2 and 2 or 1, i == 2 and 2 or 1
	end, function(wc)
		failed = failed + (wc.status == "IBV_WC_SUCCESS" and 0 or 1)
	end)
	t:expect(failed):equals(1)
	for _, a in ipairs(as) do
		t:expect(a.in_flight):equals(0)
		t:expect(a.cq:poll()):equals {}
	end
end)
