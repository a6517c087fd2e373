-- The sources of the planted defects and their manifest, from scripts/spec/plants.lua.
-- usage: lua plants.lua SPEC_DIR names                       their names, for meson
--        lua plants.lua SPEC_DIR EXAMPLES_DIR OUT_DIR        NAME.c of each, and plants.json
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local plants = lib.spec "plants"

if arg[2] == "names" then
	for _, plant in ipairs(plants) do
		print(plant.name)
	end
	return
end

local examples, folder = arg[2], arg[3]
local rules, sources = {}, {}

for _, rule in ipairs(lib.spec("rules").rules) do
	rules[rule.id] = true
end

local function source(name)
	if not sources[name] then
		local file = assert(io.open(examples .. "/" .. name))
		sources[name] = file:read "a"
		file:close()
	end
	return sources[name]
end

-- TEXT with OLD, which stands in it once, replaced by NEW.
local function replace(plant, text, old, new)
	local first, last = text:find(old, 1, true)
	assert(first, ("%s: nowhere in %s: %s"):format(plant.name, plant.source, old))
	assert(not text:find(old, last + 1, true), ("%s: more than once in %s: %s"):format(plant.name, plant.source, old))
	return text:sub(1, first - 1) .. new .. text:sub(last + 1)
end

local function write_source(plant)
	local out = lib.out()
	local text = source(plant.source)
	for i = 1, #plant.change, 2 do
		text = replace(plant, text, plant.change[i], plant.change[i + 1])
	end
	out:put("/* Generated from examples/%s; the defect: %s. */\n", plant.source, plant.defect)
	out:put("%s", text)
	out:write(("%s/%s.c"):format(folder, plant.name))
end

local function string_list(list)
	local quoted = {}
	for i, text in ipairs(list) do
		quoted[i] = ("%q"):format(text)
	end
	return table.concat(quoted, ", ")
end

local manifest, seen = lib.out(), {}
manifest:put "{\"format\": \"srdlab-plants\", \"schema\": 1, \"plants\": [\n"
for i, plant in ipairs(plants) do
	assert(not seen[plant.name], plant.name .. " is there twice")
	seen[plant.name] = true
	for _, id in ipairs { plant.rule or nil, table.unpack(plant.also) } do
		assert(rules[id], ("%s: there is no rule %s"):format(plant.name, id))
	end
	write_source(plant)
	manifest:put("{\"name\": %q, \"kind\": %q, \"defect\": %q,\n %s\"also\": [%s]}%s\n", plant.name,
		plant.kind, plant.defect, plant.rule and ("\"rule\": %q, "):format(plant.rule) or "", string_list(plant.also),
		i < #plants and "," or "")
end
manifest:put "]}\n"
manifest:write(folder .. "/plants.json")
