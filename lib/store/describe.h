/*
 * describe - a checkpoint in words or JSON, for ps-ckpt(1).
 */
#ifndef PS_DESCRIBE_H
#define PS_DESCRIBE_H

#include "base/fail.h"
#include "base/text.h"
#include "store/checkpoint.h"

#include <stdbool.h>

/*
 * A line for each checkpoint in dir: name, step, time, bytes, "final" or "-";
 * by tabs.  One that cannot be opened is "damaged", and told through warn.
 */
int describe_folder(const char *dir, bool json, void (*warn)(const char *),
		    struct text *, struct fail *);

/*
 * A line for each array of either one: name, largest and RMS difference, by
 * tabs, or why it has none; and how many rows of a hashed table are in one
 * only.  Returns 0 if all differences are at most that and nothing is in one
 * only, 1 if not, -1 for a failure.
 */
int describe_difference(struct checkpoint *, struct checkpoint *, bool slots,
			double tolerance, struct text *, struct fail *);

/*
 * Say of each array that has numbers that are not finite, in a line.  Returns
 * how many those are, -1 for a failure.
 */
int describe_unsound(struct checkpoint *,
		     void (*say)(const char *format, ...), struct fail *);

/* All that is known of one, but its numbers. */
void describe_checkpoint(const struct checkpoint *, bool json, struct text *);

#endif
