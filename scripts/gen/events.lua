-- event_types.h: the structure of each event; event_types.c: their names and fields.
-- usage: lua events.lua SPEC_DIR HEADER SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local events, enums = lib.spec "events", lib.enums()
local h, c = lib.out(), lib.out()
local widths = { u8 = 1, u16 = 2, u32 = 4, u64 = 8 }

local formats = { hex = "HEX", errno = "ERRNO", count = "COUNT" }

-- How a field is shown: its format, and the enumeration that names its values.
local function shown(field)
	local name = enums[field[2]] and field[2] or field[3]
	if not name then
		return "DEC", "NULL"
	elseif formats[name] then
		return formats[name], "NULL"
	end
	assert(enums[name] or name == "efa_status" or name == "verb", "no way to show " .. name)
	return "ENUM", ("&srd_%s_info"):format(name)
end

local function width(field)
	return widths[field[2]] or (enums[field[2]] and 4) or error("no type " .. field[2])
end

h:put(lib.banner)
h:put [[
#ifndef SRDLAB_EVENT_H
#include <srdlab/event.h> /* which includes this file at its place */
#elif !defined(SRDLAB_EVENT_TYPES_H)
#define SRDLAB_EVENT_TYPES_H

enum srd_event_type {
]]
for _, e in ipairs(events) do
	h:put("\tSRD_EV_%s,\n", e.name:upper())
end
h:put "\tSRD_NUM_EVENT_TYPES,\n};\n\n"

c:put(lib.banner)
c:put "#include <string.h>\n\n#include <srdlab/event.h>\n#include <srdlab/verbs.h>\n\n"

local largest = 0 -- bytes
for i, e in ipairs(events) do
	if e.doc ~= "" then
		h:put("/* %s */\n", e.doc)
	end
	h:put("struct srd_ev_%s {\n\tstruct srd_event ev;\n", e.name)
	-- Padding is written out, so that a record holds no undefined byte.
	local at, pad = 24, 0
	local function align(to)
		if at % to ~= 0 then
			local n = to - at % to
			h:put("\tuint8_t pad%d[%d];\n", pad, n)
			pad, at = pad + 1, at + n
		end
	end
	e.offsets = {}
	for _, f in ipairs(e.fields) do
		local w = width(f)
		align(w)
		h:put("\tuint%d_t %s;\n", w * 8, f[1])
		e.offsets[#e.offsets + 1] = at
		at = at + w
	end
	align(8)
	h:put "};\n\n"
	e.size = at
	largest = math.max(largest, at)
	c:put("_Static_assert(sizeof(struct srd_ev_%s) == %d, \"%s\");\n", e.name, at, e.name)
	if #e.fields > 0 then
		c:put("static const struct srd_event_field fields_%d[] = {\n", i)
		for j, f in ipairs(e.fields) do
			c:put("\t{ \"%s\", %d, %d, SRD_FIELD_%s, %s },\n", f[1], e.offsets[j], width(f), shown(f))
		end
		c:put "};\n"
	end
end

h:put("/* Bytes of the largest event. */\n#define SRD_EVENT_MAX_SIZE %d\n\n", largest)
h:put [[
enum srd_field_format {
	SRD_FIELD_DEC,
	SRD_FIELD_HEX,
	SRD_FIELD_ERRNO, /* 32 bits: 0, or an errno of either sign */
	SRD_FIELD_COUNT, /* 32 bits: a count, or a negative errno */
	SRD_FIELD_ENUM,	 /* of srd_event_field.values */
};

struct srd_event_field {
	const char *name;
	uint16_t offset; /* bytes from the start of the event */
	uint16_t size;	 /* 1, 2, 4 or 8 bytes */
	enum srd_field_format format;
	const struct srd_enum_info *values; /* NULL: not an enumeration */
};

struct srd_event_info {
	const char *name;
	const char *object; /* what struct srd_event.object names */
	uint8_t source;
	uint16_t size; /* bytes of the whole event */
	uint16_t num_fields;
	const struct srd_event_field *fields;
};

extern const struct srd_event_info srd_event_infos[SRD_NUM_EVENT_TYPES];
/* -1: no such type. */
int srd_event_type_parse(const char *name);

#endif
]]
c:put "\nconst struct srd_event_info srd_event_infos[SRD_NUM_EVENT_TYPES] = {\n"
for i, e in ipairs(events) do
	c:put("\t{ \"%s\", \"%s\", SRD_SOURCE_%s, %d, %d, %s },\n", e.name, e.object, e.source:upper(),
		e.size, #e.fields, #e.fields > 0 and ("fields_%d"):format(i) or "NULL")
end
c:put [[
};

int srd_event_type_parse(const char *name)
{
	for (int i = 0; i < SRD_NUM_EVENT_TYPES; i++)
		if (!strcmp(srd_event_infos[i].name, name))
			return i;
	return -1;
}
]]
h:write(arg[2])
c:write(arg[3])
