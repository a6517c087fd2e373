local srd = require "srdlab"

srd.scenario("right", {}, function() end)

srd.scenario("wrong", {}, function(t)
	t:log "about to fail"
	t:expect(1 + 1):equals(3)
end)
