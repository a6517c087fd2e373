local srd = require "srdlab"

-- One that is refused, and whose error is caught, counts for nothing: the others are run all the same.
assert(not pcall(srd.scenario, "refused", { nosuch = 1 }, function() end))

srd.scenario("nothing", {}, function() end)

srd.scenario("a put over max_rdma_size is split in order", {
	limits = { max_rdma_size = 1000 },
}, function(t)
	local a, b = t:host "a", t:host "b"
	local qa, qb = a:queue_pair { max_send_wr = 4 }, b:queue_pair {}
	t:connect(qa, qb)

	local src = a:memory(2500):fill "random"
	local dst = b:memory(2500)

	local op = qa:put { from = src, to = dst }
	t:wait(op)

	t:expect(op:chunks()):equals { { 0, 1000 }, { 1000, 1000 }, { 2000, 500 } }
	t:expect(op:wr_ids()):equals { 0, 1, 2 }
	t:expect(dst):same_content(src)
end)

srd.scenario("a head op without credit holds the line", {
	limits = { max_rdma_size = "4KiB" },
}, function(t)
	local p = t:pair { max_send_wr = 2, memory = "64KiB" }
	local q, src, dst = p.a.qp, p.a.mem, p.b.mem
	local function put(offset, size)
		return q:submit_put { from = src:slice(offset, size), to = dst:slice(offset, size) }
	end

	local first = put(0, "4KiB")
	local head = put("4KiB", "8KiB")
	local small = put("32KiB", 64)

	t:expect(q:in_flight()):equals(1)
	t:expect(head):is "queued"
	t:expect(small):is "queued"
	t:wait { first, head, small }
	t:expect(q:in_flight()):equals(0)
end)

srd.scenario("an op reports its own cause, after its last request", {
	needs = { "faults" },
	limits = { max_rdma_size = 1000 },
}, function(t)
	local p = t:pair { max_send_wr = 4, memory = 3000 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:hold(op:request(2))
	t:fail(op:request(1), "REMOTE_ERROR_BAD_ADDRESS")
	t:run_for "50us"
	t:expect(op):is "pending"
	t:release(op:request(2))
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
end)

srd.scenario("INIT without a queue key is refused", {}, function(t)
	local q = t:host("a"):queue_pair {}
	t:expect(q.verbs:modify { state = "INIT", port_num = 1, pkey_index = 0 }):equals "EINVAL"
	t:expect(q:state()):equals "RESET"
end)
