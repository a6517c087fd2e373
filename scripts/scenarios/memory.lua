-- Memory regions: keys, rights and ranges; and what becomes of requests whose memory goes.
local srd = require "srdlab"

local remote = { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
local loc = { status = "IBV_WC_LOC_PROT_ERR", vendor_err = 5 }

srd.scenario("every byte of a region can be reached, the first and the last too", {
	tags = { "law", "memory" },
}, function(t)
	local p = t:pair { memory = 4097 }
	p.a.mem:fill "random"
	for _, at in ipairs { 0, 1, 4095, 4096 } do
		t:wait(p.a.qp:put { from = p.a.mem:slice(at, 1), to = p.b.mem:slice(at, 1) })
		t:expect(p.b.mem:bytes(at, 1)):equals(p.a.mem:bytes(at, 1))
	end
end)

srd.scenario("nothing need be aligned", { tags = { "law", "memory" }, limits = { max_rdma_size = 97 } }, function(t)
	local p = t:pair { memory = 1000, max_send_wr = 32 }
	p.a.mem:fill "random"
	for _, case in ipairs { { 1, 3, 500 }, { 13, 1, 777 }, { 7, 7, 97 }, { 999, 0, 1 } } do
		local from, to, size = table.unpack(case)
		t:wait(p.a.qp:put { from = p.a.mem:slice(from, size), to = p.b.mem:slice(to, size) })
		t:expect(p.b.mem:slice(to, size)):same_content(p.a.mem:slice(from, size))
	end
end)

srd.scenario("the source of a put may be read-only", { tags = { "law", "memory" } }, function(t)
	local p = t:pair { memory = 64 }
	local source = p.a.host:memory(64, { access = "LOCAL_WRITE" })
	source:fill "random"
	t:wait(p.a.qp:put { from = source, to = p.b.mem })
	t:expect(p.b.mem):same_content(source)
end)

srd.scenario("two regions of one buffer, each with its own rights", {
	tags = { "law", "memory" },
	violates = "memory.remote_access",
}, function(t)
	local p = t:pair { memory = 64 }
	local read_only = p.b.host.verbs.pd:reg_mr(p.b.mem, "LOCAL_WRITE|REMOTE_READ")
	local view = { addr = p.b.mem.addr, size = 64, key = read_only.rkey }
	t:wait(p.a.qp:put { from = p.a.mem:fill "random", to = p.b.mem })
	t:wait(p.a.qp:get { from = view, to = p.a.mem })
	t:expect(t:result(p.a.qp:put { from = p.a.mem, to = view })):equals(remote)
end)

srd.scenario("remote writing needs local writing", { tags = { "law", "memory" } }, function(t)
	local a = t:host "a"
	local buffer = a:memory(64, { register = false })
	local mr, why = a.verbs.pd:reg_mr(buffer, "REMOTE_WRITE")
	t:expect(mr):equals(nil)
	t:expect(why):equals "EINVAL"
	t:expect(select(2, a.verbs.pd:reg_mr(buffer, "LOCAL_WRITE|REMOTE_ATOMIC"))):equals "EOPNOTSUPP"
	t:expect(a.verbs.pd:reg_mr(buffer, "REMOTE_READ")):differs_from(nil)
end)

srd.scenario("memory that is not there cannot be registered", { tags = { "law", "memory" } }, function(t)
	local a = t:host "a"
	t:expect(select(2, a.verbs.pd:reg_mr({ addr = 64, size = 4096 }, "LOCAL_WRITE"))):equals "EFAULT"
end)

srd.scenario("a device without RDMA refuses the rights for it", {
	tags = { "law", "memory" },
	needs = { "fabric" },
	profile = "no_rdma",
}, function(t)
	local a = t:host "a"
	local buffer = a:memory(64, { access = "LOCAL_WRITE" })
	for _, right in ipairs { "LOCAL_WRITE|REMOTE_WRITE", "REMOTE_READ" } do
		t:expect(select(2, a.verbs.pd:reg_mr(buffer, right))):equals "EOPNOTSUPP"
	end
end)

srd.scenario("a get lands only where local writing is allowed", {
	tags = { "law", "memory" },
	violates = "memory.local_access",
}, function(t)
	local p = t:pair { memory = 64 }
	local m = p.a.host:memory(64, { access = "REMOTE_READ" })
	t:expect(t:result(p.a.qp:submit_get { from = p.b.mem, to = m })):equals(loc)
	t:expect(p.a.qp):is "RTS"
end)

srd.scenario("a range across two regions is in neither", {
	tags = { "law", "memory" },
	violates = "memory.remote_range",
}, function(t)
	local p = t:pair { memory = 64 }
	local buffer = p.b.host:memory(64, { register = false })
	local pd, all = p.b.host.verbs.pd, "LOCAL_WRITE|REMOTE_WRITE"
	local low = pd:reg_mr({ addr = buffer.addr, size = 32 }, all)
	pd:reg_mr({ addr = buffer.addr + 32, size = 32 }, all)
	local view = { addr = buffer.addr + 16, size = 32, key = low.rkey }
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem:slice(0, 32), to = view })):equals(remote)
end)

srd.scenario("the key of another protection domain opens nothing here", {
	tags = { "law", "memory" },
	violates = "memory.lkey",
}, function(t)
	local p = t:pair { memory = 64 }
	local other = p.a.host.verbs:alloc_pd()
	local mr = other:reg_mr(p.a.mem, "LOCAL_WRITE")
	local from = { addr = p.a.mem.addr, size = 64, key = mr.lkey }
	t:expect(t:result(p.a.qp:submit_put { from = from, to = p.b.mem })):equals(loc)
end)

srd.scenario("an empty transfer looks at no key", {
	tags = { "contract", "memory" },
	needs = { "fabric" }, -- a guess, so a profile has to say it
	profile = { zero_length_checks_key = false },
}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:put { from = p.a.mem:slice(0, 0), to = { addr = p.b.mem.addr, size = 0, key = 1 } })
end)

srd.scenario("an empty transfer looks at its keys, on a device that does", {
	tags = { "contract", "srd", "memory" },
	needs = { "fabric" },
	profile = { zero_length_checks_key = true },
}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem:slice(0, 0), to = { addr = p.b.mem.addr, size = 0, key = 1 } }
	t:expect(t:result(op)):equals(remote)
end)

srd.scenario("one bad chunk fails the op, the others arrive", {
	tags = { "law", "memory" },
	limits = { max_rdma_size = 1000 },
	violates = "memory.remote_range",
}, function(t)
	local p = t:pair { memory = 2500 }
	p.a.mem:fill "random"
	local view = { addr = p.b.mem.addr, size = 2500, key = p.b.host.verbs.pd:reg_mr(p.b.mem:slice(0, 2000),
		"LOCAL_WRITE|REMOTE_WRITE").rkey }
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = view })):equals(remote)
	t:expect(p.b.mem:slice(0, 2000)):same_content(p.a.mem:slice(0, 2000))
end)

srd.scenario("what a failed write has placed lies inside the region", {
	description = "Which of its packets were placed is left open; outside the region none may be.",
	tags = { "law", "memory" },
	needs = { "fabric" },
	seeds = true,
	profile = { partial_on_error = true },
	violates = "memory.remote_range",
}, function(t)
	local p = t:pair { memory = "256KiB" }
	p.a.mem:fill "random"
	p.b.mem:fill(7)
	local before = p.b.mem:bytes()
	local mr = p.b.host.verbs.pd:reg_mr(p.b.mem:slice("64KiB", "100KiB"), "LOCAL_WRITE|REMOTE_WRITE")
	local view = { addr = p.b.mem.addr + srd.size "64KiB", size = srd.size "128KiB", key = mr.rkey }
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem:slice(0, "128KiB"), to = view })):equals(remote)
	t:expect(p.b.mem:bytes(0, "64KiB")):equals(before:sub(1, srd.size "64KiB"))
	t:expect(p.b.mem:bytes "164KiB"):equals(before:sub(srd.size "164KiB" + 1))
end)

srd.scenario("the target's region goes while a put is under way", {
	tags = { "law", "memory" },
	needs = { "faults" },
	violates = "memory.dereg",
}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(p.b.mem:deregister()):equals "OK"
	t:expect(t:result(op)):equals(remote)
	t:expect(p.a.qp):is "RTS"
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("the source's region goes while a put is under way", {
	description = "The device completes it at once, without waiting for the peer.",
	tags = { "law", "memory" },
	needs = { "faults" },
	violates = "memory.dereg",
}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(p.a.mem:deregister()):equals "OK"
	t:expect(t:result(op)):equals(loc)
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a key that was given back opens nothing, though its buffer is registered again", {
	tags = { "law", "memory" },
	needs = { "faults" }, -- a device may give the same key again
	violates = "memory.rkey",
}, function(t)
	local p = t:pair { memory = 64 }
	local pd = p.b.host.verbs.pd
	local mr = pd:reg_mr(p.b.mem, "LOCAL_WRITE|REMOTE_WRITE")
	local old = { addr = p.b.mem.addr, size = 64, key = mr.rkey }
	t:expect(mr:dereg_mr()):equals "OK"
	local new = pd:reg_mr(p.b.mem, "LOCAL_WRITE|REMOTE_WRITE")
	t:expect(new.rkey):differs_from(old.key)
	t:expect(t:result(p.a.qp:submit_put { from = p.a.mem, to = old })):equals(remote)
end)
