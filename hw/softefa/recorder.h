/* SPDX-License-Identifier: MIT */
/* The device's side of hw/observer/recorder.h. */
#ifndef SRD_SOFTEFA_RECORDER_H
#define SRD_SOFTEFA_RECORDER_H

#include "observer/recorder.h"

/* What an observer said of the object that this thread makes; NULL: there is none. */
const struct srd_recorder_asked *soft_recorder_asked(void);

#endif
