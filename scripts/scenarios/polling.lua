-- Completion queues beyond the plain poll: the extended poll, which looks at one entry after
-- the other, and completion channels, through which a queue tells of an entry.
local srd = require "srdlab"

local every_field = "WITH_BYTE_LEN|WITH_IMM|WITH_QP_NUM|WITH_SRC_QP|WITH_SLID"

-- Two ends; the first reports to an extended queue, made with FIELDS.
local function pair(t, fields, options)
	options = options or {}
	local host = t:host "a"
	local attr = { cqe = 16, wc_flags = every_field }
	for k, v in pairs(fields or {}) do
		attr[k] = v
	end
	local cq = host.verbs:create_cq_ex(attr)
	return t:verbs_pair { memory = 256, a = { memory = 256, send_cq = cq, cap = options.cap, efa = options.efa },
		b = { memory = 256, efa = options.efa } }
end

local function writes(a, b, count, first)
	local list = {}
	for i = 1, count do
		list[i] = { "write", wr_id = (first or 0) + i, from = a.mem:slice(0, 64), to = b.mem:slice(0, 64) }
	end
	return list
end

-- All that is there, by one extended poll.
local function drain(cq)
	local found = {}
	local answer = cq:start_poll()
	if answer == "ENOENT" then
		return found
	end
	while answer == "OK" do
		found[#found + 1] = cq:read_wc()
		answer = cq:next_poll()
	end
	cq:end_poll()
	return found, answer
end

srd.scenario("an extended poll finds what a plain one does", { tags = { "law", "polling" } }, function(t)
	local a, b = pair(t)
	t:expect(drain(a.cq)):equals {}
	t:expect(a.qp:post(writes(a, b, 5), a.peer)):equals "OK"
	local seen = {}
	while #seen < 5 do
		for _, wc in ipairs(drain(a.cq)) do
			t:expect(wc.status):equals "IBV_WC_SUCCESS"
			t:expect(wc.opcode):equals "IBV_WC_RDMA_WRITE"
			t:expect(wc.qp_num):equals(a.qp.qp_num)
			t:expect(wc.byte_len):equals(0)
			seen[#seen + 1] = wc.wr_id
		end
		t:run_for "10us"
	end
	table.sort(seen)
	t:expect(seen):equals { 1, 2, 3, 4, 5 }
	-- both kinds of poll work on it
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].wr_id):equals(1)
end)

srd.scenario("an entry gives its credit back when the poll moves on", {
	needs = { "virtual_time" }, tags = { "law", "polling" },
}, function(t)
	local a, b = pair(t, nil, { cap = { max_send_wr = 2, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1 } })
	t:expect(a.qp:post(writes(a, b, 2), a.peer)):equals "OK"
	t:run_for "1ms"
	t:expect(a.qp:post(writes(a, b, 1, 2), a.peer)):equals "ENOMEM"
	t:expect(a.cq:start_poll()):equals "OK"
	-- seen, but not done with
	t:expect(a.qp:post(writes(a, b, 1, 2), a.peer)):equals "ENOMEM"
	t:expect(a.cq:next_poll()):equals "OK"
	t:expect(a.qp:post(writes(a, b, 1, 2), a.peer)):equals "OK"
	t:expect(a.qp:post(writes(a, b, 1, 3), a.peer)):equals "ENOMEM"
	a.cq:end_poll()
	t:expect(a.qp:post(writes(a, b, 1, 3), a.peer)):equals "OK"
	a.cq:wait(2)
end)

srd.scenario("a receive shows its fields, and only those that were asked for", {
	tags = { "law", "polling" },
}, function(t)
	for _, flags in ipairs { every_field, "WITH_BYTE_LEN" } do
		local a, b = pair(t, { wc_flags = flags })
		t:expect(a.qp:post_recv { wr_id = 9, sg_list = a.mem }):equals "OK"
		t:expect(b.qp:post({ { "send_imm", wr_id = 1, from = b.mem:slice(0, 48), imm_data = 0x1234 } }, b.peer)):equals "OK"
		b.cq:wait()
		local found = drain(a.cq)
		while #found == 0 do
			t:run_for "10us"
			found = drain(a.cq)
		end
		t:expect(found[1].wr_id):equals(9)
		t:expect(found[1].opcode):equals "IBV_WC_RECV"
		t:expect(found[1].wc_flags):equals { "IBV_WC_WITH_IMM" }
		t:expect(found[1].byte_len):equals(48)
		t:expect(found[1].imm_data):equals(flags == every_field and 0x1234 or nil)
		t:expect(found[1].src_qp):equals(flags == every_field and b.qp.qp_num or nil)
	end
end)

srd.scenario("the source GID is there where the address handle is not", {
	needs = { "hosts" }, tags = { "polling" },
}, function(t)
	local a = t:verbs_end("a", { memory = 256,
		send_cq = t:host("a").verbs:create_cq_ex { cqe = 16, efa_wc_flags = "WITH_SGID" } })
	local b = t:verbs_end("b", { memory = 256 })
	b.peer = srd.address(b, a)
	for i = 1, 2 do
		t:expect(a.qp:post_recv { wr_id = i, sg_list = a.mem }):equals "OK"
		t:expect(b.qp:post({ { "send", wr_id = i, from = b.mem } }, b.peer)):equals "OK"
		b.cq:wait()
		local found = drain(a.cq)
		t:expect(found[1].sgid):equals(i == 1 and b.host.verbs:query_gid() or nil)
		-- from now on it knows the sender
		t:expect(srd.address(a, b)):differs_from(nil)
	end
end)

srd.scenario("a receive of nobody's is told apart", { profile = "efa3", tags = { "polling" } }, function(t)
	local a, b = pair(t, { efa_wc_flags = "WITH_IS_UNSOLICITED" }, { efa = { flags = "UNSOLICITED_WRITE_RECV" } })
	t:expect(a.qp:post_recv { wr_id = 9, sg_list = a.mem }):equals "OK"
	t:expect(b.qp:post({ { "write_imm", wr_id = 1, from = b.mem, to = a.mem, imm_data = 1 } }, b.peer)):equals "OK"
	b.cq:wait()
	local wc = drain(a.cq)[1]
	t:expect(wc.is_unsolicited):equals(true)
	t:expect(wc.wr_id):equals(0)
	-- the receive that was posted is still there
	t:expect(b.qp:post({ { "send", wr_id = 2, from = b.mem } }, b.peer)):equals "OK"
	b.cq:wait()
	wc = drain(a.cq)[1]
	t:expect(wc.is_unsolicited):equals(false)
	t:expect(wc.wr_id):equals(9)
end)

srd.scenario("an entry of no live queue pair is passed over", {
	needs = { "faults", "virtual_time" }, tags = { "polling" },
}, function(t)
	local a, b = pair(t)
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:run_for "1ms"
	t:stale_completion(a.qp)
	t:expect(a.qp:post(writes(a, b, 1, 1), a.peer)):equals "OK"
	t:run_for "1ms"
	t:expect(a.cq:start_poll()):equals "OK"
	t:expect(a.cq:next_poll()):equals "EINVAL"
	t:expect(a.cq:read_wc().wr_id):equals(0)
	t:expect(a.cq:next_poll()):equals "OK"
	t:expect(a.cq:read_wc().wr_id):equals(2)
	t:expect(a.cq:next_poll()):equals "ENOENT"
	a.cq:end_poll()
	-- as the first of a poll it is the poll's error, and there is nothing to end
	t:stale_completion(a.qp)
	t:expect(a.cq:start_poll()):equals "EINVAL"
	t:expect(a.cq:start_poll()):equals "ENOENT"
end)

srd.scenario("a queue is made only with what EFA has", { tags = { "law", "polling" } }, function(t)
	local v = t:host("a").verbs
	for _, case in ipairs {
		{ { cqe = 0 }, "EINVAL" }, { { cqe = 16, wc_flags = "WITH_COMPLETION_TIMESTAMP" }, "EOPNOTSUPP" },
		{ { cqe = 16, comp_mask = 8 }, "EOPNOTSUPP" }, { { cqe = 16, comp_mask = 1, flags = 2 }, "EOPNOTSUPP" },
		{ { cqe = 16, efa_wc_flags = 4 }, "EOPNOTSUPP" }, { { cqe = 16, comp_mask = 2 }, "EOPNOTSUPP" },
	} do
		local cq, errno = v:create_cq_ex(case[1])
		t:expect(errno):equals(case[2])
		t:expect(cq == nil):equals(case[2] ~= nil)
	end
end)

-- libefa 56.1 refuses every comp_mask; the mock is like 65.0.
srd.scenario("a queue for one thread", {
	needs = { "virtual_time", "rdma_core_65" }, tags = { "law", "polling" },
}, function(t)
	t:expect(t:host("a").verbs:create_cq_ex { cqe = 16, comp_mask = 1, flags = 1 } ~= nil):equals(true)
end)

-- Each of these stops with the rule that names it, and the call does no harm.
for what, wrong in pairs {
	["an extended poll of a plain queue"] = function(t)
		local cq = t:host("a").verbs:create_cq(16)
		t:expect(cq:start_poll()):equals "EOPNOTSUPP"
	end,
	["a poll inside a poll"] = function(t, a)
		t:expect(a.cq:start_poll()):equals "OK"
		t:expect(a.cq:start_poll()):equals "EDEADLK"
		a.cq:end_poll()
	end,
	["a plain poll inside an extended one"] = function(t, a)
		t:expect(a.cq:start_poll()):equals "OK"
		local _, errno = a.cq:poll()
		t:expect(errno):equals "EDEADLK"
		a.cq:end_poll()
	end,
	["the next entry outside a poll"] = function(t, a)
		t:expect(a.cq:next_poll()):equals "EINVAL"
	end,
	["an end without a start"] = function(_, a)
		a.cq:end_poll()
	end,
	["an end after the poll ended"] = function(t, a)
		t:expect(a.cq:start_poll()):equals "OK"
		a.cq:end_poll()
		a.cq:end_poll()
	end,
	["the next entry after the last"] = function(t, a)
		t:expect(a.cq:start_poll()):equals "OK"
		while a.cq:next_poll() == "OK" do
		end
		t:expect(a.cq:next_poll()):equals "EINVAL"
		a.cq:end_poll()
	end,
	["a look at an entry that is not there"] = function(t, a)
		t:expect(a.cq:read_wc().wr_id):equals(0)
	end,
	["a queue pair destroyed inside a poll"] = function(t, a)
		t:expect(a.cq:start_poll()):equals "OK"
		t:expect(a.qp:destroy_qp()):equals "OK"
		-- the poll is over, and what is left belongs to nobody
		t:expect(a.cq:start_poll()):equals "EINVAL"
	end,
	["a poll that is never ended"] = function(t, a)
		t:expect(a.cq:start_poll()):equals "OK"
	end,
} do
	local needs = { "virtual_time", what:match "destroyed" and "rdma_core_65" }
	srd.scenario(what .. " is trapped", { needs = needs, tags = { "polling" }, violates = "completion.poll" },
		function(t)
			local a, b = pair(t)
			t:expect(a.qp:post(writes(a, b, 3), a.peer)):equals "OK"
			t:run_for "1ms"
			wrong(t, a)
		end)
end

srd.scenario("an extended poll inside a session is trapped", {
	needs = { "virtual_time" }, tags = { "polling" }, violates = "session.poll",
}, function(t)
	local a, b = pair(t)
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:run_for "1ms"
	a.qp:wr_start()
	t:expect(a.cq:start_poll()):equals "EDEADLK"
	a.qp:wr_abort()
	t:expect(#drain(a.cq)):equals(1)
end)

srd.scenario("a session left open at the end of a poll is trapped", {
	needs = { "virtual_time" }, tags = { "polling" }, violates = "session.poll",
}, function(t)
	local a, b = pair(t)
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:run_for "1ms"
	t:expect(a.cq:start_poll()):equals "OK"
	a.qp:wr_start()
	a.cq:end_poll()
end)

-- A queue with a channel.
local function with_channel(t)
	local channel = t:host("a").verbs:create_comp_channel()
	local a, b = pair(t, { channel = channel })
	return a, b, channel
end

local function none(t, channel)
	local cq, errno = channel:get_event()
	t:expect(cq):equals(nil)
	t:expect(errno):equals "EAGAIN"
end

srd.scenario("who asks for an event gets one for the next entry", { tags = { "law", "polling" } }, function(t)
	local a, b, channel = with_channel(t)
	none(t, channel)
	t:expect(a.cq:req_notify()):equals "OK"
	none(t, channel)
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:expect(channel:wait() == a.cq):equals(true)
	a.cq:ack_events()
	t:expect(a.cq:wait()[1].wr_id):equals(1)
	-- it was for one: who wants another asks again
	t:expect(a.qp:post(writes(a, b, 1, 1), a.peer)):equals "OK"
	a.cq:wait()
	none(t, channel)
	t:expect(a.cq:req_notify()):equals "OK"
	t:expect(a.qp:post(writes(a, b, 1, 2), a.peer)):equals "OK"
	t:expect(channel:wait() == a.cq):equals(true)
	a.cq:ack_events()
	a.cq:wait()
end)

srd.scenario("sleeping until something comes, without losing any", { tags = { "law", "polling" } }, function(t)
	local a, b, channel = with_channel(t)
	local seen = 0
	t:spawn(function()
		for i = 1, 8 do
			t:expect(a.qp:post(writes(a, b, 1, i), a.peer)):equals "OK"
			t:run_for "7us"
		end
	end)
	while seen < 8 do
		-- ask first and look again: what came in between would not be told
		t:expect(a.cq:req_notify()):equals "OK"
		seen = seen + #drain(a.cq)
		if seen < 8 then
			channel:wait():ack_events()
			seen = seen + #drain(a.cq)
		end
	end
	while channel:get_event() do
		a.cq:ack_events()
	end
end)

for policy, told in pairs { pending = true, next = false } do
	srd.scenario("an entry that is there already, where events are for the " .. policy, {
		profile = { notify = policy }, tags = { "polling" },
	}, function(t)
		local a, b, channel = with_channel(t)
		t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
		t:run_for "1ms"
		t:expect(a.cq:req_notify()):equals "OK"
		local cq = channel:get_event()
		t:expect(cq == a.cq):equals(told)
		if told then
			a.cq:ack_events()
		end
		a.cq:wait()
	end)
end

srd.scenario("several queues share a channel, and each event names its own", {
	tags = { "law", "polling" },
}, function(t)
	local channel = t:host("a").verbs:create_comp_channel()
	local a1, b1 = pair(t, { channel = channel })
	local a2, b2 = pair(t, { channel = channel })
	t:expect(channel:destroy_comp_channel()):equals "EBUSY"
	for _, a in ipairs { a1, a2 } do
		t:expect(a.cq:req_notify()):equals "OK"
	end
	t:expect(a2.qp:post(writes(a2, b2, 1), a2.peer)):equals "OK"
	t:expect(channel:wait() == a2.cq):equals(true)
	a2.cq:ack_events()
	t:expect(a1.qp:post(writes(a1, b1, 1), a1.peer)):equals "OK"
	t:expect(channel:wait() == a1.cq):equals(true)
	a1.cq:ack_events()
	a1.cq:wait()
	a2.cq:wait()
end)

srd.scenario("EFA has no events for solicited entries alone", { tags = { "law", "polling" } }, function(t)
	local a = with_channel(t)
	t:expect(a.cq:req_notify(true)):equals "EOPNOTSUPP"
end)

for what, wrong in pairs {
	["an event asked of a queue without a channel"] = function(t)
		local cq = t:host("a").verbs:create_cq(16)
		t:expect(cq:req_notify()):equals "EINVAL"
	end,
	["an event that nobody acknowledged"] = function(t, a, b, channel)
		t:expect(a.cq:req_notify()):equals "OK"
		t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
		channel:wait()
	end,
	["an event acknowledged twice"] = function(t, a, b, channel)
		t:expect(a.cq:req_notify()):equals "OK"
		t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
		channel:wait():ack_events(2)
	end,
} do
	srd.scenario(what .. " is trapped", { tags = { "polling" }, violates = "completion.event" }, function(t)
		local a, b, channel = with_channel(t)
		wrong(t, a, b, channel)
		a.cq:poll(4)
	end)
end

srd.scenario("a wait for an event that nobody asked for is a deadlock", {
	needs = { "virtual_time" }, tags = { "polling" }, fails = "an event in a completion channel",
}, function(t)
	local a, b, channel = with_channel(t)
	t:expect(a.qp:post(writes(a, b, 1), a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].wr_id):equals(1)
	channel:wait()
end)
