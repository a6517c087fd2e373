-- What require "srdlab" gives to a script. Called with the table that C offers.
local core = ...
-- A script may do to its globals what it likes.
local type, pairs, ipairs, print, tostring, pcall, error = type, pairs, ipairs, print, tostring, pcall, error
local setmetatable = setmetatable
local format, move = string.format, table.move
local t = core.classes.scenario
local srd = {
	show = function(value)
		return core.expect.show(value)
	end,
	address = core.verbs.address,
}
local groups = {} -- those that srd.describe is inside of, from the outermost

-- What a group says, with what its member says over it; tags add up.
local function merge(group, member)
	local out = {}
	for k, v in pairs(group) do
		out[k] = v
	end
	for k, v in pairs(member) do
		if k == "tags" and type(v) == "table" and out.tags then
			local tags = move(out.tags, 1, #out.tags, 1, {})
			v = move(v, 1, #v, #tags + 1, tags)
		end
		out[k] = v
	end
	return out
end

function srd.scenario(name, options, body)
	core.outside "srd.scenario"
	local group = groups[#groups]
	if group and type(options) == "function" then
		options, body = {}, options
	end
	if group and type(name) == "string" and type(options) == "table" then
		name, options = group.name .. ": " .. name, merge(group.options, options)
	end
	core.scenario(name, options, body)
end

--- Scenarios of one theme: NAME goes before theirs, OPTIONS are theirs where they say no other.
function srd.describe(name, options, body)
	core.outside "srd.describe"
	if type(name) ~= "string" or type(options) ~= "table" or type(body) ~= "function" then
		core.raise "srd.describe: the arguments are a name, a table of options, and a function"
	end
	local outer = groups[#groups]
	groups[#groups + 1] = {
		name = outer and outer.name .. ": " .. name or name,
		options = outer and merge(outer.options, options) or options,
	}
	body()
	groups[#groups] = nil
end

--- Bytes of "4KiB"; nanoseconds of "50us".
function srd.size(text)
	return core.size(text, "srd.size")
end

function srd.time(text)
	return core.time(text, "srd.time")
end

--- The fields of both tables; where both have one, that of the second.
function srd.with(fields, more)
	local out = {}
	if type(fields) ~= "table" or type(more) ~= "table" then
		core.raise "srd.with: two tables of fields are expected"
	end
	for _, from in ipairs { fields, more } do
		for k, v in pairs(from) do
			out[k] = v
		end
	end
	return out
end

local function copy(fields, without)
	local out = {}
	for k, v in pairs(fields) do
		if not without[k] then
			out[k] = v
		end
	end
	return out
end

-- host:queue_pair(fields) for CALL, whose OWN fields were taken out before.
local function queue_pair(call, host, fields, own)
	local good, made = pcall(host.queue_pair, host, fields)
	local field = not good and type(made) == "string" and made:match 'unknown field "(.-)"'
	if field then
		local names = {}
		for name in pairs(own) do
			names[#names + 1] = name
		end
		local meant = core.nearest(field, names) or made:match 'did you mean "(.-)"'
		core.raise(format("%s: unknown field \"%s\"%s", call, field,
			meant and format("; did you mean \"%s\"?", meant) or ""))
	end
	return good and made or error(made, 0)
end

local own = { memory = true, kind = true, connect = true }

--- Two hosts, a and b, with a connected queue pair each; and memory where a size is given.
function t.pair(self, options)
	options = options or {}
	if type(options) ~= "table" then
		core.raise(format("t:pair: a table of options is expected, not %s", type(options)))
	end
	local fields = copy(options, own)
	local pair = {}
	for _, name in ipairs { "a", "b" } do
		local host = self:host(name)
		local side = { host = host, qp = queue_pair("t:pair", host, fields, own) }
		if options.memory then
			side.mem = host:memory(options.memory, { kind = options.kind })
		end
		pair[name] = side
	end
	if options.connect ~= false then
		self:connect(pair.a.qp, pair.b.qp)
	end
	return pair
end

local of_rails = { memory = true, kind = true, rails = true, max_in_flight = true, stripe = true }

--- Two hosts, a and b, with a queue pair on each of their devices, as rails.
function t.rail_pair(self, options)
	options = options or {}
	if type(options) ~= "table" then
		core.raise(("t:rail_pair: a table of options is expected, not %s"):format(type(options)))
	end
	local counts = options.rails or 2
	if type(counts) ~= "table" then
		counts = { counts, counts }
	end
	if #counts ~= 2 then
		core.raise(format("t:rail_pair: rails is a list of %d numbers: of two, one for each host", #counts))
	end
	local fields, pair = copy(options, of_rails), {}
	for i, name in ipairs { "a", "b" } do
		local host = self:host(name)
		local side = { host = host, qps = {} }
		if math.type(counts[i]) ~= "integer" or counts[i] < 1 or counts[i] > core.max_rails then
			core.raise(format("t:rail_pair: rails is %s: a number from 1 to %d, or a list of two", srd.show(counts[i]),
				core.max_rails))
		end
		for rail = 1, counts[i] do
			side.qps[rail] = queue_pair("t:rail_pair", host:device(rail), fields, of_rails)
		end
		if options.memory then
			side.mem = host:memory(options.memory, { kind = options.kind })
		end
		pair[name] = side
	end
	pair.a.rails, pair.b.rails = self:rails(pair.a.qps, pair.b.qps,
		{ max_in_flight = options.max_in_flight, stripe = options.stripe })
	return pair
end

--- A note for whoever watches the run.
function t.log(_, ...)
	print(...)
end

-- What only scripts over a program have, so that it is told who would run them.
local others = {
	on_device = true, on_queue_pair = true, on_request = true, at = true, after = true, fabric = true, counter = true,
	now = true, seed = true, log = true,
}

core.module = {
	__index = function(_, key)
		local names = {}
		if others[key] then
			core.other("srd." .. key)
		end
		for name in pairs(srd) do
			names[#names + 1] = name
		end
		local nearest = type(key) == "string" and core.nearest(key, names)
		core.raise(format("srd has no \"%s\"%s", tostring(key),
			nearest and format("; did you mean \"%s\"?", nearest) or ""))
	end,
	__metatable = false,
}
setmetatable(srd, core.module)

local loaded = { srdlab = srd }
local outer = require

function require(name) -- luacheck: ignore 121
	local module = loaded[name]
	if module then
		return module
	end
	if outer then
		return outer(name)
	end
	core.raise(format("require: there is no module \"%s\": a script has srdlab only", tostring(name)))
end

return srd
