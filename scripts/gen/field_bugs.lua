-- docs/field-bugs.md: the page of known bugs, from the scenarios that show them. The page is
-- in the tree, to be read there; a test compares it with what this makes.
-- usage: lua field_bugs.lua [--check] PAGE FILE...
local check = table.remove(arg, arg[1] == "--check" and 1 or #arg + 1)
local page = table.remove(arg, 1)
local bugs, list, file = {}, {}, nil

local srd = {}

function srd.with(fields, more)
	local out = {}
	for _, from in ipairs { fields, more } do
		for k, v in pairs(from) do
			out[k] = v
		end
	end
	return out
end

function srd.scenario(name, options)
	local id = assert(options.bug, name .. ": it is of no bug")
	local link, story = options.description:match("^" .. id .. " %((https://%S+)%): (.+)$")
	assert(link, name .. ": the description is not \"" .. id .. " (link): story\"")
	local bug = bugs[id]
	if not bug then
		bug = { id = id, link = link, story = story, file = file, broken = {}, right = {} }
		bugs[id], list[#list + 1] = bug, bug
	end
	assert(bug.link == link and bug.story == story, name .. ": another story than the first of its bug")
	table.insert(bug[options.form], { name = name, violates = options.violates, fails = options.fails })
end

for _, path in ipairs(arg) do
	file = path:match "[^/]+$"
	assert(loadfile(path, "t", setmetatable({ require = function()
		return srd
	end }, { __index = _G })))()
end
table.sort(list, function(a, b)
	return a.id < b.id
end)

local out = {}
local function put(format, ...)
	out[#out + 1] = format:format(...)
end

--- TEXT in lines of at most 95 letters; all but the first begin with INDENT.
local function wrapped(text, indent)
	local lines, line = {}, ""
	for word in text:gmatch "%S+" do
		if #line + #word + 1 > 95 and line ~= "" then
			lines[#lines + 1], line = line, indent .. word
		else
			line = line == "" and word or line .. " " .. word
		end
	end
	lines[#lines + 1] = line
	return table.concat(lines, "\n")
end

put [[
# Bugs from the field

Trouble that people had with RDMA code over EFA, each as scenarios of a few milliseconds: the
broken form shows it and is flagged, the right form passes. The numbers are those of a
collection of public reports and have gaps; the stories are told in our words, and the links
lead to the reports.

    srdlab run scripts/scenarios/field            # all of them, with a table at the end
    srdlab run --filter '*flag*' scripts/scenarios/field

This page is made from the scenarios: `lua scripts/gen/field_bugs.lua docs/field-bugs.md
scripts/scenarios/field/*.lua`.
]]
for _, bug in ipairs(list) do
	assert(#bug.broken > 0 and #bug.right > 0, bug.id .. " lacks a form")
	local story = bug.story:gsub("^%l", string.upper)
	put("\n## %s: %s\n\n%s\n\nIn `%s`:\n\n", bug.id, bug.broken[1].name,
		wrapped(("%s <%s>"):format(story, bug.link), ""), bug.file)
	for _, s in ipairs(bug.broken) do
		local by = {}
		by[#by + 1] = s.violates and "`" .. s.violates .. "`"
		by[#by + 1] = s.fails and "the message `" .. s.fails .. "`"
		put("%s\n", wrapped(("- broken: %s; flagged by %s"):format(s.name, table.concat(by, " and ")), "  "))
	end
	for _, s in ipairs(bug.right) do
		put("%s\n", wrapped("- right: " .. s.name, "  "))
	end
end

local text = table.concat(out)
if not check then
	local f = assert(io.open(page, "wb"))
	assert(f:write(text) and f:close())
	return
end
local f = assert(io.open(page, "rb"))
if f:read "a" ~= text then
	io.stderr:write(page, " is not what the scenarios say: make it again as it tells\n")
	os.exit(1)
end
