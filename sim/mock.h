/* SPDX-License-Identifier: MIT */
/* The mock for who wants it and no other backend: the registry is not asked. */
#ifndef SRD_MOCK_H
#define SRD_MOCK_H

#include "verbs/backend.h"

extern struct srd_backend srd_mock;

#endif
