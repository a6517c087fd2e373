-- The queue-pair state machines, by kind of queue pair. STATE is always allowed; a pair that
-- is not listed is EINVAL.
return {
	-- As the EFA kernel driver applies it to driver-type queue pairs.
	-- Source: amzn-drivers kernel/linux/efa/src/efa_verbs.c, srd_qp_state_table.
	srd = {
		modify_mask = 0x10877, -- efa_verbs.c EFA_MODIFY_QP_SUPP_MASK plus the SRD bits
		query_mask = 0x90871, -- efa_verbs.c EFA_QUERY_QP_SUPP_MASK
		pkey_error = "EOPNOTSUPP", -- a partition key that there is not
		pairs = {
			{ "RESET", "RESET" },
			{ "RESET", "INIT", required = { "PKEY_INDEX", "PORT", "QKEY" } },
			{ "INIT", "RESET" },
			{ "INIT", "ERR" },
			{ "INIT", "INIT", optional = { "PKEY_INDEX", "PORT", "QKEY" } },
			{ "INIT", "RTR", optional = { "PKEY_INDEX", "QKEY" } },
			{ "RTR", "RESET" },
			{ "RTR", "ERR" },
			{ "RTR", "RTS", required = { "SQ_PSN" }, optional = { "CUR_STATE", "QKEY", "RNR_RETRY" } },
			{ "RTS", "RESET" },
			{ "RTS", "ERR" },
			{ "RTS", "RTS", optional = { "CUR_STATE", "QKEY" } },
			{ "RTS", "SQD", optional = { "EN_SQD_ASYNC_NOTIFY" } },
			{ "SQD", "RESET" },
			{ "SQD", "ERR" },
			{ "SQD", "RTS", optional = { "CUR_STATE", "QKEY" } },
			{ "SQD", "SQD", optional = { "PKEY_INDEX", "QKEY" } },
			{ "SQE", "RESET" },
			{ "SQE", "ERR" },
			{ "SQE", "RTS", optional = { "CUR_STATE", "QKEY" } },
			{ "ERR", "RESET" },
			{ "ERR", "ERR" },
		},
	},
	-- Reliable-connected ones: the columns IB_QPT_RC of the RDMA core's table.
	-- Source: linux drivers/infiniband/core/verbs.c, qp_state_table and ib_modify_qp_is_ok.
	rc = {
		modify_mask = 0x1fffff, -- ib_verbs.h IB_QP_ATTR_STANDARD_BITS
		query_mask = 0x1fffff,
		pkey_error = "EINVAL",
		pairs = {
			{ "RESET", "RESET" },
			{ "RESET", "INIT", required = { "PKEY_INDEX", "PORT", "ACCESS_FLAGS" } },
			{ "INIT", "RESET" },
			{ "INIT", "ERR" },
			{ "INIT", "INIT", optional = { "PKEY_INDEX", "PORT", "ACCESS_FLAGS" } },
			{ "INIT", "RTR",
				required = { "AV", "PATH_MTU", "DEST_QPN", "RQ_PSN", "MAX_DEST_RD_ATOMIC", "MIN_RNR_TIMER" },
				optional = { "ALT_PATH", "ACCESS_FLAGS", "PKEY_INDEX" } },
			{ "RTR", "RESET" },
			{ "RTR", "ERR" },
			{ "RTR", "RTS",
				required = { "TIMEOUT", "RETRY_CNT", "RNR_RETRY", "SQ_PSN", "MAX_QP_RD_ATOMIC" },
				optional = { "CUR_STATE", "ALT_PATH", "ACCESS_FLAGS", "MIN_RNR_TIMER", "PATH_MIG_STATE" } },
			{ "RTS", "RESET" },
			{ "RTS", "ERR" },
			{ "RTS", "RTS",
				optional = { "CUR_STATE", "ALT_PATH", "ACCESS_FLAGS", "MIN_RNR_TIMER", "PATH_MIG_STATE" } },
			{ "RTS", "SQD", optional = { "EN_SQD_ASYNC_NOTIFY" } },
			{ "SQD", "RESET" },
			{ "SQD", "ERR" },
			{ "SQD", "RTS",
				optional = { "CUR_STATE", "ALT_PATH", "ACCESS_FLAGS", "MIN_RNR_TIMER", "PATH_MIG_STATE" } },
			{ "SQD", "SQD",
				optional = { "PORT", "AV", "TIMEOUT", "RETRY_CNT", "RNR_RETRY", "MAX_QP_RD_ATOMIC",
					"MAX_DEST_RD_ATOMIC", "ALT_PATH", "ACCESS_FLAGS", "PKEY_INDEX", "MIN_RNR_TIMER", "PATH_MIG_STATE" } },
			{ "SQE", "RESET" },
			{ "SQE", "ERR" },
			{ "SQE", "RTS" },
			{ "ERR", "RESET" },
			{ "ERR", "ERR" },
		},
	},
}
