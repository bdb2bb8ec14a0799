/*
 * dedup - which steps a server has applied: each counts once for each part,
 * however often it is pushed.
 *
 * - Steps below the low watermark have ended; nothing more is known of them.
 * - Of the WINDOW steps from the low watermark on it is known which were
 *   applied to which part, and which were given up.
 * - No step at or above the high watermark was applied.
 */
#ifndef PS_DEDUP_H
#define PS_DEDUP_H

#include "base/window.h"
#include "wire/message.h"
#include "wire/plan.h"

struct dedup;

/*
 * Returns the steps of a server of the plan whose variables have their initial
 * values; the low watermark is the step.  The plan and the model are borrowed
 * until dedup_free().  forgets is for a test of the tests: when it returns
 * true, dedup_judge() treats a step that was applied as one that was not.
 * NULL: never.
 */
struct dedup *dedup_new(const struct plan *, const struct model *,
			size_t server, uint64_t step, bool (*forgets)(void));
void dedup_free(struct dedup *);

/* The low and the high watermark. */
uint64_t dedup_low(const struct dedup *);
uint64_t dedup_high(const struct dedup *);
/* Have the variables their initial values: those that the plan, or a LOAD
   without a checkpoint, made? */
bool dedup_initial(const struct dedup *);
/* The steps from the low watermark on that were given up. */
const struct window *dedup_voided(const struct dedup *);

/* What is to be done with a push of this step to this part: APPLIED (apply it),
   DUP, VOID, or LATER (at or above low watermark + WINDOW). */
enum outcome dedup_judge(const struct dedup *, size_t part, uint64_t step);

/* dedup_add(): the step was applied to the part.  dedup_count(): a step was
   applied for which another object knows the parts (round_buffer).  Both raise
   the high watermark above the step. */
void dedup_add(struct dedup *, size_t part, uint64_t step);
void dedup_count(struct dedup *, uint64_t step);

/* Give up the steps from first on; those below the low watermark have ended and
   are skipped.  FAIL_PROTOCOL: the last is beyond the window. */
int dedup_void(struct dedup *, uint64_t first, uint64_t count, struct fail *);

/* Raise the low watermark to this step.  false: it was there or above. */
bool dedup_raise(struct dedup *, uint64_t step);

/* The variables were put back to what they were at this step, or to their
   initial values: forget all steps, and set both watermarks to this one. */
void dedup_go_back(struct dedup *, uint64_t step, bool initial);

/*
 * Add to the window the steps from the low watermark on that need no push any
 * more: steps that were applied to every part of this server that gradients are
 * pushed to, and steps that were given up.
 */
void dedup_settled(const struct dedup *, struct window *);

/*
 * dedup_write() writes the window of one part, or that of the steps given up
 * (DEDUP_VOIDED).  A standby takes these over from its primary:
 * dedup_begin_reading() sets the high watermark, and dedup_read() reads a
 * window each, and raises the high watermark above the steps of a part; both
 * sides must have the same low watermark.
 */
#define DEDUP_VOIDED	SIZE_MAX
void dedup_write(const struct dedup *, size_t part, struct pack *);
void dedup_begin_reading(struct dedup *, uint64_t high, bool initial);
void dedup_read(struct dedup *, size_t part, struct unpack *);

/* For tests: NULL, or the invariant that is broken. */
const char *dedup_check(const struct dedup *);

#endif
