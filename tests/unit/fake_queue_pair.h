/* SPDX-License-Identifier: MIT */
/*
 * A scripted queue pair for tests of what stands above one: posts are written down, ids
 * are consecutive from first_id unless told otherwise, and completions come as the test
 * puts them.
 */
#ifndef FAKE_QUEUE_PAIR_H
#define FAKE_QUEUE_PAIR_H

#include <srdlab/queue_pair.h>

#define FAKE_QP_POSTS       1024
#define FAKE_QP_COMPLETIONS 8192

struct fake_queue_pair {
	struct srd_qp verbs_qp;
	struct srd_context context;
	uint64_t max; /* bytes of a request */
	uint64_t next_id;
	uint64_t id_step; /* 0: every id is the same */
	int extra;        /* requests posted beyond what num_requests says */
	int post_result;  /* of the next posts */
	bool silent;      /* leave *error alone */
	bool too_many;    /* say more ids than there is room for */
	int polls;
	struct srd_op posts[FAKE_QP_POSTS];
	int num_posts; /* attempts */
	/* an entry with status UINT32_MAX: poll returns wr_id as a negative errno */
	struct srd_completion completions[FAKE_QP_COMPLETIONS];
	int head;
	int tail;
	bool destroyed;
};

extern const struct srd_queue_pair_ops fake_queue_pair_ops;

void fake_queue_pair_init(struct fake_queue_pair *fake);
void fake_queue_pair_complete(struct fake_queue_pair *fake, uint64_t wr_id,
			      enum srd_wc_status status);
/* The poll after those completions answers ERRNUM, a positive errno. */
void fake_queue_pair_poll_error(struct fake_queue_pair *fake, int errnum);

#endif
