/* SPDX-License-Identifier: MIT */
/* Who takes which event in. */
#include <string.h>

#include "book_internal.h"

static srd_apply_fn *const makers[SRD_NUM_EVENT_TYPES] = {
	[SRD_EV_DEVICE_OPEN] = srd_book_device_open,
	[SRD_EV_PD_ALLOC] = srd_book_pd_alloc,
	[SRD_EV_MR_REG] = srd_book_mr_reg,
	[SRD_EV_CQ_CREATE] = srd_book_cq_create,
	[SRD_EV_AH_CREATE] = srd_book_ah_create,
	[SRD_EV_QP_CREATE] = srd_book_qp_create,
	[SRD_EV_BUFFER_ALLOC] = srd_book_buffer_alloc,
};

static srd_apply_fn *const changers[SRD_NUM_EVENT_TYPES] = {
	[SRD_EV_QP_OPEN] = srd_book_qp_open,
	[SRD_EV_QP_CLOSE] = srd_book_qp_close,
	[SRD_EV_CONNECT] = srd_book_connect,
	[SRD_EV_PEER_ADD] = srd_book_peer_add,
	[SRD_EV_RAILS_OPEN] = srd_book_rails_open,
	[SRD_EV_RAILS_JOIN] = srd_book_rails_join,
	[SRD_EV_RAILS_CLOSE] = srd_book_rails_close,
	[SRD_EV_SCHEDULER_OPEN] = srd_book_scheduler_open,
	[SRD_EV_SCHEDULER_CLOSE] = srd_book_scheduler_close,
	[SRD_EV_DEVICE_CLOSE] = srd_book_thing_end,
	[SRD_EV_CONTEXT_LOST] = srd_book_context_lost,
	[SRD_EV_PD_DEALLOC] = srd_book_thing_end,
	[SRD_EV_MR_DEREG] = srd_book_mr_dereg,
	[SRD_EV_CQ_DESTROY] = srd_book_thing_end,
	[SRD_EV_AH_DESTROY] = srd_book_ah_destroy,
	[SRD_EV_QP_DESTROY] = srd_book_qp_destroy,
	[SRD_EV_QP_MODIFY] = srd_book_qp_modify,
	[SRD_EV_QP_QUERY] = srd_book_qp_query,
	[SRD_EV_BUFFER_FREE] = srd_book_thing_end,
	[SRD_EV_DEV_QP_STATE] = srd_book_dev_qp_state,
	[SRD_EV_DEV_DOORBELL] = srd_book_dev_doorbell,
	[SRD_EV_QP_EXPOSED] = srd_book_qp_exposed,
};

/* What comes and goes with every transfer. */
static srd_apply_fn *const movers[SRD_NUM_EVENT_TYPES] = {
	[SRD_EV_TRANSFER_BEGIN] = srd_book_transfer_begin,
	[SRD_EV_TRANSFER_END] = srd_book_transfer_end,
	[SRD_EV_OP_BEGIN] = srd_book_op_begin,
	[SRD_EV_OP_POST_BEGIN] = srd_book_op_post_begin,
	[SRD_EV_OP_POST_END] = srd_book_op_post_end,
	[SRD_EV_OP_END] = srd_book_op_end,
	[SRD_EV_SESSION_START] = srd_book_session_start,
	[SRD_EV_WR_POST] = srd_book_wr_post,
	[SRD_EV_SESSION_COMPLETE] = srd_book_session_complete,
	[SRD_EV_SESSION_ABORT] = srd_book_session_abort,
	[SRD_EV_RECV_POST] = srd_book_recv_post,
	[SRD_EV_CQ_POLL] = srd_book_cq_poll,
	[SRD_EV_WC] = srd_book_wc,
	[SRD_EV_DEV_REQUEST] = srd_book_dev_request,
};

srd_apply_fn *srd_book_apply_fn(enum srd_event_type type)
{
	if (makers[type])
		return makers[type];
	return changers[type] ? changers[type] : movers[type];
}

bool srd_book_is_structural(enum srd_event_type type)
{
	return makers[type] || changers[type];
}

/* The engine may speak of what it has just destroyed: its closes and answers come last. */
enum srd_book_need srd_book_need(enum srd_event_type type)
{
	/* Of what is about no object, rails and their transfers say by number what they are. */
	if (makers[type] || !strcmp(srd_event_infos[type].object, "none"))
		return SRD_NEEDS_NOTHING;
	if (srd_event_infos[type].source == SRD_SOURCE_ENGINE)
		return SRD_NEEDS_OBJECT;
	return SRD_NEEDS_LIFE;
}
