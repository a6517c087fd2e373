/* SPDX-License-Identifier: MIT */
/*
 * The map is a list of tiles without gaps, each beginning where the one before it ends,
 * kept in leaves of bounded size under one directory: a B+ tree of two levels. A tile knows
 * its source at offset x of the map as source + x + shift, so that cutting it changes
 * nothing in it but its start.
 *
 * Whatever changes the map is one splice: the tiles between two places give way to others.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <srdlab/pattern.h>

#include "verbs/alloc.h"

#include "origin.h"

#define LEAF_TILES 64

struct literal {
	uint64_t refs; /* tiles that hold part of it */
	uint8_t bytes[];
};

struct tile {
	uint64_t start : 63;
	uint64_t is_literal : 1;
	uint64_t shift;  /* modulo 2^64; 0 for zeros, so that they all are alike */
	uint64_t source; /* seed of the pattern, or the struct literal */
};

struct srd_origin_leaf {
	uint32_t count;
	struct tile tile[LEAF_TILES];
};

/* Between two tiles: before tile INDEX of LEAF; INDEX may be its count. */
struct place {
	uint32_t leaf;
	uint32_t index;
};

static inline struct literal *tile_literal(const struct tile *tile)
{
	return (struct literal *)(uintptr_t)tile->source;
}

static void literal_unref(struct literal *literal)
{
	if (!--literal->refs)
		srd_free(literal);
}

/* Whether B goes on where A ends. */
static bool tile_continues(const struct tile *a, const struct tile *b)
{
	return a->source == b->source && a->shift == b->shift && a->is_literal == b->is_literal;
}

/*
 * The last of COUNT rising numbers that is not above X, as the first must be. Here and in
 * find() a product stands for a branch, which would be mispredicted half the time.
 */
static inline uint32_t last_not_above(const uint64_t *at, uint32_t count, uint64_t x)
{
	uint32_t base = 0;

	while (count > 1) {
		uint32_t half = count / 2;

		base += half * (at[base + half] <= x);
		count -= half;
	}
	return base;
}

static uint32_t find_leaf(struct srd_origin *map, uint64_t offset)
{
	uint32_t i = map->hint;

	if (i >= map->num_leaves || map->first[i] > offset ||
	    (i + 1 < map->num_leaves && map->first[i + 1] <= offset)) {
		i = last_not_above(map->first, map->num_leaves, offset);
		map->hint = i;
	}
	return i;
}

/* Of the tile that holds OFFSET. */
static struct place find(struct srd_origin *map, uint64_t offset)
{
	struct place p = {.leaf = find_leaf(map, offset)};
	const struct srd_origin_leaf *leaf = map->leaf[p.leaf];
	uint32_t count = leaf->count;

	while (count > 1) {
		uint32_t half = count / 2;

		p.index += half * (leaf->tile[p.index + half].start <= offset);
		count -= half;
	}
	return p;
}

static inline struct tile *tile_at(const struct srd_origin *map, struct place p)
{
	return &map->leaf[p.leaf]->tile[p.index];
}

/* The place behind the tile at P, at the end of its leaf rather than the start of the next. */
static inline struct place after(struct place p)
{
	p.index++;
	return p;
}

/* The tile behind place P, or NULL at the end of the map; P moves to it. */
static struct tile *tile_behind(const struct srd_origin *map, struct place *p)
{
	if (p->index == map->leaf[p->leaf]->count) {
		if (p->leaf + 1 == map->num_leaves)
			return NULL;
		*p = (struct place){.leaf = p->leaf + 1};
	}
	return tile_at(map, *p);
}

/* The tile before place P; NULL at the start of the map. */
static struct tile *tile_before(const struct srd_origin *map, struct place p)
{
	if (p.index > 0)
		return &map->leaf[p.leaf]->tile[p.index - 1];
	if (p.leaf > 0)
		return &map->leaf[p.leaf - 1]->tile[map->leaf[p.leaf - 1]->count - 1];
	return NULL;
}

static uint64_t tile_end(const struct srd_origin *map, struct place p)
{
	struct place next = after(p);
	const struct tile *tile = tile_behind(map, &next);

	return tile ? tile->start : map->length;
}

static int reserve_leaves(struct srd_origin *map, uint32_t wanted)
{
	uint32_t capacity = map->capacity;
	struct srd_origin_leaf **leaf;
	uint64_t *first;

	if (wanted <= capacity)
		return 0;
	while (capacity < wanted)
		capacity = capacity ? 2 * capacity : 1;
	leaf = srd_reallocarray(map->leaf, capacity, sizeof(map->leaf[0]));
	if (!leaf)
		return ENOMEM;
	map->leaf = leaf;
	first = srd_reallocarray(map->first, capacity, sizeof(map->first[0]));
	if (!first)
		return ENOMEM;
	map->first = first;
	map->capacity = capacity;
	return 0;
}

/* Leaves FROM to FROM + OLD - 1 give way to the NEW ones; there is room for them. */
static void replace_leaves(struct srd_origin *map, uint32_t from, uint32_t old,
			   struct srd_origin_leaf **leaves, uint32_t new)
{
	uint32_t rest = map->num_leaves - from - old;

	for (uint32_t i = 0; i < old; i++)
		srd_free(map->leaf[from + i]);
	memmove(&map->leaf[from + new], &map->leaf[from + old], rest * sizeof(map->leaf[0]));
	memmove(&map->first[from + new], &map->first[from + old], rest * sizeof(map->first[0]));
	for (uint32_t i = 0; i < new; i++) {
		map->leaf[from + i] = leaves[i];
		map->first[from + i] = leaves[i]->tile[0].start;
	}
	map->num_leaves = from + new + rest;
}

/* Move a leaf that has become small into its neighbour, where both fit in three quarters. */
static void join_small_leaf(struct srd_origin *map, uint32_t i)
{
	struct srd_origin_leaf *a, *b;

	if (map->leaf[i]->count >= LEAF_TILES / 4)
		return;
	if (i + 1 == map->num_leaves) {
		if (i == 0)
			return;
		i--;
	}
	a = map->leaf[i];
	b = map->leaf[i + 1];
	/* An empty leaf has no place in the directory. */
	if (a->count && b->count && a->count + b->count > LEAF_TILES * 3 / 4)
		return;
	memcpy(&a->tile[a->count], b->tile, b->count * sizeof(b->tile[0]));
	a->count += b->count;
	if (a->count > 0)
		map->first[i] = a->tile[0].start;
	replace_leaves(map, i + 1, 1, NULL, 0);
}

/* Count the literals of LIST in, and those of the tiles from FROM up to TO out. */
static void swap_literals(const struct srd_origin *map, struct place from, struct place to,
			  const struct tile *list, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (list[i].is_literal)
			tile_literal(&list[i])->refs++;
	for (; from.leaf < to.leaf || from.index < to.index; from.index++) {
		const struct tile *tile = tile_behind(map, &from);

		if (tile->is_literal)
			literal_unref(tile_literal(tile));
	}
}

static void replace_in_leaf(struct srd_origin *map, struct place from, uint32_t old,
			    const struct tile *list, uint32_t new)
{
	struct srd_origin_leaf *leaf = map->leaf[from.leaf];
	struct tile *at = &leaf->tile[from.index];

	swap_literals(map, from, (struct place){from.leaf, from.index + old}, list, new);
	if (old != new)
		memmove(at + new, at + old,
			(leaf->count - from.index - old) * sizeof(leaf->tile[0]));
	memcpy(at, list, new * sizeof(leaf->tile[0]));
	leaf->count += new - old;
	if (leaf->count > 0)
		map->first[from.leaf] = leaf->tile[0].start;
	join_small_leaf(map, from.leaf);
}

/* Three stretches of tiles, read as one. */
struct tile_reader {
	struct {
		const struct tile *tile;
		uint64_t count;
	} part[3];
	int current;
};

static void tile_read(struct tile_reader *reader, struct tile *to, uint64_t count)
{
	while (count > 0) {
		uint64_t n = reader->part[reader->current].count;

		n = n < count ? n : count;
		memcpy(to, reader->part[reader->current].tile, n * sizeof(*to));
		reader->part[reader->current].tile += n;
		reader->part[reader->current].count -= n;
		to += n;
		count -= n;
		if (count > 0)
			reader->current++;
	}
}

/* As replace_in_leaf, but the leaves concerned are built anew, each about half full. */
static int replace_across(struct srd_origin *map, struct place from, struct place to,
			  const struct tile *list, uint64_t new)
{
	struct srd_origin_leaf *last = map->leaf[to.leaf], **fresh;
	struct tile_reader reader = {.part = {
					     {map->leaf[from.leaf]->tile, from.index},
					     {list, new},
					     {&last->tile[to.index], last->count - to.index},
				     }};
	uint64_t total = from.index + new + last->count - to.index;
	uint64_t num = (total + LEAF_TILES / 2) / (LEAF_TILES / 2 + 1);
	uint32_t old = to.leaf - from.leaf + 1, made = 0;
	int error = ENOMEM;

	if (num > UINT32_MAX / 2 - map->num_leaves)
		return ENOMEM;
	fresh = srd_malloc((num + 1) * sizeof(fresh[0]));
	if (!fresh)
		return ENOMEM;
	if (reserve_leaves(map, map->num_leaves - old + (uint32_t)num))
		goto free_fresh;
	while (made < num) {
		fresh[made] = srd_malloc(sizeof(*fresh[0]));
		if (!fresh[made])
			goto free_leaves;
		made++;
	}
	swap_literals(map, from, to, list, new);
	for (uint64_t i = 0; i < num; i++) {
		fresh[i]->count = (uint32_t)(total * (i + 1) / num - total * i / num);
		tile_read(&reader, fresh[i]->tile, fresh[i]->count);
	}
	replace_leaves(map, from.leaf, old, fresh, (uint32_t)num);
	error = 0;
	made = 0;
free_leaves:
	while (made > 0)
		srd_free(fresh[--made]);
free_fresh:
	srd_free(fresh);
	return error;
}

/*
 * The bytes from START up to END are now those of LIST, whose COUNT tiles begin at START and
 * have no gaps. LIST is the caller's to spoil and has room for one more.
 */
static int splice(struct srd_origin *map, uint64_t start, uint64_t end, struct tile *list,
		  uint64_t count)
{
	struct place from = find(map, start), to = from;
	const struct tile *before, *next, *last;
	struct tile rest;
	uint64_t to_end = tile_end(map, from);

	if (to_end < end) {
		to = find(map, end - 1);
		to_end = tile_end(map, to);
	}
	rest = *tile_at(map, to);
	rest.start = end;
	to = after(to);
	if (tile_at(map, from)->start < start)
		from = after(from);

	before = tile_before(map, from);
	last = &list[count - 1];
	if (before && tile_continues(before, list)) {
		list++;
		count--;
	}
	if (to_end > end) {
		if (!tile_continues(last, &rest))
			list[count++] = rest;
	} else {
		struct place behind = to;

		next = tile_behind(map, &behind);
		if (next && tile_continues(last, next))
			to = after(behind);
	}
	if (from.leaf == to.leaf &&
	    map->leaf[from.leaf]->count - (to.index - from.index) + count <= LEAF_TILES) {
		replace_in_leaf(map, from, to.index - from.index, list, (uint32_t)count);
		return 0;
	}
	return replace_across(map, from, to, list, count);
}

int srd_origin_init(struct srd_origin *map, uint64_t length)
{
	struct srd_origin_leaf *leaf;

	*map = (struct srd_origin){.length = length};
	leaf = srd_malloc(sizeof(*leaf));
	if (!leaf)
		return ENOMEM;
	if (reserve_leaves(map, 1)) {
		srd_origin_release(map);
		srd_free(leaf);
		return ENOMEM;
	}
	leaf->count = 1;
	leaf->tile[0] = (struct tile){0};
	replace_leaves(map, 0, 0, &leaf, 1);
	return 0;
}

void srd_origin_release(struct srd_origin *map)
{
	for (uint32_t i = 0; i < map->num_leaves; i++) {
		for (uint32_t j = 0; j < map->leaf[i]->count; j++)
			if (map->leaf[i]->tile[j].is_literal)
				literal_unref(tile_literal(&map->leaf[i]->tile[j]));
		srd_free(map->leaf[i]);
	}
	srd_free(map->leaf);
	srd_free(map->first);
	*map = (struct srd_origin){0};
}

int srd_origin_fill(struct srd_origin *map, uint64_t offset, uint64_t length, uint64_t seed,
		    uint64_t at)
{
	struct tile list[2] = {{.start = offset, .shift = seed ? at - offset : 0, .source = seed}};

	return splice(map, offset, offset + length, list, 1);
}

int srd_origin_write(struct srd_origin *map, uint64_t offset, const void *from, size_t length)
{
	struct literal *literal;
	struct tile list[2];
	int error;

	literal = srd_malloc(sizeof(*literal) + length);
	if (!literal)
		return ENOMEM;
	literal->refs = 1;
	memcpy(literal->bytes, from, length);
	list[0] = (struct tile){
		.start = offset, .is_literal = 1, .shift = -offset, .source = (uintptr_t)literal};
	error = splice(map, offset, offset + length, list, 1);
	literal_unref(literal);
	return error;
}

/* How many tiles lie from place A up to and with place B. */
static uint64_t tiles_between(const struct srd_origin *map, struct place a, struct place b)
{
	uint64_t count = b.index + 1;

	for (uint32_t i = a.leaf; i < b.leaf; i++)
		count += map->leaf[i]->count;
	return count - a.index;
}

int srd_origin_copy(struct srd_origin *to, uint64_t to_offset, struct srd_origin *from,
		    uint64_t from_offset, uint64_t length)
{
	struct tile few[8], *list = few;
	struct place p, last;
	uint64_t count;
	int error;

	p = last = find(from, from_offset);
	if (tile_end(from, p) < from_offset + length)
		last = find(from, from_offset + length - 1);
	count = tiles_between(from, p, last);
	if (count >= sizeof(few) / sizeof(few[0])) {
		list = srd_malloc((count + 1) * sizeof(list[0]));
		if (!list)
			return ENOMEM;
	}
	for (uint64_t i = 0; i < count; i++) {
		list[i] = *tile_behind(from, &p);
		list[i].start = i ? list[i].start - from_offset + to_offset : to_offset;
		if (list[i].is_literal || list[i].source)
			list[i].shift += from_offset - to_offset;
		p = after(p);
	}
	error = splice(to, to_offset, to_offset + length, list, count);
	if (list != few)
		srd_free(list);
	return error;
}

void srd_origin_run(struct srd_origin *map, uint64_t offset, struct srd_run *run)
{
	struct place p = find(map, offset);
	const struct tile *tile = tile_at(map, p);

	*run = (struct srd_run){.length = tile_end(map, p) - offset};
	if (tile->is_literal) {
		run->bytes = tile_literal(tile)->bytes + offset + tile->shift;
	} else if (tile->source) {
		run->seed = tile->source;
		run->at = offset + tile->shift;
	}
}

uint64_t srd_origin_ranges(const struct srd_origin *map)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < map->num_leaves; i++)
		count += map->leaf[i]->count;
	return count;
}
