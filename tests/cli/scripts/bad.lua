-- Each scenario but the last is a mistake of a kind; none may keep the others from their report.
local srd = require "srdlab"

srd.scenario("unknown field", {}, function(t)
	t:host("a"):queue_pair { max_sned_wr = 4 }
end)

srd.scenario("wrong unit", {}, function(t)
	t:host("a"):memory "50us"
end)

srd.scenario("out of range", {}, function(t)
	t:host("a"):queue_pair { port_num = 256 }
end)

srd.scenario("Lua error", {}, function()
	local nothing -- luacheck: ignore 221
	return nothing.field
end)

srd.scenario("endless loop", {}, function()
	while true do -- luacheck: ignore 542
	end
end)

srd.scenario("memory hog", {}, function()
	local list = {} -- luacheck: ignore 241
	while true do
		list[#list + 1] = { #list }
	end
end)

srd.scenario("deadlock", { needs = { "virtual_time" } }, function(t)
	t:host("a").verbs:create_cq(4):wait(1)
end)

srd.scenario("contradicting profile", { profile = { min_sq_wr = 9000 } }, function(t)
	t:host "a"
end)

srd.scenario("limit that is raised", { limits = { max_sq_wr = 100000 } }, function(t)
	t:host "a"
end)

srd.scenario("all is well", {}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)
