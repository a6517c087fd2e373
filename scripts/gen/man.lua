-- The manual pages: srdlab(1), one for each command, and those of the file formats.
-- usage: lua man.lua SPEC_DIR PAGE...    where PAGE is a path that ends in /srdlab-run.1, say
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib, cli, roff = require "lib", require "cli", require "roff"
local spec = lib.spec "options"
local pages = {}

local function see_also(page, names)
	page:macro "Sh SEE ALSO"
	for i, name in ipairs(names) do
		local title, section = name:match "^(.*)%((%d)%)$"
		page:macro("Xr %s %s%s", title, section, i < #names and " ," or "")
	end
end

local function exit_status(page, command)
	page:macro "Sh EXIT STATUS"
	page:put "The first of these that applies:\n"
	page:macro "Pp"
	page:macro "Bl -tag -width 124 -compact"
	for _, e in ipairs(cli.exits(spec, command)) do
		page:macro("It %d", e[2])
		page:put("%s\n", e[3])
	end
	page:macro "El"
end

local function option(page, o)
	local arg = o.arg and " Ar " .. o.arg or ""
	page:macro("It %sFl -%s%s", o.letter and ("Fl %s%s , "):format(o.letter, arg) or "", o[1], arg)
	page:sentences(o.help)
	if o.default then
		page:put "The default is\n"
		page:macro("Ql %s .", o.default)
	end
	if o.conflicts then
		page:put "It excludes\n"
		page:macro("Fl -%s .", o.conflicts)
	end
	if cli.env(o) then
		page:put "Also from\n"
		page:macro("Ev %s .", cli.env(o))
	end
end

local function synopsis(page, command)
	page:macro "Sh SYNOPSIS"
	page:macro("Nm srdlab %s", command[1])
	for word in command.usage:gmatch "%S+" do
		local inner, dots = word:match "^%[(.-)%](%.*)$"
		if inner then
			page:macro("Op Ar %s%s", inner, dots ~= "" and " ..." or "")
		else
			page:macro("Ar %s%s", word:gsub("%.%.%.$", ""), word:find "%.%.%.$" and " ..." or "")
		end
	end
end

local function command_page(command)
	local page = roff.page("srdlab-" .. command[1], 1, spec.date, "srdlab-" .. command[1], command.summary)
	synopsis(page, command)
	page:macro "Sh DESCRIPTION"
	page:paragraphs(command.description)
	for _, group in ipairs(cli.grouped(spec, command)) do
		page:macro("Ss %s", group[1])
		page:macro "Bl -tag -width Ds"
		for _, o in ipairs(group[2]) do
			option(page, o)
		end
		page:macro "El"
	end
	if #cli.options(spec, command) > 0 then
		page:macro "Sh ENVIRONMENT"
		page:sentences("An option that is not on the command line is looked up in the environment, under the "
			.. "name that stands at its description. A flag is 1 or 0 there, and a list has commas "
			.. "between its parts.")
		page:macro "Bl -tag -width NO_COLOR"
		page:macro "It Ev NO_COLOR"
		page:put "If set and not empty, nothing is coloured.\n"
		page:macro "El"
	end
	exit_status(page, command)
	page:macro "Sh EXAMPLES"
	for i, e in ipairs(command.examples) do
		if i > 1 then
			page:macro "Pp"
		end
		if e[2] then
			page:sentences(e[2])
		end
		page:macro("Dl $ %s", roff.escape(e[1]))
	end
	see_also(page, { "srdlab(1)", "srdlab-profile(5)", "srdlab-scenario(5)", "srdlab-trace(5)" })
	return page
end

for _, command in ipairs(spec.commands) do
	pages["srdlab-" .. command[1] .. ".1"] = function()
		return command_page(command)
	end
end

pages["srdlab.1"] = function()
	local page = roff.page("srdlab", 1, spec.date, "srdlab", spec.summary)
	local names = {}
	page:macro "Sh SYNOPSIS"
	page:macro "Nm"
	page:macro "Ar COMMAND"
	page:macro "Op Ar ARGUMENT ..."
	page:macro "Sh DESCRIPTION"
	page:paragraphs(spec.description)
	page:macro "Pp"
	page:put "The commands are:\n"
	page:macro "Bl -tag -width profiles"
	for _, command in ipairs(spec.commands) do
		page:macro("It Cm %s", command[1])
		page:put("%s; see\n", command.summary)
		page:macro("Xr srdlab-%s 1 .", command[1])
		names[#names + 1] = ("srdlab-%s(1)"):format(command[1])
	end
	page:macro "El"
	page:macro "Pp"
	page:macro "Nm"
	page:macro "Ar COMMAND"
	page:macro "Fl -help"
	page:put "tells what a command takes.\n"
	local everything = { "everything", exits = {} }
	for _, e in ipairs(spec.exits) do
		table.insert(everything.exits, e[1])
	end
	exit_status(page, everything)
	table.sort(names)
	table.insert(names, "srdlab-profile(5)")
	table.insert(names, "srdlab-scenario(5)")
	table.insert(names, "srdlab-trace(5)")
	see_also(page, names)
	return page
end

-- The profile ------------------------------------------------------------------------------

local kinds = { u16 = "a number", u32 = "a number", u64 = "a number", bool = "true or false",
	size = "bytes", time = "a time", ppm = "parts per million" }

local function range(field)
	if type(field.type) == "table" then
		return table.concat(field.type, ", ")
	elseif not field.range then
		return kinds[field.type]
	end
	return ("%s from %d to %d"):format(kinds[field.type], math.tointeger(field.range[1]),
		math.tointeger(field.range[2]))
end

pages["srdlab-profile.5"] = function()
	local page = roff.page("srdlab-profile", 5, spec.date, "srdlab-profile", "a device and the fabric round it")
	local profiles, num_models = lib.profiles()
	page:macro "Sh DESCRIPTION"
	page:paragraphs {
		"A profile says what device the mock imitates, and over which network. A profile file is "
			.. "one JSON object. Its members are the fields below, \"base\", the name of the built-in "
			.. "profile that fills in the rest (efa1 unless given), and \"name\".",
		"A size is a number of bytes or a string such as \"4KiB\", a time a number of nanoseconds "
			.. "or a string such as \"12us\". A field that may change while a scenario runs is marked "
			.. "live.",
		"Each default says where it comes from: a measurement, somebody's source, or a guess.",
	}
	page:macro "Sh BUILT-IN PROFILES"
	for i, p in ipairs(profiles) do
		if i == 1 or i == num_models + 1 then
			page:macro(i == 1 and "Bl -tag -width no_rdma" or "Bl -tag -width Ds")
		end
		page:macro("It %s", p.name)
		page:sentences(p.doc .. ".")
		if i == num_models then
			page:macro "El"
		end
	end
	page:macro "El"
	page:macro "Sh FIELDS"
	page:macro "Bl -tag -width Ds"
	for _, f in ipairs(lib.spec "profile") do
		page:macro("It Va %s", f.name)
		page:sentences(("%s: %s, usually %s%s."):format(f.doc, range(f), lib.text(f.default), f.live and "; live" or ""))
		page:sentences(("Source: %s."):format(f.source:gsub("^source: ", "")))
	end
	page:macro "El"
	page:macro "Sh EXAMPLES"
	page:put "A small device on a bad network:\n"
	page:macro "Bd -literal -offset indent"
	page:put '{ "base": "small", "name": "mine", "loss": 20000, "latency": "50us" }\n'
	page:macro "Ed"
	see_also(page, { "srdlab-profiles(1)", "srdlab-run(1)" })
	return page
end

-- The trace --------------------------------------------------------------------------------

pages["srdlab-trace.5"] = function()
	local page = roff.page("srdlab-trace", 5, spec.date, "srdlab-trace", "the events of a run, as a file")
	page:macro "Sh DESCRIPTION"
	page:paragraphs {
		"A trace holds every event of a run. It is little endian, and describes itself: a reader "
			.. "finds the fields of an event by name, so that a trace of another version of srdlab can "
			.. "be read.",
		"It begins with the 8 bytes SRDTRACE, the version of this layout in 32 bits, and a length "
			.. "N in 32 bits. N bytes of JSON follow, padded with spaces to a multiple of 8: what was "
			.. "run, and each type of event with the places of its fields. Then come the records, each "
			.. "with a header of 24 bytes and the fields of its type; at the end a record of type 65535, "
			.. "the count of the records in 64 bits, and the XXH64 of all their bytes.",
		"The header of a record: its time in nanoseconds (64 bits), the number of the object that "
			.. "it is about (32 bits), the line of the script (32 bits), the number of the op (32 bits), "
			.. "its type (16 bits), its source (8 bits: 0 the engine, 1 the seam, 2 the device) and the "
			.. "host (8 bits).",
	}
	local sources = { { "engine", "Events of the engine" }, { "seam", "Events of the seam" },
		{ "device", "Events of the device" } }
	for _, source in ipairs(sources) do
		page:macro("Sh %s", source[2]:upper())
		page:macro "Bl -tag -width Ds"
		for _, e in ipairs(lib.spec "events") do
			if e.source == source[1] then
				page:macro("It Sy %s%s", e.name, e.object ~= "none" and " Pq Ar " .. e.object or "")
				if e.doc ~= "" then
					page:sentences(e.doc)
				end
				if #e.fields > 0 then
					page:put "Fields:\n"
				end
				for i, f in ipairs(e.fields) do
					page:macro("Va %s : Vt %s%s", f[1], f[2], i < #e.fields and " ," or "")
				end
			end
		end
		page:macro "El"
	end
	see_also(page, { "srdlab-run(1)", "srdlab-show(1)" })
	return page
end

pages["srdlab-scenario.5"] = function()
	local page = require "man_scenario"(spec.date)
	see_also(page, { "srdlab-run(1)", "srdlab-profile(5)" })
	return page
end

local wanted = {}
for i = 2, #arg do
	local name = arg[i]:match "([^/]+)$"
	assert(pages[name], "no page is called " .. name)():write(arg[i])
	wanted[name] = true
end
for name in pairs(pages) do
	assert(wanted[name], name .. " must be in the list of manuals in src/cli/meson.build")
end
