/*
 * codec - how values and gradients travel; in memory they are floats.
 *
 * Each codec is a const struct codec in a file of its own, codec_NAME.c, and a
 * word in the table below.  The coordinator chooses the codec for the messages
 * of a step; all other messages carry floats.
 *
 * The unit that is encoded is a slice: some rows of a table, or some elements
 * of another variable.  A codec alone knows how many bytes it makes of a slice:
 * they follow from the slice's shape, or from the bytes themselves.  What a
 * codec must know of a slice beyond its shape, such as its place in the
 * variable, is a field of struct codec_slice, which other codecs ignore.  A
 * codec that is not for a slice names another codec for it (as()).
 */
#ifndef PS_CODEC_H
#define PS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All codecs.  A codec travels as its place in the table, so new ones come
   last.  Those of D lose so much that what they lose must be in what is sent
   next: they are for differences between values, and for gradients to which the
   sender adds a residual (see worker/residuals.h).  Those of V are for values,
   too. */
#define CODEC_TABLE(V, D)	V(float32) V(bfloat16) V(int8) D(onebit) D(topk)

struct codec_slice {
	size_t rows, width;	/* of a table; of other variables elements and
				   1.  Either may be 0 */
	bool table, exact;	/* exact: the variable is too small or too
				   delicate for a lossy codec */
	bool pulled;		/* values, not a gradient */
	bool difference;	/* a difference between values */
	size_t first, of;	/* not of a table: the first element, and how
				   many elements of the variable lie around it
				   in memory, itself included; of 0: none but
				   itself */
	uint64_t keep;		/* to encode, for a codec with an argument: how
				   many numbers of a block are sent */
	/* To encode a gradient: */
	uint64_t draw;		/* seed of random rounding, from the step and
				   the variable */
	const uint64_t *ids;	/* of a table: the rows' */
};

struct codec {
	const char *name;	/* as in --wire */
	bool exact;		/* encoded bytes are the floats themselves: they
				   can be read in place */
	float most;		/* the largest float that is decoded to a finite
				   one */
	size_t block;		/* numbers that are encoded together */

	/* Returns slice.keep for the argument behind the codec's name; 0: the
	   argument is out of range.  NULL: the codec takes no argument. */
	uint64_t (*keep)(double argument);

	/* NULL, or: how a block is encoded that is not zeros.  The codec loses
	   most of what it is given, so that what it loses must not be lost (see
	   the table); and it has none of the functions below. */
	const struct codec_sparse *sparse;

	/* Returns the codec that encodes such a slice.  NULL: this one,
	   always. */
	const struct codec *(*as)(struct codec_slice);

	/* What codec_most() and the functions behind it do. */
	size_t (*size)(struct codec_slice);
	void (*encode)(void *to, const float *from, struct codec_slice);
	void (*decode)(float *to, const void *from, struct codec_slice);
	void (*add)(float *to, const void *from, struct codec_slice);
	bool (*finite)(const void *from, struct codec_slice);
};

#define CODEC_DECLARE(name)	extern const struct codec codec_##name;
CODEC_TABLE(CODEC_DECLARE, CODEC_DECLARE)
#undef CODEC_DECLARE

#define CODEC_ONE(name)		+ 1
enum { CODECS = 0 CODEC_TABLE(CODEC_ONE, CODEC_ONE) };
#undef CODEC_ONE

/* The codec of a number, and the number of a codec.  NULL: no codec has this
   number. */
const struct codec *codec_find(uint64_t number);
uint64_t codec_number(const struct codec *);

/* The codec that encodes a slice. */
const struct codec *codec_for(const struct codec *, struct codec_slice);

/* A slice of `count' elements of a small variable that is not a table. */
static inline struct codec_slice
codec_elements(size_t count)
{
	return (struct codec_slice){ count, 1, .exact = true };
}

/*
 * The functions below are of a codec that codec_for() has returned for the
 * slice.
 */

/* The bytes of an encoded slice, at most; codec_size(): of `count' elements of
   a small variable. */
size_t codec_most(const struct codec *, struct codec_slice);

static inline size_t
codec_size(const struct codec *c, size_t count)
{
	return codec_most(codec_for(c, codec_elements(count)),
			  codec_elements(count));
}

/* Sets *bytes to the bytes of the encoded slice at from, where left bytes lie.
   false: they are malformed, or cut short.  A peer's bytes must pass through it
   before they are decoded. */
bool codec_length(const struct codec *, const void *from, size_t left,
		  struct codec_slice, size_t *bytes);

/* Encoded bytes are written where a frame begins, or behind other slices.
   Returns how many they are. */
size_t codec_encode(const struct codec *, void *to, const float *from,
		    struct codec_slice);

/* codec_decode() overwrites the floats, codec_add() adds to them; from may be
   any address.  They return the bytes of the encoded slice. */
size_t codec_decode(const struct codec *, float *to, const void *from,
		    struct codec_slice);
size_t codec_add(const struct codec *, float *to, const void *from,
		 struct codec_slice);

/* Will all decoded floats be finite? */
bool codec_finite(const struct codec *, const void *from, struct codec_slice);

#endif
