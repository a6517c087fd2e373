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
	end):raises "GID"
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
	tags = { "engine" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:expect(function()
		p.a.qp:connect(p.b.qp:endpoint())
	end):raises "connect"
	t:expect(p.a.qp):is "RTS"
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)

srd.scenario("posting before the connection is refused and costs no id", {
	tags = { "contract" },
}, function(t)
	local p = t:pair { memory = 64, connect = false }
	t:expect(function()
		p.a.qp:put { from = p.a.mem, to = p.b.mem }
	end):raises "connect"
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
		local a, b = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
		t:fail_call("modify_qp", { nth = n, errno = "ENOMEM" })
		t:expect(function()
			a:connect(b:endpoint())
		end):raises(step)
		t:expect(a):is(left)
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
	tags = { "contract", "errors" },
}, function(t)
	local a, b = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	t:fail_call("create_ah", { errno = "ENOMEM" })
	t:expect(function()
		a:connect(b:endpoint())
	end):raises "address handle"
	t:expect(a):is "RESET"
end)

srd.scenario("a depth above the device's is refused, never lowered", {
	tags = { "contract" },
	limits = { max_sq_wr = 64, max_rq_wr = 32 },
}, function(t)
	local a = t:host "a"
	t:expect(function()
		a:queue_pair { max_send_wr = 65 }
	end):raises "max_send_wr"
	t:expect(function()
		a:queue_pair { max_recv_wr = 33 }
	end):raises "max_recv_wr"
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
	end):raises "port 2"
end)

srd.scenario("a device without RDMA is refused with what it can do", {
	tags = { "contract" },
	profile = "no_rdma",
}, function(t)
	t:expect(function()
		t:host("a"):queue_pair {}
	end):raises "RDMA"
end)

srd.scenario("a creation that fails leaves nothing behind", {
	tags = { "contract", "errors" },
}, function(t)
	local a = t:host "a"
	for _, verb in ipairs { "create_cq", "query_gid", "efa_query_device", "create_qp_ex" } do
		t:fail_call(verb, { errno = "ENOMEM" })
		t:expect(function()
			a:queue_pair {}
		end):raises "Cannot allocate memory"
		t:restore_calls()
	end
	t:expect(a:queue_pair {}):is "RESET"
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
