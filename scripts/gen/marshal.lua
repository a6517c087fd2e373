-- marshal_structs.h and .c: the descriptions of spec/structs.lua for src/lua/marshal.c, the
-- name tables of every enumeration, and the fields of a profile.
-- usage: lua marshal.lua SPEC_DIR HEADER SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local enums = lib.spec "enums"
local structs, profile = lib.spec "structs", lib.spec "profile"
local h, c = lib.out(), lib.out()

local widths = { u8 = 1, u16 = 2, u32 = 4, u64 = 8 }
local kinds = { i32 = "INT", bool = "BOOL", size = "SIZE", time = "TIME", addr = "ADDR",
	be32 = "BE32", gid = "GID", string = "STRING", strings = "STRINGS", table = "TABLE",
	any = "ANY", enum = "ENUM", flags = "FLAGS", struct = "STRUCT", object = "OBJECT" }
local unread = { string = true, strings = true, table = true, any = true }

local function bound(n)
	return n >= 2 ^ 63 and "UINT64_MAX" or lib.c_int(n)
end

local function describe(field)
	local kind, name = field.type:match "^(%w+):(.*)$"
	kind = kind or field.type
	local width = widths[kind]
	local parts = { ("\"%s\", SRD_VALUE_%s"):format(field.name, width and "UINT" or kinds[kind]) }
	if not unread[kind] then
		local member = field.member or field.name
		parts[#parts + 1] = (".offset = offsetof(TYPE, %s), .size = sizeof(((TYPE *)0)->%s)")
			:format(member, member)
	end
	local range = field.range
	if not range and width then
		range = { 0, 2 ^ (8 * width) - 1 }
	elseif not range and (kind == "size" or kind == "time") then
		range = { 0, 2 ^ 63 }
	end
	if range then
		parts[#parts + 1] = (".min = %s, .max = %s"):format(bound(range[1]), bound(range[2]))
	end
	if field.mask then
		parts[#parts + 1] = ".mask = SRD_QP_" .. field.mask
	end
	if kind == "enum" or kind == "flags" then
		parts[#parts + 1] = (".names = &srd_names_%s"):format(name)
	elseif kind == "struct" then
		parts[#parts + 1] = (".nested = &srd_struct_%s"):format(name)
	elseif kind == "object" then
		parts[#parts + 1] = ".kind = SRD_OBJECT_" .. name:upper()
	end
	parts[#parts + 1] = (".in = %s, .out = %s"):format(tostring(field.only ~= "out"),
		tostring(field.only ~= "in" and not unread[kind]))
	return "\t{ " .. table.concat(parts, ", ") .. " },\n"
end

local function emit(name, type, fields)
	h:put("extern const struct srd_struct srd_struct_%s;\n", name)
	c:put("static const struct srd_field fields_%s[] = {\n", name)
	for _, field in ipairs(fields) do
		c:put("%s", (describe(field):gsub("TYPE", type)))
	end
	c:put("};\n\nconst struct srd_struct srd_struct_%s = {\n", name)
	c:put("\t\"%s\", fields_%s, %d, sizeof(%s)\n};\n\n", name, name, #fields, type)
end

h:put(lib.banner)
h:put "#ifndef SRD_MARSHAL_STRUCTS_H\n#define SRD_MARSHAL_STRUCTS_H\n\n"
c:put(lib.banner)
c:put "#include <stddef.h>\n\n#include <srdlab/profile.h>\n#include <srdlab/queue_pair.h>\n\n"
local seen = {}
for _, s in ipairs(structs) do
	if s.header and not seen[s.header] then
		seen[s.header] = true
		c:put("#include \"%s\"\n", s.header)
	end
end
c:put "#include \"lua/marshal.h\"\n#include \"lua/object.h\"\n\n"

-- A status of the device is a name table like the others.
local all = { { name = "efa_status", prefix = "EFA_IO_COMP_STATUS_" } }
table.move(enums, 1, #enums, 2, all)
for _, e in ipairs(all) do
	h:put("extern const struct srd_names srd_names_%s;\n", e.name)
	c:put("const struct srd_names srd_names_%s = {\n\t\"%s\", srd_%s_names, srd_%s_values, ",
		e.name, e.prefix, e.name, e.name)
	c:put("SRD_NUM_%s, %s\n};\n\n", e.name:upper(), tostring(e.name == "qp_state"))
end

for _, s in ipairs(structs) do
	emit(s.name, s.c, s.fields)
end

-- A profile's field of several choices is an enumeration of its own.
local fields = {}
for _, f in ipairs(profile) do
	local field = { name = f.name, type = f.type, range = f.range }
	if type(f.type) == "table" then
		c:put("static const char *const choices_%s[] = { \"%s\" };\n", f.name,
			table.concat(f.type, "\", \""))
		c:put("static const struct srd_names srd_names_profile_%s = {\n", f.name)
		c:put("\t\"\", choices_%s, NULL, %d, false\n};\n\n", f.name, #f.type)
		field.type = "enum:profile_" .. f.name
	elseif f.type == "ppm" then
		field.type = "u32"
	end
	if f.range then
		for i, v in ipairs(f.range) do
			field.range[i] = math.tointeger(v) or v
		end
	end
	fields[#fields + 1] = field
end
fields[#fields + 1] = { name = "base", type = "string", only = "in" }
emit("profile", "struct srd_profile", fields)

h:put "\n#endif\n"
h:write(arg[2])
c:write(arg[3])
