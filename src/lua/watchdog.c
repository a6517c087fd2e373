/* SPDX-License-Identifier: MIT */
/*
 * The wall-clock limit. A hook that counts instructions would cost every scenario more
 * than half of its speed, so none stands: a timer of the thread sends it a signal, whose
 * handler sets the hook that raises the error. lua_sethook is made to be called so.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"
#include "state.h"

#define WATCHDOG_SIGNAL (SIGRTMIN + 4)

static _Thread_local struct srd_lua *volatile watched;
static _Thread_local timer_t timer;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int install_error;

static uint64_t monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int srd_watchdog_raise(lua_State *L)
{
	struct srd_lua *lua = srd_lua_of(L);

	srd_raise(L, "out of time: %s ran longer than %d ms of wall time",
		  lua->steer ? "the script" : "the scenario", (int)(lua->time_limit / 1000000));
}

static void hook(lua_State *L, lua_Debug *ar)
{
	srd_watchdog_raise(L);
}

void srd_watchdog_interrupt(lua_State *co)
{
	lua_sethook(co, hook, LUA_MASKCOUNT, 1);
}

/* ns after the limit within which every script has stopped, unless no hook is ever called. */
#define GRACE UINT64_C(2000000000)

void (*srd_watchdog_stuck)(int line, const char *what);

/* What the script that CO runs is busy with, into TEXT. In a handler, as the line is. */
static void describe(lua_State *co, char *text, size_t size)
{
	lua_Debug ar;

	if (!lua_getstack(co, 0, &ar) || !lua_getinfo(co, "Sn", &ar))
		snprintf(text, size, "does what cannot be interrupted");
	else if (*ar.what != 'C' || (ar.name && strstr(ar.name, "pcall")))
		/* The hook raises its error at every instruction, and is caught each time. */
		snprintf(text, size,
			 "catches each error, the end of its time too, in calls of pcall within "
			 "one another");
	else if (!ar.name)
		snprintf(text, size, "calls into a library, which does not come back");
	else
		snprintf(text, size, "calls %.40s, which does not come back", ar.name);
}

/* The signal of a timer that was deleted may still be under way: look at the clock. */
static void expired(int number, siginfo_t *info, void *context)
{
	struct srd_lua *lua = watched;
	uint64_t now = monotonic();
	int saved = errno;
	char what[SRD_STUCK_TEXT];

	if (lua && now >= lua->deadline) {
		lua->out_of_time = 1;
		if (lua->running)
			srd_watchdog_interrupt(lua->running);
		if (now >= lua->deadline + GRACE && lua->running && srd_watchdog_stuck) {
			describe(lua->running, what, sizeof(what));
			srd_watchdog_stuck(srd_lua_error_line(lua->running), what);
		}
	}
	errno = saved;
}

void srd_watchdog_expire(void)
{
	struct srd_lua *lua = watched;
	struct itimerspec at_once = {.it_value = {.tv_nsec = 1},
				     .it_interval = {.tv_nsec = 10000000}};

	if (!lua)
		return;
	lua->deadline = monotonic();
	timer_settime(timer, 0, &at_once, NULL);
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = expired, .sa_flags = SA_SIGINFO | SA_RESTART};

	install_error = sigaction(WATCHDOG_SIGNAL, &action, NULL) ? errno : 0;
}

/* It goes on every 10 ms, since the script may have changed to another coroutine. */
int srd_watchdog_start(struct srd_lua *lua, uint64_t time_limit)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = WATCHDOG_SIGNAL,
		._sigev_un._tid = gettid(),
	};
	struct itimerspec when = {.it_interval = {.tv_nsec = 10000000}};

	pthread_once(&once, install);
	if (install_error)
		return -install_error;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -errno;
	lua->time_limit = time_limit ? time_limit : SRD_LUA_TIME_LIMIT;
	lua->deadline = monotonic() + lua->time_limit;
	watched = lua;
	when.it_value.tv_sec = (time_t)(lua->time_limit / 1000000000);
	when.it_value.tv_nsec = (long)(lua->time_limit % 1000000000);
	timer_settime(timer, 0, &when, NULL);
	return 0;
}

void srd_watchdog_stop(struct srd_lua *lua)
{
	if (watched != lua)
		return;
	watched = NULL;
	timer_delete(timer);
}
