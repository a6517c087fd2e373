-- What other people's programs make of the software device: the tables of docs/conformance.md
-- are what this sees.
-- usage: lua report.lua check|write SRDLAB TOP PART [VERSION]...
--   check  run PART, and compare what it makes with the page: 0, or 1 and what differs, or 77
--          and why it cannot be run here
--   write  run PART, and put what it makes into the page
--   PART   devinfo [RDMA_CORE]; perftest [VERSION RDMA_CORE]; pingpong; mpi; pyverbs RDMA_CORE.
--          Without a version what is installed; else what the scripts of the project build.
--          old-faults PROGRAM, which is tests/conformance/old_faults.c
-- Whatever the page says, a program that fails is a failure: the page may say what a program
-- itself refuses, and what it skips with which reason.
local mode, srdlab, top, part, version, core = table.unpack(arg)
local here = top .. "/tests/conformance/"
local page = top .. "/docs/conformance.md"
local failures = {}

local function skip(...)
	print(("%s: %s"):format(part, (...)))
	os.exit(77)
end

-- What COMMAND says, and its exit status.
local function capture(command)
	local pipe = assert(io.popen("{ " .. command .. "; } 2>&1"))
	local text = pipe:read "a"
	local _, _, status = pipe:close()
	return text, status or 0
end

-- The folder that scripts/NAME prints.
local function built(name, ...)
	local text, status = capture(("'%s/scripts/%s' %s"):format(top, name, table.concat({ ... }, " ")))
	if status == 77 then
		skip(text)
	end
	assert(status == 0, text)
	return text:match "([^\n]*)\n$"
end

local function installed(package)
	local text, status = capture("dpkg-query -W -f '${Version}' " .. package)
	if status ~= 0 then
		skip(package .. " is not installed")
	end
	return text:match "^%d+%.%d+"
end

local function fail(format, ...)
	failures[#failures + 1] = format:format(...)
	return "FAILS"
end

local function row(cells)
	return "| " .. table.concat(cells, " | ") .. " |"
end

local function new_table(head)
	return { row(head), "|" .. ("---|"):rep(#head) }
end

-- ---- ibv_devinfo ----

-- Fields of `ibv_devinfo -v`, and of the profile what each of them is to be.
local devinfo_fields = {
	{ "vendor_part_id", "vendor_part_id" }, { "max_qp", "max_qp" }, { "max_cq", "max_cq" },
	{ "max_cqe", "max_cqe" }, { "max_mr", "max_mr" }, { "max_pd", "max_pd" }, { "max_ah", "max_ah" },
}

local function profile_of(name)
	local fields = {}
	for field, value in capture(("'%s' profiles %s"):format(srdlab, name)):gmatch "\n([%w_]+) +(%S+)" do
		fields[field] = value
	end
	return fields
end

local function devinfo()
	local program = version and built("rdma-core.sh", version) .. "/bin/ibv_devinfo" or "ibv_devinfo"
	local of = version or installed "ibverbs-utils"
	local head = { "profile" }
	for _, field in ipairs(devinfo_fields) do
		head[#head + 1] = "`" .. field[1] .. "`"
	end
	local lines = new_table(head)
	for _, profile in ipairs { "efa0", "efa1", "efa2", "efa3", "efa4", "small" } do
		local text, status = capture(("'%s' exec --profile %s -- %s -v"):format(srdlab, profile, program))
		local known = not text:find "No IB devices found"
		local wanted, cells = profile_of(profile), { known and profile or profile .. ": unknown to this libefa" }
		for _, field in ipairs(devinfo_fields) do
			local value = text:match("\n%s+" .. field[1] .. ":%s+(%d+)")
			cells[#cells + 1] = value or "-"
			if known and (status ~= 0 or value ~= wanted[field[2]]) then
				fail("%s: ibv_devinfo says %s = %s, the profile %s: %s", profile, field[1], value, wanted[field[2]], text)
			end
		end
		lines[#lines + 1] = row(cells)
	end
	return { { "ibv_devinfo of rdma-core " .. of, lines } }
end

-- ---- perftest ----

local bandwidth = {
	{ "2 B to 8 MiB", "-a -n 5" }, { "64 MiB", "-s 67108864 -n 5" },
	{ "16 queue pairs", "-q 16 -s 4096 -n 100" }, { "events", "-e -s 4096 -n 100" },
	{ "16 both ways", "-b -q 16 -s 4096 -n 100" },
}
local none = { "-" }
local latency = { { "2 B", "-s 2 -n 100" }, bandwidth[2], none, bandwidth[4], none }
local sends = { { "2 B to the MTU", "-a -n 5" }, none, bandwidth[3], bandwidth[4], bandwidth[5] }

-- A latency test of writes with the library's default of inline bytes writes more of them than
-- a 64-byte entry holds.
local perftests = {
	{ "ib_read_bw", bandwidth }, { "ib_read_lat", latency },
	{ "ib_write_bw", bandwidth }, { "ib_write_lat -I 0", latency },
	{ "ib_write_bw --write_with_imm", bandwidth }, { "ib_write_lat -I 0 --write_with_imm", latency },
	{ "ib_send_bw", sends }, { "ib_send_lat", { latency[1], none, none, bandwidth[4], none } },
}

-- "passes", or what perftest itself refuses.
local function perftest_cell(folder, tool, options)
	if not options then
		return "-"
	end
	local command = ("sh '%s/perftest.sh' '%s' %s -c SRD %s"):format(here, srdlab, tool, options)
	local text, status = capture((folder and ("PATH='%s':$PATH "):format(folder) or "") .. command)
	if status == 0 then
		return "passes"
	end
	-- It says so before it has anything to do with a device, and ends.
	local why = text:match "^%s*([^\n]-)%s*\n"
	if status == 1 and why and not text:find "local address" then
		return "refused: " .. why:gsub("|", "/")
	end
	return fail("%s %s: status %d: %s", tool, options, status, text)
end

local function perftest()
	local folder = version and built("perftest.sh", version, core)
	local name = ("perftest %s over rdma-core %s"):format((version or installed "perftest"):match "^%d+%.%d+",
		core or installed "libibverbs1")
	local head = { "with `-c SRD`" }
	for i, column in ipairs(bandwidth) do
		head[i + 1] = i == 1 and "small" or column[1]
	end
	local lines = new_table(head)
	for _, test in ipairs(perftests) do
		local cells, refused = { "`" .. test[1] .. "`" }, nil
		for _, column in ipairs(test[2]) do
			local result = perftest_cell(folder, test[1], column[2])
			local shown = result == "passes" and column[1]:find "^2 B" and result .. ", " .. column[1] or result
			cells[#cells + 1] = shown:find "^refused" and shown == refused and "refused" or shown
			refused = shown
		end
		lines[#lines + 1] = row(cells)
	end
	return { { name, lines } }
end

-- ---- libfabric ----

local function pingpong()
	local of = installed "libfabric-bin"
	local text, status = capture(("sh '%s/pingpong.sh' '%s' 64 4096 65536 1048576"):format(here, srdlab))
	local lines = new_table { "bytes", "`fi_pingpong -p efa -e rdm -I 20`", "by the device's own counters" }
	if status ~= 0 then
		fail("status %d: %s", status, text)
	end
	for size, sent in text:gmatch "size (%d+): sends or reads of the device (%d+)" do
		lines[#lines + 1] = row { size, "passes",
			tonumber(sent) >= 40 and "every message went through the device" or fail("only %s sends: %s", sent, text) }
	end
	if #lines ~= 6 then
		fail("not all sizes: %s", text)
	end
	return { { "libfabric " .. of, lines } }
end

-- ---- MPI ----

local function mpi()
	local of, below = installed "openmpi-bin", installed "libfabric1"
	local text, status = capture(("sh '%s/mpi.sh' '%s' 2 3 4"):format(here, srdlab))
	if status == 77 then
		skip(text)
	elseif status ~= 0 then
		fail("status %d: %s", status, text)
	end
	local lines = new_table { "ranks", "ring exchange, 8 B to 1 MiB; sum of a vector", "by the device's own counters" }
	for ranks, wanted, moved in text:gmatch "(%d) ranks moved (%d+)\n.- ranks: bytes of the device (%d+)" do
		lines[#lines + 1] = row { ranks, "passes",
			tonumber(moved) >= tonumber(wanted) and "every byte went through the device" or
				fail("only %s bytes of %s: %s", moved, wanted, text) }
	end
	if #lines ~= 5 then
		fail("not all numbers of ranks: %s", text)
	end
	return { { ("Open MPI %s over libfabric %s"):format(of, below), lines } }
end

-- ---- pyverbs ----

-- Why a test of rdma-core's is skipped: what the reason holds, and whose reason that is.
local reasons = {
	{ "mlx5", "mlx5 only" }, { "MLX5", "mlx5 only" },
	{ "cuda", "the machine has no such thing" }, { "dmabuf", "the machine has no such thing" },
	{ "huge pages", "the machine has no such thing" }, { "PCI device must be passed", "a test of another driver" },
	{ "net interface", "EFA is no network interface" }, { "Ethernet", "EFA is no network interface" },
	{ "RoCE", "EFA is no network interface" }, { "No supported port", "EFA is no network interface" },
	{ "Parent Domain", "this libefa has none" }, { "Extended CQ", "the test wants more than libefa's has" },
	{ "Extended QP", "a reliable connection" }, { "QP type 2", "a reliable connection" },
	{ "RC QP", "a reliable connection" }, { "UC QP", "EFA has none" }, { "RAW QP", "EFA has none" },
	{ "Create UD QP", "libefa takes no such attributes" }, { "access", "EFA has none" },
	{ "Device memory", "EFA has none" }, { "ODP", "EFA has none" }, { "Atomic", "EFA has none" },
	{ "MW access", "EFA has none" }, { "memory window", "EFA has none" }, { "XRCD", "EFA has none" },
	{ "SRQ", "EFA has none" }, { "Resize CQ", "libefa has none" }, { "real time", "EFA has none" },
	{ "gid indices", "EFA has one GID, and it is in use" },
}

local function reason_of(text)
	for _, reason in ipairs(reasons) do
		if text:find(reason[1], 1, true) then
			return reason[2]
		end
	end
	return fail("nobody has said why this is skipped: %s", text)
end

local function read_log(name)
	local f = assert(io.open(name))
	local text = f:read "a"
	f:close()
	return text
end

-- The log of a run: modules in order, each { name, run, skipped }; and reasons, by text.
local function modules_of(text)
	local list, by_name, why, current = {}, {}, {}, nil
	for line in text:gmatch "[^\n]+" do
		local name = line:match "^test_[%w_]+ %(tests%.([%w_]+)%."
		if name then
			current = by_name[name] or { name = name, run = 0, skipped = 0 }
			if not by_name[name] then
				by_name[name] = current
				list[#list + 1] = current
			end
			current.run = current.run + 1
		end
		local skipped = line:match "skipped ['\"](.*)['\"]$"
		if skipped and current then
			current.skipped = current.skipped + 1
			why[skipped] = (why[skipped] or 0) + 1
		end
	end
	return list, why
end

local function pyverbs()
	local text, status = capture(("sh '%s/pyverbs.sh' '%s' %s"):format(here, srdlab, version))
	if status == 77 then
		skip(text)
	elseif status ~= 0 then
		fail("status %d: %s", status, text)
		return {}
	end
	local list, why = modules_of(read_log "pyverbs-all.log")
	local of_efa = modules_of(read_log "pyverbs-efa.log")
	local lines = new_table { "EFA's tests", "run", "pass", "fail", "skipped" }
	for _, module in ipairs(of_efa) do
		lines[#lines + 1] = row { "`" .. module.name .. "`", module.run, module.run - module.skipped, 0, module.skipped }
	end
	local others = new_table { "the others", "run", "pass", "fail", "skipped" }
	local sum = { run = 0, skipped = 0 }
	for _, module in ipairs(list) do
		if not module.name:find "efa" then
			sum.run, sum.skipped = sum.run + module.run, sum.skipped + module.skipped
			if module.skipped < module.run then
				others[#others + 1] = row { "`" .. module.name .. "`", module.run, module.run - module.skipped, 0,
					module.skipped }
			end
		end
	end
	others[#others + 1] = row { "all", sum.run, sum.run - sum.skipped, 0, sum.skipped }
	local texts = {}
	for reason in pairs(why) do
		texts[#texts + 1] = reason
	end
	table.sort(texts, function(a, b)
		return why[a] > why[b] or why[a] == why[b] and a < b
	end)
	local skips = new_table { "skipped", "the test's reason", "since" }
	for _, reason in ipairs(texts) do
		skips[#skips + 1] = row { why[reason], reason:gsub("|", "/"), reason_of(reason) }
	end
	return { { ("pyverbs of rdma-core %s, EFA"):format(version), lines },
		{ ("pyverbs of rdma-core %s, others"):format(version), others },
		{ ("pyverbs of rdma-core %s, what is skipped"):format(version), skips } }
end

-- ---- old faults of libefa ----

local old_faults = {
	{ "hidden", "what is left in a queue that no queue pair uses any more cannot be polled", "1616" },
	{ "stale", "what is left is given to a later queue pair of the same number", "1731" },
	{ "double", "a slot is given back to a queue pair that has not used it, and two requests get the same", "1612" },
	{ "other", "what is left is given to a later queue pair whose number has the same low bits", "1670" },
}

-- A device that gives a number again, and one that raises it: the options of exec, the program's,
-- and the rule that is broken.
local old_runs = {
	{ "", "", "completion.twice" }, { "--profile raised.json", "raised", "completion.stale" },
}

-- Which faults show over the libraries in FOLDER (nil: the machine's own), and whether the rules
-- that are broken have fired: all, none, or (nil) some.
local function run_old_faults(program, libraries)
	local environment = libraries and ("LD_LIBRARY_PATH='%s/lib' "):format(libraries) or ""
	local shown, fired, texts = {}, 0, ""
	local profile = assert(io.open("raised.json", "w"))
	profile:write '{ "base": "efa1", "qpn_reuse": "raised" }'
	profile:close()
	for _, run in ipairs(old_runs) do
		local text, status =
			capture(("%s'%s' exec --rules %s --error-exitcode 9 --order in_order %s -- '%s' %s")
				:format(environment, srdlab, run[3], run[1], program, run[2]))
		for name, what in text:gmatch "(%l+) (n?o?t? ?shown)" do
			shown[name] = what
		end
		fired = fired + (status == 9 and 1 or 0)
		texts = texts .. text
	end
	return shown, ({ [0] = false, [#old_runs] = true })[fired], texts
end

local function old()
	local head, columns = { "fault", "rdma-core's change" }, {}
	for i, core_version in ipairs { false, "56.1", "65.0" } do
		local shown, fired, text = run_old_faults(version, core_version and built("rdma-core.sh", core_version))
		columns[i] = shown
		head[i + 2] = "over " .. (core_version or installed "libibverbs1")
		for _, fault in ipairs(old_faults) do
			local is_old = core_version ~= "65.0"
			if shown[fault[1]] ~= (is_old and "shown" or "not shown") or fired ~= is_old then
				fail("%s over %s: %s", fault[1], core_version or "the machine's own", text)
			end
		end
	end
	local lines = new_table(head)
	for _, fault in ipairs(old_faults) do
		local cells = { fault[2], fault[3] }
		for i, shown in ipairs(columns) do
			cells[i + 2] = shown[fault[1]] or "-"
		end
		lines[#lines + 1] = row(cells)
	end
	return { { "old faults over " .. installed "libibverbs1", lines } }
end

-- ---- the page ----

local function escaped(text)
	return (text:gsub("%p", "%%%0"))
end

-- The lines between the marks of KEY; nil: the page has none.
local function section(text, key)
	return text:match("<!%-%- begin: " .. escaped(key) .. " %-%->\n(.-)<!%-%- end %-%->")
end

local function check_section(text, key, lines)
	local have, wanted = section(text, key), {}
	if not have then
		skip(("docs/conformance.md says nothing of %s, which is here"):format(key))
	end
	for line in have:gmatch "([^\n]*)\n" do
		wanted[#wanted + 1] = line
	end
	for i = 1, math.max(#lines, #wanted) do
		if lines[i] ~= wanted[i] then
			fail("docs/conformance.md, %s, line %d:\n  says %s\n  seen %s", key, i, wanted[i], lines[i])
		end
	end
end

local function write_section(text, key, lines)
	assert(section(text, key), page .. " has no place for " .. key)
	local mark = "<!%-%- begin: " .. escaped(key) .. " %-%->\n"
	local new = ("<!-- begin: %s -->\n%s\n"):format(key, table.concat(lines, "\n"))
	return (text:gsub(mark .. ".-<!%-%- end %-%->", function()
		return new .. "<!-- end -->"
	end))
end

local parts = { ["old-faults"] = old, devinfo = devinfo, mpi = mpi, perftest = perftest, pingpong = pingpong,
	pyverbs = pyverbs }
local made = assert(parts[part], "no such part")()
local text = read_log(page)
for _, one in ipairs(made) do
	if mode == "write" then
		text = write_section(text, one[1], one[2])
	else
		check_section(text, one[1], one[2])
	end
end
if mode == "write" and #failures == 0 then
	local f = assert(io.open(page, "w"))
	f:write(text)
	f:close()
end
for _, failure in ipairs(failures) do
	print(failure)
end
os.exit(#failures == 0)
