/*
 * dedup - which steps a server has: each counts once for each part, however
 * often it is pushed.
 *
 * Steps below the low watermark have ended, and nothing more is known of them.
 * Of those above it, within a window, it is known which were applied to which
 * part, and which were given up.  No step from the high watermark on was
 * applied.
 */
#ifndef PS_DEDUP_H
#define PS_DEDUP_H

#include "base/window.h"
#include "wire/message.h"
#include "wire/plan.h"

struct dedup;

/*
 * Of the parts that a server of the plan has, whose variables are initial;
 * plan and model are borrowed until it is freed.  A test of tests can have it
 * not know a step that was applied: forgets() says so; NULL: never.
 */
struct dedup *dedup_new(const struct plan *, const struct model *,
			size_t server, uint64_t step, bool (*forgets)(void));
void dedup_free(struct dedup *);

uint64_t dedup_low(const struct dedup *);
uint64_t dedup_high(const struct dedup *);
/* The variables are as the plan, or a LOAD of no checkpoint, made them. */
bool dedup_initial(const struct dedup *);
const struct window *dedup_voided(const struct dedup *);

/* What is to become of a push of this step to this part? */
enum outcome dedup_judge(const struct dedup *, size_t part, uint64_t step);

/* It was applied to the part; or was, and somebody else remembers it. */
void dedup_add(struct dedup *, size_t part, uint64_t step);
void dedup_count(struct dedup *, uint64_t step);

/* Give steps up: those below the low watermark have ended anyway. */
int dedup_void(struct dedup *, uint64_t first, uint64_t count, struct fail *);

/* Steps below this one have ended; false: this was known. */
bool dedup_raise(struct dedup *, uint64_t step);

/* The variables are as they were at this step, be it their first values: so
   is what is known of them. */
void dedup_go_back(struct dedup *, uint64_t step, bool initial);

/*
 * Add the steps from the low watermark on that are not to be pushed any more:
 * every part that steps are pushed to has them, or they were given up.
 */
void dedup_settled(const struct dedup *, struct window *);

/*
 * What it knows of the steps given up (DEDUP_VOIDED), or of a part; and take
 * it over from another server, which began with these watermarks.
 */
#define DEDUP_VOIDED	SIZE_MAX
void dedup_write(const struct dedup *, size_t part, struct pack *);
void dedup_begin_reading(struct dedup *, uint64_t high, bool initial);
void dedup_read(struct dedup *, size_t part, struct unpack *);

/* For tests: NULL, or what does not hold. */
const char *dedup_check(const struct dedup *);

#endif
