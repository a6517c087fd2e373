/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "ring.h"

#define GET(value, field) (((value)&field##_MASK) >> field##_SHIFT)
#define PUT(value, field) (((uint32_t)(value) << field##_SHIFT) & field##_MASK)

static uint64_t address(uint32_t lo, uint32_t hi)
{
	return lo | (uint64_t)hi << 32;
}

static void get_sge(const uint8_t *at, struct srd_sge *sge)
{
	struct efa_io_tx_buf_desc desc;

	memcpy(&desc, at, sizeof(desc));
	sge->addr = address(desc.buf_addr_lo, desc.buf_addr_hi);
	sge->length = desc.length;
	sge->lkey = GET(desc.lkey, EFA_IO_TX_BUF_DESC_LKEY);
}

/* Inline bytes that begin at OFFSET of an entry of SIZE bytes. */
static bool get_inline(const uint8_t *entry, uint32_t size, uint32_t offset, uint32_t length,
		       struct srd_request *request, uint8_t *inline_data)
{
	uint32_t room = size - offset;

	if (room > EFA_IO_TX_DESC_INLINE_MAX_SIZE_128)
		room = EFA_IO_TX_DESC_INLINE_MAX_SIZE_128;
	if (length > room)
		return false;
	memcpy(inline_data, entry + offset, length);
	request->is_inline = 1;
	request->inline_length = (uint8_t)length;
	return true;
}

static bool get_rdma(const uint8_t *entry, uint32_t size, const struct efa_io_tx_meta_desc *meta,
		     struct srd_request *request, uint8_t *inline_data)
{
	struct efa_io_remote_mem_addr remote;
	uint32_t offset = sizeof(*meta) + sizeof(remote);

	memcpy(&remote, entry + sizeof(*meta), sizeof(remote));
	request->remote_addr = address(remote.buf_addr_lo, remote.buf_addr_hi);
	request->rkey = remote.rkey;
	if (meta->ctrl1 & EFA_IO_TX_META_DESC_INLINE_MSG_MASK)
		return request->opcode != SRD_WR_RDMA_READ && size == SOFT_WQE_SIZE_WIDE &&
		       get_inline(entry, size, offset, meta->length, request, inline_data);
	if (meta->length > EFA_IO_TX_DESC_NUM_RDMA_BUFS)
		return false;
	request->num_sge = (uint8_t)meta->length;
	if (meta->length)
		get_sge(entry + offset, &request->sge[0]);
	return true;
}

static bool get_send(const uint8_t *entry, uint32_t size, const struct efa_io_tx_meta_desc *meta,
		     struct srd_request *request, uint8_t *inline_data)
{
	if (meta->ctrl1 & EFA_IO_TX_META_DESC_INLINE_MSG_MASK)
		return get_inline(entry, size, sizeof(*meta), meta->length, request, inline_data);
	if (meta->length > EFA_IO_TX_DESC_NUM_BUFS)
		return false;
	request->num_sge = (uint8_t)meta->length;
	for (uint32_t i = 0; i < meta->length; i++)
		get_sge(entry + sizeof(*meta) + i * sizeof(struct efa_io_tx_buf_desc),
			&request->sge[i]);
	return true;
}

static bool get_opcode(const struct efa_io_tx_meta_desc *meta, uint8_t *opcode)
{
	bool imm = meta->ctrl1 & EFA_IO_TX_META_DESC_HAS_IMM_MASK;

	switch (GET(meta->ctrl1, EFA_IO_TX_META_DESC_OP_TYPE)) {
	case EFA_IO_SEND:
		*opcode = imm ? SRD_WR_SEND_WITH_IMM : SRD_WR_SEND;
		return true;
	case EFA_IO_RDMA_READ:
		*opcode = SRD_WR_RDMA_READ;
		return !imm;
	case EFA_IO_RDMA_WRITE:
		*opcode = imm ? SRD_WR_RDMA_WRITE_WITH_IMM : SRD_WR_RDMA_WRITE;
		return true;
	}
	return false;
}

bool soft_wqe_parse(const void *entry, uint32_t size, struct srd_request *request,
		    uint8_t *inline_data)
{
	uint8_t copy[SOFT_WQE_SIZE_WIDE];
	struct efa_io_tx_meta_desc meta;

	/* The program can still write to it: one copy, then only that. */
	memcpy(copy, entry, size);
	memcpy(&meta, copy, sizeof(meta));
	request->id = meta.req_id | (uint64_t)meta.req_id_ex[0] << 16 |
		      (uint64_t)meta.req_id_ex[1] << 32 | (uint64_t)meta.req_id_ex[2] << 48;
	if (!(meta.ctrl1 & EFA_IO_TX_META_DESC_META_DESC_MASK) ||
	    meta.ctrl1 & EFA_IO_TX_META_DESC_META_EXTENSION_MASK ||
	    !(meta.ctrl2 & EFA_IO_TX_META_DESC_FIRST_MASK) ||
	    !(meta.ctrl2 & EFA_IO_TX_META_DESC_LAST_MASK) || !get_opcode(&meta, &request->opcode))
		return false;
	request->imm_data = meta.immediate_data;
	request->qkey = meta.qkey;
	request->dest_qpn = meta.dest_qp_num;
	request->ah = meta.ah;
	if (request->opcode == SRD_WR_SEND || request->opcode == SRD_WR_SEND_WITH_IMM)
		return get_send(copy, size, &meta, request, inline_data);
	return get_rdma(copy, size, &meta, request, inline_data);
}

void soft_rx_parse(const void *entry, struct soft_receive *receive)
{
	struct efa_io_rx_desc desc;

	memcpy(&desc, entry, sizeof(desc));
	*receive = (struct soft_receive){
		.sge =
			{
				.addr = address(desc.buf_addr_lo, desc.buf_addr_hi),
				.length = desc.length,
				.lkey = GET(desc.lkey_ctrl, EFA_IO_RX_DESC_LKEY),
			},
		.id = desc.req_id,
		.first = desc.lkey_ctrl & EFA_IO_RX_DESC_FIRST_MASK,
		.last = desc.lkey_ctrl & EFA_IO_RX_DESC_LAST_MASK,
	};
}

static uint32_t efa_op(uint8_t op)
{
	switch ((enum srd_op_type)op) {
	case SRD_OP_TYPE_SEND:
		return EFA_IO_SEND;
	case SRD_OP_TYPE_RDMA_READ:
		return EFA_IO_RDMA_READ;
	case SRD_OP_TYPE_RDMA_WRITE:
		return EFA_IO_RDMA_WRITE;
	}
	return EFA_IO_SEND;
}

/* The body of a completion of a send, where that of a receive says more about the message. */
static void put_wide_id(struct efa_io_rx_cdesc *desc, uint64_t id)
{
	struct efa_io_tx_cdesc sent = {
		.req_id_ex = {(uint16_t)(id >> 16), (uint16_t)(id >> 32), (uint16_t)(id >> 48)},
	};

	sent.common = desc->common;
	memcpy(desc, &sent, sizeof(sent));
}

void soft_cqe_write(void *at, uint32_t size, const struct srd_cqe *entry, bool phase,
		    const union srd_gid *gid)
{
	bool receive = entry->flags & SRD_CQE_RECEIVE;
	struct efa_io_rx_cdesc desc = {
		.common = {.req_id = (uint16_t)entry->id,
			   .status = entry->status,
			   .qp_num = entry->qpn},
	};
	uint32_t flags =
		PUT(phase, EFA_IO_CDESC_COMMON_PHASE) |
		PUT(receive ? EFA_IO_RECV_QUEUE : EFA_IO_SEND_QUEUE, EFA_IO_CDESC_COMMON_Q_TYPE) |
		PUT(efa_op(entry->op), EFA_IO_CDESC_COMMON_OP_TYPE);
	uint8_t rest[16] = {0}, *flag = (uint8_t *)at + offsetof(struct efa_io_cdesc_common, flags);

	if (receive) {
		desc.length = (uint16_t)entry->length;
		desc.ah = entry->ah;
		desc.src_qp_num = entry->src_qpn;
		desc.imm = entry->imm_data;
		flags |= PUT(!!(entry->flags & SRD_CQE_HAS_IMM), EFA_IO_CDESC_COMMON_HAS_IMM) |
			 PUT(!!(entry->flags & SRD_CQE_UNSOLICITED),
			     EFA_IO_CDESC_COMMON_UNSOLICITED);
		if (entry->op == SRD_OP_TYPE_RDMA_WRITE)
			memcpy(rest, &(uint16_t){(uint16_t)(entry->length >> 16)}, 2);
		else if (gid)
			memcpy(rest, gid->raw, sizeof(rest));
	} else if (entry->id >> 16) {
		put_wide_id(&desc, entry->id);
	}
	/* The old flags hold the other phase: the reader waits until they change. */
	desc.common.flags = *flag;
	memcpy(at, &desc, sizeof(desc));
	if (size >= sizeof(desc) + sizeof(rest))
		memcpy((uint8_t *)at + sizeof(desc), rest, sizeof(rest));
	__atomic_store_n(flag, (uint8_t)flags, __ATOMIC_RELEASE);
}
