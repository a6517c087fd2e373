-- Who takes too much of something is stopped, with one clear failure; the others run.
local srd = require "srdlab"

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

srd.scenario("coroutines that close one another", {}, function()
	local cos = {}
	for i = 1, 1000 do
		cos[i] = coroutine.create(function()
			local _ <close> = setmetatable({}, { __close = function()
				assert(coroutine.close(cos[i + 1]))
			end })
			coroutine.yield()
		end)
		coroutine.resume(cos[i])
	end
	assert(coroutine.close(cos[1]))
end)

srd.scenario("tables that hold themselves", {}, function(t)
	local a, b = { 1 }, { 1, { 1 } }
	a[2], b[2][2] = a, b
	t:expect(a):equals(b)
	b[2][3] = "more"
	t:expect(a):equals(b)
end)

-- Each would be let in alone. What is refused is not filled, so that this is quick.
srd.scenario("buffers without end", {}, function(t)
	local a = t:host "a"
	a:memory "1MiB"
	a:memory "1GiB"
end)

srd.scenario("hosts without end", {}, function(t)
	for i = 1, 1000 do
		t:host("h" .. i)
	end
end)

srd.scenario("after them, all is well", {}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)
