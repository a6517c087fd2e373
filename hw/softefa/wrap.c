/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "blind.h"
#include "decide.h"
#include "engine.h"
#include "files.h"
#include "memory.h"
#include "trap.h"
#include "wrap.h"

#define IDLE   1000  /* empty polls, after which others may have the processor, ... */
#define RARELY 64000 /* ... and so many at most until they may again: a time slice or so */
#define STALLS 3     /* after which what a queue pair posts is done at once */

typedef int wr_complete_fn(struct ibv_qp_ex *qp);
typedef int start_poll_fn(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);

/*
 * The library's own functions. Each is one for all objects, and stays: the program may call
 * ours through an object that is gone from the device.
 */
static struct ibv_context_ops real;
static wr_complete_fn *real_wr_complete;
static start_poll_fn *real_start_poll;
static void (*real_end_poll)(struct ibv_cq_ex *cq);

/*
 * The object that HANDLE names, if it is of KIND and this process's, or of a file that it has
 * from fork; NULL. The number comes from a structure of the program, and what it named may be
 * gone, with a descriptor that was closed under the library.
 */
static struct soft_object *mine(uint32_t handle, enum soft_kind kind)
{
	struct soft_object *object;

	if (!soft.group || !handle || handle >= SOFT_MAX_OBJECTS)
		return NULL;
	object = soft_object(handle);
	if (object->kind != kind)
		return NULL;
	return object->process == soft.process || soft_file_is_ours(object->file) ? object : NULL;
}

static bool something_to_do(void)
{
	return soft_busy() || soft.group->first_raw;
}

static __thread uint32_t empty_polls, next_room = IDLE;

/*
 * A program that polls has a core of its own on a machine with such devices. Here its peer
 * may be waiting for just this one. Where it is not, whoever else gets the core keeps it for
 * a time slice: a program that counts its polls must not pay that for each.
 */
static void make_room(void)
{
	if (++empty_polls < next_room)
		return;
	empty_polls = 0;
	next_room = next_room * 2 < RARELY ? next_room * 2 : RARELY;
	sched_yield();
}

static void arrived(void)
{
	empty_polls = 0;
	next_room = IDLE;
}

static uint32_t arrivals(const struct soft_object *cq)
{
	return cq ? __atomic_load_n(&cq->cq.arrivals, __ATOMIC_ACQUIRE) : 0;
}

/*
 * The queue CQ was found empty when BEFORE entries had arrived: move the device until it is
 * not. False: it still is. CAME: not moved, since another process has filled it after the look;
 * a log that said moved would have a replay wait for a queue that is empty.
 */
static bool advance(const struct soft_object *cq, uint32_t before, bool *came)
{
	*came = false;
	if (!cq)
		return false;
	/* Whoever holds the lock moves the device. */
	if (soft_decides() ? !soft_lock() : something_to_do() && !soft_trylock()) {
		*came = soft_decides() == SOFT_RECORDS && cq->cq.arrivals != before;
		if (!*came && soft_may_move(soft_handle(cq))) {
			soft_raw_doorbells();
			soft_run(cq);
			soft_turn_over();
		}
		soft_unlock();
	}
	if (arrivals(cq) != before)
		return true;
	make_room();
	return false;
}

/* Somebody may sleep until an event comes, or look at completions where nobody tells of it. */
static bool looks_elsewhere(const struct soft_object *qp)
{
	return soft.group->armed || qp->qp.stalls >= STALLS || qp->teller == SOFT_DEVICE;
}

/* The program has posted to the queue pair HANDLE; NOW: its polls may not tell. */
static void take_posts(uint32_t handle, bool now)
{
	struct soft_object *qp;

	if (soft_lock_patiently() || soft_turn(SOFT_POST, handle))
		return;
	qp = mine(handle, SOFT_QP);
	if (qp)
		soft_doorbell(qp);
	if (qp && (now || looks_elsewhere(qp)))
		soft_run(NULL);
	soft_turn_over();
	soft_unlock();
	soft_supervisor_wake();
}

static void posted(uint32_t handle)
{
	if (!soft.process)
		soft_join();
	take_posts(handle, false);
}

void soft_posts_hold(uint32_t handle, bool receives)
{
	struct soft_object *qp = mine(handle, SOFT_QP);

	/* A log of decisions has the same sections whether somebody observes or not. */
	if (qp && !soft_decides())
		__atomic_store_n(&qp->qp.held[receives], SOFT_HELD, __ATOMIC_RELEASE);
}

/* Whoever was kept off, a doorbell that traps among them, does not come again. */
void soft_posts_release(uint32_t handle, bool receives)
{
	struct soft_object *qp = mine(handle, SOFT_QP);

	if (qp && __atomic_exchange_n(&qp->qp.held[receives], 0, __ATOMIC_ACQ_REL) ==
			  SOFT_HELD_AND_LOOKED_AT)
		take_posts(handle, true);
}

/*
 * Whether the program has read all that is in CQ: then the device moves before it
 * looks, which it need not do twice. Where decisions are logged the log says in which order.
 */
static bool is_empty(const struct soft_object *cq)
{
	return cq && !soft_decides() && soft_cq_is_read(cq);
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	const struct soft_object *queue;
	uint32_t before;
	bool came;
	int n = 0;

	if (!soft.process)
		soft_join();
	queue = mine(cq->handle, SOFT_CQ);
	before = arrivals(queue);
	if (num_entries > 0 && is_empty(queue)) {
		advance(queue, before, &came);
		n = real.poll_cq(cq, num_entries, wc);
	} else if (soft_poll_begin(cq->handle, &num_entries)) {
		n = real.poll_cq(cq, num_entries, wc);
		came = n > 0;
		if (!n && num_entries > 0 && advance(queue, before, &came))
			n = real.poll_cq(cq, num_entries, wc);
		if (came && n > 0)
			soft_poll_found(cq->handle, n);
	} else {
		make_room();
	}
	soft_poll_end();
	if (n)
		arrived();
	return n;
}

/* The session of this thread, and what was in its queue when it began. */
static __thread struct {
	const struct ibv_cq_ex *cq;
	uint32_t written, doorbell;
} session __attribute__((tls_model("initial-exec")));

/*
 * The library's start of a session. libefa rings the queue's doorbell at the end of it, but not
 * where the last look found nothing: what such a session has taken must be seen here.
 */
static int begin_session(struct ibv_cq_ex *cq, struct soft_object *queue,
			 struct ibv_poll_cq_attr *attr)
{
	int err;

	session.cq = cq;
	session.written = queue ? soft_cq_written(queue) : 0;
	session.doorbell = queue ? soft_cq_doorbell_word(queue) : 0;
	err = real_start_poll(cq, attr);
	if (err == ENOENT && queue)
		soft_cq_saw_empty(queue, session.written);
	return err;
}

/* Where it is 0 the program goes on until it calls end_poll. */
static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	int err = ENOENT, any = 1;
	struct soft_object *queue;
	uint32_t before;
	bool came;

	if (!soft.process)
		soft_join();
	queue = mine(cq->handle, SOFT_CQ);
	before = arrivals(queue);
	if (is_empty(queue)) {
		advance(queue, before, &came);
		err = begin_session(cq, queue, attr);
	} else if (soft_poll_begin(cq->handle, &any)) {
		err = begin_session(cq, queue, attr);
		came = !err;
		if (err == ENOENT && advance(queue, before, &came))
			err = begin_session(cq, queue, attr);
		if (came && !err)
			soft_poll_found(cq->handle, 0);
	}
	if (err)
		soft_poll_end();
	else
		arrived();
	return err;
}

static void end_poll(struct ibv_cq_ex *cq)
{
	struct soft_object *queue = mine(cq->handle, SOFT_CQ);

	real_end_poll(cq);
	if (queue && session.cq == cq && soft_cq_doorbell_word(queue) == session.doorbell)
		soft_cq_saw_empty(queue, session.written);
	soft_poll_end();
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int err = real.req_notify_cq(cq, solicited_only);
	struct soft_object *object;

	if (!soft.process)
		soft_join();
	if (err || soft_lock_patiently() || soft_turn(SOFT_REQUEST_EVENT, cq->handle))
		return err;
	object = mine(cq->handle, SOFT_CQ);
	if (object)
		soft_cq_doorbell(object);
	soft_raw_doorbells();
	soft_run(NULL);
	soft_turn_over();
	soft_unlock();
	soft_supervisor_wake();
	return 0;
}

/* Those before the one that fails are posted. */
static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int err = real.post_send(qp, wr, bad_wr);

	posted(qp->handle);
	return err;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int err = real.post_recv(qp, wr, bad_wr);

	posted(qp->handle);
	return err;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	int err = real_wr_complete(qp);

	if (!err)
		posted(qp->qp_base.handle);
	return err;
}

/* The context at AT, if it is one of the device FILE; NULL. */
static struct ibv_context *find_context(const struct ibv_context *at, uint32_t file)
{
	struct ibv_context copy;

	if (!soft_user_read(&copy, (uintptr_t)at, sizeof(copy)))
		return NULL;
	if (soft_file_of_fd(copy.cmd_fd) != file || !copy.ops.poll_cq || !copy.ops.post_send ||
	    !copy.ops.post_recv || !copy.ops.req_notify_cq)
		return NULL;
	return (struct ibv_context *)at;
}

/* The queue pair that libibverbs named, if that is what is there; NULL. */
static struct ibv_qp *find_qp(const struct soft_object *object)
{
	struct ibv_qp copy;

	if (!soft_user_read(&copy, object->user, sizeof(copy)))
		return NULL;
	if (copy.handle != soft_handle(object) || copy.qp_num != object->qp.qpn)
		return NULL;
	if (!find_context(copy.context, object->file))
		return NULL;
	return (struct ibv_qp *)(uintptr_t)object->user;
}

static struct ibv_cq_ex *find_cq(const struct soft_object *object,
				 const struct ibv_context *context)
{
	struct ibv_cq_ex copy;

	if (!soft_user_read(&copy, object->user, sizeof(copy)))
		return NULL;
	if (copy.handle != soft_handle(object) || copy.context != context)
		return NULL;
	return (struct ibv_cq_ex *)(uintptr_t)object->user;
}

/* False: its functions are others than those of the contexts before it. */
static bool wrap_context(struct ibv_context *context)
{
	struct ibv_context_ops *ops = &context->ops;

	if (ops->poll_cq == poll_cq)
		return true;
	if (real.poll_cq && (real.poll_cq != ops->poll_cq || real.post_send != ops->post_send ||
			     real.post_recv != ops->post_recv))
		return false;
	real = *ops;
	ops->post_send = post_send;
	ops->post_recv = post_recv;
	ops->req_notify_cq = req_notify_cq;
	ops->poll_cq = poll_cq;
	return true;
}

/* False: its functions are others than those of the ones before it. */
static bool wrap_cq(uint32_t handle, const struct ibv_context *context)
{
	struct ibv_cq_ex *cq = find_cq(soft_object(handle), context);

	if (!cq || !cq->start_poll || cq->start_poll == start_poll)
		return true;
	if (real_start_poll && (real_start_poll != cq->start_poll || real_end_poll != cq->end_poll))
		return false;
	real_start_poll = cq->start_poll;
	real_end_poll = cq->end_poll;
	cq->start_poll = start_poll;
	cq->end_poll = end_poll;
	return true;
}

/* libefa has both kinds in one structure, with functions where they were asked for. */
static bool wrap_complete(struct ibv_qp_ex *ex)
{
	if (!ex->wr_complete || ex->wr_complete == wr_complete)
		return true;
	if (real_wr_complete && real_wr_complete != ex->wr_complete)
		return false;
	real_wr_complete = ex->wr_complete;
	ex->wr_complete = wr_complete;
	return true;
}

static bool wrap_qp(const struct soft_object *object)
{
	struct ibv_qp *qp = find_qp(object);

	return qp && wrap_context(qp->context) && wrap_cq(object->qp.send_cq, qp->context) &&
	       wrap_cq(object->qp.recv_cq, qp->context) && wrap_complete((struct ibv_qp_ex *)qp);
}

/* Sessions of polls that are not wrapped may end without a doorbell: see begin_session. */
static void note_sessions(const struct soft_object *qp, uint32_t handle)
{
	const struct ibv_qp *at = find_qp(qp);
	const struct ibv_cq_ex *cq = at ? find_cq(soft_object(handle), at->context) : NULL;

	soft_object(handle)->cq.quiet = !cq || (cq->start_poll && cq->start_poll != start_poll);
}

void soft_wrap_qp(struct soft_object *object)
{
	uint32_t how = soft.group->doorbell;
	bool told = object->qp.raw && how == SOFT_DOORBELL_AUTO && wrap_qp(object);

	note_sessions(object, object->qp.send_cq);
	note_sessions(object, object->qp.recv_cq);
	if (!object->qp.raw || how == SOFT_DOORBELL_WATCHED)
		return;
	if (!told || object->exposed)
		told = soft_trap_qp(object);
	if (told)
		soft_engine_qp_told(object);
}

void soft_rings_exposed(uint32_t file, uint32_t handle)
{
	struct soft_object *qp;

	if (soft_lock())
		return;
	qp = soft_object_find(handle, SOFT_QP, file);
	if (qp) {
		qp->exposed = true;
		soft_blind_take_over(qp, SOFT_DEVICE);
		if (soft.group->doorbell == SOFT_DOORBELL_AUTO && !soft_trap_qp(qp))
			soft_engine_qp_raw(qp);
	}
	soft_unlock();
}

void soft_cq_exposed(uint32_t file, uint32_t handle)
{
	struct soft_object *cq;

	if (soft_lock())
		return;
	cq = soft_object_find(handle, SOFT_CQ, file);
	if (cq) {
		cq->exposed = true;
		soft_blind_take_over(cq, SOFT_DEVICE);
	}
	soft_unlock();
}

void soft_unwrap_qp(uint32_t handle)
{
	soft_untrap_qp(soft_object(handle));
}
