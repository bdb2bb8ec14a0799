#include "data/record_range.h"

#include "base/mem.h"
#include "data/feature_set.h"
#include "data/format.h"
#include "data/record_index.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LITTLE	1024		/* records of record_range_finish() */

struct record_range_reader {
	const struct format *format;
	struct read_spec want;
	char *file[2];
	/* The range: */
	uint64_t number;	/* of the next record that is wanted */
	struct segment_place at;	/* its place */
	uint64_t segment;	/* records of its segment */
	uint64_t left;		/* records left of the range */
	const atomic_bool *stop;
	struct skip_records *bad;
	struct negative_labels *negatives;
	uint64_t begin, end;	/* bytes at which the file is to be entered and
				   left */
	uint64_t first;		/* number of the first record from begin on */
	/* The open file, which can be elsewhere if a cache has the records: */
	void *state;		/* of the format; NULL: not open */
	bool front;		/* it was entered at its front */
	uint64_t entered;	/* number of the first record since it was
				   entered */
	uint64_t comes;		/* number of the record that it gives next */
	struct cache_segments *segments;	/* NULL: no caches */
};

void
record_range_release(struct record_range *s)
{
	free(s->file);
	free(s->label);
	*s = (struct record_range){ 0 };
}

static const struct format *
find_format(const struct record_range *s, const struct record_range_format *how,
	    struct fail *f)
{
	const struct format *format = how->name ? format_find(how->name) :
		format_of(s->file);

	if (!format)
		format_unknown(how->name, f);
	return format;
}

/* Refuse all but plain files: a pipe could make us wait, or run a command. */
static int
check_file(const char *name, struct fail *f)
{
	struct stat st;

	if (strcmp(name, "-") == 0 || strncmp(name, "pipe:", 5) == 0)
		return fail(f, FAIL_DENIED, "%s: for a coordinator a worker "
			    "reads only files", name);
	if (stat(name, &st) != 0)
		return fail_sys(f, FAIL_NOINPUT, "%s", name);
	if (!S_ISREG(st.st_mode))
		return fail(f, FAIL_NOINPUT, "%s: it is not a plain "
					     "file", name);
	return 0;
}

static int
check(struct record_range_reader *r, const struct record_range *s,
      const struct record_range_format *how, struct fail *f)
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
	return 0;
}

static void
close_range(struct record_range_reader *r)
{
	if (r->state)
		r->format->close(r->state);
	r->state = NULL;
}

static int
open_range(struct record_range_reader *r, struct fail *f)
{
	close_range(r);
	r->front = r->begin == 0 && r->end == UINT64_MAX;
	r->entered = r->comes = r->first;
	r->state = r->format->open(&r->want, r->file, f);
	if (!r->state || r->front)
		return r->state ? 0 : -1;
	if (!r->format->seek)
		return fail(f, FAIL_AGAIN, "%s: %s can be read only from its "
			    "start",
			    r->file[0], r->format->name);
	return r->format->seek(r->state, r->begin, r->end, f);
}

static int
fail_changed(const struct record_range_reader *r, struct fail *f)
{
	return fail(f, FAIL_DATA, "%s: it ends before record %llu: it has "
		    "changed since it was counted", r->file[0],
		    (unsigned long long)r->number + 1);
}

/* Read the next record of the open file, unless stop is set; b may be NULL. */
static int
read_next(struct record_range_reader *r, struct batch *b, struct fail *f)
{
	if (r->stop && atomic_load_explicit(r->stop, memory_order_relaxed))
		return fail(f, FAIL_PEER, "%s: reading was interrupted",
			    r->file[0]);
	return r->format->read(r->state, b, f);
}

/* Pass over the next record.  Return 1, also for a bad one if bad ones may be
   skipped; 0 at the end; or -1. */
static int
skip_record(struct record_range_reader *r, struct fail *f)
{
	const int got = read_next(r, NULL, f);

	return got < 0 && f->passable && skip_records_any(r->bad) ? 1 : got;
}

/*
 * Move the open file to the record that is wanted.  Since records may have come
 * from a cache, the file may be far before this record, or after it: it is
 * entered anew at r->begin if it is after it, or if that way is shorter.
 */
static int
seek_record(struct record_range_reader *r, struct fail *f)
{
	const uint64_t come = r->comes - r->entered;

	if ((!r->state || r->number - r->entered < come ||
	     (r->first - r->entered > come &&
	      r->first - r->entered <= r->number - r->entered)) &&
	    open_range(r, f) < 0)
		return -1;
	for (; r->comes != r->number; r->comes++) {
		const int got = skip_record(r, f);

		if (got <= 0)
			return got < 0 ? -1 : fail_changed(r, f);
	}
	return 0;
}

/* Begin a range. */
static void
begin_range(struct record_range_reader *r, const struct record_range *s)
{
	r->number = s->number;
	r->at = s->at;
	r->segment = s->segment;
	r->left = s->count;
	r->begin = s->begin;
	r->end = s->end;
	r->first = s->number - s->skip;
}

static struct record_range_reader *
reader_new(const struct record_range *s, const struct record_range_format *how,
	   const struct input *inputs, size_t count,
	   const struct input *label, struct fail *f)
{
	struct record_range_reader *r = mem_alloc(1, sizeof(*r));

	r->want = (struct read_spec){ .inputs = inputs, .count = count,
				      .label = label,
				      .no_header = how->no_header,
				      .bad = how->bad,
				     .negatives = how->negatives,
				      .order = how->order };
	r->file[0] = mem_text(s->file);
	r->file[1] = s->label ? mem_text(s->label) : NULL;
	r->stop = how->stop;
	r->bad = how->bad;
	r->negatives = how->negatives;
	begin_range(r, s);
	if (check(r, s, how, f) == 0)
		return r;
	record_range_close(r);
	return NULL;
}

struct record_range_reader *
record_range_open(const struct record_range *s,
		  const struct record_range_format *how,
		  const struct input *inputs, size_t count,
		  const struct input *label, struct fail *f)
{
	struct record_range_reader *r =
		reader_new(s, how, inputs, count, label, f);

	if (r && how->cache)
		r->segments = cache_segments_new(how->cache, r->format,
						 &r->want, r->file);
	return r;
}

void
record_range_close(struct record_range_reader *r)
{
	if (!r)
		return;
	close_range(r);
	cache_segments_free(r->segments);
	free(r->file[0]);
	free(r->file[1]);
	free(r);
}

bool
record_range_follow(struct record_range_reader *r, const struct record_range *s)
{
	if (r->left > 0 || r->number != s->number ||
	    strcmp(r->file[0], s->file) != 0)
		return false;
	begin_range(r, s);
	return true;
}

/* Has the record that was just read the place r->at?  Peers named that place,
   so it is verified before a cache is kept under its name. */
static bool
is_first(const struct record_range_reader *r)
{
	if (r->front && r->at.origin == 0)
		return r->comes - r->entered == r->at.inside;
	return r->at.inside == 0 && r->format->at &&
		r->format->at(r->state) == r->at.origin;
}

/* Read a record of the file, and keep it if its segment is being made; b may be
   NULL. */
static int
read_file(struct record_range_reader *r, struct batch *b, struct fail *f)
{
	struct batch *room;
	int got;

	if (seek_record(r, f) < 0)
		return -1;
	room = r->segments ?
		cache_segments_room(r->segments, r->at, r->segment) : NULL;
	got = read_next(r, room ? room : b, f);
	if (room && got > 0)
		cache_segments_add(r->segments, b,
				   r->at.inside % SEGMENT_RECORDS ||
				   is_first(r));
	else if (room)
		cache_segments_abandon(r->segments);
	r->comes += got > 0 || (got < 0 && f->passable);
	return got;
}

static void
count_read(struct record_range_reader *r, uint64_t records)
{
	r->number += records;
	r->at.inside += records;
}

int
record_range_read(struct record_range_reader *r, struct batch *b,
		  struct fail *f)
{
	const size_t most = r->left < INT_MAX ? (size_t)r->left : INT_MAX;
	int got = 0;

	if (r->left == 0)
		return 0;
	b->label.negatives = r->negatives;
	if (r->segments)
		got = (int)cache_segments_read(r->segments, r->at, b, most);
	if (got == 0) {
		got = read_file(r, b, f);
		if (got == 0)
			return fail_changed(r, f);
	}
	if (got < 0 && !(r->bad && skip_records_pass(r->bad, f)))
		return -1;
	if (got > 0 && r->negatives &&
	    feature_set_add_negatives(r->negatives, b, b->examples,
								 (size_t)got,
				      f) != 0)
		return fail_at(f, "%s", r->file[0]);
	b->examples += got > 0 ? (size_t)got : 0;
	got = got > 0 ? got : 1;
	r->left -= (uint64_t)got;
	count_read(r, (uint64_t)got);
	return got;
}

bool
record_range_finish(struct record_range_reader *r)
{
	struct fail why;

	for (int i = 0; i < LITTLE; i++) {
		if (!r->segments || !cache_segments_wants(r->segments, r->at) ||
		    read_file(r, NULL, &why) <= 0)
			return false;
		count_read(r, 1);
	}
	return true;
}

static void
note_place(struct record_range_tally *t, size_t *room, uint64_t at)
{
	t->place = mem_grow(t->place, t->places, room, sizeof(*t->place));
	t->place[t->places++] = at;
}

static int
count(struct record_range_reader *r, struct record_range_tally *t,
      struct fail *f)
{
	size_t room = 0;
	int got;

	while ((got = skip_record(r, f)) > 0) {
		const uint64_t at = r->format->at ?
			r->format->at(r->state) : UINT64_MAX;

		if (t->records++ % RECORD_RANGE_EVERY == 0 && at != UINT64_MAX)
			note_place(t, &room, at);
	}
	return got;
}

/* Take the tally that an earlier run kept; or count, and keep the tally. */
static int
count_once(struct record_range_reader *r, const struct record_range *s,
	   const struct cache *cache, struct record_range_tally *t,
	   struct fail *f)
{
	struct cache_input in;
	struct cache_key key;

	if (cache) {
		in = cache_input(cache->folder, r->format, &r->want, r->file);
		cache = cache_key_make(&key, &in) ? cache : NULL;
	}
	if (cache && record_index_read(&in, &key, s, t))
		return 0;
	if (open_range(r, f) < 0 || count(r, t, f) < 0)
		return -1;
	if (cache)
		record_index_write(&in, &key, s, t);
	return 0;
}

/* A csv file that is malformed in a part may be sound as a whole: quotes may
   hold line ends. */
int
record_range_count(const struct record_range *s,
		   const struct record_range_format *how,
		   const struct input *inputs, size_t inputs_count,
		   const struct input *label, struct record_range_tally *t,
		   struct fail *f)
{
	struct record_range_reader *r = reader_new(s, how, inputs, inputs_count,
						   label, f);
	int got = -1;

	*t = (struct record_range_tally){ 0 };
	if (r)
		got = count_once(r, s, how->cache, t, f);
	record_range_close(r);
	if (got == 0)
		return 0;
	free(t->place);
	*t = (struct record_range_tally){ 0 };
	if (s->end == UINT64_MAX ||
	    (f->kind != FAIL_DATA && f->kind != FAIL_AGAIN))
		return -1;
	t->whole = true;
	return 0;
}
