local srd = require "srdlab"
srd.scenario("verbs", {}, function(t)
	local v = t:host("a").verbs
	local cq = v:create_cq(4)
	local qp = v:create_qp_ex { send_cq = cq, recv_cq = cq, cap = { max_send_wr = 2, max_recv_wr = 2, max_send_sge = 1, max_recv_sge = 1 } }
	qp:modify { state = "INIT", pkey_index = 0, port_num = 1, qkey = 1 }
	qp:modify { state = "RTR" }
	qp:modify { state = "RTS", sq_psn = 1 }
	local m = t:host("a"):memory(64)
	qp:post_recv { wr_id = 1, sg_list = m }
	qp:wr_start()
	qp:wr_rdma_write { wr_id = 1, rkey = m.rkey, remote_addr = m.addr }
	qp:wr_set_sge(m)
	qp:wr_set_ud_addr { ah = v.pd:create_ah { dgid = v:query_gid() }, remote_qpn = qp.qp_num, remote_qkey = 1 }
	print(qp:wr_complete(), cq:poll(4))
	qp:query "STATE|CAP"
end)
