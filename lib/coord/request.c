#include "coord/request.h"

#include "base/choices.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BATCH	((uint64_t)1 << 24)
#define MAX_PRIORITY	1000
#define BLANKS		" \t\r\n"
#define BACKGROUND	"background="

static const char *const names[] = {
	[REQUEST_NONE] = "", [REQUEST_TRAIN] = "train",
	[REQUEST_EPOCH] = "epoch", [REQUEST_EVAL] = "eval",
	[REQUEST_JOIN] = "join",
	[REQUEST_SAVE] = "save", [REQUEST_STATUS] = "status",
	[REQUEST_CANCEL] = "cancel", [REQUEST_STOP] = "stop",
	[REQUEST_BAD] = "request"
};

const char *
request_name(enum request_op op)
{
	return names[op];
}

/* Step over the quotes of an id, if it has any; returns its length. */
static size_t
strip_quotes(const char **id)
{
	const size_t size = strlen(*id), quotes = **id == '"';

	*id += quotes;
	return size - 2 * quotes;
}

bool
request_is_id(const char *a, const char *b)
{
	const size_t n = strip_quotes(&a);

	return n == strip_quotes(&b) && memcmp(a, b, n) == 0;
}

static enum request_op
find_op(const char *name)
{
	for (size_t i = REQUEST_TRAIN; i <= REQUEST_STOP; i++)
		if (strcmp(names[i], name) == 0)
			return (enum request_op)i;
	return REQUEST_NONE;
}

void
request_release(struct request *r)
{
	for (size_t i = 0; i < r->files; i++)
		free(r->file[i]);
	free(r->file);
	call_drop(r->call);
	free(r->id);
	free(r->target);
	free(r->data);
	free(r->why);
	*r = (struct request){ 0 };
}

static void
add_file(struct request *r, const char *name)
{
	r->file = mem_resize(r->file, r->files + 1, sizeof(*r->file));
	r->file[r->files++] = mem_text(name);
}

static char *
to_json(const char *text)
{
	json_t *string = json_string(text);
	char *json = string ? json_line(string, JSON_ENCODE_ANY) : NULL;

	json_decref(string);
	return json;
}

/* Settings whose value is a number. */
static const char *const keys[] = { "steps", "epochs", "batch",
				    "learning_rate", "learning_rate_scale",
				    "priority" };

#define KEYS	(sizeof(keys) / sizeof(keys[0]))

static bool
is_number(const char *key)
{
	size_t i = 0;

	while (i < KEYS && strcmp(keys[i], key) != 0)
		i++;
	return i < KEYS;
}

static int
set_count(uint64_t *count, const char *key, const char *value, uint64_t most,
	  struct fail *f)
{
	if (text_uint(value, count) && *count > 0 && *count <= most)
		return 0;
	return fail(f, FAIL_DATA, "%s=%s is not a whole number from 1 to %llu",
		    key, value, (unsigned long long)most);
}

static int
set_priority(struct request *r, const char *value, struct fail *f)
{
	if (text_uint(value, &r->priority) && r->priority <= MAX_PRIORITY)
		return 0;
	return fail(f, FAIL_DATA, "priority=%s is not a whole number from 0 "
		    "to %d", value, MAX_PRIORITY);
}

static bool
is_rate(const char *key)
{
	return strcmp(key, "learning_rate") == 0 ||
	       strcmp(key, "learning_rate_scale") == 0;
}

static int
set_rate(struct request *r, const char *key, const char *value,
	 struct fail *f)
{
	const bool scale = strcmp(key, "learning_rate_scale") == 0;
	float x;

	if (!text_float(value, &x) || !(x > 0))
		return fail(f, FAIL_DATA, "%s=%s is not a number above 0", key,
			    value);
	if (r->learning_rate < 0 || r->learning_rate > 0)
		return fail(f, FAIL_DATA, "say learning_rate, the rate of all "
			    "optimizers, or learning_rate_scale, by which the "
			    "rate of each is multiplied, but not both");
	r->learning_rate = scale ? -x : x;
	return 0;
}

/* ---- errors ---- */

static int
unknown_setting(const char *key, const char *value, struct fail *f)
{
	struct choices near = { .word = key };

	for (size_t i = 0; i < KEYS; i++)
		choices_add(&near, keys[i]);
	return choices_fail(&near, FAIL_DATA, f, "%s=%s means nothing here "
			    "(batch=N, steps=N, learning_rate=X, "
			    "learning_rate_scale=X, priority=N do)", key,
			    value);
}

static void
add_words(struct choices *near)
{
	for (size_t i = REQUEST_TRAIN; i <= REQUEST_STOP; i++)
		choices_add(near, names[i]);
}

static int
unknown_word(const char *word, struct fail *f)
{
	struct choices near = { .word = word };
	struct text all = { 0 };

	for (size_t i = REQUEST_TRAIN; i <= REQUEST_STOP; i++)
		text_add(&all, "%s, ", names[i]);
	add_words(&near);
	choices_fail(&near, FAIL_DATA, f, "'%s' is not a request (%sa bare id "
		     "or a JSON object)", word, all.data);
	text_release(&all);
	return -1;
}

/*
 * Return the request that a bare id may be a slip for, or NULL.  Words with a
 * digit are ids that somebody counted, and step is one that many would choose.
 */
static const char *
slip_for(const char *id)
{
	struct choices near = { .word = id };

	if (strcspn(id, "0123456789") < strlen(id) || strcmp(id, "step") == 0)
		return NULL;
	add_words(&near);
	choices_release(&near);
	return near.distance > 1 ? NULL : near.nearest;
}

static int
unknown_op(const char *name, struct fail *f)
{
	struct choices near = { .word = name };

	add_words(&near);
	return choices_fail(&near, FAIL_DATA, f, "\"op\" is '%s', which is "
			    "not a request", name);
}

static int
set_number(struct request *r, const char *key, const char *value,
	   struct fail *f)
{
	if (strcmp(key, "batch") == 0)
		return set_count(&r->batch, key, value, MAX_BATCH, f);
	if (strcmp(key, "steps") == 0)
		return set_count(&r->steps, key, value, UINT64_MAX, f);
	if (strcmp(key, "epochs") == 0)
		return set_count(&r->epochs, key, value, UINT64_MAX, f);
	if (strcmp(key, "priority") == 0)
		return set_priority(r, value, f);
	if (is_rate(key))
		return set_rate(r, key, value, f);
	return unknown_setting(key, value, f);
}

/* "eval [FILE...] [background=true]" */
static int
read_eval_word(struct request *r, const char *word, bool *had,
	       struct fail *f)
{
	const char *value = word + strlen(BACKGROUND);

	if (strncmp(word, BACKGROUND, strlen(BACKGROUND)) != 0) {
		add_file(r, word);
		return 0;
	}
	if (*had)
		return fail(f, FAIL_DATA, "'%s': background is given twice",
			    word);
	*had = true;
	r->background = strcmp(value, "true") == 0;
	return r->background || strcmp(value, "false") == 0 ? 0 :
		fail(f, FAIL_DATA, "%s is neither true nor false (./%s is a "
		     "file)", word, word);
}

static int
set_data(struct request *r, const char *name, struct fail *f)
{
	if (r->data)
		return fail(f, FAIL_DATA, "'data=%s': data is given twice",
			    name);
	r->data = mem_text(name);
	return 0;
}

/* "epoch [N] [data=NAME] [learning_rate=X | learning_rate_scale=X]" */
static int
read_epoch_word(struct request *r, char *word, struct fail *f)
{
	char *equals = strchr(word, '=');

	if (!equals && (!text_uint(word, &r->epochs) || r->epochs == 0))
		return fail(f, FAIL_DATA, "epoch '%s': not a number of "
			    "epochs", word);
	if (!equals)
		return 0;
	*equals = '\0';
	if (is_rate(word))
		return set_rate(r, word, equals + 1, f);
	if (strcmp(word, "priority") == 0)
		return set_priority(r, equals + 1, f);
	if (strcmp(word, "data") == 0)
		return set_data(r, equals + 1, f);
	return fail(f, FAIL_DATA, "%s=%s means nothing to an epoch "
		    "(data=NAME, learning_rate=X, learning_rate_scale=X, "
		    "priority=N do)", word, equals + 1);
}

/* What stands behind "train": a number of steps, key=value. */
static int
read_train_word(struct request *r, char *word, struct fail *f)
{
	char *equals = strchr(word, '=');

	if (!equals && (!text_uint(word, &r->steps) || r->steps == 0))
		return fail(f, FAIL_DATA, "train '%s': not a number of steps",
			    word);
	if (!equals)
		return 0;
	*equals = '\0';
	if (strcmp(word, "epochs") == 0)
		return fail(f, FAIL_DATA, "epochs=%s is for epoch", equals + 1);
	return set_number(r, word, equals + 1, f);
}

/* A setting that is there twice is an error: nobody can tell which one is
   meant. */
static int
check_once(enum request_op op, const char *word, unsigned *had,
	   struct fail *f)
{
	const char *key = strchr(word, '=') ? word :
		op == REQUEST_EPOCH ? "epochs" : "steps";
	const size_t n = strcspn(key, "=");

	for (size_t i = 0; i < KEYS; i++) {
		if (strlen(keys[i]) != n || strncmp(keys[i], key, n) != 0)
			continue;
		if (*had & 1u << i)
			return fail(f, FAIL_DATA, "'%s': %s is given twice",
				    word, keys[i]);
		*had |= 1u << i;
	}
	return 0;
}

static int
check_cancel(const struct request *r, struct fail *f)
{
	if (r->op == REQUEST_CANCEL && !r->target)
		return fail(f, FAIL_DATA, "cancel: which id?");
	return 0;
}

static int
read_words(struct request *r, char *line, struct fail *f)
{
	char *rest, *word = strtok_r(line, BLANKS, &rest);
	unsigned had = 0;
	bool had_background = false;

	r->op = find_op(word);
	if (r->op == REQUEST_NONE) {
		r->op = REQUEST_TRAIN;
		r->id = to_json(word);
		if (!r->id)
			return fail(f, FAIL_DATA, "the id is not UTF-8");
		if (strtok_r(NULL, BLANKS, &rest))
			return unknown_word(word, f);
		r->slip = slip_for(word);
		return 0;
	}
	while ((word = strtok_r(NULL, BLANKS, &rest))) {
		if (*word == '#')
			return fail(f, FAIL_DATA, "'%s' behind %s: a comment "
				    "has a line of its own", word,
				    names[r->op]);
		if (r->op == REQUEST_TRAIN) {
			if (check_once(r->op, word, &had, f) < 0 ||
			    read_train_word(r, word, f) < 0)
				return -1;
		} else if (r->op == REQUEST_EPOCH) {
			if (check_once(r->op, word, &had, f) < 0 ||
			    read_epoch_word(r, word, f) < 0)
				return -1;
		} else if (r->op == REQUEST_EVAL) {
			if (read_eval_word(r, word, &had_background, f) < 0)
				return -1;
		} else if (r->op == REQUEST_CANCEL && !r->target) {
			if (!(r->target = to_json(word)))
				return fail(f, FAIL_DATA, "the id is not "
					    "UTF-8");
		} else {
			return fail(f, FAIL_DATA, "'%s' behind %s", word,
				    names[r->op]);
		}
	}
	return check_cancel(r, f);
}

/* Has the string a NUL in it?  That would hide the characters behind it. */
static bool
has_nul(const json_t *value)
{
	return json_is_string(value) && strlen(json_string_value(value)) <
		json_string_length(value);
}

static int
read_files(struct request *r, json_t *files, struct fail *f)
{
	json_t *item;
	size_t i;

	if (!json_is_array(files))
		return fail(f, FAIL_DATA, "\"files\" is not a list");
	json_array_foreach(files, i, item) {
		if (!json_is_string(item))
			return fail(f, FAIL_DATA, "\"files\" are not strings");
		if (has_nul(item))
			return fail(f, FAIL_DATA, "\"files\" has a NUL in it");
		add_file(r, json_string_value(item));
	}
	return 0;
}

/* Members "step" and "args", in any order, make one call. */
static int
read_call(struct request *r, const char *line, const char *key,
	  const json_t *value, struct fail *f)
{
	const bool is_step = strcmp(key, "step") == 0;
	const char *step = r->call ? r->call->step : NULL;
	struct call *was = r->call;
	char *args;

	if (is_step && !json_is_string(value))
		return fail(f, FAIL_DATA, "\"step\" is not a string");
	if (!is_step && !json_is_object(value))
		return fail(f, FAIL_DATA, "\"args\" is not an object");
	if (is_step) {
		r->call = call_new(json_string_value(value),
				   was ? was->args : NULL);
		call_drop(was);
		return 0;
	}
	args = json_member(line, key, value);
	if (strlen(args) <= CALL_ARGS) {
		r->call = call_new(step, args);
		call_drop(was);
	} else {
		fail(f, FAIL_DATA, "\"args\" has %zu bytes, more than %zu",
		     strlen(args), CALL_ARGS);
	}
	free(args);
	return r->call == was ? -1 : 0;
}

static int
unknown_key(const char *key, struct fail *f)
{
	static const char *const others[] = { "op", "id", "request", "files",
					      "background", "step", "args",
					      "data" };
	struct choices near = { .word = key };

	for (size_t i = 0; i < KEYS; i++)
		choices_add(&near, keys[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		choices_add(&near, others[i]);
	return choices_fail(&near, FAIL_DATA, f, "\"%s\" means nothing here",
			    key);
}

/* Return an id as it is kept: a string of JSON, or the digits of a whole
   number.  NULL: it is neither. */
static char *
read_id(const char *line, const char *key, const json_t *value)
{
	char *text;

	if (json_is_string(value))
		return json_line(value, JSON_ENCODE_ANY);
	if (!json_is_number(value))
		return NULL;
	text = json_member(line, key, value);
	if (text[strspn(text, "-0123456789")] == '\0')
		return text;
	free(text);
	return NULL;
}

static int
read_member(struct request *r, const char *line, const char *key,
	    json_t *value, struct fail *f)
{
	if (has_nul(value))
		return fail(f, FAIL_DATA, "\"%s\" has a NUL in it", key);
	if (strcmp(key, "op") == 0) {
		if (!json_is_string(value))
			return fail(f, FAIL_DATA, "\"op\" is not a string");
		r->op = find_op(json_string_value(value));
		return r->op != REQUEST_NONE ? 0 :
			unknown_op(json_string_value(value), f);
	}
	if (strcmp(key, "id") == 0 || strcmp(key, "request") == 0) {
		char **id = *key == 'i' ? &r->id : &r->target;

		*id = read_id(line, key, value);
		return *id ? 0 : fail(f, FAIL_DATA, "\"%s\" is not a string "
				      "or whole number", key);
	}
	if (strcmp(key, "files") == 0)
		return read_files(r, value, f);
	if (strcmp(key, "background") == 0) {
		r->background = json_is_true(value);
		return json_is_boolean(value) ? 0 :
			fail(f, FAIL_DATA, "\"background\" is neither true "
			     "nor false");
	}
	if (strcmp(key, "step") == 0 || strcmp(key, "args") == 0)
		return read_call(r, line, key, value, f);
	if (strcmp(key, "data") == 0)
		return json_is_string(value) ?
			set_data(r, json_string_value(value), f) :
			fail(f, FAIL_DATA, "\"data\" is not a string");
	if (!json_is_number(value))
		return is_number(key) ?
			fail(f, FAIL_DATA, "\"%s\" is not a number", key) :
			unknown_key(key, f);

	char *text = json_member(line, key, value);
	const int set = set_number(r, key, text, f);

	free(text);
	return set;
}

/* Members may stand before the op: so whether they belong to that op can be
   checked only at the end. */
static int
check_members(const struct request *r, json_t *object, struct fail *f)
{
	static const char *const train[] = { "steps", "batch" };

	if (r->target && r->op != REQUEST_CANCEL)
		return fail(f, FAIL_DATA, "\"request\" is for cancel");
	if (json_object_get(object, "priority") && r->op != REQUEST_TRAIN &&
	    r->op != REQUEST_EPOCH && r->op != REQUEST_EVAL)
		return fail(f, FAIL_DATA, "\"priority\" is for train, epoch "
			    "and eval");
	if (json_object_get(object, "background") && r->op != REQUEST_EVAL)
		return fail(f, FAIL_DATA, "\"background\" is for eval");
	if (r->files > 0 && r->op != REQUEST_EVAL)
		return fail(f, FAIL_DATA, "\"files\" are for eval");
	for (size_t i = 0; i < 2 && r->op != REQUEST_TRAIN; i++)
		if (json_object_get(object, train[i]))
			return fail(f, FAIL_DATA, "\"%s\" is for train",
				    train[i]);
	if (r->call && r->op != REQUEST_TRAIN && r->op != REQUEST_EPOCH)
		return fail(f, FAIL_DATA, "\"%s\" is for train and epoch",
			    r->call->step ? "step" : "args");
	if (r->op != REQUEST_EPOCH && json_object_get(object, "epochs"))
		return fail(f, FAIL_DATA, "\"epochs\" is for epoch");
	if (r->op != REQUEST_EPOCH && r->data)
		return fail(f, FAIL_DATA, "\"data\" is for epoch");
	if (r->op != REQUEST_TRAIN && r->op != REQUEST_EPOCH &&
	    (r->learning_rate < 0 || r->learning_rate > 0))
		return fail(f, FAIL_DATA, "\"learning_rate%s\" is for train",
			    r->learning_rate < 0 ? "_scale" : "");
	return check_cancel(r, f);
}

static int
read_json(struct request *r, const char *line, struct fail *f)
{
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL;
	json_error_t error;
	json_t *object = json_read(line, strlen(line), flags, &error);
	const char *key;
	json_t *value;
	int status = 0;

	if (!object)
		return fail(f, FAIL_DATA, "not JSON: %s", error.text);
	r->op = REQUEST_TRAIN;
	json_object_foreach(object, key, value)
		if (status == 0)
			status = read_member(r, line, key, value, f);
	if (status == 0)
		status = check_members(r, object, f);
	json_decref(object);
	return status;
}

int
request_read(struct request *r, const char *line, size_t size, struct fail *f)
{
	const char *end = line + size;
	int status;

	*r = (struct request){ .steps = 1, .epochs = 1 };
	line += strspn(line, BLANKS);
	if (line == end || *line == '#')
		return 0;
	if (memchr(line, '\0', (size_t)(end - line)))
		return fail(f, FAIL_DATA, "a line with a NUL in it is not a "
			    "request");
	if (*line == '{')
		return read_json(r, line, f);

	char *words = mem_text(line);

	status = read_words(r, words, f);
	free(words);
	return status;
}

/* Written as words, which can hold numbers that are too large for JSON. */
static void
write_train(struct text *out, const struct request *r)
{
	text_add(out, "train %llu", (unsigned long long)r->steps);
	if (r->batch > 0)
		text_add(out, " batch=%llu", (unsigned long long)r->batch);
	if (r->learning_rate > 0)
		text_add(out, " learning_rate=%.9g",
			 (double)r->learning_rate);
	if (r->learning_rate < 0)
		text_add(out, " learning_rate_scale=%.9g",
			 -(double)r->learning_rate);
	if (r->priority > 0)
		text_add(out, " priority=%llu",
			 (unsigned long long)r->priority);
}

/* Can the files be written as words?  A name that is not UTF-8 has no form in
   JSON; but such a name was read from words, so that words can hold it. */
static bool
are_words(const struct request *r)
{
	size_t i = 0;

	while (i < r->files && *r->file[i] && !strpbrk(r->file[i], BLANKS) &&
	       strncmp(r->file[i], BACKGROUND, strlen(BACKGROUND)) != 0)
		i++;
	return i == r->files;
}

static void
write_text(struct text *out, const char *key, const char *value)
{
	char *json = to_json(value);

	text_add(out, ",\"%s\":%s", key, json);
	free(json);
}

void
request_write(struct text *out, const struct request *r)
{
	if (r->op == REQUEST_TRAIN && !r->id && !r->call) {
		write_train(out, r);
		return;
	}
	if (r->op == REQUEST_EVAL && !r->id && !r->priority && are_words(r)) {
		text_add(out, "%s", names[r->op]);
		for (size_t i = 0; i < r->files; i++)
			text_add(out, " %s", r->file[i]);
		text_add(out, "%s", r->background ? " " BACKGROUND "true" : "");
		return;
	}
	if (r->op == REQUEST_TRAIN)
		text_add(out, "{\"steps\":%llu",
			 (unsigned long long)r->steps);
	else
		text_add(out, "{\"op\":\"%s\"", names[r->op]);
	if (r->id)
		text_add(out, ",\"id\":%s", r->id);
	if (r->call && r->call->step)
		write_text(out, "step", r->call->step);
	if (r->call && r->call->args)
		text_add(out, ",\"args\":%s", r->call->args);
	if (r->data)
		write_text(out, "data", r->data);
	if (r->op == REQUEST_EPOCH)
		text_add(out, ",\"epochs\":%llu",
			 (unsigned long long)r->epochs);
	if (r->batch > 0)
		text_add(out, ",\"batch\":%llu",
			 (unsigned long long)r->batch);
	if (r->learning_rate > 0)
		text_add(out, ",\"learning_rate\":%.9g",
			 (double)r->learning_rate);
	if (r->learning_rate < 0)
		text_add(out, ",\"learning_rate_scale\":%.9g",
			 -(double)r->learning_rate);
	if (r->priority > 0)
		text_add(out, ",\"priority\":%llu",
			 (unsigned long long)r->priority);
	if (r->target)
		text_add(out, ",\"request\":%s", r->target);
	if (r->background)
		text_add(out, ",\"background\":true");
	for (size_t i = 0; i < r->files; i++) {
		char *name = to_json(r->file[i]);

		text_add(out, "%s%s", i ? "," : ",\"files\":[", name);
		free(name);
	}
	text_add(out, "%s}", r->files ? "]" : "");
}
