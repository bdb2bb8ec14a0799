#include "data/split.h"

#include "base/hash.h"
#include "base/mem.h"
#include "data/format.h"
#include "data/source.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SPLITS	((uint64_t)1 << 20)

void
splits_release(struct splits *s)
{
	for (size_t i = 0; i < s->files; i++) {
		free(s->file[i].name);
		free(s->file[i].label);
	}
	free(s->file);
	free(s->split);
	*s = (struct splits){ 0 };
}

/* A list of names, owned. */
struct names {
	char **name;
	size_t count;
};

static void
add_name(struct names *n, const char *name)
{
	n->name = mem_resize(n->name, n->count + 1, sizeof(*n->name));
	n->name[n->count++] = mem_text(name);
}

static int
add_matches(struct names *n, const char *pattern, struct fail *f)
{
	glob_t found;
	/* Without GLOB_ERR, files in an unreadable folder would be left out. */
	const int got = glob(pattern, GLOB_ERR, NULL, &found);

	for (size_t i = 0; got == 0 && i < found.gl_pathc; i++)
		add_name(n, found.gl_pathv[i]);
	if (got == 0 || got == GLOB_NOMATCH)
		globfree(&found);
	if (got == 0)
		return 0;
	return fail(f, FAIL_NOINPUT, "%s: %s", pattern, got == GLOB_NOMATCH ?
		    "no file fits it" : "a folder cannot be read");
}

static int
add_input(struct names *n, const char *input, struct fail *f)
{
	struct stat st;

	if (strcmp(input, "-") == 0 || strncmp(input, "pipe:", 5) == 0)
		return fail(f, FAIL_USAGE, "%s: the coordinator's data are "
			    "read more than once, and by the workers: they "
			    "must be files", input);
	if (stat(input, &st) != 0 && strpbrk(input, "*?["))
		return add_matches(n, input, f);
	add_name(n, input);
	return 0;
}

/* Add the first and the last bytes of an open file to its hash.  Of a file that
   shrinks meanwhile, those are hashed that are there. */
static int
hash_ends(struct split_file *to, int fd, off_t size)
{
	char *bytes = mem_alloc(SPLIT_ENDS, 1);
	const off_t last = size > SPLIT_ENDS ? size - SPLIT_ENDS : 0;
	ssize_t got = pread(fd, bytes, SPLIT_ENDS, 0);

	for (int i = 0; i < 2 && got >= 0; i++) {
		to->ends = hash_chain(to->ends, bytes, (size_t)got);
		got = pread(fd, bytes, SPLIT_ENDS, last);
	}
	free(bytes);
	return got < 0 ? -1 : 0;
}

/* Add the bytes of a file, which may be no folder or device, and its ends. */
static int
add_file(struct split_file *to, const char *name, struct fail *f)
{
	struct stat st;
	int fd, hashed;

	if (stat(name, &st) != 0)
		return fail_sys(f, FAIL_NOINPUT, "%s", name);
	if (!S_ISREG(st.st_mode))
		return fail(f, FAIL_NOINPUT, "%s: it is not a plain "
					     "file", name);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	hashed = fd < 0 ? -1 : hash_ends(to, fd, st.st_size);
	if (hashed < 0)
		fail_sys(f, FAIL_NOINPUT, "%s", name);
	if (fd >= 0)
		close(fd);
	to->bytes += (uint64_t)st.st_size;
	return hashed;
}

/* Set *size to the bytes of a file that can be cut; UINT64_MAX: it cannot. */
static int
size_to_split(const struct split_file *file, const struct format *format,
	      uint64_t *size, struct fail *f)
{
	struct source *source;

	*size = UINT64_MAX;
	if (!format->seek)
		return 0;
	source = source_open(file->name, NULL, f);
	if (!source)
		return -1;
	if (source_plain(source))
		*size = file->bytes;
	source_close(source);
	return 0;
}

static int
add_splits(struct splits *s, uint64_t size, uint64_t each, struct fail *f)
{
	const uint64_t n = size == UINT64_MAX || size <= each ? 1 :
		(size - 1) / each + 1;
	struct split *to;

	if (n > MAX_SPLITS - s->count)
		return fail(f, FAIL_USAGE, "%s: there would be more than %llu "
			    "splits: make them larger",
			    s->file[s->files - 1].name,
			    (unsigned long long)MAX_SPLITS);
	s->split = mem_resize(s->split, s->count + n, sizeof(*s->split));
	to = s->split + s->count;
	s->count += n;
	for (uint64_t i = 0; i < n; i++)
		to[i] = (struct split){ s->files - 1, i * each,
					(i + 1) * each };
	if (n == 1)
		to->end = UINT64_MAX;
	else
		to[n - 1].end = size;
	return 0;
}

static int
split_all(struct splits *s, const struct names *n,
	  const struct record_range_format *how, bool labelled, uint64_t each,
	  struct fail *f)
{
	struct split_file *file;
	uint64_t size;

	for (size_t i = 0; i < n->count; i++) {
		const char *name = n->name[i];
		const struct format *format = how->name ?
			format_find(how->name) : format_of(name);
		const bool two = format->pairs && labelled;

		if (two && i + 1 == n->count)
			return fail(f, FAIL_NOINPUT, "%s: no file of labels "
				    "follows it, which %s needs", name,
				    format->name);
		s->file = mem_resize(s->file, s->files + 1, sizeof(*s->file));
		file = &s->file[s->files++];
		*file = (struct split_file){
			.name = mem_text(name),
			.label = two ? mem_text(n->name[++i]) : NULL
		};
		if (add_file(file, name, f) < 0 ||
		    (two && add_file(file, file->label, f) < 0) ||
		    size_to_split(file, format, &size, f) < 0 ||
		    add_splits(s, size, each, f) < 0)
			return -1;
	}
	return 0;
}

int
splits_cut(struct splits *s, char *const *inputs, size_t count,
	   const struct record_range_format *how, bool labelled, uint64_t size,
	   struct fail *f)
{
	struct names n = { 0 };
	int got = 0;

	*s = (struct splits){ 0 };
	if (how->name && !format_find(how->name))
		return format_unknown(how->name, f);
	for (size_t i = 0; i < count && got == 0; i++)
		got = add_input(&n, inputs[i], f);
	if (got == 0)
		got = split_all(s, &n, how, labelled, size, f);
	for (size_t i = 0; i < n.count; i++)
		free(n.name[i]);
	free(n.name);
	return got;
}
