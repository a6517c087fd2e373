-- commands.h and commands.c: a structure for the options of each command, the tables from
-- which they are parsed, and the --help texts.
-- usage: lua options.lua SPEC_DIR HEADER SOURCE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib, cli = require "lib", require "cli"
local spec = lib.spec "options"
local h, c = lib.out(), lib.out()
local width = 80
local c_types = { flag = "bool %s", text = "const char *%s", list = "struct srd_cli_list %s",
	number = "uint64_t %s", size = "uint64_t %s", time = "uint64_t %s",
	seeds = "struct srd_cli_seeds %s" }
local repeated = {}
for _, set in ipairs(spec.repeated) do
	repeated[set] = true
end
local doc = { size = "; bytes", time = "; ns" }

local function fields(out, options)
	for _, o in ipairs(options) do
		local type = assert(c_types[o.kind], "no kind " .. tostring(o.kind)):format(cli.field(o))
		out:put("\t%s; /* --%s%s */\n", type, o[1], doc[o.kind] or "")
	end
end

local function sorted_keys(t)
	local keys = {}
	for k in pairs(t) do
		keys[#keys + 1] = k
	end
	table.sort(keys)
	return keys
end

-- Help texts -----------------------------------------------------------------------------

-- LEFT in a column of its own, TEXT wrapped beside it.
local function entry(out, left, text, column)
	local block = lib.wrap(text, (" "):rep(column), width - column)
	if #left > column - 2 then
		out:put("%s\n%s\n", left, block)
	else
		out:put("%s%s\n", left, (" "):rep(column - #left) .. block:sub(column + 1))
	end
end

local function option_left(o)
	local letter = o.letter and "-" .. o.letter .. ", " or "    "
	return ("  %s--%s%s"):format(letter, o[1], o.arg and " " .. o.arg or "")
end

local function option_help(o)
	local text = o.help
	if o.default and o.default ~= "0" then
		text = text .. (" (default %s)"):format(o.default)
	end
	return text
end

local function help(command)
	local out = lib.out()
	out:put("Usage: %s %s%s\n", spec.name, command[1], command.usage == "" and "" or " " .. command.usage)
	for _, paragraph in ipairs(command.description) do
		out:put("\n%s\n", lib.wrap(paragraph, "", width))
	end
	for _, group in ipairs(cli.grouped(spec, command)) do
		out:put("\n%s:\n", group[1])
		for _, o in ipairs(group[2]) do
			entry(out, option_left(o), option_help(o), 28)
		end
	end
	for _, o in ipairs(cli.options(spec, command)) do
		if cli.env(o.option) then
			out:put("\nOptions can come from the environment too, as --%s from %s.\n", o.option[1],
				cli.env(o.option))
			break
		end
	end
	out:put "\nExit status, the first that applies:\n"
	for _, e in ipairs(cli.exits(spec, command)) do
		out:put("  %-4d%s\n", e[2], e[3])
	end
	out:put "\nExamples:\n"
	for _, e in ipairs(command.examples) do
		out:put("  %s\n", e[1])
		if e[2] then
			out:put("%s\n", lib.wrap(e[2], "      ", width - 6))
		end
	end
	return out:text()
end

local function main_help()
	local out = lib.out()
	out:put("Usage: %s COMMAND [ARGUMENT]...\n", spec.name)
	for _, paragraph in ipairs(spec.description) do
		out:put("\n%s\n", lib.wrap(paragraph, "", width))
	end
	out:put "\nCommands:\n"
	for _, command in ipairs(spec.commands) do
		entry(out, "  " .. command[1], command.summary, 12)
	end
	out:put("\n%s COMMAND --help tells more; so does man %s-COMMAND.\n", spec.name, spec.name)
	return out:text()
end

-- C --------------------------------------------------------------------------------------

local function c_string(text)
	local lines = {}
	for line in text:gmatch "[^\n]*\n?" do
		if #line > 0 then
			lines[#lines + 1] = "\t\"" .. line:gsub("[\\\"]", "\\%0"):gsub("\n", "\\n") .. "\""
		end
	end
	return table.concat(lines, "\n")
end

local function struct_name(command)
	return ("srd_cli_%s_options"):format(command[1])
end

-- The number of the option that conflicts with OPTIONS[i]; -1: none.
local function conflict(options, i)
	for j, other in ipairs(options) do
		if options[i].option.conflicts == other.option[1] or other.option.conflicts == options[i].option[1] then
			return j - 1
		end
	end
	return -1
end

local function option_table(command)
	local options = cli.options(spec, command)
	if #options == 0 then
		return "NULL"
	end
	local name = "options_" .. command[1]
	c:put("static const struct srd_cli_option %s[] = {\n", name)
	for i, o in ipairs(options) do
		local field = (o.set and o.set .. "." or "") .. cli.field(o.option)
		local range = o.option.range or { 0, -1 }
		c:put("\t{ \"%s\", %s, SRD_CLI_%s, offsetof(struct %s, %s), %d,\n", o.option[1],
			o.option.letter and ("'%s'"):format(o.option.letter) or "0", o.option.kind:upper(),
			struct_name(command), field, conflict(options, i))
		c:put("\t  %s, %s, %s, %s, %s },\n", cli.env(o.option) and ("%q"):format(cli.env(o.option)) or "NULL",
			o.option.default and ("%q"):format(o.option.default) or "NULL", lib.c_int(range[1]),
			range[2] == -1 and "UINT64_MAX" or lib.c_int(range[2]),
			tostring(repeated[o.set] or o.option.repeated or false))
	end
	c:put "};\n\n"
	return name
end

h:put(lib.banner)
h:put "#ifndef SRD_CLI_COMMANDS_H\n#define SRD_CLI_COMMANDS_H\n\n#include \"cli/options.h\"\n\n"
h:put "/* Where several apply, the first one here is the status. */\nenum srd_cli_exit {\n"
for _, e in ipairs(spec.exits) do
	h:put("\tSRD_EXIT_%s = %d, /* %s */\n", e[1]:upper(), e[2], e[3])
end
h:put "};\n\n"
for _, set in ipairs(sorted_keys(spec.sets)) do
	h:put("struct srd_cli_%s {\n", set)
	fields(h, spec.sets[set])
	h:put "};\n\n"
end
c:put(lib.banner)
c:put "#include \"cli/commands.h\"\n\n"

local rows = lib.out()
for _, command in ipairs(spec.commands) do
	local name, struct = command[1], struct_name(command)
	h:put("struct %s {\n", struct)
	for _, set in ipairs(command.sets or {}) do
		h:put("\tstruct srd_cli_%s %s;\n", set, set)
	end
	fields(h, command.options)
	h:put "\tstruct srd_cli_list arguments;\n};\n\n"
	h:put("int srd_cli_%s(const struct %s *options);\n\n", name, struct)
	local options = option_table(command)
	c:put("static int call_%s(const void *options)\n{\n\treturn srd_cli_%s(options);\n}\n\n", name, name)
	rows:put("\t{ \"%s\", %q,\n%s,\n", name, command.summary, c_string(help(command)))
	rows:put("\t  %s, %d, sizeof(struct %s), offsetof(struct %s, arguments), %d, %d,\n", options,
		#cli.options(spec, command), struct, struct, command.arguments.min, command.arguments.max or -1)
	rows:put("\t  %s, %s, call_%s },\n", tostring(command.program or false), command.arguments.what and ("%q"):format(command.arguments.what) or "NULL", name)
end
h:put("#define SRD_NUM_CLI_COMMANDS %d\n", #spec.commands)
h:put "extern const struct srd_cli_command srd_cli_commands[SRD_NUM_CLI_COMMANDS];\n"
h:put "extern const char srd_cli_help[];\n\n#endif\n"
c:put("const struct srd_cli_command srd_cli_commands[SRD_NUM_CLI_COMMANDS] = {\n%s};\n\n", rows:text())
c:put("const char srd_cli_help[] =\n%s;\n", c_string(main_help()))
h:write(arg[2])
c:write(arg[3])
