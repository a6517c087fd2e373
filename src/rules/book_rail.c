/* SPDX-License-Identifier: MIT */
/* The book's rails: transfers that are cut into stripes, and the ops that carry them. */
#include <string.h>

#include "verbs/alloc.h"

#include "book_internal.h"

/* --- rails --- */

struct srd_book_rails *srd_book_rails(const struct srd_book *book, uint32_t id)
{
	struct srd_book_rails *rails = book->rails;

	while (rails && (rails->opened.rails != id || !id))
		rails = rails->next;
	return rails;
}

void srd_book_rails_open(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_rails *rails = srd_calloc(1, sizeof(*rails));

	if (!rails) {
		book->nomem = true;
		return;
	}
	rails->opened = *(const struct srd_ev_rails_open *)event;
	rails->next = book->rails;
	book->rails = rails;
}

void srd_book_rails_join(struct srd_book *book, const struct srd_event *event)
{
	const struct srd_ev_rails_join *ev = (const void *)event;
	struct srd_book_rails *rails = srd_book_rails(book, ev->rails);
	struct srd_book_qp *qp = book->qp;

	if (!rails || qp->rails)
		return;
	qp->rails = rails;
	qp->next_rail = rails->qps;
	rails->qps = qp;
}

void srd_book_rails_close(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_rails *rails =
		srd_book_rails(book, ((const struct srd_ev_rails_close *)event)->rails);

	if (!rails)
		return;
	for (struct srd_book_qp *qp = rails->qps; qp; qp = qp->next_rail)
		qp->rails = NULL;
	/* Nobody joins them any more, whatever a trace says. */
	rails->qps = NULL;
	rails->opened.rails = 0;
}

uint64_t srd_book_rails_in_flight(const struct srd_book_rails *rails)
{
	uint64_t count = 0;

	for (const struct srd_book_qp *qp = rails->qps; qp; qp = qp->next_rail)
		count += qp->in_flight_ops;
	return count;
}

/* --- transfers --- */

struct srd_book_transfer *srd_book_transfer_find(const struct srd_book *book, uint32_t number)
{
	struct srd_book_transfer *t = srd_map_get(&book->transfers, number);

	return t && !t->ended ? t : NULL;
}

static void transfer_free(struct srd_book_transfer *t)
{
	srd_free(t->stripes);
	srd_free(t);
}

static void transfer_forget(struct srd_book *book, struct srd_book_transfer *t)
{
	struct srd_book_transfer **at = &book->all_transfers;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	srd_map_remove(&book->transfers, t->number);
	transfer_free(t);
}

void srd_book_transfer_begin(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_transfer *t;

	if (!event->op || srd_map_get(&book->transfers, event->op))
		return;
	t = srd_calloc(1, sizeof(*t));
	if (!t) {
		book->nomem = true;
		return;
	}
	t->number = event->op;
	t->line = event->line;
	t->begun = *(const struct srd_ev_transfer_begin *)event;
	t->next = book->all_transfers;
	book->all_transfers = t;
	srd_book_set(book, &book->transfers, t->number, t);
}

/* It stays for the answers of the stripes that are out. */
void srd_book_transfer_end(struct srd_book *book, const struct srd_event *event)
{
	struct srd_book_transfer *t = srd_book_transfer_find(book, event->op);

	if (!t)
		return;
	t->ended = true;
	if (!t->pending)
		transfer_forget(book, t);
}

/* The place of the first stripe that begins at OFFSET or later. */
static uint32_t place_of(const struct srd_book_transfer *t, uint64_t offset)
{
	uint32_t low = 0, high = t->num_stripes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->stripes[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct srd_book_stripe *srd_book_stripe_over(const struct srd_book_transfer *t,
						   uint64_t offset, uint64_t length)
{
	uint32_t at = place_of(t, offset);

	if (at < t->num_stripes && t->stripes[at].offset - offset < length)
		return &t->stripes[at];
	if (at && offset - t->stripes[at - 1].offset < t->stripes[at - 1].length)
		return &t->stripes[at - 1];
	return NULL;
}

uint64_t srd_book_transfer_gap(const struct srd_book_transfer *t)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < t->num_stripes && t->stripes[i].offset <= end; i++)
		if (t->stripes[i].offset + t->stripes[i].length > end)
			end = t->stripes[i].offset + t->stripes[i].length;
	return end;
}

void srd_book_stripe_begin(struct srd_book *book, struct srd_book_op *op)
{
	struct srd_book_transfer *t = srd_book_transfer_find(book, op->begun.transfer);
	uint64_t offset, length = srd_book_transfer(op);
	uint32_t at;

	if (!t)
		return;
	if (t->num_stripes == t->capacity) {
		uint32_t capacity = t->capacity ? 2 * t->capacity : 8;
		struct srd_book_stripe *stripes =
			srd_reallocarray(t->stripes, capacity, sizeof(*stripes));

		if (!stripes) {
			book->nomem = true;
			return;
		}
		t->stripes = stripes;
		t->capacity = capacity;
	}
	offset = op->begun.local_addr - t->begun.local_addr;
	at = place_of(t, offset);
	memmove(&t->stripes[at + 1], &t->stripes[at],
		(t->num_stripes - at) * sizeof(t->stripes[0]));
	t->stripes[at] = (struct srd_book_stripe){offset, length, op->number};
	t->num_stripes++;
	t->num_sent++;
	t->pending++;
	op->transfer = t;
}

/* What failed is as if it had never been sent: it may be sent again. */
void srd_book_stripe_end(struct srd_book *book, struct srd_book_op *op, bool failed)
{
	struct srd_book_transfer *t = op->transfer;

	op->transfer = NULL;
	t->pending--;
	t->num_failed += failed;
	for (uint32_t i = 0; i < t->num_stripes && failed; i++) {
		if (t->stripes[i].op != op->number)
			continue;
		memmove(&t->stripes[i], &t->stripes[i + 1],
			(--t->num_stripes - i) * sizeof(t->stripes[0]));
		break;
	}
	if (t->ended && !t->pending)
		transfer_forget(book, t);
}

void srd_book_rails_release(struct srd_book *book)
{
	while (book->all_transfers) {
		struct srd_book_transfer *t = book->all_transfers;

		book->all_transfers = t->next;
		transfer_free(t);
	}
	while (book->rails) {
		struct srd_book_rails *rails = book->rails;

		book->rails = rails->next;
		srd_free(rails);
	}
	srd_map_release(&book->transfers);
}
