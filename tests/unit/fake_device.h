/* SPDX-License-Identifier: MIT */
/*
 * A scripted EFA device behind the seam, for tests of the queue pair: it writes down every
 * call with its arguments as a line of text, answers as it is told, and knows nothing of
 * its own. Completions are what the test puts into its queue.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <srdlab/verbs.h>

#define FAKE_LOG     4096
#define FAKE_ENTRIES 4096

struct fake_device {
	struct srd_verbs verbs;
	struct srd_context context;
	struct srd_pd pd;
	struct srd_device_attr device;
	struct srd_efa_device_attr efa;
	struct srd_port_attr port;
	union srd_gid gid;
	uint32_t next_qp_num; /* the first is 5 */
	/* The n-th call of VERB, from 1, fails with this errno; n 0: none; n -1: every one. */
	enum srd_verb fail_verb;
	int fail_nth;
	int fail_errno;
	int calls[SRD_NUM_VERBS];
	int live; /* objects that were made and not destroyed */
	char log[FAKE_LOG][120];
	int num_log;
	/* what poll_cq hands out; status UINT32_MAX: a stale entry */
	struct srd_wc entries[FAKE_ENTRIES];
	int head;
	int tail;
	/* flush what is posted when the queue pair goes to ERR, or is destroyed (stale) */
	bool flush_on_err;
	bool stale_on_destroy;
	uint64_t posted[FAKE_ENTRIES]; /* ids that the device took and that did not complete */
	int num_posted;
	int session_start; /* num_posted at wr_start */
	uint64_t now;
};

void fake_device_init(struct fake_device *fake);
/* Forget the calls so far. */
void fake_device_clear(struct fake_device *fake);
/* Clear; the calls before were exactly these lines, of which the last is NULL. */
void fake_device_expect(struct fake_device *fake, const char *const *lines);
#define EXPECT_CALLS(fake, ...) fake_device_expect(fake, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_NO_CALLS(fake)   fake_device_expect(fake, (const char *const[]){NULL})
/* Complete the posted request WR_ID of queue pair QP_NUM. */
void fake_device_complete(struct fake_device *fake, uint32_t qp_num, uint64_t wr_id,
			  enum srd_wc_status status, uint32_t vendor_err);
/* An entry as given, whatever was posted. */
void fake_device_entry(struct fake_device *fake, const struct srd_wc *wc);
void fake_device_stale(struct fake_device *fake);

#endif
