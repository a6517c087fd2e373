local srd = require "srdlab"

srd.scenario("tasks take turns in the order of their making", {}, function(t)
	local order = {}
	local function note(name)
		order[#order + 1] = name
	end
	local tasks = {}
	for i = 1, 3 do
		tasks[i] = t:spawn(function()
			note(i)
			coroutine.yield()
			note(i + 10)
			t:run_for "1us"
			note(i + 20)
		end)
	end
	note "main"
	t:wait(tasks)
	t:expect(order):equals { "main", 1, 2, 3, 11, 12, 13, 21, 22, 23 }
	t:expect(tasks[1]:done()):equals(true)
end)

srd.scenario("times end in their order", {}, function(t)
	local order = {}
	for _, us in ipairs { 30, 10, 20 } do
		t:spawn(function()
			t:run_for(us * 1000)
			order[#order + 1] = us
		end)
	end
	t:run_for "25us"
	t:expect(order):equals { 10, 20 }
	t:expect(t:now()):at_least(25000)
end)

srd.scenario("many tasks on one queue pair", { limits = { max_rdma_size = 64 } }, function(t)
	local p = t:pair { memory = 4096, max_send_wr = 4 }
	p.a.mem:fill "random"
	local tasks = {}
	for i = 0, 15 do
		tasks[#tasks + 1] = t:spawn(function()
			local part = function(m)
				return m:slice(i * 256, 256)
			end
			t:wait(p.a.qp:submit_put { from = part(p.a.mem), to = part(p.b.mem) })
		end)
	end
	t:wait(tasks)
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("a task that waits for a task", {}, function(t)
	local first
	local second = t:spawn(function()
		t:wait(first)
		return true
	end)
	first = t:spawn(function()
		t:run_for "5us"
	end)
	t:wait(second)
	t:expect(first:done()):equals(true)
end)

srd.scenario("waiting for nothing is over at once", {}, function(t)
	t:wait {}
	t:run_for(0)
	t:expect(t:now()):equals(0)
end)
