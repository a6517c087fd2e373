-- Who goes on for ever is stopped, with one clear failure; the others run.
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

srd.scenario("coroutines without end, each error caught", {}, function()
	while true do
		pcall(coroutine.wrap(function()
			while true do -- luacheck: ignore 542
			end
		end))
	end
end)

srd.scenario("a message handler that does not end", {}, function()
	local function forever()
		while true do -- luacheck: ignore 542
		end
	end
	while true do
		xpcall(forever, forever)
	end
end)

srd.scenario("the closing of a coroutine does not end", {}, function()
	local co = coroutine.create(function()
		local _ <close> = setmetatable({}, { __close = function()
			while true do -- luacheck: ignore 542
			end
		end })
		coroutine.yield()
	end)
	coroutine.resume(co)
	coroutine.close(co)
end)

srd.scenario("an op that was cut off with the run is not unanswered", {}, function(t)
	local p = t:pair { memory = 64 }
	p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	p.a.qp.verbs:wr_start()
	while true do -- luacheck: ignore 542
	end
end)

-- None is added: memory stays as it is, so that time alone can end them.
srd.scenario("tasks without end", {}, function(t)
	local function again() while true do t:run_for "1us" end end
	t:spawn(again)
	t:spawn(again)
end)

srd.scenario("after them, all is well", {}, function() end)
