/* SPDX-License-Identifier: MIT */
/*
 * Memory that the device shares between processes stays what it was for its program: through
 * fork, free and mmap at the same place, in part, moved by mremap, beside other threads. In
 * each case another process reads through the device what this one sees.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define PAGE 4096u
#define SIZE (8 * PAGE)

struct common {
	struct end_name name;
	volatile int turn; /* 1: the reader is to read, 2: to end */
	uint32_t status;
	uint8_t bytes[SIZE];
};

static struct common *common;
static struct end end;

/* The other process: reads when it is asked to. */
static void reader(void)
{
	static uint8_t memory[2 * SIZE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	end_open(&end, memory, sizeof(memory));
	while (common->turn != 2) {
		if (!common->turn) {
			usleep(100);
			continue;
		}
		common->status = end_read(&end, &common->name, 0, SIZE);
		memcpy(common->bytes, memory, SIZE);
		common->turn = 0;
	}
	exit(0);
}

/* What the device finds in the SIZE bytes at MEMORY, just registered, is what is there. */
static void same(const char *what, uint8_t *memory)
{
	end_name(&end, &common->name);
	common->turn = 1;
	while (common->turn)
		usleep(100);
	if (!common->status && !memcmp(common->bytes, memory, SIZE))
		return;
	fprintf(stderr, "%s: status %u, or other bytes\n", what, common->status);
	exit(1);
}

static void fill(uint8_t *memory, int seed)
{
	for (uint32_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)(i / PAGE * 16 + i + (uint32_t)seed);
}

static uint8_t *map(void *at)
{
	uint8_t *memory = mmap(at, SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	must(memory != MAP_FAILED);
	return memory;
}

/* A child writes; its parent must not see it, and it must see what was there before. */
static void forked(uint8_t *memory)
{
	uint8_t before[SIZE];
	int status;
	pid_t pid;

	memcpy(before, memory, SIZE);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		if (memcmp(before, memory, SIZE))
			_exit(1);
		memset(memory, 0xee, SIZE);
		free(malloc(1000));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	must(status == 0);
	must(!memcmp(before, memory, SIZE));
}

static void *wait_for_end(void *done)
{
	while (!__atomic_load_n((int *)done, __ATOMIC_ACQUIRE))
		usleep(1000);
	return NULL;
}

int main(void)
{
	uint8_t *memory = map(NULL), *other, *heap[3];
	struct ibv_mr *second;
	pthread_t thread;
	int done = 0;
	pid_t pid;

	alarm(60);
	common = end_common(sizeof(*common));
	pid = fork();
	must(pid >= 0);
	if (!pid)
		reader();
	fill(memory, 1);
	end_open(&end, memory, SIZE);
	same("as it was", memory);
	fill(memory, 2);
	same("written since", memory);
	forked(memory);
	same("after a fork", memory);

	/* Only the middle of a mapping. */
	other = map(NULL);
	fill(other, 3);
	second = ibv_reg_mr(end.pd, other + 2 * PAGE + 100, 3 * PAGE, IBV_ACCESS_LOCAL_WRITE);
	must(second);
	fill(other, 4);
	end_register(&end, other, SIZE);
	same("a part was registered before", other);
	must(!ibv_dereg_mr(second));

	/* Other memory in its place, with and without the region being told. */
	must(!munmap(memory, SIZE));
	map(memory);
	fill(memory, 5);
	end_register(&end, memory, SIZE);
	same("mapped again", memory);
	must(!ibv_dereg_mr(end.mr));
	end.mr = NULL;
	must(!munmap(memory, SIZE));
	map(memory);
	fill(memory, 6);
	forked(memory);
	end_register(&end, memory, SIZE);
	same("mapped while not registered", memory);

	/* Moved: its old place may not stand for it any more. */
	must(mremap(memory, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
	map(memory);
	fill(memory, 7);
	end_register(&end, memory, SIZE);
	same("where something was moved away", memory);
	must(other[1] == (uint8_t)(6 + 1));
	fill(other, 8);
	end_register(&end, other, SIZE);
	same("where it was moved to", other);
	must(memory[1] == (uint8_t)(7 + 1));

	/* The heap, whose pages others use too. */
	for (int i = 0; i < 3; i++) {
		heap[i] = malloc(SIZE);
		must(heap[i]);
		fill(heap[i], 9 + i);
	}
	end_register(&end, heap[1], SIZE);
	same("of the heap", heap[1]);
	forked(heap[1]);
	forked(heap[2]);
	end_register(&end, memory, SIZE);
	heap[1] = realloc(heap[1], 100 * SIZE);
	must(heap[1] && heap[1][1] == (uint8_t)(10 + 1));
	fill(heap[1], 12);
	end_register(&end, heap[1], SIZE);
	same("after realloc", heap[1]);

	/* With a second thread nothing is shared any more, and what is stays so. */
	must(!pthread_create(&thread, NULL, wait_for_end, &done));
	other = map(NULL);
	fill(other, 13);
	end_register(&end, other, SIZE);
	same("with a second thread", other);
	fill(heap[1], 14);
	end_register(&end, heap[1], SIZE);
	same("shared before the second thread", heap[1]);
	must(!munmap(memory, SIZE));
	map(memory);
	fill(memory, 15);
	end_register(&end, memory, SIZE);
	same("mapped again beside a second thread", memory);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);

	common->turn = 2;
	waitpid(pid, NULL, 0);
	return 0;
}
