-- Sizes, chunks, keys and widths: arithmetic that holds until the numbers grow, or are zero.
local srd = require "srdlab"

local limits = { max_rdma_size = 4096 }

-- The options of a scenario of BUG. A device is spared the broken forms.
local function form(bug, form_name, more)
	return srd.with({
		bug = bug:match "^%w+", form = form_name, description = bug, tags = { "field", "geometry" },
		needs = form_name == "broken" and { "virtual_time" } or nil,
	}, more or {})
end

local B01 = "B01 (https://github.com/NVIDIA/nccl/pull/2333): a whole put became one work request, although it "
	.. "was larger than the device allows; the error completion was read by nobody, and beyond 4 GiB the length "
	.. "was cut."

srd.scenario("one request is longer than the device allows", form(B01, "broken", {
	profile = "small", -- 4096 bytes
	violates = "chunk.limit",
}), function(t)
	local a, b = t:verbs_pair { memory = 12289 }
	t:expect(a.qp:post({ { "write", from = a.mem, to = b.mem } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(6) -- what nobody looked at
end)

srd.scenario("a length that is cut to 32 bits", form(B01, "broken", {
	needs = { "origin" },
	fails = "expected the same content",
}), function(t)
	local a, b = t:verbs_end "a", t:verbs_end "b"
	local peer, back = srd.address(a, b), srd.address(b, a)
	t:expect(back):differs_from(nil)
	local size = (1 << 32) + 8192
	local from = a.host:memory(size, { kind = "ORIGIN" }):fill "random"
	local to = b.host:memory(size, { kind = "ORIGIN" })
	local sge = { addr = from.addr, length = size & 0xffffffff, lkey = from.lkey }
	t:expect(a.qp:post({ { "write", from = sge, to = to } }, peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(to):same_content(from)
end)

-- The tail of a put carries the signal; GATED: only after the pieces before it are done.
local function put_with_signal(t, a, b, order, gated)
	for i, place in ipairs(order) do
		t:delay(a.qp:next_request(i), place * 50000)
	end
	local function piece(i)
		local last = i == 4
		return { last and "write_imm" or "write", wr_id = i, from = a.mem:slice(4096 * i - 4096, last and 1 or 4096),
			to = b.mem:slice(4096 * i - 4096, last and 1 or 4096), imm_data = 1 }
	end
	t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 0) }):equals "OK"
	if gated then
		t:expect(a.qp:post({ piece(1), piece(2), piece(3) }, a.peer)):equals "OK"
		t:spawn(function()
			a.cq:wait(3)
			t:expect(a.qp:post({ piece(4) }, a.peer)):equals "OK"
		end)
	else
		t:expect(a.qp:post({ piece(1), piece(2), piece(3), piece(4) }, a.peer)):equals "OK"
	end
	t:expect(b.cq:wait()[1].imm_data):equals(1)
	t:expect(b.mem):same_content(a.mem)
	a.cq:wait(gated and 1 or 4)
end

srd.scenario("the tail that carries the signal overtakes the pieces before it", form(B01, "broken", {
	needs = { "faults" }, profile = { level = "message" }, limits = limits,
	fails = "expected the same content",
}), function(t)
	local a, b = t:verbs_pair { memory = 12289 }
	a.mem:fill "random"
	put_with_signal(t, a, b, { 3, 1, 2 })
end)

srd.scenario("as many requests as the size needs, and the signal last", form(B01, "right", {
	needs = { "faults" }, profile = { level = "message" }, limits = limits,
}), function(t)
	local p = t:pair { max_send_wr = 4, memory = 12289 }
	for size, count in pairs { [4096] = 1, [4097] = 2, [8192] = 2, [12289] = 4 } do
		local op = p.a.qp:put { from = p.a.mem:slice(0, size), to = p.b.mem:slice(0, size) }
		t:expect(#op:chunks()):equals(count)
		t:wait(op)
	end
	local a, b = t:verbs_pair { memory = 12289 }
	a.mem:fill "random"
	for _, order in ipairs { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } } do
		put_with_signal(t, a, b, order, true)
		b.mem:fill "zero"
	end
end)

-- The chunks that a put of SIZE bytes is split into, by length alone.
local function chunks_of(t, p, size)
	local from, to = p.a.host:memory(size, { kind = "ORIGIN" }), p.b.host:memory(size, { kind = "ORIGIN" })
	local op = p.a.qp:put { from = from:fill "random", to = to }
	t:wait(op)
	t:expect(to):same_content(from)
	local list = op:chunks()
	from:free()
	to:free()
	return list
end

srd.scenario("more than 4 GiB, in 64-bit arithmetic", form(B01, "right", {
	needs = { "origin" }, profile = { loss = 0 }, -- a request of 1 GiB would lose a packet again and again
}), function(t)
	local list, sum = chunks_of(t, t:pair { max_send_wr = 8 }, (1 << 32) + 8192), 0
	for _, chunk in ipairs(list) do
		sum = sum + chunk[2]
	end
	t:expect(#list):equals(5)
	t:expect(sum):equals((1 << 32) + 8192)
end)

local B02 = "B02 (https://github.com/meta-pytorch/monarch/pull/4623): the gate counted requests with one "
	.. "chunk size, the queue pair posted with a smaller one, and the send queue was overrun."

srd.scenario("the gate predicts with another chunk size", form(B02, "broken", {
	limits = limits, fails = "Cannot allocate memory",
}), function(t)
	local p = t:pair { max_send_wr = 4, memory = 20480 }
	local function predicted(size)
		return math.max(1, (size + (1 << 20) - 1) // (1 << 20))
	end
	local free = 4
	if predicted(20480) <= free then
		t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
	end
end)

srd.scenario("the gate asks the queue pair how it splits", form(B02, "right", {
	needs = { "faults" }, limits = limits,
}), function(t)
	local p = t:pair { max_send_wr = 4, memory = 20480 }
	local q = p.a.qp
	local function put(offset, size)
		return q:submit_put { from = p.a.mem:slice(offset, size), to = p.b.mem:slice(offset, size) }
	end
	t:expect(t:result(put(0, 20480)).errno):equals "E2BIG"
	local held = {}
	for i = 1, 3 do
		held[i] = put(4096 * i, 4096)
		t:hold(held[i]:request(1))
	end
	local two = put(0, 8192)
	t:run_for "100us"
	t:expect(two):is "queued"
	t:release(held[2]:request(1))
	t:wait(held[2])
	t:expect(q:in_flight()):equals(4)
	t:release_all(q)
	t:wait { held[1], held[3], two }
	for _, size in ipairs { 0, 1, 4095, 4096, 4097, 8191, 8192, 8193 } do
		local op = put(0, size)
		t:expect(#op:chunks()):equals(math.max(1, (size + q:max_msg_size() - 1) // q:max_msg_size()))
		t:wait(op)
	end
end)

local B04 = "B04 (https://github.com/kvcache-ai/Mooncake/pull/3505): a large buffer was registered in parts, "
	.. "and a transfer that crossed from one part into the next was posted with the key of one of them."

-- Memory of 20480 bytes in two regions that meet at SEAM.
local function registered_in_parts(t, side, seam)
	local host = side.host
	local memory = host:memory(20480, { register = false })
	local pd, rights = host.verbs.pd, "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ"
	t:expect(memory.lkey):equals(0)
	return {
		memory = memory, seam = seam,
		pd:reg_mr({ addr = memory.addr, size = seam }, rights),
		pd:reg_mr({ addr = memory.addr + seam, size = 20480 - seam }, rights),
	}
end

local function region_at(parts, offset)
	return parts[offset < parts.seam and 1 or 2]
end

-- The pieces of a write that is cut at max_rdma_size and at the seams of both sides; nil, and
-- how many went well, where there is no key for one.
local function cut(l, r, at_l, at_r, size)
	local pieces = {}
	while size > 0 do
		local length = math.min(size, 4096)
		for _, left in ipairs { l.seam - at_l, r.seam - at_r } do
			length = left > 0 and math.min(length, left) or length
		end
		local from, to = region_at(l, at_l), region_at(r, at_r)
		if not from or not to then
			return nil, #pieces
		end
		pieces[#pieces + 1] = {
			"write", wr_id = #pieces,
			from = { addr = l.memory.addr + at_l, length = length, lkey = from.lkey },
			to = { addr = r.memory.addr + at_r, key = to.rkey },
		}
		at_l, at_r, size = at_l + length, at_r + length, size - length
	end
	return pieces
end

srd.scenario("one local key for a range that crosses a seam", form(B04, "broken", {
	violates = "memory.local_range",
}), function(t)
	local a, b = t:verbs_pair { memory = 20480 }
	local l = registered_in_parts(t, a, 10240)
	local from = { addr = l.memory.addr + 8192, length = 4096, lkey = l[1].lkey }
	t:expect(a.qp:post({ { "write", from = from, to = b.mem } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(5)
end)

srd.scenario("one remote key for a range that crosses a seam", form(B04, "broken", {
	violates = "memory.remote_range",
}), function(t)
	local a, b = t:verbs_pair { memory = 4096 }
	local r = registered_in_parts(t, b, 8192)
	local to = { addr = r.memory.addr + 6144, key = r[1].rkey }
	t:expect(a.qp:post({ { "write", from = a.mem, to = to } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].vendor_err):equals(7)
end)

srd.scenario("cut at every seam of both sides, each piece with its keys", form(B04, "right"), function(t)
	local a, b = t:verbs_pair()
	local l, r = registered_in_parts(t, a, 10240), registered_in_parts(t, b, 8192)
	l.memory:fill "random"
	local pieces = cut(l, r, 8192, 4096, 8192)
	local lengths = {}
	for i, piece in ipairs(pieces) do
		lengths[i] = piece.from.length
	end
	t:expect(lengths):equals { 2048, 2048, 4096 }
	t:expect(a.qp:post(pieces, a.peer)):equals "OK"
	for _, wc in ipairs(a.cq:wait(3)) do
		t:expect(wc.status):equals "IBV_WC_SUCCESS"
	end
	t:expect(r.memory:slice(4096, 8192)):same_content(l.memory:slice(8192, 8192))
	t:expect(#cut(l, r, 0, 0, 4096)):equals(1)
end)

srd.scenario("where a later piece has no key nothing of the transfer is posted", form(B04, "right"), function(t)
	local a, b = t:verbs_pair { cap = { max_send_wr = 4, max_recv_wr = 1, max_send_sge = 1, max_recv_sge = 1 } }
	local l, r = registered_in_parts(t, a, 10240), registered_in_parts(t, b, 8192)
	local second = table.remove(r)
	local pieces, good = cut(l, r, 8192, 4096, 8192)
	t:expect(pieces):equals(nil)
	t:expect(good):equals(2)
	t:expect(second:dereg_mr()):equals "OK"
	for _ = 1, 4 do -- all four slots are still there
		t:expect(a.qp:post(cut(l, r, 0, 0, 4096), a.peer)):equals "OK"
	end
	a.cq:wait(4)
end)

local B06 = "B06 (https://github.com/ofiwg/libfabric/pull/12382): the path of an empty RDMA write filled in a "
	.. "descriptor that it had not prepared; what the library above saw was a crash or a refusal that it did "
	.. "not look at."

srd.scenario("an empty write is refused and its owner does not look", form(B06, "broken", {
	fails = "deadlock",
}), function(t)
	local a, b = t:verbs_pair { memory = 64 }
	t:fail_call("wr_complete", { errno = "EINVAL" }) -- the library of that time
	a.qp:post({ { "write", from = a.mem:slice(0, 0), to = b.mem } }, a.peer)
	a.cq:wait()
end)

srd.scenario("an empty transfer is one request and one completion, whatever its form", form(B06, "right"), function(t)
	local a, b = t:verbs_pair { memory = 64, cap = { max_send_wr = 4, max_recv_wr = 4, max_send_sge = 1,
		max_recv_sge = 1, max_inline_data = 32 } }
	b.mem:fill "random"
	local before, id = b.mem:bytes(), 0
	for _, op in ipairs { "write", "write_imm", "read", "send" } do
		for _, shape in ipairs { "sge", "list", "inline" } do
			local wr = { op, wr_id = id, imm_data = 0, to = b.mem }
			if op == "read" then
				wr.from, wr.to = b.mem, a.mem:slice(0, 0)
			elseif shape == "sge" then
				wr.from = a.mem:slice(0, 0)
			end
			if shape == "list" then
				wr.list = {}
			elseif shape == "inline" and op == "send" then -- RDMA carries inline data on some queue pairs only
				wr.inline = a.mem:slice(0, 0)
			end
			local receives = op == "send" or op == "write_imm"
			if receives then
				t:expect(b.qp:post_recv { sg_list = a.mem:slice(0, 0) }):equals "OK"
			end
			t:expect(a.qp:post({ wr }, a.peer)):equals "OK"
			local wc = a.cq:wait()[1]
			t:expect(wc.status):equals "IBV_WC_SUCCESS"
			t:expect(wc.wr_id):equals(id)
			if receives then
				t:expect(b.cq:wait()[1].byte_len):equals(0)
			end
			id = id + 1
		end
	end
	t:expect(b.mem:bytes()):equals(before)
end)

local B07 = "B07 (https://github.com/aws/aws-ofi-nccl/commit/a99b5541): a message without bytes took a path "
	.. "that carries its signal only with data, and the peer was never told."

-- A sends messages of these sizes; each has to reach B as one signal. Gives how many it sent.
local function signals(t, a, b, sizes, skip_empty)
	for i = 1, #sizes do
		t:expect(b.qp:post_recv { wr_id = i, sg_list = b.mem:slice(0, 0) }):equals "OK"
	end
	for i, size in ipairs(sizes) do
		if size > 0 or not skip_empty then
			local wr = { "write_imm", wr_id = i, from = a.mem:slice(0, size), to = b.mem, imm_data = i }
			if a.qp:post({ wr }, a.peer) ~= "OK" then -- it has to go some way
				wr[1] = "send_imm"
				t:expect(a.qp:post({ wr }, a.peer)):equals "OK"
			end
		end
	end
	local got = {}
	for _, wc in ipairs(b.cq:wait(#sizes)) do
		got[wc.imm_data] = true
	end
	t:expect(#got):equals(#sizes)
	a.cq:wait(#sizes)
end

srd.scenario("an empty message sends no data, so no signal", form(B07, "broken", { fails = "deadlock" }), function(t)
	local a, b = t:verbs_pair { memory = 4096 }
	signals(t, a, b, { 4096, 0, 4096 }, true)
end)

srd.scenario("one signal for each message, also without bytes", form(B07, "right"), function(t)
	local a, b = t:verbs_pair { memory = 4096 }
	signals(t, a, b, { 4096, 0, 4096 })
end)

srd.scenario("an empty write with immediate is refused, and the signal goes as a send", form(B07, "right"), function(t)
	local a, b = t:verbs_pair { memory = 4096 }
	t:fail_call("wr_complete", { nth = 2, errno = "EINVAL" })
	signals(t, a, b, { 4096, 0, 4096 })
end)

local B09 = "B09 (https://github.com/linux-rdma/rdma-core/pull/1563): a receive descriptor has 16 bits for "
	.. "its length, so a buffer of 64 KiB became one of no bytes and each message into it failed."

-- A sends 64 bytes into a receive of LENGTH bytes.
local function receive_into(t, a, b, length)
	local sge = { addr = b.mem.addr, length = length, lkey = b.mem.lkey }
	t:expect(b.qp:post_recv { sg_list = sge }):equals "OK"
	t:expect(a.qp:post({ { "send", from = a.mem:slice(0, 64) } }, a.peer)):equals "OK"
	t:expect(a.cq:wait()[1].status):equals "IBV_WC_SUCCESS"
	t:expect(b.cq:wait()[1].byte_len):equals(64)
end

srd.scenario("the length of a receive is cut to 16 bits", form(B09, "broken", {
	fails = "got \"IBV_WC_REM_INV_REQ_ERR\"",
}), function(t)
	local a, b = t:verbs_pair { memory = 131072 }
	receive_into(t, a, b, 65536 & 0xffff)
end)

srd.scenario("a receive is as long as its buffer, or as a descriptor can say", form(B09, "right"), function(t)
	local a, b = t:verbs_pair { memory = 131072 }
	for _, length in ipairs { 65535, 65536, 65537, 131072 } do
		receive_into(t, a, b, length)
	end
end)

local B10 = "B10 (https://github.com/uccl-project/uccl/pull/635): a queue-pair number went through 16 bits. "
	.. "EFA's numbers have 16 bits, and what remains is a peer that tells a larger one: cut, it is somebody "
	.. "else's."

srd.scenario("a peer's queue-pair number has more than 16 bits", form(B10, "broken", {
	violates = "address.qpn",
}), function(t)
	local a, b = t:verbs_pair { memory = 64 }
	local peer = srd.with(a.peer, { remote_qpn = a.peer.remote_qpn | 0x10000 })
	t:expect(a.qp:post({ { "write", from = a.mem, to = b.mem } }, peer)):equals "OK"
	a.cq:wait()
end)

for _, first in ipairs { 1, 0x7fff, 0xff00 } do
	srd.scenario(("numbers from %d on reach their queue pairs whole"):format(first), form(B10, "right", {
		profile = { first_qpn = first },
	}), function(t)
		local a, b = t:verbs_pair { memory = 64 }
		t:expect(a.qp.qp_num):equals(first)
		for i = 1, 100 do
			a.mem:fill "random"
			t:expect(a.qp:post({ { "write", wr_id = i, from = a.mem, to = b.mem } }, a.peer)):equals "OK"
			t:expect(a.cq:wait()[1].qp_num):equals(first)
			t:expect(b.mem):same_content(a.mem)
		end
	end)
end

srd.scenario("a number that cannot be is refused, the largest ones are not", form(B10, "right"), function(t)
	local p = t:pair { connect = false, memory = 64 }
	local peer = p.b.qp:endpoint()
	for _, number in ipairs { peer.qp_num | 0x10000, 0xfffff0 } do
		t:expect(function()
			p.a.qp:connect(srd.with(peer, { qp_num = number }))
		end):raises(tostring(number))
	end
	t:connect(p.a.qp, p.b.qp)
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)

local B12 = "B12 (https://github.com/uccl-project/uccl/pull/766): immediates were divided into fields, and an "
	.. "offset did not fit into the 13 bits that it had; the receiver updated the wrong slot."

-- B learns the rank and the offset from the immediate alone, of which WIDTH bits are the offset.
local function offsets(t, width)
	local a, b = t:verbs_pair { memory = 131072 }
	for rank, offset in ipairs { 0, 8184, 8191, 8192, 65528, 65536 } do
		t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 0) }):equals "OK"
		t:expect(a.qp:post({ { "write_imm", from = a.mem:slice(0, 8), to = b.mem:slice(offset, 8),
			imm_data = rank << width | offset & (1 << width) - 1 } }, a.peer)):equals "OK"
		local imm = b.cq:wait()[1].imm_data
		t:expect({ imm >> width, imm & (1 << width) - 1 }):equals { rank, offset }
		a.cq:wait()
	end
end

srd.scenario("an offset does not fit into its field of the immediate", form(B12, "broken", {
	fails = "not equal at [2]: expected 8192, got 0",
}), function(t)
	offsets(t, 13)
end)

srd.scenario("the field holds the largest offset, and all 32 bits arrive", form(B12, "right"), function(t)
	offsets(t, 17)
	local a, b = t:verbs_pair { memory = 64 }
	for _, imm in ipairs { 0, 0xffff, 0x10000, 0xffffffff } do
		t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 0) }):equals "OK"
		t:expect(a.qp:post({ { "write_imm", from = a.mem, to = b.mem, imm_data = imm } }, a.peer)):equals "OK"
		t:expect(b.cq:wait()[1].imm_data):equals(imm)
		a.cq:wait()
	end
end)

local C01 = "C01 (https://github.com/ROCm/mori/pull/409): small requests were merged into one with several "
	.. "scatter entries, and the splitter looked at requests of one entry only. EFA takes one entry in an RDMA "
	.. "request."

srd.scenario("two scatter entries in one RDMA request", form(C01, "broken", {
	limits = limits, fails = "expected \"OK\", got \"EINVAL\"",
}), function(t)
	local a, b = t:verbs_pair { memory = 8192 }
	t:expect(a.qp:post({ { "write", list = { a.mem:slice(0, 3072), a.mem:slice(4096, 3072) }, to = b.mem } },
		a.peer)):equals "OK"
end)

srd.scenario("a request for each scatter entry", form(C01, "right", { limits = limits }), function(t)
	local a, b = t:verbs_pair { memory = 8192 }
	a.mem:fill "random"
	t:expect(a.qp:post({
		{ "write", wr_id = 0, from = a.mem:slice(0, 3072), to = b.mem:slice(0, 3072) },
		{ "write", wr_id = 1, from = a.mem:slice(4096, 3072), to = b.mem:slice(3072, 3072) },
	}, a.peer)):equals "OK"
	a.cq:wait(2)
	t:expect(b.mem:slice(0, 3072)):same_content(a.mem:slice(0, 3072))
	t:expect(b.mem:slice(3072, 3072)):same_content(a.mem:slice(4096, 3072))
end)

local C03 = "C03 (https://github.com/pytorch/gloo/issues/474): transfers of exactly 4 GiB, or one byte more "
	.. "or less, were cut or refused."

srd.scenario("exactly 4 GiB become nothing", form(C03, "broken", {
	needs = { "origin" },
	fails = "expected the same content",
}), function(t)
	local p = t:pair()
	local from = p.a.host:memory(1 << 32, { kind = "ORIGIN" }):fill "random"
	local to = p.b.host:memory(1 << 32, { kind = "ORIGIN" })
	local size = (1 << 32) & 0xffffffff
	t:wait(p.a.qp:put { from = from:slice(0, size), to = to:slice(0, size) })
	t:expect(to):same_content(from)
end)

srd.scenario("around 1, 2 and 4 GiB each byte is moved", form(C03, "right", {
	needs = { "origin" }, profile = { loss = 0 },
}), function(t)
	local p = t:pair { max_send_wr = 8 }
	local GiB = 1 << 30
	for _, case in ipairs {
		{ 4 * GiB - 1, 4, GiB - 1 }, { 4 * GiB, 4, GiB }, { 4 * GiB + 1, 5, 1 },
		{ 2 * GiB, 2, GiB }, { GiB - 1, 1, GiB - 1 }, { GiB, 1, GiB }, { GiB + 1, 2, 1 },
	} do
		local list = chunks_of(t, p, case[1])
		t:expect({ #list, list[#list][2] }):equals { case[2], case[3] }
	end
end)
