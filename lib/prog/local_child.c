#include "prog/local_child.h"

#include "sys/spawn.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/*
 * Return the name as a constant, since the log uses it for as long as it is
 * read.
 */
static const char *
name_of(const char *program)
{
	return strcmp(program, CHILD_SERVER) == 0 ? CHILD_SERVER :
		strcmp(program, CHILD_WORKER) == 0 ? CHILD_WORKER :
		CHILD_RELAY;
}

int
local_child_start(struct local_child *m, size_t index, char *const *word,
		  int cpu, struct fail *f)
{
	const bool server = strcmp(word[0], CHILD_SERVER) == 0;
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };

	*m = (struct local_child){ .group = -1 };
	if (spawn_pipe(err, f) == 0 &&
	    (!server || spawn_pipe(out, f) == 0)) {
		const struct spawn how = {
			.word = word, .file = { -1, out[1], err[1] },
			.cpu = cpu
		};

		m->group = spawn(&how, f);
	}
	m->ended = m->group < 0;
	m->out = out[0];
	m->log_source = (struct log_mux_source){
		.from = err[0], .index = index,
		.program = name_of(word[0])
	};
	spawn_close(&out[1]);
	spawn_close(&err[1]);
	return m->ended ? -1 : 0;
}

void
local_child_release(struct local_child *m)
{
	spawn_close(&m->out);
	log_mux_source_release(&m->log_source);
}

/*
 * A server that closes its output without a line will never be ready: end it.
 */
void
local_child_read_ready(struct local_child *m)
{
	char some[256];
	const ssize_t n = read(m->out, some, sizeof(some));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	m->ready = n > 0 && memchr(some, '\n', (size_t)n);
	if (n <= 0 || m->ready)
		spawn_close(&m->out);
	if (n <= 0 && !m->ended)
		kill(m->group, SIGTERM);
}
