local srd = require "srdlab"

local function writes(t, n)
	local a, b = t:verbs_pair { memory = 64 * n }
	for i = 1, n do
		local part = function(end_)
			return end_.mem:slice(64 * i - 64, 64)
		end
		t:expect(a.qp:post({ { "write", wr_id = i, from = part(a), to = part(b) } }, a.peer)):equals "OK"
	end
	local ids = {}
	for i = 1, n do
		ids[i] = a.cq:wait()[1].wr_id
	end
	return ids
end

srd.scenario("three completions", { orders = "all" }, function(t)
	writes(t, 3)
end)

srd.scenario("four, bounded", { orders = "all", orders_max = 5 }, function(t)
	writes(t, 4)
end)

srd.scenario("the last comes first", { orders = "all" }, function(t)
	t:expect(writes(t, 3)):differs_from { 3, 1, 2 }
end)

srd.scenario("expected in vain", { orders = "all", fails = "four" }, function(t)
	writes(t, 2)
end)
