/* SPDX-License-Identifier: MIT */
#include "decide.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "verbs/alloc.h"

#define MAX_DECISIONS 4194304
#define NAP           50000                 /* ns, until another look whose turn it is */
#define PATIENCE      UINT64_C(10000000000) /* real ns without progress */
#define EMPTY_POLLS   100000                /* more than there were, of the only thread */

static uint64_t real_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t log_size(uint32_t capacity)
{
	return sizeof(struct soft_decisions) +
	       (uint64_t)capacity * sizeof(struct srd_launch_decision);
}

static int map_log(const char *folder, int flags, uint64_t size)
{
	char path[192];
	void *at;
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/decisions", folder);
	fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (fd < 0)
		return -errno;
	if (flags && ftruncate(fd, (off_t)size))
		err = -errno;
	if (!flags)
		size = (uint64_t)lseek(fd, 0, SEEK_END);
	at = err ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED && !err)
		err = -errno;
	close(fd);
	if (!err)
		soft.decisions = at;
	return err;
}

int soft_decide_create(const char *folder, const struct srd_launch_log *log, bool replay)
{
	uint32_t capacity = replay ? (uint32_t)log->num : MAX_DECISIONS;
	int err = map_log(folder, O_CREAT | O_EXCL, log_size(capacity));
	struct soft_decisions *d = soft.decisions;

	if (err)
		return err;
	d->capacity = capacity;
	d->replay = replay;
	if (replay) {
		memcpy(d->list, log->list, log->num * sizeof(*log->list));
		d->num = (uint32_t)log->num;
		for (uint64_t i = 0; i < log->num; i++)
			d->several |= log->list[i].process > 1;
	}
	d->since = real_now();
	soft.group->decided = 1;
	__atomic_store_n(&d->mode, replay ? SOFT_REPLAYS : SOFT_RECORDS, __ATOMIC_RELEASE);
	return 0;
}

int soft_decide_attach(const char *folder)
{
	return soft.group->decided ? map_log(folder, 0, 0) : 0;
}

void soft_decide_detach(void)
{
	if (soft.decisions)
		munmap(soft.decisions, log_size(soft.decisions->capacity));
	soft.decisions = NULL;
}

static void complain(const char *text)
{
	soft.decisions->mode = SOFT_FREE_COURSE;
	soft.decisions->strays = soft.decisions->replay;
	if (!soft.group->complaint[0])
		snprintf(soft.group->complaint, sizeof(soft.group->complaint), "%s", text);
}

int soft_decide_finish(struct srd_launch_log *log)
{
	struct soft_decisions *d = soft.decisions;
	char text[160];

	/* What the supervisor did at the end is none of the program's doing. */
	while (d->next < d->num &&
	       (d->list[d->next].kind == SOFT_HELP || d->list[d->next].kind == SOFT_LEAVE))
		d->next++;
	if (d->replay) {
		if (d->mode == SOFT_REPLAYS && d->next < d->num && !d->next)
			complain("the replay did not begin: no process of the program used a "
				 "device");
		else if (d->mode == SOFT_REPLAYS && d->next < d->num) {
			snprintf(text, sizeof(text),
				 "the replay ends at decision %u of %u: the program did less than "
				 "it did then",
				 d->next + 1, d->num);
			complain(text);
		}
		log->followed = !d->strays;
		return 0;
	}
	d->mode = SOFT_FREE_COURSE;
	log->list = srd_calloc((size_t)d->num + 1, sizeof(*log->list));
	if (!log->list)
		return -ENOMEM;
	log->num = d->num;
	memcpy(log->list, d->list, (size_t)d->num * sizeof(*log->list));
	return 0;
}

static void append(struct soft_decisions *d)
{
	if (d->num == d->capacity) {
		complain("the decision log is full: what came later cannot be replayed");
		return;
	}
	d->now.polls = __atomic_exchange_n(&d->polls, 0, __ATOMIC_RELAXED);
	d->list[d->num++] = d->now;
}

static uint16_t number(void)
{
	return soft.process ? soft.group->process[soft.process].number : 0;
}

static void begin(struct soft_decisions *d, enum soft_section kind, uint32_t object)
{
	d->now = (struct srd_launch_decision){
		.kind = (uint8_t)kind, .process = number(), .object = object};
}

/* The next entry is what happens now. */
static void take(struct soft_decisions *d)
{
	d->now = d->list[d->next++];
	d->left = d->now.kind == SOFT_FOUND ? 0 : d->now.events;
	d->since = real_now();
	__atomic_store_n(&d->polls, 0, __ATOMIC_RELAXED);
}

/* "process 1 posts to queue pair 7" */
static void say_section(const struct srd_launch_decision *at, char *text, size_t size)
{
	static const char *const words[] = {
		[SOFT_ENTER] = "opens its first device",
		[SOFT_LEAVE] = "finds the end of process",
		[SOFT_COMMAND] = "makes the kernel's call",
		[SOFT_POST] = "posts to queue pair",
		[SOFT_REQUEST_EVENT] = "asks for an event of completion queue",
		[SOFT_POLL] = "polls completion queue",
		[SOFT_FOUND] = "finds something in completion queue",
		[SOFT_HELP] = "moves the device",
	};
	const char *what = at->kind <= SOFT_HELP && at->kind ? words[at->kind] : "does nothing";
	char who[24] = "the supervisor", object[24] = "";

	if (at->process)
		snprintf(who, sizeof(who), "process %u", at->process);
	if (at->kind == SOFT_COMMAND)
		snprintf(object, sizeof(object), " %u/%u", at->object >> 16, at->object & 0xffff);
	else if (at->object)
		snprintf(object, sizeof(object), " %u", at->object);
	snprintf(text, size, "%s %s%s", who, what, object);
}

/* What happens is something else than what happened. */
static void diverge(struct soft_decisions *d, const struct srd_launch_decision *now)
{
	char text[256], was[90], is[90];

	say_section(now, is, sizeof(is));
	if (d->next == d->num) {
		snprintf(text, sizeof(text),
			 "the replay leaves its log, which ends with decision %u: now %s", d->num,
			 is);
	} else {
		say_section(&d->list[d->next], was, sizeof(was));
		snprintf(text, sizeof(text),
			 "the replay leaves its log at decision %u of %u: then %s, now %s",
			 d->next + 1, d->num, was, is);
	}
	complain(text);
}

static bool is(const struct soft_decisions *d, const struct srd_launch_decision *what)
{
	const struct srd_launch_decision *at = &d->list[d->next];

	return d->next < d->num && at->kind == what->kind && at->object == what->object &&
	       at->process == what->process;
}

/* Whether what is next was done by this process, which has this thread only: nobody else can. */
static bool alone(const struct soft_decisions *d)
{
	struct stat st;

	return (!d->several || (number() && d->list[d->next].process == number())) &&
	       !stat("/proc/self/task", &st) && st.st_nlink == 3;
}

static bool enough_polls(const struct soft_decisions *d)
{
	return d->several || __atomic_load_n(&d->polls, __ATOMIC_RELAXED) >= d->list[d->next].polls;
}

/* Do what the supervisor did here. */
static void help(struct soft_decisions *d)
{
	while (d->mode == SOFT_REPLAYS && d->next < d->num && d->list[d->next].kind == SOFT_HELP &&
	       enough_polls(d)) {
		take(d);
		soft_raw_doorbells();
		soft_run(NULL);
	}
}

static void nap(void)
{
	struct timespec time = {0, NAP};

	nanosleep(&time, NULL);
}

int soft_turn_wait(enum soft_section kind, uint32_t object)
{
	struct soft_decisions *d = soft.decisions;
	struct srd_launch_decision mine = {
		.kind = (uint8_t)kind, .process = number(), .object = object};
	int err;

	for (;;) {
		if (kind == SOFT_ENTER)
			mine.process = (uint16_t)(soft.group->entered + 1);
		/* What was waited for came before this, however often was polled for it. */
		if (d->mode == SOFT_REPLAYS && d->next < d->num &&
		    d->list[d->next].kind == SOFT_HELP)
			__atomic_store_n(&d->polls, UINT32_MAX / 2, __ATOMIC_RELAXED);
		help(d);
		if (d->mode != SOFT_REPLAYS)
			break;
		if (is(d, &mine)) {
			take(d);
			return 0;
		}
		if (d->next == d->num || alone(d) || real_now() - d->since > PATIENCE) {
			diverge(d, &mine);
			break;
		}
		soft_unlock();
		nap();
		err = soft_lock();
		if (err)
			return err;
	}
	begin(d, kind, object);
	d->now.process = mine.process;
	return 0;
}

void soft_turn_end(void)
{
	struct soft_decisions *d = soft.decisions;
	bool moves = d->now.kind == SOFT_POLL || d->now.kind == SOFT_HELP;

	if (d->mode == SOFT_REPLAYS && d->left)
		soft_run(NULL);
	if (d->mode == SOFT_RECORDS && (!moves || d->now.events))
		append(d);
	d->now.kind = SOFT_NO_SECTION;
	__atomic_store_n(&d->helping, 0, __ATOMIC_SEQ_CST);
}

/* The program polls where the log has something else next; whether it is out of turn for good. */
static bool polls_on(struct soft_decisions *d, const struct srd_launch_decision *poll)
{
	uint32_t polls = __atomic_load_n(&d->polls, __ATOMIC_RELAXED);

	if (real_now() - d->since <= PATIENCE &&
	    (polls <= d->list[d->next].polls + EMPTY_POLLS || !alone(d)))
		return false;
	diverge(d, poll);
	return true;
}

bool soft_turn_poll(uint32_t cq)
{
	struct soft_decisions *d = soft.decisions;
	struct srd_launch_decision mine = {.kind = SOFT_POLL, .process = number(), .object = cq};

	if (d->mode == SOFT_REPLAYS && d->next < d->num) {
		if (!is(d, &mine) || !enough_polls(d))
			return false;
		take(d);
		return true;
	}
	begin(d, SOFT_POLL, cq);
	return true;
}

/* Whether it finds something, or may move the device. */
static bool finds(struct soft_decisions *d, uint32_t cq, int *num)
{
	struct srd_launch_decision mine = {.kind = SOFT_POLL, .process = number(), .object = cq};
	int found;

	if (d->mode != SOFT_REPLAYS)
		return true;
	if (d->next == d->num) {
		/* What is under way when a program ends is not waited for. */
		d->mode = SOFT_FREE_COURSE;
		return true;
	}
	if (is(d, &mine) && enough_polls(d))
		return true;
	if (polls_on(d, &mine))
		return true;
	mine.kind = SOFT_FOUND;
	if (!is(d, &mine) || !enough_polls(d))
		return false;
	take(d);
	found = (int)(d->now.events & INT32_MAX);
	if (found && found < *num)
		*num = found;
	return true;
}

bool soft_poll_turn(uint32_t cq, int *num)
{
	struct soft_decisions *d = soft.decisions;
	uint32_t *polling = &soft.group->process[soft.process].polling;
	bool may = true;

	__atomic_add_fetch(polling, 1, __ATOMIC_SEQ_CST);
	/* The supervisor holds the lock while it helps, and does not begin while we poll. */
	if ((__atomic_load_n(&d->helping, __ATOMIC_SEQ_CST) || soft_decides() == SOFT_REPLAYS) &&
	    !soft_lock()) {
		help(d);
		__atomic_add_fetch(&d->polls, 1, __ATOMIC_RELAXED);
		may = finds(d, cq, num);
		soft_unlock();
	} else {
		__atomic_add_fetch(&d->polls, 1, __ATOMIC_RELAXED);
	}
	return may;
}

void soft_poll_tell(uint32_t cq, int num)
{
	struct soft_decisions *d = soft.decisions;

	if (soft_lock())
		return;
	begin(d, SOFT_FOUND, cq);
	d->now.events = (uint32_t)num;
	if (d->mode == SOFT_RECORDS)
		append(d);
	soft_unlock();
}

void soft_poll_over(void)
{
	__atomic_sub_fetch(&soft.group->process[soft.process].polling, 1, __ATOMIC_SEQ_CST);
}

static bool anybody_polls(void)
{
	for (uint32_t i = 1; i < SOFT_MAX_PROCESSES; i++)
		if (soft.group->process[i].pid &&
		    __atomic_load_n(&soft.group->process[i].polling, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

bool soft_may_help(void)
{
	struct soft_decisions *d = soft.decisions;
	bool may;

	if (!soft_decides())
		return true;
	__atomic_store_n(&d->helping, 1, __ATOMIC_SEQ_CST);
	may = !anybody_polls();
	if (may && d->mode == SOFT_REPLAYS) {
		help(d);
		may = false;
	}
	if (may)
		begin(d, SOFT_HELP, 0);
	else
		__atomic_store_n(&d->helping, 0, __ATOMIC_SEQ_CST);
	return may;
}

bool soft_may_bury(uint32_t process)
{
	struct soft_decisions *d = soft.decisions;
	struct srd_launch_decision mine = {.kind = SOFT_LEAVE,
					   .object = soft.group->process[process].number};

	if (soft_decides() != SOFT_REPLAYS) {
		if (soft.decisions)
			begin(d, SOFT_LEAVE, mine.object);
		return true;
	}
	help(d);
	if (d->mode == SOFT_REPLAYS && !is(d, &mine))
		return false;
	if (d->mode == SOFT_REPLAYS)
		take(d);
	return true;
}

void soft_events_lack(void)
{
	struct soft_decisions *d = soft.decisions;
	char text[160];

	snprintf(text, sizeof(text),
		 "the replay leaves its log at decision %u of %u: nothing is left that the device "
		 "could do",
		 d->next, d->num);
	complain(text);
}
