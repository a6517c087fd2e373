-- rule_ids.h and rule_infos.c: the rules by number and their texts; rules.md: the
-- reference page. usage: lua rules.lua SPEC_DIR HEADER SOURCE PAGE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local spec = lib.spec "rules"
local rules = spec.rules
local h, c, md = lib.out(), lib.out(), lib.out()

local event_types = {}
for _, e in ipairs(lib.spec "events") do
	event_types[e.name] = true
end

-- Every invariant is covered by a rule or named as none, and never both.
local covered = {}
for _, r in ipairs(rules) do
	r.family, r.name = r.id:match "^(%l+)%.([%l_]+)$"
	assert(r.family, "not family.name: " .. r.id)
	for _, n in ipairs(r.covers) do
		covered[n] = true
		assert(not spec.not_rules[n], ("invariant %d is covered by %s"):format(n, r.id))
	end
	for _, e in ipairs(r.needs) do
		assert(event_types[e], ("%s needs %s, which is no event"):format(r.id, e))
	end
end
for n = 1, spec.num_invariants do
	assert(covered[n] or spec.not_rules[n], ("invariant %d is forgotten"):format(n))
end

h:put(lib.banner)
h:put "#ifndef SRD_RULE_IDS_H\n#define SRD_RULE_IDS_H\n\nenum srd_rule {\n"
for _, r in ipairs(rules) do
	h:put("\tSRD_R_%s,\n", r.id:upper():gsub("%.", "_"))
end
h:put "\tSRD_NUM_RULES,\n};\n\n#endif\n"

c:put(lib.banner)
c:put "#include \"rules/rule_ids.h\"\n#include \"rules/rules.h\"\n\n"
c:put "const struct srd_rule_info srd_rule_infos[] = {\n"
for _, r in ipairs(rules) do
	local needs = {}
	for _, e in ipairs(r.needs) do
		needs[#needs + 1] = "(UINT64_C(1) << SRD_EV_" .. e:upper() .. ")"
	end
	c:put("\t{ %q, %q, SRD_RULE_%s,\n\t  %q,\n\t  %q,\n\t  %q,\n\t  %q,\n\t  %s },\n", r.id, r.family,
		r.class:upper(), r.statement, r.why, r.evidence, table.concat(r.covers, ", "),
		table.concat(needs, " | "))
end
c:put "};\n\nconst int srd_num_rules = SRD_NUM_RULES;\n"

md:put [[
# The rules

Each rule has a stable id, `family.name`, and a class: *law* binds every user of SRD,
*contract* our queue pair and scheduler and code that claims to be one, *advice* is legal
but a risk. Law and contract are on unless `--rules` says otherwise. `srdlab rules ID`
explains one. A rule whose events never came is reported as not judged, never as passed.

]]
local family
for _, r in ipairs(rules) do
	if r.family ~= family then
		family = r.family
		md:put("## %s\n\n", family)
	end
	md:put("**%s** (%s) %s  \nWhy: %s  \nEvidence: %s. Needs: %s.\n\n", r.id, r.class, r.statement,
		r.why, r.evidence, table.concat(r.needs, ", "))
end
md:put [[
## What is no rule

Invariants of an SRD queue pair that no rule covers, by their number in the list that the
rules were made from:

]]
for n = 1, spec.num_invariants do
	if spec.not_rules[n] then
		md:put("- %d: %s\n", n, spec.not_rules[n])
	end
end
h:write(arg[2])
c:write(arg[3])
md:write(arg[4])
