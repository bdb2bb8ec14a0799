#include "data/pieces.h"

#include "base/mem.h"
#include "data/cache_maker.h"
#include "data/cache_reader.h"

#include <stdio.h>
#include <stdlib.h>

/* Nothing is at such a place. */
static const struct piece_place nowhere = { UINT64_MAX, UINT64_MAX };

struct pieces {
	struct cache_input in;
	struct cache_key key;
	struct piece_place open;	/* what the reader has, */
	struct piece_place missing;	/* or found that there is not */
	char *path;			/* of that */
	struct cache_reader reader;
	struct piece_place made;	/* what the maker makes, */
	uint64_t size;			/* of so many records */
	char *made_path;
	struct cache_maker maker;
};

static bool
same(struct piece_place a, struct piece_place b)
{
	return a.origin == b.origin && a.inside == b.inside;
}

static struct piece_place
piece_of(struct piece_place at)
{
	at.inside -= at.inside % PIECE_RECORDS;
	return at;
}

struct pieces *
pieces_new(struct cache *cache, const struct format *format,
	   const struct want *want, char *const *files)
{
	struct pieces *p = mem_alloc(1, sizeof(*p));

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
pieces_free(struct pieces *p)
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
path_of(const struct pieces *p, struct piece_place piece)
{
	char which[48];

	snprintf(which, sizeof(which), ".%llu+%llu",
		 (unsigned long long)piece.origin,
		 (unsigned long long)piece.inside);
	return cache_key_path(&p->key, &p->in, which);
}

/* Is it there?  It is looked for once. */
static bool
open_piece(struct pieces *p, struct piece_place piece)
{
	if (same(piece, p->open))
		return true;
	if (same(piece, p->missing))
		return false;
	free(p->path);
	p->path = path_of(p, piece);
	p->open = p->missing = nowhere;
	if (cache_key_holds(&p->key, &p->in) &&
	    cache_reader_open(&p->reader, p->path, &p->key, &p->in,
			      piece.inside))
		p->open = piece;
	else
		p->missing = piece;
	return same(piece, p->open);
}

size_t
pieces_read(struct pieces *p, struct piece_place at, struct batch *b,
	    size_t most)
{
	const struct piece_place piece = piece_of(at);
	struct fail why;
	int64_t got = 0;

	if (!open_piece(p, piece))
		return 0;
	if (at.inside < cache_reader_at(&p->reader)) {
		p->open = nowhere;
		return pieces_read(p, at, b, most);
	}
	if (at.inside > cache_reader_at(&p->reader))
		got = cache_reader_seek(&p->reader, at.inside, &why);
	if (got == 0)
		got = cache_reader_next(&p->reader, b, most, &why);
	if (got < 0) {
		cache_reader_refuse(&p->reader, p->path, &p->in, &why);
		p->open = nowhere;
		p->missing = piece;
	}
	return got > 0 ? (size_t)got : 0;
}

bool
pieces_wants(const struct pieces *p, struct piece_place at)
{
	return same(piece_of(at), p->made) &&
		cache_maker_wants(&p->maker, at.inside);
}

struct batch *
pieces_room(struct pieces *p, struct piece_place at, uint64_t size)
{
	const struct piece_place piece = piece_of(at);

	if (same(at, piece)) {
		pieces_abandon(p);
		free(p->made_path);
		p->made = piece;
		p->size = size < PIECE_RECORDS ? size : PIECE_RECORDS;
		p->made_path = path_of(p, piece);
		cache_maker_create(&p->maker, p->made_path, &p->key,
				   piece.inside);
	}
	return pieces_wants(p, at) ? &p->maker.block : NULL;
}

void
pieces_add(struct pieces *p, struct batch *b, bool sure)
{
	cache_maker_add(&p->maker, b);
	if (!sure)
		pieces_abandon(p);
	if (!sure || p->maker.made < p->size)
		return;
	cache_maker_commit(&p->maker, &p->key, &p->in);
	p->made = p->missing = nowhere;
}

void
pieces_abandon(struct pieces *p)
{
	cache_maker_abandon(&p->maker);
	p->made = nowhere;
}
