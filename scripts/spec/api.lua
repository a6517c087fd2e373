-- What a script can call: every class with its methods and properties, and the module that
-- require "srdlab" gives. Annotations for editors are made from this, and a test compares
-- it with what src/lua and scripts/lib really have.
--
-- m(name, parameters, results, doc): a parameter is { name, type, doc }, with "?" behind
-- the name where it may be left out. Types are LuaCATS types; srd.NAME is a class of this
-- file or a structure of spec/structs.lua; size and time take units ("4KiB", "50us").
local function m(name, params, returns, doc)
	return { name = name, params = params, returns = returns, doc = doc }
end

local function p(name, type, doc)
	return { name = name, type = type, doc = doc }
end

local errno = "string"
local errno_doc = " The errno's name, or \"OK\"."
local matcher = "srd.expectation"

return {
	{
		name = "module", kind = "module", doc = "What require \"srdlab\" gives.",
		methods = {
			m("scenario", {
				{ "name", "string", "unique in the file" },
				{ "options", "srd.scenario_options", "may be left out" },
				{ "body", "fun(t: srd.scenario)", "what it does" },
			}, nil, "Declare a scenario. Its body runs later, in a state of its own."),
			m("address", { { "from", "srd.verbs_end" }, { "to", "srd.verbs_end" } }, "srd.ud_addr",
				"Where requests from one end to another go, through a new address handle."),
			m("with", { { "fields", "table" }, { "more", "table" } }, "table",
				"The fields of both tables; where both have one, that of the second."),
			m("describe", {
				{ "name", "string", "goes before the names of its scenarios" },
				{ "options", "srd.scenario_options", "of its scenarios, where they say no other; tags add up" },
				{ "body", "fun()", "declares them" },
			}, nil, "Scenarios of one theme. May be nested."),
			m("show", { { "value", "any" } }, "string", "A value as a script would write it."),
			m("size", { { "text", "size" } }, "integer", "Bytes of \"4KiB\"."),
			m("time", { { "text", "time" } }, "integer", "Nanoseconds of \"50us\"."),
		},
	},
	{
		name = "scenario", object = "scenario", doc = "The running scenario: t.",
		methods = {
			m("host", { { "name", "string" } }, "srd.host",
				"The host of this name; it opens a device the first time that it is asked for."),
			m("pair", { { "options?", "srd.pair_options" } }, "srd.pair",
				"Two hosts, a and b, each with a queue pair, connected to each other; with memory where a size is given."),
			m("verbs_end", { { "host", "string" }, { "options?", "srd.verbs_end_options" } }, "srd.verbs_end",
				"A queue pair by verbs alone, in RTS, with a completion queue of its own. Raises where a call fails."),
			m("verbs_pair", { { "options?", "srd.verbs_pair_options" } }, "srd.verbs_end, srd.verbs_end",
				"Two such ends, on hosts a and b, each with the other as its peer."),
			m("connect", { { "a", "srd.queue_pair" }, { "b", "srd.queue_pair" } }, nil,
				"Exchange endpoints and bring both to RTS, b first. Raises where it fails."),
			m("wait", { { "what", "srd.op|srd.task|(srd.op|srd.task)[]" }, { "time?", "time", "raises when it is over" } }, nil,
				"Let the world go on until all of them are done. Raises where an op failed, and at once in a deadlock."),
			m("result", { { "op", "srd.op" } }, "srd.result", "Wait for an op, and say how it ended without raising."),
			m("run_for", { { "time", "time" } }, nil, "Let the world go on for a time."),
			m("now", {}, "integer", "Nanoseconds since the scenario began; virtual in the mock."),
			m("seed", {}, "integer", "The seed of this run."),
			m("backend", {}, "string", "The name of the backend: mock or efa."),
			m("spawn", { { "body", "fun()" } }, "srd.task", "Run a function beside this one. The scenario ends when all have ended."),
			m("log", { { "...", "any" } }, nil, "A note for whoever watches the run."),
			m("expect", { { "value", "any" } }, matcher, "Begin an expectation: t:expect(x):equals(y)."),
			m("hold", { { "request", "srd.request" } }, nil, "Keep the completion back until release. Needs faults."),
			m("release", { { "request", "srd.request" } }, nil, "Let a held completion go. Needs faults."),
			m("release_all", { { "queue_pair", "srd.queue_pair|srd.qp" } }, nil, "Let all that are held on it go. Needs faults."),
			m("drop", { { "request", "srd.request" } }, nil, "Lose the request: it never completes. Needs faults."),
			m("duplicate", { { "request", "srd.request" } }, nil, "Deliver the completion twice. Needs faults."),
			m("fail", { { "request", "srd.request" }, { "status", "string|integer", "REMOTE_ERROR_BAD_ADDRESS, ..." } }, nil,
				"Complete it with an EFA status, moving no bytes. Needs faults."),
			m("delay", { { "request", "srd.request" }, { "time", "time" } }, nil, "It arrives so much later; where it has arrived, and at the level of packets, it completes later. Needs faults."),
			m("locate", { { "request", "srd.request" } }, "string",
				"Where it is: send_queue, wire, held, lost, completed, rnr or unknown. Needs faults."),
			m("device_error", { { "queue_pair", "srd.queue_pair|srd.qp" } }, nil,
				"The device moves the queue pair to ERR by itself and flushes it. Needs faults."),
			m("stale_completion", { { "queue_pair", "srd.queue_pair|srd.qp" } }, nil,
				"An entry of no live queue pair comes into its send completion queue. Needs faults."),
			m("fabric", { { "fields", "srd.profile" } }, nil, "Change fields of the profile that may change while it runs. Needs fabric."),
			m("counter", { { "name", "string" }, { "host", "srdlab.Host?" } }, "integer", "A counter of the devices: of all hosts, or of one."),
			m("audit", {}, nil, "The model checks itself; raises where it is broken."),
			m("fail_call", { { "verb", "string", "create_qp_ex, modify_qp, ..." }, { "how", "srd.fault_call" } }, nil,
				"Let the n-th call of a verb from now on fail."),
			m("restore_calls", {}, nil, "Forget what fail_call asked for."),
		},
	},
	{
		name = "host", object = "host", doc = "A host and the device that it opened.",
		properties = { p("name", "string"), p("verbs", "srd.context", "the device by verbs") },
		methods = {
			m("queue_pair", { { "fields?", "srd.queue_pair_fields" } }, "srd.queue_pair", "A queue pair in RESET."),
			m("memory", { { "size", "size" }, { "options?", "srd.memory_options" } }, "srd.memory",
				"Memory, zero and registered with all rights unless said otherwise."),
			m("kill", {}, nil, "It stops answering. Needs faults."),
			m("restart", {}, nil, "It is back, and its old queue pairs are gone. Needs faults."),
		},
	},
	{
		name = "memory", object = "memory", doc = "Memory of a host, or a slice of it.",
		properties = {
			p("size", "integer", "bytes"), p("addr", "integer"), p("lkey", "integer"), p("rkey", "integer"),
			p("host", "srd.host"),
		},
		methods = {
			m("slice", { { "offset", "size" }, { "size?", "size", "else all that is left" } }, "srd.memory", "A part of it."),
			m("fill", { { "what", "\"random\"|\"zero\"|integer", "an integer is the seed of a pattern" } }, "srd.memory", "Fill it; gives the memory itself."),
			m("write", { { "offset", "size" }, { "bytes", "string" } }, "srd.memory", "Store bytes; gives the memory itself."),
			m("bytes", { { "offset?", "size" }, { "size?", "size" } }, "string", "Load bytes."),
			m("first_difference", { { "other", "srd.memory" } }, "integer?", "The offset of the first byte that differs; nil: none does."),
			m("deregister", {}, errno, "End its registration." .. errno_doc),
			m("free", {}, errno, "End its registration and give the buffer back." .. errno_doc),
		},
	},
	{
		name = "queue_pair", object = "queue pair", doc = "A queue pair with its scheduler.",
		properties = {
			p("verbs", "srd.qp", "the verbs queue pair below"), p("host", "srd.host"), p("max_send_wr", "integer"),
		},
		methods = {
			m("connect", { { "peer", "srd.endpoint" } }, nil, "To RTS towards an endpoint. Raises where it fails."),
			m("add_peer", { { "peer", "srd.queue_pair|srd.endpoint" } }, "integer",
				"One more peer on this queue pair; its number, for the field peer of a transfer. Needs peers."),
			m("endpoint", {}, "srd.endpoint", "What a peer needs to connect."),
			m("put", { { "transfer", "srd.transfer" } }, "srd.op", "RDMA write, straight to the queue pair. Raises where it cannot be posted."),
			m("get", { { "transfer", "srd.transfer" } }, "srd.op", "RDMA read, straight to the queue pair. Raises where it cannot be posted."),
			m("submit_put", { { "transfer", "srd.transfer" } }, "srd.op", "RDMA write through the credit scheduler."),
			m("submit_get", { { "transfer", "srd.transfer" } }, "srd.op", "RDMA read through the credit scheduler."),
			m("state", {}, "string", "RESET, INIT, RTR, RTS, SQD, SQE or ERR, asked of the device."),
			m("in_flight", {}, "integer", "Requests that are posted and not reaped."),
			m("queued", {}, "integer", "Ops that wait for credits."),
			m("max_msg_size", {}, "integer", "The largest transfer that is one request."),
			m("poll", { { "queue", "\"send\"|\"recv\"" } }, "srd.completion?", "One completion, past the scheduler."),
			m("progress", {}, "integer", "One round of the scheduler without waiting; the completions that it reaped."),
			m("next_request", { { "n?", "integer", "1: the next" } }, "srd.request", "A request that is still to be posted."),
			m("destroy", {}, nil, "ERR, drain, destroy."),
		},
	},
	{
		name = "op", object = "op", doc = "One put or get.",
		properties = { p("line", "integer"), p("kind", "string", "put or get"), p("queue_pair", "srd.queue_pair") },
		methods = {
			m("status", {}, "string", "queued, pending, done or failed."),
			m("error", {}, "string?", "Why it failed; nil unless it did."),
			m("chunks", {}, "integer[][]", "{ offset, length } of each request that was posted, in order."),
			m("wr_ids", {}, "integer[]", "The id of each."),
			m("request", { { "i", "integer", "from 1" } }, "srd.request", "One of them, for a fault."),
		},
	},
	{ name = "request", object = "request", doc = "A request that a fault can be aimed at.", methods = {} },
	{
		name = "task", object = "task", doc = "A function that runs beside others.",
		methods = { m("done", {}, "boolean", "Whether it has ended.") },
	},
	{
		name = "context", object = "device", doc = "A device by verbs: host.verbs.",
		properties = { p("pd", "srd.pd", "the host's own protection domain"), p("name", "string") },
		methods = {
			m("query_device", {}, "srd.device_attr?, string?", "ibv_query_device."),
			m("efa_query_device", {}, "srd.efa_device_attr?, string?", "efadv_query_device."),
			m("query_port", { { "port_num?", "integer", "1" } }, "srd.port_attr?, string?", "ibv_query_port."),
			m("query_gid", { { "port_num?", "integer", "1" }, { "index?", "integer", "0" } }, "string?, string?", "ibv_query_gid."),
			m("open_device", { { "name?", "string" } }, "srd.context?, string?", "Open another."),
			m("close_device", {}, errno, "Close one that open_device gave." .. errno_doc),
			m("alloc_pd", {}, "srd.pd?, string?", "ibv_alloc_pd."),
			m("create_cq", { { "cqe", "integer" } }, "srd.cq?, string?", "ibv_create_cq."),
			m("create_qp_ex", { { "attr", "srd.qp_init_attr", "what is not said is as the EFA SRD queue pair has it" } }, "srd.qp?, string?", "efadv_create_qp_ex."),
		},
	},
	{
		name = "pd", object = "protection domain", doc = "A protection domain.",
		methods = {
			m("reg_mr", { { "range", "srd.memory|srd.view" }, { "access", "string|string[]|integer" } }, "srd.mr?, string?", "ibv_reg_mr."),
			m("create_ah", { { "attr", "srd.ah_attr" } }, "srd.ah?, string?", "ibv_create_ah; is_global and port_num are 1 unless said."),
			m("dealloc_pd", {}, errno, "ibv_dealloc_pd." .. errno_doc),
		},
	},
	{
		name = "mr", object = "memory region", doc = "A memory region.",
		properties = { p("lkey", "integer"), p("rkey", "integer"), p("addr", "integer"), p("length", "integer") },
		methods = { m("dereg_mr", {}, errno, "ibv_dereg_mr." .. errno_doc) },
	},
	{
		name = "ah", object = "address handle", doc = "An address handle.",
		methods = { m("destroy_ah", {}, errno, "ibv_destroy_ah." .. errno_doc) },
	},
	{
		name = "cq", object = "completion queue", doc = "A completion queue.",
		properties = { p("cqe", "integer", "entries that were granted") },
		methods = {
			m("poll", { { "n?", "integer", "1" } }, "srd.wc[]?, string?", "ibv_poll_cq: up to n completions, maybe none."),
			m("wait", { { "n?", "integer", "1" } }, "srd.wc[]", "n completions, as soon as they are there."),
			m("destroy_cq", {}, errno, "ibv_destroy_cq." .. errno_doc),
		},
	},
	{
		name = "qp", object = "verbs queue pair", doc = "A queue pair by verbs: q.verbs.",
		properties = { p("qp_num", "integer"), p("state", "string", "as the library caches it") },
		methods = {
			m("modify", { { "attr", "srd.qp_attr", "each field sets its bit of the mask, unless mask is given" } }, errno, "ibv_modify_qp." .. errno_doc),
			m("query", { { "mask?", "string|string[]|integer", "STATE" } }, "srd.qp_attr?, string?", "ibv_query_qp."),
			m("wr_start", {}, nil, "ibv_wr_start."),
			m("wr_rdma_write", { { "wr", "srd.wr" } }, nil, "ibv_wr_rdma_write; flags are SIGNALED unless said."),
			m("wr_rdma_write_imm", { { "wr", "srd.wr" } }, nil, "ibv_wr_rdma_write_imm."),
			m("wr_rdma_read", { { "wr", "srd.wr" } }, nil, "ibv_wr_rdma_read."),
			m("wr_send", { { "wr", "srd.wr" } }, nil, "ibv_wr_send."),
			m("wr_send_imm", { { "wr", "srd.wr" } }, nil, "ibv_wr_send_imm."),
			m("wr_set_sge", { { "sge", "srd.memory|srd.sge" } }, nil, "ibv_wr_set_sge."),
			m("wr_set_sge_list", { { "sges", "(srd.memory|srd.sge)[]" } }, nil, "ibv_wr_set_sge_list."),
			m("wr_set_inline_data", { { "data", "srd.memory|srd.sge" } }, nil, "ibv_wr_set_inline_data."),
			m("wr_set_ud_addr", { { "to", "srd.ud_addr" } }, nil, "ibv_wr_set_ud_addr; the queue key is 0x4242 unless said."),
			m("wr_complete", {}, errno, "ibv_wr_complete." .. errno_doc),
			m("wr_abort", {}, nil, "ibv_wr_abort."),
			m("post", { { "requests", "srd.post[]" }, { "peer?", "srd.ud_addr", "of each that names none" } }, errno,
				"One session of all these requests, from wr_start to wr_complete." .. errno_doc),
			m("next_request", { { "n?", "integer", "1: the next" } }, "srd.request", "A request that is still to be posted."),
			m("post_recv", { { "wr", "srd.recv_wr" } }, errno, "ibv_post_recv." .. errno_doc),
			m("destroy_qp", {}, errno, "ibv_destroy_qp." .. errno_doc),
		},
	},
	{
		name = "expectation", kind = "expectation", doc = "What t:expect begins. Each gives itself, so that more can follow.",
		methods = {
			m("equals", { { "expected", "any" } }, matcher, "It is equal; tables by what they hold."),
			m("differs_from", { { "other", "any" } }, matcher, "It is not equal."),
			m("is", { { "expected", "any" } }, matcher, "An op has this status, a queue pair this state; any other value is the same."),
			m("same_content", { { "other", "srd.memory|string" } }, matcher, "Memory holds the same bytes."),
			m("contains", { { "what", "any" } }, matcher, "A string has this text in it, a table this value."),
			m("matches", { { "pattern", "string" } }, matcher, "A string matches a Lua pattern."),
			m("raises", { { "text?", "string" } }, matcher, "A function raises an error, with this text in it."),
			m("at_least", { { "bound", "number" } }, matcher, "It is not less."),
			m("at_most", { { "bound", "number" } }, matcher, "It is not more."),
		},
	},
	-- tables that have no C structure
	{ name = "pair_side", kind = "table", doc = "One side of t:pair.",
		properties = { p("host", "srd.host"), p("qp", "srd.queue_pair"), p("mem", "srd.memory") } },
	{ name = "pair", kind = "table", doc = "What t:pair gives.",
		properties = { p("a", "srd.pair_side"), p("b", "srd.pair_side") } },
	{ name = "pair_options", kind = "table", parent = "srd.queue_pair_fields", doc = "The fields of t:pair.",
		properties = { p("memory?", "size"), p("kind?", "string", "REAL or ORIGIN"), p("connect?", "boolean", "true") } },
	{ name = "verbs_end_options", kind = "table", doc = "The fields of t:verbs_end.",
		properties = {
			p("memory?", "size"), p("cqe?", "integer", "64"), p("send_cq?", "srd.cq", "for both queues, in place of a new one"),
			p("cap?", "srd.qp_cap"), p("send_ops_flags?", "string", "all five"), p("efa?", "srd.efa_qp_init_attr"),
			p("sq_sig_all?", "integer"), p("qkey?", "integer", "0x4242"), p("rnr_retry?", "integer"),
		} },
	{ name = "verbs_pair_options", kind = "table", parent = "srd.verbs_end_options",
		doc = "The fields of t:verbs_pair: for both ends, unless a or b is given.",
		properties = { p("a?", "srd.verbs_end_options"), p("b?", "srd.verbs_end_options") } },
	{ name = "verbs_end", kind = "table", doc = "What t:verbs_end gives.",
		properties = { p("host", "srd.host"), p("cq", "srd.cq"), p("qp", "srd.qp"), p("mem", "srd.memory"),
			p("qkey", "integer"), p("peer", "srd.ud_addr", "of t:verbs_pair only") } },
	{ name = "post", kind = "table", doc = "A request of qp:post; its first entry is write, write_imm, read, send or send_imm.",
		properties = { p("wr_id?", "integer"), p("from?", "srd.memory|srd.sge"), p("to?", "srd.memory|srd.view"),
			p("inline?", "srd.memory"), p("list?", "(srd.memory|srd.sge)[]"), p("imm_data?", "integer"),
			p("flags?", "string"), p("peer?", "srd.ud_addr") } },
	{ name = "transfer", kind = "table", doc = "What a put or get moves.",
		properties = { p("from", "srd.memory|srd.view"), p("to", "srd.memory|srd.view"),
			p("peer?", "integer", "as add_peer gave it; 0: that of connect") } },
	{ name = "result", kind = "table", doc = "How an op ended: status and vendor_err, or errno and message where no request is the cause.",
		properties = { p("status?", "string"), p("vendor_err?", "integer"), p("errno?", "string"), p("message?", "string") } },
}
