/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/lab.h"
#include "cli/recorded.h"
#include "lua/orders.h"

/* The rules read suppressions from a path, so their text becomes a file without a name. */
static int open_suppressions(struct srd_cli_recorded *recorded, struct srd_error *error)
{
	const char *text = recorded->file->suppressions;
	size_t length = text ? strlen(text) : 0;

	if (!text)
		return 0;
	recorded->suppressions = memfd_create("suppressions", MFD_CLOEXEC);
	if (recorded->suppressions < 0 ||
	    write(recorded->suppressions, text, length) != (ssize_t)length)
		return srd_error_set(error, -EIO, "no room for the suppressions: %m");
	snprintf(recorded->suppressions_path, sizeof(recorded->suppressions_path),
		 "/proc/self/fd/%d", recorded->suppressions);
	recorded->config.suppressions = recorded->suppressions_path;
	return 0;
}

static int check_order(const char *order, struct srd_error *error)
{
	struct srd_orders *orders;
	int rc = order ? srd_orders_open(order, &orders, error) : 0;

	if (order && !rc)
		srd_orders_close(orders);
	return rc;
}

static int configure(struct srd_cli_recorded *recorded, struct srd_error *error)
{
	const struct srd_cli_replay_file *file = recorded->file;
	struct srd_run_config *config = &recorded->config;

	config->backend = srd_cli_backend(file->backend, error);
	if (!config->backend || check_order(file->order, error))
		return error->code;
	config->profile = &file->profile;
	config->device = file->device;
	config->seed = file->seed;
	config->rules = file->rules;
	config->hash = true;
	config->order = file->order;
	config->orders_max = file->orders_max;
	config->sandbox = (struct srd_sandbox){
		.memory_limit = file->memory,
		.time_limit = file->scenario_timeout,
		.unsafe = file->unsafe_lua,
	};
	return open_suppressions(recorded, error);
}

static int load(struct srd_cli_recorded *recorded, struct srd_error *error)
{
	const struct srd_cli_replay_file *file = recorded->file;
	int rc = srd_script_load_text(file->script_path, file->script_text, file->script_length,
				      &recorded->config.sandbox, &recorded->script, error);
	const struct srd_scenario_info *info;

	if (rc)
		return rc;
	info = file->index < 0 || file->index >= srd_script_count(recorded->script)
		       ? NULL
		       : srd_script_scenario(recorded->script, file->index);
	if (!info || strcmp(info->name, file->name))
		return srd_error_set(error, -EPROTO, "its script holds no scenario \"%s\"",
				     file->name);
	return 0;
}

int srd_cli_recorded_open(const struct srd_cli_replay_file *file, struct srd_cli_recorded *out,
			  struct srd_error *error)
{
	int rc;

	*out = (struct srd_cli_recorded){.file = file, .suppressions = -1};
	rc = configure(out, error);
	return rc ? rc : load(out, error);
}

void srd_cli_recorded_release(struct srd_cli_recorded *recorded)
{
	if (recorded->suppressions >= 0)
		close(recorded->suppressions);
	srd_script_free(recorded->script);
	*recorded = (struct srd_cli_recorded){.suppressions = -1};
}
