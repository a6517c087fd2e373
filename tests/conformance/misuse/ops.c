/* SPDX-License-Identifier: MIT */
/*
 * Marked gets that are done wrong, each in the way that the environment's MISUSE names. As it
 * should be: 3000 bytes by one request with the next id, posted at once, answered when it has
 * completed.
 */
#include <string.h>

#include <srdlab/annotate.h>

#include "rig.h"

#define SIZE 3000

static struct rig rig;
static struct srdlab_transfer get;

static srdlab_op_t begin(uint32_t num_wr)
{
	get.num_wr = num_wr;
	return srdlab_op_begin(rig.qp[0], &get);
}

/* LENGTH bytes at offset TO of the local range, from FROM of the remote one. */
static void piece(uint64_t wr_id, uint32_t to, uint32_t from, uint32_t length)
{
	rig.ex[0]->wr_id = wr_id;
	rig.ex[0]->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(rig.ex[0], rig.mr->rkey, get.remote_addr + from);
	ibv_wr_set_sge(rig.ex[0], rig.mr->lkey, get.local_addr + to, length);
	ibv_wr_set_ud_addr(rig.ex[0], rig.ah, rig.qp[1]->qp_num, RIG_QKEY);
}

static void post(srdlab_op_t op)
{
	srdlab_op_post(op);
	ibv_wr_start(rig.ex[0]);
}

static void posted(srdlab_op_t op)
{
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	srdlab_op_posted(op, 0);
}

static void finish(srdlab_op_t op, int num)
{
	posted(op);
	rig_poll(rig.cq[0], num);
	srdlab_op_end(op, 0, NULL);
}

static void whole(srdlab_op_t op, uint64_t wr_id)
{
	post(op);
	piece(wr_id, 0, 0, SIZE);
	posted(op);
}

/* The first LENGTH bytes, and all of them from AT on. */
static void two(uint32_t length, uint32_t at)
{
	srdlab_op_t op = begin(2);

	post(op);
	piece(0, 0, 0, length);
	piece(1, at, at, (uint32_t)get.remote_size - at);
	finish(op, 2);
}

static void overlap(void)
{
	two(2000, 1000);
}

static void split(void)
{
	two(1000, 1000);
}

static void with_empty(void)
{
	two(SIZE, SIZE);
}

static void nothing_twice(void)
{
	get.local_size = get.remote_size = 0;
	two(0, 0);
}

static void misaligned(void)
{
	srdlab_op_t op;

	get.local_size = SIZE + 8;
	op = begin(1);
	post(op);
	piece(0, 8, 0, SIZE);
	finish(op, 1);
}

static void too_small(void)
{
	srdlab_op_t op;

	get.local_size = SIZE - 8;
	op = begin(1);
	post(op);
	piece(0, 0, 0, SIZE);
	finish(op, 1);
}

static void other_way(void)
{
	srdlab_op_t op;

	get.is_get = 0;
	op = begin(1);
	whole(op, 0);
	rig_poll(rig.cq[0], 1);
	srdlab_op_end(op, 0, NULL);
}

static void two_sessions(void)
{
	srdlab_op_t op = begin(2);

	post(op);
	piece(0, 0, 0, 1000);
	RIG_NEED(!ibv_wr_complete(rig.ex[0]));
	ibv_wr_start(rig.ex[0]);
	piece(1, 1000, 1000, SIZE - 1000);
	finish(op, 2);
}

static void too_early(void)
{
	srdlab_op_t op = begin(1);

	whole(op, 0);
	srdlab_op_end(op, 0, NULL);
	rig_poll(rig.cq[0], 1);
}

static void answered_twice(void)
{
	srdlab_op_t op = begin(1);

	whole(op, 0);
	rig_poll(rig.cq[0], 1);
	srdlab_op_end(op, 0, NULL);
	srdlab_op_end(op, 0, NULL);
}

static void unanswered(void)
{
	whole(begin(1), 0);
	rig_poll(rig.cq[0], 1);
}

static void false_success(void)
{
	srdlab_op_t op = begin(1);

	RIG_NEED(!srdlab_fail(srdlab_next_request(rig.qp[0], 1), 4));
	whole(op, 0);
	RIG_NEED(rig_poll(rig.cq[0], 1));
	srdlab_op_end(op, 0, NULL);
}

static void false_failure(void)
{
	struct srdlab_cause cause = {.wr_id = 0, .status = IBV_WC_REM_ACCESS_ERR, .vendor_err = 7};
	srdlab_op_t op = begin(1);

	whole(op, 0);
	rig_poll(rig.cq[0], 1);
	srdlab_op_end(op, -EIO, &cause);
}

static void wrong_cause(void)
{
	struct srdlab_cause cause = {.wr_id = 0, .status = IBV_WC_REM_ACCESS_ERR, .vendor_err = 7};
	srdlab_op_t op = begin(2);

	RIG_NEED(!srdlab_fail(srdlab_next_request(rig.qp[0], 2), 7));
	post(op);
	piece(0, 0, 0, 1000);
	piece(1, 1000, 1000, SIZE - 1000);
	posted(op);
	rig_poll(rig.cq[0], 2);
	srdlab_op_end(op, -EIO, &cause);
}

static void overtaken(void)
{
	srdlab_op_t first = begin(1), second = begin(1);

	whole(second, 0);
	whole(first, 1);
	rig_poll(rig.cq[0], 2);
	srdlab_op_end(first, 0, NULL);
	srdlab_op_end(second, 0, NULL);
}

static void miscounted(void)
{
	srdlab_op_t op = begin(2);

	whole(op, 0);
	rig_poll(rig.cq[0], 1);
	srdlab_op_end(op, 0, NULL);
}

static void refused(void)
{
	srdlab_op_end(begin(1), -E2BIG, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"overlap", overlap},
	{"split", split},
	{"with_empty", with_empty},
	{"nothing_twice", nothing_twice},
	{"misaligned", misaligned},
	{"too_small", too_small},
	{"other_way", other_way},
	{"two_sessions", two_sessions},
	{"too_early", too_early},
	{"answered_twice", answered_twice},
	{"unanswered", unanswered},
	{"false_success", false_success},
	{"false_failure", false_failure},
	{"wrong_cause", wrong_cause},
	{"overtaken", overtaken},
	{"miscounted", miscounted},
	{"refused", refused},
};

int main(void)
{
	const char *name = getenv("MISUSE");
	size_t i = 0;

	RIG_NEED(name);
	while (i < sizeof(cases) / sizeof(cases[0]) && strcmp(cases[i].name, name) != 0)
		i++;
	RIG_NEED(i < sizeof(cases) / sizeof(cases[0]));
	rig_open(&rig);
	rig_connect(&rig);
	srdlab_credits(rig.qp[0], RIG_DEPTH);
	get.is_get = 1;
	get.lkey = rig.mr->lkey;
	get.rkey = rig.mr->rkey;
	get.local_addr = (uintptr_t)rig.buffer;
	get.local_size = get.remote_size = SIZE;
	get.remote_addr = (uintptr_t)rig.buffer + RIG_SIZE / 2;
	cases[i].run();
	srdlab_credits(rig.qp[0], 0);
	rig_close(&rig);
	return 0;
}
