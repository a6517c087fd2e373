-- srdlab-scenario(5): the language of scenarios, from scripts/spec/api.lua and structs.lua.
local lib, roff = require "lib", require "roff"

-- What each option of a scenario says; the names are checked against structs.lua.
local options = {
	description = "A sentence for srdlab list.",
	tags = "A list of words that --filter tag:WORD selects by.",
	needs = "A list of what the backend must be able to do, or the scenario is skipped: faults, fabric, "
		.. "virtual_time, peers (more than one on a queue pair), origin (memory that holds no bytes, only where they came from), hosts (a device "
		.. "for each, which may die), model (a look into the device), rdma_core_65 (what an older "
		.. "libefa does otherwise), profile.",
	violates = "The rule that the scenario breaks on purpose: it passes only if exactly this one fires. "
		.. "It is judged whatever --rules says.",
	fails = "Text of the message that the scenario fails with on purpose: it passes only if it fails with it. "
		.. "\"deadlock\" is the beginning of every deadlock.",
	bug = "The bug of a list, such as B35, that the scenario shows; srdlab run ends with a table of them.",
	form = "Which form of the bug it shows: broken, which violates or fails says how it is flagged, or right, "
		.. "which has to pass.",
	limits = "Limits that the device is made to report, lower than its own, such as { max_rdma_size = "
		.. "\"4KiB\" }. This works on a real device too.",
	profile = "The profile to run on: a name, or a table of fields that differ; see srdlab-profile(5). For the "
		.. "mock only.",
	orders = "\"all\": run it in every order in which its messages may arrive and complete, but for those that "
		.. "do not differ in effect. For the mock only.",
	orders_max = "How many orders are run at most; 1000 unless given, here or by --orders-max.",
	seeds = "Whether the course depends on the seed, so that it is worth running with many. It gives the tag seeds.",
	timeout = "The time of the scenario's clock after which it fails.",
}

-- How a script calls what a class offers.
local receivers = { module = "srd.", scenario = "t:", expectation = "t:expect(value):", exec_module = "srd.",
	exec_device = "device:", exec_queue_pair = "queue_pair:", exec_request = "request:" }

local example = [[
local srd = require "srdlab"

srd.scenario("a put over max_rdma_size is split in order", {
  limits = { max_rdma_size = 1000 },
}, function(t)
  local p = t:pair { max_send_wr = 4, memory = 2500 }
  p.a.mem:fill "random"

  local op = p.a.qp:put { from = p.a.mem, to = p.b.mem }
  t:wait(op)

  t:expect(op:chunks()):equals { { 0, 1000 }, { 1000, 1000 }, { 2000, 500 } }
  t:expect(p.b.mem):same_content(p.a.mem)
end)
]]

local function put_options(page)
	local fields
	for _, struct in ipairs(lib.spec "structs") do
		fields = struct.name == "scenario_options" and struct.fields or fields
	end
	page:macro "Bl -tag -width description"
	for _, f in ipairs(fields) do
		page:macro("It Va %s", f.name)
		page:sentences(assert(options[f.name], "man_scenario.lua does not tell what option " .. f.name .. " is"))
	end
	page:macro "El"
end

local function put_method(page, receiver, m)
	local names = {}
	for _, param in ipairs(m.params) do
		names[#names + 1] = param[1]:gsub("^(.*)%?$", "[%1]")
	end
	page:macro("It Sy %s%s(%s)%s", receiver, m.name, table.concat(names, ", "),
		m.returns and " No -> " .. m.returns or "")
	page:sentences(m.doc)
	for _, param in ipairs(m.params) do
		if param[3] then
			page:put("%s: %s.\n", roff.escape(param[1]:gsub("%?$", "")), param[3])
		end
	end
end

local function put_class(page, class)
	page:macro("Ss %s", class.object or class.kind ~= "module" and class.exec or class.kind == "module" and "module srdlab" or class.name)
	page:sentences(class.doc)
	page:macro "Bl -tag -width Ds"
	for _, p in ipairs(class.properties or {}) do
		page:macro("It Va %s : %s", p.name:gsub("%?$", ""), p.type)
		if p.doc then
			page:sentences(p.doc .. ".")
		end
	end
	for _, m in ipairs(class.methods or {}) do
		put_method(page, receivers[class.name] or class.name .. ":", m)
	end
	page:macro "El"
end

local function put_classes(page, exec)
	for _, class in ipairs(lib.spec "api") do
		if not class.exec == not exec and ((class.methods and #class.methods > 0) or class.properties) then
			put_class(page, class)
		end
	end
end

--- The page.
return function(date)
	local page = roff.page("srdlab-scenario", 5, date, "srdlab-scenario", "the language of scenarios")
	page:macro "Sh DESCRIPTION"
	page:paragraphs {
		"A script is Lua 5.4. It declares scenarios with srd.scenario(name, options, body); each runs by itself, in a "
			.. "Lua state of its own, and gets t, the scenario, as its argument. It passes if its body ends, no "
			.. "expectation failed, no op failed unseen, and no rule was violated.",
		"The same script runs on the mock and on a real device. What it needs beyond queue pairs, put and get it "
			.. "declares.",
		"A script has Lua's own libraries without files, processes and the clock of the machine; pairs is ordered, and "
			.. "math.random is seeded by the run, so that the same seed gives the same run.",
		"Where size or time is written, a number of bytes or nanoseconds can be given, or a string with a unit: "
			.. "\"4KiB\", \"50us\".",
	}
	page:macro "Sh OPTIONS"
	page:put "The options of a scenario, all of which may be left out:\n"
	put_options(page)
	page:macro "Sh CLASSES"
	put_classes(page, false)
	page:macro "Sh SCRIPTS OVER PROGRAMS"
	page:put "What srdlab exec --script runs has no scenarios; its module is this.\n"
	put_classes(page, true)
	page:macro "Sh EXAMPLES"
	page:macro "Bd -literal"
	page:put("%s", roff.escape(example))
	page:macro "Ed"
	return page
end
