/* SPDX-License-Identifier: MIT */
/*
 * The requests of one queue pair that are posted and whose completion was not polled, by
 * wr_id. Ids are consecutive more often than not, so each has a place by its low bits; those
 * that find it taken are hashed. The same id may stand there more than once, for each of
 * them in a program that uses none: then the oldest is found first.
 */
#ifndef SRD_REQUESTS_H
#define SRD_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srd_book_mr;
struct srd_book_ah;
struct srd_book_op;

struct srd_request {
	uint64_t wr_id;
	uint64_t ordinal;              /* on its queue pair */
	struct srd_book_mr *mr;        /* NULL: unknown, or it touches no memory */
	struct srd_book_mr *remote_mr; /* the same at the other end */
	struct srd_book_ah *ah;        /* NULL: unknown */
	struct srd_book_op *op;        /* NULL: none */
	uint32_t line;
	uint32_t next; /* where it is hashed: of its list, or of the free ones; + 1, 0: none */
	uint8_t opcode;
	bool used;    /* the slot holds a request */
	bool dropped; /* the queue pair was reset since: it may complete or not */
	bool shared;  /* another had its id, so that a completion may be the other's */
	bool silent;  /* no entry comes for it where it succeeds */
};

/* Those of one hash, oldest first: slots + 1; 0: none. */
struct srd_request_list {
	uint32_t first;
	uint32_t last;
};

/* As many lists as slots, a power of two. All zeros is an empty table. */
struct srd_request_table {
	struct srd_request *slots;
	struct srd_request_list *lists;
	uint32_t size;
	uint32_t count;
	uint32_t free; /* slot + 1 */
};

/* All zeros has none. */
struct srd_requests {
	struct srd_request *near; /* by the low bits of the id */
	uint32_t near_mask;
	struct srd_request_table far;
};

/*
 * A new one with this id, the other fields left to the caller; NULL: no memory. DEPTH is how
 * many there will be at most, more or less.
 */
struct srd_request *srd_requests_add(struct srd_requests *requests, uint64_t wr_id, uint32_t depth);
/* REQUEST is one of them; every pointer to one is void after that. */
void srd_requests_remove(struct srd_requests *requests, struct srd_request *request);
/* Where it is not simply near. */
struct srd_request *srd_requests_search(const struct srd_requests *requests, uint64_t wr_id)
	__attribute__((noinline));
/* The one after REQUEST, NULL being before the first, in no certain order; NULL: no more. */
struct srd_request *srd_requests_next(const struct srd_requests *requests,
				      const struct srd_request *request);
void srd_requests_release(struct srd_requests *requests);

/* NULL: none has this id. A dropped one only where no other has it. */
static inline struct srd_request *srd_requests_find(const struct srd_requests *requests,
						    uint64_t wr_id)
{
	struct srd_request *near;

	if (!requests->near)
		return NULL;
	near = &requests->near[wr_id & requests->near_mask];
	if (near->used && near->wr_id == wr_id && !near->dropped)
		return near;
	return srd_requests_search(requests, wr_id);
}

#endif
