-- What the generators share: reading the specification, writing files, C helpers.
local lib = {}

local spec_dir = assert(arg[1], "usage: lua GENERATOR.lua SPEC_DIR [ARGS]")

--- The table that scripts/spec/NAME.lua returns.
function lib.spec(name)
	return assert(loadfile(spec_dir .. "/" .. name .. ".lua"))()
end

--- printf into a buffer; out:text() joins it.
function lib.out()
	local parts = {}
	local out = {}
	function out.put(_, format, ...)
		parts[#parts + 1] = select("#", ...) > 0 and format:format(...) or format
	end
	function out.text()
		return table.concat(parts)
	end
	function out.write(self, path)
		local f = assert(io.open(path, "w"))
		f:write(self:text())
		f:close()
	end
	--- Write a page that is in the tree; or, where CHECK, fail if it is not what is there.
	function out.finish(self, path, check)
		if not check then
			return self:write(path)
		end
		local f = assert(io.open(path, "rb"))
		local same = f:read "a" == self:text()
		f:close()
		if not same then
			io.stderr:write(path, " is not what it is made from: make it again, without --check\n")
			os.exit(1)
		end
	end
	return out
end

lib.banner = "/* SPDX-License-Identifier: MIT */\n"
	.. "/* Generated from scripts/spec; do not edit. */\n"

--- "IBV_QPS_" -> "SRD_QPS_"; what is our own keeps its name.
function lib.c_prefix(prefix)
	return (prefix:gsub("^IBV_", "SRD_"):gsub("^EFADV_", "SRD_EFADV_"))
end

function lib.c_name(enum, value)
	return lib.c_prefix(enum.prefix) .. value[1]
end

--- A C integer constant wide enough for NUMBER.
function lib.c_int(number)
	local n = math.tointeger(number)
	assert(n, "not an integer: " .. tostring(number))
	if n >= 0 and n < 2 ^ 31 then
		return ("%d"):format(n)
	end
	return ("UINT64_C(%d)"):format(n)
end

--- A value of the specification as people write it.
function lib.text(value)
	return tostring(math.tointeger(value) or value)
end

--- The built-in profiles, sorted: those of spec/profiles.lua, then the instance types. Each has
-- name, doc, base (the profile of spec/profiles.lua that it is or stands for), and value and
-- source by the name of a field. The second result is how many are no instance types.
function lib.profiles()
	local specs, fields, list = lib.spec "profiles", lib.spec "profile", {}
	local function add(name, base, doc)
		local profile = { name = name, base = base, doc = doc, value = {}, source = {} }
		local left = {}
		for field, value in pairs(specs[base].set) do
			left[field] = type(value) == "table" and value or { value, "set by profile " .. base }
		end
		for _, f in ipairs(fields) do
			local set = left[f.name] or { f.default, f.source }
			profile.value[f.name] = set[1]
			profile.source[f.name] = set[2]:match "^measured" and specs[base].capture or set[2]
			left[f.name] = nil
		end
		assert(not next(left), base .. " sets no such field: " .. tostring(next(left)))
		list[#list + 1] = profile
		return profile
	end
	local names = {}
	for name in pairs(specs) do
		names[#names + 1] = name
	end
	table.sort(names)
	for _, name in ipairs(names) do
		add(name, name, specs[name].doc)
	end
	local instances = lib.spec "instances"
	table.sort(instances, function(a, b) return a.name < b.name end)
	for _, i in ipairs(instances) do
		local s = i.devices == 1 and "" or "s"
		local profile = add(i.name, i.profile, ("an EC2 instance type: %d device%s as %s has them (%s)"):format(i.devices, s,
			i.profile, i.source))
		profile.value.devices, profile.source.devices = i.devices, i.source
	end
	return list, #names
end

--- The enumerations by name.
function lib.enums()
	local by_name = {}
	for _, e in ipairs(lib.spec "enums") do
		by_name[e.name] = e
	end
	return by_name
end

--- A paragraph as the lines of a C comment, PREFIX before each.
function lib.wrap(text, prefix, width)
	local lines, line = {}, ""
	for word in text:gmatch "%S+" do
		if #line > 0 and #line + 1 + #word > width then
			lines[#lines + 1] = prefix .. line
			line = word
		else
			line = #line > 0 and (line .. " " .. word) or word
		end
	end
	lines[#lines + 1] = prefix .. line
	return table.concat(lines, "\n")
end

return lib
