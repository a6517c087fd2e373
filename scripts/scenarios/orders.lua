-- Every order: what the fabric may deliver first, tried in turn. Orders that do not differ in
-- effect are run once, so that the numbers stay small.
local srd = require "srdlab"

srd.describe("every order", { orders = "all", tags = { "contract", "orders", "srd" } }, function()

-- Of puts in three pieces each; two of them fit into the credits at once.
local function pieces(t, ops, credits)
	local p = t:pair { max_send_wr = credits, memory = 3000 * ops }
	p.a.mem:fill "random"
	local list = {}
	for i = 1, ops do
		list[i] = p.a.qp:submit_put {
			from = p.a.mem:slice(3000 * (i - 1), 3000), to = p.b.mem:slice(3000 * (i - 1), 3000),
		}
	end
	return p, list
end

srd.scenario("an op's pieces arrive and complete", { limits = { max_rdma_size = 1000 } }, function(t)
	local p, ops = pieces(t, 1, 4)
	t:wait(ops)
	t:expect(p.b.mem):same_content(p.a.mem)
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("the line keeps its order whatever completes first", { limits = { max_rdma_size = 1000 } }, function(t)
	local p, ops = pieces(t, 2, 3)
	t:expect(ops[2]):is "queued"
	t:wait(ops)
	t:expect(ops[1]:wr_ids()):equals { 0, 1, 2 }
	t:expect(ops[2]:wr_ids()):equals { 3, 4, 5 }
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("an op's own cause is told, not the flush beside it", {
	needs = { "faults" }, limits = { max_rdma_size = 1000 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 4000 }
	for i = 1, 4 do
		t:fail(p.a.qp:next_request(i), i == 3 and "REMOTE_ERROR_BAD_ADDRESS" or "FLUSHED")
	end
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a get beside a put to the same bytes brings what was there before or after it", {}, function(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	p.a.mem:slice(0, 32):fill(1)
	p.b.mem:fill(2)
	local old, new = p.b.mem:bytes(0, 16), p.a.mem:bytes(0, 16)
	t:wait {
		p.a.qp:submit_put { from = p.a.mem:slice(0, 32), to = p.b.mem:slice(0, 32) },
		p.a.qp:submit_get { from = p.b.mem:slice(0, 32), to = p.a.mem:slice(32, 32) },
		p.a.qp:submit_put { from = p.a.mem:slice(0, 16), to = p.b.mem:slice(48, 16) },
	}
	local got = p.a.mem:bytes(32, 16)
	t:expect(got == old or got == new):equals(true)
end)

srd.scenario("two rails keep no order between them", { limits = { max_rdma_size = 1000 } }, function(t)
	local p = t:rail_pair { rails = 2, memory = 4000, stripe = 1000, max_send_wr = 2 }
	p.a.mem:fill "random"
	t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("peers of one queue pair keep none either", { needs = { "peers" } }, function(t)
	local a = t:host "a"
	local qp, mem, ops = a:queue_pair { max_send_wr = 2 }, a:memory(192), {}
	mem:fill "random"
	for i = 1, 3 do
		local b = t:host("b" .. i)
		local other, to = b:queue_pair {}, b:memory(64)
		other:connect(qp:endpoint())
		ops[i] = qp:submit_put { from = mem:slice(64 * i - 64, 64), to = to, peer = qp:add_peer(other) }
	end
	t:wait(ops)
end)

end)

srd.scenario("every order: the one that breaks a flag behind its data is found", {
	orders = "all", needs = { "virtual_time" }, tags = { "law", "orders" }, limits = { max_rdma_size = 1000 },
	profile = { jitter = 0, order = "in_order" }, -- by itself the flag comes last
	fails = "expected the same content",
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 3008 }
	p.a.mem:slice(0, 3000):fill "random"
	p.a.mem:write(3000, ("\1"):rep(8))
	local data = p.a.qp:submit_put { from = p.a.mem:slice(0, 3000), to = p.b.mem:slice(0, 3000) }
	local flag = p.a.qp:submit_put { from = p.a.mem:slice(3000), to = p.b.mem:slice(3000) }
	while p.b.mem:bytes(3000, 1) ~= "\1" do
		t:run_for "20ns"
	end
	t:expect(p.b.mem:slice(0, 3000)):same_content(p.a.mem:slice(0, 3000))
	t:wait { data, flag }
end)

srd.scenario("every order: receives are taken in the order of arrival", {
	orders = "all", tags = { "law", "orders" },
}, function(t)
	local a, b = t:verbs_pair { memory = 256 }
	local posts = {}
	for i = 1, 3 do
		a.mem:write(64 * i - 64, ("%d"):format(i))
		posts[i] = { "send", wr_id = i, from = a.mem:slice(64 * i - 64, 64) }
		t:expect(b.qp:post_recv { wr_id = i, sg_list = b.mem:slice(64 * i - 64, 64) }):equals "OK"
	end
	t:expect(a.qp:post(posts, a.peer)):equals "OK"
	local seen = {}
	for i = 1, 3 do
		t:expect(b.cq:wait()[1].wr_id):equals(i) -- the receives are in order, the messages not
		seen[tonumber(b.mem:bytes(64 * i - 64, 1))] = true
	end
	t:expect(seen):equals { true, true, true }
	a.cq:wait(3)
end)
