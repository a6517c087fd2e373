/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "profile.h"

static struct srd_profile profile;
static struct srd_error error;

static int parse(const char *text)
{
	profile = *srd_profile_find("small");
	error = (struct srd_error){0};
	return srd_profile_parse("dir/mine.json", text, strlen(text), &profile, &error);
}

static int set(const char *text)
{
	profile = *srd_profile_find("efa1");
	error = (struct srd_error){0};
	return srd_profile_override(&profile, text, &error);
}

static void files_give_fields(void **state)
{
	assert_int_equal(
		parse("{ \"base\": \"efa1\", \"name\": \"other\",\n"
		      "  \"max_rdma_size\": \"4KiB\", \"latency\": \"3us\", \"loss\": 100,\n"
		      "  \"cap_rnr_retry\": false, \"order\": \"adversarial\",\n"
		      "  \"max_sq_sge\": 1, \"mtu\": 4096 }"),
		0);
	assert_string_equal(profile.name, "other");
	assert_int_equal(profile.max_rdma_size, 4096);
	assert_int_equal(profile.latency, 3000);
	assert_int_equal(profile.loss, 100);
	assert_int_equal(profile.cap_rnr_retry, false);
	assert_int_equal(profile.order, SRD_PROFILE_ORDER_ADVERSARIAL);
	assert_int_equal(profile.max_sq_sge, 1);
	assert_int_equal(profile.mtu, 4096);
	assert_int_equal(profile.max_qp, 256);
	assert_int_equal(profile.vendor_part_id, 0xefa1);
}

static void base_and_name_have_defaults(void **state)
{
	assert_int_equal(parse("{}"), 0);
	assert_string_equal(profile.name, "mine");
	assert_int_equal(profile.max_qp, 256);
	assert_int_equal(parse("{ \"base\": \"small\" }"), 0);
	assert_int_equal(profile.max_qp, 8);
	assert_string_equal(profile.name, "mine");
}

/* Each bad text gives its error and leaves the profile alone. */
static void bad_files_are_explained(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *message;
	} cases[] = {
		{"{\n \"max_qpp\": 1 }", -ENOENT,
		 "dir/mine.json:2: error: a profile has no field \"max_qpp\": did you mean "
		 "\"max_qp\"?"},
		{"{\n\n\"name\": \"zebra\",\n\"zebra\" : 1 }", -ENOENT,
		 "dir/mine.json:4: error: a profile has no field \"zebra\""},
		{"{ \"max_\\u0071q\": 1 }", -ENOENT,
		 "dir/mine.json: error: a profile has no field \"max_qq\": did you mean "
		 "\"max_qp\"?"},
		{"{ \"max_qp\": 0 }", -ERANGE,
		 "dir/mine.json:1: error: max_qp cannot be 0: it takes a number from 1 to 65535"},
		{"{ \"max_qp\": -1 }", -EINVAL,
		 "dir/mine.json:1: error: max_qp cannot be \"-1\": it takes a number from 1 to "
		 "65535"},
		{"{ \"max_qp\": \"1us\" }", -EINVAL,
		 "dir/mine.json:1: error: max_qp cannot be \"1us\": it takes a number from 1 to "
		 "65535"},
		{"{ \"max_qp\": 1.5 }", -EINVAL,
		 "dir/mine.json:1: error: max_qp cannot be 1.5: it takes a number "
		 "from 1 to 65535"},
		{"{ \"max_qp\": null }", -EINVAL,
		 "dir/mine.json:1: error: max_qp cannot be null: it takes a number "
		 "from 1 to 65535"},
		{"{ \"max_qp\": {} }", -EINVAL,
		 "dir/mine.json:1: error: max_qp cannot be an object: it takes a number "
		 "from 1 to 65535"},
		{"{ \"max_qp\": [1] }", -EINVAL,
		 "dir/mine.json:1: error: max_qp cannot be an array: it takes a number "
		 "from 1 to 65535"},
		{"{ \"name\": 1 }", -EINVAL,
		 "dir/mine.json: error: \"name\" must be a string of 1 to 31 bytes"},
		{"{ \"nope\": [] }", -ENOENT,
		 "dir/mine.json:1: error: a profile has no field \"nope\""},
		{"{ \"latency\": \"4KiB\" }", -EINVAL,
		 "dir/mine.json:1: error: latency cannot be \"4KiB\": it takes a time in ns or "
		 "with a unit (ns, us, ms, s) from 0ns to 1000s"},
		{"{ \"mtu\": \"1MiB\" }", -ERANGE,
		 "dir/mine.json:1: error: mtu cannot be 1MiB: it takes a size in bytes or with a "
		 "unit (B, KiB, MiB, GiB, TiB) from 256 to 65535"},
		{"{ \"loss\": 1000001 }", -ERANGE,
		 "dir/mine.json:1: error: loss cannot be 1000001: it takes a number of parts per "
		 "million from 0 to 1000000"},
		{"{ \"loopback\": 1 }", -EINVAL,
		 "dir/mine.json:1: error: loopback cannot be \"1\": it takes true or false"},
		{"{ \"order\": \"sorted\" }", -EINVAL,
		 "dir/mine.json:1: error: order cannot be \"sorted\": it takes one of in_order, "
		 "random, adversarial"},
		{"{ \"base\": \"efa9\" }", -ENOENT,
		 "dir/mine.json: error: \"base\" is \"efa9\", which is no built-in profile"},
		{"{ \"base\": 1 }", -EINVAL,
		 "dir/mine.json: error: \"base\" must be the name of a profile"},
		{"{ \"name\": \"\" }", -EINVAL,
		 "dir/mine.json: error: \"name\" must be a string of 1 to 31 bytes"},
		{"{ \"name\": \"12345678901234567890123456789012\" }", -EINVAL,
		 "dir/mine.json: error: \"name\" must be a string of 1 to 31 bytes"},
		{"[]", -EINVAL, "dir/mine.json: error: a profile is a JSON object"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text), cases[i].code);
		assert_int_equal(error.code, cases[i].code);
		assert_string_equal(error.message, cases[i].message);
		assert_memory_equal(&profile, srd_profile_find("small"), sizeof(profile));
	}
}

static void syntax_errors_have_a_line(void **state)
{
	assert_int_equal(parse("{\n \"max_qp\": 1,\n}"), -EINVAL);
	assert_non_null(strstr(error.message, "dir/mine.json:3: error: "));
	assert_int_equal(parse(""), -EINVAL);
	assert_int_equal(parse("{ \"mtu\": 1000, \"mtu\": 1000 }"), -EINVAL);
	assert_non_null(strstr(error.message, "duplicate"));
}

static void overrides(void **state)
{
	assert_int_equal(set("max_rdma_size=1MiB"), 0);
	assert_int_equal(profile.max_rdma_size, 1 << 20);
	assert_int_equal(set("level=packet"), 0);
	assert_int_equal(profile.level, SRD_PROFILE_LEVEL_PACKET);
	assert_int_equal(set("loopback=false"), 0);
	assert_int_equal(profile.loopback, false);
	assert_int_equal(set("bandwidth=1GiB"), 0);
	assert_int_equal(profile.bandwidth, 1 << 30);
	assert_int_equal(set("vendor_part_id=0xefa2"), 0);
	assert_int_equal(profile.vendor_part_id, 0xefa2);
	assert_int_equal(set("max_rdma_size"), -EINVAL);
	assert_string_equal(error.message, "\"max_rdma_size\" sets nothing: write field=value, "
					   "such as max_rdma_size=4KiB");
	assert_int_equal(set("=1"), -ENOENT);
	assert_int_equal(set("latncy=1"), -ENOENT);
	assert_string_equal(error.message,
			    "a profile has no field \"latncy\": did you mean \"latency\"?");
	assert_int_equal(set("latency="), -EINVAL);
	assert_int_equal(set("max_mr_pages=18446744073709551616"), -ERANGE);
	assert_memory_equal(&profile, srd_profile_find("efa1"), sizeof(profile));
}

static void numbers_of_any_width(void **state)
{
	profile = *srd_profile_find("efa1");
	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
		const struct srd_profile_field *f = &srd_profile_fields[i];

		assert_int_equal(srd_profile_set_number(&profile, f->name, f->max, &error), 0);
		assert_true(srd_profile_get(&profile, f) == f->max);
		assert_int_equal(srd_profile_set_number(&profile, f->name, f->max + 1, &error),
				 -ERANGE);
		assert_true(srd_profile_get(&profile, f) == f->max);
		assert_int_equal(srd_profile_set_number(&profile, f->name, f->min, &error), 0);
		assert_true(srd_profile_get(&profile, f) == f->min);
		if (f->min > 0)
			assert_int_equal(
				srd_profile_set_number(&profile, f->name, f->min - 1, &error),
				-ERANGE);
	}
	assert_int_equal(srd_profile_set_number(&profile, "nope", 1, &error), -ENOENT);
	assert_int_equal(srd_profile_set_number(&profile, "nope", 1, NULL), -ENOENT);
}

static void built_in_profiles_hold_together(void **state)
{
	for (int i = 0; i < SRD_NUM_PROFILES; i++)
		assert_int_equal(srd_profile_check(&srd_profiles[i], &error), 0);
}

static void contradictions_name_both_fields(void **state)
{
	static const struct {
		const char *set[3];
		const char *message;
	} cases[] = {
		{{"cap_rdma_read=false", "cap_rdma_write=false"},
		 "profile efa1: max_rdma_size (1GiB) needs cap_rdma_write or cap_rdma_read "
		 "(false)"},
		{{"max_rdma_size=0"},
		 "profile efa1: cap_rdma_read (true) needs more than max_rdma_size (0)"},
		{{"max_rdma_size=0", "cap_rdma_read=false"},
		 "profile efa1: cap_rdma_write (true) needs more than max_rdma_size (0)"},
		{{"max_sge_rd=0"},
		 "profile efa1: cap_rdma_read (true) needs more than max_sge_rd (0)"},
		{{"cap_rdma_write=false", "cap_unsolicited_write_recv=true"},
		 "profile efa1: cap_unsolicited_write_recv (true) needs cap_rdma_write (false)"},
		{{"first_qpn=65281"},
		 "profile efa1: first_qpn (65281) leaves fewer numbers of 16 bits than max_qp "
		 "(256)"},
		{{"min_sq_wr=8192"}, "profile efa1: min_sq_wr (8192) is above max_sq_wr (4096)"},
		{{"inline_buf_size_ex=8"},
		 "profile efa1: inline_buf_size (32) is above inline_buf_size_ex (8)"},
		{{"loss=1", "unresponsive_timeout=100us"},
		 "profile efa1: unresponsive_timeout (100us) gives up, where packets are lost, "
		 "before they are sent again after retransmit (100us)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		profile = *srd_profile_find("efa1");
		for (int j = 0; cases[i].set[j]; j++)
			assert_int_equal(srd_profile_override(&profile, cases[i].set[j], &error),
					 0);
		assert_int_equal(srd_profile_check(&profile, &error), -EINVAL);
		assert_string_equal(error.message, cases[i].message);
	}
	assert_int_equal(parse("{ \"max_rdma_size\": 0 }"), -EINVAL);
	assert_string_equal(error.message, "dir/mine.json: error: profile mine: cap_rdma_read "
					   "(true) needs more than max_rdma_size (0)");
}

/* Whatever is printed can be set again. */
static void format_round_trips(void **state)
{
	for (int p = 0; p < SRD_NUM_PROFILES; p++) {
		profile = *srd_profile_find("efa1");
		memcpy(profile.name, srd_profiles[p].name, sizeof(profile.name));
		for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
			const struct srd_profile_field *f = &srd_profile_fields[i];
			char text[SRD_PROFILE_TEXT];

			srd_profile_format(&srd_profiles[p], f, text);
			assert_int_equal(srd_profile_set(&profile, f->name, text, &error), 0);
			assert_true(srd_profile_get(&profile, f) ==
				    srd_profile_get(&srd_profiles[p], f));
		}
	}
}

static void print_shows_values_and_sources(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	srd_profile_print(srd_profile_find("small"), file);
	assert_int_equal(fclose(file), 0);
	assert_non_null(strstr(text, "max_rdma_size              4KiB               bytes of one "
				     "RDMA request; 0: no RDMA (set by profile small)\n"));
	assert_non_null(strstr(text, "latency                    12us               one way "
				     "(guess)\n"));
	free(text);
}

static void lines_of(const char *name, char *text, size_t size)
{
	FILE *file = fmemopen(text, size, "w");

	assert_non_null(file);
	assert_int_equal(srd_profile_open(name, &profile, &error), 0);
	srd_profile_print(&profile, file);
	assert_int_equal(fclose(file), 0);
}

/* What was measured on one generation is a guess for every other. */
static void nothing_measured_is_claimed_for_another(void **state)
{
	static char text[16384];

	for (int i = 0; i < SRD_NUM_PROFILES; i++) {
		bool captured = !strcmp(srd_profiles[i].base, "efa1") ||
				strncmp(srd_profiles[i].base, "efa", 3) != 0;

		lines_of(srd_profiles[i].name, text, sizeof(text));
		assert_int_equal(strstr(text, "(measured: ") != NULL, captured);
		assert_int_equal(strstr(text, "(guess: as measured on 0xefa1)") != NULL, !captured);
	}
}

static void instance_types_have_devices(void **state)
{
	static char text[16384];

	lines_of("p5.48xlarge", text, sizeof(text));
	assert_int_equal(profile.devices, 32);
	assert_int_equal(profile.vendor_part_id, 0xefa2);
	assert_non_null(strstr(text,
			       "devices                    32                 devices of a host; "
			       "0: as many as are asked for (source: AWS, the instance type's "
			       "network description)\n"));
	assert_int_equal(parse("{ \"base\": \"p4d.24xlarge\", \"mtu\": 4096 }"), 0);
	assert_int_equal(profile.devices, 4);
	assert_string_equal(profile.base, "efa1");
	assert_string_equal(profile.name, "mine");
}

static void opened_by_name_or_path(void **state)
{
	char path[] = "/tmp/srdlab-profile-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(srd_profile_open("small", &profile, &error), 0);
	assert_int_equal(profile.max_qp, 8);
	assert_int_equal(srd_profile_open("smal", &profile, &error), -ENOENT);
	assert_string_equal(
		error.message,
		"there is no profile \"smal\": there are efa0, efa1, efa2, efa3, efa4, huge, id64, "
		"no_rdma, rc, small, wide_wqe, and instance types such as trn2.48xlarge; a file "
		"has a "
		"'/' in its name or ends in .json");
	assert_int_equal(write(fd, "{ \"max_qp\": 3 }", 15), 15);
	assert_int_equal(srd_profile_open(path, &profile, &error), 0);
	assert_int_equal(profile.max_qp, 3);
	srd_alloc_fail_at(1);
	assert_int_equal(srd_profile_open(path, &profile, &error), -ENOMEM);
	srd_alloc_fail_at(0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(srd_profile_open(path, &profile, &error), -EFBIG);
	close(fd);
	unlink(path);
	assert_int_equal(srd_profile_open(path, &profile, &error), -ENOENT);
	assert_int_equal(srd_profile_open("nothing.json", &profile, &error), -ENOENT);
	assert_string_equal(error.message,
			    "nothing.json: error: cannot open it: No such file or directory");
	assert_int_equal(srd_profile_open("/", &profile, &error), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_give_fields),
		cmocka_unit_test(base_and_name_have_defaults),
		cmocka_unit_test(bad_files_are_explained),
		cmocka_unit_test(syntax_errors_have_a_line),
		cmocka_unit_test(overrides),
		cmocka_unit_test(numbers_of_any_width),
		cmocka_unit_test(built_in_profiles_hold_together),
		cmocka_unit_test(contradictions_name_both_fields),
		cmocka_unit_test(format_round_trips),
		cmocka_unit_test(print_shows_values_and_sources),
		cmocka_unit_test(nothing_measured_is_claimed_for_another),
		cmocka_unit_test(instance_types_have_devices),
		cmocka_unit_test(opened_by_name_or_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
