local srd = require "srdlab"
srd.scenario("in a", {}, function() end)
