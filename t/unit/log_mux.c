/* Lines come out complete and with the name of their program, however their
   bytes came in; none is lost. */
#include "sys/log_mux.h"

#include "tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct model_fixture {
	int in[2], out[2];
	struct log_mux log_mux;
	struct log_mux_source said;
	struct text got;
};

static struct model_fixture
fixture(void)
{
	struct model_fixture r = { 0 };

	if (pipe(r.in) != 0 || pipe(r.out) != 0)
		exit(1);
	r.log_mux.to = r.out[1];
	r.said = (struct log_mux_source){ .from = r.in[0], .program = "ps-work",
					  .index = 3 };
	return r;
}

static void
release(struct model_fixture *r)
{
	close(r->in[1]);
	close(r->out[0]);
	close(r->out[1]);
	log_mux_source_release(&r->said);
	log_mux_release(&r->log_mux);
	text_release(&r->got);
}

/* Passes bytes that are written at once through the log, and writes all
   output. */
static void
pass(struct model_fixture *r, const void *bytes, size_t n)
{
	char some[8192];

	if (n > 0 && write(r->in[1], bytes, n) != (ssize_t)n)
		exit(1);
	log_mux_read(&r->log_mux, &r->said);
	while (log_mux_is_full(&r->log_mux)) {
		log_mux_write(&r->log_mux);
		text_add_bytes(&r->got, some,
			       (size_t)read(r->out[0], some, sizeof(some)));
	}
}

static bool
came(const struct model_fixture *r, const char *text)
{
	return strcmp(r->got.data ? r->got.data : "", text) == 0;
}

static void
test_lines(void)
{
	struct model_fixture r = fixture();

	pass(&r, "ps-work: one\n\ntw", 16);
	ok(came(&r, "ps-work[3]: one\nps-work[3]: \n"));
	pass(&r, "o\nps-worker\nps-work:x\n", 22);
	ok(came(&r, "ps-work[3]: one\nps-work[3]: \nps-work[3]: two\n"
		"ps-work[3]: ps-worker\nps-work[3]: ps-work:x\n"));
	release(&r);
}

static void
test_last_line(void)
{
	struct model_fixture r = fixture();

	pass(&r, "ps-work: no end", 15);
	ok(came(&r, ""));
	close(r.in[1]);
	pass(&r, NULL, 0);
	ok(came(&r, "ps-work[3]: no end\n") && r.said.from == -1);
	release(&r);
}

static void
test_endless_line(void)
{
	struct model_fixture r = fixture();
	char some[4096];
	size_t passed = 0;

	memset(some, 'x', sizeof(some));
	while (r.got.size == 0 && passed < ((size_t)1 << 20)) {
		pass(&r, some, sizeof(some));
		passed += sizeof(some);
	}
	ok(passed > ((size_t)64 << 10) && passed < ((size_t)128 << 10));
	ok(r.got.size == strlen("ps-work[3]: \n") + passed);
	release(&r);
}

static void
test_no_reader(void)
{
	struct model_fixture r = fixture();

	close(r.out[0]);
	if (write(r.in[1], "lost\n", 5) != 5)
		exit(1);
	log_mux_read(&r.log_mux, &r.said);
	ok(log_mux_is_full(&r.log_mux));
	log_mux_write(&r.log_mux);
	ok(!log_mux_is_full(&r.log_mux));
	release(&r);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_lines();
	test_last_line();
	test_endless_line();
	test_no_reader();
	return tap_done();
}
