-- The completion queue: its size, entries that belong to nobody any more, and what an entry
-- says and does not say.
local srd = require "srdlab"

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "completion" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local function depth(n)
	return { max_send_wr = n, max_recv_wr = 16, max_send_sge = 1, max_recv_sge = 1 }
end

local function write(a, b, id)
	return { "write", wr_id = id, from = a.mem, to = b.mem }
end

local B29 = "B29 (https://github.com/ofiwg/libfabric/pull/11337): a completion queue of a thousand entries "
	.. "overflowed; what a peer sends takes entries too, EFA drops what does not fit, and whoever waits for it "
	.. "hangs."

-- Three peers bring B four immediates each while it does not poll. OWN: writes of B itself.
local function incast(t, cqe, own)
	local b = t:verbs_end("b", { memory = 64, cqe = cqe })
	for _ = 1, 12 do
		t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	end
	for i = 1, 3 do
		local a = t:verbs_end("a" .. i, { memory = 64 })
		local peer = srd.address(a, b)
		b.peer = srd.address(b, a)
		for id = 1, 4 do
			local wr = { "write_imm", wr_id = id, from = a.mem, to = b.mem, imm_data = i }
			t:expect(a.qp:post({ wr }, peer)):equals "OK"
		end
		b.target = a
	end
	for id = 1, own do
		t:expect(b.qp:post({ write(b, b.target, id) }, b.peer)):equals "OK"
	end
	t:run_for "1ms"
	return b.cq
end

srd.scenario("more arrives than the completion queue holds", form(B29, "broken", {
	violates = "completion.overrun",
}), function(t)
	incast(t, 8, 0)
end)

srd.scenario("a completion queue without room for what is outstanding", form(B29, "broken", {
	violates = "completion.room",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cqe = 4, cap = depth(8) }
	for id = 1, 5 do
		t:expect(a.qp:post({ write(a, b, id) }, a.peer)):equals "OK"
	end
	a.cq:wait(5) -- in time, this once
end)

srd.scenario("a queue is handed on with flushes in it", form(B29, "broken", {
	needs = { "faults", "rdma_core_65" }, profile = { id64 = false }, fails = "poll_cq failed: EINVAL",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cqe = 4, cap = depth(4) }
	for id = 1, 2 do
		t:hold(a.qp:next_request())
		t:expect(a.qp:post({ write(a, b, id) }, a.peer)):equals "OK"
	end
	t:expect(a.qp:destroy_qp()):equals "OK"
	local next_owner = t:verbs_end("a", { memory = 64, send_cq = a.cq, cap = depth(4) })
	t:expect(next_owner.qp:post({ write(next_owner, b, 1) }, a.peer)):equals "OK"
	next_owner.cq:wait()
end)

srd.scenario("room for all that peers send and for what is its own", form(B29, "right"), function(t)
	t:expect(#incast(t, 12, 0):poll(16)):equals(12)
	t:expect(#incast(t, 16, 4):poll(20)):equals(16)
end)

local B30 = "B30 (https://github.com/linux-rdma/rdma-core/pull/1616): completions that were still in the "
	.. "queue when its last queue pair was destroyed could not be read, or came back as errors that ended the "
	.. "loop that should drain them."

-- Two completions, unread, of a queue pair that is destroyed; DRAIN has to empty the queue.
local function destroyed_unread(t, drain)
	local a, b = t:verbs_pair { memory = 64 }
	for id = 1, 2 do
		t:expect(a.qp:post({ write(a, b, id) }, a.peer)):equals "OK"
	end
	t:run_for "1ms"
	t:expect(a.qp:destroy_qp()):equals "OK"
	drain(a.cq)
	local successor = t:verbs_end("a", { memory = 64, send_cq = a.cq })
	t:expect(successor.qp:post({ write(successor, b, 7) }, a.peer)):equals "OK"
	t:expect(successor.cq:wait()[1].wr_id):equals(7)
end

srd.scenario("the loop that drains stops at the first entry of a destroyed queue pair", form(B30, "broken", {
	needs = { "virtual_time", "rdma_core_65" }, profile = { id64 = false }, fails = "poll_cq failed: EINVAL",
}), function(t)
	destroyed_unread(t, function(cq)
		local list = cq:poll(16)
		while list and #list > 0 do
			list = cq:poll(16)
		end
	end)
end)

-- One completion, unread, of a queue pair whose number the next one gets.
local function number_given_out_again(t)
	local a, b = t:verbs_pair { memory = 64 }
	t:expect(a.qp:post({ write(a, b, 5) }, a.peer)):equals "OK"
	t:run_for "1ms"
	t:expect(a.qp:destroy_qp()):equals "OK"
	t:verbs_end("a", { memory = 64, send_cq = a.cq })
	a.cq:poll()
end

srd.scenario("an old library credits the entry to the next queue pair of that number", form(B30, "broken", {
	profile = { base = "small", max_qp = 1, stale_check = "qpn" },
	violates = "completion.unknown",
}), number_given_out_again)

srd.scenario("so does a new one where ids have 64 bits", form(B30, "broken", {
	needs = { "virtual_time", "rdma_core_65" }, profile = { base = "small", max_qp = 1, id64 = true },
	violates = "completion.unknown",
}), number_given_out_again)

srd.scenario("the loop skips what is nobody's and goes on until the queue is empty", form(B30, "right", {
	needs = { "rdma_core_65" }, profile = { id64 = false },
}), function(t)
	destroyed_unread(t, function(cq)
		local skipped, list, errno = 0
		repeat
			list, errno = cq:poll()
			skipped = skipped + (errno and 1 or 0)
		until list and #list == 0
		t:expect(skipped):equals(2)
	end)
end)

local B32 = "B32 (https://github.com/meta-pytorch/torchcomms/pull/3614): pending requests stood in a first-in "
	.. "first-out list and each completion took its head, as if completions came in the order of the posts."

-- Four writes that complete in this order; TAKE(wc) says which one is done.
local function four(t, order, take)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local requests = {}
	for id = 0, 3 do
		requests[id] = a.qp:next_request()
		t:hold(requests[id])
		t:expect(a.qp:post({ write(a, b, id) }, a.peer)):equals "OK"
	end
	t:run_for "1ms"
	for _, id in ipairs(order) do
		t:release(requests[id])
		t:expect(take(a.cq:wait()[1])):equals(id)
	end
end

srd.scenario("a completion is taken for that of the oldest request", form(B32, "broken", {
	needs = { "faults" }, fails = "expected 3, got 0",
}), function(t)
	local pending = { 0, 1, 2, 3 }
	four(t, { 3, 1, 2, 0 }, function()
		return table.remove(pending, 1)
	end)
end)

srd.scenario("two requests in flight with the same id", form(B32, "broken", {
	violates = "id.ambiguous",
}), function(t)
	local a, b = t:verbs_pair { memory = 64 }
	t:expect(a.qp:post({ write(a, b, 7), write(a, b, 7) }, a.peer)):equals "OK"
	a.cq:wait(2)
end)

srd.scenario("found by id, and all up to one only from a prefix without gap", form(B32, "right", {
	needs = { "faults" },
}), function(t)
	local done, prefix = {}, 0
	four(t, { 3, 1, 2, 0 }, function(wc)
		done[wc.wr_id] = true
		while done[prefix] do
			prefix = prefix + 1
		end
		t:expect(prefix):equals(wc.wr_id == 0 and 4 or 0)
		return wc.wr_id
	end)
end)

local B33 = "B33 (https://github.com/ofiwg/libfabric/commit/304dc3dfd4bef57fab56c0fe07f6121a3a05e7eb): the "
	.. "library calls a completed read a send and gives no length, so that who goes by the opcode takes one for "
	.. "the other."

-- A send, a write and a read in flight, completed read first; COUNT(wc) says what completed.
local function send_write_read(t, count)
	local a, b = t:verbs_pair { memory = 64 }
	local kinds, requests, got = { "send", "write", "read" }, {}, {}
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	for id, kind in ipairs(kinds) do
		requests[id] = a.qp:next_request()
		t:hold(requests[id])
		local from, to = a.mem, b.mem
		if kind == "read" then
			from, to = to, from
		end
		t:expect(a.qp:post({ { kind, wr_id = id, from = from, to = to } }, a.peer)):equals "OK"
	end
	t:run_for "1ms"
	for _, id in ipairs { 3, 1, 2 } do
		t:release(requests[id])
		got[#got + 1] = count(a.cq:wait()[1], kinds)
	end
	t:expect(got):equals { "read", "send", "write" }
end

local function by_opcode(wc)
	local names = { IBV_WC_SEND = "send", IBV_WC_RDMA_WRITE = "write", IBV_WC_RDMA_READ = "read" }
	return names[wc.opcode]
end

local function by_id(wc, kinds)
	return kinds[wc.wr_id]
end

srd.scenario("what completed is told from the opcode", form(B33, "broken", {
	needs = { "faults" }, fails = "not equal at [1]: expected \"read\", got \"send\"",
}), function(t)
	send_write_read(t, by_opcode)
end)

srd.scenario("what completed is looked up by its id", form(B33, "right", { needs = { "faults" } }), function(t)
	send_write_read(t, by_id)
end)

srd.scenario("by its id also where a read is called a read", form(B33, "right", {
	needs = { "faults" }, profile = { read_opcode = "RDMA_READ" },
}), function(t)
	send_write_read(t, by_id)
end)
