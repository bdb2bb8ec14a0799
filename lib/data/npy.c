#include "data/array.h"
#include "data/feature_set.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED	200		/* characters of names in a message */

static void *
npy_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	return array_pair_open(want, files, npy_header_read, f);
}

const struct format format_npy = {
	.name = "npy", .suffix = ".npy", .pairs = true, .open = npy_open,
	.read = array_pair_read, .close = array_pair_close,
};

/*
 * An archive that has an array for each input and for the label, by name.  The
 * arrays follow one another in the file, so all are held in memory.
 */
struct npz {
	struct array *array;	/* of each input, then of the label; name NULL:
				   no array is read for it */
	size_t count;
};

static void
npz_close(void *state)
{
	struct npz *n = state;

	for (size_t i = 0; i < n->count; i++)
		array_release(&n->array[i]);
	free(n->array);
	free(n);
}

static const struct input *
input_of(const struct read_spec *want, size_t i)
{
	return i < want->count ? &want->inputs[i] : want->label;
}

/* Is a member the array of that name?  NumPy calls it "NAME.npy". */
static bool
is_array(const char *member, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(member, name, n) == 0 &&
	       (member[n] == '\0' || strcmp(member + n, ".npy") == 0);
}

/* Load a member, if it is wanted. */
static int
load(struct npz *n, const struct read_spec *want, struct source *s,
     const char *member, struct fail *f)
{
	for (size_t i = 0; i < n->count; i++) {
		const struct input *in = input_of(want, i);
		struct array *a = &n->array[i];

		if (!read_spec_reads(want, in) || !is_array(member, in->name))
			continue;
		if (a->name)
			return fail(f, FAIL_DATA, "%s: %s is in it twice",
				    source_name(s), in->name);
		a->name = mem_alloc(strlen(source_name(s)) +
				    strlen(in->name) + 2, 1);
		sprintf(a->name, "%s:%s", source_name(s), in->name);
		return array_load(a, s, f) || array_begin(a, in, f) ? -1 : 0;
	}
	return 0;
}

/* Add the name of a member to a list, as far as a message has room. */
static void
list(struct text *names, const char *member)
{
	char shown[FEATURE_SET_SHOWN];
	const size_t size = strlen(member);
	const bool suffix = size > 4 && strcmp(member + size - 4, ".npy") == 0;

	if (names->size > LISTED)
		return;
	text_add(names, "%s%s", names->size > 0 ? ", " : "; there are: ",
		 feature_set_shown(member, suffix ? size - 4 : size, shown));
	if (names->size > LISTED)
		text_add(names, ", ...");
}

static int
check(const struct npz *n, const struct read_spec *want, const char *file,
      const char *names, struct fail *f)
{
	const struct array *first = NULL;

	for (size_t i = 0; i < n->count; i++) {
		const struct array *a = &n->array[i];
		const struct input *in = input_of(want, i);

		if (!read_spec_reads(want, in))
			continue;	/* its array has no name */
		if (!a->name)
			return fail(f, FAIL_DATA, "%s: no array %s (%s) in "
				    "it%s", file, in->name, in->where, names);
		first = first ? first : a;
		if (a->rows != first->rows)
			return fail(f, FAIL_DATA, "%s: %llu records, but %s "
				    "has %llu", a->name,
				    (unsigned long long)a->rows,
				    first->name,
				    (unsigned long long)first->rows);
	}
	return 0;
}

static int
load_all(struct npz *n, const struct read_spec *want, struct source *s,
	 struct fail *f)
{
	struct text names = { 0 };
	const char *member;
	int got;

	while ((got = source_member(s, &member, f)) > 0) {
		list(&names, member);
		if (load(n, want, s, member, f) != 0) {
			got = -1;
			break;
		}
	}
	if (got == 0)
		got = check(n, want, source_name(s),
			    names.size > 0 ? names.data : "", f);
	text_release(&names);
	return got;
}

static void *
npz_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	struct npz *n = mem_alloc(1, sizeof(*n));
	struct source *s = source_open_archive(files[0], want->commands, f);

	n->count = want->count + (want->label != NULL);
	n->array = mem_alloc(n->count, sizeof(*n->array));

	const bool good = s && load_all(n, want, s, f) == 0;

	source_close(s);
	if (good)
		return n;
	npz_close(n);
	return NULL;
}

static int
npz_read(void *state, struct batch *b, struct fail *f)
{
	struct npz *n = state;
	struct fail second;
	int all = 1;

	/* Read the other arrays after a bad value, too: they stay in step. */
	for (size_t i = 0; i < n->count; i++) {
		struct feature *to = !b ? NULL :
			i < b->features ? &b->feature[i] : &b->label;
		const size_t at = b ? b->examples : 0;
		int got = 1;

		if (n->array[i].name)
			got = array_next(&n->array[i], to, at,
					 all < 0 ? &second : f);
		else if (to)
			read_spec_unread(to, at);
		if (got < all)
			all = got;
	}
	return all;
}

const struct format format_npz = {
	.name = "npz", .suffix = ".npz", .open = npz_open, .read = npz_read,
	.close = npz_close,
};
