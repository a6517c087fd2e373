/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"

#define STALE UINT32_MAX

static struct fake_device *fake_of(struct srd_verbs *verbs)
{
	return (struct fake_device *)verbs;
}

/* Log a call; its errno where the script makes it fail, or 0. */
__attribute__((format(printf, 3, 4))) static int call(struct srd_verbs *verbs, enum srd_verb verb,
						      const char *format, ...)
{
	struct fake_device *fake = fake_of(verbs);
	char text[100];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(fake->num_log < FAKE_LOG);
	snprintf(fake->log[fake->num_log++], sizeof(fake->log[0]), "%s%s%s", srd_verb_str(verb),
		 *text ? " " : "", text);
	fake->calls[verb]++;
	if (fake->fail_nth && fake->fail_verb == verb &&
	    (fake->fail_nth < 0 || fake->calls[verb] == fake->fail_nth))
		return fake->fail_errno;
	return 0;
}

/* A copy of *OBJECT where ERROR is 0, or NULL with errno. */
static void *make(struct srd_verbs *verbs, int error, const void *object, size_t size)
{
	void *copy;

	if (error) {
		errno = error;
		return NULL;
	}
	copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, object, size);
	fake_of(verbs)->live++;
	return copy;
}

/* Whatever a destroy answers, the caller is done with the object. */
static int unmake(struct srd_verbs *verbs, int error, void *object)
{
	fake_of(verbs)->live--;
	free(object);
	return error;
}

static int query_device(struct srd_verbs *verbs, struct srd_context *context,
			struct srd_device_attr *attr)
{
	*attr = fake_of(verbs)->device;
	return call(verbs, SRD_VERB_QUERY_DEVICE, "%s", "");
}

static int efa_query_device(struct srd_verbs *verbs, struct srd_context *context,
			    struct srd_efa_device_attr *attr)
{
	*attr = fake_of(verbs)->efa;
	return call(verbs, SRD_VERB_EFA_QUERY_DEVICE, "%s", "");
}

static int query_port(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		      struct srd_port_attr *attr)
{
	*attr = fake_of(verbs)->port;
	return call(verbs, SRD_VERB_QUERY_PORT, "%u", port_num);
}

static int query_gid(struct srd_verbs *verbs, struct srd_context *context, uint8_t port_num,
		     int index, union srd_gid *gid)
{
	*gid = fake_of(verbs)->gid;
	return call(verbs, SRD_VERB_QUERY_GID, "%u %d", port_num, index);
}

static struct srd_cq *create_cq(struct srd_verbs *verbs, struct srd_context *context, uint32_t cqe)
{
	int error = call(verbs, SRD_VERB_CREATE_CQ, "%u", cqe);
	struct srd_cq cq = {
		.context = context,
		.handle = (uint32_t)fake_of(verbs)->calls[SRD_VERB_CREATE_CQ],
		.cqe = cqe,
	};

	return make(verbs, error, &cq, sizeof(cq));
}

static int destroy_cq(struct srd_verbs *verbs, struct srd_cq *cq)
{
	int error = call(verbs, SRD_VERB_DESTROY_CQ, "%u", cq->handle);

	return error ? error : unmake(verbs, 0, cq);
}

static struct srd_ah *create_ah(struct srd_verbs *verbs, struct srd_pd *pd,
				const struct srd_ah_attr *attr)
{
	int error = call(verbs, SRD_VERB_CREATE_AH, "gid %02x..%02x global %u port %u rest %u",
			 attr->dgid.raw[0], attr->dgid.raw[15], attr->is_global, attr->port_num,
			 attr->flow_label | attr->dlid | attr->sgid_index | attr->hop_limit |
				 attr->traffic_class | attr->sl);
	struct srd_ah ah = {
		.context = pd->context,
		.pd = pd,
		.handle = (uint32_t)fake_of(verbs)->calls[SRD_VERB_CREATE_AH],
	};

	return make(verbs, error, &ah, sizeof(ah));
}

static int destroy_ah(struct srd_verbs *verbs, struct srd_ah *ah)
{
	uint32_t handle = ah->handle;

	return unmake(verbs, call(verbs, SRD_VERB_DESTROY_AH, "%u", handle), ah);
}

static struct srd_qp *create_qp_ex(struct srd_verbs *verbs, struct srd_context *context,
				   struct srd_qp_init_attr_ex *attr,
				   const struct srd_efa_qp_init_attr *efa)
{
	int error = call(verbs, SRD_VERB_CREATE_QP_EX,
			 "type 0x%x/%u flags %u/%" PRIu64 " ops 0x%" PRIx64
			 " comp 0x%x sig_all %d wr %u/%u sge %u/%u inline %u",
			 attr->qp_type, efa->driver_qp_type, efa->flags, efa->comp_mask,
			 attr->send_ops_flags, attr->comp_mask, attr->sq_sig_all,
			 attr->cap.max_send_wr, attr->cap.max_recv_wr, attr->cap.max_send_sge,
			 attr->cap.max_recv_sge, attr->cap.max_inline_data);
	struct srd_qp qp = {
		.context = context,
		.pd = attr->pd,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.handle = (uint32_t)fake_of(verbs)->calls[SRD_VERB_CREATE_QP_EX],
		.qp_num = fake_of(verbs)->next_qp_num++,
		.state = SRD_QPS_RESET,
	};

	return make(verbs, error, &qp, sizeof(qp));
}

static int destroy_qp(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct fake_device *fake = fake_of(verbs);
	int error = call(verbs, SRD_VERB_DESTROY_QP, "%u", qp->handle);

	while (fake->stale_on_destroy && fake->num_posted) {
		fake->num_posted--;
		fake_device_stale(fake);
	}
	return unmake(verbs, error, qp);
}

static int modify_qp(struct srd_verbs *verbs, struct srd_qp *qp, const struct srd_qp_attr *attr,
		     uint32_t mask)
{
	struct fake_device *fake = fake_of(verbs);
	int error =
		call(verbs, SRD_VERB_MODIFY_QP, "%s mask 0x%x qkey 0x%x pkey %u port %u psn 0x%x",
		     srd_qp_state_str(attr->qp_state) + strlen("IBV_QPS_"), mask, attr->qkey,
		     attr->pkey_index, attr->port_num, attr->sq_psn);

	if (error)
		return error;
	qp->state = attr->qp_state;
	while (qp->state == SRD_QPS_ERR && fake->flush_on_err && fake->num_posted)
		fake_device_complete(fake, qp->qp_num, fake->posted[0], SRD_WC_WR_FLUSH_ERR, 1);
	return 0;
}

static int query_qp(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_qp_attr *attr,
		    uint32_t mask)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = qp->state;
	return call(verbs, SRD_VERB_QUERY_QP, "mask 0x%x", mask);
}

static void wr_start(struct srd_verbs *verbs, struct srd_qp *qp)
{
	fake_of(verbs)->session_start = fake_of(verbs)->num_posted;
	call(verbs, SRD_VERB_WR_START, "%s", "");
}

static void request(struct srd_verbs *verbs, struct srd_qp *qp)
{
	struct fake_device *fake = fake_of(verbs);

	assert_true(fake->num_posted < FAKE_ENTRIES);
	fake->posted[fake->num_posted++] = qp->wr_id;
}

static void wr_rdma_write(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey, uint64_t addr)
{
	call(verbs, SRD_VERB_WR_RDMA_WRITE, "id %" PRIu64 " flags %u rkey %u 0x%" PRIx64, qp->wr_id,
	     qp->wr_flags, rkey, addr);
	request(verbs, qp);
}

static void wr_rdma_read(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t rkey, uint64_t addr)
{
	call(verbs, SRD_VERB_WR_RDMA_READ, "id %" PRIu64 " flags %u rkey %u 0x%" PRIx64, qp->wr_id,
	     qp->wr_flags, rkey, addr);
	request(verbs, qp);
}

static void wr_set_sge(struct srd_verbs *verbs, struct srd_qp *qp, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	call(verbs, SRD_VERB_WR_SET_SGE, "lkey %u 0x%" PRIx64 "+%u", lkey, addr, length);
}

static void wr_set_ud_addr(struct srd_verbs *verbs, struct srd_qp *qp, struct srd_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	call(verbs, SRD_VERB_WR_SET_UD_ADDR, "ah %u qpn %u qkey 0x%x", ah->handle, remote_qpn,
	     remote_qkey);
}

static int wr_complete(struct srd_verbs *verbs, struct srd_qp *qp)
{
	int error = call(verbs, SRD_VERB_WR_COMPLETE, "%s", "");

	if (error)
		fake_of(verbs)->num_posted = fake_of(verbs)->session_start;
	return error;
}

static void wr_abort(struct srd_verbs *verbs, struct srd_qp *qp)
{
	call(verbs, SRD_VERB_WR_ABORT, "%s", "");
}

static int poll_cq(struct srd_verbs *verbs, struct srd_cq *cq, int num_entries, struct srd_wc *wc)
{
	struct fake_device *fake = fake_of(verbs);
	int error = call(verbs, SRD_VERB_POLL_CQ, "%d", num_entries);
	const struct srd_wc *entry;

	if (error)
		return -error;
	if (fake->head == fake->tail)
		return 0;
	entry = &fake->entries[fake->head++ % FAKE_ENTRIES];
	if (entry->status == STALE)
		return -EINVAL;
	*wc = *entry;
	return 1;
}

static uint64_t now(struct srd_verbs *verbs)
{
	return fake_of(verbs)->now;
}

static int wait(struct srd_verbs *verbs, uint64_t deadline)
{
	struct fake_device *fake = fake_of(verbs);
	int error = call(verbs, SRD_VERB_WAIT, "%" PRIu64, deadline);

	if (error)
		return error;
	if (fake->head != fake->tail)
		return 0;
	fake->now = deadline;
	return ETIMEDOUT;
}

void fake_device_init(struct fake_device *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->verbs = (struct srd_verbs){
		.name = "fake",
		.query_device = query_device,
		.efa_query_device = efa_query_device,
		.query_port = query_port,
		.query_gid = query_gid,
		.create_cq = create_cq,
		.destroy_cq = destroy_cq,
		.create_ah = create_ah,
		.destroy_ah = destroy_ah,
		.create_qp_ex = create_qp_ex,
		.destroy_qp = destroy_qp,
		.modify_qp = modify_qp,
		.query_qp = query_qp,
		.wr_start = wr_start,
		.wr_rdma_write = wr_rdma_write,
		.wr_rdma_read = wr_rdma_read,
		.wr_set_sge = wr_set_sge,
		.wr_set_ud_addr = wr_set_ud_addr,
		.wr_complete = wr_complete,
		.wr_abort = wr_abort,
		.poll_cq = poll_cq,
		.now = now,
		.wait = wait,
	};
	fake->context = (struct srd_context){.handle = 1, .name = "fake0"};
	fake->pd = (struct srd_pd){.context = &fake->context, .handle = 1};
	fake->device = (struct srd_device_attr){.max_cqe = 32768};
	fake->efa = (struct srd_efa_device_attr){
		.max_sq_wr = 4096,
		.max_rq_wr = 32768,
		.device_caps = SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ |
			       SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE,
		.max_rdma_size = 1000,
	};
	fake->port = (struct srd_port_attr){.gid_tbl_len = 1, .pkey_tbl_len = 1, .lid = 3};
	fake->gid.raw[0] = 0xfe;
	fake->gid.raw[15] = 0x01;
	fake->next_qp_num = 5;
}

void fake_device_clear(struct fake_device *fake)
{
	fake->num_log = 0;
}

void fake_device_expect(struct fake_device *fake, const char *const *lines)
{
	int i = 0;

	for (; lines[i]; i++)
		assert_string_equal(i < fake->num_log ? fake->log[i] : "(no more calls)", lines[i]);
	if (i < fake->num_log)
		fail_msg("one call too many: %s", fake->log[i]);
	fake_device_clear(fake);
}

void fake_device_entry(struct fake_device *fake, const struct srd_wc *wc)
{
	assert_true(fake->tail - fake->head < FAKE_ENTRIES);
	fake->entries[fake->tail++ % FAKE_ENTRIES] = *wc;
}

void fake_device_stale(struct fake_device *fake)
{
	fake_device_entry(fake, &(struct srd_wc){.status = STALE});
}

void fake_device_complete(struct fake_device *fake, uint32_t qp_num, uint64_t wr_id,
			  enum srd_wc_status status, uint32_t vendor_err)
{
	for (int i = 0; i < fake->num_posted; i++) {
		if (fake->posted[i] != wr_id)
			continue;
		memmove(&fake->posted[i], &fake->posted[i + 1],
			(size_t)(--fake->num_posted - i) * sizeof(fake->posted[0]));
		fake_device_entry(fake, &(struct srd_wc){
						.wr_id = wr_id,
						.status = status,
						.vendor_err = vendor_err,
						.opcode = SRD_WC_SEND,
						.qp_num = qp_num,
					});
		return;
	}
	fail_msg("request %" PRIu64 " is not outstanding", wr_id);
}
