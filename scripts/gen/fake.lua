-- fake_ops.h, for the unit tests: a table that logs each call and answers as it is told, and
-- a way to call any operation with arguments of no meaning.
-- usage: lua fake.lua SPEC_DIR HEADER
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local ops = lib.spec "verbs"
local h = lib.out()
local c_type = { errno = "int", count = "int", void = "void", time = "uint64_t" }

local function dummy(argument)
	return argument:find "%*" and "(void *)dummy" or "0"
end

h:put(lib.banner)
h:put "/* Included by tests/unit/fake.h, which makes the objects. */\n\n"
for _, op in ipairs(ops) do
	local ret = c_type[op.returns]
	if ret and op.name ~= "close" then
		local params = { "struct srd_verbs *verbs" }
		table.move(op.args, 1, #op.args, 2, params)
		h:put("static %s fake_%s(%s)\n{\n\t%sfake_call(verbs, SRD_VERB_%s);\n}\n\n", ret, op.name,
			table.concat(params, ", "), ret == "void" and "" or ("return (%s)"):format(ret), op.name:upper())
	end
end
h:put "static void fake_fill(struct srd_verbs *verbs)\n{\n"
for _, op in ipairs(ops) do
	h:put("\tverbs->%s = fake_%s;\n", op.name, op.name)
end
h:put "}\n\n/* What it returns, as an integer; 0 for an operation that returns nothing. */\n"
h:put "static inline intptr_t fake_invoke(struct srd_verbs *verbs, enum srd_verb verb)\n{\n"
h:put "\tstatic uint64_t dummy[256];\n\n\tswitch (verb) {\n"
for _, op in ipairs(ops) do
	local args = { "verbs" }
	for _, a in ipairs(op.args) do
		args[#args + 1] = dummy(a)
	end
	h:put("\tcase SRD_VERB_%s:\n", op.name:upper())
	if op.returns == "void" then
		h:put("\t\tverbs->%s(%s);\n\t\treturn 0;\n", op.name, table.concat(args, ", "))
	else
		h:put("\t\treturn (intptr_t)verbs->%s(%s);\n", op.name, table.concat(args, ", "))
	end
end
h:put "\tcase SRD_NUM_VERBS:\n\t\tbreak;\n\t}\n\treturn 0;\n}\n"
h:write(arg[2])
