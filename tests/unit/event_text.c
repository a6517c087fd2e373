/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/verbs.h>

#include "event_text.h"

static const struct srd_event_field *field(enum srd_event_type type, const char *name)
{
	const struct srd_event_info *info = &srd_event_infos[type];

	for (int i = 0; i < info->num_fields; i++)
		if (!strcmp(info->fields[i].name, name))
			return &info->fields[i];
	fail_msg("no field %s", name);
	return NULL;
}

static void assert_value(enum srd_event_type type, const char *name, uint64_t value,
			 const char *want)
{
	char text[128];

	assert_int_equal(srd_event_value_text(field(type, name), value, text, sizeof(text)),
			 strlen(want));
	assert_string_equal(text, want);
}

static void values_by_name(void **state)
{
	assert_value(SRD_EV_QP_MODIFY, "to", SRD_QPS_RTS, "RTS");
	assert_value(SRD_EV_QP_MODIFY, "to", 77, "77");
	assert_value(SRD_EV_QP_MODIFY, "mask", 0x71, "STATE|PKEY_INDEX|PORT|QKEY");
	assert_value(SRD_EV_QP_MODIFY, "mask", 0, "0");
	assert_value(SRD_EV_QP_MODIFY, "mask", 0x80000000, "0x80000000");
	assert_value(SRD_EV_QP_MODIFY, "mask", 0x80000001, "STATE|0x80000000");
	assert_value(SRD_EV_QP_MODIFY, "result", EINVAL, "EINVAL");
	assert_value(SRD_EV_QP_MODIFY, "result", 0, "0");
	assert_value(SRD_EV_OP_END, "result", (uint32_t)-EIO, "-EIO");
	assert_value(SRD_EV_OP_END, "result", (uint32_t)INT32_MIN, "-2147483648");
	assert_value(SRD_EV_OP_END, "vendor_err", 7, "REMOTE_ERROR_BAD_ADDRESS");
	assert_value(SRD_EV_CQ_POLL, "result", 13, "13");
	assert_value(SRD_EV_CQ_POLL, "result", (uint32_t)-EINVAL, "-EINVAL");
	assert_value(SRD_EV_WR_POST, "remote_addr", UINT64_MAX, "0xffffffffffffffff");
	assert_value(SRD_EV_WR_POST, "wr_id", UINT64_MAX, "18446744073709551615");
	assert_value(SRD_EV_WR_POST, "opcode", SRD_WR_RDMA_READ, "RDMA_READ");
	assert_value(SRD_EV_WR_POST, "wr_flags", SRD_SEND_SIGNALED, "SIGNALED");
	assert_value(SRD_EV_CALL_FAILED, "verb", SRD_VERB_CREATE_QP_EX, "create_qp_ex");
}

static void a_line(void **state)
{
	struct srd_ev_qp_query e = {
		.ev = {.time = 1234567,
		       .object = 3,
		       .type = SRD_EV_QP_QUERY,
		       .host = 1,
		       .line = 12,
		       .op = 5},
		.mask = SRD_QP_STATE,
		.state = SRD_QPS_ERR,
	};
	const char *want = "      1234.567 h1   qp 3       qp_query         mask=STATE state=ERR "
			   "result=0 op=5 line=12";
	char text[256], cut[12];

	assert_int_equal(srd_event_text(&e.ev, text, sizeof(text)), strlen(want));
	assert_string_equal(text, want);
	assert_int_equal(srd_event_text(&e.ev, cut, sizeof(cut)), strlen(want));
	assert_memory_equal(cut, want, sizeof(cut) - 1);
	assert_int_equal(cut[sizeof(cut) - 1], 0);
	assert_int_equal(srd_event_text(&e.ev, NULL, 0), strlen(want));
}

static void a_brief_line(void **state)
{
	struct srd_ev_wr_post e = {
		.ev = {.time = 1000, .object = 2, .type = SRD_EV_WR_POST, .line = 12},
		.length = 4096,
		.opcode = SRD_WR_RDMA_WRITE,
	};
	char text[512];

	srd_event_text_brief(&e.ev, text, sizeof(text));
	assert_string_equal(text, "line 12  1.000 us  h0 qp 2  wr_post      wr_id=0 length=4096 "
				  "opcode=RDMA_WRITE");
}

static void every_field_has_a_text(void **state)
{
	uint64_t record[32];
	char text[2048];

	for (int type = 0; type < SRD_NUM_EVENT_TYPES; type++) {
		struct srd_event *e = (struct srd_event *)record;

		assert_true(srd_event_infos[type].size <= sizeof(record));
		memset(record, 0xff, sizeof(record));
		e->type = (uint16_t)type;
		assert_true(srd_event_text(e, text, sizeof(text)) < (int)sizeof(text));
		assert_non_null(strstr(text, srd_event_infos[type].name));
		assert_int_equal(srd_event_type_parse(srd_event_infos[type].name), type);
	}
	assert_int_equal(srd_event_type_parse("no_such"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_by_name),
		cmocka_unit_test(a_line),
		cmocka_unit_test(a_brief_line),
		cmocka_unit_test(every_field_has_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
