#include "data/cache_segment.h"

#include "base/mem.h"
#include "data/cache_maker.h"
#include "data/cache_reader.h"

#include <stdio.h>
#include <stdlib.h>

/* A place that no record has. */
static const struct segment_place nowhere = { UINT64_MAX, UINT64_MAX };

struct cache_segments {
	struct cache_input in;
	struct cache_key key;
	struct segment_place open;	/* the segment that reader has open, */
	struct segment_place missing;	/* or one that has no file */
	char *path;			/* of whichever was looked for last */
	struct cache_reader reader;
	struct segment_place made;	/* the segment that maker makes */
	uint64_t size;			/* records that it will have */
	char *made_path;
	struct cache_maker maker;
};

static bool
is_same_place(struct segment_place a, struct segment_place b)
{
	return a.origin == b.origin && a.inside == b.inside;
}

static struct segment_place
segment_of(struct segment_place at)
{
	at.inside -= at.inside % SEGMENT_RECORDS;
	return at;
}

struct cache_segments *
cache_segments_new(struct cache *cache, const struct format *format,
		   const struct read_spec *want, char *const *files)
{
	struct cache_segments *p = mem_alloc(1, sizeof(*p));

	p->in = cache_input(cache->folder, format, want, files);
	p->open = p->missing = p->made = nowhere;
	if (!cache_key_make(&p->key, &p->in)) {
		free(p);
		return NULL;
	}
	cache_reader_begin(&p->reader, want);
	cache_maker_begin(&p->maker, cache, want);
	return p;
}

void
cache_segments_free(struct cache_segments *p)
{
	if (!p)
		return;
	cache_reader_release(&p->reader);
	cache_maker_release(&p->maker);
	free(p->path);
	free(p->made_path);
	free(p);
}

static char *
path_of(const struct cache_segments *p, struct segment_place segment)
{
	char which[48];

	snprintf(which, sizeof(which), ".%llu+%llu",
		 (unsigned long long)segment.origin,
		 (unsigned long long)segment.inside);
	return cache_key_path(&p->key, &p->in, which);
}

/* Open a segment.  A missing one is looked for only once in a row. */
static bool
open_segment(struct cache_segments *p, struct segment_place segment)
{
	if (is_same_place(segment, p->open))
		return true;
	if (is_same_place(segment, p->missing))
		return false;
	free(p->path);
	p->path = path_of(p, segment);
	p->open = p->missing = nowhere;
	if (cache_key_holds(&p->key, &p->in) &&
	    cache_reader_open(&p->reader, p->path, &p->key, &p->in,
			      segment.inside))
		p->open = segment;
	else
		p->missing = segment;
	return is_same_place(segment, p->open);
}

size_t
cache_segments_read(struct cache_segments *p, struct segment_place at,
		    struct batch *b, size_t most)
{
	const struct segment_place segment = segment_of(at);
	struct fail why;
	int64_t got = 0;

	if (!open_segment(p, segment))
		return 0;
	if (at.inside < cache_reader_at(&p->reader)) {
		p->open = nowhere;
		return cache_segments_read(p, at, b, most);
	}
	if (at.inside > cache_reader_at(&p->reader))
		got = cache_reader_seek(&p->reader, at.inside, &why);
	if (got == 0)
		got = cache_reader_next(&p->reader, b, most, &why);
	if (got < 0) {
		cache_reader_refuse(&p->reader, p->path, &p->in, &why);
		p->open = nowhere;
		p->missing = segment;
	}
	return got > 0 ? (size_t)got : 0;
}

bool
cache_segments_wants(const struct cache_segments *p, struct segment_place at)
{
	return is_same_place(segment_of(at), p->made) &&
		cache_maker_wants(&p->maker, at.inside);
}

struct batch *
cache_segments_room(struct cache_segments *p, struct segment_place at,
		    uint64_t size)
{
	const struct segment_place segment = segment_of(at);

	if (is_same_place(at, segment)) {
		cache_segments_abandon(p);
		free(p->made_path);
		p->made = segment;
		p->size = size < SEGMENT_RECORDS ? size : SEGMENT_RECORDS;
		p->made_path = path_of(p, segment);
		cache_maker_create(&p->maker, p->made_path, &p->key,
				   segment.inside);
	}
	return cache_segments_wants(p, at) ? &p->maker.block : NULL;
}

void
cache_segments_add(struct cache_segments *p, struct batch *b, bool sure)
{
	cache_maker_add(&p->maker, b);
	if (!sure)
		cache_segments_abandon(p);
	if (!sure || p->maker.made < p->size)
		return;
	cache_maker_commit(&p->maker, &p->key, &p->in);
	p->made = p->missing = nowhere;
}

void
cache_segments_abandon(struct cache_segments *p)
{
	cache_maker_abandon(&p->maker);
	p->made = nowhere;
}
