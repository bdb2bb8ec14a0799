/*
 * requests - where a coordinator's own requests come from: a file or standard
 * input, and a FIFO that others write to.
 *
 * Writers of the FIFO come and go, so it has no end.  Its lines follow those of
 * the file.
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

/*
 * Open both; fifo is a path, or NULL.  Return 0; or -1 with FAIL_NOINPUT if one
 * is not there, or not a FIFO.
 */
int requests_open(struct requests *, const char *path, const char *fifo,
		  struct fail *);
void requests_close(struct requests *);

/*
 * Fill in what to wait for, if more requests are wanted; and read what poll()
 * has found to be readable.  Return 0, or -1 with the reason.
 */
void requests_fds(const struct requests *, bool wanted,
		  struct pollfd fds[REQUESTS_FDS]);
int requests_read(struct requests *, const struct pollfd fds[REQUESTS_FDS],
		  struct fail *);

/*
 * Give the coordinator the lines that have been read, as far as it has room for
 * them.
 */
void requests_take(struct requests *, struct coord *, uint64_t now_ms);

#endif
