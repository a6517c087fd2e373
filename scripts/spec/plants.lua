-- The planted defects: each is a plug-in, made of an example's source with one defect in it.
-- `srdlab rules --check` runs them all against the scenarios with the tag contract.
--   name     of the plug-in
--   defect   in words
--   rule     the rule that is raised first; false: nothing is planted, and nothing is raised
--   also     rules that may be raised after it, because of it
--   change   pairs of texts: what stands in the source, once, and what stands there instead
-- Rules that no queue pair and no scheduler can break by itself, and devices that are not like
-- EFA, are planted in tests/planted.
local plants = {}
local kind, source

local function plants_in(of_kind, file)
	kind, source = of_kind, file
end

local function plant(name, defect, rule, change, also)
	plants[#plants + 1] = { name = name, kind = kind, source = source, defect = defect, rule = rule,
		change = change, also = also or {} }
end

plants_in("queue_pair", "queue_pair_c/queue_pair.c")

plant("queue-pair-as-it-is", "nothing: the example", false, {})

-- chunks --------------------------------------------------------------------------------
plant("gap", "a byte between two requests is in neither", "chunk.cover", {
	"at += length;", "at += length + (left > length);",
}, { "chunk.overlap", "chunk.empty" })
plant("overlap", "a request begins with the last byte of the one before", "chunk.overlap", {
	"at += length;", "at += length - (left > length);",
})
plant("tail-missed", "what is left after the last whole request is not sent", "chunk.cover", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;",
	"return size < q->max_rdma_size ? 1 : size / q->max_rdma_size;",
}, { "credit.too_large" })
plant("tail-empty", "whole requests are followed by an empty one", "chunk.empty", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;", "return size / q->max_rdma_size + 1;",
}, { "credit.idle", "credit.refused", "credit.fifo" })
plant("last-byte", "the last byte of a transfer of several requests is not sent", "chunk.cover", {
	"at += length;", "at += length;\n\t\tsize -= at == size - 1 - (size - 1) % q->max_rdma_size && at;",
}, { "chunk.empty" })
plant("empty-posts-nothing", "an empty transfer posts nothing, as on RC", "chunk.count", {
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = size ? num_requests(q, kind, size) : 0, at = 0;",
})
plant("empty-posts-two", "an empty transfer posts two requests", "chunk.count", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;",
	"return size ? (size - 1) / q->max_rdma_size + 1 : 2;",
}, { "credit.idle" })
plant("length-32-bits", "the size of a transfer is kept in 32 bits", "chunk.empty", {
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = num_requests(q, kind, size = (uint32_t)size), at = 0;",
}, { "credit.predict", "chunk.cover" })
plant("offset-32-bits", "the offset of a request is kept in 32 bits", "chunk.overlap", {
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = num_requests(q, kind, size);\n\tuint32_t at = 0;",
})
plant("local-32-bits", "the local address is kept in 32 bits", "chunk.align", {
	"local->addr + at, length);", "(uint32_t)(local->addr + at), length);",
}, { "memory.local_range" })
plant("count-32-bits", "the number of requests is counted in 32 bits", "credit.too_large", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;",
	"uint32_t count = size ? (uint32_t)((size - 1) / q->max_rdma_size + 1) : 1;\n\n\treturn count ? count : 1;",
}, { "chunk.cover" })
plant("get-by-local-size", "a get reads as much as its destination holds", "chunk.transfer", {
	"return transfer(q, SRD_OP_GET, to, from, from->size, to->size, ids, error);",
	"return transfer(q, SRD_OP_GET, to, from, to->size, to->size, ids, error);",
}, { "chunk.mismatch", "credit.overcommit" })
plant("put-by-remote-size", "a put writes as much as its destination holds", "chunk.transfer", {
	"return transfer(q, SRD_OP_PUT, from, to, from->size, to->size, ids, error);",
	"return transfer(q, SRD_OP_PUT, from, to, to->size, to->size, ids, error);",
}, { "chunk.mismatch", "credit.overcommit" })
plant("put-to-remote-base", "every request of a put goes to the start of the remote range", "chunk.align", {
	"v->wr_rdma_write(v, q->qp, remote->rkey, remote->addr + at);",
	"v->wr_rdma_write(v, q->qp, remote->rkey, remote->addr);",
})
plant("get-from-remote-base", "every request of a get reads the start of the remote range", "chunk.align", {
	"v->wr_rdma_read(v, q->qp, remote->rkey, remote->addr + at);",
	"v->wr_rdma_read(v, q->qp, remote->rkey, remote->addr);",
})
plant("local-base", "every request takes the start of the local range", "chunk.align", {
	"local->addr + at, length);", "local->addr, length);",
})
plant("remote-offset-doubled", "the remote offset counts every byte twice", "chunk.align", {
	"v->wr_rdma_write(v, q->qp, remote->rkey, remote->addr + at);",
	"v->wr_rdma_write(v, q->qp, remote->rkey, remote->addr + 2 * at);",
}, { "memory.remote_range" })
plant("rest-first", "what is no whole request goes first", "chunk.full", {
	"uint32_t length = left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;",
	"uint32_t rest = i ? 0 : size % q->max_rdma_size;\n"
		.. "\t\tuint32_t length = rest ? rest : left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;",
})
plant("equal-parts", "a transfer is cut into equal parts", "chunk.full", {
	"uint32_t length = left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;",
	"uint32_t length = (uint32_t)(left / (count - i));",
})
plant("half-requests", "requests are of half the size that the device allows", "chunk.full", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;",
	"return size ? (size - 1) / (q->max_rdma_size - q->max_rdma_size / 2) + 1 : 1;",
	"uint32_t length = left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;",
	"uint32_t half = q->max_rdma_size - q->max_rdma_size / 2, length = left < half ? (uint32_t)left : half;",
}, { "credit.refused", "credit.idle", "credit.fifo" })
plant("one-request", "a transfer is one request, whatever its size", "chunk.limit", {
	"uint64_t count = num_requests(q, kind, size), at = 0;", "uint64_t count = 1, at = 0;",
	"uint32_t length = left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;",
	"uint32_t length = (uint32_t)left;",
}, { "credit.predict", "chunk.empty", "chunk.cover" })
plant("limit-off-by-one", "a request may have one byte more than the device allows", "chunk.limit", {
	"uint32_t length = left < q->max_rdma_size ? (uint32_t)left : q->max_rdma_size;",
	"uint32_t length = left <= q->max_rdma_size + 1ull ? (uint32_t)left : q->max_rdma_size;",
}, { "chunk.empty" })
plant("max-is-a-constant", "max_msg_size is 1 GiB on every device", "chunk.max", {
	"return q->max_rdma_size;", "return 1u << 30;",
})
plant("max-is-the-mtu", "max_msg_size is the size of a packet", "chunk.max", {
	"return q->max_rdma_size;", "return 8928;",
})
plant("mismatch-posted", "a transfer into too small a range is posted", "chunk.mismatch", {
	"if (room < size)", "if (false)",
})
plant("mismatch-cut", "a transfer into too small a range is cut to fit", "chunk.mismatch", {
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = num_requests(q, kind, size = room < size ? room : size), at = 0;",
}, { "chunk.transfer" })
plant("mismatch-late", "the sizes are compared when the session is open", "chunk.mismatch", {
	"if (room < size)", "if (room < size && (v->wr_start(v, q->qp), v->wr_abort(v, q->qp), true))",
})
plant("get-writes", "a get posts writes", "chunk.operation", {
	"if (kind == SRD_OP_PUT)\n\t\t\tv->wr_rdma_write", "if (true)\n\t\t\tv->wr_rdma_write",
})
plant("put-reads", "a put posts reads", "chunk.operation", {
	"if (kind == SRD_OP_PUT)\n\t\t\tv->wr_rdma_write", "if (false)\n\t\t\tv->wr_rdma_write",
})
plant("rkey-for-lkey", "the local key of a request is one that the peer gave", "chunk.operation", {
	"v->wr_set_sge(v, q->qp, local->lkey,", "v->wr_set_sge(v, q->qp, remote->rkey,",
}, { "memory.lkey", "memory.local_range" })
plant("lkey-for-rkey", "the remote key of a write is our own", "chunk.operation", {
	"v->wr_rdma_write(v, q->qp, remote->rkey,", "v->wr_rdma_write(v, q->qp, local->lkey,",
}, { "memory.rkey", "memory.remote_range" })

-- sessions ------------------------------------------------------------------------------
plant("session-each", "every request has a session of its own", "session.one", {
	"at += length;",
	"at += length;\n\t\tif (at < size) {\n\t\t\tv->wr_complete(v, q->qp);\n\t\t\tv->wr_start(v, q->qp);\n\t\t}",
}, { "credit.count", "completion.op_unanswered" })
plant("session-left-open", "an address that is refused is found in the session, which stays open", "session.open", {
	"\tif (size &&\n\t    (local->addr", "\tv->wr_start(v, q->qp);\n\tif (size &&\n\t    (local->addr",
	"(unsigned long long)count);\n\tv->wr_start(v, q->qp);", "(unsigned long long)count);",
}, { "session.pair" })
plant("abort-after-complete", "a session that was refused is aborted too", "session.pair", {
	"\tif (rc)\n\t\treturn srd_plugin_error(error, -rc, \"the device refused it",
	"\tif (rc)\n\t\tv->wr_abort(v, q->qp);\n\tif (rc)\n\t\treturn srd_plugin_error(error, -rc, \"the device refused it",
})
plant("complete-twice", "a session is completed once more", "session.pair", {
	"rc = v->wr_complete(v, q->qp);", "rc = v->wr_complete(v, q->qp);\n\tv->wr_complete(v, q->qp);",
})
plant("start-twice", "a session is started twice", "session.pair", {
	"v->wr_start(v, q->qp);", "v->wr_start(v, q->qp);\n\tv->wr_start(v, q->qp);",
})
plant("range-forgotten", "requests have no local range", "session.setters", {
	"v->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);", "",
})
plant("empty-without-range", "an empty request has no local range", "session.setters", {
	"v->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);",
	"if (length)\n\t\t\tv->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);",
})
plant("destination-forgotten", "requests have no destination", "session.setters", {
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);", "",
}, { "session.destination" })
plant("destination-once", "the first request of a session has a destination, the others not", "session.setters", {
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);",
	"if (!i)\n\t\t\tv->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);",
}, { "session.destination" })
plant("destination-twice", "every request is given its destination twice", "session.setters", {
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);",
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);\n"
		.. "\t\tv->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);",
})
plant("destination-before-range", "the destination is set before the range", "session.setters", {
	"v->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);",
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);",
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);\n\t\tat",
	"v->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);\n\t\tat",
})
plant("range-before-builder", "the range is set before the request is begun", "session.builder_first", {
	"v->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);", "",
	"\t\tif (kind == SRD_OP_PUT)\n\t\t\tv->wr_rdma_write",
	"\t\tv->wr_set_sge(v, q->qp, local->lkey, local->addr + at, length);\n"
		.. "\t\tif (kind == SRD_OP_PUT)\n\t\t\tv->wr_rdma_write",
}, { "chunk.align", "session.setters" })
plant("destination-after-end", "the destination is set after the session", "session.setters", {
	"v->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);", "",
	"rc = v->wr_complete(v, q->qp);",
	"rc = v->wr_complete(v, q->qp);\n\tv->wr_set_ud_addr(v, q->qp, q->ah, q->remote_qpn, q->qkey);",
}, { "session.destination", "session.builder_first" })
plant("last-signaled", "only the last request of a transfer is signaled", "session.flags", {
	"q->qp->wr_flags = SRD_SEND_SIGNALED;", "q->qp->wr_flags = i + 1 == count ? SRD_SEND_SIGNALED : 0;",
})
plant("get-unsignaled", "the requests of a get are not signaled", "session.flags", {
	"q->qp->wr_flags = SRD_SEND_SIGNALED;", "q->qp->wr_flags = kind == SRD_OP_PUT ? SRD_SEND_SIGNALED : 0;",
})
plant("fenced", "requests are fenced too", "session.flags", {
	"q->qp->wr_flags = SRD_SEND_SIGNALED;", "q->qp->wr_flags = SRD_SEND_SIGNALED | SRD_SEND_FENCE;",
})
plant("read-undeclared", "the queue pair is made for writes only, and reads", "session.declared", {
	"SRD_QP_EX_WITH_RDMA_WRITE | SRD_QP_EX_WITH_RDMA_READ", "SRD_QP_EX_WITH_RDMA_WRITE",
})
plant("polled-in-session", "completions are taken while a session is open", "session.poll", {
	"at += length;",
	"at += length;\n\t\tv->poll_cq(v, q->qp->send_cq, 0, NULL);",
})

-- ids -----------------------------------------------------------------------------------
plant("ids-from-one", "ids begin at 1", "id.first", {
	"q->port_num = config->port_num;", "q->port_num = config->port_num;\n\tq->next_id = 1;",
})
plant("ids-of-all", "all queue pairs take their ids from one counter", "id.first", {
	"q->port_num = config->port_num;",
	"static uint64_t pairs;\n\n\tq->port_num = config->port_num;\n\tq->next_id = pairs++ << 20;",
})
plant("ids-4-bits", "ids have four bits", "id.consecutive", {
	"q->qp->wr_id = q->next_id++;", "q->qp->wr_id = q->next_id++ & 15;",
}, { "id.reuse", "completion.op_early" })
plant("ids-of-the-op", "the ids of every op begin at 0", "id.reuse", {
	"q->qp->wr_id = q->next_id++;", "q->qp->wr_id = i;",
}, { "completion.op_early", "completion.op_cause", "completion.op_result" })
plant("id-of-the-op", "all requests of an op have one id", "id.reuse", {
	"q->qp->wr_id = q->next_id++;", "q->qp->wr_id = q->next_id;",
	"\tids->count = (uint32_t)count;", "\tq->next_id++;\n\tids->count = (uint32_t)count;",
})
plant("ids-taken-back", "the ids of a refused session are used again", "id.reuse", {
	"rc = v->wr_complete(v, q->qp);", "rc = v->wr_complete(v, q->qp);\n\tq->next_id -= rc ? count : 0;",
})
plant("ids-out-of-order", "behind the first, the ids of an op go down", "id.consecutive", {
	"q->qp->wr_id = q->next_id++;", "q->qp->wr_id = q->next_id + (i ? count - i : 0);",
	"rc = v->wr_complete(v, q->qp);", "rc = v->wr_complete(v, q->qp);\n\tq->next_id += count;",
}, { "id.skipped" })
plant("ids-even", "ids are even", "id.consecutive", {
	"q->qp->wr_id = q->next_id++;", "q->qp->wr_id = 2 * q->next_id++;",
}, { "id.skipped" })
plant("id-burnt", "an op that is refused for its size costs an id", "id.first", {
	"if (room < size)", "if (room < size && ++q->next_id)",
}, { "id.skipped" })
plant("id-burnt-by-refusal", "a session that is refused costs an id more", "id.skipped", {
	"rc = v->wr_complete(v, q->qp);", "rc = v->wr_complete(v, q->qp);\n\tq->next_id += rc != 0;",
})
plant("ids-with-gaps", "an id is left out between two ops", "id.skipped", {
	"\tids->count = (uint32_t)count;", "\tq->next_id++;\n\tids->count = (uint32_t)count;",
})
plant("id-not-returned", "the last id of an op is not returned", "id.returned", {
	"ids->count = (uint32_t)count;", "ids->count = (uint32_t)count - 1;",
}, { "credit.count", "completion.op_early", "completion.overrun", "credit.overcommit", "credit.idle", "credit.fifo", "completion.op_result", "completion.op_cause" })
plant("ids-returned-shifted", "the ids that are returned are those of the next requests", "id.returned", {
	"ids->id[i] = q->qp->wr_id = q->next_id++;", "q->qp->wr_id = q->next_id++;\n\t\tids->id[i] = q->next_id;",
}, { "credit.count", "completion.op_unanswered", "completion.op_early", "credit.idle", "completion.op_result", "completion.op_cause" })
plant("ids-returned-backwards", "the ids are returned from the last to the first", "id.returned", {
	"ids->id[i] =", "ids->id[count - 1 - i] =",
})

-- what the scheduler is told --------------------------------------------------------------
plant("predicts-one-more", "num_requests answers one too many", "credit.predict", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;",
	"return size ? (size - 1) / q->max_rdma_size + 2 : 2;",
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = num_requests(q, kind, size) - 1, at = 0;",
}, { "credit.idle", "credit.refused" })
plant("predicts-one", "num_requests answers 1", "credit.predict", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;", "return 1;",
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = size ? (size - 1) / q->max_rdma_size + 1 : 1, at = 0;",
}, { "credit.too_large", "credit.overcommit" })
plant("predicts-packets", "num_requests counts packets", "credit.refused", {
	"return size ? (size - 1) / q->max_rdma_size + 1 : 1;", "return size ? (size - 1) / 8928 + 1 : 1;",
	"uint64_t count = num_requests(q, kind, size), at = 0;",
	"uint64_t count = size ? (size - 1) / q->max_rdma_size + 1 : 1, at = 0;",
}, { "credit.predict", "credit.overcommit", "credit.too_large" })
plant("depth-halved", "half of the depth is asked of the device", "credit.clamp", {
	".max_send_wr = config->max_send_wr,", ".max_send_wr = (config->max_send_wr + 1) / 2,",
}, { "credit.depth" })
plant("depth-lowered", "a depth above the device's is lowered in silence", "credit.clamp", {
	"\tstruct srd_endpoint here = {", "\tstruct srd_queue_pair_config lower = *config;\n\tstruct srd_efa_device_attr device = {0};\n"
		.. "\tstruct srd_endpoint here = {",
	"\tint rc = check(v, pd, config, &here", "\tif (pd)\n\t\tv->efa_query_device(v, pd->context, &device);\n"
		.. "\tif (device.max_sq_wr && lower.max_send_wr > device.max_sq_wr)\n\t\tlower.max_send_wr = device.max_sq_wr;\n"
		.. "\tconfig = &lower;\n\tint rc = check(v, pd, config, &here",
})

-- completions -----------------------------------------------------------------------------
plant("stale-accepted", "an entry of no live queue pair is taken for a completion", "credit.count", {
	"if (n < 0)\n", "if (n == -EINVAL)\n\t\t\tn = 1, wc = (struct srd_wc){.qp_num = q->qp->qp_num};\n\t\tif (n < 0)\n",
}, { "completion.op_early" })
plant("every-other-lost", "two entries are taken at a time, and one is handed on", "credit.count", {
	"struct srd_wc wc;\n\tint n;", "struct srd_wc wcs[2], wc;\n\tint n;",
	"n = q->verbs->poll_cq(q->verbs, cq, 1, &wc);", "n = q->verbs->poll_cq(q->verbs, cq, 2, wcs);\n\t\twc = wcs[0];",
}, { "completion.op_unanswered" })
plant("always-success", "every completion is handed on as a success", "completion.op_result", {
	"wc.wr_id, wc.status,", "wc.wr_id, SRD_WC_SUCCESS,",
})
plant("flush-is-success", "a flushed request is handed on as a success", "completion.op_result", {
	"wc.wr_id, wc.status,", "wc.wr_id, wc.status == SRD_WC_WR_FLUSH_ERR ? SRD_WC_SUCCESS : wc.status,",
})
plant("status-is-general", "every failure is handed on as a general error", "completion.op_cause", {
	"wc.wr_id, wc.status,", "wc.wr_id, wc.status ? SRD_WC_GENERAL_ERR : SRD_WC_SUCCESS,",
})
plant("vendor-error-lost", "the vendor error is not handed on", "completion.op_cause", {
	"wc.status, wc.vendor_err,", "wc.status, 0,",
})
plant("completion-id-cut", "a completion is handed on with four bits of its id", "credit.count", {
	"{wc.wr_id, wc.status", "{wc.wr_id & 15, wc.status",
}, { "completion.op_unanswered", "credit.idle", "completion.op_early" })
plant("failure-ends-the-poll", "a failed request is a failed poll", "credit.count", {
	"if (wc.qp_num != q->qp->qp_num)",
	"if (wc.status)\n\t\t\treturn srd_plugin_error(error, -EIO, \"a request failed\");\n\t\tif (wc.qp_num != q->qp->qp_num)",
})
plant("reads-by-opcode", "a read is waited for by the opcode of reads, which does not come", "credit.count", {
	"if (wc.qp_num != q->qp->qp_num)",
	"if (wc.opcode == SRD_WC_SEND)\n\t\t\tcontinue;\n\t\tif (wc.qp_num != q->qp->qp_num)",
}, { "completion.op_unanswered", "credit.idle" })

-- states ------------------------------------------------------------------------------------
plant("rtr-with-qkey", "the queue key is set on the way to RTR too", "state.path", {
	"\t\tSRD_QP_STATE,\n", "\t\tSRD_QP_STATE | SRD_QP_QKEY,\n",
	"{.qp_state = SRD_QPS_RTR},", "{.qp_state = SRD_QPS_RTR, .qkey = q->qkey},",
})
plant("rts-with-retry", "RTS carries a retry count, as on RC", "state.path", {
	"SRD_QP_STATE | SRD_QP_SQ_PSN,", "SRD_QP_STATE | SRD_QP_SQ_PSN | SRD_QP_RNR_RETRY,",
})
plant("rtr-with-peer", "RTR carries the peer's number, as on RC", "state.path", {
	"\t\tSRD_QP_STATE,\n", "\t\tSRD_QP_STATE | SRD_QP_DEST_QPN,\n",
})
plant("init-with-access", "INIT carries access flags, as on RC", "state.path", {
	"SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY,", "SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY | SRD_QP_ACCESS_FLAGS,",
})
plant("init-without-qkey", "INIT carries no queue key", "state.path", {
	"SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY,", "SRD_QP_PKEY_INDEX | SRD_QP_PORT,",
})
plant("rts-without-psn", "RTS carries no PSN", "state.path", {
	"SRD_QP_STATE | SRD_QP_SQ_PSN,", "SRD_QP_STATE,",
})
plant("rtr-skipped", "INIT is followed by RTS", "state.path", {
	"{.qp_state = SRD_QPS_RTR},", "{.qp_state = SRD_QPS_RTS, .sq_psn = q->here.psn},",
	"\t\tSRD_QP_STATE,\n", "\t\tSRD_QP_STATE | SRD_QP_SQ_PSN,\n",
})
plant("psn-25-bits", "the PSN has 25 bits", "state.psn", {
	".sq_psn = q->here.psn", ".sq_psn = q->here.psn | 1u << 24",
})
plant("peer-before-rts", "the peer is stored before RTS is reached", "state.connected", {
	"\trc = to_rts(q, error);\n\tif (rc) {\n\t\tq->verbs->destroy_ah(q->verbs, ah);\n\t\treturn rc;\n\t}\n"
		.. "\tq->remote_qpn = peer->qp_num;\n\tq->ah = ah;\n\treturn 0;",
	"\tq->remote_qpn = peer->qp_num;\n\tq->ah = ah;\n\treturn to_rts(q, error);",
})
plant("connect-again", "a second connect is not refused", "lifetime.leak", {
	"if (q->ah)\n\t\treturn", "if (false)\n\t\treturn",
})

-- addresses -----------------------------------------------------------------------------
plant("hop-limit", "the address handle has a hop limit", "address.fields", {
	"attr.dgid = peer->gid;", "attr.dgid = peer->gid;\n\tattr.hop_limit = 64;",
})
plant("traffic-class", "the address handle has a traffic class", "address.fields", {
	"attr.dgid = peer->gid;", "attr.dgid = peer->gid;\n\tattr.traffic_class = 8;",
})
plant("own-gid", "the address handle leads to our own device", "memory.rkey", {
	"attr.dgid = peer->gid;", "attr.dgid = q->here.gid;",
}, { "address.peer", "address.unknown_peer" })
plant("own-number", "requests go to our own number at the peer", "address.peer", {
	"q->remote_qpn = peer->qp_num;", "q->remote_qpn = q->here.qp_num;",
})
plant("qkey-is-the-default", "requests carry the usual queue key, whatever was configured", "address.qkey", {
	"q->remote_qpn, q->qkey);", "q->remote_qpn, SRD_DEFAULT_QKEY);",
})
plant("init-qkey-is-the-default", "INIT sets the usual queue key, whatever was configured", "address.qkey", {
	".qkey = q->qkey}", ".qkey = SRD_DEFAULT_QKEY}",
})
plant("qkey-privileged", "the queue key is made a privileged one", "address.qkey_range", {
	".qkey = q->qkey}", ".qkey = q->qkey | 1u << 31}",
}, { "address.qkey" })

-- lifetimes -------------------------------------------------------------------------------
plant("address-handle-first", "the address handle is destroyed before the queue pair", "lifetime.ah_order", {
	"\tq->verbs->destroy_qp(q->verbs, q->qp);\n", "",
	"\tfree(q->kept);\n", "\tq->verbs->destroy_qp(q->verbs, q->qp);\n\tfree(q->kept);\n",
})
plant("address-handle-of-the-op", "every op has an address handle, destroyed when it is posted", "lifetime.busy_ah", {
	"\tv->wr_start(v, q->qp);", "\tconst struct srd_ah_attr attr = {.is_global = 1, .port_num = q->port_num, .dgid = q->gid};\n"
		.. "\tstruct srd_ah *ah = v->create_ah(v, q->qp->pd, &attr);\n\n\tv->wr_start(v, q->qp);",
	"v->wr_set_ud_addr(v, q->qp, q->ah,", "v->wr_set_ud_addr(v, q->qp, ah,",
	"rc = v->wr_complete(v, q->qp);", "rc = v->wr_complete(v, q->qp);\n\tv->destroy_ah(v, ah);",
	"\tuint8_t port_num;\n", "\tuint8_t port_num;\n\tunion srd_gid gid;\n",
	"attr.dgid = peer->gid;", "q->gid = attr.dgid = peer->gid;",
}, { "lifetime.ah_order" })
plant("address-handle-leaked", "the address handle is never destroyed", "lifetime.leak", {
	"\tif (q->ah)\n\t\tq->verbs->destroy_ah(q->verbs, q->ah);\n", "",
})
plant("address-handle-lost", "a connect that fails leaves its address handle behind", "lifetime.leak", {
	"\t\tq->verbs->destroy_ah(q->verbs, ah);\n\t\treturn rc;", "\t\treturn rc;",
})
plant("lease-early", "the queue pair lives on when its completion queue is given back", "completion.lease_early", {
	"\tq->verbs->destroy_qp(q->verbs, q->qp);\n\tif (q->ah)\n\t\tq->verbs->destroy_ah(q->verbs, q->ah);\n", "",
}, { "lifetime.leak" })
plant("probe-left", "a queue pair that was made to try the depth is left behind", "lifetime.leak", {
	"q->qp = make_qp(v, pd, config, send_cq, recv_cq);",
	"make_qp(v, pd, config, send_cq, recv_cq);\n\tq->qp = make_qp(v, pd, config, send_cq, recv_cq);",
})

plant("region-early", "the region that an op registers is deregistered when the op is posted", "memory.dereg", {
	"\tv->wr_start(v, q->qp);",
	"\tstruct srd_mr *mr = v->reg_mr(v, q->qp->pd, local->addr, size ? size : 1, SRD_ACCESS_LOCAL_WRITE);\n\n"
		.. "\tv->wr_start(v, q->qp);",
	"v->wr_set_sge(v, q->qp, local->lkey,", "v->wr_set_sge(v, q->qp, mr->lkey,",
	"rc = v->wr_complete(v, q->qp);", "rc = v->wr_complete(v, q->qp);\n\tv->dereg_mr(v, mr);",
})
plant("region-read-only", "the region that an op registers has no right to be written", "memory.local_access", {
	"\tv->wr_start(v, q->qp);",
	"\tstruct srd_mr *mr = v->reg_mr(v, q->qp->pd, local->addr, size ? size : 1, 0);\n\n"
		.. "\tq->mrs[q->num_mrs++] = mr;\n\tv->wr_start(v, q->qp);",
	"v->wr_set_sge(v, q->qp, local->lkey,", "v->wr_set_sge(v, q->qp, mr->lkey,",
	"\tuint8_t port_num;\n", "\tuint8_t port_num;\n\tstruct srd_mr *mrs[1024];\n\tuint32_t num_mrs;\n",
	"\tfree(q->kept);\n", "\twhile (q->num_mrs)\n\t\tq->verbs->dereg_mr(q->verbs, q->mrs[--q->num_mrs]);\n\tfree(q->kept);\n",
})
plant("region-leaked", "the region that an op registers is never deregistered", "lifetime.leak", {
	"\tv->wr_start(v, q->qp);",
	"\tstruct srd_mr *mr = v->reg_mr(v, q->qp->pd, local->addr, size ? size : 1, SRD_ACCESS_LOCAL_WRITE);\n\n"
		.. "\tv->wr_start(v, q->qp);",
	"v->wr_set_sge(v, q->qp, local->lkey,", "v->wr_set_sge(v, q->qp, mr->lkey,",
})

plants_in("scheduler", "scheduler_c/scheduler.c")

plant("scheduler-as-it-is", "nothing: the example", false, {})

-- the gate ----------------------------------------------------------------------------------
plant("gate-off-by-one", "the gate lets one request too many through", "credit.overcommit", {
	"s->in_flight + head->asked > s->credits)", "s->in_flight + head->asked > s->credits + 1ull)",
})
plant("gate-strict", "the last credit is never used", "credit.idle", {
	"s->in_flight + head->asked > s->credits)", "s->in_flight + head->asked >= s->credits)",
})
plant("gate-counts-ops", "the gate takes every op for one request", "credit.overcommit", {
	"s->in_flight + head->asked > s->credits)", "s->in_flight + 1 > s->credits)",
})
plant("gate-constant", "requests are counted as if each had 1 MiB", "credit.refused", {
	"uint64_t asked = s->ops->num_requests(s->qp, op->kind, size);", "uint64_t asked = (size >> 20) + 1;",
}, { "credit.too_large" })
plant("gate-of-another-depth", "there are 64 credits, whatever the depth", "credit.overcommit", {
	"s->credits = config->max_send_wr;", "s->credits = 64;",
}, { "credit.too_large" })
plant("gate-not-for-gets", "gets pass the gate at any time", "credit.overcommit", {
	"if (s->full || s->in_flight", "if (s->full || head->op.kind != SRD_OP_GET && s->in_flight",
})
plant("gate-not-in-rounds", "what a round posts passes the gate at any time", "credit.overcommit", {
	"\tpost_line(s);\n\treturn reaped;",
	"\tuint32_t credits = s->credits;\n\n\ts->credits = UINT32_MAX;\n\tpost_line(s);\n"
		.. "\ts->credits = credits;\n\treturn reaped;",
})
plant("gate-not-in-submit", "what a submit posts passes the gate at any time", "credit.overcommit", {
	"s->num_queued++;\n\t\tpost_line(s);",
	"s->num_queued++;\n\t\tuint32_t credits = s->credits;\n\n\t\ts->credits = UINT32_MAX;\n\t\tpost_line(s);\n"
		.. "\t\ts->credits = credits;",
})
plant("gate-for-the-head-only", "behind a head that fits all others are posted", "credit.overcommit", {
	"struct entry *head;\n", "struct entry *head;\n\tbool first = true;\n",
	"if (s->full || s->in_flight + head->asked > s->credits)",
	"if (s->full || (first && s->in_flight + head->asked > s->credits))",
	"\t\ts->num_queued--;\n\t\ttake", "\t\tfirst = false;\n\t\ts->num_queued--;\n\t\ttake",
})
plant("get-counted-by-destination", "the requests of a get are counted by its destination", "credit.refused", {
	"op->kind == SRD_OP_PUT ? op->local.size : op->remote.size;", "op->local.size;",
})
plant("put-counted-by-destination", "the requests of a put are counted by its destination", "credit.refused", {
	"op->kind == SRD_OP_PUT ? op->local.size : op->remote.size;", "op->remote.size;",
})
plant("asked-32-bits", "the number of requests is kept in 32 bits", "credit.too_large", {
	"uint64_t asked = s->ops->num_requests(", "uint32_t asked = (uint32_t)s->ops->num_requests(",
})
plant("too-large-waits", "an op that needs more than all credits waits", "credit.too_large", {
	"} else if (asked > s->credits) {", "} else if (false) {",
}, { "credit.idle" })
plant("all-credits-refused", "an op that needs all credits is refused", "credit.refused", {
	"} else if (asked > s->credits) {", "} else if (asked >= s->credits) {",
}, { "credit.fifo" })

-- the line ------------------------------------------------------------------------------------
plant("head-overtaken", "a head that does not fit lets the next one pass", "credit.fifo", {
	"\t\tif (s->full || s->in_flight + head->asked > s->credits)\n\t\t\treturn;",
	"\t\tif (s->full)\n\t\t\treturn;\n\t\tif (s->in_flight + head->asked > s->credits) {\n"
		.. "\t\t\tstruct entry *second = head->next;\n\n"
		.. "\t\t\tif (!second || s->in_flight + second->asked > s->credits)\n\t\t\t\treturn;\n"
		.. "\t\t\ttake(&s->queued, &head->next);\n\t\t\tsecond->next = head;\n"
		.. "\t\t\ts->queued.first = head = second;\n\t\t}",
})
plant("gets-first", "gets go before puts that wait", "credit.fifo", {
	"add(&s->queued, entry);\n\t\ts->num_queued++;",
	"add(&s->queued, entry);\n\t\tif (op->kind == SRD_OP_GET && s->queued.first != entry) {\n"
		.. "\t\t\tstruct entry **at = &s->queued.first;\n\n\t\t\twhile (*at != entry)\n\t\t\t\tat = &(*at)->next;\n"
		.. "\t\t\ttake(&s->queued, at);\n\t\t\tentry->next = s->queued.first;\n\t\t\ts->queued.first = entry;\n"
		.. "\t\t}\n\t\ts->num_queued++;",
}, { "credit.idle" })
plant("rounds-post-nothing", "only a submit posts", "credit.idle", {
	"\tpost_line(s);\n\treturn reaped;", "\treturn reaped;",
})
plant("submit-posts-nothing", "only a round posts", "credit.idle", {
	"s->num_queued++;\n\t\tpost_line(s);", "s->num_queued++;",
})
plant("one-op-a-round", "a round posts one op, whatever the credits allow", "credit.idle", {
	"\t\telse\n\t\t\tadd(&s->posted, head);\n", "\t\telse\n\t\t\tadd(&s->posted, head);\n\t\treturn;\n",
})
plant("one-op-at-a-time", "an op waits until the one before is answered", "credit.idle", {
	"if (s->full || s->in_flight", "if (s->full || s->posted.first || s->in_flight",
})

-- credits ---------------------------------------------------------------------------------------
plant("credit-leaked-on-error", "the credit of a failed request is not given back", "credit.count", {
	"s->in_flight--;", "s->in_flight -= completion.status == SRD_WC_SUCCESS;",
}, { "credit.idle" })
plant("credit-leaked-on-flush", "the credit of a flushed request is not given back", "credit.count", {
	"s->in_flight--;", "s->in_flight -= completion.status != SRD_WC_WR_FLUSH_ERR;",
}, { "credit.idle" })
plant("credit-leaked-on-abort", "the credits of a post that is refused are not given back", "credit.count", {
	"\tif (rc)\n\t\treturn rc;\n\tentry->pending", "\tif (rc) {\n\t\ts->in_flight += (uint32_t)entry->asked;\n\t\treturn rc;\n\t}\n\tentry->pending",
})
plant("credit-leaked-on-mismatch", "an op that is refused for its size keeps a credit", "credit.count", {
	"\tif (rc)\n\t\treturn rc;\n\tentry->pending", "\ts->in_flight += rc == -EMSGSIZE;\n\tif (rc)\n\t\treturn rc;\n\tentry->pending",
})
plant("credits-of-the-op", "credits are given back when the whole op is done", "credit.count", {
	"s->in_flight--;", "",
	"if (!entry->pending)\n\t\t\t\tanswer",
	"if (!entry->pending)\n\t\t\t\ts->in_flight -= entry->result.num_wr;\n\t\t\tif (!entry->pending)\n\t\t\t\tanswer",
}, { "credit.idle" })
plant("credits-at-once", "the first completion of an op gives back all its credits", "credit.count", {
	"s->in_flight--;", "",
	"entry->ids[i] = entry->ids[--entry->pending];",
	"if (entry->pending-- == entry->result.num_wr)\n\t\t\t\ts->in_flight -= entry->result.num_wr;\n"
		.. "\t\t\tentry->ids[i] = entry->ids[entry->pending];",
}, { "credit.overcommit", "credit.fifo" })
plant("credit-twice-on-error", "a failed request gives back two credits", "credit.count", {
	"s->in_flight--;", "s->in_flight -= completion.status && s->in_flight > 1 ? 2 : 1;",
}, { "credit.overcommit" })
plant("direct-not-counted", "a direct put is not counted", "credit.count", {
	"\ts->in_flight += ids->count;\n\tif (!entry)", "\tif (!entry)",
})
plant("direct-counted-as-one", "a direct put is counted as one request", "credit.count", {
	"\ts->in_flight += ids->count;\n\tif (!entry)", "\ts->in_flight++;\n\tif (!entry)",
})
plant("ops-for-requests", "in_flight answers with the number of ops", "credit.count", {
	"\treturn s->in_flight;\n", "\tuint32_t count = 0;\n\n\tfor (struct entry *at = s->posted.first; at; at = at->next)\n\t\tcount++;\n\treturn count;\n",
})
plant("stale-counted", "an entry of no live queue pair gives back a credit", "credit.count", {
	"if (n > 0 && credit(s, &completion)) {", "if (n < 0 || credit(s, &completion)) {",
})
plant("unknown-counted", "a completion of no request gives back a credit", "credit.count", {
	"if (n > 0 && credit(s, &completion)) {", "if (n > 0 && (credit(s, &completion) || s->in_flight)) {",
})

-- answers ----------------------------------------------------------------------------------------
plant("result-at-the-first", "an op is answered at its first completion", "completion.op_early", {
	"\t\t\tif (!entry->pending)\n\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);",
	"\t\t\tif (entry->pending + 1 == entry->result.num_wr) {\n"
		.. "\t\t\t\tstruct entry *copy = make(entry->result.cookie, 0);\n\n"
		.. "\t\t\t\tcopy->result = entry->result;\n\t\t\t\tanswer(s, copy, copy->result.result);\n\t\t\t}\n"
		.. "\t\t\tif (!entry->pending)\n\t\t\t\tdrop(take(&s->posted, at));",
})
plant("result-at-the-post", "an op is answered when it is posted", "completion.op_early", {
	"\t\telse\n\t\t\tadd(&s->posted, head);\n",
	"\t\telse {\n\t\t\tstruct entry *copy = make(head->result.cookie, 0);\n\n"
		.. "\t\t\tcopy->result = head->result;\n\t\t\tanswer(s, copy, 0);\n\t\t\tadd(&s->posted, head);\n\t\t}\n",
	"\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);", "\t\t\t\tdrop(take(&s->posted, at));",
}, { "completion.overrun", "completion.op_result", "completion.op_twice" })
plant("result-before-the-last", "an op is answered when one of its requests is left", "completion.op_early", {
	"\t\t\tif (!entry->pending)\n\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);",
	"\t\t\tif (entry->pending == (entry->result.num_wr > 1)) {\n"
		.. "\t\t\t\tstruct entry *copy = make(entry->result.cookie, 0);\n\n"
		.. "\t\t\t\tcopy->result = entry->result;\n\t\t\t\tanswer(s, copy, copy->result.result);\n\t\t\t}\n"
		.. "\t\t\tif (!entry->pending)\n\t\t\t\tdrop(take(&s->posted, at));",
})
plant("result-at-a-failure", "an op is answered when a request of it fails", "completion.op_early", {
	"\t\t\tif (!entry->pending)\n\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);",
	"\t\t\tif (completion->status && !entry->asked--) {\n"
		.. "\t\t\t\tstruct entry *copy = make(entry->result.cookie, 0);\n\n"
		.. "\t\t\t\tcopy->result = entry->result;\n\t\t\t\tanswer(s, copy, copy->result.result);\n\t\t\t}\n"
		.. "\t\t\tif (!entry->pending && entry->asked)\n\t\t\t\tdrop(take(&s->posted, at));\n"
		.. "\t\t\telse if (!entry->pending)\n\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);",
	"entry->pending = entry->result.num_wr = ids.count;\n\ts->in_flight", "entry->asked = 0;\n\tentry->pending = entry->result.num_wr = ids.count;\n\ts->in_flight",
})
plant("result-twice", "every result is given twice", "completion.op_twice", {
	"\tdrop(entry);\n\treturn 1;", "\tif (entry->pending++)\n\t\tdrop(entry);\n\telse\n\t\tadd(&s->done, entry);\n\treturn 1;",
})
plant("another-cookie", "a result has the cookie of no op", "completion.op_twice", {
	"*out = entry->result;", "*out = entry->result;\n\tout->cookie += 1000;",
}, { "completion.op_unanswered", "credit.too_large" })
plant("failure-unanswered", "an op with a failed request is never answered", "completion.op_unanswered", {
	"\t\t\tif (!entry->pending)\n\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);",
	"\t\t\tif (!entry->pending && entry->result.result)\n\t\t\t\tdrop(take(&s->posted, at));\n"
		.. "\t\t\telse if (!entry->pending)\n\t\t\t\tanswer(s, take(&s->posted, at), entry->result.result);",
})
plant("first-completion-decides", "the first completion of an op decides its result", "completion.op_result", {
	"\tif (completion->status == SRD_WC_SUCCESS)\n\t\treturn;\n\tif (result->result &&",
	"\tif (completion->status == SRD_WC_SUCCESS || result->vendor_err == UINT32_MAX) {\n"
		.. "\t\tif (!result->result)\n\t\t\tresult->vendor_err = UINT32_MAX;\n\t\treturn;\n\t}\n\tif (result->result &&",
})
plant("last-completion-decides", "the last completion of an op decides its result", "completion.op_result", {
	"\tif (completion->status == SRD_WC_SUCCESS)\n\t\treturn;\n\tif (result->result &&",
	"\tif (completion->status == SRD_WC_SUCCESS) {\n\t\tresult->result = 0;\n\t\tresult->status = SRD_WC_SUCCESS;\n\t\treturn;\n\t}\n"
		.. "\tif (result->result &&",
}, { "completion.op_cause" })
plant("flush-ignored", "a flushed request is no failure", "completion.op_result", {
	"\tif (completion->status == SRD_WC_SUCCESS)\n", "\tif (completion->status == SRD_WC_SUCCESS || completion->status == SRD_WC_WR_FLUSH_ERR)\n",
})
plant("flush-hides-the-cause", "a flush that comes first is the cause", "completion.op_cause", {
	"(result->status != SRD_WC_WR_FLUSH_ERR || completion->status == SRD_WC_WR_FLUSH_ERR))", "true)",
})
plant("last-failure-is-the-cause", "the last failure is the cause", "completion.op_cause", {
	"(result->status != SRD_WC_WR_FLUSH_ERR || completion->status == SRD_WC_WR_FLUSH_ERR))", "false)",
})
plant("last-flush-is-the-cause", "of several flushes the last is the cause", "completion.op_cause", {
	"(result->status != SRD_WC_WR_FLUSH_ERR || completion->status == SRD_WC_WR_FLUSH_ERR))", "result->status != SRD_WC_WR_FLUSH_ERR)",
})
plant("cause-without-vendor", "the vendor error of the cause is lost", "completion.op_cause", {
	"result->vendor_err = completion->vendor_err;", "",
})
plant("cause-of-another", "the cause names the first request of the op", "completion.op_cause", {
	"result->wr_id = completion->wr_id;", "result->wr_id = completion->wr_id - (result->num_wr - 1);",
})
plant("by-arrival", "a completion is taken for one of the oldest op", "completion.op_early", {
	"if (entry->ids[i] != completion->wr_id)\n\t\t\t\tcontinue;\n", "",
}, { "credit.count", "completion.op_result", "completion.op_cause" })
plant("end-with-errno", "when a poll fails, ops are answered as if a request had failed", "completion.op_early", {
	"answer(s, take(&s->posted, &s->posted.first), -ECANCELED);", "answer(s, take(&s->posted, &s->posted.first), -EIO);",
})

return plants
