-- Plug-ins against the command from outside: good ones pass, each bad one is told in one
-- clear line, and the run goes on.
-- usage: lua plugin.lua PROGRAM FOLDER_OF_THE_PLUG_INS CONTRACT_SCENARIOS SUITE
local program, folder, scenarios = arg[1], arg[2], arg[3]
local count, failures = 0, 0

local function plug_in(name)
	for _, prefix in ipairs { "lib", "" } do
		local path = ("%s/%s%s.so"):format(folder, prefix, name)
		local f = io.open(path)
		if f then
			f:close()
			return path
		end
	end
	return folder .. "/" .. name .. ".so"
end

local function sh(command)
	local f = assert(io.popen(command .. " 2>&1; echo $?"))
	local text = f:read "a"
	f:close()
	local out, status = text:match "^(.-)\n?(%d+)\n$"
	return out, tonumber(status)
end

local function report(name, problems, out)
	count = count + 1
	if #problems > 0 then
		failures = failures + 1
		problems[#problems + 1] = out
	end
	print(("%s %d - %s"):format(#problems == 0 and "ok" or "not ok", count, name))
	for _, problem in ipairs(problems) do
		print("# " .. problem:gsub("\n", "\n# "))
	end
end

-- COMMAND ends with STATUS, and each of the texts is in what is printed.
local function command(name, line, status, ...)
	local out, got = sh(line)
	local problems = {}
	if got ~= status then
		problems[1] = ("status %d, not %d"):format(got, status)
	end
	for _, text in ipairs { ... } do
		if not out:find(text, 1, true) then
			problems[#problems + 1] = ("there is no %q"):format(text)
		end
	end
	report(name, problems, out)
end

-- The same for srdlab run.
local function case(name, options, status, ...)
	command(name, ("%s run --replay-dir '' %s %s"):format(program, options, scenarios), status, ...)
end

local queue_pair = "--queue-pair " .. plug_in "example_queue_pair"
local scheduler = "--scheduler " .. plug_in "example_scheduler"
local passed = "3 passed, 0 failed, 1 skipped"
case("the example queue pair passes", queue_pair, 0, passed, 'skipped 1: no tag "contract"')
case("the example scheduler passes", scheduler, 0, passed)
case("both pass together", queue_pair .. " " .. scheduler, 0, passed)
case("and in several processes", "-j 2 " .. queue_pair, 0, passed)

-- A defect that shows in both scenarios with a put; the one without passes.
local went_on = "1 passed, 2 failed, 1 skipped"
local function bad(name, message, ...)
	case("a plug-in with the defect: " .. name, "--queue-pair " .. plug_in("bad_" .. name), 1,
		"error: " .. message, went_on, ...)
end
bad("crash", "the plug-in crashed in queue pair put: signal 11 (Segmentation fault)", "at plant_here+0x")
bad("abort", "the plug-in crashed in queue pair put: signal 6 (Aborted)", "at plant_here+0x", "in libc.so")
bad("overflow", "the plug-in crashed in queue pair put: signal 11 (Segmentation fault)")
bad("exit", "the plug-in called exit(3) in queue pair put", "at plant_here+0x")
bad("quit", "the plug-in ended its process with status 4")
bad("count", "the plug-in's queue pair put gave 123456 ids where there is room for")
bad("result", "the plug-in's queue pair put returned 22: 0 or a negative errno is expected")
bad("ids", "id.")
bad("thread", "the plug-in called wr_start from another thread", "at start_here+0x")
bad("random", "the plug-in is not deterministic: two runs of it differ from event ", "first ", "second ")

-- What the interface does not allow, one answer at a time.
local answers = plug_in "answers"
local function answer(defect, message, options)
	local text = ("SRD_TEST_DEFECT='%s' %s run --replay-dir '' %s --queue-pair %s --scheduler %s %s"):format(defect,
		program, options or "", answers, answers, scenarios)
	command("a plug-in with the answer: " .. defect, text, 1, message)
end
answer("nothing made", "the plug-in's queue pair create returned 0 and made nothing: *out is NULL")
answer("no reason", "Device or resource busy (the plug-in gives no reason)")
answer("close", "the plug-in called close on the table, which is not its own")
answer("state", "the plug-in's queue pair state gave state 99, which there is not")
answer("size", "the plug-in's queue pair max_msg_size returned 4294967296: at most 2^32 - 1 is possible")
answer("requests", "the plug-in's queue pair num_requests returned 0 for ")
answer("array", "the plug-in's queue pair put changed the caller's array of ids")
for _, defect in ipairs { "hide", "descriptors" } do
	answer(defect, "the plug-in closed descriptors that are not its own", "--filter direct")
end
answer("killed", "the plug-in's process was killed by signal 9 (Killed) in queue pair put")
answer("alarm", "the plug-in was ended by an alarm of its own in queue pair put: signal 14 (Alarm clock)")
answer("memory", "the plug-in takes more than 1280MiB of memory in queue pair put: it was stopped",
	"--filter direct")
answer("fork", "the plug-in forks in queue pair put: ")
answer("status", "the plug-in's queue pair poll gave the completion status 1234, which there is not")
answer("two", "the plug-in's queue pair poll returned 2: 0, 1 or a negative errno is expected")
answer("result", "the plug-in's scheduler result returned 7: 0 or 1 is expected")
answer("positive", "the plug-in's op result returned 5: 0 or a negative errno is expected")
answer("op status", "the plug-in's scheduler result gave the completion status 1234, which there is not")
answer("errno", "the plug-in's scheduler progress returned -5000: 0, a count or a negative errno is expected")

-- What takes no signal is killed; its end is not its own.
for _, defect in ipairs { "blocked", "stopped" } do
	answer(defect, "the plug-in hangs in queue pair put: it was killed, as it took no signal, when the scenario's time "
		.. "was over", "--scenario-timeout 100ms --filter direct")
end
-- A child that the C library knows nothing of goes the way of its parent, and nothing of it is heard.
command("a plug-in that doubles itself", ("SRD_TEST_DEFECT=clone %s run --replay-dir '' --queue-pair %s %s"):format(
	program, answers, scenarios), 0, passed)
-- How it ends while it is loaded, before anything runs.
local function unloaded(defect, message)
	command("a plug-in that does: " .. defect, ("SRD_TEST_DEFECT='%s at once' %s run --replay-dir '' "
		.. "--scenario-timeout 100ms --queue-pair %s %s"):format(defect, program, answers, scenarios), 2,
		("%s while %s was loaded as the queue pair"):format(message, answers))
end
unloaded("crash", "the plug-in crashed")
unloaded("loop", "the plug-in hangs")
unloaded("leave", "the plug-in called exit(0)")
unloaded("quit", "the plug-in ended its process with status 0")

answer("late", "the plug-in's process was killed by signal 6 (Aborted), after the scenario")
local once = sh "mktemp -u"
command("a crash in one of two processes", ("SRD_TEST_FILE=%s SRD_TEST_DEFECT=once %s run --replay-dir '' "
	.. "--queue-pair %s %s"):format(once, program, answers, scenarios), 1,
	"error: the plug-in crashed in queue pair put: signal 6 (Aborted)", "2 passed, 1 failed, 1 skipped")
os.remove(once)
command("on a device that is not there", ("%s run --backend efa --device none --queue-pair %s %s"):format(program,
	plug_in "example_queue_pair", scenarios), 77, "0 passed, 0 failed, 4 skipped")

-- What a library was built without is not asked of it.
local many_peers = arg[4] .. "/many_peers.lua"
local function peers(name, option, plugin, ...)
	command(name, ("%s run %s %s %s"):format(program, option, plug_in(plugin), many_peers), 77, ...)
end
peers("a queue pair without peers", "--queue-pair", "example_queue_pair",
	'needs "peers": queue pair example in C has no add_peer, it has one peer')
peers("a scheduler without peers", "--scheduler", "example_scheduler",
	'needs "peers": scheduler example in C knows of one peer only')
peers("a queue pair of ABI 1", "--queue-pair", "old_queue_pair", "has no add_peer, it has one peer")
peers("a scheduler of ABI 1", "--scheduler", "old_scheduler", "knows of one peer only")
command("both of ABI 1 still do what they did", ("%s run --queue-pair %s --scheduler %s %s"):format(program,
	plug_in "old_queue_pair", plug_in "old_scheduler", scenarios), 0, "3 passed, 0 failed, 1 skipped")

-- A child of the plug-in's that holds the pipes neither holds the scenario nor outlives it; else
-- this test would be out of time.
local children = sh "mktemp"
command("a child that is left behind", ("SRD_TEST_FILE=%s %s run --replay-dir '' --scenario-timeout 1000s "
	.. "--filter direct --queue-pair %s %s"):format(children, program, plug_in "bad_fork", scenarios), 0,
	"1 passed, 0 failed, 0 skipped")
command("is ended with it", ("(test -s %s && for p in $(cat %s); do "
	.. "while grep -q '^State:.[^ZX]' /proc/$p/status 2>/dev/null; do sleep 0.1; done; done)"):format(children,
	children), 0)
os.remove(children)

-- A failure is repeated from its replay file, and a trace shows what the plug-in did.
local dir = sh "mktemp -d"
command("a failure leaves a replay file", ("%s run --replay-dir %s --filter direct --queue-pair %s %s"):format(program,
	dir, plug_in "bad_crash", scenarios), 1, "replay: ")
command("which repeats it", ("%s replay %s/*.json"):format(program, dir), 1,
	"the plug-in crashed in queue pair put: signal 11 (Segmentation fault)")
command("a plug-in is traced", ("%s run --trace %s/trace --filter direct %s %s"):format(program, dir, queue_pair,
	scenarios), 0, "1 passed, 0 failed, 0 skipped")
command("and the trace is shown", ("%s show --event op_begin %s/trace"):format(program, dir), 0, "kind=PUT")
sh("rm -r " .. dir)

-- Two runs that are stopped by their time are stopped at different events.
local endless = sh "mktemp"
sh(("echo 'require(\"srdlab\").scenario(\"for ever\", { tags = { \"contract\" } }, function(t) "
	.. "t:pair {} while true do t:run_for \"1us\" end end)' >%s"):format(endless))
command("a scenario without an end", ("%s run --replay-dir '' --scenario-timeout 200ms %s %s | tee %s.out"):format(
	program, queue_pair, endless, endless), 0, "out of time: ", "0 passed, 1 failed, 0 skipped")
command("which is no matter of chance", ("! grep 'not deterministic' %s.out"):format(endless), 0)
sh(("rm %s %s.out"):format(endless, endless))

-- These take as long as they may.
for _, name in ipairs { "loop", "sleep" } do
	case("a plug-in with the defect: " .. name,
		"--scenario-timeout 2s --filter direct --queue-pair " .. plug_in("bad_" .. name), 1,
		"error: the plug-in hangs in queue pair put: it was stopped when the scenario's time was over",
		"at plant_here+0x", "0 passed, 1 failed, 0 skipped")
end

-- What is no plug-in is told before anything runs.
local function unfit(name, path, ...)
	case("a library that is none: " .. name, "--queue-pair " .. path, 2, "srdlab run: error: ", ...)
end
unfit("missing", "/nowhere/mine.so", "/nowhere/mine.so cannot be loaded: No such file or directory")
unfit("text", scenarios, "contract.lua cannot be loaded: invalid ELF header")
unfit("abi", plug_in "unfit_abi", "was built for ABI 77, this srdlab has ABI 2")
unfit("none", plug_in "unfit_none", "has no function srdlab_queue_pair_v1 (see srdlab/plugin.h)")
unfit("null", plug_in "unfit_null", "srdlab_queue_pair_v1 returned NULL, not a table")
unfit("part", plug_in "unfit_part", "the table of srdlab_queue_pair_v1 has NULL for create")
unfit("peers", plug_in "unfit_peers", "the table of queue pair half has NULL for put_to, but not for all of")
unfit("load", plug_in "unfit_load", "the plug-in crashed while " .. plug_in "unfit_load",
	" was loaded as the queue pair: signal 6 (Aborted)")
case("a queue pair is no scheduler", "--scheduler " .. plug_in "example_queue_pair", 2,
	"has no function srdlab_scheduler_v1")

-- What srdlab rules --check makes of a manifest, right or wrong.
local plants = sh "mktemp -d"
sh(("cp %s %s"):format(scenarios, plants))
for name, of in pairs { good = "example_queue_pair", bad = "bad_ids", crash = "bad_crash" } do
	sh(("ln -s %s %s/%s.so"):format(plug_in(of), plants, name))
end
local function check(name, list, status, ...)
	local f = assert(io.open(plants .. "/plants.json", "w"))
	f:write(("{\"format\": \"srdlab-plants\", \"schema\": 1, \"plants\": [%s]}"):format(list))
	f:close()
	command("plants: " .. name, ("%s rules --check --plants %s"):format(program, plants), status, ...)
end
local function plant(name, rule, also)
	return ("{\"name\": %q, \"kind\": \"queue_pair\", \"defect\": \"%s ids\", %s\"also\": [%s]}"):format(name, name,
		rule and ("\"rule\": %q, "):format(rule) or "", also or "")
end
local clean, flagged = plant "good", plant("bad", "id.returned",
	"\"credit.count\", \"credit.idle\", \"completion.op_unanswered\"")
check("as their manifests say", clean .. "," .. flagged, 0, "good   good ids  ", "id.returned   as expected",
	"2 plants: 2 flagged as their manifests say, 0 not")
check("a defect that nothing flags", plant("good", "id.first"), 1, "not flagged")
check("a rule that is not the first", plant("bad", "credit.count"), 1, "another rule first", "id.returned in \"")
check("rules that may not follow", plant("bad", "id.returned"), 1, "other rules too")
check("a false alarm", plant "bad", 1, "false alarm")
check("a plant that dies", plant("crash", "id.first") .. "," .. clean, 1, "not judged",
	"the plug-in crashed in queue pair put: signal 11 (Segmentation fault)", "1 flagged as their manifests say, 1 not")
check("a file that is missing", plant("none", "id.first"), 1, "not judged", "none.so cannot be loaded")
check("a rule that there is not", plant("bad", "id.frist"), 2, "plants.json: bad names a rule that there is not")
check("no manifest at all", "7", 2, "plants.json: a plant has a name, a kind, a defect")
check("broken text", "{", 2, "plants.json: ")
command("plants: no folder", program .. " rules --check --plants /nowhere", 2, "/nowhere/plants.json: ")
check("one of them", clean .. "," .. flagged, 0)
command("plants: an unknown name", ("%s rules --check --plants %s god"):format(program, plants), 2,
	"no plant is called \"god\"; did you mean good?")
command("plants: one by its name", ("%s rules --check -v --plants %s bad"):format(program, plants), 0,
	"id.returned in \"", "1 plants: 1 flagged as their manifests say, 0 not")
sh("rm -r " .. plants)

print("1.." .. count)
os.exit(failures == 0)
