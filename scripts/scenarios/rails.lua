-- One transfer over several devices of both hosts: striped, with a budget that all rails
-- share, and with what SRD never promises: that two rails keep any order between them.
local srd = require "srdlab"

srd.describe("rails", { tags = { "contract", "rails", "srd" } }, function()

srd.scenario("a put is striped over the rails in turn", { limits = { max_rdma_size = 1000 } }, function(t)
	local p = t:rail_pair { rails = 2, memory = 10000, max_send_wr = 8, stripe = 3000 }
	p.a.mem:fill "random"
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(p.a.qps[1]:in_flight()):equals(6) -- bytes 0 to 2999 and 6000 to 8999
	t:expect(p.a.qps[2]:in_flight()):equals(4) -- 3000 to 5999 and the last 1000
	t:wait(op)
	t:expect(p.b.mem):same_content(p.a.mem)
	t:expect(p.a.rails:in_flight()):equals(0)
end)

for _, rails in ipairs { 1, 2, 3, 4 } do
	srd.scenario(("puts and gets of any size over %d"):format(rails), {
		limits = { max_rdma_size = 512 }, seeds = true,
	}, function(t)
		local p = t:rail_pair { rails = rails, memory = 8192, max_send_wr = 2, stripe = 1024 }
		for _, size in ipairs { 0, 1, 511, 512, 513, 1023, 1024, 1025, 2048, 5000, 8192 } do
			p.a.mem:fill "random"
			p.b.mem:fill "zero"
			t:wait(p.a.rails:submit_put { from = p.a.mem:slice(0, size), to = p.b.mem:slice(0, size) })
			t:expect(p.b.mem:slice(0, size)):same_content(p.a.mem:slice(0, size))
			t:expect(p.b.mem:slice(size):bytes()):equals(("\0"):rep(8192 - size)) -- and not a byte more
			p.a.mem:fill "zero"
			t:wait(p.a.rails:submit_get { from = p.b.mem:slice(0, size), to = p.a.mem:slice(0, size) })
			t:expect(p.a.mem:slice(0, size)):same_content(p.b.mem:slice(0, size))
		end
	end)
end

srd.scenario("the rails share a budget that is less than their credits", {
	limits = { max_rdma_size = 1000 },
}, function(t)
	local p = t:rail_pair { rails = 3, memory = 60000, max_send_wr = 4, stripe = 2000, max_in_flight = 7 }
	p.a.mem:fill "random"
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(p.a.rails:in_flight()):equals(6) -- a stripe more would be 8
	t:expect(p.a.rails:queued()):equals(1)
	t:wait(op)
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("both ends send at once", {}, function(t)
	local p = t:rail_pair { rails = 2, memory = 65536, stripe = 4096 }
	local half = 32768
	p.a.mem:slice(0, half):fill "random"
	p.b.mem:slice(half):fill "random"
	t:wait {
		p.a.rails:submit_put { from = p.a.mem:slice(0, half), to = p.b.mem:slice(0, half) },
		p.b.rails:submit_put { from = p.b.mem:slice(half), to = p.a.mem:slice(half) },
	}
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("transfers do not overtake each other", {
	limits = { max_rdma_size = 1000 }, seeds = true,
}, function(t)
	local p = t:rail_pair { rails = 2, memory = 16000, max_send_wr = 2, stripe = 1000 }
	p.a.mem:fill "random"
	local ops, from = {}, 0
	for i, size in ipairs { 9000, 1, 6999 } do
		ops[i] = p.a.rails:submit_put { from = p.a.mem:slice(from, size), to = p.b.mem:slice(from, size) }
		from = from + size
	end
	t:expect(p.a.rails:queued()):equals(3)
	t:wait(ops)
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("hosts with different numbers of rails are refused, with both", {}, function(t)
	for _, counts in ipairs { { 2, 3 }, { 4, 1 } } do
		t:expect(function()
			t:rail_pair { rails = counts }
		end):raises(("this host has %d rails and its peer has %d"):format(counts[1], counts[2]))
	end
end)

srd.scenario("a stripe that could never be sent is refused, with the numbers", {
	limits = { max_rdma_size = 1000 },
}, function(t)
	t:expect(function()
		t:rail_pair { max_send_wr = 2, stripe = 3000 }
	end):raises "a stripe of 3000 bytes is 3 requests on rail 1, more than its max_send_wr 2"
	t:expect(function()
		t:rail_pair { max_send_wr = 4, stripe = 3000, max_in_flight = 2 }
	end):raises "more than the 2 that all rails together may have in flight"
end)

srd.scenario("a destination that is too small is refused", {}, function(t)
	local p = t:rail_pair { memory = 4096 }
	t:expect(function()
		p.a.rails:submit_put { from = p.a.mem, to = p.b.mem:slice(1) }
	end):raises "the destination has 4095 bytes, the source 4096"
end)

srd.scenario("a rail's queue pair takes no ops of its own", {}, function(t)
	local p = t:rail_pair { memory = 64 }
	t:expect(function()
		p.a.qps[1]:put { from = p.a.mem, to = p.b.mem }
	end):raises "is a rail"
	t:expect(function()
		t:rails(p.a.qps, p.b.qps)
	end):raises "is a rail already"
	p.a.rails:destroy()
	p.b.rails:destroy()
end)

srd.scenario("a rail that dies hands its stripes to the others", {
	needs = { "faults" }, limits = { max_rdma_size = 4096 },
}, function(t)
	local p = t:rail_pair { rails = 3, memory = "256KiB", max_send_wr = 4, stripe = 4096 }
	p.a.mem:fill "random"
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(p.a.rails:in_flight()):equals(12)
	t:device_error(p.a.qps[2])
	t:wait(op)
	t:expect(p.b.mem):same_content(p.a.mem)
	t:expect(p.a.rails:alive()):equals(2)
	p.b.mem:fill "zero"
	t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }) -- without it from the start
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("a peer's device that dies loses its rail by time-out", {
	needs = { "faults", "hosts", "virtual_time" }, limits = { max_rdma_size = 4096 },
}, function(t)
	local p = t:rail_pair { rails = 2, memory = "64KiB", max_send_wr = 4, stripe = 4096 }
	p.a.mem:fill "random"
	p.b.host:device(2):kill()
	t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
	t:expect(p.a.rails:alive()):equals(1)
end)

srd.scenario("the last rail that dies fails the transfer", { needs = { "faults" } }, function(t)
	local p = t:rail_pair { rails = 2, memory = 8192, stripe = 1024, max_send_wr = 2 }
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:device_error(p.a.qps[1])
	t:device_error(p.a.qps[2])
	t:expect(t:result(op)):equals { errno = "ENETDOWN", message = "no rail of 2 is left" }
	t:expect(t:result(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }).errno):equals "ENETDOWN"
	t:expect(p.a.rails:in_flight()):equals(0)
end)

srd.scenario("a stripe that fails for a cause of its own fails the transfer, not the rail", {
	needs = { "faults" }, limits = { max_rdma_size = 1024 },
}, function(t)
	local p = t:rail_pair { rails = 2, memory = 16384, stripe = 1024, max_send_wr = 4 }
	t:fail(p.a.qps[2]:next_request(2), "REMOTE_ERROR_BAD_ADDRESS")
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(t:result(op)):equals { status = "IBV_WC_REM_ACCESS_ERR", vendor_err = 7 }
	t:expect(p.a.rails:alive()):equals(2)
	t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem })
end)

srd.scenario("it is answered with the slowest rail", { needs = { "faults" }, limits = { max_rdma_size = 1024 } },
function(t)
	local p = t:rail_pair { rails = 2, memory = 4096, stripe = 1024 }
	local held = p.a.qps[2]:next_request(1)
	t:hold(held)
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:run_for "1ms"
	t:expect(op):is "pending"
	t:release(held)
	t:wait(op)
end)

srd.scenario("what makes no rails, or no transfer over them, is refused by name", {}, function(t)
	local p = t:rail_pair { rails = 2, memory = 4096 }
	local function refused(text, body)
		t:expect(body):raises(text)
	end
	local other = t:host("c"):queue_pair {}
	refused("two lists of 1 to", function() t:rails({}, { other }) end)
	refused("two lists of 1 to", function() t:rails({ t:host("a"):queue_pair {} }) end)
	refused("queue pairs of host a and of host c", function()
		t:rails({ t:host("a"):queue_pair {}, other }, { t:host("b"):queue_pair {}, t:host("b"):queue_pair {} })
	end)
	refused("rails is 0: a number from 1 to 32, or a list of two", function() t:rail_pair { rails = 0 } end)
	refused("a table { from = memory, to = memory } is expected", function() p.a.rails:submit_put(p.a.mem) end)
	refused("there are the fields \"from\" and \"to\" only", function()
		p.a.rails:submit_put { from = p.a.mem, to = p.b.mem, peer = 1 }
	end)
	refused("\"to\" is missing", function() p.a.rails:submit_get { from = p.b.mem } end)
	refused("memory of host a, not of host b, is expected", function()
		p.a.rails:submit_put { from = p.b.mem, to = p.a.mem }
	end)
	refused("3 is out of range: there are 2", function() p.a.rails:queue_pair(3) end)
	refused("0 is out of range: there are 2", function() p.a.rails:queue_pair(0) end)
	refused("this queue pair is a rail: destroy the rails first", function() p.a.qps[2]:destroy() end)
	t:expect(p.a.rails:queue_pair(2)):equals(p.a.qps[2])
	t:expect(p.a.rails.count):equals(2)
	local op = p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	t:expect(op.queue_pair):equals(nil)
	t:expect(op.kind):equals "put"
	refused("this put goes over rails", function() op:request(1) end)
	refused("1 transfers have no answer yet", function() p.a.rails:destroy() end)
	t:wait(op)
	p.a.rails:destroy()
	p.a.qps[2]:destroy()
end)

for name, profile in pairs {
	["lost packets"] = { level = "packet", loss = 50000 },
	["the worst order"] = { order = "adversarial" },
	["lost packets in the worst order"] = { level = "packet", loss = 20000, order = "adversarial" },
} do
	srd.scenario("a stream of transfers with " .. name, {
		seeds = true, tags = { "seeds" }, needs = { "fabric" },
		profile = profile, limits = { max_rdma_size = 9000 },
	}, function(t)
		local p = t:rail_pair { rails = 4, memory = 400000, max_send_wr = 4, max_in_flight = 10, stripe = 18000 }
		p.a.mem:fill "random"
		local ops = {}
		for i = 0, 9 do
			ops[#ops + 1] = p.a.rails:submit_put {
				from = p.a.mem:slice(40000 * i, 40000), to = p.b.mem:slice(40000 * i, 40000),
			}
		end
		t:wait(ops)
		t:expect(p.b.mem):same_content(p.a.mem)
	end)
end

srd.scenario("memory that the second device cannot register is no rail's", { needs = { "faults" } }, function(t)
	local p = t:rail_pair { rails = 2, memory = 4096 }
	t:fail_call("reg_mr", { errno = "ENOMEM" })
	t:expect(function()
		p.a.rails:submit_put { from = p.a.mem, to = p.b.mem }
	end):raises "reg_mr on device 2 of host a failed: ENOMEM"
	t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem })
	t:expect(p.a.mem:free()):equals "OK"
end)

srd.scenario("64 GiB over four rails, verified to the byte", {
	tags = { "scale" }, needs = { "origin" }, profile = "huge",
}, function(t)
	local p = t:rail_pair { rails = 4, memory = "64GiB", kind = "ORIGIN", stripe = "64MiB" }
	p.a.mem:fill "random"
	t:wait(p.a.rails:submit_put { from = p.a.mem, to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

end)
