/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <srdlab/lab.h>
#include <srdlab/profile.h>

#include "cli/bench_fabric.h"
#include "verbs/alloc.h"
#include "verbs/backend.h"

#define HOSTS   250
#define QPS     4
#define DEPTH   4 /* writes of a queue pair under way */
#define MESSAGE (UINT64_C(1) << 20)
#define QKEY    0x4242
#define ROUND   64 /* completions between two looks at all hosts, which are no event */
#define RIGHTS  (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE)

struct host {
	struct srd_context *context;
	struct srd_pd *pd;
	struct srd_cq *cq;
	struct srd_qp *qp[QPS];
	struct srd_ah *ah[2]; /* to the one before and to the next one: RDMA asks for both */
	struct srd_buffer *buffer;
	struct srd_mr *mr;
};

struct srd_bench_fabric {
	struct srd_verbs *verbs;
	struct host host[HOSTS];
};

static int failed(const char *call, struct srd_error *error)
{
	return srd_error_set(error, -errno, "%s: %s", call, strerror(errno));
}

static int queue_pair_open(struct srd_verbs *v, struct host *h, struct srd_qp **out,
			   struct srd_error *error)
{
	static const struct {
		enum srd_qp_state state;
		uint32_t mask;
	} steps[] = {
		{SRD_QPS_INIT, SRD_QP_STATE | SRD_QP_PKEY_INDEX | SRD_QP_PORT | SRD_QP_QKEY},
		{SRD_QPS_RTR, SRD_QP_STATE},
		{SRD_QPS_RTS, SRD_QP_STATE | SRD_QP_SQ_PSN},
	};
	const struct srd_efa_qp_init_attr efa = {.flags = 0};
	struct srd_qp_init_attr_ex attr = {
		.pd = h->pd,
		.send_cq = h->cq,
		.recv_cq = h->cq,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD | SRD_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = SRD_QP_EX_WITH_RDMA_WRITE,
	};

	*out = v->create_qp_ex(v, h->context, &attr, &efa);
	if (!*out)
		return failed("create_qp_ex", error);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct srd_qp_attr to = {
			.qp_state = steps[i].state, .port_num = 1, .qkey = QKEY};
		int rc = v->modify_qp(v, *out, &to, steps[i].mask);

		if (rc)
			return srd_error_set(error, -rc, "modify_qp: %s", strerror(rc));
	}
	return 0;
}

static int host_open(struct srd_verbs *v, struct host *h, uint32_t number, struct srd_error *error)
{
	int rc = 0;

	h->context = v->open_device(v, number, NULL);
	h->pd = h->context ? v->alloc_pd(v, h->context) : NULL;
	h->cq = h->pd ? v->create_cq(v, h->context, QPS * DEPTH) : NULL;
	/* What is sent, and behind it what arrives. */
	h->buffer = h->cq ? v->alloc_buffer(v, h->context, 2 * MESSAGE, SRD_BUFFER_ORIGIN) : NULL;
	h->mr = h->buffer ? v->reg_mr(v, h->pd, h->buffer->addr, 2 * MESSAGE, RIGHTS) : NULL;
	if (!h->mr)
		return failed("a host", error);
	for (int i = 0; !rc && i < QPS; i++)
		rc = queue_pair_open(v, h, &h->qp[i], error);
	return rc;
}

static int address(struct srd_verbs *v, struct host *h, struct host *to, struct srd_ah **out,
		   struct srd_error *error)
{
	struct srd_ah_attr attr = {.is_global = 1, .port_num = 1};
	int rc = v->query_gid(v, to->context, 1, 0, &attr.dgid);

	if (rc)
		return srd_error_set(error, -rc, "query_gid: %s", strerror(rc));
	*out = v->create_ah(v, h->pd, &attr);
	return *out ? 0 : failed("create_ah", error);
}

int srd_bench_fabric_open(struct srd_bench_fabric **out, struct srd_error *error)
{
	struct srd_bench_fabric *f = srd_calloc(1, sizeof(*f));
	struct srd_profile profile = *srd_profile_find("efa1");
	const struct srd_backend_options options = {.profile = &profile, .seed = 1};
	const struct srd_backend *mock = srd_backend_find("mock");
	int rc;

	*out = f;
	if (!f)
		return srd_error_set(error, -ENOMEM, "out of memory for a fabric");
	if (!mock)
		return srd_error_set(error, -ENODEV, "this program was built without the mock");
	profile.level = SRD_PROFILE_LEVEL_PACKET;
	rc = mock->open(&options, &f->verbs, error);
	for (uint32_t i = 0; !rc && i < HOSTS; i++)
		rc = host_open(f->verbs, &f->host[i], i, error);
	for (uint32_t i = 0; !rc && i < 2 * HOSTS; i++) {
		struct host *h = &f->host[i / 2];
		struct host *to = &f->host[(i / 2 + (i % 2 ? 1 : HOSTS - 1)) % HOSTS];

		rc = address(f->verbs, h, to, &h->ah[i % 2], error);
	}
	return rc;
}

void srd_bench_fabric_close(struct srd_bench_fabric *f)
{
	/* The mock releases what it made. */
	if (f && f->verbs)
		f->verbs->close(f->verbs);
	srd_free(f);
}

/* The wr id says which queue pair of its host it is. */
static int post(struct srd_bench_fabric *f, uint32_t number, uint64_t which)
{
	struct host *h = &f->host[number], *to = &f->host[(number + 1) % HOSTS];
	struct srd_qp *qp = h->qp[which];
	struct srd_verbs *v = f->verbs;

	v->wr_start(v, qp);
	qp->wr_id = which;
	qp->wr_flags = SRD_SEND_SIGNALED;
	v->wr_rdma_write(v, qp, to->mr->rkey, to->buffer->addr + MESSAGE);
	v->wr_set_sge(v, qp, h->mr->lkey, h->buffer->addr, MESSAGE);
	v->wr_set_ud_addr(v, qp, h->ah[1], to->qp[which]->qp_num, QKEY);
	return v->wr_complete(v, qp);
}

/* What has completed on host NUMBER is posted anew. */
static int turn(struct srd_bench_fabric *f, uint32_t number, uint64_t *done,
		struct srd_error *error)
{
	struct srd_wc wc;
	int rc = 0;

	while (!rc && f->verbs->poll_cq(f->verbs, f->host[number].cq, 1, &wc) == 1) {
		if (wc.status != SRD_WC_SUCCESS)
			return srd_error_set(error, -EPROTO, "a write failed: %s",
					     srd_wc_status_str(wc.status));
		++*done;
		rc = post(f, number, wc.wr_id);
	}
	return rc ? srd_error_set(error, -rc, "wr_complete: %s", strerror(rc)) : 0;
}

static uint64_t events_now(struct srd_verbs *v)
{
	struct srd_lab command = {.kind = SRD_LAB_COUNTER, .name = "events"};

	return v->lab(v, &command) ? 0 : command.value;
}

int srd_bench_fabric_run(struct srd_bench_fabric *f, uint64_t count, uint64_t *events,
			 struct srd_error *error)
{
	uint64_t done = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < HOSTS * QPS * DEPTH; i++)
		rc = post(f, i % HOSTS, i / HOSTS % QPS);
	if (rc)
		return srd_error_set(error, -rc, "wr_complete: %s", strerror(rc));
	while (!rc && done < count) {
		for (int i = 0; i < ROUND; i++)
			if (f->verbs->wait(f->verbs, UINT64_MAX))
				return srd_error_set(error, -EDEADLK,
						     "the mock has nothing left to do");
		for (uint32_t i = 0; !rc && i < HOSTS; i++)
			rc = turn(f, i, &done, error);
	}
	*events = events_now(f->verbs);
	return rc;
}
