/* SPDX-License-Identifier: MIT */
/*
 * Every modify of a queue pair that is one step off its state table, on the mock, for SRD and
 * for reliable-connected ones: generated cases, each with the errno an application gets and the state after it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <srdlab/profile.h>
#include <srdlab/transitions.h>

#include "test_state.h"
#include "verbs/backend.h"

struct transition_case {
	const char *name;
	enum srd_qp_type type;
	enum srd_qp_state from;
	enum srd_qp_state to;
	enum srd_qp_state claimed;
	uint32_t mask;
	uint8_t port_num;
	uint16_t pkey_index;
	int error;
	enum srd_qp_state after;
};

#include "transition_cases.h"

/* A device of either kind, each with a queue pair. */
static struct lab {
	struct srd_verbs *verbs;
	struct srd_qp *qp;
} srd_lab, rc_lab;

static int open_lab(struct lab *lab, const char *profile, enum srd_qp_type type)
{
	struct srd_backend_options options = {.seed = 1, .profile = srd_profile_find(profile)};
	struct srd_efa_qp_init_attr efa = {.driver_qp_type = SRD_EFADV_QP_DRIVER_TYPE_SRD};
	struct srd_qp_init_attr_ex attr = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = type,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE,
	};
	struct srd_context *context;

	if (srd_backend_find("mock")->open(&options, &lab->verbs, NULL))
		return -1;
	context = lab->verbs->open_device(lab->verbs, 0, NULL);
	attr.pd = lab->verbs->alloc_pd(lab->verbs, context);
	attr.send_cq = attr.recv_cq = lab->verbs->create_cq(lab->verbs, context, 16);
	lab->qp = lab->verbs->create_qp_ex(lab->verbs, context, &attr,
					   type == SRD_QPT_DRIVER ? &efa : NULL);
	return lab->qp ? 0 : -1;
}

static int open_labs(void **state)
{
	return open_lab(&srd_lab, "efa1", SRD_QPT_DRIVER) || open_lab(&rc_lab, "rc", SRD_QPT_RC);
}

static int close_labs(void **state)
{
	srd_lab.verbs->close(srd_lab.verbs);
	rc_lab.verbs->close(rc_lab.verbs);
	return 0;
}

static void check(void **state)
{
	const struct transition_case *c = *state;
	const struct lab *lab = c->type == SRD_QPT_RC ? &rc_lab : &srd_lab;
	struct srd_qp_attr attr = {
		.qp_state = c->to,
		.cur_qp_state = c->claimed,
		.port_num = c->port_num,
		.pkey_index = c->pkey_index,
		.qkey = 0x4242,
		.path_mtu = 3,
		.ah_attr = {.port_num = 1},
	};
	struct srd_qp_attr now;

	srd_sim_force_qp_state(lab->verbs, lab->qp, c->from);
	assert_int_equal(lab->verbs->modify_qp(lab->verbs, lab->qp, &attr, c->mask), c->error);
	assert_int_equal(lab->verbs->query_qp(lab->verbs, lab->qp, &now, SRD_QP_STATE), 0);
	assert_int_equal(now.qp_state, c->after);
	assert_int_equal(lab->qp->state, c->after);
}

int main(void)
{
	static struct CMUnitTest tests[NUM_TRANSITION_CASES];

	for (int i = 0; i < NUM_TRANSITION_CASES; i++)
		tests[i] = (struct CMUnitTest){
			.name = transition_cases[i].name,
			.test_func = check,
			.initial_state = &transition_cases[i],
		};
	return cmocka_run_group_tests(tests, open_labs, close_labs);
}
