-- One queue pair and many peers, the way libfabric and UCCL use SRD: the send queue, its
-- credits and its line are one, whoever the requests go to.
local srd = require "srdlab"

-- A queue pair of host a with N peers on as many hosts, each with memory of SIZE bytes and
-- a queue pair that has a's as its peer; FIELDS are those of a's queue pair.
local function hub(t, n, size, fields)
	local a = t:host "a"
	local h = { host = a, qp = a:queue_pair(fields), mem = a:memory(n * size), peers = {} }
	for i = 1, n do
		local host = t:host("b" .. i)
		local peer = { host = host, qp = host:queue_pair {}, mem = host:memory(size) }
		peer.back = peer.qp:add_peer(h.qp) -- who knows a's address, and is ready, before a posts
		peer.number = h.qp:add_peer(peer.qp)
		peer.part = h.mem:slice((i - 1) * size, size)
		h.peers[i] = peer
	end
	return h
end

srd.describe("many peers", { tags = { "contract", "peers" }, needs = { "peers" } }, function()

srd.scenario("puts and gets go to the peer that they name", { limits = { max_rdma_size = 1000 } }, function(t)
	local h = hub(t, 3, 2500)
	h.mem:fill "random"
	local ops = {}
	for i, peer in ipairs(h.peers) do
		t:expect(peer.number):equals(i)
		ops[i] = h.qp:put { from = peer.part, to = peer.mem, peer = peer.number }
	end
	t:wait(ops)
	for i, peer in ipairs(h.peers) do
		t:expect(peer.mem):same_content(peer.part)
		t:expect(ops[i]:wr_ids()):equals { 3 * i - 3, 3 * i - 2, 3 * i - 1 } -- of the one queue pair
		peer.mem:fill(i)
		ops[i] = h.qp:submit_get { from = peer.mem, to = peer.part, peer = peer.number }
	end
	t:wait(ops)
	for _, peer in ipairs(h.peers) do
		t:expect(peer.part):same_content(peer.mem)
	end
end)

srd.scenario("the peer of connect stays number 0, whenever it comes", {}, function(t)
	local h = hub(t, 2, 64)
	local c = t:host "c"
	local qc, mem = c:queue_pair {}, c:memory(64)
	t:expect(h.qp):is "RTS" -- by the first add_peer
	t:connect(h.qp, qc)
	local late = t:host "late"
	local ql, late_mem = late:queue_pair {}, late:memory(64)
	ql:connect(h.qp:endpoint())
	t:expect(h.qp:add_peer(ql)):equals(3)
	h.mem:fill "random"
	t:wait {
		h.qp:submit_put { from = h.mem:slice(0, 64), to = mem },
		h.qp:submit_put { from = h.mem:slice(64, 64), to = h.peers[2].mem, peer = 2 },
		h.qp:submit_put { from = h.mem:slice(64, 64), to = late_mem, peer = 3 },
	}
	t:expect(mem):same_content(h.mem:slice(0, 64))
	t:expect(h.peers[2].mem):same_content(h.mem:slice(64, 64))
	t:expect(late_mem):same_content(h.mem:slice(64, 64))
end)

srd.scenario("all peers share the credits and the line", { limits = { max_rdma_size = 1000 } }, function(t)
	local h = hub(t, 3, 2000, { max_send_wr = 3 })
	local function put(i, size)
		local peer = h.peers[i]
		return h.qp:submit_put { from = peer.part:slice(0, size), to = peer.mem:slice(0, size), peer = i }
	end
	local first, second, third = put(1, 2000), put(2, 2000), put(3, 1)
	t:expect(h.qp:in_flight()):equals(2)
	t:expect(second):is "queued" -- two requests and one credit
	t:expect(third):is "queued" -- it would fit, to another peer even, and must not overtake
	t:wait { first, second, third }
	t:expect(h.qp:in_flight()):equals(0)
end)

srd.scenario("a peer that was never added is nobody", {}, function(t)
	local h = hub(t, 2, 64)
	local bad = h.qp:submit_put { from = h.mem:slice(0, 64), to = h.peers[1].mem, peer = 7 }
	local good = h.qp:submit_put { from = h.mem:slice(0, 64), to = h.peers[1].mem, peer = 1 }
	t:expect(t:result(bad).errno):equals "ENOTCONN"
	t:wait(good)
	t:expect(function()
		h.qp:get { from = h.peers[1].mem, to = h.mem, peer = 3 }
	end):raises "peer 3"
	t:expect(good:wr_ids()):equals { 0 } -- a refused post used up no id
end)

srd.scenario("an endpoint without a GID, or with a number of 17 bits, is no peer", {}, function(t)
	local h = hub(t, 1, 64)
	local endpoint = h.peers[1].qp:endpoint()
	endpoint.qp_num = 0x10000
	t:expect(function()
		h.qp:add_peer(endpoint)
	end):raises "65535"
	endpoint = h.peers[1].qp:endpoint()
	endpoint.has_gid = false
	t:expect(function()
		h.qp:add_peer(endpoint)
	end):raises "GID"
	t:expect(h.qp:add_peer(h.peers[1].qp)):equals(2) -- the same one once more is a peer more
end)

srd.scenario("one that does not know a fails alone", {
	needs = { "peers", "hosts" }, -- on one device, a's own handle makes it known
	violates = "address.unknown_peer",
}, function(t)
	local h = hub(t, 2, 64)
	local b = t:host "stranger"
	local qb, mem = b:queue_pair {}, b:memory(64)
	t:expect(qb.verbs:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 0x4242 }):equals "OK"
	t:expect(qb.verbs:modify { state = "RTR" }):equals "OK"
	local stranger = h.qp:add_peer(qb)
	local ops = {
		h.qp:submit_put { from = h.mem:slice(0, 64), to = h.peers[1].mem, peer = 1 },
		h.qp:submit_put { from = h.mem:slice(0, 64), to = mem, peer = stranger },
		h.qp:submit_put { from = h.mem:slice(0, 64), to = h.peers[2].mem, peer = 2 },
	}
	t:expect(t:result(ops[2])):equals { status = "IBV_WC_REM_OP_ERR", vendor_err = 14 }
	t:wait { ops[1], ops[3] }
	t:expect(h.qp):is "RTS" -- an error of one peer is not the queue pair's
end)

srd.scenario("a peer that dies takes its own ops with it and nobody's credits", {
	needs = { "peers", "hosts", "faults" },
}, function(t)
	local h = hub(t, 4, 4096, { max_send_wr = 4 })
	h.mem:fill "random"
	h.peers[3].host:kill()
	local ops = {}
	for round = 0, 1 do
		for i, peer in ipairs(h.peers) do
			ops[4 * round + i] = h.qp:submit_put { from = peer.part, to = peer.mem, peer = i }
		end
	end
	for n, op in ipairs(ops) do
		local dead = (n - 1) % 4 + 1 == 3
		t:expect(t:result(op).status):equals(dead and "IBV_WC_RESP_TIMEOUT_ERR" or "IBV_WC_SUCCESS")
	end
	t:expect(h.qp:in_flight()):equals(0)
	for i, peer in ipairs(h.peers) do
		if i ~= 3 then
			t:expect(peer.mem):same_content(peer.part)
		end
	end
end)

-- N senders on as many hosts, all to one queue pair of host b; OPS puts each.
local function incast(t, n, ops, size)
	local b = t:host "b"
	local receiver, to = b:queue_pair {}, b:memory(n * ops * size)
	local all, from = {}, {}
	for i = 1, n do
		local host = t:host("a" .. i)
		local qp = host:queue_pair { max_send_wr = 4 }
		receiver:add_peer(qp)
		qp:connect(receiver:endpoint())
		from[i] = { qp = qp, mem = host:memory(ops * size):fill "random",
			to = to:slice((i - 1) * ops * size, ops * size) }
	end
	for op = 0, ops - 1 do
		for i = 1, n do
			all[#all + 1] = from[i].qp:submit_put {
				from = from[i].mem:slice(op * size, size),
				to = from[i].to:slice(op * size, size),
			}
		end
	end
	t:wait(all)
	for i = 1, n do
		t:expect(from[i].to):same_content(from[i].mem)
	end
end

srd.scenario("incast: 16 senders and one receiver", {}, function(t)
	incast(t, 16, 8, 9000)
end)

srd.scenario("incast: 200 senders, loss and packets in the worst order", {
	tags = { "seeds" },
	needs = { "peers", "hosts", "fabric" },
	seeds = true,
	profile = { level = "packet", order = "adversarial", loss = 20000 },
}, function(t)
	incast(t, 200, 2, 20000)
end)

-- A thousand peers on 200 hosts, and one queue pair with a window of 64 requests for all.
local function thousand(t, body)
	local N, SIZE = 1000, 64
	local a = t:host "a"
	local qp, mem = a:queue_pair { max_send_wr = 64 }, a:memory(N * SIZE)
	local peers = {}
	for i = 1, N do
		local host = t:host("b" .. i % 200)
		local other = host:queue_pair { max_send_wr = 1, max_recv_wr = 1 }
		other:connect(qp:endpoint())
		peers[i] = { number = qp:add_peer(other), mem = host:memory(SIZE),
			part = mem:slice((i - 1) * SIZE, SIZE) }
	end
	body(qp, mem, peers)
	t:expect(qp:in_flight()):equals(0)
	for _, peer in ipairs(peers) do
		t:expect(peer.mem):same_content(peer.part)
	end
end

srd.scenario("one sender and a thousand peers", {
	tags = { "scale" }, needs = { "peers", "hosts" }, profile = "huge",
}, function(t)
	thousand(t, function(qp, mem, peers)
		mem:fill "random"
		local ops = {}
		for i, peer in ipairs(peers) do
			ops[i] = qp:submit_put { from = peer.part, to = peer.mem, peer = peer.number }
		end
		t:expect(qp:in_flight()):equals(64) -- one budget
		t:expect(qp:queued()):equals(936)
		t:wait(ops)
	end)
end)

srd.scenario("incast by gets: a thousand peers answer one reader", {
	tags = { "scale" }, needs = { "peers", "hosts" }, profile = "huge",
}, function(t)
	thousand(t, function(qp, _, peers)
		local ops = {}
		for i, peer in ipairs(peers) do
			peer.mem:fill(i)
			ops[i] = qp:submit_get { from = peer.mem, to = peer.part, peer = peer.number }
		end
		t:wait(ops)
	end)
end)

end)
