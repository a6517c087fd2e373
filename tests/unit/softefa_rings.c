/* SPDX-License-Identifier: MIT */
/* What a program puts into the rings of the software device, and what comes back. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "softefa/event.h"
#include "softefa_world.h"

static void bytes_move(void **state)
{
	uint8_t *memory = (uint8_t *)FUZZ_MEMORY;
	struct rdma_entry entry;
	const struct efa_io_rx_cdesc *cqe;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	memset(memory, 'a', 100);
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + 4096, FUZZ_MEMORY, 100);
	cqe = post(&entry, 0, 0);
	assert_int_equal(cqe->common.req_id, 7);
	assert_int_equal(cqe->common.status, 0);
	assert_int_equal(cqe->common.flags, 1 | EFA_IO_SEND_QUEUE << 1 | EFA_IO_RDMA_WRITE << 4);
	assert_memory_equal(memory + 4096, memory, 100);
	memset(memory + 4096, 'b', 50);
	entry = rdma(EFA_IO_RDMA_READ, FUZZ_MEMORY + 4096, FUZZ_MEMORY + 200, 50);
	assert_int_equal(post(&entry, 1, 1)->common.status, 0);
	assert_memory_equal(memory + 200, memory + 4096, 50);
	/* Behind the region; then with a key of nobody's. */
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + FUZZ_BYTES - 10, FUZZ_MEMORY, 100);
	assert_int_equal(post(&entry, 2, 2)->common.status, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	entry.local.lkey = 5;
	assert_int_equal(post(&entry, 3, 3)->common.status, SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
}

static void ids_of_64_bits(void **state)
{
	struct efa_io_tx_cdesc cqe;
	struct rdma_entry entry;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + 4096, FUZZ_MEMORY, 100);
	memcpy(entry.meta.req_id_ex, (uint16_t[]){0x1111, 0x2222, 0x3333}, 6);
	/* Who did not ask for them may leave there what it will. */
	memcpy(&cqe, post(&entry, 0, 0), sizeof(cqe));
	assert_int_equal(cqe.common.req_id, 7);
	assert_memory_equal(cqe.req_id_ex, ((uint16_t[]){0, 0, 0}), 6);
	soft_object(w.qp)->qp.id64 = true;
	memcpy(&cqe, post(&entry, 1, 1), sizeof(cqe));
	assert_int_equal(cqe.common.req_id, 7);
	assert_memory_equal(cqe.req_id_ex, ((uint16_t[]){0x1111, 0x2222, 0x3333}), 6);
	assert_memory_equal(cqe.reserved, ((uint8_t[]){0, 0, 0, 0}), 4);
}

/* The program's own memory, which the device tells of no limits of and which has no doorbell. */
static void entries_in_external_memory(void **state)
{
	struct cq_args args = good_cq;
	struct qp_args qp = good_qp;
	struct efa_io_tx_cdesc *cqe;
	struct rdma_entry entry;
	uint32_t cq;
	uint8_t *at;

	args.buffer = CQ_FD | CQ_OFFSET | CQ_LENGTH;
	args.fd = memfd_create("dmabuf of a test", MFD_CLOEXEC);
	args.offset = 64;
	args.length = 4096;
	assert_int_equal(ftruncate(args.fd, 4096), 0);
	make_world(IB_UVERBS_QPT_DRIVER, -1);
	/* Shorter than it says. */
	assert_int_equal(new_cq(&args, &cq), EINVAL);
	assert_int_equal(ftruncate(args.fd, 8192), 0);
	assert_int_equal(new_cq(&args, &cq), 0);
	at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, args.fd, 0);
	assert_true(at != MAP_FAILED);
	assert_int_equal(close(args.fd), 0);
	qp.pd = w.pd;
	qp.send_cq = qp.recv_cq = cq;
	assert_int_equal(new_qp(&qp, &w.qp), 0);
	assert_int_equal(modify(w.qp, 0x71, SRD_QPS_INIT), 0);
	assert_int_equal(modify(w.qp, 0x1, SRD_QPS_RTR), 0);
	assert_int_equal(modify(w.qp, 0x10001, SRD_QPS_RTS), 0);
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + 4096, FUZZ_MEMORY, 100);
	/* More than it holds: nobody says that they are read. */
	for (uint32_t i = 0; i < 2 * ENTRIES + 1; i++) {
		entry.meta.req_id = (uint16_t)i;
		post(&entry, i, 0);
		cqe = (void *)(at + 64 + i % ENTRIES * 32);
		assert_int_equal(cqe->common.req_id, i);
		assert_int_equal(cqe->common.status, 0);
		assert_int_equal(cqe->common.flags, (i / ENTRIES & 1 ? 0 : 1) |
							    EFA_IO_SEND_QUEUE << 1 |
							    EFA_IO_RDMA_WRITE << 4);
	}
	assert_memory_equal(at, ((uint8_t[64]){0}), 64);
	assert_int_equal(munmap(at, 8192), 0);
}

static void receives_say_what_came(void **state)
{
	struct {
		struct efa_io_tx_meta_desc meta;
		uint8_t bytes[32];
	} entry = {.bytes = "inline"};
	const struct efa_io_rx_cdesc *cqe;
	struct rdma_entry write;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	post_recv(0, FUZZ_MEMORY + 512, 64);
	post_recv(1, FUZZ_MEMORY + 1024, 64);
	entry.meta = meta(EFA_IO_SEND, 6);
	entry.meta.ctrl1 |= EFA_IO_TX_META_DESC_INLINE_MSG_MASK | EFA_IO_TX_META_DESC_HAS_IMM_MASK;
	entry.meta.immediate_data = 0x1234;
	cqe = post(&entry, 0, 0);
	assert_int_equal(cqe->common.req_id, 100);
	assert_int_equal(cqe->length, 6);
	assert_int_equal(cqe->imm, 0x1234);
	assert_int_equal(cqe->ah, w.ah);
	assert_int_equal(cqe->common.flags, 1 | EFA_IO_RECV_QUEUE << 1 | 1 << 3);
	assert_memory_equal((char *)FUZZ_MEMORY + 512, "inline", 6);
	write = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY + 4096, FUZZ_MEMORY + 512, 6);
	write.meta.ctrl1 |= EFA_IO_TX_META_DESC_HAS_IMM_MASK;
	cqe = post(&write, 1, 2);
	assert_int_equal(cqe->common.req_id, 101);
	assert_int_equal(cqe->common.flags,
			 1 | EFA_IO_RECV_QUEUE << 1 | 1 << 3 | EFA_IO_RDMA_WRITE << 4);
	/* Nobody is ready, and retries have no end: it waits. */
	post(&entry, 2, 4);
	assert_int_equal(soft_object(w.cq)->cq.arrivals, 4);
	post_recv(2, FUZZ_MEMORY, 64);
	soft_run(NULL);
	assert_int_equal(soft_object(w.cq)->cq.arrivals, 6);
}

static void datagrams_have_a_header(void **state)
{
	struct {
		struct efa_io_tx_meta_desc meta;
		uint8_t bytes[32];
	} entry = {.bytes = "datagram"};

	make_world(IB_UVERBS_QPT_UD, -1);
	post_recv(0, FUZZ_MEMORY, 64);
	entry.meta = meta(EFA_IO_SEND, 8);
	entry.meta.ctrl1 |= EFA_IO_TX_META_DESC_INLINE_MSG_MASK;
	assert_int_equal(post(&entry, 0, 0)->length, 48);
	assert_memory_equal((char *)FUZZ_MEMORY + 40, "datagram", 8);
	/* One that nobody waits for is sent all the same. */
	assert_int_equal(post(&entry, 1, 2)->common.status, 0);
	assert_int_equal(soft_object(w.cq)->cq.arrivals, 3);
}

static void nonsense_ends_the_queue_pair(void **state)
{
	struct efa_io_tx_meta_desc nothing = {.req_id = 3};
	struct rdma_entry entry;
	uint8_t wide[64];

	for (int kind = 0; kind < 6; kind++) {
		make_world(IB_UVERBS_QPT_DRIVER, -1);
		entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY, FUZZ_MEMORY, 8);
		memset(wide, 0, sizeof(wide));
		if (kind == 0)
			memcpy(&entry.meta, &nothing, sizeof(nothing));
		if (kind == 1)
			entry.meta.ctrl1 |= 9;
		if (kind == 2)
			entry.meta.length = 2;
		if (kind == 3)
			entry.meta.ctrl1 |= EFA_IO_TX_META_DESC_INLINE_MSG_MASK;
		if (kind == 4)
			entry.meta = meta(EFA_IO_SEND, 3);
		if (kind == 5)
			entry.meta = meta(EFA_IO_RDMA_READ | EFA_IO_TX_META_DESC_HAS_IMM_MASK, 1);
		post(&entry, 0, 0);
		assert_int_equal(modify(w.qp, 0x10001, SRD_QPS_RTS), EINVAL);
		soft_file_release(FUZZ_FILE);
	}
	make_world(IB_UVERBS_QPT_DRIVER, -1);
	ring(&soft_object(w.qp)->qp.sq, 1000);
	assert_int_equal(soft_doorbell(soft_object(w.qp)), 1000);
	make_world(IB_UVERBS_QPT_DRIVER, -1);
	ring(&soft_object(w.qp)->qp.rq, 1); /* not the first of a receive */
	assert_int_equal(soft_doorbell(soft_object(w.qp)), 1);
	ring(&soft_object(w.qp)->qp.rq, 2000);
	assert_int_equal(soft_doorbell(soft_object(w.qp)), 1999);
}

static void events_are_read_or_taken_back(void **state)
{
	struct ib_uverbs_create_comp_channel_resp r;
	struct ib_uverbs_comp_event_desc event;
	struct rdma_entry entry;
	struct soft_object *cq;

	assert_int_equal(
		legacy(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, NULL, 0, &r, sizeof(r), NULL, 0), 0);
	make_world(IB_UVERBS_QPT_DRIVER, (int)r.fd);
	cq = soft_object(w.cq);
	ring(&cq->cq.ring, 1u << 31);
	soft_cq_doorbell(cq);
	soft_cq_doorbell(cq); /* once is enough */
	assert_int_equal(soft.group->armed, 1);
	entry = rdma(EFA_IO_RDMA_WRITE, FUZZ_MEMORY, FUZZ_MEMORY + 64, 8);
	post(&entry, 0, 0);
	assert_int_equal(soft.group->armed, 0);
	assert_int_equal(read((int)r.fd, &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.cq_handle, 0x1234);
	/* It has an entry already: told at once. Nobody reads that one. */
	ring(&cq->cq.ring, 1u << 31 | 1u << 29);
	soft_cq_doorbell(cq);
	assert_int_equal(cq->cq.comp_events, 2);
	assert_int_equal(soft_channel_forget(cq), 1);
	assert_int_equal(poll(&(struct pollfd){.fd = (int)r.fd, .events = POLLIN}, 1, 0), 0);
	close((int)r.fd);
	begin(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	assert_int_equal(go(), EINVAL);
	add(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0, 0);
	assert_int_equal(go(), 0);
	close((int)header->attrs[0].data_s64);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_move),
		TEST(ids_of_64_bits),
		TEST(entries_in_external_memory),
		TEST(receives_say_what_came),
		TEST(datagrams_have_a_header),
		TEST(nonsense_ends_the_queue_pair),
		TEST(events_are_read_or_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
