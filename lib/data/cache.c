#include "data/cache.h"

#include "base/log.h"
#include "base/mem.h"
#include "data/cache_maker.h"
#include "data/cache_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct state {
	struct cache_input in;
	void *text;		/* state of the input's format; NULL: the input
				   is not open, the cache is read */
	char *path;		/* of the cache; NULL: there can be none */
	struct cache_key key;
	struct cache_reader reader;	/* while a cache is read */
	struct cache_maker maker;	/* while a cache is made */
};

/* With the slash at its end, the path of a plain file fails. */
int
cache_probe(const char *folder, struct fail *f)
{
	char *path = folder && *folder ? disk_path("%s/", folder) : NULL;
	int r = 0;

	if (path && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
		r = fail_sys(f, FAIL_CREATE, "cannot keep a cache in %s",
			     folder);
	free(path);
	return r;
}

/* ---- making one ---- */

/*
 * A cache has the records of all shards, so the record is read into the
 * maker's block even if b is NULL.  One bad record ends the making: an input
 * with a malformed record has no cache.
 */
static int
read_and_keep(struct state *s, struct batch *b, struct fail *f)
{
	struct batch *block = &s->maker.block;
	const int got = s->in.format->read(s->text, block, f);

	if (got < 0)
		cache_maker_abandon(&s->maker);
	if (got == 0)
		cache_maker_commit(&s->maker, &s->key, &s->in);
	if (got <= 0)
		return got;
	cache_maker_add(&s->maker, b);
	return 1;
}

/* ---- reading one ---- */

/* The cache is damaged: resume at the same record of the input itself. */
static int
read_input_instead(struct state *s, const struct fail *why, struct fail *f)
{
	const uint64_t passed = cache_reader_at(&s->reader);

	cache_reader_refuse(&s->reader, s->path, &s->in, why);
	s->text = s->in.format->open(s->in.want, s->in.files, f);
	if (!s->text)
		return -1;
	for (uint64_t i = 0; i < passed; i++) {
		const int got = s->in.format->read(s->text, NULL, f);

		if (got < 0)
			return -1;
		if (got == 0)
			return fail(f, FAIL_DATA, "%s: it has fewer records "
				    "than before", s->in.files[0]);
	}
	return 0;
}

static int
read_kept(struct state *s, struct batch *b, size_t most, struct fail *f)
{
	struct fail why;
	const int64_t got = cache_reader_next(&s->reader, b, most, &why);

	if (got >= 0)
		return (int)got;
	if (read_input_instead(s, &why, f) != 0)
		return -1;
	return s->in.format->read(s->text, b, f);
}

/* ---- the struct format of a cache ---- */

static int
cache_read_some(void *state, struct batch *b, size_t most, struct fail *f)
{
	struct state *s = state;

	if (!s->text)
		return read_kept(s, b, most, f);
	if (s->maker.to.fd >= 0)
		return read_and_keep(s, b, f);
	return s->in.format->read(s->text, b, f);
}

static int
cache_read(void *state, struct batch *b, struct fail *f)
{
	return cache_read_some(state, b, 1, f);
}

static void
cache_end_batch(void *state, struct batch *b)
{
	struct state *s = state;

	if (s->maker.to.fd >= 0)
		cache_maker_end_batch(&s->maker, b);
}

static void
cache_close(void *state)
{
	struct state *s = state;

	if (s->text)
		s->in.format->close(s->text);
	cache_reader_release(&s->reader);
	cache_maker_release(&s->maker);
	free(s->path);
	free(s);
}

/* Open the cache of this input, if there is one with the same key. */
static bool
find_cache(struct state *s)
{
	if (!cache_key_make(&s->key, &s->in)) {
		log_info("%s: it is not a plain file, so it is not kept in a "
			 "cache",
			 s->in.files[0]);
		return false;
	}
	s->path = cache_key_path(&s->key, &s->in, "");
	return cache_reader_open(&s->reader, s->path, &s->key, &s->in, 0);
}

static const struct format format_cache = {
	.name = "cache", .read = cache_read, .read_some = cache_read_some,
	.end_batch = cache_end_batch, .close = cache_close
};

void *
cache_open(struct cache *cache, const struct format **format,
	   const struct read_spec *want, char *const *files, struct fail *f)
{
	struct state *s = mem_alloc(1, sizeof(*s));

	s->in = cache_input(cache->folder, *format, want, files);
	*format = &format_cache;
	cache_reader_begin(&s->reader, want);
	cache_maker_begin(&s->maker, cache, want);
	if (find_cache(s))
		return s;
	s->text = s->in.format->open(want, files, f);
	if (!s->text) {
		cache_close(s);
		return NULL;
	}
	if (s->path)
		cache_maker_create(&s->maker, s->path, &s->key, 0);
	return s;
}
