#include "data/cache_maker.h"

#include "base/log.h"

void
cache_maker_begin(struct cache_maker *m, struct cache *cache,
		  const struct read_spec *want)
{
	*m = (struct cache_maker){ .cache = cache, .to.fd = -1,
				   .batches = want->batches };
	batch_begin(&m->block, want->inputs, want->count, want->label);
	m->block.label.negatives = want->negatives;
}

void
cache_maker_release(struct cache_maker *m)
{
	disk_abandon(&m->to);
	batch_release(&m->block);
	sorter_release(&m->sorter);
	text_release(&m->room);
}

static void
abandon_cache(struct cache_maker *m, const struct fail *why)
{
	disk_abandon(&m->to);
	m->cache->off = true;
	log_warn("%s; continuing without a cache", why->text);
}

void
cache_maker_create(struct cache_maker *m, const char *path,
		   const struct cache_key *key, uint64_t first)
{
	struct fail why;

	if (m->cache->off)
		return;
	m->path = path;
	m->first = first;
	m->made = 0;
	m->whole = false;
	batch_reset(&m->block);
	if (cache_file_create(&m->to, path, key, &why) < 0)
		abandon_cache(m, &why);
}

bool
cache_maker_wants(const struct cache_maker *m, uint64_t number)
{
	return m->to.fd >= 0 && m->first + m->block.examples == number;
}

static size_t
feature_bytes(const struct feature *x, size_t examples)
{
	return feature_count(x, examples) *
		(x->input->kind == INPUT_SPARSE ? 8 : 4);
}

static size_t
block_bytes(const struct batch *b)
{
	size_t bytes = b->examples * sizeof(float);	/* labels */

	for (size_t i = 0; i < b->features; i++)
		bytes += feature_bytes(&b->feature[i], b->examples);
	return bytes;
}

/* Write the records of the block, out of a batch that has the same. */
static void
write_block(struct cache_maker *m, const struct batch *b)
{
	struct fail why;

	if (cache_file_add(&m->to, b, m->first, &m->room, &why) != 0)
		abandon_cache(m, &why);
	m->first += b->examples;
	batch_reset(&m->block);
}

static bool
is_full(const struct cache_maker *m)
{
	const size_t bytes = block_bytes(&m->block);

	return bytes >= CACHE_BATCH ||
		(!m->whole && (bytes >= CACHE_BLOCK ||
			       m->block.examples >= CACHE_RECORDS));
}

void
cache_maker_add(struct cache_maker *m, struct batch *b)
{
	if (m->block.examples == 0)
		m->whole = m->batches && b && b->examples == 0;
	if (b) {
		batch_append_run(b, &m->block, m->block.examples, 1);
		b->examples--;
	}
	m->block.examples++;
	m->made++;
	if (is_full(m))
		write_block(m, &m->block);
}

void
cache_maker_end_batch(struct cache_maker *m, struct batch *b)
{
	const bool whole = m->whole && m->block.examples == b->examples &&
		block_bytes(b) >= CACHE_LEAST;

	m->whole = false;
	for (size_t i = 0; whole && i < b->features; i++)
		if (b->feature[i].input->kind != INPUT_FLOAT)
			feature_gather(&b->feature[i], b->examples,
				       &m->sorter);
	if (whole)
		write_block(m, b);
}

void
cache_maker_abandon(struct cache_maker *m)
{
	disk_abandon(&m->to);
}

/* The second block is the mark of the end, without records. */
void
cache_maker_commit(struct cache_maker *m, const struct cache_key *key,
		   const struct cache_input *in)
{
	struct fail why;

	if (m->to.fd >= 0 && m->block.examples > 0)
		write_block(m, &m->block);
	if (m->to.fd >= 0)
		write_block(m, &m->block);
	if (m->to.fd >= 0 && !cache_key_holds(key, in))
		disk_abandon(&m->to);
	if (m->to.fd < 0)
		return;
	if (disk_commit(&m->to, &why) != 0)
		abandon_cache(m, &why);
	else
		log_info("%s: made of %llu records", m->path,
			 (unsigned long long)m->made);
}
