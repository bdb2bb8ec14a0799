/*
 * settings - the key=value words of a line, each asked for by its reader.
 *
 * A getter leaves *value alone, and returns 0, when the key is not there: put
 * the default in first.  When all have been asked for, settings_done() refuses
 * what nobody wanted, so that a misspelt key is never silently ignored, and
 * names what was.
 * Every message begins with where the line stands ("model.ps:4").
 */
#ifndef PS_SETTINGS_H
#define PS_SETTINGS_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct setting {
	char *key, *value;
	bool used;
};

struct settings {
	struct setting *list;
	size_t count, room;
	char **asked;		/* all keys, each once */
	size_t asks, asked_room;
	char where[160];
};

void settings_release(struct settings *);

/* Take over "key=value"; a repeated key is refused. */
int settings_add(struct settings *, const char *word, struct fail *);

/* The value as written, or NULL; good until settings_release(). */
const char *settings_text(struct settings *, const char *key);

int settings_float(struct settings *, const char *key, float *value,
		   float min, float max, struct fail *);
int settings_uint(struct settings *, const char *key, uint64_t *value,
		  uint64_t min, uint64_t max, struct fail *);
int settings_bool(struct settings *, const char *key, bool *value,
		  struct fail *);
/* Numbers with commas between; free them.  NULL: it is not there, or some of
   it is no finite number. */
float *settings_floats(struct settings *, const char *key, size_t *count);
int settings_done(const struct settings *, struct fail *);

#endif
