/*
 * requests - where a coordinator's own requests come from: a file or standard
 * input, and a FIFO that others write to.
 *
 * The FIFO has writers that come and go, so it has no end.  Its lines follow
 * those of the file in the order in which they were read.
 */
#ifndef PS_REQUESTS_H
#define PS_REQUESTS_H

#include "coord/coord.h"
#include "sys/stream.h"

#include <poll.h>

#define REQUESTS_FDS	2

struct requests {
	struct stream in, fifo;
	bool has_fifo;
};

/* fifo: its path, or NULL.  FAIL_NOINPUT: it is not there, or no FIFO. */
int requests_open(struct requests *, const char *path, const char *fifo,
		  struct fail *);
void requests_close(struct requests *);

/* What is to be read from, if more is wanted; and: read it, when poll has
   said which can be. */
void requests_fds(const struct requests *, bool wanted,
		  struct pollfd fds[REQUESTS_FDS]);
int requests_read(struct requests *, const struct pollfd fds[REQUESTS_FDS],
		  struct fail *);

/* Hand out the lines that are there, as far as there is room for them. */
void requests_take(struct requests *, struct coord *, uint64_t now_ms);

#endif
