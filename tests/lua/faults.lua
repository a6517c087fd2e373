local srd = require "srdlab"

local function three(t)
	local p = t:pair { memory = 3000, max_send_wr = 8 }
	return p, p.a.qp:submit_put { from = p.a.mem:fill "random", to = p.b.mem }
end

local limits = { max_rdma_size = 1000 }
local needs = { "faults" }

srd.scenario("a held completion comes when it is released", { needs = needs, limits = limits }, function(t)
	local p, op = three(t)
	t:hold(op:request(2))
	t:run_for "1ms"
	t:expect(op):is "pending"
	t:expect(t:locate(op:request(2))):equals "held"
	t:expect(p.a.qp:in_flight()):equals(1)
	t:release(op:request(2))
	t:wait(op)
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("all that is held is released at once", { needs = needs, limits = limits }, function(t)
	local p, op = three(t)
	for i = 1, 3 do
		t:hold(op:request(i))
	end
	t:run_for "1ms"
	t:expect(p.a.qp:in_flight()):equals(3)
	t:release_all(p.a.qp)
	t:wait(op)
end)

srd.scenario("a delayed request is late by so much", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	t:fabric { jitter = 0, order = "in_order" }
	local began = t:now()
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
	local usual = t:now() - began
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:delay(op:request(1), "1ms")
	began = t:now()
	t:wait(op)
	t:expect(t:now() - began):equals(usual + 1000000)
end)

srd.scenario("a request fails before it is posted", { needs = needs, limits = limits }, function(t)
	local p = t:pair { memory = 3000, max_send_wr = 8 }
	t:fail(p.a.qp:next_request(2), "REMOTE_ERROR_ABORT")
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ABORT_ERR", vendor_err = 8 }
	t:expect(op):is "failed"
	t:expect(op:error()):contains "IBV_WC_REM_ABORT_ERR"
	local good = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:wait(good)
	t:expect(good:error()):equals(nil)
end)

srd.scenario("a lost request is a deadlock, which can be caught", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:drop(op:request(1))
	t:expect(function()
		t:wait(op)
	end):raises "deadlock"
	t:expect(t:locate(op:request(1))):equals "lost"
end)

srd.scenario("a wait with a time", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:hold(op:request(1))
	t:expect(function()
		t:wait(op, "1ms")
	end):raises "t:wait: not done in the time that was given"
	t:release(op:request(1))
	t:wait(op, "1ms")
end)

srd.scenario("the device moves a queue pair to ERR", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	t:device_error(p.a.qp)
	t:expect(t:result(op)):equals { status = "IBV_WC_WR_FLUSH_ERR", vendor_err = 1 }
	t:expect(p.a.qp):is "ERR"
end)

srd.scenario("what cannot be done to a queue pair or a request, and why", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	local function raises(text, call, ...)
		local arguments = table.pack(...)
		t:expect(function()
			call(table.unpack(arguments))
		end):raises(text)
	end
	raises("t:release: EINVAL: nothing holds this request", t.release, t, op:request(1))
	raises("t:fail: status = \"OK\": what fails has another status than this one", t.fail, t, op:request(1), "OK")
	raises("t:fail: status = 256 is out of range: 1 to 255", t.fail, t, op:request(1), 256)
	raises("t:fail_receive: status = 0 is out of range: 1 to 255", t.fail_receive, t, p.b.qp, 0)
	raises("those that become this one are LOCAL_ERROR_UNRESP_REMOTE, LOCAL_ERROR_UNREACH_REMOTE", t.fail, t, op:request(1),
		"IBV_WC_RESP_TIMEOUT_ERR")
	raises("t:delay = \"9000h\"", t.delay, t, op:request(1), "9000h")
	raises("\"rx_drop\": there is no such counter; did you mean \"rx_drops\"?", t.counter, t, "rx_drop")
	t:wait(op)
	t:device_error(p.a.qp)
	raises("t:device_error: EINVAL: the queue pair is in RESET, or in ERR already", t.device_error, t, p.a.qp)
end)

srd.scenario("a status by the name of libibverbs, where it is of one alone", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	t:fail(p.a.qp:next_request(1), "IBV_WC_REM_ACCESS_ERR")
	t:expect(t:result(p.a.qp:put { from = p.a.mem, to = p.b.mem }).vendor_err):equals(7)
end)

srd.scenario("what waits for a receive of a host that dies has an end", {
	needs = { "faults", "virtual_time" },
}, function(t)
	local a = t:verbs_pair { memory = 64 }
	t:expect(a.qp:post({ { "send", wr_id = 1, from = a.mem } }, a.peer)):equals "OK"
	t:run_for "1ms"
	t:host("b"):kill()
	t:expect(a.cq:wait()[1].vendor_err):equals(15) -- UNREACH_REMOTE: no answer of it ever came
end)

srd.scenario("the limit of a memory region is named", { needs = needs, limits = { max_mr_size = 65536 } }, function(t)
	t:expect(function()
		t:host("a"):memory(65537)
	end):raises "host:memory: reg_mr failed: EINVAL: 65537 bytes are more than max_mr_size, which is 65536"
end)

srd.scenario("a call of verbs fails when it is told to", {}, function(t)
	local a = t:host "a"
	t:fail_call("create_cq", { errno = "ENOMEM" })
	local cq, error = a.verbs:create_cq(4)
	t:expect(cq):equals(nil)
	t:expect(error):equals "ENOMEM"
	t:fail_call("create_cq", { nth = 2, errno = "EINVAL" })
	t:expect(a.verbs:create_cq(4)):differs_from(nil)
	t:expect(select(2, a.verbs:create_cq(4))):equals "EINVAL"
	t:fail_call("query_device", { nth = 0, errno = "EIO" })
	t:expect(select(2, a.verbs:query_device())):equals "EIO"
	t:expect(select(2, a.verbs:query_device())):equals "EIO"
	t:restore_calls()
	t:expect(a.verbs:query_device().max_pd):equals(256)
	t:expect(function()
		t:fail_call("modify", {})
	end):raises 't:fail_call: no verb "modify"'
	t:expect(function()
		t:fail_call("modify_q", {})
	end):raises 'did you mean "modify_qp"?'
	t:expect(function()
		t:fail_call("modify_qp", { errno = "EWHAT" })
	end):raises 't:fail_call: errno = "EWHAT": no such errno'
	t:expect(function()
		t:fail_call("wr_start", {})
	end):raises "t:fail_call: "
end)

srd.scenario("connect says which transition failed", {}, function(t)
	local qa, qb = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	t:fail_call("modify_qp", { nth = 2, errno = "EINVAL" })
	t:expect(function()
		qa:connect(qb:endpoint())
	end):raises "RTR"
	t:expect(qa):is "INIT"
	qa:connect(qb:endpoint())
	t:expect(qa):is "RTS"
end)

srd.scenario("a request that is not there", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
	local request = op:request(1)
	t:wait(op)
	t:expect(function()
		t:hold(request)
	end):raises "t:hold: there is no such request or it is completed"
	p.a.qp:destroy()
	t:expect(function()
		t:hold(request)
	end):raises "the queue pair of this request is released"
	t:expect(function()
		t:counter "nonsense"
	end):raises 't:counter: "nonsense": there is no such counter'
	t:audit()
end)

srd.scenario("a delayed request arrives late", { needs = needs }, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	t:delay(a.qp:next_request(), "1ms")
	local request = a.qp:next_request()
	t:expect(a.qp:post({ { "write", from = a.mem:fill(3), to = b.mem } }, a.peer)):equals "OK"
	t:run_for "900us"
	t:expect(t:locate(request)):equals "wire"
	t:expect(b.mem):same_content(("\0"):rep(64))
	a.cq:wait()
	t:expect(b.mem):same_content(a.mem)
end)

srd.scenario("the next request of a verbs queue pair that is gone", { needs = needs }, function(t)
	local a = t:verbs_end "a"
	local request = a.qp:next_request(2)
	t:expect(function()
		a.qp:next_request(0)
	end):raises "qp:next_request: 0 is out of range"
	t:expect(a.qp:destroy_qp()):equals "OK"
	t:expect(function()
		t:hold(request)
	end):raises "the queue pair of this request is released"
end)

srd.scenario("a completion that comes twice credits once", { needs = needs, violates = "completion.twice" }, function(t)
	local p = t:pair { memory = 64 }
	local function put()
		return p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	end
	local twice, other = put(), put()
	t:duplicate(twice:request(1))
	t:hold(other:request(1)) -- so that there is a reason to go on polling
	t:wait(twice)
	t:run_for "1ms"
	t:expect(p.a.qp:in_flight()):equals(1)
	t:release(other:request(1))
	t:wait(other)
end)

srd.scenario("an entry of nobody is taken out and harms nobody", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	t:stale_completion(p.a.qp)
	t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
end)

srd.scenario("a verbs queue pair stands for its queue pair", { needs = needs }, function(t)
	local p = t:pair {}
	t:device_error(p.a.qp.verbs)
	t:expect(p.a.qp):is "ERR"
	t:expect(function()
		t:device_error(p.a.host)
	end):raises "a verbs queue pair is expected"
end)

srd.scenario("a host that comes back has lost its queue pairs", { needs = needs }, function(t)
	local p = t:pair { memory = 64 }
	p.b.host:kill()
	p.b.host:restart()
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op).vendor_err):equals(9)
end)

srd.scenario("a poll that fails", {}, function(t)
	local p = t:pair { memory = 64 }
	local cq = p.a.host.verbs:create_cq(4)
	t:fail_call("poll_cq", { errno = "EIO" })
	t:expect(select(2, cq:poll(1))):equals "EIO"
	t:fail_call("poll_cq", { errno = "EIO" })
	t:expect(function()
		cq:wait(1)
	end):raises "cq:wait: poll_cq failed: EIO"
	t:fail_call("poll_cq", { errno = "EIO" })
	t:expect(function()
		p.a.qp:poll "send"
	end):raises "q:poll: "
	t:fail_call("query_qp", { errno = "EIO" })
	t:expect(function()
		p.a.qp:state()
	end):raises "q:state: "
	t:fail_call("query_port", { errno = "EIO" })
	t:expect(function()
		p.a.qp:endpoint()
	end):raises "q:endpoint: "
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:fail_call("poll_cq", { errno = "EIO" })
	t:expect(function()
		p.a.qp:progress()
	end):raises "q:progress: "
	t:expect(t:result(op).errno):equals "ECANCELED"
end)

srd.scenario("memory that cannot be reached", {}, function(t)
	local m = t:host("a"):memory(64)
	t:fail_call("fill_buffer", { errno = "ERANGE" })
	t:fail_call("write_buffer", { errno = "ERANGE" })
	t:fail_call("read_buffer", { errno = "ERANGE" })
	t:fail_call("compare_buffer", { errno = "ERANGE" })
	for text, f in pairs {
		["fill_buffer failed: ERANGE"] = function() m:fill "zero" end,
		["write_buffer failed: ERANGE"] = function() m:write(0, "x") end,
		["read_buffer failed: ERANGE"] = function() m:bytes() end,
		["compare_buffer failed: ERANGE"] = function() m:first_difference(m) end,
	} do
		t:expect(f):raises(text)
	end
	t:fail_call("reg_mr", { errno = "ENOMEM" })
	t:expect(function()
		t:host("a"):memory(64)
	end):raises "host:memory: reg_mr failed: ENOMEM"
	t:fail_call("alloc_buffer", { errno = "ENOMEM" })
	t:expect(function()
		t:host("a"):memory(64)
	end):raises "host:memory: alloc_buffer failed: ENOMEM"
	t:fail_call("open_device", { errno = "EACCES" })
	t:expect(function()
		t:host "b"
	end):raises "t:host: open_device failed: EACCES"
	t:fail_call("alloc_pd", { errno = "ENOMEM" })
	t:expect(function()
		t:host "b"
	end):raises "t:host: alloc_pd failed: ENOMEM"
	t:expect(t:host("b").name):equals "b"
end)

srd.scenario("a deadlock tells of requests by verbs alone", { needs = needs }, function(t)
	local a, b = t:verbs_pair { memory = 64 }
	t:hold(a.qp:next_request(3))
	t:expect(a.qp:post({ { "write", from = a.mem, to = b.mem }, { "send", from = a.mem },
		{ "write", from = a.mem, to = b.mem } }, a.peer)):equals "OK"
	a.cq:wait()
	local ok, message = pcall(a.cq.wait, a.cq)
	t:expect(ok):equals(false)
	t:expect(message):contains "deadlock"
	t:expect(message):matches "the send of line %d+ %(wr_id 0%) on queue pair 1 of host a: at queue pair 2 of host b, until a receive"
	t:expect(message):matches "the write of line %d+ %(wr_id 0%) on queue pair 1 of host a: held: its completion waits"
	t:expect(message:find "request 1"):equals(nil)
	t:release_all(a.qp)
	t:expect(b.qp:post_recv { sg_list = b.mem }):equals "OK"
	a.cq:wait(2)
end)

srd.scenario("a receiver that is not ready for a while", { needs = needs }, function(t)
	local send = { "send_imm", wr_id = 1, imm_data = 9 }
	for retry, took in pairs { [7] = 3000000, [5] = 3000000, [2] = 2000000 } do
		local a, b = t:verbs_pair { memory = 64, rnr_retry = retry }
		local began = t:now()
		t:fabric { rnr_timer = "1ms", jitter = 0, latency = 0 }
		t:expect(b.qp:post_recv { wr_id = 5, sg_list = b.mem }):equals "OK"
		t:not_ready(a.qp:next_request(1), 3)
		send.from = a.mem
		t:expect(a.qp:post({ send }, a.peer)):equals "OK"
		t:expect(a.cq:wait(1)[1].vendor_err):equals(retry == 2 and 10 or 0)
		t:expect(t:now() - began >= took and t:now() - began < took + 100000):equals(true)
	end
	local a = t:verbs_pair { memory = 64 }
	t:not_ready(a.qp:next_request(1)) -- once
	t:expect(function()
		t:not_ready(a.qp:next_request(1), 256)
	end):raises "out of range"
end)

srd.scenario("what the module does not have", {}, function(t)
	t:expect(function()
		srd.scenaro("x")
	end):raises "srd has no \"scenaro\"; did you mean \"scenario\"?"
	t:expect(function()
		srd.on_request(print)
	end):raises "srd.on_request: this is a script for srdlab exec --script"
end)
