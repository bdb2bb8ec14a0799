#include "data/cache_reader.h"

#include "base/log.h"

#include <unistd.h>

void
cache_reader_begin(struct cache_reader *r, const struct read_spec *want)
{
	*r = (struct cache_reader){ .from.fd = -1, .batches = want->batches };
	batch_begin(&r->block, want->inputs, want->count, want->label);
}

void
cache_reader_release(struct cache_reader *r)
{
	cache_file_close(&r->from);
	batch_release(&r->block);
}

static void
close_file(struct cache_reader *r)
{
	cache_file_close(&r->from);
	batch_reset(&r->block);
	r->used = 0;
}

void
cache_reader_refuse(struct cache_reader *r, const char *path,
		    const struct cache_input *in, const struct fail *why)
{
	log_warn("%s; reading %s instead", why->text, in->files[0]);
	unlink(path);
	close_file(r);
}

bool
cache_reader_open(struct cache_reader *r, const char *path,
		  const struct cache_key *key, const struct cache_input *in,
		  uint64_t first)
{
	struct fail why;
	int got;

	close_file(r);
	got = cache_file_open(&r->from, path, key, first, &why);
	if (got < 0)
		cache_reader_refuse(r, path, in, &why);
	else if (got == 0)
		close_file(r);
	return got > 0;
}

uint64_t
cache_reader_at(const struct cache_reader *r)
{
	return r->from.records - (r->block.examples - r->used);
}

/*
 * Read the next block: straight into the batch, whose examples the caller
 * counts, if all of its records are wanted there; else into r->block.  Return
 * the number of its records, or -1.
 */
static int64_t
read_block(struct cache_reader *r, struct batch *b, size_t most,
	   struct fail *f)
{
	const int64_t records = cache_file_peek(&r->from, f);
	const bool whole = b && records <= (int64_t)most;
	const bool batch = whole && r->batches && b->examples == 0 &&
		records == (int64_t)most;

	if (records <= 0)
		return records;
	r->used = 0;
	batch_reset(&r->block);
	if (cache_file_next(&r->from, whole ? b : &r->block, batch, f) != 0)
		return -1;
	if (whole)
		b->examples -= (size_t)records;
	return records;
}

int
cache_reader_seek(struct cache_reader *r, uint64_t number, struct fail *f)
{
	const uint64_t ours = r->from.records;
	int64_t records;

	if (number < ours) {
		r->used = r->block.examples - (size_t)(ours - number);
		return 0;
	}
	batch_reset(&r->block);
	r->used = 0;
	while ((records = cache_file_peek(&r->from, f)) > 0 &&
	       r->from.records + (uint64_t)records <= number)
		cache_file_pass(&r->from);
	if (records <= 0 || number == r->from.records)
		return records < 0 ? -1 : 0;
	if (read_block(r, NULL, 0, f) < 0)
		return -1;
	r->used = r->block.examples - (size_t)(r->from.records - number);
	return 0;
}

int64_t
cache_reader_next(struct cache_reader *r, struct batch *b, size_t most,
		  struct fail *f)
{
	int64_t got = (int64_t)(r->block.examples - r->used);

	if (got == 0)
		got = read_block(r, b, most, f);
	if (got <= 0 || r->used == r->block.examples)
		return got;
	got = got < (int64_t)most ? got : (int64_t)most;
	if (b) {
		batch_append_run(b, &r->block, r->used, (size_t)got);
		b->examples -= (size_t)got;
	}
	r->used += (size_t)got;
	return got;
}
