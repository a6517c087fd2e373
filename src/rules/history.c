/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "verbs/alloc.h"
#include "verbs/event_text.h"

#include "history.h"

#define MAX_LINE 512

int srd_history_reserve(struct srd_history *history, uint32_t at_least)
{
	uint32_t size = SRD_HISTORY_EVENTS;
	struct srd_history_entry *entries;

	while (size < at_least)
		size *= 2;
	if (size <= history->size)
		return 0;
	entries = srd_calloc(size, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < history->size; i++) {
		uint32_t number = history->next - history->size + i;

		entries[number & (size - 1)] = history->entries[number & (history->size - 1)];
	}
	srd_free(history->entries);
	history->entries = entries;
	history->size = size;
	return 0;
}

void srd_history_release(struct srd_history *history)
{
	srd_free(history->entries);
	*history = (struct srd_history){0};
}

/* The newest entry of VIEW that matters and is older than number BEFORE; NULL: none. */
static const struct srd_history_entry *before(const struct srd_history_view *view, uint64_t number)
{
	const struct srd_history *history = view->history;

	for (uint32_t i = 1; history && i <= history->size; i++) {
		const struct srd_history_entry *entry =
			&history->entries[(history->next - i) & (history->size - 1)];

		if (entry->number && entry->number < number &&
		    (!view->matters || view->matters(view->arg, &entry->event)))
			return entry;
	}
	return NULL;
}

static size_t add_line(char *text, size_t at, const struct srd_event *event)
{
	memcpy(text + at, "    ", 5);
	srd_event_text_brief(event, text + at + 4, MAX_LINE - 5);
	at += strlen(text + at);
	text[at++] = '\n';
	text[at] = '\0';
	return at;
}

char *srd_history_text(const struct srd_event *first, const struct srd_history_view *list,
		       int count, const struct srd_event *last)
{
	const struct srd_history_entry *newest[SRD_HISTORY_EVENTS];
	int room = SRD_HISTORY_EVENTS - (first != NULL) - (last != NULL);
	uint64_t number = UINT64_MAX;
	size_t at = 0;
	char *text;
	int n = 0;

	while (n < room) {
		const struct srd_history_entry *next = NULL;

		for (int i = 0; i < count; i++) {
			const struct srd_history_entry *entry = before(&list[i], number);

			if (entry && (!next || entry->number > next->number))
				next = entry;
		}
		if (!next)
			break;
		newest[n++] = next;
		number = next->number;
	}
	if (!n && !first && !last)
		return NULL;
	text = srd_malloc((size_t)SRD_HISTORY_EVENTS * MAX_LINE);
	if (!text)
		return NULL;
	if (first)
		at = add_line(text, at, first);
	while (n--)
		at = add_line(text, at, &newest[n]->event);
	if (last)
		add_line(text, at, last);
	return text;
}
