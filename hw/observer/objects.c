/* SPDX-License-Identifier: MIT */
/*
 * The exported calls. The device tells of the objects themselves; what it cannot know of them
 * is said before, and they are looked up by address from then on.
 */
#include <errno.h>
#include <string.h>

#include <infiniband/efadv.h>

#include "observer.h"

#define REAL_EFA(name)                                                                 \
	({                                                                             \
		static __typeof__(&name) real;                                         \
		if (!real)                                                             \
			real = (__typeof__(&name))observer_real("libefa.so.1", #name); \
		real;                                                                  \
	})

/* Macros of the header stand before some of the functions. */
#undef ibv_reg_mr

struct ibv_cq_ex *observer_create_cq_ex(struct ibv_context *context,
					struct ibv_cq_init_attr_ex *attr);
struct ibv_qp *observer_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

static void asked(const struct srd_recorder_asked *what)
{
	const struct srd_recorder *recorder = observer_recorder();

	if (recorder)
		recorder->asked(what);
}

SRD_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = REAL_VERB(ibv_open_device)(device);

	if (context && observer_recorder())
		observer_add_context(context);
	return context;
}

/* --- completion queues --- */

static void cq_made(struct ibv_cq *cq)
{
	struct seen *seen = cq ? observer_add(cq, SRD_RECORDER_CQ, cq->context, cq->handle) : NULL;

	asked(NULL);
	if (seen)
		seen->cq.context = observer_context(cq->context);
}

SRD_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
					struct ibv_comp_channel *channel, int comp_vector)
{
	struct srd_recorder_asked what = {.cqe = (uint32_t)cqe};
	struct ibv_cq *cq;

	asked(&what);
	cq = REAL_VERB(ibv_create_cq)(context, cqe, cq_context, channel, comp_vector);
	cq_made(cq);
	return cq;
}

/* What the stream wants to know of a completion, though the program may not. */
static struct ibv_cq_init_attr_ex with_fields(const struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex more = *attr;

	more.wc_flags |= IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
			 IBV_WC_EX_WITH_SRC_QP;
	return more;
}

static void cq_ex_made(struct ibv_cq_ex *ex)
{
	struct ibv_cq *cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	struct seen *seen;

	cq_made(cq);
	seen = cq ? observer_find(cq, SRD_RECORDER_CQ) : NULL;
	if (seen)
		observer_wrap_cq(ex, seen);
}

struct ibv_cq_ex *observer_create_cq_ex(struct ibv_context *context,
					struct ibv_cq_init_attr_ex *attr)
{
	struct srd_recorder_asked what = {.cqe = attr->cqe};
	struct ibv_cq_init_attr_ex more = with_fields(attr);
	struct ibv_cq_ex *cq;

	asked(&what);
	cq = observer_context(context)->create_cq_ex(context, &more);
	cq_ex_made(cq);
	return cq;
}

SRD_EXPORT struct ibv_cq_ex *efadv_create_cq(struct ibv_context *context,
					     struct ibv_cq_init_attr_ex *attr,
					     struct efadv_cq_init_attr *efa, uint32_t inlen)
{
	struct srd_recorder_asked what = {.cqe = attr->cqe};
	struct ibv_cq_init_attr_ex more = with_fields(attr);
	struct ibv_cq_ex *cq;

	asked(&what);
	cq = REAL_EFA(efadv_create_cq)(context, &more, efa, inlen);
	cq_ex_made(cq);
	return cq;
}

/* Of an object that is gone, or was: the answer to a destroy. */
static int gone(const struct seen *seen, enum srd_event_type type)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_event event = OBSERVED(QP_DESTROY, seen);

	event.type = (uint16_t)type;
	if (recorder) {
		event.line = recorder->stack();
		recorder->put(NULL, NULL, 0, &event);
	}
	return EINVAL;
}

SRD_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct seen *seen = observer_find(cq, SRD_RECORDER_CQ);
	int err;

	if (seen && seen->dead)
		return gone(seen, SRD_EV_CQ_DESTROY);
	err = REAL_VERB(ibv_destroy_cq)(cq);
	if (seen && !err)
		seen->dead = true;
	return err;
}

/* --- address handles --- */

static struct ibv_ah *ah_made(struct ibv_ah *ah)
{
	if (ah)
		observer_add(ah, SRD_RECORDER_AH, ah->context, ah->handle);
	return ah;
}

SRD_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return ah_made(REAL_VERB(ibv_create_ah)(pd, attr));
}

SRD_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
						struct ibv_grh *grh, uint8_t port_num)
{
	return ah_made(REAL_VERB(ibv_create_ah_from_wc)(pd, wc, grh, port_num));
}

SRD_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct seen *seen = observer_find(ah, SRD_RECORDER_AH);
	int err;

	if (seen && seen->dead)
		return gone(seen, SRD_EV_AH_DESTROY);
	err = REAL_VERB(ibv_destroy_ah)(ah);
	if (seen && !err)
		seen->dead = true;
	return err;
}

/* --- queue pairs --- */

static struct srd_recorder_asked asked_of(const struct ibv_qp_cap *cap, int sq_sig_all,
					  uint64_t send_ops_flags)
{
	return (struct srd_recorder_asked){
		.cap = {cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge, cap->max_recv_sge,
			cap->max_inline_data},
		.sq_sig_all = sq_sig_all != 0,
		.send_ops_flags = (uint32_t)send_ops_flags,
	};
}

static struct ibv_qp *qp_made(struct ibv_qp *qp)
{
	struct seen *seen = qp ? observer_add(qp, SRD_RECORDER_QP, qp->context, qp->handle) : NULL;

	asked(NULL);
	if (!seen)
		return qp;
	seen->qp.context = observer_context(qp->context);
	seen->qp.send_cq = qp->send_cq;
	observer_wrap_qp(seen, qp);
	return qp;
}

SRD_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct srd_recorder_asked what = asked_of(&attr->cap, attr->sq_sig_all, 0);

	asked(&what);
	return qp_made(REAL_VERB(ibv_create_qp)(pd, attr));
}

static struct srd_recorder_asked asked_ex(const struct ibv_qp_init_attr_ex *attr)
{
	bool named = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	return asked_of(&attr->cap, attr->sq_sig_all, named ? attr->send_ops_flags : 0);
}

struct ibv_qp *observer_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct srd_recorder_asked what = asked_ex(attr);

	asked(&what);
	return qp_made(observer_context(context)->create_qp_ex(context, attr));
}

SRD_EXPORT struct ibv_qp *efadv_create_qp_ex(struct ibv_context *context,
					     struct ibv_qp_init_attr_ex *attr,
					     struct efadv_qp_init_attr *efa, uint32_t inlen)
{
	struct srd_recorder_asked what = asked_ex(attr);

	asked(&what);
	return qp_made(REAL_EFA(efadv_create_qp_ex)(context, attr, efa, inlen));
}

SRD_EXPORT struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
						 uint32_t driver_qp_type)
{
	struct srd_recorder_asked what = asked_of(&attr->cap, attr->sq_sig_all, 0);

	asked(&what);
	return qp_made(REAL_EFA(efadv_create_driver_qp)(pd, attr, driver_qp_type));
}

SRD_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct seen *seen = observer_find(qp, SRD_RECORDER_QP);
	int err;

	if (seen && seen->dead)
		return gone(seen, SRD_EV_QP_DESTROY);
	if (seen)
		observer_end_session(seen, qp);
	err = REAL_VERB(ibv_destroy_qp)(qp);
	if (seen && !err)
		seen->dead = true;
	return err;
}
