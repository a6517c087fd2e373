-- The other end: address handles, queue keys, queue pairs that are not there, and hosts
-- that die and come back.
local srd = require "srdlab"

local flushed = { status = "IBV_WC_WR_FLUSH_ERR", vendor_err = 1 }
local no_queue_pair = { status = "IBV_WC_REM_INV_RD_REQ_ERR", vendor_err = 9 }
local silent = { status = "IBV_WC_RESP_TIMEOUT_ERR", vendor_err = 13 }
local unreachable = { status = "IBV_WC_RESP_TIMEOUT_ERR", vendor_err = 15 }

local function put(p)
	return p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
end

-- Connect only the first of a pair, to the second or to the ENDPOINT given.
local function one_sided(t, options, endpoint)
	options.connect, options.memory = false, 64
	local p = t:pair(options)
	p.a.qp:connect(endpoint and endpoint(p) or p.b.qp:endpoint())
	return p
end

srd.scenario("a number that no queue pair has is no destination", { tags = { "law", "peer" } }, function(t)
	local p = one_sided(t, {}, function(p)
		local e = p.b.qp:endpoint()
		e.qp_num = 0xfff0
		return e
	end)
	t:expect(t:result(put(p))):equals(no_queue_pair)
	t:expect(p.a.qp):is "RTS"
end)

srd.scenario("a peer that is not ready to receive is found", {
	tags = { "law", "peer" },
	violates = "address.peer_ready",
}, function(t)
	local p = one_sided(t, {})
	p.b.host.verbs.pd:create_ah { dgid = p.a.host.verbs:query_gid() }
	t:expect(t:result(put(p))):equals(no_queue_pair)
end)

srd.scenario("a peer in RTR is ready, one that is reset no longer", { tags = { "law", "peer" } }, function(t)
	local p = one_sided(t, {})
	local b = p.b.qp.verbs
	t:expect(b:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(b:modify { state = "RTR" }):equals "OK"
	local ah = p.b.host.verbs.pd:create_ah { dgid = p.a.host.verbs:query_gid() }
	t:wait(put(p))
	t:expect(ah:destroy_ah()):equals "OK"
end)

srd.scenario("each side of a connection names the other, or a rule says so", {
	tags = { "contract", "srd", "peer" },
	violates = "address.mutual",
}, function(t)
	local p = t:pair { memory = 64, connect = false }
	local third = p.a.host:queue_pair {}
	p.b.qp:connect(third:endpoint())
	p.a.qp:connect(p.b.qp:endpoint())
	t:wait(put(p))
end)

srd.scenario("a responder that does not know the initiator is found", {
	tags = { "law", "peer" },
	needs = { "hosts" }, -- on one device, the initiator's own handle makes it known
	violates = "address.unknown_peer",
}, function(t)
	local p = t:pair { memory = 64, connect = false }
	local b = p.b.qp.verbs
	t:expect(b:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(b:modify { state = "RTR" }):equals "OK"
	p.a.qp:connect(p.b.qp:endpoint())
	t:expect(t:result(put(p))):equals { status = "IBV_WC_REM_OP_ERR", vendor_err = 14 }
end)

for policy, expected in pairs {
	drop_then_timeout = unreachable, -- the guess that is the default
	bad_qpn = no_queue_pair,
} do
	srd.scenario(("a wrong queue key is found: %s"):format(policy), {
		tags = { "law", "peer" },
		needs = { "fabric" },
		profile = { qkey_mismatch = policy },
		violates = "address.qkey",
	}, function(t)
		local p = t:pair { memory = 64 }
		t:expect(p.b.qp.verbs:modify { qkey = 0x1111 }):equals "OK"
		t:expect(t:result(put(p))):equals(expected)
		t:expect(p.a.qp:in_flight()):equals(0)
	end)
end

srd.scenario("queue pairs with a key of their own", { tags = { "contract", "peer" } }, function(t)
	local p = t:pair { memory = 64, qkey = 0x777 }
	p.a.mem:fill "random"
	t:wait(put(p))
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("the key may change on both sides while connected", {
	tags = { "law", "peer" },
	violates = "address.qkey",
}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(put(p))
	t:expect(p.b.qp.verbs:modify { qkey = 0x1111 }):equals "OK"
	t:expect(t:result(put(p)).status):differs_from "IBV_WC_SUCCESS"
	t:expect(p.b.qp.verbs:modify { qkey = 0x4242 }):equals "OK"
	t:wait(put(p))
end)

srd.scenario("a number over 16 bits goes to whoever has its low ones", {
	tags = { "law", "peer", "misuse" },
	violates = "address.qpn",
}, function(t)
	local p = t:pair { memory = 64 }
	local ah = p.a.host.verbs.pd:create_ah { dgid = p.b.host.verbs:query_gid() }
	local qp = p.a.qp.verbs
	qp:wr_start()
	qp:wr_rdma_write { wr_id = 1, rkey = p.b.mem.rkey, remote_addr = p.b.mem.addr }
	qp:wr_set_sge(p.a.mem:fill "random")
	qp:wr_set_ud_addr { ah = ah, remote_qpn = 0x10000 + p.b.qp.verbs.qp_num }
	t:expect(qp:wr_complete()):equals "OK"
	t:run_for "10ms"
	t:expect(p.a.qp:poll "send".status):equals "IBV_WC_SUCCESS"
	t:expect(p.b.mem):same_content(p.a.mem)
end)

-- Address handles

-- A request of S through a handle of its own is held, and with it the handle is in use.
local function in_use(t)
	local p = t:pair { memory = 64 }
	local pd, gid = p.a.host.verbs.pd, p.b.host.verbs:query_gid()
	local op = put(p)
	t:hold(op:request(1))
	return p, op, pd, gid
end

srd.scenario("a second handle to the same peer comes and goes unnoticed", {
	tags = { "law", "peer" },
	needs = { "faults", "fabric" },
	profile = { ah_tokens = "shared_last" },
}, function(t)
	local p, op, pd, gid = in_use(t)
	local second = pd:create_ah { dgid = gid }
	t:expect(second:destroy_ah()):equals "OK"
	t:run_for "1ms"
	t:expect(op):is "pending"
	t:release(op:request(1))
	t:wait(op)
	t:wait(put(p))
end)

srd.scenario("handles that share a number share the abort, where the first destroy is one", {
	description = "The fault that libfabric moved its address handles to the domain for.",
	tags = { "law", "peer" },
	needs = { "faults", "fabric" },
	profile = { ah_tokens = "shared_first" },
}, function(t)
	local _, op, pd, gid = in_use(t)
	local second = pd:create_ah { dgid = gid }
	t:expect(second:destroy_ah()):equals "OK"
	t:expect(t:result(op)):equals(flushed)
end)

srd.scenario("handles with numbers of their own share nothing", {
	tags = { "law", "peer" },
	needs = { "faults", "fabric" },
	profile = { ah_tokens = "unique" },
}, function(t)
	local _, op, pd, gid = in_use(t)
	local second = pd:create_ah { dgid = gid }
	t:expect(second:destroy_ah()):equals "OK"
	t:release(op:request(1))
	t:wait(op)
end)

srd.scenario("a handle that is destroyed takes its requests with it", {
	tags = { "law", "peer" },
	needs = { "faults", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64 }
	local a = p.a.host
	local cq = a.verbs:create_cq(4)
	local qp = a.verbs:create_qp_ex { send_cq = cq, recv_cq = cq, cap = { max_send_wr = 4, max_recv_wr = 1,
		max_send_sge = 1, max_recv_sge = 1 } }
	for _, step in ipairs { { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }, { state = "RTR" },
		{ state = "RTS", sq_psn = 0 } } do
		t:expect(qp:modify(step)):equals "OK"
	end
	local own = a.verbs.pd:create_ah { dgid = a.verbs:query_gid() } -- to itself, which p's is not
	qp:wr_start()
	qp:wr_rdma_write { wr_id = 7, rkey = p.a.mem.rkey, remote_addr = p.a.mem.addr }
	qp:wr_set_sge(p.a.mem)
	qp:wr_set_ud_addr { ah = own, remote_qpn = p.a.qp.verbs.qp_num }
	t:expect(qp:wr_complete()):equals "OK"
	t:expect(own:destroy_ah()):equals "OK"
	local wc = cq:wait()[1]
	t:expect(wc.wr_id):equals(7)
	t:expect(wc.status):equals "IBV_WC_WR_FLUSH_ERR"
	t:wait(put(p)) -- another destination is not concerned
end)

srd.scenario("a handle needs a port, and a GID to go to", { tags = { "law", "peer" } }, function(t)
	local a = t:host "a"
	local pd, gid = a.verbs.pd, a.verbs:query_gid()
	t:expect(select(2, pd:create_ah { dgid = gid, port_num = 2 })):equals "EINVAL"
	t:expect(select(2, pd:create_ah { dgid = gid, is_global = 0 })):equals "EINVAL"
	t:expect(pd:create_ah { dgid = gid }):differs_from(nil)
end)

-- Hosts

srd.scenario("a host that never answered is unreachable", {
	tags = { "law", "peer" },
	needs = { "faults", "hosts", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64 }
	p.b.host:kill()
	t:expect(t:result(put(p))):equals(unreachable)
	t:expect(p.a.qp):is "RTS"
end)

srd.scenario("a host that answered once and dies is unresponsive", {
	tags = { "law", "peer" },
	needs = { "faults", "hosts", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	t:wait(put(p))
	p.b.host:kill()
	local ops = {}
	for i = 1, 8 do
		ops[i] = put(p)
	end
	for _, op in ipairs(ops) do
		t:expect(t:result(op)):equals(silent)
	end
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("one dead host does not slow the others", {
	tags = { "law", "peer" },
	needs = { "faults", "hosts", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64 }
	local a, c = p.a.host, t:host "c"
	local qa, qc, to = a:queue_pair {}, c:queue_pair {}, c:memory(64)
	t:connect(qa, qc)
	p.b.host:kill()
	local lost = put(p)
	local began = t:now()
	t:wait(qa:submit_put { from = p.a.mem, to = to })
	t:expect(t:now() - began):at_most(srd.time "1ms")
	t:expect(t:result(lost)):equals(unreachable)
end)

srd.scenario("a host that is back has none of its queue pairs", {
	tags = { "law", "peer" },
	needs = { "faults", "hosts", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(put(p))
	p.b.host:kill()
	p.b.host:restart()
	local op = put(p)
	t:expect(t:result(op).vendor_err):equals(9)
end)
