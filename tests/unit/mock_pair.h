/* SPDX-License-Identifier: MIT */
/*
 * Two hosts of the mock with one queue pair each, connected to each other, for the tests of
 * the model and of the verbs door. Every function asserts that it works.
 */
#ifndef SRD_MOCK_PAIR_H
#define SRD_MOCK_PAIR_H

#include <srdlab/lab.h>
#include <srdlab/profile.h>
#include <srdlab/verbs.h>

#include "verbs/backend.h"

#define PAIR_QKEY   0x4242
#define PAIR_MEMORY 65536

struct side {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *cq;
	struct srd_qp *qp;
	struct srd_ah *ah; /* to the other side */
	struct srd_buffer *buffer;
	struct srd_mr *mr; /* all of the buffer, all rights */
};

struct pair {
	struct srd_verbs *v;
	struct srd_profile profile;
	struct srd_stream *stream; /* set before open; may be NULL */
	uint32_t depth;            /* of the queues; 0: 16 */
	uint32_t efa_flags;
	uint32_t max_inline;
	uint64_t seed;
	struct side a, b;
};

/* The profile NAME, to be changed before pair_open; at the packet level where the environment
 * has SRD_TEST_LEVEL. */
void pair_init(struct pair *p, const char *profile);
void pair_open(struct pair *p);
/* Audit, close. */
void pair_close(struct pair *p);

/* Parts of pair_open. */
void side_open(struct pair *p, struct side *s, uint32_t host);
struct srd_qp *side_create_qp(struct pair *p, struct side *s);
struct srd_ah *side_create_ah(struct pair *p, struct side *s, uint32_t host);
void side_connect(struct pair *p, struct side *s);
int side_modify(struct pair *p, struct side *s, enum srd_qp_state state);

/* One signaled write of LENGTH bytes from a to b at OFFSET of both buffers, or a read back. */
void pair_write(struct pair *p, uint64_t wr_id, uint64_t offset, uint32_t length);
void pair_read(struct pair *p, uint64_t wr_id, uint64_t offset, uint32_t length);
/* The builders alone: request and setters within a session. */
void build_write(struct pair *p, uint64_t wr_id, uint64_t offset, uint32_t length);

/* Wait until S has a completion; returns it. */
struct srd_wc side_wait(struct pair *p, struct side *s);
/* Assert that the next completion of S is this one. */
void side_expect(struct pair *p, struct side *s, uint64_t wr_id, enum srd_efa_status status);
/* Nothing is in the completion queue of S. */
void side_expect_none(struct pair *p, struct side *s);

int lab_request(struct pair *p, struct srd_qp *qp, enum srd_lab_kind kind, uint64_t wr_id);
int lab_ordinal(struct pair *p, struct srd_qp *qp, enum srd_lab_kind kind, uint64_t ordinal);
enum srd_request_place lab_locate(struct pair *p, struct srd_qp *qp, uint64_t wr_id);
int lab_host(struct pair *p, enum srd_lab_kind kind, uint32_t host);
int lab_set(struct pair *p, const char *name, uint64_t value);
uint64_t lab_counter(struct pair *p, uint32_t host, const char *name);
void pair_audit(struct pair *p);

#endif
