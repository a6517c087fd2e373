/* SPDX-License-Identifier: MIT */
/*
 * A program that polls an empty queue a number of times and then gives up: it must not wait
 * for its turn on the processor each time, as others may have a whole time slice before it.
 */
#include <sched.h>

#include "end.h"

#define POLLS 200000
#define TURNS 20 /* 1000, 2000, ... 64000 polls apart */

static uint8_t memory[4096];
static int turns;

/* In front of the C library's own, for the device too. */
__attribute__((visibility("default"))) int sched_yield(void)
{
	turns++;
	return 0;
}

int main(void)
{
	struct end_name name;
	struct end end;
	struct ibv_wc wc;

	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	must(!end_read(&end, &name, 2048, 64));
	turns = 0;
	for (int i = 0; i < POLLS; i++)
		must(!ibv_poll_cq(end.cq, 1, &wc));
	printf("%d turns given away in %d polls\n", turns, POLLS);
	must(turns > 0 && turns < TURNS);
	return 0;
}
