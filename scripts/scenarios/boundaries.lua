-- The chunk planner where 32 bits end. Memory of this size holds no bytes, only where each
-- came from, so these run in the mock alone.
local srd = require "srdlab"

local G = srd.size "1GiB"

-- How many requests SIZE bytes are, the length of the last, and whether all arrived.
local function transfer(t, kind, size, max_rdma_size)
	local p = t:pair { memory = size, kind = "ORIGIN", max_send_wr = 64 }
	p.a.mem:fill "random"
	p.b.mem:fill(7)
	local from, to = p.a.mem, p.b.mem
	if kind == "get" then
		from, to = to, from
	end
	local op = p.a.qp["submit_" .. kind](p.a.qp, { from = from, to = to })
	t:wait(op)
	t:expect(to):same_content(from)
	local chunks, offset = op:chunks(), 0
	for i, chunk in ipairs(chunks) do
		t:expect(chunk[1]):equals(offset)
		t:expect(chunk[2]):equals(i < #chunks and max_rdma_size or size - offset)
		offset = offset + chunk[2]
	end
	t:expect(offset):equals(size)
	return #chunks, chunks[#chunks][2]
end

for _, kind in ipairs { "put", "get" } do
	for _, case in ipairs {
		{ "one byte less than 4 GiB", 4 * G - 1, 4, G - 1 },
		{ "exactly 4 GiB", 4 * G, 4, G },
		{ "one byte more than 4 GiB", 4 * G + 1, 5, 1 },
		{ "ten times 4 GiB and a byte", 40 * G + 1, 41, 1 },
	} do
		local name, size, requests, last = table.unpack(case)
		srd.scenario(("%s: %s in requests of 1 GiB"):format(kind, name), {
			tags = { "contract", "chunks" },
			needs = { "origin", "fabric" },
			profile = { max_rdma_size = G, mtu = 65535 },
		}, function(t)
			local n, length = transfer(t, kind, size, G)
			t:expect(n):equals(requests)
			t:expect(length):equals(last)
		end)
	end
end

for _, case in ipairs {
	{ "all that fits one request", 0, 1, -1 },
	{ "one byte more", 1, 2, 1 },
	{ "two whole requests", (1 << 32) - 1, 2, -1 },
} do
	local name, more, requests, last = table.unpack(case)
	srd.scenario(("requests of 2^32 - 1 bytes, the largest there can be: %s"):format(name), {
		tags = { "contract", "chunks" },
		needs = { "origin", "fabric" },
		profile = { max_rdma_size = (1 << 32) - 1, mtu = 65535 },
	}, function(t)
		local max = (1 << 32) - 1
		local n, length = transfer(t, "put", max + more, max)
		t:expect(n):equals(requests)
		t:expect(length):equals(last > 0 and last or max)
	end)
end

srd.scenario("2^32 requests and more are refused, not counted modulo 2^32", {
	description = "A count that is cut to 32 bits is 0 or 5 here: it passes every gate.",
	tags = { "contract", "chunks", "credit" },
	needs = { "origin", "fabric" },
	profile = { max_rdma_size = 1 },
}, function(t)
	local p = t:pair { memory = (1 << 32) + 5, kind = "ORIGIN", max_send_wr = 64 }
	for _, size in ipairs { 1 << 32, (1 << 32) + 5 } do
		local op = p.a.qp:submit_put { from = p.a.mem:slice(0, size), to = p.b.mem:slice(0, size) }
		local result = t:result(op)
		t:expect(result.errno):equals "E2BIG"
		t:expect(result.message):contains(("%d requests"):format(size))
	end
	local op = p.a.qp:submit_put { from = p.a.mem:slice(0, 5), to = p.b.mem:slice(0, 5) }
	t:wait(op)
	t:expect(op:wr_ids()):equals { 0, 1, 2, 3, 4 }
end)

srd.scenario("a slice behind the fourth GiB is put to its place", {
	tags = { "contract", "chunks", "memory" },
	needs = { "origin" },
}, function(t)
	local p = t:pair { memory = 6 * G, kind = "ORIGIN" }
	p.a.mem:fill "random"
	local at, size = 4 * G - 5, 11 -- across the boundary
	t:wait(p.a.qp:put { from = p.a.mem:slice(at, size), to = p.b.mem:slice(at + G, size) })
	t:expect(p.b.mem:slice(at + G, size)):same_content(p.a.mem:slice(at, size))
	t:expect(p.b.mem:bytes(at + G - 1, 1)):equals "\0"
	t:expect(p.b.mem:bytes(at + G + size, 1)):equals "\0"
end)
