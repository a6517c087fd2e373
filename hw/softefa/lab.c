/* SPDX-License-Identifier: MIT */
#include "lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "engine.h"
#include "files.h"
#include "group.h"
#include "names.h"
#include "verbs/profile.h"

/* Whether the device is as somebody's begin made it. */
static bool begun;

static bool offered(void)
{
	const struct soft_group *g;

	const char *first = getenv(SOFT_ENV_FIRST_HOST);

	if (!getenv(SOFT_ENV_FOLDER) || !first || atol(first) || soft_attach())
		return false;
	g = soft.group;
	return g->clock == SOFT_CLOCK_CALLED && !g->recorded && !g->decided && !g->script.wanted;
}

static bool in_use(void)
{
	for (int i = 0; i < SOFT_MAX_CONTEXTS; i++)
		if (soft.group->context[i].file)
			return true;
	return false;
}

/* What the program's libefa is, the device cannot be. */
static int check(const struct srd_profile *p, struct srd_error *error)
{
	const struct {
		bool wanted;
		const char *what;
	} lacks[] = {
		{p->transport != SRD_PROFILE_TRANSPORT_SRD, "reliable connections"},
		{p->stale_check != SRD_PROFILE_STALE_CHECK_GENERATION, "say in stale_check"},
		{p->read_opcode != SRD_PROFILE_READ_OPCODE_SEND, "say in read_opcode"},
		/* Of slots that a reset has freed already: libefa writes beside its table of them. */
		{p->flush_on_reset, "flushes of a reset that libefa would survive"},
		/* By its phase libefa takes an entry that was written over for none. */
		{p->cq_overrun == SRD_PROFILE_CQ_OVERRUN_OVERWRITE_OLDEST,
		 "entries that could be polled where others were overwritten"},
	};

	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		if (lacks[i].wanted)
			return srd_error_set(error, EOPNOTSUPP,
					     "profile %s: the software device has no %s", p->name,
					     lacks[i].what);
	return 0;
}

/* Fields that are as in efa1 nobody asked for: they stay as srdlab exec said. */
static void lay_over(struct srd_profile *profile)
{
	const struct srd_profile *plain = srd_profile_find("efa1");

	for (int i = 0; i < SRD_NUM_PROFILE_FIELDS; i++) {
		const struct srd_profile_field *field = &srd_profile_fields[i];
		uint8_t *at = (uint8_t *)profile + field->offset;

		if (!memcmp(at, (const uint8_t *)plain + field->offset, field->size))
			memcpy(at, (const uint8_t *)&soft.group->launched + field->offset,
			       field->size);
	}
}

static int begin_locked(struct srd_profile *profile, uint64_t seed, bool every_order,
			struct srd_error *error)
{
	int err;

	lay_over(profile);
	/* Orders are those of messages, whatever a profile says: src/lua/run.c. */
	if (every_order)
		profile->level = SRD_PROFILE_LEVEL_MESSAGE;
	err = check(profile, error);
	if (err)
		return err;
	if (srd_profile_check(profile, error))
		return EOPNOTSUPP;
	if (in_use())
		return srd_error_set(error, EBUSY, "somebody else has a device of this group open");
	err = srd_model_reset(&soft.model, profile, seed);
	if (err)
		return srd_error_set(error, err,
				     "profile %s needs a larger device: srdlab exec --profile",
				     profile->name);
	begun = true;
	return 0;
}

static int begin(const struct srd_profile *wanted, uint64_t seed, struct srd_chooser *chooser,
		 struct srd_error *error)
{
	struct srd_profile profile = *wanted;
	int err = soft_lock();

	if (err)
		return srd_error_set(error, err, "the device is broken");
	err = begin_locked(&profile, seed, chooser, error);
	if (!err) {
		soft_engine_pace(true);
		soft.model.chooser = chooser;
	}
	soft_unlock();
	return err;
}

static void tell(struct srd_stream *stream)
{
	if (soft_lock())
		return;
	if (stream)
		stream->now = srd_model_now(&soft.model);
	soft.model.stream = stream;
	soft_unlock();
}

static void end(void)
{
	if (soft_lock())
		return;
	soft.model.stream = NULL;
	soft.model.chooser = NULL;
	soft_engine_pace(false);
	/* It stays as it is where somebody else uses it. */
	if (begun && !in_use() && !srd_model_reset(&soft.model, &soft.group->launched, 1))
		begun = false;
	soft_unlock();
}

static uint64_t now(void)
{
	uint64_t time;

	if (soft_lock())
		return 0;
	time = srd_model_now(&soft.model);
	soft_unlock();
	return time;
}

static int wait_for_arrival(uint64_t *seen, uint64_t deadline)
{
	int err = soft_lock();

	if (err)
		return err;
	soft_raw_doorbells();
	err = srd_model_wait(&soft.model, seen, deadline);
	soft_unlock();
	return err;
}

static void next_device(uint32_t host)
{
	soft_device_next(host);
}

/* Where it is in the device; what is not there any more has no place to tell of. */
static int locate(const struct soft_object *qp, struct srd_lab *command)
{
	struct srd_request *r;

	if (!qp)
		return EINVAL;
	command->place = SRD_PLACE_UNKNOWN;
	command->why = SRD_WHY_NONE;
	command->status = command->peer_qpn = 0;
	r = soft_request_numbered(qp, command->ordinal);
	if (r)
		srd_model_request_locate(&soft.model, r, command);
	return command->place == SRD_PLACE_UNKNOWN ? ENOENT : 0;
}

static int command_locked(struct srd_lab *command, uint64_t qp)
{
	switch (command->kind) {
	case SRD_LAB_SET:
		return srd_model_set(&soft.model, command->name, command->value);
	case SRD_LAB_COUNTER:
		return srd_model_counter(&soft.model, command->host, command->name,
					 &command->value);
	case SRD_LAB_KILL:
	case SRD_LAB_RESTART:
		return srd_model_host_fault(&soft.model, command->host, command->kind);
	case SRD_LAB_LOCATE:
		return locate(soft_qp_named(qp), command);
	default:
		return EOPNOTSUPP;
	}
}

static int command(struct srd_lab *command, uint64_t qp)
{
	int err = soft_lock();

	if (err)
		return err;
	err = command_locked(command, qp);
	soft_unlock();
	return err;
}

__attribute__((visibility("default"))) extern const struct soft_lab_calls srdlab_lab_calls;
const struct soft_lab_calls srdlab_lab_calls = {
	.profile_size = sizeof(struct srd_profile),
	.offered = offered,
	.begin = begin,
	.tell = tell,
	.end = end,
	.now = now,
	.wait = wait_for_arrival,
	.next_device = next_device,
	.max_hosts = SRD_MODEL_MAX_HOSTS,
	.command = command,
};
