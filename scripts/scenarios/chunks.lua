-- How a transfer is cut into requests: as many as max_rdma_size asks for, in order,
-- without a gap, an overlap or an empty tail.
local srd = require "srdlab"

local SIZE = 1000 -- of one request

-- { total, { the lengths of the requests } }
local cases = {
	{ "nothing is one empty request", 0, { 0 } },
	{ "one byte is one request", 1, { 1 } },
	{ "one byte less than a request", SIZE - 1, { 999 } },
	{ "exactly one request", SIZE, { 1000 } },
	{ "one byte more than a request", SIZE + 1, { 1000, 1 } },
	{ "one byte less than two requests", 2 * SIZE - 1, { 1000, 999 } },
	{ "exactly two requests have no empty tail", 2 * SIZE, { 1000, 1000 } },
	{ "one byte more than two requests", 2 * SIZE + 1, { 1000, 1000, 1 } },
	{ "seven and a half requests", 7500, { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 500 } },
}

local function plan(lengths)
	local chunks, ids, offset = {}, {}, 0
	for i, length in ipairs(lengths) do
		chunks[i], ids[i] = { offset, length }, i - 1
		offset = offset + length
	end
	return chunks, ids
end

for _, case in ipairs(cases) do
	local name, size, lengths = table.unpack(case)
	for _, kind in ipairs { "put", "get" } do
		srd.scenario(("%s: %s"):format(kind, name), {
			tags = { "contract", "chunks" },
			limits = { max_rdma_size = SIZE },
		}, function(t)
			local p = t:pair { memory = 8000 }
			p.a.mem:fill "random"
			p.b.mem:fill "random"
			local here, there = p.a.mem:slice(0, size), p.b.mem:slice(0, size)
			local from, to = here, there
			if kind == "get" then
				from, to = there, here
			end
			local op = p.a.qp[kind](p.a.qp, { from = from, to = to })
			t:wait(op)
			local chunks, ids = plan(lengths)
			t:expect(op:chunks()):equals(chunks)
			t:expect(op:wr_ids()):equals(ids)
			t:expect(to):same_content(from)
		end)
	end
end

srd.scenario("a put over max_rdma_size is split in order", {
	tags = { "contract", "chunks" },
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

srd.scenario("the largest request is what the device says", {
	tags = { "contract", "chunks" },
}, function(t)
	local a = t:host "a"
	local q = a:queue_pair {}
	local efa = a.verbs:efa_query_device()
	t:expect(q:max_msg_size()):equals(efa and efa.max_rdma_size or a.verbs:query_port().max_msg_sz)
end)

srd.scenario("a request of one byte each", {
	tags = { "contract", "chunks" },
	limits = { max_rdma_size = 1 },
}, function(t)
	local p = t:pair { memory = 8 }
	p.a.mem:write(0, "8 bytes!")
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:wait(op)
	t:expect(#op:wr_ids()):equals(8)
	t:expect(p.b.mem):same_content "8 bytes!"
end)

srd.scenario("ids go on from op to op", {
	tags = { "contract", "ids" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { memory = 300, max_send_wr = 16 }
	local ops, ids = {}, {}
	for i = 1, 4 do
		ops[i] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
		t:wait(ops[i])
	end
	for i = 1, 4 do
		table.move(ops[i]:wr_ids(), 1, 3, #ids + 1, ids)
	end
	t:expect(ids):equals { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }
end)

srd.scenario("a put writes nothing beside its target", {
	tags = { "contract", "memory" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { memory = 1000 }
	p.a.mem:fill "random"
	p.b.mem:fill(7)
	local before = p.b.mem:bytes()
	t:wait(p.a.qp:put { from = p.a.mem:slice(0, 333), to = p.b.mem:slice(400, 333) })
	t:expect(p.b.mem:bytes(0, 400)):equals(before:sub(1, 400))
	t:expect(p.b.mem:slice(400, 333)):same_content(p.a.mem:slice(0, 333))
	t:expect(p.b.mem:bytes(733)):equals(before:sub(734))
end)

srd.scenario("a get writes nothing beside its target", {
	tags = { "contract", "memory" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { memory = 1000 }
	p.a.mem:fill(7)
	p.b.mem:fill "random"
	local before = p.a.mem:bytes()
	t:wait(p.a.qp:get { from = p.b.mem:slice(0, 250), to = p.a.mem:slice(1, 250) })
	t:expect(p.a.mem:bytes(0, 1)):equals(before:sub(1, 1))
	t:expect(p.a.mem:slice(1, 250)):same_content(p.b.mem:slice(0, 250))
	t:expect(p.a.mem:bytes(251)):equals(before:sub(252))
end)

srd.scenario("a put moves the size of its source, a get that of its source", {
	tags = { "contract", "chunks" },
	limits = { max_rdma_size = 100 },
}, function(t)
	local p = t:pair { memory = 1000 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	t:wait { q:put { from = a:slice(0, 60), to = b:slice(0, 90) }, q:get { from = b:slice(0, 60), to = a:slice(0, 90) } }
	local put = q:put { from = a:slice(0, 150), to = b }
	local get = q:get { from = b:slice(0, 250), to = a }
	t:wait { put, get }
	t:expect(put:chunks()):equals { { 0, 100 }, { 100, 50 } }
	t:expect(get:chunks()):equals { { 0, 100 }, { 100, 100 }, { 200, 50 } }
end)

srd.scenario("a destination that is too small is refused, and costs no id", {
	tags = { "contract", "chunks" },
}, function(t)
	local p = t:pair { memory = 1000 }
	local q, a, b = p.a.qp, p.a.mem, p.b.mem
	t:expect(function()
		q:put { from = a, to = b:slice(0, 999) }
	end):raises()
	t:expect(function()
		q:get { from = b, to = a:slice(0, 500) }
	end):raises()
	local op = q:put { from = a, to = b }
	t:wait(op)
	t:expect(op:wr_ids()):equals { 0 }
end)

srd.scenario("addresses that would wrap are refused", {
	tags = { "contract", "chunks" },
}, function(t)
	local p = t:pair { memory = 4096 }
	local far = { addr = -100, size = 4096, key = p.b.mem.rkey } -- 100 bytes below 2^64
	t:expect(function()
		p.a.qp:put { from = p.a.mem, to = far }
	end):raises()
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:wait(op)
	t:expect(op:wr_ids()):equals { 0 }
end)
