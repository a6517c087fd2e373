/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/execute.h"
#include "cli/lab.h"
#include "cli/plan.h"
#include "cli/plants.h"
#include "cli/pool.h"
#include "plugin/blame.h"
#include "plugin/process.h"
#include "rules/rules.h"
#include "verbs/alloc.h"
#include "verbs/nearest.h"

#define TIME_LIMIT  UINT64_C(120000000000) /* ns for all scenarios of one plant, */
#define TIME_A_SEED UINT64_C(2000000000)   /* and for each seed more */

struct plant {
	const char *name;
	const char *kind; /* "queue_pair" or "scheduler" */
	const char *defect;
	const char *rule; /* NULL: it has none, and raises nothing */
	json_t *also;
};

struct check {
	const struct srd_cli_rules_options *options;
	char folder[PATH_MAX];
	json_t *manifest;
	struct plant *plants; /* those that are wanted */
	int count;
	int name_width, defect_width, rule_width;
	int wrong;
};

/* --- in the process of a plant --- */

/* What is raised of rules, each once, in the order of the scenarios and of their events. */
static int add_raised(json_t *raised, const struct srd_scenario_info *info,
		      const struct srd_scenario_result *result)
{
	for (int i = 0; i < result->num_failures; i++) {
		const struct srd_failure *failure = &result->failures[i];
		/* A rule that the scenario wants to see violated was not, then. */
		bool raised_it = failure->rule &&
				 (!info->violates || strcmp(info->violates, failure->rule) != 0);
		const char *what = raised_it ? failure->rule : "";
		bool known = false;
		json_t *one;
		size_t at;

		json_array_foreach(raised, at, one) known =
			known || !strcmp(json_string_value(json_array_get(one, 0)), what);
		if (known)
			continue;
		one = json_pack("[s, s, s]", what, info->name, failure->message);
		if (json_array_append_new(raised, one))
			return -ENOMEM;
	}
	return 0;
}

static int run_scenario(const struct srd_cli_item *item, const struct srd_run_config *config,
			json_t *raised)
{
	const struct srd_script *script = item->entry->script->script;
	struct srd_cli_outcome outcome = {0};
	char *text = srd_cli_execute(script, item->entry->scenario, config);
	int rc = text ? srd_cli_outcome_read(text, &outcome) : -ENOMEM;

	if (!rc)
		rc = add_raised(raised, srd_script_scenario(script, item->entry->scenario),
				&outcome.result);
	srd_cli_outcome_release(&outcome);
	free(text);
	return rc;
}

/* Of several seeds the first is for all scenarios, the others for those that vary with it. */
static bool varies(const struct srd_cli_plan *plan, const struct srd_cli_item *item)
{
	const struct srd_script *script = item->entry->script->script;
	const char *const *tag = srd_script_scenario(script, item->entry->scenario)->tags;

	while (*tag && strcmp(*tag, "seeds") != 0)
		tag++;
	return *tag || item->seed == plan->first_seed;
}

static int run_all(const struct srd_cli_plan *plan, struct srd_run_config *config, json_t *raised,
		   struct srd_error *error)
{
	for (uint64_t i = 0; i < plan->count; i++) {
		struct srd_cli_item item = srd_cli_plan_item(plan, i);
		const struct srd_cli_script *script = item.entry->script;
		int rc;

		if (item.entry->scenario < 0)
			return srd_error_set(error, -ENOEXEC, "%s:%d: %s", script->path,
					     script->error_line, script->error.message);
		if (!varies(plan, &item))
			continue;
		config->seed = item.seed;
		rc = run_scenario(&item, config, raised);
		if (rc)
			return srd_error_set(error, rc, "out of memory");
	}
	if (!plan->count)
		return srd_error_set(error, -ENOENT, "there is no scenario with the tag contract");
	return 0;
}

int srd_cli_plants_run(json_t *request, struct srd_run_config *config, struct srd_error *error)
{
	char *folder = (char *)json_string_value(json_object_get(request, "folder"));
	char *tag = (char *)"tag:contract";
	const struct srd_cli_list folders = {.items = &folder, .count = 1};
	const struct srd_cli_list tags = {.items = &tag, .count = 1};
	struct srd_cli_scripts scripts = {0};
	struct srd_cli_plan plan = {0};
	json_t *raised = json_array();
	json_int_t first, last;
	char *text = NULL;
	int rc;

	config->backend = srd_cli_backend("mock", error);
	json_unpack(request, "{s:s, s:I, s:I}", "rules", &config->rules, "first", &first, "last",
		    &last);
	rc = srd_cli_scripts_load(&folders, &config->sandbox, &scripts);
	if (!rc)
		rc = srd_cli_plan_make(&scripts, &tags, (uint64_t)first, (uint64_t)last, &plan);
	if (rc)
		srd_error_set(error, rc, "out of memory");
	else
		rc = run_all(&plan, config, raised, error);
	if (!rc) {
		text = json_dumps(raised, JSON_COMPACT);
		rc = text ? srd_plugin_process_answer(SRD_TOLD_RESULT, text)
			  : srd_error_set(error, -ENOMEM, "out of memory");
	}
	free(text);
	json_decref(raised);
	srd_cli_plan_release(&plan);
	srd_cli_scripts_release(&scripts);
	return rc;
}

/* --- one plant --- */

static uint64_t num_seeds(const struct check *check)
{
	const struct srd_cli_seeds *seeds = &check->options->seeds;

	return seeds->set ? seeds->last - seeds->first + 1 : 1;
}

/* What its process is asked for, for free; NULL: out of memory. */
static char *request_text(const struct check *check, const struct plant *plant)
{
	const struct srd_cli_seeds *seeds = &check->options->seeds;
	uint64_t first = seeds->set ? seeds->first : 1;
	char *path = srd_asprintf("%s/%s.so", check->folder, plant->name);
	char *rules = srd_asprintf("law,contract%s%s", plant->rule ? "," : "",
				   plant->rule ? plant->rule : "");
	json_t *request = NULL;
	char *text;

	if (path && rules)
		request = json_pack("{s:s, s:s, s:I, s:I, s:s}", "folder", check->folder, "rules",
				    rules, "first", (json_int_t)first, "last",
				    (json_int_t)(first + num_seeds(check) - 1), plant->kind, path);
	text = request ? json_dumps(request, 0) : NULL;
	json_decref(request);
	srd_free(rules);
	srd_free(path);
	return text;
}

/* An array of what was raised, or a text that says how its process ended instead. */
static char *run_plant(void *arg, uint64_t number)
{
	const struct check *check = arg;
	char *request = request_text(check, &check->plants[number]);
	const struct srd_plugin_work work = {
		.request = request,
		.time_limit = TIME_LIMIT + num_seeds(check) * TIME_A_SEED,
	};
	struct srd_plugin_answer answer = {0};
	struct srd_error error = {0};
	char *text = NULL;
	json_t *told;

	if (!request)
		return NULL;
	if (srd_plugin_run(&work, &answer, &error))
		told = json_string(error.message);
	else if (answer.end == SRD_PLUGIN_RESULT)
		told = json_loads(answer.text, 0, NULL);
	else
		told = json_string(answer.text);
	text = json_dumps(told, JSON_ENCODE_ANY);
	json_decref(told);
	free(request);
	srd_free(answer.text);
	return text;
}

/* --- the table --- */

static const char *raised_rule(json_t *raised, size_t at)
{
	const char *rule = json_string_value(json_array_get(json_array_get(raised, at), 0));

	return rule && *rule ? rule : NULL;
}

static bool may_raise(const struct plant *plant, const char *rule)
{
	json_t *one;
	size_t at;

	if (plant->rule && !strcmp(plant->rule, rule))
		return true;
	json_array_foreach(plant->also, at,
			   one) if (!strcmp(json_string_value(one), rule)) return true;
	return false;
}

/* The first rule of RAISED, and where it stands; a failed expectation is none. */
static const char *first_rule(json_t *raised, size_t *at)
{
	for (*at = 0; *at < json_array_size(raised); ++*at)
		if (raised_rule(raised, *at))
			return raised_rule(raised, *at);
	return NULL;
}

/* NULL: it was flagged as its manifest says. */
static const char *fault(const struct plant *plant, json_t *raised)
{
	const char *first;
	size_t at;

	if (!json_is_array(raised))
		return "not judged";
	first = first_rule(raised, &at);
	if (!plant->rule)
		return json_array_size(raised) ? "false alarm" : NULL;
	if (!first)
		return "not flagged";
	if (strcmp(first, plant->rule))
		return "another rule first";
	for (at = 0; at < json_array_size(raised); at++)
		if (raised_rule(raised, at) && !may_raise(plant, raised_rule(raised, at)))
			return "other rules too";
	return NULL;
}

static void put_others(json_t *raised, size_t first)
{
	const char *before = "";

	for (size_t at = first + 1; at < json_array_size(raised); at++) {
		if (!raised_rule(raised, at))
			continue;
		printf("%s%s", before, raised_rule(raised, at));
		before = ", ";
	}
	if (!*before)
		printf("-");
}

/* Where each was raised, and what was said. */
static void put_evidence(json_t *raised)
{
	json_t *one;
	size_t at;

	if (json_is_string(raised))
		printf("    %s\n", json_string_value(raised));
	json_array_foreach(raised, at, one)
	{
		const char *message = json_string_value(json_array_get(one, 2));

		printf("    %s in \"%s\": %.*s\n",
		       raised_rule(raised, at) ? raised_rule(raised, at) : "it failed",
		       json_string_value(json_array_get(one, 1)), (int)strcspn(message, "\n"),
		       message);
	}
}

static int put_plant(void *arg, uint64_t number, char *text, const char *death)
{
	struct check *check = arg;
	const struct plant *plant = &check->plants[number];
	json_t *raised = text ? json_loads(text, JSON_DECODE_ANY, NULL) : json_string(death);
	const char *wrong = fault(plant, raised), *first;
	size_t at;

	first = first_rule(raised, &at);
	check->wrong += wrong != NULL;
	printf("%-*s  %-*s  %-*s  %-*s  %-18s  ", check->name_width, plant->name,
	       check->defect_width, plant->defect, check->rule_width,
	       plant->rule ? plant->rule : "-", check->rule_width, first ? first : "-",
	       wrong ? wrong : "as expected");
	put_others(raised, at);
	printf("\n");
	if (wrong || check->options->verbose)
		put_evidence(raised);
	fflush(stdout);
	json_decref(raised);
	return 0;
}

static void put_head(const struct check *check)
{
	printf("%-*s  %-*s  %-*s  %-*s  %-18s  %s\n", check->name_width, "PLANT",
	       check->defect_width, "DEFECT", check->rule_width, "EXPECTED", check->rule_width,
	       "RAISED FIRST", "VERDICT", "OTHERS RAISED");
}

/* --- the manifest --- */

/* Beside the program in a build, or where it was installed. */
static int find_folder(struct check *check, struct srd_error *error)
{
	static const char *const places[] = {"plants", "../" SRD_CLI_PLANTS_DIR};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (check->options->plants) {
		snprintf(check->folder, sizeof(check->folder), "%s", check->options->plants);
		return 0;
	}
	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char manifest[PATH_MAX + 16];

		if (snprintf(check->folder, PATH_MAX, "%s/%s", self, places[i]) >= PATH_MAX)
			continue;
		snprintf(manifest, sizeof(manifest), "%s/plants.json", check->folder);
		if (!access(manifest, R_OK))
			return 0;
	}
	return srd_error_set(error, -ENOENT,
			     "the planted defects are neither in %s/%s nor in %s/%s: build them "
			     "with ninja -C build (with -Dplants=true, as is the default), or "
			     "name their folder with --plants",
			     self, places[0], self, places[1]);
}

static int refuse_manifest(const struct check *check, const char *what, struct srd_error *error)
{
	return srd_error_set(error, -EPROTO, "%s/plants.json: %s", check->folder, what);
}

static int read_manifest(struct check *check, json_t **list, struct srd_error *error)
{
	char *path = srd_asprintf("%s/plants.json", check->folder);
	json_error_t where;
	const char *format;
	int schema;

	if (!path)
		return srd_error_set(error, -ENOMEM, "out of memory");
	check->manifest = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	srd_free(path);
	if (!check->manifest)
		return refuse_manifest(check, where.text, error);
	if (json_unpack(check->manifest, "{s:s, s:i, s:o}", "format", &format, "schema", &schema,
			"plants", list) ||
	    strcmp(format, "srdlab-plants") || schema != 1 || !json_is_array(*list))
		return refuse_manifest(check, "it is no manifest of plants, format 1", error);
	return 0;
}

static bool known_rules(const struct plant *plant)
{
	json_t *one;
	size_t at;

	if (plant->rule && srd_rule_find(plant->rule) < 0)
		return false;
	json_array_foreach(plant->also, at,
			   one) if (!json_is_string(one) ||
				    srd_rule_find(json_string_value(one)) < 0) return false;
	return true;
}

static int read_plant(const struct check *check, json_t *object, struct plant *plant,
		      struct srd_error *error)
{
	*plant = (struct plant){0};
	if (json_unpack(object, "{s:s, s:s, s:s, s?s, s:o}", "name", &plant->name, "kind",
			&plant->kind, "defect", &plant->defect, "rule", &plant->rule, "also",
			&plant->also) ||
	    !json_is_array(plant->also))
		return refuse_manifest(
			check,
			"a plant has a name, a kind, a defect, a rule unless it is clean, and also",
			error);
	if (strcmp(plant->kind, "queue_pair") && strcmp(plant->kind, "scheduler"))
		return srd_error_set(error, -EPROTO,
				     "%s/plants.json: %s is of kind \"%s\"; there are queue_pair "
				     "and scheduler",
				     check->folder, plant->name, plant->kind);
	if (!known_rules(plant))
		return srd_error_set(error, -EPROTO,
				     "%s/plants.json: %s names a rule that there is not",
				     check->folder, plant->name);
	return 0;
}

static bool wanted(const struct srd_cli_list *names, const char *name)
{
	for (int i = 0; i < names->count; i++)
		if (!strcmp(names->items[i], name))
			return true;
	return !names->count;
}

static void widen(int *width, const char *text)
{
	if (text && (int)strlen(text) > *width)
		*width = (int)strlen(text);
}

static int read_plants(struct check *check, json_t *list, struct srd_error *error)
{
	json_t *object;
	size_t at;

	check->plants = srd_calloc(json_array_size(list) + 1, sizeof(*check->plants));
	if (!check->plants)
		return srd_error_set(error, -ENOMEM, "out of memory");
	json_array_foreach(list, at, object)
	{
		struct plant *plant = &check->plants[check->count];
		int rc = read_plant(check, object, plant, error);

		if (rc)
			return rc;
		if (!wanted(&check->options->arguments, plant->name))
			continue;
		check->count++;
		widen(&check->name_width, plant->name);
		widen(&check->defect_width, plant->defect);
		widen(&check->rule_width, plant->rule);
	}
	widen(&check->name_width, "PLANT");
	widen(&check->defect_width, "DEFECT");
	widen(&check->rule_width, "RAISED FIRST");
	return 0;
}

/* The plants that are named are all there. */
static int check_names(const struct check *check, json_t *list, struct srd_error *error)
{
	const struct srd_cli_list *names = &check->options->arguments;
	const char **known = srd_calloc(json_array_size(list) + 1, sizeof(*known));
	const char *missing = NULL, *like = NULL;
	json_t *object;
	size_t at;

	if (!known)
		return srd_error_set(error, -ENOMEM, "out of memory");
	json_array_foreach(list, at, object) known[at] =
		json_string_value(json_object_get(object, "name"));
	for (int i = 0; i < names->count && !missing; i++) {
		missing = names->items[i];
		for (int p = 0; p < check->count; p++)
			if (!strcmp(check->plants[p].name, names->items[i]))
				missing = NULL;
	}
	if (missing)
		like = srd_nearest(missing, known, (int)json_array_size(list));
	srd_free(known);
	if (!missing)
		return 0;
	return srd_error_set(error, -ENOENT, "no plant is called \"%s\"%s%s%s", missing,
			     like ? "; did you mean " : "", like ? like : "", like ? "?" : "");
}

static int prepare(struct check *check, struct srd_error *error)
{
	json_t *list = NULL;
	int rc = find_folder(check, error);

	if (!rc)
		rc = read_manifest(check, &list, error);
	if (!rc)
		rc = read_plants(check, list, error);
	if (!rc)
		rc = check_names(check, list, error);
	return rc;
}

static int run_plants(struct check *check, struct srd_error *error)
{
	const struct srd_cli_pool pool = {
		.count = (uint64_t)check->count,
		.jobs = srd_cli_jobs(check->options->jobs),
		.arg = check,
		.run = run_plant,
		.done = put_plant,
	};

	put_head(check);
	if (srd_cli_pool_run(&pool, error) < 0)
		return SRD_EXIT_INTERNAL;
	printf("\n%d plants: %d flagged as their manifests say, %d not\n", check->count,
	       check->count - check->wrong, check->wrong);
	return check->wrong ? SRD_EXIT_FAILED : SRD_EXIT_PASSED;
}

int srd_cli_plants_check(const struct srd_cli_rules_options *options)
{
	struct check check = {.options = options};
	struct srd_error error = {0};
	int status = SRD_EXIT_USAGE;

	if (!prepare(&check, &error))
		status = run_plants(&check, &error);
	else if (error.code == -ENOMEM)
		status = SRD_EXIT_INTERNAL;
	if (*error.message)
		srd_cli_error("%s", error.message);
	srd_free(check.plants);
	json_decref(check.manifest);
	return status;
}
