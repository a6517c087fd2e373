-- The receive side: receivers that are not ready, receives that are none, and arrivals that
-- nobody asked for.
local srd = require "srdlab"

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "receive" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local function receive(t, b, id)
	t:expect(b.qp:post_recv { wr_id = id, sg_list = b.mem }):equals "OK"
end

local function imm(a, b, id)
	return { "write_imm", wr_id = id, from = a.mem, to = b.mem, imm_data = id }
end

-- The immediates of N arrivals at b.
local function arrivals(b, n)
	local got = {}
	for _, wc in ipairs(b.cq:wait(n)) do
		got[wc.imm_data] = (got[wc.imm_data] or 0) + 1
	end
	return got
end

local B45 = "B45 (https://github.com/ofiwg/libfabric/pull/9276): a write with immediate takes a receive at "
	.. "its target, and the path of writes did not know what to do when there was none."

srd.scenario("a write with immediate meets no receive and is given up", form(B45, "broken", {
	fails = "deadlock",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 0 }
	receive(t, b, 1)
	receive(t, b, 2)
	for id = 1, 3 do
		t:expect(a.qp:post({ imm(a, b, id) }, a.peer)):equals "OK"
	end
	a.cq:wait(3) -- an error among them, and nobody looks
	receive(t, b, 3)
	t:expect(arrivals(b, 3)):equals { 1, 1, 1 }
end)

srd.scenario("without retries it is sent again by the one who owns it", form(B45, "right", {
	seeds = true,
}), function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 0 }
	receive(t, b, 1)
	receive(t, b, 2)
	for id = 1, 3 do
		t:expect(a.qp:post({ imm(a, b, id) }, a.peer)):equals "OK"
	end
	local failed = 0
	for _, wc in ipairs(a.cq:wait(3)) do
		if wc.vendor_err == 10 then
			failed = failed + 1
			t:expect(wc.status):equals "IBV_WC_RNR_RETRY_EXC_ERR"
			receive(t, b, 3)
			t:expect(a.qp:post({ imm(a, b, wc.wr_id) }, a.peer)):equals "OK"
		end
	end
	t:expect(failed):equals(1)
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(arrivals(b, 3)):equals { 1, 1, 1 }
end)

srd.scenario("with endless retries it keeps its slot until there is a receive", form(B45, "right", {
	needs = { "fabric", "model" },
}), function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 7, cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 1,
		max_recv_sge = 1 } }
	local third = a.qp:next_request(3)
	t:fabric { order = "in_order" }
	receive(t, b, 1)
	receive(t, b, 2)
	for id = 1, 4 do
		t:expect(a.qp:post({ imm(a, b, id) }, a.peer)):equals "OK"
	end
	a.cq:wait(2)
	t:expect(arrivals(b, 2)):equals { 1, 1 }
	t:run_for "10ms"
	t:expect(t:locate(third)):equals "rnr"
	t:expect(a.cq:poll(4)):equals {}
	t:expect(a.qp:post({ imm(a, b, 5), imm(a, b, 6) }, a.peer)):equals "OK" -- the two slots that came back
	t:expect(a.qp:post({ imm(a, b, 7) }, a.peer)):equals "ENOMEM"
	for id = 3, 6 do
		receive(t, b, id)
	end
	a.cq:wait(4)
	t:expect(arrivals(b, 4)):equals { [3] = 1, [4] = 1, [5] = 1, [6] = 1 }
end)

local unsolicited = { flags = "UNSOLICITED_WRITE_RECV" }

srd.scenario("an unsolicited one needs no receive", form(B45, "right", {
	profile = { cap_unsolicited_write_recv = true },
}), function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 0, efa = unsolicited }
	for id = 1, 3 do
		t:expect(a.qp:post({ imm(a, b, id) }, a.peer)):equals "OK"
	end
	a.cq:wait(3)
	for _, wc in ipairs(b.cq:wait(3)) do
		t:expect(wc.wr_id):equals(0)
	end
end)

local B46 = "B46 (https://github.com/ofiwg/libfabric/pull/6887): user data was sent again when the receiver "
	.. "was not ready, the library's own packets were dropped, and the peer waited for a handshake that never "
	.. "came."

-- A sends its handshake; AGAIN(errno or vendor error) says whether it tries once more.
local function handshake(t, a, b, again)
	local errno
	repeat
		errno = a.qp:post({ { "send", wr_id = 99, from = a.mem } }, a.peer)
		if errno ~= "OK" then
			t:release_all(a.qp)
			a.cq:wait() -- a slot comes back
		end
	until errno == "OK" or not again(errno)
	if errno == "OK" then
		local wc = a.cq:wait()[1]
		if wc.status ~= "IBV_WC_SUCCESS" and again(wc.vendor_err) then
			receive(t, b, 1)
			return handshake(t, a, b, again)
		end
	end
	receive(t, b, 1)
	t:expect(b.cq:wait()[1].byte_len):equals(64)
end

local function never()
	return false
end

local function when_not_ready_or_full(why)
	return why == 10 or why == "ENOMEM"
end

-- A's send queue is full of writes when the handshake is due.
local function full(t)
	local a, b = t:verbs_pair { memory = 64, cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 1,
		max_recv_sge = 1 } }
	for id = 1, 4 do
		t:hold(a.qp:next_request())
		t:expect(a.qp:post({ { "write", wr_id = id, from = a.mem, to = b.mem } }, a.peer)):equals "OK"
	end
	return a, b
end

srd.scenario("a handshake that met no receive is not sent again", form(B46, "broken", {
	fails = "deadlock",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 0 }
	handshake(t, a, b, never)
end)

srd.scenario("a handshake that met a full queue is forgotten", form(B46, "broken", {
	needs = { "faults", "virtual_time" }, fails = "deadlock",
}), function(t)
	local a, b = full(t)
	handshake(t, a, b, never)
end)

srd.scenario("every packet is sent until it has arrived", form(B46, "right", { needs = { "faults" } }), function(t)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 0 }
	handshake(t, a, b, when_not_ready_or_full)
	a, b = full(t)
	handshake(t, a, b, when_not_ready_or_full)
end)

local B48 = "B48 (https://github.com/linux-rdma/perftest/pull/387): a receive for a write with immediate "
	.. "needs no buffer, so it was posted with no scatter entry; the library counts it and gives the device no "
	.. "descriptor."

-- Four receives with this list, then one write with immediate.
local function four_receives(t, rnr_retry, list)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = rnr_retry }
	for id = 1, 4 do
		t:expect(b.qp:post_recv { wr_id = id, sg_list = list and b.mem:slice(0, 0) or {} }):equals "OK"
	end
	t:expect(a.qp:post({ imm(a, b, 1) }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(b.cq:wait()[1].wr_id):equals(1)
end

srd.scenario("a receive without a scatter entry is no receive", form(B48, "broken", {
	violates = "completion.empty_receive", fails = "got \"IBV_WC_RNR_RETRY_EXC_ERR\"",
}), function(t)
	four_receives(t, 0, false)
end)

srd.scenario("with endless retries the write never completes", form(B48, "broken", {
	violates = "completion.empty_receive", fails = "until a receive is posted there",
}), function(t)
	four_receives(t, 7, false)
end)

srd.scenario("one scatter entry, though it be empty", form(B48, "right"), function(t)
	four_receives(t, 0, true)
end)

local B50 = "B50 (https://github.com/ofiwg/libfabric/pull/10530): an unsolicited arrival has the id 0 and "
	.. "belongs to no receive that was posted; code that looked for one gave back a credit that was not its "
	.. "own."

-- Three unsolicited arrivals while four receives are posted. BELONGS(wc): to a receive.
local function three_unsolicited(t, belongs)
	local a, b = t:verbs_pair { memory = 64, efa = unsolicited, cap = { max_send_wr = 4, max_recv_wr = 4,
		max_send_sge = 1, max_recv_sge = 1 } }
	for id = 0, 3 do
		receive(t, b, id)
	end
	for id = 1, 3 do
		t:expect(a.qp:post({ imm(a, b, id) }, a.peer)):equals "OK"
	end
	for _, wc in ipairs(b.cq:wait(3)) do
		if belongs(wc) then -- it is used up: post another
			t:expect(b.qp:post_recv { wr_id = wc.wr_id, sg_list = b.mem }):equals "OK"
		end
	end
	a.cq:wait(3)
	for id = 1, 4 do -- all four are still there
		t:expect(a.qp:post({ { "send", wr_id = id, from = a.mem } }, a.peer)):equals "OK"
	end
	b.cq:wait(4)
	a.cq:wait(4)
end

srd.scenario("an unsolicited arrival is taken for the receive with the id 0", form(B50, "broken", {
	profile = { cap_unsolicited_write_recv = true }, fails = "expected \"OK\", got \"ENOMEM\"",
}), function(t)
	three_unsolicited(t, function(wc)
		return wc.wr_id == 0
	end)
end)

srd.scenario("one that only one side knows of fails, and nobody sees why", form(B50, "broken", {
	needs = { "virtual_time", "rdma_core_65" }, profile = { cap_unsolicited_write_recv = true },
	fails = "got \"IBV_WC_REM_INV_REQ_ERR\"",
}), function(t)
	local a, b = t:verbs_pair { a = { memory = 64 }, b = { memory = 64, efa = unsolicited } }
	t:expect(a.qp:post({ imm(a, b, 1) }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
end)

srd.scenario("an arrival that takes no receive changes no credit", form(B50, "right", {
	profile = { cap_unsolicited_write_recv = true },
}), function(t)
	three_unsolicited(t, function()
		return false -- the queue pair was created so that none does
	end)
end)

srd.scenario("both sides agree on a way before they use it", form(B50, "right", {
	profile = { cap_unsolicited_write_recv = true },
}), function(t)
	for _, sides in ipairs { { true, true }, { true, false }, { false, true }, { false, false } } do
		local a, b = t:verbs_pair {
			a = { memory = 64, efa = sides[1] and unsolicited or nil },
			b = { memory = 64, efa = sides[2] and unsolicited or nil },
		}
		local wr = imm(a, b, 7)
		if sides[1] ~= sides[2] then
			wr[1] = "send_imm"
		end
		if not (sides[1] and sides[2]) then
			receive(t, b, 1)
		end
		t:expect(a.qp:post({ wr }, a.peer)):equals "OK"
		t:expect(a.cq:wait()[1].vendor_err):equals(0)
		t:expect(b.cq:wait()[1].imm_data):equals(7)
	end
end)

srd.scenario("an arrival of nobody's that fails is seen, and changes no credit", form(B50, "right", {
	profile = { cap_unsolicited_write_recv = true }, needs = { "faults" },
}), function(t)
	local a, b = t:verbs_pair { memory = 64, efa = unsolicited }
	receive(t, b, 3)
	t:fail_receive(b.qp, "LOCAL_ERROR_QP_INTERNAL_ERROR", 1)
	local statuses = {}
	for id = 1, 3 do
		t:expect(a.qp:post({ imm(a, b, id) }, a.peer)):equals "OK"
		local wc = b.cq:wait()[1]
		t:expect(wc.wr_id):equals(0)
		statuses[id] = wc.vendor_err
		t:expect(a.cq:wait()[1].vendor_err):equals(id == 2 and 12 or 0)
	end
	t:expect(statuses):equals { 0, 2, 0 }
	-- the receive that was posted is still there
	t:expect(a.qp:post({ { "send", wr_id = 4, from = a.mem } }, a.peer)):equals "OK"
	t:expect(b.cq:wait()[1].wr_id):equals(3)
	a.cq:wait()
end)

local C07 = "C07 (https://github.com/ofiwg/libfabric/pull/7103): where a branch lacked its other half, a "
	.. "packet that met no receive was sent again and reported as failed too."

-- A send that meets no receive at first; how often its owner is told.
local function outcomes(t, report_first)
	local a, b = t:verbs_pair { memory = 64, rnr_retry = 0 }
	local told = {}
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem } }, a.peer)):equals "OK"
	local wc = a.cq:wait()[1]
	t:expect(wc.vendor_err):equals(10)
	receive(t, b, 1)
	if report_first then
		told[#told + 1] = wc.status
	end
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem } }, a.peer)):equals "OK"
	told[#told + 1] = a.cq:wait()[1].status
	t:expect(told):equals { "IBV_WC_SUCCESS" }
end

srd.scenario("a send is reported as failed and sent again", form(C07, "broken", {
	fails = "expected \"IBV_WC_SUCCESS\", got \"IBV_WC_RNR_RETRY_EXC_ERR\"",
}), function(t)
	outcomes(t, true)
end)

srd.scenario("a send that is sent again has one outcome", form(C07, "right"), function(t)
	outcomes(t, false)
end)

local C26 = "C26 (https://github.com/ofiwg/libfabric/pull/9812): an error came on a receive that the library "
	.. "had posted for itself, and it looked for the operation behind it."

-- Two receives of the library's own; a message that is too long fails one of them. OWNER(id)
-- is the operation that a receive was posted for.
local function internal_receives(t, handle)
	local a, b = t:verbs_pair { memory = 128 }
	local level = 0
	local function post()
		t:expect(b.qp:post_recv { wr_id = 50, sg_list = b.mem:slice(0, 64) }):equals "OK"
		level = level + 1
	end
	post()
	post()
	t:expect(a.qp:post({ { "send", from = a.mem } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(11)
	local wc = b.cq:wait()[1]
	t:expect(wc.status):differs_from "IBV_WC_SUCCESS"
	level = level - 1
	handle(wc, post)
	t:expect(level):equals(2)
end

srd.scenario("the operation of a receive that has none", form(C26, "broken", {
	fails = "attempt to index a nil value",
}), function(t)
	local operations = {} -- by receive
	internal_receives(t, function(wc)
		t:log(operations[wc.wr_id].name, wc.status)
	end)
end)

srd.scenario("an error without an operation is noted, and the receive posted again", form(C26, "right"), function(t)
	local errors = 0
	internal_receives(t, function(_, post)
		errors = errors + 1
		post()
	end)
	t:expect(errors):equals(1)
end)
