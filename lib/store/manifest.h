/*
 * manifest - the JSON texts of a checkpoint: what each part holds, and what
 * all of it is.
 *
 * Both begin with the hash of all that follows it, so that no bit of them can
 * change unseen.  Nothing that was read is believed before it was checked:
 * names are fit for files, shapes sound, rows within them.
 */
#ifndef PS_MANIFEST_H
#define PS_MANIFEST_H

#include "base/fail.h"
#include "base/hash.h"
#include "base/text.h"
#include "store/checkpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_FILE		"MANIFEST.json"
#define MANIFEST_MAX		((size_t)64 << 20)	/* bytes of text */
#define MANIFEST_PARTS		((size_t)65536)

/* Consecutive rows of a variable or slot: one .npy in a part. */
struct manifest_member {
	char *variable, *slot;
	struct shape shape;		/* of the whole variable */
	struct rows rows;
	uint64_t updates, since, begun, size;
	char hash[HASH_TEXT];

	/* Not in the text: where it was found. */
	size_t part;
	uint64_t offset;		/* of the .npy in the part */
	uint64_t numbers;		/* of the first number in the part */
	bool verified;			/* the hash was seen to hold */
};

/* Is it a slot of 64-bit numbers: CHECKPOINT_ID or CHECKPOINT_UPDATE? */
bool manifest_is_number(const char *slot);

/* Its name in the archive, "emb/embeddings@velocity/0-3.npy"; free it. */
char *manifest_member_file(const struct manifest_member *);

/* The rows' own shape. */
struct shape manifest_member_shape(const struct manifest_member *);

/* May these be names of a variable and a slot, and of files? */
int manifest_check_names(const char *variable, const char *slot,
			 struct fail *);

/* Is it a checkpoint's name: one component, and not hidden? */
bool manifest_sound_name(const char *name);

void manifest_member_release(struct manifest_member *);

/* The last member of a part. */
struct manifest_part {
	char *name;			/* the checkpoint's */
	size_t part, parts;
	struct manifest_member *member;
	size_t count;
};

void manifest_part_write(const struct manifest_part *, struct text *);
int manifest_part_read(struct manifest_part *, const char *text, size_t size,
		       struct fail *);
void manifest_part_release(struct manifest_part *);

/* MANIFEST.json. */
struct manifest {
	char *name;
	struct checkpoint_info info;
	struct model_source model;
	struct checkpoint_part *part;
	size_t parts;
	struct json_t *variables;	/* for manifest_agrees() */
};

/* Members are those of all parts, by variable, slot and row. */
void manifest_write(const struct manifest *, const struct manifest_member *,
		    size_t members, struct text *);
int manifest_read(struct manifest *, const char *text, size_t size,
		  struct fail *);
bool manifest_agrees(const struct manifest *, const struct manifest_member *,
		     size_t members);
void manifest_release(struct manifest *);

#endif
