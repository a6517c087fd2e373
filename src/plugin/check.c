/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plugin/blame.h"
#include "plugin/check.h"

static const struct srd_queue_pair_ops *queue_pair;
static const struct srd_scheduler_ops *scheduler;
static struct srd_verbs guard; /* what the queue pair is handed as the seam */

#define MAX_ERRNO 4095

/* What was in *error before must not be taken for what the plug-in says. */
static void error_before(struct srd_error *error)
{
	if (!error)
		return;
	error->code = 0;
	error->message[0] = '\0';
}

static void error_after(struct srd_error *error, int result)
{
	if (!error)
		return;
	error->message[sizeof(error->message) - 1] = '\0';
	if (result >= 0)
		return;
	error->code = result;
	if (!error->message[0])
		srd_error_set(error, result, "%s (the plug-in gives no reason)", strerror(-result));
}

/* RESULT of CALL is a negative errno or at most MAX. */
static int answer(const char *call, int result, int max, struct srd_error *error)
{
	if (result > max || result < -MAX_ERRNO)
		srd_blame("the plug-in's %s returned %d: 0%s or a negative errno is expected", call,
			  result,
			  max == 1 ? ", 1"
			  : max    ? ", a count"
				   : "");
	error_after(error, result);
	return result;
}

static void made(const char *call, int result, const void *object)
{
	if (!result && !object)
		srd_blame("the plug-in's %s returned 0 and made nothing: *out is NULL", call);
}

static void check_status(const char *call, uint32_t status)
{
	if (status >= SRD_NUM_WC_STATUS)
		srd_blame("the plug-in's %s gave the completion status %u, which there is not",
			  call, status);
}

/* --- the queue pair --- */

static int qp_create(struct srd_verbs *verbs, struct srd_pd *pd,
		     const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
		     struct srd_cq *recv_cq, struct srd_queue_pair **out, struct srd_error *error)
{
	static const char call[] = "queue pair create";
	const char *before = srd_blame_enter(call);
	int rc;

	srd_guard_fill(&guard, verbs);
	*out = NULL;
	error_before(error);
	rc = queue_pair->create(&guard, pd, config, send_cq, recv_cq, out, error);
	answer(call, rc, 0, error);
	made(call, rc, *out);
	srd_blame_leave(before);
	return rc;
}

static void qp_destroy(struct srd_queue_pair *qp)
{
	const char *before = srd_blame_enter("queue pair destroy");

	queue_pair->destroy(qp);
	srd_blame_leave(before);
}

static struct srd_qp *qp_verbs_qp(struct srd_queue_pair *qp)
{
	const char *before = srd_blame_enter("queue pair verbs_qp");
	struct srd_qp *verbs_qp = queue_pair->verbs_qp(qp);

	srd_blame_leave(before);
	return verbs_qp;
}

static int qp_connect(struct srd_queue_pair *qp, const struct srd_endpoint *peer,
		      struct srd_error *error)
{
	static const char call[] = "queue pair connect";
	const char *before = srd_blame_enter(call);
	int rc;

	srd_blame_thread(call);
	error_before(error);
	rc = answer(call, queue_pair->connect(qp, peer, error), 0, error);
	srd_blame_leave(before);
	return rc;
}

static int qp_endpoint(struct srd_queue_pair *qp, struct srd_endpoint *out, struct srd_error *error)
{
	static const char call[] = "queue pair endpoint";
	const char *before = srd_blame_enter(call);
	int rc;

	error_before(error);
	rc = answer(call, queue_pair->endpoint(qp, out, error), 0, error);
	srd_blame_leave(before);
	return rc;
}

static int qp_state(struct srd_queue_pair *qp, enum srd_qp_state *out, struct srd_error *error)
{
	static const char call[] = "queue pair state";
	const char *before = srd_blame_enter(call);
	int rc;

	error_before(error);
	rc = answer(call, queue_pair->state(qp, out, error), 0, error);
	if (!rc && (uint32_t)*out >= SRD_NUM_QP_STATE)
		srd_blame("the plug-in's %s gave state %u, which there is not", call,
			  (uint32_t)*out);
	srd_blame_leave(before);
	return rc;
}

static uint64_t qp_max_msg_size(struct srd_queue_pair *qp)
{
	const char *before = srd_blame_enter("queue pair max_msg_size");
	uint64_t size = queue_pair->max_msg_size(qp);

	if (size > UINT32_MAX)
		srd_blame("the plug-in's queue pair max_msg_size returned %llu: at most 2^32 - 1 "
			  "is possible",
			  (unsigned long long)size);
	srd_blame_leave(before);
	return size;
}

static uint64_t qp_num_requests(struct srd_queue_pair *qp, enum srd_op_kind kind, uint64_t size)
{
	const char *before = srd_blame_enter("queue pair num_requests");
	uint64_t count = queue_pair->num_requests(qp, kind, size);

	if (!count)
		srd_blame("the plug-in's queue pair num_requests returned 0 for %llu bytes: even "
			  "0 bytes are one request",
			  (unsigned long long)size);
	srd_blame_leave(before);
	return count;
}

static void check_ids(const char *call, int rc, const struct srd_wr_ids *ids,
		      const struct srd_wr_ids *before)
{
	if (ids->id != before->id || ids->capacity != before->capacity)
		srd_blame("the plug-in's %s changed the caller's array of ids", call);
	if ((!rc || srd_queue_pair_is_one_by_one(queue_pair)) && ids->count > ids->capacity)
		srd_blame("the plug-in's %s gave %u ids where there is room for %u", call,
			  ids->count, ids->capacity);
}

/* A put or get of CALL; PEER 0: that of connect. */
static int qp_put_to(struct srd_queue_pair *qp, uint32_t peer, const struct srd_remote_view *to,
		     const struct srd_local_view *from, struct srd_wr_ids *ids,
		     struct srd_error *error)
{
	const char *call = peer ? "queue pair put_to" : "queue pair put";
	const struct srd_wr_ids given = *ids;
	const char *before = srd_blame_enter(call);
	int rc;

	srd_blame_thread(call);
	error_before(error);
	rc = peer ? queue_pair->put_to(qp, peer, to, from, ids, error)
		  : queue_pair->put(qp, to, from, ids, error);
	answer(call, rc, 0, error);
	check_ids(call, rc, ids, &given);
	srd_blame_leave(before);
	return rc;
}

static int qp_get_from(struct srd_queue_pair *qp, uint32_t peer, const struct srd_local_view *to,
		       const struct srd_remote_view *from, struct srd_wr_ids *ids,
		       struct srd_error *error)
{
	const char *call = peer ? "queue pair get_from" : "queue pair get";
	const struct srd_wr_ids given = *ids;
	const char *before = srd_blame_enter(call);
	int rc;

	srd_blame_thread(call);
	error_before(error);
	rc = peer ? queue_pair->get_from(qp, peer, to, from, ids, error)
		  : queue_pair->get(qp, to, from, ids, error);
	answer(call, rc, 0, error);
	check_ids(call, rc, ids, &given);
	srd_blame_leave(before);
	return rc;
}

static int qp_put(struct srd_queue_pair *qp, const struct srd_remote_view *to,
		  const struct srd_local_view *from, struct srd_wr_ids *ids,
		  struct srd_error *error)
{
	return qp_put_to(qp, 0, to, from, ids, error);
}

static int qp_get(struct srd_queue_pair *qp, const struct srd_local_view *to,
		  const struct srd_remote_view *from, struct srd_wr_ids *ids,
		  struct srd_error *error)
{
	return qp_get_from(qp, 0, to, from, ids, error);
}

static int qp_add_peer(struct srd_queue_pair *qp, const struct srd_endpoint *endpoint,
		       uint32_t *peer, struct srd_error *error)
{
	static const char call[] = "queue pair add_peer";
	const char *before = srd_blame_enter(call);
	int rc;

	srd_blame_thread(call);
	error_before(error);
	*peer = 0;
	rc = answer(call, queue_pair->add_peer(qp, endpoint, peer, error), 0, error);
	if (!rc && !*peer)
		srd_blame("the plug-in's %s gave the peer number 0, which is that of connect",
			  call);
	srd_blame_leave(before);
	return rc;
}

static int qp_poll(struct srd_queue_pair *qp, enum srd_queue which, struct srd_completion *out,
		   struct srd_error *error)
{
	static const char call[] = "queue pair poll";
	const char *before = srd_blame_enter(call);
	int rc;

	srd_blame_thread(call);
	error_before(error);
	rc = answer(call, queue_pair->poll(qp, which, out, error), 1, error);
	if (rc == 1)
		check_status(call, out->status);
	srd_blame_leave(before);
	return rc;
}

const struct srd_queue_pair_ops *srd_check_queue_pair(const struct srd_queue_pair_ops *ops)
{
	static struct srd_queue_pair_ops checked = {
		.abi = SRD_QUEUE_PAIR_ABI,
		.create = qp_create,
		.destroy = qp_destroy,
		.verbs_qp = qp_verbs_qp,
		.connect = qp_connect,
		.endpoint = qp_endpoint,
		.state = qp_state,
		.max_msg_size = qp_max_msg_size,
		.num_requests = qp_num_requests,
		.put = qp_put,
		.get = qp_get,
		.poll = qp_poll,
	};

	queue_pair = ops;
	checked.name = ops->name;
	checked.one_by_one = srd_queue_pair_is_one_by_one(ops);
	if (srd_queue_pair_has_peers(ops)) {
		checked.add_peer = qp_add_peer;
		checked.put_to = qp_put_to;
		checked.get_from = qp_get_from;
	}
	return &checked;
}

/* --- the scheduler --- */

static int scheduler_create(const struct srd_queue_pair_ops *ops, struct srd_queue_pair *qp,
			    const struct srd_scheduler_config *config, struct srd_scheduler **out,
			    struct srd_error *error)
{
	static const char call[] = "scheduler create";
	const char *before = srd_blame_enter(call);
	int rc;

	*out = NULL;
	error_before(error);
	rc = answer(call, scheduler->create(ops, qp, config, out, error), 0, error);
	made(call, rc, *out);
	srd_blame_leave(before);
	return rc;
}

static void scheduler_destroy(struct srd_scheduler *s)
{
	const char *before = srd_blame_enter("scheduler destroy");

	scheduler->destroy(s);
	srd_blame_leave(before);
}

static int scheduler_submit(struct srd_scheduler *s, const struct srd_op *op,
			    struct srd_error *error)
{
	static const char call[] = "scheduler submit";
	const char *before = srd_blame_enter(call);
	int rc;

	error_before(error);
	rc = answer(call, scheduler->submit(s, op, error), 0, error);
	srd_blame_leave(before);
	return rc;
}

static int scheduler_progress(struct srd_scheduler *s, struct srd_error *error)
{
	static const char call[] = "scheduler progress";
	const char *before = srd_blame_enter(call);
	int rc;

	error_before(error);
	rc = answer(call, scheduler->progress(s, error), INT32_MAX, error);
	srd_blame_leave(before);
	return rc;
}

static int scheduler_result(struct srd_scheduler *s, struct srd_op_result *out)
{
	static const char call[] = "scheduler result";
	const char *before = srd_blame_enter(call);
	int rc;

	error_before(&out->error);
	rc = scheduler->result(s, out);
	if (rc != 0 && rc != 1)
		srd_blame("the plug-in's %s returned %d: 0 or 1 is expected", call, rc);
	if (rc) {
		answer("op result", out->result, 0, &out->error);
		check_status(call, out->status);
	}
	srd_blame_leave(before);
	return rc;
}

static uint32_t scheduler_in_flight(struct srd_scheduler *s)
{
	const char *before = srd_blame_enter("scheduler in_flight");
	uint32_t count = scheduler->in_flight(s);

	srd_blame_leave(before);
	return count;
}

static uint32_t scheduler_queued(struct srd_scheduler *s)
{
	const char *before = srd_blame_enter("scheduler queued");
	uint32_t count = scheduler->queued(s);

	srd_blame_leave(before);
	return count;
}

static int scheduler_adopt(struct srd_scheduler *s, const struct srd_wr_ids *ids, uint64_t cookie,
			   struct srd_error *error)
{
	static const char call[] = "scheduler adopt";
	const char *before = srd_blame_enter(call);
	int rc;

	error_before(error);
	rc = answer(call, scheduler->adopt(s, ids, cookie, error), 0, error);
	srd_blame_leave(before);
	return rc;
}

static uint64_t scheduler_poll_delay(struct srd_scheduler *s, uint64_t now)
{
	const char *before = srd_blame_enter("scheduler poll_delay");
	uint64_t delay = scheduler->poll_delay(s, now);

	srd_blame_leave(before);
	return delay;
}

const struct srd_scheduler_ops *srd_check_scheduler(const struct srd_scheduler_ops *ops)
{
	static struct srd_scheduler_ops checked = {
		.abi = SRD_QUEUE_PAIR_ABI,
		.create = scheduler_create,
		.destroy = scheduler_destroy,
		.submit = scheduler_submit,
		.progress = scheduler_progress,
		.result = scheduler_result,
		.in_flight = scheduler_in_flight,
		.queued = scheduler_queued,
		.adopt = scheduler_adopt,
		.poll_delay = scheduler_poll_delay,
	};

	scheduler = ops;
	checked.name = ops->name;
	checked.peers = srd_scheduler_has_peers(ops);
	return &checked;
}
