/* SPDX-License-Identifier: MIT */
/*
 * The event queue and the packet level. Four hosts write to each other in messages of
 * 1 MiB over origin-only memory, so that their windows hold 1,024 packets at any time.
 */
#include <string.h>

#include <srdlab/lab.h>
#include <srdlab/profile.h>

#include "bench.h"
#include "model/heap.h"
#include "model/rng.h"
#include "verbs/backend.h"

#define PENDING 1024
#define ROUNDS  4000000
#define HOSTS   4
#define DEPTH   64
#define MESSAGE (1u << 20)
#define WRITES  10000
#define SPACE   ((uint64_t)WRITES * MESSAGE)
#define QKEY    0x4242
#define RIGHTS  (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_READ)

struct host {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *cq;
	struct srd_qp *qp;
	struct srd_ah *ah; /* to the next one */
	struct srd_buffer *buffer;
	struct srd_mr *mr;
	uint64_t posted;
};

static struct host hosts[HOSTS];

/* The generator and a store of 16 bytes: what a hold does besides keeping order. */
static double bare_loop(void)
{
	static struct srd_heap_event at[PENDING];
	double start = bench_now();
	struct srd_rng rng;

	srd_rng_seed(&rng, 1, 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		at[i % PENDING].time += srd_rng_next(&rng) >> 44;
		at[i % PENDING].order = i;
		__asm__ volatile("" ::: "memory");
	}
	return bench_report("bare: draw a time and store it", ROUNDS, bench_now() - start, 0);
}

static double heap_hold(double bare)
{
	struct srd_heap *heap = malloc(srd_heap_size(PENDING));
	uint32_t payload;
	struct srd_rng rng;
	uint64_t time;
	double start, each;

	bench_check(heap);
	srd_heap_init(heap, PENDING);
	srd_rng_seed(&rng, 1, 0);
	for (uint32_t i = 0; i < PENDING; i++)
		srd_heap_push(heap, srd_rng_next(&rng) >> 44, i);
	start = bench_now();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		srd_heap_pop(heap, &time, &payload);
		srd_heap_push(heap, time + (srd_rng_next(&rng) >> 44), payload);
	}
	each = bench_report("heap: pop and push at 1,024 pending", ROUNDS, bench_now() - start,
			    bare);
	free(heap);
	return each;
}

static void modify(struct srd_verbs *v, struct srd_qp *qp, enum srd_qp_state state, uint32_t mask)
{
	struct srd_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = QKEY};

	bench_check(!v->modify_qp(v, qp, &attr, SRD_QP_STATE | mask));
}

static void open_host(struct srd_verbs *v, uint32_t number)
{
	struct host *h = &hosts[number];
	struct srd_efa_qp_init_attr efa = {.flags = 0};
	struct srd_qp_init_attr_ex attr = {
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE,
	};

	memset(h, 0, sizeof(*h));
	h->context = v->open_device(v, number, NULL);
	bench_check(h->context);
	attr.pd = h->pd = v->alloc_pd(v, h->context);
	attr.send_cq = attr.recv_cq = h->cq = v->create_cq(v, h->context, 2 * DEPTH);
	h->qp = v->create_qp_ex(v, h->context, &attr, &efa);
	bench_check(h->qp);
	modify(v, h->qp, SRD_QPS_INIT, SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY);
	modify(v, h->qp, SRD_QPS_RTR, 0);
	modify(v, h->qp, SRD_QPS_RTS, SRD_QP_SQ_PSN);
	/* What is sent, and behind it what arrives. */
	h->buffer = v->alloc_buffer(v, h->context, 2 * SPACE, SRD_BUFFER_ORIGIN);
	bench_check(h->buffer);
	h->mr = v->reg_mr(v, h->pd, h->buffer->addr, h->buffer->length, RIGHTS);
	bench_check(h->mr && !v->fill_buffer(v, h->buffer, 0, SPACE, 1 + number));
}

/* Each knows the other, as RDMA demands. */
static void connect_hosts(struct srd_verbs *v)
{
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = 0; j < HOSTS; j++) {
			struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
			struct srd_ah *ah;

			bench_check(!v->query_gid(v, hosts[j].context, 1, 0, &attr.dgid));
			ah = v->create_ah(v, hosts[i].pd, &attr);
			bench_check(ah);
			if (j == (i + 1) % HOSTS)
				hosts[i].ah = ah;
		}
}

static void post(struct srd_verbs *v, struct host *h, struct host *peer)
{
	uint64_t offset = h->posted++ * MESSAGE % SPACE;

	v->wr_start(v, h->qp);
	h->qp->wr_id = h->posted;
	h->qp->wr_flags = SRD_SEND_SIGNALED;
	v->wr_rdma_write(v, h->qp, peer->mr->rkey, peer->buffer->addr + SPACE + offset);
	v->wr_set_sge(v, h->qp, h->mr->lkey, h->buffer->addr + offset, MESSAGE);
	v->wr_set_ud_addr(v, h->qp, h->ah, peer->qp->qp_num, QKEY);
	bench_check(!v->wr_complete(v, h->qp));
}

static uint64_t counter(struct srd_verbs *v, uint32_t host, const char *name)
{
	struct srd_lab command = {.kind = SRD_LAB_COUNTER, .host = host, .name = name};

	bench_check(!v->lab(v, &command));
	return command.value;
}

/* Keep the send queues full until WRITES are done. */
static void stream(struct srd_verbs *v)
{
	uint32_t done = 0;
	struct srd_wc wc;

	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = 0; j < DEPTH / 2; j++)
			post(v, &hosts[i], &hosts[(i + 1) % HOSTS]);
	while (done < WRITES) {
		bench_check(!v->wait(v, UINT64_MAX));
		for (uint32_t i = 0; i < HOSTS; i++)
			while (v->poll_cq(v, hosts[i].cq, 1, &wc) == 1) {
				bench_check(wc.status == SRD_WC_SUCCESS);
				post(v, &hosts[i], &hosts[(i + 1) % HOSTS]);
				done++;
			}
	}
}

static void packets(const char *what, enum srd_profile_order order, uint32_t loss, double bare)
{
	struct srd_profile profile = *srd_profile_find("efa1");
	struct srd_backend_options options = {.profile = &profile, .seed = 1};
	uint64_t num_packets = 0, events;
	struct srd_verbs *v;
	char text[64];
	double start;

	profile.level = SRD_PROFILE_LEVEL_PACKET;
	profile.order = order;
	profile.loss = loss;
	bench_check(!srd_backend_find("mock")->open(&options, &v, NULL));
	for (uint32_t i = 0; i < HOSTS; i++)
		open_host(v, i);
	connect_hosts(v);
	start = bench_now();
	stream(v);
	start = bench_now() - start;
	for (uint32_t i = 0; i < HOSTS; i++)
		num_packets += counter(v, i, "tx_pkts");
	events = counter(v, 0, "events");
	snprintf(text, sizeof(text), "packets, %s", what);
	bench_report(text, (double)num_packets, start, 0);
	snprintf(text, sizeof(text), "heap pops of them, %s", what);
	bench_report(text, (double)events, start, bare);
	v->close(v);
}

int main(void)
{
	double bare = heap_hold(bare_loop());

	printf("the bare loop of the packet level is the heap's\n");
	packets("random order", SRD_PROFILE_ORDER_RANDOM, 0, bare);
	packets("in order", SRD_PROFILE_ORDER_IN_ORDER, 0, bare);
	packets("adversarial order", SRD_PROFILE_ORDER_ADVERSARIAL, 0, bare);
	packets("random order, 1% lost", SRD_PROFILE_ORDER_RANDOM, 10000, bare);
	return 0;
}
