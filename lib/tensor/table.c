#include "tensor/table.h"

#include "base/hash.h"
#include "base/mem.h"
#include "tensor/age_histogram.h"
#include "tensor/apply.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * A page is large enough to be split seldom, and small enough to be split and
 * copied within microseconds.  Its places form groups.  The bits of a key
 * behind those that led to the page give the group in which the search begins;
 * a key stands there or, if that group was full, in one of the next.  So sorted
 * keys go through a page from its front to its end, as memory is read fastest.
 * All places of a group are compared at once, since a branch for each would be
 * mispredicted.  A place whose key is 0 is free; a place that was once taken
 * stays taken.  The row of key 0 itself has the place behind the last one.
 *
 * When rows are put in order of key, the first ones crowd into a page that has
 * not been split for the later ones yet: a crowded page is split before it is
 * full.
 *
 * A small row stands beside its key, so that both cost one cache miss.  The
 * keys of large rows stand together, so that a search does not read through
 * rows.
 */
#define PAGE_BYTES	((size_t)16 << 10)
#define PAGE_LEAST	16		/* places of a page, at least */
#define GROUP		4		/* places */
#define INLINE_BYTES	32		/* a key and its row within this size
					   stand together */
#define LINE		64		/* bytes of a cache line */
#define SPREAD		((size_t)1 << 12)	/* directory entries for each
						   page, at most */
#define SPREAD_CROWD	((size_t)1 << 8)	/* the same, when a page that is
						   not full is to be split */
#define PUT_SPREAD	((size_t)1 << 22)	/* directory entries that
						   table_put() may always
						   make */
#define CROWD		8		/* groups; a key this far from its own
					   group is in a crowd */

/*
 * Pages are cut from slabs.  A slab of the largest size asks for huge pages of
 * the machine: the rows that are looked up lie all over a table, and
 * translating their addresses would take most of the time.  A slab is freed
 * with its last page, by whichever table frees that.
 */
#define SLAB_LEAST	((size_t)64 << 10)	/* bytes */
#define SLAB_MOST	((size_t)2 << 20)

struct slab {
	atomic_size_t references;	/* its pages, and the table that cuts
					   pages from it */
	size_t used, bytes;
};

struct page {
	struct slab *slab;
	atomic_int references;
	uint32_t used;		/* places */
	bool zero;		/* the row of key 0 is here */
	_Alignas(LINE) char place[];
};

struct layout {
	uint32_t places, full;	/* places of a page; a page with `full` used
				   ones is split */
	size_t key_step, row_at, row_step;	/* bytes */
	size_t floats, row_bytes;
	size_t date_at;		/* offset of the last update in a row, behind
				   the floats */
	bool dated;
	size_t page_bytes;
};

struct table {
	struct table_kind kind;
	struct layout layout;
	unsigned depth;
	uintptr_t *directory;		/* 1 << depth entries */
	size_t pages;
	uint64_t rows;
	uint64_t now;			/* number of the present update */
	uint64_t oldest;	/* a row touched last before this update is
				   gone, though it may still have a place */
	struct age_histogram dates;	/* last updates of the rows that are
					   there */
	struct table *waiting;
	bool counting;			/* this table is the waiting table of
					   another */
	struct slab *slab;		/* the next page is cut from it */
	atomic_int *sharers;		/* number of tables that may share
					   pages */
};

/* ---- places ---- */

static size_t
whole_lines(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static struct layout
make_layout(const struct table_kind *kind)
{
	struct layout l = { .dated = kind->age > 0 || kind->most > 0,
			    .floats = kind->width * (1 + kind->slots) };

	l.date_at = (l.floats * sizeof(float) + 7) / 8 * 8;
	l.row_bytes = l.date_at + (l.dated ? sizeof(uint64_t) : 0);

	const size_t bytes = sizeof(uint64_t) + l.row_bytes;
	const size_t places = PAGE_BYTES / bytes;

	l.places = (uint32_t)(places > PAGE_LEAST ? places : PAGE_LEAST) /
		GROUP * GROUP;
	l.full = l.places * 3 / 4;
	if (bytes <= INLINE_BYTES) {
		l.row_at = sizeof(uint64_t);
		l.row_step = l.key_step = bytes;
	} else {
		l.row_at = whole_lines((l.places + GROUP) * sizeof(uint64_t));
		l.row_step = l.row_bytes;
		l.key_step = sizeof(uint64_t);
	}
	/*
	 * A group of places that stay free lies behind the last one:
	 * find_displaced() may look into the group behind any group.
	 */
	l.page_bytes = sizeof(struct page) + whole_lines(l.row_at +
		(l.places + GROUP) * l.row_step + l.row_bytes);
	return l;
}

static inline uint64_t *
key_at(const struct layout *l, struct page *p, size_t place)
{
	return (uint64_t *)(void *)(p->place + place * l->key_step);
}

static inline float *
row_at(const struct layout *l, struct page *p, size_t place)
{
	return (float *)(void *)(p->place + l->row_at + place * l->row_step);
}

static inline uint64_t *
date_at(const struct layout *l, float *row)
{
	return (uint64_t *)(void *)((char *)row + l->date_at);
}

/*
 * An entry of the directory is the address of a page, which begins on a cache
 * line; the low bits, free for that reason, are the depth: the number of
 * leading bits that the keys of the page have in common.  Kept in the page, the
 * depth would cost another cache miss for each row.
 */
#define ENTRY_DEPTH	((uintptr_t)LINE - 1)

static inline struct page *
entry_page(uintptr_t entry)
{
	return (struct page *)(entry & ~ENTRY_DEPTH);
}

static inline unsigned
entry_depth(uintptr_t entry)
{
	return entry & ENTRY_DEPTH;
}

/* Return the group of a key in its page, counted from 0. */
static inline uint32_t
group_of(const struct layout *l, uintptr_t entry, uint64_t key)
{
	return (uint32_t)((key << entry_depth(entry) >> 32) *
			  (l->places / GROUP) >> 32);
}

/* Return which places of a group have a key: a bit for each. */
static inline unsigned
matches(const struct layout *l, struct page *p, uint32_t group, uint64_t key)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < GROUP; i++)
		bits |= (unsigned)(*key_at(l, p, group + i) == key) << i;
	return bits;
}

static inline size_t
entry_index(const struct table *t, uint64_t key)
{
	return t->depth > 0 ? (size_t)(key >> (64 - t->depth)) : 0;
}

static inline uintptr_t
entry_of(const struct table *t, uint64_t key)
{
	return t->directory[entry_index(t, key)];
}

#define NOWHERE	UINT32_MAX

static inline uint32_t
next_group(const struct layout *l, uint32_t group)
{
	return group + GROUP < l->places ? group + GROUP : 0;
}

/* Return the place of a key in its page, or NOWHERE. */
static inline uint32_t
find(const struct layout *l, uintptr_t entry, uint64_t key)
{
	struct page *p = entry_page(entry);
	uint32_t group = group_of(l, entry, key) * GROUP;

	if (key == 0)
		return p->zero ? l->places : NOWHERE;
	for (;; group = next_group(l, group)) {
		const unsigned here = matches(l, p, group, key);

		if (here)
			return group + (uint32_t)__builtin_ctz(here);
		if (matches(l, p, group, 0))
			return NOWHERE;
	}
}

/* Give a place to a key that has none, in a page that is not full. */
static uint32_t
place_key(const struct layout *l, uintptr_t entry, uint64_t key)
{
	struct page *p = entry_page(entry);
	uint32_t group = group_of(l, entry, key) * GROUP, place;
	unsigned free;

	if (key == 0) {
		p->zero = true;
		return l->places;
	}
	while (free = matches(l, p, group, 0), !free)
		group = next_group(l, group);
	place = group + (uint32_t)__builtin_ctz(free);
	*key_at(l, p, place) = key;
	p->used++;
	return place;
}

/*
 * Return whether a new key would be placed CROWD groups or more behind its own.
 */
static bool
is_crowded(const struct layout *l, uintptr_t entry, uint64_t key)
{
	struct page *p = entry_page(entry);
	uint32_t group = group_of(l, entry, key) * GROUP;
	unsigned far = 0;

	for (; far < CROWD && !matches(l, p, group, 0); far++)
		group = next_group(l, group);
	return far == CROWD;
}

/* ---- pages ---- */

static void
slab_drop(struct slab *s)
{
	if (s && atomic_fetch_sub_explicit(&s->references, 1,
					   memory_order_acq_rel) == 1)
		free(s);
}

static struct slab *
slab_new(size_t last, size_t page)
{
	const size_t head = sizeof(struct page);
	size_t bytes = last ? 2 * last : SLAB_LEAST;
	struct slab *s;

	if (bytes > SLAB_MOST)
		bytes = SLAB_MOST;
	if (bytes < head + page)
		bytes = head + page;
	s = aligned_alloc(bytes == SLAB_MOST ? SLAB_MOST : LINE, bytes);
	if (!s)
		abort();	/* as mem_alloc() does */
	if (bytes == SLAB_MOST)
		madvise(s, bytes, MADV_HUGEPAGE);
	atomic_init(&s->references, 1);
	s->used = head;
	s->bytes = bytes;
	return s;
}

/* Return a new page: a copy of an older one, or empty if from is NULL. */
static struct page *
page_new(struct table *t, const struct page *from)
{
	const size_t bytes = t->layout.page_bytes;
	struct page *p;

	if (!t->slab || t->slab->bytes - t->slab->used < bytes) {
		struct slab *slab = slab_new(t->slab ? t->slab->bytes : 0,
					     bytes);

		slab_drop(t->slab);
		t->slab = slab;
	}
	p = (struct page *)(void *)((char *)t->slab + t->slab->used);
	t->slab->used += bytes;
	atomic_fetch_add_explicit(&t->slab->references, 1,
				  memory_order_relaxed);
	memset(p, 0, sizeof(*p));
	if (from)
		memcpy(p->place, from->place, bytes - sizeof(*p));
	else
		memset(p->place, 0, bytes - sizeof(*p));
	p->slab = t->slab;
	atomic_init(&p->references, 1);
	if (from) {
		p->used = from->used;
		p->zero = from->zero;
	}
	return p;
}

static void
page_drop(struct page *p)
{
	if (atomic_fetch_sub_explicit(&p->references, 1,
				      memory_order_acq_rel) == 1)
		slab_drop(p->slab);
}

/*
 * Set all directory entries of the page that has a key; they are equal. Return
 * the entry.
 */
static uintptr_t
set_page(struct table *t, uint64_t key, struct page *p, unsigned depth)
{
	const size_t count = (size_t)1 << (t->depth - depth);
	const size_t first = entry_index(t, key) / count * count;

	for (size_t i = 0; i < count; i++)
		t->directory[first + i] = (uintptr_t)p | depth;
	return t->directory[first];
}

/*
 * Return whether another table may share pages.  The number of tables is asked
 * here first, since reading the reference count of each page would cost another
 * cache miss for each row.
 */
static inline bool
is_sharing(const struct table *t)
{
	return atomic_load_explicit(t->sharers, memory_order_acquire) > 1;
}

/*
 * Return the entry of a key, whose page the caller may write: a shared one is
 * copied first.
 */
static uintptr_t
entry_writable(struct table *t, uint64_t key)
{
	const uintptr_t entry = entry_of(t, key);
	struct page *p = entry_page(entry), *copy;

	if (!is_sharing(t) || atomic_load_explicit(&p->references,
						   memory_order_acquire) == 1)
		return entry;
	copy = page_new(t, p);
	page_drop(p);
	return set_page(t, key, copy, entry_depth(entry));
}

/*
 * Return whether a row is gone: too old, or in a waiting table admitted.  A
 * split drops it and frees its place.
 */
static inline bool
is_gone(const struct table *t, float *row)
{
	if (t->layout.dated && *date_at(&t->layout, row) < t->oldest)
		return true;
	return t->counting && *row < 0;
}

static void
copy_row(const struct table *t, uintptr_t to, struct page *from,
	 uint32_t place, uint64_t key)
{
	const struct layout *l = &t->layout;
	const uint32_t at = place_key(l, to, key);

	memcpy(row_at(l, entry_page(to), at), row_at(l, from, place),
	       l->row_bytes);
}

static void
grow_directory(struct table *t)
{
	const size_t count = (size_t)1 << t->depth;
	uintptr_t *wider = mem_alloc(2 * count, sizeof(*wider));

	for (size_t i = 0; i < count; i++)
		wider[2 * i] = wider[2 * i + 1] = t->directory[i];
	free(t->directory);
	t->directory = wider;
	t->depth++;
}

/*
 * Split the full or crowded page of a key in two; or replace it by a single
 * page if at most half of a full one is left once the rows that are gone are
 * dropped.  Return false if the directory would become too large.
 *
 * Mixed ids differ in their first bits.  Where keys do not differ there,
 * somebody chose the ids to make them collide, and gets no more memory for it:
 * the directory grows only while it has fewer than `least` entries, or fewer
 * than `spread` entries for each page.
 */
static bool
split(struct table *t, uint64_t key, size_t spread, size_t least)
{
	const struct layout *l = &t->layout;
	const uintptr_t entry = entry_of(t, key);
	struct page *old = entry_page(entry);
	const unsigned depth = entry_depth(entry);
	uintptr_t half[2];
	uint32_t live = 0;

	for (uint32_t i = 0; i < l->places; i++)
		live += *key_at(l, old, i) != 0 &&
			!is_gone(t, row_at(l, old, i));

	const bool both = live > l->full / 2 || old->used < l->full;
	const uint64_t bit = both ? (uint64_t)1 << (63 - depth) : 0;

	if (both && depth == t->depth && (size_t)1 << depth >= least &&
	    (size_t)1 << depth >= spread * t->pages)
		return false;
	if (both && depth == t->depth)
		grow_directory(t);
	half[0] = set_page(t, key & ~bit, page_new(t, NULL), depth + both);
	half[1] = both ? set_page(t, key | bit, page_new(t, NULL), depth + 1) :
		half[0];
	for (uint32_t i = 0; i <= l->places; i++) {
		const uint64_t k = i < l->places ? *key_at(l, old, i) : 0;

		if ((i < l->places ? k != 0 : old->zero) &&
		    !is_gone(t, row_at(l, old, i)))
			copy_row(t, half[(k & bit) != 0], old, i, k);
	}
	t->pages += both;
	page_drop(old);
	return true;
}

/* ---- which rows stay ---- */

void
table_update(struct table *t, uint64_t now)
{
	uint64_t date, rows;

	t->now = now;
	if (t->waiting)
		table_update(t->waiting, now);
	while (t->kind.most > 0 && t->rows > t->kind.most &&
	       (rows = age_histogram_forget(&t->dates, now, &date)) > 0) {
		t->rows -= rows;
		t->oldest = date + 1;
	}
}

/*
 * Rows that are too old go now and not when the next update begins, because
 * rows are pulled between the two.
 */
void
table_end_update(struct table *t)
{
	uint64_t date, rows;

	if (t->waiting)
		table_end_update(t->waiting);
	if (t->kind.age == 0 || t->now < t->kind.age)
		return;
	if (t->oldest <= t->now - t->kind.age)
		t->oldest = t->now - t->kind.age + 1;
	while ((rows = age_histogram_forget(&t->dates, t->oldest, &date)) > 0)
		t->rows -= rows;
}

static void
set_date(struct table *t, float *row, bool was_there, uint64_t update)
{
	uint64_t *date = date_at(&t->layout, row);

	if (!t->layout.dated)
		return;
	if (was_there)
		age_histogram_take(&t->dates, *date);
	*date = update;
	age_histogram_add(&t->dates, update);
}

/* ---- rows ---- */

struct table *
table_new(const struct table_kind *kind)
{
	struct table *t = mem_alloc(1, sizeof(*t));

	assert(kind->width > 0);
	t->kind = *kind;
	t->layout = make_layout(kind);
	t->directory = mem_alloc(1, sizeof(*t->directory));
	set_page(t, 0, page_new(t, NULL), 0);
	t->pages = 1;
	t->sharers = mem_alloc(1, sizeof(*t->sharers));
	atomic_init(t->sharers, 1);
	if (kind->admit > 1) {
		t->waiting = table_new(&(struct table_kind){
			.width = 1, .age = kind->age, .most = kind->most });
		t->waiting->counting = true;
	}
	return t;
}

/* Return the index of the first entry behind those of the page of entry i. */
static size_t
next_page(const struct table *t, size_t i)
{
	return i + ((size_t)1 << (t->depth - entry_depth(t->directory[i])));
}

void
table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0, next; i < (size_t)1 << t->depth; i = next) {
		next = next_page(t, i);
		page_drop(entry_page(t->directory[i]));
	}
	table_free(t->waiting);
	if (atomic_fetch_sub_explicit(t->sharers, 1,
				      memory_order_acq_rel) == 1)
		free(t->sharers);
	slab_drop(t->slab);
	free(t->directory);
	age_histogram_release(&t->dates);
	free(t);
}

struct table *
table_share(const struct table *from)
{
	struct table *t = mem_copy(from, sizeof(*from));

	t->directory = mem_copy(from->directory, sizeof(*t->directory) <<
				from->depth);
	for (size_t i = 0; i < (size_t)1 << t->depth; i = next_page(t, i))
		atomic_fetch_add_explicit(
			&entry_page(t->directory[i])->references, 1,
			memory_order_relaxed);
	atomic_fetch_add_explicit(t->sharers, 1, memory_order_relaxed);
	t->slab = NULL;
	t->dates = age_histogram_copy(&from->dates);
	if (from->waiting)
		t->waiting = table_share(from->waiting);
	return t;
}

size_t
table_floats(const struct table *t)
{
	return t->layout.floats;
}

uint64_t
table_rows(const struct table *t)
{
	return t->rows;
}

uint64_t
table_bytes(const struct table *t)
{
	return t->pages * t->layout.page_bytes +
		(sizeof(*t->directory) << t->depth) +
		(t->waiting ? table_bytes(t->waiting) : 0);
}

struct table *
table_waiting(const struct table *t)
{
	return t->waiting;
}

static void
init_row(const struct table *t, uint64_t key, float *row)
{
	if (t->kind.start)
		t->kind.start(t->kind.data, hash_unmix(key), row);
	else
		memset(row, 0, t->layout.floats * sizeof(*row));
}

static float *
row_of(const struct table *t, uint64_t key)
{
	const uintptr_t entry = entry_of(t, key);
	const uint32_t place = find(&t->layout, entry, key);
	float *row;

	if (place == NOWHERE)
		return NULL;
	row = row_at(&t->layout, entry_page(entry), place);
	return is_gone(t, row) ? NULL : row;
}

/*
 * The first place of a group: where its key is, and where its row is if rows
 * stand apart from keys.
 */
struct place {
	const char *key;
	char *row;
};

static inline bool
has_inline_rows(const struct layout *l)
{
	return l->key_step == l->row_step;
}

static inline void
fetch_group(const struct layout *l, const char *key)
{
	__builtin_prefetch(key, 1);
	if (GROUP * l->key_step > LINE)
		__builtin_prefetch(key + LINE, 1);
}

/* Set first[] to the group of each key, and prefetch the keys of each group. */
static inline void
fetch_groups(const struct table *t, const struct layout *l,
	     const uint64_t *key, size_t count, struct place *first)
{
	for (size_t k = 0; k < count; k++) {
		const uintptr_t entry = entry_of(t, key[k]);
		const size_t place = group_of(l, entry, key[k]) * GROUP;
		struct page *p = entry_page(entry);

		first[k].key = (const char *)key_at(l, p, place);
		if (!has_inline_rows(l))
			first[k].row = (char *)row_at(l, p, place);
		fetch_group(l, first[k].key);
	}
}

static inline bool
has_key(const struct layout *l, const struct place *first, size_t i,
	uint64_t key)
{
	const void *at = first->key + i * l->key_step;

	return *(const uint64_t *)at == key;
}

/*
 * Return the row of a key if it stands in this group; else set *far and return
 * some other row of the group. At most one place has the key.  Its index is
 * added up without a branch, which would be mispredicted.
 */
static inline float *
find_in_group(const struct layout *l, const struct place *first, uint64_t key,
	      bool *far)
{
	size_t at = 0;

	for (size_t i = 1; i < GROUP; i++)
		at += i * has_key(l, first, i, key);
	*far = !has_key(l, first, at, key) | (key == 0);
	return (float *)(void *)(at * l->row_step + (has_inline_rows(l) ?
			(char *)(uintptr_t)first->key + l->row_at :
			first->row));
}

/*
 * Set row[] for the keys with indices far[], which are not in their own groups;
 * NULL where there is no row.  Return how many rows there are.  Nearly all of
 * them are in the next group.
 */
static inline size_t
find_displaced(const struct table *t, const struct layout *l,
	       const struct place *first, const size_t *far, size_t count,
	       const uint64_t *key, float **row)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		fetch_group(l, first[far[i]].key + GROUP * l->key_step);
	for (size_t i = 0; i < count; i++) {
		const size_t k = far[i];
		const struct place next = {
			first[k].key + GROUP * l->key_step,
			has_inline_rows(l) ? NULL :
				first[k].row + GROUP * l->row_step
		};
		bool farther;

		row[k] = find_in_group(l, &next, key[k], &farther);
		if (farther)
			row[k] = row_of(t, key[k]);
		found += row[k] != NULL;
	}
	return found;
}

/*
 * Set row[k] to the row of key[k] for at most TABLE_BATCH keys, or to NULL.
 * Return how many rows there are.
 *
 * The keys of all groups are prefetched first, and the first `floats` floats of
 * each row are before the caller reads them.  A processor may drop a prefetch
 * when too many are under way, so each group is asked for once more, AHEAD keys
 * before its turn.  Keys that are not in their own group are handled together
 * at the end, because a branch for each would be mispredicted.
 */
#define AHEAD	16

static inline size_t
find_with_layout(const struct table *t, const struct layout *l,
		 const uint64_t *key, size_t count, size_t floats, float **row)
{
	struct place first[TABLE_BATCH];
	size_t far[TABLE_BATCH], fars = 0;

	fetch_groups(t, l, key, count, first);
	for (size_t k = 0; k < count; k++) {
		const size_t ahead = k + AHEAD < count ? k + AHEAD : k;
		bool is_far;

		__builtin_prefetch(first[ahead].key, 1);
		row[k] = find_in_group(l, &first[k], key[k], &is_far);
		far[fars] = k;
		fars += is_far;
		if (!has_inline_rows(l))
			apply_fetch(row[k], floats);
	}
	return count - fars + find_displaced(t, l, first, far, fars, key, row);
}

/*
 * Give the compiler the steps of the smallest rows as constants: it makes
 * faster code of them.
 */
static size_t
find_rows(const struct table *t, const uint64_t *key, size_t count,
	  size_t floats, float **row)
{
	struct layout l = t->layout;
	size_t found;

	if (has_inline_rows(&l) && l.key_step == 2 * sizeof(uint64_t)) {
		l.key_step = l.row_step = 2 * sizeof(uint64_t);
		l.row_at = sizeof(uint64_t);
		found = find_with_layout(t, &l, key, count, floats, row);
	} else {
		found = find_with_layout(t, &l, key, count, floats, row);
	}
	for (size_t k = 0; (l.dated || t->counting) && k < count; k++)
		if (row[k] && is_gone(t, row[k])) {
			row[k] = NULL;
			found--;
		}
	return found;
}

static void
copy_values(const float *const *row, size_t count, size_t width, float *to)
{
	if (width == 1)
		for (size_t k = 0; k < count; k++)
			to[k] = *row[k];
	else
		for (size_t k = 0; k < count; k++, to += width)
			memcpy(to, row[k], width * sizeof(*to));
}

/*
 * Point row[k] of each row that is not there to its first values, in start,
 * which has room for count rows.
 */
static void
fill_missing(const struct table *t, const uint64_t *key, size_t count,
	     float **row, float *start)
{
	for (size_t k = 0; k < count; k++) {
		if (row[k])
			continue;
		row[k] = start + k * t->layout.floats;
		init_row(t, key[k], row[k]);
	}
}

void
table_pull(const struct table *t, const uint64_t *key, size_t count,
	   float *values)
{
	const size_t width = t->kind.width;
	float *row[TABLE_BATCH], *start = NULL;

	for (size_t done = 0, some; done < count; done += some) {
		some = count - done < TABLE_BATCH ? count - done : TABLE_BATCH;
		if (find_rows(t, key + done, some, width, row) < some) {
			if (!start)
				start = mem_alloc(TABLE_BATCH *
						  t->layout.floats,
						  sizeof(*start));
			fill_missing(t, key + done, some, row, start);
		}
		copy_values((const float *const *)row, some, width,
			    values + done * width);
	}
	free(start);
}

/* Return the row of a key in a page that may be written, or NULL. */
static float *
writable_row(struct table *t, uint64_t key)
{
	float *row = row_of(t, key);
	uintptr_t entry;

	if (!row || !is_sharing(t))
		return row;
	entry = entry_writable(t, key);
	return row_at(&t->layout, entry_page(entry),
		      find(&t->layout, entry, key));
}

/*
 * Make the row of a key that has none, and return it; the caller sets its
 * floats.  Return NULL if there is no room.  For least see split().
 */
static float *
make_row(struct table *t, uint64_t key, size_t least)
{
	const struct layout *l = &t->layout;
	uintptr_t entry = entry_writable(t, key);
	uint32_t place = find(l, entry, key);

	while (place == NOWHERE && entry_page(entry)->used >= l->full) {
		if (!split(t, key, SPREAD, least))
			return NULL;
		entry = entry_of(t, key);
	}
	while (place == NOWHERE && is_crowded(l, entry, key) &&
	       split(t, key, SPREAD_CROWD, 0))
		entry = entry_of(t, key);
	if (place == NOWHERE)
		place = place_key(l, entry, key);
	t->rows++;
	return row_at(l, entry_page(entry), place);
}

/*
 * Count another push to a row that is not there.  Return whether the row is to
 * be made now.
 */
static bool
admit(struct table *t, uint64_t key)
{
	struct table *w = t->waiting;
	float *pushes;

	if (!w)
		return true;
	table_touch(w, &key, 1, &pushes);
	if (!pushes || ++*pushes < (float)t->kind.admit)
		return false;
	*pushes = -1;		/* it is not waiting any more: see is_gone() */
	w->rows--;
	if (w->layout.dated)
		age_histogram_take(&w->dates, w->now);
	return true;
}

static float *
touch(struct table *t, uint64_t key, bool *made)
{
	float *row = writable_row(t, key);

	if (row) {
		set_date(t, row, true, t->now);
		return row;
	}
	if (!admit(t, key))
		return NULL;
	row = make_row(t, key, 0);
	if (!row)
		return NULL;
	set_date(t, row, false, t->now);
	init_row(t, key, row);
	*made = true;
	return row;
}

void
table_touch(struct table *t, const uint64_t *key, size_t count, float **row)
{
	const size_t all = t->layout.row_bytes / sizeof(float);
	const bool sharing = is_sharing(t);
	bool made = false;

	assert(count <= TABLE_BATCH);
	if (find_rows(t, key, count, all, row) == count && !sharing &&
	    !t->layout.dated)
		return;
	for (size_t k = 0; k < count; k++) {
		if (sharing || made || !row[k])
			row[k] = touch(t, key[k], &made);
		else
			set_date(t, row[k], true, t->now);
	}
	/* A page that was split has moved rows found before. */
	for (size_t k = 0; made && k < count; k++)
		if (row[k])
			row[k] = row_of(t, key[k]);
}

/*
 * The table that the rows come from had room for them, with more pages in the
 * end than this table has yet; rows come in order of key.  So the directory may
 * grow up to PUT_SPREAD entries at any time.
 */
void
table_put(struct table *t, uint64_t key, const float *row, uint64_t update)
{
	float *there = writable_row(t, key);
	const bool was_there = there != NULL;

	if (t->layout.dated && update < t->oldest)
		return;
	if (!there)
		there = make_row(t, key, PUT_SPREAD);
	if (!there)
		return;
	memcpy(there, row, t->layout.floats * sizeof(*row));
	set_date(t, there, was_there, update);
}

/* ---- all rows ---- */

struct table_order {
	uint64_t key;
	uint32_t place;
};

static int
by_key(const void *left, const void *right)
{
	const struct table_order *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static void
sort_page(const struct table *t, struct table_walk *w)
{
	const struct layout *l = &t->layout;
	struct page *p = entry_page(t->directory[w->page]);

	if (!w->order)
		w->order = mem_alloc(l->places + 1, sizeof(*w->order));
	w->next = w->count = 0;
	if (p->zero && !is_gone(t, row_at(l, p, l->places)))
		w->order[w->count++] = (struct table_order){ 0, l->places };
	for (uint32_t i = 0; i < l->places; i++)
		if (*key_at(l, p, i) != 0 && !is_gone(t, row_at(l, p, i)))
			w->order[w->count++] = (struct table_order){
				*key_at(l, p, i), i };
	qsort(w->order, w->count, sizeof(*w->order), by_key);
}

bool
table_next(const struct table *t, struct table_walk *w)
{
	const size_t end = (size_t)1 << t->depth;

	if (!w->order)
		sort_page(t, w);
	while (w->next == w->count) {
		w->page = next_page(t, w->page);
		if (w->page == end) {
			table_walk_release(w);
			return false;
		}
		sort_page(t, w);
	}

	const struct table_order *o = &w->order[w->next++];
	float *row = row_at(&t->layout, entry_page(t->directory[w->page]),
			    o->place);

	w->key = o->key;
	w->row = row;
	w->update = t->layout.dated ? *date_at(&t->layout, row) : 0;
	return true;
}

void
table_walk_release(struct table_walk *w)
{
	free(w->order);
	*w = (struct table_walk){ 0 };
}
