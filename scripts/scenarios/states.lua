-- The queue pair's states, by verbs: what each transition asks for and what it refuses.
local srd = require "srdlab"

local init = { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }

-- A queue pair of bare verbs in STATE.
local function in_state(t, state)
	local a = t:host "a"
	local cq = a.verbs:create_cq(16)
	local qp = a.verbs:create_qp_ex { send_cq = cq, recv_cq = cq }
	local path = {
		RESET = {}, INIT = { init }, RTR = { init, { state = "RTR" } },
		RTS = { init, { state = "RTR" }, { state = "RTS", sq_psn = 0 } },
		SQD = { init, { state = "RTR" }, { state = "RTS", sq_psn = 0 }, { state = "SQD" } },
		ERR = { init, { state = "ERR" } },
	}
	for _, step in ipairs(path[state]) do
		t:expect(qp:modify(step)):equals "OK"
	end
	t:expect(qp:query().state):equals(state)
	return qp
end

srd.scenario("INIT without a queue key is refused", { tags = { "law", "state" } }, function(t)
	local q = t:host("a"):queue_pair {}
	t:expect(q.verbs:modify { state = "INIT", port_num = 1, pkey_index = 0 }):equals "EINVAL"
	t:expect(q:state()):equals "RESET"
end)

srd.scenario("INIT without a port or a partition key is refused", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RESET")
	t:expect(qp:modify { state = "INIT", qkey = 1, pkey_index = 0 }):equals "EINVAL"
	t:expect(qp:modify { state = "INIT", qkey = 1, port_num = 1 }):equals "EINVAL"
	t:expect(qp:query().state):equals "RESET"
end)

srd.scenario("no state is skipped", { tags = { "law", "state" } }, function(t)
	local reset, at_init, rtr = in_state(t, "RESET"), in_state(t, "INIT"), in_state(t, "RTR")
	t:expect(reset:modify { state = "RTR" }):equals "EINVAL"
	t:expect(reset:modify { state = "RTS", sq_psn = 0 }):equals "EINVAL"
	t:expect(reset:modify { state = "ERR" }):equals "EINVAL"
	t:expect(at_init:modify { state = "RTS", sq_psn = 0 }):equals "EINVAL"
	t:expect(at_init:modify { state = "SQD" }):equals "EINVAL"
	t:expect(rtr:modify { state = "RTR" }):equals "EINVAL"
	t:expect(rtr:modify(init)):equals "EINVAL"
end)

srd.scenario("RTS needs a packet sequence number", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RTR")
	t:expect(qp:modify { state = "RTS" }):equals "EINVAL"
	t:expect(qp:modify { state = "RTS", sq_psn = 7 }):equals "OK"
end)

srd.scenario("attributes of reliable connections are not supported", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "INIT")
	t:expect(qp:modify { state = "RTR", path_mtu = 5 }):equals "EOPNOTSUPP"
	t:expect(qp:modify { state = "RTR", dest_qp_num = 1 }):equals "EOPNOTSUPP"
	t:expect(qp:modify { state = "RTR", rq_psn = 1 }):equals "EOPNOTSUPP"
	t:expect(qp:modify { state = "RTR", access_flags = "REMOTE_WRITE" }):equals "EOPNOTSUPP"
	t:expect(qp:query().state):equals "INIT"
end)

srd.scenario("what is not supported is said before what is wrong", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RESET")
	t:expect(qp:modify { state = "RTS", path_mtu = 5 }):equals "EOPNOTSUPP"
end)

srd.scenario("the port is checked before all else", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RESET")
	t:expect(qp:modify { state = "INIT", pkey_index = 0, port_num = 2, qkey = 1, path_mtu = 5 }):equals "EINVAL"
end)

srd.scenario("a partition key other than 0 is not supported", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RESET")
	t:expect(qp:modify { state = "INIT", pkey_index = 1, port_num = 1, qkey = 1 }):equals "EOPNOTSUPP"
end)

srd.scenario("a queue key may change where the state allows it", { tags = { "law", "state" } }, function(t)
	for _, state in ipairs { "INIT", "RTS", "SQD" } do
		t:expect(in_state(t, state):modify { qkey = 9 }):equals "OK"
	end
	for _, state in ipairs { "RESET", "RTR", "ERR" } do
		t:expect(in_state(t, state):modify { qkey = 9 }):equals "EINVAL"
	end
end)

srd.scenario("from ERR there is only RESET", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "ERR")
	t:expect(qp:modify(init)):equals "EINVAL"
	t:expect(qp:modify { state = "RTR" }):equals "EINVAL"
	t:expect(qp:modify { state = "ERR" }):equals "OK"
	t:expect(qp:modify { state = "RESET" }):equals "OK"
	t:expect(qp:modify(init)):equals "OK"
end)

srd.scenario("SQD and back", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "SQD")
	t:expect(qp:modify { state = "SQD", qkey = 3 }):equals "OK"
	t:expect(qp:modify { state = "RTS" }):equals "OK"
	t:expect(qp:query().state):equals "RTS"
end)

srd.scenario("a receive cannot be posted in RESET", { tags = { "law", "state" } }, function(t)
	local qp, memory = in_state(t, "RESET"), t:host("a"):memory(64)
	t:expect(qp:post_recv { sg_list = memory }):equals "EINVAL"
	t:expect(qp:modify(init)):equals "OK"
	t:expect(qp:post_recv { sg_list = memory }):equals "OK"
end)

srd.scenario("a query gives the attributes that were set", { tags = { "law", "state" } }, function(t)
	local attr = in_state(t, "RTS"):query "STATE|QKEY|SQ_PSN|CAP"
	t:expect(attr.qkey):equals(0x4242)
	t:expect(attr.sq_psn):equals(0)
	t:expect(attr.cap.max_send_wr):equals(16)
	t:expect(select(2, in_state(t, "RTS"):query "PATH_MTU")):equals "EOPNOTSUPP"
end)

srd.scenario("a life goes round, as often as one likes", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RESET")
	for psn = 1, 3 do
		for _, step in ipairs {
			init, { state = "INIT", qkey = 7 }, { state = "RTR" }, { state = "RTS", sq_psn = psn }, { state = "SQD" },
			{ state = "SQD" }, { state = "RTS" }, { state = "RTS" }, { state = "ERR" }, { state = "ERR" }, { state = "RESET" },
			{ state = "RESET" },
		} do
			t:expect(qp:modify(step)):equals "OK"
			t:expect(qp:query().state):equals(step.state)
			t:expect(qp.state):equals(step.state)
		end
	end
end)

srd.scenario("every state but RESET goes to ERR, and every one to RESET", { tags = { "law", "state" } }, function(t)
	for _, state in ipairs { "INIT", "RTR", "RTS", "SQD", "ERR" } do
		local qp = in_state(t, state)
		t:expect(qp:modify { state = "ERR" }):equals "OK"
		t:expect(in_state(t, state):modify { state = "RESET" }):equals "OK"
	end
	t:expect(in_state(t, "RESET"):modify { state = "ERR" }):equals "EINVAL"
	t:expect(in_state(t, "RESET"):modify { state = "RESET" }):equals "OK"
end)

srd.scenario("there is no way back on the way up", { tags = { "law", "state" } }, function(t)
	local rts = in_state(t, "RTS")
	t:expect(rts:modify(init)):equals "EINVAL"
	t:expect(rts:modify { state = "RTR" }):equals "EINVAL"
	t:expect(rts:modify { state = "SQE" }):equals "EINVAL"
	t:expect(in_state(t, "SQD"):modify { state = "RTR" }):equals "EINVAL"
	t:expect(in_state(t, "RTR"):modify { state = "SQD" }):equals "EINVAL"
end)

srd.scenario("a refused modify changes nothing", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RTS")
	t:expect(qp:modify { state = "RTS", qkey = 9, sq_psn = 5 }):equals "EINVAL"
	t:expect(qp:modify { qkey = 9, path_mtu = 5 }):equals "EOPNOTSUPP"
	local attr = qp:query "STATE|QKEY|SQ_PSN"
	t:expect(attr.state):equals "RTS"
	t:expect(attr.qkey):equals(0x4242)
	t:expect(attr.sq_psn):equals(0)
end)

srd.scenario("nothing asked is nothing done, where the state has itself as a target", {
	tags = { "law", "state" },
}, function(t)
	for _, state in ipairs { "RESET", "INIT", "RTS", "SQD", "ERR" } do
		t:expect(in_state(t, state):modify { mask = 0 }):equals "OK"
	end
	t:expect(in_state(t, "RTR"):modify { mask = 0 }):equals "EINVAL"
end)

srd.scenario("the packet sequence number is taken on the way to RTS only", { tags = { "law", "state" } }, function(t)
	local fields = { INIT = { state = "INIT", pkey_index = 0, port_num = 1, qkey = 1, sq_psn = 1 } }
	t:expect(in_state(t, "RESET"):modify(fields.INIT)):equals "EINVAL"
	t:expect(in_state(t, "INIT"):modify { state = "RTR", sq_psn = 1 }):equals "EINVAL"
	t:expect(in_state(t, "RTS"):modify { state = "RTS", sq_psn = 1 }):equals "EINVAL"
	t:expect(in_state(t, "SQD"):modify { state = "RTS", sq_psn = 1 }):equals "EINVAL"
end)

srd.scenario("the number of retries is taken on the way to RTS only", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RTR")
	t:expect(qp:modify { state = "RTS", sq_psn = 0, rnr_retry = 3 }):equals "OK"
	t:expect(qp:query("RNR_RETRY").rnr_retry):equals(3)
	t:expect(qp:modify { state = "RTS", rnr_retry = 3 }):equals "EINVAL"
	t:expect(in_state(t, "INIT"):modify { state = "RTR", rnr_retry = 3 }):equals "EINVAL"
end)

srd.scenario("a current state may be claimed where it can be true", { tags = { "law", "state" } }, function(t)
	t:expect(in_state(t, "RTR"):modify { state = "RTS", sq_psn = 0, cur_state = "RTR" }):equals "OK"
	t:expect(in_state(t, "RTS"):modify { state = "RTS", cur_state = "RTS" }):equals "OK"
	t:expect(in_state(t, "SQD"):modify { state = "RTS", cur_state = "SQD" }):equals "OK"
	t:expect(in_state(t, "RTS"):modify { state = "RTS", cur_state = "INIT" }):equals "EINVAL"
	t:expect(in_state(t, "RTS"):modify { state = "ERR", cur_state = "RTS" }):equals "EINVAL"
	t:expect(in_state(t, "RTS"):modify { state = "SQD", cur_state = "RTS" }):equals "EINVAL"
end)

srd.scenario("a notification of the drain is asked for on the way to SQD", { tags = { "law", "state" } }, function(t)
	t:expect(in_state(t, "RTS"):modify { state = "SQD", en_sqd_async_notify = 1 }):equals "OK"
	t:expect(in_state(t, "RTS"):modify { state = "RTS", en_sqd_async_notify = 1 }):equals "EINVAL"
end)

srd.scenario("a query refuses what EFA does not keep", { tags = { "law", "state" } }, function(t)
	local qp = in_state(t, "RTS")
	for _, mask in ipairs { "AV", "DEST_QPN", "TIMEOUT", "ACCESS_FLAGS" } do
		t:expect(select(2, qp:query(mask))):equals "EOPNOTSUPP"
	end
	t:expect(qp:query("PKEY_INDEX|PORT").port_num):equals(1)
end)

srd.scenario("a device that moves by itself is found out by a query only", {
	description = "Posting goes by the library's own record of the state.",
	tags = { "law", "state" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:device_error(p.a.qp)
	t:expect(p.a.qp.verbs.state):equals "RTS"
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op).status):equals "IBV_WC_WR_FLUSH_ERR"
	t:expect(p.a.qp):is "ERR"
	t:expect(p.a.qp.verbs.state):equals "ERR"
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }).errno):equals "EINVAL"
end)

srd.scenario("a queue key with the top bit set is found", {
	tags = { "law", "state", "misuse" },
	needs = { "faults" }, -- the kernel's answer depends on who asks
	violates = "address.qkey_range",
}, function(t)
	local qp = in_state(t, "INIT")
	qp:modify { qkey = 0x80000000 }
end)

-- Reliable-connected queue pairs have the core's own table, and attributes with ranges.
local function rc_pair(t)
	local a, b = t:host "a", t:host "b"
	local function make(host)
		local cq = host.verbs:create_cq(16)
		return host.verbs:create_qp_ex { send_cq = cq, recv_cq = cq, qp_type = "RC" }
	end
	local qp, peer = make(a), make(b)
	return qp, {
		{ state = "INIT", pkey_index = 0, port_num = 1, access_flags = "LOCAL_WRITE|REMOTE_WRITE" },
		{ state = "RTR", path_mtu = 5, dest_qp_num = peer.qp_num, rq_psn = 0, max_dest_rd_atomic = 1,
			min_rnr_timer = 12, ah_attr = { is_global = 1, port_num = 1, dgid = b.verbs:query_gid(), hop_limit = 64 } },
		{ state = "RTS", timeout = 14, retry_cnt = 7, rnr_retry = 7, sq_psn = 0, max_rd_atomic = 1 },
	}
end

srd.scenario("RC: no attribute out of its range is taken", {
	tags = { "state" }, profile = "rc", needs = { "fabric" },
}, function(t)
	local qp, path = rc_pair(t)
	local wrong = {
		{ { pkey_index = 1 }, { port_num = 2 } },
		{ { path_mtu = 0 }, { path_mtu = 6 }, { min_rnr_timer = 32 }, { ah_attr = { is_global = 1, port_num = 2 } } },
		{ { timeout = 32 }, { retry_cnt = 8 }, { rnr_retry = 8 } },
	}
	for i, step in ipairs(path) do
		for _, fields in ipairs(wrong[i]) do
			t:expect(qp:modify(srd.with(step, fields))):equals "EINVAL"
		end
		t:expect(qp:modify(step)):equals "OK"
	end
	t:expect(qp:query().state):equals "RTS"
end)

srd.scenario("RC: nothing may be missing on the way", { tags = { "state" }, profile = "rc", needs = { "fabric" } },
function(t)
	local qp, path = rc_pair(t)
	for _, step in ipairs(path) do
		for name in pairs(step) do
			local part = srd.with(step, {})
			part[name] = nil
			t:expect(qp:modify(part)):differs_from "OK"
		end
		t:expect(qp:modify(step)):equals "OK"
	end
end)

srd.scenario("RC: queue pairs that no provider makes", { tags = { "state" }, profile = "rc", needs = { "fabric" } },
function(t)
	local v = t:host("a").verbs
	local cq = v:create_cq(16)
	local function create(fields)
		return v:create_qp_ex(srd.with({ send_cq = cq, recv_cq = cq, qp_type = "RC" }, fields))
	end
	for _, cap in ipairs {
		{ max_send_wr = 1 << 20 }, { max_recv_wr = 1 << 20 }, { max_send_sge = 100 }, { max_recv_sge = 100 },
		{ max_inline_data = 1 << 20 },
	} do
		local small = { max_send_wr = 1, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1 }
		local _, err = create { cap = srd.with(small, cap) }
		t:expect(err):equals "EINVAL"
	end
	for _, case in ipairs {
		{ { comp_mask = 0x40 }, "EINVAL" }, { { comp_mask = 0 }, "EINVAL" }, { { qp_type = "UD" }, "EOPNOTSUPP" },
		{ { efa = {} }, "EOPNOTSUPP" },
	} do
		local _, err = create(case[1])
		t:expect(err):equals(case[2])
	end
end)
