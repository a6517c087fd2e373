-- What a script over a program finds (scripts/lib/steer.lua) is what scripts/spec/api.lua tells
-- editors of, and no more.
-- usage: lua exec_api.lua API STEER
local api, steer = dofile(arg[1]), assert(loadfile(arg[2]))
local srd = { show = tostring }
local function nothing() end
local core = { srdlab = srd, module = {}, raise = error, steer = { now = nothing, seed = nothing } }
local _, _, classes = steer(core)
local failures = 0

local function fail(...)
	print(string.format(...))
	failures = failures + 1
end

-- The names of LIST, without the mark of what may be missing.
local function names_of(list)
	local names = {}
	for _, entry in ipairs(list or {}) do
		names[entry.name:gsub("%?$", "")] = true
	end
	return names
end

local function compare(what, is, described)
	for name in pairs(is) do
		if not described[name] then
			fail("%s.%s lacks an annotation in scripts/spec/api.lua", what, name)
		end
	end
	for name in pairs(described) do
		if not is[name] then
			fail("%s.%s is described and does not exist", what, name)
		end
	end
end

local found = { srd = { methods = srd, properties = {} } }
for _, class in ipairs(classes) do
	local properties = {}
	for _, name in ipairs(class.properties) do
		properties[name] = true
	end
	found[class.name] = { methods = class.methods, properties = properties }
end
-- What is there only to say that it is for scenarios, and what all scripts have.
for _, name in ipairs { "scenario", "describe", "address", "show" } do
	srd[name] = nil
end

for _, class in ipairs(api) do
	if class.exec then
		local is = found[class.exec] or { methods = {}, properties = {} }
		compare(class.exec, is.methods, names_of(class.methods))
		compare(class.exec, is.properties, names_of(class.properties))
		found[class.exec] = nil
	end
end
for name in pairs(found) do
	fail("the class %s lacks an annotation in scripts/spec/api.lua", name)
end
os.exit(failures == 0 and 0 or 1)
