/* SPDX-License-Identifier: MIT */
/*
 * A correct program with threads: posters share one queue pair, by sessions, some of which are
 * given up, and by posts of old, and pollers share its completion queue. Each request has an id
 * of its own and some a region of their own, which goes as its completion is polled. Receives
 * are posted by whoever polled one.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "end.h"

#define POSTERS    3u
#define POLLERS    2u
#define EACH       1200u /* requests of a poster */
#define REQUESTS   (POSTERS * EACH)
#define BATCH      3u
#define OWN        8u  /* one request of so many has a region of its own */
#define SENDS      16u /* one session of so many is a post of old */
#define ABORTS     16u /* and before one of so many another is given up */
#define RECEIVES   32u /* that are posted */
#define RECEIVE_ID (1u << 20)

static struct end end;
static struct end_name name;
static uint8_t memory[8192];
static struct ibv_mr *own[REQUESTS + 1];
static uint8_t own_memory[REQUESTS + 1][64];
static sem_t credits;
static atomic_uint ids = 1, sent, completed, received;

static void receive(void)
{
	struct ibv_sge sge = {(uintptr_t)memory + 4096, 64, end.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = RECEIVE_ID, .sg_list = &sge, .num_sge = 1}, *bad;

	must(!ibv_post_recv(&end.qp->qp_base, &wr, &bad));
}

static void read_into(uint64_t id, uint32_t lkey, const void *to)
{
	end.qp->wr_id = id;
	end.qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(end.qp, name.rkey, name.addr);
	ibv_wr_set_sge(end.qp, lkey, (uintptr_t)to, 64);
	ibv_wr_set_ud_addr(end.qp, end.ah, name.qpn, END_QKEY);
}

static void give_up(void)
{
	ibv_wr_start(end.qp);
	read_into(0, end.mr->lkey, memory);
	ibv_wr_abort(end.qp);
}

static void send_one(uint32_t id)
{
	struct ibv_sge sge = {(uintptr_t)memory, 64, end.mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {end.ah, name.qpn, END_QKEY},
	};
	struct ibv_send_wr *bad;

	atomic_fetch_add(&sent, 1);
	must(!ibv_post_send(&end.qp->qp_base, &wr, &bad));
}

static void read_some(const uint32_t *id, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		if (id[i] % OWN)
			continue;
		own[id[i]] = ibv_reg_mr(end.pd, own_memory[id[i]], 64, IBV_ACCESS_LOCAL_WRITE);
		must(own[id[i]]);
	}
	ibv_wr_start(end.qp);
	for (uint32_t i = 0; i < num; i++)
		if (own[id[i]])
			read_into(id[i], own[id[i]]->lkey, own_memory[id[i]]);
		else
			read_into(id[i], end.mr->lkey, memory);
	must(!ibv_wr_complete(end.qp));
}

static void *post(void *argument)
{
	for (uint32_t n = 0, turn = 0; n < EACH; turn++) {
		uint32_t num = turn % SENDS ? 1 + turn % BATCH : 1, id[BATCH];

		if (num > EACH - n)
			num = EACH - n;
		for (uint32_t i = 0; i < num; i++) {
			must(!sem_wait(&credits));
			id[i] = atomic_fetch_add(&ids, 1);
		}
		if (turn % ABORTS == 1)
			give_up();
		if (turn % SENDS)
			read_some(id, num);
		else
			send_one(id[0]);
		n += num;
	}
	return NULL;
}

static void take(uint64_t id, enum ibv_wc_status status)
{
	must(!status);
	if (id == RECEIVE_ID) {
		receive();
		atomic_fetch_add(&received, 1);
		return;
	}
	must(id && id <= REQUESTS);
	if (own[id])
		must(!ibv_dereg_mr(own[id]));
	own[id] = NULL;
	atomic_fetch_add(&completed, 1);
	must(!sem_post(&credits));
}

static int poll_some(void)
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(end.cq, 4, wc);

	must(n >= 0);
	for (int i = 0; i < n; i++)
		take(wc[i].wr_id, wc[i].status);
	return n;
}

static void *poll_all(void *argument)
{
	while (completed < REQUESTS || received < sent)
		if (!poll_some())
			sched_yield();
	return NULL;
}

int main(void)
{
	pthread_t posters[POSTERS], pollers[POLLERS];

	alarm(100);
	end_ops = IBV_QP_EX_WITH_SEND;
	end_receives = RECEIVES;
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	must(!sem_init(&credits, 0, RECEIVES));
	for (uint32_t i = 0; i < RECEIVES; i++)
		receive();
	for (uint32_t i = 0; i < POLLERS; i++)
		must(!pthread_create(&pollers[i], NULL, poll_all, NULL));
	for (uint32_t i = 0; i < POSTERS; i++)
		must(!pthread_create(&posters[i], NULL, post, NULL));
	for (uint32_t i = 0; i < POSTERS; i++)
		must(!pthread_join(posters[i], NULL));
	for (uint32_t i = 0; i < POLLERS; i++)
		must(!pthread_join(pollers[i], NULL));
	must(completed == REQUESTS && received == sent);
	end_close(&end);
	printf("%u requests, %u sends\n", completed, sent);
	return 0;
}
