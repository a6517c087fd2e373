/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/scripts.h"
#include "cli/stuck.h"
#include "report/text.h"
#include "verbs/alloc.h"
#include "verbs/file.h"
#include "verbs/units.h"

#define SCRIPT_LIMIT ((size_t)16 << 20)
#define MAX_ENTRIES  100000 /* below a folder: more is not one of scripts */

/* A file that is named twice, as by itself and by its folder, is there once. */
static bool contains(const struct srd_cli_scripts *scripts, const char *path, int line)
{
	for (int i = 0; i < scripts->count; i++)
		if (!strcmp(scripts->items[i].path, path) && scripts->items[i].line == line)
			return true;
	return false;
}

/* The new item; NULL: out of memory. */
static struct srd_cli_script *append(struct srd_cli_scripts *scripts, const char *path, int line)
{
	struct srd_cli_script *items =
		srd_reallocarray(scripts->items, scripts->count + 1, sizeof(*items));

	if (!items)
		return NULL;
	scripts->items = items;
	items += scripts->count;
	*items = (struct srd_cli_script){.path = srd_strdup(path), .line = line};
	if (!items->path)
		return NULL;
	scripts->count++;
	return items;
}

/* What a script says of itself may be meant for a terminal, or an attack on one. */
static void clean(struct srd_error *error)
{
	char *text = srd_text_clean(error->message);

	if (text)
		snprintf(error->message, sizeof(error->message), "%s", text);
	srd_free(text);
}

int srd_cli_split_place(const char *path, struct srd_error *error)
{
	size_t length = strlen(path);
	char *message = error->message, *end;
	long line;

	clean(error);
	if (strncmp(message, path, length) || message[length] != ':')
		return 0;
	line = strtol(message + length + 1, &end, 10);
	if (end == message + length + 1)
		end = message + length;
	if (strncmp(end, ": ", 2))
		return 0;
	memmove(message, end + 2, strlen(end + 2) + 1);
	return (int)line;
}

void srd_cli_put_place(FILE *file, const char *path, int line, const char *message)
{
	fprintf(file, "%s:", path);
	if (line)
		fprintf(file, "%d:", line);
	fprintf(file, " error: %s\n", message);
}

/*
 * A line below the end of the file, or above all scenarios, is a slip: the file has changed,
 * or it is another one. -EINVAL with the error of ITEM.
 */
static int check_line(struct srd_cli_script *item)
{
	int count = srd_script_count(item->script), lines = 1;
	const struct srd_scenario_info *first = NULL, *last = NULL, *one;

	if (!item->line || !count)
		return 0;
	for (int i = 0; i < count; i++) {
		one = srd_script_scenario(item->script, i);
		first = first && first->line <= one->line ? first : one;
		last = last && last->line > one->line ? last : one;
	}
	for (size_t i = 0; i + 1 < item->length; i++)
		lines += item->text[i] == '\n';
	if (item->line < first->line)
		return srd_error_set(
			&item->error, -EINVAL,
			"no scenario stands at line %d: the first is at line %d (\"%s\")",
			item->line, first->line, first->name);
	if (item->line > lines)
		return srd_error_set(
			&item->error, -EINVAL,
			"there is no line %d: the file ends at %d, and its last scenario is "
			"at line %d (\"%s\")",
			item->line, lines, last->line, last->name);
	return 0;
}

static int load(struct srd_cli_scripts *scripts, const char *path, int line,
		const struct srd_sandbox *sandbox)
{
	struct srd_cli_script *item;

	if (contains(scripts, path, line))
		return 0;
	item = append(scripts, path, line);
	if (!item)
		return -ENOMEM;
	srd_cli_stuck(item->path, SRD_EXIT_USAGE);
	/* The text is kept: a replay file shows what ran, though the file may change. */
	if (srd_file_read(path, SCRIPT_LIMIT, &item->text, &item->length, &item->error) ||
	    srd_script_load_text(path, item->text, item->length, sandbox, &item->script,
				 &item->error)) {
		item->error_line = srd_cli_split_place(path, &item->error);
		return 0;
	}
	if (check_line(item)) {
		srd_script_free(item->script);
		item->script = NULL;
		return 0;
	}
	scripts->num_loaded++;
	return 0;
}

static int fail(struct srd_cli_scripts *scripts, const char *path, int code, const char *what)
{
	struct srd_cli_script *item = append(scripts, path, 0);

	if (!item)
		return -ENOMEM;
	srd_error_set(&item->error, -code, "%s: %s", what, strerror(code));
	return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

bool srd_cli_is_script(const char *path)
{
	size_t length = strlen(path);

	return length > 4 && !strcmp(path + length - 4, ".lua");
}

/* What is below a folder: the scripts are only looked for, so that too much of it runs nothing. */
struct found {
	char **paths;
	int count;
	int num_entries;
};

static int find(struct found *found, const char *path)
{
	char **paths = srd_reallocarray(found->paths, (size_t)found->count + 1, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	found->paths = paths;
	paths[found->count] = srd_strdup(path);
	return paths[found->count++] ? 0 : -ENOMEM;
}

/* One entry of a folder; hidden files and folders are not looked at. */
static int visit(FTS *fts, FTSENT *entry, struct srd_cli_scripts *scripts, struct found *found)
{
	bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';

	switch (entry->fts_info) {
	case FTS_D:
		if (hidden)
			fts_set(fts, entry, FTS_SKIP);
		return 0;
	case FTS_F:
		return hidden || !srd_cli_is_script(entry->fts_name) ? 0
								     : find(found, entry->fts_path);
	case FTS_DNR:
	case FTS_ERR:
		return fail(scripts, entry->fts_path, entry->fts_errno,
			    "the folder cannot be read");
	default:
		return 0;
	}
}

/* All but the first COUNT. */
static void forget(struct srd_cli_scripts *scripts, int count)
{
	while (scripts->count > count) {
		struct srd_cli_script *item = &scripts->items[--scripts->count];

		srd_free(item->path);
		srd_free(item->text);
		srd_script_free(item->script);
	}
}

/* The one failure of the folder at PATH, which was the item number AT. */
static int too_many(struct srd_cli_scripts *scripts, int at, const char *path)
{
	struct srd_cli_script *item;

	forget(scripts, at);
	item = append(scripts, path, 0);
	if (!item)
		return -ENOMEM;
	srd_error_set(&item->error, -E2BIG,
		      "there are more than %d files and folders below it: name the folder, or the "
		      "files, that hold the scenarios",
		      MAX_ENTRIES);
	return 0;
}

static int look(struct srd_cli_scripts *scripts, char *path, struct found *found)
{
	char *const paths[] = {path, NULL};
	FTS *fts = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	FTSENT *entry;
	int rc = 0;

	if (!fts)
		return -ENOMEM;
	while (!rc && found->num_entries <= MAX_ENTRIES && (entry = fts_read(fts))) {
		found->num_entries += entry->fts_info != FTS_DP;
		rc = visit(fts, entry, scripts, found);
	}
	fts_close(fts);
	return rc;
}

static int load_folder(struct srd_cli_scripts *scripts, char *path,
		       const struct srd_sandbox *sandbox)
{
	struct found found = {0};
	int at = scripts->count;
	int rc = look(scripts, path, &found);

	if (!rc && found.num_entries > MAX_ENTRIES)
		rc = too_many(scripts, at, path);
	else
		for (int i = 0; !rc && i < found.count; i++)
			rc = load(scripts, found.paths[i], 0, sandbox);
	for (int i = 0; i < found.count; i++)
		srd_free(found.paths[i]);
	srd_free(found.paths);
	return rc;
}

/* FILE:LINE, where FILE is there and the whole is not the name of one. */
static bool split_line(char *argument, int *line)
{
	char *colon = strrchr(argument, ':');
	uint64_t number;

	if (!colon || srd_units_parse(SRD_UNIT_NONE, colon + 1, &number) || !number ||
	    number > INT32_MAX || access(argument, F_OK) == 0)
		return false;
	*colon = '\0';
	if (access(argument, F_OK)) {
		*colon = ':';
		return false;
	}
	*line = (int)number;
	return true;
}

static int load_argument(struct srd_cli_scripts *scripts, char *path,
			 const struct srd_sandbox *sandbox)
{
	struct stat st;
	int line = 0;

	split_line(path, &line);
	if (stat(path, &st))
		return fail(scripts, path, errno, "no file or folder can be read there");
	if (S_ISDIR(st.st_mode))
		return load_folder(scripts, path, sandbox);
	return load(scripts, path, line, sandbox);
}

int srd_cli_scripts_load(const struct srd_cli_list *arguments, const struct srd_sandbox *sandbox,
			 struct srd_cli_scripts *scripts)
{
	int rc = 0;

	*scripts = (struct srd_cli_scripts){0};
	for (int i = 0; !rc && i < arguments->count; i++) {
		char *path = srd_strdup(arguments->items[i]);

		rc = path ? load_argument(scripts, path, sandbox) : -ENOMEM;
		srd_free(path);
	}
	return rc;
}

void srd_cli_scripts_release(struct srd_cli_scripts *scripts)
{
	forget(scripts, 0);
	srd_free(scripts->items);
	*scripts = (struct srd_cli_scripts){0};
}

struct srd_sandbox srd_cli_sandbox(const struct srd_cli_sandbox *options)
{
	return (struct srd_sandbox){
		.memory_limit = options->memory,
		.time_limit = options->scenario_timeout,
		.unsafe = options->unsafe_lua,
	};
}
