local srd = require "srdlab"
srd.scenario("in b", {}, function() end)
