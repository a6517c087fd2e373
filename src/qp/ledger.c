/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "qp/ledger.h"
#include "verbs/alloc.h"

#define LEDGER_MIN_SHIFT 5
#define LEDGER_MAX_SHIFT 31

/* How far the entry at AT is from its own place. */
static uint32_t distance(const struct srd_ledger *ledger, uint32_t at)
{
	return (at - srd_ledger_place(ledger, ledger->entries[at].id)) & ledger->mask;
}

/* At most half of the places are in use, so that a probe is short. */
int srd_ledger_grow(struct srd_ledger *ledger, uint64_t count)
{
	struct srd_ledger old = *ledger;
	uint32_t shift = LEDGER_MIN_SHIFT;
	struct srd_ledger_entry *entries;

	while (shift < LEDGER_MAX_SHIFT && UINT64_C(1) << shift < 2 * count)
		shift++;
	if (UINT64_C(1) << shift < 2 * count)
		return -ENOMEM;
	entries = srd_reallocarray(NULL, (size_t)1 << shift, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < UINT32_C(1) << shift; i++)
		entries[i].value = SRD_LEDGER_NONE;
	*ledger = (struct srd_ledger){
		.entries = entries,
		.mask = (UINT32_C(1) << shift) - 1,
		.shift = shift,
		.room = UINT32_C(1) << (shift - 1),
	};
	for (uint32_t i = 0; old.entries && i <= old.mask; i++)
		if (old.entries[i].value != SRD_LEDGER_NONE)
			srd_ledger_put(ledger, old.entries[i].id, old.entries[i].value);
	srd_free(old.entries);
	return 0;
}

void srd_ledger_release(struct srd_ledger *ledger)
{
	srd_free(ledger->entries);
	*ledger = (struct srd_ledger){0};
}

/* Robin Hood: whoever is nearer to its place moves on. */
void srd_ledger_put_displaced(struct srd_ledger *ledger, uint64_t id, uint32_t value)
{
	struct srd_ledger_entry moving = {.id = id, .value = value};
	uint32_t at = srd_ledger_place(ledger, id);

	for (uint32_t far = 0; ledger->entries[at].value != SRD_LEDGER_NONE; far++) {
		uint32_t here_far = distance(ledger, at);

		if (here_far < far) {
			struct srd_ledger_entry taken = ledger->entries[at];

			ledger->entries[at] = moving;
			moving = taken;
			far = here_far;
		}
		at = (at + 1) & ledger->mask;
	}
	ledger->entries[at] = moving;
	ledger->count++;
}

static void remove_at(struct srd_ledger *ledger, uint32_t at)
{
	uint32_t next = (at + 1) & ledger->mask;

	while (ledger->entries[next].value != SRD_LEDGER_NONE && distance(ledger, next)) {
		ledger->entries[at] = ledger->entries[next];
		at = next;
		next = (at + 1) & ledger->mask;
	}
	ledger->entries[at].value = SRD_LEDGER_NONE;
	ledger->count--;
}

uint32_t srd_ledger_search(struct srd_ledger *ledger, uint64_t id)
{
	uint32_t value, at;

	for (at = srd_ledger_place(ledger, id);; at = (at + 1) & ledger->mask) {
		value = ledger->entries[at].value;
		if (value == SRD_LEDGER_NONE)
			return value;
		if (ledger->entries[at].id == id)
			break;
	}
	remove_at(ledger, at);
	return value;
}
