-- The SRD queue-pair state machine, as the EFA kernel driver applies it to driver-type
-- queue pairs. STATE is always allowed; a pair that is not listed is EINVAL.
-- Source: amzn-drivers kernel/linux/efa/src/efa_verbs.c, srd_qp_state_table.
return {
	supported_modify_mask = 0x10877, -- efa_verbs.c EFA_MODIFY_QP_SUPP_MASK plus the SRD bits
	supported_query_mask = 0x90871, -- efa_verbs.c EFA_QUERY_QP_SUPP_MASK
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
}
