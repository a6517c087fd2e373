-- Short forms for scenarios that use verbs alone: a bare end in RTS, two of them, and a
-- session in one call. Called with the table that C offers.
local core = ...
local type, pairs, ipairs, pcall, error = type, pairs, ipairs, pcall, error
local format, unpack = string.format, table.unpack
local t, qp = core.classes.scenario, core.classes["verbs queue pair"]

local builders = {
	write = qp.wr_rdma_write, write_imm = qp.wr_rdma_write_imm, read = qp.wr_rdma_read,
	send = qp.wr_send, send_imm = qp.wr_send_imm,
}

local function check(call, answer)
	if answer ~= "OK" then
		core.raise(format("%s: %s", call, answer))
	end
end

local function check_table(what, value)
	if type(value) ~= "table" then
		core.raise(format("%s is expected, not %s", what, type(value)))
	end
end

-- The fields of VALUE, for CALL, are of the list KNOWN; one whose key is a number is no field.
local function check_fields(call, value, known)
	for key in pairs(value) do
		local good = type(key) == "number"
		for i = 1, good and 0 or #known do
			good = good or known[i] == key
		end
		if not good then
			local meant = type(key) == "string" and core.nearest(key, known)
			core.raise(format("%s: unknown field %s%s", call, core.expect.show(key),
				meant and format("; did you mean \"%s\"?", meant) or ""))
		end
	end
end

local function made(call, object, errno)
	return object or core.raise(format("%s: %s", call, errno))
end

-- The local and the remote side of a request.
local function sides(wr)
	if wr[1] == "read" then
		return wr.to, wr.from
	end
	return wr.from, wr.to
end

local function build(self, wr, peer)
	local near, far = sides(wr)
	local builder = builders[wr[1]]
		or core.raise(format("qp:post: %s is no operation; there are write, write_imm, read, send and send_imm",
			core.expect.show(wr[1])))
	builder(self, {
		wr_id = wr.wr_id, flags = wr.flags, imm_data = wr.imm_data,
		rkey = far and (far.rkey or far.key), remote_addr = far and far.addr,
	})
	if wr.inline then
		self:wr_set_inline_data(wr.inline)
	elseif wr.list then
		self:wr_set_sge_list(wr.list)
	elseif near then
		self:wr_set_sge(near)
	end
	if wr.peer or peer then -- a connected queue pair knows its own
		self:wr_set_ud_addr(wr.peer or peer)
	end
end

local of_request = { "wr_id", "from", "to", "inline", "list", "imm_data", "flags", "peer" }

local function build_all(self, list, peer)
	for _, wr in ipairs(list) do
		build(self, wr, peer)
	end
end

--- A session of all these requests; the errno of its end.
function qp.post(self, list, peer)
	check_table("qp:post: a list of requests", list)
	for _, wr in ipairs(list) do
		check_table("qp:post: a request { \"write\", from = ..., to = ... }", wr)
		check_fields("qp:post", wr, of_request)
	end
	self:wr_start()
	-- What is wrong with a request is told once, not as a session that stays open too.
	local good, why = pcall(build_all, self, list, peer)
	if not good then
		self:wr_abort()
		error(why, 0)
	end
	return self:wr_complete()
end

local of_end = { "memory", "cqe", "send_cq", "cap", "send_ops_flags", "efa", "sq_sig_all", "qkey", "rnr_retry" }
local of_pair = { "a", "b", unpack(of_end) }

local function new_end(self, name, options)
	local host = self:host(name)
	local cq = options.send_cq or made("create_cq", host.verbs:create_cq(options.cqe or 64))
	local made_qp = made("create_qp_ex", host.verbs:create_qp_ex {
		send_cq = cq, recv_cq = cq, cap = options.cap, efa = options.efa, sq_sig_all = options.sq_sig_all,
		send_ops_flags = options.send_ops_flags or "SEND|SEND_WITH_IMM|RDMA_WRITE|RDMA_WRITE_WITH_IMM|RDMA_READ",
	})
	check("INIT", made_qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = options.qkey or 0x4242 })
	check("RTR", made_qp:modify { state = "RTR" })
	check("RTS", made_qp:modify { state = "RTS", sq_psn = 0, rnr_retry = options.rnr_retry })
	return { host = host, cq = cq, qp = made_qp, mem = options.memory and host:memory(options.memory),
		qkey = options.qkey or 0x4242 }
end

--- A queue pair with a completion queue and memory, by verbs alone, in RTS.
function t.verbs_end(self, name, options)
	options = options or {}
	check_table("t:verbs_end: a table of options", options)
	check_fields("t:verbs_end", options, of_end)
	return new_end(self, name, options)
end

--- Where requests to the end B go: through a new address handle of A's host.
local function address(a, b)
	check_table("srd.address: an end, as t:verbs_end gives it,", a)
	check_table("srd.address: an end, as t:verbs_end gives it,", b)
	local gid = b.host.verbs:query_gid()
	return { ah = made("create_ah", a.host.verbs.pd:create_ah { dgid = gid }), remote_qpn = b.qp.qp_num,
		remote_qkey = b.qkey }
end

--- Two ends that know each other: a.peer is where requests to b go, and the other way round.
function t.verbs_pair(self, options)
	options = options or {}
	check_table("t:verbs_pair: a table of options", options)
	check_fields("t:verbs_pair", options, of_pair)
	local function side(name)
		local own = options[name]
		if own then
			check_table("t:verbs_pair: a table of options", own)
			check_fields("t:verbs_pair", own, of_end)
		end
		return new_end(self, name, own or options)
	end
	local a, b = side "a", side "b"
	a.peer, b.peer = address(a, b), address(b, a)
	return a, b
end

return { address = address }
