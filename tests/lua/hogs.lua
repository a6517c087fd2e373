-- Each of these must end by itself, with one clear failure, and let the others run.
local srd = require "srdlab"

srd.scenario("an endless loop", {}, function()
	while true do -- luacheck: ignore 542
	end
end)

srd.scenario("an endless loop that catches errors", {}, function()
	while true do
		pcall(function()
			while true do -- luacheck: ignore 542
			end
		end)
	end
end)

srd.scenario("an endless loop in a coroutine", {}, function()
	coroutine.wrap(function()
		while true do -- luacheck: ignore 542
		end
	end)()
end)

srd.scenario("memory without end", {}, function()
	local list = {} -- luacheck: ignore 241
	while true do
		list[#list + 1] = { #list }
	end
end)

srd.scenario("one string that is too long", {}, function()
	local s = ("x"):rep(1 << 20)
	s = s:rep(1 << 10)
	return s
end)

srd.scenario("recursion without end", {}, function()
	local function deeper(n)
		return 1 + deeper(n + 1)
	end
	deeper(1)
end)

srd.scenario("recursion through C", {}, function()
	local function deeper(s)
		return s:gsub(".", deeper)
	end
	deeper "x"
end)

srd.scenario("after them, all is well", {}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)
