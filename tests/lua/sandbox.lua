local srd = require "srdlab"

srd.scenario("pairs goes by the keys", {}, function(t)
	local keys = {}
	local mixed = { [3] = 1, [1] = 1, b = 1, [2.5] = 1, a = 1, [-7] = 1, [true] = 1, [false] = 1, [10] = 1, aa = 1 }
	for k in pairs(mixed) do
		keys[#keys + 1] = k
	end
	t:expect(keys):equals { -7, 1, 2.5, 3, 10, "a", "aa", "b", false, true }
	keys = {}
	for k in next, mixed do
		keys[#keys + 1] = k
	end
	t:expect(keys):equals { -7, 1, 2.5, 3, 10, "a", "aa", "b", false, true }
	t:expect(next {}):equals(nil)
end)

srd.scenario("pairs over an array, with a hole made on the way", {}, function(t)
	local seen = {}
	local list = { 10, 20, 30 }
	for i, v in pairs(list) do
		seen[#seen + 1] = { i, v }
	end
	t:expect(seen):equals { { 1, 10 }, { 2, 20 }, { 3, 30 } }
	local map = { a = 1, b = 2, c = 3 }
	seen = {}
	for k in pairs(map) do
		seen[#seen + 1] = k
		map.b = nil
	end
	t:expect(seen):equals { "a", "c" }
	local proxy = setmetatable({}, {
		__pairs = function()
			return function(_, k)
				return not k and 1 or nil
			end, nil, nil
		end,
	})
	for k in pairs(proxy) do
		t:expect(k):equals(1)
	end
end)

srd.scenario("one object as a key is fine, two have no order", {}, function(t)
	local one = { [{}] = 1, x = 2 }
	local n = 0
	for _ in pairs(one) do
		n = n + 1
	end
	t:expect(n):equals(2)
	t:expect(function()
		for _ in pairs { [{}] = 1, [function() end] = 2 } do -- luacheck: ignore 512
			n = n + 1
		end
	end):raises "the keys of this table have no order"
	t:expect(function()
		next { [{}] = 1, [{}] = 2 }
	end):raises "the keys of this table have no order"
end)

srd.scenario("sort is stable and takes any length", {}, function(t)
	for _, n in ipairs { 0, 1, 2, 3, 7, 8, 100, 1000 } do
		local list = {}
		for i = 1, n do
			list[i] = { key = (i * 7919) % 10, place = i }
		end
		table.sort(list, function(a, b)
			return a.key < b.key
		end)
		for i = 2, n do
			local a, b = list[i - 1], list[i]
			t:expect(a.key < b.key or (a.key == b.key and a.place < b.place)):equals(true)
		end
	end
	local words = { "pear", "fig", "apple" }
	table.sort(words)
	t:expect(words):equals { "apple", "fig", "pear" }
end)

srd.scenario("random depends on the seed only", {}, function(t)
	t:expect(t:seed()):equals(0)
	t:expect { math.random(1000), math.random(1000), math.random(1000) } : equals { 962, 521, 940 }
	math.randomseed(42)
	local a = math.random(1 << 30)
	math.randomseed(42)
	t:expect(math.random(1 << 30)):equals(a)
	t:expect(function()
		math.randomseed()
	end):raises "number expected"
end)

srd.scenario("nothing shows an address", {}, function(t)
	local f = function() end
	t:expect(tostring {}):equals "table"
	t:expect(tostring(f)):equals "function"
	t:expect(tostring(print)):equals "function"
	t:expect(tostring(coroutine.create(f))):equals "thread"
	t:expect(tostring(t:host "a")):equals "host 1"
	t:expect(("%s %s %d"):format({}, f, 3)):equals "table function 3"
	t:expect(string.format("%5.1f|%q|%%p", 2.25, "x")):equals '  2.2|"x"|%p'
	t:expect(tostring(setmetatable({}, { __name = "thing" }))):equals "thing"
	t:expect(tostring(setmetatable({}, {
		__tostring = function()
			return "mine"
		end,
	}))):equals "mine"
	t:expect(function()
		return ("%p"):format {}
	end):raises "%p shows an address"
	t:expect(function()
		return ("%-20p"):format {}
	end):raises "%p shows an address"
end)

srd.scenario("no files, no processes, no binary code", {}, function(t)
	for _, name in ipairs { "io", "os", "package", "debug", "dofile", "loadfile", "collectgarbage" } do
		t:expect(_G[name]):equals(nil)
	end
	t:expect(string.dump):equals(nil)
	t:expect(load "return 1 + 1"()):equals(2)
	local chunk, message = load "\27Lua"
	t:expect(chunk):equals(nil)
	t:expect(message):contains "attempt to load a binary chunk (mode is 't')"
	t:expect(load(function() end, "=empty", "b", {})):differs_from(nil)
	t:expect(function()
		require "socket"
	end):raises 'there is no module "socket": a script has srdlab only'
	t:expect(require "srdlab"):equals(srd)
end)

srd.scenario("nothing depends on the garbage collector", {}, function(t)
	t:expect(function()
		setmetatable({}, { __gc = function() end })
	end):raises "__gc is not to be had"
	t:expect(function()
		setmetatable({}, { __mode = "k" })
	end):raises "__mode is not to be had"
	t:expect(getmetatable(setmetatable({}, { x = 1 })).x):equals(1)
	t:expect(setmetatable({ 1 }, nil)):equals { 1 }
end)

srd.scenario("coroutines of the script", {}, function(t)
	local co = coroutine.create(function(a, b)
		local c = coroutine.yield(a + b)
		return c * 2
	end)
	t:expect { coroutine.resume(co, 1, 2) } : equals { true, 3 }
	t:expect { coroutine.resume(co, 21) } : equals { true, 42 }
	t:expect { coroutine.resume(co) } : equals { false, "cannot resume dead coroutine" }
	t:expect(coroutine.status(co)):equals "dead"
	local numbers = coroutine.wrap(function()
		for i = 1, 3 do
			coroutine.yield(i)
		end
	end)
	t:expect { numbers(), numbers(), numbers() } : equals { 1, 2, 3 }
	local bad = coroutine.wrap(function()
		error("inside", 0)
	end)
	t:expect(bad):raises "inside"
	t:expect { coroutine.resume(coroutine.running()) } : equals { false, "cannot resume non-suspended coroutine" }
end)

srd.scenario("coroutines are what is resumed and closed, with what they can take", {}, function(t)
	local co = coroutine.create(print)
	t:expect(function() coroutine.resume(1) end):raises "coroutine expected"
	t:expect(function() coroutine.close "no" end):raises "coroutine expected"
	t:expect(coroutine.close(co)):equals(true)
	t:expect { coroutine.resume(co) }:equals { false, "cannot resume dead coroutine" }
	local failed = coroutine.create(function()
		error("while it ran", 0)
	end)
	coroutine.resume(failed)
	t:expect { coroutine.close(failed) }:equals { false, "while it ran" }
	t:expect(function() coroutine.close(coroutine.running()) end):raises "cannot close a running coroutine"
end)

srd.scenario("xpcall asks its handler", {}, function(t)
	local function fail()
		error("inside", 0)
	end
	t:expect { xpcall(fail, function(message) return message:upper() end) }:equals { false, "INSIDE" }
	t:expect { xpcall(function(...) return ... end, print, 1, 2) }:equals { true, 1, 2 }
	t:expect(function() xpcall(fail) end):raises "function expected"
	t:expect(function() return ("%"):format(1) end):raises "invalid conversion"
	print("two", 0 / 0, "a-nan-b -nan -nanny")
end)

srd.scenario("a wait inside of a coroutine of the script", {}, function(t)
	local p = t:pair { memory = 64 }
	local order = {}
	local function put()
		return p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	local other = t:spawn(function()
		t:wait(put())
		order[#order + 1] = "other"
	end)
	local inner = coroutine.wrap(function()
		coroutine.yield "first"
		t:wait(put())
		coroutine.yield "second"
		t:run_for "1ms"
		return "third"
	end)
	t:expect(inner()):equals "first"
	t:expect(inner()):equals "second"
	t:expect(inner()):equals "third"
	t:wait(other)
	t:expect(order):equals { "other" }
end)

srd.scenario("a coroutine that fails is closed by its wrap", {}, function(t)
	local closed = 0
	local function body(message)
		local _ <close> = setmetatable({}, { __close = function()
			closed = closed + 1
		end })
		error(message, 0)
	end
	t:expect(coroutine.wrap(function() body "first" end)):raises "first"
	t:expect(closed):equals(1)
	local worse = coroutine.wrap(function()
		local _ <close> = setmetatable({}, { __close = function()
			error("while it was closed", 0)
		end })
		error("before", 0)
	end)
	t:expect(worse):raises "while it was closed"
end)

srd.scenario("no number that is none has a sign", {}, function(t)
	local nan = 0 / 0
	t:expect { tostring(nan), tostring(-nan) }:equals { "nan", "nan" }
	t:expect(("%s %g %.1f"):format(nan, -nan, nan)):equals "nan nan nan"
	t:expect(srd.show(-nan)):equals "nan"
end)

srd.scenario("tasks that are done take no room, though the script keeps them", {}, function(t)
	local tasks = {}
	for i = 1, 20000 do -- whose coroutines would take more than there is
		tasks[i] = t:spawn(function() end)
		if i % 100 == 0 then
			t:run_for "1ns"
		end
	end
	t:expect(tasks[1]:done()):equals(true)
	t:wait(tasks)
end)

srd.scenario("what is shown has an end", {}, function(t)
	local wide = {}
	for i = 1, 200 do
		wide[i] = {}
	end
	for i = 1, 200 do
		for k = 1, 200 do
			wide[i][k] = wide[k]
		end
	end
	t:expect(#srd.show(wide)):at_most(16400)
	t:expect(#srd.show(("x"):rep(100000))):at_most(16400)
end)

srd.scenario("counters are of all hosts or of one", { needs = { "virtual_time" } }, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
	t:wait(p.b.qp:put { from = p.b.mem:slice(0, 32), to = p.a.mem })
	t:expect(t:counter("rdma_write_bytes", p.a.host)):equals(64)
	t:expect(t:counter("rdma_write_bytes", p.b.host)):equals(32)
	t:expect(t:counter "rdma_write_bytes"):equals(96)
end)

-- The last one: its state is its own, as each scenario's is.
srd.scenario("a script that spoils its globals spoils nothing else", {}, function(t)
	local keep, names, raise, globals = pcall, {}, error, _G
	for _, library in ipairs { string, table, math, coroutine, utf8 } do
		for k in pairs(library) do
			library[k] = nil
		end
	end
	for k in pairs(_G) do
		names[#names + 1] = k
	end
	for i = 1, #names do
		globals[names[i]] = nil
	end
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
	local a, b = t:verbs_pair { a = { memory = 64 }, b = { memory = 64 } }
	t:expect(a.qp:post({ { "write", wr_id = 1, from = a.mem, to = b.mem } }, a.peer)):equals "OK"
	t:expect({ 1, { "two" } }):equals { 1, { "two" } }
	t:expect("text"):contains "ex"
	t:expect(keep(t.expect(t, 1).at_least, t:expect(1), 2)):equals(false)
	t:expect(function() raise "x" end):raises "x"
end)
