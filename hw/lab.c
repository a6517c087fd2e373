/* SPDX-License-Identifier: MIT */
/*
 * The little of a laboratory that a device offers: its counters; and faults, where it is the
 * software device, by the calls that any program under srdlab exec has (srdlab/annotate.h).
 * They know a request by its number, so the ids of the latest ones are kept.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <srdlab/lab.h>
#include "verbs/alloc.h"
#include "efa.h"
#include "softefa/lab.h"

static int read_counter(const char *folder, const char *name, uint64_t *value)
{
	char path[PATH_MAX];
	FILE *file;
	int n;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return ENOENT;
	file = fopen(path, "re");
	if (!file)
		return errno;
	n = fscanf(file, "%" SCNu64, value);
	fclose(file);
	return n == 1 ? 0 : EIO;
}

/* The counters of the port and of the device, under the names that the driver gives them
 * ("rdma_write_wrs", "retrans_bytes", ...). */
static int counter(struct hw *hw, struct srd_lab *command)
{
	static const char *const folders[] = {"ports/1/hw_counters", "hw_counters"};
	char path[PATH_MAX];
	int err = ENOENT;

	if (!command->name || !*command->name || strchr(command->name, '/'))
		return EINVAL;
	for (size_t i = 0; err == ENOENT && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", hw->ibv->device->ibdev_path, folders[i]);
		err = read_counter(path, command->name, &command->value);
	}
	return err;
}

static const struct srdlab_faults *find_faults(void)
{
	return dlsym(RTLD_DEFAULT, "srdlab_fault_calls");
}

const struct soft_lab_calls *hw_lab_calls(void)
{
	const struct soft_lab_calls *calls = dlsym(RTLD_DEFAULT, SOFT_LAB_CALLS);

	return calls && calls->profile_size == sizeof(struct srd_profile) && calls->offered()
		       ? calls
		       : NULL;
}

/* A call that came with it; libefa is linked, or in the program. */
static bool is_recent(void)
{
	return dlsym(RTLD_DEFAULT, "efadv_create_comp_cntr");
}

uint32_t hw_lab_can(void)
{
	return (find_faults() ? SRD_VERBS_CAN_FAULTS : 0) | (hw_lab_calls() ? HW_CAN_LAB : 0) |
	       (is_recent() ? SRD_VERBS_CAN_RDMA_CORE_65 : 0);
}

static uint64_t *sent_at(const struct hw_sent *sent, uint64_t number)
{
	return &sent->wr_id[number % ((uint64_t)HW_SENT + sent->depth)];
}

bool hw_sent_open(struct hw *hw, struct hw_sent *sent, uint32_t depth)
{
	if (!hw->faults || !depth)
		return true;
	sent->depth = depth;
	sent->wr_id = srd_calloc((size_t)HW_SENT + depth, sizeof(*sent->wr_id));
	return sent->wr_id;
}

void hw_sent_close(struct hw_sent *sent)
{
	srd_free(sent->wr_id);
}

/* More than the queue takes will not be posted, and must not cover those that were. */
void hw_sent_built(struct hw_sent *sent, uint64_t wr_id)
{
	if (sent->wr_id && sent->built < sent->depth)
		*sent_at(sent, sent->posted + sent->built++) = wr_id;
}

void hw_sent_done(struct hw_sent *sent, int result)
{
	if (!result)
		sent->posted += sent->built;
	sent->built = 0;
}

static uint64_t amount(const struct srd_lab *command)
{
	switch (command->kind) {
	case SRD_LAB_FAIL:
	case SRD_LAB_FAIL_RECEIVE:
		return command->status;
	case SRD_LAB_DELAY:
		return command->time;
	default:
		return command->value;
	}
}

/* Of the unfinished requests with its id the oldest; NEXT is the one to come. */
static int fault_by_id(const struct hw *hw, const struct hw_sent *sent, srdlab_request_t next,
		       const struct srd_lab *command)
{
	uint64_t back = sent->posted < HW_SENT ? sent->posted : HW_SENT;
	int err = ENOENT;

	for (; err == ENOENT && back; back--) {
		srdlab_request_t request = {next.qp, next.number - back};

		if (*sent_at(sent, sent->posted - back) == command->wr_id)
			err = hw->faults->fault(request, command->kind, amount(command));
	}
	return err;
}

static int fault(const struct hw *hw, const struct srd_lab *command, bool by_id)
{
	const struct hw_qp *qp;
	srdlab_request_t request;

	if (!hw->faults)
		return EOPNOTSUPP;
	if (!command->qp)
		return EINVAL;
	qp = HW_OF(hw_qp, command->qp);
	request = hw->faults->next(qp->ibv, 1);
	if (!request.qp)
		return EINVAL;
	if (by_id)
		return fault_by_id(hw, &qp->sent, request, command);
	request.number = command->ordinal;
	return hw->faults->fault(request, command->kind, amount(command));
}

/* On all devices of the command's host. */
static int on_host(const struct hw *hw, struct srd_lab *command)
{
	const uint32_t host = command->host;
	const bool one = command->kind == SRD_LAB_SET;
	uint64_t sum;
	int err;

	if ((one || command->kind == SRD_LAB_COUNTER) && !command->name)
		return EINVAL;
	err = hw->lab->command(command, 0);
	sum = command->value;
	for (uint32_t i = 0; !err && !one && i < hw->num_more; i++) {
		if (hw->more[i].host != host)
			continue;
		command->host = hw->lab->max_hosts - 1 - i;
		err = hw->lab->command(command, 0);
		sum += command->value;
	}
	command->host = host;
	command->value = sum;
	return err;
}

/* Of the requests with its id the oldest that the device has, or the one of that number. */
static int locate(const struct hw *hw, struct srd_lab *command)
{
	const uint64_t ordinal = command->ordinal;
	const struct hw_qp *qp;
	srdlab_request_t next;
	uint64_t back;
	int err = ENOENT;

	if (!command->qp)
		return EINVAL;
	qp = HW_OF(hw_qp, command->qp);
	next = hw->faults->next(qp->ibv, 1);
	if (!next.qp)
		return EINVAL;
	if (command->flags & SRD_LAB_BY_ORDINAL)
		return hw->lab->command(command, next.qp);
	back = qp->sent.posted < HW_SENT ? qp->sent.posted : HW_SENT;
	for (; err == ENOENT && back; back--) {
		if (*sent_at(&qp->sent, qp->sent.posted - back) != command->wr_id)
			continue;
		command->ordinal = next.number - back;
		err = hw->lab->command(command, next.qp);
	}
	command->ordinal = ordinal;
	return err;
}

static int lab(struct srd_verbs *verbs, struct srd_lab *command)
{
	struct hw *hw = to_hw(verbs);

	switch (command->kind) {
	case SRD_LAB_COUNTER:
		return hw->lab ? on_host(hw, command) : counter(hw, command);
	case SRD_LAB_SET:
	case SRD_LAB_KILL:
	case SRD_LAB_RESTART:
		return hw->lab ? on_host(hw, command) : EOPNOTSUPP;
	case SRD_LAB_LOCATE:
		return hw->lab ? locate(hw, command) : EOPNOTSUPP;
	case SRD_LAB_HOLD:
	case SRD_LAB_RELEASE:
	case SRD_LAB_FAIL:
	case SRD_LAB_DROP:
	case SRD_LAB_DUPLICATE:
	case SRD_LAB_DELAY:
	case SRD_LAB_NOT_READY:
		return fault(hw, command, !(command->flags & SRD_LAB_BY_ORDINAL));
	case SRD_LAB_QP_ERR:
	case SRD_LAB_STALE_CQE:
	case SRD_LAB_COMPLETE_ALL:
	case SRD_LAB_FAIL_RECEIVE:
		return fault(hw, command, false);
	default:
		return EOPNOTSUPP;
	}
}

void hw_lab_fill(struct srd_verbs *verbs)
{
	to_hw(verbs)->faults = verbs->can & SRD_VERBS_CAN_FAULTS ? find_faults() : NULL;
	verbs->lab = lab;
}
