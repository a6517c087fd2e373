-- Random programs: what holds for every one of them, with any seed, in any order of the
-- fabric, with loss or without. Each is short, for thousands of seeds are run.
local srd = require "srdlab"

local fabrics = {
	{ "in order", {} , "in_order" },
	{ "in random order", {}, "random" },
	{ "in the most harmful order", {}, "adversarial" },
	{ "packet by packet", { level = "packet" }, "random" },
	{ "packet by packet in the most harmful order", { level = "packet" }, "adversarial" },
	{ "with one packet in ten lost", { level = "packet", loss = 100000 }, "random" },
}

for _, case in ipairs(fabrics) do
	local name, profile, order = table.unpack(case)
	profile.order, profile.max_rdma_size, profile.mtu = order, 700, 256

	srd.scenario(("puts and gets of random ranges, %s"):format(name), {
		description = "Each op has a range of its own in both memories, so that the end is known.",
		tags = { "contract", "mixed" },
		needs = { "fabric" },
		seeds = true,
		profile = profile,
	}, function(t)
		local p = t:pair { memory = 16000, max_send_wr = math.random(3, 9) }
		p.a.mem:fill "random"
		p.b.mem:fill "random"
		local ops, at, ids = {}, 0, 0
		while at < 16000 do
			local size = math.min(math.random(0, 1500), 16000 - at)
			local here, there = p.a.mem:slice(at, size), p.b.mem:slice(at, size)
			if math.random(2) == 1 then
				ops[#ops + 1] = p.a.qp:submit_put { from = here, to = there }
			else
				ops[#ops + 1] = p.a.qp:submit_get { from = there, to = here }
			end
			ids = ids + math.max(1, (size + 699) // 700)
			at = at + size
			if math.random(4) == 1 then
				t:run_for(math.random(0, 40000))
			end
		end
		t:wait(ops)
		t:expect(p.a.mem):same_content(p.b.mem)
		t:expect(p.a.qp:in_flight()):equals(0)
		local last = ops[#ops]:wr_ids()
		t:expect(last[#last]):equals(ids - 1)
	end)

	srd.scenario(("both sides at once, from many tasks, %s"):format(name), {
		tags = { "contract", "mixed" },
		needs = { "fabric" },
		seeds = true,
		profile = profile,
	}, function(t)
		local p = t:pair { memory = 8000, max_send_wr = 4 }
		p.a.mem:slice(0, 4000):fill "random"
		p.b.mem:slice(4000, 4000):fill "random"
		for i = 0, 7 do
			local from, to, offset = p.a, p.b, i * 500
			if i % 2 == 1 then
				from, to, offset = p.b, p.a, 4000 + i * 500
			end
			t:spawn(function()
				for part = 0, 1 do
					local at = offset + part * 250
					t:wait(from.qp:submit_put { from = from.mem:slice(at, 250), to = to.mem:slice(at, 250) })
					t:run_for(math.random(0, 30000))
				end
				t:expect(to.mem:slice(offset, 500)):same_content(from.mem:slice(offset, 500))
			end)
		end
	end)
end

srd.scenario("random failures: each op ends as its worst request did, and no other", {
	tags = { "contract", "srd", "mixed", "errors" },
	needs = { "faults", "fabric", "model" },
	seeds = true,
	profile = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { memory = 400, max_send_wr = 6 }
	local failed_request, first, ops = {}, {}, {}
	for i = 0, 99 do
		failed_request[i] = math.random(8) == 1
		if failed_request[i] then
			t:fail(p.a.qp:next_request(i + 1), "REMOTE_ERROR_ABORT")
		end
		if math.random(8) == 1 then
			t:delay(p.a.qp:next_request(i + 1), math.random(1, 200000))
		end
	end
	local id = 0
	for i = 1, 25 do
		local n = math.random(1, 4)
		first[i] = id
		ops[i] = p.a.qp:submit_put { from = p.a.mem:slice(0, n * 100), to = p.b.mem:slice(0, n * 100) }
		id = id + n
	end
	first[26] = id
	for i, op in ipairs(ops) do
		local expected = 0
		for request = first[i], first[i + 1] - 1 do
			expected = failed_request[request] and 8 or expected
		end
		t:expect(t:result(op).vendor_err):equals(expected)
	end
	t:expect(p.a.qp:in_flight()):equals(0)
	t:audit()
end)

srd.scenario("queue pairs come and go while others work", {
	tags = { "contract", "mixed", "teardown" },
	needs = { "model" },
	seeds = true,
}, function(t)
	local p = t:pair { memory = 4096, max_send_wr = 4 }
	p.a.mem:fill "random"
	local steady = t:spawn(function()
		for i = 0, 31 do
			t:wait(p.a.qp:submit_put { from = p.a.mem:slice(i * 128, 128), to = p.b.mem:slice(i * 128, 128) })
		end
	end)
	for _ = 1, 20 do
		local q, peer = p.a.host:queue_pair {}, p.b.host:queue_pair {}
		local mine, theirs = p.a.host:memory(64), p.b.host:memory(64)
		t:connect(q, peer)
		local ops = {}
		for i = 1, math.random(1, 6) do
			ops[i] = q:submit_put { from = mine, to = theirs }
		end
		t:run_for(math.random(0, 60000))
		q:destroy()
		peer:destroy()
		for _, op in ipairs(ops) do
			t:expect(op:status()):differs_from "pending" -- looked at: it may have failed
		end
		mine:free()
		theirs:free()
	end
	t:wait(steady)
	t:expect(p.b.mem):same_content(p.a.mem)
	t:audit()
end)
