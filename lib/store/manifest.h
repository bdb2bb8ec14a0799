/*
 * manifest - reads and writes the JSON texts of a checkpoint: the manifest of
 * each part, and MANIFEST.json.
 *
 * Both begin with the hash of all that follows, so that a change of any bit is
 * noticed.  Reading checks that names can be names of files, that shapes are
 * sound, and that rows lie within them.
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
	uint64_t updates, since, begun, size;	/* see struct
						   checkpoint_counts; bytes of
						   the .npy */
	char hash[HASH_TEXT];

	/* The place where the array was found, which is not in the text. */
	size_t part;
	uint64_t offset;		/* of the .npy in the part */
	uint64_t numbers;		/* offset of its first number there */
	bool verified;			/* the hash was compared */
};

/* Is it a slot of 64-bit numbers: CHECKPOINT_ID or CHECKPOINT_UPDATE? */
bool manifest_is_number(const char *slot);

/* Return the name of a member in the archive, for the caller to free, such as
   "emb/embeddings@velocity/0-3.npy". */
char *manifest_member_file(const struct manifest_member *);

/* Return the shape of the member's rows. */
struct shape manifest_member_shape(const struct manifest_member *);

/* Check that names of a variable and a slot ("": none) can be names of files.
   Return 0, or -1 (FAIL_DATA). */
int manifest_check_names(const char *variable, const char *slot,
			 struct fail *);

/* Is it a checkpoint's name: one component, and not hidden? */
bool manifest_sound_name(const char *name);

void manifest_member_release(struct manifest_member *);

/* The manifest of a part, which is its last member. */
struct manifest_part {
	char *name;			/* the checkpoint's */
	size_t part, parts;
	struct manifest_member *member;
	size_t count;
	struct manifest_member *empty;	/* tables without rows: names and
					   counts only */
	size_t empties;
};

/* Append its text; or read a text of size bytes.  Return 0, or -1 (FAIL_DATA);
   the caller releases the struct in both cases. */
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

/* Append the text of MANIFEST.json.  The members are those of all parts, sorted
   by variable, slot and row. */
void manifest_write(const struct manifest *, const struct manifest_member *,
		    size_t members, struct text *);

/* Read a text of size bytes; or the MANIFEST.json of the checkpoint at a path,
   in a folder as for disk_open().  Return 0, or -1 (FAIL_DATA, or as
   disk_read_text()); the caller releases the struct in both cases. */
int manifest_read(struct manifest *, const char *text, size_t size,
		  struct fail *);
int manifest_load(struct manifest *, int folder, const char *path,
		  struct fail *);

/* Does MANIFEST.json list exactly these members? */
bool manifest_agrees(const struct manifest *, const struct manifest_member *,
		     size_t members);
void manifest_release(struct manifest *);

#endif
