#include "prog/requests.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Open a FIFO.  It is opened for writing, too, so that it has no end.  The
 * descriptor is checked, not the path, which could change in between.
 */
static int
open_fifo(struct stream *in, const char *path, struct fail *f)
{
	struct stat st;

	*in = (struct stream){ .name = path };
	in->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (in->fd < 0)
		return fail_sys(f, FAIL_NOINPUT, "--queue: cannot open %s",
				path);
	if (fstat(in->fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return 0;
	close(in->fd);
	return fail(f, FAIL_NOINPUT, "--queue: %s is not a FIFO (mkfifo(1) "
		    "makes one; an address is ipc://PATH or "
		    "tcp://HOST:PORT)", path);
}

int
requests_open(struct requests *r, const char *path, const char *fifo,
	      struct fail *f)
{
	if (stream_open(&r->in, path, f) < 0)
		return -1;
	r->has_fifo = fifo && open_fifo(&r->fifo, fifo, f) == 0;
	return fifo && !r->has_fifo ? -1 : 0;
}

void
requests_close(struct requests *r)
{
	stream_close(&r->in);
	if (r->has_fifo)
		stream_close(&r->fifo);
}

void
requests_fds(const struct requests *r, bool wanted,
	     struct pollfd fds[REQUESTS_FDS])
{
	fds[0] = (struct pollfd){ wanted && !r->in.end ? r->in.fd : -1,
				  POLLIN, 0 };
	fds[1] = (struct pollfd){ wanted && r->has_fifo ? r->fifo.fd : -1,
				  POLLIN, 0 };
}

int
requests_read(struct requests *r, const struct pollfd fds[REQUESTS_FDS],
	      struct fail *f)
{
	if (fds[0].revents && stream_read(&r->in, f) < 0)
		return -1;
	return fds[1].revents ? stream_read(&r->fifo, f) : 0;
}

/*
 * Return the line behind which a resumed run continues: only a file can be
 * rewound, so then lines of the FIFO do not count.
 */
static uint64_t
number(const struct requests *r)
{
	return stream_is_file(r->in.fd) ? r->in.number :
		r->in.number + r->fifo.number;
}

void
requests_take(struct requests *r, struct coord *coord, uint64_t now)
{
	size_t size;
	char *line;

	while (coord_wants(coord) && (line = stream_next(&r->in, &size)))
		coord_request(coord, line, size, number(r), now);
	while (r->has_fifo && coord_wants(coord) &&
	       (line = stream_next(&r->fifo, &size)))
		coord_request(coord, line, size, number(r), now);
	if (!r->has_fifo && r->in.end && r->in.at == r->in.text.size &&
	    coord_wants(coord))
		coord_end_of_requests(coord, now);
}
