/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "report/requests.h"
#include "verbs/alloc.h"

#define HASH_NONFATAL_OOM        1
#define uthash_malloc(size)      srd_malloc(size)
#define uthash_free(block, size) srd_free(block)
#include <uthash.h>

/* Which request: wr_id is the program's, and unique at best for one queue pair. */
struct request_key {
	uint64_t wr_id;
	uint64_t qp;
};

/* By which queue pairs are found from a completion: each host has devices of its own. */
struct number_key {
	uint32_t host;
	uint32_t qp_num;
};

struct qp {
	struct srd_requests_qp pub;
	struct number_key number;
	UT_hash_handle by_handle;
	UT_hash_handle by_number; /* while it is alive */
	struct request *building; /* of the session that just ended, in order */
	struct request **last;
};

struct request {
	struct srd_request pub;
	struct request_key key;
	struct request *next; /* in qp->building */
	UT_hash_handle by_key;
};

struct srd_requests {
	struct srd_requests_ops ops;
	void *arg;
	struct qp *by_handle;
	struct qp *by_number;
	struct request *in_flight;
	uint64_t count;
	uint64_t now;
	bool incomplete;
};

/* The tables. The branches of uthash's macros are not ours: LCOV_EXCL_BR_START */

static struct qp *find_qp(const struct srd_requests *requests, uint32_t handle)
{
	struct qp *qp;

	HASH_FIND(by_handle, requests->by_handle, &handle, sizeof(handle), qp);
	return qp;
}

static struct qp *find_number(const struct srd_requests *requests, uint8_t host, uint32_t qp_num)
{
	struct number_key number = {host, qp_num};
	struct qp *qp;

	HASH_FIND(by_number, requests->by_number, &number, sizeof(number), qp);
	return qp;
}

static struct request *find_request(const struct srd_requests *requests, const struct qp *qp,
				    uint64_t wr_id)
{
	struct request_key key = {wr_id, qp->pub.handle};
	struct request *request;

	HASH_FIND(by_key, requests->in_flight, &key, sizeof(key), request);
	return request;
}

/* Each says whether there was memory for it. */
static bool keep_qp(struct srd_requests *requests, struct qp *qp)
{
	HASH_ADD(by_handle, requests->by_handle, pub.handle, sizeof(qp->pub.handle), qp);
	return qp->by_handle.tbl;
}

static bool keep_number(struct srd_requests *requests, struct qp *qp)
{
	HASH_ADD(by_number, requests->by_number, number, sizeof(qp->number), qp);
	return qp->by_number.tbl;
}

static bool keep_request(struct srd_requests *requests, struct request *request)
{
	HASH_ADD(by_key, requests->in_flight, key, sizeof(request->key), request);
	return request->by_key.tbl;
}

static void drop_qp(struct srd_requests *requests, struct qp *qp)
{
	HASH_DELETE(by_handle, requests->by_handle, qp);
}

static void drop_number(struct srd_requests *requests, struct qp *qp)
{
	if (qp->by_number.tbl)
		HASH_DELETE(by_number, requests->by_number, qp);
}

static void drop_request(struct srd_requests *requests, struct request *request)
{
	HASH_DELETE(by_key, requests->in_flight, request);
}

/* LCOV_EXCL_BR_STOP */

struct srd_requests *srd_requests_create(const struct srd_requests_ops *ops, void *arg)
{
	struct srd_requests *requests = srd_calloc(1, sizeof(*requests));

	if (!requests)
		return NULL;
	requests->ops = *ops;
	requests->arg = arg;
	return requests;
}

bool srd_requests_incomplete(const struct srd_requests *requests)
{
	return requests->incomplete;
}

const struct srd_requests_qp *srd_requests_qp_find(const struct srd_requests *requests,
						   uint32_t handle)
{
	struct qp *qp = find_qp(requests, handle);

	return qp ? &qp->pub : NULL;
}

const struct srd_requests_qp *srd_requests_qp_by_number(const struct srd_requests *requests,
							uint8_t host, uint32_t qp_num)
{
	struct qp *qp = find_number(requests, host, qp_num);

	return qp ? &qp->pub : NULL;
}

static void add_qp(struct srd_requests *requests, const struct srd_ev_qp_create *e)
{
	struct qp *qp = srd_calloc(1, sizeof(*qp));

	if (!qp) {
		requests->incomplete = true;
		return;
	}
	qp->pub.handle = e->ev.object;
	qp->pub.host = e->ev.host;
	qp->pub.qp_num = e->qp_num;
	qp->number = (struct number_key){e->ev.host, e->qp_num};
	qp->last = &qp->building;
	if (!keep_qp(requests, qp)) {
		requests->incomplete = true;
		srd_free(qp);
		return;
	}
	if (!keep_number(requests, qp))
		requests->incomplete = true;
}

/* One request of a session that is about to end. */
static void build(struct srd_requests *requests, struct qp *qp, const struct srd_ev_wr_post *wr)
{
	struct request *request = srd_calloc(1, sizeof(*request));

	if (!request) {
		requests->incomplete = true;
		return;
	}
	request->pub.qp = &qp->pub;
	request->pub.posted = wr->ev.time;
	request->pub.wr = *wr;
	request->key = (struct request_key){wr->wr_id, qp->pub.handle};
	*qp->last = request;
	qp->last = &request->next;
}

static void post(struct srd_requests *requests, struct qp *qp, struct request *request)
{
	if (!keep_request(requests, request)) {
		requests->incomplete = true;
		srd_free(request);
		return;
	}
	request->pub.number = ++requests->count;
	qp->pub.posted++;
	qp->pub.bytes += request->pub.wr.length;
	qp->pub.in_flight++;
	if (qp->pub.max_in_flight < qp->pub.in_flight)
		qp->pub.max_in_flight = qp->pub.in_flight;
	if (requests->ops.posted)
		requests->ops.posted(requests->arg, &request->pub);
}

/* The session is over; its requests are posted where RESULT is 0. */
static void end_session(struct srd_requests *requests, struct qp *qp, uint32_t result)
{
	struct request *request, *next;

	for (request = qp->building; request; request = next) {
		next = request->next;
		if (!result) {
			post(requests, qp, request);
			continue;
		}
		qp->pub.refused++;
		srd_free(request);
	}
	qp->building = NULL;
	qp->last = &qp->building;
}

static void request_gone(struct srd_requests *requests, struct request *request,
			 const struct srd_ev_wc *wc)
{
	drop_request(requests, request);
	if (requests->ops.gone)
		requests->ops.gone(requests->arg, &request->pub, wc, requests->now);
	srd_free(request);
}

static void complete(struct srd_requests *requests, const struct srd_ev_wc *wc)
{
	struct request *request;
	struct qp *qp;

	if (wc->opcode == SRD_WC_RECV || wc->opcode == SRD_WC_RECV_RDMA_WITH_IMM)
		return;
	qp = find_number(requests, wc->ev.host, wc->qp_num);
	if (!qp)
		return;
	request = find_request(requests, qp, wc->wr_id);
	if (!request)
		return;
	qp->pub.in_flight--;
	qp->pub.completed++;
	if (wc->status != SRD_WC_SUCCESS)
		qp->pub.failed++;
	request_gone(requests, request, wc);
}

/* No completion will come for what QP still has in flight. */
static void lose_requests(struct srd_requests *requests, struct qp *qp)
{
	struct request *request, *next;

	end_session(requests, qp, 1);
	qp->pub.lost += qp->pub.in_flight;
	HASH_ITER(by_key, requests->in_flight, request, next)
	{
		if (!qp->pub.in_flight)
			break;
		if (request->pub.qp != &qp->pub)
			continue;
		qp->pub.in_flight--;
		request_gone(requests, request, NULL);
	}
}

static void destroy_qp(struct srd_requests *requests, struct qp *qp)
{
	lose_requests(requests, qp);
	qp->pub.destroyed = true;
	drop_number(requests, qp);
}

static void forget_all(struct srd_requests *requests)
{
	struct qp *qp, *next;

	HASH_ITER(by_handle, requests->by_handle, qp, next)
	{
		if (!qp->pub.destroyed)
			destroy_qp(requests, qp);
		if (requests->ops.qp)
			requests->ops.qp(requests->arg, &qp->pub);
		drop_qp(requests, qp);
		srd_free(qp);
	}
}

void srd_requests_event(struct srd_requests *requests, const struct srd_event *event)
{
	struct qp *qp = NULL;

	if (event->type == SRD_EV_SCENARIO_BEGIN)
		forget_all(requests); /* at the last moment of the one before */
	requests->now = event->time;
	switch (event->type) {
	case SRD_EV_SCENARIO_END:
		forget_all(requests);
		return;
	case SRD_EV_QP_CREATE:
		add_qp(requests, (const struct srd_ev_qp_create *)event);
		return;
	case SRD_EV_WC:
		complete(requests, (const struct srd_ev_wc *)event);
		return;
	case SRD_EV_WR_POST:
	case SRD_EV_SESSION_COMPLETE:
	case SRD_EV_SESSION_ABORT:
	case SRD_EV_QP_DESTROY:
		qp = find_qp(requests, event->object);
		break;
	}
	if (!qp || qp->pub.destroyed)
		return;
	if (event->type == SRD_EV_WR_POST)
		build(requests, qp, (const struct srd_ev_wr_post *)event);
	else if (event->type == SRD_EV_SESSION_COMPLETE)
		end_session(requests, qp, ((const struct srd_ev_session_complete *)event)->result);
	else if (event->type == SRD_EV_SESSION_ABORT)
		end_session(requests, qp, 1);
	else
		destroy_qp(requests, qp);
}

void srd_requests_finish(struct srd_requests *requests)
{
	forget_all(requests);
}

void srd_requests_destroy(struct srd_requests *requests)
{
	if (!requests)
		return;
	requests->ops = (struct srd_requests_ops){0};
	forget_all(requests);
	srd_free(requests);
}
