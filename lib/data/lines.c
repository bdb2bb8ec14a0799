#include "data/lines.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	((size_t)256 << 10)	/* bytes read at once, if there */

int
lines_open(struct lines *l, const char *name, struct commands *commands,
	   struct fail *f)
{
	*l = (struct lines){ .until = UINT64_MAX };
	l->source = source_open(name, commands, f);
	return l->source ? 0 : -1;
}

void
lines_release(struct lines *l)
{
	source_close(l->source);
	free(l->buffer);
	*l = (struct lines){ 0 };
}

/* Refuse files of other programs that are no text. */
static int
check_kind(const struct lines *l, struct fail *f)
{
	static const struct {
		const char *magic, *kind;
	} others[] = {
		{ "PK\3\4", "a zip archive: unpack it" },
		{ "PAR1", "a Parquet file: write it as CSV" },
		{ "ARROW1", "an Arrow file: write it as CSV" },
		{ "\x89HDF\r\n\x1a\n", "an HDF5 file: write it as .npy" },
		{ "\x93NUMPY", "an array of NumPy: say -F npy" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strncmp(l->buffer, others[i].magic,
			    strlen(others[i].magic)) == 0)
			return fail(f, FAIL_DATA, "%s: it is no text, but %s",
				    source_name(l->source), others[i].kind);
	return 0;
}

/* Move the rest of the bytes to the front, and append more.  Return 1; 0 at the
   end of the source; or -1. */
static int
refill(struct lines *l, struct fail *f)
{
	const size_t behind = 1 + LINE_SLACK;	/* a NUL and the slack */
	size_t size;

	if (l->start > 0) {
		memmove(l->buffer, l->buffer + l->start, l->end - l->start);
		l->line -= l->start;
		l->next -= l->start;
		l->end -= l->start;
		l->base += l->start;
		l->start = 0;
	}
	if (l->room - l->end < BLOCK + behind) {
		l->room = 2 * l->end + BLOCK + behind;
		l->buffer = mem_resize(l->buffer, l->room, 1);
	}
	if (source_fill(l->source, l->buffer + l->end, BLOCK, &size, f) != 0)
		return -1;
	l->end += size;
	memset(l->buffer + l->end, 0, behind);
	if (l->base == 0 && l->end == size && check_kind(l, f))
		return -1;
	return size > 0;
}

/* End the line that begins at l->line before at; its end has n characters. */
static int
end_line(struct lines *l, size_t at, size_t n)
{
	l->number++;
	if (l->base + l->start == 0)
		l->start += l->mark = text_mark(l->buffer, at);
	l->next = at + n;
	l->cut = n;
	if (at > l->start && at > l->line && l->buffer[at - 1] == '\r') {
		at--;
		l->cut++;
	}
	l->buffer[at] = '\0';
	l->text = l->buffer + l->start;
	l->size = at - l->start;
	return 1;
}

/* Find the end of the line that begins at l->line. */
static int
find_line_end(struct lines *l, struct fail *f)
{
	size_t seen = l->line;

	for (;;) {
		char *end = seen == l->end ? NULL :
			    memchr(l->buffer + seen, '\n', l->end - seen);

		if (end)
			return end_line(l, (size_t)(end - l->buffer), 1);
		seen = l->end - l->start;
		if (seen > LINE_MAX_SIZE) {
			l->number++;
			fail(f, FAIL_DATA, "longer than %zu MiB",
			     LINE_MAX_SIZE >> 20);
			return lines_fail(l, f);
		}

		const int got = refill(l, f);

		if (got < 0)
			return -1;
		if (got == 0)
			return l->line < l->end ? end_line(l, l->end, 0) : 0;
		seen += l->start;
	}
}

/*
 * Reading begins one byte before from, and the rest of that line is passed: it
 * is only a "\n" if a line begins at from.
 */
int
lines_seek(struct lines *l, uint64_t from, uint64_t until, struct fail *f)
{
	struct source *source;
	int got = 0;

	if (from > 0) {
		source = source_open_at(source_name(l->source), from - 1, f);
		if (!source)
			return -1;
		source_close(l->source);
		l->source = source;
		l->number = l->start = l->line = l->next = l->end = 0;
		l->began = l->base = from - 1;
		got = lines_next(l, f);
	}
	l->until = until;
	return got < 0 ? -1 : 0;
}

uint64_t
lines_at(const struct lines *l)
{
	return l->base + l->start - l->mark;
}

uint64_t
lines_behind(const struct lines *l)
{
	return l->base + l->next;
}

int
lines_next(struct lines *l, struct fail *f)
{
	if (l->base + l->next >= l->until)
		return 0;
	l->start = l->line = l->next;
	l->mark = 0;
	return find_line_end(l, f);
}

int
lines_more(struct lines *l, struct fail *f)
{
	char *end = l->text + l->size;

	/* The line's end is data now: put it back over the NUL. */
	if (l->cut == 2)
		*end++ = '\r';
	if (l->next > (size_t)(end - l->buffer))
		*end = '\n';
	l->line = l->next;
	return find_line_end(l, f);
}

/* Count the lines of the file before the part that is read. */
static uint64_t
lines_before(const struct lines *l)
{
	struct source *s = NULL;
	uint64_t count = 0, left = l->began;
	const void *bytes;
	struct fail ignored;
	size_t size;

	if (left > 0)
		s = source_open_at(source_name(l->source), 0, &ignored);
	while (s && left > 0 &&
	       source_read(s, &bytes, &size, &ignored) == 0 && size > 0) {
		const char *p = bytes, *end;

		if (size > left)
			size = (size_t)left;
		left -= size;
		for (end = p + size; (p = memchr(p, '\n', (size_t)(end - p)));
		     p++)
			count++;
	}
	source_close(s);
	return count;
}

int
lines_fail_at(const struct lines *l, uint64_t number, struct fail *f)
{
	return fail_at(f, "%s:%llu", source_name(l->source),
		       (unsigned long long)(lines_before(l) + number));
}

int
lines_fail(const struct lines *l, struct fail *f)
{
	return lines_fail_at(l, l->number, f);
}
