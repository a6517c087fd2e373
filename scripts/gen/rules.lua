-- rule_ids.h and rule_infos.c: the rules by number and their texts.
-- usage: lua rules.lua SPEC_DIR HEADER SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local spec = lib.spec "rules"
local rules = spec.rules
local h, c = lib.out(), lib.out()

local event_types = {}
for _, e in ipairs(lib.spec "events") do
	event_types[e.name] = true
end

local kinds = { SRD = "SRD_KINDS_SRD", RC = "SRD_KINDS_RC", all = "SRD_KINDS_ALL" }

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
	c:put("\t{ %q, %q, SRD_RULE_%s,\n\t  %q,\n\t  %q,\n\t  %q,\n\t  %s, %s },\n", r.id, r.family,
		r.class:upper(), r.statement, r.why, r.evidence, table.concat(needs, " | "), kinds[r.only or "all"])
end
c:put "};\n\nconst int srd_num_rules = SRD_NUM_RULES;\n"

h:write(arg[2])
c:write(arg[3])
