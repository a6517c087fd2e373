-- rules.md: the reference page of the rules. usage: lua rules_page.lua SPEC_DIR PAGE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local spec = lib.spec "rules"
local md = lib.out()

md:put [[
# The rules

Each rule has a stable id, `family.name`, and a class: *law* binds every user of SRD,
*contract* our queue pair and scheduler and code that claims to be one, *advice* is legal
but a risk. Law and contract are on unless `--rules` says otherwise. `srdlab rules ID`
explains one. A rule whose events never came is reported as not judged, never as passed.
The rules hold for SRD and for reliable-connected queue pairs (RC) unless it says which.

Each rule is proven by a defect that it finds. *Planted* names those that are plug-ins,
which `srdlab rules --check` runs (docs/plugins.md); what no queue pair and no scheduler can
break by itself is planted in tests/planted.

]]
-- What is planted for a rule, to prove it.
local planted = {}
for _, plant in ipairs(lib.spec "plants") do
	if plant.rule then
		planted[plant.rule] = planted[plant.rule] or {}
		table.insert(planted[plant.rule], ("%s (`%s`)"):format(plant.defect, plant.name))
	end
end

local family
for _, r in ipairs(spec.rules) do
	local of = r.id:match "^%l+"
	if of ~= family then
		family = of
		md:put("## %s\n\n", family)
	end
	local class = r.only and ("%s, %s only"):format(r.class, r.only) or r.class
	md:put("**%s** (%s) %s  \nWhy: %s  \nEvidence: %s. Needs: %s.\n\n", r.id, class, r.statement,
		r.why, r.evidence, table.concat(r.needs, ", "))
	if planted[r.id] then
		md:put("Planted: %s.\n\n", table.concat(planted[r.id], "; "))
	end
end
md:put "## What is no rule\n\nThis holds for a good queue pair too, and no rule judges it:\n\n"
for n = 1, spec.num_invariants do
	local none = spec.not_rules[n]
	if none then
		md:put("- %s %s\n", none.statement, none.reason)
	end
end
md:write(arg[2])
