#include "server/dedup.h"

#include "base/mem.h"

#include <stdlib.h>

struct dedup {
	struct window *applied;	/* to each part */
	bool *pushed_to;	/* each part: it is ours, and steps are */
	size_t parts;
	struct window voided;
	uint64_t low, high;
	bool initial;
	bool (*forgets)(void);
};

struct dedup *
dedup_new(const struct plan *plan, const struct model *model, size_t server,
	  uint64_t step, bool (*forgets)(void))
{
	struct dedup *d = mem_alloc(1, sizeof(*d));
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	d->parts = plan->parts;
	d->applied = mem_alloc(d->parts, sizeof(*d->applied));
	d->pushed_to = mem_alloc(d->parts, sizeof(*d->pushed_to));
	for (size_t i = 0; i < d->parts; i++) {
		const struct part *part = &plan->part[i];

		d->pushed_to[i] = part->server == server &&
			!v[plan->piece[part->first].variable].unused;
	}
	d->low = step;
	d->initial = true;
	d->forgets = forgets;
	return d;
}

void
dedup_free(struct dedup *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->parts; i++)
		window_release(&d->applied[i]);
	window_release(&d->voided);
	free(d->applied);
	free(d->pushed_to);
	free(d);
}

uint64_t
dedup_low(const struct dedup *d)
{
	return d->low;
}

uint64_t
dedup_high(const struct dedup *d)
{
	return d->high;
}

bool
dedup_initial(const struct dedup *d)
{
	return d->initial;
}

const struct window *
dedup_voided(const struct dedup *d)
{
	return &d->voided;
}

/* ---- pushes ---- */

enum outcome
dedup_judge(const struct dedup *d, size_t part, uint64_t step)
{
	if (step < d->low)
		return OUTCOME_DUP;	/* ended; how, no longer matters */
	if (step - d->low >= WINDOW)
		return OUTCOME_LATER;
	if (window_has(&d->voided, step))
		return OUTCOME_VOID;
	return window_has(&d->applied[part], step) &&
		!(d->forgets && d->forgets()) ? OUTCOME_DUP :
		OUTCOME_APPLIED;
}

void
dedup_count(struct dedup *d, uint64_t step)
{
	d->initial = false;
	if (step >= d->high)
		d->high = step + 1;
}

void
dedup_add(struct dedup *d, size_t part, uint64_t step)
{
	window_add(&d->applied[part], step);
	dedup_count(d, step);
}

/* ---- what the coordinator says of steps ---- */

int
dedup_void(struct dedup *d, uint64_t first, uint64_t count, struct fail *f)
{
	if (first < d->low) {
		const uint64_t ended = d->low - first;

		first = d->low;
		count -= ended < count ? ended : count;
	}
	if (count > WINDOW || first - d->low > WINDOW - count)
		return fail(f, FAIL_PROTOCOL, "steps beyond the window");
	for (uint64_t i = 0; i < count; i++)
		window_add(&d->voided, first + i);
	return 0;
}

bool
dedup_raise(struct dedup *d, uint64_t step)
{
	if (step <= d->low)
		return false;
	for (size_t i = 0; i < d->parts; i++)
		window_forget(&d->applied[i], d->low, step);
	window_forget(&d->voided, d->low, step);
	d->low = step;
	return true;
}

void
dedup_go_back(struct dedup *d, uint64_t step, bool initial)
{
	for (size_t i = 0; i < d->parts; i++)
		window_release(&d->applied[i]);
	window_release(&d->voided);
	d->low = d->high = step;
	d->initial = initial;
}

void
dedup_settled(const struct dedup *d, struct window *steps)
{
	bool first = true;

	for (size_t i = 0; i < d->parts; i++) {
		if (!d->pushed_to[i])
			continue;
		if (first)
			window_join(steps, &d->applied[i]);
		else
			window_keep(steps, &d->applied[i]);
		first = false;
	}
	window_join(steps, &d->voided);
}

/* ---- for a standby ---- */

void
dedup_write(const struct dedup *d, size_t part, struct pack *to)
{
	const struct window *w = part == DEDUP_VOIDED ? &d->voided :
		&d->applied[part];
	unsigned char bytes[WINDOW_BYTES];

	pack_blob(to, bytes, window_write(w, d->low, bytes));
}

void
dedup_begin_reading(struct dedup *d, uint64_t high, bool initial)
{
	d->high = high;
	d->initial = initial;
}

void
dedup_read(struct dedup *d, size_t part, struct unpack *u)
{
	struct window *w = part == DEDUP_VOIDED ? &d->voided :
		&d->applied[part];
	size_t size;
	const void *bytes = unpack_blob(u, &size);

	window_read(w, d->low, bytes, size);
	if (part != DEDUP_VOIDED && window_end(w, d->low) > d->high)
		d->high = window_end(w, d->low);
}

/* ---- what always holds ---- */

const char *
dedup_check(const struct dedup *d)
{
	for (size_t i = 0; i < d->parts; i++) {
		const uint64_t end = window_end(&d->applied[i], d->low);

		if (end > d->low && end > d->high)
			return "server 4: no step at or above the high "
				"watermark is applied";
		if (end > d->low && d->initial)
			return "server 5: variables are not marked as initial "
				"after a step was applied";
	}
	return NULL;
}
