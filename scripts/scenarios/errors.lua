-- Completions in error: which status each mistake and each fault gives, and that nothing
-- else suffers from it.
local srd = require "srdlab"

-- Every status that an EFA device can give, and what libefa makes of it.
local statuses = {
	{ "LOCAL_ERROR_QP_INTERNAL_ERROR", 2, "IBV_WC_LOC_QP_OP_ERR" },
	{ "LOCAL_ERROR_UNSUPPORTED_OP", 3, "IBV_WC_LOC_QP_OP_ERR" },
	{ "LOCAL_ERROR_INVALID_AH", 4, "IBV_WC_LOC_QP_OP_ERR" },
	{ "LOCAL_ERROR_INVALID_LKEY", 5, "IBV_WC_LOC_PROT_ERR" },
	{ "LOCAL_ERROR_BAD_LENGTH", 6, "IBV_WC_LOC_LEN_ERR" },
	{ "REMOTE_ERROR_BAD_ADDRESS", 7, "IBV_WC_REM_ACCESS_ERR" },
	{ "REMOTE_ERROR_ABORT", 8, "IBV_WC_REM_ABORT_ERR" },
	{ "REMOTE_ERROR_BAD_DEST_QPN", 9, "IBV_WC_REM_INV_RD_REQ_ERR" },
	{ "REMOTE_ERROR_RNR", 10, "IBV_WC_RNR_RETRY_EXC_ERR" },
	{ "REMOTE_ERROR_BAD_LENGTH", 11, "IBV_WC_REM_INV_REQ_ERR" },
	{ "REMOTE_ERROR_BAD_STATUS", 12, "IBV_WC_BAD_RESP_ERR" },
	{ "LOCAL_ERROR_UNRESP_REMOTE", 13, "IBV_WC_RESP_TIMEOUT_ERR" },
	{ "REMOTE_ERROR_UNKNOWN_PEER", 14, "IBV_WC_REM_OP_ERR" },
	{ "LOCAL_ERROR_UNREACH_REMOTE", 15, "IBV_WC_RESP_TIMEOUT_ERR" },
	{ "REMOTE_ERROR_FEATURE_MISMATCH", 18, "IBV_WC_REM_INV_REQ_ERR" }, -- libefa of rdma-core 56.1: GENERAL_ERR
	{ "FLUSHED", 1, "IBV_WC_WR_FLUSH_ERR" },
}

for i, case in ipairs(statuses) do
	local name, vendor, status = table.unpack(case)
	local kind = i % 2 == 0 and "get" or "put"
	srd.scenario(("%s is %s of one %s, and the next goes well"):format(name, status, kind), {
		tags = { "contract", "srd", "errors", "credit" },
		needs = { "faults" },
		limits = { max_rdma_size = 100 },
	}, function(t)
		local p = t:pair { memory = 300, max_send_wr = 4 }
		local q, from, to = p.a.qp, p.a.mem:fill "random", p.b.mem
		if kind == "get" then
			from, to = p.b.mem:fill "random", p.a.mem
		end
		t:fail(q:next_request(2), name) -- one of three
		local op = q["submit_" .. kind](q, { from = from, to = to })
		local result = t:result(op)
		if vendor == 18 and t:backend() == "efa" and result.status == "IBV_WC_GENERAL_ERR" then
			status = result.status
		end
		t:expect(result):equals { status = status, vendor_err = vendor }
		t:expect(op:wr_ids()):equals { 0, 1, 2 }
		t:expect(q):is "RTS"
		t:expect(q:in_flight()):equals(0)
		t:wait(q["submit_" .. kind](q, { from = from, to = to }))
		t:expect(to):same_content(from)
	end)
end

srd.scenario("a status that is not defined is a general error", {
	tags = { "contract", "srd", "errors" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { memory = 64 }
	for _, status in ipairs { 16, 17, 19, 255 } do
		t:fail(p.a.qp:next_request(), status)
		t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })):equals {
			status = "IBV_WC_GENERAL_ERR", vendor_err = status,
		}
	end
	t:expect(p.a.qp:in_flight()):equals(0)
end)

-- A transfer between the two sides, with one thing wrong with it.
local function with(t, change, kind)
	local p = t:pair { memory = 64 }
	local src = { addr = p.a.mem.addr, size = 64, key = p.a.mem.lkey }
	local dst = { addr = p.b.mem.addr, size = 64, key = p.b.mem.rkey }
	change(src, dst, p)
	if kind == "get" then
		return t:result(p.a.qp:submit_get { from = dst, to = src })
	end
	return t:result(p.a.qp:submit_put { from = src, to = dst })
end

local remote = { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
local loc = { status = "IBV_WC_LOC_PROT_ERR", vendor_err = 5 }

srd.scenario("an rkey that nobody gave", { tags = { "law", "errors" }, violates = "memory.rkey" }, function(t)
	t:expect(with(t, function(_, dst)
		dst.key = dst.key ~ 0xff
	end)):equals(remote)
end)

srd.scenario("a remote range beyond its region", {
	tags = { "law", "errors" },
	violates = "memory.remote_range",
}, function(t)
	t:expect(with(t, function(_, dst)
		dst.addr = dst.addr + 1
	end)):equals(remote)
end)

srd.scenario("an lkey that nobody gave", { tags = { "law", "errors" }, violates = "memory.lkey" }, function(t)
	t:expect(with(t, function(src)
		src.key = src.key ~ 0xff
	end)):equals(loc)
end)

srd.scenario("a local range beyond its region", {
	tags = { "law", "errors" },
	violates = "memory.local_range",
}, function(t)
	t:expect(with(t, function(src)
		src.addr = src.addr + 1
	end)):equals(loc)
end)

srd.scenario("a region without the right to be written", {
	tags = { "law", "errors" },
	violates = "memory.remote_access",
}, function(t)
	t:expect(with(t, function(_, dst, p)
		local m = p.b.host:memory(64, { access = "LOCAL_WRITE|REMOTE_READ" })
		dst.addr, dst.key = m.addr, m.rkey
	end)):equals(remote)
end)

srd.scenario("a region without the right to be read", {
	tags = { "law", "errors" },
	violates = "memory.remote_access",
}, function(t)
	t:expect(with(t, function(_, dst, p)
		local m = p.b.host:memory(64, { access = "LOCAL_WRITE|REMOTE_WRITE" })
		dst.addr, dst.key = m.addr, m.rkey
	end, "get")):equals(remote)
end)

srd.scenario("a region that was deregistered before", {
	tags = { "law", "errors" },
	violates = "memory.rkey",
}, function(t)
	t:expect(with(t, function(_, _, p)
		t:expect(p.b.mem:deregister()):equals "OK"
	end)):equals(remote)
end)

srd.scenario("a peer in ERR is no destination", { tags = { "law", "errors" } }, function(t)
	local p = t:pair { memory = 64 }
	t:expect(p.b.qp.verbs:modify { state = "ERR" }):equals "OK"
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_INV_RD_REQ_ERR", vendor_err = 9 }
	t:expect(p.a.qp):is "RTS"
end)

srd.scenario("a peer that is gone is no destination", { tags = { "law", "errors" } }, function(t)
	local p = t:pair { memory = 64 }
	p.b.qp:destroy()
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op).vendor_err):equals(9)
end)

srd.scenario("ERR flushes what is out", { tags = { "law", "errors" }, needs = { "faults" } }, function(t)
	local p = t:pair { memory = 64 }
	local ops = {}
	for i = 1, 3 do
		ops[i] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	t:expect(p.a.qp.verbs:modify { state = "ERR" }):equals "OK"
	for _, op in ipairs(ops) do
		t:expect(t:result(op)):equals { status = "IBV_WC_WR_FLUSH_ERR", vendor_err = 1 }
	end
	local late = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(late).errno):equals "EINVAL"
end)

srd.scenario("a host that dies is given up", {
	tags = { "errors" },
	needs = { "faults", "hosts", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
	p.b.host:kill()
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op).status):equals "IBV_WC_RESP_TIMEOUT_ERR"
end)

srd.scenario("an error nobody looks at would fail the scenario; this one is looked at", {
	tags = { "engine", "errors" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:fail(p.a.qp:next_request(), "REMOTE_ERROR_ABORT")
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(function()
		t:wait(op)
	end):raises "IBV_WC_REM_ABORT_ERR"
end)
