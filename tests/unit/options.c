/* SPDX-License-Identifier: MIT */
/* The parser of the command line, with a table of its own that has every kind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"
#include "verbs/alloc.h"

struct values {
	bool flag;
	const char *text;
	struct srd_cli_list list;
	uint64_t number;
	uint64_t size;
	uint64_t time;
	struct srd_cli_seeds seeds;
	struct srd_cli_list arguments;
};

static const struct srd_cli_option table[] = {
	{"flag", 'f', SRD_CLI_FLAG, offsetof(struct values, flag), -1, "SRDLAB_T_FLAG", NULL, 0, 0,
	 true},
	{"text", 't', SRD_CLI_TEXT, offsetof(struct values, text), -1, "SRDLAB_T_TEXT", "usual", 0,
	 0, true},
	{"list", 'l', SRD_CLI_LIST, offsetof(struct values, list), -1, "SRDLAB_T_LIST", NULL, 0, 0,
	 true},
	{"number", 'n', SRD_CLI_NUMBER, offsetof(struct values, number), 6, "SRDLAB_T_NUMBER", "7",
	 1, 100, true},
	{"size", 0, SRD_CLI_SIZE, offsetof(struct values, size), -1, "SRDLAB_T_SIZE", "1MiB", 1024,
	 UINT64_MAX, true},
	{"time", 0, SRD_CLI_TIME, offsetof(struct values, time), -1, NULL, NULL, 1000, 1000000000,
	 true},
	{"seeds", 0, SRD_CLI_SEEDS, offsetof(struct values, seeds), 3, "SRDLAB_T_SEEDS", NULL, 0, 0,
	 false},
};

static const struct srd_cli_command command = {
	.name = "test",
	.options = table,
	.num_options = sizeof(table) / sizeof(table[0]),
	.size = sizeof(struct values),
	.arguments = offsetof(struct values, arguments),
	.min_arguments = 1,
	.max_arguments = 2,
	.what = "a thing",
};

static struct values values;
static struct srd_error error;

/* The words of LINE, which holds single spaces, as the command line. */
static int parse(const char *line)
{
	char copy[256], *argv[16] = {(char *)"test"}, *rest = copy, *word;
	static char words[16][64];
	int argc = 1, rc;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")) && *word) {
		snprintf(words[argc], sizeof(words[argc]), "%s", word);
		argv[argc] = words[argc];
		argc++;
	}
	memset(&error, 0, sizeof(error));
	srd_cli_release(&command, &values);
	rc = srd_cli_parse(&command, argc, argv, &values, &error);
	return rc;
}

static void refused(const char *line, const char *message)
{
	assert_int_equal(parse(line), -EINVAL);
	assert_string_equal(error.message, message);
}

static int forget(void **state)
{
	static const char *const names[] = {"FLAG", "TEXT", "LIST", "NUMBER", "SIZE", "SEEDS"};
	char name[32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "SRDLAB_T_%s", names[i]);
		unsetenv(name);
	}
	srd_cli_release(&command, &values);
	memset(&values, 0, sizeof(values));
	return 0;
}

static void defaults(void **state)
{
	assert_int_equal(parse("x"), 0);
	assert_false(values.flag);
	assert_string_equal(values.text, "usual");
	assert_int_equal(values.list.count, 0);
	assert_int_equal(values.number, 7);
	assert_int_equal(values.size, 1 << 20);
	assert_int_equal(values.time, 0);
	assert_false(values.seeds.set);
	assert_int_equal(values.arguments.count, 1);
	assert_string_equal(values.arguments.items[0], "x");
}

static void every_kind(void **state)
{
	assert_int_equal(
		parse("-f a --text=b -lone --list two --size 4KiB --time 12us --seeds 3..9 c"), 0);
	assert_true(values.flag);
	assert_string_equal(values.text, "b");
	assert_int_equal(values.list.count, 2);
	assert_string_equal(values.list.items[0], "one");
	assert_string_equal(values.list.items[1], "two");
	assert_int_equal(values.size, 4096);
	assert_int_equal(values.time, 12000);
	assert_true(values.seeds.set);
	assert_int_equal(values.seeds.first, 3);
	assert_int_equal(values.seeds.last, 9);
	assert_int_equal(values.arguments.count, 2);
	assert_string_equal(values.arguments.items[1], "c");
	assert_int_equal(parse("-- -f"), 0);
	assert_false(values.flag);
	assert_string_equal(values.arguments.items[0], "-f");
	assert_int_equal(parse("--num 9 x"), 0);
	assert_int_equal(values.number, 9);
}

static void environment(void **state)
{
	setenv("SRDLAB_T_FLAG", "1", 1);
	setenv("SRDLAB_T_TEXT", "from there", 1);
	setenv("SRDLAB_T_LIST", "a,b", 1);
	setenv("SRDLAB_T_SIZE", "", 1);
	setenv("SRDLAB_T_NUMBER", "50", 1);
	assert_int_equal(parse("x --text here"), 0);
	assert_true(values.flag);
	assert_string_equal(values.text, "here");
	assert_int_equal(values.list.count, 2);
	assert_string_equal(values.list.items[1], "b");
	assert_int_equal(values.size, 1 << 20);
	assert_int_equal(values.number, 50);
	/* A choice on the command line beats one of the environment that excludes it. */
	setenv("SRDLAB_T_SEEDS", "1..2", 1);
	assert_int_equal(parse("x --number 5"), 0);
	assert_int_equal(values.number, 5);
	assert_false(values.seeds.set);
	setenv("SRDLAB_T_FLAG", "yes", 1);
	refused("x", "SRDLAB_T_FLAG is 1 or 0, not \"yes\"");
	setenv("SRDLAB_T_FLAG", "0", 1);
	setenv("SRDLAB_T_NUMBER", "many", 1);
	refused("x", "--number takes a number from 1 to 100, not \"many\"");
}

static void wrong_usage(void **state)
{
	refused("", "a thing is missing");
	refused("a b c", "one argument too many: \"c\"");
	refused("x --fleg", "unknown option --fleg; did you mean --flag?");
	refused("x --fleg=3", "unknown option --fleg; did you mean --flag?");
	refused("--colours", "unknown option --colours");
	refused("x -z", "unknown option -z");
	refused("x --flag -zf", "unknown option -z");
	refused("x --text", "--text needs an argument");
	refused("x -t", "-t needs an argument");
	refused("x --flag=1", "--flag takes no argument");
	refused("x --help=1", "--help takes no argument");
	refused("x --number 0", "--number takes a number from 1 to 100, not \"0\"");
	refused("x --number 101", "--number takes a number from 1 to 100, not \"101\"");
	refused("x --number -1", "--number takes a number from 1 to 100, not \"-1\"");
	refused("x --size 1", "--size takes a size from 1KiB to 18446744073709551615, not \"1\"");
	refused("x --time 30", "--time takes a time with its unit from 1us to 1s, not \"30\"");
	refused("x --time 30KiB",
		"--time takes a time with its unit from 1us to 1s, not \"30KiB\"");
	refused("x --seeds 9..3", "--seeds 9..3 is reversed: the first seed must not be above the "
				  "last; 3..9 would be right");
	refused("x --seeds 9", "--seeds takes a range of seeds such as 1..100, not \"9\"");
	refused("x --seeds 1..", "--seeds takes a range of seeds such as 1..100, not \"1..\"");
	refused("x --seeds 0..9223372036854775808",
		"--seeds takes a range of seeds such as 1..100, not \"0..9223372036854775808\"");
	refused("x -n 3 --seeds 1..2", "--number and --seeds exclude each other");
}

static void help(void **state)
{
	assert_int_equal(parse("--help"), 1);
	assert_int_equal(parse("-h"), 1);
	assert_int_equal(parse("--hel"), 1);
}

/* What is not at its default comes back as words that mean the same. */
static void repeated(void **state)
{
	char *text;
	size_t size;
	FILE *out;

	assert_int_equal(parse("x"), 0);
	out = open_memstream(&text, &size);
	srd_cli_put_repeated(out, &command, &values);
	fclose(out);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(parse("x -f -t it's -l a -l b;c --size 3MiB --time 5us -n 8"), 0);
	out = open_memstream(&text, &size);
	srd_cli_put_repeated(out, &command, &values);
	srd_cli_put_word(out, "");
	fclose(out);
	assert_string_equal(text, " --flag --text 'it'\\''s' --list a --list 'b;c' --number 8"
				  " --size 3MiB --time 5us ''");
	free(text);
}

static void without_memory(void **state)
{
	for (uint64_t n = 1;; n++) {
		int rc;

		srd_cli_release(&command, &values);
		srd_alloc_fail_at(n);
		rc = parse("x y --list a --list b");
		srd_alloc_fail_at(0);
		if (!rc)
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(values.list.count, 2);
	srd_cli_release(&command, &values);
	assert_int_equal(srd_alloc_live(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(defaults, forget, forget),
		cmocka_unit_test_setup_teardown(every_kind, forget, forget),
		cmocka_unit_test_setup_teardown(environment, forget, forget),
		cmocka_unit_test_setup_teardown(wrong_usage, forget, forget),
		cmocka_unit_test_setup_teardown(help, forget, forget),
		cmocka_unit_test_setup_teardown(repeated, forget, forget),
		cmocka_unit_test_setup_teardown(without_memory, forget, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
