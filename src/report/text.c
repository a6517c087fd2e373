/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include <libxml/chvalid.h>
#include <libxml/xmlstring.h>

#include "text.h"
#include "verbs/alloc.h"

static const char replacement[] = "\xef\xbf\xbd";

/* The bytes of the character at TEXT; *GOOD: it may be shown. */
static int character(const char *text, bool *good)
{
	int length = (int)strnlen(text, 4);
	int code = xmlGetUTF8Char((const unsigned char *)text, &length);

	*good = code >= 0 && xmlIsCharQ((unsigned int)code) && code != '\r' && code != 0x7f;
	return code < 0 ? 1 : length;
}

char *srd_text_clean(const char *text)
{
	size_t worst = strlen(text) * strlen(replacement) + 1;
	char *clean = srd_malloc(worst), *to = clean;

	if (!clean)
		return NULL;
	while (*text) {
		bool good;
		int length = character(text, &good);

		to = mempcpy(to, good ? text : replacement,
			     good ? (size_t)length : strlen(replacement));
		text += length;
	}
	*to = '\0';
	return clean;
}

void srd_text_indent(FILE *out, const char *prefix, const char *text)
{
	while (*text) {
		int length = (int)strcspn(text, "\n");

		fprintf(out, "%s%.*s\n", length ? prefix : "", length, text);
		text += length + (text[length] == '\n');
	}
}
