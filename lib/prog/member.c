#include "prog/member.h"

#include "sys/launch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int
member_start(struct member *m, size_t index, char *const *word, int cpu,
	     struct fail *f)
{
	const bool server = strcmp(word[0], MEMBER_SERVER) == 0;
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };

	*m = (struct member){ .group = -1 };
	if (launch_pipe(err, f) == 0 &&
	    (!server || launch_pipe(out, f) == 0)) {
		const struct launch how = {
			.word = word, .file = { -1, out[1], err[1] },
			.cpu = cpu
		};

		m->group = launch(&how, f);
	}
	m->ended = m->group < 0;
	m->out = out[0];
	m->said = (struct relayed){
		.from = err[0], .index = index,
		.program = server ? MEMBER_SERVER : MEMBER_WORKER
	};
	launch_close(&out[1]);
	launch_close(&err[1]);
	return m->ended ? -1 : 0;
}

void
member_release(struct member *m)
{
	launch_close(&m->out);
	relayed_release(&m->said);
}

/* One that will never say it has no reason to stay. */
void
member_hear(struct member *m)
{
	char some[256];
	const ssize_t n = read(m->out, some, sizeof(some));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	m->ready = n > 0 && memchr(some, '\n', (size_t)n);
	if (n <= 0 || m->ready)
		launch_close(&m->out);
	if (n <= 0 && !m->ended)
		kill(m->group, SIGTERM);
}
