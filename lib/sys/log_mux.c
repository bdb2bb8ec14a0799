#include "sys/log_mux.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define LONGEST		((size_t)64 << 10)	/* bytes; longer lines are
						   cut */
#define LAST		((size_t)400)		/* bytes kept of last */
#define REST		64			/* most reads of a rest */

void
log_mux_release(struct log_mux *r)
{
	text_release(&r->out);
}

static void
hang_up(struct log_mux_source *p)
{
	if (p->from >= 0)
		close(p->from);
	p->from = -1;
	text_release(&p->line);
}

void
log_mux_source_release(struct log_mux_source *p)
{
	hang_up(p);
	text_release(&p->last);
}

bool
log_mux_is_full(const struct log_mux *r)
{
	return r->out.size > 0;
}

/*
 * A writable pipe takes PIPE_BUF bytes without waiting, and does not mix them
 * with those of other writers; so write whole lines, unless one is longer.  If
 * nobody reads the pipe any more, the lines are lost.
 */
void
log_mux_write(struct log_mux *r)
{
	const char *at = r->out.data + r->written;
	const size_t left = r->out.size - r->written;
	const size_t most = left < PIPE_BUF ? left : PIPE_BUF;
	const char *last = memrchr(at, '\n', most);
	const ssize_t n = write(r->to, at,
				last ? (size_t)(last - at) + 1 : most);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	r->written += n < 0 ? left : (size_t)n;
	if (r->written < r->out.size)
		return;
	text_reset(&r->out);
	r->written = 0;
}

/* Programs begin a line with "NAME: "; replace that by "NAME[INDEX]: ". */
static void
add_line(struct log_mux *r, struct log_mux_source *p, const char *line,
	 size_t n)
{
	const size_t name = strlen(p->program);
	const bool named = n >= name + 2 &&
		strncmp(line, p->program, name) == 0 &&
		strncmp(line + name, ": ", 2) == 0;

	if (named) {
		line += name + 2;
		n -= name + 2;
	}
	if (named || !p->named) {
		text_reset(&p->last);
		text_add_bytes(&p->last, line, n < LAST ? n : LAST);
		p->named = named;
	}
	text_add(&r->out, "%s[%zu]: ", p->program, p->index);
	text_add_bytes(&r->out, line, n);
	text_add_bytes(&r->out, "\n", 1);
}

void
log_mux_read(struct log_mux *r, struct log_mux_source *p)
{
	char some[4096];
	const ssize_t n = read(p->from, some, sizeof(some));
	const char *at = some, *end = some + (n > 0 ? n : 0), *line;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (; (line = memchr(at, '\n', (size_t)(end - at))); at = line + 1) {
		text_add_bytes(&p->line, at, (size_t)(line - at));
		add_line(r, p, p->line.data ? p->line.data : "",
			 p->line.size);
		text_reset(&p->line);
	}
	if (end > at)
		text_add_bytes(&p->line, at, (size_t)(end - at));
	if (p->line.size > (n > 0 ? LONGEST : 0)) {
		add_line(r, p, p->line.data, p->line.size);
		text_reset(&p->line);
	}
	if (n <= 0)
		hang_up(p);
}

/* A child of the program may still have the pipe, and write for ever: REST
   bounds this loop. */
void
log_mux_read_rest(struct log_mux *r, struct log_mux_source *p)
{
	for (int i = 0; i < REST && p->from >= 0; i++) {
		struct pollfd fd = { .fd = p->from, .events = POLLIN };

		if (poll(&fd, 1, 0) <= 0)
			return;
		log_mux_read(r, p);
	}
}
