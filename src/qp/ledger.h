/* SPDX-License-Identifier: MIT */
/*
 * The ledger of a scheduler: which op each outstanding request belongs to. Open
 * addressing, Robin Hood style: an entry far from its own place takes that of one nearer,
 * so that a run is in the order of its places and a removal ends at the first entry that
 * is where it belongs. The folded id is its own hash: the consecutive ids of our queue
 * pair fill consecutive places and never meet, and any other ids still work. Nothing is
 * left behind by a removal: the table is as large as the most requests that were ever
 * outstanding at once.
 *
 * An id may be in it more than once (a queue pair that uses an id twice): each entry is
 * taken once.
 */
#ifndef SRD_LEDGER_H
#define SRD_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#define SRD_LEDGER_NONE UINT32_MAX

struct srd_ledger_entry {
	uint64_t id;
	uint32_t value; /* SRD_LEDGER_NONE: the place is free */
};

struct srd_ledger {
	struct srd_ledger_entry *entries;
	uint32_t mask;  /* places - 1 */
	uint32_t shift; /* log2 of the places */
	uint32_t room;  /* entries that there is room for: half of the places */
	uint32_t count;
};

int srd_ledger_grow(struct srd_ledger *ledger, uint64_t count);
void srd_ledger_release(struct srd_ledger *ledger);
void srd_ledger_put_displaced(struct srd_ledger *ledger, uint64_t id, uint32_t value);
uint32_t srd_ledger_search(struct srd_ledger *ledger, uint64_t id);

/* Room for COUNT entries in all; -ENOMEM leaves the ledger as it is. */
static inline int srd_ledger_reserve(struct srd_ledger *ledger, uint64_t count)
{
	return count <= ledger->room ? 0 : srd_ledger_grow(ledger, count);
}

static inline uint32_t srd_ledger_place(const struct srd_ledger *ledger, uint64_t id)
{
	return (uint32_t)(id ^ (id >> ledger->shift) * 0x9e3779b1u) & ledger->mask;
}

/* Room for it was reserved; VALUE is not SRD_LEDGER_NONE. */
static inline void srd_ledger_put(struct srd_ledger *ledger, uint64_t id, uint32_t value)
{
	struct srd_ledger_entry *here = &ledger->entries[srd_ledger_place(ledger, id)];

	if (here->value != SRD_LEDGER_NONE) {
		srd_ledger_put_displaced(ledger, id, value);
		return;
	}
	here->id = id;
	here->value = value;
	ledger->count++;
}

/* The value of ID, which is taken out; SRD_LEDGER_NONE: it is not there. */
static inline uint32_t srd_ledger_take(struct srd_ledger *ledger, uint64_t id)
{
	return ledger->count ? srd_ledger_search(ledger, id) : SRD_LEDGER_NONE;
}

#endif
