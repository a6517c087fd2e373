/* SPDX-License-Identifier: MIT */
/*
 * A program with two contexts, of which the second does not post by the functions that the first
 * has: the program put one of its own there. Those cannot be stood in for, so that the doorbells
 * of its queue pairs trap, and nothing is lost.
 */
#include <unistd.h>

#include "end.h"

#define ROUNDS 100u

static int (*library_post)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
static int before, own_posts;

/* Mappings of the device that may be written to and not read, as those of doorbells are. */
static int writable(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int num = 0;

	must(maps);
	while (fgets(line, sizeof(line), maps))
		num += strstr(line, " -w-s ") && strstr(line, "/rings");
	must(!fclose(maps));
	return num;
}

static void count(struct end *end)
{
	before = writable();
}

static int own_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	own_posts++;
	return library_post(qp, wr, bad_wr);
}

static void put_own_post(struct end *end)
{
	library_post = end->context->ops.post_send;
	end->context->ops.post_send = own_post;
	before = writable();
}

static void await(struct end *end)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(end->cq, 1, &wc);
	while (!n);
	must(n == 1 && !wc.status);
}

/* By both of the ways to post. */
static void use(struct end *end, struct end_name *name, uint32_t i)
{
	struct ibv_sge sge = {(uintptr_t)end->memory, 64, end->mr->lkey};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.ud = {end->ah, name->qpn, END_QKEY},
				 };
	struct ibv_sge into = {(uintptr_t)end->memory + 1024, 64, end->mr->lkey};
	struct ibv_recv_wr *bad_receive, receive = {.sg_list = &into, .num_sge = 1};

	end->memory[0] = (uint8_t)i;
	must(!end_read(end, name, 2048, 64));
	must(end->memory[2048] == (uint8_t)i);
	must(!ibv_post_recv(&end->qp->qp_base, &receive, &bad_receive));
	must(!ibv_post_send(&end->qp->qp_base, &wr, &bad));
	await(end);
	await(end);
	must(end->memory[1024] == (uint8_t)i);
}

int main(void)
{
	static uint8_t memory[2][4096];
	static struct end ends[2];
	struct end_name names[2];

	alarm(100);
	end_before_init = count;
	end_open(&ends[0], memory[0], sizeof(memory[0]));
	must(before > 0 && writable() == before);
	end_before_init = put_own_post;
	end_open(&ends[1], memory[1], sizeof(memory[1]));
	must(writable() < before);
	for (int e = 0; e < 2; e++)
		end_name(&ends[e], &names[e]);
	for (uint32_t i = 1; i <= ROUNDS; i++)
		for (int e = 0; e < 2; e++)
			use(&ends[e], &names[e], i);
	must(own_posts == ROUNDS);
	return 0;
}
