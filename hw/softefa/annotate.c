/* SPDX-License-Identifier: MIT */
/* The other end of srdlab/annotate.h: faults that a program asks for itself. */
#include <errno.h>

#include <infiniband/verbs.h>
#include <srdlab/annotate.h>
#include <srdlab/lab.h>

#include "ask.h"
#include "decide.h"
#include "engine.h"
#include "files.h"

/* The header stands alone, and says the same. */
#define SAME(name) _Static_assert((int)SRDLAB_##name == (int)SRD_LAB_##name, #name)
SAME(HOLD);
SAME(RELEASE);
SAME(FAIL);
SAME(DROP);
SAME(DUPLICATE);
SAME(DELAY);
SAME(QP_ERR);
SAME(STALE_CQE);
SAME(COMPLETE_ALL);
SAME(FAIL_RECEIVE);
SAME(NOT_READY);

static int begin(void)
{
	int err = soft.group ? soft_lock() : ENOENT;

	return err ? err : soft_turn(SOFT_COMMAND, SOFT_COMMAND_FAULT);
}

static void end(void)
{
	soft_turn_over();
	soft_unlock();
	soft_supervisor_wake();
}

static srdlab_request_t next(struct ibv_qp *qp, uint32_t n)
{
	srdlab_request_t request = {0, 0};
	struct soft_object *object;

	if (!qp || !n || begin())
		return request;
	object = soft_object_find(qp->handle, SOFT_QP, soft_file_of_fd(qp->context->cmd_fd));
	if (object) {
		/* What it has posted is not to come. */
		soft_doorbell(object);
		request.qp = soft_qp_name(object);
		request.number = srd_model_qp_posted(&soft.model, object->model) + n - 1;
	}
	end();
	return request;
}

/* Those of a request, and of its queue pair. */
static bool is_offered(uint32_t kind)
{
	return kind <= SRD_LAB_DELAY || (kind >= SRD_LAB_QP_ERR && kind <= SRD_LAB_COMPLETE_ALL) ||
	       kind == SRD_LAB_FAIL_RECEIVE || kind == SRD_LAB_NOT_READY;
}

static int fault(srdlab_request_t request, uint32_t kind, uint64_t value)
{
	struct srd_launch_command command = {
		.kind = kind,
		.qp = request.qp,
		.ordinal = request.number,
		.time = value,
		.value = value,
		.status = value > UINT32_MAX ? 0 : (uint32_t)value,
	};
	int err;

	if (!is_offered(kind))
		return EINVAL;
	err = begin();
	if (err)
		return err;
	err = soft_lab(&command);
	end();
	return err == ESTALE ? ENOENT : err;
}

__attribute__((visibility("default"))) extern const struct srdlab_faults srdlab_fault_calls;
const struct srdlab_faults srdlab_fault_calls = {.next = next, .fault = fault};
