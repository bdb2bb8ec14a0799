#include "store/manifest.h"

#include "base/json.h"
#include "base/mem.h"
#include "store/disk.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT		1
#define MAX_NAME	200

/* The beginning of both texts; the hash is that of all bytes after HEAD_END. */
#define HEAD		"{\n  \"hash\": \""
#define HEAD_END	"\",\n"
#define HEAD_SIZE	(sizeof(HEAD) - 1 + HASH_TEXT - 1 + \
			 sizeof(HEAD_END) - 1)

bool
manifest_is_number(const char *slot)
{
	return strcmp(slot, CHECKPOINT_ID) == 0 ||
		strcmp(slot, CHECKPOINT_UPDATE) == 0;
}

/* ---- names ---- */

static bool
is_sound_name(const char *name, const char *extra)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789_";
	const size_t n = strlen(name);

	/* Each component begins with a letter, digit or underscore, so that
	   none is empty, "." or "..". */
	for (size_t i = 0; i < n; i++) {
		const bool first = i == 0 || name[i - 1] == '/';

		if (!strchr(plain, name[i]) &&
		    (first || !strchr(extra, name[i])))
			return false;
	}
	return n > 0 && n <= MAX_NAME && name[n - 1] != '/';
}

int
manifest_check_names(const char *variable, const char *slot, struct fail *f)
{
	if (!is_sound_name(variable, "./+-"))
		return fail(f, FAIL_DATA, "variable '%.80s': the name cannot "
			    "be a file's", variable);
	if (*slot && !is_sound_name(slot, ".+-"))
		return fail(f, FAIL_DATA, "slot '%.80s': the name cannot be "
			    "a file's", slot);
	return 0;
}

bool
manifest_sound_name(const char *name)
{
	return is_sound_name(name, ".+-") && strlen(name) < CHECKPOINT_NAME;
}

char *
manifest_member_file(const struct manifest_member *m)
{
	return disk_path("%s%s%s/%zu-%zu.npy", m->variable,
			 *m->slot ? "@" : "", m->slot, m->rows.first,
			 m->rows.first + m->rows.count - 1);
}

struct shape
manifest_member_shape(const struct manifest_member *m)
{
	struct shape s = m->shape;

	if (s.rank > 0)
		s.dim[0] = m->rows.count;
	return s;
}

void
manifest_member_release(struct manifest_member *m)
{
	free(m->variable);
	free(m->slot);
}

/* ---- writing ---- */

static json_t *
json_number(uint64_t n)
{
	assert(n <= INT64_MAX);
	return json_integer((json_int_t)n);
}

static void
set_key(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		abort();		/* out of memory, or not UTF-8 */
}

static void
add_compact(struct text *out, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
				JSON_PRESERVE_ORDER);

	if (!text)
		abort();
	text_add_bytes(out, text, strlen(text));
	free(text);
}

/* Write a line for each key, and for each item of a list, for grep and diff. */
static void
add_lines(struct text *out, json_t *object)
{
	const char *key, *comma = "";
	json_t *value, *item;
	size_t i;

	json_object_foreach(object, key, value) {
		text_add(out, "%s  \"%s\": ", comma, key);
		comma = ",\n";
		if (!json_is_array(value)) {
			add_compact(out, value);
			continue;
		}
		text_add(out, "[");
		json_array_foreach(value, i, item) {
			text_add(out, "%s\n    ", i ? "," : "");
			add_compact(out, item);
		}
		text_add(out, "\n  ]");
	}
	text_add(out, "\n}\n");
}

/* Append an object, with its hash in front, and free the object. */
static void
add_hashed(json_t *object, struct text *out)
{
	struct hash *hash = hash_new();
	struct text body = { 0 };
	char sum[HASH_TEXT];

	add_lines(&body, object);
	hash_add(hash, body.data, body.size);
	hash_text(hash, sum);
	text_add(out, "%s%s%s", HEAD, sum, HEAD_END);
	text_add_bytes(out, body.data, body.size);
	text_release(&body);
	hash_free(hash);
	json_decref(object);
}

static json_t *
shape_json(struct shape s)
{
	json_t *list = json_array();

	for (int i = 0; i < s.rank; i++)
		json_array_append_new(list, json_number(s.dim[i]));
	return list;
}

static void
set_counts(json_t *item, const struct manifest_member *m)
{
	set_key(item, "updates", json_number(m->updates));
	if (m->since > 0)
		set_key(item, "since", json_number(m->since));
	if (m->begun > 0)
		set_key(item, "begun", json_integer((json_int_t)m->begun));
}

static json_t *
empty_json(const struct manifest_part *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->empties; i++) {
		json_t *item = json_object();

		set_key(item, "variable", json_string(p->empty[i].variable));
		set_counts(item, &p->empty[i]);
		json_array_append_new(list, item);
	}
	return list;
}

void
manifest_part_write(const struct manifest_part *p, struct text *out)
{
	json_t *object = json_object(), *list = json_array();

	for (size_t i = 0; i < p->count; i++) {
		const struct manifest_member *m = &p->member[i];
		char *file = manifest_member_file(m);
		json_t *item = json_object();

		set_key(item, "file", json_string(file));
		set_key(item, "variable", json_string(m->variable));
		set_key(item, "slot", json_string(m->slot));
		set_key(item, "shape", shape_json(m->shape));
		set_key(item, "first", json_number(m->rows.first));
		set_key(item, "rows", json_number(m->rows.count));
		set_counts(item, m);
		set_key(item, "size", json_number(m->size));
		set_key(item, "hash", json_string(m->hash));
		json_array_append_new(list, item);
		free(file);
	}
	set_key(object, "format", json_integer(FORMAT));
	set_key(object, "name", json_string(p->name));
	set_key(object, "part", json_number(p->part));
	set_key(object, "parts", json_number(p->parts));
	set_key(object, "members", list);
	if (p->empties > 0)
		set_key(object, "empty", empty_json(p));
	add_hashed(object, out);
}

static bool
same_array(const struct manifest_member *a, const struct manifest_member *b)
{
	return strcmp(a->variable, b->variable) == 0 &&
	       strcmp(a->slot, b->slot) == 0;
}

/* List all arrays with their shards.  Members are sorted, so those of one array
   are adjacent. */
static json_t *
variables_json(const struct manifest_member *m, size_t members)
{
	json_t *list = json_array(), *shards = NULL;

	for (size_t i = 0; i < members; i++) {
		json_t *shard = json_object();

		if (i == 0 || !same_array(&m[i - 1], &m[i])) {
			json_t *item = json_object();

			set_key(item, "variable", json_string(m[i].variable));
			set_key(item, "slot", json_string(m[i].slot));
			set_key(item, "shape", shape_json(m[i].shape));
			set_key(item, "shards", shards = json_array());
			json_array_append_new(list, item);
		}
		set_key(shard, "part", json_number(m[i].part));
		set_key(shard, "first", json_number(m[i].rows.first));
		set_key(shard, "rows", json_number(m[i].rows.count));
		json_array_append_new(shards, shard);
	}
	return list;
}

/*
 * Set a text; or, under another key, bytes, each of which is written as the
 * code point of its value.  JSON allows only UTF-8, but a vocabulary, or its
 * name, may be in an older encoding.
 */
static void
set_text(json_t *item, const char *key, const char *bytes_key,
	 const char *from, size_t size)
{
	json_t *text = json_stringn(from, size);
	char *wide;
	size_t n = 0;

	if (text) {
		set_key(item, key, text);
		return;
	}
	wide = mem_alloc(2 * size, 1);
	for (size_t i = 0; i < size; i++) {
		const unsigned char c = (unsigned char)from[i];

		if (c >= 0x80)
			wide[n++] = (char)(0xc0 | c >> 6);
		wide[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
	}
	set_key(item, bytes_key, json_stringn(wide, n));
	free(wide);
}

static json_t *
file_json(const struct model_file *file)
{
	json_t *item = json_object();

	set_text(item, "name", "name_bytes", file->name, strlen(file->name));
	set_text(item, "text", "bytes", file->text, file->size);
	return item;
}

static json_t *
value_json(const struct model_value *v)
{
	json_t *item = json_object();

	set_text(item, "name", "name_bytes", v->name, strlen(v->name));
	set_text(item, "value", "value_bytes", v->value, strlen(v->value));
	return item;
}

void
manifest_write(const struct manifest *m, const struct manifest_member *member,
	       size_t members, struct text *out)
{
	const struct checkpoint_info *info = &m->info;
	json_t *o = json_object(), *parts = json_array();
	json_t *model = json_array(), *values = json_array();
	char seed[24];

	for (size_t i = 0; i < m->model.count; i++)
		json_array_append_new(model, file_json(&m->model.file[i]));
	for (size_t i = 0; i < m->model.values; i++)
		json_array_append_new(values, value_json(&m->model.value[i]));
	for (size_t i = 0; i < m->parts; i++) {
		char *file = disk_path("shard-%zu-of-%zu.tar", i, m->parts);
		json_t *part = json_object();

		set_key(part, "file", json_string(file));
		set_key(part, "size", json_number(m->part[i].size));
		set_key(part, "hash", json_string(m->part[i].hash));
		json_array_append_new(parts, part);
		free(file);
	}
	/* A seed has 64 bits, and many readers of JSON round above 2^53. */
	snprintf(seed, sizeof(seed), "%ju", (uintmax_t)info->seed);
	set_key(o, "format", json_integer(FORMAT));
	set_key(o, "name", json_string(m->name));
	set_key(o, "step", json_number(info->step));
	if (info->has_previous)
		set_key(o, "previous", json_number(info->previous));
	set_key(o, "final", json_boolean(info->final));
	set_key(o, "run", json_string(info->run));
	set_key(o, "seed", json_string(seed));
	set_key(o, "examples", json_number(info->examples));
	set_key(o, "seconds", json_real(isfinite(info->seconds) ?
					info->seconds : 0));
	set_key(o, "time", json_string(info->time));
	if (info->sampler)
		set_key(o, "ledger", json_string(info->sampler));
	set_key(o, "parts", parts);
	set_key(o, "variables", variables_json(member, members));
	set_key(o, "model", model);
	if (m->model.values > 0)
		set_key(o, "definitions", values);
	else
		json_decref(values);
	add_hashed(o, out);
}

/* ---- reading ---- */

static json_t *
read_hashed(const char *text, size_t size, struct fail *f)
{
	const char *sum = text + sizeof(HEAD) - 1;
	char wanted[HASH_TEXT];
	struct hash *hash;
	json_error_t error;
	json_t *object;

	if (size < HEAD_SIZE || memcmp(text, HEAD, sizeof(HEAD) - 1) != 0 ||
	    memcmp(sum + HASH_TEXT - 1, HEAD_END, sizeof(HEAD_END) - 1) != 0) {
		fail(f, FAIL_DATA, "does not begin as a manifest does");
		return NULL;
	}
	hash = hash_new();
	hash_add(hash, text + HEAD_SIZE, size - HEAD_SIZE);
	hash_text(hash, wanted);
	hash_free(hash);
	if (memcmp(sum, wanted, HASH_TEXT - 1) != 0) {
		fail(f, FAIL_DATA, "damaged: its hash does not match");
		return NULL;
	}
	object = json_read_integers(text, size, JSON_REJECT_DUPLICATES |
				    JSON_ALLOW_NUL, &error);
	if (!object)
		fail(f, FAIL_DATA, "line %d: %s", error.line, error.text);
	return object;
}

static int
check_format(json_t *o, struct fail *f)
{
	const json_t *format = json_object_get(o, "format");

	if (!json_is_integer(format))
		return fail(f, FAIL_DATA, "no format number");
	if (json_integer_value(format) != FORMAT)
		return fail(f, FAIL_DATA, "format %jd, not %d: read it with "
			    "programs of the release that wrote it",
			    (intmax_t)json_integer_value(format), FORMAT);
	return 0;
}

/* Fail with the reason of json_unpack_ex(), which names keys of the text. */
static int
fail_unpack(const json_error_t *e, struct fail *f)
{
	return fail(f, FAIL_DATA, "malformed: %s", e->text);
}

/* Has an object a string with a NUL?  We would read only the part before it. */
static bool
has_hidden(json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		if (json_is_string(value) &&
		    strlen(json_string_value(value)) !=
		    json_string_length(value))
			return true;
	return false;
}

static bool
copy_text(char *to, size_t room, const char *from)
{
	return snprintf(to, room, "%s", from) < (int)room;
}

static bool
is_sound_hash(const char *text)
{
	return strlen(text) == HASH_TEXT - 1 &&
	       strspn(text, "0123456789abcdef") == HASH_TEXT - 1;
}

static bool
read_shape(const json_t *list, struct shape *s)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > SHAPE_RANK)
		return false;
	*s = (struct shape){ .rank = (int)json_array_size(list) };
	json_array_foreach(list, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return false;
		s->dim[i] = (size_t)json_integer_value(item);
	}
	return shape_sound(s);
}

static int
read_counts(struct manifest_member *m, json_t *item, const char *variable,
	    struct fail *f)
{
	json_int_t updates, since = 0, begun = 0;
	json_error_t error;

	if (json_unpack_ex(item, &error, 0, "{s:I, s?I, s?I}", "updates",
			   &updates, "since", &since, "begun", &begun) < 0)
		return fail_unpack(&error, f);
	if (updates < 0 || since < 0 || since > updates)
		return fail(f, FAIL_DATA, "'%s': numbers out of range",
			    variable);
	m->updates = (uint64_t)updates;
	m->since = (uint64_t)since;
	m->begun = (uint64_t)begun;
	return 0;
}

static int
read_empty(struct manifest_member *m, json_t *item, struct fail *f)
{
	const char *variable;
	json_error_t error;

	if (json_unpack_ex(item, &error, 0, "{s:s}", "variable",
			   &variable) < 0)
		return fail_unpack(&error, f);
	if (has_hidden(item))
		return fail(f, FAIL_DATA, "'%.80s': a string holds a NUL",
			    variable);
	if (manifest_check_names(variable, "", f) < 0 ||
	    read_counts(m, item, variable, f) < 0)
		return -1;
	m->variable = mem_text(variable);
	m->slot = mem_text("");
	return 0;
}

static int
read_member(struct manifest_member *m, json_t *item, struct fail *f)
{
	json_int_t first, rows, size;
	const char *file, *variable, *slot, *hash;
	json_error_t error;
	json_t *shape;
	int same;

	if (json_unpack_ex(item, &error, 0, "{s:s, s:s, s:s, s:o, s:I, s:I, "
			   "s:I, s:s}", "file", &file, "variable", &variable,
			   "slot", &slot, "shape", &shape, "first", &first,
			   "rows", &rows, "size", &size, "hash", &hash) < 0)
		return fail_unpack(&error, f);
	if (has_hidden(item))
		return fail(f, FAIL_DATA, "'%.80s': a string holds a NUL",
			    variable);
	if (manifest_check_names(variable, slot, f) < 0)
		return -1;
	if (!read_shape(shape, &m->shape))
		return fail(f, FAIL_DATA, "'%s': malformed shape", variable);
	if (first < 0 || rows < 1 || size < 0 ||
	    (size_t)first >= shape_rows(m->shape) ||
	    (size_t)rows > shape_rows(m->shape) - (size_t)first)
		return fail(f, FAIL_DATA, "'%s': numbers out of range",
			    variable);
	if (!is_sound_hash(hash))
		return fail(f, FAIL_DATA, "'%s': malformed hash", variable);
	if (read_counts(m, item, variable, f) < 0)
		return -1;
	m->rows = (struct rows){ (size_t)first, (size_t)rows };
	m->size = (uint64_t)size;
	memcpy(m->hash, hash, HASH_TEXT);
	m->variable = mem_text(variable);
	m->slot = mem_text(slot);

	char *wanted = manifest_member_file(m);

	same = strcmp(file, wanted) == 0;
	if (!same)
		fail(f, FAIL_DATA, "'%.80s' is listed, '%s' expected", file,
		     wanted);
	free(wanted);
	return same ? 0 : -1;
}

/* Read a list, and count what the caller is to release, also after an error. */
static int
read_list(struct manifest_member **to, size_t *count, size_t part,
	  const json_t *list,
	  int (*read)(struct manifest_member *, json_t *, struct fail *),
	  struct fail *f)
{
	json_t *item;
	size_t i;

	*to = mem_alloc(json_array_size(list), sizeof(**to));
	json_array_foreach(list, i, item) {
		*count = i + 1;
		(*to)[i].part = part;
		if (read(&(*to)[i], item, f) < 0)
			return -1;
	}
	return 0;
}

int
manifest_part_read(struct manifest_part *p, const char *text, size_t size,
		   struct fail *f)
{
	json_t *o = read_hashed(text, size, f), *list, *empty = NULL;
	json_int_t part, parts;
	json_error_t error;
	const char *name;
	int r = -1;

	if (!o || check_format(o, f) < 0)
		goto out;
	if (json_unpack_ex(o, &error, 0, "{s:s, s:I, s:I, s:o, s?o}",
			   "name", &name, "part", &part, "parts", &parts,
			   "members", &list, "empty", &empty) < 0) {
		fail_unpack(&error, f);
		goto out;
	}
	if (part < 0 || parts > (json_int_t)MANIFEST_PARTS || part >= parts) {
		fail(f, FAIL_DATA, "part %jd of %jd is not possible",
		     (intmax_t)part, (intmax_t)parts);
		goto out;
	}
	if (has_hidden(o)) {
		fail(f, FAIL_DATA, "'%.80s': a string holds a NUL", name);
		goto out;
	}
	p->name = mem_text(name);
	p->part = (size_t)part;
	p->parts = (size_t)parts;
	r = read_list(&p->member, &p->count, p->part, list, read_member, f);
	if (r == 0)
		r = read_list(&p->empty, &p->empties, p->part, empty,
			      read_empty, f);
out:
	json_decref(o);
	return r;
}

void
manifest_part_release(struct manifest_part *p)
{
	for (size_t i = 0; i < p->count; i++)
		manifest_member_release(&p->member[i]);
	for (size_t i = 0; i < p->empties; i++)
		manifest_member_release(&p->empty[i]);
	free(p->member);
	free(p->empty);
	free(p->name);
	*p = (struct manifest_part){ 0 };
}

/* The inverse of set_text(): return the text, for the caller to free; NULL:
   there is none under either key. */
static char *
get_text(json_t *item, const char *key, const char *bytes_key, size_t *size)
{
	const json_t *text = json_object_get(item, key);
	const json_t *source = text ? text : json_object_get(item, bytes_key);
	const char *from = json_string_value(source);
	size_t left = json_string_length(source), n = 0;
	char *to;

	if (!from)
		return NULL;
	to = mem_text_n(from, left);
	for (; !text && left > 0; left--, from++) {
		unsigned char c = (unsigned char)*from;

		if (c >= 0xc4) {	/* a code point above 255 */
			free(to);
			return NULL;
		}
		if (c >= 0x80 && left > 1) {
			c = (unsigned char)(c << 6 | (from[1] & 0x3f));
			left--;
			from++;
		}
		to[n++] = (char)c;
	}
	*size = text ? left : n;
	to[*size] = '\0';
	return to;
}

static int
read_file(struct model_file *file, json_t *item, struct fail *f)
{
	size_t size;

	file->name = get_text(item, "name", "name_bytes", &size);
	file->text = get_text(item, "text", "bytes", &file->size);
	if (!file->name || !file->text)
		return fail(f, FAIL_DATA, "a model file has no name or text");
	return 0;
}

static int
read_model(struct model_source *model, json_t *list, struct fail *f)
{
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return fail(f, FAIL_DATA, "no list of model files");
	model->file = mem_alloc(json_array_size(list), sizeof(*model->file));
	json_array_foreach(list, i, item) {
		model->count = i + 1;
		if (read_file(&model->file[i], item, f) < 0)
			return -1;
	}
	return 0;
}

/* Releases before this one wrote none. */
static int
read_values(struct model_source *model, json_t *list, struct fail *f)
{
	json_t *item;
	size_t i, size;

	if (!list)
		return 0;
	if (!json_is_array(list))
		return fail(f, FAIL_DATA, "definitions are no list");
	model->value = mem_alloc(json_array_size(list), sizeof(*model->value));
	json_array_foreach(list, i, item) {
		struct model_value *v = &model->value[i];

		model->values = i + 1;
		v->name = get_text(item, "name", "name_bytes", &size);
		v->value = get_text(item, "value", "value_bytes", &size);
		if (!v->name || !v->value)
			return fail(f, FAIL_DATA, "a definition has no name "
				    "or value");
	}
	return 0;
}

static int
read_parts(struct manifest *m, json_t *list, struct fail *f)
{
	json_error_t error;
	json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > MANIFEST_PARTS)
		return fail(f, FAIL_DATA, "no list of parts");
	m->parts = json_array_size(list);
	m->part = mem_alloc(m->parts, sizeof(*m->part));
	json_array_foreach(list, i, item) {
		char *file = disk_path("shard-%zu-of-%zu.tar", i, m->parts);
		const char *name, *hash;
		json_int_t size;
		int r = 0;

		if (json_unpack_ex(item, &error, 0, "{s:s, s:I, s:s}", "file",
				   &name, "size", &size, "hash", &hash) < 0)
			r = fail_unpack(&error, f);
		else if (strcmp(name, file) != 0 || size < 0 ||
			 has_hidden(item) || !is_sound_hash(hash))
			r = fail(f, FAIL_DATA, "part %zu makes no sense", i);
		free(file);
		if (r < 0)
			return -1;
		m->part[i].size = (uint64_t)size;
		memcpy(m->part[i].hash, hash, HASH_TEXT);
	}
	return 0;
}

static int
read_info(struct manifest *m, json_t *o, struct fail *f)
{
	const char *name, *run, *seed, *time, *sampler = NULL;
	struct checkpoint_info *info = &m->info;
	json_int_t step, examples, previous = -1;
	json_error_t error;
	int final;

	if (json_unpack_ex(o, &error, 0, "{s:s, s:I, s:b, s:s, s:s, s:I, "
			   "s:F, s:s, s?s, s?I}", "name", &name, "step", &step,
			   "final", &final, "run", &run, "seed", &seed,
			   "examples", &examples, "seconds", &info->seconds,
			   "time", &time, "ledger", &sampler, "previous",
			   &previous) < 0)
		return fail_unpack(&error, f);
	if (step < 0 || examples < 0 || has_hidden(o) ||
	    !text_uint(seed, &info->seed) ||
	    !copy_text(info->run, sizeof(info->run), run) ||
	    !copy_text(info->time, sizeof(info->time), time))
		return fail(f, FAIL_DATA, "step, seed, run or time makes no "
			    "sense");
	if (sampler)
		info->sampler = mem_text(sampler);
	m->name = mem_text(name);
	info->step = (uint64_t)step;
	info->has_previous = previous >= 0 && previous < step;
	info->previous = info->has_previous ? (uint64_t)previous : 0;
	info->examples = (uint64_t)examples;
	info->final = final;
	return 0;
}

int
manifest_read(struct manifest *m, const char *text, size_t size,
	      struct fail *f)
{
	json_t *o = read_hashed(text, size, f);
	int r = -1;

	if (o && check_format(o, f) == 0 && read_info(m, o, f) == 0 &&
	    read_parts(m, json_object_get(o, "parts"), f) == 0 &&
	    read_model(&m->model, json_object_get(o, "model"), f) == 0 &&
	    read_values(&m->model, json_object_get(o, "definitions"),
			f) == 0) {
		m->variables = json_incref(json_object_get(o, "variables"));
		r = 0;
	}
	json_decref(o);
	return r;
}

int
manifest_load(struct manifest *m, int folder, const char *path,
	      struct fail *f)
{
	char *file = disk_path("%s/" MANIFEST_FILE, path);
	struct text text = { 0 };
	int r = disk_read_text(folder, file, MANIFEST_MAX, &text, f);

	if (r == 0 && manifest_read(m, text.data, text.size, f) < 0)
		r = fail_at(f, "%s", file);
	text_release(&text);
	free(file);
	return r;
}

bool
manifest_agrees(const struct manifest *m,
		const struct manifest_member *member, size_t members)
{
	json_t *variables = variables_json(member, members);
	const bool same = json_equal(m->variables, variables);

	json_decref(variables);
	return same;
}

void
manifest_release(struct manifest *m)
{
	model_source_release(&m->model);
	free(m->part);
	free(m->name);
	free(m->info.sampler);
	json_decref(m->variables);
	*m = (struct manifest){ 0 };
}
