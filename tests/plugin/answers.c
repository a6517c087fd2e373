/* SPDX-License-Identifier: MIT */
/*
 * The examples, with one answer that the interface does not allow, or one call that nobody
 * may make: which, the environment's SRD_TEST_DEFECT says.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <srdlab/plugin.h>

const struct srd_queue_pair_ops *good_queue_pair(void);
const struct srd_scheduler_ops *good_scheduler(void);
#define srdlab_queue_pair_v1 good_queue_pair
#include "../../examples/queue_pair_c/queue_pair.c"
#undef srdlab_queue_pair_v1

static const struct srd_queue_pair_ops *queue_pair;
static const struct srd_scheduler_ops *scheduler;

static bool planted(const char *defect)
{
	const char *wanted = getenv("SRD_TEST_DEFECT");

	return wanted && !strcmp(wanted, defect);
}

static int answer_create(struct srd_verbs *v, struct srd_pd *pd,
			 const struct srd_queue_pair_config *config, struct srd_cq *send_cq,
			 struct srd_cq *recv_cq, struct srd_queue_pair **out,
			 struct srd_error *error)
{
	if (planted("nothing made"))
		return 0;
	if (planted("no reason"))
		return -EBUSY;
	if (planted("close"))
		v->close(v);
	return queue_pair->create(v, pd, config, send_cq, recv_cq, out, error);
}

static int answer_state(struct srd_queue_pair *q, enum srd_qp_state *out, struct srd_error *error)
{
	int rc = queue_pair->state(q, out, error);

	if (planted("state"))
		*out = (enum srd_qp_state)99;
	return rc;
}

static uint64_t answer_max_msg_size(struct srd_queue_pair *q)
{
	return planted("size") ? UINT64_C(1) << 32 : queue_pair->max_msg_size(q);
}

static uint64_t answer_num_requests(struct srd_queue_pair *q, enum srd_op_kind kind, uint64_t size)
{
	return planted("requests") ? 0 : queue_pair->num_requests(q, kind, size);
}

/* Nothing of the process that the parent could hear of is left. */
static void hide(void)
{
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	for (;;)
		pause();
}

/* Memory without an end; the compiler must not see that nobody reads it. */
static void take_memory(void)
{
	for (;;) {
		char *volatile more = malloc(1 << 20);

		if (!more)
			pause();
		memset(more, 1, 1 << 20);
	}
}

/* Nothing that can be blocked or ignored gets through. */
static void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
}

static void ring(void)
{
	alarm(1);
	for (;;)
		pause();
}

/* What ends, stops or doubles the process. */
static void harm(void)
{
	if (planted("hide"))
		hide();
	if (planted("descriptors"))
		for (int fd = 0; fd < 200; fd++)
			close(fd);
	if (planted("memory"))
		take_memory();
	if (planted("blocked"))
		block_all();
	if (planted("stopped"))
		raise(SIGSTOP);
	if (planted("alarm"))
		ring();
	if (planted("killed"))
		raise(SIGKILL);
	if (planted("fork"))
		fork();
	if (planted("clone"))
		syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static bool has_put;

__attribute__((destructor)) static void crash_late(void)
{
	if (has_put && planted("late"))
		abort();
}

/* Of the two processes of a scenario, the one that is first. */
static void crash_once(void)
{
	const char *path = getenv("SRD_TEST_FILE");
	int fd = path ? open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) : -1;

	if (fd >= 0)
		abort();
}

static int answer_put(struct srd_queue_pair *q, const struct srd_remote_view *to,
		      const struct srd_local_view *from, struct srd_wr_ids *ids,
		      struct srd_error *error)
{
	int rc = queue_pair->put(q, to, from, ids, error);

	if (planted("array"))
		ids->capacity = 7;
	harm();
	if (planted("once"))
		crash_once();
	has_put = true;
	return rc;
}

static int answer_poll(struct srd_queue_pair *q, enum srd_queue which, struct srd_completion *out,
		       struct srd_error *error)
{
	int rc = queue_pair->poll(q, which, out, error);

	if (rc == 1 && planted("status"))
		out->status = (enum srd_wc_status)1234;
	if (rc == 1 && planted("two"))
		return 2;
	return rc;
}

const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	static struct srd_queue_pair_ops ops;

	if (planted("crash at once"))
		abort();
	if (planted("loop at once"))
		for (;;)
			pause();
	if (planted("leave at once"))
		exit(0);
	if (planted("quit at once"))
		_exit(0);
	queue_pair = good_queue_pair();
	ops = *queue_pair;
	ops.create = answer_create;
	ops.state = answer_state;
	ops.max_msg_size = answer_max_msg_size;
	ops.num_requests = answer_num_requests;
	ops.put = answer_put;
	ops.poll = answer_poll;
	return &ops;
}

static int answer_result(struct srd_scheduler *s, struct srd_op_result *out)
{
	int rc = scheduler->result(s, out);

	if (rc == 1 && planted("result"))
		return 7;
	if (rc == 1 && planted("positive"))
		out->result = EIO;
	if (rc == 1 && planted("op status"))
		out->status = (enum srd_wc_status)1234;
	return rc;
}

static int answer_progress(struct srd_scheduler *s, struct srd_error *error)
{
	return planted("errno") ? -5000 : scheduler->progress(s, error);
}

const struct srd_scheduler_ops *srdlab_scheduler_v1(void)
{
	static struct srd_scheduler_ops ops;

	scheduler = good_scheduler();
	ops = *scheduler;
	ops.result = answer_result;
	ops.progress = answer_progress;
	return &ops;
}
