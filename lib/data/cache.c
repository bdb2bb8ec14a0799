#include "data/cache.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/cache_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct state {
	struct cache *cache;
	const struct format *format;
	const struct want *want;
	char *const *files;
	size_t count;		/* of files that are read together */
	void *text;		/* state of the format; NULL: not opened */
	char *path;		/* of the cache; NULL: there can be none */
	struct cache_key key;
	struct cache_file from;	/* what is read, if there is one */
	struct disk_file to;	/* what is made, if it is */
	struct batch block;	/* records from there, or for there */
	size_t used;		/* of the block that was read */
	uint64_t first;		/* record of the block that is made */
	struct text room;
};

/* ---- what the cache is made of ---- */

static void
add_text(struct hash *h, const char *text)
{
	hash_add(h, text, strlen(text) + 1);
}

/* All of an input that decides what it is fed from a record. */
static void
add_input(struct hash *h, const struct input *in)
{
	const uint64_t numbers[] = {
		in != NULL, in ? in->kind : 0, in ? (uint64_t)in->ragged : 0,
		in ? in->rows : 0, in ? input_width(in) : 0,
		in ? (uint64_t)in->binary : 0, in ? in->column_count : 0,
		in ? (uint64_t)(unsigned char)in->separator : 0,
		in ? (uint64_t)in->weighs : 0,
		in ? (uint64_t)in->zero_based : 0
	};

	hash_add(h, numbers, sizeof(numbers));
	if (!in)
		return;
	add_text(h, in->name);
	for (size_t i = 0; i < in->column_count; i++)
		add_text(h, in->columns[i]);
	if (in->lookup)
		lookup_hash(in->lookup, h);
}

/* How the files are read, and with a folder of caches, which they are. */
static void
hash_way(const struct state *s, char text[HASH_TEXT])
{
	const struct want *w = s->want;
	const uint64_t numbers[] = { w->count, w->no_header };
	struct hash *h = hash_new();

	add_text(h, s->format->name);
	hash_add(h, numbers, sizeof(numbers));
	for (size_t i = 0; i < w->count; i++)
		add_input(h, &w->inputs[i]);
	add_input(h, w->label);
	add_input(h, w->apart);
	for (size_t i = 0; *s->cache->folder && i < s->count; i++) {
		char *path = realpath(s->files[i], NULL);

		add_text(h, path ? path : "");
		free(path);
	}
	hash_text(h, text);
	hash_free(h);
}

/* As the files are now: false if one is no plain file. */
static bool
stat_files(const struct state *s, struct cache_key *key)
{
	struct stat st;

	for (size_t i = 0; i < s->count; i++) {
		if (stat(s->files[i], &st) != 0 || !S_ISREG(st.st_mode))
			return false;
		key->file[i] = (struct cache_stat){
			(uint64_t)st.st_size,
			{ st.st_mtim.tv_sec, st.st_mtim.tv_nsec },
			{ st.st_ctim.tv_sec, st.st_ctim.tv_nsec }
		};
	}
	return true;
}

/*
 * "FOLDER/NAME-WAY.pscache", or beside the input with a point before it, so
 * that no pattern for inputs matches it.
 */
static char *
cache_path(const struct state *s, const char *way)
{
	const char *file = s->files[0], *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;

	if (*s->cache->folder)
		return disk_path("%s/%s-%.16s.pscache", s->cache->folder,
				 name, way);
	return disk_path("%.*s.%s-%.16s.pscache", (int)(name - file), file,
			 name, way);
}

/* By the slash a plain file is told from a folder. */
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

static void
give_up(struct state *s, const struct fail *why)
{
	disk_abandon(&s->to);
	s->cache->off = true;
	log_warn("%s; going on without a cache", why->text);
}

static void
begin_making(struct state *s)
{
	struct fail why;

	if (s->cache->off)
		return;
	if (cache_file_create(&s->to, s->path, &s->key, &why) < 0)
		give_up(s, &why);
}

static void
write_block(struct state *s)
{
	struct fail why;

	if (cache_file_add(&s->to, &s->block, s->first, &s->room, &why) != 0)
		give_up(s, &why);
	s->first += s->block.examples;
	batch_reset(&s->block);
}

/* The input has been read whole, and should still be what it was. */
static void
end_making(struct state *s)
{
	struct cache_key now = s->key;
	struct fail why;

	if (s->block.examples > 0)
		write_block(s);
	if (s->to.fd >= 0)
		write_block(s);		/* without records: the end */
	if (s->to.fd >= 0 && (!stat_files(s, &now) ||
			      memcmp(&now, &s->key, sizeof(now)) != 0))
		disk_abandon(&s->to);
	if (s->to.fd < 0)
		return;
	if (disk_commit(&s->to, &why) != 0)
		give_up(s, &why);
	else
		log_info("%s: made of %llu records", s->path,
			 (unsigned long long)s->first);
}

static size_t
feature_bytes(const struct feature *x, size_t examples)
{
	return feature_count(x, examples) *
		(x->input->kind == INPUT_SPARSE ? 8 : 4);
}

static bool
is_full(const struct batch *b)
{
	size_t bytes = 0;

	for (size_t i = 0; i < b->features; i++)
		bytes += feature_bytes(&b->feature[i], b->examples);
	return bytes >= CACHE_BLOCK || b->examples == CACHE_RECORDS;
}

/* Records of the block, for the reader to count. */
static void
give(const struct state *s, size_t i, size_t n, struct batch *b)
{
	if (!b)
		return;
	batch_append_run(b, &s->block, i, n);
	b->examples -= n;
}

/*
 * A cache has the records of all shards: one that is bad is bad for each of
 * them, and the end of the cache that was to be.
 */
static int
read_and_keep(struct state *s, struct batch *b, struct fail *f)
{
	const int got = s->format->read(s->text, &s->block, f);

	if (got < 0)
		disk_abandon(&s->to);
	if (got == 0)
		end_making(s);
	if (got <= 0)
		return got;
	give(s, s->block.examples++, 1, b);
	if (is_full(&s->block))
		write_block(s);
	return 1;
}

/* ---- reading one ---- */

/* The cache is damaged: read the input, from the same record on. */
static int
fall_back(struct state *s, const struct fail *why, struct fail *f)
{
	const uint64_t passed = s->from.records;

	log_warn("%s; reading %s instead", why->text, s->files[0]);
	unlink(s->path);
	s->text = s->format->open(s->want, s->files, f);
	if (!s->text)
		return -1;
	for (uint64_t i = 0; i < passed; i++) {
		const int got = s->format->read(s->text, NULL, f);

		if (got < 0)
			return -1;
		if (got == 0)
			return fail(f, FAIL_DATA, "%s: it has fewer records "
				    "than it had", s->files[0]);
	}
	return 0;
}

/*
 * The next block: right into the batch, for the reader to count, if all of its
 * records are wanted there, and else into ours.  How many there are; or -1.
 */
static int64_t
read_block(struct state *s, struct batch *b, size_t most, struct fail *f)
{
	const int64_t records = cache_file_peek(&s->from, f);
	const bool whole = b && records <= (int64_t)most;

	if (records <= 0)
		return records;
	s->used = 0;
	batch_reset(&s->block);
	if (cache_file_next(&s->from, whole ? b : &s->block, f) != 0)
		return -1;
	if (whole)
		b->examples -= (size_t)records;
	return records;
}

static int
read_kept(struct state *s, struct batch *b, size_t most, struct fail *f)
{
	int64_t got = (int64_t)(s->block.examples - s->used);
	struct fail why;

	if (got == 0) {
		got = read_block(s, b, most, &why);
		if (got < 0)
			return fall_back(s, &why, f) != 0 ? -1 :
			       s->format->read(s->text, b, f);
	}
	if (s->used == s->block.examples)
		return (int)got;
	got = got < (int64_t)most ? got : (int64_t)most;
	give(s, s->used, (size_t)got, b);
	s->used += (size_t)got;
	return (int)got;
}

/* ---- as a format ---- */

static int
cache_read_some(void *state, struct batch *b, size_t most, struct fail *f)
{
	struct state *s = state;

	if (!s->text)
		return read_kept(s, b, most, f);
	if (s->to.fd >= 0)
		return read_and_keep(s, b, f);
	return s->format->read(s->text, b, f);
}

static int
cache_read(void *state, struct batch *b, struct fail *f)
{
	return cache_read_some(state, b, 1, f);
}

static void
cache_close(void *state)
{
	struct state *s = state;

	if (s->text)
		s->format->close(s->text);
	disk_abandon(&s->to);
	cache_file_close(&s->from);
	batch_release(&s->block);
	text_release(&s->room);
	free(s->path);
	free(s);
}

/* Is there a cache, and is it of what is to be read? */
static bool
find(struct state *s)
{
	char way[HASH_TEXT];
	struct fail why;

	if (!stat_files(s, &s->key)) {
		log_info("%s: not a plain file, and not kept in a cache",
			 s->files[0]);
		return false;
	}
	hash_way(s, way);
	memcpy(s->key.way, way, sizeof(s->key.way));
	s->path = cache_path(s, way);

	const int got = cache_file_open(&s->from, s->path, &s->key, &why);

	if (got > 0)
		return true;
	if (got < 0) {
		log_warn("%s; reading %s instead", why.text, s->files[0]);
		unlink(s->path);
	}
	cache_file_close(&s->from);
	return false;
}

static const struct format format_cache = {
	.name = "cache", .read = cache_read, .read_some = cache_read_some,
	.close = cache_close
};

void *
cache_open(struct cache *cache, const struct format **format,
	   const struct want *want, char *const *files, struct fail *f)
{
	struct state *s = mem_alloc(1, sizeof(*s));

	*s = (struct state){
		.cache = cache, .format = *format, .want = want,
		.files = files, .from.fd = -1, .to.fd = -1,
		.count = (*format)->pairs && want->label ? 2 : 1
	};
	*format = &format_cache;
	batch_begin(&s->block, want->inputs, want->count, want->label);
	if (find(s))
		return s;
	s->text = s->format->open(want, files, f);
	if (!s->text) {
		cache_close(s);
		return NULL;
	}
	if (s->path)
		begin_making(s);
	return s;
}
