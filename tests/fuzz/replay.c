/* SPDX-License-Identifier: MIT */
/* Any bytes as a replay file: an error with a message, or something that can be run. */
#include <stdint.h>
#include <stdlib.h>

#include "cli/fields.h"
#include "cli/repeat.h"
#include "verbs/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct srd_cli_replay_file file = {0};
	struct srd_error error = {0};
	json_t *root;
	int rc = srd_cli_fields_parse("fuzz.json", (const char *)data, size, &root, &error);

	if (!rc)
		rc = srd_cli_replay_unpack("fuzz.json", root, &file, &error);

	if (rc ? rc != error.code || !error.message[0]
	       : !file.script_text || !file.name || srd_profile_check(&file.profile, NULL))
		abort();
	srd_cli_replay_release(&file);
	return 0;
}
