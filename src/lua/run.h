/* SPDX-License-Identifier: MIT */
/*
 * One run of one scenario: the tables, the stream, what the script has made, and the
 * coroutines that execute it. Everything here has the life of the run.
 */
#ifndef SRD_LUA_RUN_H
#define SRD_LUA_RUN_H

#include <xxhash.h>

#include <srdlab/profile.h>
#include <srdlab/queue_pair.h>

#include "object.h"
#include "options.h"
#include "state.h"

struct srd_run;
struct srd_inject;
struct srd_limits;
struct srd_orders;
struct srd_rules;

/* A host and the device that it opened, with the protection domain that its parts share. */
struct srd_host {
	struct srd_object object;
	struct srd_object *context; /* host.verbs; borrowed */
	struct srd_object *pd;      /* host.verbs.pd; borrowed */
	struct srd_cq_pool *pool;
	uint32_t index;  /* as the backend counts devices */
	uint32_t device; /* of the devices of the host, from 1 */
	char name[64];
};

/* The same memory, registered on another device of its host. */
struct srd_share {
	struct srd_share *next;
	struct srd_host *device;
	struct srd_mr *mr;
};

struct srd_memory_object {
	struct srd_object object;
	struct srd_memory_object *whole; /* of a slice: what it is a part of; else itself */
	struct srd_host *host;
	struct srd_buffer *buffer;
	struct srd_mr *mr; /* NULL: not registered */
	uint32_t access;
	struct srd_share *shares; /* of the whole */
	uint64_t offset;
	uint64_t size;
};

struct srd_queue_pair_object {
	struct srd_object object;
	struct srd_host *host;
	struct srd_queue_pair *qp;
	struct srd_scheduler *scheduler; /* NULL until there is traffic */
	struct srd_cq *lease;            /* of the host's pool; NULL: the script gave its own */
	struct srd_cq *send_cq;
	struct srd_cq *recv_cq;
	struct srd_object *verbs_qp; /* q.verbs; borrowed */
	struct srd_queue_pair_config config;
	uint64_t num_submitted;               /* ops through the scheduler */
	uint32_t num_pending;                 /* ops without a result */
	struct srd_queue_pair_object *active; /* next in the run's list of those with such ops */
	bool is_active;
	bool is_rail; /* its scheduler's ops are stripes, for good */
};

/* Queue pairs as rails; the device of each one's peer has the memory of the other end. */
struct srd_rails_object {
	struct srd_object object;
	struct srd_rails *rails;
	struct srd_host *here, *there; /* any device of the two hosts */
	uint32_t num;
	uint32_t num_pending;          /* transfers without a result */
	struct srd_rails_object *next; /* in the run's list */
	struct {
		struct srd_queue_pair_object *qp;
		struct srd_host *peer;
	} rail[];
};

/* One request that was posted for an op, as the seam saw it. */
struct srd_op_request {
	uint64_t wr_id;
	uint64_t offset; /* of the op's local memory */
	uint32_t length;
};

struct srd_op_object {
	struct srd_object object;
	struct srd_queue_pair_object *qp; /* NULL: it goes over rails */
	struct srd_rails_object *rails;
	struct srd_op_object *next, *prev; /* in the run's list of ops that matter still */
	struct srd_op op;
	int slot;          /* of the table that keeps it alive, from 1; 0: it is settled */
	uint64_t sequence; /* among those that the scheduler was given; 0: a direct one */
	uint32_t number;   /* in the stream; 0: no event yet */
	bool done;
	bool inspected; /* the script has looked at how it ended */
	int result;
	enum srd_wc_status status;
	uint32_t vendor_err;
	uint64_t wr_id;
	const char *message; /* of the run; NULL: none */
	uint32_t num_requests;
	uint32_t capacity;
	struct srd_op_request requests[];
};

/* A request that was posted, or the ORDINAL-th of the queue pair, posted or not. */
struct srd_request_object {
	struct srd_object object;
	struct srd_object *qp; /* a verbs queue pair */
	bool by_ordinal;
	uint64_t wr_id;
	uint64_t ordinal;
};

struct srd_task {
	struct srd_object object;
	lua_State *co;
	struct srd_task *next;
	bool started;
	bool done;
	bool waiting;          /* for something that is not another task's doing */
	uint64_t deadline;     /* while it waits; UINT64_MAX: none */
	uint32_t line;         /* where it waits */
	uint32_t wanted;       /* completions that it lacks, where ON is a completion queue */
	struct srd_object *on; /* the op, task or completion queue; NULL: for a time to pass */
};

/* What was posted to one verbs queue pair. */
struct srd_traffic {
	uint64_t requests; /* of sessions that succeeded */
	uint64_t of_ops;   /* those among them that belong to an op */
	uint64_t receives;
};

/* A text that lives as long as the run. */
struct srd_text {
	struct srd_text *next;
	char text[];
};

struct srd_run {
	struct srd_lua lua;
	const struct srd_script *script;
	const struct srd_run_config *config;
	const struct srd_scenario_info *info;
	struct srd_scenario_options options;
	struct srd_profile profile;
	bool has_profile; /* the scenario asks for one */
	struct srd_scenario_result *result;
	const struct srd_queue_pair_ops *queue_pair_ops; /* what is tested, to be observed */
	const struct srd_scheduler_ops *scheduler_ops;
	/* the tables, from the top */
	struct srd_verbs *verbs;
	struct srd_limits *limits; /* NULL: the scenario lowers none */
	struct srd_inject *inject;
	struct srd_stream stream;
	struct srd_rules *rules;
	XXH64_state_t *hash; /* NULL: not asked for */
	/* what the script has made */
	struct srd_object *objects[SRD_NUM_OBJECT_TYPES]; /* the newest of each type */
	uint32_t num_objects[SRD_NUM_OBJECT_TYPES];       /* ever made */
	uint64_t real_bytes;                              /* of the memory that it holds */
	uint32_t num_fills;                               /* seeds of random content given out */
	struct srd_op_object *ops, *last_op; /* not done, or failed and not looked at */
	struct srd_op_object *submitting;
	int *free_slots; /* of the table that keeps ops alive; room for all num_slots of them */
	uint32_t num_free_slots, num_slots;
	struct srd_op_object **by_number; /* those not done, at number modulo its size */
	uint32_t by_number_size;          /* a power of two, or 0 */
	struct srd_queue_pair_object *active;
	struct srd_rails_object *rails; /* those that are there */
	struct srd_traffic *traffic;    /* by the handle of the queue pair */
	uint32_t num_traffic;
	struct srd_text *texts;
	/* the tasks, in the order of their making */
	struct srd_task *tasks;
	uint32_t num_live_tasks;
	struct srd_task *current;
	uint64_t changes; /* counts what may end a wait: ops and tasks that are done */
	int trouble;   /* -EDEADLK, -ETIME or -ECANCELED: for the next task that waits to raise */
	bool polled;   /* every queue that matters, and since then nothing was called */
	bool reported; /* who waits for whom stands in a message already */
	bool failed_alloc;
	struct srd_orders *orders; /* NULL: it is run once, in the fabric's own order */
	int num_violations;        /* when all tasks had ended, or the time was over */
	bool shown;                /* what it is expected to fail with, or to violate, was there */
};

static inline struct srd_run *srd_run_of(lua_State *L)
{
	return srd_lua_of(L)->run;
}

/* At the start of every binding that may emit: the events that follow are of this line. */
static inline void srd_run_at(lua_State *L)
{
	struct srd_run *run = srd_run_of(L);

	run->stream.line = (uint32_t)srd_lua_line(L);
	run->polled = false;
}

/* Keep a copy of TEXT; NULL where there is no memory for it. */
const char *srd_run_text(struct srd_run *run, const char *text);

/* Add a failure to the result; the message is one or more lines. */
void srd_run_fail(struct srd_run *run, int line, const char *rule, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Ops */

/*
 * Push a new op on Q, which the run keeps until it is settled. May raise. NUM_REQUESTS: as
 * many can be remembered.
 */
struct srd_op_object *srd_op_new(lua_State *L, struct srd_queue_pair_object *q,
				 const struct srd_op *op, uint64_t num_requests);
/* Push a new op over RAILS; the same otherwise. */
struct srd_op_object *srd_op_new_over(lua_State *L, struct srd_rails_object *rails,
				      const struct srd_op *op);
/* Push a new request of the verbs queue pair QP; the caller says which. */
struct srd_request_object *srd_request_new(lua_State *L, struct srd_object *qp);
/* Take what the scheduler of Q has finished; true: there was something. */
bool srd_op_take_results(struct srd_run *run, struct srd_queue_pair_object *q);
/* The same of RAILS. */
bool srd_rails_take_results(struct srd_run *run, struct srd_rails_object *rails);
/* OP, which is over rails or not, ended as RESULT says. */
void srd_op_finish(struct srd_run *run, struct srd_op_object *op,
		   const struct srd_op_result *result);
/* Q has ops to be polled for; it has none any more. */
void srd_op_activate(struct srd_run *run, struct srd_queue_pair_object *q);
void srd_op_deactivate(struct srd_run *run, struct srd_queue_pair_object *q);
/* OP was not accepted. */
void srd_op_forget(struct srd_run *run, struct srd_op_object *op);
/* The script knows how OP, which is done, ended. */
void srd_op_inspect(struct srd_op_object *op);
/* "IBV_WC_...", with what it means, or the sentence of its error. */
void srd_op_cause(const struct srd_op_object *op, char *text, size_t size);
const char *srd_op_name(const struct srd_op_object *op); /* "put" */
bool srd_op_is_queued(const struct srd_op_object *op);
/* Forget OP: it is done and the script knows, or the run ends. Cannot raise. */
void srd_op_settle(struct srd_run *run, struct srd_op_object *op);
/* Whether an op is without a result. */
bool srd_run_has_work(const struct srd_run *run);
/* Poll every queue pair with ops; true: a completion or a result came. */
bool srd_run_progress(struct srd_run *run);
/* The reader of the stream that learns which requests an op has. */
void srd_run_event(void *run, const struct srd_event *event);

struct srd_traffic srd_run_traffic(struct srd_run *run, const struct srd_qp *qp);

/* Tasks */
/* Run BODY's task, made by srd_task_new, and those it spawns, to their ends. */
void srd_run_tasks(struct srd_run *run);
/*
 * The body is over: let the ops that nobody has looked at come to their ends, as far as
 * they do by themselves, so that a failure is not missed.
 */
void srd_run_drain(struct srd_run *run);
struct srd_task *srd_task_new(lua_State *L); /* the function is on top; leaves the task */
/*
 * To wait, a binding looks whether what it waits for is there, and where it is not calls
 * srd_task_step if the task is alone, else srd_task_yield, and then looks again: in a loop
 * after the one, in K after the other. Both move the world until DEADLINE at most, and
 * raise where nothing can happen any more or the scenario's time is over.
 */
bool srd_task_alone(lua_State *L);
void srd_task_step(lua_State *L, uint64_t deadline);
int srd_task_yield(lua_State *L, uint64_t deadline, lua_KContext context, lua_KFunction k);
/* At the start of a binding that waits, in place of srd_run_at. */
void srd_task_at(lua_State *L);
/*
 * Note what the current task waits for, for the report of a deadlock: an op, a task, a number
 * of completions of a completion queue; NULL: a time.
 */
void srd_task_waits_for(lua_State *L, void *on, uint32_t wanted);

/* Release everything that the script has made, in the documented order. Cannot raise. */
void srd_run_teardown(struct srd_run *run);

/* Push the scenario's own object, t. */
void srd_scenario_push(lua_State *L);

/* The classes, each from the file of its name. */
void srd_bind_host(lua_State *L);
void srd_bind_memory(lua_State *L);
void srd_bind_queue_pair(lua_State *L);
void srd_bind_op(lua_State *L);
void srd_bind_rails(lua_State *L);
void srd_bind_task(lua_State *L);
void srd_bind_verbs(lua_State *L);

/* What C offers to scripts/lib, into the table on top of the stack; registers the classes. */
void srd_bind_core(lua_State *L);

/* Push the errno's name, "EINVAL"; "OK" for 0. */
void srd_push_errno(lua_State *L, int error);
/* The value of "EINVAL"; 0: there is no such name. */
int srd_errno_parse(const char *name);

#endif
