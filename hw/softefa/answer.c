/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "ask.h"
#include "engine.h"

static struct server {
	const struct srd_launch_script *script;
	pthread_t thread;
	bool started;
	uint32_t failed;
	uint32_t ending;
	uint32_t round;    /* the last that was answered */
	uint32_t commands; /* ever */
} server;

/* Once the round is another one, whoever asked is dead, or was answered. */
static bool is_over(const struct soft_script *s)
{
	return __atomic_load_n(&s->round, __ATOMIC_ACQUIRE) != server.round;
}

static void tell(struct soft_script *s, bool is_command)
{
	s->is_command = is_command;
	s->told_round = server.round;
	soft_ask_wake(&s->told);
}

/* The process that asked has carried out the last command. */
static bool is_done(const struct soft_script *s)
{
	return __atomic_load_n(&s->done, __ATOMIC_ACQUIRE) == server.commands;
}

/* Sleep until READY says so; false: nobody is asked any more. */
static bool await(struct soft_script *s, bool (*ready)(const struct soft_script *s))
{
	for (;;) {
		uint32_t asked = __atomic_load_n(&s->asked, __ATOMIC_ACQUIRE);

		if (ready(s))
			return true;
		if (__atomic_load_n(&server.ending, __ATOMIC_ACQUIRE))
			return false;
		soft_ask_sleep(&s->asked, asked);
	}
}

static bool is_done_or_over(const struct soft_script *s)
{
	return is_done(s) || is_over(s);
}

static int command(void *context, struct srd_launch_command *c)
{
	struct soft_script *s = &soft.group->script;

	if (is_over(s))
		return ECANCELED;
	s->command = *c;
	s->number = ++server.commands;
	tell(s, true);
	if (!await(s, is_done_or_over) || !is_done(s))
		return ECANCELED;
	*c = s->command;
	return s->result;
}

static void answer(struct soft_script *s)
{
	static const struct srd_launch_device device = {
		.command = command,
		.counter_name = srd_model_counter_name,
	};
	struct srd_launch_moment moment;
	uint64_t alarm = 0;

	do {
		server.round = __atomic_load_n(&s->round, __ATOMIC_ACQUIRE);
		moment = s->moment;
	} while (is_over(s));
	if (!__atomic_load_n(&s->wanted, __ATOMIC_RELAXED))
		return;
	if (server.script->moment(server.script->context, &moment, &device, &alarm)) {
		__atomic_store_n(&s->wanted, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&server.failed, 1, __ATOMIC_RELAXED);
		soft_supervisor_wake();
		alarm = 0;
	}
	if (is_over(s))
		return;
	s->alarm = alarm;
	tell(s, false);
}

static void *serve(void *unused)
{
	struct soft_script *s = &soft.group->script;

	while (await(s, is_over))
		answer(s);
	return NULL;
}

/* The supervisor's signals are for its own thread; that of a script's clock is for this one. */
static void without_signals(sigset_t *before)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

void soft_answer_prepare(const struct srd_launch_script *script)
{
	struct soft_script *s = &soft.group->script;

	server = (struct server){.script = script};
	s->server = (int32_t)getpid();
	s->alarm = script->alarm;
	s->wanted = script->wanted | 1u << SRD_LAUNCH_TIME;
}

int soft_answer_start(void)
{
	sigset_t before;
	int err;

	without_signals(&before);
	err = pthread_create(&server.thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	server.started = !err;
	return -err;
}

bool soft_answer_failed(void)
{
	return __atomic_load_n(&server.failed, __ATOMIC_RELAXED);
}

void soft_answer_end(void)
{
	__atomic_store_n(&soft.group->script.wanted, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&server.ending, 1, __ATOMIC_RELEASE);
	soft_ask_wake(&soft.group->script.asked);
	if (server.started)
		pthread_join(server.thread, NULL);
}
