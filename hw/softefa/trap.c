/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <uthash.h>

#include "decide.h"
#include "engine.h"
#include "files.h"
#include "guard.h"
#include "store.h"
#include "trap.h"

/* A page with doorbells, as the program has it; a queue pair's may be mapped twice. */
struct page {
	void *at;
	uint64_t key;
	uint32_t file;
	uint32_t qp; /* object, 0: its stores do not trap */
	bool writable;
	UT_hash_handle hh;
};

static struct page *pages; /* by address; changed and looked at with the lock held */

void soft_trap_note(uint32_t file, uint64_t key, void *at, int prot)
{
	struct page *page;

	if (soft_lock())
		return;
	HASH_FIND_PTR(pages, &at, page);
	if (!page) {
		page = calloc(1, sizeof(*page));
		if (page) {
			page->at = at;
			HASH_ADD_PTR(pages, at, page);
		}
	}
	if (page) {
		page->file = file;
		page->key = key;
		page->qp = 0;
		page->writable = prot & PROT_WRITE;
	}
	soft_unlock();
}

static bool is_of(const struct page *page, const struct soft_object *qp)
{
	return page->writable && page->file == qp->file &&
	       page->key == (qp->qp.sq.doorbell & ~(SOFT_PAGE - 1ull));
}

/* It stored in a way that is not known: it may, and its doorbells are watched instead. */
static void give_up(struct page *page)
{
	struct soft_group *g = soft.group;

	mprotect(page->at, SOFT_PAGE, PROT_READ | PROT_WRITE);
	if (page->qp)
		soft_engine_qp_raw(soft_object(page->qp));
	page->qp = 0;
	if (!g->complaint[0])
		snprintf(g->complaint, sizeof(g->complaint),
			 "a program rings doorbells with an instruction that is not known here: "
			 "they are watched, which is slower");
}

static void rung(const struct page *page, uint64_t offset, uint32_t value)
{
	struct soft_object *qp = soft_object(page->qp);

	__atomic_store_n((uint32_t *)(soft.rings + page->key + offset), value, __ATOMIC_RELEASE);
	if (!page->qp)
		return;
	soft_doorbell(qp);
	soft_run(NULL);
}

static bool on_store(siginfo_t *info, void *context)
{
	uint64_t offset = (uintptr_t)info->si_addr & (SOFT_PAGE - 1);
	void *at = (uint8_t *)info->si_addr - offset;
	struct page *page;
	uint32_t value;

	if (info->si_code != SEGV_ACCERR)
		return false;
	soft_join();
	if (soft_lock_patiently())
		return false;
	HASH_FIND_PTR(pages, &at, page);
	if (page && page->writable && soft_decides()) {
		if (soft_turn(SOFT_POST, page->qp))
			return true;
		HASH_FIND_PTR(pages, &at, page); /* others may have run */
	}
	/* It never had the right to, whoever asks. */
	if (page && !page->writable)
		page = NULL;
	if (page && offset % sizeof(value) == 0 &&
	    soft_store_skip(context, *(const uint32_t *)info->si_addr, &value))
		rung(page, offset, value);
	else if (page)
		give_up(page);
	if (page)
		soft_turn_over();
	soft_unlock();
	if (page)
		soft_supervisor_wake();
	return page != NULL;
}

bool soft_trap_qp(const struct soft_object *qp)
{
	bool trapped = false;

	if (!soft_store_known())
		return false;
	soft_guard_install();
	soft_guard_on_fault(on_store);
	for (struct page *page = pages; page; page = page->hh.next) {
		if (!is_of(page, qp))
			continue;
		if (mprotect(page->at, SOFT_PAGE, PROT_READ))
			return false;
		page->qp = soft_handle(qp);
		trapped = true;
	}
	return trapped;
}

void soft_untrap_qp(const struct soft_object *qp)
{
	struct page *next;

	for (struct page *page = pages; page; page = next) {
		next = page->hh.next;
		if (!is_of(page, qp))
			continue;
		if (page->qp)
			mprotect(page->at, SOFT_PAGE, PROT_READ | PROT_WRITE);
		HASH_DEL(pages, page);
		free(page);
	}
}
