/* SPDX-License-Identifier: MIT */
/* The result of one scenario as JSON: in reports, and between the processes of a run. */
#ifndef SRD_RESULT_JSON_H
#define SRD_RESULT_JSON_H

#include <jansson.h>

#include "lua/scenario.h"

/* A new object; NULL: out of memory. Text that is not fit to be shown is cleaned. */
json_t *srd_result_to_json(const struct srd_scenario_result *result);

/*
 * Fill in *RESULT from what srd_result_to_json made; release it with
 * srd_scenario_result_release in either case. 0, -ENOMEM, or -EPROTO: it is no such object.
 */
int srd_result_from_json(json_t *object, struct srd_scenario_result *result);

#endif
