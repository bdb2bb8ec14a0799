/*
 * lines - a source cut into lines, each with its number.
 */
#ifndef PS_LINES_H
#define PS_LINES_H

#include "data/source.h"

#include <stdint.h>

#define LINE_MAX_SIZE	((size_t)64 << 20)
#define LINE_SLACK	32	/* bytes behind the NUL that can be read */

struct lines {
	struct source *source;
	char *text;		/* the line, then a NUL; ours to write in */
	size_t size;		/* of the line, without its end */
	uint64_t number;	/* of its last line, from where we began: 1 */
	/* Private: */
	char *buffer;		/* what was read and not yet passed */
	size_t start, line, next, end, room;
	size_t cut;		/* characters of the line's end */
	size_t mark;		/* of the byte order mark before its start */
	uint64_t began, base;	/* bytes of the file before ours, and before
				   the buffer's */
	uint64_t until;		/* no line begins there or behind */
};

/* A zeroed struct lines is an empty one, for release. */
int lines_open(struct lines *, const char *name, struct commands *commands,
	       struct fail *);
void lines_release(struct lines *);

/*
 * Go to those lines of a plain file that begin at byte from or behind it, but
 * before until.
 */
int lines_seek(struct lines *, uint64_t from, uint64_t until, struct fail *);

/*
 * Where the line begins, with a byte order mark if one is there, in bytes of
 * what is read; behind it.
 */
uint64_t lines_at(const struct lines *);
uint64_t lines_behind(const struct lines *);

/*
 * The next line: 1, and text and size are it until the next call; 0: no more.
 * "\r\n" ends a line as "\n" does, and a byte order mark is passed over.  A
 * line of more than LINE_MAX_SIZE bytes is FAIL_DATA.
 */
int lines_next(struct lines *, struct fail *);

/* Add the line that follows, for a record that has "\n" in it. */
int lines_more(struct lines *, struct fail *);

/*
 * Put "file:line: " before the failure, of this line or the one with that
 * number; returns -1.  The line is the file's, wherever we began.
 */
int lines_fail(const struct lines *, struct fail *);
int lines_fail_at(const struct lines *, uint64_t number, struct fail *);

#endif
