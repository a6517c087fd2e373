/* SPDX-License-Identifier: MIT */
/*
 * A program that asks rdma-core 65 where its rings are, builds the entries by itself, rings the
 * doorbells by plain stores, and reads the completions out of the ring: in one process, or
 * between two. What the entries are made of is rdma-core's own header.
 * usage: direct MODE [wide]      wide: the device takes ids of 64 bits
 *   one, two       processes that do all of it
 *   polled         libefa posts, the program reads the completions
 *   libefa         ... and those too: only the ids are looked at
 *   seq_cst        the doorbell is a store of sequential consistency
 *   unknown        ... an instruction that compilers do not make of such a store
 *   silent         the doorbell of the completion queue is never rung
 *   external       completions come into a dma-buf of the program's, and it reads them there
 *   external_two   the same between two processes
 *   external_libefa    ... and libefa reads them, more than there is room for at once
 *   asks, asks_late    libefa does all, also after the program has asked for one queue pair's
 *                  rings: at the start, or with requests and a receive under way; another has
 *                  the same completion queue
 *   external_refused   ranges that are not all of a dma-buf's
 *   wrong_rkey     one write with a key that is none
 *   time           between two processes: half of a round trip
 */
#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "end.h"

#define BIT(n)            (1u << (n))
#define GENMASK(to, from) ((BIT((to) - (from) + 1) - 1) << (from))
#include "efa_io_defs.h"

#define ROUNDS 300u /* more than any of the rings has entries */
#define HOPS   20000u
#define BYTES  64u
#define SOURCE 2048u /* what is sent, in an end's memory; what comes is at its beginning */

/* One end with its rings. */
struct direct {
	struct end end;
	struct end_name *peer;
	struct efadv_wq_attr sq, rq;
	struct efadv_cq_attr cq;
	uint64_t id; /* of the last request */
	uint16_t ah;
	uint16_t posted, received;
	uint32_t polled;
	uint8_t memory[4096] __attribute__((aligned(4096)));
};

enum ring_by { PLAIN, SEQ_CST, UNKNOWN };

static enum ring_by ring_by = PLAIN;
static int reads = 1; /* the completions out of the ring */
static int posts = 1; /* the entries into it */
static int rings = 1; /* the doorbell of the completion queue */
static int wide;
static struct direct d;

static void doorbell(uint32_t *at, uint32_t value)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	switch (ring_by) {
	case PLAIN:
		__atomic_store_n(at, value, __ATOMIC_RELAXED);
		break;
	case SEQ_CST:
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST);
		break;
	case UNKNOWN:
#if defined(__x86_64__)
		__asm__ volatile("movd %0, %%xmm0; movd %%xmm0, (%1)"
				 :
				 : "r"(value), "r"(at)
				 : "xmm0", "memory");
#elif defined(__aarch64__)
		__asm__ volatile("fmov s0, %w0; str s0, [%1]"
				 :
				 : "r"(value), "r"(at)
				 : "v0", "memory");
#endif
		break;
	}
}

static struct ibv_cq *make_external(struct end *end)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 2 * END_DEPTH, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct efadv_cq_init_attr efa = {.flags = EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF};
	struct efadv_device_attr device;
	struct ibv_cq_ex *cq;

	must(!efadv_query_device(end->context, &device, sizeof(device)));
	must(device.device_caps & EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF);
	efa.ext_mem_dmabuf.fd = memfd_create("dmabuf", MFD_CLOEXEC);
	efa.ext_mem_dmabuf.length = 8192;
	efa.ext_mem_dmabuf.offset = 4096;
	must(!ftruncate(efa.ext_mem_dmabuf.fd, 12288));
	efa.ext_mem_dmabuf.buffer =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, efa.ext_mem_dmabuf.fd, 4096);
	must(efa.ext_mem_dmabuf.buffer != MAP_FAILED);
	cq = efadv_create_cq(end->context, &attr, &efa, sizeof(efa));
	must(cq && !close(efa.ext_mem_dmabuf.fd));
	return ibv_cq_ex_to_cq(cq);
}

/* As ib_umem_dmabuf_get does: no sum of OFFSET and LENGTH wraps, and the buffer has all of it. */
static void external_refused(void)
{
	static const struct {
		uint64_t offset, length;
		int error; /* 0: it is made */
	} ranges[] = {
		{0, 12288, 0},
		{4096, 8192, 0},
		{0, 12289, EINVAL},
		{4096, 8193, EINVAL},
		{0, UINT64_MAX, EINVAL},
		{4096, UINT64_MAX, EINVAL},
		{4096, UINT64_MAX - 4095, EINVAL},
		{UINT64_MAX - 4095, 8192, EINVAL},
		{UINT64_MAX, 1, EINVAL},
		{12288, 8192, EINVAL},
	};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && *list ? ibv_open_device(*list) : NULL;
	int fd = memfd_create("dmabuf", MFD_CLOEXEC);

	must(context && fd >= 0 && !ftruncate(fd, 12288));
	ibv_free_device_list(list);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		struct ibv_cq_init_attr_ex attr = {.cqe = END_DEPTH,
						   .wc_flags = IBV_WC_STANDARD_FLAGS};
		struct efadv_cq_init_attr efa = {
			.flags = EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF,
			.ext_mem_dmabuf = {.buffer = d.memory,
					   .fd = fd,
					   .offset = ranges[i].offset,
					   .length = ranges[i].length},
		};
		struct ibv_cq_ex *cq = efadv_create_cq(context, &attr, &efa, sizeof(efa));

		must(ranges[i].error ? !cq && errno == ranges[i].error : !!cq);
		must(!cq || !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	}
	must(!close(fd) && !ibv_close_device(context));
}

static void open_direct(struct end_name *self, struct end_name *peer)
{
	struct efadv_ah_attr ah;

	end_open(&d.end, d.memory, sizeof(d.memory));
	must(d.end.writes);
	must(!efadv_query_ah(d.end.ah, &ah, sizeof(ah)));
	d.ah = ah.ahn;
	if (posts)
		must(!efadv_query_qp_wqs(&d.end.qp->qp_base, &d.sq, &d.rq, sizeof(d.sq)));
	must(!posts || d.sq.caps == (wide ? EFADV_WQ_CAPS_64_BIT_REQ_ID : 0));
	if (reads)
		must(!efadv_query_cq(d.end.cq, &d.cq, sizeof(d.cq)));
	must(!reads || !end_make_cq == (d.cq.doorbell != NULL));
	d.peer = peer;
	end_name(&d.end, self);
}

static void close_direct(void)
{
	must(!ibv_destroy_qp(&d.end.qp->qp_base) && !ibv_destroy_ah(d.end.ah));
	must(!ibv_dereg_mr(d.end.mr) && !ibv_destroy_cq(d.end.cq));
	must(!ibv_dealloc_pd(d.end.pd) && !ibv_close_device(d.end.context));
}

static void set_buffer(struct efa_io_tx_buf_desc *buffer, uint64_t addr, uint32_t key)
{
	buffer->length = BYTES;
	buffer->lkey = key;
	buffer->buf_addr_lo = (uint32_t)addr;
	buffer->buf_addr_hi = (uint32_t)(addr >> 32);
}

/* An id that no other request has. */
static void take_id(void)
{
	d.id = wide || !posts ? d.id + UINT64_C(0x1000100010001) : (uint16_t)(d.id + 1);
}

/* OP of the bytes at SOURCE, or to them. */
static void post(enum efa_io_send_op_type op, uint32_t rkey)
{
	struct efa_io_tx_wqe wqe = {0};
	uint32_t phase = d.posted / d.sq.num_entries & 1;

	take_id();
	wqe.meta.req_id = (uint16_t)d.id;
	for (int i = 0; i < 3; i++)
		wqe.meta.req_id_ex.w[i] = (uint16_t)(d.id >> (16 + 16 * i));
	wqe.meta.ctrl1 = (uint8_t)(op | EFA_IO_TX_META_DESC_META_DESC_MASK);
	wqe.meta.ctrl2 =
		(uint8_t)(phase | EFA_IO_TX_META_DESC_FIRST_MASK | EFA_IO_TX_META_DESC_LAST_MASK |
			  EFA_IO_TX_META_DESC_COMP_REQ_MASK);
	wqe.meta.dest_qp_num = (uint16_t)d.peer->qpn;
	wqe.meta.length = 1;
	wqe.meta.ah = d.ah;
	wqe.meta.qkey = END_QKEY;
	if (op == EFA_IO_SEND) {
		set_buffer(&wqe.data.sgl[0], (uintptr_t)d.memory + SOURCE, d.end.mr->lkey);
	} else {
		wqe.data.rdma_req.remote_mem.length = BYTES;
		wqe.data.rdma_req.remote_mem.rkey = rkey;
		wqe.data.rdma_req.remote_mem.buf_addr_lo = (uint32_t)d.peer->addr;
		wqe.data.rdma_req.remote_mem.buf_addr_hi = (uint32_t)(d.peer->addr >> 32);
		set_buffer(wqe.data.rdma_req.local_mem, (uintptr_t)d.memory + SOURCE,
			   d.end.mr->lkey);
	}
	must(d.sq.entry_size >= sizeof(wqe));
	memcpy(d.sq.buffer + (d.posted % d.sq.num_entries) * d.sq.entry_size, &wqe, sizeof(wqe));
	doorbell(d.sq.doorbell, ++d.posted);
}

static void send_one(enum efa_io_send_op_type op)
{
	if (posts) {
		post(op, d.peer->rkey);
		return;
	}
	take_id();
	d.end.qp->wr_id = d.id;
	end_post(&d.end, d.peer, op == EFA_IO_RDMA_WRITE, 1, SOURCE, BYTES);
}

static void receive_one(void)
{
	struct efa_io_rx_desc desc = {
		.buf_addr_lo = (uint32_t)(uintptr_t)d.memory,
		.buf_addr_hi = (uint32_t)((uint64_t)(uintptr_t)d.memory >> 32),
		.req_id = d.received,
		.length = BYTES,
		.lkey_ctrl = d.end.mr->lkey | EFA_IO_RX_DESC_FIRST_MASK | EFA_IO_RX_DESC_LAST_MASK,
	};

	memcpy(d.rq.buffer + (d.received % d.rq.num_entries) * d.rq.entry_size, &desc,
	       sizeof(desc));
	doorbell(d.rq.doorbell, ++d.received);
}

/* The next completion, if it is there. */
static int completed(struct efa_io_rx_cdesc *entry)
{
	const uint8_t *at = d.cq.buffer + (d.polled % d.cq.num_entries) * d.cq.entry_size;
	const struct efa_io_cdesc_common *common = (const void *)at;
	uint8_t flags = __atomic_load_n(&common->flags, __ATOMIC_ACQUIRE);

	if ((flags & EFA_IO_CDESC_COMMON_PHASE_MASK) == (d.polled / d.cq.num_entries & 1))
		return 0;
	memcpy(entry, at, sizeof(*entry));
	d.polled++;
	if (rings && d.cq.doorbell)
		__atomic_store_n(d.cq.doorbell, d.polled & 0xffff, __ATOMIC_RELEASE);
	return 1;
}

static uint64_t id_of(const struct efa_io_rx_cdesc *entry)
{
	struct efa_io_tx_cdesc sent;

	memcpy(&sent, entry, sizeof(sent));
	return sent.common.req_id | (uint64_t)sent.req_id_ex.w[0] << 16 |
	       (uint64_t)sent.req_id_ex.w[1] << 32 | (uint64_t)sent.req_id_ex.w[2] << 48;
}

/* The status of the next completion, which is of queue TYPE and request ID. */
static int await_status(enum efa_io_queue_type type, uint64_t id)
{
	struct efa_io_rx_cdesc entry;
	uint32_t found;

	for (uint32_t i = 1; !completed(&entry); i++)
		if (i % 4096 == 0)
			sched_yield();
	found = (entry.common.flags & EFA_IO_CDESC_COMMON_Q_TYPE_MASK) >> 1;
	must(found == type && entry.common.qp_num == d.end.qp->qp_base.qp_num);
	if (type == EFA_IO_RECV_QUEUE)
		must(entry.common.req_id == id);
	else if (posts || wide)
		must(id_of(&entry) == id);
	return entry.common.status;
}

static void reap_one(void)
{
	struct ibv_wc wc;
	int n;

	if (reads) {
		must(await_status(EFA_IO_SEND_QUEUE, d.id) == 0);
		return;
	}
	do
		n = ibv_poll_cq(d.end.cq, 1, &wc);
	while (!n);
	must(n == 1 && !wc.status && wc.wr_id == d.id);
}

static uint32_t *word(uint32_t offset)
{
	return (uint32_t *)(void *)(d.memory + offset);
}

static void await_word(uint32_t value)
{
	for (uint32_t i = 1; __atomic_load_n(word(BYTES - 4), __ATOMIC_ACQUIRE) != value; i++)
		if (i % 65536 == 0)
			sched_yield();
}

/* Alone: each write, read and send arrives where it is to. */
static void alone(void)
{
	/* libefa is not told of what others read, and has no room after so many. */
	uint32_t rounds = posts || !reads ? ROUNDS : END_DEPTH / 2;

	for (uint32_t i = 1; i <= rounds; i++) {
		*word(SOURCE + BYTES - 4) = i;
		send_one(EFA_IO_RDMA_WRITE);
		reap_one();
		must(*word(BYTES - 4) == i);
		*word(BYTES - 4) = 2 * i;
		send_one(EFA_IO_RDMA_READ);
		reap_one();
		must(*word(SOURCE + BYTES - 4) == 2 * i);
		if (!posts || !reads)
			continue;
		*word(SOURCE + BYTES - 4) = 3 * i;
		receive_one();
		post(EFA_IO_SEND, 0);
		/* What is received is told of before that it was sent. */
		must(await_status(EFA_IO_RECV_QUEUE, (uint16_t)(d.received - 1)) == 0);
		must(await_status(EFA_IO_SEND_QUEUE, d.id) == 0);
		must(*word(BYTES - 4) == 3 * i);
	}
}

/* Between two: writes to and fro, each side looking at its memory alone. */
static double ping_pong(int first, uint32_t hops)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t i = 1; i <= hops; i++) {
		if (!first)
			await_word(i);
		*word(SOURCE + BYTES - 4) = i;
		send_one(EFA_IO_RDMA_WRITE);
		reap_one();
		if (first)
			await_word(i);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e6 +
		(double)(to.tv_nsec - from.tv_nsec) / 1e3) /
	       (2 * hops);
}

static void pin(int self)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(self, &one);
	sched_setaffinity(0, sizeof(one), &one); /* where there is such a processor */
}

static void between_two(uint32_t hops)
{
	struct end_name *names = end_common(2 * sizeof(*names));
	pid_t child = fork();
	int self = child == 0, status;
	double each;

	must(child >= 0);
	if (hops > ROUNDS)
		pin(self);
	open_direct(&names[self], &names[!self]);
	while (!__atomic_load_n(&names[!self].ready, __ATOMIC_ACQUIRE))
		usleep(1000);
	each = ping_pong(!self, hops);
	/* The other one's last write is to find its memory. */
	__atomic_store_n(&names[self].ready, 2, __ATOMIC_RELEASE);
	while (__atomic_load_n(&names[!self].ready, __ATOMIC_ACQUIRE) != 2)
		usleep(1000);
	close_direct();
	if (self)
		exit(0);
	must(waitpid(child, &status, 0) == child && !status);
	if (hops > ROUNDS)
		printf("64 B writes between two processes: %.2f us half way\n", each);
}

static void reap(uint32_t num)
{
	struct ibv_wc wc;

	while (num) {
		int n = ibv_poll_cq(d.end.cq, 1, &wc);

		must(n >= 0 && (!n || !wc.status));
		num -= (uint32_t)n;
	}
}

/* Writes from one of two queue pairs, with ids that are not those of their entries. */
static void write_some(struct ibv_qp_ex *qp, const struct end_name *to, uint32_t num)
{
	d.end.qp = qp;
	for (uint32_t i = 0; i < num; i++) {
		qp->wr_id = 5000 + d.posted++;
		end_post(&d.end, to, 1, 1, SOURCE, BYTES);
	}
}

static void asks(int late)
{
	struct ibv_sge sge = {.length = BYTES};
	struct ibv_recv_wr receive = {.wr_id = 77, .sg_list = &sge, .num_sge = 1}, *bad;
	struct ibv_qp_ex *first, *second;
	struct end_name to;

	end_open(&d.end, d.memory, sizeof(d.memory));
	end_name(&d.end, &to);
	first = d.end.qp;
	second = ibv_qp_to_qp_ex(end_create_qp(&d.end, IBV_QP_EX_WITH_RDMA_WRITE));
	must(second);
	d.end.qp = second;
	end_modify(&d.end, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	end_modify(&d.end, IBV_QPS_RTR, 0);
	end_modify(&d.end, IBV_QPS_RTS, IBV_QP_SQ_PSN);
	if (late) {
		/* Some are read, some are only done, and some are under way. */
		write_some(first, &to, 8);
		write_some(second, &to, 8);
		reap(4);
		write_some(second, &to, 4);
		sge.addr = (uintptr_t)d.memory;
		sge.lkey = d.end.mr->lkey;
		must(!ibv_post_recv(&first->qp_base, &receive, &bad));
	}
	must(!efadv_query_qp_wqs(&first->qp_base, &d.sq, &d.rq, sizeof(d.sq)));
	if (late)
		reap(16);
	for (uint32_t i = 0; i < ROUNDS; i += END_DEPTH / 2) {
		write_some(first, &to, END_DEPTH / 2);
		write_some(second, &to, END_DEPTH / 2);
		reap(END_DEPTH);
	}
	must(!efadv_query_cq(d.end.cq, &d.cq, sizeof(d.cq)));
	write_some(second, &to, 1);
	reap(1);
	must(!ibv_destroy_qp(&second->qp_base));
	d.end.qp = first;
	end_close(&d.end);
}

int main(int argc, char *argv[])
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct end_name name;

	alarm(100);
	wide = argc > 2 && !strcmp(argv[2], "wide");
	if (!strncmp(mode, "external", 8))
		end_make_cq = make_external;
	if (!strcmp(mode, "two") || !strcmp(mode, "external_two") || !strcmp(mode, "time")) {
		between_two(!strcmp(mode, "time") ? HOPS : ROUNDS);
		return 0;
	}
	if (!strcmp(mode, "external_refused")) {
		external_refused();
		return 0;
	}
	if (!strncmp(mode, "asks", 4)) {
		asks(!strcmp(mode, "asks_late"));
		return 0;
	}
	if (!strcmp(mode, "seq_cst"))
		ring_by = SEQ_CST;
	else if (!strcmp(mode, "unknown"))
		ring_by = UNKNOWN;
	else if (!strcmp(mode, "silent"))
		rings = 0;
	else if (!strcmp(mode, "polled"))
		posts = 0;
	else if (!strcmp(mode, "libefa") || !strcmp(mode, "external_libefa"))
		posts = reads = 0;
	open_direct(&name, &name);
	if (!strcmp(mode, "wrong_rkey")) {
		post(EFA_IO_RDMA_WRITE, name.rkey + 1);
		must(await_status(EFA_IO_SEND_QUEUE, d.id) ==
		     EFA_IO_COMP_STATUS_REMOTE_ERROR_BAD_ADDRESS);
	} else {
		alone();
	}
	close_direct();
	return 0;
}
