-- The structures, masks and values of scripts/spec/efa_abi.lua against rdma-core's sources.
-- usage: lua efa_abi.lua SPEC_DIR SOURCE_DIR
local spec_dir, source = arg[1], arg[2]
local spec = dofile(spec_dir .. "/efa_abi.lua")

local function read(name)
	local f = assert(io.open(source .. "/" .. name))
	local text = f:read "a"
	f:close()
	return (text:gsub("/%*.-%*/", ""))
end

local io_defs, abi = read "providers/efa/efa_io_defs.h", read "kernel-headers/rdma/efa-abi.h"
local text = io_defs .. abi
local type_of = { __u8 = "u8", __u16 = "u16", __u32 = "u32", __aligned_u64 = "u64",
	uint8_t = "u8", uint16_t = "u16", uint32_t = "u32" }

-- The fields of struct NAME as { name, type, count }; a structure of three 16-bit words is
-- written as such. nil: there is none.
local function fields(name)
	local body = text:match("struct " .. name .. "%s*(%b{})%s*;")
	if not body then
		return nil
	end
	local list = {}
	for type, field, count in body:gmatch "([%w_]+)%s+([%w_]+)%s*(%[?%d*%]?)%s*;" do
		count = math.tointeger(count:match "%d+")
		if type == "efa_io_req_id_ex" then
			type, count = "uint16_t", 3
		end
		list[#list + 1] = { field, type_of[type] or type, count }
	end
	return list
end

local checked, older = 0, {}
for _, s in ipairs(spec.structs) do
	local theirs = assert(fields(s.name), "no struct " .. s.name)
	for i, f in ipairs(s.fields) do
		local t = theirs[i]
		-- What was reserved in an older release, in whole or in part, may have a name now.
		if not t or t[1]:match "^reserved" or f[1]:match "^reserved" then
			older[#older + 1] = t and t[1] ~= f[1] and s.name .. "." .. f[1] or nil
			break
		end
		assert(t[1] == f[1] and t[2] == f[2] and t[3] == f[3], ("%s: %s %s there, %s %s here"):format(
			s.name, t[2], t[1], f[2], f[1]))
		checked = checked + 1
	end
end

local function bits(expression)
	local high, low = expression:match "GENMASK%((%d+), (%d+)%)"
	if high then
		return math.tointeger(low), math.tointeger(high)
	end
	local bit = math.tointeger(expression:match "BIT%((%d+)%)")
	return bit, bit
end
for _, m in ipairs(spec.masks) do
	local low, high = bits(assert(io_defs:match("#define " .. m[1] .. "_MASK%s+([^\n]+)"), "no " .. m[1]))
	assert(low == m[2] and high == m[3], m[1] .. " lies elsewhere")
	checked = checked + 1
end

for _, v in ipairs(spec.values) do
	local number = text:match("#define " .. v[1] .. "%s+(%d+)") or text:match("%f[%w_]" .. v[1] .. "%s*=%s*(%d+)%s*[,}]")
	local shift = text:match("%f[%w_]" .. v[1] .. "%s*=%s*1 << (%d+)")
	if number or shift then
		assert(v[2] == (shift and 1 << math.tointeger(shift) or math.tointeger(number)), v[1] .. " is another number")
		checked = checked + 1
	else
		older[#older + 1] = v[1]
	end
end
assert(checked > 90, "checked only " .. checked)
print(("%d fields, masks and values are rdma-core's%s"):format(checked,
	#older > 0 and "; it does not have " .. table.concat(older, ", ") or ""))
