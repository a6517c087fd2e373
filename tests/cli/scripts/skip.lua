local srd = require "srdlab"

-- With --backend efa this is skipped wherever it runs: no device takes faults.
srd.scenario("needs faults", { needs = { "faults" } }, function() end)
