/* SPDX-License-Identifier: MIT */
/*
 * The end of a scenario: everything that the script has made and not released goes, in the
 * order that the verbs document: queue pairs, address handles, memory regions, completion
 * queues, protection domains, buffers, devices. The newest of each kind goes first. A call
 * that is refused here is a failure of the scenario, since it means that something was
 * left behind or released in the wrong order.
 */
#include "bindings.h"

void srd_teardown_check(struct srd_run *run, const struct srd_object *object, const char *call,
			int ret)
{
	if (ret)
		srd_run_fail(run, (int)object->line, NULL,
			     "at the scenario's end %s of %s %u, made here, failed: %s", call,
			     srd_object_name(object->type), object->serial, srd_errno_name(ret));
}

static void release(struct srd_run *run, struct srd_object *object)
{
	struct srd_verbs *verbs = run->verbs;

	switch (object->type) {
	case SRD_OBJECT_RAILS:
		srd_rails_release(run, (struct srd_rails_object *)object);
		break;
	case SRD_OBJECT_QUEUE_PAIR:
		srd_queue_pair_release(run, (struct srd_queue_pair_object *)object);
		break;
	case SRD_OBJECT_QP:
		srd_teardown_check(run, object, "destroy_qp",
				   verbs->destroy_qp(verbs, object->verbs));
		break;
	case SRD_OBJECT_AH:
		srd_teardown_check(run, object, "destroy_ah",
				   verbs->destroy_ah(verbs, object->verbs));
		break;
	case SRD_OBJECT_MR:
		srd_teardown_check(run, object, "dereg_mr", verbs->dereg_mr(verbs, object->verbs));
		break;
	case SRD_OBJECT_CQ:
		srd_teardown_check(run, object, "destroy_cq",
				   verbs->destroy_cq(verbs, object->verbs));
		break;
	case SRD_OBJECT_COMP_CHANNEL:
		srd_teardown_check(run, object, "destroy_comp_channel",
				   verbs->destroy_comp_channel(verbs, object->verbs));
		break;
	case SRD_OBJECT_PD:
		srd_teardown_check(run, object, "dealloc_pd",
				   verbs->dealloc_pd(verbs, object->verbs));
		break;
	case SRD_OBJECT_CONTEXT:
		srd_teardown_check(run, object, "close_device",
				   verbs->close_device(verbs, object->verbs));
		break;
	case SRD_OBJECT_MEMORY:
		srd_memory_object_release(run, (struct srd_memory_object *)object);
		break;
	case SRD_OBJECT_HOST:
		srd_host_release(run, (struct srd_host *)object);
		break;
	case SRD_OBJECT_OP:
	case SRD_OBJECT_REQUEST:
	case SRD_OBJECT_TASK:
	case SRD_OBJECT_SCENARIO:
	case SRD_NUM_OBJECT_TYPES:
		break;
	}
}

void srd_run_teardown(struct srd_run *run)
{
	static const enum srd_object_type order[] = {
		SRD_OBJECT_RAILS, SRD_OBJECT_QUEUE_PAIR, SRD_OBJECT_QP,           SRD_OBJECT_AH,
		SRD_OBJECT_MR,    SRD_OBJECT_CQ,         SRD_OBJECT_COMP_CHANNEL, SRD_OBJECT_MEMORY,
		SRD_OBJECT_PD,    SRD_OBJECT_HOST,       SRD_OBJECT_CONTEXT,
	};

	run->stream.line = 0;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct srd_object *object;

		while ((object = run->objects[order[i]])) {
			if (!object->borrowed)
				release(run, object);
			srd_object_retire(object);
		}
	}
}
