-- Two traces of the same scenarios, by different backends: do they say the same?
-- usage: lua compare_traces.lua SRDLAB SPEC_DIR FIRST SECOND [--in-order] [--timed] [--prove]
--   FIRST, SECOND  of FIRST.trace and FIRST.json, which one run has written; compared are the
--                  scenarios that both hold
--   --in-order     messages arrived in the same order in both
--   --timed        and all happened at the same virtual time
--   --prove        besides: changes in the second trace are found, each by its name
--
-- Compared are, a scenario each:
--   what is posted and done to a queue pair, op by op and in order;
--   objects, in the order of their creation, and that of their destruction;
--   calls that fail, in order;
--   completions and results of ops, as a set a queue pair.
-- Left out are times (but for --timed), polls, what the device tells (packets, places, entries) and the rounds
-- of the scheduler. What the backend chooses (handles, numbers of queue pairs, addresses,
-- keys, GIDs) stands for the object that it names: "key of mr 2", "key of nothing". The line
-- that finds a completion is a matter of time, and so, but for --in-order, is which receive
-- takes which message: then the two are sets of their own.
-- One EFA device has all hosts, and a GID of each on the mock. So an address handle stands for
-- its domain, and how many there are of one is left out; a sender's number, which several
-- hosts of the mock may have, is to be that of one of them.
local srdlab, spec, in_order, timed, prove = arg[1], arg[2], false, false, false
for i = 5, #arg do
	in_order = in_order or arg[i] == "--in-order"
	timed = timed or arg[i] == "--timed"
	prove = prove or arg[i] == "--prove"
end

-- ---- reading ----

local function event_of(line)
	local time, host, object, handle, name, rest =
		line:match "^ *([%d.]+) h(%d+) +(%l+) (%d+) +([%l_]+) *(.*)$"
	if not host then
		time, host, name, rest = line:match "^ *([%d.]+) h(%d+) +([%l_]+) *(.*)$"
	end
	if not host then
		return nil
	end
	local event = { name = name, host = host, object = object, handle = handle, fields = {}, order = {} }
	for field, value in rest:gmatch "([%w_]+)=(%S*)" do
		event.fields[field] = value
		event.order[#event.order + 1] = field
	end
	if timed then
		event.fields.at = time
		event.order[#event.order + 1] = "at"
	end
	return event
end

-- The scenarios that the report has a verdict of, in their order.
local function read_report(path)
	local cases = {}
	for line in io.lines(path) do
		local file, name, number, verdict =
			line:match '^{"file":"([^"]*)","name":"(.*)","line":(%d+),"seed":.*"verdict":"(%l+)"'
		if verdict and verdict ~= "skipped" then
			cases[#cases + 1] = { name = ("%s:%s: %s"):format(file, number, name), verdict = verdict,
				has_orders = not line:find '"orders":0,' }
		end
	end
	return cases
end

-- Options for the events that are compared.
local left_out = { cq_poll = true, scheduler_state = true }

local function wanted()
	local options = {}
	for _, event in ipairs(dofile(spec .. "/events.lua")) do
		if event.source ~= "device" and not left_out[event.name] then
			options[#options + 1] = " --event " .. event.name
		end
	end
	return table.concat(options)
end

-- A list of scenarios, each its name, its verdict and a list of its events.
local function read(path)
	local cases = read_report(path .. ".json")
	local pipe = assert(io.popen(("'%s' show --no-summary%s '%s.trace'"):format(srdlab, wanted(), path)))
	local at, index = 0, nil
	for line in pipe:lines() do
		local event = event_of(line)
		if event and event.name == "scenario_begin" then
			-- One run after the other where a scenario asks for every order: the last is compared.
			if at == 0 or not cases[at].has_orders or event.fields.index ~= index then
				at = at + 1
				assert(cases[at], "the trace has more scenarios than the report")
			end
			index = event.fields.index
			cases[at].events = {}
		end
		if event then
			table.insert(cases[at].events, event)
		end
	end
	assert(pipe:close(), path .. ".trace cannot be read")
	assert(at == #cases, "the report has more scenarios than the trace")
	return cases
end

-- ---- names for what the backend chooses ----

-- What a creation makes; the field that holds its handle where that is not the event's object.
local makes = {
	device_open = "context", pd_alloc = "pd", mr_reg = "mr", cq_create = "cq", ah_create = "ah",
	qp_create = "qp", buffer_alloc = "buffer", channel_create = "channel", rails_open = "rails",
}
local handle_field = { channel_create = "channel", channel_destroy = "channel", rails_open = "rails" }

local function world()
	return { count = {}, ordinal = {}, key = {}, gid = {}, number = {}, home = {}, domain = {}, ah_gid = {}, buffers = {} }
end

local named

function named(w, kind, handle)
	if handle == "0" then
		return "none"
	end
	local ordinal = w.ordinal[kind .. handle]
	if kind == "ah" then
		return w.domain[handle] and "ah of " .. named(w, "pd", w.domain[handle]) or "unknown ah"
	end
	return ordinal and kind .. " " .. ordinal or "unknown " .. kind
end

-- An address as a place in the region that KEY names, or near it, or in a buffer. One that is far
-- from both was not made from theirs.
local far = 1 << 40
local function place(w, addr, key)
	local region, at = key and w.key[key], math.tointeger(addr)
	if not at or at == 0 then
		return addr
	end
	-- The end of one buffer may be the start of another.
	for _, slack in ipairs(region and { far } or { -1, 0 }) do
		for _, memory in ipairs(region and { region } or w.buffers) do
			local offset = at - memory.addr
			if offset >= -math.max(slack, 0) and offset <= memory.length + slack then
				return ("%s%+d"):format(memory.name, offset)
			end
		end
	end
	return addr
end

local function key_name(w, key)
	return key == "0x0" and "0" or w.key[key] and "key of " .. w.key[key].name or "key of nothing"
end

-- The queue pair NUMBER of the device with this GID.
local function target(w, gid, number)
	return gid and w.number[gid .. "/" .. number] or "no queue pair"
end

local function gid_of(fields)
	return fields.gid_hi .. fields.gid_lo
end

local function remember(w, event)
	local f, kind = event.fields, makes[event.name]
	if not kind then
		return
	end
	local handle = handle_field[event.name] and f[handle_field[event.name]] or event.handle
	w.count[kind] = (w.count[kind] or 0) + 1
	w.ordinal[kind .. handle] = w.count[kind]
	local name = named(w, kind, handle)
	if kind == "context" then
		w.gid[handle] = gid_of(f)
		w.gid[gid_of(f)] = true
	elseif kind == "pd" then
		w.home[handle] = w.gid[f.context]
	elseif kind == "mr" then
		w.key[f.lkey] = { name = name, addr = math.tointeger(f.addr), length = math.tointeger(f.length) }
		w.key[f.rkey] = w.key[f.lkey]
	elseif kind == "ah" then
		w.domain[handle], w.ah_gid[handle] = f.pd, gid_of(f)
	elseif kind == "qp" then
		w.number[w.home[f.pd] .. "/" .. f.qp_num] = name
		w.number[event.host .. "/" .. f.qp_num] = name
	elseif kind == "buffer" then
		table.insert(w.buffers, 1, { name = name, addr = math.tointeger(f.addr), length = math.tointeger(f.length) })
	end
end

-- Fields by what they hold, whatever the event.
local handles = { context = "context", pd = "pd", send_cq = "cq", recv_cq = "cq", ah = "ah", channel = "channel",
	rails = "rails" }
local addresses = { addr = "lkey", remote_addr = "rkey", addr2 = "lkey2", local_addr = "lkey" }
local keys = { lkey = true, rkey = true, lkey2 = true }

local function field_text(w, event, field)
	local f = event.fields
	local value = f[field]
	if handles[field] then
		return named(w, handles[field], value)
	elseif addresses[field] and makes[event.name] ~= "buffer" then
		return place(w, value, f[addresses[field]])
	elseif field == "caps" then
		-- The mock's completion entries have no memory but its own.
		return (value:gsub("|CQ_WITH_EXT_MEM_DMABUF", ""))
	elseif field == "addr" then
		return nil
	elseif keys[field] then
		return key_name(w, value)
	elseif field == "gid_hi" or field == "gid_lo" then
		return w.gid[gid_of(f)] and "known" or value
	elseif field == "remote_qpn" then
		local gid = f.gid_hi and gid_of(f) or w.ah_gid[f.ah]
		return target(w, gid, value)
	elseif field == "qp_num" then
		return w.number[event.host .. "/" .. value] or value
	end
	return value
end

-- Who finds them, and when, is a matter of time.
local as_set = { wc = true, op_end = true, transfer_end = true }

-- The event as text, with names for what the backend chooses; of these FIELDS, or of all.
local function text_of(w, event, fields)
	local parts = { event.name }
	if event.object and not handle_field[event.name] then
		parts[2] = named(w, event.object, event.handle)
	end
	for _, field in ipairs(fields or event.order) do
		local chance = as_set[event.name] and field == "line" or field == "src_qp"
		local text = field_text(w, event, field)
		if text and not chance then
			parts[#parts + 1] = field .. "=" .. text
		end
	end
	return table.concat(parts, " ")
end

-- ---- what belongs together ----

local function is_destruction(name)
	return name:find "destroy$" or name:find "close$" or name:find "free$" or name:find "dereg$" or
		name:find "dealloc$"
end

-- The sequence that an event stands in, and whether its order counts.
local function sequence_of(w, event)
	if event.name == "ah_create" or event.name == "ah_destroy" then
		return nil
	elseif as_set[event.name] then
		return "results of ops", false
	elseif makes[event.name] then
		return "objects made", true
	elseif event.object == "qp" and not is_destruction(event.name) then
		return "what is done to " .. named(w, "qp", event.handle), true
	elseif is_destruction(event.name) then
		return "objects destroyed", true
	end
	return event.name, true
end

-- The queue pairs whose number is that of the sender; nil: no one sent.
local function senders(w, number)
	local list = {}
	for key, name in pairs(w.number) do
		if key:match "/(%d+)$" == number then
			list[name] = true
		end
	end
	return number ~= "0" and list or nil
end

-- ADD each thing that a completion says to the sets it belongs to.
local function add_completion(w, event, add)
	local f = event.fields
	local of = " of " .. (w.number[event.host .. "/" .. f.qp_num] or "no queue pair")
	local from = senders(w, f.src_qp)
	if f.opcode:find "^RECV" and not in_order then
		add("receives completed" .. of, false, text_of(w, event, { "wr_id", "status", "vendor_err" }))
		add("messages received" .. of, false,
			text_of(w, event, { "status", "opcode", "byte_len", "imm_data", "wc_flags" }), from)
	else
		add("completions" .. of, false, text_of(w, event), from)
	end
end

-- The sequences of a scenario: a list, and by name. Each is a list of { text, from }, sorted
-- where order does not count.
local function digest(events)
	local w, list, by_name = world(), {}, {}
	local function add(name, ordered, text, from)
		local sequence = by_name[name]
		if not sequence then
			sequence = { name = name, ordered = ordered }
			by_name[name] = sequence
			list[#list + 1] = sequence
		end
		sequence[#sequence + 1] = { text = text, from = from, at = #sequence }
	end
	for _, event in ipairs(events) do
		remember(w, event)
		local name, ordered = sequence_of(w, event)
		if event.name == "wc" then
			add_completion(w, event, add)
		elseif name then
			add(name, ordered, text_of(w, event))
		end
	end
	for _, sequence in ipairs(list) do
		if not sequence.ordered then
			table.sort(sequence, function(a, b)
				return a.text < b.text or a.text == b.text and a.at < b.at
			end)
		end
	end
	return list, by_name
end

-- ---- comparing ----

-- Where two texts of the same event differ.
local function words_of(a, b)
	local differ, of_b = {}, {}
	for word in b:gmatch "%S+=[^=]*%f[%z%s]" do
		of_b[word:match "^[^=]+"] = word:match "^(.-) *$"
	end
	for word in a:gmatch "%S+=[^=]*%f[%z%s]" do
		local field, text = word:match "^[^=]+", word:match "^(.-) *$"
		if of_b[field] ~= text then
			differ[#differ + 1] = ("%s instead of %s"):format(of_b[field] or "nothing", text)
		end
	end
	return table.concat(differ, ", ")
end

local function same_sender(a, b)
	for name in pairs(b or {}) do
		if a and a[name] then
			return true
		end
	end
	return not a and not b
end

local function compare_sequences(a, b, say)
	local i = 1
	while a[i] and b[i] and a[i].text == b[i].text and same_sender(a[i].from, b[i].from) do
		i = i + 1
	end
	if not a[i] and not b[i] then
		return
	elseif not b[i] then
		say(("%s: %d, and %d in the second, which lacks %s"):format(a.name, #a, #b, a[i].text))
	elseif not a[i] then
		say(("%s: %d, and %d in the second: %s"):format(a.name, #a, #b, b[i].text))
	elseif a[i].text == b[i].text then
		say(("%s: number %d is of another sender: %s"):format(a.name, i, a[i].text))
	else
		say(("%s: number %d differs: %s\n\tfirst:  %s\n\tsecond: %s"):format(a.name, i,
			words_of(a[i].text, b[i].text), a[i].text, b[i].text))
	end
end

local function compare_scenarios(a, b, say)
	local list_a, by_a = digest(a)
	local list_b, by_b = digest(b)
	for _, sequence in ipairs(list_a) do
		compare_sequences(sequence, by_b[sequence.name] or { name = sequence.name }, say)
	end
	for _, sequence in ipairs(list_b) do
		if not by_a[sequence.name] then
			compare_sequences({ name = sequence.name }, sequence, say)
		end
	end
end

-- The differences of the second list of scenarios from the first, and how many both have.
local function compare(first, second)
	local differences, by_name, both = {}, {}, 0
	for _, case in ipairs(second) do
		by_name[case.name] = case
	end
	for _, case in ipairs(first) do
		local other = by_name[case.name]
		local function say(text)
			differences[#differences + 1] = ("%s: %s"):format(case.name, text)
		end
		if other then
			both = both + 1
			if other.verdict ~= case.verdict then
				say(("%s instead of %s"):format(other.verdict, case.verdict))
			end
			compare_scenarios(case.events, other.events, say)
		end
	end
	return differences, both
end

-- ---- what it would find ----

local function copy(event)
	local new, fields = {}, {}
	for key, value in pairs(event) do
		new[key] = value
	end
	for key, value in pairs(event.fields) do
		fields[key] = value
	end
	new.fields = fields
	return new
end

-- A change of one field in the first event NAME of which it is true that WHERE.
local function change(name, field, value, where)
	return function(events)
		for i, event in ipairs(events) do
			if event.name == name and (not where or where(event)) and event.fields[field] ~= value then
				events[i] = copy(event)
				events[i].fields[field] = value
				return true
			end
		end
	end
end

local function lose(name)
	return function(events)
		for i, event in ipairs(events) do
			if event.name == name then
				table.remove(events, i)
				return true
			end
		end
	end
end

-- The first two events of this name and of one queue pair that WHERE is true of change places.
local function exchange(name, where)
	return function(events)
		local before
		for i, event in ipairs(events) do
			if event.name == name and before and where(events[before], event) then
				events[before], events[i] = event, events[before]
				return true
			end
			before = event.name == name and i or before
		end
	end
end

local function same_queue(a, b)
	return a.handle == b.handle and a.fields.wr_id ~= b.fields.wr_id and a.fields.line == b.fields.line and
		a.fields.op == b.fields.op
end

local function is_receive(event)
	return event.fields.opcode:find "^RECV" ~= nil
end

local function is_send(event)
	return not is_receive(event)
end

-- A change of the second trace, and the difference that is found: two words of it; false: none.
local proofs = {
	{ "posts in another order", exchange("wr_post", same_queue), "what is done to qp", "wr_id=" },
	{ "a post of another length", change("wr_post", "length", "7"), "what is done to qp", "length=7 instead" },
	{ "a post to another place", change("wr_post", "remote_qpn", "999"), "what is done to qp",
		"remote_qpn=no queue pair instead" },
	{ "a post with another key", change("wr_post", "rkey", "0x777"), "what is done to qp", "rkey=key of nothing instead" },
	{ "a post too few", lose "wr_post", "what is done to qp", "" },
	{ "another state", change("qp_modify", "to", "ERR"), "what is done to qp", "to=ERR instead" },
	{ "a completion of another status", change("wc", "status", "WR_FLUSH_ERR", is_send), "completions of qp",
		"status=WR_FLUSH_ERR instead of status=" },
	{ "a completion of another opcode", change("wc", "opcode", "BIND_MW", is_send), "completions of qp",
		"opcode=BIND_MW instead" },
	{ "a message of another length", change("wc", "byte_len", "77", is_receive), " of qp", "byte_len=77 instead" },
	{ "another sender", change("wc", "src_qp", "999", is_receive), " of qp", "is of another sender" },
	{ "a completion too few", lose "wc", " of qp", "which lacks wc" },
	{ "another id", change("wc", "wr_id", "987654"), " of qp", "wr_id=987654 instead" },
	{ "an object too few", lose "mr_reg", "objects made", "mr 1" },
	{ "a smaller queue", change("cq_create", "requested", "3"), "objects made", "requested=3 instead" },
	{ "an object that is left", lose "cq_destroy", "objects destroyed", "cq_destroy" },
	{ "an op of another result", change("op_end", "result", "-EIO"), "results of ops", "result=-EIO instead" },
	{ "a call that fails otherwise", change("call_failed", "error", "EXDEV"), "call_failed", "error=EXDEV instead" },
	{ "completions in another order", exchange("wc", function(a, b)
		return a.fields.wr_id ~= b.fields.wr_id
	end), false },
	{ "the line that finds a completion", change("wc", "line", "1"), false },
}
if timed then
	proofs[#proofs + 1] = { "an op that ends at another time", change("op_end", "at", "1.000"), "results of ops",
		"at=1.000 instead" }
	proofs[#proofs + 1] = { "a post at another time", change("wr_post", "at", "1.000"), "what is done to qp",
		"at=1.000 instead" }
end

local function prove_one(first, second, proof)
	local by_name = {}
	for _, case in ipairs(first) do
		by_name[case.name] = case
	end
	for _, case in ipairs(second) do
		local events = table.move(case.events, 1, #case.events, 1, {})
		if by_name[case.name] and proof[2](events) then
			local found = {}
			compare_scenarios(by_name[case.name].events, events, function(text)
				found[#found + 1] = text
			end)
			local text = table.concat(found, "\n")
			if not proof[3] then
				assert(text == "", proof[1] .. " is no difference, and was found: " .. text)
			else
				assert(text:find(proof[3], 1, true) and text:find(proof[4], 1, true),
					proof[1] .. " is not found: " .. text)
			end
			return
		end
	end
	error("no scenario has what can be changed: " .. proof[1])
end

local first, second = read(arg[3]), read(arg[4])
local differences, both = compare(first, second)
for i = 1, math.min(#differences, 20) do
	print(differences[i])
end
if #differences > 0 then
	print(#differences .. " differences")
	os.exit(1)
end
assert(both > 0, "the two have no scenario in common")
print(("%d scenarios of the same trace"):format(both))
for _, proof in ipairs(prove and proofs or {}) do
	prove_one(first, second, proof)
end
if prove then
	print(("%d changes of it, each found or rightly not"):format(#proofs))
end
