#include "tensor/partition.h"

#include "base/mem.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool
count_fits(const char *text, uint64_t *n)
{
	uint64_t x;

	if (!text_uint(text, &x) || x < 1 || x > PARTITION_SHARDS)
		return false;
	*n = x;
	return true;
}

/* "fixed" takes a count; "min" and "max" take bytes and perhaps a count. */
static bool
parse_words(struct partitioner *p, char **word, size_t words)
{
	if (words == 1 && strcmp(word[0], "none") == 0)
		return true;
	if (words == 1 && strcmp(word[0], "spread") == 0) {
		p->kind = PARTITION_SPREAD;
		return true;
	}
	if (words == 2 && strcmp(word[0], "fixed") == 0) {
		p->kind = PARTITION_FIXED;
		return count_fits(word[1], &p->shards);
	}
	if (words < 2 || words > 3)
		return false;
	if (strcmp(word[0], "min") == 0)
		p->kind = PARTITION_MIN;
	else if (strcmp(word[0], "max") == 0)
		p->kind = PARTITION_MAX;
	else
		return false;
	return text_bytes(word[1], &p->bytes) && p->bytes > 0 &&
	       (words == 2 || count_fits(word[2], &p->shards));
}

int
partitioner_parse(struct partitioner *p, const char *text, struct fail *f)
{
	struct partitioner found = { .kind = PARTITION_NONE };
	const char *at = strchr(text, '@');
	char *copy = at ? mem_text_n(text, (size_t)(at - text)) :
		     mem_text(text);
	size_t words;
	char **word = text_split(copy, ':', &words);
	const bool good = parse_words(&found, word, words);

	free(word);
	free(copy);
	if (!good)
		return fail(f, FAIL_CONFIG, "partitioner '%s' is not none, "
			    "spread, fixed:N, min:BYTES[:N] or max:BYTES[:N] "
			    "with N from 1 to %d and BYTES above 0",
			    text, PARTITION_SHARDS);
	if (at && !at[1])
		return fail(f, FAIL_CONFIG, "partitioner '%s' has no pattern "
			    "behind its @", text);
	found.pattern = at ? at + 1 : NULL;
	*p = found;
	return 0;
}

int
partitioner_add(struct partitioner *head, const char *text, struct fail *f)
{
	struct partitioner found, *last = head;

	if (partitioner_parse(&found, text, f) < 0)
		return -1;
	if (!found.pattern) {
		found.next = head->next;
		*head = found;
		return 0;
	}
	while (last->next)
		last = last->next;
	last->next = mem_alloc(1, sizeof(*last));
	*last->next = found;
	return 0;
}

void
partitioner_release(struct partitioner *head)
{
	struct partitioner *next;

	for (; head->next; head->next = next) {
		next = head->next->next;
		free(head->next);
	}
}

/* Return the partitioner of the list that is for a variable with this name. */
static const struct partitioner *
find(const struct partitioner *head, const char *name)
{
	const struct partitioner *p = head->next;

	while (p && !text_match(p->pattern, name))
		p = p->next;
	return p ? p : head;
}

/*
 * Fail, and say why a pattern has no variable: all that it matches are hashed
 * tables, or earlier patterns match them, too; or it matches none.
 */
static int
refuse_pattern(const char *pattern, const struct variable *v,
	       size_t variables, bool hashed, struct fail *f)
{
	bool matched = false;

	for (size_t i = 0; i < variables && !matched; i++)
		matched = text_match(pattern, v[i].name);
	return fail(f, FAIL_CONFIG, "%s matches no variable%s", pattern,
		    hashed ? " but hashed tables, which have a shard on each "
		    "server" : matched ? " but those that patterns before it "
		    "match" : "");
}

/* Fail if no variable but hashed tables has this partitioner of the list. */
static int
check_partitioner(const struct partitioner *p, const struct variable *v,
		  const struct partitioner *const *of, size_t variables,
		  struct fail *f)
{
	bool hashed = false;

	for (size_t i = 0; i < variables; i++) {
		if (of[i] == p && !v[i].hashed)
			return 0;
		hashed |= of[i] == p;
	}
	return refuse_pattern(p->pattern, v, variables, hashed, f);
}

int
partitioner_check(const struct partitioner *head, const struct variable *v,
		  size_t variables, struct fail *f)
{
	const struct partitioner **of = mem_alloc(variables, sizeof(*of));
	int result = 0;

	for (size_t i = 0; i < variables; i++)
		of[i] = find(head, v[i].name);
	for (const struct partitioner *p = head->next; p && result == 0;
	     p = p->next)
		result = check_partitioner(p, v, of, variables, f);
	free(of);
	return result;
}

/*
 * Return the number of shards for a limit of bytes.
 *
 * The smallest shard of n has rows / n rows and the largest one more if any are
 * left over, hence:
 *
 * MIN: as many shards as still have the rows that make up the bytes.
 * TensorFlow's MinSizePartitioner takes the ceiling of total / bytes, so its
 * shards may be smaller than it promises: 10 rows of 4 bytes at "at least 16"
 * become 3 shards of 16, 12 and 12.  Here they become 2 of 20.
 *
 * MAX: as few shards as keep each within the rows that fit into the bytes.  A
 * row is never cut, so rows that are larger than the limit have a shard each.
 *
 * A variable smaller than MIN's bytes stays whole.  A limit on the number of
 * shards overrides MAX's bytes: a user who gives both wants no more shards than
 * that.
 */
static size_t
count_by_bytes(const struct partitioner *p, size_t rows, uint64_t row_bytes)
{
	if (p->kind == PARTITION_MIN) {
		const uint64_t least = p->bytes / row_bytes +
				       (p->bytes % row_bytes > 0);

		return rows / least;
	}

	const uint64_t most = p->bytes < row_bytes ? 1 : p->bytes / row_bytes;

	return rows / most + (rows % most > 0);
}

size_t
partition_count(const struct partitioner *p, struct shape shape)
{
	const size_t rows = shape_rows(shape), width = shape_width(shape);
	size_t n = PARTITION_SHARDS;

	/* A single number and an empty array cannot be cut. */
	if (shape.rank == 0 || rows == 0 || width == 0)
		return 1;
	switch (p->kind) {
	case PARTITION_NONE:
		return 1;
	case PARTITION_FIXED:
		n = rows;
		break;
	case PARTITION_MIN:
	case PARTITION_MAX:
		n = count_by_bytes(p, rows, width * sizeof(float));
		break;
	case PARTITION_SPREAD:
		assert(!"a matter of servers: see partition_shards()");
	}
	if (p->shards > 0 && n > p->shards)
		n = p->shards;
	if (n > PARTITION_SHARDS)
		n = PARTITION_SHARDS;
	return n > 0 ? n : 1;
}

size_t
partition_shards(const struct partitioner *head, const struct variable *v,
		 size_t servers)
{
	const struct partitioner *p = find(head, v->name);
	const struct partitioner spread = {
		.kind = PARTITION_MIN, .bytes = PARTITION_SPREAD_BYTES,
		.shards = servers
	};

	return v->hashed ? servers : partition_count(
		p->kind == PARTITION_SPREAD ? &spread : p, v->shape);
}

/* The first rows % n shards are one row longer than the others. */
struct rows
partition_rows(size_t rows, size_t n, size_t i)
{
	const size_t base = rows / n, extra = rows % n;

	assert(i < n);
	return (struct rows){
		.first = i * base + (i < extra ? i : extra),
		.count = base + (i < extra)
	};
}

size_t
partition_find(size_t rows, size_t n, size_t row)
{
	const size_t base = rows / n, extra = rows % n;
	const size_t edge = extra * (base + 1);	/* end of the longer ones */

	assert(row < rows);
	return row < edge ? row / (base + 1) : extra + (row - edge) / base;
}

const struct placement placement_balanced = { .rule = PLACE_BALANCED };
const struct placement placement_round_robin = { .rule = PLACE_ROUND_ROBIN };

/* "FIRST" or "FIRST-LAST" */
static bool
range_fits(struct placement_range *r, const char *text)
{
	char *copy = mem_text(text), *dash = strchr(copy, '-');
	bool good;

	if (dash)
		*dash++ = '\0';
	good = text_uint(copy, &r->first) &&
		text_uint(dash ? dash : copy, &r->last) &&
		r->first <= r->last;
	free(copy);
	return good;
}

int
placement_add(struct placement *p, const char *text, struct fail *f)
{
	const char *at = strrchr(text, '@');
	struct placement_range found = { 0 }, **end = &p->range;

	if (strcmp(text, "balanced") == 0) {
		p->rule = PLACE_BALANCED;
		return 0;
	}
	if (strcmp(text, "round-robin") == 0) {
		p->rule = PLACE_ROUND_ROBIN;
		return 0;
	}
	if (!at || at == text || !range_fits(&found, at + 1))
		return fail(f, FAIL_CONFIG, "placement '%s' is not balanced, "
			    "round-robin or PATTERN@FIRST-LAST, where FIRST "
			    "and LAST are indices of servers", text);
	found.pattern = mem_text_n(text, (size_t)(at - text));
	while (*end)
		end = &(*end)->next;
	*end = mem_alloc(1, sizeof(**end));
	**end = found;
	return 0;
}

void
placement_release(struct placement *p)
{
	struct placement_range *r = p->range, *next;

	for (; r; r = next) {
		next = r->next;
		free(r->pattern);
		free(r);
	}
	*p = (struct placement){ 0 };
}

void
placement_beside(struct placement *p, uint64_t beside, size_t servers)
{
	assert(beside > 0 && beside <= servers);
	p->hybrid = true;
	p->dense.last = beside - 1;
	p->tables.first = beside < servers ? beside : 0;
	p->tables.last = servers - 1;
}

size_t
placement_count_beside(const struct placement *p)
{
	return p->hybrid ? (size_t)p->dense.last + 1 : 0;
}

/* Return the range of a variable; NULL: all servers. */
static const struct placement_range *
find_range(const struct placement *p, const struct variable *v)
{
	const struct placement_range *r = p->range;

	while (r && !text_match(r->pattern, v->name))
		r = r->next;
	return r || !p->hybrid ? r : v->table ? &p->tables : &p->dense;
}

/*
 * Return the range to place after r, or the first one if r is NULL.  The last
 * is NULL, for variables of all servers.
 */
static const struct placement_range *
next_range(const struct placement *p, const struct placement_range *r)
{
	if (r == &p->tables)
		return NULL;
	if (r == &p->dense)
		return &p->tables;
	r = r ? r->next : p->range;
	return r || !p->hybrid ? r : &p->dense;
}

/*
 * Return the range of each variable, as find_range() finds it: a new array of
 * the caller.  Each pattern is compared with each name once.
 */
static const struct placement_range **
find_ranges(const struct placement *p, const struct variable *v,
	    size_t variables)
{
	const struct placement_range **of = mem_alloc(variables, sizeof(*of));

	for (size_t i = 0; i < variables; i++)
		of[i] = find_range(p, &v[i]);
	return of;
}

/* Fail if no variable has this range. */
static int
check_range(const struct placement_range *r, const struct variable *v,
	    const struct placement_range *const *of, size_t variables,
	    size_t servers, struct fail *f)
{
	if (r->last >= servers)
		return fail(f, FAIL_CONFIG, "%s: there is no server %"
			    PRIu64 "; the last one of %zu is %zu",
			    r->pattern, r->last, servers, servers - 1);
	for (size_t i = 0; i < variables; i++)
		if (of[i] == r)
			return 0;
	return refuse_pattern(r->pattern, v, variables, false, f);
}

int
placement_check(const struct placement *p, const struct variable *v,
		size_t variables, size_t servers, struct fail *f)
{
	const struct placement_range **of = find_ranges(p, v, variables);
	int result = 0;

	for (const struct placement_range *r = p->range; r && result == 0;
	     r = r->next)
		result = check_range(r, v, of, variables, servers, f);
	free(of);
	return result;
}

uint64_t
place_bytes(const struct place *p, const struct variable *variables)
{
	const struct variable *v = &variables[p->variable];
	const uint64_t copies = 1 + (v->optimizer ? v->optimizer->slots : 0);

	return p->rows.count * shape_width(v->shape) * sizeof(float) * copies;
}

/* Return the servers of a range; all of them for NULL. */
static struct placement_range
servers_of(const struct placement_range *r, size_t servers)
{
	return r ? *r : (struct placement_range){ .last = servers - 1 };
}

/*
 * Return the rows of shard i of n where groups of rows stay together.  The last
 * group may be shorter.
 */
static struct rows
grouped_rows(size_t rows, size_t group, size_t n, size_t i)
{
	struct rows r = partition_rows((rows + group - 1) / group, n, i);

	r.first *= group;
	r.count *= group;
	if (r.count > rows - r.first)
		r.count = rows - r.first;
	return r;
}

static struct place *
cut(const struct variable *variables, size_t n, const struct partitioner *p,
    const struct placement_range *const *of, size_t servers, size_t *count)
{
	struct place *list = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < n; i++) {
		const struct shape shape = variables[i].shape;
		const struct placement_range on = servers_of(of[i], servers);
		const size_t group = p->group ? p->group[i] : 1;
		const size_t groups = (shape_rows(shape) + group - 1) / group;
		size_t shards = partition_shards(
			p, &variables[i], (size_t)(on.last - on.first) + 1);

		if (group > 1 && shards > groups)
			shards = groups;

		for (size_t k = 0; k < shards; k++) {
			list = mem_grow(list, *count, &room, sizeof(*list));
			list[(*count)++] = (struct place){
				.variable = (uint32_t)i,
				.shard = (uint32_t)k,
				.shards = (uint32_t)shards,
				.rows = grouped_rows(shape_rows(shape), group,
						     shards, k)
			};
		}
	}
	return list;
}

struct load {
	uint64_t bytes;
	size_t index;
};

static int
larger_first(const void *a, const void *b)
{
	const struct load *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * Return whether a has fewer bytes than b, or equally many and the lower index.
 */
static bool
lighter(const struct load *a, const struct load *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes :
		a->index < b->index;
}

/* A binary heap of servers by the bytes that they hold, the fewest on top. */
struct heap {
	struct load *load;
	size_t *at, count;	/* at[s]: index of server s in load[] */
};

static void
heap_put(struct heap *h, size_t at, struct load load)
{
	h->load[at] = load;
	h->at[load.index] = at;
}

static void
add_load(struct heap *h, size_t server, uint64_t bytes)
{
	size_t at = h->at[server], below;
	struct load load = h->load[at];

	load.bytes += bytes;
	for (; (below = 2 * at + 1) < h->count; at = below) {
		if (below + 1 < h->count && lighter(&h->load[below + 1],
						    &h->load[below]))
			below++;
		if (lighter(&load, &h->load[below]))
			break;
		heap_put(h, at, h->load[below]);
	}
	heap_put(h, at, load);
}

/*
 * Return a heap of the servers of a range, with the bytes that they hold
 * already.
 */
static struct heap
heap_new(const uint64_t *held, struct placement_range on)
{
	const size_t servers = (size_t)(on.last - on.first) + 1;
	struct heap h = {
		.load = mem_alloc(servers, sizeof(*h.load)),
		.at = mem_alloc(servers, sizeof(*h.at)), .count = servers
	};

	for (size_t s = 0; s < servers; s++) {
		h.load[s].index = s;
		h.at[s] = s;
	}
	for (size_t s = 0; s < servers; s++)
		add_load(&h, s, held[on.first + s]);
	return h;
}

/*
 * Place the shards of one range, the largest first.
 *
 * Graham, "Bounds on multiprocessing timing anomalies" (1969): the fullest
 * server has at most 4/3 - 1/(3 servers) of the bytes that it would have in the
 * best placement.
 */
static void
balance(struct place *list, struct load *shard, size_t count,
	const struct variable *variables, struct placement_range on,
	uint64_t *held)
{
	struct heap h = heap_new(held, on);

	if (count > 0)
		qsort(shard, count, sizeof(*shard), larger_first);
	for (size_t i = 0; i < count; i++) {
		struct place *place = &list[shard[i].index];
		const size_t s = variables[place->variable].hashed ?
			place->shard : h.load[0].index;

		place->server = (uint32_t)(on.first + s);
		held[place->server] += shard[i].bytes;
		add_load(&h, s, shard[i].bytes);
	}
	free(h.load);
	free(h.at);
}

static void
place_round_robin(struct place *list, const struct load *shard, size_t count,
		  const struct variable *variables, struct placement_range on)
{
	const size_t servers = (size_t)(on.last - on.first) + 1;
	size_t next = 0;

	for (size_t i = 0; i < count; i++) {
		struct place *place = &list[shard[i].index];
		const size_t s = variables[place->variable].hashed ?
			place->shard : next++ % servers;

		place->server = (uint32_t)(on.first + s);
	}
}

/*
 * Set shard[] to the shards of a range, or for NULL to those that are in none.
 * Return their number.
 */
static size_t
group(struct load *shard, const struct place *list, size_t count,
      const struct variable *variables,
      const struct placement_range *const *of,
      const struct placement_range *range)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (of[list[i].variable] == range)
			shard[n++] = (struct load){
				.bytes = place_bytes(&list[i], variables),
				.index = i
			};
	return n;
}

struct place *
partition_plan(const struct variable *variables, size_t n,
	       const struct partitioner *p, const struct placement *placement,
	       size_t servers, size_t *count)
{
	const struct placement_range **of = find_ranges(placement, variables,
							n);
	struct place *list = cut(variables, n, p, of, servers, count);
	struct load *shard = mem_alloc(*count, sizeof(*shard));
	uint64_t *held = mem_alloc(servers, sizeof(*held));
	const struct placement_range *range = next_range(placement, NULL);

	assert(servers > 0);
	for (;; range = next_range(placement, range)) {
		const struct placement_range on = servers_of(range, servers);
		const size_t some = group(shard, list, *count, variables, of,
					  range);

		if (placement->rule == PLACE_BALANCED)
			balance(list, shard, some, variables, on, held);
		else
			place_round_robin(list, shard, some, variables, on);
		if (!range)	/* the variables without a range come last */
			break;
	}
	free(held);
	free(shard);
	free(of);
	return list;
}
