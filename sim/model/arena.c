/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "state.h"

/* What the model as a whole can hold; address space only, until it is used. */
#define MAX_REQUESTS    (1u << 20)
#define MAX_PACKETS     (SRD_PACKET_WINDOW * SRD_MODEL_MAX_HOSTS)
#define MAX_FAULTS      (1u << 16)
#define MAX_AHS         65534u /* an address handle's number has 16 bits */
#define MAX_OBJECTS     (1u << 17)
#define BLOCKS_SIZE     (8ull << 30)
#define MIN_BLOCKS_SIZE (128ull << 20)
#define KEEP_SIZE       (64ull << 20)
#define KEY_BITS        24 /* of which the lower name a region and the rest its generation */
#define MIN_KEY_SHIFT   20

/*
 * The arena of the model closed last, for the next one to take: mapping and touching fresh
 * pages costs more than a short scenario does.
 */
static _Atomic(struct srd_model_state *) kept;

static uint64_t layout_add(struct srd_layout *layout, uint64_t size)
{
	uint64_t at = layout->size;

	layout->size += (size + 4095) & ~4095ull;
	return at;
}

static uint32_t min_u32(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

static void layout_make(struct srd_layout *l, const struct srd_profile *p, uint64_t blocks_size)
{
	memset(l, 0, sizeof(*l));
	l->capacity[SRD_POOL_PD] = min_u32((uint64_t)p->max_pd * SRD_MODEL_MAX_HOSTS, MAX_OBJECTS);
	l->key_shift = MIN_KEY_SHIFT;
	while (1u << l->key_shift <= p->max_mr && l->key_shift < KEY_BITS)
		l->key_shift++;
	l->capacity[SRD_POOL_MR] = (1u << l->key_shift) - 1;
	l->capacity[SRD_POOL_AH] = MAX_AHS;
	l->capacity[SRD_POOL_CQ] = min_u32((uint64_t)p->max_cq * SRD_MODEL_MAX_HOSTS, MAX_OBJECTS);
	l->capacity[SRD_POOL_QP] = min_u32((uint64_t)p->max_qp * SRD_MODEL_MAX_HOSTS, MAX_OBJECTS);
	l->capacity[SRD_POOL_REQUEST] = MAX_REQUESTS;
	l->capacity[SRD_POOL_FAULT] = MAX_FAULTS;
	/* A transfer belongs to a request, or to packets that outlive one. */
	l->capacity[SRD_POOL_TRANSFER] = MAX_REQUESTS + MAX_PACKETS;
	l->capacity[SRD_POOL_PACKET] = MAX_PACKETS;
	l->qpn_slots = p->max_qp;
	l->blocks_size = blocks_size;
	l->heap_capacity = 2 * MAX_REQUESTS + MAX_PACKETS;

	layout_add(l, sizeof(struct srd_model_state));
	l->device = layout_add(l, SRD_MODEL_MAX_HOSTS * sizeof(struct srd_model_device));
	for (int i = 0; i < SRD_NUM_POOLS; i++)
		l->pool[i] = layout_add(l, ((uint64_t)l->capacity[i] + 1) * srd_entry_size[i]);
	l->inline_data = layout_add(l, ((uint64_t)MAX_REQUESTS + 1) * SRD_INLINE_STRIDE);
	l->qpn = layout_add(l, (uint64_t)l->qpn_slots * SRD_MODEL_MAX_HOSTS *
				       sizeof(struct srd_qpn_slot));
	l->link = layout_add(l, SRD_MODEL_MAX_HOSTS * sizeof(struct srd_link));
	l->heap = layout_add(l, srd_heap_size(l->heap_capacity));
	l->blocks = layout_add(l, l->blocks_size);
}

static struct srd_model_state *arena_map(const struct srd_layout *layout)
{
	struct srd_model_state *state = atomic_exchange(&kept, NULL);
	void *at;

	if (state && !memcmp(&state->layout, layout, sizeof(*layout)))
		return state;
	if (state)
		munmap(state, state->layout.size);
	at = mmap(NULL, layout->size, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void model_attach(struct srd_model *m, struct srd_model_state *state)
{
	const struct srd_layout *l = &state->layout;
	uint8_t *base = (uint8_t *)state;

	m->state = state;
	m->size = l->size;
	m->device = (void *)(base + l->device);
	m->pd = (void *)(base + l->pool[SRD_POOL_PD]);
	m->mr = (void *)(base + l->pool[SRD_POOL_MR]);
	m->ah = (void *)(base + l->pool[SRD_POOL_AH]);
	m->cq = (void *)(base + l->pool[SRD_POOL_CQ]);
	m->qp = (void *)(base + l->pool[SRD_POOL_QP]);
	m->request = (void *)(base + l->pool[SRD_POOL_REQUEST]);
	m->fault = (void *)(base + l->pool[SRD_POOL_FAULT]);
	m->transfer = (void *)(base + l->pool[SRD_POOL_TRANSFER]);
	m->packet = (void *)(base + l->pool[SRD_POOL_PACKET]);
	m->link = (void *)(base + l->link);
	m->inline_data = base + l->inline_data;
	m->qpn = (void *)(base + l->qpn);
	m->heap = (void *)(base + l->heap);
	m->blocks = base + l->blocks;
}

static void model_init(struct srd_model *m, struct srd_model_state *state,
		       const struct srd_layout *layout, const struct srd_profile *profile,
		       uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	memset(state, 0, sizeof(*state));
	state->layout = *layout;
	state->profile = *profile;
	for (int i = 0; i < SRD_NUM_POOLS; i++)
		state->pool[i].capacity = layout->capacity[i];
	state->blocks.capacity = layout->blocks_size;
	state->key_shift = layout->key_shift;
	while (state->qpn_mask + 1 < profile->max_qp)
		state->qpn_mask = 2 * state->qpn_mask + 1;
	srd_rng_seed(&state->jitter, seed, 1);
	srd_rng_seed(&state->order, seed, 2);
	srd_rng_seed(&state->loss, seed, 3);
	srd_rng_seed(&state->partial, seed, 4);
	model_attach(m, state);
	srd_heap_init(m->heap, layout->heap_capacity);
	srd_fabric_tune(m);
}

int srd_model_open(struct srd_model *m, const struct srd_profile *profile, uint64_t seed)
{
	struct srd_model_state *state = NULL;
	uint64_t blocks = BLOCKS_SIZE;
	struct srd_layout layout;

	/* Where address space is rationed (ulimit -v, strict overcommit) less must do. */
	for (; !state && blocks >= MIN_BLOCKS_SIZE; blocks /= 8) {
		layout_make(&layout, profile, blocks);
		state = arena_map(&layout);
	}
	if (!state) {
		memset(m, 0, sizeof(*m));
		return ENOMEM;
	}
	model_init(m, state, &layout, profile, seed);
	return 0;
}

uint64_t srd_model_arena_size(const struct srd_profile *profile)
{
	struct srd_layout layout;

	layout_make(&layout, profile, BLOCKS_SIZE);
	return layout.size;
}

void srd_model_init(struct srd_model *m, void *arena, const struct srd_profile *profile,
		    uint64_t seed)
{
	struct srd_layout layout;

	layout_make(&layout, profile, BLOCKS_SIZE);
	model_init(m, arena, &layout, profile, seed);
}

void srd_model_attach(struct srd_model *m, void *arena)
{
	memset(m, 0, sizeof(*m));
	model_attach(m, arena);
}

int srd_model_reset(struct srd_model *m, const struct srd_profile *profile, uint64_t seed)
{
	const struct srd_layout have = m->state->layout;
	const struct srd_model before = *m;
	struct srd_layout need;

	layout_make(&need, profile, have.blocks_size);
	for (int i = 0; i < SRD_NUM_POOLS; i++)
		if (need.capacity[i] > have.capacity[i])
			return ENOSPC;
	if (need.qpn_slots > have.qpn_slots)
		return ENOSPC;
	model_init(m, m->state, &have, profile, seed);
	m->stream = before.stream;
	m->chooser = before.chooser;
	m->memory = before.memory;
	m->sink = before.sink;
	return 0;
}

/* Bytes of the arena that this model has written to, near enough. */
static uint64_t arena_used(const struct srd_model_state *state)
{
	uint64_t used = state->blocks.high;

	for (int i = 0; i < SRD_NUM_POOLS; i++)
		used += state->pool[i].high * srd_entry_size[i];
	return used;
}

void srd_model_close(struct srd_model *m)
{
	struct srd_model_state *old = m->state;

	if (!old)
		return;
	if (arena_used(old) <= KEEP_SIZE)
		old = atomic_exchange(&kept, old);
	if (old)
		munmap(old, old->layout.size);
	memset(m, 0, sizeof(*m));
}

const struct srd_profile *srd_model_profile(const struct srd_model *m)
{
	return srd_profile_of(m);
}

uint32_t srd_pool_grow(struct srd_model *m, enum srd_pool_kind kind)
{
	struct srd_pool *pool = &m->state->pool[kind];

	if (pool->high == pool->capacity)
		return 0;
	pool->used++;
	memset(srd_pool_entry(m, kind, ++pool->high), 0, srd_entry_size[kind]);
	return pool->high;
}

static int block_shift(uint64_t size)
{
	int shift = SRD_BLOCK_MIN_SHIFT;

	while (1ull << shift < size)
		shift++;
	return shift;
}

uint64_t srd_block_get(struct srd_model *m, uint64_t size)
{
	struct srd_blocks *blocks = &m->state->blocks;
	int shift = block_shift(size);
	uint64_t block = blocks->free[shift];

	if (block) {
		memcpy(&blocks->free[shift], srd_block_at(m, block), sizeof(block));
		return block;
	}
	if (1ull << shift > blocks->capacity - blocks->high)
		return 0;
	block = blocks->high + 1;
	blocks->high += 1ull << shift;
	return block;
}

void srd_block_put(struct srd_model *m, uint64_t block, uint64_t size)
{
	struct srd_blocks *blocks = &m->state->blocks;
	int shift = block_shift(size);

	memcpy(srd_block_at(m, block), &blocks->free[shift], sizeof(block));
	blocks->free[shift] = block;
}
