local srd = require "srdlab"

srd.scenario("before", {}, function() end)

srd.scenario("crash", {}, function()
	os.execute "kill -KILL $PPID"
	while true do end
end)

srd.scenario("exit", {}, function()
	os.exit(3)
end)

srd.scenario("after", {}, function() end)
