-- profile.h and profile_fields.c: struct srd_profile, its fields and the built-in profiles.
-- usage: lua profile.lua SPEC_DIR HEADER SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local fields = lib.spec "profile"
local profiles, num_models = lib.profiles()
local h, c = lib.out(), lib.out()
local c_types = { u16 = "uint16_t", u32 = "uint32_t", u64 = "uint64_t", bool = "bool",
	size = "uint64_t", time = "uint64_t", ppm = "uint32_t" }
local units = { B = 1, KiB = 2 ^ 10, MiB = 2 ^ 20, GiB = 2 ^ 30, TiB = 2 ^ 40,
	ns = 1, us = 10 ^ 3, ms = 10 ^ 6, s = 10 ^ 9 }

local function value(field, v)
	if type(field.type) == "table" then
		for _, choice in ipairs(field.type) do
			if choice == v then
				return ("SRD_PROFILE_%s_%s"):format(field.name:upper(), v:upper())
			end
		end
		error(field.name .. " cannot be " .. tostring(v))
	elseif field.type == "bool" then
		return v and "true" or "false"
	elseif type(v) == "string" then
		local n, unit = v:match "^(%d+)(%a+)$"
		v = math.tointeger(n * units[unit])
	end
	v = math.tointeger(v)
	assert(v >= field.range[1] and v <= field.range[2], field.name .. " out of range")
	return lib.c_int(v)
end

h:put(lib.banner)
h:put [[
#ifndef SRDLAB_PROFILE_H
#define SRDLAB_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

]]
for _, f in ipairs(fields) do
	if type(f.type) == "table" then
		h:put("enum srd_profile_%s {\n", f.name)
		for _, choice in ipairs(f.type) do
			h:put("\tSRD_PROFILE_%s_%s,\n", f.name:upper(), choice:upper())
		end
		h:put "};\n\n"
	end
end
h:put "/* A device and the fabric round it. Plain data: may be copied and stored anywhere. */\n"
h:put "struct srd_profile {\n\tchar name[32];\n"
h:put "\tchar base[16]; /* the built-in one that tells where its values are known from */\n"
for _, f in ipairs(fields) do
	local t = type(f.type) == "table" and ("enum srd_profile_%s"):format(f.name) or c_types[f.type]
	h:put("\t%s %s; /* %s; %s */\n", t, f.name, f.doc, f.source)
end
h:put [[
};

enum srd_profile_type {
	SRD_PROFILE_TYPE_U16,
	SRD_PROFILE_TYPE_U32,
	SRD_PROFILE_TYPE_U64,
	SRD_PROFILE_TYPE_BOOL,
	SRD_PROFILE_TYPE_SIZE, /* u64, bytes */
	SRD_PROFILE_TYPE_TIME, /* u64, ns */
	SRD_PROFILE_TYPE_PPM,  /* u32, parts per million */
	SRD_PROFILE_TYPE_CHOICE,
};

struct srd_profile_field {
	const char *name;
	enum srd_profile_type type;
	uint16_t offset;
	uint16_t size;
	bool live; /* may change while it runs */
	uint64_t min;
	uint64_t max;
	const char *const *choices; /* NULL-terminated; by value */
	const char *doc;
};

]]
h:put("#define SRD_NUM_PROFILE_FIELDS %d\n", #fields)
h:put "extern const struct srd_profile_field srd_profile_fields[SRD_NUM_PROFILE_FIELDS];\n\n"
local names = {} -- those that are no instance types come first
for i = 1, num_models do
	names[i] = profiles[i].name
end
h:put("/* What a message says that there are. */\n")
h:put("#define SRD_PROFILE_NAMES \\\n\t\"%s, and instance types such as %s\"\n\n",
	table.concat(names, ", "), profiles[#profiles].name)
h:put("#define SRD_NUM_PROFILES %d\n", #profiles)
h:put [[
extern const struct srd_profile srd_profiles[SRD_NUM_PROFILES];
extern const char *const srd_profile_docs[SRD_NUM_PROFILES];
/* The built-in profile NAME; NULL: there is none. */
const struct srd_profile *srd_profile_find(const char *name);
/* Where the value of field number I of built-in profile number PROFILE is known from. */
const char *srd_profile_source(int profile, int i);
/* The field NAME; NULL: there is none. */
const struct srd_profile_field *srd_profile_field_find(const char *name);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
]]

c:put(lib.banner)
c:put "#include <string.h>\n\n#include <srdlab/profile.h>\n\n"
for _, f in ipairs(fields) do
	if type(f.type) == "table" then
		c:put("static const char *const choices_%s[] = { ", f.name)
		for _, choice in ipairs(f.type) do
			c:put("\"%s\", ", choice)
		end
		c:put "NULL };\n"
	end
end
c:put "\nconst struct srd_profile_field srd_profile_fields[SRD_NUM_PROFILE_FIELDS] = {\n"
for _, f in ipairs(fields) do
	local choice = type(f.type) == "table"
	local lo, hi = 0, 1
	if choice then
		hi = #f.type - 1
	elseif f.range then
		lo, hi = f.range[1], f.range[2]
	end
	c:put("\t{ \"%s\", SRD_PROFILE_TYPE_%s, offsetof(struct srd_profile, %s),\n", f.name,
		choice and "CHOICE" or f.type:upper(), f.name)
	c:put("\t  sizeof(((struct srd_profile *)0)->%s), %s, %s, %s, %s,\n", f.name, tostring(f.live or false),
		lib.c_int(lo), lib.c_int(hi), choice and "choices_" .. f.name or "NULL")
	c:put("\t  %q },\n", f.doc)
end
c:put "};\n\nconst struct srd_profile srd_profiles[SRD_NUM_PROFILES] = {\n"
for _, p in ipairs(profiles) do
	c:put("\t{ .name = \"%s\",\n\t  .base = \"%s\",\n", p.name, p.base)
	for _, f in ipairs(fields) do
		c:put("\t  .%s = %s,\n", f.name, value(f, p.value[f.name]))
	end
	c:put "\t},\n"
end
c:put "};\n\nconst char *const srd_profile_docs[SRD_NUM_PROFILES] = {\n"
for _, p in ipairs(profiles) do
	c:put("\t%q,\n", p.doc)
end
c:put "};\n\nstatic const char *const sources[SRD_NUM_PROFILES][SRD_NUM_PROFILE_FIELDS] = {\n"
for _, p in ipairs(profiles) do
	c:put "\t{\n"
	for _, f in ipairs(fields) do
		c:put("\t\t%q,\n", p.source[f.name])
	end
	c:put "\t},\n"
end
c:put [[
};

const struct srd_profile *srd_profile_find(const char *name)
{
	for (int i = 0; i < SRD_NUM_PROFILES; i++)
		if (!strcmp(srd_profiles[i].name, name))
			return &srd_profiles[i];
	return NULL;
}

const char *srd_profile_source(int profile, int i)
{
	return sources[profile][i];
}

const struct srd_profile_field *srd_profile_field_find(const char *name)
{
	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++)
		if (!strcmp(srd_profile_fields[i].name, name))
			return &srd_profile_fields[i];
	return NULL;
}
]]
h:write(arg[2])
c:write(arg[3])
