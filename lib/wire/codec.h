/*
 * codec - how values and gradients travel: in memory they are floats.
 *
 * A codec is a const struct codec in a file of its own, codec_NAME.c, and a
 * word in the table below.  The one for a step is the coordinator's choice;
 * what is not a step travels as floats.
 *
 * What is encoded at once is a slice of one variable, and a codec may make of
 * it any number of bytes that follows from the slice's shape: nobody else
 * counts bytes.  A codec that needs to know more, such as where in its
 * variable a slice lies, finds that in the slice, too: a field more is nothing
 * to the other codecs.  One that is not for a slice says which one is.
 */
#ifndef PS_CODEC_H
#define PS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By name; the place is the number that travels, so new ones come last.  The
   second half is for differences between values alone. */
#define CODEC_VALUES(C)	C(float32) C(bfloat16) C(int8)
#define CODEC_TABLE(C)	CODEC_VALUES(C) C(onebit) C(topk)

struct codec_slice {
	size_t rows, width;	/* of a table; elements and 1 of any other
				   variable.  Either may be 0 */
	bool table, exact;	/* exact: too small, or too delicate, for a
				   codec that loses much */
	bool pulled;		/* values, not a gradient */
	bool difference;	/* between values */
	size_t first, of;	/* of no table: where it begins, and how many
				   elements there are before and behind it in
				   memory, too, its own included; 0: none */
	uint64_t keep;		/* to encode by a codec with an argument: the
				   numbers of a block that are sent */
	/* To encode a gradient: */
	uint64_t draw;		/* of the step and the variable */
	const uint64_t *ids;	/* of a table: the rows' */
};

struct codec {
	const char *name;	/* as in --wire */
	bool exact;		/* bytes are those of the floats: they can be
				   read where they lie */
	float most;		/* the largest float that comes to something
				   finite */
	size_t block;		/* so many numbers depend on each other */
	bool differences;	/* the codec is for differences alone */

	/* slice.keep for the argument behind the codec's name; 0: the argument
	   is out of range.  NULL: the codec takes no argument. */
	uint64_t (*keep)(double argument);

	/* The codec that such a slice has instead; NULL: this one. */
	const struct codec *(*as)(struct codec_slice);

	/* Bytes of an encoded slice; with a length(), the most that they can
	   be. */
	size_t (*size)(struct codec_slice);
	/* NULL, or: the bytes of the slice that begins at from, where left
	   bytes lie.  false: they are malformed, or cut short.  Bytes of a
	   peer pass through it before they are decoded. */
	bool (*length)(const void *from, size_t left, struct codec_slice,
		       size_t *bytes);

	/* The bytes begin where a frame does, or behind other slices. */
	void (*encode)(void *to, const float *from, struct codec_slice);
	/* From any address: instead of what is there, or added to that. */
	void (*decode)(float *to, const void *from, struct codec_slice);
	void (*add)(float *to, const void *from, struct codec_slice);
	/* Will all floats be finite? */
	bool (*finite)(const void *from, struct codec_slice);
};

#define CODEC_DECLARE(name)	extern const struct codec codec_##name;
CODEC_TABLE(CODEC_DECLARE)
#undef CODEC_DECLARE

#define CODEC_ONE(name)		+ 1
enum { CODECS = 0 CODEC_TABLE(CODEC_ONE) };
#undef CODEC_ONE

/* NULL: there is none of this number. */
const struct codec *codec_find(uint64_t number);
uint64_t codec_number(const struct codec *);

/* The one for a slice. */
static inline const struct codec *
codec_for(const struct codec *c, struct codec_slice s)
{
	return c->as ? c->as(s) : c;
}

/* A slice of a small variable that is not a table. */
static inline struct codec_slice
codec_elements(size_t count)
{
	return (struct codec_slice){ count, 1, .exact = true };
}

/* Bytes of a slice; of so many elements of a small variable. */
static inline size_t
codec_bytes(const struct codec *c, struct codec_slice s)
{
	return codec_for(c, s)->size(s);
}

/* The length of a slice by any codec. */
static inline bool
codec_length(const struct codec *c, const void *from, size_t left,
	     struct codec_slice s, size_t *bytes)
{
	if (c->length)
		return c->length(from, left, s, bytes);
	*bytes = c->size(s);
	return *bytes <= left;
}

static inline size_t
codec_size(const struct codec *c, size_t count)
{
	return codec_bytes(c, codec_elements(count));
}

#endif
