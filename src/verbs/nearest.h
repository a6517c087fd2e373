/* SPDX-License-Identifier: MIT */
#ifndef SRD_NEAREST_H
#define SRD_NEAREST_H

/* Of NAMES, the one that WORD is most likely a misspelling of; NULL where none is near. */
const char *srd_nearest(const char *word, const char *const *names, int count);

#endif
