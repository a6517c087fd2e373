-- Plug-ins against the command from outside: good ones pass, each bad one is told in one
-- clear line, and the run goes on.
-- usage: lua plugin.lua PROGRAM FOLDER_OF_THE_PLUG_INS CONTRACT_SCENARIOS
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

local function run(options)
	local f = assert(io.popen(("%s run --replay-dir '' %s %s 2>&1; echo $?"):format(program, options, scenarios)))
	local text = f:read "a"
	f:close()
	local out, status = text:match "^(.*)\n(%d+)\n$"
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

-- OPTIONS end with STATUS, and each of the texts is in what is printed.
local function case(name, options, status, ...)
	local out, got = run(options)
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

-- These take as long as they may.
for _, name in ipairs { "loop", "sleep" } do
	case("a plug-in with the defect: " .. name,
		"--scenario-timeout 500ms --filter direct --queue-pair " .. plug_in("bad_" .. name), 1,
		"error: the plug-in hangs in queue pair put: it was stopped when the scenario's time was over",
		"at plant_here+0x", "0 passed, 1 failed, 0 skipped")
end

-- What is no plug-in is told before anything runs.
local function unfit(name, path, ...)
	case("a library that is none: " .. name, "--queue-pair " .. path, 2, "srdlab run: error: ", ...)
end
unfit("missing", "/nowhere/mine.so", "/nowhere/mine.so cannot be loaded: No such file or directory")
unfit("text", scenarios, "contract.lua cannot be loaded: invalid ELF header")
unfit("abi", plug_in "unfit_abi", "was built for ABI 77, this srdlab has ABI 1")
unfit("none", plug_in "unfit_none", "has no function srdlab_queue_pair_v1 (see srdlab/plugin.h)")
unfit("null", plug_in "unfit_null", "srdlab_queue_pair_v1 returned NULL, not a table")
unfit("part", plug_in "unfit_part", "the table of srdlab_queue_pair_v1 has NULL for create")
unfit("load", plug_in "unfit_load", "the plug-in crashed: signal 6 (Aborted)")
case("a queue pair is no scheduler", "--scheduler " .. plug_in "example_queue_pair", 2,
	"has no function srdlab_scheduler_v1")

print("1.." .. count)
os.exit(failures == 0)
