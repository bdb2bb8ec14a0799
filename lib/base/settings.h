/*
 * settings - the key=value words of a line.
 *
 * The caller adds all words, then asks for each key that it knows.  A getter
 * returns 0 and leaves *value alone if the key is not there, so the caller puts
 * the default in first; it returns -1 (FAIL_CONFIG) for a bad value.  In the
 * end settings_done() refuses a key that was never asked for, so that no
 * misspelt key is ignored; its message lists the keys that were.  Every message
 * begins with the place of the line, such as "model.ps:4".
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
	char **asked;		/* the keys that were asked for, each once */
	size_t asks, asked_room;
	char where[160];	/* place of the line, set by the caller */
};

void settings_release(struct settings *);

/* Add "key=value"; the word is copied.  Return 0, or -1 (FAIL_CONFIG) for
   another word or a repeated key. */
int settings_add(struct settings *, const char *word, struct fail *);

/* Return the value as written, good until settings_release(); NULL: none. */
const char *settings_text(struct settings *, const char *key);

int settings_float(struct settings *, const char *key, float *value,
		   float min, float max, struct fail *);
int settings_uint(struct settings *, const char *key, uint64_t *value,
		  uint64_t min, uint64_t max, struct fail *);
int settings_bool(struct settings *, const char *key, bool *value,
		  struct fail *);
/* Return *count numbers that are written with commas between them, for the
   caller to free.  NULL: the key is not there, or some number is not finite. */
float *settings_floats(struct settings *, const char *key, size_t *count);

/* Return 0, or -1 (FAIL_CONFIG) if a key was never asked for. */
int settings_done(const struct settings *, struct fail *);

#endif
