/* SPDX-License-Identifier: MIT */
/*
 * The device's laboratory (hw/softefa/lab.h) by itself: what it refuses, that the device which it
 * makes is fresh, that time moves only where it waits, and that the device is then as before.
 * usage: lab offered|refused      whether this group can have one
 */
#include <dlfcn.h>
#include <errno.h>

#include <srdlab/annotate.h>

#include "softefa/lab.h"

#include "end.h"

#define LATENCY 5000000u /* ns */

static const struct soft_lab_calls *lab;
static uint8_t memory[64];
static uint32_t num_cqes;

static void note(void *reader, const struct srd_event *event)
{
	num_cqes += event->type == SRD_EV_DEV_CQE;
}

static struct srd_profile profile_with(uint32_t max_qp)
{
	struct srd_profile profile = *srd_profile_find("efa1");

	profile.max_qp = max_qp;
	return profile;
}

static void refuses(struct srd_profile profile, int how, const char *why)
{
	struct srd_error error = {0};

	must(lab->begin(&profile, 1, NULL, &error) == how);
	must(strstr(error.message, why));
}

static void refusals(void)
{
	struct srd_profile profile = profile_with(256);

	profile.transport = SRD_PROFILE_TRANSPORT_RC;
	refuses(profile, EOPNOTSUPP, "reliable connections");
	profile = profile_with(256);
	profile.stale_check = SRD_PROFILE_STALE_CHECK_QPN;
	refuses(profile, EOPNOTSUPP, "stale_check");
	profile = profile_with(256);
	profile.flush_on_reset = 1;
	refuses(profile, EOPNOTSUPP, "flushes of a reset");
	profile = profile_with(256);
	profile.first_qpn = 65535;
	refuses(profile, EOPNOTSUPP, "first_qpn");
	profile = profile_with(256);
	profile.max_pd = 1000;
	refuses(profile, ENOSPC, "larger device");
	refuses(profile_with(257), ENOSPC, "larger device");
}

static void commands(uint64_t qp)
{
	struct srd_lab command = {.kind = SRD_LAB_SET, .name = "latency", .value = LATENCY};

	must(!lab->command(&command, 0));
	command = (struct srd_lab){.kind = SRD_LAB_SET, .name = "nothing"};
	must(lab->command(&command, 0) == ENOENT);
	command = (struct srd_lab){.kind = SRD_LAB_COUNTER, .name = "send_wrs", .value = 9};
	must(!lab->command(&command, 0) && !command.value);
	command = (struct srd_lab){.kind = SRD_LAB_LOCATE, .ordinal = 0};
	must(lab->command(&command, 0) == EINVAL);
	must(lab->command(&command, qp) == ENOENT);
	command = (struct srd_lab){.kind = SRD_LAB_AUDIT};
	must(lab->command(&command, 0) == EOPNOTSUPP);
}

static void close_all(struct end *end)
{
	must(!ibv_destroy_qp(&end->qp->qp_base) && !ibv_destroy_ah(end->ah));
	must(!ibv_dereg_mr(end->mr) && !ibv_destroy_cq(end->cq));
	must(!ibv_dealloc_pd(end->pd) && !ibv_close_device(end->context));
}

static void time_moves_in_waits_alone(struct end *end, uint64_t qp)
{
	struct srd_lab where = {.kind = SRD_LAB_LOCATE, .ordinal = 0};
	uint64_t seen = 0, begun = lab->now();
	struct end_name self;
	struct ibv_wc wc;

	end_name(end, &self);
	end_post(end, &self, 0, 1, 32, 8);
	for (int i = 0; i < 1000; i++)
		must(!ibv_poll_cq(end->cq, 1, &wc));
	must(lab->now() == begun);
	must(!lab->command(&where, qp) && where.place != SRD_PLACE_UNKNOWN);
	must(lab->wait(&seen, begun + LATENCY) == ETIMEDOUT && lab->now() == begun + LATENCY);
	must(!ibv_poll_cq(end->cq, 1, &wc));
	must(!lab->wait(&seen, UINT64_MAX) && lab->now() >= begun + 2 * LATENCY);
	must(num_cqes == 1);
	must(ibv_poll_cq(end->cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	must(lab->command(&where, qp) == ENOENT);
	must(lab->wait(&seen, UINT64_MAX) == EDEADLK);
}

/* The device with 16 queue pairs: all is as on a fresh one. */
static void one_device(void)
{
	const struct srdlab_faults *faults = dlsym(RTLD_DEFAULT, "srdlab_fault_calls");
	struct srd_profile profile = profile_with(16);
	struct srd_stream stream = {.fn = note};
	struct ibv_device_attr attr;
	struct srd_error error;
	struct end end;
	uint64_t qp;

	num_cqes = 0;
	must(!lab->begin(&profile, 7, NULL, &error) && !lab->now());
	lab->tell(&stream);
	end_open(&end, memory, sizeof(memory));
	must(!ibv_query_device(end.context, &attr) && attr.max_qp == 16);
	must(end.qp->qp_base.qp_num == 1);
	refuses(profile, EBUSY, "open");
	qp = faults->next(&end.qp->qp_base, 1).qp;
	must(qp);
	commands(qp);
	time_moves_in_waits_alone(&end, qp);
	lab->tell(NULL);
	close_all(&end);
	lab->end();
}

static void as_before(void)
{
	struct ibv_device_attr attr;
	struct end_name self;
	struct end end;

	end_open(&end, memory, sizeof(memory));
	must(!ibv_query_device(end.context, &attr) && attr.max_qp == 256);
	end_name(&end, &self);
	must(!end_read(&end, &self, 32, 8));
	close_all(&end);
}

int main(int argc, char **argv)
{
	bool wanted = argc > 1 && !strcmp(argv[1], "offered");

	lab = dlsym(RTLD_DEFAULT, SOFT_LAB_CALLS);
	must(lab && lab->profile_size == sizeof(struct srd_profile));
	must(lab->offered() == wanted);
	if (wanted) {
		refusals();
		one_device();
		one_device();
	}
	as_before();
	return 0;
}
