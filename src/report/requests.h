/* SPDX-License-Identifier: MIT */
/*
 * Requests as they live: joins the events of a stream into requests that are posted and
 * completed, and counts them by queue pair. Whoever shows a stream stands on it.
 */
#ifndef SRD_REQUESTS_H
#define SRD_REQUESTS_H

#include <stdbool.h>

#include <srdlab/event.h>

/* A queue pair, from its creation to the end of the scenario. */
struct srd_requests_qp {
	uint32_t handle;
	uint32_t qp_num;
	uint8_t host;
	bool destroyed;
	uint32_t in_flight;
	uint32_t max_in_flight;
	uint64_t posted;    /* requests */
	uint64_t bytes;     /* of them */
	uint64_t refused;   /* built in sessions that failed or were aborted */
	uint64_t completed; /* of them, with whatever status */
	uint64_t failed;    /* of these */
	uint64_t lost;      /* in flight when the queue pair was destroyed */
};

/* A request that is in flight. */
struct srd_request {
	uint64_t number; /* from 1, in the order of posting */
	uint64_t posted; /* ns */
	const struct srd_requests_qp *qp;
	struct srd_ev_wr_post wr;
};

struct srd_requests;

/* What to call; any may be NULL. */
struct srd_requests_ops {
	void (*posted)(void *arg, const struct srd_request *request);
	/* WC is its completion; NULL: it will have none, at TIME its queue pair or scenario went */
	void (*gone)(void *arg, const struct srd_request *request, const struct srd_ev_wc *wc,
		     uint64_t time);
	/* A queue pair is about to be forgotten: its numbers will not change any more. */
	void (*qp)(void *arg, const struct srd_requests_qp *qp);
};

/* NULL: no memory. */
struct srd_requests *srd_requests_create(const struct srd_requests_ops *ops, void *arg);
/* Every event of the stream, in order. */
void srd_requests_event(struct srd_requests *requests, const struct srd_event *event);
/* What is still there goes, as at the end of a scenario. */
void srd_requests_finish(struct srd_requests *requests);
/* Whether memory ran out, so that requests are missing. */
bool srd_requests_incomplete(const struct srd_requests *requests);
void srd_requests_destroy(struct srd_requests *requests); /* NULL is allowed */

/* The queue pair of HANDLE; NULL: unknown. */
const struct srd_requests_qp *srd_requests_qp_find(const struct srd_requests *requests,
						   uint32_t handle);
/* The one that was the last to have QP_NUM on HOST and is not destroyed; NULL: none. */
const struct srd_requests_qp *srd_requests_qp_by_number(const struct srd_requests *requests,
							uint8_t host, uint32_t qp_num);

#endif
