/* SPDX-License-Identifier: MIT */
/* The book's objects: what was made, what stands on what, what is gone. */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"

#include "book_internal.h"
#include "rules.h"

const char *srd_kind_str(enum srd_kind kind)
{
	static const char *const names[SRD_NUM_KINDS] = {
		"none",          "device context",   "protection domain",
		"memory region", "completion queue", "address handle",
		"queue pair",    "buffer",
	};

	return names[kind];
}

static enum srd_kind kind_of(const char *object)
{
	static const char *const names[SRD_NUM_KINDS] = {
		"none", "context", "pd", "mr", "cq", "ah", "qp", "buffer",
	};

	for (int kind = 0; kind < SRD_NUM_KINDS; kind++)
		if (!strcmp(names[kind], object))
			return (enum srd_kind)kind;
	return SRD_KIND_NONE;
}

void srd_book_init(struct srd_book *book)
{
	memset(book, 0, sizeof(*book));
	book->generation = 1;
	for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++)
		book->kind_of[type] = kind_of(srd_event_infos[type].object);
}

static void qp_release(struct srd_book_qp *qp)
{
	srd_requests_release(&qp->requests);
	srd_history_release(&qp->posts);
	srd_history_release(&qp->history);
	srd_free(qp->fates);
	while (qp->peers) {
		struct srd_book_peer *peer = qp->peers;

		qp->peers = peer->next;
		srd_free(peer);
	}
	srd_free(qp->places);
}

void srd_book_release(struct srd_book *book)
{
	while (book->all) {
		struct srd_thing *thing = book->all;

		book->all = thing->next;
		if (thing->kind == SRD_KIND_QP)
			qp_release((struct srd_book_qp *)thing);
		srd_free(thing);
	}
	while (book->devices) {
		struct srd_book_device *device = book->devices;

		book->devices = device->next;
		srd_free(device);
	}
	for (uint32_t i = 0; i < book->num_op_blocks; i++)
		srd_free(book->op_blocks[i]);
	srd_free(book->op_blocks);
	srd_history_release(&book->others);
	srd_map_release(&book->things);
	srd_map_release(&book->ops);
	srd_map_release(&book->qpns);
	srd_map_release(&book->lkeys);
	srd_map_release(&book->rkeys);
	srd_map_release(&book->peers);
	srd_book_rails_release(book);
	srd_map_release(&book->routes);
}

/* --- objects --- */

struct srd_thing *srd_book_search(struct srd_book *book, enum srd_kind kind, uint32_t handle)
{
	struct srd_thing *thing = srd_map_get(&book->things, srd_book_key(kind, handle));

	if (thing)
		book->last[kind] = thing;
	return thing;
}

/* A new object of SIZE bytes for the event that made it; NULL and nomem: no memory. */
static void *make(struct srd_book *book, enum srd_kind kind, const struct srd_event *event,
		  size_t size)
{
	struct srd_thing *thing = srd_calloc(1, size);

	if (!thing) {
		book->nomem = true;
		return NULL;
	}
	thing->kind = kind;
	thing->handle = event->object;
	thing->host = event->host;
	thing->line = event->line;
	thing->alive = true;
	thing->next = book->all;
	book->all = thing;
	book->last[kind] = thing;
	book->live[kind]++;
	srd_book_set(book, &book->things, srd_book_key(kind, event->object), thing);
	return thing;
}

/* THING stands on BELOW; NULL is what the stream never told of. */
static void stand(struct srd_thing *thing, void *below)
{
	if (!below)
		return;
	for (int i = 0; i < 3; i++) {
		if (thing->below[i] == below)
			return;
		if (!thing->below[i]) {
			thing->below[i] = below;
			thing->below[i]->children++;
			return;
		}
	}
}

static void end(struct srd_book *book, struct srd_thing *thing, const struct srd_event *event)
{
	thing->alive = false;
	thing->end_line = event->line;
	book->live[thing->kind]--;
	for (int i = 0; i < 3 && thing->below[i]; i++)
		thing->below[i]->children--;
}

static struct srd_book_device *device_with(const struct srd_book *book, uint64_t hi, uint64_t lo)
{
	struct srd_book_device *device = book->devices;

	while (device && (device->gid_hi != hi || device->gid_lo != lo))
		device = device->next;
	return device;
}

static void route_add(struct srd_book *book, const struct srd_book_device *from,
		      const struct srd_book_device *to, int change)
{
	uint64_t key;
	uintptr_t count;

	if (!from || !to)
		return;
	key = srd_book_key(from->id, to->id);
	count = (uintptr_t)srd_map_get(&book->routes, key) + (uintptr_t)change;
	if (count)
		srd_book_set(book, &book->routes, key, (void *)count);
	else
		srd_map_remove(&book->routes, key);
}

static struct srd_book_device *ah_device(const struct srd_book_ah *ah)
{
	return ah->pd && ah->pd->context ? ah->pd->context->device : NULL;
}

static struct srd_book_device *device_make(struct srd_book *book, uint64_t hi, uint64_t lo)
{
	struct srd_book_device *device = srd_calloc(1, sizeof(*device));

	if (!device) {
		book->nomem = true;
		return NULL;
	}
	device->id = ++book->num_devices;
	device->gid_hi = hi;
	device->gid_lo = lo;
	device->next = book->devices;
	book->devices = device;
	/* Address handles that were made before the stream told whose GID it is. */
	for (struct srd_thing *thing = book->all; thing; thing = thing->next) {
		struct srd_book_ah *ah = (struct srd_book_ah *)thing;

		if (thing->kind != SRD_KIND_AH || ah->made.gid_hi != hi || ah->made.gid_lo != lo)
			continue;
		ah->target = device;
		if (thing->alive)
			route_add(book, ah_device(ah), device, 1);
	}
	return device;
}

void srd_book_device_open(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_device_open *ev = (const void *)event;
	struct srd_book_context *context = make(book, SRD_KIND_CONTEXT, event, sizeof(*context));

	if (!context)
		return;
	context->max_rdma_size = ev->max_rdma_size;
	context->max_msg_sz = ev->max_msg_sz;
	context->device = device_with(book, ev->gid_hi, ev->gid_lo);
	if (!context->device)
		context->device = device_make(book, ev->gid_hi, ev->gid_lo);
}

void srd_book_pd_alloc(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_pd_alloc *ev = (const void *)event;
	struct srd_book_pd *pd = make(book, SRD_KIND_PD, event, sizeof(*pd));

	if (!pd)
		return;
	pd->context = (void *)srd_book_find(book, SRD_KIND_CONTEXT, ev->context);
	stand(&pd->thing, pd->context);
}

void srd_book_mr_reg(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_mr_reg *ev = (const void *)event;
	struct srd_book_mr *mr = make(book, SRD_KIND_MR, event, sizeof(*mr));

	if (!mr)
		return;
	mr->pd = (void *)srd_book_find(book, SRD_KIND_PD, ev->pd);
	mr->addr = ev->addr;
	mr->length = ev->length;
	mr->lkey = ev->lkey;
	mr->rkey = ev->rkey;
	mr->access = ev->access;
	stand(&mr->thing, mr->pd);
	mr->device = mr->pd && mr->pd->context ? mr->pd->context->device : NULL;
	if (!mr->device)
		return;
	srd_book_set(book, &book->lkeys, srd_book_key(mr->device->id, mr->lkey), mr);
	srd_book_set(book, &book->rkeys, srd_book_key(mr->device->id, mr->rkey), mr);
}

void srd_book_mr_dereg(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_mr *mr = (void *)book->thing;

	end(book, &mr->thing, event);
	if (!mr->device)
		return;
	if (srd_map_get(&book->lkeys, srd_book_key(mr->device->id, mr->lkey)) == mr)
		srd_map_remove(&book->lkeys, srd_book_key(mr->device->id, mr->lkey));
	if (srd_map_get(&book->rkeys, srd_book_key(mr->device->id, mr->rkey)) == mr)
		srd_map_remove(&book->rkeys, srd_book_key(mr->device->id, mr->rkey));
}

static struct srd_book_device *context_device(struct srd_book *book, uint32_t handle)
{
	struct srd_book_context *context = (void *)srd_book_find(book, SRD_KIND_CONTEXT, handle);

	return context ? context->device : NULL;
}

void srd_book_cq_create(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_cq_create *ev = (const void *)event;
	struct srd_book_cq *cq = make(book, SRD_KIND_CQ, event, sizeof(*cq));

	if (!cq)
		return;
	cq->granted = ev->granted;
	cq->device = context_device(book, ev->context);
	stand(&cq->thing, srd_book_find(book, SRD_KIND_CONTEXT, ev->context));
}

void srd_book_ah_create(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_ah_create *ev = (const void *)event;
	struct srd_book_ah *ah = make(book, SRD_KIND_AH, event, sizeof(*ah));

	if (!ah)
		return;
	ah->made = *ev;
	ah->pd = (void *)srd_book_find(book, SRD_KIND_PD, ev->pd);
	ah->target = device_with(book, ev->gid_hi, ev->gid_lo);
	stand(&ah->thing, ah->pd);
	route_add(book, ah_device(ah), ah->target, 1);
}

void srd_book_ah_destroy(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_ah *ah = (void *)book->thing;

	end(book, &ah->thing, event);
	route_add(book, ah_device(ah), ah->target, -1);
}

void srd_book_buffer_alloc(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_buffer_alloc *ev = (const void *)event;
	struct srd_book_buffer *buffer = make(book, SRD_KIND_BUFFER, event, sizeof(*buffer));

	if (!buffer)
		return;
	buffer->addr = ev->addr;
	buffer->length = ev->length;
	buffer->memory = ev->kind;
	book->device_buffers += ev->kind == SRD_BUFFER_DEVICE;
}

struct srd_book_mr *srd_book_mr_by_lkey(const struct srd_book *book, const struct srd_book_qp *qp,
					uint32_t lkey)
{
	return qp->device ? srd_map_get(&book->lkeys, srd_book_key(qp->device->id, lkey)) : NULL;
}

struct srd_book_device *srd_book_device_at(const struct srd_book *book, uint64_t gid_hi,
					   uint64_t gid_lo)
{
	return device_with(book, gid_hi, gid_lo);
}

struct srd_book_qp *srd_book_qp_at(const struct srd_book *book, uint64_t gid_hi, uint64_t gid_lo,
				   uint32_t qp_num)
{
	const struct srd_book_device *device = device_with(book, gid_hi, gid_lo);

	return device ? srd_map_get(&book->qpns, srd_book_key(device->id, qp_num)) : NULL;
}

void srd_book_thing_end(struct srd_book *book, const struct srd_event *event)
{
	end(book, book->thing, event);
}

/* --- queue pairs --- */

void srd_book_qp_create(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_create *ev = (const void *)event;
	struct srd_book_qp *qp = make(book, SRD_KIND_QP, event, sizeof(*qp));

	if (!qp)
		return;
	qp->made = *ev;
	book->kinds |= srd_book_is_rc(qp) ? SRD_KINDS_RC : SRD_KINDS_SRD;
	qp->state = SRD_QPS_RESET;
	qp->pd = (void *)srd_book_find(book, SRD_KIND_PD, ev->pd);
	qp->send_cq = (void *)srd_book_find(book, SRD_KIND_CQ, ev->send_cq);
	qp->recv_cq = (void *)srd_book_find(book, SRD_KIND_CQ, ev->recv_cq);
	if (qp->pd && qp->pd->context) {
		qp->device = qp->pd->context->device;
		qp->max_rdma_size = qp->pd->context->max_rdma_size;
	}
	stand(&qp->thing, qp->pd);
	stand(&qp->thing, qp->send_cq);
	stand(&qp->thing, qp->recv_cq);
	if (qp->device)
		srd_book_set(book, &book->qpns, srd_book_key(qp->device->id, ev->qp_num), qp);
}

void srd_book_qp_destroy(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_qp *qp = book->qp;

	end(book, &qp->thing, event);
	if (qp->send_cq) {
		qp->send_cq->orphans += qp->in_flight;
		if (qp->send_cq->last == qp)
			qp->send_cq->last = NULL;
	}
	if (qp->recv_cq) {
		qp->recv_cq->orphans += qp->receives;
		if (qp->recv_cq->last == qp)
			qp->recv_cq->last = NULL;
	}
	srd_book_drop_requests(qp);
	if (qp->device &&
	    srd_map_get(&book->qpns, srd_book_key(qp->device->id, qp->made.qp_num)) == qp)
		srd_map_remove(&book->qpns, srd_book_key(qp->device->id, qp->made.qp_num));
	qp->in_session = false;
	srd_book_unstage(qp);
	srd_requests_release(&qp->requests);
}

void srd_book_qp_modify(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_modify *ev = (const void *)event;
	struct srd_book_qp *qp = book->qp;

	memset(&qp->refused, 0, sizeof(qp->refused));
	if (ev->result) {
		qp->refused.mask = ev->mask;
		qp->refused.to = ev->to;
		qp->refused.line = event->line;
		return;
	}
	if (ev->mask & SRD_QP_QKEY) {
		qp->qkey = ev->qkey;
		qp->has_qkey = true;
	}
	if (ev->mask & SRD_QP_AV) {
		qp->peer_gid_hi = ev->gid_hi;
		qp->peer_gid_lo = ev->gid_lo;
		qp->has_peer = true;
	}
	if (ev->mask & SRD_QP_DEST_QPN)
		qp->peer_qpn = ev->dest_qp_num;
	memmove(&qp->steps[1], &qp->steps[0], 2 * sizeof(qp->steps[0]));
	qp->steps[0].mask = ev->mask;
	qp->steps[0].to = ev->to;
	qp->num_steps++;
	if (!(ev->mask & SRD_QP_STATE))
		return;
	qp->state = (enum srd_qp_state)ev->to;
	qp->moved = false;
	if (ev->to == SRD_QPS_RESET) {
		srd_book_drop_requests(qp);
		qp->unrung = 0;
	}
}

void srd_book_qp_query(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_query *ev = (const void *)event;

	/* libibverbs refreshes its cached state from the answer. */
	if (!ev->result && ev->mask & SRD_QP_STATE) {
		book->qp->state = (enum srd_qp_state)ev->state;
		book->qp->moved = false;
	}
}

void srd_book_qp_open(struct srd_book *book, const struct srd_event *event)
{
	book->qp->open = true;
	book->qp->claimed = true;
	book->qp->opened = *(const struct srd_ev_qp_open *)event;
}

void srd_book_qp_close(struct srd_book *book, const struct srd_event *event)
{
	book->qp->open = false;
}

void srd_book_connect(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_qp *qp = book->qp;

	qp->connect = *(const struct srd_ev_connect *)event;
	qp->has_connect = qp->has_connect || !qp->connect.result;
	qp->connected = qp->connected || qp->has_connect;
}

void srd_book_peer_add(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_peer_add *ev = (const void *)event;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_peer *peer;

	if (ev->result)
		return;
	peer = srd_calloc(1, sizeof(*peer));
	if (!peer) {
		book->nomem = true;
		return;
	}
	peer->added = *ev;
	peer->next = qp->peers;
	qp->peers = peer;
	qp->connected = true;
	srd_book_set(book, &book->peers, srd_book_key(qp->thing.handle, ev->peer), peer);
}

bool srd_book_op_peer(const struct srd_book *book, const struct srd_book_op *op, uint32_t *qp_num,
		      uint64_t *gid_hi, uint64_t *gid_lo)
{
	const struct srd_book_qp *qp = op->qp;
	const struct srd_book_peer *peer;

	if (!op->begun.peer) {
		*qp_num = qp->connect.remote_qpn;
		*gid_hi = qp->connect.gid_hi;
		*gid_lo = qp->connect.gid_lo;
		return qp->has_connect;
	}
	peer = srd_map_get(&book->peers, srd_book_key(qp->thing.handle, op->begun.peer));
	if (!peer)
		return false;
	*qp_num = peer->added.remote_qpn;
	*gid_hi = peer->added.gid_hi;
	*gid_lo = peer->added.gid_lo;
	return true;
}

void srd_book_scheduler_open(struct srd_book *book, const struct srd_event *event)
{
	book->qp->scheduled = true;
	book->qp->max_send_wr = ((const struct srd_ev_scheduler_open *)event)->max_send_wr;
}

void srd_book_scheduler_close(struct srd_book *book, const struct srd_event *event)
{
	book->qp->scheduled = false;
}

void srd_book_dev_qp_state(struct srd_book *book, const struct srd_event *event)
{
	book->qp->moved = true;
}

void srd_book_dev_doorbell(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_qp *qp = book->qp;

	if (!qp->unrung)
		qp->unrung_line = event->line;
	qp->unrung = ((const struct srd_ev_dev_doorbell *)event)->waiting;
}

/* --- the end of a process --- */

static bool stands_on(const struct srd_thing *thing, const struct srd_thing *below)
{
	for (int i = 0; i < 3 && thing->below[i]; i++)
		if (thing->below[i] == below || stands_on(thing->below[i], below))
			return true;
	return false;
}

/* Objects that stand on others are newer than these: the list has them first. */
void srd_book_context_lost(struct srd_book *book, const struct srd_event *event)
{
	struct srd_thing *context = book->thing;

	for (struct srd_thing *thing = book->all; thing; thing = thing->next) {
		if (!thing->alive || !stands_on(thing, context))
			continue;
		book->thing = thing;
		book->qp = (struct srd_book_qp *)thing;
		if (thing->kind == SRD_KIND_QP)
			srd_book_qp_destroy(book, event);
		else if (thing->kind == SRD_KIND_MR)
			srd_book_mr_dereg(book, event);
		else if (thing->kind == SRD_KIND_AH)
			srd_book_ah_destroy(book, event);
		else
			end(book, thing, event);
	}
	book->thing = context;
	book->qp = NULL;
	end(book, context, event);
}
