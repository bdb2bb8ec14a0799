/*
 * stream - reads lines from, and writes text to, descriptors whose other ends
 * may be slow.
 *
 * Reading and writing never wait: the program polls, and serves its peers
 * meanwhile.  The descriptors are not made non-blocking, since other programs
 * may share them.
 */
#ifndef PS_STREAM_H
#define PS_STREAM_H

#include "base/fail.h"
#include "base/text.h"

struct stream {
	int fd;
	const char *name;	/* for messages; borrowed */
	struct text text;	/* bytes that were read */
	size_t at;		/* of the next line in text */
	uint64_t number;	/* of the last line given, from 1 */
	bool end;		/* there is no more to read */
};

/* Open a file, a FIFO that need not have a writer yet, or standard input ("-").
   Return 0, or -1 (FAIL_NOINPUT); close it in both cases.  The path is
   borrowed. */
int stream_open(struct stream *, const char *path, struct fail *);
void stream_close(struct stream *);

/* Read once, when poll() says that it is readable.  Return 0 or -1: FAIL_IO, or
   FAIL_DATA for a line of more than 16 MiB. */
int stream_read(struct stream *, struct fail *);

/*
 * Return the next whole line, of *size bytes and a NUL in place of its newline;
 * it is good until the next read.  NULL: no whole line was read yet.
 */
char *stream_next(struct stream *, size_t *size);

/*
 * Pass over the first lines of a file that has not been read yet: those that
 * another program has read, whose hash_chain() is given.  Return 0, or -1:
 * FAIL_DATA if it has fewer or others, so that it is not that file any more, or
 * FAIL_IO.
 */
int stream_pass(struct stream *, uint64_t lines, uint64_t hash, struct fail *);

/* Return the number of whole lines that were read, but not given yet. */
uint64_t stream_lines_left(const struct stream *);

/* Is it a regular file, which can be read again, and be truncated? */
bool stream_is_file(int fd);

/*
 * Open a file to write to, and make it if there is none; NULL is standard
 * output.  Return a descriptor, or -1: FAIL_CREATE, or FAIL_AGAIN if another
 * program writes to the file.
 */
int stream_create(const char *path, struct fail *);

/* Check that a file has at least size bytes.  Return 0, or -1 (FAIL_DATA). */
int stream_check(int fd, const char *path, uint64_t size, struct fail *);

/* Truncate a file to its first size bytes, and go to its end.  Return 0 or -1;
   anything but a file is left as it is. */
int stream_cut(int fd, const char *path, uint64_t size, struct fail *);

/*
 * Write as much of a text as the descriptor takes without waiting, and remove
 * that from the text.  name is that of the file; NULL: standard output.  Return
 * 0, or -1 (FAIL_IO).
 */
int stream_write(int fd, const char *name, struct text *, struct fail *);

/*
 * The same to a file that keeps only its first size bytes: it is truncated
 * before the first byte is written, not earlier, and *cut is set then.
 */
int stream_resume(int fd, const char *name, uint64_t size, bool *cut,
		  struct text *, struct fail *);

#endif
