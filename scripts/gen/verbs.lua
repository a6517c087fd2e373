-- verbs_table.h: struct srd_verbs and enum srd_verb; forward.c: a table that hands every
-- call to the one below; inject.c: one that can fail the n-th call; guard.c: one that looks
-- at the thread that calls.
-- usage: lua verbs.lua SPEC_DIR TABLE_HEADER FORWARD_SOURCE INJECT_SOURCE GUARD_SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local ops = lib.spec "verbs"
local h, fwd, inj, guard = lib.out(), lib.out(), lib.out(), lib.out()

local c_type = { errno = "int ", count = "int ", void = "void ", time = "uint64_t " }

local function returns(op)
	local object = op.returns:match "^object:(.*)"
	return object and ("struct srd_%s *"):format(object) or c_type[op.returns], object
end

local function params(op)
	local list = { "struct srd_verbs *verbs" }
	for _, a in ipairs(op.args) do
		list[#list + 1] = a
	end
	return table.concat(list, ", ")
end

local function arguments(op)
	local list = { "verbs->next" }
	for _, a in ipairs(op.args) do
		list[#list + 1] = a:match "([%w_]+)$"
	end
	return table.concat(list, ", ")
end

h:put(lib.banner)
h:put [[
#ifndef SRDLAB_VERBS_H
#include <srdlab/verbs.h> /* which includes this file at its place */
#elif !defined(SRDLAB_VERBS_TABLE_H)
#define SRDLAB_VERBS_TABLE_H

struct srd_verbs {
	const char *name;
	struct srd_verbs *next; /* the table below a wrapping one; NULL: a backend */
	uint32_t can;		/* SRD_VERBS_CAN_... */
]]
for _, op in ipairs(ops) do
	h:put("\t/*\n%s\n\t */\n", lib.wrap(op.doc, "\t * ", 84))
	h:put("\t%s(*%s)(%s);\n", returns(op), op.name, params(op))
end
h:put "};\n\n/* The operations by number, for events and for the fault injector. */\nenum srd_verb {\n"
for _, op in ipairs(ops) do
	h:put("\tSRD_VERB_%s,\n", op.name:upper())
end
h:put [[
	SRD_NUM_VERBS,
};
extern const struct srd_enum_info srd_verb_info;
/* "create_qp_ex"; "?" where there is none. */
const char *srd_verb_str(uint32_t verb);
/* -1: no such operation. */
int srd_verb_parse(const char *name);

#endif
]]

fwd:put(lib.banner)
fwd:put [[
#include <string.h>

#include "forward.h"

]]
for _, op in ipairs(ops) do
	fwd:put("static %s%s(%s)\n{\n", returns(op), op.name, params(op))
	if op.name == "close" then
		fwd:put "\tverbs->next->close(verbs->next);\n"
	else
		fwd:put("\t%sverbs->next->%s(%s);\n", op.returns == "void" and "" or "return ", op.name, arguments(op))
	end
	fwd:put "}\n\n"
end
fwd:put "void srd_verbs_forward(struct srd_verbs *verbs, const char *name, struct srd_verbs *next)\n{\n"
fwd:put "\tverbs->name = name;\n\tverbs->next = next;\n\tverbs->can = next->can;\n"
for _, op in ipairs(ops) do
	fwd:put("\tverbs->%s = %s;\n", op.name, op.name)
end
fwd:put "}\n\nstatic const char *const names[] = {\n"
for _, op in ipairs(ops) do
	fwd:put("\t\"%s\",\n", op.name)
end
fwd:put "};\n\nstatic const uint32_t values[] = {\n"
for _, op in ipairs(ops) do
	fwd:put("\tSRD_VERB_%s,\n", op.name:upper())
end
fwd:put [[
};

const struct srd_enum_info srd_verb_info = {
	"verb", "", false, SRD_NUM_VERBS, names, values,
};

const char *srd_verb_str(uint32_t verb)
{
	return verb < SRD_NUM_VERBS ? names[verb] : "?";
}

int srd_verb_parse(const char *name)
{
	for (int i = 0; i < SRD_NUM_VERBS; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}
]]

-- The injector: calls that can fail only. Waiting and the laboratory are not the device's.
inj:put(lib.banner)
inj:put "#include <errno.h>\n\n#include \"inject_internal.h\"\n\n"
local wrapped = {}
for _, op in ipairs(ops) do
	local ret, object = returns(op)
	if op.returns == "errno" or op.returns == "count" or object then
		if op.name ~= "wait" and op.name ~= "lab" then
			wrapped[#wrapped + 1] = op
			inj:put("static %s%s(%s)\n{\n", ret, op.name, params(op))
			inj:put("\tint error = srd_inject_next(verbs, SRD_VERB_%s);\n\n", op.name:upper())
			inj:put "\tif (error) {\n"
			if op.name == "wr_complete" then
				inj:put "\t\tverbs->next->wr_abort(verbs->next, qp);\n"
			elseif op.name == "post_recv" then
				inj:put "\t\t*bad_wr = wr;\n"
			end
			if object then
				inj:put "\t\terrno = error;\n\t\treturn NULL;\n"
			elseif op.returns == "count" then
				inj:put "\t\treturn -error;\n"
			else
				inj:put "\t\treturn error;\n"
			end
			inj:put("\t}\n\treturn verbs->next->%s(%s);\n}\n\n", op.name, arguments(op))
		end
	end
end
inj:put "void srd_inject_fill(struct srd_verbs *verbs)\n{\n"
for _, op in ipairs(wrapped) do
	inj:put("\tverbs->%s = %s;\n", op.name, op.name)
end
inj:put "}\n\nconst bool srd_inject_can_fail[SRD_NUM_VERBS] = {\n"
for _, op in ipairs(wrapped) do
	inj:put("\t[SRD_VERB_%s] = true,\n", op.name:upper())
end
inj:put "};\n"

-- The guard: every call, closing excepted, which is not for whom it stands in front of.
guard:put(lib.banner)
guard:put "#include \"plugin/blame.h\"\n#include \"plugin/check.h\"\n\n"
for _, op in ipairs(ops) do
	guard:put("static %s%s(%s)\n{\n", returns(op), op.name, params(op))
	if op.name == "close" then
		guard:put "\tsrd_blame_call(\"the plug-in called close on the table, which is not its own\");\n"
	else
		guard:put("\tsrd_blame_thread(\"%s\");\n", op.name)
		guard:put("\t%sverbs->next->%s(%s);\n", op.returns == "void" and "" or "return ", op.name, arguments(op))
	end
	guard:put "}\n\n"
end
guard:put "void srd_guard_fill(struct srd_verbs *guard, struct srd_verbs *next)\n{\n"
guard:put "\tguard->name = next->name;\n\tguard->next = next;\n\tguard->can = next->can;\n"
for _, op in ipairs(ops) do
	guard:put("\tguard->%s = %s;\n", op.name, op.name)
end
guard:put "}\n"

h:write(arg[2])
fwd:write(arg[3])
inj:write(arg[4])
guard:write(arg[5])
