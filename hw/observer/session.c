/* SPDX-License-Identifier: MIT */
/* Posting: the session with its builders and setters, and the posts of old. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "observer.h"

#define FIRST_CAPACITY 16
#define NESTED         8 /* sessions that one thread has open at once */

/* The calls of srd_ev_wr_post.setters. */
enum setter { SET_SGE = 1, SET_INLINE_DATA = 2, SET_UD_ADDR = 3 };
#define SGE_THEN_UD_ADDR 0x31

/* The requests of a session; those of sessions that are over are used again by their thread. */
struct seen_posts {
	struct seen_posts *next;
	uint32_t num;
	uint32_t capacity;
	struct srd_ev_wr_post *wr;
};

static __thread struct seen_posts *spare;
static __thread struct seen *mine[NESTED]; /* with a session of this thread */
static __thread uint32_t num_mine;

static struct seen_posts *posts_get(void)
{
	struct seen_posts *posts = spare;

	if (posts) {
		spare = posts->next;
		posts->num = 0;
		return posts;
	}
	posts = calloc(1, sizeof(*posts));
	if (!posts)
		return NULL;
	posts->wr = malloc(FIRST_CAPACITY * sizeof(*posts->wr));
	posts->capacity = posts->wr ? FIRST_CAPACITY : 0;
	return posts;
}

static void posts_put(struct seen_posts *posts)
{
	if (!posts)
		return;
	posts->next = spare;
	spare = posts;
}

/* Room for one more; NULL: no memory, and the request goes unseen. */
static struct srd_ev_wr_post *posts_add(struct seen_posts *posts)
{
	if (!posts)
		return NULL;
	if (posts->num == posts->capacity) {
		uint32_t capacity = posts->capacity ? posts->capacity * 2 : FIRST_CAPACITY;
		void *wr = realloc(posts->wr, capacity * sizeof(*posts->wr));

		if (!wr)
			return NULL;
		posts->wr = wr;
		posts->capacity = capacity;
	}
	return &posts->wr[posts->num++];
}

static void note_open(struct seen *seen)
{
	if (num_mine < NESTED)
		mine[num_mine] = seen;
	num_mine++;
}

static void note_closed(const struct seen *seen)
{
	for (uint32_t i = 0; i < num_mine && i < NESTED; i++) {
		if (mine[i] != seen)
			continue;
		mine[i] = mine[(num_mine < NESTED ? num_mine : NESTED) - 1];
		break;
	}
	if (num_mine)
		num_mine--;
}

struct seen *observer_session_on(const void *cq)
{
	for (uint32_t i = 0; i < num_mine && i < NESTED; i++)
		if (mine[i]->qp.send_cq == cq)
			return mine[i];
	return NULL;
}

/*
 * It is taken in front of the library's own lock of the same calls and given back behind it,
 * so that whoever waits for it would have waited there.
 */
void observer_turn(atomic_flag *telling)
{
	while (atomic_flag_test_and_set_explicit(telling, memory_order_acquire))
		sched_yield();
}

void observer_turn_over(atomic_flag *telling)
{
	atomic_flag_clear_explicit(telling, memory_order_release);
}

/* What was posted to HANDLE is told of from here on: the device may have it. */
static void hold(uint32_t handle, bool receives)
{
	const struct srd_recorder *recorder = observer_recorder();

	if (recorder)
		recorder->hold(handle, receives);
}

static void release(uint32_t handle, bool receives)
{
	const struct srd_recorder *recorder = observer_recorder();

	if (recorder)
		recorder->release(handle, receives);
}

/* That QP's session began, where it is still to be told; false: it is not. */
static bool take_start(struct seen_qp *qp, struct srd_ev_session_start *start)
{
	if (!atomic_load_explicit(&qp->untold, memory_order_relaxed) ||
	    !atomic_exchange_explicit(&qp->untold, false, memory_order_acquire))
		return false;
	*start = qp->start;
	return true;
}

/*
 * That a session began is told with its end: that takes one turn at the device and not two. But
 * not where somebody wants to see it at once, or something else of the queue pair is told first.
 */
void observer_session_told(struct seen *seen)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_ev_session_start start;

	if (take_start(&seen->qp, &start) && recorder)
		recorder->put(NULL, NULL, 0, &start.ev);
}

void observer_sessions_told(void)
{
	for (uint32_t i = 0; i < num_mine && i < NESTED; i++)
		observer_session_told(mine[i]);
}

void observer_misuse(struct seen *seen, enum srd_session_misuse what, enum srd_verb verb)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_ev_setter_misuse e = {
		.ev = OBSERVED(SETTER_MISUSE, seen),
		.what = what,
		.verb = verb,
	};

	if (!recorder)
		return;
	observer_session_told(seen);
	e.ev.line = recorder->stack();
	recorder->put(NULL, NULL, 0, &e.ev);
}

/*
 * A session belongs to the thread that started it: what others do is outside of it. Only that
 * thread makes this true or false.
 */
static bool is_mine(const struct seen_qp *qp)
{
	return atomic_load_explicit(&qp->owner, memory_order_relaxed) == (uintptr_t)pthread_self();
}

static struct srd_ev_session_start start_of(const struct seen *seen, uint32_t state)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_ev_session_start e = {.ev = OBSERVED(SESSION_START, seen), .state = state};

	e.ev.op = observer_op();
	e.ev.line = recorder ? recorder->stack() : 0;
	return e;
}

/* A session on what is destroyed. */
static void tell_dead(const struct seen *seen)
{
	const struct srd_recorder *recorder = observer_recorder();
	struct srd_ev_session_start e = start_of(seen, SRD_QPS_UNKNOWN);

	if (recorder)
		recorder->put(NULL, NULL, 0, &e.ev);
}

static void begin_session(struct seen *seen, uint32_t state)
{
	const struct srd_recorder *recorder = observer_recorder();

	seen->qp.start = start_of(seen, state);
	atomic_store_explicit(&seen->qp.untold, true, memory_order_release);
	if (recorder && recorder->all())
		observer_session_told(seen);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct seen_qp *qp = &seen->qp;

	if (seen->dead) {
		tell_dead(seen);
		return;
	}
	if (is_mine(qp)) {
		if (!qp->error)
			qp->error = EINVAL;
		observer_misuse(seen, SRD_MISUSE_START_TWICE, SRD_VERB_WR_START);
		return;
	}
	observer_turn(&qp->telling);
	qp->real.start(ex);
	atomic_store_explicit(&qp->owner, (uintptr_t)pthread_self(), memory_order_relaxed);
	qp->error = 0;
	qp->current = NULL;
	if (!qp->posts)
		qp->posts = posts_get();
	if (qp->posts)
		qp->posts->num = 0;
	note_open(seen);
	begin_session(seen, ex->qp_base.state);
}

/* The record of the request that a builder begins; *GO: it is to be handed on. */
static struct srd_ev_wr_post *add_request(struct seen *seen, struct ibv_qp_ex *ex,
					  enum srd_verb verb, enum srd_wr_opcode opcode,
					  bool offered)
{
	struct seen_qp *qp = &seen->qp;
	struct srd_ev_wr_post *wr;

	if (seen->dead)
		return NULL;
	if (!is_mine(qp)) {
		observer_misuse(seen, SRD_MISUSE_NO_SESSION, verb);
		return NULL;
	}
	qp->current = wr = posts_add(qp->posts);
	if (!wr) {
		qp->error = ENOMEM;
		return NULL;
	}
	*wr = (struct srd_ev_wr_post){
		.ev = OBSERVED(WR_POST, seen),
		.wr_id = ex->wr_id,
		.opcode = (uint8_t)opcode,
		/* no flag of verbs is beyond the low 7 bits: what is shows as the 8th */
		.wr_flags = (uint8_t)((ex->wr_flags & 0x7f) | (ex->wr_flags > 0x7f ? 0x80 : 0)),
	};
	qp->num_setters = 0;
	/* Its builder is NULL: the program would crash, and libefa be left in a session. */
	if (!offered && !qp->error)
		qp->error = EOPNOTSUPP;
	return qp->error ? NULL : wr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = add_request(seen, ex, SRD_VERB_WR_RDMA_WRITE, SRD_WR_RDMA_WRITE,
						seen->qp.real.rdma_write);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	seen->qp.real.rdma_write(ex, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr =
		add_request(seen, ex, SRD_VERB_WR_RDMA_WRITE_IMM, SRD_WR_RDMA_WRITE_WITH_IMM,
			    seen->qp.real.rdma_write_imm);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->imm_data = imm_data;
	seen->qp.real.rdma_write_imm(ex, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = add_request(seen, ex, SRD_VERB_WR_RDMA_READ, SRD_WR_RDMA_READ,
						seen->qp.real.rdma_read);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	seen->qp.real.rdma_read(ex, rkey, remote_addr);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);

	if (add_request(seen, ex, SRD_VERB_WR_SEND, SRD_WR_SEND, seen->qp.real.send))
		seen->qp.real.send(ex);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = add_request(seen, ex, SRD_VERB_WR_SEND_IMM,
						SRD_WR_SEND_WITH_IMM, seen->qp.real.send_imm);

	if (!wr)
		return;
	wr->imm_data = imm_data;
	seen->qp.real.send_imm(ex, imm_data);
}

/* The record of the request that a setter is for; NULL: it is not to be handed on. */
static struct srd_ev_wr_post *set_request(struct seen *seen, enum srd_verb verb, enum setter setter)
{
	struct seen_qp *qp = &seen->qp;

	if (seen->dead)
		return NULL;
	if (!is_mine(qp)) {
		observer_misuse(seen, SRD_MISUSE_NO_SESSION, verb);
		return NULL;
	}
	if (!qp->current) {
		if (!qp->error) {
			qp->error = EINVAL;
			observer_misuse(seen, SRD_MISUSE_SETTER_FIRST, verb);
		}
		return NULL;
	}
	if (qp->num_setters < 8)
		qp->current->setters |= (uint32_t)setter << (4 * qp->num_setters);
	qp->num_setters++;
	return qp->error ? NULL : qp->current;
}

static void note_sges(struct srd_ev_wr_post *wr, size_t num_sge, const struct ibv_sge *sges)
{
	wr->num_sge = (uint8_t)(num_sge < UINT8_MAX ? num_sge : UINT8_MAX);
	wr->length = 0;
	for (size_t i = 0; i < num_sge; i++)
		wr->length += sges[i].length;
	if (num_sge > 0) {
		wr->addr = sges[0].addr;
		wr->lkey = sges[0].lkey;
	}
	if (num_sge > 1) {
		wr->addr2 = sges[1].addr;
		wr->length2 = sges[1].length;
		wr->lkey2 = sges[1].lkey;
	}
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = set_request(seen, SRD_VERB_WR_SET_SGE, SET_SGE);
	struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	if (!wr)
		return;
	note_sges(wr, 1, &sge);
	seen->qp.real.set_sge(ex, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sges)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = set_request(seen, SRD_VERB_WR_SET_SGE_LIST, SET_SGE);

	if (!wr)
		return;
	note_sges(wr, num_sge, sges);
	seen->qp.real.set_sge_list(ex, num_sge, sges);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = set_request(seen, SRD_VERB_WR_SET_INLINE_DATA, SET_INLINE_DATA);

	if (!wr)
		return;
	wr->addr = (uintptr_t)addr;
	wr->length = length;
	wr->inline_data = 1;
	seen->qp.real.set_inline_data(ex, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *list)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = set_request(seen, SRD_VERB_WR_SET_INLINE_DATA, SET_INLINE_DATA);

	if (!wr)
		return;
	wr->inline_data = 1;
	wr->length = 0;
	for (size_t i = 0; i < num_buf; i++)
		wr->length += list[i].length;
	seen->qp.real.set_inline_data_list(ex, num_buf, list);
}

static uint32_t ah_number(const struct ibv_ah *ah)
{
	const struct seen *seen = ah ? observer_find(ah, SRD_RECORDER_AH) : NULL;

	return seen ? seen->number : 0;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct srd_ev_wr_post *wr = set_request(seen, SRD_VERB_WR_SET_UD_ADDR, SET_UD_ADDR);

	if (!wr)
		return;
	wr->ah = ah_number(ah);
	wr->remote_qpn = remote_qpn;
	wr->remote_qkey = remote_qkey;
	seen->qp.real.set_ud_addr(ex, ah, remote_qpn, remote_qkey);
}

/* The session has ended with END; its requests come before that, and START, if it is not NULL. */
static void tell_posts(const struct srd_event *start, struct seen_posts *posts,
		       struct srd_event *end)
{
	const struct srd_recorder *recorder = observer_recorder();
	uint32_t num = posts ? posts->num : 0;

	if (!recorder)
		return;
	end->line = recorder->stack();
	end->op = observer_op();
	for (uint32_t i = 0; i < num; i++) {
		posts->wr[i].ev.line = end->line;
		posts->wr[i].ev.op = end->op;
	}
	if (end->op && num)
		observer_op_posts(posts->wr, num);
	recorder->put(start, num ? posts->wr : NULL, num, end);
}

/* It is over, before the call that ends it has an answer. Others begin when it is told. */
static struct seen_posts *close_session(struct seen *seen)
{
	struct seen_posts *posts = seen->qp.posts;

	note_closed(seen);
	seen->qp.posts = NULL;
	seen->qp.current = NULL;
	atomic_store_explicit(&seen->qp.owner, 0, memory_order_relaxed);
	return posts;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);
	struct seen_qp *qp = &seen->qp;
	struct srd_ev_session_complete e = {.ev = OBSERVED(SESSION_COMPLETE, seen)};
	struct srd_ev_session_start start;
	struct seen_posts *posts;
	bool begun;
	int result;

	if (seen->dead || !is_mine(qp)) {
		observer_misuse(seen, SRD_MISUSE_END_WITHOUT_START, SRD_VERB_WR_COMPLETE);
		return EINVAL;
	}
	begun = take_start(qp, &start);
	posts = close_session(seen);
	result = qp->error;
	hold(ex->qp_base.handle, false);
	if (result)
		qp->real.abort(ex);
	else
		result = qp->real.complete(ex);
	e.result = (uint32_t)result;
	e.num_wr = posts ? posts->num : 0;
	tell_posts(begun ? &start.ev : NULL, posts, &e.ev);
	release(ex->qp_base.handle, false);
	observer_turn_over(&qp->telling);
	posts_put(posts);
	return result;
}

static void give_up(struct seen *seen, struct ibv_qp_ex *ex)
{
	struct srd_ev_session_abort e = {.ev = OBSERVED(SESSION_ABORT, seen)};
	struct srd_ev_session_start start;
	bool begun = take_start(&seen->qp, &start);
	struct seen_posts *posts = close_session(seen);

	seen->qp.real.abort(ex);
	e.num_wr = posts ? posts->num : 0;
	tell_posts(begun ? &start.ev : NULL, posts, &e.ev);
	observer_turn_over(&seen->qp.telling);
	posts_put(posts);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct seen *seen = observer_find(ex, SRD_RECORDER_QP);

	if (!seen->dead && is_mine(&seen->qp))
		give_up(seen, ex);
	else
		observer_misuse(seen, SRD_MISUSE_END_WITHOUT_START, SRD_VERB_WR_ABORT);
}

void observer_end_session(struct seen *seen, struct ibv_qp *qp)
{
	if (!seen->qp.owner)
		return;
	observer_misuse(seen, SRD_MISUSE_DESTROY_IN_SESSION, SRD_VERB_DESTROY_QP);
	give_up(seen, (struct ibv_qp_ex *)qp);
}

void observer_wrap_qp(struct seen *seen, struct ibv_qp *qp)
{
	struct ibv_qp_ex *(*to_ex)(struct ibv_qp *) =
		observer_real("libibverbs.so.1", "ibv_qp_to_qp_ex");
	struct ibv_qp_ex *ex = to_ex ? to_ex(qp) : NULL;
	struct seen_builders *real = &seen->qp.real;

	if (!ex || !ex->wr_start)
		return;
	*real = (struct seen_builders){
		.start = ex->wr_start,
		.complete = ex->wr_complete,
		.abort = ex->wr_abort,
		.send = ex->wr_send,
		.send_imm = ex->wr_send_imm,
		.rdma_read = ex->wr_rdma_read,
		.rdma_write = ex->wr_rdma_write,
		.rdma_write_imm = ex->wr_rdma_write_imm,
		.set_sge = ex->wr_set_sge,
		.set_sge_list = ex->wr_set_sge_list,
		.set_inline_data = ex->wr_set_inline_data,
		.set_inline_data_list = ex->wr_set_inline_data_list,
		.set_ud_addr = ex->wr_set_ud_addr,
	};
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
}

/* --- the posts of old: each is a session of its own --- */

static void note_send(struct srd_ev_wr_post *post, const struct seen *seen,
		      const struct ibv_send_wr *wr)
{
	bool rdma = wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_RDMA_WRITE ||
		    wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	*post = (struct srd_ev_wr_post){
		.ev = OBSERVED(WR_POST, seen),
		.wr_id = wr->wr_id,
		.opcode = (uint8_t)wr->opcode,
		.wr_flags = (uint8_t)((wr->send_flags & 0x7f) | (wr->send_flags > 0x7f ? 0x80 : 0)),
		.setters = SGE_THEN_UD_ADDR,
		.inline_data = wr->send_flags & IBV_SEND_INLINE ? 1 : 0,
		.ah = ah_number(wr->wr.ud.ah),
		.remote_qpn = wr->wr.ud.remote_qpn,
		.remote_qkey = wr->wr.ud.remote_qkey,
	};
	if (rdma) {
		post->rkey = wr->wr.rdma.rkey;
		post->remote_addr = wr->wr.rdma.remote_addr;
	}
	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		post->imm_data = wr->imm_data;
	note_sges(post, wr->num_sge > 0 ? (size_t)wr->num_sge : 0, wr->sg_list);
}

/* Those from WR up to END. */
static void tell_sent(struct seen *seen, struct ibv_send_wr *wr, const struct ibv_send_wr *end,
		      uint32_t state, int result)
{
	struct srd_ev_session_complete e = {.ev = OBSERVED(SESSION_COMPLETE, seen),
					    .result = (uint32_t)result};
	struct srd_ev_session_start start = start_of(seen, state);
	struct seen_posts *posts = posts_get();

	for (; wr != end; wr = wr->next) {
		struct srd_ev_wr_post *post = posts_add(posts);

		if (post)
			note_send(post, seen, wr);
	}
	e.num_wr = posts ? posts->num : 0;
	tell_posts(&start.ev, posts, &e.ev);
	posts_put(posts);
}

int observer_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct seen_context *context = observer_context(qp->context);
	struct seen *seen = observer_find(qp, SRD_RECORDER_QP);
	uint32_t state = qp->state;
	int err;

	if (!seen)
		return context->ops.post_send(qp, wr, bad_wr);
	if (seen->dead) {
		tell_dead(seen);
		*bad_wr = wr;
		return EINVAL;
	}
	observer_turn(&seen->qp.telling);
	hold(qp->handle, false);
	err = context->ops.post_send(qp, wr, bad_wr);
	/* Those before the one that fails are posted; those behind it were not looked at. */
	if (wr && (!err || *bad_wr != wr))
		tell_sent(seen, wr, err ? *bad_wr : NULL, state, 0);
	if (err && *bad_wr)
		tell_sent(seen, *bad_wr, (*bad_wr)->next, state, err);
	release(qp->handle, false);
	observer_turn_over(&seen->qp.telling);
	return err;
}

static void tell_received(const struct seen *seen, const struct ibv_recv_wr *wr,
			  const struct ibv_recv_wr *bad_wr, int err)
{
	const struct srd_recorder *recorder = observer_recorder();
	uint32_t line = recorder ? recorder->stack() : 0;

	for (const struct ibv_recv_wr *w = wr; recorder && w; w = w->next) {
		bool bad = err && w == bad_wr;
		struct srd_ev_recv_post e = {
			.ev = OBSERVED(RECV_POST, seen),
			.wr_id = w->wr_id,
			.num_sge = (uint32_t)w->num_sge,
			.result = bad ? (uint32_t)err : 0,
		};

		if (w->num_sge > 0) {
			e.addr = w->sg_list[0].addr;
			e.length = w->sg_list[0].length;
			e.lkey = w->sg_list[0].lkey;
		}
		e.ev.line = line;
		recorder->put(NULL, NULL, 0, &e.ev);
		if (bad)
			break;
	}
}

int observer_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct seen_context *context = observer_context(qp->context);
	struct seen *seen = observer_find(qp, SRD_RECORDER_QP);
	int err;

	if (!seen)
		return context->ops.post_recv(qp, wr, bad_wr);
	if (seen->dead) {
		*bad_wr = wr;
		tell_received(seen, wr, wr, EINVAL);
		return EINVAL;
	}
	observer_turn(&seen->qp.telling_receives);
	hold(qp->handle, true);
	err = context->ops.post_recv(qp, wr, bad_wr);
	tell_received(seen, wr, err ? *bad_wr : NULL, err);
	release(qp->handle, true);
	observer_turn_over(&seen->qp.telling_receives);
	return err;
}
