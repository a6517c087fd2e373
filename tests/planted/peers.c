/* SPDX-License-Identifier: MIT */
/* One queue pair and many peers: the same rules, and what only goes wrong among several. */
#include <errno.h>

#include "planted.h"
#include "qp/efa_srd.h"
#include "qp/observe.h"
#include "qp/scheduler.h"

static const struct srd_queue_pair_ops *const ops = &srd_observed_queue_pair_ops;
static struct side far; /* the peer that add_peer gives; on a host of its own */

static struct srd_op op_to(uint32_t peer, uint64_t offset, uint64_t size)
{
	struct srd_op op = op_of(SRD_OP_PUT, offset, size);

	op.peer = peer;
	if (peer) {
		op.remote.addr = far.buffer->addr + offset;
		op.remote.rkey = far.mr->rkey;
	}
	return op;
}

static void far_open(struct stage *s)
{
	uint32_t number;

	side_open(s, &far, 2, NULL);
	assert_int_equal(ops->add_peer(far.qp, &s->a.endpoint, &number, NULL), 0);
	assert_int_equal(ops->add_peer(s->a.qp, &far.endpoint, &number, NULL), 0);
	assert_int_equal(number, 1);
}

/* To the one and to the other in turn, more than the credits at once. */
static void to_both(struct stage *s)
{
	far_open(s);
	for (uint32_t i = 0; i < 6; i++)
		submit(op_to(i % 2, 4096 * i, 2001));
	settle();
	/* Its peer first: what is left of the requests is flushed. */
	side_close(s, &s->a);
	side_close(s, &far);
}

static void straight_to_nobody(struct stage *s)
{
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);
	uint64_t id[4];
	struct srd_wr_ids ids = {.id = id, .capacity = 4};
	struct srd_wc wc;

	if (!ops->put_to(s->a.qp, 9, &op.remote, &op.local, &ids, NULL))
		raw_wait(&wc);
}

/* --- the queue pair --- */

static int put_to_connected(struct srd_queue_pair *qp, uint32_t peer,
			    const struct srd_remote_view *to, const struct srd_local_view *from,
			    struct srd_wr_ids *ids, struct srd_error *error)
{
	return srd_efa_srd_ops.put(qp, to, from, ids, error);
}

static void plant_put_to_connected(struct srd_queue_pair_ops *table)
{
	table->put_to = put_to_connected;
}

/* --- its requests: what the seam is told of the destination --- */

static void number_astray(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			  uint32_t remote_qpn, uint32_t remote_qkey)
{
	/* The last handle that was made is the far peer's. */
	bool to_far = ah == ((struct tamper *)verbs)->ah;

	verbs->next->wr_set_ud_addr(verbs->next, qp, ah, to_far ? remote_qpn + 1 : remote_qpn,
				    remote_qkey);
}

static void plant_number_astray(struct srd_verbs *verbs)
{
	verbs->wr_set_ud_addr = number_astray;
}

static struct srd_ah *first_ah;

static struct srd_ah *remember_first(struct srd_verbs *verbs, struct srd_pd *pd,
				     const struct srd_ah_attr *attr)
{
	struct tamper *t = (struct tamper *)verbs;

	t->ah = verbs->next->create_ah(verbs->next, pd, attr);
	if (!t->calls++)
		first_ah = t->ah;
	return t->ah;
}

static void through_the_first(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			      uint32_t remote_qpn, uint32_t remote_qkey)
{
	verbs->next->wr_set_ud_addr(verbs->next, qp, first_ah, remote_qpn, remote_qkey);
}

static void plant_through_the_first(struct srd_verbs *verbs)
{
	verbs->create_ah = remember_first;
	verbs->wr_set_ud_addr = through_the_first;
}

/* The last request of a put follows the one of the put before it. */
static void tail_astray(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct tamper *t = (struct tamper *)verbs;
	bool tail = ++t->calls % 3 == 0;

	verbs->next->wr_set_ud_addr(verbs->next, qp, tail && ah == t->ah ? first_ah : ah,
				    remote_qpn, remote_qkey);
}

static struct srd_ah *first_of_two(struct srd_verbs *verbs, struct srd_pd *pd,
				   const struct srd_ah_attr *attr)
{
	struct tamper *t = (struct tamper *)verbs;

	first_ah = t->ah;
	t->ah = verbs->next->create_ah(verbs->next, pd, attr);
	return t->ah;
}

static void plant_tail_astray(struct srd_verbs *verbs)
{
	verbs->create_ah = first_of_two;
	verbs->wr_set_ud_addr = tail_astray;
}

static void key_astray(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
		       uint32_t remote_qpn, uint32_t remote_qkey)
{
	bool to_far = ah == ((struct tamper *)verbs)->ah;

	verbs->next->wr_set_ud_addr(verbs->next, qp, ah, remote_qpn, remote_qkey ^ to_far);
}

static void plant_key_astray(struct srd_verbs *verbs)
{
	verbs->wr_set_ud_addr = key_astray;
}

/* Of the far peer only, which the first op did not go to. */
static int destroy_with_handle(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct tamper *t = (struct tamper *)verbs;

	verbs->next->destroy_ah(verbs->next, t->ah);
	return verbs->next->destroy_qp(verbs->next, qp);
}

static int destroyed_before(struct srd_verbs *verbs, struct srd_ah *ah)
{
	return ah == ((struct tamper *)verbs)->ah ? 0 : verbs->next->destroy_ah(verbs->next, ah);
}

static void plant_handle_first(struct srd_verbs *verbs)
{
	verbs->destroy_qp = destroy_with_handle;
	verbs->destroy_ah = destroyed_before;
}

/* --- the scheduler --- */

static int submit_to_connected(struct srd_scheduler *scheduler, const struct srd_op *op,
			       struct srd_error *error)
{
	struct srd_op other = *op;

	other.peer = 0;
	return srd_credit_scheduler_ops.submit(scheduler, &other, error);
}

static void plant_submit_to_connected(struct srd_scheduler_ops *table)
{
	table->submit = submit_to_connected;
}

/* As if each peer had a send queue of its own. */
static int credits_for_each(const struct srd_queue_pair_ops *qp_ops, struct srd_queue_pair *qp,
			    const struct srd_scheduler_config *config, struct srd_scheduler **out,
			    struct srd_error *error)
{
	struct srd_scheduler_config twice = *config;

	twice.max_send_wr *= 2;
	return srd_credit_scheduler_ops.create(qp_ops, qp, &twice, out, error);
}

static void plant_credits_for_each(struct srd_scheduler_ops *table)
{
	table->create = credits_for_each;
}

static struct srd_op waiting;
static bool is_waiting;

/* A line for each peer: the second op to the far peer does not wait for one to the other. */
static int submit_out_of_line(struct srd_scheduler *scheduler, const struct srd_op *op,
			      struct srd_error *error)
{
	int rc;

	if (!op->peer && !is_waiting) {
		waiting = *op;
		is_waiting = true;
		return 0;
	}
	rc = srd_credit_scheduler_ops.submit(scheduler, op, error);
	if (is_waiting && !rc)
		rc = srd_credit_scheduler_ops.submit(scheduler, &waiting, error);
	is_waiting = false;
	return rc;
}

static void plant_submit_out_of_line(struct srd_scheduler_ops *table)
{
	is_waiting = false;
	table->submit = submit_out_of_line;
}

const struct planted planted_peers[] = {
	{"address.peer", "memory.rkey", "put_to goes to the peer of connect",
	 .queue_pair = plant_put_to_connected, .run = to_both},
	{"address.peer", "address.target", "a peer's handle with another's number",
	 .above = plant_number_astray, .run = to_both},
	{"address.peer", "memory.rkey", "all peers through the first one's handle",
	 .above = plant_through_the_first, .run = to_both},
	{"address.peer", "memory.rkey", "one request of a put goes to the peer of the put before",
	 .above = plant_tail_astray, .run = to_both},
	{"address.peer", "memory.rkey", "the scheduler knows one peer",
	 .scheduler = plant_submit_to_connected, .run = to_both},
	{"address.qkey", NULL, "another queue key for one of the peers", .above = plant_key_astray,
	 .run = to_both},
	{"state.connected", NULL, "a peer that was never added",
	 .queue_pair = plant_put_to_connected, .run = straight_to_nobody},
	{"credit.overcommit", NULL, "each peer has credits of its own",
	 .scheduler = plant_credits_for_each, .run = to_both},
	{"credit.fifo", "credit.idle", "each peer has a line of its own",
	 .scheduler = plant_submit_out_of_line, .run = to_both},
	{"lifetime.ah_order", NULL, "a later peer's handle goes before the queue pair",
	 .above = plant_handle_first, .run = to_both},
	{NULL},
};
