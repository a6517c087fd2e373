/* SPDX-License-Identifier: MIT */
/*
 * Rails: several queue pairs, each on a device of its own, between the same two hosts, as
 * one. A transfer is cut into stripes, which go over the rails in turn; all rails together
 * have no more requests in flight than one budget, besides the credits that each has.
 *
 * - Transfers are served in the order of their submission, and a transfer's stripes in that
 *   of their offsets. A stripe goes to the next rail that has credits for all of its
 *   requests; where none has, or the budget has not, everything behind it waits.
 * - A rail is lost where its queue pair has left RTS or its peer answers no longer (the
 *   status of a flush or of a time-out). A stripe that a lost rail did not bring there goes
 *   to another one: only once it has been answered, so that no byte is under way twice. A
 *   transfer fails for it only where no rail is left.
 * - Any other failure is the transfer's; stripes that were not sent yet are left out.
 * - A transfer is answered once, after the last of its stripes that were sent.
 * - Both hosts need the same number of rails: create refuses other numbers with both.
 */
#ifndef SRD_RAILS_H
#define SRD_RAILS_H

#include <srdlab/queue_pair.h>

struct srd_rails; /* the implementation's own */

/* One queue pair, connected, and its scheduler, which serves nobody else. */
struct srd_rail {
	const struct srd_queue_pair_ops *ops;
	struct srd_queue_pair *qp;
	const struct srd_scheduler_ops *scheduler_ops;
	struct srd_scheduler *scheduler;
	uint32_t max_send_wr; /* the scheduler's credits */
};

struct srd_rails_config {
	uint32_t num_peer_rails; /* as the other host said */
	uint32_t max_in_flight;  /* requests, over all rails; 0: the sum of their credits */
	uint64_t stripe;         /* bytes; 0: the largest that is one request on every rail */
};

/* Keys of the same ranges on the device of one rail, and on that of its peer. */
struct srd_rail_keys {
	uint32_t lkey;
	uint32_t rkey;
};

struct srd_rails_transfer {
	enum srd_op_kind kind;
	uint64_t local_addr, local_size;
	uint64_t remote_addr, remote_size;
	const struct srd_rail_keys *keys; /* one a rail; copied */
	uint64_t cookie; /* not 0; comes back in the result, and in the ops as srd_op.whole */
};

struct srd_rails_result {
	uint64_t cookie;
	int result; /* 0, or a negative errno with its sentence; -EIO: status, vendor_err */
	enum srd_wc_status status;
	uint32_t vendor_err;
	uint32_t num_stripes; /* that were sent */
	uint32_t num_moved;   /* of them, because a rail was lost */
	struct srd_error error;
};

struct srd_rails_ops {
	const char *name;
	/*
	 * RAILS is copied. -EINVAL: there is none, the numbers differ, or a stripe would need
	 * more requests than a rail has credits, or than the budget.
	 */
	int (*create)(const struct srd_rail *rails, uint32_t num_rails,
		      const struct srd_rails_config *config, struct srd_rails **out,
		      struct srd_error *error);
	/* Transfers that are unanswered stay so. NULL is allowed. */
	void (*destroy)(struct srd_rails *rails);
	/* Queue it and send what credits allow; -EMSGSIZE: the destination is smaller. */
	int (*submit)(struct srd_rails *rails, const struct srd_rails_transfer *transfer,
		      struct srd_error *error);
	/* One round over all rails; the number of completions that were reaped, or -ENOMEM. */
	int (*progress)(struct srd_rails *rails, struct srd_error *error);
	/* Take one finished transfer: 1 and *out, or 0. */
	int (*result)(struct srd_rails *rails, struct srd_rails_result *out);
	uint32_t (*in_flight)(struct srd_rails *rails); /* requests, over all rails */
	uint32_t (*queued)(struct srd_rails *rails);    /* transfers with stripes to be sent */
	uint32_t (*alive)(struct srd_rails *rails);     /* rails that are not lost */
};

extern const struct srd_rails_ops srd_striping_rails_ops;

#endif
