-- enums.h and enums.c: the enumerations of the domain, their names, and the completion
-- statuses. usage: lua enums.lua SPEC_DIR HEADER SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local h, c = lib.out(), lib.out()

h:put(lib.banner)
h:put [[
#ifndef SRDLAB_ENUMS_H
#define SRDLAB_ENUMS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* An enumeration as data, for what reads and writes values by name. */
struct srd_enum_info {
	const char *name; /* "qp_state" */
	const char *prefix; /* of the names: "IBV_QPS_" */
	bool flags; /* bits that may be combined */
	int num;
	const char *const *names;
	const uint32_t *values;
};

]]
c:put(lib.banner)
c:put [[
#include <string.h>

#include <srdlab/enums.h>

static int parse(const char *const *names, const uint32_t *values, int n, const char *prefix,
		 const char *text)
{
	size_t skip = strlen(prefix);

	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], text) || !strcmp(names[i] + skip, text))
			return (int)values[i];
	return -1;
}

]]

local infos = {}

local function names(e)
	local fn = "srd_" .. e.name
	infos[#infos + 1] = ("&%s_info"):format(fn)
	h:put("/* The name of one value, such as \"%s%s\"; \"%s?\" where there is none. */\n",
		e.prefix, e.values[1][1], e.prefix)
	h:put("const char *%s_str(uint32_t value);\n", fn)
	h:put("/* The value of a name, with or without its prefix; -1: no such name. */\n")
	h:put("int %s_parse(const char *name);\n", fn)
	h:put("#define SRD_NUM_%s %d\n", e.name:upper(), #e.values)
	h:put("extern const char *const %s_names[SRD_NUM_%s];\n", fn, e.name:upper())
	h:put("extern const uint32_t %s_values[SRD_NUM_%s];\n", fn, e.name:upper())
	h:put("extern const struct srd_enum_info %s_info;\n\n", fn)
	c:put("const char *const %s_names[SRD_NUM_%s] = {\n", fn, e.name:upper())
	for _, v in ipairs(e.values) do
		c:put("\t\"%s%s\",\n", e.prefix, v[1])
	end
	c:put("};\nconst uint32_t %s_values[SRD_NUM_%s] = {", fn, e.name:upper())
	for _, v in ipairs(e.values) do
		c:put("%d, ", v[2])
	end
	c:put("};\nconst struct srd_enum_info %s_info = {\n", fn)
	c:put("\t\"%s\", \"%s\", %s, %d, %s_names, %s_values,\n", e.name, e.prefix,
		tostring(e.kind == "flags"), #e.values, fn, fn)
	c:put("};\n\nconst char *%s_str(uint32_t value)\n{\n", fn)
	c:put("\tfor (int i = 0; i < SRD_NUM_%s; i++)\n\t\tif (%s_values[i] == value)\n", e.name:upper(), fn)
	c:put("\t\t\treturn %s_names[i];\n\treturn \"%s?\";\n}\n\n", fn, e.prefix)
	c:put("int %s_parse(const char *name)\n{\n", fn)
	c:put("\treturn parse(%s_names, %s_values, SRD_NUM_%s, \"%s\", name);\n}\n\n",
		fn, fn, e.name:upper(), e.prefix)
end

for _, e in ipairs(lib.spec "enums") do
	h:put("/* %s */\nenum srd_%s {\n", e.source, e.name)
	for _, v in ipairs(e.values) do
		h:put("\t%s = %s,\n", lib.c_name(e, v), e.kind == "flags" and ("0x%x"):format(v[2]) or v[2])
	end
	h:put("};\n")
	names(e)
end

-- completion statuses
local statuses = lib.spec "statuses"
local as_enum = { name = "efa_status", prefix = "EFA_IO_COMP_STATUS_", values = {} }
h:put("/* rdma-core providers/efa/efa_io_defs.h enum efa_io_comp_status */\nenum srd_efa_status {\n")
for _, s in ipairs(statuses) do
	as_enum.values[#as_enum.values + 1] = { s[2], s[1] }
	h:put("\tSRD_EFA_%s = %d,\n", s[2], s[1])
end
h:put("};\n")
names(as_enum)
h:put("/* All of them. */\n#define SRD_NUM_ENUMS %d\n", #infos)
h:put("extern const struct srd_enum_info *const srd_enum_infos[SRD_NUM_ENUMS];\n\n")
c:put("const struct srd_enum_info *const srd_enum_infos[SRD_NUM_ENUMS] = {\n\t%s,\n};\n\n",
	table.concat(infos, ",\n\t"))
h:put [[
/* What libefa makes of an EFA status: GENERAL_ERR for one that it does not know. */
enum srd_wc_status srd_efa_status_to_wc(uint32_t status);
/* What a reliable-connected queue pair says for the cause that EFA gives STATUS for. */
enum srd_wc_status srd_efa_status_to_rc(uint32_t status);
/* A sentence that says what an EFA status means; "reserved" for one that is not defined. */
const char *srd_efa_status_meaning(uint32_t status);
/* What to look at where it comes; "" for one that is not defined. */
const char *srd_efa_status_look(uint32_t status);
/* Whether the initiator finds it by itself: no packet left for it. */
int srd_efa_status_is_local(uint32_t status);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
]]
for _, map in ipairs { { "srd_efa_status_to_wc", 3 }, { "srd_efa_status_to_rc", 5 } } do
	local name, column = table.unpack(map)
	c:put("enum srd_wc_status %s(uint32_t status)\n{\n\tswitch (status) {\n", name)
	for _, s in ipairs(statuses) do
		c:put("\tcase %d:\n\t\treturn SRD_WC_%s;\n", s[1], s[column])
	end
	c:put("\t}\n\treturn SRD_WC_GENERAL_ERR;\n}\n\n")
end
c:put("const char *srd_efa_status_meaning(uint32_t status)\n{\n\tswitch (status) {\n")
for _, s in ipairs(statuses) do
	c:put("\tcase %d:\n\t\treturn \"%s\";\n", s[1], s[6])
end
c:put("\t}\n\treturn \"reserved\";\n}\n\n")
c:put("const char *srd_efa_status_look(uint32_t status)\n{\n\tswitch (status) {\n")
for _, s in ipairs(statuses) do
	c:put("\tcase %d:\n\t\treturn \"%s\";\n", s[1], s.look)
end
c:put("\t}\n\treturn \"\";\n}\n\n")
c:put("int srd_efa_status_is_local(uint32_t status)\n{\n\tswitch (status) {\n")
for _, s in ipairs(statuses) do
	if s[4] == "local" then
		c:put("\tcase %d:\n", s[1])
	end
end
c:put("\t\treturn 1;\n\t}\n\treturn 0;\n}\n")

h:write(arg[2])
c:write(arg[3])
