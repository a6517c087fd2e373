/* SPDX-License-Identifier: MIT */
/*
 * The message level and the packet level of the fabric against each other: the same random
 * programs must end with the same completions and the same bytes, whatever the order, the
 * paths and the losses.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/lab.h>
#include <srdlab/pattern.h>
#include <srdlab/profile.h>

#include "model/rng.h"
#include "verbs/backend.h"

#define HOSTS  3
#define OPS    40
#define SLOT   8192
#define QKEY   0x4242
#define SPACE  ((OPS + 1) * SLOT) /* the last one is for what goes wrong */
#define SEED   5                  /* of the bytes that are sent */
#define RIGHTS (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_READ)

/* Queue pair 0 of a host has receives for all, queue pair 1 has none. */
enum { READY, NOT_READY, QPS };

enum mistake {
	NONE,
	BAD_RKEY,
	BAD_LKEY,
	BEHIND_REGION, /* the end of the range */
	BAD_QPN,
	BAD_QKEY,
	TOO_LONG,
	NUM_MISTAKES,
};

struct op {
	enum srd_wr_opcode opcode;
	enum mistake mistake;
	uint32_t host, peer;
	uint32_t qp, peer_qp;
	uint32_t length;
	uint64_t wait; /* ns before the next one is posted */
};

struct program {
	struct srd_profile profile;
	enum srd_buffer_kind kind;
	uint64_t seed;
	struct op op[OPS];
};

struct host {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *send_cq, *recv_cq;
	struct srd_qp *qp[QPS];
	struct srd_ah *ah[HOSTS];
	struct srd_buffer *from, *to, *received;
	struct srd_mr *from_mr, *to_mr, *received_mr;
};

struct outcome {
	uint32_t seen; /* completions of the op */
	enum srd_wc_status status;
	uint32_t vendor_err;
	enum srd_wc_opcode opcode;
};

struct receive {
	uint32_t host, vendor_err, byte_len, imm_data, src_qp, opcode, flags;
};

struct world {
	struct srd_verbs *v;
	const struct program *program;
	struct host host[HOSTS];
	struct outcome outcome[OPS];
	struct receive receive[2 * HOSTS * OPS];
	uint32_t num_receives;
	bool posted; /* the last op */
};

static void to_state(struct world *w, struct srd_qp *qp, enum srd_qp_state state, uint32_t mask)
{
	struct srd_qp_attr attr = {.qp_state = state, .port_num = 1, .qkey = QKEY, .rnr_retry = 2};

	assert_int_equal(w->v->modify_qp(w->v, qp, &attr, SRD_QP_STATE | mask), 0);
}

static struct srd_qp *make_qp(struct world *w, struct host *h)
{
	struct srd_qp_init_attr_ex attr = {
		.pd = h->pd,
		.send_cq = h->send_cq,
		.recv_cq = h->recv_cq,
		.cap = {.max_send_wr = OPS,
			.max_recv_wr = OPS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_SEND | SRD_QP_EX_WITH_SEND_WITH_IMM |
				  SRD_QP_EX_WITH_RDMA_READ | SRD_QP_EX_WITH_RDMA_WRITE |
				  SRD_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	};
	struct srd_efa_qp_init_attr efa = {.flags = 0};
	struct srd_qp *qp = w->v->create_qp_ex(w->v, h->context, &attr, &efa);

	assert_non_null(qp);
	to_state(w, qp, SRD_QPS_INIT, SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY);
	to_state(w, qp, SRD_QPS_RTR, 0);
	to_state(w, qp, SRD_QPS_RTS, SRD_QP_SQ_PSN | SRD_QP_RNR_RETRY);
	return qp;
}

static struct srd_buffer *make_buffer(struct world *w, struct host *h, struct srd_mr **mr)
{
	struct srd_buffer *b = w->v->alloc_buffer(w->v, h->context, SPACE, w->program->kind);

	assert_non_null(b);
	*mr = w->v->reg_mr(w->v, h->pd, b->addr, b->length, RIGHTS);
	assert_non_null(*mr);
	return b;
}

static void make_host(struct world *w, uint32_t number)
{
	struct host *h = &w->host[number];

	h->context = w->v->open_device(w->v, number, NULL);
	assert_non_null(h->context);
	h->pd = w->v->alloc_pd(w->v, h->context);
	h->send_cq = w->v->create_cq(w->v, h->context, 2 * OPS);
	h->recv_cq = w->v->create_cq(w->v, h->context, 2 * OPS);
	assert_non_null(h->recv_cq);
	for (int i = 0; i < QPS; i++)
		h->qp[i] = make_qp(w, h);
	h->from = make_buffer(w, h, &h->from_mr);
	h->to = make_buffer(w, h, &h->to_mr);
	h->received = make_buffer(w, h, &h->received_mr);
	assert_int_equal(w->v->fill_buffer(w->v, h->from, 0, h->from->length, SEED + number), 0);
	for (uint32_t i = 0; i < OPS; i++) {
		struct srd_sge sge = {.addr = h->received->addr + i * SLOT,
				      .length = SLOT,
				      .lkey = h->received_mr->lkey};
		struct srd_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

		assert_int_equal(w->v->post_recv(w->v, h->qp[READY], &wr, &bad), 0);
	}
}

static void make_handle(struct world *w, struct host *h, uint32_t peer)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};

	assert_int_equal(w->v->query_gid(w->v, w->host[peer].context, 1, 0, &attr.dgid), 0);
	h->ah[peer] = w->v->create_ah(w->v, h->pd, &attr);
	assert_non_null(h->ah[peer]);
}

static void world_open(struct world *w, const struct program *program, enum srd_profile_level level,
		       struct srd_stream *stream)
{
	struct srd_profile profile = program->profile;
	struct srd_backend_options options = {
		.profile = &profile, .seed = program->seed, .stream = stream};

	memset(w, 0, sizeof(*w));
	w->program = program;
	profile.level = level;
	assert_int_equal(srd_backend_find("mock")->open(&options, &w->v, NULL), 0);
	for (uint32_t i = 0; i < HOSTS; i++)
		make_host(w, i);
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = 0; j < HOSTS; j++)
			make_handle(w, &w->host[i], j);
}

static void audit(struct world *w)
{
	struct srd_lab command = {.kind = SRD_LAB_AUDIT};

	if (w->v->lab(w->v, &command))
		fail_msg("audit: %s", command.text);
}

static void post(struct world *w, uint32_t index)
{
	const struct op *op = &w->program->op[index];
	struct host *h = &w->host[op->host], *peer = &w->host[op->peer];
	bool read = op->opcode == SRD_WR_RDMA_READ;
	uint64_t offset = (uint64_t)index * SLOT, remote = offset;
	struct srd_qp *qp = h->qp[op->qp];
	uint32_t rkey = read ? peer->from_mr->rkey : peer->to_mr->rkey;

	if (op->mistake == BEHIND_REGION)
		remote = SPACE - op->length / 2;
	if (op->mistake == BAD_RKEY)
		rkey ^= 0x5555;
	remote += read ? peer->from->addr : peer->to->addr;
	w->v->wr_start(w->v, qp);
	qp->wr_id = index;
	qp->wr_flags = SRD_SEND_SIGNALED;
	switch (op->opcode) {
	case SRD_WR_RDMA_WRITE:
		w->v->wr_rdma_write(w->v, qp, rkey, remote);
		break;
	case SRD_WR_RDMA_WRITE_WITH_IMM:
		w->v->wr_rdma_write_imm(w->v, qp, rkey, remote, index);
		break;
	case SRD_WR_RDMA_READ:
		w->v->wr_rdma_read(w->v, qp, rkey, remote);
		break;
	case SRD_WR_SEND:
		w->v->wr_send(w->v, qp);
		break;
	case SRD_WR_SEND_WITH_IMM:
		w->v->wr_send_imm(w->v, qp, index);
		break;
	}
	w->v->wr_set_sge(w->v, qp,
			 (read ? h->to_mr->lkey : h->from_mr->lkey) ^
				 (op->mistake == BAD_LKEY ? 0x5555 : 0),
			 (read ? h->to->addr : h->from->addr) + offset, op->length);
	w->v->wr_set_ud_addr(w->v, qp, h->ah[op->peer],
			     peer->qp[op->peer_qp]->qp_num + (op->mistake == BAD_QPN ? 100 : 0),
			     QKEY + (op->mistake == BAD_QKEY));
	w->posted = w->v->wr_complete(w->v, qp) == 0;
}

static void drain(struct world *w)
{
	struct srd_wc wc;

	for (uint32_t i = 0; i < HOSTS; i++) {
		while (w->v->poll_cq(w->v, w->host[i].send_cq, 1, &wc) == 1) {
			struct outcome *o = &w->outcome[wc.wr_id];

			o->seen++;
			o->status = wc.status;
			o->vendor_err = wc.vendor_err;
			o->opcode = wc.opcode;
		}
		while (w->v->poll_cq(w->v, w->host[i].recv_cq, 1, &wc) == 1) {
			struct receive *r = &w->receive[w->num_receives++];

			assert_true(w->num_receives <= 2 * HOSTS * OPS);
			memset(r, 0, sizeof(*r));
			r->host = i;
			r->vendor_err = wc.vendor_err;
			r->opcode = wc.opcode;
			r->byte_len = wc.byte_len;
			r->flags = wc.wc_flags;
			r->src_qp = wc.src_qp;
			r->imm_data = wc.wc_flags & SRD_WC_WITH_IMM ? wc.imm_data : 0;
		}
	}
}

/* To the end: nothing is left that could happen. */
static void run(struct world *w)
{
	int err;

	for (uint32_t i = 0; i < OPS; i++) {
		uint64_t until = w->v->now(w->v) + w->program->op[i].wait;

		post(w, i);
		assert_true(w->posted);
		while (w->v->now(w->v) < until && w->v->wait(w->v, until) == 0)
			drain(w);
		audit(w);
	}
	while (!(err = w->v->wait(w->v, UINT64_MAX)))
		drain(w);
	assert_int_equal(err, EDEADLK);
	drain(w);
	audit(w);
}

static uint64_t below(struct srd_rng *rng, uint64_t bound)
{
	return srd_rng_below(rng, bound);
}

static void make_op(struct srd_rng *rng, struct op *op, uint64_t mtu)
{
	static const enum srd_wr_opcode opcodes[] = {SRD_WR_RDMA_WRITE, SRD_WR_RDMA_WRITE,
						     SRD_WR_RDMA_READ,  SRD_WR_RDMA_WRITE_WITH_IMM,
						     SRD_WR_SEND,       SRD_WR_SEND_WITH_IMM};
	bool send;

	memset(op, 0, sizeof(*op));
	op->opcode = opcodes[below(rng, 6)];
	send = op->opcode == SRD_WR_SEND || op->opcode == SRD_WR_SEND_WITH_IMM;
	op->host = (uint32_t)below(rng, HOSTS);
	op->peer = (uint32_t)below(rng, HOSTS);
	op->qp = (uint32_t)below(rng, QPS);
	op->peer_qp = below(rng, 4) ? READY : NOT_READY;
	if (!below(rng, 4))
		op->mistake = (enum mistake)below(rng, NUM_MISTAKES);
	if (send && (op->mistake == BEHIND_REGION || op->mistake == BAD_RKEY))
		op->mistake = NONE;
	op->length = (uint32_t)(below(rng, 8) ? below(rng, (send ? mtu : SLOT) + 1) : 0);
	if (op->mistake == BEHIND_REGION)
		op->length = (uint32_t)(2 + below(rng, SLOT - 2));
	if (op->mistake == TOO_LONG && send)
		op->length = (uint32_t)mtu + 1;
	op->wait = below(rng, 4) ? 0 : below(rng, 60000);
}

static void make_program(struct program *program, uint64_t seed)
{
	struct srd_profile *p = &program->profile;
	struct srd_rng rng;

	srd_rng_seed(&rng, seed, 0);
	*p = *srd_profile_find("efa1");
	p->mtu = 256 + below(&rng, 2000);
	p->order = (enum srd_profile_order)below(&rng, 3);
	p->paths = (uint32_t)(1 + below(&rng, 8));
	p->loss = below(&rng, 2) ? 0 : (uint32_t)below(&rng, 300000);
	p->jitter = below(&rng, 3) ? 4000 : 0;
	p->bandwidth = below(&rng, 2) ? p->bandwidth : 1000000000;
	p->partial_on_error = below(&rng, 2);
	p->zero_length_checks_key = below(&rng, 2);
	program->kind = below(&rng, 2) ? SRD_BUFFER_REAL : SRD_BUFFER_ORIGIN;
	program->seed = seed;
	for (int i = 0; i < OPS; i++)
		make_op(&rng, &program->op[i], p->mtu);
}

/* What op INDEX has put into its slot: all, or nothing, or part of it where that may be. */
static void check_bytes(struct world *w, uint32_t index)
{
	const struct op *op = &w->program->op[index];
	bool read = op->opcode == SRD_WR_RDMA_READ, write = op->opcode == SRD_WR_RDMA_WRITE;
	struct host *to = &w->host[read ? op->host : op->peer];
	uint32_t from = read ? op->peer : op->host, placed = 0;
	uint8_t got[SLOT];

	assert_int_equal(w->v->read_buffer(w->v, to->to, index * SLOT, got, SLOT), 0);
	for (uint32_t i = 0; i < SLOT; i++) {
		uint8_t want = srd_pattern_byte(SEED + from, (uint64_t)index * SLOT + i);

		if (got[i] == want && i < op->length)
			placed++;
		else
			assert_int_equal(got[i], 0);
	}
	if (w->outcome[index].status == SRD_WC_SUCCESS &&
	    (read || write || op->opcode == SRD_WR_RDMA_WRITE_WITH_IMM))
		assert_int_equal(placed, op->length);
}

static int receive_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct receive));
}

static void check_same(struct world *a, struct world *b)
{
	for (uint32_t i = 0; i < OPS; i++) {
		const struct outcome *x = &a->outcome[i], *y = &b->outcome[i];

		assert_int_equal(x->seen, 1);
		assert_int_equal(y->seen, 1);
		assert_string_equal(srd_efa_status_str(x->vendor_err),
				    srd_efa_status_str(y->vendor_err));
		assert_int_equal(x->status, y->status);
		assert_int_equal(x->opcode, y->opcode);
	}
	assert_int_equal(a->num_receives, b->num_receives);
	qsort(a->receive, a->num_receives, sizeof(a->receive[0]), receive_order);
	qsort(b->receive, b->num_receives, sizeof(b->receive[0]), receive_order);
	assert_memory_equal(a->receive, b->receive, a->num_receives * sizeof(a->receive[0]));
}

static void levels_agree(void **state)
{
	static struct program program;
	static struct world message, packet;
	uint32_t statuses = 0;

	for (uint64_t seed = 0; seed < 150; seed++) {
		make_program(&program, seed);
		world_open(&message, &program, SRD_PROFILE_LEVEL_MESSAGE, NULL);
		run(&message);
		world_open(&packet, &program, SRD_PROFILE_LEVEL_PACKET, NULL);
		run(&packet);
		check_same(&message, &packet);
		for (uint32_t i = 0; i < OPS; i++) {
			check_bytes(&message, i);
			check_bytes(&packet, i);
			statuses |= 1u << packet.outcome[i].vendor_err;
		}
		message.v->close(message.v);
		packet.v->close(packet.v);
	}
	/* The programs meet every way to end that they are built to meet. */
	assert_int_equal(statuses, 1u << SRD_EFA_OK | 1u << SRD_EFA_LOCAL_ERROR_INVALID_LKEY |
					   1u << SRD_EFA_LOCAL_ERROR_BAD_LENGTH |
					   1u << SRD_EFA_REMOTE_ERROR_BAD_ADDRESS |
					   1u << SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN |
					   1u << SRD_EFA_REMOTE_ERROR_RNR |
					   1u << SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE |
					   1u << SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE);
}

/*
 * Chaos: in the middle of a program queue pairs, regions, address handles and hosts come and
 * go, and the laboratory does what it can. Nothing is expected but that the model stays
 * sound, and that no request completes twice unless it was asked to.
 */
static void chaos_on_request(struct world *w, struct srd_rng *rng, struct srd_qp *qp)
{
	static const enum srd_lab_kind kinds[] = {
		SRD_LAB_HOLD,   SRD_LAB_RELEASE,   SRD_LAB_FAIL,
		SRD_LAB_DROP,   SRD_LAB_DELAY,     SRD_LAB_LOCATE,
		SRD_LAB_QP_ERR, SRD_LAB_STALE_CQE, SRD_LAB_COMPLETE_ALL};
	struct srd_lab command = {.kind = kinds[below(rng, 9)],
				  .flags = SRD_LAB_BY_ORDINAL,
				  .qp = qp,
				  .ordinal = below(rng, OPS / HOSTS / QPS),
				  .status = (uint32_t)(1 + below(rng, 18)),
				  .time = below(rng, 100000)};

	if (command.kind == SRD_LAB_STALE_CQE && below(rng, 4))
		return;
	w->v->lab(w->v, &command);
}

static void chaos_on_fabric(struct world *w, struct srd_rng *rng)
{
	static const char *const names[] = {"order", "latency", "jitter", "bandwidth", "loss"};
	uint64_t values[] = {below(rng, 3), below(rng, 50000), below(rng, 20000),
			     1000000 + below(rng, 12500000000), below(rng, 3) * 300000};
	uint64_t i = below(rng, 5);
	struct srd_lab command = {.kind = SRD_LAB_SET, .name = names[i], .value = values[i]};

	assert_int_equal(w->v->lab(w->v, &command), 0);
}

static void chaos_on_host(struct world *w, struct srd_rng *rng, uint32_t host)
{
	struct srd_lab command = {.kind = below(rng, 2) ? SRD_LAB_KILL : SRD_LAB_RESTART,
				  .host = host};

	if (!below(rng, 10))
		w->v->lab(w->v, &command);
}

static void chaos_on_objects(struct world *w, struct srd_rng *rng, struct host *h)
{
	static const enum srd_qp_state states[] = {SRD_QPS_RESET, SRD_QPS_INIT, SRD_QPS_RTR,
						   SRD_QPS_RTS,   SRD_QPS_SQD,  SRD_QPS_ERR};
	struct srd_qp_attr attr = {.qp_state = states[below(rng, 6)], .port_num = 1, .qkey = QKEY};
	struct srd_qp *qp = h->qp[below(rng, QPS)];
	uint32_t mask = SRD_QP_STATE;

	switch (below(rng, 3)) {
	case 0:
		if (attr.qp_state == SRD_QPS_INIT)
			mask |= SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY;
		if (attr.qp_state == SRD_QPS_RTS && qp->state == SRD_QPS_RTR)
			mask |= SRD_QP_SQ_PSN;
		w->v->modify_qp(w->v, qp, &attr, mask);
		break;
	case 1:
		if (below(rng, 4))
			break;
		assert_int_equal(w->v->dereg_mr(w->v, h->to_mr), 0);
		h->to_mr = w->v->reg_mr(w->v, h->pd, h->to->addr, h->to->length, RIGHTS);
		assert_non_null(h->to_mr);
		break;
	case 2:
		if (below(rng, 4))
			break;
		assert_int_equal(w->v->destroy_ah(w->v, h->ah[0]), 0);
		make_handle(w, h, 0);
		break;
	}
}

static void chaos(struct world *w, struct srd_rng *rng)
{
	uint32_t number = (uint32_t)below(rng, HOSTS);
	struct host *h = &w->host[number];

	switch (below(rng, 6)) {
	case 0:
	case 1:
		chaos_on_request(w, rng, h->qp[below(rng, QPS)]);
		break;
	case 2:
		chaos_on_objects(w, rng, h);
		break;
	case 3:
		chaos_on_fabric(w, rng);
		break;
	case 4:
		chaos_on_host(w, rng, number);
		break;
	case 5:
		w->v->wait(w->v, w->v->now(w->v) + below(rng, 50000));
		break;
	}
	audit(w);
}

static void run_chaos(struct world *w, uint64_t seed)
{
	struct srd_rng rng;

	srd_rng_seed(&rng, seed, 1);
	for (uint32_t i = 0; i < OPS; i++) {
		post(w, i);
		for (uint64_t n = below(&rng, 4); n > 0; n--)
			chaos(w, &rng);
		drain(w);
	}
	for (int i = 0; i < 20; i++) {
		chaos(w, &rng);
		w->v->wait(w->v, w->v->now(w->v) + 10000);
		drain(w);
	}
	while (w->v->wait(w->v, w->v->now(w->v) + 1000000000) != ETIMEDOUT)
		drain(w);
	audit(w);
	for (uint32_t i = 0; i < OPS; i++)
		assert_in_range(w->outcome[i].seen, 0, 1);
}

static void chaos_leaves_the_model_sound(void **state)
{
	static const enum srd_profile_level levels[] = {SRD_PROFILE_LEVEL_MESSAGE,
							SRD_PROFILE_LEVEL_PACKET};
	static struct program program;
	static struct world world;

	for (uint64_t seed = 0; seed < 300; seed++) {
		make_program(&program, seed);
		world_open(&world, &program, levels[seed % 2], NULL);
		run_chaos(&world, seed);
		world.v->close(world.v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_agree),
		cmocka_unit_test(chaos_leaves_the_model_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
