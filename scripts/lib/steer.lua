-- What a script over a program (srdlab exec --script) finds in the module, in place of
-- scenarios. Called with the table that C offers; core.steer is the way to the device.
local core = ...
local srd, steer = core.srdlab, core.steer
local ipairs, pairs, type, print = ipairs, pairs, type, print
local format, insert, remove, kind, max = string.format, table.insert, table.remove, math.type, math.max

-- A class: its name, its methods, and the metatable of its objects. An object is a value of C's
-- that nothing can be written to; PROPERTIES names what a script sees of it, in that order.
local classes = {}

local function kind_of(value)
	for _, class in ipairs(classes) do
		if steer.fields(value, class.metatable) then
			return class.name
		end
	end
	return type(value)
end

local function refuse_name(what, key, ...)
	local names = {}
	for _, list in ipairs { ... } do
		for name in pairs(list) do
			insert(names, kind(name) and list[name] or name)
		end
	end
	local nearest = type(key) == "string" and core.nearest(key, names)
	core.raise(format("%s has no \"%s\"%s", what, srd.show(key):gsub("\"", ""),
		nearest and format("; did you mean \"%s\"?", nearest) or ""))
end

local function class(name, properties)
	local self, known = { name = name, methods = {}, properties = properties }, {}
	for _, property in ipairs(properties) do
		known[property] = true
	end
	self.metatable = {
		__index = function(object, key)
			if self.methods[key] then
				return self.methods[key]
			elseif not known[key] then
				refuse_name("a " .. name, key, self.methods, properties)
			end
			return steer.fields(object, self.metatable)[key]
		end,
		__newindex = function()
			core.raise(format("a %s cannot be written to", name))
		end,
		__pairs = function(object)
			local fields, i = steer.fields(object, self.metatable), 0
			return function()
				repeat
					i = i + 1
				until i > #properties or fields[properties[i]] ~= nil
				return properties[i], fields[properties[i]]
			end
		end,
		__tostring = function(object)
			return format("%s %d", name, steer.fields(object, self.metatable).number)
		end,
		__metatable = false,
	}
	function self.new(fields)
		return steer.object(self.metatable, fields)
	end
	-- The fields of what a method WHAT was called with.
	function self.check(object, what)
		local fields = steer.fields(object, self.metatable)
		if not fields then
			core.raise(format("%s: a %s is expected, not %s: it is called with a colon", what, name, kind_of(object)))
		end
		return fields
	end
	insert(classes, self)
	return self
end

local device = class("device", { "number", "pid" })
local queue_pair = class("queue pair", { "number", "qp_num", "pid", "device" })
local request = class("request", {
	"number", "qp", "opcode", "length", "local_addr", "remote_addr", "remote_qpn", "imm_data", "pid",
})

-- The methods NAMES of a class: each is a command of the same name. What a command answers is
-- the method's: true, or false and why it cannot be done any more.
local function commands(prefix, of, names, place)
	for _, name in ipairs(names) do
		local what = prefix .. ":" .. name
		of.methods[name] = function(self, operand, more)
			local host, qp, ordinal = place(of.check(self, what))
			return steer.command(what, name, host, qp, ordinal, operand, more)
		end
	end
end

commands("device", device, { "kill", "restart" }, function(self)
	return self.number, 0, 0
end)
commands("queue_pair", queue_pair, { "release_all", "device_error", "stale_completion", "fail_receive" },
	function(self)
		return 0, self.name, 0
	end)
commands("request", request, { "hold", "release", "drop", "duplicate", "fail", "delay", "not_ready", "locate" },
	function(self)
		return 0, queue_pair.check(self.qp).name, self.number - 1
	end)

function queue_pair.methods:request(number)
	queue_pair.check(self, "queue_pair:request")
	if kind(number) ~= "integer" or number < 1 then
		core.raise("queue_pair:request: 1 is the first that it posts, not " .. srd.show(number))
	end
	return request.new { qp = self, number = number }
end

-- ---- what there is ----

local devices, queue_pairs, num_queue_pairs = {}, {}, 0 -- devices: by number, then by process

local function device_of(host, pid)
	devices[host] = devices[host] or {}
	devices[host][pid] = devices[host][pid] or device.new { number = host, pid = pid }
	return devices[host][pid]
end

local function queue_pair_of(m)
	local qp = queue_pairs[m.qp]
	if not qp then
		num_queue_pairs = num_queue_pairs + 1
		qp = queue_pair.new {
			name = m.qp, number = num_queue_pairs, qp_num = m.qp_num, pid = m.pid,
			device = device_of(m.host, m.pid),
		}
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
	local due = steer.now() + core.time(time, "srd.after")
	if due < 0 then
		core.raise("srd.after: virtual time ends after 292 years")
	end
	at("srd.after", due, body)
end

function srd.fabric(fields)
	steer.fabric(fields)
	if not running then
		insert(fabrics, fields)
	end
end

function srd.counter(name, of)
	local sum, hosts = 0, devices
	if type(name) ~= "string" then
		core.raise(format("srd.counter: the name of a counter is expected, not %s", type(name)))
	end
	if of ~= nil then
		local fields = steer.fields(of, device.metatable)
		if not fields then
			core.raise(format("srd.counter: a device is expected, not %s", kind_of(of)))
		end
		hosts = { [fields.number] = true }
	end
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

core.module.__index = function(_, key)
	refuse_name("srd", key, srd)
end

-- ---- moments ----

-- In the order in which they were given; one that is given now is called from the next on.
local function tell(list, what)
	for i = 1, #list do
		list[i](what)
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
		tell(handlers.request, request.new(m))
	end,
	time = function()
		local now = steer.now()
		while alarms[1] and alarms[1].time <= now do
			remove(alarms, 1).body()
		end
	end,
}

local function first_alarm()
	return alarms[1] and max(alarms[1].time, 1) or 0 -- 0: none is wanted
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

return moment, begin, classes
