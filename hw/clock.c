/* SPDX-License-Identifier: MIT */
/*
 * Wall time, but on the software device for its laboratory: then the device's own.
 *
 * A completion queue cannot be looked into without taking an entry out, and completion
 * channels are not part of the seam. So wait never knows that something arrived: it pauses
 * a while, and its caller polls again. The pause grows with the time that nothing came, a
 * quarter of it, so waiting adds at most that to a latency and yet does not keep a core
 * busy.
 */
#include <errno.h>
#include <time.h>

#include "efa.h"
#include "softefa/lab.h"

#define NS_PER_S    UINT64_C(1000000000)
#define LONGEST_NAP UINT64_C(1000000) /* ns */
/* ns; a sleep is not shorter than about this, and EFA answers in about 15 us */
#define NO_NAP_BEFORE UINT64_C(50000)

static uint64_t now(struct srd_verbs *verbs)
{
	struct timespec t;

	if (to_hw(verbs)->lab)
		return to_hw(verbs)->lab->now();
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec - to_hw(verbs)->opened;
}

static int wait(struct srd_verbs *verbs, uint64_t deadline)
{
	struct hw *hw = to_hw(verbs);
	uint64_t start, nap;
	struct timespec t = {0};

	if (hw->lab)
		return hw->lab->wait(&hw->seen, deadline);
	start = now(verbs);
	if (start >= deadline)
		return ETIMEDOUT;
	if (!hw->idle_since)
		hw->idle_since = start;
	if (start - hw->idle_since < NO_NAP_BEFORE)
		return 0;
	nap = (start - hw->idle_since) / 4;
	if (nap > LONGEST_NAP)
		nap = LONGEST_NAP;
	if (nap > deadline - start)
		nap = deadline - start;
	t.tv_nsec = (long)nap;
	nanosleep(&t, NULL);
	return now(verbs) >= deadline ? ETIMEDOUT : 0;
}

void hw_clock_fill(struct srd_verbs *verbs)
{
	verbs->now = now;
	verbs->wait = wait;
}
