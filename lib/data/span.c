#include "data/span.h"

#include "base/mem.h"
#include "data/format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct span_reader {
	const struct format *format;
	void *state;		/* of the format */
	struct want want;
	char *file[2];
	uint64_t number;	/* of the next record */
	uint64_t left;		/* of the span */
	const atomic_bool *stop;
};

void
span_release(struct span *s)
{
	free(s->file);
	free(s->label);
	*s = (struct span){ 0 };
}

static const struct format *
find_format(const struct span *s, const struct span_format *how,
	    struct fail *f)
{
	const struct format *format = how->name ? format_find(how->name) :
		format_of(s->file);

	if (!format)
		fail(f, FAIL_USAGE, "unknown data format '%s'", how->name);
	return format;
}

/* Nothing that could keep us waiting, or run. */
static int
check_file(const char *name, struct fail *f)
{
	struct stat st;

	if (strcmp(name, "-") == 0 || strncmp(name, "pipe:", 5) == 0)
		return fail(f, FAIL_DENIED, "%s: of a coordinator's word only "
			    "files are read", name);
	if (stat(name, &st) != 0)
		return fail_sys(f, FAIL_NOINPUT, "%s", name);
	if (!S_ISREG(st.st_mode))
		return fail(f, FAIL_NOINPUT, "%s: it is no plain file", name);
	return 0;
}

static int
begin(struct span_reader *r, const struct span *s,
      const struct span_format *how, struct fail *f)
{
	r->format = find_format(s, how, f);
	if (!r->format)
		return -1;
	if (r->format->pairs && r->want.label && !s->label)
		return fail(f, FAIL_NOINPUT, "%s: no file of labels goes with "
			    "it, which %s needs", s->file, r->format->name);
	if (check_file(s->file, f) < 0 ||
	    (s->label && check_file(s->label, f) < 0))
		return -1;
	r->state = r->format->open(&r->want, r->file, f);
	if (!r->state)
		return -1;
	if (s->begin == 0 && s->end == UINT64_MAX)
		return 0;
	if (!r->format->seek)
		return fail(f, FAIL_AGAIN, "%s: %s is read from the front",
			    s->file, r->format->name);
	return r->format->seek(r->state, s->begin, s->end, f);
}

static int
changed(const struct span_reader *r, struct fail *f)
{
	return fail(f, FAIL_DATA, "%s: it ends before record %llu: it has "
		    "changed since it was counted", r->file[0],
		    (unsigned long long)r->number + 1);
}

/* The next record, unless somebody wants us to stop. */
static int
next(struct span_reader *r, struct batch *b, struct fail *f)
{
	if (r->stop && atomic_load_explicit(r->stop, memory_order_relaxed))
		return fail(f, FAIL_PEER, "%s: reading was broken off",
			    r->file[0]);
	return r->format->read(r->state, b, f);
}

static int
pass(struct span_reader *r, uint64_t records, struct fail *f)
{
	for (; records > 0; records--) {
		const int got = next(r, NULL, f);

		if (got <= 0)
			return got < 0 ? -1 : changed(r, f);
	}
	return 0;
}

static struct span_reader *
enter(const struct span *s, const struct span_format *how,
      const struct input *inputs, size_t count, const struct input *label,
      struct fail *f)
{
	struct span_reader *r = mem_alloc(1, sizeof(*r));

	r->want = (struct want){ .inputs = inputs, .count = count,
				 .label = label,
				 .no_header = how->no_header };
	r->file[0] = mem_text(s->file);
	r->file[1] = s->label ? mem_text(s->label) : NULL;
	r->number = s->number;
	r->left = s->count;
	r->stop = how->stop;
	if (begin(r, s, how, f) == 0)
		return r;
	span_close(r);
	return NULL;
}

struct span_reader *
span_open(const struct span *s, const struct span_format *how,
	  const struct input *inputs, size_t count, const struct input *label,
	  struct fail *f)
{
	struct span_reader *r = enter(s, how, inputs, count, label, f);

	if (!r || pass(r, s->skip, f) == 0)
		return r;
	span_close(r);
	return NULL;
}

void
span_close(struct span_reader *r)
{
	if (!r)
		return;
	if (r->state)
		r->format->close(r->state);
	free(r->file[0]);
	free(r->file[1]);
	free(r);
}

bool
span_follow(struct span_reader *r, const struct span *s)
{
	if (r->left > 0 || r->number != s->number ||
	    strcmp(r->file[0], s->file) != 0)
		return false;
	r->left = s->count;
	return true;
}

int
span_read(struct span_reader *r, struct batch *b, struct fail *f)
{
	int got;

	if (r->left == 0)
		return 0;
	got = next(r, b, f);
	if (got == 0)
		return changed(r, f);
	r->left--;
	r->number++;
	if (got > 0)
		b->examples++;
	return got;
}

static void
note_place(struct span_tally *t, size_t *room, uint64_t at)
{
	t->place = mem_grow(t->place, t->places, room, sizeof(*t->place));
	t->place[t->places++] = at;
}

static int
count(struct span_reader *r, struct span_tally *t, struct fail *f)
{
	size_t room = 0;
	int got;

	while ((got = next(r, NULL, f)) > 0) {
		const uint64_t at = r->format->at ?
			r->format->at(r->state) : UINT64_MAX;

		if (t->records++ % SPAN_EVERY == 0 && at != UINT64_MAX)
			note_place(t, &room, at);
	}
	return got;
}

/*
 * A file that is bad in a part may be sound as a whole, if it is one that
 * quotes ends of lines.
 */
int
span_count(const struct span *s, const struct span_format *how,
	   const struct input *inputs, size_t inputs_count,
	   const struct input *label, struct span_tally *t, struct fail *f)
{
	struct span_reader *r = enter(s, how, inputs, inputs_count, label, f);
	int got = -1;

	*t = (struct span_tally){ 0 };
	if (r)
		got = count(r, t, f);
	span_close(r);
	if (got == 0)
		return 0;
	free(t->place);
	*t = (struct span_tally){ 0 };
	if (s->end == UINT64_MAX ||
	    (f->kind != FAIL_DATA && f->kind != FAIL_AGAIN))
		return -1;
	t->whole = true;
	return 0;
}
