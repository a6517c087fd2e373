local srd = require "srdlab"

for _, name in ipairs { "!one", "two*", "tag:three" } do
	srd.scenario(name, {}, function(t) t:expect(name):equals "none" end)
end
