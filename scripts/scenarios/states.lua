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
