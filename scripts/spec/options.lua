-- The command line: every subcommand and option. From here come the option tables in C, the
-- --help texts, the man pages and the shell completions, so that none can lack what another
-- has.
--
-- An option: { "name", letter = "n", kind = ..., arg = "WORD", default = ..., help = ...,
-- group = "heading", range = { lo, hi }, complete = ..., conflicts = "other option",
-- repeated = ... }.
-- kind   flag, text, list (text, may be repeated), number, size (takes "64MiB"), time (takes
--        "30s"), seeds (takes A..B).
-- complete   file, folder, backend, profile, rule, event, or nothing: what a shell offers.
-- Each option can also be given as the environment variable SRDLAB_NAME unless it says
-- env = false; the command line wins. A list takes its parts separated by commas there, a
-- flag 1 or 0.
-- A set is a group of options that several commands share; it becomes a structure in C.
local sets = {}

-- Sets that decide what a scenario does: the command that repeats a failure has them, as it has
-- the single options with repeated = true.
local repeated = { "lab", "plug_in", "judge", "sandbox" }

sets.lab = {
	{ "backend", letter = "b", kind = "text", arg = "NAME", default = "mock", complete = "backend",
		group = "Where it runs",
		help = "What the scenarios run on: mock, the deterministic model, or efa, a real device "
			.. "through rdma-core." },
	{ "profile", letter = "p", kind = "text", arg = "PROFILE", default = "efa1", complete = "profile",
		group = "Where it runs",
		help = "The device and fabric that the mock imitates: the name of a built-in profile, or a "
			.. "JSON file." },
	{ "define", letter = "D", kind = "list", arg = "FIELD=VALUE", group = "Where it runs",
		help = "Change one field of the profile, such as loss=5000 or latency=2us. May be repeated." },
	{ "device", letter = "d", kind = "text", arg = "NAME", group = "Where it runs",
		help = "The EFA device to use, such as rdmap0s6. The first one found unless given." },
}

sets.plug_in = {
	{ "queue-pair", kind = "text", arg = "FILE", complete = "file", group = "What is tested",
		help = "A shared library with a queue pair of your own (srdlab/plugin.h), in place of srdlab's. "
			.. "Only scenarios with the tag contract run, each in two processes of its own." },
	{ "scheduler", kind = "text", arg = "FILE", complete = "file", group = "What is tested",
		help = "A shared library with a scheduler of your own; it may be the same file." },
}

sets.judge = {
	{ "rules", letter = "r", kind = "text", arg = "LIST", default = "law,contract", complete = "rule",
		group = "How it is judged",
		help = "The rules to apply: ids, families, classes, all or none, separated by commas; a "
			.. "leading - takes away, as in all,-advice." },
	{ "suppressions", kind = "text", arg = "FILE", complete = "file", group = "How it is judged",
		help = "Violations that are known, each with a reason; they are not reported." },
	{ "orders-max", kind = "number", arg = "N", default = "0", range = { 0, 10 ^ 9 }, group = "What runs",
		help = "Of a scenario that asks for every order of its messages, run N at most; 0: what the "
			.. "scenario says, or 1000." },
}

sets.sandbox = {
	{ "memory", kind = "size", arg = "SIZE", default = "256MiB", group = "What a script may do",
		range = { 2 ^ 20, 2 ^ 40 },
		help = "Memory that the Lua of one scenario may use. The process of a plug-in may hold 1 GiB "
			.. "more, in all." },
	{ "scenario-timeout", kind = "time", arg = "TIME", default = "60s", group = "What a script may do",
		range = { 10 ^ 6, 10 ^ 15 },
		help = "Wall time that one scenario may take before it fails; to load a script too, but 10 s at most, "
			.. "or a plug-in, but 3 s at least and 10 s at most." },
	{ "unsafe-lua", kind = "flag", group = "What a script may do",
		help = "Give scripts the io, os and package libraries too. They can then read and write "
			.. "files and start programs." },
}

sets.filter = {
	{ "filter", letter = "f", kind = "list", arg = "PATTERN", group = "What runs",
		help = "Only scenarios whose name contains PATTERN, or matches it where it holds *, ? or [; "
			.. "tag:NAME selects by tag; a leading ! takes away. May be repeated: any of them selects." },
}

sets.trace = {
	{ "trace", kind = "text", arg = "FILE", complete = "file", group = "Reports",
		help = "Write every event to FILE; srdlab show reads it." },
	{ "timeline", kind = "text", arg = "FILE", complete = "file", group = "Reports",
		help = "Write a timeline in the Chrome trace format, which Perfetto and chrome://tracing "
			.. "open." },
}

local verbose = { "verbose", letter = "v", kind = "flag", group = "Reports" }
local function say(help)
	local option = { help = help }
	for k, v in pairs(verbose) do
		option[k] = v
	end
	return option
end

local run_exits = { "passed", "failed", "usage", "none", "skipped", "internal", "timeout", "interrupted" }

local commands = {
	{ "run", usage = "[OPTION]... FILE|FOLDER...", summary = "run scenarios and judge them",
		arguments = { min = 1, what = "a file or a folder of scenarios", complete = "file" },
		sets = { "filter", "lab", "plug_in", "judge", "sandbox", "trace" },
		description = {
			"Runs the scenarios of each FILE, and of each .lua file below each FOLDER, in the order of "
				.. "their names. FILE:LINE runs only the scenario that stands at that line.",
			"A scenario passes, fails, or is skipped with a reason. Results go to standard output, in "
				.. "the order of the scripts whatever --jobs says, and diagnostics to standard error. The "
				.. "last line counts: N passed, N failed, N skipped.",
			"Where scenarios show bugs of a list, in a broken and a right form, the report ends with a table: "
				.. "what flagged each broken form, and whether the right one passed.",
			"In the mock, the same script, seed and profile always give the same run, down to the hash "
				.. "of its trace. A failing scenario leaves a replay file and the command that repeats it.",
		},
		options = {
			{ "seed", letter = "s", kind = "number", arg = "N", default = "1", range = { 0, math.maxinteger },
				group = "What runs", conflicts = "seeds", help = "The seed of every choice that is random." },
			{ "seeds", kind = "seeds", arg = "A..B", group = "What runs",
				help = "Run each scenario with every seed from A to B." },
			{ "jobs", letter = "j", kind = "number", arg = "N", default = "1", range = { 0, 1024 },
				group = "What runs",
				help = "Run in N processes, beside this one; 0 takes one for each processor. A crash costs one "
					.. "scenario. With --trace or --timeline it is one. For a debugger, srdlab replay runs in its own process." },
			{ "timeout", kind = "time", arg = "TIME", group = "What runs", range = { 10 ^ 6, 10 ^ 15 },
				help = "Wall time for the whole run; what finished by then is reported." },
			{ "fail-on-skip", kind = "flag", group = "How it is judged",
				help = "A skipped scenario is a failure: for jobs that must not miss their device." },
			{ "tap", kind = "flag", group = "Reports",
				help = "Write the results as TAP (version 13, and 14) to standard output." },
			{ "junit", kind = "text", arg = "FILE", complete = "file", group = "Reports",
				help = "Write a JUnit XML report; - is standard output." },
			{ "json", kind = "text", arg = "FILE", complete = "file", group = "Reports",
				help = "Write a report in JSON; - is standard output." },
			{ "replay-dir", kind = "text", arg = "FOLDER", default = "srdlab-replay", complete = "folder",
				group = "Reports",
				help = "Where a failing scenario leaves its replay file; made when it is needed. An empty "
					.. "name leaves none." },
			{ "slowest", kind = "number", arg = "N", default = "0", range = { 0, 1000 }, group = "Reports",
				help = "Name the N scenarios that took the most wall time." },
			say "A line for each scenario, with its virtual time, number of events and trace hash.",
		},
		exits = run_exits,
		examples = {
			{ "srdlab run scripts/scenarios", "The whole suite on the mock." },
			{ "srdlab run chunks.lua:42", "The scenario at line 42." },
			{ "srdlab run --seeds 1..200 --jobs 0 --filter tag:seeds scripts/scenarios",
				"Two hundred seeds of the scenarios with the tag seeds, on every processor." },
			{ "srdlab run -D loss=20000 -D order=adversarial chunks.lua", "On a bad network." },
			{ "srdlab run --queue-pair ./libmine.so --scheduler ./libmine.so scripts/scenarios",
				"Your own queue pair and scheduler." },
			{ "srdlab run --backend efa --fail-on-skip --junit efa.xml scripts/scenarios",
				"On a real device, for a CI job." },
		} },
	{ "exec", usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
		summary = "run a program on a software EFA device",
		program = true, -- options end where the program begins
		arguments = { min = 1, what = "a program to run" },
		sets = { "trace" },
		description = {
			"Runs PROGRAM, which uses libibverbs and libefa as they are, on a machine that needs no "
				.. "EFA device and no RDMA at all: a preloaded library shows it devices efa_0, efa_1 and "
				.. "so on, and the mock's model stands behind them. The program's children are on the "
				.. "same devices, as processes of one machine are.",
			"The exit status is the program's own, 128 and the signal's number where one ended it, 126 "
				.. "where it cannot be executed, 127 where it is not found; 2 where the script is wrong, whatever "
				.. "the program's own is; 77 where there was no device to judge, steer or log. "
				.. "Processes that live on after the program are waited for; SIGINT ends that.",
			"With --rules every event of the program and its children is judged as a scenario's is: each "
				.. "violation is printed when it is found, with the stack of the call, and counted at the end. "
				.. "In flight is a request whose completion the program has not taken. A program whose "
				.. "libibverbs is linked statically shows less; rules that need more are named as not judged.",
		},
		options = {
			{ "rules", letter = "r", kind = "text", arg = "LIST", complete = "rule",
				group = "How it is judged",
				help = "The rules to apply: ids, families, classes, all or none, separated by commas; a "
					.. "leading - takes away. None unless given." },
			{ "suppressions", kind = "text", arg = "FILE", complete = "file", group = "How it is judged",
				help = "Violations that are known, each with a reason; they are not reported." },
			{ "error-exitcode", kind = "number", arg = "N", default = "0", range = { 0, 255 },
				group = "How it is judged",
				help = "The exit status where a rule was broken, whatever the program's own is." },
			{ "profile", repeated = true, letter = "p", kind = "text", arg = "PROFILE", default = "efa1", complete = "profile",
				group = "Where it runs",
				help = "The device and fabric to imitate: the name of a built-in profile, or a JSON file. "
					.. "Depths above 32768 are lowered: libefa counts with 16 bits." },
			{ "define", repeated = true, letter = "D", kind = "list", arg = "FIELD=VALUE", group = "Where it runs",
				help = "Change one field of the profile, such as loss=5000 or latency=2us. May be repeated." },
			{ "order", repeated = true, kind = "text", arg = "ORDER", group = "Where it runs",
				help = "The order in which things arrive: in_order, random or adversarial." },
			{ "seed", repeated = true, letter = "s", kind = "number", arg = "N", default = "1", range = { 0, math.maxinteger },
				group = "What runs", help = "The seed of every choice that is random." },
			{ "script", repeated = true, kind = "text", arg = "FILE", complete = "file", group = "What runs",
				help = "A Lua script over the program: its functions are called as devices, queue pairs "
					.. "and requests appear, and make requests wait, fail, be lost or come late (by the wall "
					.. "clock), receivers not ready, devices die. See docs/device.md. Given by the first "
					.. "of a group." },
			{ "decisions", kind = "text", arg = "FILE", complete = "file", group = "Reports",
				help = "Write down what the device decided and when, for srdlab replay." },
			{ "devices", repeated = true, kind = "number", arg = "N", default = "0", range = { 0, 64 }, group = "Where it runs",
				help = "How many devices there are, each with a GID of its own; 0: as many as the profile "
					.. "says." },
			{ "group", kind = "text", arg = "NAME", group = "Where it runs",
				help = "Programs that are run with the same NAME reach one another, each on devices of its "
					.. "own, as on different machines. Profile and seed are those of the first." },
			{ "clock", repeated = true, kind = "text", arg = "CLOCK", default = "auto", group = "What runs",
				help = "auto: timers, and delays that were asked for, take real time (the fabric's latency does "
					.. "not), and a program that waits without calling is helped after a millisecond. "
					.. "called: the device moves in the program's calls only, so that a "
					.. "run of one thread is repeated exactly by its seed; a program that never polls "
					.. "waits for ever." },
			{ "doorbell", repeated = true, kind = "text", arg = "HOW", default = "auto", group = "What runs",
				help = "How the device learns of work. auto: through the library's functions, and where "
					.. "a program fills the rings by itself, by a trap. trapped: always by a trap. "
					.. "watched: by looking, which is slowest. Given by the first of a group." },
			{ "memory", repeated = true, kind = "text", arg = "HOW", default = "shared", group = "What runs",
				help = "How processes reach each other's memory. shared: by mapping what they register, "
					.. "where it is private memory of a process of one thread, else as with copied. "
					.. "copied: by process_vm_writev. Given by the first of a group." },
		},
		exits = { "internal", "usage" },
		examples = {
			{ "srdlab exec -- ibv_devinfo -v", "What the device says of itself." },
			{ "srdlab exec --order adversarial --seed 7 -- ./my_test", "A test, out of order." },
			{ "srdlab exec --rules law --error-exitcode 33 -- ./my_test", "A test, judged, in a CI job." },
			{ "srdlab exec --script faults.lua -- ./my_test", "A test, with faults." },
			{ "srdlab exec --profile small --devices 2 -- ./my_program" },
		} },
	{ "check", usage = "[OPTION]... FILE|FOLDER...", summary = "load scenarios and look for mistakes, without running them",
		arguments = { min = 1, what = "a file or a folder of scenarios", complete = "file" },
		sets = { "sandbox" },
		description = {
			"Loads each script, which looks at all that its scenarios declare: their names, options, "
				.. "needs and rules. A file without a scenario is a problem too, unless it is a script for "
				.. "srdlab exec --script, which is loaded as that command does. Nothing runs.",
		},
		options = {},
		exits = { "passed", "failed", "usage", "internal" },
		examples = { { "srdlab check scripts/scenarios" } } },
	{ "list", usage = "[OPTION]... FILE|FOLDER...", summary = "name the scenarios of files and folders",
		arguments = { min = 1, what = "a file or a folder of scenarios", complete = "file" },
		sets = { "filter", "sandbox" },
		description = {
			"Prints one line for each scenario: where it stands, and its name. What stands before the "
				.. "name is what srdlab run takes.",
		},
		options = {
			{ "json", kind = "flag", group = "Reports", env = false,
				help = "Print JSON, with all that a scenario declares." },
			say "Tags, needs and description too.",
		},
		exits = { "passed", "failed", "usage", "none", "internal" },
		examples = { { "srdlab list --filter tag:contract scripts/scenarios" } } },
	{ "replay", usage = "[OPTION]... FILE", summary = "repeat a failing run from its replay file",
		arguments = { min = 1, max = 1, what = "a replay file", complete = "file" },
		sets = { "trace" },
		description = {
			"Runs the scenario of a replay file again: the same text of the script, seed, profile and "
				.. "options. Then says whether the trace was the same, event by event.",
			"Of a log of decisions that srdlab exec wrote, runs the program again and lets the device decide "
				.. "as it did; where the program does something else, says at which decision. The exit status is "
				.. "that of the program, or 1 where that is 0 and the log was left.",
		},
		options = {
			{ "unsafe-lua", kind = "flag", group = "What a script may do", env = false,
				help = "Allow a replay file to use the io, os and package libraries where its run had "
					.. "them. A replay file holds a program: look at it first." },
			say "The scenario's line too, with its virtual time, number of events and trace hash.",
		},
		exits = { "passed", "failed", "usage", "skipped", "internal", "interrupted" },
		examples = { { "srdlab replay srdlab-replay/chunks-42-seed1.json" },
			{ "srdlab replay run.json", "A program, from the decisions that srdlab exec wrote down." } } },
	{ "rules", usage = "[OPTION]... [RULE|FAMILY|CLASS|TRACE]...",
		summary = "name the rules, explain some, judge a trace by them, or check them",
		arguments = { min = 0, complete = "rule" },
		sets = { "judge" },
		description = {
			"Without arguments, prints every rule with its class and its statement; with arguments, "
				.. "explains these: what they demand and what goes wrong on a device where they are broken.",
			"A file is a trace that --trace of run or exec wrote: it is judged, each scenario of it by "
				.. "itself, and violations go to standard error. Of a trace of exec, a stack is a number only.",
			"With --check, proves the rules: queue pairs and schedulers with one planted defect each run, as "
				.. "plug-ins, against every scenario with the tag contract. Each has a manifest: the rule that must be "
				.. "raised first, and those that may follow. A table shows what was raised; where a plant is not "
				.. "flagged as its manifest says, the reason stands below it. Arguments are names of plants then.",
		},
		options = {
			{ "check", letter = "c", kind = "flag", group = "What runs", env = false,
				help = "Run the planted defects and print the table." },
			{ "jobs", letter = "j", kind = "number", arg = "N", default = "0", range = { 0, 1024 },
				group = "What runs", help = "Run N plants at once; 0 takes one for each processor." },
			{ "seeds", kind = "seeds", arg = "A..B", group = "What runs",
				help = "Run the scenarios that vary with the seed with every seed from A to B." },
			{ "plants", kind = "text", arg = "FOLDER", complete = "folder", group = "What runs",
				help = "The folder of the plants, their manifest plants.json, and the scenarios. Unless given, "
					.. "the one that was built or installed with srdlab." },
			say "Say where each rule was raised, and why, for plants that are flagged as expected too.",
		},
		exits = { "passed", "failed", "usage", "internal" },
		examples = { { "srdlab rules" }, { "srdlab rules chunk.cover" },
			{ "srdlab rules --rules law,advice run.trace", "Judge it again, by other rules." },
			{ "srdlab rules --check", "All planted defects." },
			{ "srdlab rules --check -v overlap", "One of them, with what was said." } } },
	{ "show", usage = "[OPTION]... FILE", summary = "show a trace as text",
		arguments = { min = 1, max = 1, what = "a trace", complete = "file" },
		description = {
			"Prints a line for each event of a trace that run --trace wrote, with its time, host, object "
				.. "and fields; then what they add up to: ops, requests, bytes, completions by status, and "
				.. "for each queue pair what it had in flight at most.",
			"A trace that was cut short is shown as far as it goes.",
		},
		options = {
			{ "qp", letter = "q", kind = "list", arg = "N", group = "What is shown",
				help = "Only events of queue pair N, counted from 1 in the order in which they were made. "
					.. "May be repeated." },
			{ "event", letter = "e", kind = "list", arg = "TYPE", complete = "event", group = "What is shown",
				help = "Only events of this type, such as wr_post. May be repeated." },
			{ "summary", kind = "flag", group = "What is shown", conflicts = "no-summary",
				help = "The sums only." },
			{ "no-summary", kind = "flag", group = "What is shown", help = "The events only." },
		},
		exits = { "passed", "usage", "internal" },
		examples = {
			{ "srdlab show --qp 1 --event wr_post --event wc run.trace", "What one queue pair posted and reaped." },
			{ "srdlab show --summary run.trace" },
		} },
	{ "devices", usage = "", summary = "name the devices of each backend",
		arguments = { min = 0, max = 0 },
		description = { "Prints the devices that each backend could use, one a line." },
		options = {},
		exits = { "passed", "usage", "internal" },
		examples = { { "srdlab devices" } } },
	{ "profiles", usage = "[OPTION]... [PROFILE]...", summary = "name the profiles, or print the fields of some",
		arguments = { min = 0, complete = "profile" },
		description = {
			"Without arguments, names the built-in profiles; with arguments, prints every field of "
				.. "these with its value, and where the value comes from: a measurement, somebody's source, "
				.. "or a guess. PROFILE is a name or a JSON file.",
		},
		options = {
			{ "json", kind = "flag", group = "Reports", env = false,
				help = "Print a profile as JSON: what --profile reads." },
		},
		exits = { "passed", "usage", "internal" },
		examples = {
			{ "srdlab profiles efa1" },
			{ "srdlab profiles --json small >mine.json", "A profile of your own to begin with." },
		} },
	{ "explain", usage = "[STATUS]...", summary = "say what a completion status means",
		arguments = { min = 0 },
		description = {
			"STATUS is a vendor error of EFA (a number, or its name), or the name of an ibv_wc_status. "
				.. "Without arguments, explains all vendor errors.",
		},
		options = {},
		exits = { "passed", "usage", "internal" },
		examples = { { "srdlab explain 14" }, { "srdlab explain IBV_WC_REM_ACCESS_ERR" } } },
	{ "bench", usage = "[OPTION]... [NAME]...", summary = "measure how fast the laboratory is",
		arguments = { min = 0, what = "a measurement" },
		sets = {},
		description = {
			"Measures requests, packets, ops of Lua and scenarios a second on the mock, each beside a "
				.. "bare loop that moves a record of 64 bytes through a ring, so that figures of two "
				.. "machines can be compared; and the memory that stays resident.",
			"NAME is one of requests, requests-rules, requests-trace, packets, packet-events, packet-hosts, "
				.. "chunks, lua-ops, scenarios and memory; all of them unless given. Time is the processor's, "
				.. "and the medians of the runs are printed. Only where it is named, linear runs up to a hundred "
				.. "million requests, which takes a minute.",
			"With --compare nothing is measured: the one argument is a report of --json, and its figures are "
				.. "printed beside those of OLD, with their ratios.",
		},
		options = {
			{ "runs", kind = "number", arg = "N", default = "5", range = { 1, 99 }, group = "What runs",
				help = "How often each measurement is repeated." },
			{ "time", kind = "time", arg = "TIME", default = "250ms", range = { 10 ^ 6, 10 ^ 11 },
				group = "What runs", help = "About how long one run takes." },
			{ "json", kind = "text", arg = "FILE", complete = "file", group = "Reports",
				help = "Write a report in JSON." },
			{ "compare", kind = "text", arg = "OLD", complete = "file", group = "Reports", env = false,
				help = "Compare the report that is the argument with OLD." },
		},
		exits = { "passed", "usage", "internal" },
		examples = { { "srdlab bench requests requests-rules" }, { "srdlab bench --compare old.json new.json" } } },
	{ "version", usage = "", summary = "print the versions of srdlab and of what it is built with",
		arguments = { min = 0, max = 0 },
		description = { "Prints the version of srdlab, of Lua, of rdma-core and of the trace format." },
		options = {},
		exits = { "passed", "usage" },
		examples = { { "srdlab version" } } },
}

return {
	name = "srdlab",
	date = "November 30, 2026", -- of the manual pages
	summary = "a laboratory for AWS EFA SRD queue pairs",
	description = {
		"Runs scenarios in Lua about SRD queue pairs, on a deterministic mock of an EFA device or on a "
			.. "real one, and verifies every chunk, credit and completion.",
	},
	sets = sets,
	repeated = repeated,
	commands = commands,
	-- In the order in which they apply: the first one that does is the status.
	exits = {
		{ "internal", 99, "the tool itself failed" },
		{ "timeout", 124, "the whole run was out of time" },
		{ "interrupted", 130, "it was interrupted" },
		{ "failed", 1, "a scenario failed, or a file could not be loaded" },
		{ "usage", 2, "wrong usage, or nothing could be loaded" },
		{ "none", 5, "no scenario was selected" },
		{ "skipped", 77, "every scenario was skipped" },
		{ "passed", 0, "all is well" },
	},
}
