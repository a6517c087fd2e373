-- Send-queue credit: what may be in flight, who counts it, and when it comes back.
local srd = require "srdlab"

local limits = { max_rdma_size = 4096 }

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "credit" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local ops = { "send", "write", "write_imm", "read" }

-- A request of 64 bytes of any kind from end A to end B.
local function small(kind, a, b, id)
	return { kind, wr_id = id, from = kind == "read" and b.mem or a.mem, to = kind == "read" and a.mem or b.mem,
		imm_data = 1 }
end

-- A gate of DEPTH credits over one end, as a library writes it: submit waits in a queue for a
-- credit, reap takes one completion and gives its credit back.
local function gate(t, a, depth)
	local g = { in_flight = 0, most = 0, waiting = {}, done = {}, started = {} }
	function g.pump()
		while g.waiting[1] and g.in_flight < depth do
			local wr = table.remove(g.waiting, 1)
			local errno = a.qp:post({ wr }, a.peer)
			t:expect(errno):equals "OK"
			g.started[#g.started + 1] = wr.wr_id
			g.in_flight = g.in_flight + 1
			g.most = math.max(g.most, g.in_flight)
		end
	end
	function g.submit(wr)
		g.waiting[#g.waiting + 1] = wr
		g.pump()
	end
	function g.reap()
		local wc = a.cq:wait()[1]
		g.in_flight = g.in_flight - 1
		g.done[wc.wr_id] = wc.status
		g.pump()
		return wc
	end
	function g.finish()
		while g.in_flight > 0 do
			g.reap()
		end
	end
	return g
end

local function depth(n)
	return { max_send_wr = n, max_recv_wr = 16, max_send_sge = 1, max_recv_sge = 1 }
end

local B15 = "B15 (https://github.com/kvcache-ai/Mooncake/pull/3296): the ceiling of a software credit counter "
	.. "came from the configuration, the depth of the queue from the device; too low a ceiling wasted the "
	.. "queue, too high a one ended in endless tries."

-- A layer that counts CEILING credits over a queue of DEPTH.
local function eight_writes_and_one(t, ceiling)
	local a, b = t:verbs_pair { memory = 64, cap = depth(5) } -- 8 are granted
	for i = 1, 16 do
		t:hold(a.qp:next_request(i))
	end
	local g = gate(t, a, ceiling)
	for i = 1, 9 do
		g.submit(small("write", a, b, i))
	end
	t:expect(g.most):equals(8)
	t:expect(#g.waiting):equals(1)
	t:release_all(a.qp)
	g.finish()
end

srd.scenario("the ceiling of credits is below the depth that was granted", form(B15, "broken", {
	needs = { "faults" }, fails = "expected 8, got 2",
}), function(t)
	eight_writes_and_one(t, 2)
end)

srd.scenario("the ceiling of credits is above the depth that was granted", form(B15, "broken", {
	needs = { "faults" }, fails = "expected \"OK\", got \"ENOMEM\"",
}), function(t)
	eight_writes_and_one(t, 16)
end)

srd.scenario("more in flight than was asked for, because more was granted", form(B15, "broken", {
	needs = { "faults" }, violates = "credit.requested",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(5) }
	for i = 1, 6 do
		t:expect(a.qp:post({ small("write", a, b, i) }, a.peer)):equals "OK"
	end
	a.cq:wait(6)
end)

srd.scenario("the ceiling is what was granted, and a wish beyond the device is clamped", form(B15, "right", {
	needs = { "faults" }, limits = { max_sq_wr = 8 },
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(8) }
	local device = a.host.verbs:efa_query_device()
	t:expect(select(2, a.host.verbs:create_qp_ex { send_cq = a.cq, recv_cq = a.cq, cap = depth(16) })):equals "EINVAL"
	t:expect(device.max_sq_wr):equals(8)
	for i = 1, 9 do
		t:hold(a.qp:next_request(i))
	end
	local g = gate(t, a, math.min(16, device.max_sq_wr))
	for i = 1, 9 do
		g.submit(small("write", a, b, i))
	end
	t:expect(g.most):equals(8)
	t:release_all(a.qp)
	g.reap()
	t:release_all(a.qp)
	g.finish()
	t:expect(#g.done):equals(9)
end)

local B16 = "B16 (https://github.com/meta-pytorch/monarch/pull/3686): a batch submitted at once filled the "
	.. "send queue, and the error that was shown was an old errno, because verbs return theirs."

srd.scenario("a batch is posted without a look at the credits", form(B16, "broken", {
	limits = limits, fails = "Cannot allocate memory",
}), function(t)
	local p = t:pair { max_send_wr = 4, memory = 4096 }
	for _ = 1, 10 do
		p.a.qp:put { from = p.a.mem, to = p.b.mem }
	end
end)

srd.scenario("the error of a post is looked for elsewhere than in what it returns", form(B16, "broken", {
	fails = "expected \"ENOMEM\", got \"EAGAIN\"",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local errno = "EAGAIN" -- of some earlier call of this thread
	local function post()
		return a.qp:post({ small("write", a, b, 1) }, a.peer) == "OK" or errno
	end
	for _ = 1, 4 do
		t:expect(post()):equals(true)
	end
	t:expect(post()):equals "ENOMEM"
end)

srd.scenario("a batch of ten through four slots, first in first out", form(B16, "right", {
	needs = { "faults" }, limits = limits,
}), function(t)
	local p = t:pair { max_send_wr = 4, memory = 4096 }
	local q, ops_, first = p.a.qp, {}, 1
	for i = 1, 10 do
		t:hold(q:next_request(i))
	end
	for i = 1, 10 do
		ops_[i] = q:submit_put { from = p.a.mem, to = p.b.mem }
	end
	while first <= 10 do
		t:expect(q:in_flight()):equals(math.min(4, 11 - first))
		t:release(ops_[first]:request(1))
		t:wait(ops_[first])
		first = first + 1
	end
	for i, op in ipairs(ops_) do
		t:expect(op:wr_ids()):equals { i - 1 }
	end
end)

srd.scenario("the error of a post is what it returns", form(B16, "right"), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	for i = 1, 4 do
		t:expect(a.qp:post({ small("write", a, b, i) }, a.peer)):equals "OK"
	end
	t:expect(a.qp:post({ small("write", a, b, 5) }, a.peer)):equals "ENOMEM"
	a.cq:wait(4)
end)

local B17 = "B17 (https://github.com/meta-pytorch/monarch/pull/4342): EFA has no limit of its own for reads "
	.. "and says 0; read as a ceiling, that lets no read through."

-- Six reads where MOST may be out at a time.
local function six_reads(t, most)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local g = gate(t, a, most)
	for i = 1, 6 do
		g.submit(small("read", a, b, i))
	end
	while #g.done < 6 do
		g.reap()
	end
	t:expect(g.most):equals(4)
end

srd.scenario("no limit for reads, said as 0, is taken for none allowed", form(B17, "broken", {
	fails = "deadlock",
}), function(t)
	local max_rd_atomic = 0 -- what the device says
	six_reads(t, math.min(4, max_rd_atomic))
end)

srd.scenario("reads need slots of the send queue and nothing else", form(B17, "right", { seeds = true }), function(t)
	six_reads(t, 4)
end)

local B19 = "B19 (https://github.com/ofiwg/libfabric/commit/cc01e447a725ae5081bbbcb67f0d4df939ff16cd): sends "
	.. "looked at the number of outstanding requests, reads did not."

srd.scenario("reads go past the gate that sends keep", form(B19, "broken", {
	needs = { "faults" }, fails = "expected \"OK\", got \"ENOMEM\"",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local g = gate(t, a, 4)
	for i = 1, 4 do
		t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
		t:hold(a.qp:next_request())
		g.submit(small("send", a, b, i))
	end
	t:expect(a.qp:post({ small("read", a, b, 5) }, a.peer)):equals "OK"
end)

srd.scenario("every kind waits behind every other at one gate", form(B19, "right", {
	needs = { "faults" },
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	for _, x in ipairs(ops) do
		for _, y in ipairs(ops) do
			local g = gate(t, a, 4)
			for i = 1, 5 do
				local kind = i < 5 and x or y
				if kind == "send" or kind == "write_imm" then
					t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
				end
				t:hold(a.qp:next_request(i))
			end
			local requests = {}
			for i = 1, 4 do
				requests[i] = a.qp:next_request()
				g.submit(small(x, a, b, i))
			end
			g.submit(small(y, a, b, 5))
			t:expect(#g.started):equals(4)
			t:release(requests[2])
			t:expect(g.reap().wr_id):equals(2)
			t:expect(#g.started):equals(5)
			t:release_all(a.qp)
			g.finish()
			while #b.cq:poll() > 0 do -- what B received
			end
		end
	end
end)

local B21 = "B21 (https://github.com/ofiwg/libfabric/pull/12656): operations that give their user no entry "
	.. "were not counted either, and whoever waited for the count waited for ever."

-- Five silent writes through a queue of four, then a wait for their count.
local function five_silent(t, count_silent)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local entries, counter = 0, 0
	local g = gate(t, a, 4)
	for i = 1, 5 do
		local wr = small("write", a, b, i)
		g.submit(wr)
	end
	while counter < 5 do
		g.reap()
		local silent = true
		entries = entries + (silent and 0 or 1)
		counter = counter + ((not silent or count_silent) and 1 or 0)
	end
	t:expect({ entries, #g.done }):equals { 0, 5 }
end

srd.scenario("what is silent is not counted", form(B21, "broken", { fails = "deadlock" }), function(t)
	five_silent(t, false)
end)

srd.scenario("each completion counts, whether or not the user sees it", form(B21, "right"), function(t)
	five_silent(t, true)
end)

local B23 = "B23 (https://github.com/aws/aws-ofi-nccl/pull/769): one path lowered the counter of writes in "
	.. "flight that it had not raised."

-- A seeded mix of requests and outcomes. RAISES says which kinds raise the counter.
local function mixed(t, raises)
	local a, b = t:verbs_pair { memory = 64, cap = depth(8) }
	local counter, left = 0, 0
	local outcomes = { "ok", "ok", "failed", "cancelled" }
	for i = 1, 24 do
		local kind, outcome = ops[math.random(4)], outcomes[i == 1 and 1 or math.random(4)]
		kind = i == 1 and "write_imm" or kind
		counter = counter + (raises(kind) and 1 or 0)
		if outcome == "cancelled" then -- before it is posted
			counter = counter - (raises(kind) and 1 or 0)
		else
			if outcome == "ok" and (kind == "send" or kind == "write_imm") then
				t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
			elseif outcome == "failed" then
				t:fail(a.qp:next_request(), "REMOTE_ERROR_ABORT")
			end
			t:expect(a.qp:post({ small(kind, a, b, i) }, a.peer)):equals "OK"
			if math.random(2) == 1 then
				a.cq:wait()
				counter = counter - 1
			else
				left = left + 1
			end
		end
		t:expect(counter):at_least(0):at_most(8)
		if left == 7 or i == 24 then
			a.cq:wait(left)
			counter, left = counter - left, 0
			t:expect(counter):at_least(0)
		end
	end
	t:expect(counter):at_least(0):equals(0)
end

srd.scenario("a path gives back a credit that it never took", form(B23, "broken", {
	needs = { "faults" }, seeds = true, fails = "expected at least 0",
}), function(t)
	mixed(t, function(kind)
		return kind ~= "write_imm" -- it needs no acknowledgement
	end)
end)

srd.scenario("each path gives back what it took, whatever the outcome", form(B23, "right", {
	needs = { "faults" }, seeds = true,
}), function(t)
	mixed(t, function()
		return true
	end)
end)

local B24 = "B24 (https://github.com/ai-dynamo/nixl/pull/1747): a request that ended in an error was not put "
	.. "back in the pool and its owner was not told, so that each error cost a credit and a hang."

-- Three writes of which the second fails, again and again, and then four good ones.
local function failures(t, return_on_error)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local free, told = 4, {}
	local function reap(n)
		for _, wc in ipairs(a.cq:wait(n)) do
			local good = wc.status == "IBV_WC_SUCCESS"
			free = free + ((good or return_on_error) and 1 or 0)
			told[wc.wr_id] = good and "done" or return_on_error and wc.vendor_err or nil
		end
	end
	local function post(id)
		while free == 0 do
			reap(1)
		end
		free = free - 1
		t:expect(a.qp:post({ small("write", a, b, id) }, a.peer)):equals "OK"
	end
	for round = 0, 4 do
		t:fail(a.qp:next_request(2), "REMOTE_ERROR_BAD_ADDRESS")
		for i = 1, 3 do
			post(3 * round + i)
		end
		reap(3)
		t:expect({ told[3 * round + 1], told[3 * round + 3] }):equals { "done", "done" }
		t:expect(told[3 * round + 2] or 7):equals(7)
	end
	for i = 16, 19 do
		post(i)
	end
	reap(4)
	t:expect({ free, #told }):equals { 4, 19 }
end

srd.scenario("an error completion gives its credit to nobody", form(B24, "broken", {
	needs = { "faults", "virtual_time" }, fails = "deadlock",
}), function(t)
	failures(t, false)
end)

srd.scenario("each completion gives its credit back and tells its owner", form(B24, "right", {
	needs = { "faults" },
}), function(t)
	failures(t, true)
end)

local B26 = "B26 (https://github.com/uccl-project/uccl/pull/681): only the last request of a batch was "
	.. "signaled, as is done on other devices; EFA refuses that, and with it the whole session."

-- A session of three writes with these flags.
local function session(a, b, flags, id)
	local list = {}
	for i, flag in ipairs(flags) do
		list[i] = srd.with(small("write", a, b, id + i), { flags = flag })
	end
	return a.qp:post(list, a.peer)
end

srd.scenario("a request without SIGNALED in the middle of a session", form(B26, "broken", {
	fails = "expected \"OK\", got \"EINVAL\"",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	t:expect(session(a, b, { "SIGNALED", 0, "SIGNALED" }, 0)):equals "OK"
end)

srd.scenario("the refused session has counted its requests already", form(B26, "broken", {
	fails = "deadlock",
}), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local in_flight = 3
	session(a, b, { "SIGNALED", 0, "SIGNALED" }, 0)
	while in_flight > 0 do
		in_flight = in_flight - #a.cq:wait()
	end
end)

srd.scenario("every request is signaled, or the queue pair signals all", form(B26, "right"), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	t:expect(session(a, b, { "SIGNALED", 0, "SIGNALED" }, 0)):equals "EINVAL"
	t:run_for "100us"
	t:expect(a.cq:poll(4)):equals {} -- nothing of it was posted
	t:expect(session(a, b, { "SIGNALED", "SIGNALED", "SIGNALED" }, 3)):equals "OK"
	a.cq:wait(3)
	local c = t:verbs_end("a", { memory = 64, cap = depth(4), sq_sig_all = 1 })
	c.peer = a.peer
	t:expect(session(c, b, { "SIGNALED", 0, "SIGNALED" }, 0)):equals "OK"
	c.cq:wait(3)
end)

local B27 = "B27 (https://github.com/pytorch/tensorpipe/pull/414): the send queue was sized for data, and the "
	.. "acknowledgements that share it found no room."

-- Both sides keep WINDOW writes out and owe each other an acknowledgement.
local function acknowledge(t, window)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	for _, sides in ipairs { { a, b }, { b, a } } do
		local me, other = sides[1], sides[2]
		t:expect(other.qp:post_recv { sg_list = other.mem }):equals "OK"
		for i = 1, window do
			t:hold(me.qp:next_request())
			t:expect(me.qp:post({ small("write", me, other, i) }, me.peer)):equals "OK"
		end
	end
	for _, sides in ipairs { { a, b }, { b, a } } do
		t:expect(sides[1].qp:post({ small("send", sides[1], sides[2], 9) }, sides[1].peer)):equals "OK"
	end
	t:release_all(a.qp)
	t:release_all(b.qp)
	a.cq:wait(window + 2)
	b.cq:wait(window + 2)
end

srd.scenario("the window of data leaves no slot for an acknowledgement", form(B27, "broken", {
	needs = { "faults" }, fails = "expected \"OK\", got \"ENOMEM\"",
}), function(t)
	acknowledge(t, 4)
end)

srd.scenario("one slot is kept for acknowledgements", form(B27, "right", { needs = { "faults" } }), function(t)
	acknowledge(t, 3)
end)

local C05 = "C05 (https://github.com/uccl-project/uccl/pull/1014): a permanent error of a post was taken for "
	.. "\"try again\", for ever."

-- Post until it is accepted. CLASSES says what to do with an errno.
local function persistent(a, wr, classes)
	for _ = 1, 100 do
		local errno = a.qp:post({ wr }, a.peer)
		local class = errno == "OK" and "posted" or classes(errno)
		if class ~= "again" then
			return class
		end
		a.cq:wait() -- a full queue has room when something completes, and not before
	end
	return "livelock"
end

srd.scenario("an error that will not go away is tried again", form(C05, "broken", { fails = "deadlock" }), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	t:fail_call("wr_complete", { nth = 0, errno = "EIO" })
	persistent(a, small("write", a, b, 1), function()
		return "again"
	end)
end)

srd.scenario("only a full queue is tried again, after a completion", form(C05, "right"), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = depth(4) }
	local function classes(errno)
		return errno == "ENOMEM" and "again" or "fatal"
	end
	for i = 1, 9 do
		t:expect(persistent(a, small("write", a, b, i), classes)):equals "posted"
	end
	a.cq:wait(4)
	for _, errno in ipairs { "EINVAL", "EIO" } do
		t:fail_call("wr_complete", { errno = errno })
		t:expect(persistent(a, small("write", a, b, 10), classes)):equals "fatal"
	end
end)
