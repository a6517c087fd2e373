-- What holds for any queue pair and any scheduler; the plug-ins of the tests run these.
local srd = require "srdlab"

srd.scenario("puts and gets of every size arrive", {
	tags = { "contract" },
	limits = { max_rdma_size = 1000 },
}, function(t)
	local p = t:pair { max_send_wr = 8, memory = "64KiB" }
	p.a.mem:fill "random"
	local ops = {}
	for i, size in ipairs { 1, 999, 1000, 1001, 2500, 8000, 0 } do
		local at = (i - 1) * 8192
		ops[#ops + 1] = p.a.qp:submit_put { from = p.a.mem:slice(at, size), to = p.b.mem:slice(at, size) }
	end
	t:wait(ops)
	t:expect(p.b.mem:slice(8192 * 5, 8000)):same_content(p.a.mem:slice(8192 * 5, 8000))
	t:wait(p.a.qp:submit_get { from = p.b.mem:slice(0, 3000), to = p.a.mem:slice(0, 3000) })
	t:expect(p.a.qp:in_flight()):equals(0)
end)

srd.scenario("a direct put is counted", { tags = { "contract" } }, function(t)
	local p = t:pair { max_send_wr = 4, memory = 4096 }
	p.a.mem:fill "random"
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("srdlab's own", {}, function(t)
	t:host "a"
end)

srd.scenario("two queue pairs connect", { tags = { "contract" } }, function(t)
	local qa, qb = t:host("a"):queue_pair {}, t:host("b"):queue_pair {}
	t:connect(qa, qb)
	t:expect(qa:state()):equals "RTS"
	t:expect(qb:state()):equals "RTS"
end)
