/* SPDX-License-Identifier: MIT */
/* Where requests go. */
#include <inttypes.h>

#include "judge.h"

#define QKEY_LIMIT 0x80000000u
#define QPN_LIMIT  0x10000u

static void judge_ah(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_ah *ah = rules->book.qp->route.ah;

	if (!ah->thing.alive)
		FAIL(rules, ADDRESS_AH, "request %" PRIu64 ": line %u destroyed address handle %u",
		     post->wr_id, ah->thing.end_line, post->ah);
	else if (rules->book.qp->pd && ah->pd != rules->book.qp->pd)
		FAIL(rules, ADDRESS_AH,
		     "request %" PRIu64 ": address handle %u is of another protection domain",
		     post->wr_id, post->ah);
}

static bool plain(const struct srd_ev_ah_create *ah)
{
	return ah->is_global && ah->port_num == 1 && !ah->sgid_index && !ah->hop_limit &&
	       !ah->traffic_class && !ah->sl && !ah->dlid;
}

/* The request of an op on a queue pair that was told its peer. */
static void judge_peer(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_ev_ah_create *ah = &rules->book.qp->route.ah->made;
	const struct srd_book_qp *target = rules->book.qp->route.target_qp;
	uint64_t gid_hi, gid_lo;
	uint32_t qp_num;

	if (srd_book_op_peer(&rules->book, rules->book.op, &qp_num, &gid_hi, &gid_lo) &&
	    (post->remote_qpn != qp_num || ah->gid_hi != gid_hi || ah->gid_lo != gid_lo))
		FAIL(rules, ADDRESS_PEER,
		     "request %" PRIu64 " goes to number %u at %016" PRIx64 "%016" PRIx64
		     ", peer %u is %u at %016" PRIx64 "%016" PRIx64,
		     post->wr_id, post->remote_qpn, ah->gid_hi, ah->gid_lo,
		     rules->book.op->begun.peer, qp_num, gid_hi, gid_lo);
	if (!plain(ah))
		FAIL(rules, ADDRESS_FIELDS,
		     "address handle %u: global %u, port %u, sgid_index %u, hop_limit %u, "
		     "traffic_class %u, sl %u, dlid %u",
		     post->ah, ah->is_global, ah->port_num, ah->sgid_index, ah->hop_limit,
		     ah->traffic_class, ah->sl, ah->dlid);
	if (target && (target->state == SRD_QPS_RESET || target->state == SRD_QPS_INIT))
		FAIL(rules, ADDRESS_PEER_READY, "request %" PRIu64 ": the peer is in %s",
		     post->wr_id, srd_qp_state_str(target->state));
}

static void judge_target(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_route *route = &rules->book.qp->route;
	bool rdma = post->opcode != SRD_WR_SEND && post->opcode != SRD_WR_SEND_WITH_IMM;

	if (!route->target_qp) {
		FAIL(rules, ADDRESS_TARGET,
		     "request %" PRIu64 ": the destination has no queue pair number %u",
		     post->wr_id, post->remote_qpn);
		return;
	}
	if (route->target_qp->has_qkey && route->target_qp->qkey != post->remote_qkey)
		FAIL(rules, ADDRESS_QKEY,
		     "request %" PRIu64 " has queue key 0x%x, its destination 0x%x", post->wr_id,
		     post->remote_qkey, route->target_qp->qkey);
	if (rdma && rules->book.qp->device && !route->known_there)
		FAIL(rules, ADDRESS_UNKNOWN_PEER,
		     "request %" PRIu64 " from host %u: host %u has no address handle for it",
		     post->wr_id, post->ev.host, route->target_qp->thing.host);
}

/* A connected queue pair sends where its attributes say. */
static void judge_connection(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_qp *target = qp->route.target_qp;

	if (rules->book.op && qp->connected &&
	    (qp->peer_qpn != qp->connect.remote_qpn || qp->peer_gid_hi != qp->connect.gid_hi ||
	     qp->peer_gid_lo != qp->connect.gid_lo))
		FAIL(rules, ADDRESS_PEER,
		     "request %" PRIu64 " goes to number %u at %016" PRIx64 "%016" PRIx64
		     ", the peer is %u at %016" PRIx64 "%016" PRIx64,
		     post->wr_id, qp->peer_qpn, qp->peer_gid_hi, qp->peer_gid_lo,
		     qp->connect.remote_qpn, qp->connect.gid_hi, qp->connect.gid_lo);
	if (!qp->route.target)
		return;
	if (!target)
		FAIL(rules, ADDRESS_TARGET,
		     "request %" PRIu64 ": the destination has no queue pair number %u",
		     post->wr_id, qp->peer_qpn);
	else if (rules->book.op &&
		 (target->state == SRD_QPS_RESET || target->state == SRD_QPS_INIT))
		FAIL(rules, ADDRESS_PEER_READY, "request %" PRIu64 ": the peer is in %s",
		     post->wr_id, srd_qp_state_str(target->state));
}

static void judge_request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	if (rules->book.qp->has_peer) {
		judge_connection(rules, post);
		return;
	}
	if (post->remote_qpn >= QPN_LIMIT)
		FAIL(rules, ADDRESS_QPN, "request %" PRIu64 ": queue-pair number 0x%x", post->wr_id,
		     post->remote_qpn);
	if (!rules->book.qp->route.ah)
		return;
	judge_ah(rules, post);
	if (rules->book.op && rules->book.qp->connected)
		judge_peer(rules, post);
	if (rules->book.qp->route.target)
		judge_target(rules, post);
}

/* What goes the way of the request before it, which was right, is right. */
static void request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	struct srd_book_route *route = &rules->book.qp->route;
	uint64_t failures = rules->num_failures;
	const struct srd_book_op *op = rules->book.op;
	bool rdma = post->opcode != SRD_WR_SEND && post->opcode != SRD_WR_SEND_WITH_IMM;

	if (rdma && route->fine && route->fine_qkey == post->remote_qkey &&
	    route->fine_for_op == (op != NULL) && (!op || route->fine_peer == op->begun.peer))
		return;
	judge_request(rules, post);
	/* A send is asked less than an RDMA request. */
	route->fine = rdma && failures == rules->num_failures;
	route->fine_qkey = post->remote_qkey;
	route->fine_for_op = op;
	route->fine_peer = op ? op->begun.peer : 0;
}

static void shared_qkey(struct srd_rules *rules, const struct srd_book_qp *qp, uint32_t qkey)
{
	for (const struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		const struct srd_book_qp *other = (const struct srd_book_qp *)thing;

		if (thing->kind == SRD_KIND_QP && thing->alive && other != qp && other->has_qkey &&
		    other->device == qp->device && other->qkey == qkey) {
			FAIL(rules, ADDRESS_SHARED_QKEY, "queue key 0x%x is queue pair %u's too",
			     qkey, thing->handle);
			return;
		}
	}
}

static void qp_modify(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_qp_modify *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;

	if (!qp || ev->result || !(ev->mask & SRD_QP_QKEY))
		return;
	if (ev->qkey >= QKEY_LIMIT)
		FAIL(rules, ADDRESS_QKEY_RANGE, "queue key 0x%x", ev->qkey);
	if (rules->selected[SRD_R_ADDRESS_SHARED_QKEY] && qp->device)
		shared_qkey(rules, qp, ev->qkey);
}

/* Whoever connects last sees both ends. */
static void connect_end(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_connect *ev = (const void *)event;
	const struct srd_book_qp *qp = rules->book.qp;
	const struct srd_book_qp *peer;

	if (!qp || !qp->device || ev->result)
		return;
	peer = srd_book_qp_at(&rules->book, ev->gid_hi, ev->gid_lo, ev->remote_qpn);
	if (!peer || !peer->has_connect)
		return;
	/* One with more peers than that of connect may know this one too, or be told later. */
	if (peer->peers || qp->peers)
		return;
	if (peer->connect.remote_qpn != qp->made.qp_num ||
	    peer->connect.gid_hi != qp->device->gid_hi ||
	    peer->connect.gid_lo != qp->device->gid_lo)
		FAIL(rules, ADDRESS_MUTUAL,
		     "queue pair %u (number %u) connects to queue pair %u, whose peer is number %u "
		     "at %016" PRIx64 "%016" PRIx64,
		     qp->thing.handle, qp->made.qp_num, peer->thing.handle,
		     peer->connect.remote_qpn, peer->connect.gid_hi, peer->connect.gid_lo);
}

const struct srd_family srd_address_family = {
	.name = "address",
	.check =
		{
			[SRD_EV_QP_MODIFY] = qp_modify,
			[SRD_EV_CONNECT] = connect_end,
		},
	.request = request,
};
