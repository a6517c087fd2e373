/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "verbs/alloc.h"
#include "verbs/event_text.h"

#include "history.h"

#define MAX_LINE 512

void srd_history_add(struct srd_history *history, uint64_t number, const struct srd_event *event)
{
	struct srd_history_entry *entry = &history->entries[history->next % SRD_HISTORY_EVENTS];

	history->next++;
	entry->number = number;
	/* Constant sizes for the data path: the compiler turns each into a few moves. */
	switch (event->type) {
	case SRD_EV_WR_POST:
		memcpy(&entry->event, event, sizeof(struct srd_ev_wr_post));
		break;
	case SRD_EV_WC:
		memcpy(&entry->event, event, sizeof(struct srd_ev_wc));
		break;
	case SRD_EV_OP_BEGIN:
		memcpy(&entry->event, event, sizeof(struct srd_ev_op_begin));
		break;
	case SRD_EV_OP_END:
		memcpy(&entry->event, event, sizeof(struct srd_ev_op_end));
		break;
	default:
		memcpy(&entry->event, event, srd_event_infos[event->type].size);
	}
}

/* The oldest entry of HISTORY that is newer than number AFTER; NULL: there is none. */
static const struct srd_history_entry *next_after(const struct srd_history *history, uint64_t after)
{
	if (!history)
		return NULL;
	for (uint32_t i = 0; i < SRD_HISTORY_EVENTS; i++) {
		const struct srd_history_entry *entry =
			&history->entries[(history->next + i) % SRD_HISTORY_EVENTS];

		if (entry->number > after)
			return entry;
	}
	return NULL;
}

char *srd_history_text(const struct srd_history *a, const struct srd_history *b)
{
	const struct srd_history_entry *list[2 * SRD_HISTORY_EVENTS];
	uint32_t count = 0;
	uint64_t after = 0;
	size_t at = 0;
	char *text;

	for (;;) {
		const struct srd_history_entry *x = next_after(a, after), *y = next_after(b, after);

		if (!x || (y && y->number < x->number))
			x = y;
		if (!x)
			break;
		list[count++] = x;
		after = x->number;
	}
	if (!count)
		return NULL;
	text = srd_malloc((size_t)SRD_HISTORY_EVENTS * MAX_LINE);
	if (!text)
		return NULL;
	for (uint32_t i = count > SRD_HISTORY_EVENTS ? count - SRD_HISTORY_EVENTS : 0; i < count;
	     i++) {
		srd_event_text_brief(&list[i]->event, text + at, MAX_LINE - 1);
		at += strlen(text + at);
		text[at++] = '\n';
	}
	text[at] = '\0';
	return text;
}
