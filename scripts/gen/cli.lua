-- What the generators of the command line share: each command with the options that it has.
local cli = {}

--- The options of COMMAND, those of its sets first; each with `set`, the set's name.
function cli.options(spec, command)
	local list = {}
	for _, set in ipairs(command.sets or {}) do
		for _, option in ipairs(assert(spec.sets[set], "no set " .. set)) do
			list[#list + 1] = { option = option, set = set }
		end
	end
	for _, option in ipairs(command.options) do
		list[#list + 1] = { option = option }
	end
	local seen = {}
	for _, o in ipairs(list) do
		for _, key in ipairs { o.option[1], o.option.letter } do
			assert(not seen[key], ("%s has two options %s"):format(command[1], key))
			seen[key] = true
		end
		assert(#o.option.help > 0 and o.option.group, o.option[1] .. " lacks help or a group")
	end
	return list
end

-- The order in which the groups are shown.
cli.groups = { "What runs", "What is tested", "Where it runs", "How it is judged", "What a script may do",
	"What is shown", "Reports" }

--- The options of COMMAND by group: a list of { name, { option, ... } }.
function cli.grouped(spec, command)
	local groups, known = {}, {}
	for _, name in ipairs(cli.groups) do
		known[name] = {}
	end
	for _, o in ipairs(cli.options(spec, command)) do
		local group = assert(known[o.option.group], "no group " .. o.option.group)
		group[#group + 1] = o.option
	end
	for _, name in ipairs(cli.groups) do
		if #known[name] > 0 then
			groups[#groups + 1] = { name, known[name] }
		end
	end
	return groups
end

--- The environment variable of OPTION; nil: it has none.
function cli.env(option)
	return option.env ~= false and "SRDLAB_" .. option[1]:upper():gsub("-", "_") or nil
end

function cli.field(option)
	return (option[1]:gsub("-", "_"))
end

--- The statuses of COMMAND as { name, number, text }, in their order.
function cli.exits(spec, command)
	local wanted, list = {}, {}
	for _, name in ipairs(command.exits) do
		wanted[name] = true
	end
	for _, exit in ipairs(spec.exits) do
		if wanted[exit[1]] then
			list[#list + 1] = exit
			wanted[exit[1]] = nil
		end
	end
	assert(not next(wanted), command[1] .. " names a status that there is not")
	return list
end

return cli
