-- Order, counting and sequence numbers: what code written for an ordered transport takes
-- for granted, and SRD does not give.
local srd = require "srdlab"

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "order" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local B35 = "B35 (https://github.com/uccl-project/uccl/pull/374): code from an ordered transport writes data, "
	.. "then a flag, and the flag overtakes the data."

-- What b finds in its memory at the moment that it sees the flag.
local function data_at_flag(t, data, flag, want)
	while flag:bytes(0, 1) ~= "\1" do
		t:run_for "200ns"
	end
	t:expect(data):same_content(want)
end

local function data_and_flag(t)
	local p = t:pair { max_send_wr = 4, memory = 12296 }
	p.a.mem:slice(0, 12288):fill "random"
	p.a.mem:write(12288, ("\1"):rep(8))
	return p, p.a.mem:slice(0, 12288), p.b.mem:slice(0, 12288), p.a.mem:slice(12288), p.b.mem:slice(12288)
end

srd.scenario("a flag written behind its data arrives first", form(B35, "broken", {
	orders = "all", limits = { max_rdma_size = 4096 }, fails = "expected the same content",
}), function(t)
	local p, from, to, flag_from, flag_to = data_and_flag(t)
	local data = p.a.qp:submit_put { from = from, to = to }
	local flag = p.a.qp:submit_put { from = flag_from, to = flag_to }
	data_at_flag(t, to, flag_to, from)
	t:wait { data, flag }
end)

srd.scenario("the flag is written when the data has completed, in every order", form(B35, "right", {
	orders = "all", needs = { "virtual_time" }, limits = { max_rdma_size = 4096 },
}), function(t)
	local p, from, to, flag_from, flag_to = data_and_flag(t)
	local data = p.a.qp:submit_put { from = from, to = to }
	t:spawn(function()
		t:wait(data)
		t:wait(p.a.qp:submit_put { from = flag_from, to = flag_to })
	end)
	data_at_flag(t, to, flag_to, from)
end)

srd.scenario("each piece brings an immediate and b counts them, in every order", form(B35, "right", {
	orders = "all",
}), function(t)
	local a, b = t:verbs_pair { memory = 12288 }
	a.mem:fill "random"
	local pieces = {}
	for i = 1, 3 do
		pieces[i] = { "write_imm", wr_id = i, imm_data = 3, -- how many there are
			from = a.mem:slice(4096 * i - 4096, 4096), to = b.mem:slice(4096 * i - 4096, 4096) }
		t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 0) }):equals "OK"
	end
	t:expect(a.qp:post(pieces, a.peer)):equals "OK"
	local count = 0
	repeat
		local total = b.cq:wait()[1].imm_data
		count = count + 1
	until count == total
	t:expect(b.mem):same_content(a.mem)
	a.cq:wait(3)
end)

local B37 = "B37 (https://github.com/aws/aws-ofi-nccl/pull/1277): small messages were chained by a sequence "
	.. "number that all messages advance; after a full cycle of large ones two batches had the same number."

-- Two small batches with LARGE messages between them; NUMBER(i, small) gives the id of message
-- i, the SMALL-th of the small ones, in three bits. A batch names the one before it, and b
-- accepts a batch when that one is the last it accepted.
local function two_batches(t, large, number)
	local a, b = t:verbs_pair { memory = 64, cap = { max_send_wr = 32, max_recv_wr = 32, max_send_sge = 1,
		max_recv_sge = 1 } }
	local before, small = 7, 0
	for i = 0, large + 1 do
		t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
		local is_small = i == 0 or i == large + 1
		local id = number(i, small)
		t:expect(a.qp:post({ { is_small and "send_imm" or "write_imm", wr_id = i, from = a.mem, to = b.mem,
			imm_data = (is_small and 64 or 0) | id << 3 | before } }, a.peer)):equals "OK"
		if is_small then
			before, small = id, small + 1
		end
	end
	local accepted, last, pending = 0, 7, {}
	while accepted < 2 do
		local imm = b.cq:wait()[1].imm_data
		if imm & 64 ~= 0 then
			pending[imm & 7] = imm >> 3 & 7
		end
		-- One that names itself is not what comes next.
		while pending[last] and pending[last] ~= last do
			last, pending[last] = pending[last], nil
			accepted = accepted + 1
		end
	end
	a.cq:wait(large + 2)
end

srd.scenario("a chain of small messages is numbered with large ones between", form(B37, "broken", {
	fails = "deadlock",
}), function(t)
	two_batches(t, 7, function(i)
		return i % 8
	end)
end)

srd.scenario("small messages count for themselves", form(B37, "right", { seeds = true }), function(t)
	for large = 0, 17 do
		two_batches(t, large, function(_, small)
			return small % 8
		end)
	end
end)

local B38 = "B38 (https://github.com/aws/aws-ofi-nccl/pull/1204): a table of 128 slots was indexed by numbers "
	.. "of 11 bits, so that two outstanding operations shared a slot and an acknowledgement was lost."

-- Numbers of four bits in a table of SLOTS; number 0 is slow. At most WINDOW numbers lie
-- between the oldest that is out and the newest.
local function slow_first(t, slots, window)
	local a, b = t:verbs_pair { memory = 64 }
	local slot, done, oldest = {}, {}, 0
	local slow = a.qp:next_request()
	t:hold(slow)
	local function reap()
		local at = a.cq:wait()[1].wr_id % slots
		t:expect(slot[at]):differs_from(nil) -- whose acknowledgement is it?
		done[slot[at]], slot[at] = true, nil
		while done[oldest] do
			oldest = oldest + 1
		end
	end
	local function let_go()
		if slow then
			t:release(slow)
			slow = nil
		end
	end
	local function submit(n)
		while n - oldest >= window do
			let_go()
			reap()
		end
		slot[n % slots] = n
		t:expect(a.qp:post({ { "write", wr_id = n, from = a.mem, to = b.mem } }, a.peer)):equals "OK"
	end
	for n = 0, 3 do
		submit(n)
	end
	for _ = 1, 3 do
		reap()
	end
	submit(4)
	let_go()
	while oldest < 5 do
		reap()
	end
end

srd.scenario("two outstanding operations share a slot of a table", form(B38, "broken", {
	needs = { "faults" }, fails = "expected anything but nil",
}), function(t)
	slow_first(t, 4, 16)
end)

srd.scenario("the window is not larger than the table", form(B38, "right", { needs = { "faults" } }), function(t)
	slow_first(t, 4, 4)
end)

srd.scenario("the table is as large as the numbers", form(B38, "right", { needs = { "faults" } }), function(t)
	slow_first(t, 16, 16)
end)

local B40 = "B40 (https://github.com/ofiwg/libfabric/pull/11894): the peer's receipt came before the "
	.. "completion of the send that it acknowledged; the record was released and used again while the device "
	.. "still had the buffer."

-- A request and its reply, twice, with one record for both. REPLY_FIRST: b's reply comes
-- before the completion of the request. IS_DONE(record) says when the record is free.
local function request_and_reply(t, reply_first, is_done)
	local a, b = t:verbs_pair { memory = 64 }
	local record = { outstanding = 0 }
	local function request(text)
		record.outstanding, record.replied, record.text = record.outstanding + 1, false, text
		a.mem:write(0, text)
		t:expect(a.qp:post_recv { wr_id = 100, sg_list = a.mem:slice(32, 8) }):equals "OK"
		t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 8) }):equals "OK"
		t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem:slice(0, 8) } }, a.peer)):equals "OK"
	end
	local function reply()
		b.cq:wait()
		t:expect(b.mem:bytes(0, 8)):equals(record.text)
		t:expect(b.qp:post({ { "send", from = b.mem:slice(32, 8) } }, b.peer)):equals "OK"
		b.cq:wait()
	end
	local function progress()
		local wc = a.cq:wait()[1]
		if wc.wr_id == 100 then
			record.replied = true
		else
			record.outstanding = record.outstanding - 1
		end
	end
	local held = a.qp:next_request()
	t:hold(held)
	request "request1"
	reply()
	if reply_first then
		progress()
		t:spawn(function()
			t:run_for "1ms"
			t:release(held)
		end)
	else
		t:release(held)
	end
	while not is_done(record) do
		progress()
	end
	t:expect(record.outstanding):equals(0) -- else the record and its buffer are still the device's
	request "request2"
	reply()
	while not is_done(record) do
		progress()
	end
end

srd.scenario("the receipt alone ends the operation", form(B40, "broken", {
	needs = { "faults" }, fails = "expected 0, got 1",
}), function(t)
	request_and_reply(t, true, function(record)
		return record.replied
	end)
end)

srd.scenario("it ends with the receipt and the last completion, in both orders", form(B40, "right", {
	needs = { "faults" },
}), function(t)
	for _, reply_first in ipairs { true, false } do
		request_and_reply(t, reply_first, function(record)
			return record.replied and record.outstanding == 0
		end)
	end
end)

local B42 = "B42 (https://github.com/ai-dynamo/nixl/pull/1736): transfer ids were unique for each sender "
	.. "only, and the receiver took pieces of two senders for one transfer."

-- Two agents send b a transfer with id 7 in two pieces each, which arrive alternately. KEY(wc)
-- is what the receiver counts pieces by.
local function two_senders(t, key)
	local b = t:verbs_end("b", { memory = 256 })
	for agent = 1, 2 do
		local a = t:verbs_end("a" .. agent, { memory = 128 })
		local peer = srd.address(a, b)
		t:expect(srd.address(b, a)):differs_from(nil)
		a.mem:fill "random"
		for piece = 0, 1 do
			t:delay(a.qp:next_request(), 100000 * (2 * piece + agent))
			t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 0) }):equals "OK"
			t:expect(a.qp:post({ { "write_imm", wr_id = piece, from = a.mem:slice(64 * piece, 64),
				to = b.mem:slice(128 * agent - 128 + 64 * piece, 64), imm_data = agent << 16 | 7 } }, peer)):equals "OK"
		end
	end
	local pieces, ended = {}, {}
	for arrival = 1, 4 do
		local k = key(b.cq:wait()[1])
		pieces[k] = (pieces[k] or 0) + 1
		if pieces[k] == 2 then
			ended[#ended + 1] = arrival
		end
	end
	t:expect(ended):equals { 3, 4 }
end

srd.scenario("pieces are counted by the sender's id alone", form(B42, "broken", {
	needs = { "faults" }, profile = { level = "message" }, fails = "expected 3, got 2",
}), function(t)
	two_senders(t, function(wc)
		return wc.imm_data & 0xffff
	end)
end)

srd.scenario("the queue-pair number does not tell two hosts apart", form(B42, "broken", {
	needs = { "faults" }, profile = { level = "message" }, fails = "expected 3, got 2",
}), function(t)
	two_senders(t, function(wc)
		return wc.src_qp << 16 | wc.imm_data & 0xffff
	end)
end)

srd.scenario("pieces are counted by sender and id", form(B42, "right", {
	needs = { "faults" }, profile = { level = "message" },
}), function(t)
	two_senders(t, function(wc)
		return wc.imm_data -- a handshake gave each agent its index
	end)
end)

local B43 = "B43 (https://github.com/ai-dynamo/nixl/pull/1966): requests of a batch waited for more to "
	.. "follow, and the doorbell rang for the queue pair of the last one only."

-- COUNT writes to the rails that RAIL(i) names, one session a rail, which is ended where
-- ENDS(i) says so.
local function batch(t, count, rail, ends)
	local rails, b = {}, t:verbs_end("b", { memory = 64 })
	for i = 1, 2 do
		rails[i] = t:verbs_end("a", { memory = 64, cap = { max_send_wr = 32, max_recv_wr = 1, max_send_sge = 1,
			max_recv_sge = 1 } })
		rails[i].peer, rails[i].count = srd.address(rails[i], b), 0
		t:expect(srd.address(b, rails[i])):differs_from(nil)
	end
	for i = 1, count do
		local a = rails[rail(i)]
		if a.count == 0 then
			a.qp:wr_start()
		end
		a.count = a.count + 1
		a.qp:wr_rdma_write { wr_id = i, rkey = b.mem.rkey, remote_addr = b.mem.addr }
		a.qp:wr_set_sge(a.mem)
		a.qp:wr_set_ud_addr(a.peer)
		if ends(i) then
			t:expect(a.qp:wr_complete()):equals "OK"
		end
	end
	return rails
end

local function alternate(i)
	return i % 2 + 1
end

srd.scenario("only the rail of the last request gets its doorbell", form(B43, "broken", {
	violates = "session.destroy", -- by then they are still not posted
}), function(t)
	local rails = batch(t, 5, alternate, function(i)
		return i == 5
	end)
	rails[2].cq:wait(3)
end)

srd.scenario("the last request of each rail rings", form(B43, "right"), function(t)
	for _, count in ipairs { 1, 2, 5, 15, 16, 17 } do
		local rails = batch(t, count, alternate, function(i)
			return i > count - 2
		end)
		for _, a in ipairs(rails) do
			a.cq:wait(a.count)
		end
	end
	local rails = batch(t, 16, function(i)
		return i == 16 and 2 or 1
	end, function(i)
		return i > 14
	end)
	rails[1].cq:wait(15)
	rails[2].cq:wait(1)
end)
