-- The completion statuses of scripts/spec/statuses.lua against rdma-core's own source: their
-- numbers (efa_io_defs.h) and what libefa turns them into (to_ibv_status in verbs.c).
-- usage: lua statuses.lua SPEC_DIR EFA_PROVIDER_DIR
local spec_dir, efa_dir = arg[1], arg[2]
local statuses = dofile(spec_dir .. "/statuses.lua")

local function read(name)
	local f = assert(io.open(efa_dir .. "/" .. name))
	local text = f:read "a"
	f:close()
	return text
end

local number = {}
for name, n in read("efa_io_defs.h"):gmatch "EFA_IO_COMP_STATUS_([%w_]+)%s*=%s*(%d+)" do
	number[name] = math.tointeger(n)
end

-- case EFA_IO_COMP_STATUS_A: case EFA_IO_COMP_STATUS_B: return IBV_WC_C;
local to_wc, waiting = {}, {}
local body = read("verbs.c"):match "to_ibv_status%(.-%)%s*(%b{})"
for word in body:gmatch "[%w_]+" do
	local status, wc = word:match "^EFA_IO_COMP_STATUS_(.*)", word:match "^IBV_WC_(.*)"
	if status then
		waiting[#waiting + 1] = status
	elseif wc then
		for _, s in ipairs(waiting) do
			to_wc[s] = wc
		end
		waiting = {}
	end
end

local checked, seen = 0, {}
for _, s in ipairs(statuses) do
	local value, name, wc = s[1], s[2], s[3]
	seen[name] = true
	if number[name] then
		assert(number[name] == value, ("%s is %d there, %d here"):format(name, number[name], value))
		assert(to_wc[name] == wc, ("%s becomes %s there, %s here"):format(name, to_wc[name], wc))
		checked = checked + 1
	end
end
for name in pairs(number) do
	assert(seen[name], "missing from the specification: " .. name)
end
assert(checked >= 16, "found only " .. checked .. " statuses")
print(("%d statuses are rdma-core's"):format(checked))
