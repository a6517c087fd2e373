/* SPDX-License-Identifier: MIT */
/*
 * What a laboratory can do to a device that a datacentre cannot: one command of
 * struct srd_verbs, with a kind and operands. A backend answers EOPNOTSUPP to a kind that
 * it does not offer, EINVAL to operands that make no sense, ENOENT to a request that is
 * not there.
 */
#ifndef SRDLAB_LAB_H
#define SRDLAB_LAB_H

#include <srdlab/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a request is, for "who waits for whom". */
enum srd_request_place {
	SRD_PLACE_UNKNOWN,
	SRD_PLACE_SESSION,    /* built, not yet handed to the device */
	SRD_PLACE_SEND_QUEUE, /* with the device, not yet on the wire */
	SRD_PLACE_WIRE,       /* packets are under way */
	SRD_PLACE_HELD,       /* finished, the completion is held back by a fault */
	SRD_PLACE_LOST,       /* nothing will ever complete it */
	SRD_PLACE_COMPLETED,  /* in the completion queue, not polled */
	SRD_PLACE_RNR,        /* parked until the peer posts a receive */
	SRD_PLACE_DOORBELL,   /* in the send queue's ring, and no doorbell told the device */
	SRD_PLACE_QKEY,       /* the peer dropped it for its queue key; nobody answers */
	SRD_PLACE_NOBODY,     /* nobody is there who would answer */
	SRD_PLACE_OVERRUN,    /* it completed, and the full completion queue lost its entry */
};

/* Why a request is lost, or will end without an answer. */
enum srd_request_why {
	SRD_WHY_NONE,     /* it is not, as far as anybody knows */
	SRD_WHY_FAULT,    /* SRD_LAB_DROP */
	SRD_WHY_QKEY,     /* the receiver has another queue key, and says nothing */
	SRD_WHY_NOBODY,   /* the host where it goes to does not answer */
	SRD_WHY_LOOPBACK, /* the device does not reach itself */
	SRD_WHY_CUT_OFF,  /* the host that posted it is dead, or was restarted */
	SRD_WHY_LOSS,     /* the fabric lost it too often */
	SRD_WHY_RNR,      /* it is tried again: the receiver had no receive */
	SRD_WHY_OVERRUN,  /* the completion queue had no room for its entry */
};

enum srd_lab_kind {
	/* Faults on one request: qp and wr_id name a posted, unfinished request; with
	 * ordinal set instead (SRD_LAB_BY_ORDINAL), the n-th request ever posted on qp,
	 * counted from 0, posted already or not. */
	SRD_LAB_HOLD,      /* keep the completion back until SRD_LAB_RELEASE */
	SRD_LAB_RELEASE,   /* let a held completion go, now */
	SRD_LAB_FAIL,      /* complete with vendor status `status`, moving no bytes */
	SRD_LAB_DROP,      /* lose the request: it never completes */
	SRD_LAB_DUPLICATE, /* deliver the completion twice */
	SRD_LAB_DELAY, /* arrive, or where it has arrived complete, `time` ns later, at most a year */
	SRD_LAB_LOCATE, /* out: place, why, status (that it has or will have), host and peer_qpn */
	/* Faults on a queue pair: qp */
	SRD_LAB_QP_ERR,       /* the device moves it to ERR by itself and flushes */
	SRD_LAB_STALE_CQE,    /* put an entry of no live queue pair into qp's send CQ */
	SRD_LAB_COMPLETE_ALL, /* release everything held on it */
	/* Faults on a host: host */
	SRD_LAB_KILL,    /* the host stops answering */
	SRD_LAB_RESTART, /* it is back: its old queue pairs are gone */
	/* The fabric: name and value are a field of the profile that may change at run time */
	SRD_LAB_SET,
	/* Counters: name in, value out; ENOENT: no such counter */
	SRD_LAB_COUNTER,
	/* The model's own consistency check; EUCLEAN and text where it is broken */
	SRD_LAB_AUDIT,
	/* The doorbell of qp's send queue */
	SRD_LAB_LOSE_DOORBELLS, /* of the next ones `ordinal` arrive, then `value` are lost */
	SRD_LAB_RING_DOORBELL,  /* write it once more: it covers all that is in the ring */
	SRD_LAB_DOORBELLS,      /* out: value, how often the library wrote it */
	/* A message that arrives at qp, the one after `ordinal` others, ends with vendor status
	 * `status` there and moves no bytes; its sender gets REMOTE_ERROR_BAD_STATUS (guess) */
	SRD_LAB_FAIL_RECEIVE,
	/* A fault on one request, as those above: the first `value` times, 255 at most, that it
	 * reaches a receiver, that is not ready, though it has a receive */
	SRD_LAB_NOT_READY,
};

#define SRD_LAB_BY_ORDINAL 0x1

struct srd_lab {
	enum srd_lab_kind kind;
	uint32_t flags;
	struct srd_qp *qp;
	uint64_t wr_id;
	uint64_t ordinal;
	uint32_t host;
	uint32_t status; /* vendor status, as in srd.efa_status */
	uint64_t time;   /* ns */
	const char *name;
	uint64_t value;
	enum srd_request_place place; /* out */
	char text[256];               /* out: a sentence */
	enum srd_request_why why;     /* out */
	uint32_t peer_qpn;            /* out: the number of the queue pair where it goes to */
};

#ifdef __cplusplus
}
#endif

#endif
