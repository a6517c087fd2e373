/* SPDX-License-Identifier: MIT */
/*
 * A model that somebody left in the middle of a step is made whole again: every request that
 * was under way ends once, and those that were not submitted are forgotten.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "door/door.h"
#include "mock_pair.h"
#include "model/state.h"

#define DEPTH 8u

static struct pair p;

static int open_pair(void **state)
{
	pair_init(&p, "efa1");
	p.depth = DEPTH;
	pair_open(&p);
	return 0;
}

static int close_pair(void **state)
{
	pair_close(&p);
	return 0;
}

static struct srd_model *model(void)
{
	return &door_of(p.v)->model;
}

static struct srd_model_qp *queue_pair(void)
{
	return &model()->qp[door_qp(p.a.qp)->model];
}

static struct srd_request *request(uint32_t nth)
{
	uint32_t index = queue_pair()->first_request;

	while (nth--)
		index = model()->request[index].next;
	assert_int_not_equal(index, 0);
	return &model()->request[index];
}

static void repair(void)
{
	char text[256] = "";

	assert_int_equal(srd_model_repair(model()), 0);
	srd_model_audit(model(), text, sizeof(text));
	assert_string_equal(text, "");
}

/* Requests FIRST to FIRST + NUM - 1, in an order of the pool's entries that is not theirs. */
static void post(uint64_t first, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		pair_write(&p, first + i, 64 * i, 64);
}

/* NUM good completions, of FIRST and those after it; returns when the last came. */
static uint64_t expect_all(uint64_t first, uint32_t num)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < num; i++) {
		struct srd_wc wc = side_wait(&p, &p.a);

		assert_int_equal(wc.status, SRD_WC_SUCCESS);
		assert_in_range(wc.wr_id, first, first + num - 1);
		assert_int_equal(seen >> (wc.wr_id - first) & 1, 0);
		seen |= 1u << (wc.wr_id - first);
	}
	side_expect_none(&p, &p.a);
	assert_int_equal(queue_pair()->first_request, 0);
	return model()->state->now;
}

static void nothing_is_broken(void **state)
{
	uint64_t end;

	post(0, DEPTH);
	end = expect_all(0, DEPTH);
	pair_close(&p);
	pair_open(&p);
	post(0, DEPTH);
	repair();
	repair();
	assert_int_equal(expect_all(0, DEPTH), end);
}

/* A process died over the end of the queue pair, or over its beginning. */
static void numbers_are_broken(void **state)
{
	struct srd_model_device *device = &model()->device[queue_pair()->host];
	struct srd_qpn_slot *slot =
		&model()->qpn[(size_t)queue_pair()->host * model()->state->layout.qpn_slots];
	uint32_t index = (uint32_t)(queue_pair() - model()->qp);
	char text[256];

	slot += srd_qpn_index(model(), queue_pair()->qpn);
	assert_int_equal(slot->qp, index);
	slot->qp = 0;
	device->num_qp++;
	repair();
	assert_int_equal(slot->qp, index);
	post(0, DEPTH);
	expect_all(0, DEPTH);
	device->num_qp--;
	assert_int_not_equal(srd_model_audit(model(), text, sizeof(text)), 0);
	repair();
	/* It is in the list no more, and its end still to come. */
	assert_int_equal(device->first_qp, index);
	device->first_qp = queue_pair()->next_qp;
	device->num_qp--;
	assert_int_not_equal(srd_model_audit(model(), text, sizeof(text)), 0);
	repair();
	assert_int_equal(slot->qp, 0);
	assert_int_equal(device->qpn_free, 1 + srd_qpn_index(model(), queue_pair()->qpn));
}

static void lists_are_broken(void **state)
{
	struct srd_pool *pool = &model()->state->pool[SRD_POOL_REQUEST];
	uint32_t entries = 0;

	/* Entries come back last first, so that now the first request has the last of them. */
	post(0, DEPTH);
	expect_all(0, DEPTH);
	post(DEPTH, DEPTH - 2);
	for (uint32_t i = 1; i <= pool->high; i++) {
		model()->request[i].next = i * 7 % 5;
		model()->request[i].prev = i * 3 % 4;
	}
	queue_pair()->first_request = 0;
	queue_pair()->last_request = 3;
	pool->free = 1;
	pool->used = 1000;
	repair();
	assert_int_equal(pool->used, DEPTH - 2);
	for (uint32_t i = 1; i < DEPTH - 2; i++)
		assert_int_equal(request(i)->ordinal, request(i - 1)->ordinal + 1);
	for (uint32_t i = queue_pair()->last_request; i; i = model()->request[i].prev)
		entries++;
	assert_int_equal(entries, DEPTH - 2);
	expect_all(DEPTH, DEPTH - 2);
}

static void events_are_lost(void **state)
{
	struct srd_heap *heap = model()->heap;

	post(0, DEPTH);
	srd_heap_init(heap, heap->capacity);
	repair();
	assert_int_equal(srd_heap_count(heap), DEPTH);
	assert_int_equal(srd_heap_next_time(heap), model()->state->now);
	expect_all(0, DEPTH);
}

static void list_of_events_is_broken(void **state)
{
	post(0, DEPTH);
	model()->heap->near_end = 2 * SRD_HEAP_NEAR + 1;
	repair();
	expect_all(0, DEPTH);
}

static void events_are_of_nothing(void **state)
{
	struct srd_heap *heap = model()->heap;
	uint32_t first;

	post(0, 2);
	first = srd_request_index(model(), request(0));
	srd_heap_push(heap, 0, first);
	srd_heap_push(heap, 0, 0);
	srd_heap_push(heap, 0, 1000);
	srd_heap_push(heap, 0, SRD_EVENT_PACKET | first);
	/* More than the list of the next ones takes, so that some are in the heap itself. */
	for (uint64_t i = 0; i < (uint64_t)3 * SRD_HEAP_NEAR; i++)
		srd_heap_push(heap, UINT64_MAX - i, 1000);
	repair();
	assert_int_equal(srd_heap_count(heap), 2);
	expect_all(0, 2);
}

static void half_submitted(void **state)
{
	struct srd_pool *pool = &model()->state->pool[SRD_POOL_REQUEST];

	post(0, 2);
	assert_non_null(srd_model_request_new(model()));
	request(1)->phase = SRD_PHASE_BUILT;
	repair();
	assert_int_equal(pool->used, 1);
	expect_all(0, 1);
}

static void completed_and_not_forgotten(void **state)
{
	struct srd_request *r[2];
	uint64_t last;

	post(0, 2);
	r[0] = request(0);
	r[1] = request(1);
	side_wait(&p, &p.a);
	last = side_wait(&p, &p.a).wr_id;
	assert_in_range(last, 0, 1);
	assert_int_equal(r[last]->phase, SRD_PHASE_FREE);
	assert_int_equal(r[last]->ordinal, last);
	r[last]->phase = SRD_PHASE_ANSWERED;
	repair();
	assert_int_equal(queue_pair()->first_request, 0);
	assert_int_equal(model()->state->pool[SRD_POOL_REQUEST].used, 0);
	side_expect_none(&p, &p.a);
	post(2, DEPTH);
	expect_all(2, DEPTH);
}

static void post_send(uint64_t wr_id)
{
	p.a.qp->wr_id = wr_id;
	p.a.qp->wr_flags = SRD_SEND_SIGNALED;
	p.v->wr_start(p.v, p.a.qp);
	p.v->wr_send(p.v, p.a.qp);
	p.v->wr_set_sge(p.v, p.a.qp, p.a.mr->lkey, p.a.buffer->addr, 64);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
}

/* The request of post_send waits at the receiver. */
static struct srd_request *park(uint64_t wr_id)
{
	post_send(wr_id);
	while (request(0)->phase != SRD_PHASE_RNR)
		assert_int_equal(p.v->wait(p.v, model()->state->now + 1000), ETIMEDOUT);
	return request(0);
}

static void waits_for_a_receive(void **state)
{
	struct srd_sge sge = {.addr = p.b.buffer->addr, .length = 4096, .lkey = p.b.mr->lkey};
	struct srd_recv_wr wr = {.wr_id = 9, .sg_list = &sge, .num_sge = 1}, *bad;
	struct srd_model_qp *receiver = &model()->qp[door_qp(p.b.qp)->model];

	park(5);
	receiver->first_parked = receiver->last_parked = 0;
	repair();
	assert_int_equal(p.v->post_recv(p.v, p.b.qp, &wr, &bad), 0);
	side_expect(&p, &p.a, 5, SRD_EFA_OK);
	assert_int_equal(side_wait(&p, &p.b).wr_id, 9);
}

static void receiver_is_gone(void **state)
{
	park(5)->parked_at = 0;
	repair();
	side_expect(&p, &p.a, 5, SRD_EFA_REMOTE_ERROR_BAD_DEST_QPN);
}

static void queue_pair_is_gone(void **state)
{
	post(0, 2);
	request(0)->qp = 77;
	request(1)->qp = 0;
	repair();
	assert_int_equal(model()->state->pool[SRD_POOL_REQUEST].used, 0);
	side_expect_none(&p, &p.a);
}

static void what_cannot_be_repaired(void **state)
{
	struct srd_heap *heap = model()->heap;
	uint32_t count = heap->count;

	heap->count = heap->capacity + 1;
	assert_int_equal(srd_model_repair(model()), EUCLEAN);
	heap->count = count;
	model()->state->pool[SRD_POOL_PACKET].used = 1;
	assert_int_equal(srd_model_repair(model()), EUCLEAN);
	model()->state->pool[SRD_POOL_PACKET].used = 0;
	model()->state->profile.level = SRD_PROFILE_LEVEL_PACKET;
	assert_int_equal(srd_model_repair(model()), EUCLEAN);
	model()->state->profile.level = SRD_PROFILE_LEVEL_MESSAGE;
	repair();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_broken),        TEST(numbers_are_broken),
		TEST(lists_are_broken),         TEST(events_are_lost),
		TEST(list_of_events_is_broken), TEST(events_are_of_nothing),
		TEST(half_submitted),           TEST(completed_and_not_forgotten),
		TEST(waits_for_a_receive),      TEST(receiver_is_gone),
		TEST(queue_pair_is_gone),       TEST(what_cannot_be_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
