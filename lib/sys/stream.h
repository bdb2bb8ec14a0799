/*
 * stream - text in and out of descriptors that others may be slow at.
 *
 * Reading and writing never wait: the program polls, and goes on with its
 * peers meanwhile.  The descriptors' flags are left alone, since they may be
 * shared with other programs.
 */
#ifndef PS_STREAM_H
#define PS_STREAM_H

#include "base/fail.h"
#include "base/text.h"

struct stream {
	int fd;
	const char *name;	/* for messages */
	struct text text;	/* from at on not handed out yet */
	size_t at;
	uint64_t number;	/* of the last line, from 1 */
	uint64_t skip;		/* lines to pass over */
	bool end;		/* there is no more to read */
};

/* "-" is standard input. */
int stream_open(struct stream *, const char *path, struct fail *);
void stream_close(struct stream *);

/* Read once; call it when poll says that it is readable. */
int stream_read(struct stream *, struct fail *);

/* The next whole line without its newline, good until the next read: so many
   bytes, and a NUL behind them. */
char *stream_next(struct stream *, size_t *size);

/* Whole lines that were read, and not handed out. */
uint64_t stream_lines_left(const struct stream *);

/* Can it be read again from its beginning, and cut at its end? */
bool stream_is_file(int fd);

/*
 * To write to: a file, made if it is not there, that nobody else writes to
 * (FAIL_AGAIN), or standard output (NULL).
 */
int stream_create(const char *path, struct fail *);
/* Has that file so many bytes at the least?  FAIL_DATA: they are gone. */
int stream_check(int fd, const char *path, uint64_t size, struct fail *);
/* Go on behind the first size bytes of that file; what follows them goes. */
int stream_cut(int fd, const char *path, uint64_t size, struct fail *);

/*
 * Write as much of a text as the descriptor takes at once, when poll says
 * that it is writable, and drop it from the text.  It is a file of that name,
 * or standard output (NULL).
 */
int stream_write(int fd, const char *name, struct text *, struct fail *);

/*
 * The same behind the first size bytes of a file: what follows them goes when
 * there is something to write, and not before; *cut says that it has gone.
 */
int stream_resume(int fd, const char *name, uint64_t size, bool *cut,
		  struct text *, struct fail *);

#endif
