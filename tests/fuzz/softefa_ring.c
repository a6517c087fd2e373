/* SPDX-License-Identifier: MIT */
/*
 * Queues and doorbells of any content, on a queue pair that is ready and sends to itself. An
 * input is: size of its entries, the three doorbells, then bytes of the send queue and of
 * the receive queue in turn.
 */
#include <stddef.h>
#include <string.h>

#include "softefa/efa_abi.h"
#include "softefa/ring.h"

#include "softefa.h"

#define ENTRIES     16u
#define DESCRIPTORS 16u
#define QKEY        0x11

static struct soft_object *made[4];

/* A queue, as the command that makes it leaves it. */
static void ring_make(struct soft_ring *ring, uint32_t entries, uint32_t size)
{
	*ring = (struct soft_ring){.bytes = entries * size, .entries = entries, .entry_size = size};
	ring->key = soft_pages_get(ring->bytes);
	ring->doorbell = soft_pages_get(SOFT_PAGE);
	if (!ring->key || !ring->doorbell)
		abort();
}

static void must(int err)
{
	if (err)
		abort();
}

static struct soft_object *new_object(enum soft_kind kind)
{
	struct soft_object *object = soft_object_new(kind, FUZZ_FILE);

	if (!object)
		abort();
	return object;
}

static void make_ready(struct soft_object *qp)
{
	struct srd_qp_attr attr = {.qp_state = SRD_QPS_INIT, .port_num = 1, .qkey = QKEY};

	must(srd_model_qp_modify(&soft.model, qp->model, &attr, 0x71));
	attr.qp_state = SRD_QPS_RTR;
	must(srd_model_qp_modify(&soft.model, qp->model, &attr, 0x1));
	attr.qp_state = SRD_QPS_RTS;
	must(srd_model_qp_modify(&soft.model, qp->model, &attr, 0x10001));
}

/* Protection domain, region, address handle, completion queue; then the queue pair. */
static struct soft_object *setup(uint32_t entry_size)
{
	struct soft_object *pd = new_object(SOFT_PD), *mr = new_object(SOFT_MR);
	struct soft_object *ah = new_object(SOFT_AH), *cq = new_object(SOFT_CQ);
	struct soft_object *qp = new_object(SOFT_QP);
	struct srd_mr_init region = {.access = 7, .addr = FUZZ_MEMORY, .length = FUZZ_BYTES};
	struct srd_ah_attr to = {.port_num = 1, .is_global = 1};
	struct srd_qp_init init = {.cap = {ENTRIES, DESCRIPTORS / 2, 2, 2, 32},
				   .rq_descriptors = DESCRIPTORS};
	uint32_t key;

	must(srd_model_pd_alloc(&soft.model, 0, soft.process, &pd->model));
	region.pd = pd->model;
	must(srd_model_mr_reg(&soft.model, &region, &mr->model, &key));
	srd_model_gid(0, &to.dgid);
	must(srd_model_ah_create(&soft.model, pd->model, &to, &ah->number));
	ring_make(&cq->cq.ring, ENTRIES, SOFT_CQE_SIZE);
	cq->cq.num_rings = 1;
	must(srd_model_cq_create(&soft.model, 0, ENTRIES, soft_handle(cq), &cq->model));
	init.pd = pd->model;
	init.send_cq = cq->model;
	init.recv_cq = cq->model;
	must(srd_model_qp_create(&soft.model, &init, &qp->model, &qp->qp.qpn));
	ring_make(&qp->qp.sq, ENTRIES, entry_size);
	ring_make(&qp->qp.rq, DESCRIPTORS, sizeof(struct efa_io_rx_desc));
	soft_pages_put(qp->qp.rq.doorbell, SOFT_PAGE);
	qp->qp.rq.doorbell = qp->qp.sq.doorbell + 64;
	qp->qp.send_cq = soft_handle(cq);
	qp->qp.recv_cq = soft_handle(cq);
	cq->users += 2;
	make_ready(qp);
	made[0] = cq;
	return qp;
}

static void set_doorbell(const struct soft_ring *ring, uint32_t value)
{
	memcpy(soft.rings + ring->doorbell, &value, sizeof(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct soft_object *qp;
	uint32_t doorbell[3];
	size_t send, receive;

	if (size < 1 + sizeof(doorbell))
		return 0;
	fuzz_device_open();
	if (soft_lock())
		abort();
	qp = setup(*data & 1 ? SOFT_WQE_SIZE_WIDE : SOFT_WQE_SIZE);
	memcpy(doorbell, data + 1, sizeof(doorbell));
	data += 1 + sizeof(doorbell);
	size -= 1 + sizeof(doorbell);
	receive = size < qp->qp.rq.bytes ? size : qp->qp.rq.bytes;
	memcpy(soft.rings + qp->qp.rq.key, data, receive);
	send = size - receive < qp->qp.sq.bytes ? size - receive : qp->qp.sq.bytes;
	memcpy(soft.rings + qp->qp.sq.key, data + receive, send);
	set_doorbell(&qp->qp.rq, doorbell[0]);
	set_doorbell(&qp->qp.sq, doorbell[1]);
	soft_doorbell(qp);
	soft_run(NULL);
	fuzz_device_check();
	set_doorbell(&made[0]->cq.ring, doorbell[2]);
	soft_cq_doorbell(made[0]);
	soft_doorbell(qp);
	soft_run(NULL);
	fuzz_device_check();
	soft_file_release(FUZZ_FILE);
	fuzz_device_check();
	soft_unlock();
	return 0;
}
