/* SPDX-License-Identifier: MIT */
#include "verbs/launch.h"

static const struct srd_launcher *registered;

void srd_launcher_register(const struct srd_launcher *launcher)
{
	registered = launcher;
}

const struct srd_launcher *srd_launcher_get(void)
{
	return registered;
}
