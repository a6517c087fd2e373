-- SRD promises no order. What the queue pair promises must hold in any of them.
local srd = require "srdlab"

for _, order in ipairs { "in_order", "random", "adversarial" } do
	srd.scenario(("bytes arrive whole when packets come %s"):format(order), {
		tags = { "contract", "ordering" },
		needs = { "fabric" },
		seeds = true,
		profile = { level = "packet", order = order, max_rdma_size = "32KiB" },
	}, function(t)
		local p = t:pair { memory = "256KiB", max_send_wr = 8 }
		p.a.mem:fill "random"
		t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
		t:expect(p.b.mem):same_content(p.a.mem)
	end)

	srd.scenario(("ops end whole when requests complete %s"):format(order), {
		tags = { "contract", "ordering" },
		needs = { "fabric" },
		seeds = true,
		profile = { order = order, max_rdma_size = 100 },
	}, function(t)
		local p = t:pair { memory = 4000, max_send_wr = 16 }
		p.a.mem:fill "random"
		local ops = {}
		for i = 0, 9 do
			ops[#ops + 1] = p.a.qp:submit_put {
				from = p.a.mem:slice(i * 400, 400),
				to = p.b.mem:slice(i * 400, 400),
			}
		end
		t:wait(ops)
		t:expect(p.b.mem):same_content(p.a.mem)
		t:expect(p.a.qp:in_flight()):equals(0)
	end)
end

srd.scenario("completions come back out of order, and each op gets its own", {
	tags = { "contract", "srd", "ordering" },
	needs = { "faults", "virtual_time" },
}, function(t)
	local p = t:pair { memory = 64, max_send_wr = 4 }
	local ops, ended = {}, {}
	for i = 1, 4 do
		ops[i] = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
		t:delay(ops[i]:request(1), (5 - i) * 1000000)
	end
	for i, op in ipairs(ops) do
		t:spawn(function()
			t:wait(op)
			ended[#ended + 1] = i
		end)
	end
	t:run_for "10ms"
	t:expect(ended):equals { 4, 3, 2, 1 }
end)

for _, ppm in ipairs { 1000, 50000, 300000 } do
	srd.scenario(("%d of a million packets are lost, no byte is"):format(ppm), {
		tags = { "contract", "loss" },
		needs = { "fabric" },
		seeds = true,
		profile = { level = "packet", loss = ppm, max_rdma_size = "64KiB" },
	}, function(t)
		local p = t:pair { memory = "512KiB", max_send_wr = 8 }
		p.a.mem:fill "random"
		t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
		t:wait(p.a.qp:submit_get { from = p.b.mem, to = p.a.mem })
		t:expect(p.b.mem):same_content(p.a.mem)
	end)
end

srd.scenario("a fabric that changes on the way", {
	tags = { "contract", "ordering" },
	needs = { "fabric" },
}, function(t)
	local p = t:pair { memory = 6400, max_send_wr = 4 }
	p.a.mem:fill "random"
	local ops = {}
	for i = 0, 99 do
		if i % 25 == 0 then
			t:fabric { order = i % 50 == 0 and "adversarial" or "in_order", latency = (i + 1) * 1000 }
		end
		ops[#ops + 1] = p.a.qp:submit_put { from = p.a.mem:slice(i * 64, 64), to = p.b.mem:slice(i * 64, 64) }
		if i % 10 == 9 then
			t:run_for "20us"
		end
	end
	t:wait(ops)
	t:expect(p.b.mem):same_content(p.a.mem)
end)

for _, level in ipairs { "message", "packet" } do
	srd.scenario(("a slow link that loses is slow, its peer is not silent: %s level"):format(level), {
		description = "It takes far longer than a silent peer is waited for, and packets get through all the time.",
		tags = { "law", "loss" },
		needs = { "fabric" },
		seeds = true,
		profile = { level = level, loss = 20000, bandwidth = "10MiB", unresponsive_timeout = "5ms" },
	}, function(t)
		local p = t:pair { memory = "512KiB", max_send_wr = 8 }
		p.a.mem:fill "random"
		local ops = {}
		for i = 0, 3 do
			local at = i * srd.size "128KiB"
			ops[#ops + 1] = p.a.qp:submit_put { from = p.a.mem:slice(at, "128KiB"), to = p.b.mem:slice(at, "128KiB") }
		end
		t:wait(ops)
		t:expect(p.b.mem):same_content(p.a.mem)
		t:expect(t:now()):at_least(srd.time "40ms")
	end)
end

srd.scenario("a fabric that loses everything is a silent peer", {
	tags = { "law", "loss" },
	needs = { "fabric" },
}, function(t)
	local p = t:pair { memory = 64 }
	t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
	t:fabric { loss = 1000000 }
	local op = p.a.qp:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op)):equals { status = "IBV_WC_RESP_TIMEOUT_ERR", vendor_err = 13 }
	t:fabric { loss = 0 }
	t:wait(p.a.qp:submit_put { from = p.a.mem, to = p.b.mem })
end)
