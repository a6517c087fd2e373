-- docs/contrast.md: SRD beside RC, from the scenarios that show each difference. The page is
-- in the tree, to be read there; a test compares it with what this makes.
-- usage: lua contrast_page.lua [--check] PAGE SCRIPT
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local check = table.remove(arg, arg[1] == "--check" and 1 or #arg + 1)
local lib = require "lib"
local md = lib.out()
local rows, by_name, single = {}, {}, {}

local srd = {}

-- "the order of completions, on SRD: any"
function srd.scenario(name, options)
	local what, kind, is = name:match "^(.-), on (%u+): (.+)$"
	if not what then
		single[#single + 1] = { name = name, description = options.description }
		return
	end
	local row = by_name[what] or { what = what, description = options.description }
	if not by_name[what] then
		by_name[what], rows[#rows + 1] = row, row
	end
	row[kind] = is
end

assert(loadfile(arg[2], "t", setmetatable({ require = function()
	return srd
end }, { __index = _G })))()

md:put [[
# SRD beside RC

What whoever ports code from a reliable-connected queue pair (RC) to SRD finds different. Each
row is a pair of scenarios in scripts/scenarios/contrast.lua, one on each kind of device, that
passes:

    srdlab run scripts/scenarios/contrast.lua
    srdlab run --profile rc --filter tag:contract --filter '!tag:srd' scripts/scenarios

The second command runs the contract of a queue pair on the RC implementation. With
`--backend efa --device NAME` the same runs on a device of another vendor.

| | SRD | RC |
|---|---|---|
]]
for _, row in ipairs(rows) do
	md:put("| %s | %s | %s |\n", row.what, assert(row.SRD, row.what), assert(row.RC, row.what))
end
md:put "\n## What follows from each\n\n"
for _, row in ipairs(rows) do
	md:put("**%s**: %s\n\n", row.what, row.description)
end
md:put "## On one of them alone\n\n"
for _, one in ipairs(single) do
	md:put("**%s**: %s\n\n", one.name, one.description)
end
md:finish(arg[1], check)
