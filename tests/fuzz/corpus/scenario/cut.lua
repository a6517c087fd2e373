srd.scenario("
for