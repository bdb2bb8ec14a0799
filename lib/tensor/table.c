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
 * A page is so large that it is seldom split, and so small that splitting and
 * copying it are a matter of microseconds.  The bits of a key behind those
 * that led to the page say in which group of places it stands, or after which
 * other groups: so sorted keys go through a page from its front to its end,
 * as memory is read fastest.  The places of a group are compared all at once,
 * since a branch for each would be foreseen by nobody.  A place whose key is 0
 * is free, and stays taken once it was; the row of key 0 itself has the place
 * behind the last one.
 *
 * Rows that are made in order crowd a page that is still there for many more
 * keys than will be its own: it is split before it is full.
 *
 * A small row stands beside its key: one miss of the cache for both.  The
 * keys of others stand together, so that a search does not wade through rows.
 */
#define PAGE_BYTES	((size_t)16 << 10)
#define PAGE_LEAST	16		/* places */
#define GROUP		4		/* places */
#define INLINE_BYTES	32		/* of a key and its row */
#define LINE		64		/* bytes that memory gives at once */
#define SPREAD		((size_t)1 << 12)	/* of the directory: entries
						   for a page, at most */
#define SPREAD_CROWD	((size_t)1 << 8)	/* the same, if pages that are
						   not full are split */
#define PUT_SPREAD	((size_t)1 << 22)	/* entries that are always
						   there for rows put back */
#define CROWD		8		/* groups; keys that are so far from
					   their own are a crowd */

/*
 * Pages are cut from slabs, of which large ones ask for large pages of the
 * machine: rows lie all over a table, and most of the time of finding one
 * would go into translating its address.  A slab goes when its last page has
 * gone, whoever frees that.
 */
#define SLAB_LEAST	((size_t)64 << 10)	/* bytes */
#define SLAB_MOST	((size_t)2 << 20)

struct slab {
	atomic_size_t references;	/* pages, and the table that cuts */
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
	uint32_t places, full;	/* of a page; a full one is split */
	size_t key_step, row_at, row_step;	/* bytes */
	size_t floats, row_bytes;
	size_t date_at;		/* of the last update, behind the floats */
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
	uint64_t now;			/* the update under way */
	uint64_t oldest;	/* rows not touched since then are gone,
				   though they may still lie there */
	struct age_histogram dates;	/* of the rows that are there */
	struct table *waiting;
	bool counting;			/* a table of those that wait */
	struct slab *slab;		/* where the next page comes from */
	atomic_int *sharers;		/* tables that have pages in common */
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
	/* A group of free places ends them: who looks there goes no further. */
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
 * An entry of the directory is where a page lies, which is on a line, and, in
 * the bits that this leaves, how many bits its keys have in common.  In the
 * page these would be another miss of the cache for each row.
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

/* The group of a key, counted from the first one of its page. */
static inline uint32_t
group_of(const struct layout *l, uintptr_t entry, uint64_t key)
{
	return (uint32_t)((key << entry_depth(entry) >> 32) *
			  (l->places / GROUP) >> 32);
}

/* Which places of a group have a key: a bit for each. */
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

/* The place of a key in its page, or NOWHERE. */
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

/* A place for a key that has none, in a page that is not full. */
static uint32_t
take(const struct layout *l, uintptr_t entry, uint64_t key)
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

/* Would a key that has no place yet come to stand behind a crowd? */
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

/* The same places as an older page, or empty. */
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

/* All entries of the directory for the page that has a key; they are equal. */
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
 * May pages be another table's, too?  That is looked up here, not in each
 * page: it would be another miss of the cache for each row.
 */
static inline bool
is_sharing(const struct table *t)
{
	return atomic_load_explicit(t->sharers, memory_order_acquire) > 1;
}

/* The entry of a key whose page is to be written. */
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

/* Forgotten, or no longer waiting; the place is used again by a split. */
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
	const uint32_t at = take(l, to, key);

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
 * Two pages in place of one that is full or crowded, or a single one if so
 * many rows of a full one are gone that it will do.  Mixed ids differ in their
 * first bits; where keys do not, somebody made them up, and gets no more
 * memory for it: there are to be no more entries for a page than spread, but
 * at least so many.
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

/* Not when the next one begins: until then rows are pulled. */
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

/* Each page stands in the directory as often as it has room for bits. */
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
start_row(const struct table *t, uint64_t key, float *row)
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

/* The first place of a group: its key, and the row of it if it is apart. */
struct place {
	const char *key;
	char *row;
};

static inline bool
is_beside(const struct layout *l)
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

/* Where the keys' groups are; the memory is asked for them. */
static inline void
fetch_places(const struct table *t, const struct layout *l,
	     const uint64_t *key, size_t count, struct place *first)
{
	for (size_t k = 0; k < count; k++) {
		const uintptr_t entry = entry_of(t, key[k]);
		const size_t place = group_of(l, entry, key[k]) * GROUP;
		struct page *p = entry_page(entry);

		first[k].key = (const char *)key_at(l, p, place);
		if (!is_beside(l))
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
 * The row of a key that stands in this group, and some other row of the group
 * if it does not.  At most one place has the key; which one is summed up, for
 * no branch would foresee it.
 */
static inline float *
find_near(const struct layout *l, const struct place *first, uint64_t key,
	  bool *far)
{
	size_t at = 0;

	for (size_t i = 1; i < GROUP; i++)
		at += i * has_key(l, first, i, key);
	*far = !has_key(l, first, at, key) | (key == 0);
	return (float *)(void *)(at * l->row_step + (is_beside(l) ?
			(char *)(uintptr_t)first->key + l->row_at :
			first->row));
}

/*
 * The rows of those keys that are not in their own groups; how many are there.
 * Nearly all are in the next one.
 */
static inline size_t
find_far(const struct table *t, const struct layout *l,
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
			is_beside(l) ? NULL :
				first[k].row + GROUP * l->row_step
		};
		bool farther;

		row[k] = find_near(l, &next, key[k], &farther);
		if (farther)
			row[k] = row_of(t, key[k]);
		found += row[k] != NULL;
	}
	return found;
}

/*
 * The rows of some keys as they are; how many are there.  Memory is asked for
 * all places at once, and for so many floats of rows before anybody reads one.
 * A processor may drop what it has no room to remember, so for each place it
 * is asked once more, some keys ahead.  Keys that do not stand in their own
 * group come last, all together: whether one does nobody foresees either.
 */
#define AHEAD	16

static inline size_t
find_as(const struct table *t, const struct layout *l, const uint64_t *key,
	size_t count, size_t floats, float **row)
{
	struct place first[TABLE_BATCH];
	size_t far[TABLE_BATCH], fars = 0;

	fetch_places(t, l, key, count, first);
	for (size_t k = 0; k < count; k++) {
		const size_t ahead = k + AHEAD < count ? k + AHEAD : k;
		bool is_far;

		__builtin_prefetch(first[ahead].key, 1);
		row[k] = find_near(l, &first[k], key[k], &is_far);
		far[fars] = k;
		fars += is_far;
		if (!is_beside(l))
			apply_fetch(row[k], floats);
	}
	return count - fars + find_far(t, l, first, far, fars, key, row);
}

/* Steps that the compiler knows, those of the smallest rows, are faster. */
static size_t
find_rows(const struct table *t, const uint64_t *key, size_t count,
	  size_t floats, float **row)
{
	struct layout l = t->layout;
	size_t found;

	if (is_beside(&l) && l.key_step == 2 * sizeof(uint64_t)) {
		l.key_step = l.row_step = 2 * sizeof(uint64_t);
		l.row_at = sizeof(uint64_t);
		found = find_as(t, &l, key, count, floats, row);
	} else {
		found = find_as(t, &l, key, count, floats, row);
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

/* Absent rows as they would begin, in start, which has room for them. */
static void
fill_in(const struct table *t, const uint64_t *key, size_t count,
	float **row, float *start)
{
	for (size_t k = 0; k < count; k++) {
		if (row[k])
			continue;
		row[k] = start + k * t->layout.floats;
		start_row(t, key[k], row[k]);
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
			fill_in(t, key + done, some, row, start);
		}
		copy_values((const float *const *)row, some, width,
			    values + done * width);
	}
	free(start);
}

/* The row of a key in a page that may be written, or NULL. */
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
 * The row of a key that was absent, its floats still to be set; NULL: there
 * is no room.  For least see split().
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
		place = take(l, entry, key);
	t->rows++;
	return row_at(l, entry_page(entry), place);
}

/* Another push to a row that is not there: is it to be made? */
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
	*pushes = -1;		/* it waits no longer */
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
	start_row(t, key, row);
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
	/* A page may have been split meanwhile. */
	for (size_t k = 0; made && k < count; k++)
		if (row[k])
			row[k] = row_of(t, key[k]);
}

/*
 * A table that had room for these rows had more pages by then than this one,
 * which is given them in order.
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

/* ---- all of them ---- */

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
