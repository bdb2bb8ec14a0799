/*
 * source - read a model file and the files that it names, once, to be carried
 * along.
 */
#include "model/model.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"
#include "model/lexer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES	((size_t)1 << 28)
#define STANDARD	"standard input"	/* its name in messages */

static struct model_file *
add_file(struct model_source *source, const char *name)
{
	source->file = mem_resize(source->file, source->count + 1,
				  sizeof(*source->file));
	source->file[source->count] = (struct model_file){
		.name = mem_text(name)
	};
	return &source->file[source->count++];
}

/* Remove the byte order mark that some editors put in front of a text. */
static void
drop_mark(struct model_file *file)
{
	const size_t mark = text_mark(file->text, file->size);

	if (mark == 0)
		return;
	file->size -= mark;
	memmove(file->text, file->text + mark, file->size + 1);
}

static int
read_file(struct model_file *file, const char *path, size_t limit,
	  struct fail *f)
{
	const bool standard = strcmp(path, "-") == 0;
	FILE *stream = standard ? stdin : fopen(path, "r");
	size_t room = 4096, n = 1;

	if (!stream)
		return fail_sys(f, FAIL_NOINPUT, "cannot open %s", path);
	file->text = mem_alloc(room, 1);
	while (n > 0 && file->size <= limit) {
		if (file->size + 1 == room) {
			room *= 2;
			file->text = mem_resize(file->text, room, 1);
		}
		n = fread(file->text + file->size, 1, room - file->size - 1,
			  stream);
		file->size += n;
	}
	file->text[file->size] = '\0';

	const bool bad = ferror(stream);

	if (bad)
		fail_sys(f, FAIL_NOINPUT, "cannot read %s", file->name);
	else if (file->size > limit)
		fail(f, FAIL_CONFIG, "%s is larger than %zu bytes",
		     standard ? file->name : path, limit);
	if (!standard)
		fclose(stream);
	drop_mark(file);
	return bad || file->size > limit ? -1 : 0;
}

/* Check that a file is in a folder or below it, once all links are followed. */
static int
check_inside(const char *folder, const char *name, const char *path,
	     struct fail *f)
{
	char *from = realpath(folder, NULL), *to = realpath(path, NULL);
	const size_t n = from && strcmp(from, "/") != 0 ? strlen(from) : 0;
	int status = 0;

	if (!from || !to)
		status = fail_sys(f, FAIL_NOINPUT, "cannot open %s", path);
	else if (strncmp(from, to, n) != 0 || to[n] != '/')
		status = fail(f, FAIL_DENIED, "vocab_file=%s is not in the "
			      "model's folder; --vocab-anywhere takes it from "
			      "where it is", name);
	free(from);
	free(to);
	return status;
}

/*
 * Read a file that the model names.  A name without a leading slash is relative
 * to the model's folder.  Others are refused by default: the model may come
 * from somebody else, and the files that it names are sent to other machines
 * and stored in checkpoints.
 */
static int
read_named(struct model_source *source, const char *model, const char *name,
	   bool anywhere, struct fail *f)
{
	const char *slash = strrchr(model, '/');
	const size_t n = slash ? (size_t)(slash - model) + 1 : 0;
	char *folder = n > 0 ? mem_text_n(model, n) : mem_text("./");
	char *path = mem_alloc(n + strlen(name) + 1, 1);
	int bad = 0;

	if (*name != '/')
		memcpy(path, model, n);
	strcat(path, name);
	if (!anywhere)
		bad = check_inside(folder, name, path, f);
	if (!bad)
		bad = read_file(add_file(source, name), path, FILE_BYTES, f);
	free(folder);
	free(path);
	return bad;
}

/* Replace each ${NAME} in the model by its definition. */
static int
expand(struct model_file *file, struct definitions *definitions,
       struct fail *f)
{
	struct definitions none = { 0 };
	struct text text = { 0 };

	if (definitions_expand(definitions ? definitions : &none, file->name,
			       file->text, file->size, MODEL_BYTES, &text,
			       f) < 0) {
		text_release(&text);
		return -1;
	}
	text_add_bytes(&text, "", 0);
	free(file->text);
	file->text = text.data;
	file->size = text.size;
	return 0;
}

static void
keep_values(struct model_source *source, const struct definitions *d)
{
	source->values = d ? d->count : 0;
	source->value = mem_alloc(source->values, sizeof(*source->value));
	for (size_t i = 0; i < source->values; i++)
		source->value[i] = (struct model_value){
			mem_text(d->list[i].name), mem_text(d->list[i].value)
		};
}

static int
read_all(struct model_source *source, const char *path,
	 struct definitions *definitions, bool anywhere, struct fail *f)
{
	struct statements all = { 0 };
	struct names known = { 0 };
	const char *shown = strcmp(path, "-") == 0 ? STANDARD : path;
	int bad = read_file(add_file(source, shown), path, MODEL_BYTES, f) ||
		  expand(&source->file[0], definitions, f) ||
		  statements_read(&all, shown, source->file[0].text, f);

	for (size_t i = 0; !bad && i < all.count; i++) {
		struct settings *s = &all.list[i].settings;
		const char *name = settings_text(s, "vocab_file");

		if (!name ||
		    names_get(&known, name, strlen(name)) != NAMES_NONE)
			continue;
		names_put(&known, name, strlen(name), i);
		if (!*name)
			bad = fail(f, FAIL_CONFIG, "vocab_file= names no "
				   "file");
		else if (source->count == MODEL_FILES)
			bad = fail(f, FAIL_CONFIG, "a model has at most %d "
				   "files, itself included", MODEL_FILES);
		else
			bad = read_named(source, path, name, anywhere, f);
		if (bad)
			fail_at(f, "%s", s->where);
	}
	statements_release(&all);
	names_release(&known);
	return bad ? -1 : 0;
}

int
model_source_read(struct model_source *source, const char *path,
		  struct definitions *definitions, bool anywhere,
		  struct fail *f)
{
	*source = (struct model_source){ 0 };
	keep_values(source, definitions);
	if (!read_all(source, path, definitions, anywhere, f))
		return 0;
	model_source_release(source);
	return -1;
}

void
model_source_release(struct model_source *source)
{
	for (size_t i = 0; i < source->count; i++) {
		free(source->file[i].name);
		free(source->file[i].text);
	}
	for (size_t i = 0; i < source->values; i++) {
		free(source->value[i].name);
		free(source->value[i].value);
	}
	free(source->value);
	free(source->file);
	*source = (struct model_source){ 0 };
}

/*
 * Sizes are hashed before texts, so that no two lists of files give the same
 * bytes.  The path of the model itself is left out.
 */
void
model_source_hash(const struct model_source *source, char text[33])
{
	struct hash *h = hash_new();

	for (size_t i = 0; i < source->count; i++) {
		const struct model_file *file = &source->file[i];
		const char *name = i == 0 ? "" : file->name;
		char sizes[64];
		const int n = snprintf(sizes, sizeof(sizes), "%zu %zu\n",
				       strlen(name), file->size);

		hash_add(h, sizes, (size_t)n);
		hash_add(h, name, strlen(name));
		hash_add(h, file->text, file->size);
	}
	hash_text(h, text);
	hash_free(h);
}
