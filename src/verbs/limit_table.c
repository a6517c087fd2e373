/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "forward.h"
#include "limit_table.h"
#include "nearest.h"

#define UNLIMITED UINT64_MAX

enum limit {
	MAX_QP,
	MAX_CQ,
	MAX_CQE,
	MAX_MR,
	MAX_MR_SIZE,
	MAX_PD,
	MAX_AH,
	MAX_SGE_RD,
	MAX_SQ_WR,
	MAX_RQ_WR,
	MAX_SQ_SGE,
	MAX_RQ_SGE,
	INLINE_BUF_SIZE,
	INLINE_BUF_SIZE_EX,
	MAX_RDMA_SIZE,
	NUM_LIMITS,
};

#define DEVICE(field)                                                   \
	{                                                               \
#field, false, offsetof(struct srd_device_attr, field), \
			sizeof(((struct srd_device_attr *)NULL)->field) \
	}
#define EFA(field)                                                          \
	{                                                                   \
#field, true, offsetof(struct srd_efa_device_attr, field),  \
			sizeof(((struct srd_efa_device_attr *)NULL)->field) \
	}

static const struct {
	const char *name;
	bool efa; /* a field of struct srd_efa_device_attr */
	size_t offset;
	size_t size;
} fields[NUM_LIMITS] = {
	[MAX_QP] = DEVICE(max_qp),
	[MAX_CQ] = DEVICE(max_cq),
	[MAX_CQE] = DEVICE(max_cqe),
	[MAX_MR] = DEVICE(max_mr),
	[MAX_MR_SIZE] = DEVICE(max_mr_size),
	[MAX_PD] = DEVICE(max_pd),
	[MAX_AH] = DEVICE(max_ah),
	[MAX_SGE_RD] = DEVICE(max_sge_rd),
	[MAX_SQ_WR] = EFA(max_sq_wr),
	[MAX_RQ_WR] = EFA(max_rq_wr),
	[MAX_SQ_SGE] = EFA(max_sq_sge),
	[MAX_RQ_SGE] = EFA(max_rq_sge),
	[INLINE_BUF_SIZE] = EFA(inline_buf_size),
	[INLINE_BUF_SIZE_EX] = EFA(inline_buf_size_ex),
	[MAX_RDMA_SIZE] = EFA(max_rdma_size),
};

static const struct {
	const char *name;
	enum limit limit;
} aliases[] = {{"max_send_wr", MAX_SQ_WR}, {"max_recv_wr", MAX_RQ_WR}};

#define NUM_ALIASES ((int)(sizeof(aliases) / sizeof(aliases[0])))

/* Live objects of one host. */
struct live {
	uint32_t of[NUM_LIMITS]; /* by the limit that counts them */
};

struct srd_limits {
	struct srd_verbs verbs;
	uint64_t value[NUM_LIMITS]; /* UNLIMITED: as the device has it */
	struct live *live;          /* by host */
	uint32_t num_hosts;
	struct srd_error error;
};

static inline struct srd_limits *limits_of(struct srd_verbs *verbs)
{
	return (struct srd_limits *)verbs;
}

static uint64_t get_field(const void *attr, enum limit i)
{
	uint64_t value = 0; /* little endian, see report/trace.c */

	memcpy(&value, (const char *)attr + fields[i].offset, fields[i].size);
	return value;
}

/* Lower the fields of ATTR, a struct srd_efa_device_attr where EFA. */
static void lower(const struct srd_limits *limits, bool efa, void *attr)
{
	for (int i = 0; i < NUM_LIMITS; i++)
		if (fields[i].efa == efa && limits->value[i] < get_field(attr, i))
			memcpy((char *)attr + fields[i].offset, &limits->value[i], fields[i].size);
}

static uint32_t min_limit(uint32_t value, uint64_t limit)
{
	return limit < value ? (uint32_t)limit : value;
}

static int query_device(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_device_attr *attr)
{
	const struct srd_limits *limits = limits_of(verbs);
	int result = verbs->next->query_device(verbs->next, context, attr);

	if (result)
		return result;
	lower(limits, false, attr);
	attr->max_qp_wr = min_limit(attr->max_qp_wr, limits->value[MAX_SQ_WR]);
	attr->max_qp_wr = min_limit(attr->max_qp_wr, limits->value[MAX_RQ_WR]);
	attr->max_sge = min_limit(attr->max_sge, limits->value[MAX_SQ_SGE]);
	attr->max_sge = min_limit(attr->max_sge, limits->value[MAX_RQ_SGE]);
	return 0;
}

static int efa_query_device(struct srd_verbs *verbs, struct srd_context *context,
			    struct srd_efa_device_attr *attr)
{
	int result = verbs->next->efa_query_device(verbs->next, context, attr);

	if (!result)
		lower(limits_of(verbs), true, attr);
	return result;
}

/* What the limits with EFA's names are of a device that is not EFA's. */
static int efa_limits(struct srd_verbs *next, struct srd_context *context,
		      const struct srd_device_attr *attr, struct srd_efa_device_attr *efa)
{
	struct srd_port_attr port;
	int result;

	if (!(next->can & SRD_VERBS_IS_RC))
		return next->efa_query_device(next, context, efa);
	result = next->query_port(next, context, 1, &port);
	if (result)
		return result;
	*efa = (struct srd_efa_device_attr){
		.max_sq_wr = attr->max_qp_wr,
		.max_rq_wr = attr->max_qp_wr,
		.max_sq_sge = (uint16_t)attr->max_sge,
		.max_rq_sge = (uint16_t)attr->max_sge,
		.inline_buf_size = UINT16_MAX, /* not to be had from it */
		.inline_buf_size_ex = UINT16_MAX,
		.max_rdma_size = port.max_msg_sz,
	};
	return 0;
}

static int query_port(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		      struct srd_port_attr *attr)
{
	int result = verbs->next->query_port(verbs->next, context, port_num, attr);

	if (!result && verbs->can & SRD_VERBS_IS_RC)
		attr->max_msg_sz =
			min_limit(attr->max_msg_sz, limits_of(verbs)->value[MAX_RDMA_SIZE]);
	return result;
}

/* 0, or a positive errno where a limit is above the device's own. */
static int check_device(struct srd_limits *limits, struct srd_context *context)
{
	struct srd_verbs *next = limits->verbs.next;
	struct srd_efa_device_attr efa;
	struct srd_device_attr attr;
	int result = next->query_device(next, context, &attr);

	if (!result)
		result = efa_limits(next, context, &attr, &efa);
	for (int i = 0; !result && i < NUM_LIMITS; i++) {
		uint64_t own = get_field(fields[i].efa ? (void *)&efa : (void *)&attr, i);

		if (limits->value[i] == UNLIMITED || limits->value[i] <= own)
			continue;
		srd_error_set(&limits->error, -EINVAL,
			      "limit %s = %" PRIu64 " is above the %" PRIu64
			      " that the device %s reports: a limit can only be lowered",
			      fields[i].name, limits->value[i], own, context->name);
		result = EINVAL;
	}
	return result;
}

/* Room to count the objects of HOST. */
static bool add_host(struct srd_limits *limits, uint32_t host)
{
	struct live *live;

	if (host < limits->num_hosts)
		return true;
	live = srd_reallocarray(limits->live, (size_t)host + 1, sizeof(*live));
	if (!live)
		return false;
	memset(&live[limits->num_hosts], 0, (host + 1 - limits->num_hosts) * sizeof(*live));
	limits->live = live;
	limits->num_hosts = host + 1;
	return true;
}

static struct srd_context *open_device(struct srd_verbs *verbs, uint32_t host, const char *name)
{
	struct srd_limits *limits = limits_of(verbs);
	struct srd_context *context;
	int result = ENOMEM;

	context = verbs->next->open_device(verbs->next, host, name);
	if (!context)
		return NULL;
	/* The backend says what number the device has: a host may have several. */
	if (add_host(limits, context->host))
		result = check_device(limits, context);
	if (!result)
		return context;
	verbs->next->close_device(verbs->next, context);
	errno = result;
	return NULL;
}

/* Whether HOST may have one more object of the kind that LIMIT counts; else errno is ENOMEM,
 * which is what a device that is out of a resource makes of it. */
static bool may_create(struct srd_verbs *verbs, enum limit limit, const struct srd_context *context)
{
	const struct srd_limits *limits = limits_of(verbs);

	if (limits->live[context->host].of[limit] < limits->value[limit])
		return true;
	errno = ENOMEM;
	return false;
}

static void *created(struct srd_verbs *verbs, enum limit limit, const struct srd_context *context,
		     void *object)
{
	if (object)
		limits_of(verbs)->live[context->host].of[limit]++;
	return object;
}

static int destroyed(struct srd_verbs *verbs, enum limit limit, uint32_t host, int result)
{
	if (!result)
		limits_of(verbs)->live[host].of[limit]--;
	return result;
}

static struct srd_pd *alloc_pd(struct srd_verbs *verbs, struct srd_context *context)
{
	if (!may_create(verbs, MAX_PD, context))
		return NULL;
	return created(verbs, MAX_PD, context, verbs->next->alloc_pd(verbs->next, context));
}

static int dealloc_pd(struct srd_verbs *verbs, struct srd_pd *pd)
{
	uint32_t host = pd->context->host;

	return destroyed(verbs, MAX_PD, host, verbs->next->dealloc_pd(verbs->next, pd));
}

static struct srd_mr *reg_mr(struct srd_verbs *verbs, struct srd_pd *pd, uint64_t addr,
			     uint64_t length, uint32_t access)
{
	struct srd_context *context = pd->context;

	if (length > limits_of(verbs)->value[MAX_MR_SIZE]) {
		errno = EINVAL;
		return NULL;
	}
	if (!may_create(verbs, MAX_MR, context))
		return NULL;
	return created(verbs, MAX_MR, context,
		       verbs->next->reg_mr(verbs->next, pd, addr, length, access));
}

static int dereg_mr(struct srd_verbs *verbs, struct srd_mr *mr)
{
	uint32_t host = mr->context->host;

	return destroyed(verbs, MAX_MR, host, verbs->next->dereg_mr(verbs->next, mr));
}

/* The depth that the device is asked for. */
static uint64_t round_up(uint64_t depth)
{
	uint64_t power = 1;

	while (power && power < depth)
		power *= 2;
	return power ? power : UINT64_MAX;
}

static bool may_create_cq(struct srd_verbs *verbs, struct srd_context *context, uint32_t cqe)
{
	if (round_up(cqe) > limits_of(verbs)->value[MAX_CQE]) {
		errno = EINVAL;
		return false;
	}
	return may_create(verbs, MAX_CQ, context);
}

static struct srd_cq *create_cq(struct srd_verbs *verbs, struct srd_context *context, uint32_t cqe)
{
	if (!may_create_cq(verbs, context, cqe))
		return NULL;
	return created(verbs, MAX_CQ, context, verbs->next->create_cq(verbs->next, context, cqe));
}

static struct srd_cq *create_cq_ex(struct srd_verbs *verbs, struct srd_context *context,
				   const struct srd_cq_init_attr_ex *attr)
{
	if (!may_create_cq(verbs, context, attr->cqe))
		return NULL;
	return created(verbs, MAX_CQ, context,
		       verbs->next->create_cq_ex(verbs->next, context, attr));
}

static int destroy_cq(struct srd_verbs *verbs, struct srd_cq *cq)
{
	uint32_t host = cq->context->host;

	return destroyed(verbs, MAX_CQ, host, verbs->next->destroy_cq(verbs->next, cq));
}

static struct srd_ah *create_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				const struct srd_ah_attr *attr)
{
	struct srd_context *context = pd->context;

	if (!may_create(verbs, MAX_AH, context))
		return NULL;
	return created(verbs, MAX_AH, context, verbs->next->create_ah(verbs->next, pd, attr));
}

static int destroy_ah(struct srd_verbs *verbs, struct srd_ah *ah)
{
	uint32_t host = ah->context->host;

	return destroyed(verbs, MAX_AH, host, verbs->next->destroy_ah(verbs->next, ah));
}

static bool cap_fits(const struct srd_limits *limits, const struct srd_qp_cap *cap)
{
	uint64_t recv_descriptors = (uint64_t)cap->max_recv_sge * cap->max_recv_wr;

	return cap->max_send_sge <= limits->value[MAX_SQ_SGE] &&
	       cap->max_recv_sge <= limits->value[MAX_RQ_SGE] &&
	       round_up(cap->max_send_wr) <= limits->value[MAX_SQ_WR] &&
	       round_up(recv_descriptors) <= limits->value[MAX_RQ_WR] &&
	       cap->max_inline_data <= limits->value[INLINE_BUF_SIZE_EX];
}

static struct srd_qp *create_qp_ex(struct srd_verbs *verbs, struct srd_context *context,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	if (!cap_fits(limits_of(verbs), &attr->cap)) {
		errno = EINVAL;
		return NULL;
	}
	if (!may_create(verbs, MAX_QP, context))
		return NULL;
	return created(verbs, MAX_QP, context,
		       verbs->next->create_qp_ex(verbs->next, context, attr, efa));
}

static int destroy_qp(struct srd_verbs *verbs, struct srd_qp *qp)
{
	uint32_t host = qp->context->host;

	return destroyed(verbs, MAX_QP, host, verbs->next->destroy_qp(verbs->next, qp));
}

static void limits_close(struct srd_verbs *verbs)
{
	struct srd_limits *limits = limits_of(verbs);

	verbs->next->close(verbs->next);
	srd_free(limits->live);
	srd_free(limits);
}

static int find(const char *name)
{
	for (int i = 0; i < NUM_LIMITS; i++)
		if (!strcmp(fields[i].name, name))
			return i;
	for (int i = 0; i < NUM_ALIASES; i++)
		if (!strcmp(aliases[i].name, name))
			return aliases[i].limit;
	return -1;
}

static int unknown(const char *name, struct srd_error *error)
{
	const char *names[NUM_LIMITS + NUM_ALIASES];
	const char *near;

	for (int i = 0; i < NUM_LIMITS; i++)
		names[i] = fields[i].name;
	for (int i = 0; i < NUM_ALIASES; i++)
		names[NUM_LIMITS + i] = aliases[i].name;
	near = srd_nearest(name, names, NUM_LIMITS + NUM_ALIASES);
	if (near)
		return srd_error_set(error, -EINVAL, "there is no limit %s: did you mean %s?", name,
				     near);
	return srd_error_set(
		error, -EINVAL,
		"there is no limit %s: it is a field of a device such as max_rdma_size", name);
}

static int set(struct srd_limits *limits, const struct srd_limit *limit, struct srd_error *error)
{
	int i = find(limit->name);

	if (i < 0)
		return unknown(limit->name, error);
	if (!limit->value && i != INLINE_BUF_SIZE && i != INLINE_BUF_SIZE_EX)
		return srd_error_set(error, -EINVAL, "limit %s cannot be 0: the least is 1",
				     limit->name);
	limits->value[i] = limit->value;
	return 0;
}

static void fill(struct srd_verbs *verbs)
{
	verbs->open_device = open_device;
	verbs->query_device = query_device;
	verbs->efa_query_device = efa_query_device;
	verbs->query_port = query_port;
	verbs->alloc_pd = alloc_pd;
	verbs->dealloc_pd = dealloc_pd;
	verbs->reg_mr = reg_mr;
	verbs->dereg_mr = dereg_mr;
	verbs->create_cq = create_cq;
	verbs->create_cq_ex = create_cq_ex;
	verbs->destroy_cq = destroy_cq;
	verbs->create_ah = create_ah;
	verbs->destroy_ah = destroy_ah;
	verbs->create_qp_ex = create_qp_ex;
	verbs->destroy_qp = destroy_qp;
	verbs->close = limits_close;
}

int srd_limits_open(struct srd_verbs *next, const struct srd_limit *list, int num,
		    struct srd_limits **out, struct srd_error *error)
{
	struct srd_limits *limits = srd_calloc(1, sizeof(*limits));
	int result = 0;

	if (!limits)
		return srd_error_set(error, -ENOMEM, "no memory for the table of limits");
	for (int i = 0; i < NUM_LIMITS; i++)
		limits->value[i] = UNLIMITED;
	for (int i = 0; !result && i < num; i++)
		result = set(limits, &list[i], error);
	if (result) {
		srd_free(limits);
		return result;
	}
	srd_verbs_forward(&limits->verbs, "limits", next);
	fill(&limits->verbs);
	*out = limits;
	return 0;
}

struct srd_verbs *srd_limits_verbs(struct srd_limits *limits)
{
	return &limits->verbs;
}

const struct srd_error *srd_limits_error(const struct srd_limits *limits)
{
	return &limits->error;
}
