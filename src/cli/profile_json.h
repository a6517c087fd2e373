/* SPDX-License-Identifier: MIT */
#ifndef SRD_CLI_PROFILE_JSON_H
#define SRD_CLI_PROFILE_JSON_H

#include <jansson.h>
#include <srdlab/profile.h>

/* PROFILE as srd_profile_parse reads it, a new object; NULL: out of memory. */
json_t *srd_cli_profile_json(const struct srd_profile *profile);

#endif
