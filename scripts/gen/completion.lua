-- Completion for bash, zsh and fish.
-- usage: lua completion.lua SPEC_DIR BASH ZSH FISH
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib, cli = require "lib", require "cli"
local spec = lib.spec "options"
local banner = "# Generated from scripts/spec; do not edit.\n"

local function sorted(list)
	table.sort(list)
	return list
end

-- The words that a value of each kind can be; nil: no fixed words.
local words = { backend = { "efa", "mock" }, profile = {}, rule = { "all", "none" }, event = {} }
for name in pairs(lib.spec "profiles") do
	table.insert(words.profile, name)
end
for _, event in ipairs(lib.spec "events") do
	table.insert(words.event, event.name)
end
do
	local seen = {}
	for _, rule in ipairs(lib.spec("rules").rules) do
		table.insert(words.rule, rule.id)
		for _, group in ipairs { rule.class, rule.id:match "^[^.]+" } do
			if not seen[group] then
				seen[group] = true
				table.insert(words.rule, group)
			end
		end
	end
end
for _, list in pairs(words) do
	sorted(list)
end

-- The first clause of a help text, for menus.
local function brief(help)
	return help:match "^(.-)[.;:]%s" or (help:gsub("%.$", ""))
end

-- A text in single quotes, as zsh and as fish read it; as zsh's _arguments reads a description.
local function zsh_quote(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function zsh_plain(text)
	return (text:gsub("[%[%]:\\]", "\\%0"))
end

local function fish_quote(text)
	return "'" .. text:gsub("['\\]", "\\%0") .. "'"
end

-- The kinds of options of all commands that take the same value: { "-p", "--profile" } ...
local function by_completion(command)
	local kinds = {}
	for _, o in ipairs(cli.options(spec, command)) do
		if o.option.kind ~= "flag" then
			local kind = o.option.complete or "nothing"
			kinds[kind] = kinds[kind] or {}
			table.insert(kinds[kind], "--" .. o.option[1])
			if o.option.letter then
				table.insert(kinds[kind], "-" .. o.option.letter)
			end
		end
	end
	return kinds
end

local function keys(t)
	local list = {}
	for k in pairs(t) do
		list[#list + 1] = k
	end
	return sorted(list)
end

-- bash ---------------------------------------------------------------------------------------

local bash = lib.out()

local function bash_reply(kind, indent)
	if words[kind] then
		bash:put("%sCOMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", indent, table.concat(words[kind], " "))
		if kind == "profile" then
			bash:put("%sCOMPREPLY+=($(compgen -f -X '!*.json' -- \"$cur\"))\n", indent)
		end
	elseif kind == "file" or kind == "folder" then
		bash:put("%scompopt -o filenames 2>/dev/null\n", indent)
		bash:put("%sCOMPREPLY=($(compgen -%s -- \"$cur\"))\n", indent, kind == "file" and "f" or "d")
	else
		bash:put("%sCOMPREPLY=()\n", indent)
	end
end

local names = {}
for _, command in ipairs(spec.commands) do
	names[#names + 1] = command[1]
end
bash:put(banner)
bash:put "_srdlab()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n\n"
bash:put "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
bash:put("\t\tCOMPREPLY=($(compgen -W '%s help --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n",
	table.concat(names, " "))
bash:put "\tcase ${COMP_WORDS[1]} in\n"
for _, command in ipairs(spec.commands) do
	local options, kinds = {}, by_completion(command)
	bash:put("\t%s)\n", command[1])
	if next(kinds) then
		bash:put "\t\tcase $prev in\n"
		for _, kind in ipairs(keys(kinds)) do
			bash:put("\t\t%s)\n", table.concat(kinds[kind], "|"))
			bash_reply(kind, "\t\t\t")
			bash:put "\t\t\treturn\n\t\t\t;;\n"
		end
		bash:put "\t\tesac\n"
	end
	for _, o in ipairs(cli.options(spec, command)) do
		options[#options + 1] = "--" .. o.option[1]
	end
	options[#options + 1] = "--help"
	bash:put("\t\tif [[ $cur == -* ]]; then\n\t\t\tCOMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n\t\t\treturn\n\t\tfi\n",
		table.concat(options, " "))
	bash_reply(command.arguments.complete, "\t\t")
	bash:put "\t\t;;\n"
end
bash:put("\thelp)\n\t\tCOMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n\t\t;;\n", table.concat(names, " "))
bash:put "\tesac\n}\ncomplete -F _srdlab srdlab\n"

-- zsh ----------------------------------------------------------------------------------------

local zsh = lib.out()

local function zsh_action(kind)
	if words[kind] then
		return "(" .. table.concat(words[kind], " ") .. ")"
	end
	return kind == "file" and "_files" or kind == "folder" and "_files -/" or " "
end

zsh:put("#compdef srdlab\n" .. banner)
zsh:put "_srdlab()\n{\n\tlocal -a commands\n\tcommands=(\n"
for _, command in ipairs(spec.commands) do
	zsh:put("\t\t%s\n", zsh_quote(command[1] .. ":" .. brief(command.summary)))
end
zsh:put "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
zsh:put "\tlocal command=${words[2]}\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n"
for _, command in ipairs(spec.commands) do
	zsh:put("\t%s)\n\t\t_arguments -s \\\n", command[1])
	for _, o in ipairs(cli.options(spec, command)) do
		local option = o.option
		local value = option.kind ~= "flag" and (":%s:%s"):format(option.arg, zsh_action(option.complete)) or ""
		local many = option.kind == "list" and "*" or ""
		local equals = option.kind ~= "flag" and "=" or ""
		local help = zsh_plain(brief(option.help))
		if option.letter then
			zsh:put("\t\t\t%s \\\n", zsh_quote(("%s-%s[%s]%s"):format(many, option.letter, help, value)))
		end
		zsh:put("\t\t\t%s \\\n", zsh_quote(("%s--%s%s[%s]%s"):format(many, option[1], equals, help, value)))
	end
	zsh:put("\t\t\t'--help[show what it takes]' \\\n\t\t\t'*:argument:%s'\n\t\t;;\n",
		zsh_action(command.arguments.complete))
end
zsh:put "\tesac\n}\n_srdlab \"$@\"\n"

-- fish ---------------------------------------------------------------------------------------

local fish = lib.out()
fish:put(banner)
fish:put "complete -c srdlab -f\n"
for _, command in ipairs(spec.commands) do
	local here = ("complete -c srdlab -n '__fish_seen_subcommand_from %s'"):format(command[1])
	fish:put("complete -c srdlab -n __fish_use_subcommand -a %s -d %s\n", command[1],
		fish_quote(brief(command.summary)))
	for _, o in ipairs(cli.options(spec, command)) do
		local option = o.option
		local value = ""
		if words[option.complete] then
			value = (" -x -a '%s'"):format(table.concat(words[option.complete], " "))
		elseif option.complete then
			value = " -r -F"
		elseif option.kind ~= "flag" then
			value = " -x"
		end
		fish:put("%s%s -l %s%s -d %s\n", here, option.letter and " -s " .. option.letter or "", option[1], value,
			fish_quote(brief(option.help)))
	end
	local complete = command.arguments.complete
	if words[complete] then
		fish:put("%s -a '%s'\n", here, table.concat(words[complete], " "))
	elseif complete then
		fish:put("%s -F\n", here)
	end
end
bash:write(arg[2])
zsh:write(arg[3])
fish:write(arg[4])
