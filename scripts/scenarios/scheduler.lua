-- The credit scheduler: first in, first out, never more requests than credits, and each op
-- answered once, with its own cause.
local srd = require "srdlab"

srd.scenario("a head op without credit holds the line", {
	tags = { "contract", "credit" },
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
	tags = { "contract", "credit" },
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
	tags = { "contract", "credit" },
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
	tags = { "contract", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 4000 }
	local op = p.a.qp:submit_get { from = p.b.mem:slice(0, 100), to = p.a.mem }
	t:expect(p.a.qp:in_flight()):equals(1)
	t:wait(op)
	t:expect(#op:chunks()):equals(1)
end)

srd.scenario("a put needs credits for what it transfers, not for its room", {
	tags = { "contract", "credit" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 4000 }
	local op = p.a.qp:submit_put { from = p.a.mem:slice(0, 100), to = p.b.mem }
	t:expect(p.a.qp:in_flight()):equals(1)
	t:wait(op)
	t:expect(#op:chunks()):equals(1)
end)

srd.scenario("a hundred ops through one credit", {
	tags = { "contract", "credit" },
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
	tags = { "contract", "credit" },
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
	tags = { "contract", "credit" },
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
	tags = { "contract", "srd", "errors" },
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
	tags = { "contract", "srd", "errors" },
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
	tags = { "contract", "srd", "errors" },
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
	tags = { "contract", "srd", "credit", "errors" },
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
	tags = { "contract", "srd", "credit" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = 64 }
	local q = p.a.qp
	local function put()
		return q:submit_put { from = p.a.mem, to = p.b.mem }
	end
	t:hold(q:next_request(1))
	local held, free = put(), put()
	local third = put()
	t:wait(free)
	t:wait(third)
	t:expect(q:in_flight()):equals(1)
	t:expect(held):is "pending"
	t:release(held:request(1))
	t:wait(held)
end)

srd.scenario("puts and gets share the line", {
	tags = { "contract", "credit" },
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

srd.scenario("an empty op takes one credit like any other", { tags = { "contract", "credit" } }, function(t)
	local p = t:pair { max_send_wr = 2, memory = 64 }
	local q, ops = p.a.qp, {}
	for i = 1, 3 do
		ops[i] = q:submit_put { from = p.a.mem:slice(0, 0), to = p.b.mem:slice(0, 0) }
	end
	t:expect(q:in_flight()):equals(2)
	t:expect(ops[3]):is "queued"
	t:wait(ops)
	t:expect(ops[3]:wr_ids()):equals { 2 }
end)

srd.scenario("every size between nothing and all credits passes the gate", {
	tags = { "contract", "credit" },
	limits = { max_rdma_size = 10 },
}, function(t)
	local p = t:pair { max_send_wr = 5, memory = 50 }
	for size = 0, 50 do
		local op = p.a.qp:submit_put { from = p.a.mem:slice(0, size), to = p.b.mem:slice(0, size) }
		t:expect(op):is "pending"
		t:expect(p.a.qp:in_flight()):equals(math.max(1, (size + 9) // 10))
		t:wait(op)
	end
end)

srd.scenario("a line of large and small ops never overtakes itself", {
	tags = { "contract", "credit" },
	limits = { max_rdma_size = 100 },
	seeds = true,
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 400 }
	local q, ops = p.a.qp, {}
	for i = 1, 30 do
		local size = math.random(0, 400)
		ops[i] = q:submit_put { from = p.a.mem:slice(0, size), to = p.b.mem:slice(0, size) }
		t:expect(q:in_flight()):at_most(4)
	end
	local rounds = 0
	while q:queued() > 0 and rounds < 2000 do
		local waiting = false
		for _, op in ipairs(ops) do
			local queued = op:status() == "queued"
			t:expect(waiting and not queued):equals(false) -- none is posted behind one that waits
			waiting = queued
		end
		t:run_for "5us"
		t:expect(q:in_flight()):at_most(4)
		rounds = rounds + 1
	end
	t:wait(ops)
end)

srd.scenario("queue pairs do not share credits", { tags = { "contract", "credit" } }, function(t)
	local a, b = t:host "a", t:host "b"
	local from, to, pairs_of = a:memory(64), b:memory(64), {}
	for i = 1, 3 do
		local qa, qb = a:queue_pair { max_send_wr = 1 }, b:queue_pair {}
		t:connect(qa, qb)
		pairs_of[i] = qa
	end
	local ops = {}
	for _, q in ipairs(pairs_of) do
		ops[#ops + 1] = q:submit_put { from = from, to = to }
		ops[#ops + 1] = q:submit_put { from = from, to = to }
		t:expect(q:in_flight()):equals(1)
		t:expect(q:queued()):equals(1)
	end
	t:wait(ops)
end)

srd.scenario("a post that is refused fails its op alone", {
	tags = { "contract", "srd", "errors" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 8, memory = 200 }
	local function put()
		return p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	local before = put()
	t:fail_call("wr_complete", { errno = "EINVAL" })
	local refused = put()
	local after = put()
	t:expect(t:result(refused).errno):equals "EINVAL"
	t:expect(p.a.qp):is "RTS"
	t:wait { before, after }
	t:expect(before:wr_ids()):equals { 0, 1 }
	t:expect(after:wr_ids()):equals { 4, 5 } -- those of the refused post are not used again
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a size that does not fit fails its op alone, and costs no id", {
	tags = { "contract", "errors" },
}, function(t)
	local p = t:pair { memory = 64 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	local before = q:submit_put { from = a, to = b }
	local bad = q:submit_put { from = a, to = b:slice(0, 63) }
	local after = q:submit_put { from = a, to = b }
	t:expect(t:result(bad).errno):equals "EMSGSIZE"
	t:wait { before, after }
	t:expect(after:wr_ids()):equals { 1 }
end)

srd.scenario("direct puts may use what the send queue has, and the line waits for them", {
	tags = { "contract", "credit" },
}, function(t)
	local p = t:pair { max_send_wr = 5, memory = 64 } -- eight slots are granted
	local q, ops = p.a.qp, {}
	for i = 1, 8 do
		ops[i] = q:put { from = p.a.mem, to = p.b.mem }
	end
	t:expect(function()
		q:put { from = p.a.mem, to = p.b.mem }
	end):raises()
	t:expect(q:in_flight()):equals(8)
	local submitted = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(submitted):is "queued"
	ops[#ops + 1] = submitted
	t:wait(ops)
	t:expect(submitted:wr_ids()):equals { 9 }
	t:expect(q:in_flight()):equals(0)
end)

srd.scenario("an op with many failed requests is answered once, with the first cause", {
	tags = { "contract", "srd", "errors" },
	needs = { "faults" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 400 }
	local q = p.a.qp
	local statuses = { "REMOTE_ERROR_ABORT", "REMOTE_ERROR_BAD_ADDRESS", "FLUSHED", "LOCAL_ERROR_BAD_LENGTH" }
	for i, status in ipairs(statuses) do
		t:fail(q:next_request(i), status)
		t:delay(q:next_request(i), (5 - i) * 1000000) -- the last comes first
	end
	local op = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op)):equals { status = "IBV_WC_LOC_LEN_ERR", vendor_err = 6 }
end)

srd.scenario("all requests flushed is a flush", {
	tags = { "contract", "srd", "errors" },
	needs = { "faults" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 400 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:device_error(p.a.qp)
	t:expect(t:result(op)):equals { status = "IBV_WC_WR_FLUSH_ERR", vendor_err = 1 }
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a failed poll ends the scheduler, and everybody is told", {
	tags = { "contract", "errors" },
}, function(t)
	local p = t:pair { max_send_wr = 1, memory = 64 }
	local posted = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	local queued = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:fail_call("poll_cq", { errno = "EIO" })
	t:expect(t:result(posted).errno):equals "ECANCELED"
	t:expect(t:result(queued).errno):equals "ECANCELED"
	local late = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(late).errno):equals "ECANCELED"
end)

srd.scenario("a poll that lacks memory is tried again", { tags = { "contract", "errors" } }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:fail_call("poll_cq", { errno = "ENOMEM" })
	t:wait(op)
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("submitting posts and never polls", { tags = { "contract", "credit" } }, function(t)
	local p = t:pair { max_send_wr = 2, memory = 64 }
	local q = p.a.qp
	local first = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(q:progress()):at_most(1)
	t:wait(first)
	local a = q:submit_put { from = p.a.mem, to = p.b.mem }
	local b = q:submit_put { from = p.a.mem, to = p.b.mem }
	local c = q:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(c):is "queued"
	t:expect(q:in_flight()):equals(2)
	t:wait { a, b, c }
end)

srd.scenario("a completion that nobody in the line waits for credits nothing", {
	description = "A request posted past queue pair and scheduler, with an id of its own.",
	tags = { "contract", "srd", "credit", "misuse" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = 64 }
	local q, qp = p.a.qp, p.a.qp.verbs
	local ah = p.a.host.verbs.pd:create_ah { dgid = p.b.host.verbs:query_gid() }
	local first = q:next_request(1)
	t:hold(first)
	local op = q:submit_put { from = p.a.mem, to = p.b.mem }
	qp:wr_start()
	qp:wr_rdma_write { wr_id = 999, rkey = p.b.mem.rkey, remote_addr = p.b.mem.addr }
	qp:wr_set_sge(p.a.mem)
	qp:wr_set_ud_addr { ah = ah, remote_qpn = p.b.qp.verbs.qp_num }
	t:expect(qp:wr_complete()):equals "OK"
	t:run_for "500us"
	t:expect(q:in_flight()):equals(1)
	t:expect(op):is "pending"
	t:release(first)
	t:wait(op)
	t:expect(q:in_flight()):equals(0)
end)
