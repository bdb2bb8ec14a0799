/*
 * describe - describes checkpoints in text or JSON, for ps-ckpt(1).
 */
#ifndef PS_DESCRIBE_H
#define PS_DESCRIBE_H

#include "base/fail.h"
#include "base/text.h"
#include "store/checkpoint.h"

#include <stdbool.h>

/*
 * Append a line for each checkpoint in dir: name, step, time, bytes, and
 * "final" or "-", with tabs between.  One that cannot be opened is "damaged",
 * and warn() gets the reason.  Return 0 or -1.
 */
int describe_folder(const char *dir, bool json, void (*warn)(const char *),
		    struct text *, struct fail *);

/*
 * Append a line for each array of either checkpoint: name, largest and RMS
 * difference, with tabs between, or why there is none; and the number of a
 * hashed table's rows that only one has.  Return 0 if all differences are at
 * most the tolerance and both have the same arrays and rows, 1 if not, or -1
 * for a failure.
 */
int describe_difference(struct checkpoint *, struct checkpoint *, bool slots,
			double tolerance, struct text *, struct fail *);

/*
 * Call say() with a line for each array that has numbers which are not finite;
 * infinite slots are allowed, see ps-ckpt(5).  Return the number of such
 * arrays, or -1 for a failure.
 */
int describe_unsound(struct checkpoint *,
		     void (*say)(const char *format, ...), struct fail *);

/* Append all that a checkpoint has, except for its numbers. */
void describe_checkpoint(const struct checkpoint *, bool json, struct text *);

#endif
