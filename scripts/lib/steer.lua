-- What a script over a program (srdlab exec --script) finds in the module, in place of
-- scenarios. Called with the table that C offers; core.steer is the way to the device.
local core = ...
local srd, steer = core.srdlab, core.steer
local ipairs, pairs, setmetatable, type, print = ipairs, pairs, setmetatable, type, print
local format, insert, remove, kind = string.format, table.insert, table.remove, math.type

-- Methods of a class whose objects are tables; what an object may lack is named in OPTIONAL.
local function class(name, optional)
	local methods = {}
	return methods, {
		__index = function(_, key)
			if methods[key] == nil and not (optional and optional[key]) then
				core.raise(format("a %s has no \"%s\"", name, srd.show(key):gsub("\"", "")))
			end
			return methods[key]
		end,
		__tostring = function(object)
			return format("%s %d", name, object.number)
		end,
		__metatable = false,
	}
end

local device, device_class = class "device"
local queue_pair, queue_pair_class = class "queue pair"
local request, request_class = class("request", { imm_data = true })

-- The methods NAMES of a class: each is a command of the same name, with at most two operands.
local function commands(class_name, methods, names, operands)
	for _, name in ipairs(names) do
		local what = class_name .. ":" .. name
		methods[name] = function(self, value, more)
			if type(self) ~= "table" then
				core.raise(format("%s: it is called with a colon", what))
			end
			return steer.command(what, name, operands(self, value, more))
		end
	end
end

commands("device", device, { "kill", "restart" }, function(self)
	return self.number, 0, 0
end)
commands("queue_pair", queue_pair, { "release_all", "device_error", "stale_completion", "fail_receive" },
	function(self, status, after)
		return 0, self.name, after or 0, status
	end)
commands("request", request, { "hold", "release", "drop", "duplicate", "fail", "delay", "not_ready", "locate" },
	function(self, value)
		return 0, self.qp.name, self.number - 1, value
	end)

function queue_pair:request(number)
	if kind(number) ~= "integer" or number < 1 then
		core.raise("queue_pair:request: 1 is the first that it posts, not " .. srd.show(number))
	end
	return setmetatable({ qp = self, number = number }, request_class)
end

-- ---- what there is ----

local devices, queue_pairs, num_queue_pairs = {}, {}, 0

local function device_of(host, pid)
	devices[host] = devices[host] or setmetatable({ number = host, pid = pid }, device_class)
	return devices[host]
end

local function queue_pair_of(m)
	local qp = queue_pairs[m.qp]
	if not qp then
		num_queue_pairs = num_queue_pairs + 1
		qp = setmetatable({
			name = m.qp, number = num_queue_pairs, qp_num = m.qp_num, pid = m.pid,
			device = device_of(m.host, m.pid),
		}, queue_pair_class)
		queue_pairs[m.qp] = qp
	end
	return qp
end

-- ---- what the script wants ----

local handlers = { device = {}, queue_pair = {}, request = {} }
local alarms, fabrics = {}, {} -- by time; to be set with the first moment
local running = false

for what, list in pairs(handlers) do
	srd["on_" .. what] = function(body)
		if type(body) ~= "function" then
			core.raise(format("srd.on_%s: a function is expected, not %s", what, type(body)))
		end
		insert(list, body)
	end
end

local function at(what, time, body)
	local i = #alarms
	if type(body) ~= "function" then
		core.raise(format("%s: a time and a function are expected", what))
	end
	while i > 0 and alarms[i].time > time do
		i = i - 1
	end
	insert(alarms, i + 1, { time = time, body = body })
end

function srd.at(time, body)
	at("srd.at", core.time(time, "srd.at"), body)
end

function srd.after(time, body)
	at("srd.after", steer.now() + core.time(time, "srd.after"), body)
end

function srd.fabric(fields)
	steer.fabric(fields)
	if not running then
		insert(fabrics, fields)
	end
end

function srd.counter(name, of)
	local sum, hosts = 0, of and { [of.number] = of } or devices
	for host in pairs(hosts) do
		sum = sum + steer.command("srd.counter", "counter", host, 0, 0, name)
	end
	return sum
end

srd.now, srd.seed, srd.log = steer.now, steer.seed, print

for _, name in ipairs { "scenario", "describe", "address" } do
	srd[name] = function()
		core.raise(format("srd.%s: this is a script over a program; scenarios are for srdlab run", name))
	end
end

-- ---- moments ----

local function tell(list, what)
	for _, body in ipairs(list) do
		body(what)
	end
end

local moments = {
	device = function(m)
		tell(handlers.device, device_of(m.host, m.pid))
	end,
	queue_pair = function(m)
		tell(handlers.queue_pair, queue_pair_of(m))
	end,
	request = function(m)
		m.qp = queue_pair_of(m)
		tell(handlers.request, setmetatable(m, request_class))
	end,
	time = function()
		local now = steer.now()
		while alarms[1] and alarms[1].time <= now do
			remove(alarms, 1).body()
		end
	end,
}

local function first_alarm()
	return alarms[1] and alarms[1].time or 0
end

local function moment(m)
	if not running then
		running = true
		for _, fields in ipairs(fabrics) do
			steer.fabric(fields)
		end
	end
	moments[m.what](m)
	return first_alarm()
end

-- Whether requests are wanted, and when the first alarm is; nil: nothing is wanted at all.
local function begin()
	local any = #handlers.device + #handlers.queue_pair + #handlers.request + #alarms + #fabrics > 0
	return any and #handlers.request > 0, first_alarm(), any
end

return moment, begin
