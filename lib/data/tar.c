/*
 * Samples of an archive, as WebDataset writes them: members that follow each
 * other and have the same name up to its first point are one record.  The rest
 * of the name, after that point, has the column and its form: "0017.x.npy" is
 * the column x of record 0017, an array of NumPy.
 */
#include "data/array.h"
#include "data/columns.h"
#include "data/feature_set.h"
#include "data/number.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER_MAX	((size_t)1 << 30)
#define STEP		256	/* bytes by which a buffer grows, at least */

enum content { TEXT, ARRAY, OBJECT };

static const struct content_kind {
	const char *suffix;
	enum content content;
} kinds[] = {
	{ "npy", ARRAY }, { "json", OBJECT }, { "cls", TEXT }, { "txt", TEXT }
};

#define KINDS	(sizeof(kinds) / sizeof(*kinds))

/* A member that each sample has, with the bytes of the present sample. */
struct member {
	char *extension;
	enum content content;
	bool wanted;		/* some column of it is read */
	size_t times;		/* how often this sample has it */
	unsigned char *bytes;	/* with NUMBER_SLACK zeros after them */
	size_t size, room;
	struct npy head;	/* of an ARRAY */
	json_t *object;		/* of an OBJECT */
};

struct tar {
	struct source *source;
	char *next;		/* name of the member at which the archive
				   stands; NULL: none */
	char *sample;		/* name of the present sample: the common part
				   of its members' names */
	uint64_t record;	/* number of the sample, from 1 */
	struct member *member;	/* those of the first sample */
	size_t members, room;
	struct names extensions;	/* the number of each member */
	struct columns columns;
	size_t *from, from_room;	/* for each column: its member */
	char *word;		/* a string of JSON, with slack */
	size_t word_room;
	bool pending;		/* the first sample is loaded, not read yet */
};

static void
tar_close(void *state)
{
	struct tar *t = state;

	source_close(t->source);
	for (size_t i = 0; i < t->members; i++) {
		free(t->member[i].extension);
		free(t->member[i].bytes);
		json_decref(t->member[i].object);
	}
	free(t->member);
	names_release(&t->extensions);
	columns_release(&t->columns);
	free(t->from);
	free(t->word);
	free(t->next);
	free(t->sample);
	free(t);
}

/* ---- members ---- */

/* Return the part after the first point of a name, without its folder; NULL:
   the member belongs to no sample. */
static const char *
extension_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	const char *point = strchr(base, '.');

	return point && point > base && point[1] ? point + 1 : NULL;
}

/* Go to the next member that belongs to a sample. */
static int
next_member(struct tar *t, struct fail *f)
{
	const char *name;
	int got;

	do {
		got = source_member(t->source, &name, f);
	} while (got > 0 && !extension_of(name));
	free(t->next);
	t->next = got > 0 ? mem_text(name) : NULL;
	return got < 0 ? -1 : 0;
}

/* Return the kind that the last part of an extension names, or NULL. */
static const struct content_kind *
kind_of(const char *extension)
{
	const char *point = strrchr(extension, '.');

	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(point ? point + 1 : extension,
			   kinds[i].suffix) == 0)
			return &kinds[i];
	return NULL;
}

static struct member *
find_member(const struct tar *t, const char *extension)
{
	const size_t i = names_get(&t->extensions, extension,
				   strlen(extension));

	return i == NAMES_NONE ? NULL : &t->member[i];
}

static struct member *
add_member(struct tar *t, const char *extension)
{
	const struct content_kind *kind = kind_of(extension);

	t->member = mem_grow(t->member, t->members, &t->room,
			     sizeof(*t->member));
	t->member[t->members] = (struct member){
		.extension = mem_text(extension),
		.content = kind ? kind->content : TEXT, .wanted = true
	};
	names_put(&t->extensions, extension, strlen(extension), t->members);
	return &t->member[t->members++];
}

static int
load(struct member *m, struct source *s, struct fail *f)
{
	size_t part, got;

	m->size = 0;
	do {
		m->bytes = mem_grow(m->bytes, m->size + STEP + NUMBER_SLACK,
				    &m->room, 1);
		part = m->room - m->size - NUMBER_SLACK;
		if (source_copy(s, m->bytes + m->size, part, &got, f) != 0)
			return -1;
		m->size += got;
		if (m->size > MEMBER_MAX)
			return fail(f, FAIL_DATA, "%s: a member .%s is larger "
				    "than %zu GiB", source_name(s),
				    m->extension, MEMBER_MAX >> 30);
	} while (got == part);
	memset(m->bytes + m->size, 0, NUMBER_SLACK);
	return 0;
}

/*
 * Load the wanted members of the next sample, or pass over it.  The first
 * sample adds the members.  Return 1, 0 if there are no more samples, or -1.
 */
static int
next_sample(struct tar *t, bool pass, struct fail *f)
{
	size_t length;

	if (!t->next)
		return 0;
	length = (size_t)(extension_of(t->next) - t->next);
	free(t->sample);
	t->sample = mem_text(t->next);
	t->sample[length - 1] = '\0';
	t->record++;
	for (size_t i = 0; i < t->members; i++)
		t->member[i].times = 0;
	while (t->next && strncmp(t->next, t->sample, length - 1) == 0 &&
	       extension_of(t->next) == t->next + length) {
		struct member *m = find_member(t, t->next + length);

		if (!m && t->columns.count == 0)
			m = add_member(t, t->next + length);
		if (m && m->wanted && !pass && m->times++ == 0 &&
		    load(m, t->source, f) != 0)
			return -1;
		if (next_member(t, f) != 0)
			return -1;
	}
	return 1;
}

/* ---- the content of members ---- */

static int
read_object(struct member *m, struct fail *f)
{
	json_error_t error;

	json_decref(m->object);
	m->object = json_read((const char *)m->bytes, m->size,
			      JSON_REJECT_DUPLICATES, &error);
	if (!m->object)
		return fail(f, FAIL_DATA, "%s", error.text);
	return json_is_object(m->object) ? 0 :
		fail(f, FAIL_DATA, "it is not an object of JSON");
}

static int
read_array(struct member *m, struct fail *f)
{
	size_t size;

	if (npy_read(&m->head, m->bytes, m->size, f) != 0)
		return -1;
	size = shape_size(m->head.shape) * m->head.item;
	return m->size - m->head.offset == size ? 0 :
		fail(f, FAIL_DATA, "%zu bytes of numbers instead of %zu",
		     m->size - m->head.offset, size);
}

/* Take off the line end of a text. */
static int
read_text(struct member *m)
{
	while (m->size > 0 && (m->bytes[m->size - 1] == '\n' ||
			       m->bytes[m->size - 1] == '\r'))
		m->bytes[--m->size] = '\0';
	return 0;
}

/* Parse the wanted members; the sample must have each of them once. */
static int
read_members(struct tar *t, struct fail *f)
{
	for (size_t i = 0; i < t->members; i++) {
		struct member *m = &t->member[i];
		int got;

		if (!m->wanted)
			continue;
		if (m->times != 1)
			return fail(f, FAIL_DATA, "%s member .%s",
				    m->times ? "more than one" : "no",
				    m->extension);
		got = m->content == ARRAY ? read_array(m, f) :
			m->content == OBJECT ? read_object(m, f) :
			read_text(m);
		if (got != 0)
			return fail_at(f, ".%s", m->extension);
	}
	return 0;
}

static int
fill_array(const struct member *m, struct feature *to, size_t at,
	   size_t *count, struct fail *f)
{
	const struct input *in = to->input;

	if (in->kind == INPUT_STRING || in->kind == INPUT_SPARSE)
		return fail(f, FAIL_DATA, "%s (%s) cannot be fed from an "
			    "array of numbers", in->name, in->where);
	*count = shape_size(m->head.shape);
	return array_fill(&m->head, to, at, *count, m->bytes + m->head.offset,
			  f);
}

static int
fill_string(struct tar *t, const char *text, size_t size, struct feature *to,
	    size_t at, size_t *count, struct fail *f)
{
	t->word = mem_grow(t->word, size + NUMBER_SLACK, &t->word_room, 1);
	memcpy(t->word, text, size);
	memset(t->word + size, 0, NUMBER_SLACK);
	return feature_set_cut(to, at, t->word, size, count, f);
}

static int fill_value(struct tar *, const json_t *, struct feature *,
		      size_t at, size_t *count, struct fail *);

static int
fill_list(struct tar *t, const json_t *list, struct feature *to, size_t at,
	  size_t *count, struct fail *f)
{
	const size_t most = to->input->pad ? input_width(to->input) : SIZE_MAX;
	size_t n;

	*count = 0;
	for (size_t i = 0; i < json_array_size(list) && *count < most;
	     i++, *count += n)
		if (fill_value(t, json_array_get(list, i), to, at + *count, &n,
			       f) != 0)
			return -1;
	return 0;
}

/* Numbers are written as text again, so that they are checked as in a text. */
static int
fill_value(struct tar *t, const json_t *value, struct feature *to, size_t at,
	   size_t *count, struct fail *f)
{
	char number[TEXT_NUMBER];

	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_ARRAY:
		return fill_list(t, value, to, at, count, f);
	case JSON_STRING:
		return fill_string(t, json_string_value(value),
				   json_string_length(value), to, at, count,
				   f);
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
		break;
	case JSON_REAL:
		text_number(json_real_value(value), number);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		snprintf(number, sizeof(number), "%d", json_is_true(value));
		break;
	default:
		return fail(f, FAIL_DATA, !value ? "it is missing" :
			    json_is_null(value) ? "it is null" :
			    "it is an object");
	}
	return fill_string(t, number, strlen(number), to, at, count, f);
}

/* A column_fill. */
static int
fill_column(void *state, size_t column, struct feature *to, size_t at,
	    size_t *count, struct fail *f)
{
	struct tar *t = state;
	struct member *m = &t->member[t->from[column]];

	switch (m->content) {
	case ARRAY:
		return fill_array(m, to, at, count, f);
	case OBJECT:
		return fill_value(t, json_object_get(m->object,
						     t->columns.name[column]),
				  to, at, count, f);
	default:
		return feature_set_cut(to, at, (char *)m->bytes, m->size, count,
				       f);
	}
}

/* ---- columns ---- */

static void
add_column(struct tar *t, const char *name, size_t member)
{
	t->from = mem_grow(t->from, t->columns.count, &t->from_room,
			   sizeof(*t->from));
	t->from[t->columns.count] = member;
	columns_add(&t->columns, name);
}

/* Add the columns of a member: the names of an object, or the one that its
   extension names, without the kind. */
static void
add_columns(struct tar *t, size_t member)
{
	const struct member *m = &t->member[member];
	char *name, *point;
	const char *key;
	json_t *value;

	if (m->content == OBJECT) {
		json_object_foreach(m->object, key, value)
			add_column(t, key, member);
		return;
	}
	name = mem_text(m->extension);
	point = strrchr(name, '.');
	if (point && kind_of(name))
		*point = '\0';
	add_column(t, name, member);
	free(name);
}

static void
mark_wanted(struct tar *t, const struct feed *feed)
{
	for (size_t i = 0; i < feed->count; i++)
		t->member[t->from[feed->column[i]]].wanted = true;
}

static int
plan(struct tar *t, const struct read_spec *want, struct fail *f)
{
	for (size_t i = 0; i < t->members; i++)
		add_columns(t, i);
	if (columns_plan(&t->columns, want, false, f) != 0)
		return -1;
	for (size_t i = 0; i < t->members; i++)
		t->member[i].wanted = false;
	for (size_t i = 0; i < t->columns.feeds; i++)
		mark_wanted(t, &t->columns.feed[i]);
	mark_wanted(t, &t->columns.label);
	return 0;
}

static int
tar_fail(const struct tar *t, struct fail *f)
{
	char shown[FEATURE_SET_SHOWN];

	return fail_at(f, "%s: record %" PRIu64 " (%s)",
		       source_name(t->source), t->record,
		       feature_set_shown(t->sample, strlen(t->sample), shown));
}

/* Load the first sample, which decides which columns there are. */
static int
begin(struct tar *t, const struct read_spec *want, const char *file,
      struct fail *f)
{
	t->source = source_open_archive(file, want->commands, f);
	if (!t->source || next_member(t, f) != 0)
		return -1;

	const int got = next_sample(t, false, f);

	if (got == 0)
		return fail(f, FAIL_NOINPUT, "%s: it has no records: no "
			    "member is called NAME.EXTENSION", file);
	if (got < 0)
		return -1;
	t->pending = true;
	return read_members(t, f) == 0 && plan(t, want, f) == 0 ? 0 :
		tar_fail(t, f);
}

static void *
tar_open(const struct read_spec *want, char *const *files, struct fail *f)
{
	struct tar *t = mem_alloc(1, sizeof(*t));

	if (begin(t, want, files[0], f) == 0)
		return t;
	tar_close(t);
	return NULL;
}

static int
fill(struct tar *t, struct batch *b, struct fail *f)
{
	const struct columns *c = &t->columns;

	for (size_t i = 0; i < c->feeds; i++)
		if (columns_fill(c, &c->feed[i], &b->feature[i], b->examples,
				 fill_column, t, f) != 0)
			return -1;
	return !c->label.input ? 0 :
		columns_fill(c, &c->label, &b->label, b->examples, fill_column,
			     t, f);
}

static int
tar_read(void *state, struct batch *b, struct fail *f)
{
	struct tar *t = state;
	const bool pending = t->pending;
	int got = 1;

	t->pending = false;
	if (!pending)
		got = next_sample(t, !b, f);
	if (got <= 0 || !b)
		return got;
	if ((pending || read_members(t, f) == 0) && fill(t, b, f) == 0)
		return 1;
	tar_fail(t, f);
	return fail_mark_skippable(f);
}

const struct format format_tar = {
	.name = "tar", .suffix = ".tar", .open = tar_open, .read = tar_read,
	.close = tar_close,
};
