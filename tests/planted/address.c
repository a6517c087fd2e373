/* SPDX-License-Identifier: MIT */
#include "planted.h"
#include "qp/efa_srd.h"
#include "qp/observe.h"

static void one_put(struct stage *s)
{
	submit(op_of(SRD_OP_PUT, 0, 100));
	settle();
}

static void other_domain(struct stage *s)
{
	const struct srd_ah_attr attr = {.dgid = s->b.endpoint.gid, .is_global = 1, .port_num = 1};
	struct srd_pd *pd = s->verbs->alloc_pd(s->verbs, s->a.context);
	struct srd_ah *ah = s->verbs->create_ah(s->verbs, pd, &attr);
	struct srd_op op = op_of(SRD_OP_PUT, 0, 100);
	struct srd_wc wc;

	raw_post(0, &op, ah);
	raw_wait(&wc);
	s->verbs->destroy_ah(s->verbs, ah);
	s->verbs->dealloc_pd(s->verbs, pd);
}

static void to_another(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
		       uint32_t remote_qpn, uint32_t remote_qkey)
{
	verbs->next->wr_set_ud_addr(verbs->next, qp, ah, remote_qpn + 1, remote_qkey);
}

static void plant_to_another(struct srd_verbs *verbs)
{
	verbs->wr_set_ud_addr = to_another;
}

static void with_another_key(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			     uint32_t remote_qpn, uint32_t remote_qkey)
{
	verbs->next->wr_set_ud_addr(verbs->next, qp, ah, remote_qpn, remote_qkey ^ 1);
}

static void plant_with_another_key(struct srd_verbs *verbs)
{
	verbs->wr_set_ud_addr = with_another_key;
}

static void with_17_bits(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			 uint32_t remote_qpn, uint32_t remote_qkey)
{
	verbs->next->wr_set_ud_addr(verbs->next, qp, ah, remote_qpn | 0x10000, remote_qkey);
}

static void plant_with_17_bits(struct srd_verbs *verbs)
{
	verbs->wr_set_ud_addr = with_17_bits;
}

static struct srd_ah *with_hop_limit(struct srd_verbs *verbs, struct srd_pd *pd,
				     const struct srd_ah_attr *attr)
{
	struct tamper *t = (struct tamper *)verbs;
	struct srd_ah_attr more = *attr;

	more.hop_limit = 255;
	t->ah = verbs->next->create_ah(verbs->next, pd, &more);
	return t->ah;
}

static void plant_with_hop_limit(struct srd_verbs *verbs)
{
	verbs->create_ah = with_hop_limit;
}

static int privileged(struct srd_verbs *verbs, struct srd_qp *qp, const struct srd_qp_attr *attr,
		      uint32_t mask)
{
	struct srd_qp_attr more = *attr;

	more.qkey |= 0x80000000u;
	return verbs->next->modify_qp(verbs->next, qp, &more, mask);
}

static void plant_privileged(struct srd_verbs *verbs)
{
	verbs->modify_qp = privileged;
}

static void move(struct stage *s, enum srd_qp_state state, uint32_t mask)
{
	const struct srd_qp_attr attr = {
		.qp_state = state, .qkey = SRD_DEFAULT_QKEY, .port_num = 1};
	struct srd_qp *qp = srd_observed_queue_pair_ops.verbs_qp(s->b.qp);

	assert_int_equal(s->verbs->modify_qp(s->verbs, qp, &attr, mask), 0);
}

/* To RTS, without an address handle of the other side. */
static void only_moves(struct stage *s)
{
	move(s, SRD_QPS_INIT, 0x71);
	move(s, SRD_QPS_RTR, 0x1);
	move(s, SRD_QPS_RTS, 0x10001);
}

static void stays(struct stage *s)
{
}

static void connects_elsewhere(struct stage *s)
{
	struct srd_endpoint other = s->a.endpoint;

	other.qp_num += 7;
	assert_int_equal(srd_observed_queue_pair_ops.connect(s->b.qp, &other, NULL), 0);
}

static void to_nobody(struct stage *s)
{
	struct srd_wc wc;

	s->b.endpoint.qp_num += 7;
	raw_write(0, 100);
	raw_wait(&wc);
}

static void two_with_one_key(struct stage *s)
{
	srd_efa_srd_ops.destroy(second_open(&srd_efa_srd_ops, s->a.cq));
}

const struct planted planted_address[] = {
	{"address.ah", NULL, "an address handle of another protection domain", .run = other_domain},
	{"address.peer", "address.target", "requests go to the next queue pair",
	 .above = plant_to_another, .run = one_put},
	{"address.fields", NULL, "the address handle has a hop limit",
	 .above = plant_with_hop_limit},
	{"address.qkey", NULL, "requests carry another queue key", .above = plant_with_another_key,
	 .run = one_put},
	{"address.qkey_range", NULL, "a privileged queue key", .above = plant_privileged},
	{"address.qpn", "address.peer address.target", "a number of 17 bits",
	 .above = plant_with_17_bits, .run = one_put},
	{"address.unknown_peer", NULL, "the peer makes no address handle", .connect_b = only_moves,
	 .run = one_put},
	{"address.peer_ready", "address.unknown_peer", "the peer is never connected",
	 .connect_b = stays, .run = one_put},
	{"address.target", NULL, "a number that no queue pair has", .run = to_nobody},
	{"address.mutual", NULL, "the peer connects to somebody else",
	 .connect_b = connects_elsewhere, .run = one_put},
	{"address.shared_qkey", NULL, "two queue pairs with one key", .run = two_with_one_key},
	{NULL},
};
