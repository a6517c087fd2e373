local srd = require "srdlab"
srd.scenario("f", { limits = { max_rdma_size = 16 }, profile = { order = "adversarial" }, timeout = "1s" }, function(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	t:fail_call("poll_cq", { nth = 2, errno = "EINVAL" })
	local op = p.a.qp:submit_get { from = p.b.mem, to = p.a.mem }
	t:hold(op:request(1)) t:delay(op:request(2), "1us") t:fail(op:request(3), 7) t:drop(op:request(4))
	t:spawn(function() t:run_for(5) t:release_all(p.a.qp) p.b.host:kill() end)
	t:fabric { loss = 10 }
	pcall(t.wait, t, op, "1ms")
	t:device_error(p.a.qp)
	t:expect(t:result(op).vendor_err):at_least(1)
	p.a.qp:destroy()
end)
