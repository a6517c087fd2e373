/* SPDX-License-Identifier: MIT */
/*
 * A program whose doorbells nobody tells of: it rings them through the library's functions as
 * they were before the device looked at them, in a thread that blocks every signal. Its
 * requests complete, be it by a trap or because the doorbell is watched.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "end.h"

#define ROUNDS 50u

static struct end end;
static struct end_name name;
static uint8_t memory[4096];

static int (*own_complete)(struct ibv_qp_ex *qp);
static int (*own_poll)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/* Called between the creation of the queue pair and its first state. */
static void keep_functions(struct end *e)
{
	own_complete = e->qp->wr_complete;
	own_poll = e->context->ops.poll_cq;
}

static void *run(void *argument)
{
	int (*posted)(struct ibv_qp_ex *) = end.qp->wr_complete;

	end.qp->wr_complete = own_complete;
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		struct ibv_wc wc;
		int n;

		memory[0] = (uint8_t)i;
		end_post(&end, &name, 0, 1, 2048, 64);
		do
			n = own_poll(end.cq, 1, &wc);
		while (!n);
		must(n == 1 && !wc.status && memory[2048] == i);
	}
	end.qp->wr_complete = posted;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	sigset_t all;

	alarm(100);
	end_before_init = keep_functions;
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	sigfillset(&all);
	must(!pthread_sigmask(SIG_SETMASK, &all, NULL));
	must(!pthread_create(&thread, NULL, run, NULL));
	must(!pthread_join(thread, NULL));
	return 0;
}
