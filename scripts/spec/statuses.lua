-- EFA completion statuses as they appear in vendor_err, and the ibv_wc_status that
-- libefa turns each into.
-- Source: rdma-core providers/efa/efa_io_defs.h enum efa_io_comp_status and
-- providers/efa/verbs.c to_ibv_status(). 16, 17 and 19 upwards are not defined there.
-- side: who finds the fault; "local" means no packet left the initiator for it.
-- Then what a reliable-connected queue pair says for the same cause, a reading of linux
-- drivers/infiniband/sw/rxe: for a peer that is not there it knows "retry exceeded" alone.
return {
	{ 0, "OK", "SUCCESS", "local", "SUCCESS", "done: the responder acknowledged it, or the read data is placed" },
	{ 1, "FLUSHED", "WR_FLUSH_ERR", "local", "WR_FLUSH_ERR",
		"the queue pair went to ERR or was destroyed, or the address handle was destroyed" },
	{ 2, "LOCAL_ERROR_QP_INTERNAL_ERROR", "LOC_QP_OP_ERR", "local", "LOC_QP_OP_ERR",
		"the device found the queue pair inconsistent" },
	{ 3, "LOCAL_ERROR_UNSUPPORTED_OP", "LOC_QP_OP_ERR", "local", "LOC_QP_OP_ERR",
		"this queue pair or device does not support the operation" },
	{ 4, "LOCAL_ERROR_INVALID_AH", "LOC_QP_OP_ERR", "local", "LOC_QP_OP_ERR",
		"the address handle is not known to the device" },
	{ 5, "LOCAL_ERROR_INVALID_LKEY", "LOC_PROT_ERR", "local", "LOC_PROT_ERR",
		"the lkey is unknown, lacks the right, or does not cover the range" },
	{ 6, "LOCAL_ERROR_BAD_LENGTH", "LOC_LEN_ERR", "local", "LOC_LEN_ERR",
		"the message is longer than the MTU (send) or max_rdma_size (RDMA)" },
	{ 7, "REMOTE_ERROR_BAD_ADDRESS", "REM_ACCESS_ERR", "remote", "REM_ACCESS_ERR",
		"the rkey is unknown, lacks the right, or does not cover the range" },
	{ 8, "REMOTE_ERROR_ABORT", "REM_ABORT_ERR", "remote", "REM_ABORT_ERR", "the remote side reset the connection" },
	{ 9, "REMOTE_ERROR_BAD_DEST_QPN", "REM_INV_RD_REQ_ERR", "remote", "RETRY_EXC_ERR",
		"the destination queue pair does not exist or is not ready to receive" },
	{ 10, "REMOTE_ERROR_RNR", "RNR_RETRY_EXC_ERR", "remote", "RNR_RETRY_EXC_ERR",
		"no receive was posted and the retries are used up" },
	{ 11, "REMOTE_ERROR_BAD_LENGTH", "REM_INV_REQ_ERR", "remote", "REM_INV_REQ_ERR", "the receive buffer is too small" },
	{ 12, "REMOTE_ERROR_BAD_STATUS", "BAD_RESP_ERR", "remote", "REM_OP_ERR",
		"the responder answered with an unexpected status" },
	{ 13, "LOCAL_ERROR_UNRESP_REMOTE", "RESP_TIMEOUT_ERR", "local", "RETRY_EXC_ERR",
		"the peer answered earlier and then stopped" },
	{ 14, "REMOTE_ERROR_UNKNOWN_PEER", "REM_OP_ERR", "remote", "RETRY_EXC_ERR",
		"the responder holds no address handle for the initiator" },
	{ 15, "LOCAL_ERROR_UNREACH_REMOTE", "RESP_TIMEOUT_ERR", "local", "RETRY_EXC_ERR", "the peer never answered" },
	{ 18, "REMOTE_ERROR_FEATURE_MISMATCH", "REM_INV_REQ_ERR", "remote", "REM_INV_REQ_ERR",
		"the two ends disagree on a feature, such as unsolicited write receive" },
}
