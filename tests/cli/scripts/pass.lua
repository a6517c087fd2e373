local srd = require "srdlab"

srd.scenario("a put arrives", { tags = { "contract", "put" } }, function(t)
	local p = t:pair { memory = 3000 }
	p.a.mem:fill "random"
	t:wait(p.a.qp:put { from = p.a.mem, to = p.b.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("a get arrives", { tags = { "contract", "get" }, description = "the other way" }, function(t)
	local p = t:pair { memory = 3000 }
	p.b.mem:fill "random"
	t:wait(p.a.qp:get { from = p.b.mem, to = p.a.mem })
	t:expect(p.b.mem):same_content(p.a.mem)
end)

srd.scenario("[odd] name * here", {}, function() end)
