/* SPDX-License-Identifier: MIT */
/* Text that came from a script, made fit for terminals, XML and JSON. */
#ifndef SRD_REPORT_TEXT_H
#define SRD_REPORT_TEXT_H

#include <stdio.h>

/*
 * A copy in which whatever is not UTF-8, and every control character but the line break
 * and the tab, is U+FFFD. NULL: out of memory. To be released with srd_free.
 */
char *srd_text_clean(const char *text);

/* Each line of TEXT with PREFIX before it. */
void srd_text_indent(FILE *out, const char *prefix, const char *text);

#endif
