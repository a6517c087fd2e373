/* SPDX-License-Identifier: MIT */
/*
 * Sessions of polls that take all there is: libefa ends such a one without the queue's doorbell,
 * so that the device learns of what was read in another way, and no queue seems full that is not.
 */
#include <errno.h>

#include "end.h"

#define REQUESTS 1500u /* several times what the queue holds */

static uint8_t memory[4096];
static struct ibv_cq_ex *cq;

/* One session, of MOST completions at most; how many there were. */
static uint32_t session(uint32_t most)
{
	struct ibv_poll_cq_attr attr = {0};
	int err = ibv_start_poll(cq, &attr);
	uint32_t n = 0;

	if (err == ENOENT)
		return 0;
	must(!err);
	do
		must(!cq->status);
	while (++n < most && !ibv_next_poll(cq));
	ibv_end_poll(cq);
	return n;
}

static void run(struct end *end, uint32_t at_once, uint32_t most)
{
	struct end_name name;
	uint32_t posted = 0, done = 0;

	end_name(end, &name);
	while (done < REQUESTS) {
		for (; posted < REQUESTS && posted - done + at_once <= END_DEPTH; posted += at_once)
			end_post(end, &name, 0, at_once, 2048, 64);
		done += session(most);
	}
	must(done == posted);
}

int main(void)
{
	struct end end;

	end_extended = &cq;
	end_open(&end, memory, sizeof(memory));
	for (uint32_t at_once = 1; at_once <= 4; at_once += 3)
		for (uint32_t most = 1; most <= 100; most += 33)
			run(&end, at_once, most);
	end_close(&end);
	return 0;
}
