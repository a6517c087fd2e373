/* SPDX-License-Identifier: MIT */
/*
 * What the processes of one `srdlab exec` group share: two files in the group's folder, both
 * mapped whole by each process. "model" holds the state of the group below, the tables of
 * objects and processes, and the arena of the model; "rings" holds the pages that programs
 * map: the queues and their doorbells. A file descriptor of a device is one of "rings", so
 * that the keys that the device hands out for mmap are offsets in it.
 *
 * One robust lock covers all of it. A process that dies while it holds the lock leaves the
 * model as it was at that point; the next one audits it, and where it is not whole the group
 * is broken: every call fails with EIO from then on.
 */
#ifndef SRD_SOFTEFA_GROUP_H
#define SRD_SOFTEFA_GROUP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <srdlab/error.h>

#include "model/model.h"
#include "softefa/ranges.h"
#include "verbs/launch.h"

#define SOFT_VERSION        5
#define SOFT_PAGE           4096u
#define SOFT_MAX_PROCESSES  256
#define SOFT_MAX_OBJECTS    65536
#define SOFT_MAX_DEPTH      32768u /* libefa's counters of a queue have 16 bits */
#define SOFT_NUM_PAGE_LISTS 20
#define SOFT_MAX_CONTEXTS   1024 /* whose process is known */

enum soft_clock {
	SOFT_CLOCK_AUTO,   /* timers take real time, and the supervisor helps who stalls */
	SOFT_CLOCK_CALLED, /* time passes in the program's own calls only */
};

/* How the device learns of work; wrap.h. */
enum soft_doorbell {
	SOFT_DOORBELL_AUTO,    /* function pointers, where they can be wrapped */
	SOFT_DOORBELL_TRAPPED, /* never those */
	SOFT_DOORBELL_WATCHED, /* nor traps */
};

enum soft_kind {
	SOFT_FREE,
	SOFT_PD,
	SOFT_MR,
	SOFT_AH,
	SOFT_CQ,
	SOFT_QP,
	SOFT_CHANNEL, /* completion events, or with an owner of no file's, asynchronous ones */
};

/* A send or receive queue, or a completion queue's rings, in the pages that are mapped. */
struct soft_ring {
	uint64_t key; /* offset in "rings" */
	uint32_t bytes;
	uint32_t entries; /* power of two */
	uint32_t entry_size;
	uint32_t done;     /* entries that the device has taken, free-running */
	uint64_t doorbell; /* offset of the word */
};

/* What a process has mapped of a dma-buf for the device alone. */
struct soft_dmabuf {
	uint64_t mapped; /* address, 0: there is none */
	uint64_t mapped_length;
	uint64_t start; /* where the part begins that is meant */
};

struct soft_cq {
	struct soft_ring ring; /* done: what the program has read, as far as it told */
	uint32_t num_rings;
	uint32_t written[SRD_MODEL_MAX_RINGS]; /* free-running */
	uint32_t arrivals;                     /* in all rings */
	uint32_t seen;    /* what the program was seen to have read, whatever it told */
	uint32_t told;    /* entries that the stream heard of as read: blind.c */
	uint32_t channel; /* object; 0: none */
	uint32_t sequence;
	uint32_t comp_events; /* written to the channel so far */
	bool armed;
	bool quiet;      /* nobody sees the sessions of a library that does not always tell */
	bool due;        /* an event that who moved the device could not write: event.h */
	bool source_gid; /* wanted in entries whose address handle is not known */
	bool rung;       /* its doorbell, ever */
	struct soft_dmabuf memory; /* where its entries are, instead of ring.key */
};

/* Of what is posted to a queue pair, while it is not told of: wrap.h. */
enum soft_held { SOFT_HELD = 1, SOFT_HELD_AND_LOOKED_AT = 2 };

struct soft_qp {
	struct soft_ring sq;
	struct soft_ring rq;
	uint32_t send_cq; /* objects */
	uint32_t recv_cq;
	uint32_t next_raw; /* list of those that nobody tells of doorbells */
	uint32_t stalls;
	uint32_t untold;     /* looks at a doorbell that nobody tells of, one after the other */
	uint32_t carried;    /* requests with the device that an observer told of; blind.c */
	uint32_t carried_to; /* the low half of the ordinal behind the last of them */
	uint32_t held[2];    /* enum soft_held: requests, receives */
	uint16_t qpn;
	bool raw;
	bool ud;
	bool id64; /* the ids of its requests have 64 bits */
	struct srd_qp_cap cap;
};

/* Who tells of a queue's posts and completions; each takes over from those before it: blind.h. */
enum soft_teller {
	SOFT_OBSERVER, /* if there is one, else the device */
	SOFT_DEVICE, /* the program was told where the entries are, or those that share with them */
	SOFT_NOBODY, /* processes share it since a fork, each with counters of its own */
};

/* What a program has a handle for. Entry 0 is nobody's. */
struct soft_object {
	uint8_t kind; /* enum soft_kind */
	uint8_t process;
	uint16_t number; /* of an address handle */
	uint32_t file;   /* that it was created through */
	uint32_t model;  /* handle in the model */
	uint32_t pd;     /* object */
	uint32_t users;  /* objects that hold it */
	uint32_t next;   /* of the free list, or of all that are used */
	uint64_t user;   /* the program's name for it */
	uint32_t name;   /* in the stream of events: never used again */
	bool observed;   /* somebody in the program tells of its posts and polls */
	bool exposed;    /* the program was told where its rings are */
	uint8_t teller;  /* enum soft_teller */
	union {
		struct soft_cq cq;
		struct soft_qp qp;
		struct soft_dmabuf mr; /* that the region is over, if it is */
	};
};

struct soft_process {
	int32_t pid; /* 0: free; of one that is kept: a child's, or -1 */
	uint32_t generation;
	uint64_t namespace;        /* that its pid is of */
	pthread_mutex_t life;      /* robust, and held as long as the thread that entered lives */
	uint16_t number;           /* counts those that have entered */
	uint32_t polling;          /* calls that are under way, where decisions are logged */
	struct soft_ranges shared; /* memory that the others can map: share.h */
	bool exits;                /* it has ended by itself */
	bool kept;                 /* it has ended, and its children or parent have its devices */
	uint32_t parent;           /* that it has devices of, from fork; 0 */
};

/* An open file of a device. */
struct soft_context {
	uint32_t file; /* 0: free */
	uint8_t process;
	uint8_t host;
};

/* Between a process that has come to a moment and the script's: ask.h. */
struct soft_script {
	uint32_t wanted; /* bit by enum srd_launch_what; 0: there is no script, or not any more */
	int32_t server;  /* process */
	uint64_t alarm;  /* virtual time; 0: none is set */
	uint32_t asked;  /* futex: messages to the script's process, ever */
	uint32_t told;   /* futex: messages from it */
	uint32_t round;  /* the moment that is now, counted */
	uint32_t told_round; /* that the message is about */
	uint32_t is_command; /* it is, else the moment is over */
	uint32_t number;     /* of the command, counted */
	uint32_t done;       /* the last that was carried out */
	int32_t result;      /* of the command */
	struct srd_launch_moment moment;
	struct srd_launch_command command;
};

struct soft_group {
	uint32_t version;
	uint32_t num_hosts; /* devices given out so far */
	uint32_t clock;     /* enum soft_clock */
	uint32_t copied;    /* no memory is to be shared */
	uint32_t doorbell;  /* enum soft_doorbell */
	uint32_t broken;
	struct srd_profile launched; /* what the device is, but for a while of the laboratory's */
	pthread_mutex_t lock;
	uint32_t objects_high;
	uint32_t objects_free;
	uint32_t next_file;
	uint32_t last_name;
	uint32_t recorded;   /* it has a ring of events */
	uint32_t decided;    /* it has a log of decisions */
	uint32_t entered;    /* processes, ever */
	uint32_t children;   /* of them, that have devices of their parents */
	uint32_t first_raw;  /* object */
	uint32_t armed;      /* completion queues */
	uint32_t due;        /* events, of them */
	uint32_t taken_over; /* objects whose teller has changed, ever */
	uint64_t pages_high;
	uint32_t pages_free[SOFT_NUM_PAGE_LISTS]; /* page + 1, linked through the first word */
	/* for the supervisor */
	uint32_t wake;    /* futex */
	uint32_t asleep;  /* it waits for WAKE without an end */
	uint64_t called;  /* calls that moved the device */
	uint64_t timer;   /* virtual time of the timer that is first in line, ... */
	uint64_t waiting; /* ... and since when, real ns */
	char complaint[256];
	struct soft_script script;
	struct soft_process process[SOFT_MAX_PROCESSES];
	struct soft_context context[SOFT_MAX_CONTEXTS];
	struct soft_object object[SOFT_MAX_OBJECTS];
};

/* One process's view. */
struct soft_view {
	struct soft_group *group;
	uint8_t *rings;
	struct srd_model model;
	uint32_t process;   /* its slot; 0: it has none */
	uint32_t parent;    /* whose devices it has from fork; 0 */
	bool shares;        /* what it registers, where it can */
	uint64_t namespace; /* of its pid */
	size_t group_size;
	struct soft_events *events;       /* NULL: nobody wants any */
	struct soft_decisions *decisions; /* NULL: there is no log of them */
	uint32_t made;                    /* the last object of soft_object_new */
	char folder[128];
};

extern struct soft_view soft;

/* Make the group in FOLDER, which is there and empty; map it. A negative errno with *error. */
int soft_group_create(const char *folder, const struct srd_profile *profile, uint64_t seed,
		      enum soft_clock clock, struct srd_error *error);
/* Map a group that is there. A negative errno. */
int soft_group_attach(const char *folder);
void soft_group_detach(void);

/* 0, or EIO: the group is broken, or this very thread was interrupted while it held the lock. */
int soft_lock(void);
/* EBUSY: another one holds it. */
int soft_trylock(void);
/* As soft_lock, but to be woken costs a program that posts more than to look again. */
int soft_lock_patiently(void);
void soft_unlock(void);

/* Take a slot for this process. 0 or a positive errno. With the lock held, as all below. */
int soft_process_enter(void);
/* A process is gone: so is all that was its own. */
void soft_process_leave(uint32_t process);
/*
 * A process has its slot, and all that is its own, until it has ended and so have its children of fork
 * that went on without exec: they have its descriptors, as far as the kernel would know.
 */
bool soft_process_lives(uint32_t process);
/*
 * Whether a process that has ended has objects still: those that it made through a file from
 * before fork are that file's.
 */
bool soft_process_stays(uint32_t process);
/* Whether it is a child of fork of FROM, or a child's. */
bool soft_process_descends(uint32_t process, uint32_t from);
/* Its memory, where it is not shared, is from now on that of a child; false: there is none. */
bool soft_process_adopt(uint32_t process);
/* The file that its shared memory is in. */
void soft_share_path(uint32_t process, char path[192]);

/* Pages for BYTES, zeroed; the offset in "rings", 0: there is no room. */
uint64_t soft_pages_get(uint64_t bytes);
void soft_pages_put(uint64_t key, uint64_t bytes);

/* A fresh object of KIND for FILE; NULL: no room. */
struct soft_object *soft_object_new(enum soft_kind kind, uint32_t file);
void soft_object_free(struct soft_object *object);
/* The object of that handle, if it is of KIND and of FILE; NULL. */
struct soft_object *soft_object_find(uint64_t handle, enum soft_kind kind, uint32_t file);
/* Release it as the kernel's destroy does: 0, or EBUSY where others hold it. */
int soft_object_destroy(struct soft_object *object);
/* The host whose device it was made through. */
uint8_t soft_object_host(const struct soft_object *object);
/* All objects of a file, users before what they use. */
void soft_file_release(uint32_t file);

static inline uint32_t soft_handle(const struct soft_object *object)
{
	return (uint32_t)(object - soft.group->object);
}

static inline struct soft_object *soft_object(uint32_t handle)
{
	return &soft.group->object[handle];
}

#endif
