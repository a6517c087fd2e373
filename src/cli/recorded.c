/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/lab.h"
#include "cli/recorded.h"
#include "lua/orders.h"
#include "rules/rules.h"

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

/* INNER is what is wrong with FIELD. */
static int wrong(const struct srd_cli_recorded *recorded, const char *field, const char *inner,
		 int code, struct srd_error *error)
{
	return srd_error_set(error, code, "%s: %s%s", recorded->file->path, field, inner);
}

/* The rules of the run and its suppressions, before anything runs. */
static int check_rules(const struct srd_cli_recorded *recorded, struct srd_error *error)
{
	const char *path = recorded->suppressions_path;
	struct srd_error inner = {0};
	struct srd_rules *rules;
	int rc = srd_rules_create(recorded->config.rules, recorded->config.suppressions, &rules,
				  &inner);

	if (!rc)
		srd_rules_destroy(rules);
	else if (*path && !strncmp(inner.message, path, strlen(path)))
		wrong(recorded, "suppressions", inner.message + strlen(path), rc, error);
	else
		wrong(recorded, "rules: ", inner.message, rc, error);
	return rc;
}

static int check_order(const struct srd_cli_recorded *recorded, struct srd_error *error)
{
	struct srd_error inner = {0};
	struct srd_orders *orders;
	int rc =
		recorded->file->order ? srd_orders_open(recorded->file->order, &orders, &inner) : 0;

	if (rc)
		return wrong(recorded, "order: ", inner.message, rc, error);
	if (recorded->file->order)
		srd_orders_close(orders);
	return 0;
}

static int configure(struct srd_cli_recorded *recorded, struct srd_error *error)
{
	const struct srd_cli_replay_file *file = recorded->file;
	struct srd_run_config *config = &recorded->config;
	struct srd_error inner = {0};
	int rc;

	config->backend = srd_cli_backend(file->backend, &inner);
	if (!config->backend)
		return wrong(recorded, "backend: ", inner.message, inner.code, error);
	rc = check_order(recorded, error);
	if (rc)
		return rc;
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
	rc = open_suppressions(recorded, error);
	return rc ? rc : check_rules(recorded, error);
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
		return srd_error_set(error, -EPROTO,
				     "%s: its script holds no scenario \"%s\" of index %d",
				     file->path, file->name, file->index);
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
