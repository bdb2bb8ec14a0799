#include "data/cache_key.h"

#include "base/hash.h"
#include "store/disk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct cache_input
cache_input(const char *folder, const struct format *format,
	    const struct read_spec *want, char *const *files)
{
	return (struct cache_input){
		.folder = folder, .format = format, .want = want,
		.files = files,
		.count = format->pairs && want->label ? 2 : 1
	};
}

static void
add_text(struct hash *h, const char *text)
{
	hash_add(h, text, strlen(text) + 1);
}

/* Hash every property of an input that changes what a record gives it. */
static void
add_input(struct hash *h, const struct input *in)
{
	const uint64_t numbers[] = {
		in != NULL, in ? in->kind : 0, in ? (uint64_t)in->ragged : 0,
		in ? in->rows : 0, in ? input_width(in) : 0,
		in ? (uint64_t)in->binary : 0, in ? in->column_count : 0,
		in ? (uint64_t)(unsigned char)in->separator : 0,
		in ? (uint64_t)in->weighs : 0,
		in ? (uint64_t)in->zero_based : 0, in ? in->boundary_count : 0,
		in ? (uint64_t)in->crossed : 0,
		in ? (uint64_t)(in->pad != NULL) : 0
	};

	hash_add(h, numbers, sizeof(numbers));
	if (!in)
		return;
	add_text(h, in->name);
	for (size_t i = 0; i < in->column_count; i++)
		add_text(h, in->columns[i]);
	add_text(h, in->pad ? in->pad : "");
	hash_add(h, in->boundaries,
		 in->boundary_count * sizeof(*in->boundaries));
	if (in->lookup)
		lookup_hash(in->lookup, h);
}

/* Hash how the files are read.  In a folder of caches files of the same name
   can meet, so there the paths are hashed, too. */
static void
hash_spec(const struct cache_input *in, char text[HASH_TEXT])
{
	const struct read_spec *w = in->want;
	const uint64_t numbers[] = { w->count, w->no_header };
	struct hash *h = hash_new();

	add_text(h, in->format->name);
	hash_add(h, numbers, sizeof(numbers));
	for (size_t i = 0; i < w->count; i++)
		add_input(h, &w->inputs[i]);
	add_input(h, w->label);
	add_input(h, w->apart);
	for (size_t i = 0; *in->folder && i < in->count; i++) {
		char *path = realpath(in->files[i], NULL);

		add_text(h, path ? path : "");
		free(path);
	}
	hash_text(h, text);
	hash_free(h);
}

/* Take the present sizes and times of the files. */
static bool
stat_files(struct cache_key *key, const struct cache_input *in)
{
	struct stat st;

	for (size_t i = 0; i < in->count; i++) {
		if (stat(in->files[i], &st) != 0 || !S_ISREG(st.st_mode))
			return false;
		key->file[i] = (struct cache_stat){
			(uint64_t)st.st_size,
			{ st.st_mtim.tv_sec, st.st_mtim.tv_nsec },
			{ st.st_ctim.tv_sec, st.st_ctim.tv_nsec }
		};
	}
	return true;
}

bool
cache_key_make(struct cache_key *key, const struct cache_input *in)
{
	char way[HASH_TEXT];

	*key = (struct cache_key){ 0 };
	if (!stat_files(key, in))
		return false;
	hash_spec(in, way);
	memcpy(key->way, way, sizeof(key->way));
	return true;
}

bool
cache_key_holds(const struct cache_key *key, const struct cache_input *in)
{
	struct cache_key now = *key;

	return stat_files(&now, in) && memcmp(&now, key, sizeof(now)) == 0;
}

/*
 * "FOLDER/NAME-WAY.pscache"; or, beside the input, ".NAME-WAY.pscache": the
 * point keeps it out of patterns for inputs, such as "*".
 */
char *
cache_key_path(const struct cache_key *key, const struct cache_input *in,
	       const char *which)
{
	const char *file = in->files[0], *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;

	if (*in->folder)
		return disk_path("%s/%s-%.16s%s.pscache", in->folder, name,
				 key->way, which);
	return disk_path("%.*s.%s-%.16s%s.pscache", (int)(name - file), file,
			 name, key->way, which);
}
