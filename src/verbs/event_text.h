/* SPDX-License-Identifier: MIT */
/*
 * Events as text, for whatever shows them to a person. Results are as snprintf's: the
 * length that the whole text has; it is cut where SIZE is smaller.
 */
#ifndef SRD_EVENT_TEXT_H
#define SRD_EVENT_TEXT_H

#include <srdlab/event.h>

/* The value of one field of EVENT, widened. */
uint64_t srd_event_value(const struct srd_event *event, const struct srd_event_field *field);

/* VALUE as FIELD shows it: "RTS", "LOCAL_WRITE|REMOTE_READ", "-EINVAL", "0x1000", "12". */
int srd_event_value_text(const struct srd_event_field *field, uint64_t value, char *buf,
			 size_t size);

/*
 * One line without its end: time in microseconds, host, object, name and all fields, in
 * columns that align from line to line. EVENT's type must be a known one.
 */
int srd_event_text(const struct srd_event *event, char *buf, size_t size);
/*
 * For whoever reads a few events among other text: the line of the script stands first, and
 * numbers and flags that are 0 are left out, the first field excepted.
 */
int srd_event_text_brief(const struct srd_event *event, char *buf, size_t size);

#endif
