/* SPDX-License-Identifier: MIT */
/*
 * The EFA SRD queue pair over a scripted device: each call that it makes, in order and
 * with its arguments, and what it does about each call that fails.
 */
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "fake_device.h"
#include "qp/efa_srd.h"

static const struct srd_queue_pair_ops *const ops = &srd_efa_srd_ops;
static struct fake_device fake;
static struct srd_cq send_cq = {.handle = 1}, recv_cq = {.handle = 2};
static struct srd_queue_pair *qp;
static struct srd_error error;
static uint64_t id[64];
static struct srd_wr_ids ids = {.id = id, .capacity = 64};

static const struct srd_queue_pair_config config = {
	.max_send_wr = 512,
	.max_recv_wr = 256,
	.max_send_sge = 30,
	.max_recv_sge = 30,
	.psn = 0xabcdef,
	.port_num = 1,
};

static const struct srd_endpoint peer = {
	.qp_num = 9,
	.psn = 0x111111,
	.lid = 7,
	.has_gid = true,
	.gid_index = 3,
	.gid = {.raw = {0x20, [15] = 0x42}},
};

static int create(const struct srd_queue_pair_config *with)
{
	return ops->create(&fake.verbs, &fake.pd, with, &send_cq, &recv_cq, &qp, &error);
}

static int setup(void **state)
{
	fake_device_init(&fake);
	qp = NULL;
	memset(&error, 0, sizeof(error));
	assert_int_equal(create(&config), 0);
	return 0;
}

static int setup_connected(void **state)
{
	setup(state);
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	fake_device_clear(&fake);
	return 0;
}

static int teardown(void **state)
{
	ops->destroy(qp);
	assert_int_equal(fake.live, 0);
	assert_int_equal(srd_alloc_live(), 0);
	return 0;
}

static struct srd_local_view local(uint64_t addr, uint64_t size)
{
	return (struct srd_local_view){.addr = addr, .size = size, .lkey = 17};
}

static struct srd_remote_view remote(uint64_t addr, uint64_t size)
{
	return (struct srd_remote_view){.addr = addr, .size = size, .rkey = 23};
}

static int put(uint64_t from, uint64_t size, uint64_t to)
{
	struct srd_local_view l = local(from, size);
	struct srd_remote_view r = remote(to, size);

	return ops->put(qp, &r, &l, &ids, &error);
}

static void inject(enum srd_verb verb, int nth, int errnum)
{
	fake.fail_verb = verb;
	fake.fail_nth = fake.calls[verb] + nth;
	fake.fail_errno = errnum;
}

#define CREATE                                                                                \
	"create_qp_ex type 0xff/0 flags 0/0 ops 0x11 comp 0x41 sig_all 0 wr 512/256 sge 1/1 " \
	"inline 0"
#define AH   "create_ah gid 20..42 global 1 port 1 rest 0"
#define INIT "modify_qp INIT mask 0x71 qkey 0x4242 pkey 0 port 1 psn 0x0"
#define RTR  "modify_qp RTR mask 0x1 qkey 0x0 pkey 0 port 0 psn 0x0"
#define RTS  "modify_qp RTS mask 0x10001 qkey 0x0 pkey 0 port 0 psn 0xabcdef"

static void create_asks_then_creates(void **state)
{
	EXPECT_CALLS(&fake, "query_port 1", "query_gid 1 0", "efa_query_device", CREATE);
	assert_int_equal(ops->verbs_qp(qp)->qp_num, 5);
	assert_ptr_equal(ops->verbs_qp(qp)->send_cq, &send_cq);
	assert_ptr_equal(ops->verbs_qp(qp)->recv_cq, &recv_cq);
	assert_int_equal(ops->max_msg_size(qp), 1000);
}

static void destroy_takes_the_queue_pair_before_the_address_handle(void **state)
{
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	fake_device_clear(&fake);
	ops->destroy(qp);
	qp = NULL;
	EXPECT_CALLS(&fake, "destroy_qp 1", "destroy_ah 1");
	ops->destroy(NULL);
	EXPECT_NO_CALLS(&fake);
}

/* One call fails: its errno and a sentence, and nothing after it. */
static void create_fails(const struct srd_queue_pair_config *with, int rc, const char *message,
			 int num_calls)
{
	struct srd_queue_pair *kept = qp;
	int live = fake.live;

	fake_device_clear(&fake);
	assert_int_equal(create(with), rc);
	assert_int_equal(error.code, rc);
	assert_string_equal(error.message, message);
	assert_int_equal(fake.num_log, num_calls);
	assert_ptr_equal(qp, kept);
	assert_int_equal(fake.live, live);
	fake.fail_nth = 0;
}

static void create_reports_each_call_that_fails(void **state)
{
	inject(SRD_VERB_QUERY_PORT, 1, EINVAL);
	create_fails(&config, -EINVAL, "device fake0 has no port 1: Invalid argument", 1);
	inject(SRD_VERB_QUERY_GID, 1, EINVAL);
	create_fails(&config, -EINVAL,
		     "port 1 of device fake0 has no GID at index 0: Invalid argument", 2);
	inject(SRD_VERB_EFA_QUERY_DEVICE, 1, EIO);
	create_fails(&config, -EIO,
		     "the EFA device attributes of fake0 could not be queried: Input/output error",
		     3);
	inject(SRD_VERB_CREATE_QP_EX, 1, ENOMEM);
	create_fails(&config, -ENOMEM,
		     "failed to create EFA SRD queue pair on device fake0 with max_send_wr 512 and "
		     "max_recv_wr 256: Cannot allocate memory",
		     4);
	inject(SRD_VERB_CREATE_QP_EX, 1, EINVAL);
	create_fails(&config, -EINVAL,
		     "failed to create EFA SRD queue pair on device fake0 with max_send_wr 512 and "
		     "max_recv_wr 256: Invalid argument",
		     4);
}

static void create_refuses_a_device_without_rdma(void **state)
{
	fake.efa.device_caps = SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	create_fails(
		&config, -EOPNOTSUPP,
		"device fake0 does not support both RDMA read and RDMA write (capabilities 0x1, "
		"needed 0x9)",
		3);
	fake.efa.device_caps = 9;
	fake.efa.max_rdma_size = 0;
	create_fails(&config, -EOPNOTSUPP, "the maximum RDMA transfer size of device fake0 is 0",
		     3);
}

static void create_refuses_and_never_clamps(void **state)
{
	struct srd_queue_pair_config bad = config;

	bad.max_send_wr = 4097;
	create_fails(&bad, -EINVAL, "max_send_wr is 4097, but device fake0 allows at most 4096", 3);
	bad.max_send_wr = 0;
	create_fails(&bad, -EINVAL, "max_send_wr is 0: a queue holds at least 1 request", 3);
	bad = config;
	bad.max_recv_wr = 32769;
	create_fails(&bad, -EINVAL, "max_recv_wr is 32769, but device fake0 allows at most 32768",
		     3);
	bad.max_recv_wr = 0;
	create_fails(&bad, -EINVAL, "max_recv_wr is 0: a queue holds at least 1 request", 3);
	bad = config;
	bad.psn = 0x1000000;
	create_fails(&bad, -EINVAL, "psn is 0x1000000, but it has 24 bits", 3);
	bad = config;
	bad.qkey = 0x80000000;
	create_fails(&bad, -EINVAL,
		     "qkey is 0x80000000, but keys from 0x80000000 on are privileged", 3);
	bad = config;
	bad.pkey_index = 1;
	create_fails(&bad, -EINVAL,
		     "pkey_index is 1, but port 1 of device fake0 has 1 partition keys", 2);
}

/* The deepest queues that the device has are taken. */
static void create_takes_the_limits(void **state)
{
	struct srd_queue_pair_config most = config;

	most.max_send_wr = 4096;
	most.max_recv_wr = 32768;
	ops->destroy(qp);
	assert_int_equal(create(&most), 0);
}

static void create_needs_a_protection_domain(void **state)
{
	fake_device_clear(&fake);
	assert_int_equal(ops->create(&fake.verbs, NULL, &config, &send_cq, &recv_cq, &qp, &error),
			 -EINVAL);
	assert_non_null(strstr(error.message, "null protection domain"));
	EXPECT_NO_CALLS(&fake);
}

static void connect_goes_to_rts(void **state)
{
	enum srd_qp_state reached;

	fake_device_clear(&fake);
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	EXPECT_CALLS(&fake, AH, INIT, RTR, RTS);
	assert_int_equal(ops->state(qp, &reached, &error), 0);
	assert_int_equal(reached, SRD_QPS_RTS);
	EXPECT_CALLS(&fake, "query_qp mask 0x1");
}

static void connect_uses_the_configured_key(void **state)
{
	struct srd_queue_pair_config other = config;

	other.qkey = 0x77;
	ops->destroy(qp);
	assert_int_equal(create(&other), 0);
	fake_device_clear(&fake);
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	EXPECT_CALLS(&fake, AH, "modify_qp INIT mask 0x71 qkey 0x77 pkey 0 port 1 psn 0x0", RTR,
		     RTS);
	fake_device_clear(&fake);
	assert_int_equal(put(0x1000, 0, 0x2000), 0);
	assert_string_equal(fake.log[3], "wr_set_ud_addr ah 1 qpn 9 qkey 0x77");
}

static void connect_refuses_a_bad_endpoint(void **state)
{
	struct srd_endpoint bad = peer;

	fake_device_clear(&fake);
	bad.has_gid = false;
	assert_int_equal(ops->connect(qp, &bad, &error), -EINVAL);
	assert_string_equal(error.message,
			    "queue pair 5 cannot be connected: EFA addresses by GID and "
			    "the peer's endpoint carries none");
	bad = peer;
	bad.qp_num = 0x10005;
	assert_int_equal(ops->connect(qp, &bad, &error), -EINVAL);
	assert_string_equal(error.message, "queue pair 5 cannot be connected: the peer's qp_num is "
					   "65541, but EFA's go up to 65535");
	EXPECT_NO_CALLS(&fake);
	bad.qp_num = 65535;
	assert_int_equal(ops->connect(qp, &bad, &error), 0);
}

static void connect_is_called_once(void **state)
{
	assert_int_equal(ops->connect(qp, &peer, &error), -EISCONN);
	assert_string_equal(error.message, "queue pair 5 is connected to queue pair 9 already");
	EXPECT_NO_CALLS(&fake);
	assert_int_equal(put(0x1000, 1, 0x2000), 0);
}

static void connect_without_an_address_handle_changes_nothing(void **state)
{
	fake_device_clear(&fake);
	inject(SRD_VERB_CREATE_AH, 1, EINVAL);
	assert_int_equal(ops->connect(qp, &peer, &error), -EINVAL);
	assert_string_equal(error.message,
			    "no address handle could be created for the peer of queue "
			    "pair 5: Invalid argument");
	EXPECT_CALLS(&fake, AH);
	assert_int_equal(ops->verbs_qp(qp)->state, SRD_QPS_RESET);
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	EXPECT_CALLS(&fake, AH, INIT, RTR, RTS);
}

/* What is posted after a connect that failed is refused without touching the device. */
static void expect_not_connected(void)
{
	fake_device_clear(&fake);
	assert_int_equal(put(0x1000, 10, 0x2000), -ENOTCONN);
	assert_string_equal(error.message, "put on queue pair 5, which has not been connected");
	assert_int_equal(ids.count, 0);
	EXPECT_NO_CALLS(&fake);
}

static void connect_goes_on_where_it_failed(void **state)
{
	fake_device_clear(&fake);
	inject(SRD_VERB_MODIFY_QP, 1, EOPNOTSUPP);
	assert_int_equal(ops->connect(qp, &peer, &error), -EOPNOTSUPP);
	assert_string_equal(error.message,
			    "queue pair 5 could not be moved from IBV_QPS_RESET to INIT: "
			    "Operation not supported");
	EXPECT_CALLS(&fake, AH, INIT, "destroy_ah 1");
	assert_int_equal(ops->verbs_qp(qp)->state, SRD_QPS_RESET);
	expect_not_connected();

	inject(SRD_VERB_MODIFY_QP, 2, EINVAL);
	assert_int_equal(ops->connect(qp, &peer, &error), -EINVAL);
	assert_string_equal(error.message,
			    "queue pair 5 could not be moved from IBV_QPS_INIT to RTR: "
			    "Invalid argument");
	EXPECT_CALLS(&fake, AH, INIT, RTR, "destroy_ah 2");
	assert_int_equal(ops->verbs_qp(qp)->state, SRD_QPS_INIT);
	expect_not_connected();

	inject(SRD_VERB_MODIFY_QP, 2, ENOMEM);
	assert_int_equal(ops->connect(qp, &peer, &error), -ENOMEM);
	assert_string_equal(error.message,
			    "queue pair 5 could not be moved from IBV_QPS_RTR to RTS: "
			    "Cannot allocate memory");
	EXPECT_CALLS(&fake, AH, RTR, RTS, "destroy_ah 3");
	expect_not_connected();

	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	EXPECT_CALLS(&fake, AH, RTS);
	assert_int_equal(put(0x1000, 1, 0x2000), 0);
}

static void connect_starts_over_after_a_reset(void **state)
{
	inject(SRD_VERB_MODIFY_QP, 3, EINVAL);
	assert_int_equal(ops->connect(qp, &peer, &error), -EINVAL);
	ops->verbs_qp(qp)->state = SRD_QPS_RESET;
	fake_device_clear(&fake);
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	EXPECT_CALLS(&fake, AH, INIT, RTR, RTS);
}

static int put_to(uint32_t number)
{
	struct srd_local_view l = local(0x1000, 10);
	struct srd_remote_view r = remote(0x2000, 10);

	fake_device_clear(&fake);
	return ops->put_to(qp, number, &r, &l, &ids, &error);
}

static void peers_share_a_handle_and_the_ids(void **state)
{
	struct srd_endpoint second = peer;
	uint32_t number;

	second.qp_num = 10;
	fake_device_clear(&fake);
	assert_int_equal(ops->add_peer(qp, &peer, &number, &error), 0);
	EXPECT_CALLS(&fake, AH, INIT, RTR, RTS); /* the first goes to RTS */
	assert_int_equal(number, 1);
	assert_int_equal(ops->add_peer(qp, &second, &number, &error), 0);
	EXPECT_NO_CALLS(&fake); /* at a GID that has a handle */
	assert_int_equal(number, 2);
	assert_int_equal(put(0x1000, 10, 0x2000), -ENOTCONN); /* number 0 is connect's */
	assert_int_equal(put_to(2), 0);
	assert_string_equal(fake.log[3], "wr_set_ud_addr ah 1 qpn 10 qkey 0x4242");
	assert_int_equal(put_to(1), 0);
	assert_string_equal(fake.log[3], "wr_set_ud_addr ah 1 qpn 9 qkey 0x4242");
	assert_int_equal(ids.id[0], 1);
	second.gid.raw[15] ^= 1;
	assert_int_equal(ops->connect(qp, &second, &error), 0);
	assert_int_equal(put_to(0), 0);
	assert_string_equal(fake.log[3], "wr_set_ud_addr ah 2 qpn 10 qkey 0x4242");
	assert_int_equal(put_to(3), -ENOTCONN);
	assert_string_equal(error.message, "queue pair 5 has no peer 3; it has 2");
	EXPECT_NO_CALLS(&fake);
	ops->destroy(qp);
	qp = NULL;
	EXPECT_CALLS(&fake, "destroy_qp 1", "destroy_ah 2", "destroy_ah 1");
}

static void a_peer_that_fails_gets_no_number(void **state)
{
	uint32_t number = 77;

	fake_device_clear(&fake);
	inject(SRD_VERB_MODIFY_QP, 3, EINVAL);
	assert_int_equal(ops->add_peer(qp, &peer, &number, &error), -EINVAL);
	EXPECT_CALLS(&fake, AH, INIT, RTR, RTS, "destroy_ah 1");
	srd_alloc_fail_at(1);
	assert_int_equal(ops->add_peer(qp, &peer, &number, &error), -ENOMEM);
	assert_int_equal(number, 77);
	assert_int_equal(put_to(1), -ENOTCONN);
	assert_int_equal(ops->add_peer(qp, &peer, &number, &error), 0);
	assert_int_equal(number, 1);
}

static void endpoint_tells_what_a_peer_needs(void **state)
{
	struct srd_endpoint out;

	fake_device_clear(&fake);
	assert_int_equal(ops->endpoint(qp, &out, &error), 0);
	EXPECT_CALLS(&fake, "query_port 1");
	assert_int_equal(out.qp_num, 5);
	assert_int_equal(out.psn, 0xabcdef);
	assert_int_equal(out.lid, 3);
	assert_true(out.has_gid);
	assert_int_equal(out.gid_index, 0);
	assert_memory_equal(&out.gid, &fake.gid, sizeof(out.gid));
	inject(SRD_VERB_QUERY_PORT, 1, EIO);
	assert_int_equal(ops->endpoint(qp, &out, &error), -EIO);
	assert_string_equal(error.message,
			    "port 1 of device fake0 could not be queried: Input/output error");
}

static void state_reports_a_failed_query(void **state)
{
	enum srd_qp_state out;

	inject(SRD_VERB_QUERY_QP, 1, ENODEV);
	assert_int_equal(ops->state(qp, &out, &error), -ENODEV);
	assert_string_equal(error.message,
			    "the state of queue pair 5 could not be queried: No such device");
}

static void put_is_one_session(void **state)
{
	assert_int_equal(put(0x1000, 2500, 0x20000), 0);
	EXPECT_CALLS(&fake, "wr_start", "wr_rdma_write id 0 flags 2 rkey 23 0x20000",
		     "wr_set_sge lkey 17 0x1000+1000", "wr_set_ud_addr ah 1 qpn 9 qkey 0x4242",
		     "wr_rdma_write id 1 flags 2 rkey 23 0x203e8", "wr_set_sge lkey 17 0x13e8+1000",
		     "wr_set_ud_addr ah 1 qpn 9 qkey 0x4242",
		     "wr_rdma_write id 2 flags 2 rkey 23 0x207d0", "wr_set_sge lkey 17 0x17d0+500",
		     "wr_set_ud_addr ah 1 qpn 9 qkey 0x4242", "wr_complete");
	assert_int_equal(ids.count, 3);
	assert_int_equal(id[0], 0);
	assert_int_equal(id[2], 2);
}

/* The destination may be larger; what is transferred is the source. */
static void get_transfers_the_remote_size(void **state)
{
	struct srd_local_view l = local(0x1000, 5000);
	struct srd_remote_view r = remote(0x20000, 1000);

	assert_int_equal(ops->get(qp, &l, &r, &ids, &error), 0);
	EXPECT_CALLS(&fake, "wr_start", "wr_rdma_read id 0 flags 2 rkey 23 0x20000",
		     "wr_set_sge lkey 17 0x1000+1000", "wr_set_ud_addr ah 1 qpn 9 qkey 0x4242",
		     "wr_complete");
	assert_int_equal(ids.count, 1);
	assert_int_equal(ops->num_requests(qp, SRD_OP_GET, 1000), 1);
	assert_int_equal(ops->num_requests(qp, SRD_OP_PUT, 1001), 2);
	assert_int_equal(ops->num_requests(qp, SRD_OP_PUT, 0), 1);
}

static void nothing_is_one_empty_request(void **state)
{
	assert_int_equal(put(0x1000, 0, 0x20000), 0);
	EXPECT_CALLS(&fake, "wr_start", "wr_rdma_write id 0 flags 2 rkey 23 0x20000",
		     "wr_set_sge lkey 17 0x1000+0", "wr_set_ud_addr ah 1 qpn 9 qkey 0x4242",
		     "wr_complete");
	assert_int_equal(ids.count, 1);
}

static void errors_before_the_session_consume_no_id(void **state)
{
	struct srd_local_view l = local(0x1000, 101);
	struct srd_remote_view r = remote(0x20000, 100);

	assert_int_equal(ops->put(qp, &r, &l, &ids, &error), -EMSGSIZE);
	assert_string_equal(error.message,
			    "put on queue pair 5: the destination has 100 bytes, the source 101");
	l.size = 99;
	assert_int_equal(ops->get(qp, &l, &r, &ids, &error), -EMSGSIZE);
	assert_string_equal(error.message,
			    "get on queue pair 5: the destination has 99 bytes, the source 100");
	assert_int_equal(put(0x1000, 100, UINT64_MAX - 50), -EOVERFLOW);
	assert_string_equal(error.message,
			    "put on queue pair 5: 100 bytes at local 0x1000 or 100 at "
			    "remote 0xffffffffffffffcd reach beyond the last address");
	assert_int_equal(put(0x1000, 64001, 0x20000), -ENOSPC);
	assert_string_equal(error.message,
			    "64001 bytes on queue pair 5 are 65 requests, but there is "
			    "room for 64 ids");
	EXPECT_NO_CALLS(&fake);
	assert_int_equal(ids.count, 0);
	assert_int_equal(put(0x1000, 64000, 0x20000), 0);
	assert_int_equal(id[0], 0);
	assert_int_equal(id[63], 63);
}

/* The size comes before the connection. */
static void sizes_are_compared_first(void **state)
{
	struct srd_local_view l = local(0x1000, 101);
	struct srd_remote_view r = remote(0x20000, 100);

	assert_int_equal(ops->put(qp, &r, &l, &ids, &error), -EMSGSIZE);
	r.size = 101;
	assert_int_equal(ops->put(qp, &r, &l, &ids, &error), -ENOTCONN);
	assert_int_equal(ops->get(qp, &l, &r, &ids, &error), -ENOTCONN);
}

static void a_count_beyond_32_bits_is_not_cut(void **state)
{
	ops->destroy(qp);
	fake.efa.max_rdma_size = 1;
	assert_int_equal(create(&config), 0);
	assert_int_equal(ops->connect(qp, &peer, &error), 0);
	fake_device_clear(&fake);
	assert_int_equal(put(0, UINT64_C(1) << 32, 0), -ENOSPC);
	assert_int_equal(put(0, (UINT64_C(1) << 32) + 5, 0), -ENOSPC);
	EXPECT_NO_CALLS(&fake);
}

/* The ids of a session that was refused are gone; the next op's are new ones. */
static void a_refused_session_posts_nothing(void **state)
{
	inject(SRD_VERB_WR_COMPLETE, 1, ENOMEM);
	assert_int_equal(put(0x1000, 2000, 0x20000), -ENOMEM);
	assert_string_equal(
		error.message,
		"put of 2 requests on queue pair 5 was refused: Cannot allocate memory");
	assert_int_equal(ids.count, 0);
	assert_int_equal(fake.num_posted, 0);
	assert_int_equal(fake.calls[SRD_VERB_WR_ABORT], 0);
	assert_int_equal(put(0x1000, 2000, 0x20000), 0);
	assert_int_equal(id[0], 2);
	assert_int_equal(id[1], 3);
}

static void poll_hands_on_one_entry(void **state)
{
	struct srd_completion out;

	assert_int_equal(put(0x1000, 2000, 0x20000), 0);
	fake_device_complete(&fake, 5, 1, SRD_WC_REM_ACCESS_ERR, 7);
	fake_device_complete(&fake, 5, 0, SRD_WC_SUCCESS, 0);
	fake_device_clear(&fake);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 1);
	EXPECT_CALLS(&fake, "poll_cq 1");
	assert_int_equal(out.wr_id, 1);
	assert_int_equal(out.status, SRD_WC_REM_ACCESS_ERR);
	assert_int_equal(out.vendor_err, 7);
	assert_int_equal(out.opcode, SRD_WC_SEND);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 1);
	assert_int_equal(out.wr_id, 0);
	assert_int_equal(out.status, SRD_WC_SUCCESS);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 0);
}

static void poll_goes_on_after_a_stale_entry(void **state)
{
	struct srd_completion out;

	assert_int_equal(put(0x1000, 10, 0x20000), 0);
	fake_device_stale(&fake);
	fake_device_entry(&fake, &(struct srd_wc){.wr_id = 0, .qp_num = 6});
	fake_device_complete(&fake, 5, 0, SRD_WC_SUCCESS, 0);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), -EINVAL);
	assert_string_equal(error.message,
			    "the completion queue of queue pair 5 could not be polled: "
			    "Invalid argument, the entry was of no live queue pair");
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), -EINVAL);
	assert_string_equal(error.message,
			    "the completion queue of queue pair 5 held an entry of queue pair 6");
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 1);
	inject(SRD_VERB_POLL_CQ, 1, EIO);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), -EIO);
}

/* With one completion queue for both, a poll of one keeps what is the other's. */
static void a_shared_completion_queue_loses_nothing(void **state)
{
	struct srd_completion out;

	ops->destroy(qp);
	assert_int_equal(
		ops->create(&fake.verbs, &fake.pd, &config, &send_cq, &send_cq, &qp, &error), 0);
	for (uint64_t i = 0; i < 40; i++)
		fake_device_entry(&fake,
				  &(struct srd_wc){.wr_id = i,
						   .qp_num = 6,
						   .opcode = i % 2 ? SRD_WC_RECV : SRD_WC_SEND});
	assert_int_equal(ops->poll(qp, SRD_QUEUE_RECV, &out, &error), 1);
	assert_int_equal(out.wr_id, 1);
	for (uint64_t i = 0; i < 40; i += 2) {
		assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 1);
		assert_int_equal(out.wr_id, i);
		assert_int_equal(out.opcode, SRD_WC_SEND);
	}
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 0);
	for (uint64_t i = 3; i < 40; i += 2) {
		assert_int_equal(ops->poll(qp, SRD_QUEUE_RECV, &out, &error), 1);
		assert_int_equal(out.wr_id, i);
	}
	assert_int_equal(ops->poll(qp, SRD_QUEUE_RECV, &out, &error), 0);
}

/* No memory for what is the other's: nothing is taken from the queue, so nothing is lost. */
static void a_poll_without_memory_takes_nothing(void **state)
{
	struct srd_completion out;

	ops->destroy(qp);
	assert_int_equal(
		ops->create(&fake.verbs, &fake.pd, &config, &send_cq, &send_cq, &qp, &error), 0);
	fake_device_entry(&fake, &(struct srd_wc){.wr_id = 8, .qp_num = 6, .opcode = SRD_WC_RECV});
	srd_alloc_fail_at(1);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), -ENOMEM);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_SEND, &out, &error), 0);
	assert_int_equal(ops->poll(qp, SRD_QUEUE_RECV, &out, &error), 1);
	assert_int_equal(out.wr_id, 8);
}

static void create_without_memory_creates_nothing(void **state)
{
	struct srd_queue_pair *kept = qp;

	fake_device_clear(&fake);
	srd_alloc_fail_at(1);
	assert_int_equal(create(&config), -ENOMEM);
	assert_int_equal(fake.calls[SRD_VERB_CREATE_QP_EX], 1);
	assert_ptr_equal(qp, kept);
}

/* A destroy that fails does not keep the ones after it from happening. */
static void destroy_goes_on_after_a_failure(void **state)
{
	inject(SRD_VERB_DESTROY_QP, 1, EIO);
	ops->destroy(qp);
	qp = NULL;
	EXPECT_CALLS(&fake, "destroy_qp 1", "destroy_ah 1");
}

#define FRESH(test)     cmocka_unit_test_setup_teardown(test, setup, teardown)
#define CONNECTED(test) cmocka_unit_test_setup_teardown(test, setup_connected, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(create_asks_then_creates),
		FRESH(create_reports_each_call_that_fails),
		FRESH(create_refuses_a_device_without_rdma),
		FRESH(create_refuses_and_never_clamps),
		FRESH(create_takes_the_limits),
		FRESH(create_needs_a_protection_domain),
		FRESH(create_without_memory_creates_nothing),
		FRESH(destroy_takes_the_queue_pair_before_the_address_handle),
		CONNECTED(destroy_goes_on_after_a_failure),
		FRESH(connect_goes_to_rts),
		FRESH(connect_uses_the_configured_key),
		FRESH(connect_refuses_a_bad_endpoint),
		CONNECTED(connect_is_called_once),
		FRESH(connect_without_an_address_handle_changes_nothing),
		FRESH(connect_goes_on_where_it_failed),
		FRESH(connect_starts_over_after_a_reset),
		FRESH(peers_share_a_handle_and_the_ids),
		FRESH(a_peer_that_fails_gets_no_number),
		FRESH(endpoint_tells_what_a_peer_needs),
		FRESH(state_reports_a_failed_query),
		CONNECTED(put_is_one_session),
		CONNECTED(get_transfers_the_remote_size),
		CONNECTED(nothing_is_one_empty_request),
		CONNECTED(errors_before_the_session_consume_no_id),
		FRESH(sizes_are_compared_first),
		FRESH(a_count_beyond_32_bits_is_not_cut),
		CONNECTED(a_refused_session_posts_nothing),
		CONNECTED(poll_hands_on_one_entry),
		CONNECTED(poll_goes_on_after_a_stale_entry),
		FRESH(a_shared_completion_queue_loses_nothing),
		FRESH(a_poll_without_memory_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
