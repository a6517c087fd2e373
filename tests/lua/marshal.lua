-- What a bad value is answered: the field, the value, what is right.
local srd = require "srdlab"

local function raises(t, text, f, ...)
	local arguments = table.pack(...)
	t:expect(function()
		f(table.unpack(arguments, 1, arguments.n))
	end):raises(text)
end

srd.scenario("fields of a queue pair", {}, function(t)
	local a = t:host "a"
	raises(t, 'queue_pair: unknown field "max_sned_wr"; did you mean "max_send_wr"?', a.queue_pair, a, { max_sned_wr = 4 })
	raises(t, 'queue_pair: unknown field "colour"', a.queue_pair, a, { colour = 4 })
	raises(t, "queue_pair: max_send_wr = -1 is out of range: 0 to 4294967295", a.queue_pair, a, { max_send_wr = -1 })
	raises(t, "queue_pair: max_send_wr = 1.5: a whole number is expected", a.queue_pair, a, { max_send_wr = 1.5 })
	raises(t, 'queue_pair: max_send_wr = "16": a whole number is expected', a.queue_pair, a, { max_send_wr = "16" })
	raises(t, "queue_pair: max_send_wr = true: a whole number is expected", a.queue_pair, a, { max_send_wr = true })
	raises(t, "queue_pair: port_num = 256 is out of range: 0 to 255", a.queue_pair, a, { port_num = 256 })
	raises(t, "queue_pair: a table of fields is expected, not number", a.queue_pair, a, 7)
	raises(t, "queue_pair: a field must have a name, not the key 1", a.queue_pair, a, { 7 })
	raises(t, "a completion queue is expected, not number", a.queue_pair, a, { send_cq = 7 })
	t:expect(a:queue_pair { max_send_wr = 4.0 }.max_send_wr):equals(4)
end)

srd.scenario("sizes and times take units", {}, function(t)
	local a = t:host "a"
	t:expect(a:memory("4KiB").size):equals(4096)
	t:expect(a:memory("2 MiB").size):equals(2 << 20)
	t:expect(srd.size "1GiB"):equals(1 << 30)
	t:expect(srd.time "50us"):equals(50000)
	t:expect(srd.time(7)):equals(7)
	raises(t, 'host:memory: size = "4KB": a size is expected', a.memory, a, "4KB")
	raises(t, 'host:memory: size = "50us": a size is expected', a.memory, a, "50us")
	raises(t, "host:memory: size = -1 is out of range", a.memory, a, -1)
	raises(t, "host:memory: size = nothing: a size is expected", a.memory, a)
	raises(t, 't:run_for = "4KiB": a time is expected', t.run_for, t, "4KiB")
	raises(t, 'srd.time = "99999999999999999999s" is out of range', srd.time, "99999999999999999999s")
end)

srd.scenario("names of enumerations and flags", {}, function(t)
	local a = t:host "a"
	local q = a:queue_pair {}
	raises(t, 'qp_attr: state = "INTI": no such value; did you mean "INIT"?', q.verbs.modify, q.verbs, { state = "INTI" })
	raises(t, 'qp_attr: state = "WXYZ": no such value; there are RESET, INIT, RTR, RTS, SQD, SQE, ERR, UNKNOWN', q.verbs.modify, q.verbs, { state = "WXYZ" })
	raises(t, "qp_attr: state = true: a name is expected", q.verbs.modify, q.verbs, { state = true })
	t:expect(q.verbs:modify { state = "IBV_QPS_INIT", port_num = 1, pkey_index = 0, qkey = 7 }):equals "OK"
	t:expect(q.verbs:query "STATE|QKEY".qkey):equals(7)
	t:expect(q.verbs:query { "STATE", "IBV_QP_QKEY" }.state):equals "INIT"
	raises(t, 'query: mask = "STAET": no such value; did you mean "STATE"?', q.verbs.query, q.verbs, "STAET")
	raises(t, 'memory_options: unknown field "acess"; did you mean "access"?', a.memory, a, 64, { acess = 1 })
end)

srd.scenario("memory and its ranges", {}, function(t)
	local m = t:host("a"):memory(100)
	raises(t, "memory:slice: offset 101 is behind the end: the memory has 100 bytes", m.slice, m, 101)
	raises(t, "memory:slice: 51 bytes at offset 50 reach behind the end: the memory has 100 bytes", m.slice, m, 50, 51)
	raises(t, "memory:write: 2 bytes at offset 99 reach behind the end", m.write, m, 99, "ab")
	raises(t, 'memory:fill: "random", "zero" or a number is expected', m.fill, m, "noise")
	local s = m:slice(10, 20):slice(5)
	t:expect(s.size):equals(15)
	t:expect(s.addr):equals(m.addr + 15)
	t:expect(s.rkey):equals(m.rkey)
	s:write(0, "hello")
	t:expect(m:bytes(15, 5)):equals "hello"
	t:expect(m:slice(15, 5)):same_content "hello"
	t:expect(m:slice(100).size):equals(0)
	raises(t, "memory:free: this is a slice", s.free, s)
	t:expect(m:free()):equals "OK"
	raises(t, "this memory is freed", s.bytes, s)
	raises(t, "this memory is released", m.bytes, m)
	raises(t, "this memory is released", function()
		return m.size
	end)
end)

srd.scenario("misspelt methods and wrong objects", {}, function(t)
	local p = t:pair { memory = 64 }
	local q = p.a.qp
	raises(t, 'a queue pair has no "submit_putt"; did you mean "submit_put"?', function()
		q:submit_putt {}
	end)
	raises(t, 'a scenario has no "hots"; did you mean "host"?', function()
		t:hots "a"
	end)
	raises(t, 'there is no expectation "equal"', function()
		t:expect(1):equal(1)
	end)
	raises(t, "a queue pair cannot be written to", function()
		q.colour = "red"
	end)
	raises(t, "a queue pair is expected, not no value", t.connect, t, q)
	raises(t, "a queue pair is expected, not memory", q.state, p.a.mem)
	raises(t, "t:wait: an op or a task is expected, or a list of them, not number", t.wait, t, 7)
	raises(t, 'q:put: "to" is missing', q.put, q, { from = p.a.mem })
	raises(t, 'q:put: unknown field "form"; there are "from", "to" and "peer"', q.put, q, { form = p.a.mem, to = p.b.mem })
	raises(t, "q:put: memory is expected, or a table { addr, size, key }, not number", q.put, q, { from = 7, to = p.b.mem })
	raises(t, 'view: unknown field "rkey"; did you mean "key"?', q.put, q, { from = p.a.mem, to = { rkey = 7 } })
	raises(t, "op:request: 2 is out of range: this put posted 1", function()
		local op = q:put { from = p.a.mem, to = p.b.mem }
		op:request(2)
	end)
end)

srd.scenario("a profile's fields", { needs = { "fabric" } }, function(t)
	raises(t, 'profile: unknown field "latencyy"; did you mean "latency"?', t.fabric, t, { latencyy = 3 })
	raises(t, 'profile: order = "backwards": no such value; there are in_order, random, adversarial', t.fabric, t, { order = "backwards" })
	raises(t, "profile: loss = 1000001 is out of range: 0 to 1000000", t.fabric, t, { loss = 1000001 })
	raises(t, "t:fabric: max_qp cannot change while a device runs", t.fabric, t, { max_qp = 3 })
	t:fabric { latency = "3us", order = "in_order", loss = 10 }
end)

srd.scenario("the other types of a field", {}, function(t)
	local a = t:host "a"
	local v = a.verbs
	local cq = v:create_cq(4)
	local q = a:queue_pair {}
	raises(t, "qp_init_attr: sq_sig_all = 1.5: a whole number of 32 bits is expected", v.create_qp_ex, v, { sq_sig_all = 1.5 })
	raises(t, "qp_init_attr: cap = 3: a table is expected", v.create_qp_ex, v, { cap = 3 })
	raises(t, "qp_init_attr: efa = 3: a table is expected", v.create_qp_ex, v, { efa = 3 })
	raises(t, "a completion queue is expected, not protection domain", v.create_qp_ex, v, { send_cq = v.pd })
	raises(t, "memory_options: register = 1: true or false is expected", a.memory, a, 64, { register = 1 })
	raises(t, "memory_options: access = true: a name, names with | between, or a list is expected", a.memory, a, 64, { access = true })
	raises(t, "memory_options: kind = \"REEL\": no such value; did you mean \"REAL\"?", a.memory, a, 64, { kind = "REEL" })
	raises(t, 'ah_attr: dgid = "nonsense": a GID is expected, such as "fe80::1"', v.pd.create_ah, v.pd, { dgid = "nonsense" })
	raises(t, 'sge: addr = "x": a whole number is expected', q.verbs.wr_set_sge, q.verbs, { addr = "x" })
	raises(t, "fault_call: errno = 5: a string is expected", t.fail_call, t, "modify_qp", { errno = 5 })
	raises(t, "wr: imm_data = -1 is out of range: 0 to 4294967295", q.verbs.wr_send_imm, q.verbs, { imm_data = -1 })
	raises(t, "more than 16 scatter/gather entries", q.verbs.wr_set_sge_list, q.verbs, table.move({ cq and { addr = 0 } }, 1, 1, 1,
		setmetatable({}, nil)) and { {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {} })
	raises(t, "q:next_request: 0 is out of range", q.next_request, q, 0)
	raises(t, "q:put: a table { from = memory, to = memory } is expected", q.put, q, 7)
	raises(t, "a task needs a function, not number", t.spawn, t, 7)
	raises(t, "memory:deregister: this memory is not registered", function()
		a:memory(64, { register = false }):deregister()
	end)
	raises(t, "memory:bytes: 67108865 bytes are too many for a string; at most 64 MiB", function()
		a:memory((64 << 20) + 1, { kind = "ORIGIN" }):bytes()
	end)
	raises(t, "a scatter/gather entry: 4294967296 bytes are too many", function()
		q.verbs:wr_set_sge(a:memory(1 << 32, { kind = "ORIGIN" }))
	end)
	raises(t, "t:host: the name has more than 63 letters", t.host, t, ("x"):rep(64))
	for _, object in ipairs { a, q, cq, v, v.pd, a:memory(1), q.verbs, q.put and t } do
		raises(t, 'has no "qqqqqqqq"', function()
			return object.qqqqqqqq
		end)
	end
	t:expect(q.verbs:modify { state = 9 }):equals "EINVAL"
	t:expect(q.verbs:modify { state = "INIT", qkey = 1, port_num = 1, pkey_index = 0, mask = "STATE | PKEY_INDEX|PORT |QKEY " }):equals "OK"
	t:expect(v.pd:reg_mr(a:memory(64), 7).length):equals(64)
end)

srd.scenario("arguments of the parts that are written in Lua", {}, function(t)
	local p = t:pair { memory = 8 }
	raises(t, "an op is expected, not memory", t.result, t, p.a.mem)
	raises(t, "q:put: its fields need their names", p.a.qp.put, p.a.qp, { p.a.mem, p.b.mem })
	raises(t, "t:pair: a table of options is expected, not number", t.pair, t, 7)
	raises(t, "t:verbs_end: a table of options is expected, not number", t.verbs_end, t, "a", 7)
	raises(t, "t:verbs_pair: a table of options is expected, not number", t.verbs_pair, t, 7)
	raises(t, "srd.address: an end, as t:verbs_end gives it, is expected, not nil", srd.address, nil, nil)
	raises(t, "srd.with: two tables of fields are expected", srd.with, { 1 })
	raises(t, "qp:post: a list of requests is expected, not number", p.a.qp.verbs.post, p.a.qp.verbs, 7)
	raises(t, "qp:post: a request { \"write\", from = ..., to = ... } is expected, not string", p.a.qp.verbs.post,
		p.a.qp.verbs, { "write" })
	raises(t, "t:pair: unknown field \"memry\"; did you mean \"memory\"?", t.pair, t, { memry = 8 })
	raises(t, "t:pair: unknown field \"max_send_wrs\"; did you mean \"max_send_wr\"?", t.pair, t, { max_send_wrs = 8 })
	raises(t, "t:rail_pair: unknown field \"max_inflight\"; did you mean \"max_in_flight\"?", t.rail_pair, t,
		{ max_inflight = 3 })
	raises(t, "queue_pair: max_send_wr", t.rail_pair, t, { max_send_wr = -1 })
	raises(t, "t:rail_pair: rails is 1000: a number from 1 to 32, or a list of two", t.rail_pair, t, { rails = 1000 })
	raises(t, "t:rail_pair: rails is a list of 3 numbers: of two, one for each host", t.rail_pair, t,
		{ rails = { 2, 2, 2 } })
	raises(t, "t:verbs_end: unknown field \"memry\"; did you mean \"memory\"?", t.verbs_end, t, "a", { memry = 8 })
	raises(t, "t:verbs_pair: unknown field \"x\"", t.verbs_pair, t, { x = 8 })
	raises(t, "t:verbs_pair: unknown field \"qkeys\"; did you mean \"qkey\"?", t.verbs_pair, t, { b = { qkeys = 8 } })
	raises(t, "qp:post: unknown field \"wrid\"; did you mean \"wr_id\"?", p.a.qp.verbs.post, p.a.qp.verbs,
		{ { "write", wrid = 8 } })
	raises(t, "t:host: a name is at least one letter long", t.host, t, "")
	raises(t, "t:host: a name is at least one letter long", t.host, t, "a\0b")
	raises(t, "at_least: the bound is a number, not string", function()
		t:expect(1):at_least "2"
	end)
	raises(t, "contains: a string contains strings, not table", function()
		t:expect("text"):contains {}
	end)
	raises(t, "same_content: memory or a string is expected to compare with, not nil", function()
		t:expect(p.a.mem):same_content(nil)
	end)
end)
