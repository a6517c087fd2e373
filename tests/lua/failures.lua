-- How failures read. The outcome is compared with failures.expected.
local srd = require "srdlab"

srd.scenario("a number that differs", {}, function(t)
	t:expect(1 + 1):equals(3)
end)

srd.scenario("a table that differs", {}, function(t)
	t:expect({ { 0, 1000 }, { 1000, 500, name = "x" } }):equals { { 0, 1000 }, { 1000, 1000, name = "x" } }
end)

srd.scenario("a field that is missing", {}, function(t)
	t:expect({ a = { b = 1 } }):equals { a = { b = 1, c = "two\n" } }
end)

srd.scenario("a field too many", {}, function(t)
	t:expect({ 1, 2, 3 }):equals { 1, 2 }
end)

srd.scenario("memory that differs", {}, function(t)
	local a = t:host "a"
	local x, y = a:memory(100):fill "random", a:memory(100)
	y:write(0, x:bytes())
	y:write(40, "changed")
	t:expect(y:slice(0, 40)):same_content(x:slice(0, 40))
	t:expect(y):same_content(x)
end)

srd.scenario("memory of another size", {}, function(t)
	local a = t:host "a"
	t:expect(a:memory(100)):same_content(a:memory(101))
end)

srd.scenario("memory that is not this string", {}, function(t)
	t:expect(t:host("a"):memory(4):write(0, "ab\0\xff")):same_content "abcd"
end)

srd.scenario("an error of the script, two calls deep", {}, function()
	local function inner()
		local nothing -- luacheck: ignore 221
		return nothing.field
	end
	local function outer()
		return (inner())
	end
	outer()
end)

srd.scenario("an error that is no string", {}, function()
	error { code = 7 }
end)

srd.scenario("no error where one is expected", {}, function(t)
	t:expect(function() end):raises "anything"
end)

srd.scenario("another error than expected", {}, function(t)
	t:expect(function()
		error "this"
	end):raises "that"
end)

srd.scenario("an op in another state", {}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:wait(op)
	t:expect(op):is "pending"
end)

srd.scenario("a put that fails is raised by the wait", {}, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = { addr = p.b.mem.addr, size = 64, key = p.b.mem.rkey + 1 } }
	t:wait(op)
end)

srd.scenario("a put that fails and nobody looks at", {}, function(t)
	local p = t:pair { memory = 64 }
	p.a.qp:submit_put { from = p.a.mem, to = { addr = p.b.mem.addr, size = 64, key = p.b.mem.rkey + 1 } }
	p.a.qp:submit_put { from = p.a.mem, to = p.b.mem:slice(0, 32) }
end)

srd.scenario("a deadlock says who waits for what", { needs = { "faults" }, limits = { max_rdma_size = 1000 } }, function(t)
	local p = t:pair { memory = 3000, max_send_wr = 4 }
	local lost = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	local held = p.a.qp:submit_put { from = p.a.mem:slice(0, 500), to = p.b.mem:slice(0, 500) }
	local queued = p.a.qp:submit_put { from = p.a.mem:slice(0, 1500), to = p.b.mem:slice(0, 1500) }
	t:drop(lost:request(2))
	t:hold(held:request(1))
	t:spawn(function()
		t:wait(held)
	end)
	t:wait(queued)
end)

srd.scenario("a deadlock of one task", { needs = { "faults" } }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:drop(op:request(1))
	t:wait(op)
end)

srd.scenario("its own time is over", { needs = { "faults" }, timeout = "1ms" }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:hold(op:request(1))
	t:spawn(function()
		t:run_for "1s"
	end)
	t:wait(op)
end)

srd.scenario("an error in a task ends the scenario", {}, function(t)
	t:spawn(function()
		t:run_for "1us"
		t:expect(1):equals(2)
	end)
	t:run_for "1s"
end)

srd.scenario("a rule is violated", {}, function(t)
	local q = t:host("a"):queue_pair {}
	q.verbs:wr_start()
	q.verbs:wr_set_sge { addr = 0, length = 0, lkey = 0 }
	q.verbs:wr_abort()
end)

srd.scenario("a rule is expected to be violated and is", { violates = "session.builder_first" }, function(t)
	local q = t:host("a"):queue_pair {}
	q.verbs:wr_start()
	q.verbs:wr_set_sge { addr = 0, length = 0, lkey = 0 }
	q.verbs:wr_abort()
end)

srd.scenario("a rule is expected to be violated and is not", { violates = "chunk.cover" }, function() end)

srd.scenario("a scenario inside of a scenario", {}, function()
	srd.scenario("inner", {}, function() end)
end)

srd.scenario("it fails as it says that it will", { fails = "expected 2, got 1" }, function(t)
	t:expect(1):equals(2)
end)

srd.scenario("it fails otherwise than it says", { fails = "expected 3" }, function(t)
	t:expect(1):equals(2)
end)

srd.scenario("it does not fail as it says", { fails = "deadlock" }, function() end)

srd.scenario("it fails as it says, and a rule is violated", { fails = "expected 2, got 1" }, function(t)
	local q = t:host("a"):queue_pair {}
	q.verbs:wr_start()
	q.verbs:wr_set_sge { addr = 0, length = 0, lkey = 0 }
	q.verbs:wr_abort()
	t:expect(1):equals(2)
end)

srd.scenario("its own time is over before anything arrives", { timeout = "5us", limits = { max_rdma_size = 16 } }, function(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	local queued = p.a.qp:submit_get { from = p.b.mem, to = p.a.mem }
	t:expect(queued):is "queued"
	t:wait { op, queued }
end)

srd.scenario("a limit above the device's", { limits = { max_qp = 100000 } }, function(t)
	t:host "a"
end)

srd.scenario("a violation that is repeated", {}, function(t)
	local p = t:pair { memory = 64 }
	for _ = 1, 3 do
		t:result(p.a.qp:submit_put { from = p.a.mem, to = { addr = p.b.mem.addr, size = 64, key = 1 } })
	end
end)

srd.scenario("a value that is no scenario's", {}, function(t)
	t:expect(t):equals "t"
end)

srd.scenario("a loss of two errors", {}, function(t)
	local p = t:pair { memory = 64 }
	t:wait { p.a.qp:submit_put { from = p.a.mem:slice(0, 0), to = p.b.mem }, t:spawn(function() error "in a task" end) }
end)

srd.scenario("an error inside of a library has no place there", {}, function(t)
	table.sort { 1, "two", t }
end)

srd.scenario("an error that is a table", {}, function()
	error {}
end)

srd.scenario("an error without a message", {}, function()
	error()
end)

srd.scenario("an error whose text fails", {}, function()
	error(setmetatable({}, { __tostring = function() error "no" end }))
end)

srd.scenario("a wait where none can be", {}, function(t)
	t:spawn(function() end)
	tostring(setmetatable({}, { __tostring = function()
		t:run_for "1us"
	end }))
end)

srd.scenario("a group inside of a scenario", {}, function()
	srd.describe("x", {}, function() end)
end)

srd.scenario("memory of nothing", {}, function(t)
	t:host("a"):memory(0)
end)

srd.scenario("a depth that no device has", {}, function(t)
	t:pair { max_send_wr = (1 << 32) - 1 }
end)

srd.scenario("a number that is none, joined to a text", {}, function()
	error("x = " .. 0 / 0)
end)

srd.scenario("a request that is wrong leaves no session open", {}, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	a.qp:post({ { "write", wr_id = 1, from = a.mem, to = b.mem }, { "wrtie", wr_id = 2 } }, a.peer)
end)
