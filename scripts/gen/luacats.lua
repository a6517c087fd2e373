-- library/srdlab.d.lua: annotations for editors (LuaCATS), and api_names.h, with which a
-- test compares the bindings.
-- usage: lua luacats.lua SPEC_DIR ANNOTATIONS HEADER
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local api, structs, profile = lib.spec "api", lib.spec "structs", lib.spec "profile"
local d, h = lib.out(), lib.out()

-- Names of structures whose fields a script gives under another name than its class.
local class_of = { queue_pair = "queue_pair_fields" }

local plain = { u8 = "integer", u16 = "integer", u32 = "integer", u64 = "integer", i32 = "integer",
	addr = "integer", be32 = "integer", ppm = "integer", bool = "boolean", gid = "string",
	string = "string", strings = "string[]", table = "table", any = "any",
	size = "integer|string", time = "integer|string" }

local function field_type(type)
	if plain[type] then
		return plain[type]
	end
	local kind, name = type:match "^(%w+):(.*)$"
	if kind == "enum" then
		return "string|integer"
	elseif kind == "flags" then
		return "string|string[]|integer"
	end
	return "srd." .. name
end

local function argument_type(type)
	return type == "size" and "integer|string" or type == "time" and "integer|string" or type
end

local function class(name, doc, parent)
	d:put("\n---%s\n---@class srd.%s%s\n", doc, name, parent and ": " .. parent or "")
end

local function field(name, type, doc)
	d:put("---@field %s %s%s\n", name, argument_type(type), doc and " " .. doc or "")
end

local function method(owner, m)
	d:put("\n---%s\n", m.doc)
	local names = {}
	for _, param in ipairs(m.params) do
		d:put("---@param %s %s%s\n", param[1], argument_type(param[2]), param[3] and " " .. param[3] or "")
		names[#names + 1] = param[1]:gsub("%?$", "")
	end
	if m.returns then
		d:put("---@return %s\n", m.returns)
	end
	d:put("function %s%s(%s) end\n", owner, m.name, table.concat(names, ", "))
end

d:put "---@meta srdlab\n-- Generated from scripts/spec; do not edit.\n"
h:put(lib.banner)
h:put "static const struct {\n\tconst char *class, *name;\n\tint is_method;\n} api_names[] = {\n"

for _, c in ipairs(api) do
	if c.kind == "module" and c.name ~= "module" then
		d:put("\n-- %s\n", c.doc)
	else
		class(c.name, c.doc, c.parent)
	end
	for _, p in ipairs(c.properties or {}) do
		field(p.name, p.type, p.doc)
		if c.object then
			h:put("\t{ \"%s\", \"%s\", 0 },\n", c.object, p.name)
		end
	end
	if c.methods and (c.kind ~= "module" or c.name == "module") then
		d:put("local %s = {}\n", c.name)
	end
	for _, m in ipairs(c.methods or {}) do
		method(c.kind == "module" and "module." or c.name .. ":", m)
		if not c.exec then
			h:put("\t{ \"%s\", \"%s\", 1 },\n", c.object or c.kind, m.name)
		end
	end
end
h:put "};\n"

for _, s in ipairs(structs) do
	class(class_of[s.name] or s.name, s.doc)
	for _, f in ipairs(s.fields) do
		field(f.name .. "?", field_type(f.type))
	end
end
class("profile", "A device profile, or what differs from the one named by base.")
field("base?", "string")
for _, f in ipairs(profile) do
	local choices = type(f.type) == "table" and '"' .. table.concat(f.type, '"|"') .. '"'
	field(f.name .. "?", choices or field_type(f.type), f.doc)
end
d:put "\nreturn module\n"
d:write(arg[2])
h:write(arg[3])
