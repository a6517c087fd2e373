/* SPDX-License-Identifier: MIT */
#include "ask.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "hold.h"

#define PAUSE 100000000 /* ns, until a look whether the other side is there still */

void soft_ask_sleep(uint32_t *word, uint32_t seen)
{
	struct timespec time = {0, PAUSE};

	syscall(SYS_futex, word, FUTEX_WAIT, seen, &time, NULL, 0);
}

void soft_ask_wake(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

struct soft_object *soft_qp_named(uint64_t name)
{
	uint32_t handle = (uint32_t)name;
	struct soft_object *qp = soft_object(handle < SOFT_MAX_OBJECTS ? handle : 0);

	return qp->kind == SOFT_QP && soft_qp_name(qp) == name ? qp : NULL;
}

struct srd_request *soft_request_numbered(const struct soft_object *qp, uint64_t ordinal)
{
	struct srd_request *r = NULL;

	while ((r = srd_model_request_next(&soft.model, qp->model, r)))
		if (r->ordinal == ordinal)
			break;
	return r;
}

/* Whether it is the one that a script is asked about: the device has it, and did nothing yet. */
static bool is_asked_about(const struct srd_launch_command *command)
{
	const struct srd_launch_moment *m = &soft.group->script.moment;

	return m->what == SRD_LAUNCH_REQUEST && m->qp == command->qp &&
	       m->ordinal == command->ordinal;
}

static int locate(const struct soft_object *qp, struct srd_launch_command *command)
{
	struct srd_lab lab = {.kind = SRD_LAB_LOCATE};
	struct srd_request *r;

	if (command->ordinal >= srd_model_qp_posted(&soft.model, qp->model)) {
		command->place = is_asked_about(command) ? SRD_PLACE_SEND_QUEUE : SRD_PLACE_UNKNOWN;
		return 0;
	}
	r = soft_request_numbered(qp, command->ordinal);
	if (r)
		srd_model_request_locate(&soft.model, r, &lab);
	command->place = r ? lab.place : SRD_PLACE_COMPLETED;
	return 0;
}

/*
 * libefa before rdma-core 65 gives a request's place free once more when its completion comes twice,
 * and writes beside its table of them. Of a libefa that is linked statically nothing is known.
 */
static void warn_of_duplicates(void)
{
	void *libefa = dlopen("libefa.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!libefa)
		return;
	if (!dlsym(libefa, "efadv_create_comp_cntr") && !soft.group->complaint[0])
		snprintf(soft.group->complaint, sizeof(soft.group->complaint),
			 "a completion is to come twice, and the libefa here is older than that of "
			 "rdma-core 65: it writes beside its memory then");
	dlclose(libefa);
}

/* A command about a queue pair, or a request of it. */
static int on_queue_pair(struct srd_launch_command *command)
{
	struct soft_object *qp = soft_qp_named(command->qp);
	struct srd_lab lab = {
		.kind = (enum srd_lab_kind)command->kind,
		.flags = SRD_LAB_BY_ORDINAL,
		.ordinal = command->ordinal,
		.status = command->status,
		.time = command->time,
		.value = command->value,
	};
	int err;

	if (!qp)
		return ESTALE;
	switch (lab.kind) {
	case SRD_LAB_LOCATE:
		return locate(qp, command);
	case SRD_LAB_QP_ERR:
	case SRD_LAB_STALE_CQE:
	case SRD_LAB_COMPLETE_ALL:
		return srd_model_qp_fault(&soft.model, qp->model, lab.kind);
	case SRD_LAB_FAIL_RECEIVE:
		return srd_model_recv_fault(&soft.model, qp->model, command->ordinal,
					    command->status);
	default:
		err = srd_model_request_fault(&soft.model, qp->model, NULL, &lab);
		if (!err && lab.kind == SRD_LAB_DUPLICATE)
			warn_of_duplicates();
		return err;
	}
}

int soft_lab(struct srd_launch_command *command)
{
	command->name[sizeof(command->name) - 1] = '\0';
	switch (command->kind) {
	case SRD_LAB_KILL:
	case SRD_LAB_RESTART:
		return srd_model_host_fault(&soft.model, command->host,
					    (enum srd_lab_kind)command->kind);
	case SRD_LAB_SET:
		return srd_model_set(&soft.model, command->name, command->value);
	case SRD_LAB_COUNTER:
		return srd_model_counter(&soft.model, command->host, command->name,
					 &command->value);
	default:
		return on_queue_pair(command);
	}
}

/* False: nobody answers any more. */
static bool still_served(struct soft_script *s)
{
	if (!__atomic_load_n(&s->wanted, __ATOMIC_RELAXED))
		return false;
	/* Its number means nothing in another PID namespace. */
	if (!kill(s->server, 0) || errno != ESRCH || soft_held(soft.folder, SOFT_FIRST))
		return true;
	__atomic_store_n(&s->wanted, 0, __ATOMIC_RELAXED);
	return false;
}

/* The next message of this round; false: none will come. */
static bool hear(struct soft_script *s, uint32_t *seen, uint32_t round)
{
	for (;;) {
		uint32_t told = __atomic_load_n(&s->told, __ATOMIC_ACQUIRE);

		if (told == *seen) {
			soft_ask_sleep(&s->told, *seen);
			if (__atomic_load_n(&s->told, __ATOMIC_ACQUIRE) == *seen &&
			    !still_served(s))
				return false;
			continue;
		}
		*seen = told;
		/* Else it was for one who died while it waited. */
		if (s->told_round == round)
			return true;
	}
}

static void ask(struct srd_launch_moment *moment)
{
	struct soft_script *s = &soft.group->script;
	uint32_t seen = __atomic_load_n(&s->told, __ATOMIC_ACQUIRE), round = s->round + 1;

	moment->now = srd_model_now(&soft.model);
	s->moment = *moment;
	__atomic_store_n(&s->round, round, __ATOMIC_RELEASE);
	soft_ask_wake(&s->asked);
	while (hear(s, &seen, round) && s->is_command) {
		s->result = soft_lab(&s->command);
		__atomic_store_n(&s->done, s->number, __ATOMIC_RELEASE);
		soft_ask_wake(&s->asked);
	}
}

static int32_t pid_of(uint32_t process)
{
	return soft.group->process[process].pid;
}

void soft_ask_device(uint32_t host)
{
	struct srd_launch_moment moment = {
		.what = SRD_LAUNCH_DEVICE,
		.pid = pid_of(soft.process),
		.host = host,
	};

	if (soft_asks(SRD_LAUNCH_DEVICE))
		ask(&moment);
}

static struct srd_launch_moment about(enum srd_launch_what what, const struct soft_object *qp)
{
	return (struct srd_launch_moment){
		.what = what,
		.pid = pid_of(qp->process),
		.host = soft_object_host(qp),
		.qp = soft_qp_name(qp),
		.qp_num = qp->qp.qpn,
	};
}

void soft_ask_queue_pair(const struct soft_object *qp)
{
	struct srd_launch_moment moment;

	if (!soft_asks(SRD_LAUNCH_QUEUE_PAIR))
		return;
	moment = about(SRD_LAUNCH_QUEUE_PAIR, qp);
	ask(&moment);
}

void soft_ask_request(const struct soft_object *qp, const struct srd_request *r)
{
	struct srd_launch_moment moment;

	if (!soft_asks(SRD_LAUNCH_REQUEST))
		return;
	moment = about(SRD_LAUNCH_REQUEST, qp);
	moment.ordinal = srd_model_qp_posted(&soft.model, qp->model);
	moment.opcode = r->opcode;
	moment.length = r->is_inline ? r->inline_length : 0;
	for (int i = 0; i < r->num_sge; i++)
		moment.length += r->sge[i].length;
	moment.local_addr = r->num_sge ? r->sge[0].addr : 0;
	moment.remote_addr = r->remote_addr;
	moment.imm_data = r->imm_data;
	moment.remote_qpn = r->dest_qpn;
	ask(&moment);
}

void soft_ask_time(void)
{
	struct srd_launch_moment moment = {.what = SRD_LAUNCH_TIME};

	soft.group->script.alarm = 0;
	if (soft_asks(SRD_LAUNCH_TIME))
		ask(&moment);
}
