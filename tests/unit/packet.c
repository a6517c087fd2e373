/* SPDX-License-Identifier: MIT */
/* The packet level of the fabric: what is sent, in which order it arrives, and its end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <srdlab/event.h>

#include "mock_pair.h"

#define MTU     1000
#define PACKETS 20
#define LENGTH  (PACKETS * MTU - 1)

/* Every dev_packet event of a run, and how many bytes were placed. */
struct log {
	struct srd_stream stream;
	struct srd_ev_dev_packet at[4096];
	int count;
	uint64_t placed;
};

static void log_event(void *reader, const struct srd_event *event)
{
	struct log *log = reader;

	if (event->type == SRD_EV_DEV_PLACE)
		log->placed += ((const struct srd_ev_dev_place *)event)->length;
	if (event->type != SRD_EV_DEV_PACKET)
		return;
	assert_true(log->count < 4096);
	log->at[log->count++] = *(const struct srd_ev_dev_packet *)event;
}

static struct log trace;
static struct pair p;

static void start(enum srd_profile_order order)
{
	memset(&trace, 0, sizeof(trace));
	assert_int_equal(srd_stream_add(&trace.stream, log_event, &trace), 0);
	pair_init(&p, "efa1");
	p.stream = &trace.stream;
	p.profile.level = SRD_PROFILE_LEVEL_PACKET;
	p.profile.mtu = MTU;
	p.profile.order = order;
}

/* How often a packet of this request and offset had this happen. */
static int happened(uint64_t ordinal, uint64_t offset, enum srd_packet_event what)
{
	int n = 0;

	for (int i = 0; i < trace.count; i++)
		n += trace.at[i].ordinal == ordinal && trace.at[i].offset == offset &&
		     trace.at[i].what == what;
	return n;
}

/* The events of one kind, in order; returns their number. */
static int offsets(enum srd_packet_event what, uint64_t *offset, int max)
{
	int n = 0;

	for (int i = 0; i < trace.count; i++)
		if (trace.at[i].what == what) {
			assert_true(n < max);
			offset[n++] = trace.at[i].offset;
		}
	return n;
}

static void assert_same(uint64_t offset, uint64_t length)
{
	uint64_t difference;

	assert_int_equal(p.v->compare_buffer(p.v, p.a.buffer, offset, p.b.buffer, offset, length,
					     &difference),
			 0);
	assert_int_equal(difference, length);
}

static void write_is_cut_into_packets(void **state)
{
	start(SRD_PROFILE_ORDER_RANDOM);
	pair_open(&p);
	pair_write(&p, 1, 0, LENGTH);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_same(0, LENGTH);
	assert_int_equal(trace.placed, LENGTH);
	assert_int_equal(trace.count, 2 * PACKETS);
	for (int i = 0; i < PACKETS; i++) {
		assert_int_equal(happened(0, i * MTU, SRD_PACKET_SENT), 1);
		assert_int_equal(happened(0, i * MTU, SRD_PACKET_ARRIVED), 1);
	}
	for (int i = 0; i < trace.count; i++) {
		const struct srd_ev_dev_packet *e = &trace.at[i];

		assert_int_equal(e->length, e->offset == LENGTH / MTU * MTU ? MTU - 1 : MTU);
		assert_true(e->path < p.profile.paths);
		assert_int_equal(e->ev.object, p.a.qp->handle);
		assert_int_equal(e->ev.host, e->what == SRD_PACKET_SENT ? 0 : 1);
	}
	assert_int_equal(lab_counter(&p, 0, "tx_pkts"), PACKETS);
	assert_int_equal(lab_counter(&p, 0, "tx_bytes"), LENGTH);
	assert_int_equal(lab_counter(&p, 1, "rx_pkts"), PACKETS);
	assert_int_equal(lab_counter(&p, 1, "rdma_write_recv_bytes"), LENGTH);
	pair_close(&p);
}

/* One packet asks, the responder's packets answer. */
static void read_is_answered_in_packets(void **state)
{
	start(SRD_PROFILE_ORDER_RANDOM);
	pair_open(&p);
	assert_int_equal(p.v->fill_buffer(p.v, p.b.buffer, 0, PAIR_MEMORY, 9), 0);
	pair_read(&p, 1, 0, LENGTH);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_same(0, LENGTH);
	assert_int_equal(trace.placed, LENGTH);
	assert_int_equal(trace.at[0].length, 0);
	assert_int_equal(trace.at[0].ev.host, 0);
	assert_int_equal(trace.at[1].what, SRD_PACKET_ARRIVED);
	assert_int_equal(trace.at[1].ev.host, 1);
	assert_int_equal(trace.count, 2 + 2 * PACKETS);
	assert_int_equal(lab_counter(&p, 0, "tx_pkts"), 1);
	assert_int_equal(lab_counter(&p, 1, "tx_pkts"), PACKETS);
	assert_int_equal(lab_counter(&p, 0, "rx_bytes"), LENGTH);
	assert_int_equal(lab_counter(&p, 1, "rdma_read_resp_bytes"), LENGTH);
	pair_close(&p);
}

static void arrivals(enum srd_profile_order order, uint64_t seed, uint64_t offset[PACKETS])
{
	start(order);
	p.seed = seed;
	pair_open(&p);
	pair_write(&p, 1, 0, LENGTH);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(offsets(SRD_PACKET_ARRIVED, offset, PACKETS), PACKETS);
	pair_close(&p);
}

static void in_order_they_arrive_as_sent(void **state)
{
	uint64_t offset[PACKETS];

	arrivals(SRD_PROFILE_ORDER_IN_ORDER, 1, offset);
	for (int i = 0; i < PACKETS; i++)
		assert_int_equal(offset[i], i * MTU);
}

static void random_order_follows_the_seed(void **state)
{
	uint64_t one[PACKETS], again[PACKETS], two[PACKETS], sorted[PACKETS];

	arrivals(SRD_PROFILE_ORDER_IN_ORDER, 1, sorted);
	arrivals(SRD_PROFILE_ORDER_RANDOM, 1, one);
	arrivals(SRD_PROFILE_ORDER_RANDOM, 1, again);
	arrivals(SRD_PROFILE_ORDER_RANDOM, 2, two);
	assert_memory_equal(one, again, sizeof(one));
	assert_memory_not_equal(one, two, sizeof(one));
	assert_memory_not_equal(one, sorted, sizeof(one));
}

/* Whoever watches the last byte sees it long before the first has arrived. */
static void adversary_sends_the_start_last(void **state)
{
	uint64_t offset[PACKETS];
	int last = 0, turned = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		arrivals(SRD_PROFILE_ORDER_ADVERSARIAL, seed, offset);
		last += offset[PACKETS - 1] == 0;
		for (int i = 1; i < PACKETS; i++)
			turned += offset[i] < offset[i - 1];
	}
	/* But for the few that are held far behind. */
	assert_in_range(last, 6, 20);
	assert_true(turned > 20 * (PACKETS - 1) * 3 / 4);
}

static void adversary_completes_the_oldest_last(void **state)
{
	struct srd_wc wc;
	int turned = 0;

	start(SRD_PROFILE_ORDER_ADVERSARIAL);
	p.depth = 16;
	pair_open(&p);
	for (uint64_t i = 0; i < 16; i++)
		pair_write(&p, i, i * MTU, MTU);
	for (uint64_t last = 16, i = 0; i < 16; i++) {
		wc = side_wait(&p, &p.a);
		turned += wc.wr_id < last;
		last = wc.wr_id;
	}
	assert_true(turned >= 12);
	pair_close(&p);
}

/* Requests share the link packet by packet. */
static void transfers_take_turns(void **state)
{
	int alternations = 0;

	start(SRD_PROFILE_ORDER_IN_ORDER);
	pair_open(&p);
	/* What the window admits goes out at once: the turns begin with what it does not. */
	for (uint64_t i = 0; i < 6; i++)
		pair_write(&p, i, 0, PAIR_MEMORY);
	for (int i = 0; i < 6; i++)
		assert_int_equal(side_wait(&p, &p.a).status, SRD_WC_SUCCESS);
	for (int i = 1; i < trace.count; i++)
		alternations += trace.at[i].what == SRD_PACKET_ARRIVED &&
				trace.at[i - 1].what == SRD_PACKET_ARRIVED &&
				trace.at[i].ordinal != trace.at[i - 1].ordinal;
	assert_true(trace.count == 6 * 66 * 2);
	assert_true(alternations > 10);
	pair_close(&p);
}

static void bandwidth_takes_time(void **state)
{
	uint64_t began;

	start(SRD_PROFILE_ORDER_RANDOM);
	p.profile.bandwidth = 100000000;
	p.profile.jitter = 0;
	pair_open(&p);
	began = p.v->now(p.v);
	pair_write(&p, 1, 0, 50000);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	/* 500 us on the link, the last packet on its path, and there and back. */
	assert_in_range(p.v->now(p.v) - began, 500000 + 2 * 12000, 500000 + 2 * 12000 + 80000);
	pair_close(&p);
}

static void lost_packets_are_sent_again(void **state)
{
	int lost = 0, again = 0;

	start(SRD_PROFILE_ORDER_RANDOM);
	p.profile.loss = 200000;
	pair_open(&p);
	pair_write(&p, 1, 0, LENGTH);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_same(0, LENGTH);
	assert_int_equal(trace.placed, LENGTH);
	for (int i = 0; i < PACKETS; i++) {
		uint64_t offset = (uint64_t)i * MTU;

		lost += happened(0, offset, SRD_PACKET_LOST);
		again += happened(0, offset, SRD_PACKET_RESENT);
		assert_int_equal(happened(0, offset, SRD_PACKET_SENT), 1);
		assert_true(happened(0, offset, SRD_PACKET_ARRIVED) >= 1);
		assert_true(happened(0, offset, SRD_PACKET_RESENT) >=
			    happened(0, offset, SRD_PACKET_LOST));
	}
	/* Acknowledgements are lost too: then it was sent again for nothing. */
	assert_true(lost > 0 && again > lost);
	assert_int_equal(lab_counter(&p, 0, "retrans_pkts"), again);
	assert_int_equal(lab_counter(&p, 0, "tx_pkts"), PACKETS + again);
	pair_close(&p);
}

static void all_is_lost_until_the_peer_is_given_up(void **state)
{
	start(SRD_PROFILE_ORDER_RANDOM);
	p.profile.loss = 1000000;
	pair_open(&p);
	pair_write(&p, 1, 0, 2 * MTU);
	side_expect(&p, &p.a, 1, SRD_EFA_LOCAL_ERROR_UNREACH_REMOTE);
	assert_in_range(p.v->now(p.v), 50000000, 51000000);
	assert_int_equal(trace.placed, 0);
	/* Nothing is left under way. */
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	pair_close(&p);
}

/* Until the first of their packets is behind the region, those inside it are placed. */
static void failing_write_places_what_came_before(void **state)
{
	struct srd_buffer *far;
	struct srd_mr *mr;

	for (int partial = 0; partial < 2; partial++) {
		start(SRD_PROFILE_ORDER_IN_ORDER);
		p.profile.partial_on_error = partial;
		pair_open(&p);
		far = p.v->alloc_buffer(p.v, p.b.context, 10 * MTU, SRD_BUFFER_REAL);
		mr = p.v->reg_mr(p.v, p.b.pd, far->addr, 10 * MTU,
				 SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE);
		assert_non_null(mr);
		p.v->wr_start(p.v, p.a.qp);
		p.a.qp->wr_id = 1;
		p.a.qp->wr_flags = SRD_SEND_SIGNALED;
		p.v->wr_rdma_write(p.v, p.a.qp, mr->rkey, far->addr);
		p.v->wr_set_sge(p.v, p.a.qp, p.a.mr->lkey, p.a.buffer->addr, LENGTH);
		p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
		assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
		side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
		assert_int_equal(trace.placed, partial ? 10 * MTU : 0);
		/* Its other packets come to nothing. */
		assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
		side_expect_none(&p, &p.a);
		pair_close(&p);
	}
}

static void region_goes_away_under_a_write(void **state)
{
	start(SRD_PROFILE_ORDER_IN_ORDER);
	p.profile.bandwidth = 10000000;
	pair_open(&p);
	pair_write(&p, 1, 0, LENGTH);
	assert_int_equal(p.v->wait(p.v, 1000000), ETIMEDOUT);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_WIRE);
	assert_in_range(trace.placed, 5 * MTU, 15 * MTU);
	assert_int_equal(p.v->dereg_mr(p.v, p.b.mr), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_BAD_ADDRESS);
	pair_close(&p);
}

/* The queue pair ends while packets are out: they are ignored when they come. */
static void flushed_with_packets_under_way(void **state)
{
	for (int destroy = 0; destroy < 2; destroy++) {
		start(SRD_PROFILE_ORDER_RANDOM);
		p.profile.mtu = 256;
		pair_open(&p);
		pair_write(&p, 1, 0, PAIR_MEMORY);
		pair_read(&p, 2, 0, PAIR_MEMORY);
		/* The window is full of the first: these wait. */
		pair_write(&p, 3, 0, 2560);
		pair_write(&p, 4, 0, 2560);
		assert_int_equal(lab_locate(&p, p.a.qp, 3), SRD_PLACE_SEND_QUEUE);
		assert_int_equal(p.v->wait(p.v, 1000), ETIMEDOUT);
		if (destroy)
			assert_int_equal(p.v->destroy_qp(p.v, p.a.qp), 0);
		else
			assert_int_equal(side_modify(&p, &p.a, SRD_QPS_ERR), 0);
		pair_audit(&p);
		if (!destroy) {
			side_expect(&p, &p.a, 1, SRD_EFA_FLUSHED);
			side_expect(&p, &p.a, 2, SRD_EFA_FLUSHED);
			side_expect(&p, &p.a, 3, SRD_EFA_FLUSHED);
			side_expect(&p, &p.a, 4, SRD_EFA_FLUSHED);
		}
		trace.placed = 0;
		while (p.v->wait(p.v, UINT64_MAX) != EDEADLK)
			;
		assert_int_equal(trace.placed, 0);
		pair_close(&p);
	}
}

static void peer_dies_under_a_transfer(void **state)
{
	start(SRD_PROFILE_ORDER_RANDOM);
	p.profile.bandwidth = 100000000;
	pair_open(&p);
	pair_write(&p, 0, 0, 8);
	side_expect(&p, &p.a, 0, SRD_EFA_OK);
	pair_write(&p, 1, 0, PAIR_MEMORY);
	pair_read(&p, 2, 0, PAIR_MEMORY);
	assert_int_equal(p.v->wait(p.v, p.v->now(p.v) + 300000), ETIMEDOUT);
	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 1), 0);
	pair_audit(&p);
	for (int i = 0; i < 2; i++)
		assert_int_equal(side_wait(&p, &p.a).vendor_err, SRD_EFA_LOCAL_ERROR_UNRESP_REMOTE);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	pair_close(&p);
}

static void initiator_dies_under_a_transfer(void **state)
{
	start(SRD_PROFILE_ORDER_RANDOM);
	p.profile.bandwidth = 100000000;
	pair_open(&p);
	pair_write(&p, 1, 0, PAIR_MEMORY);
	pair_read(&p, 2, 0, PAIR_MEMORY);
	assert_int_equal(p.v->wait(p.v, 300000), ETIMEDOUT);
	assert_int_equal(lab_host(&p, SRD_LAB_KILL, 0), 0);
	pair_audit(&p);
	assert_int_equal(lab_locate(&p, p.a.qp, 1), SRD_PLACE_LOST);
	assert_int_equal(lab_locate(&p, p.a.qp, 2), SRD_PLACE_LOST);
	assert_int_equal(p.v->wait(p.v, UINT64_MAX), EDEADLK);
	assert_int_equal(lab_host(&p, SRD_LAB_RESTART, 0), 0);
	pair_close(&p);
}

static void faults_on_requests(void **state)
{
	struct srd_lab fail = {.kind = SRD_LAB_FAIL,
			       .flags = SRD_LAB_BY_ORDINAL,
			       .status = SRD_EFA_REMOTE_ERROR_ABORT};
	uint64_t before;

	start(SRD_PROFILE_ORDER_IN_ORDER);
	pair_open(&p);
	fail.qp = p.a.qp;
	fail.ordinal = 1;
	assert_int_equal(p.v->lab(p.v, &fail), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_HOLD, 0), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_DROP, 2), 0);
	assert_int_equal(lab_ordinal(&p, p.a.qp, SRD_LAB_DUPLICATE, 3), 0);
	pair_write(&p, 10, 0, LENGTH);
	pair_write(&p, 11, 20000, LENGTH);
	pair_write(&p, 12, 40000, LENGTH);
	pair_write(&p, 13, 40000, LENGTH);
	side_expect(&p, &p.a, 11, SRD_EFA_REMOTE_ERROR_ABORT);
	side_expect(&p, &p.a, 13, SRD_EFA_OK);
	before = trace.placed;
	assert_int_equal(before, 3 * LENGTH);
	assert_int_equal(lab_locate(&p, p.a.qp, 10), SRD_PLACE_HELD);
	assert_int_equal(lab_locate(&p, p.a.qp, 12), SRD_PLACE_LOST);
	assert_int_equal(lab_request(&p, p.a.qp, SRD_LAB_RELEASE, 10), 0);
	side_expect(&p, &p.a, 13, SRD_EFA_OK);
	side_expect(&p, &p.a, 10, SRD_EFA_OK);
	pair_close(&p);
}

static void fault_while_the_answer_is_under_way(void **state)
{
	struct srd_lab fail = {
		.kind = SRD_LAB_FAIL, .wr_id = 1, .status = SRD_EFA_REMOTE_ERROR_ABORT};

	start(SRD_PROFILE_ORDER_IN_ORDER);
	p.profile.bandwidth = 100000000;
	pair_open(&p);
	pair_read(&p, 1, 0, PAIR_MEMORY);
	assert_int_equal(p.v->wait(p.v, 300000), ETIMEDOUT);
	assert_in_range(trace.placed, MTU, PAIR_MEMORY - MTU);
	trace.placed = 0;
	fail.qp = p.a.qp;
	assert_int_equal(p.v->lab(p.v, &fail), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_REMOTE_ERROR_ABORT);
	assert_int_equal(trace.placed, 0);
	pair_close(&p);
}

/* Much more than a window: 2^20 packets, and none of them is kept. */
static void a_gibibyte_passes(void **state)
{
	const uint64_t size = 1ull << 30;
	struct srd_buffer *from, *to;
	struct srd_mr *from_mr, *to_mr;
	uint64_t difference;

	start(SRD_PROFILE_ORDER_RANDOM);
	p.profile.mtu = 8192;
	p.stream = NULL;
	pair_open(&p);
	from = p.v->alloc_buffer(p.v, p.a.context, size, SRD_BUFFER_ORIGIN);
	to = p.v->alloc_buffer(p.v, p.b.context, size, SRD_BUFFER_ORIGIN);
	from_mr = p.v->reg_mr(p.v, p.a.pd, from->addr, size, SRD_ACCESS_LOCAL_WRITE);
	to_mr = p.v->reg_mr(p.v, p.b.pd, to->addr, size,
			    SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE);
	assert_int_equal(p.v->fill_buffer(p.v, from, 0, size, 3), 0);
	p.v->wr_start(p.v, p.a.qp);
	p.a.qp->wr_id = 1;
	p.a.qp->wr_flags = SRD_SEND_SIGNALED;
	p.v->wr_rdma_write(p.v, p.a.qp, to_mr->rkey, to->addr);
	p.v->wr_set_sge(p.v, p.a.qp, from_mr->lkey, from->addr, (uint32_t)size);
	p.v->wr_set_ud_addr(p.v, p.a.qp, p.a.ah, p.b.qp->qp_num, PAIR_QKEY);
	assert_int_equal(p.v->wr_complete(p.v, p.a.qp), 0);
	side_expect(&p, &p.a, 1, SRD_EFA_OK);
	assert_int_equal(p.v->compare_buffer(p.v, from, 0, to, 0, size, &difference), 0);
	assert_int_equal(difference, size);
	assert_int_equal(lab_counter(&p, 0, "tx_pkts"), 131072);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_is_cut_into_packets),
		cmocka_unit_test(read_is_answered_in_packets),
		cmocka_unit_test(in_order_they_arrive_as_sent),
		cmocka_unit_test(random_order_follows_the_seed),
		cmocka_unit_test(adversary_sends_the_start_last),
		cmocka_unit_test(adversary_completes_the_oldest_last),
		cmocka_unit_test(transfers_take_turns),
		cmocka_unit_test(bandwidth_takes_time),
		cmocka_unit_test(lost_packets_are_sent_again),
		cmocka_unit_test(all_is_lost_until_the_peer_is_given_up),
		cmocka_unit_test(failing_write_places_what_came_before),
		cmocka_unit_test(region_goes_away_under_a_write),
		cmocka_unit_test(flushed_with_packets_under_way),
		cmocka_unit_test(peer_dies_under_a_transfer),
		cmocka_unit_test(initiator_dies_under_a_transfer),
		cmocka_unit_test(faults_on_requests),
		cmocka_unit_test(fault_while_the_answer_is_under_way),
		cmocka_unit_test(a_gibibyte_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
