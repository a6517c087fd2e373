/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"

#include "book.h"

#define OPS_A_BLOCK 64

static uint64_t pair(uint32_t high, uint32_t low)
{
	return ((uint64_t)high << 32) | low;
}

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
	for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++)
		book->kind_of[type] = kind_of(srd_event_infos[type].object);
}

static void qp_release(struct srd_book_qp *qp)
{
	srd_free(qp->staged);
	srd_free(qp->requests.slots);
	srd_free(qp->fates);
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
	srd_map_release(&book->things);
	srd_map_release(&book->ops);
	srd_map_release(&book->qpns);
	srd_map_release(&book->lkeys);
	srd_map_release(&book->rkeys);
	srd_map_release(&book->routes);
}

/* --- objects --- */

struct srd_thing *srd_book_find(struct srd_book *book, enum srd_kind kind, uint32_t handle)
{
	struct srd_thing *thing = book->last[kind];

	if (thing && thing->handle == handle)
		return thing;
	thing = srd_map_get(&book->things, pair(kind, handle));
	if (thing)
		book->last[kind] = thing;
	return thing;
}

static void set(struct srd_book *book, struct srd_map *map, uint64_t key, void *value)
{
	if (srd_map_set(map, key, value))
		book->nomem = true;
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
	set(book, &book->things, pair(kind, event->object), thing);
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
	key = pair(from->id, to->id);
	count = (uintptr_t)srd_map_get(&book->routes, key) + (uintptr_t)change;
	if (count)
		set(book, &book->routes, key, (void *)count);
	else
		srd_map_remove(&book->routes, key);
}

bool srd_book_has_route(const struct srd_book *book, const struct srd_book_device *from,
			const struct srd_book_device *to)
{
	return srd_map_get(&book->routes, pair(from->id, to->id));
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

static void device_open(struct srd_book *book, const struct srd_event *event)
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

static void pd_alloc(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_pd_alloc *ev = (const void *)event;
	struct srd_book_pd *pd = make(book, SRD_KIND_PD, event, sizeof(*pd));

	if (!pd)
		return;
	pd->context = (void *)srd_book_find(book, SRD_KIND_CONTEXT, ev->context);
	stand(&pd->thing, pd->context);
}

static void mr_reg(struct srd_book *book, const struct srd_event *event)
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
	set(book, &book->lkeys, pair(mr->device->id, mr->lkey), mr);
	set(book, &book->rkeys, pair(mr->device->id, mr->rkey), mr);
}

static void mr_dereg(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_mr *mr = (void *)book->thing;

	end(book, &mr->thing, event);
	if (!mr->device)
		return;
	if (srd_map_get(&book->lkeys, pair(mr->device->id, mr->lkey)) == mr)
		srd_map_remove(&book->lkeys, pair(mr->device->id, mr->lkey));
	if (srd_map_get(&book->rkeys, pair(mr->device->id, mr->rkey)) == mr)
		srd_map_remove(&book->rkeys, pair(mr->device->id, mr->rkey));
}

static struct srd_book_device *context_device(struct srd_book *book, uint32_t handle)
{
	struct srd_book_context *context = (void *)srd_book_find(book, SRD_KIND_CONTEXT, handle);

	return context ? context->device : NULL;
}

static void cq_create(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_cq_create *ev = (const void *)event;
	struct srd_book_cq *cq = make(book, SRD_KIND_CQ, event, sizeof(*cq));

	if (!cq)
		return;
	cq->granted = ev->granted;
	cq->device = context_device(book, ev->context);
	stand(&cq->thing, srd_book_find(book, SRD_KIND_CONTEXT, ev->context));
}

static void ah_create(struct srd_book *book, const struct srd_event *event)
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

static void ah_destroy(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_ah *ah = (void *)book->thing;

	end(book, &ah->thing, event);
	route_add(book, ah_device(ah), ah->target, -1);
}

static void buffer_alloc(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_buffer_alloc *ev = (const void *)event;
	struct srd_book_buffer *buffer = make(book, SRD_KIND_BUFFER, event, sizeof(*buffer));

	if (!buffer)
		return;
	buffer->addr = ev->addr;
	buffer->length = ev->length;
}

/* --- queue pairs --- */

static uint32_t power_of_two(uint32_t at_least)
{
	uint32_t size = 16;

	while (size < at_least && size < 1u << 31)
		size *= 2;
	return size;
}

static void qp_create(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_create *ev = (const void *)event;
	struct srd_book_qp *qp = make(book, SRD_KIND_QP, event, sizeof(*qp));

	if (!qp)
		return;
	qp->made = *ev;
	qp->state = SRD_QPS_RESET;
	qp->pd = (void *)srd_book_find(book, SRD_KIND_PD, ev->pd);
	qp->send_cq = (void *)srd_book_find(book, SRD_KIND_CQ, ev->send_cq);
	qp->recv_cq = (void *)srd_book_find(book, SRD_KIND_CQ, ev->recv_cq);
	qp->device = qp->pd && qp->pd->context ? qp->pd->context->device : NULL;
	stand(&qp->thing, qp->pd);
	stand(&qp->thing, qp->send_cq);
	stand(&qp->thing, qp->recv_cq);
	if (qp->device)
		set(book, &book->qpns, pair(qp->device->id, ev->qp_num), qp);
}

/* REQUEST touches nothing any more. */
static void let_go(struct srd_request *request)
{
	if (request->mr)
		request->mr->in_flight--;
	if (request->remote_mr)
		request->remote_mr->in_flight--;
	if (request->ah)
		request->ah->in_flight--;
	request->mr = request->remote_mr = NULL;
	request->ah = NULL;
}

/*
 * A reset or a destroy: the device drops what QP has outstanding. The requests may still
 * complete or not (a knob of the model; nothing is documented), so nobody waits for them.
 */
static void drop_requests(struct srd_book_qp *qp)
{
	for (uint32_t i = 0; qp->requests.slots && i <= qp->requests.mask; i++) {
		if (!qp->requests.slots[i].used || qp->requests.slots[i].dropped)
			continue;
		let_go(&qp->requests.slots[i]);
		if (qp->requests.slots[i].op)
			qp->requests.slots[i].op->in_flight--;
		qp->requests.slots[i].op = NULL;
		qp->requests.slots[i].dropped = true;
	}
	if (qp->send_cq)
		qp->send_cq->unpolled -= qp->in_flight;
	if (qp->recv_cq)
		qp->recv_cq->unpolled -= qp->receives;
	qp->has_dropped = qp->has_dropped || qp->in_flight;
	qp->in_flight = 0;
	qp->in_flight_ops = 0;
	qp->receives = 0;
}

static void qp_destroy(struct srd_book *book, const struct srd_event *event)
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
	drop_requests(qp);
	if (qp->device && srd_map_get(&book->qpns, pair(qp->device->id, qp->made.qp_num)) == qp)
		srd_map_remove(&book->qpns, pair(qp->device->id, qp->made.qp_num));
	qp->in_session = false;
	qp->num_staged = 0;
}

static void qp_modify(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_modify *ev = (const void *)event;
	struct srd_book_qp *qp = book->qp;

	if (ev->result)
		return;
	if (ev->mask & SRD_QP_QKEY) {
		qp->qkey = ev->qkey;
		qp->has_qkey = true;
	}
	memmove(&qp->steps[1], &qp->steps[0], 2 * sizeof(qp->steps[0]));
	qp->steps[0].mask = ev->mask;
	qp->steps[0].to = ev->to;
	qp->num_steps++;
	if (!(ev->mask & SRD_QP_STATE))
		return;
	qp->state = (enum srd_qp_state)ev->to;
	qp->moved = false;
	if (ev->to == SRD_QPS_RESET)
		drop_requests(qp);
}

static void qp_query(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_qp_query *ev = (const void *)event;

	/* libibverbs refreshes its cached state from the answer. */
	if (!ev->result && ev->mask & SRD_QP_STATE) {
		book->qp->state = (enum srd_qp_state)ev->state;
		book->qp->moved = false;
	}
}

/* --- requests --- */

static uint32_t request_home(const struct srd_request_table *table, uint64_t wr_id)
{
	/* Ids are consecutive, or addresses: the hash serves both. */
	return srd_map_hash(wr_id) & table->mask;
}

static int requests_grow(struct srd_request_table *table)
{
	uint32_t size = table->slots ? 2 * (table->mask + 1) : 32;
	struct srd_request_table bigger = {.mask = size - 1, .count = table->count};

	bigger.slots = srd_calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; table->slots && i <= table->mask; i++) {
		uint32_t at;

		if (!table->slots[i].used)
			continue;
		at = request_home(&bigger, table->slots[i].wr_id);
		while (bigger.slots[at].used)
			at = (at + 1) & bigger.mask;
		bigger.slots[at] = table->slots[i];
	}
	srd_free(table->slots);
	*table = bigger;
	return 0;
}

static struct srd_request *request_add(struct srd_request_table *table, uint64_t wr_id)
{
	uint32_t at;

	if (!table->slots || 2 * (table->count + 1) > table->mask + 1)
		if (requests_grow(table))
			return NULL;
	at = request_home(table, wr_id);
	while (table->slots[at].used)
		at = (at + 1) & table->mask;
	table->count++;
	table->slots[at].used = true;
	table->slots[at].dropped = false;
	table->slots[at].wr_id = wr_id;
	return &table->slots[at];
}

static void request_remove(struct srd_request_table *table, struct srd_request *request)
{
	uint32_t hole = (uint32_t)(request - table->slots);

	for (uint32_t i = (hole + 1) & table->mask; table->slots[i].used;
	     i = (i + 1) & table->mask) {
		uint32_t home = request_home(table, table->slots[i].wr_id);

		if (((i - home) & table->mask) < ((i - hole) & table->mask))
			continue;
		table->slots[hole] = table->slots[i];
		hole = i;
	}
	table->slots[hole].used = false;
	table->count--;
}

struct srd_request *srd_book_request(const struct srd_book_qp *qp, uint64_t wr_id)
{
	const struct srd_request_table *table = &qp->requests;
	struct srd_request *dropped = NULL;

	if (!table->slots)
		return NULL;
	for (uint32_t i = request_home(table, wr_id); table->slots[i].used;
	     i = (i + 1) & table->mask) {
		if (table->slots[i].wr_id != wr_id)
			continue;
		if (!table->slots[i].dropped)
			return &table->slots[i];
		dropped = &table->slots[i];
	}
	return dropped;
}

const struct srd_request *srd_book_oldest_request(const struct srd_book_qp *qp)
{
	const struct srd_request_table *table = &qp->requests;
	const struct srd_request *oldest = NULL;

	for (uint32_t i = 0; table->slots && i <= table->mask; i++) {
		const struct srd_request *request = &table->slots[i];

		if (request->used && !request->dropped &&
		    (!oldest || request->ordinal < oldest->ordinal))
			oldest = request;
	}
	return oldest;
}

static struct srd_place *place_slot(const struct srd_book_qp *qp, uint64_t ordinal)
{
	return &qp->places[ordinal & qp->place_mask];
}

const struct srd_place *srd_book_place(const struct srd_book_qp *qp, uint64_t ordinal)
{
	const struct srd_place *place = qp->places ? place_slot(qp, ordinal) : NULL;

	return place && place->state != SRD_BOOK_FREE && place->ordinal == ordinal ? place : NULL;
}

/*
 * The library says POSTED and the device TAKEN, in either order: whoever comes second
 * clears the place. At most a send queue of requests waits for the other's word.
 */
static void set_place(struct srd_book *book, struct srd_book_qp *qp, uint64_t ordinal, int state,
		      uint64_t length, uint8_t opcode)
{
	struct srd_place *place;

	if (!qp->places) {
		uint32_t size = power_of_two(2 * qp->made.granted_send_wr);

		qp->places = srd_calloc(size, sizeof(*qp->places));
		qp->place_mask = size - 1;
		if (!qp->places) {
			book->nomem = true;
			return;
		}
	}
	place = place_slot(qp, ordinal);
	if (place->state != SRD_BOOK_FREE && place->ordinal == ordinal &&
	    (int)place->state != state) {
		place->state = SRD_BOOK_FREE;
		return;
	}
	*place = (struct srd_place){ordinal, length, opcode, state};
}

struct srd_book_mr *srd_book_mr_by_lkey(const struct srd_book *book, const struct srd_book_qp *qp,
					uint32_t lkey)
{
	return qp->device ? srd_map_get(&book->lkeys, pair(qp->device->id, lkey)) : NULL;
}

static struct srd_fate *fate_slot(const struct srd_book_qp *qp, uint64_t wr_id)
{
	return &qp->fates[srd_map_hash(wr_id) % SRD_NUM_FATES];
}

const struct srd_fate *srd_book_fate(const struct srd_book_qp *qp, uint64_t wr_id)
{
	const struct srd_fate *fate = qp->fates ? fate_slot(qp, wr_id) : NULL;

	return fate && fate->what != SRD_FATE_NONE && fate->wr_id == wr_id ? fate : NULL;
}

static void set_fate(struct srd_book *book, struct srd_book_qp *qp, uint64_t wr_id, uint64_t time,
		     int what)
{
	struct srd_fate *fate;

	if (!qp->fates) {
		qp->fates = srd_calloc(SRD_NUM_FATES, sizeof(*qp->fates));
		if (!qp->fates) {
			book->nomem = true;
			return;
		}
	}
	fate = fate_slot(qp, wr_id);
	fate->wr_id = wr_id;
	fate->time = time;
	fate->what = what;
}

void srd_book_resolve_post(struct srd_book *book, const struct srd_ev_wr_post *post)
{
	struct srd_book_qp *qp = book->qp;

	book->mr = srd_book_mr_by_lkey(book, qp, post->lkey);
	book->ah = post->ah ? (void *)srd_book_find(book, SRD_KIND_AH, post->ah) : NULL;
	book->target = book->ah ? book->ah->target : NULL;
	book->remote_mr = NULL;
	book->target_qp = NULL;
	if (!book->target)
		return;
	book->remote_mr = srd_map_get(&book->rkeys, pair(book->target->id, post->rkey));
	book->target_qp = srd_map_get(&book->qpns, pair(book->target->id, post->remote_qpn));
}

void srd_book_apply_post(struct srd_book *book, const struct srd_ev_wr_post *post)
{
	struct srd_book_qp *qp = book->qp;
	struct srd_request *request = request_add(&qp->requests, post->wr_id);
	bool rdma = post->opcode != SRD_WR_SEND && post->opcode != SRD_WR_SEND_WITH_IMM;

	if (!request) {
		book->nomem = true;
		return;
	}
	/* An empty request touches no memory. */
	request->mr = post->length ? book->mr : NULL;
	request->remote_mr = post->length && rdma ? book->remote_mr : NULL;
	request->ah = book->ah;
	request->op = book->op;
	request->line = post->ev.line;
	request->opcode = post->opcode;
	request->ordinal = qp->num_posted;
	set_place(book, qp, qp->num_posted, SRD_BOOK_POSTED, post->length, post->opcode);
	qp->num_posted++;
	qp->in_flight++;
	if (qp->send_cq)
		qp->send_cq->unpolled++;
	if (request->mr) {
		request->mr->in_flight++;
		request->mr->post_line = post->ev.line;
	}
	if (request->remote_mr) {
		request->remote_mr->in_flight++;
		request->remote_mr->post_line = post->ev.line;
	}
	if (request->ah)
		request->ah->in_flight++;
	if (request->op) {
		qp->in_flight_ops++;
		request->op->in_flight++;
		request->op->num_wr++;
	}
}

/* --- ops --- */

static struct srd_book_op *op_new(struct srd_book *book)
{
	struct srd_book_op *op = book->free_ops;

	if (!op) {
		struct srd_book_op **blocks =
			srd_reallocarray(book->op_blocks, book->num_op_blocks + 1, sizeof(*blocks));

		if (!blocks)
			return NULL;
		book->op_blocks = blocks;
		op = srd_calloc(OPS_A_BLOCK, sizeof(*op));
		if (!op)
			return NULL;
		blocks[book->num_op_blocks++] = op;
		for (int i = 0; i < OPS_A_BLOCK; i++) {
			op[i].next = book->free_ops;
			book->free_ops = &op[i];
		}
		op = book->free_ops;
	}
	book->free_ops = op->next;
	memset(op, 0, sizeof(*op));
	return op;
}

static void unlink_waiting(struct srd_book_op *op)
{
	if (op->prev)
		op->prev->next = op->next;
	else
		op->qp->waiting = op->next;
	if (op->next)
		op->next->prev = op->prev;
	else
		op->qp->waiting_tail = op->prev;
	op->prev = op->next = NULL;
	op->waits = false;
}

/* A refused post: OP is at the head of its line again. */
static void wait_first(struct srd_book_op *op)
{
	struct srd_book_qp *qp = op->qp;

	op->waits = true;
	op->next = qp->waiting;
	if (qp->waiting)
		qp->waiting->prev = op;
	else
		qp->waiting_tail = op;
	qp->waiting = op;
}

static void op_forget(struct srd_book *book, struct srd_book_op *op)
{
	if (op->waits)
		unlink_waiting(op);
	if (book->last_op == op)
		book->last_op = NULL;
	srd_map_remove(&book->ops, op->number);
	op->next = book->free_ops;
	book->free_ops = op;
}

/* An op is kept until it is answered and none of its requests is in flight. */
static void op_settle(struct srd_book *book, struct srd_book_op *op)
{
	if (op->ended && !op->in_flight && !op->posting)
		op_forget(book, op);
}

static struct srd_book_op *op_find(struct srd_book *book, uint32_t number)
{
	struct srd_book_op *op = book->last_op;

	if (op && op->number == number)
		return op;
	op = srd_map_get(&book->ops, number);
	if (op)
		book->last_op = op;
	return op;
}

uint64_t srd_book_transfer(const struct srd_book_op *op)
{
	return op->begun.kind == SRD_OP_PUT ? op->begun.local_size : op->begun.remote_size;
}

uint32_t srd_book_max_rdma_size(const struct srd_book_qp *qp)
{
	return qp->pd && qp->pd->context ? qp->pd->context->max_rdma_size : 0;
}

uint64_t srd_book_requests_due(const struct srd_book_op *op)
{
	uint64_t size = srd_book_transfer(op);
	uint32_t max = srd_book_max_rdma_size(op->qp);

	if (!max)
		return 0;
	return size ? size / max + (size % max != 0) : 1;
}

static void op_begin(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_op_begin *ev = (const void *)event;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op;

	if (book->op || !event->op)
		return;
	op = op_new(book);
	if (!op) {
		book->nomem = true;
		return;
	}
	op->number = event->op;
	op->line = event->line;
	op->qp = qp;
	op->begun = *ev;
	set(book, &book->ops, op->number, op);
	book->last_op = op;
	/* One that never fits is answered at once and does not wait. */
	if (!ev->path || srd_book_requests_due(op) > qp->max_send_wr)
		return;
	op->waits = true;
	op->prev = qp->waiting_tail;
	if (qp->waiting_tail)
		qp->waiting_tail->next = op;
	else
		qp->waiting = op;
	qp->waiting_tail = op;
}

static void op_post_begin(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_op_post_begin *ev = (const void *)event;
	struct srd_book_op *op = book->op;

	if (!op)
		return;
	op->asked = ev->num_wr_asked;
	op->posting = true;
	if (op->waits)
		unlink_waiting(op);
}

static void op_post_end(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_op_post_end *ev = (const void *)event;
	struct srd_book_op *op = book->op;

	if (!op)
		return;
	op->posting = false;
	/* The next post of a refused op starts anew. */
	if (ev->result) {
		op->sessions = 0;
		op->num_posts = 0;
		op->bytes = 0;
		op->broken = false;
	}
	/* No room, and requests in flight that will make some: the scheduler tries again. */
	if (ev->result == (uint32_t)-ENOMEM && op->begun.path && op->qp->in_flight && !op->ended) {
		op->qp->full = true;
		wait_first(op);
	}
	op_settle(book, op);
}

bool srd_book_op_ended(const struct srd_book *book, uint32_t number)
{
	return number && book->ended[number % SRD_NUM_ENDED] == number;
}

static void op_end(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_op *op = book->op;

	book->ended[event->op % SRD_NUM_ENDED] = event->op;
	if (!op)
		return;
	if (op->reaped && !op->ended)
		op->qp->unanswered--;
	op->ended = true;
	if (op->waits)
		unlink_waiting(op);
	op_settle(book, op);
}

static void op_reaped(struct srd_book_op *op)
{
	if (op->ended || !op->begun.path)
		return;
	op->reaped = true;
	op->qp->unanswered++;
	op->qp->unanswered_op = op->number;
}

static void op_fail(struct srd_book_op *op, const struct srd_ev_wc *wc)
{
	struct srd_cause *cause = wc->status == SRD_WC_WR_FLUSH_ERR ? &op->flush : &op->own;

	op->num_failed++;
	if (!cause->status)
		*cause = (struct srd_cause){wc->wr_id, wc->status, wc->vendor_err};
}

/* --- the data path --- */

static void session_start(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_qp *qp = book->qp;

	qp->in_session = true;
	qp->session_line = event->line;
	qp->num_staged = 0;
	if (book->op)
		book->op->sessions++;
}

/* Requests beyond the depth cannot be accepted: they are counted and not kept. */
static bool stage(struct srd_book_qp *qp, const struct srd_ev_wr_post *post)
{
	if (qp->num_staged == qp->room_staged && qp->num_staged < qp->made.granted_send_wr) {
		uint32_t room = qp->room_staged ? 2 * qp->room_staged : 16;
		void *staged = srd_reallocarray(qp->staged, room, sizeof(*qp->staged));

		if (!staged)
			return false;
		qp->staged = staged;
		qp->room_staged = room;
	}
	if (qp->num_staged < qp->room_staged)
		qp->staged[qp->num_staged] = *post;
	qp->num_staged++;
	return true;
}

static void wr_post(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_wr_post *post = (const void *)event;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op = book->op;

	if (!stage(qp, post))
		book->nomem = true;
	if (!op)
		return;
	if (!op->num_posts)
		op->first_id = post->wr_id;
	op->last_id = post->wr_id;
	op->num_posts++;
	op->bytes += post->length;
	op->last_length = post->length;
	qp->last_id = post->wr_id;
	if (!qp->has_id || post->wr_id > qp->top_id)
		qp->top_id = post->wr_id;
	qp->has_id = true;
	if (qp->send_cq)
		qp->send_cq->poster = qp;
	if (!qp->peer_ah && post->ah)
		qp->peer_ah = (void *)srd_book_find(book, SRD_KIND_AH, post->ah);
}

static void refuse_staged(struct srd_book *book, struct srd_book_qp *qp, uint64_t time)
{
	uint32_t kept = qp->num_staged < qp->room_staged ? qp->num_staged : qp->room_staged;

	for (uint32_t i = 0; i < kept; i++)
		set_fate(book, qp, qp->staged[i].wr_id, time, SRD_FATE_REFUSED);
}

static void session_complete(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_session_complete *ev = (const void *)event;

	if (ev->result)
		refuse_staged(book, book->qp, event->time);
	book->qp->in_session = false;
	book->qp->num_staged = 0;
}

static void session_abort(struct srd_book *book, const struct srd_event *event)
{
	refuse_staged(book, book->qp, event->time);
	book->qp->in_session = false;
	book->qp->num_staged = 0;
}

static void recv_post(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_recv_post *ev = (const void *)event;

	if (ev->result)
		return;
	book->qp->receives++;
	if (book->qp->recv_cq)
		book->qp->recv_cq->unpolled++;
}

static void wc(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_wc *ev = (const void *)event;
	struct srd_request *request = book->request;
	struct srd_book_qp *qp = book->qp;
	struct srd_book_op *op;

	if (qp && ev->opcode >= SRD_WC_RECV && qp->receives) {
		qp->receives--;
		if (qp->recv_cq)
			qp->recv_cq->unpolled--;
	}
	if (!request)
		return;
	op = request->op;
	let_go(request);
	set_fate(book, qp, ev->wr_id, event->time, SRD_FATE_COMPLETED);
	if (!request->dropped) {
		qp->in_flight--;
		qp->in_flight_ops -= op != NULL;
		if (qp->send_cq)
			qp->send_cq->unpolled--;
	}
	qp->full = false;
	request_remove(&qp->requests, request);
	if (!op)
		return;
	op->in_flight--;
	if (ev->status)
		op_fail(op, ev);
	if (!op->in_flight)
		op_reaped(op);
	op_settle(book, op);
}

static void cq_poll(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_cq_poll *ev = (const void *)event;
	struct srd_book_cq *cq = book->cq;

	/* -EINVAL consumes an entry of no live queue pair; an empty queue holds none. */
	if (ev->result == (uint32_t)-EINVAL && cq->orphans)
		cq->orphans--;
	else if (!ev->result)
		cq->orphans = 0;
}

/* --- one event --- */

static void resolve_wc(struct srd_book *book, const struct srd_ev_wc *ev)
{
	struct srd_book_cq *cq = book->cq;
	struct srd_book_qp *qp = cq ? cq->last : NULL;

	if (cq && cq->device && (!qp || qp->made.qp_num != ev->qp_num)) {
		qp = srd_map_get(&book->qpns, pair(cq->device->id, ev->qp_num));
		cq->last = qp;
	}
	book->qp = qp;
	if (!qp || ev->opcode >= SRD_WC_RECV)
		return;
	book->request = srd_book_request(qp, ev->wr_id);
	book->op = book->request ? book->request->op : NULL;
}

void srd_book_resolve(struct srd_book *book, const struct srd_event *event)
{
	enum srd_kind kind = book->kind_of[event->type];

	book->seen |= UINT64_C(1) << event->type;
	book->qp = NULL;
	book->cq = NULL;
	book->request = NULL;
	book->thing = kind ? srd_book_find(book, kind, event->object) : NULL;
	book->op = event->op ? op_find(book, event->op) : NULL;
	if (kind == SRD_KIND_QP)
		book->qp = (void *)book->thing;
	else if (kind == SRD_KIND_CQ)
		book->cq = (void *)book->thing;
	if (event->type == SRD_EV_WC)
		resolve_wc(book, (const void *)event);
}

static void qp_open(struct srd_book *book, const struct srd_event *event)
{
	book->qp->open = true;
	book->qp->claimed = true;
	book->qp->opened = *(const struct srd_ev_qp_open *)event;
}

static void qp_close(struct srd_book *book, const struct srd_event *event)
{
	book->qp->open = false;
}

struct srd_book_qp *srd_book_qp_at(const struct srd_book *book, uint64_t gid_hi, uint64_t gid_lo,
				   uint32_t qp_num)
{
	const struct srd_book_device *device = device_with(book, gid_hi, gid_lo);

	return device ? srd_map_get(&book->qpns, pair(device->id, qp_num)) : NULL;
}

static void connect_end(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_qp *qp = book->qp;

	qp->connect = *(const struct srd_ev_connect *)event;
	qp->connected = qp->connected || !qp->connect.result;
}

static void scheduler_open(struct srd_book *book, const struct srd_event *event)
{
	book->qp->scheduled = true;
	book->qp->max_send_wr = ((const struct srd_ev_scheduler_open *)event)->max_send_wr;
}

static void scheduler_close(struct srd_book *book, const struct srd_event *event)
{
	book->qp->scheduled = false;
}

static void dev_request(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_dev_request *ev = (const void *)event;

	set_place(book, book->qp, ev->ordinal, SRD_BOOK_TAKEN, ev->length, (uint8_t)ev->opcode);
}

static void dev_qp_state(struct srd_book *book, const struct srd_event *event)
{
	book->qp->moved = true;
}

static void thing_end(struct srd_book *book, const struct srd_event *event)
{
	end(book, book->thing, event);
}

typedef void apply_fn(struct srd_book *book, const struct srd_event *event);

static apply_fn *const makers[SRD_NUM_EVENT_TYPES] = {
	[SRD_EV_DEVICE_OPEN] = device_open,
	[SRD_EV_PD_ALLOC] = pd_alloc,
	[SRD_EV_MR_REG] = mr_reg,
	[SRD_EV_CQ_CREATE] = cq_create,
	[SRD_EV_AH_CREATE] = ah_create,
	[SRD_EV_QP_CREATE] = qp_create,
	[SRD_EV_BUFFER_ALLOC] = buffer_alloc,
};

/* What an event changes. At the seam and below its object has to be alive. */
static apply_fn *const changers[SRD_NUM_EVENT_TYPES] = {
	[SRD_EV_OP_BEGIN] = op_begin,
	[SRD_EV_OP_POST_BEGIN] = op_post_begin,
	[SRD_EV_OP_POST_END] = op_post_end,
	[SRD_EV_OP_END] = op_end,
	[SRD_EV_QP_OPEN] = qp_open,
	[SRD_EV_QP_CLOSE] = qp_close,
	[SRD_EV_CONNECT] = connect_end,
	[SRD_EV_SCHEDULER_OPEN] = scheduler_open,
	[SRD_EV_SCHEDULER_CLOSE] = scheduler_close,
	[SRD_EV_DEVICE_CLOSE] = thing_end,
	[SRD_EV_PD_DEALLOC] = thing_end,
	[SRD_EV_MR_DEREG] = mr_dereg,
	[SRD_EV_CQ_DESTROY] = thing_end,
	[SRD_EV_AH_DESTROY] = ah_destroy,
	[SRD_EV_QP_DESTROY] = qp_destroy,
	[SRD_EV_QP_MODIFY] = qp_modify,
	[SRD_EV_QP_QUERY] = qp_query,
	[SRD_EV_SESSION_START] = session_start,
	[SRD_EV_WR_POST] = wr_post,
	[SRD_EV_SESSION_COMPLETE] = session_complete,
	[SRD_EV_SESSION_ABORT] = session_abort,
	[SRD_EV_RECV_POST] = recv_post,
	[SRD_EV_CQ_POLL] = cq_poll,
	[SRD_EV_WC] = wc,
	[SRD_EV_BUFFER_FREE] = thing_end,
	[SRD_EV_DEV_REQUEST] = dev_request,
	[SRD_EV_DEV_QP_STATE] = dev_qp_state,
};

void srd_book_apply(struct srd_book *book, const struct srd_event *event)
{
	if (makers[event->type])
		makers[event->type](book, event);
	else if (changers[event->type] && book->thing &&
		 (book->thing->alive || event->source == SRD_SOURCE_ENGINE))
		changers[event->type](book, event);
}
