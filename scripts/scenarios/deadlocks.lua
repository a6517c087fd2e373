-- When nothing can happen any more the mock says so at once, and says who waits for what.
-- Here the scenario catches the report and reads it.
local srd = require "srdlab"

-- The report of the deadlock that WAIT ends in, by pieces of text it must have.
local function deadlock(t, wait, pieces)
	local ok, message = pcall(wait)
	t:expect(ok):equals(false)
	for _, piece in ipairs(pieces) do
		t:expect(message):contains(piece)
	end
end

srd.scenario("a request that is lost", {
	tags = { "engine", "deadlock" }, needs = { "faults", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:drop(op:request(1))
	deadlock(t, function()
		t:wait(op)
	end, { "deadlock", "waits for the put", "request 1 of 1 (wr_id 0): lost", "likely cause: a fault" })
	t:expect(p.a.qp:in_flight()):equals(1)
end)

srd.scenario("an op behind one that is held", {
	tags = { "engine", "deadlock" },
	needs = { "faults", "virtual_time" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { memory = 300, max_send_wr = 3 }
	local held = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	for i = 1, 3 do
		t:hold(held:request(i))
	end
	local behind = p.a.qp:submit_get { from = p.b.mem, to = p.a.mem }
	deadlock(t, function()
		t:wait(behind)
	end, { "waits for the get", "queued, it waits for credits", "held: its completion waits for t:release" })
	t:release_all(p.a.qp)
	t:wait { held, behind }
end)

srd.scenario("a device that does not reach itself", {
	tags = { "engine", "deadlock" },
	needs = { "fabric" },
	profile = { loopback = false },
}, function(t)
	local a = t:host "a"
	local one, two = a:queue_pair {}, a:queue_pair {}
	t:connect(one, two)
	local op = one:submit_put { from = a:memory(64), to = a:memory(64) }
	deadlock(t, function()
		t:wait(op)
	end, { "lost: this device does not reach itself" })
end)

srd.scenario("a wrong queue key, where the device never says so", {
	tags = { "engine", "deadlock" },
	needs = { "fabric" },
	profile = { qkey_mismatch = "never" },
	violates = "address.qkey",
}, function(t)
	local p = t:pair { memory = 64 }
	t:expect(p.b.qp.verbs:modify { qkey = 1 }):equals "OK"
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	deadlock(t, function()
		t:wait(op)
	end, { "request 1 of 1", "likely cause: queue pair 2 of host b drops the put" })
end)

srd.scenario("of two tasks that wait for each other the first hears of it, and can give up", {
	tags = { "engine", "deadlock" },
	needs = { "virtual_time" },
}, function(t)
	local first, second
	first = t:spawn(function()
		deadlock(t, function()
			t:wait(second)
		end, { "deadlock", "to end", "likely cause: tasks wait for one another" })
	end)
	second = t:spawn(function()
		t:wait(first)
	end)
end)

srd.scenario("a completion that nobody sends", { tags = { "engine", "deadlock" }, needs = { "virtual_time" } },
	function(t)
		local cq = t:host("a").verbs:create_cq(4)
		deadlock(t, function()
			cq:wait(1)
		end, { "deadlock", "waits for 1 more completion in completion queue 1", "nothing is posted" })
	end)

srd.scenario("waiting with a time is no deadlock", {
	tags = { "engine", "deadlock" },
	needs = { "faults" },
}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:hold(op:request(1))
	deadlock(t, function()
		t:wait(op, "5ms")
	end, { "not done in the time that was given" })
	t:release(op:request(1))
	t:wait(op)
end)
