-- The credit scheduler: first in, first out, never more requests than credits, and each op
-- answered once, with its own cause.
local srd = require "srdlab"

srd.scenario("a head op without credit holds the line", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = "4KiB" },
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = "64KiB" }
	local q, src, dst = p.a.qp, p.a.mem, p.b.mem
	local function put(offset, size)
		return q:submit_put { from = src:slice(offset, size), to = dst:slice(offset, size) }
	end

	local first = put(0, "4KiB") -- one request
	local head = put("4KiB", "8KiB") -- needs two: only one credit is left
	local small = put("32KiB", 64) -- would fit, must not overtake

	t:expect(q:in_flight()):equals(1)
	t:expect(head):is "queued"
	t:expect(small):is "queued"
	t:wait { first, head, small }
	t:expect(q:in_flight()):equals(0)
end)

srd.scenario("an op of exactly all credits is posted at once", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 400 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(op):is "pending"
	t:expect(p.a.qp:in_flight()):equals(4)
	t:expect(p.a.qp:queued()):equals(0)
	t:wait(op)
end)

srd.scenario("an op that needs more than all credits is refused, the next goes on", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 1000 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	local large = q:submit_put { from = a:slice(0, 401), to = b:slice(0, 401) }
	local next_one = q:submit_put { from = a:slice(0, 400), to = b:slice(0, 400) }
	t:expect(t:result(large).errno):equals "E2BIG"
	t:wait(next_one)
	t:expect(next_one:wr_ids()):equals { 0, 1, 2, 3 }
end)

srd.scenario("a get needs credits for what it transfers, not for its room", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 4000 }
	local op = p.a.qp:submit_get { from = p.b.mem:slice(0, 100), to = p.a.mem }
	t:expect(p.a.qp:in_flight()):equals(1)
	t:wait(op)
	t:expect(#op:chunks()):equals(1)
end)

srd.scenario("a hundred ops through one credit", {
	tags = { "engine", "credit" },
}, function(t)
	local p = t:pair { max_send_wr = 1, memory = 6400 }
	p.a.mem:fill "random"
	local ops = {}
	for i = 0, 99 do
		ops[#ops + 1] = p.a.qp:submit_put {
			from = p.a.mem:slice(i * 64, 64),
			to = p.b.mem:slice(i * 64, 64),
		}
		t:expect(p.a.qp:in_flight()):equals(1)
	end
	t:expect(p.a.qp:queued()):equals(99)
	t:wait(ops)
	for i, op in ipairs(ops) do
		t:expect(op:wr_ids()):equals { i - 1 }
	end
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("ops are posted in the order of their submission", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 3, memory = 300 }
	local ops, next_id = {}, 0
	for i, requests in ipairs { 1, 3, 2, 1, 3, 1, 1, 2 } do
		local size = requests * 100
		ops[i] = p.a.qp:submit_put { from = p.a.mem:slice(0, size), to = p.b.mem:slice(0, size) }
	end
	t:wait(ops)
	for _, op in ipairs(ops) do
		for _, id in ipairs(op:wr_ids()) do
			t:expect(id):equals(next_id)
			next_id = next_id + 1
		end
	end
	t:expect(next_id):equals(14)
end)

srd.scenario("a direct put is counted, though not gated", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 400 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	local direct = q:put { from = a:slice(0, 300), to = b:slice(0, 300) }
	t:expect(q:in_flight()):equals(3)
	local submitted = q:submit_put { from = a:slice(0, 200), to = b:slice(0, 200) }
	t:expect(submitted):is "queued"
	t:wait { direct, submitted }
	t:expect(q:in_flight()):equals(0)
end)

srd.scenario("a failed op leaves its neighbours alone", {
	tags = { "engine", "errors" },
	violates = "memory.rkey",
}, function(t)
	local p = t:pair { max_send_wr = 8, memory = 64 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	local wrong = { addr = b.addr, size = b.size, key = b.rkey ~ 0xff }
	local before = q:submit_put { from = a, to = b }
	local bad = q:submit_put { from = a, to = wrong }
	local after = q:submit_put { from = a, to = b }
	t:expect(t:result(bad)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
	t:wait { before, after }
	t:expect(q):is "RTS"
end)

srd.scenario("an op reports its own cause, after its last request", {
	tags = { "engine", "errors" },
	needs = { "faults" },
	limits = { max_rdma_size = 1000 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 3000 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:hold(op:request(2))
	t:fail(op:request(1), "REMOTE_ERROR_BAD_ADDRESS")
	t:run_for "50us"
	t:expect(op):is "pending" -- one request is still out
	t:release(op:request(2))
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
end)

srd.scenario("a flush is never the cause while there is another", {
	tags = { "engine", "errors" },
	needs = { "faults" },
	limits = { max_rdma_size = 1000 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 3000 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:fail(op:request(1), "FLUSHED")
	t:fail(op:request(2), "LOCAL_ERROR_INVALID_LKEY")
	t:hold(op:request(2))
	t:run_for "1ms" -- the flush is reaped first
	t:release(op:request(2))
	t:expect(t:result(op)):equals { status = "IBV_WC_LOC_PROT_ERR", vendor_err = 5 }
end)

srd.scenario("credits of a failed op come back", {
	tags = { "engine", "credit", "errors" },
	needs = { "faults" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 400 }
	for i = 1, 10 do
		local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
		t:fail(op:request(i % 4 + 1), "REMOTE_ERROR_ABORT")
		t:expect(t:result(op).vendor_err):equals(8)
		t:expect(p.a.qp:in_flight()):equals(0)
	end
end)

srd.scenario("a held request keeps its credit", {
	tags = { "engine", "credit" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = 64 }
	local q = p.a.qp
	local function put()
		return q:submit_put { from = p.a.mem, to = p.b.mem }
	end
	local held, free = put(), put()
	t:hold(held:request(1))
	local third = put()
	t:wait(free)
	t:wait(third)
	t:expect(q:in_flight()):equals(1)
	t:expect(held):is "pending"
	t:release(held:request(1))
	t:wait(held)
end)

srd.scenario("puts and gets share the line", {
	tags = { "engine", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = 400 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	a:slice(0, 200):fill "random"
	b:slice(200, 200):fill "random"
	local put = q:submit_put { from = a:slice(0, 200), to = b:slice(0, 200) }
	local get = q:submit_get { from = b:slice(200, 200), to = a:slice(200, 200) }
	t:expect(get):is "queued"
	t:wait { put, get }
	t:expect(a):same_content(b)
end)

srd.scenario("both sides of a connection may post", {
	tags = { "contract" },
}, function(t)
	local p = t:pair { memory = 128 }
	p.a.mem:slice(0, 64):fill "random"
	p.b.mem:slice(64, 64):fill "random"
	t:wait {
		p.a.qp:submit_put { from = p.a.mem:slice(0, 64), to = p.b.mem:slice(0, 64) },
		p.b.qp:submit_put { from = p.b.mem:slice(64, 64), to = p.a.mem:slice(64, 64) },
	}
	t:expect(p.a.mem):same_content(p.b.mem)
end)
