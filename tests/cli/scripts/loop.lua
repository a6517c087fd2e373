local srd = require "srdlab"

srd.scenario("first", {}, function() end)

srd.scenario("without end", {}, function()
	while true do end
end)

srd.scenario("last", {}, function() end)
