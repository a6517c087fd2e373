-- What is made, used and destroyed; and what a device cannot do.
local srd = require "srdlab"

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "lifetime" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local C16 = "C16 (https://github.com/ofiwg/libfabric/pull/12308): memory was deregistered while requests that "
	.. "named it were in flight; they failed, or the program did."

-- Two writes in flight, held.
local function two_held(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	local ops = {}
	for i = 1, 2 do
		t:hold(p.a.qp:next_request())
		ops[i] = p.a.qp:submit_put { from = p.a.mem:slice(0, 32), to = p.b.mem:slice(0, 32) }
	end
	return p, ops
end

srd.scenario("local memory is deregistered under its requests", form(C16, "broken", {
	needs = { "faults" }, violates = "memory.dereg",
}), function(t)
	local p, ops = two_held(t)
	t:expect(p.a.mem:deregister()):equals "OK"
	t:release_all(p.a.qp)
	for _, op in ipairs(ops) do
		t:result(op)
	end
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("remote memory is deregistered under requests of the peer", form(C16, "broken", {
	needs = { "faults" }, profile = { level = "message" }, violates = "memory.dereg",
}), function(t)
	local a, b = t:verbs_pair { memory = 64 }
	for id = 1, 2 do
		t:delay(a.qp:next_request(), "100us")
		t:expect(a.qp:post({ { "write", wr_id = id, from = a.mem, to = b.mem } }, a.peer)):equals "OK"
	end
	t:run_for "50us"
	t:expect(b.mem:deregister()):equals "OK"
	for _, wc in ipairs(a.cq:wait(2)) do
		t:expect(wc.vendor_err):equals(7)
	end
end)

srd.scenario("memory is deregistered when its last request has completed", form(C16, "right", {
	needs = { "faults" },
}), function(t)
	local p, ops = two_held(t)
	t:spawn(function()
		t:wait(ops)
		t:expect(p.a.mem:deregister()):equals "OK"
		t:expect(p.b.mem:deregister()):equals "OK"
	end)
	t:run_for "1ms"
	t:release_all(p.a.qp)
	t:wait(ops)
end)

local C18 = "C18 (https://github.com/linux-rdma/rdma-core/pull/1382): a destroy that failed in the kernel had "
	.. "freed half of the object; and a queue that was destroyed left something behind, so that a loop ran out "
	.. "of them."

srd.scenario("a failed destroy is taken for done", form(C18, "broken", {
	fails = "expected \"OK\", got \"EBUSY\"",
}), function(t)
	local a = t:verbs_end "a"
	t:fail_call("destroy_qp", { errno = "EIO" })
	a.qp:destroy_qp()
	t:expect(a.cq:destroy_cq()):equals "OK"
end)

srd.scenario("queues are made in a loop and not destroyed", form(C18, "broken", {
	profile = "small", -- 16 completion queues
	fails = "attempt to index a nil value",
}), function(t)
	local verbs = t:host("a").verbs
	for _ = 1, 100 do
		local cq = verbs:create_cq(4)
		t:expect(cq.cqe):equals(4)
	end
end)

srd.scenario("a failed destroy is tried again, and a loop uses up nothing", form(C18, "right", {
	profile = "small",
}), function(t)
	local a = t:verbs_end("a", { cqe = 16 })
	t:fail_call("destroy_qp", { errno = "EIO" })
	t:expect(a.qp:destroy_qp()):equals "EIO"
	t:expect(a.qp:query().state):equals "RTS"
	t:expect(a.qp:destroy_qp()):equals "OK"
	t:expect(a.cq:destroy_cq()):equals "OK"
	for _ = 1, 1000 do
		local cq = a.host.verbs:create_cq(4)
		t:expect(cq:destroy_cq()):equals "OK"
	end
end)

local C21 = "C21 (https://github.com/meta-pytorch/monarch/pull/4734): a device without RDMA write was noticed "
	.. "late, by a crash; its capabilities say it before."

srd.scenario("writes on a device that has none", form(C21, "broken", {
	profile = { cap_rdma_write = false }, fails = "attempt to index a nil value",
}), function(t)
	local host = t:host "a"
	local cq = host.verbs:create_cq(16)
	local qp = host.verbs:create_qp_ex { send_cq = cq, recv_cq = cq, send_ops_flags = "RDMA_WRITE" }
	qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 1 }
end)

srd.scenario("a write that cannot be is a read by the other side", form(C21, "right", {
	profile = { cap_rdma_write = false },
}), function(t)
	local device = t:host("a").verbs
	local caps = device:efa_query_device().device_caps
	local can_write = false
	for _, cap in ipairs(caps) do
		can_write = can_write or cap == "EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE"
	end
	t:expect(can_write):equals(false)
	local cq = device:create_cq(16)
	t:expect(select(2, device:create_qp_ex { send_cq = cq, recv_cq = cq, send_ops_flags = "RDMA_WRITE" }))
		:equals "EOPNOTSUPP"
	local fields = { send_ops_flags = "SEND|RDMA_READ" }
	local a, b = t:verbs_end("a", fields), t:verbs_end("b", fields)
	a.mem = a.host:memory(64, { access = "LOCAL_WRITE|REMOTE_READ" }):fill "random"
	b.mem = b.host:memory(64, { access = "LOCAL_WRITE|REMOTE_READ" })
	t:expect(srd.address(a, b)):differs_from(nil)
	t:expect(b.qp:post({ { "read", from = a.mem, to = b.mem } }, srd.address(b, a))):equals "OK"
	t:expect(b.cq:wait()[1].vendor_err):equals(0)
	t:expect(b.mem):same_content(a.mem)
end)

local C23 = "C23 (https://github.com/ofiwg/libfabric/commit/d021b5c7019f229213fc88690d5762eb77199c01): data "
	.. "went inline that may not: more than the limit, or in memory of a device that the processor cannot read."

-- A send of LENGTH bytes, inline; the errno.
local function inline(t, limit, length)
	local a, b = t:verbs_pair { memory = 64, cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 2,
		max_recv_sge = 1, max_inline_data = limit } }
	a.mem:fill "random"
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	local errno = a.qp:post({ { "send", inline = a.mem:slice(0, length) } }, a.peer)
	if errno == "OK" then
		t:expect(b.cq:wait()[1].byte_len):equals(length)
		t:expect(b.mem:slice(0, length)):same_content(a.mem:slice(0, length))
	end
	return errno
end

srd.scenario("more inline than the queue pair has room for", form(C23, "broken", {
	fails = "expected \"OK\", got \"EINVAL\"",
}), function(t)
	t:expect(inline(t, 32, 33)):equals "OK"
end)

srd.scenario("inline up to the limit, by reference above it", form(C23, "right"), function(t)
	local limit = t:host("a").verbs:efa_query_device().inline_buf_size
	t:expect(inline(t, limit, limit - 1)):equals "OK"
	t:expect(inline(t, limit, limit)):equals "OK"
	t:expect(inline(t, limit, limit + 1)):equals "EINVAL"
end)

-- Two pieces of 16 bytes, the second in an accelerator's memory, and where they are to go.
local function host_and_device(t)
	local a, b = t:verbs_pair { memory = 64, cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 2,
		max_recv_sge = 1, max_inline_data = 32 } }
	local device = a.host:memory(64, { kind = "DEVICE" })
	device:fill "random"
	return a, b, {
		{ memory = a.mem:slice(0, 16), on_device = false }, { memory = device:slice(0, 16), on_device = true },
	}
end

srd.scenario("whether data may go inline is asked of its first piece", form(C23, "broken", {
	needs = { "origin" }, violates = "memory.inline",
}), function(t)
	local a, b, pieces = host_and_device(t)
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	if not pieces[1].on_device then
		t:expect(a.qp:post({ { "send", inline = pieces[2].memory } }, a.peer)):equals "EINVAL"
	end
end)

srd.scenario("inline only if every piece is memory that the processor reads", form(C23, "right", {
	needs = { "origin" },
}), function(t)
	local a, b, pieces = host_and_device(t)
	local total, all_host, list = 0, true, {}
	for i, piece in ipairs(pieces) do -- each one, not the first alone
		total, all_host, list[i] = total + piece.memory.size, all_host and not piece.on_device, piece.memory
	end
	t:expect(total <= 32 and all_host):equals(false)
	a.mem:fill "random"
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	t:expect(a.qp:post({ { "send", list = list } }, a.peer)):equals "OK"
	t:expect(b.cq:wait()[1].byte_len):equals(32)
	t:expect(b.mem:slice(0, 16)):same_content(list[1])
	t:expect(b.mem:slice(16, 16)):same_content(list[2])
end)
