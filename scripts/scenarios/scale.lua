-- Much of everything: sizes that no memory holds, and as many queue pairs as no device has.
local srd = require "srdlab"

srd.scenario("4 TiB in puts of 64 GiB, verified to the byte", {
	description = "Origin-only memory remembers where each byte came from instead of the byte.",
	tags = { "engine", "scale" },
	needs = { "origin" },
	profile = "huge",
}, function(t)
	local PART, PARTS = srd.size "64GiB", 64
	local p = t:pair { memory = PART * PARTS, kind = "ORIGIN", max_send_wr = 128 }
	p.a.mem:fill "random"
	local ops = {}
	for i = 0, PARTS - 1 do
		ops[#ops + 1] = p.a.qp:submit_put {
			from = p.a.mem:slice(i * PART, PART),
			to = p.b.mem:slice(i * PART, PART),
		}
	end
	t:wait(ops)
	t:expect(p.b.mem):same_content(p.a.mem)
	t:expect(#ops[1]:chunks()):equals(64)
end)

srd.scenario("a thousand queue pairs on one device", {
	tags = { "engine", "scale" },
	needs = { "hosts" },
	profile = "huge",
}, function(t)
	local N = 1000
	local a, b = t:host "a", t:host "b"
	local from, to = a:memory(64 * N):fill "random", b:memory(64 * N)
	local ops = {}
	for i = 0, N - 1 do
		local qa, qb = a:queue_pair { max_send_wr = 1 }, b:queue_pair {}
		t:connect(qa, qb)
		ops[#ops + 1] = qa:submit_put { from = from:slice(i * 64, 64), to = to:slice(i * 64, 64) }
	end
	t:wait(ops)
	t:expect(to):same_content(from)
end)

srd.scenario("ten thousand ops on one queue pair", { tags = { "engine", "scale" } }, function(t)
	local p = t:pair { memory = 64, max_send_wr = 16 }
	local window = {}
	for i = 1, 10000 do
		local slot = i % 16 + 1
		if window[slot] then
			t:wait(window[slot])
		end
		window[slot] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	for _, op in pairs(window) do
		t:wait(op)
	end
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a put of as many requests as the send queue is deep", {
	tags = { "contract", "scale" },
	limits = { max_rdma_size = 16 },
}, function(t)
	local p = t:pair { memory = 16 * 4096, max_send_wr = 4096 }
	p.a.mem:fill "random"
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:wait(op)
	t:expect(#op:wr_ids()):equals(4096)
	t:expect(p.b.mem):same_content(p.a.mem)
end)
