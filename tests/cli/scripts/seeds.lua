local srd = require "srdlab"

-- Fails with every third seed.
srd.scenario("three of them", { seeds = true }, function(t)
	t:expect(t:seed() % 3 == 0):equals(false)
end)

srd.scenario("loss", { seeds = true, profile = { loss = 100000 } }, function(t)
	local p = t:pair { memory = "64KiB" }
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
end)
