/* SPDX-License-Identifier: MIT */
/* Any bytes as a profile file: an error with a message, or a profile that holds together. */
#include <stdint.h>
#include <stdlib.h>

#include "profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct srd_profile profile;
	struct srd_error error = {0};
	int result = srd_profile_parse("fuzz.json", (const char *)data, size, &profile, &error);

	if (result ? result != error.code || !error.message[0] : srd_profile_check(&profile, NULL))
		abort();
	return 0;
}
