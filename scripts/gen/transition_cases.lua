-- transition_cases.h: every modify of a queue pair that is one step off its table, with the
-- errno that an application gets. Written from the order of checks (libibverbs, uverbs,
-- driver), independently of the model that is tested with it.
-- usage: lua transition_cases.lua SPEC_DIR HEADER
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local spec, enums = lib.spec "transitions", lib.enums()

local bit = {} -- attribute name -> mask bit
for _, v in ipairs(enums.qp_attr_mask.values) do
	bit[v[1]] = v[2]
end
local states = {}
for _, v in ipairs(enums.qp_state.values) do
	if v[1] ~= "UNKNOWN" then
		states[#states + 1] = v[1]
	end
end

local function mask_of(names)
	local m = 0
	for _, n in ipairs(names or {}) do
		m = m | bit[n]
	end
	return m
end

local function pairs_of(machine)
	local pair = {}
	for _, s in ipairs(states) do
		pair[s] = {}
	end
	for _, p in ipairs(machine.pairs) do
		pair[p[1]][p[2]] = { required = mask_of(p.required), optional = mask_of(p.optional) }
	end
	return pair
end

local may_claim = { RTR = true, RTS = true, SQD = true, SQE = true }

-- The errno of a call, and the state after it.
local function expect(machine, pair, case)
	local mask = case.mask
	if mask >= bit.RATE_LIMIT then
		return "EOPNOTSUPP"
	end
	if mask & bit.PORT ~= 0 and case.port ~= 1 then
		return "EINVAL"
	end
	if mask & bit.STATE ~= 0 and case.to == "UNKNOWN" then
		return "EINVAL"
	end
	if mask & ~machine.modify_mask ~= 0 then
		return "EOPNOTSUPP"
	end
	local from = mask & bit.CUR_STATE ~= 0 and case.claimed or case.from
	local to = mask & bit.STATE ~= 0 and case.to or from
	if mask & bit.CUR_STATE ~= 0 and not may_claim[from] then
		return "EINVAL"
	end
	local entry = pair[from][to]
	if not entry or mask & entry.required ~= entry.required
		or mask & ~(entry.required | entry.optional | bit.STATE) ~= 0 then
		return "EINVAL"
	end
	if mask & bit.PKEY_INDEX ~= 0 and case.pkey ~= 0 then
		return machine.pkey_error
	end
	return "0", to
end

local h = lib.out()
local count = 0
h:put(lib.banner)
h:put "static struct transition_case transition_cases[] = {\n"

local function generate(type, machine)
	local pair, seen = pairs_of(machine), {}

	local function add(case, what)
		case.port, case.pkey, case.claimed = case.port or 1, case.pkey or 0, case.claimed or case.from
		local lies = case.mask & bit.CUR_STATE ~= 0 and case.claimed ~= case.from
		local errno, after = expect(machine, pair, case)
		if lies and errno == "0" then
			return -- the driver believes it and only the device could refuse: not documented
		end
		local name = ("%s: %s to %s, %s"):format(type, case.from, case.to, what)
		if seen[name] then
			return
		end
		seen[name] = true
		h:put("\t{ \"%s\", SRD_QPT_%s, SRD_QPS_%s, SRD_QPS_%s, SRD_QPS_%s, 0x%x, %d, %d, %s, SRD_QPS_%s },\n",
			name, type, case.from, case.to, case.claimed, case.mask, case.port, case.pkey, errno,
			after or case.from)
		count = count + 1
	end

	for _, from in ipairs(states) do
		for _, to in ipairs(states) do
			local entry = pair[from][to] or { required = 0, optional = 0 }
			local base = bit.STATE | entry.required
			add({ from = from, to = to, mask = base }, "as required")
			for _, v in ipairs(enums.qp_attr_mask.values) do
				if entry.required & v[2] ~= 0 then
					add({ from = from, to = to, mask = base & ~v[2] }, "without " .. v[1])
				elseif v[1] ~= "STATE" then
					add({ from = from, to = to, mask = base | v[2] }, "with " .. v[1])
				end
			end
			for _, claimed in ipairs(states) do
				local claims = pair[claimed][to] or entry
				add({ from = from, to = to, claimed = claimed,
					mask = bit.STATE | claims.required | bit.CUR_STATE }, "claiming " .. claimed)
			end
			add({ from = from, to = to, mask = base | bit.PORT, port = 2 }, "with port 2")
			add({ from = from, to = to, mask = base | bit.PORT, port = 0 }, "with port 0")
			add({ from = from, to = to, mask = base | bit.PKEY_INDEX, pkey = 1 }, "with pkey index 1")
			add({ from = from, to = to, mask = base | bit.PKEY_INDEX | bit.AV, pkey = 1 },
				"with AV and pkey index 1")
		end
		add({ from = from, to = "UNKNOWN", mask = bit.STATE }, "no such state")
		add({ from = from, to = "UNKNOWN", mask = bit.STATE | bit.AV }, "no such state with AV")
		add({ from = from, to = from, mask = 0 }, "an empty mask")
		for _, v in ipairs(enums.qp_attr_mask.values) do
			if v[1] ~= "STATE" then
				add({ from = from, to = from, mask = v[2] }, "only " .. v[1])
			end
		end
	end
end

generate("DRIVER", spec.srd)
generate("RC", spec.rc)
h:put "};\n\n"
h:put("#define NUM_TRANSITION_CASES %d\n", count)
h:write(arg[2])
