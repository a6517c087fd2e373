-- The command from outside: statuses, streams and messages.
-- usage: lua cli.lua PROGRAM FOLDER_OF_THIS_FILE MANUALS COMPLETION
local program, here, manuals, completion = arg[1], arg[2], arg[3], arg[4]
local scripts = here .. "/scripts/"
local count, failures = 0, 0

local function read(path)
	local f = io.open(path)
	local text = f and f:read "a" or ""
	if f then
		f:close()
	end
	return text
end

local function write(path, text)
	local f = assert(io.open(path, "w"))
	f:write(text)
	f:close()
end

local function capture(command)
	local f = assert(io.popen(command))
	local text = f:read "a"
	f:close()
	return text
end

local function available(tool)
	return os.execute("command -v " .. tool .. " >/dev/null 2>&1")
end

local dir = capture("mktemp -d"):gsub("\n", "")

-- Run the shell text COMMAND, where "srdlab" is the program, in DIR.
local function sh(command)
	local line = ("cd %s && { %s; } >out 2>err"):format(dir, command:gsub("^srdlab", program)
		:gsub("([;&|( '])srdlab ", "%1" .. program .. " "))
	local _, how, status = os.execute(line)
	return { status = how == "signal" and 128 + status or status,
		out = read(dir .. "/out"), err = read(dir .. "/err") }
end

local function has(text, wanted)
	return text:find(wanted, 1, true) ~= nil
end

local function last_line(text)
	return text:match "([^\n]*)\n$"
end

local function report(name, problems)
	count = count + 1
	if #problems > 0 then
		failures = failures + 1
	end
	print(("%s %d - %s"):format(#problems == 0 and "ok" or "not ok", count, name))
	for _, problem in ipairs(problems) do
		print("# " .. problem:gsub("\n", "\n# "))
	end
end

-- NAME, the shell text, the status; and what the streams hold: out and err are texts or
-- lists of them, last is the last line of standard output.
local function case(name, command, status, wanted)
	local r, problems = sh(command), {}
	if r.status ~= status then
		problems[#problems + 1] = ("status %d, not %d"):format(r.status, status)
	end
	for _, stream in ipairs { "out", "err" } do
		local texts = wanted and wanted[stream] or {}
		for _, text in ipairs(type(texts) == "table" and texts or { texts }) do
			if text == "" and r[stream] ~= "" or not has(r[stream], text) then
				problems[#problems + 1] = ("std%s lacks %q"):format(stream, text)
			end
		end
	end
	if wanted and wanted.last and last_line(r.out) ~= wanted.last then
		problems[#problems + 1] = ("the last line is %q"):format(last_line(r.out))
	end
	if #problems > 0 then
		problems[#problems + 1] = command .. "\n" .. r.out .. r.err
	end
	report(name, problems)
	return r
end

local function check(name, good, detail)
	report(name, good and {} or { tostring(detail) })
end

local S = scripts

-- Help and usage
case("no command", "srdlab", 2, { out = "", err = "Usage: srdlab COMMAND" })
case("--help", "srdlab --help", 0, { out = "Usage: srdlab COMMAND", err = "" })
case("help of a command", "srdlab help run", 0, { out = "Usage: srdlab run [OPTION]" })
case("help of no command", "srdlab help rnu", 2, { err = "did you mean run?" })
case("--version", "srdlab --version", 0, { out = { "srdlab ", "Lua 5." } })
case("unknown command", "srdlab rnu", 2,
	{ out = "", err = "srdlab: error: unknown command \"rnu\"; did you mean run?" })
case("a command like no other", "srdlab frobnicate", 2, { err = "unknown command \"frobnicate\"\n" })
case("option without command", "srdlab --jobs", 2, { err = "options come after a command" })
case("unknown option", "srdlab run --fitler x", 2, { out = "", err = "did you mean --filter?" })
case("argument missing", "srdlab run", 2, { err = "a file or a folder of scenarios is missing" })
case("seeds reversed", "srdlab run --seeds 9..2 " .. S .. "pass.lua", 2, { err = "2..9 would be right" })
case("seed and seeds", "srdlab run --seed 3 --seeds 1..2 x", 2, { err = "exclude each other" })
case("time without unit", "srdlab run --timeout 30 x", 2, { err = "a time with its unit" })
case("unknown backend", "srdlab run -b moc " .. S .. "pass.lua", 2, { err = "there are: efa, mock" })
case("unknown profile", "srdlab run -p tiny " .. S .. "pass.lua", 2, { err = "efa1" })
case("unknown field", "srdlab run -D latncy=3us " .. S .. "pass.lua", 2, { err = "did you mean \"latency\"?" })
case("contradicting limits", "srdlab run -D min_sq_wr=9000 " .. S .. "pass.lua", 2, { err = "min_sq_wr" })
case("unknown rule", "srdlab run -r chunk.cuver " .. S .. "pass.lua", 2, { err = "chunk.cuver" })
case("no rule at all", "srdlab run --rules , " .. S .. "pass.lua", 2, { err = "the selection of rules is empty" })
case("a device of the mock", "srdlab run --device rdmap0s6 " .. S .. "pass.lua", 2,
	{ err = "the mock backend makes its own" })
case("missing suppressions", "srdlab run --suppressions none " .. S .. "pass.lua", 2, { err = "none" })

write(dir .. "/suppressions", "# a comment\nchunk.cover # never\n")
case("unused suppression", "srdlab run --suppressions " .. dir .. "/suppressions " .. S .. "pass.lua", 0,
	{ err = dir .. "/suppressions:2: nothing needed this suppression of chunk.cover" })
case("rules that are not judged", "srdlab run -v " .. S .. "pass.lua", 0,
	{ err = "not judged, as events that they need never came:" })

-- Verdicts and statuses
case("all pass", "srdlab run " .. S .. "pass.lua", 0,
	{ out = { "srdlab ", ": mock, profile efa1, seed 1\n" }, err = "", last = "3 passed, 0 failed, 0 skipped" })
local failing = case("one fails", "srdlab run " .. S .. "fail.lua", 1, {
	out = { S .. "fail.lua:7: error: ", "    in \"wrong\"\n", "    | about to fail\n",
		"    replay: srdlab-replay/fail-5-seed1.json\n" },
	err = "", last = "1 passed, 1 failed, 0 skipped" })
case("a skip is no pass", "srdlab run -b efa " .. S .. "skip.lua", 77,
	{ out = "skipped 1: needs \"faults\"", last = "0 passed, 0 failed, 1 skipped" })
write(dir .. "/violates.lua", "local srd = require 'srdlab'\n"
	.. "srd.scenario('x', { violates = 'session.pair' }, function(t)\n"
	.. "local q = t:host('a'):queue_pair({}).verbs q:wr_start() q:wr_abort() q:wr_abort() end)\n")
case("a rule that a scenario is about", "srdlab run violates.lua", 0, { last = "1 passed, 0 failed, 0 skipped" })
case("a rule that a scenario is about is judged whatever is selected", "srdlab run --rules credit violates.lua", 0)
if has(sh("srdlab devices").out, "none: no EFA device was found") then
	case("the suite where there is no device", "srdlab run -b efa " .. here .. "/../../scripts/scenarios", 77,
		{ out = "no EFA device was found" })
end
case("--fail-on-skip", "srdlab run --fail-on-skip -b efa " .. S .. "skip.lua", 1,
	{ err = "--fail-on-skip", last = "0 passed, 0 failed, 1 skipped" })
case("nothing selected", "srdlab run --filter nothing " .. S .. "pass.lua", 5,
	{ err = "no scenario was selected", last = "0 passed, 0 failed, 0 skipped" })
case("a name that looks like FILE:LINE", "srdlab run nowhere.lua:12", 2, { out = "nowhere.lua:12: error: " })
case("a hidden folder", "mkdir -p seen/.hidden; cp " .. S .. "fail.lua seen/.hidden; cp " .. S .. "pass.lua seen;"
	.. "srdlab run seen", 0, { last = "3 passed, 0 failed, 0 skipped" })
if capture "id -u" ~= "0\n" then
	case("a folder that cannot be read", "mkdir -p shut; chmod 0 shut; srdlab run shut " .. S .. "pass.lua", 1,
		{ out = "shut: error: the folder cannot be read" })
end
case("an empty folder", "mkdir -p empty; srdlab run empty", 5, { err = "no scenario was selected" })
case("nothing could be loaded", "srdlab run nowhere.lua", 2,
	{ out = "nowhere.lua: error: ", last = "0 passed, 1 failed, 0 skipped" })
case("the others still run", "srdlab run nowhere.lua " .. S .. "pass.lua", 1,
	{ out = "nowhere.lua: error: ", last = "3 passed, 1 failed, 0 skipped" })
write(dir .. "/syntax.lua", "local srd = require \"srdlab\"\n\nsrd.scenario(\"x\", {}, function(t)\n")
case("bad Lua has its line", "srdlab run syntax.lua " .. S .. "pass.lua", 1,
	{ out = { "syntax.lua:", ": error: ", "expected" }, last = "3 passed, 1 failed, 0 skipped" })
write(dir .. "/raises.lua", "local x = nil\nlocal y = x.z\n")
case("an error of the script has its line", "srdlab run raises.lua", 2, { out = "raises.lua:2: error: " })
case("every kind of bad input has its line and sentence, and the others report",
	"srdlab run --memory 1MiB --scenario-timeout 2s " .. S .. "bad.lua", 1, { out = {
		'bad.lua:5: error: queue_pair: unknown field "max_sned_wr"; did you mean "max_send_wr"?\n',
		'bad.lua:9: error: host:memory: size = "50us": a size is expected',
		"bad.lua:13: error: queue_pair: port_num = 256 is out of range: 0 to 255\n",
		"bad.lua:18: error: attempt to index a nil value",
		"bad.lua:22: error: out of time: the scenario ran longer than 2000 ms of wall time\n",
		"bad.lua:29: error: out of memory: the script may take 1MiB (--memory)\n",
		"bad.lua:34: error: deadlock at 0ns: nothing can happen any more\n",
		"bad.lua:37: error: scenario_options: profile efa1: min_sq_wr (9000) is above max_sq_wr (4096)\n",
		"bad.lua:42: error: t:host: limit max_sq_wr = 100000 is above the 4096 that the device mock0 reports",
	}, last = "1 passed, 9 failed, 0 skipped" })
-- What a file does before it has named a scenario.
for name, text in pairs {
	["an endless loop"] = { "while true do end", "out of time: the scenario ran longer than 1000 ms of wall time" },
	["memory without end"] = { "local l = {} while true do l[#l + 1] = {} end",
		"out of memory: the script may take 1MiB (--memory)" },
	["an option misspelt"] = { "srd.scenario('x', { tgas = {} }, print)",
		'scenario_options: unknown field "tgas"; did you mean "tags"?' },
	["a time in bytes"] = { "srd.scenario('x', { timeout = '4KiB' }, print)",
		'scenario_options: timeout = "4KiB": a time is expected' },
	["a need that is none"] = { "srd.scenario('x', { needs = { 'fautls' } }, print)", 'did you mean "faults"?' },
	["a field of no profile"] = { "srd.scenario('x', { profile = { latncy = 3 } }, print)", 'did you mean "latency"?' },
	["a limit of no device"] = { "srd.scenario('x', { limits = { max_sq_rw = 3 } }, print)", 'did you mean "max_sq_wr"?' },
} do
	write(dir .. "/early.lua", "local srd = require 'srdlab'\n" .. text[1] .. "\n")
	case(name .. " in a file refuses it, and the other still runs",
		"srdlab run --memory 1MiB --scenario-timeout 1s early.lua " .. S .. "pass.lua", 1,
		{ out = { "early.lua:2: error: ", text[2] }, last = "3 passed, 1 failed, 0 skipped" })
end
write(dir .. "/contradiction.json", '{"min_sq_wr": 9000}\n')
for text, message in pairs {
	['{"mtu": 1.5}'] = "mtu cannot be 1.5: it takes a ", ['{"mtu": [1]}'] = "mtu cannot be an array: it takes a ",
	['{"name": "a\\nb"}'] = '"name" has a control character: it is one line of text',
} do
	write(dir .. "/odd.json", text)
	case("a profile with " .. text, "srdlab run -p ./odd.json " .. S .. "pass.lua", 2, { out = "", err = message })
end
case("a contradiction in a profile file", "srdlab run -p ./contradiction.json " .. S .. "pass.lua", 2,
	{ out = "", err = { "contradiction.json: ", "min_sq_wr (9000) is above max_sq_wr (4096)" } })
case("a full disk", "srdlab run " .. S .. "pass.lua >/dev/full", 99, { err = "cannot write to standard output" })
case("nothing is coloured in a file", "srdlab run " .. S .. "fail.lua | grep -c '\27'", 1, { out = "0\n" })
if available "script" then
	case("colours and NO_COLOR",
		"TERM=xterm script -qec 'srdlab run " .. S .. "pass.lua' /dev/null >coloured;"
		.. "NO_COLOR=1 TERM=xterm script -qec 'srdlab run " .. S .. "pass.lua' /dev/null >plain;"
		.. "grep -c '\27\\[32m' coloured; grep -c '\27\\[3' plain", 1, { out = "2\n0\n" })
end

-- What runs
case("a folder, by name", "srdlab list " .. S .. "folder", 0, {
	out = S .. "folder/a.lua:2  in a\n" .. S .. "folder/b.lua:2  in b\n", err = "" })
case("a file and its folder", "srdlab run " .. S .. "folder " .. S .. "folder/a.lua", 0,
	{ last = "2 passed, 0 failed, 0 skipped" })
case("FILE:LINE", "srdlab run -v " .. S .. "pass.lua:12", 0,
	{ out = "a get arrives", last = "1 passed, 0 failed, 0 skipped" })
case("FILE:LINE above all", "srdlab run " .. S .. "pass.lua:1", 2,
	{ out = "no scenario stands at line 1: the first is at line 3 (\"a put arrives\")" })
case("FILE:LINE below all", "srdlab run " .. S .. "pass.lua:18 " .. S .. "fail.lua:1000", 2,
	{ out = { "there is no line 18: the file ends at 17, and its last scenario is at line 17 (\"[odd] name * here\")",
		"there is no line 1000: " } })
case("filter by part", "srdlab run -v -f get " .. S .. "pass.lua", 0,
	{ out = "a get arrives", last = "1 passed, 0 failed, 0 skipped" })
case("filter by glob", "srdlab run -f 'a * arrives' " .. S .. "pass.lua", 0,
	{ last = "2 passed, 0 failed, 0 skipped" })
case("filter by tag", "srdlab run -f tag:put " .. S .. "pass.lua", 0, { last = "1 passed, 0 failed, 0 skipped" })
case("two filters", "srdlab run -f tag:put -f tag:get " .. S .. "pass.lua", 0,
	{ last = "2 passed, 0 failed, 0 skipped" })
case("a filter takes away", "srdlab run -f '!tag:put' " .. S .. "pass.lua", 0,
	{ last = "2 passed, 0 failed, 0 skipped" })
case("from the environment", "SRDLAB_SEED=7 SRDLAB_FILTER=put,get srdlab run " .. S .. "pass.lua", 0,
	{ out = "seed 7\n", last = "2 passed, 0 failed, 0 skipped" })
case("list in JSON", "srdlab list --json " .. S .. "pass.lua:12", 0,
	{ out = { '"name": "a get arrives"', '"tags": [\n' } })
case("list in full", "srdlab list -v " .. S .. "pass.lua:12", 0,
	{ out = { "    the other way\n", "    tags: contract get\n" } })
case("list what cannot be loaded", "srdlab list raises.lua " .. S .. "pass.lua", 1, { err = "raises.lua:2: error: " })
case("list nothing", "srdlab list -f nothing " .. S .. "pass.lua", 5, { err = "no scenario was selected" })
case("check", "srdlab check " .. S .. "pass.lua", 0, { last = "1 file, 3 scenarios, 0 problems" })
write(dir .. "/unknown_rule.lua", "local srd = require 'srdlab'\n"
	.. "srd.scenario('x', { violates = 'no.rule' }, function() end)\n")
case("check finds an unknown rule", "srdlab check unknown_rule.lua", 2, { out = "unknown_rule.lua:2: error: " })
write(dir .. "/none.lua", "\n")
write(dir .. "/faults.lua", "local srd = require 'srdlab'\nsrd.fabric { loss = 1000 }\n"
	.. "srd.on_request(function(r) r:hold() end)\n")
write(dir .. "/wrong_faults.lua", "local srd = require 'srdlab'\nsrd.fabric { lost = 1000 }\n")
write(dir .. "/escape.lua", "error '\\27[31m'\n")
case("check of a script over a program", "srdlab check faults.lua", 0, { last = "1 file, 0 scenarios, 0 problems" })
case("check of a wrong one", "srdlab check faults.lua wrong_faults.lua", 1,
	{ out = 'wrong_faults.lua:2: error: profile: unknown field "lost"; did you mean "loss"?\n',
		last = "2 files, 0 scenarios, 1 problem" })
case("a script over a program is not run", "srdlab run faults.lua", 2,
	{ out = "faults.lua:2: error: srd.fabric: this is a script for srdlab exec --script, not one of scenarios" })
case("a trace goes to a file", "srdlab run --trace - " .. S .. "pass.lua", 2,
	{ out = "", err = "--trace - : this goes to a file, not to standard output" })
case("control characters of a script", "srdlab check escape.lua", 2, { out = "escape.lua:1: error: \u{fffd}[31m" })
case("check finds no scenario", "srdlab check none.lua", 1, { out = "none.lua: error: it holds no scenario" })
case("a file without a scenario is named", "srdlab run none.lua " .. S .. "pass.lua", 0,
	{ err = "none.lua holds no scenario" })

-- The way back to a failure
local again = failing.out:match "repeat: ([^\n]*)"
case("the command that repeats it", again or "false", 1, { last = "0 passed, 1 failed, 0 skipped" })
-- Every order of a scenario's messages.
local O = S .. "orders.lua"
case("every order is run once", "srdlab run -v --filter three " .. O, 0,
	{ out = { "events, trace ", ", 6 orders\n", "every order: 1 scenario in 6 orders, exhausted\n" } })
case("up to a bound of the scenario", "srdlab run --filter bounded " .. O, 0,
	{ out = { "every order: 1 scenario in 5 orders\n", "four, bounded: bound of 5 reached: not exhausted\n" } })
case("or of the command", "srdlab run --orders-max 2 --filter three " .. O, 0,
	{ out = "three completions: bound of 2 reached: not exhausted\n" })
case("all 24 of four", "srdlab run --orders-max 1000 --filter bounded " .. O, 0,
	{ out = "every order: 1 scenario in 24 orders, exhausted\n" })
case("the order that fails is told", "srdlab run --filter 'comes first' " .. O, 1, { out = {
	"in order ", " of its messages, ", "RDMA_WRITE request 2 of queue pair 1 completes before IBV_WR_",
	"replay: srdlab-replay/orders-26-seed1.json" } })
case("and is replayed alone", "srdlab replay srdlab-replay/orders-26-seed1.json", 1,
	{ out = "the same run, event by event: trace " })
case("what is expected must come in one of them", "srdlab run --filter vain " .. O, 1,
	{ out = 'a failure with "four" was expected in one of its orders, and came in none of 2' })
case("a report in JSON has the numbers", "srdlab run --json o.json --filter three " .. O .. " && cat o.json", 0,
	{ out = { '"orders":6', '"orders_left":false' } })
case("an order that is none",
	"sed 's/^  \"order\": \"/&x/' srdlab-replay/orders-26-seed1.json >c.json; srdlab replay c.json", 2,
	{ err = "an order is numbers with dots between them, such as 0.2.1, not" })

case("the replay file", "srdlab replay srdlab-replay/fail-5-seed1.json", 1,
	{ out = { ":7: error: ", "the same run, event by event: trace " }, err = "",
		last = "0 passed, 1 failed, 0 skipped" })
local names = case("scenarios at one line", "srdlab run " .. S .. "same_line.lua", 1,
	{ last = "0 passed, 3 failed, 0 skipped" })
for repetition in names.out:gmatch "repeat: ([^\n]*)" do
	case("one of those at one line", repetition, 1, { last = "0 passed, 1 failed, 0 skipped" })
end
write(dir .. "/mine.lua", "local srd = require 'srdlab'\n"
	.. "srd.scenario('x', {}, function(t) t:expect(1):equals(2) end)\n")
case("options are repeated", "srdlab run --memory 64MiB -D loss=100 -p small mine.lua", 1,
	{ out = "run --profile small --define loss=100 --memory 64MiB --seed 1 mine.lua:2\n" })
write(dir .. "/mine.lua", "-- repaired\n")
case("a replay needs no script", "srdlab replay srdlab-replay/mine-2-seed1.json", 1,
	{ err = "mine.lua has changed since", out = "the same run" })
case("a replay file that is none", "srdlab replay " .. S .. "pass.lua", 2, { err = "pass.lua:1: error:" })
write(dir .. "/other.json", "{}")
case("JSON that is no replay file", "srdlab replay other.json", 2, { err = "is not a replay file" })
case("a replay file that is missing", "srdlab replay gone.json", 2, { err = "gone.json" })
local function changed(name, sed, command, status, wanted)
	case(name, ("sed '%s' srdlab-replay/fail-5-seed1.json >c.json; %s"):format(sed, command), status, wanted)
end
sh("srdlab run " .. S .. "fail.lua")
changed("a replay that is another run", "s/trace_hash\": \"./trace_hash\": \"0/", "srdlab replay c.json", 1,
	{ out = "another run: trace " })
changed("a replay of another version", "s/\"version\": \"/&9/", "srdlab replay c.json", 1,
	{ err = "it was recorded by srdlab 9" })
changed("a replay that passes now", "s/equals(3)/equals(2)/", "srdlab replay -v c.json", 0,
	{ out = "pass  ", err = "has changed since", last = "1 passed, 0 failed, 0 skipped" })
changed("a replay on a device", "s/\"mock\"/\"efa\"/; s/{}, function(t)/{ needs = { [[faults]] } }, function(t)/",
	"srdlab replay c.json", 77, { out = "a device does not repeat itself" })
changed("a replay of an unknown backend", "s/\"mock\"/\"moc\"/", "srdlab replay c.json", 2,
	{ err = "there are: efa, mock" })
changed("a replay of a later format", "s/\"schema\": 1/\"schema\": 2/", "srdlab replay c.json", 2,
	{ err = "is of format 2" })
changed("a replay that lacks something", "/\"seed\"/d", "srdlab replay c.json", 2,
	{ err = "c.json: seed is missing: a whole number, 0 or more is needed" })
changed("a replay with another field", "s/\"seed\"/\"sed\"/", "srdlab replay c.json", 2,
	{ err = 'c.json: "sed" is no field of a replay file; did you mean seed?' })
changed("a replay with another field of its script", "s/\"path\"/\"way\"/", "srdlab replay c.json", 2,
	{ err = 'c.json: "script.way" is no field of a replay file' })
local recorded = assert(io.open(dir .. "/srdlab-replay/fail-5-seed1.json")):read "a"
-- Each field with values that are of no field's type, or not of its own.
local whole, text, optional = "a whole number, ", "a string is needed", "a string or null is needed"
for field, wanted in pairs {
	version = text, script = "an object is needed", scenario = "an object is needed", seed = whole .. "0 or more",
	backend = text, device = optional, profile = "an object is needed", queue_pair = optional,
	scheduler = optional, rules = text, suppressions = optional, memory = whole .. "0 or more",
	scenario_timeout = whole .. "0 or more", unsafe_lua = "true or false is needed", trace_hash = text,
	order = optional, orders_max = whole .. "0 to 2147483647",
} do
	for _, value in ipairs { "-1", wanted:find "whole" and '"x"' or "7" } do
		local from, to = recorded:find(('\n  "%s": '):format(field), 1, true)
		local _, last = recorded:find("^%b{}", to + 1)
		last = last or recorded:find(",?\n", to + 1) - 1
		check("has " .. field, from, recorded)
		write(dir .. "/c.json", recorded:sub(1, to) .. value .. recorded:sub(last + 1))
		case(("a replay whose %s is %s"):format(field, value), "srdlab replay c.json", 2,
			{ err = ("c.json: %s is %s: %s"):format(field, value, wanted) })
	end
end
changed("a replay of an unknown rule", "s/\"rules\": \"/&x,/", "srdlab replay c.json", 2,
	{ err = 'c.json: rules: no rule, family or class is named "x"' })
changed("a replay of wrong suppressions", "s/\"suppressions\": null/\"suppressions\": \"x\"/",
	"srdlab replay c.json", 2,
	{ err = "c.json: suppressions:1: x is suppressed without a reason" })
changed("a replay of half a profile", "/\"max_qp\"/d", "srdlab replay c.json", 2,
	{ err = "c.json: profile.max_qp is missing" })
changed("a replay of a wrong profile", "s/\"max_qp\": [0-9]*/\"max_qp\": \"x\"/", "srdlab replay c.json", 2,
	{ err = "c.json: profile: max_qp" })
changed("a replay of no hash", "s/trace_hash\": \"./&z/", "srdlab replay c.json", 2,
	{ err = "not 16 hexadecimal digits" })
changed("a replay of no scenario", "s/\"name\": \"wrong\"/\"name\": \"gone\"/", "srdlab replay c.json", 2,
	{ err = "no scenario \"gone\"" })
write(dir .. "/latin.lua", "local srd = require 'srdlab'\nsrd.scenario('\xe4', {}, function() error 'x' end)\n")
case("a script that is not UTF-8", "srdlab run latin.lua", 1,
	{ out = "in \"\xef\xbf\xbd\"", err = "no replay file: latin.lua: the script's text is not UTF-8" })
write(dir .. "/talks.lua", "local srd = require 'srdlab'\nsrd.scenario('x', {}, function(t)\n"
	.. "for i = 1, 3000 do t:log(('x'):rep(40)) end error 'x' end)\n")
local talks = case("a long log", "srdlab run talks.lua", 1, { out = "(the rest of the log is left out)" })
check("is cut", #talks.out < 100000, #talks.out)
case("no replay file wanted",
	"rm -rf srdlab-replay; srdlab run --replay-dir '' mine.lua " .. S .. "fail.lua; test ! -e srdlab-replay",
	0)
case("the replay folder cannot be made", "srdlab run --replay-dir /dev/null/x " .. S .. "fail.lua", 1,
	{ err = "warning: no replay file: the folder /dev/null/x cannot be made" })

-- Several processes
local one = sh("srdlab run -v --seeds 1..20 " .. S .. "seeds.lua " .. S .. "pass.lua " .. S .. "fail.lua")
local four = sh("srdlab run -v --seeds 1..20 --jobs 4 " .. S .. "seeds.lua " .. S .. "pass.lua " .. S .. "fail.lua")
check("the same report whatever the number of processes",
	one.out == four.out and #one.out > 1000, one.out .. four.out)
check("nothing else fails", last_line(one.out) == "114 passed, 26 failed, 0 skipped", one.out)
check("the failing seeds are named", has(one.out, "three of them [seeds 3, 6, 9, 12, 15, 18]"), one.out)
check("seeds have traces of their own", select(2, one.out:gsub("trace %x+", {})) > 40, one.out)
case("a crash costs one scenario", "srdlab run --jobs 2 --unsafe-lua " .. S .. "crash.lua", 1, {
	out = { "crash.lua:5: error: its process was killed by signal 9 (Killed)",
		"crash.lua:10: error: its process ended by itself with status 3" },
	last = "2 passed, 2 failed, 0 skipped" })
case("a replay asks before it takes unsafe Lua", "srdlab replay srdlab-replay/crash-10-seed1.json", 2,
	{ err = "give --unsafe-lua here too" })
case("no io without --unsafe-lua", "srdlab run " .. S .. "crash.lua:10", 1, { out = "error: " })

case("one process for each processor", "srdlab run --jobs 0 " .. S .. "pass.lua", 0,
	{ last = "3 passed, 0 failed, 0 skipped" })
case("no process can be had", "ulimit -n 12; srdlab run --jobs 8 --seeds 1..20 " .. S .. "pass.lua", 99,
	{ err = "no pipe to a process" })
if available "script" then
	case("the progress line", "TERM=xterm script -qec 'srdlab run --scenario-timeout 150ms " .. S
		.. "loop.lua' /dev/null", 1, { out = { "2 of 3, 1 failed", "\r\27[K" } })
end

-- A folder that is no folder of scripts: 400 names, seen through 300 links.
sh("mkdir -p wide/names && cd wide/names && seq 400 | xargs touch && touch 0.lua && cd .. && "
	.. "for i in $(seq 300); do ln -s names $i; done")
case("too much below a folder", "srdlab run wide", 2, { last = "0 passed, 1 failed, 0 skipped",
	out = "wide: error: there are more than 100000 files and folders below it: name the folder" })
sh("rm -r wide")

-- Time
case("a scenario out of time", "srdlab run --scenario-timeout 100ms " .. S .. "loop.lua", 1,
	{ out = "loop.lua", last = "2 passed, 1 failed, 0 skipped" })
case("the whole run out of time", "srdlab run --timeout 500ms " .. S .. "loop.lua", 124,
	{ out = "out of time before all was run", last = "1 passed, 0 failed, 0 skipped" })
case("out of time in several processes", "srdlab run --timeout 500ms --jobs 2 " .. S .. "loop.lua", 124,
	{ last = "2 passed, 0 failed, 0 skipped" })
for _, jobs in ipairs { "", "--jobs 2 ", "--trace t.trace " } do
	case("a call into Lua's library that does not end " .. jobs, "srdlab run --scenario-timeout 100ms " .. jobs
		.. S .. "stuck.lua", 1, { out = "stuck.lua:8: error: out of time: line 9 calls find, which does "
		.. "not come back\n", last = "2 passed, 1 failed, 0 skipped" })
	case("the whole run out of time in such a call " .. jobs, "srdlab run --timeout 500ms " .. jobs .. S .. "stuck.lua",
		124, { out = "out of time before all was run" })
end
case("the trace up to a process that died", "srdlab run --scenario-timeout 100ms --trace t.trace " .. S .. "stuck.lua; "
	.. "srdlab show --no-summary t.trace", 2,
	{ err = "the trace and the timeline end in the scenario whose process died" })
case("a call that does not end, in a replay",
	"sed 's/\"scenario_timeout\": [0-9]*/\"scenario_timeout\": 100000000/' srdlab-replay/stuck-8-seed1.json >c.json; "
	.. "srdlab replay c.json", 1, { err = "stuck.lua:9: error: out of time: this line calls find, which "
		.. "does not come back" })
write(dir .. "/deep.lua", "local srd = require 'srdlab'\nsrd.scenario('deep', {}, function()\n"
	.. "local function f() pcall(f) pcall(f) end f() end)\n")
case("errors that are caught without end", "srdlab run --scenario-timeout 100ms deep.lua", 1,
	{ out = "deep.lua:2: error: out of time: line 3 catches each error, the end of its time too" })
write(dir .. "/early.lua", "local s = ('a'):rep(100)\nassert(s:find(('.-'):rep(60) .. 'b'))\n")
case("a call that does not end, while a script is loaded", "srdlab check --scenario-timeout 100ms early.lua", 2,
	{ err = "early.lua:2: error: out of time: this line calls find, which does not come back" })
case("interrupted",
	"timeout --foreground -s INT --preserve-status 1 " .. program .. " run --jobs 2 " .. S .. "loop.lua", 130,
	{ out = "interrupted before all was run", last = "2 passed, 0 failed, 0 skipped" })

for _, number in ipairs { "TERM", "HUP" } do
	case("ended by " .. number, "timeout --foreground -s " .. number .. " --preserve-status 1 " .. program
		.. " run --jobs 2 --json r.json " .. S .. "loop.lua; s=$?; tail -c 150 r.json; exit $s", 130,
		{ out = { "interrupted before all was run", '"passed":2,"failed":0,"skipped":0' } })
end
case("a hang-up that nohup ignores", "timeout --foreground -s HUP --preserve-status 1 nohup " .. program
	.. " run --timeout 2s " .. S .. "loop.lua", 124)

-- Reports
case("an unwritable report", "srdlab run --junit /nowhere/x.xml " .. S .. "pass.lua", 2,
	{ out = "", err = "the report /nowhere/x.xml cannot be written: No such file or directory" })
case("a report on a full disk", "srdlab run --json /dev/full " .. S .. "pass.lua", 99,
	{ err = "could not be written to its end" })
case("TAP", "srdlab run --tap " .. S .. "fail.lua", 1,
	{ out = { "TAP version 13\n1..2\n", "ok 1 - ", "\nnot ok 2 - ", "    line: 7\n" },
	last = "# 1 passed, 1 failed, 0 skipped" })
case("TAP of nothing", "srdlab run --tap -f nothing " .. S .. "fail.lua", 5, { out = "1..0 # SKIP" })
case("TAP out of time", "srdlab run --tap --timeout 300ms " .. S .. "loop.lua", 124,
	{ out = "\nBail out! out of time" })
if available "prove" then
	case("TAP by prove", "prove --exec '" .. program .. " run --tap' " .. S .. "pass.lua", 0,
		{ out = "Result: PASS" })
end
case("JUnit", "srdlab run --junit r.xml " .. S .. "pass.lua; cat r.xml", 0,
	{ out = { "<testsuites", "tests=\"3\" failures=\"0\"" } })
if available "xmllint" then
	case("JUnit by its schema", "xmllint --noout --schema " .. here .. "/junit.xsd r.xml", 0)
end
case("JSON on standard output", "srdlab run --json - " .. S .. "pass.lua", 0,
	{ out = { '{"format":"srdlab-report"', '"passed":3,"failed":0,"skipped":0' }, err = "3 passed" })
case("two on standard output", "srdlab run --json - --tap " .. S .. "pass.lua", 2,
	{ err = "cannot both go to standard output" })
case("two reports to one file", "srdlab run --json r.out "
	.. "--junit r.out " .. S .. "pass.lua", 2, { err = "--junit and --json cannot both go to r.out" })
case("a report over a script", "cp " .. S .. "pass.lua mine.lua; srdlab run --json mine.lua mine.lua:1; s=$?; "
	.. "cmp mine.lua " .. S .. "pass.lua && exit $s", 2,
	{ out = "", err = "--json would write over the script mine.lua" })
case("a report over a script of a folder", "mkdir -p held; cp " .. S .. "pass.lua held; "
	.. "srdlab run --json held/pass.lua held; s=$?; cmp held/pass.lua " .. S .. "pass.lua && exit $s", 2,
	{ out = "", err = "--json would write over the script held/pass.lua" })
case("a report over a script by another name", "ln held/pass.lua held.json; srdlab run --junit held.json held", 2,
	{ out = "", err = "--junit would write over held.json, which this command reads" })
sh("srdlab run " .. S .. "fail.lua")
for option, command in pairs { trace = "run held", timeline = "replay srdlab-replay/fail-5-seed1.json" } do
	case("--" .. option .. " over a script", "srdlab " .. command .. " --" .. option .. " held/pass.lua", 2,
		{ err = "--" .. option .. " would write over the script held/pass.lua" })
end
case("a report over a profile", "srdlab profiles --json small >mine.json; "
	.. "srdlab run -p ./mine.json --timeline mine.json held; s=$?; test -s mine.json && exit $s", 2,
	{ err = "--timeline would write over mine.json, which this command reads" })
case("a report over suppressions", "srdlab run --suppressions suppressions --trace suppressions held", 2,
	{ err = "--trace would write over suppressions, which this command reads" })
case("a report of the bench over a script", "srdlab bench --json held/pass.lua packets", 2,
	{ err = "--json would write over the script held/pass.lua" })
case("the slowest", "srdlab run --slowest 2 " .. S .. "pass.lua", 0, { out = "\nslowest:\n" })

-- The small commands
case("profiles", "srdlab profiles", 0, { out = { "efa1", "small" } })
case("a profile", "srdlab profiles small", 0, { out = { "max_rdma_size", "4KiB" } })
case("a profile comes back",
	"srdlab profiles --json small >mine.json; srdlab profiles ./mine.json | grep max_rdma_size", 0,
	{ out = "4KiB" })
case("no such profile", "srdlab profiles smal", 2, { err = "smal" })
case("--json of two", "srdlab profiles --json small efa1", 2, { err = "one profile" })
-- Figures and their history
local function figures(name, per_second, bare)
	return ('{"name": "%s", "per_second": %s, "bare_loops_per_second": %s}'):format(name, per_second, bare)
end
write(dir .. "/old.json", '{"measurements": [' .. figures("requests", 2e6, 1e8) .. ","
	.. figures("gone", 5, 1) .. "]}")
write(dir .. "/new.json", '{"measurements": [' .. figures("requests", 3e6, 2e8) .. ","
	.. figures("added", 7, 1) .. "]}")
local compared = case("bench --compare", "srdlab bench --compare old.json new.json", 0, { err = "" })
check("twice the machine and half as much again", compared.out:find "requests +2000000 +3000000 +1%.500 +0%.750\n",
	compared.out)
check("a figure that is new", compared.out:find "added +%- +7\n", compared.out)
check("a figure that is gone", compared.out:find "gone +5 +%-\n", compared.out)
case("bench --compare with one report", "srdlab bench --compare old.json", 2, { out = "", err = "--compare OLD NEW" })
case("bench --compare with none", "srdlab bench --compare old.json none.json", 2, { out = "", err = "none.json" })
write(dir .. "/other.json", '{"measurements": [{"name": "requests"}]}')
case("bench --compare with another report", "srdlab bench --compare other.json new.json", 2,
	{ out = "", err = "other.json is no report of srdlab bench --json" })
write(dir .. "/broken.json", '{"measurements": [\n}')
case("bench --compare with a broken one", "srdlab bench --compare old.json broken.json", 2,
	{ out = "", err = "broken.json:2: " })

case("explain", "srdlab explain 14", 0,
	{ out = "REMOTE_ERROR_UNKNOWN_PEER  (IBV_WC_REM_OP_ERR, found by the responder)" })
case("explain a name", "srdlab explain REMOTE_ERROR_BAD_ADDRESS", 0, { out = " 7  " })
case("explain a wc status", "srdlab explain IBV_WC_RESP_TIMEOUT_ERR", 0, { out = { "13  ", "15  " } })
case("explain what EFA never says", "srdlab explain IBV_WC_MW_BIND_ERR", 0, { out = "no vendor error of EFA becomes" })
case("explain no word at all", "srdlab explain frobnicated", 2, { err = "no status is called \"frobnicated\"\n" })
case("explain everything", "srdlab explain", 0, { out = { " 0  OK", "18  " } })
case("explain nothing", "srdlab explain FLUSHD", 2, { err = "did you mean FLUSHED?" })
case("a number that is no status", "srdlab explain 17", 2, { err = "17" })
case("rules", "srdlab rules", 0, { out = { "chunk.cover ", "contract", "credit.overcommit " } })
case("one rule", "srdlab rules chunk.cover", 0,
	{ out = { "chunk.cover (contract)\n", "Where it is broken: ", "op_begin, " } })
case("a family and a class", "srdlab rules chunk advice", 0, { out = { "chunk.cover ", " advice " } })
case("no such rule", "srdlab rules chunk.cuver", 2, { err = "did you mean chunk.cover?" })
case("no rules to check", "srdlab rules --check --plants /nowhere", 2, { err = "/nowhere/plants.json" })
case("devices", "srdlab devices", 0, { out = { "efa: ", "mock: " } })

-- Manuals and completion: nothing that --help shows may be missing.
local commands = {}
for line in sh("srdlab --help").out:match "Commands:\n(.-)\n\n":gmatch "[^\n]+" do
	commands[#commands + 1] = line:match "^  (%l+)"
end
check("commands are found", #commands >= 8, table.concat(commands, " "))
for _, name in ipairs(commands) do
	local help = case("help of " .. name, "srdlab " .. name .. " --help", 0,
		{ out = { "Usage: srdlab " .. name, "Exit status" }, err = "" })
	local page = read(("%s/srdlab-%s.1"):format(manuals, name))
	for option in help.out:gmatch "\n  [^\n]-(%-%-[%l-]+)" do
		check(("%s %s is in the manual"):format(name, option), has(page, "Fl -" .. option:sub(3)), page)
	end
	check("the manual names " .. name, has(read(manuals .. "/srdlab.1"), "Xr srdlab-" .. name .. " 1"))
	local wide = ("\n" .. help.out):match "\n([^\n][^\n]{80,})"
	check("the help of " .. name .. " is 80 wide", not wide, wide)
end
if available "mandoc" then
	case("manuals are clean", "mandoc -T lint -W warning " .. manuals .. "/srdlab*.[15]", 0, { out = "" })
end

local function complete(line)
	local words = {}
	for word in line:gmatch "%S+" do
		words[#words + 1] = ("'%s'"):format(word)
	end
	if line:find " $" then
		words[#words + 1] = "''"
	end
	return sh(("bash -c '. %s/srdlab.bash; "
		.. "COMP_WORDS=(%s); COMP_CWORD=%d; _srdlab; printf \"%%s\\n\" \"${COMPREPLY[@]}\"'")
		:format(completion, table.concat(words, " "):gsub("'", "\""), #words - 1)).out
end
if available "bash" then
	check("bash completes commands", complete "srdlab re" == "replay\n", complete "srdlab re")
	check("bash completes options", complete "srdlab run --fil" == "--filter\n", complete "srdlab run --fil")
	check("bash completes profiles", complete "srdlab run --profile sm" == "small\n", complete "srdlab run --profile sm")
	check("bash completes backends", complete "srdlab run -b " == "efa\nmock\n", complete "srdlab run -b ")
	check("bash completes events", complete "srdlab show -e qp_cr" == "qp_create\n", complete "srdlab show -e qp_cr")
	check("bash completes files",
		has(complete("srdlab run " .. S .. "pa"), "pass.lua"), complete("srdlab run " .. S .. "pa"))
end

os.execute("rm -rf " .. dir)
print("1.." .. count)
os.exit(failures == 0)
