/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"
#include "blind.h"
#include "decide.h"
#include "engine.h"
#include "event.h"
#include "memory.h"
#include "ring.h"
#include "share.h"

#define MAX_SGE 64 /* of one receive */

/* Of the word of a completion queue's doorbell: efa_io_regs_defs.h. */
#define CQ_DB_CONSUMER     0xffffu
#define CQ_DB_SEQUENCE(db) ((db) >> 29 & 3)
#define CQ_DB_ARM          0x80000000u

static uint32_t doorbell_word(const struct soft_ring *ring)
{
	return __atomic_load_n((uint32_t *)(soft.rings + ring->doorbell), __ATOMIC_ACQUIRE);
}

static uint8_t *ring_entry(const struct soft_ring *ring, uint32_t counter)
{
	return soft.rings + ring->key +
	       (uint64_t)(counter & (ring->entries - 1)) * ring->entry_size;
}

/* It wrote what no library would: the queue pair has had its day. */
static void end_queue_pair(struct soft_object *object)
{
	srd_model_qp_fault(&soft.model, object->model, SRD_LAB_QP_ERR);
}

/*
 * It uses a region that another process of its file registered. That one's memory it is, on a
 * device too: ib_umem_get pins the pages of the process that calls, and fork copies those.
 */
static void tell_of_before_fork(uint32_t key, uint64_t addr)
{
	static uint32_t told;

	if (told == key || !soft_share_is_private(addr))
		return;
	if (!told)
		dprintf(STDERR_FILENO,
			"srdlab: process %d uses memory that its parent registered before fork: "
			"the device has the pages of the parent, here and on EFA; register memory "
			"after fork, or after daemon()\n",
			(int)getpid());
	told = key;
}

/* Who uses QP has changed, where processes share it since a fork. */
static void settle_owner(const struct soft_object *qp, const struct srd_sge *sge)
{
	uint32_t owner = srd_model_key_owner(&soft.model, sge->lkey);

	if (!owner)
		return;
	srd_model_qp_own(&soft.model, qp->model, owner);
	/* Else whoever moves the device is not the one who posted, maybe. */
	if (!qp->qp.raw && soft_process_descends(soft.process, owner))
		tell_of_before_fork(sge->lkey, sge->addr);
}

static bool take_request(struct soft_object *object, const uint8_t *entry)
{
	struct srd_request *request = srd_model_request_new(&soft.model);

	if (!request)
		return false;
	if (soft_wqe_parse(entry, object->qp.sq.entry_size, request,
			   srd_model_request_inline(&soft.model, request))) {
		if (!object->qp.id64)
			request->id = (uint16_t)request->id;
		if (soft.group->children && request->num_sge)
			settle_owner(object, request->sge);
		if (soft_blind(object))
			soft_blind_send(object, request);
		soft_ask_request(object, request);
		srd_model_request_submit(&soft.model, object->model, request);
		return true;
	}
	srd_model_request_drop(&soft.model, request);
	end_queue_pair(object);
	return true;
}

/*
 * Whether what is posted is not to be looked at yet. Where nobody tells of doorbells, somebody
 * looks again anyway.
 */
static bool is_held(struct soft_object *object, bool receives)
{
	uint32_t *held = &object->qp.held[receives], now = __atomic_load_n(held, __ATOMIC_ACQUIRE);

	if (now == SOFT_HELD && !object->qp.raw &&
	    !__atomic_compare_exchange_n(held, &now, SOFT_HELD_AND_LOOKED_AT, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false; /* it is over */
	return now;
}

static uint32_t send_doorbell(struct soft_object *object)
{
	struct soft_ring *sq = &object->qp.sq;
	uint32_t count, i;

	if (!sq->entries)
		return 0;
	count = (uint16_t)(doorbell_word(sq) - sq->done);
	if (!count || is_held(object, false))
		return 0;
	if (count > sq->entries) {
		sq->done += count;
		end_queue_pair(object);
		return count;
	}
	for (i = 0; i < count; i++, sq->done++)
		if (!take_request(object, ring_entry(sq, sq->done)))
			break;
	return i;
}

/* One receive of at most LEFT descriptors; how many it was, 0: it is none. */
static uint32_t take_receive(struct soft_object *object, uint32_t left)
{
	struct soft_ring *rq = &object->qp.rq;
	struct srd_sge sge[MAX_SGE];
	struct soft_receive part;
	struct srd_receive receive = {.sge = sge};

	for (uint32_t i = 0; i < left && i < MAX_SGE; i++) {
		soft_rx_parse(ring_entry(rq, rq->done + i), &part);
		if (part.first != !i)
			return 0;
		if (!i)
			receive.id = part.id;
		sge[i] = part.sge;
		if (!part.last)
			continue;
		receive.num_sge = i + 1;
		if (soft.group->children)
			settle_owner(object, sge);
		if (soft_blind(object))
			soft_blind_receive(object, &receive);
		srd_model_post_recv(&soft.model, object->model, &receive);
		return i + 1;
	}
	return 0;
}

static uint32_t recv_doorbell(struct soft_object *object)
{
	struct soft_ring *rq = &object->qp.rq;
	uint32_t count, taken, left;

	if (!rq->entries)
		return 0;
	count = (uint16_t)(doorbell_word(rq) - rq->done);
	if (!count || is_held(object, true))
		return 0;
	for (left = count; left; left -= taken, rq->done += taken) {
		taken = count > rq->entries ? 0 : take_receive(object, left);
		if (taken)
			continue;
		rq->done += left;
		end_queue_pair(object);
		break;
	}
	return count;
}

bool soft_doorbell_waits(const struct soft_object *object)
{
	const struct soft_ring *sq = &object->qp.sq, *rq = &object->qp.rq;

	return (sq->entries && (uint16_t)(doorbell_word(sq) - sq->done)) ||
	       (rq->entries && (uint16_t)(doorbell_word(rq) - rq->done));
}

uint32_t soft_doorbell(struct soft_object *object)
{
	uint32_t taken = recv_doorbell(object) + send_doorbell(object);

	if (taken)
		soft.group->called++;
	return taken;
}

void soft_cq_look(struct soft_object *object)
{
	struct soft_cq *cq = &object->cq;
	uint32_t word = doorbell_word(&cq->ring), read;

	if (word)
		cq->rung = true;
	read = cq->ring.done + (uint16_t)(word - cq->ring.done);
	/* It cannot have read what was not written. */
	if (read - cq->ring.done <= cq->written[0] - cq->ring.done)
		cq->ring.done = read;
	/* libefa ends a session that took the last entry without its doorbell. */
	read = __atomic_load_n(&cq->seen, __ATOMIC_RELAXED);
	if (read - cq->ring.done <= cq->written[0] - cq->ring.done)
		cq->ring.done = read;
	if (soft_blind(object))
		soft_blind_read(object);
}

uint32_t soft_cq_doorbell_word(const struct soft_object *object)
{
	return doorbell_word(&object->cq.ring);
}

uint32_t soft_cq_written(const struct soft_object *object)
{
	return object->cq.num_rings == 1 ? __atomic_load_n(&object->cq.written[0], __ATOMIC_ACQUIRE)
					 : 0;
}

void soft_cq_saw_empty(struct soft_object *object, uint32_t written)
{
	uint32_t seen = __atomic_load_n(&object->cq.seen, __ATOMIC_RELAXED);

	/* Of two threads the later one counts. */
	while ((int32_t)(written - seen) > 0 &&
	       !__atomic_compare_exchange_n(&object->cq.seen, &seen, written, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

bool soft_cq_is_read(const struct soft_object *object)
{
	uint16_t arrivals = (uint16_t)object->cq.arrivals;

	return arrivals == (uint16_t)doorbell_word(&object->cq.ring) ||
	       arrivals == (uint16_t)__atomic_load_n(&object->cq.seen, __ATOMIC_RELAXED);
}

bool soft_cq_tells(const struct soft_object *object)
{
	return object->cq.num_rings == 1 && !object->cq.memory.mapped && !object->cq.quiet &&
	       (object->cq.rung || !object->exposed);
}

/* How far the program has read. Where nobody tells, none ever seems full. */
static uint32_t cq_consumed(void *context, uint32_t tag, uint32_t ring)
{
	struct soft_object *object = soft_object(tag);

	if (object->cq.num_rings == 1)
		soft_cq_look(object);
	return soft_cq_tells(object) ? object->cq.ring.done : object->cq.written[ring];
}

static void cq_event(struct soft_object *object)
{
	object->cq.armed = false;
	soft.group->armed--;
	soft_channel_event(object);
}

/*
 * Outside of the rings, and perhaps of our reach: OFFSET from where they begin there. The byte
 * with the phase comes last here too.
 */
static void write_outside(const struct soft_object *object, uint64_t offset,
			  const struct srd_cqe *entry, bool phase, const union srd_gid *gid)
{
	static const uint32_t flags = offsetof(struct efa_io_cdesc_common, flags);
	uint64_t at = object->cq.memory.start + offset;
	uint32_t size = object->cq.ring.entry_size;
	uint8_t bytes[SOFT_CQE_SIZE] = {0};

	soft_cqe_write(bytes, size, entry, phase, gid);
	soft_memory_store(NULL, object->process, at, bytes, flags);
	soft_memory_store(NULL, object->process, at + flags + 1, bytes + flags + 1,
			  size - flags - 1);
	__sync_synchronize(); /* the thread sanitizer has no other fence */
	soft_memory_store(NULL, object->process, at + flags, bytes + flags, 1);
}

static void cq_write(void *context, uint32_t tag, uint32_t ring, uint32_t counter,
		     const struct srd_cqe *entry)
{
	struct soft_object *object = soft_object(tag);
	struct soft_cq *cq = &object->cq;
	uint32_t entries = cq->ring.entries, size = cq->ring.entry_size;
	uint64_t offset = ((uint64_t)ring * entries + (counter & (entries - 1))) * size;
	bool phase = !(counter / entries & 1);
	union srd_gid gid, *source = NULL;

	if (cq->source_gid && entry->ah == 0xffff) {
		srd_model_gid(entry->src_host, &gid);
		source = &gid;
	}
	if (cq->memory.mapped)
		write_outside(object, offset, entry, phase, source);
	else
		soft_cqe_write(soft.rings + cq->ring.key + offset, size, entry, phase, source);
	__atomic_store_n(&cq->written[ring], counter + 1, __ATOMIC_RELEASE);
	cq->arrivals++;
	if ((object->teller == SOFT_DEVICE || !soft_cq_tells(object)) && soft_blind(object))
		soft_blind_written(object, entry);
	/* It may have been armed in a way that nobody told of. */
	if (cq->armed)
		cq_event(object);
	else
		soft_cq_doorbell(object);
}

void soft_cq_doorbell(struct soft_object *object)
{
	struct soft_cq *cq = &object->cq;
	uint32_t word = doorbell_word(&cq->ring);

	if (!(word & CQ_DB_ARM) || cq->armed || CQ_DB_SEQUENCE(word) == cq->sequence)
		return;
	cq->sequence = CQ_DB_SEQUENCE(word);
	cq->armed = true;
	soft.group->armed++;
	if ((uint16_t)(cq->arrivals - word) &&
	    srd_model_profile(&soft.model)->notify == SRD_PROFILE_NOTIFY_PENDING)
		cq_event(object);
}

void soft_engine_attach(struct srd_model *model)
{
	model->memory = (struct srd_model_memory){
		.present = soft_memory_present,
		.copy = soft_memory_copy,
		.store = soft_memory_store,
	};
	model->sink = (struct srd_model_sink){.consumed = cq_consumed, .write = cq_write};
}

static uint64_t real_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * A timer runs because somebody does not do something, and in a program that takes real
 * time. So it takes as long as it would have from when nothing else was left to happen.
 */
static bool timer_due(uint64_t time)
{
	struct soft_group *g = soft.group;

	if (g->clock == SOFT_CLOCK_CALLED)
		return true;
	if (g->timer != time) {
		g->timer = time;
		g->waiting = real_now();
	}
	return real_now() - g->waiting >= time - srd_model_now(&soft.model);
}

/*
 * Whether the alarm of a script comes before what happens at NEXT; where that is a message,
 * time gets there by itself, else it is one more timer.
 */
static bool alarm_first(uint64_t next)
{
	uint64_t alarm = soft.group->script.alarm;

	return alarm && alarm <= next;
}

static void alarm_rings(void)
{
	uint64_t alarm = soft.group->script.alarm;

	if (alarm > srd_model_now(&soft.model))
		srd_model_set_now(&soft.model, alarm);
	soft_ask_time();
}

/* False: it is not time yet. *LEAPT: nothing else was going to happen. */
static bool ring_alarm(uint64_t next, bool *leapt)
{
	uint64_t alarm = soft.group->script.alarm;

	*leapt = next == UINT64_MAX || srd_model_next_is_timer(&soft.model);
	if (alarm > srd_model_now(&soft.model) && *leapt && !timer_due(alarm))
		return false;
	alarm_rings();
	return true;
}

/* As many events as there were. */
static uint32_t run_again(uint32_t *left)
{
	uint32_t events = 0;

	for (; *left; --*left, events++) {
		uint64_t time = srd_model_next(&soft.model);

		if (alarm_first(time)) {
			alarm_rings();
		} else if (time != UINT64_MAX) {
			srd_model_step(&soft.model);
		} else {
			*left = 0;
			soft_events_lack();
			break;
		}
	}
	return events;
}

bool soft_busy(void)
{
	return srd_model_busy(&soft.model) || soft.group->script.alarm;
}

static bool paced;

void soft_engine_pace(bool on)
{
	paced = on;
}

uint32_t soft_run(const struct soft_object *cq)
{
	uint32_t events = 0, before = cq ? cq->cq.arrivals : 0;
	uint32_t *left = soft_events_left();
	bool leapt = false;
	uint64_t time;

	if (paced)
		return 0;
	if (left)
		return run_again(left);
	/* A script may set one alarm after the other: whoever polls is to see time pass. */
	while (!leapt) {
		time = srd_model_next(&soft.model);
		if (alarm_first(time)) {
			if (!ring_alarm(time, &leapt))
				break;
			events++;
			continue;
		}
		if (time == UINT64_MAX)
			break;
		if (srd_model_next_is_timer(&soft.model) && !timer_due(time))
			break;
		srd_model_step(&soft.model);
		events++;
		if (cq && cq->cq.arrivals != before)
			break;
	}
	if (events)
		soft.group->called++;
	soft_events_took(events);
	return events;
}

uint32_t soft_raw_doorbells(void)
{
	uint32_t taken = 0;

	for (uint32_t i = soft.group->first_raw; i; i = soft_object(i)->qp.next_raw) {
		taken += soft_doorbell(soft_object(i));
		soft_cq_doorbell(soft_object(soft_object(i)->qp.send_cq));
		soft_cq_doorbell(soft_object(soft_object(i)->qp.recv_cq));
	}
	return taken;
}

void soft_engine_qp_raw(struct soft_object *qp)
{
	if (qp->qp.raw)
		return;
	qp->qp.raw = true;
	qp->qp.next_raw = soft.group->first_raw;
	soft.group->first_raw = soft_handle(qp);
}

void soft_engine_qp_told(struct soft_object *qp)
{
	uint32_t *at = &soft.group->first_raw;

	while (*at && *at != soft_handle(qp))
		at = &soft_object(*at)->qp.next_raw;
	if (*at)
		*at = qp->qp.next_raw;
	qp->qp.raw = false;
}

void soft_engine_recount(void)
{
	struct soft_group *g = soft.group;

	g->armed = 0;
	g->first_raw = 0;
	for (uint32_t i = 1; i <= g->objects_high; i++) {
		struct soft_object *object = soft_object(i);

		if (object->kind == SOFT_CQ && object->cq.armed)
			g->armed++;
		if (object->kind == SOFT_QP && object->qp.raw) {
			object->qp.next_raw = g->first_raw;
			g->first_raw = i;
		}
	}
}

void soft_supervisor_wake(void)
{
	struct soft_group *g = soft.group;

	if (!__atomic_load_n(&g->asleep, __ATOMIC_RELAXED))
		return;
	__atomic_add_fetch(&g->wake, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &g->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
