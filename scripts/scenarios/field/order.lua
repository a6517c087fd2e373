-- Order, counting and sequence numbers: what code written for an ordered transport takes
-- for granted, and SRD does not give.
local srd = require "srdlab"

-- Every order of 1 .. n, as lists.
local function orders(n)
	if n == 0 then
		return { {} }
	end
	local all = {}
	for _, shorter in ipairs(orders(n - 1)) do
		for at = 1, n do
			local order = table.move(shorter, 1, n - 1, 1, {})
			table.insert(order, at, n)
			all[#all + 1] = order
		end
	end
	return all
end

local B35 = "B35 (https://github.com/uccl-project/uccl/pull/374): code from an ordered transport writes data, "
	.. "then a flag, and the flag overtakes the data."

-- What b finds in its memory at the moment that it sees the flag.
local function data_at_flag(t, data, flag, want)
	while flag:bytes(0, 1) ~= "\1" do
		t:run_for "2us"
	end
	t:expect(data):same_content(want)
end

local function data_and_flag(t)
	local p = t:pair { max_send_wr = 4, memory = 12296 }
	p.a.mem:slice(0, 12288):fill "random"
	p.a.mem:write(12288, ("\1"):rep(8))
	return p, p.a.mem:slice(0, 12288), p.b.mem:slice(0, 12288), p.a.mem:slice(12288), p.b.mem:slice(12288)
end

srd.scenario("a flag written behind its data arrives first", {
	bug = "B35", form = "broken", description = B35, tags = { "field", "order" },
	needs = { "faults", "virtual_time" },
	limits = { max_rdma_size = 4096 },
	fails = "expected the same content",
}, function(t)
	local p, from, to, flag_from, flag_to = data_and_flag(t)
	for piece = 1, 3 do
		t:delay(p.a.qp:next_request(piece), "100us")
	end
	local data = p.a.qp:submit_put { from = from, to = to }
	local flag = p.a.qp:submit_put { from = flag_from, to = flag_to }
	data_at_flag(t, to, flag_to, from)
	t:wait { data, flag }
end)

srd.scenario("the flag is written when the data has completed, in every order", {
	bug = "B35", form = "right", description = B35, tags = { "field", "order" },
	needs = { "faults", "virtual_time" },
	limits = { max_rdma_size = 4096 },
}, function(t)
	local p, from, to, flag_from, flag_to = data_and_flag(t)
	for _, order in ipairs(orders(3)) do
		for piece, place in ipairs(order) do
			t:delay(p.a.qp:next_request(piece), place * 50000)
		end
		local data = p.a.qp:submit_put { from = from, to = to }
		t:spawn(function()
			t:wait(data)
			t:wait(p.a.qp:submit_put { from = flag_from, to = flag_to })
		end)
		data_at_flag(t, to, flag_to, from)
		to:fill "zero"
		flag_to:fill "zero"
	end
end)

srd.scenario("each piece brings an immediate and b counts them, in every order", {
	bug = "B35", form = "right", description = B35, tags = { "field", "order" },
	needs = { "faults", "virtual_time" },
}, function(t)
	local a, b = t:verbs_pair { memory = 16384 }
	a.mem:fill "random"
	for _, order in ipairs(orders(4)) do
		local pieces = {}
		for i, place in ipairs(order) do
			t:delay(a.qp:next_request(i), place * 50000)
			pieces[i] = { "write_imm", wr_id = i, imm_data = 4, -- how many there are
				from = a.mem:slice(4096 * i - 4096, 4096), to = b.mem:slice(4096 * i - 4096, 4096) }
			t:expect(b.qp:post_recv { sg_list = b.mem:slice(0, 0) }):equals "OK"
		end
		t:expect(a.qp:post(pieces, a.peer)):equals "OK"
		local count = 0
		repeat
			local total = b.cq:wait()[1].imm_data
			count = count + 1
		until count == total
		t:expect(b.mem):same_content(a.mem)
		b.mem:fill "zero"
		a.cq:wait(4)
	end
end)
