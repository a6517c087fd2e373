/* SPDX-License-Identifier: MIT */
/*
 * The software device as a verbs program meets it: run under `srdlab exec`, by device.sh.
 * Each figure is the median of several runs and stands beside what the same bytes cost
 * without a device. Rates are of processor time, so that what else runs on the machine
 * counts less; latencies are of single round trips, of which a busy machine lets at least
 * the median be.
 * usage: device           under srdlab exec
 *        device law       the same with rules on: what these can change; beside the program's
 *                         time stands that of srdlab exec, which judges on another processor: the
 *                         slower of the two is what counts
 *        device trap      without: a store that faults, and the return from its handler
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../conformance/end.h"
#include "bench.h"

#define WINDOW  END_DEPTH
#define RUNS    5
#define SMALL   64u
#define LARGE   (1u << 20)
#define MEMORY  (2 * LARGE)
#define HOPS    20000u
#define TIMEOUT 20    /* s, for what the other process does */
#define AFTER   20000 /* us, in which what is left of a run is judged */

/* What one end tells the other, in memory that both map; and what they play with. */
struct side {
	struct end_name name;
	volatile uint32_t go; /* which game; the other end leaves it when it is 0 */
	volatile uint64_t ball[SMALL / 8];
	uint8_t pad[64];
};

enum game { NONE, FLAGS, WRITES };

static struct side *sides;
static struct end end;
static bool law;
static clockid_t judge; /* the processor time of `srdlab exec` */

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double wall(void)
{
	return now(CLOCK_MONOTONIC);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static void open_end(struct side *self)
{
	void *memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	bench_check(memory != MAP_FAILED);
	memset(memory, 0, MEMORY);
	end_open(&end, memory, MEMORY);
	end_name(&end, &self->name);
}

static uint32_t poll(void)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(end.cq, 16, wc);

	bench_check(n >= 0);
	for (int i = 0; i < n; i++)
		bench_check(wc[i].status == IBV_WC_SUCCESS);
	return (uint32_t)n;
}

/* Seconds each of COUNT requests, a window of them, BATCH to a doorbell. */
static double stream(const struct side *to, uint32_t count, uint32_t window, uint32_t batch,
		     uint32_t length)
{
	uint32_t posted = 0, done = 0;
	double start = bench_now();

	while (done < count) {
		while (posted < count && posted - done + batch <= window) {
			end_post(&end, &to->name, end.writes, batch, LARGE, length);
			posted += batch;
		}
		done += poll();
	}
	return (bench_now() - start) / count;
}

/* The first words of a line. */
static void name(const char *what)
{
	printf("%s%-*s ", law ? "law: " : "", law ? 47 : 52, what);
}

static void report(const char *what, const struct side *to, uint32_t count, uint32_t window,
		   uint32_t batch, uint32_t length)
{
	double runs[RUNS], judged[RUNS];
	double each;

	stream(to, count / 10, window, batch, length);
	for (int i = 0; i < RUNS; i++) {
		judged[i] = now(judge);
		runs[i] = stream(to, count, window, batch, length);
		if (law)
			usleep(AFTER);
		judged[i] = (now(judge) - judged[i]) / count;
	}
	each = median(runs, RUNS);
	name(what);
	printf("%8.3f M/s %8.1f ns", 1e-6 / each, each * 1e9);
	if (law)
		printf(", judged in %.1f ns", median(judged, RUNS) * 1e9);
	if (length >= LARGE)
		printf("  %5.1f GB/s", length / each / 1e9);
	printf("\n");
	fflush(stdout);
}

/* The kernel copies LENGTH bytes to the other process; seconds each. */
static double copy_each(pid_t peer, const struct side *to, uint32_t length, uint32_t count)
{
	struct iovec here = {end.memory + LARGE, length};
	struct iovec there = {(void *)(uintptr_t)to->name.addr, length};
	double runs[RUNS];

	for (int i = 0; i < RUNS; i++) {
		double start = bench_now();

		for (uint32_t k = 0; k < count; k++)
			if (process_vm_writev(peer, &here, 1, &there, 1, 0) != (ssize_t)length)
				return 0;
		runs[i] = (bench_now() - start) / count;
	}
	return median(runs, RUNS);
}

static void report_copies(pid_t peer, const struct side *to)
{
	double small = copy_each(peer, to, SMALL, 20000), large = copy_each(peer, to, LARGE, 500);

	if (small == 0 || large == 0) {
		printf("process_vm_writev: this system does not let a process do that\n");
		return;
	}
	printf("%-52s %8.3f M/s %8.1f ns\n", "bare: process_vm_writev, 64 B", 1e-6 / small,
	       small * 1e9);
	printf("%-52s %8.3f M/s %8.1f ns  %5.1f GB/s\n", "bare: process_vm_writev, 1 MiB",
	       1e-6 / large, large * 1e9, LARGE / large / 1e9);
}

/* Wait until *BALL is VALUE. False: the game is over, or the other end is lost. */
static bool await(const volatile uint64_t *ball, uint64_t value, enum game game)
{
	for (uint64_t i = 1; __atomic_load_n(ball, __ATOMIC_ACQUIRE) != value; i++) {
		if (__atomic_load_n(&sides[0].go, __ATOMIC_RELAXED) != (uint32_t)game)
			return false;
		/* Where less than two processors are free the other end needs ours. */
		if (i % 65536 == 0)
			sched_yield();
	}
	return true;
}

/* While the ball is in the air; all at once, now and then, would be the tail of the figures. */
static void keep_free(uint32_t *outstanding)
{
	++*outstanding;
	do
		*outstanding -= poll();
	while (*outstanding == WINDOW);
}

/* Send the ball number VALUE: the whole of it, its number in the last word. */
static void throw_ball(enum game game, int self, uint64_t value, uint32_t *outstanding)
{
	volatile uint64_t *ball;

	if (game == FLAGS) {
		ball = sides[!self].ball;
		for (uint32_t i = 0; i + 1 < SMALL / 8; i++)
			ball[i] = value;
		__atomic_store_n(&ball[SMALL / 8 - 1], value, __ATOMIC_RELEASE);
		return;
	}
	*(volatile uint64_t *)(end.memory + LARGE + SMALL - 8) = value;
	end_post(&end, &sides[!self].name, 1, 1, LARGE, SMALL);
	keep_free(outstanding);
}

static const volatile uint64_t *catch_at(enum game game, int self)
{
	return game == FLAGS ? &sides[self].ball[SMALL / 8 - 1]
			     : (const volatile uint64_t *)(end.memory + SMALL - 8);
}

static void ping_pong(enum game game, const char *what)
{
	static double hop[HOPS];
	uint32_t outstanding = 0;

	__atomic_store_n(&sides[0].go, game, __ATOMIC_RELEASE);
	for (uint64_t i = 1; i <= HOPS; i++) {
		double start = wall();

		throw_ball(game, 0, i, &outstanding);
		bench_check(await(catch_at(game, 0), i, game));
		hop[i - 1] = (wall() - start) / 2;
	}
	__atomic_store_n(&sides[0].go, NONE, __ATOMIC_RELEASE);
	while (outstanding)
		outstanding -= poll();
	median(hop, HOPS);
	name(what);
	printf("%8.2f us half way, p10 %.2f, p90 %.2f, p99 %.2f\n", hop[HOPS / 2] * 1e6,
	       hop[HOPS / 10] * 1e6, hop[HOPS - HOPS / 10] * 1e6, hop[HOPS - HOPS / 100] * 1e6);
	fflush(stdout);
}

/* Each of the two on a processor of its own, where there are two. */
static void pin(int self)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	CPU_ZERO(&one);
	for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && seen++ == self)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* The other process: catches and throws back, and otherwise sleeps. */
__attribute__((noreturn)) static void other_end(void)
{
	uint32_t outstanding = 0;

	pin(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(600);
	open_end(&sides[1]);
	for (;;) {
		enum game game = __atomic_load_n(&sides[0].go, __ATOMIC_ACQUIRE);

		if (game == NONE) {
			usleep(1000);
			continue;
		}
		for (uint64_t i = 1; await(catch_at(game, 1), i, game); i++)
			throw_ball(game, 1, i, &outstanding);
		while (outstanding)
			outstanding -= poll();
	}
}

/* Seconds of processor time that the parent, `srdlab exec`, has used. */
static double supervisor_time(void)
{
	unsigned long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	f = fopen(path, "r");
	if (!f || fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			 &system) != 2)
		user = system = 0;
	if (f)
		fclose(f);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void report_idle(void)
{
	double before = bench_now() + supervisor_time(), start = wall(), used;

	sleep(2);
	used = bench_now() + supervisor_time() - before;
	printf("%-52s %8.2f %% of a processor\n", "idle: program and supervisor",
	       100 * used / (wall() - start));
}

#if defined(__x86_64__)
#define STORE(at)     __asm__ volatile("movl %%eax, (%%rcx)" : : "c"(at) : "memory")
#define STEP(context) ((context)->uc_mcontext.gregs[REG_RIP] += 2)
#elif defined(__aarch64__)
#define STORE(at)     __asm__ volatile("str wzr, [%0]" : : "r"(at) : "memory")
#define STEP(context) ((context)->uc_mcontext.pc += 4)
#endif

#ifdef STORE
static void step_over(int signal, siginfo_t *info, void *context)
{
	STEP((ucontext_t *)context);
}

/* The floor under a doorbell that traps. */
static void report_trap(void)
{
	struct sigaction action = {.sa_sigaction = step_over, .sa_flags = SA_SIGINFO};
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double runs[RUNS];

	bench_check(page != MAP_FAILED && !sigaction(SIGSEGV, &action, NULL));
	for (int i = 0; i < RUNS; i++) {
		double start = bench_now();

		for (uint32_t k = 0; k < HOPS; k++)
			STORE(page);
		runs[i] = (bench_now() - start) / HOPS;
	}
	printf("%-52s %8.2f us\n", "bare: a store that faults, and the return",
	       median(runs, RUNS) * 1e6);
}
#else
static void report_trap(void)
{
}
#endif

int main(int argc, char *argv[])
{
	pid_t peer;

	law = argc > 1 && !strcmp(argv[1], "law");
	if (argc > 1 && !law) {
		report_trap();
		return 0;
	}
	bench_check(!clock_getcpuclockid(getppid(), &judge));
	alarm(600);
	sides = end_common(2 * sizeof(*sides));
	peer = fork();
	bench_check(peer >= 0);
	if (!peer)
		other_end();
	pin(0);
	open_end(&sides[0]);
	for (int i = 0; i < TIMEOUT * 1000 && !sides[1].name.ready; i++)
		usleep(1000);
	bench_check(sides[1].name.ready);
	if (!end.writes)
		printf("this libefa has no RDMA write: reads are measured, and no ping-pong\n");
	report("one process, 64 B, window 64, a doorbell each", &sides[0], 200000, 64, 1, SMALL);
	report("one process, 64 B, window 64, 16 a doorbell", &sides[0], 200000, 64, 16, SMALL);
	report("two processes, 64 B, window 64, a doorbell each", &sides[1], 100000, 64, 1, SMALL);
	report("two processes, 64 B, window 64, 16 a doorbell", &sides[1], 100000, 64, 16, SMALL);
	if (!law) {
		report("two processes, 1 MiB, window 4", &sides[1], 400, 4, 1, LARGE);
		report_copies(peer, &sides[1]);
		ping_pong(FLAGS, "bare: flags in shared memory, 64 B");
	}
	if (end.writes)
		ping_pong(WRITES, "two processes, RDMA write ping-pong, 64 B");
	if (!law)
		report_idle();
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	end_close(&end);
	return 0;
}
