/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <srdlab/verbs.h>

#include "orders.h"
#include "rules/map.h"
#include "verbs/alloc.h"

#define MAX_DEPTH 100000 /* choices in one run */

/* A point of a run where more than one thing could come. */
struct point {
	uint32_t chosen;
	uint32_t width;
	struct srd_choice what;  /* that was chosen */
	struct srd_choice first; /* that would have come */
};

/* A range of memory that was read or written. */
struct access {
	uint64_t addr;
	uint64_t length;
	uint64_t hash; /* of who did it */
	bool write;
};

struct srd_orders {
	struct srd_chooser chooser;
	bool single; /* one order was asked for */
	bool off, known, same, no_memory;
	struct point *points;
	uint32_t depth;    /* points of this run so far */
	uint32_t followed; /* of them, those that the last run left to be followed */
	uint32_t capacity;
	/* what has happened in this run */
	uint64_t sum;
	struct srd_map chains; /* a hash of all that has come to one place, in its order */
	struct access *accesses;
	uint32_t num_accesses, max_accesses;
	struct srd_map met; /* sums of all runs */
};

/* --- what has happened --- */

enum place { PLACE_EVENT, PLACE_RECEIVES, PLACE_SCRIPT };

static uint64_t mix(uint64_t a, uint64_t b)
{
	const uint64_t both[2] = {a, b};

	return XXH64(both, sizeof(both), 0);
}

/* HASH happens at PLACE and NUMBER, after all that has happened there. */
static void chain(struct srd_orders *o, enum place place, uint64_t number, uint64_t hash)
{
	uint64_t key = mix((uint64_t)place + 1, number) | 1;
	uint64_t before = (uintptr_t)srd_map_get(&o->chains, key), after = mix(before, hash) | 1;

	if (before)
		o->sum -= mix(key, before);
	o->sum += mix(key, after);
	if (srd_map_set(&o->chains, key, (void *)(uintptr_t)after))
		o->no_memory = true;
}

static bool overlap(const struct access *a, const struct access *b)
{
	return a->addr - b->addr < b->length || b->addr - a->addr < a->length;
}

/* It counts after those before it that it does not commute with. */
static void touch(struct srd_orders *o, uint64_t addr, uint64_t length, bool write, uint64_t hash)
{
	const struct access a = {addr, length, hash, write};

	if (!length)
		return;
	if (o->num_accesses == o->max_accesses) {
		uint32_t max = o->max_accesses ? 2 * o->max_accesses : 64;
		struct access *list = srd_reallocarray(o->accesses, max, sizeof(*list));

		if (!list) {
			o->no_memory = true;
			return;
		}
		o->accesses = list;
		o->max_accesses = max;
	}
	for (uint32_t i = 0; i < o->num_accesses; i++)
		if ((write || o->accesses[i].write) && overlap(&a, &o->accesses[i]))
			o->sum += mix(o->accesses[i].hash, hash);
	o->accesses[o->num_accesses++] = a;
}

void srd_orders_access(struct srd_orders *o, uint64_t addr, uint64_t length, bool write,
		       uint64_t seen)
{
	uint64_t hash = mix(addr, mix(length, seen));

	if (o->off)
		return;
	chain(o, PLACE_SCRIPT, 0, hash);
	if (write)
		touch(o, addr, length, true, hash);
}

/* Times, lines and numbers of ops are not of the effect, nor is a poll that found nothing. */
void srd_orders_event(void *arg, const struct srd_event *event)
{
	const size_t header = sizeof(struct srd_event);
	struct srd_orders *o = arg;
	uint64_t place = (uint64_t)event->type << 32 | event->object;

	if (o->off)
		return;
	if (event->type == SRD_EV_DEV_CQE) {
		const struct srd_ev_dev_cqe *ev = (const void *)event;
		const uint64_t entry[] = {ev->ordinal, ev->qp, ev->vendor_err, ev->lost};

		chain(o, PLACE_EVENT, place, XXH64(entry, sizeof(entry), 0));
	} else if (event->source == SRD_SOURCE_SEAM && event->type != SRD_EV_CQ_POLL) {
		chain(o, PLACE_EVENT, place,
		      XXH64((const char *)event + header,
			    srd_event_infos[event->type].size - header, event->type));
	}
}

static bool takes_receive(uint8_t opcode)
{
	return opcode != SRD_WR_RDMA_WRITE && opcode != SRD_WR_RDMA_READ;
}

static void take(struct srd_orders *o, const struct srd_choice *c)
{
	uint64_t hash = mix(c->qp, c->ordinal);
	bool read = c->opcode == SRD_WR_RDMA_READ;

	if (!c->arrives)
		return; /* its entry is an event */
	o->sum += mix(hash, 1);
	if (takes_receive(c->opcode))
		chain(o, PLACE_RECEIVES, (uint64_t)c->dest_host << 32 | c->dest_qpn, hash);
	if (c->opcode == SRD_WR_SEND || c->opcode == SRD_WR_SEND_WITH_IMM)
		return;
	touch(o, c->remote_addr, c->length, !read, hash);
	if (read)
		touch(o, c->local_addr, c->length, true, hash);
}

/* --- choosing --- */

static bool room(struct srd_orders *o)
{
	uint32_t capacity = o->capacity ? 2 * o->capacity : 64;
	struct point *points;

	if (o->depth < o->capacity)
		return true;
	if (o->depth == MAX_DEPTH)
		return false;
	points = srd_reallocarray(o->points, capacity, sizeof(*points));
	if (!points) {
		o->no_memory = true;
		return false;
	}
	o->points = points;
	o->capacity = capacity;
	return true;
}

/* Whether a run was here before with the same past; from now on one was. */
static bool met_before(struct srd_orders *o)
{
	uint64_t key = o->sum | 1;

	if (srd_map_get(&o->met, key))
		return true;
	if (srd_map_set(&o->met, key, o))
		o->no_memory = true;
	return false;
}

static int choose(struct srd_chooser *chooser, const struct srd_choice *list, uint32_t n)
{
	struct srd_orders *o = (struct srd_orders *)chooser;
	struct point *p;

	if (o->off)
		return 0;
	if (o->depth >= o->followed && !o->single && met_before(o)) {
		o->known = o->off = true;
		return -1;
	}
	if (n == 1) {
		take(o, &list[0]);
		return 0;
	}
	if (!room(o)) {
		o->off = true;
		return 0;
	}
	p = &o->points[o->depth];
	if (o->depth >= o->followed)
		p->chosen = 0;
	p->width = n;
	/* Only where another order than one of this script was asked for. */
	if (p->chosen >= n)
		p->chosen = n - 1;
	p->what = list[p->chosen];
	p->first = list[0];
	o->depth++;
	take(o, &p->what);
	return (int)p->chosen;
}

/* --- from run to run --- */

static int parse(struct srd_orders *o, const char *text, struct srd_error *error)
{
	const char *at = text;

	while (*at) {
		unsigned long chosen;
		char *end;

		if (*at < '0' || *at > '9')
			break;
		chosen = strtoul(at, &end, 10);
		if (chosen >= SRD_MAX_CHOICES || (*end && (*end != '.' || !end[1])))
			break;
		if (!room(o))
			return srd_error_set(error, -ENOMEM, "out of memory for an order");
		o->points[o->depth++].chosen = (uint32_t)chosen;
		at = *end ? end + 1 : end;
	}
	o->followed = o->depth;
	if (*at)
		return srd_error_set(error, -EINVAL,
				     "an order is numbers with dots between them, such as 0.2.1, "
				     "not \"%.40s\"",
				     text);
	return 0;
}

int srd_orders_open(const char *order, struct srd_orders **out, struct srd_error *error)
{
	struct srd_orders *o = srd_calloc(1, sizeof(*o));
	int rc;

	if (!o)
		return srd_error_set(error, -ENOMEM, "out of memory");
	o->chooser.choose = choose;
	o->single = order;
	rc = order ? parse(o, order, error) : 0;
	if (rc) {
		srd_orders_close(o);
		return rc;
	}
	*out = o;
	return 0;
}

void srd_orders_close(struct srd_orders *o)
{
	if (!o)
		return;
	srd_map_release(&o->chains);
	srd_map_release(&o->met);
	srd_free(o->accesses);
	srd_free(o->points);
	srd_free(o);
}

struct srd_chooser *srd_orders_chooser(struct srd_orders *o)
{
	return &o->chooser;
}

void srd_orders_begin(struct srd_orders *o)
{
	srd_map_release(&o->chains);
	o->num_accesses = 0;
	o->sum = 0;
	o->depth = 0;
	o->off = o->known = o->same = false;
}

/* What leads to the same end as a run before does not count as another order. */
void srd_orders_stop(struct srd_orders *o)
{
	if (!o->off && !o->single)
		o->same = met_before(o);
	o->off = true;
}

bool srd_orders_is_new(const struct srd_orders *o)
{
	return !o->known && !o->same;
}

bool srd_orders_is_known(const struct srd_orders *o)
{
	return o->known;
}

bool srd_orders_next(struct srd_orders *o)
{
	while (!o->single && o->depth) {
		struct point *last = &o->points[o->depth - 1];

		if (last->chosen + 1 < last->width) {
			last->chosen++;
			o->followed = o->depth;
			return true;
		}
		o->depth--;
	}
	return false;
}

bool srd_orders_is_single(const struct srd_orders *o)
{
	return o->single;
}

bool srd_orders_no_memory(const struct srd_orders *o)
{
	return o->no_memory;
}

/* --- in words --- */

char *srd_orders_text(const struct srd_orders *o)
{
	uint32_t last = o->depth;
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	char *copy;

	if (!out)
		return NULL;
	/* What would come by itself is not said at the end. */
	while (last && !o->points[last - 1].chosen)
		last--;
	for (uint32_t i = 0; i < last; i++)
		fprintf(out, "%s%u", i ? "." : "", o->points[i].chosen);
	copy = fclose(out) ? NULL : srd_strdup(text);
	free(text);
	return copy;
}

static void put(FILE *out, const struct srd_choice *c)
{
	fprintf(out, "%s request %" PRIu64 " of queue pair %u %s", srd_wr_opcode_str(c->opcode),
		c->ordinal, c->qp, c->arrives ? "arrives" : "completes");
}

char *srd_orders_explain(const struct srd_orders *o)
{
	char *text = NULL, *copy;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	uint32_t shown = 0;

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < o->depth && shown < 12; i++) {
		const struct point *p = &o->points[i];

		if (!p->chosen)
			continue;
		fputs("\n  ", out);
		put(out, &p->what);
		fputs(" before ", out);
		put(out, &p->first);
		shown++;
	}
	copy = fclose(out) ? NULL : srd_strdup(text);
	free(text);
	return copy;
}
