#include "base/settings.h"

#include "base/choices.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void
settings_release(struct settings *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].key);
		free(s->list[i].value);
	}
	free(s->list);
	for (size_t i = 0; i < s->asks; i++)
		free(s->asked[i]);
	free(s->asked);
	*s = (struct settings){ 0 };
}

static struct setting *
find(const struct settings *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i].key, key) == 0)
			return &s->list[i];
	return NULL;
}

int
settings_add(struct settings *s, const char *word, struct fail *f)
{
	const char *equals = strchr(word, '=');

	if (!equals || equals == word)
		return fail(f, FAIL_CONFIG, "%s: '%s' is not key=value",
			    s->where, word);

	char *key = mem_text_n(word, (size_t)(equals - word));

	if (find(s, key)) {
		fail(f, FAIL_CONFIG, "%s: %s is given twice", s->where, key);
		free(key);
		return -1;
	}
	s->list = mem_grow(s->list, s->count, &s->room, sizeof(*s->list));
	s->list[s->count++] = (struct setting){
		.key = key, .value = mem_text(equals + 1)
	};
	return 0;
}

/* Remember a key that is asked for.  Without any setting settings_done() has
   nothing to refuse, so the list would not be used. */
static void
note_asked(struct settings *s, const char *key)
{
	if (s->count == 0)
		return;
	for (size_t i = 0; i < s->asks; i++)
		if (strcmp(s->asked[i], key) == 0)
			return;
	s->asked = mem_grow(s->asked, s->asks, &s->asked_room,
			    sizeof(*s->asked));
	s->asked[s->asks++] = mem_text(key);
}

const char *
settings_text(struct settings *s, const char *key)
{
	struct setting *found = find(s, key);

	note_asked(s, key);
	if (!found)
		return NULL;
	found->used = true;
	return found->value;
}

int
settings_float(struct settings *s, const char *key, float *value,
	       float min, float max, struct fail *f)
{
	const char *text = settings_text(s, key);
	float x;

	if (!text)
		return 0;
	if (!text_float(text, &x) || x < min || x > max)
		return fail(f, FAIL_CONFIG,
			    "%s: %s=%s is not a number from %g to %g",
			    s->where, key, text, (double)min, (double)max);
	*value = x;
	return 0;
}

int
settings_uint(struct settings *s, const char *key, uint64_t *value,
	      uint64_t min, uint64_t max, struct fail *f)
{
	const char *text = settings_text(s, key);
	uint64_t n;

	if (!text)
		return 0;
	if (!text_uint(text, &n) || n < min || n > max)
		return fail(f, FAIL_CONFIG,
			    "%s: %s=%s is not a whole number from %llu to %llu",
			    s->where, key, text, (unsigned long long)min,
			    (unsigned long long)max);
	*value = n;
	return 0;
}

int
settings_bool(struct settings *s, const char *key, bool *value,
	      struct fail *f)
{
	const char *text = settings_text(s, key);

	if (!text || text_bool(text, value))
		return 0;
	return fail(f, FAIL_CONFIG, "%s: %s=%s is not true or false",
		    s->where, key, text);
}

float *
settings_floats(struct settings *s, const char *key, size_t *count)
{
	const char *text = settings_text(s, key);
	char *copy = mem_text(text ? text : "");
	char **word = text_split(copy, ',', count);
	float *list = mem_alloc(*count, sizeof(*list));
	bool good = text != NULL;

	for (size_t i = 0; good && i < *count; i++)
		good = text_float(word[i], &list[i]);
	free(word);
	free(copy);
	if (good)
		return list;
	free(list);
	return NULL;
}

static int
fail_unknown(const struct settings *s, const char *key, struct fail *f)
{
	struct choices near = { .word = key };
	struct text known = { 0 };

	for (size_t i = 0; i < s->asks; i++) {
		choices_add(&near, s->asked[i]);
		text_add(&known, "%s %s", i ? "," : "; there are",
			 s->asked[i]);
	}
	choices_fail(&near, FAIL_CONFIG, f, "%s: unknown setting %s%s",
		     s->where, key, known.data ? known.data : "");
	text_release(&known);
	return -1;
}

int
settings_done(const struct settings *s, struct fail *f)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->list[i].used)
			return fail_unknown(s, s->list[i].key, f);
	return 0;
}
