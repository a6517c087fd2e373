-- Creating a queue pair and connecting it: what is refused, in which order, and what a
-- failure leaves behind.
local srd = require "srdlab"

srd.scenario("a pair goes through RESET, INIT, RTR to RTS", {
	tags = { "contract", "state" },
}, function(t)
	local a, b = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	t:expect(a):is "RESET"
	t:expect(b):is "RESET"
	t:connect(a, b)
	t:expect(a):is "RTS"
	t:expect(b):is "RTS"
end)

srd.scenario("the endpoint is known before the connection", {
	tags = { "contract" },
}, function(t)
	local q = t:host("a"):queue_pair { psn = 77 }
	local e = q:endpoint()
	t:expect(e.qp_num):equals(q.verbs.qp_num)
	t:expect(e.psn):equals(77)
	t:expect(e.has_gid):equals(true)
	t:expect(e.gid):equals(t:host("a").verbs:query_gid())
	t:expect(q):is "RESET"
end)

srd.scenario("an endpoint without a GID is refused and nothing is touched", {
	tags = { "contract" },
}, function(t)
	local a, b = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	local e = b:endpoint()
	e.has_gid = false
	t:expect(function()
		a:connect(e)
	end):raises()
	t:expect(a):is "RESET"
	t:connect(a, b)
end)

srd.scenario("a queue-pair number of more than 16 bits is refused", {
	tags = { "engine" },
}, function(t)
	local a, b = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	local e = b:endpoint()
	e.qp_num = e.qp_num + 0x10000
	t:expect(function()
		a:connect(e)
	end):raises "65535"
	t:expect(a):is "RESET"
end)

srd.scenario("a second connect is refused, and the first peer stays", {
	tags = { "contract" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:expect(function()
		p.a.qp:connect(p.b.qp:endpoint())
	end):raises()
	t:expect(p.a.qp):is "RTS"
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)

srd.scenario("posting before the connection is refused and costs no id", {
	tags = { "contract" },
}, function(t)
	local p = t:pair { memory = 64, connect = false }
	t:expect(function()
		p.a.qp:put { from = p.a.mem, to = p.b.mem }
	end):raises()
	t:connect(p.a.qp, p.b.qp)
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:wait(op)
	t:expect(op:wr_ids()):equals { 0 }
end)

-- Which modify of the connect fails, the state that it leaves, and the name in the message.
for n, case in ipairs { { "INIT", "RESET" }, { "RTR", "INIT" }, { "RTS", "RTR" } } do
	local step, left = table.unpack(case)
	srd.scenario(("a connect that fails at %s says so and stays in %s"):format(step, left), {
		tags = { "contract", "errors" },
	}, function(t)
		local p = t:pair { memory = 64, connect = false }
		local a, b = p.a.qp, p.b.qp
		t:fail_call("modify_qp", { nth = n, errno = "ENOMEM" })
		t:expect(function()
			a:connect(b:endpoint())
		end):raises(step)
		t:expect(a):is(left)
		t:expect(function()
			a:put { from = p.a.mem, to = p.b.mem }
		end):raises()
	end)
end

srd.scenario("a connect that failed goes on where it stopped", {
	tags = { "engine", "errors" },
}, function(t)
	local p = t:pair { memory = 64, connect = false }
	t:fail_call("modify_qp", { nth = 2, errno = "EINVAL" })
	t:expect(function()
		p.a.qp:connect(p.b.qp:endpoint())
	end):raises "RTR"
	t:connect(p.a.qp, p.b.qp)
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)

srd.scenario("an address handle that is refused leaves the queue pair in RESET", {
	tags = { "contract", "srd", "errors" },
}, function(t)
	local a, b = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	t:fail_call("create_ah", { errno = "ENOMEM" })
	t:expect(function()
		a:connect(b:endpoint())
	end):raises()
	t:expect(a):is "RESET"
end)

srd.scenario("a depth above the device's is refused, never lowered", {
	tags = { "contract" },
	limits = { max_sq_wr = 64, max_rq_wr = 32 },
}, function(t)
	local a = t:host "a"
	t:expect(function()
		a:queue_pair { max_send_wr = 65 }
	end):raises()
	t:expect(function()
		a:queue_pair { max_recv_wr = 33 }
	end):raises()
	t:expect(a:queue_pair { max_send_wr = 64, max_recv_wr = 32 }):is "RESET"
end)

srd.scenario("a depth of nothing is refused", { tags = { "engine" } }, function(t)
	t:expect(function()
		t:host("a"):queue_pair { max_send_wr = 0 }
	end):raises "would hold no entries"
end)

srd.scenario("a port that EFA does not have is refused", { tags = { "contract" } }, function(t)
	t:expect(function()
		t:host("a"):queue_pair { port_num = 2 }
	end):raises()
end)

srd.scenario("a device without RDMA is refused with what it can do", {
	tags = { "contract" },
	profile = "no_rdma",
}, function(t)
	t:expect(function()
		t:host("a"):queue_pair {}
	end):raises()
end)

local function creation_fails(t, verbs)
	local a = t:host "a"
	for _, verb in ipairs(verbs) do
		t:fail_call(verb, { errno = "ENOMEM" })
		t:expect(function()
			a:queue_pair {}
		end):raises()
		t:restore_calls()
	end
	t:expect(a:queue_pair {}):is "RESET"
end

srd.scenario("a creation that fails leaves nothing behind", {
	tags = { "contract", "errors" },
}, function(t)
	creation_fails(t, { "create_cq", "query_gid", "create_qp_ex" })
end)

srd.scenario("a device whose EFA attributes are refused leaves nothing behind", {
	tags = { "contract", "srd", "errors" },
}, function(t)
	creation_fails(t, { "efa_query_device" })
end)

srd.scenario("one host with itself", { tags = { "contract" } }, function(t)
	local a = t:host "a"
	local one, two = a:queue_pair {}, a:queue_pair {}
	t:connect(one, two)
	local from, to = a:memory(100):fill "random", a:memory(100)
	t:wait(one:put { from = from, to = to })
	t:expect(to):same_content(from)
end)

srd.scenario("ten queue pairs between two hosts", { tags = { "contract" } }, function(t)
	local a, b = t:host "a", t:host "b"
	local ops = {}
	for i = 1, 10 do
		local qa, qb = a:queue_pair {}, b:queue_pair {}
		t:connect(qa, qb)
		ops[i] = qa:put { from = a:memory(64):fill(i), to = b:memory(64) }
	end
	t:wait(ops)
end)

srd.scenario("what EFA cannot take is refused at creation, with the number", {
	tags = { "engine" },
}, function(t)
	local a = t:host "a"
	for text, fields in pairs {
		["psn is 0x1000000"] = { psn = 1 << 24 },
		["qkey is 0x80000000"] = { qkey = 1 << 31 },
		["pkey_index is 1"] = { pkey_index = 1 },
		["max_recv_wr is 0"] = { max_recv_wr = 0 },
	} do
		t:expect(function()
			a:queue_pair(fields)
		end):raises(text)
	end
	t:expect(a:queue_pair { psn = (1 << 24) - 1, qkey = (1 << 31) - 1 }):is "RESET"
end)

srd.scenario("a send queue that does not fit the device's memory says what was asked for", {
	tags = { "engine" },
	needs = { "fabric" },
	profile = { max_llq_size = 64 * 256 }, -- 256 entries, though max_sq_wr says 4096
}, function(t)
	local a = t:host "a"
	t:expect(function()
		a:queue_pair { max_send_wr = 257 }
	end):raises "max_send_wr 257"
	t:expect(a:queue_pair { max_send_wr = 256 }):is "RESET"
end)

srd.scenario("the number of queue pairs ends, and one that is destroyed makes room", {
	tags = { "law" },
	needs = { "fabric" },
	profile = "small",
}, function(t)
	local a, list = t:host "a", {}
	for i = 1, 8 do
		list[i] = a:queue_pair {}
	end
	t:expect(function()
		a:queue_pair {}
	end):raises "failed to create EFA SRD queue pair"
	list[3]:destroy()
	t:expect(a:queue_pair {}):is "RESET"
end)

srd.scenario("a peer's own GID index means nothing here", { tags = { "contract" } }, function(t)
	local p = t:pair { memory = 64, connect = false }
	local to_a, to_b = p.a.qp:endpoint(), p.b.qp:endpoint()
	to_a.gid_index, to_b.gid_index = 3, 7
	p.b.qp:connect(to_a)
	p.a.qp:connect(to_b)
	t:wait(p.a.qp:put { from = p.a.mem:fill "random", to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("a connect goes the way of masks 0x71, 0x1 and 0x10001, and only once", {
	description = "The rule state.path looks at it; here at what the device holds in the end.",
	tags = { "contract", "srd", "state" },
}, function(t)
	local a, b = t:host("a"):queue_pair { psn = 0xabcdef }, t:host("b"):queue_pair {}
	t:connect(a, b)
	local attr = a.verbs:query "STATE|QKEY|SQ_PSN|RNR_RETRY"
	t:expect(attr.state):equals "RTS"
	t:expect(attr.qkey):equals(0x4242)
	t:expect(attr.sq_psn):equals(0xabcdef)
	t:expect(attr.rnr_retry):equals(7) -- infinite, for nobody has set it
end)

-- Each of the verbs that connect calls fails once, and the second try succeeds.
for n, verb in ipairs { "create_ah", "modify_qp", "modify_qp", "modify_qp" } do
	local nth = n == 1 and 1 or n - 1
	srd.scenario(("a connect whose %s number %d fails can be tried again"):format(verb, nth), {
		tags = { "engine", "errors" },
	}, function(t)
		local p = t:pair { memory = 64, connect = false }
		p.b.qp:connect(p.a.qp:endpoint())
		t:fail_call(verb, { nth = nth, errno = "EAGAIN" })
		t:expect(function()
			p.a.qp:connect(p.b.qp:endpoint())
		end):raises "Resource temporarily unavailable"
		t:expect(function()
			p.a.qp:put { from = p.a.mem, to = p.b.mem }
		end):raises "has not been connected"
		p.a.qp:connect(p.b.qp:endpoint())
		local op = p.a.qp:put { from = p.a.mem:fill "random", to = p.b.mem }
		t:wait(op)
		t:expect(op:wr_ids()):equals { 0 }
		t:expect(p.b.mem):same_content(p.a.mem)
	end)
end

srd.scenario("an endpoint whose port cannot be queried is an error", { tags = { "engine", "errors" } }, function(t)
	local q = t:host("a"):queue_pair {}
	t:fail_call("query_port", { errno = "EIO" })
	t:expect(function()
		q:endpoint()
	end):raises "Input/output error"
	t:expect(q:endpoint().qp_num):equals(q.verbs.qp_num)
end)

srd.scenario("a state that cannot be queried is an error", { tags = { "contract", "errors" } }, function(t)
	local q = t:host("a"):queue_pair {}
	t:fail_call("query_qp", { errno = "EIO" })
	t:expect(function()
		q:state()
	end):raises()
	t:expect(q):is "RESET"
end)
