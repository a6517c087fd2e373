/* SPDX-License-Identifier: MIT */
/* The little of a laboratory that a device offers: its counters. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <srdlab/lab.h>
#include "efa.h"

static int read_counter(const char *folder, const char *name, uint64_t *value)
{
	char path[PATH_MAX];
	FILE *file;
	int n;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return ENOENT;
	file = fopen(path, "re");
	if (!file)
		return errno;
	n = fscanf(file, "%" SCNu64, value);
	fclose(file);
	return n == 1 ? 0 : EIO;
}

/* The counters of the port and of the device, under the names that the driver gives them
 * ("rdma_write_wrs", "retrans_bytes", ...). */
static int counter(struct hw *hw, struct srd_lab *command)
{
	static const char *const folders[] = {"ports/1/hw_counters", "hw_counters"};
	char path[PATH_MAX];
	int err = ENOENT;

	if (!command->name || !*command->name || strchr(command->name, '/'))
		return EINVAL;
	for (size_t i = 0; err == ENOENT && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", hw->ibv->device->ibdev_path, folders[i]);
		err = read_counter(path, command->name, &command->value);
	}
	return err;
}

static int lab(struct srd_verbs *verbs, struct srd_lab *command)
{
	if (command->kind == SRD_LAB_COUNTER)
		return counter(to_hw(verbs), command);
	return EOPNOTSUPP;
}

void hw_lab_fill(struct srd_verbs *verbs)
{
	verbs->lab = lab;
}
