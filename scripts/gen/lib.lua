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
