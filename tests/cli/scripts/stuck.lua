-- A pattern that is looked for in all of its ways, which takes longer than anybody waits: it is
-- one call, in which no hook is called.
local srd = require "srdlab"

srd.scenario("first", {}, function() end)

local text = ("a"):rep(100)
srd.scenario("stuck", {}, function(t)
	t:expect(text:find((".-"):rep(60) .. "b")).equals(nil)
end)

srd.scenario("last", {}, function() end)
