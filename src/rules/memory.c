/* SPDX-License-Identifier: MIT */
/* Keys, ranges and rights. An empty request touches no memory, and is not looked at. */
#include <inttypes.h>

#include "judge.h"

static bool wraps(uint64_t addr, uint64_t length)
{
	return length && addr + (length - 1) < addr;
}

static bool inside(const struct srd_book_mr *mr, uint64_t addr, uint64_t length)
{
	return addr >= mr->addr && length <= mr->length && addr - mr->addr <= mr->length - length;
}

static void range_fault(struct srd_rules *rules, enum srd_rule rule, uint64_t wr_id, uint64_t addr,
			uint64_t length, const struct srd_book_mr *mr)
{
	srd_judge_fail(rules, rule, (struct srd_where){.qp = rules->book.qp},
		       "request %" PRIu64 ": 0x%" PRIx64 " and %" PRIu64
		       " bytes; memory region %u is 0x%" PRIx64 " and %" PRIu64 " bytes",
		       wr_id, addr, length, mr->thing.handle, mr->addr, mr->length);
}

static void judge_local(struct srd_rules *rules, const struct srd_ev_wr_post *post, uint32_t lkey,
			const struct srd_book_mr *mr, uint64_t addr, uint64_t length)
{
	const struct srd_book_qp *qp = rules->book.qp;

	if (!qp->device || !length)
		return;
	if (wraps(addr, length))
		FAIL(rules, MEMORY_WRAP,
		     "request %" PRIu64 ": local 0x%" PRIx64 " and %" PRIu64 " bytes", post->wr_id,
		     addr, length);
	else if (!mr)
		FAIL(rules, MEMORY_LKEY, "request %" PRIu64 ": no live memory region has lkey 0x%x",
		     post->wr_id, lkey);
	else if (mr->pd != qp->pd)
		FAIL(rules, MEMORY_LKEY,
		     "request %" PRIu64 ": lkey 0x%x is memory region %u of another "
		     "protection domain",
		     post->wr_id, lkey, mr->thing.handle);
	else if (!inside(mr, addr, length))
		range_fault(rules, SRD_R_MEMORY_LOCAL_RANGE, post->wr_id, addr, length, mr);
	else if (post->opcode == SRD_WR_RDMA_READ && !(mr->access & SRD_ACCESS_LOCAL_WRITE))
		FAIL(rules, MEMORY_LOCAL_ACCESS,
		     "request %" PRIu64 " reads into memory region %u, whose rights are 0x%x",
		     post->wr_id, mr->thing.handle, mr->access);
}

static void judge_remote(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	const struct srd_book_mr *mr = rules->book.qp->route.remote_mr;
	uint32_t right =
		post->opcode == SRD_WR_RDMA_READ ? SRD_ACCESS_REMOTE_READ : SRD_ACCESS_REMOTE_WRITE;

	if (wraps(post->remote_addr, post->length))
		FAIL(rules, MEMORY_WRAP,
		     "request %" PRIu64 ": remote 0x%" PRIx64 " and %" PRIu64 " bytes", post->wr_id,
		     post->remote_addr, post->length);
	else if (!rules->book.qp->route.target)
		return;
	else if (!mr)
		FAIL(rules, MEMORY_RKEY,
		     "request %" PRIu64 ": no live memory region of the destination has rkey 0x%x",
		     post->wr_id, post->rkey);
	else if (!inside(mr, post->remote_addr, post->length))
		range_fault(rules, SRD_R_MEMORY_REMOTE_RANGE, post->wr_id, post->remote_addr,
			    post->length, mr);
	else if (!(mr->access & right))
		FAIL(rules, MEMORY_REMOTE_ACCESS,
		     "request %" PRIu64 " is %s; the rights of memory region "
		     "%u are 0x%x",
		     post->wr_id, srd_wr_opcode_str(post->opcode), mr->thing.handle, mr->access);
}

static void request(struct srd_rules *rules, const struct srd_ev_wr_post *post)
{
	/* Inline data is copied out of any memory while the request is built. */
	if (!post->inline_data) {
		judge_local(rules, post, post->lkey, rules->book.qp->route.mr, post->addr,
			    post->length - post->length2);
		if (post->length2)
			judge_local(rules, post, post->lkey2,
				    srd_book_mr_by_lkey(&rules->book, rules->book.qp, post->lkey2),
				    post->addr2, post->length2);
	}
	if (post->length && post->opcode != SRD_WR_SEND && post->opcode != SRD_WR_SEND_WITH_IMM)
		judge_remote(rules, post);
}

/* The session is refused by a library that notices; most crash. */
static void wr_post(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_wr_post *post = (const void *)event;

	if (!post->inline_data || !post->length || !rules->book.device_buffers)
		return;
	for (const struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		const struct srd_book_buffer *buffer = (const struct srd_book_buffer *)thing;

		if (thing->kind == SRD_KIND_BUFFER && thing->alive && thing->host == event->host &&
		    buffer->memory == SRD_BUFFER_DEVICE && post->addr >= buffer->addr &&
		    post->addr - buffer->addr < buffer->length)
			FAIL(rules, MEMORY_INLINE,
			     "request %" PRIu64 ": inline data at 0x%" PRIx64
			     " is of buffer %u, memory of a device",
			     post->wr_id, post->addr, thing->handle);
	}
}

static void mr_dereg(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_mr *mr = (const void *)rules->book.thing;

	if (mr && mr->in_flight)
		srd_judge_fail(
			rules, SRD_R_MEMORY_DEREG, (struct srd_where){.thing = rules->book.thing},
			"memory region %u has %u request%s in flight; line %u posted the last",
			event->object, mr->in_flight, SRD_S(mr->in_flight), mr->post_line);
}

static void buffer_free(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_book_buffer *buffer = (const void *)rules->book.thing;

	if (!buffer)
		return;
	for (struct srd_thing *thing = rules->book.all; thing; thing = thing->next) {
		const struct srd_book_mr *mr = (const struct srd_book_mr *)thing;

		/* Hosts have address spaces of their own. */
		if (thing->kind == SRD_KIND_MR && thing->alive && mr->in_flight &&
		    thing->host == buffer->thing.host && mr->addr < buffer->addr + buffer->length &&
		    buffer->addr < mr->addr + mr->length)
			srd_judge_fail(
				rules, SRD_R_MEMORY_FREE, (struct srd_where){.thing = thing},
				"buffer %u is freed; memory region %u on it has %u request%s in "
				"flight",
				event->object, thing->handle, mr->in_flight, SRD_S(mr->in_flight));
	}
}

static void dev_place(struct srd_rules *rules, const struct srd_event *event)
{
	const struct srd_ev_dev_place *ev = (const void *)event;
	const struct srd_book_mr *mr = (const void *)rules->book.thing;
	struct srd_where where = {.thing = rules->book.thing};

	if (!mr)
		return;
	if (!mr->thing.alive)
		srd_judge_fail(rules, SRD_R_MEMORY_PLACE, where,
			       "0x%" PRIx64 " and %" PRIu64
			       " bytes through memory region %u, which line "
			       "%u deregistered",
			       ev->addr, ev->length, event->object, mr->thing.end_line);
	else if (!inside(mr, ev->addr, ev->length))
		srd_judge_fail(rules, SRD_R_MEMORY_PLACE, where,
			       "0x%" PRIx64 " and %" PRIu64
			       " bytes through memory region %u of 0x%" PRIx64 " and %" PRIu64
			       " bytes",
			       ev->addr, ev->length, event->object, mr->addr, mr->length);
}

const struct srd_family srd_memory_family = {
	.name = "memory",
	.check =
		{
			[SRD_EV_WR_POST] = wr_post,
			[SRD_EV_MR_DEREG] = mr_dereg,
			[SRD_EV_BUFFER_FREE] = buffer_free,
			[SRD_EV_DEV_PLACE] = dev_place,
		},
	.request = request,
};
