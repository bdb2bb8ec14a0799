/*
 * lines - reads a source line by line, and knows the number of each line.
 */
#ifndef PS_LINES_H
#define PS_LINES_H

#include "data/source.h"

#include <stdint.h>

#define LINE_MAX_SIZE	((size_t)64 << 20)
#define LINE_SLACK	32	/* bytes after the NUL that can be read */

struct lines {
	struct source *source;
	char *text;		/* the line, then a NUL; the caller may write
				   in it */
	size_t size;		/* bytes of the line, without its end */
	uint64_t number;	/* of text's last line, from the line on that
				   has byte number began, which is 1 */
	/* Private: */
	char *buffer;		/* bytes that were read, but not passed yet */
	size_t start, line, next, end, room;	/* offsets in buffer: of text,
				   of its last line, of the next line, of the
				   end of the bytes; and its size */
	size_t cut;		/* bytes of the line's end: 0, 1 or 2 */
	size_t mark;		/* bytes of a byte order mark before start */
	uint64_t began, base;	/* bytes of the file before the part that is
				   read, and before buffer */
	uint64_t until;		/* no line begins at this byte or after it */
};

/*
 * Open a source by name.  Return 0 or -1; the caller releases the struct in
 * both cases.  A zeroed struct lines is an empty one.
 */
int lines_open(struct lines *, const char *name, struct commands *commands,
	       struct fail *);
void lines_release(struct lines *);

/*
 * Restrict a plain file to the lines that begin at byte from or after it, and
 * before byte until.  With from 0, reading resumes where it is.  Return 0 or
 * -1.
 */
int lines_seek(struct lines *, uint64_t from, uint64_t until, struct fail *);

/*
 * Return the byte at which the present line begins, with its byte order mark if
 * it has one; and the byte at which the next line begins.  Both count
 * decompressed bytes.
 */
uint64_t lines_at(const struct lines *);
uint64_t lines_behind(const struct lines *);

/*
 * Read the next line.  Return 1, and text and size are good until the next
 * call; 0 after the last line; or -1.  "\r\n" ends a line as "\n" does, and a
 * byte order mark at the front of the file is passed over.  A line of more than
 * LINE_MAX_SIZE bytes is FAIL_DATA.
 */
int lines_next(struct lines *, struct fail *);

/*
 * Append the next line to text, with the line end between the two: for a record
 * that has "\n" in it.  Return as lines_next() does.
 */
int lines_more(struct lines *, struct fail *);

/*
 * Put "FILE:LINE: " in front of a failure, for the present line or for the one
 * with a number, and return -1.  The message counts lines from the front of the
 * file: lines before a part are counted now, by reading them.
 */
int lines_fail(const struct lines *, struct fail *);
int lines_fail_at(const struct lines *, uint64_t number, struct fail *);

#endif
