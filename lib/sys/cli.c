#include "sys/cli.h"

#include "base/choices.h"
#include "base/endpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/visible.h"
#include "sys/clock.h"
#include "sys/help.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INSECURE = 1 << 16, KEY, LOG };

/* A launcher has only these. */
static const struct cli_option few_options[] = {
	{ 'h', "help",    "[WORD]",
	  "print this help, or its lines with WORD, and exit" },
	{ 'q', "quiet",   NULL, "print nothing but the reason of a failure" },
	{ 'V', "version", NULL, "print the version, and exit" },
	{ 'v', "verbose", NULL, "report what is done" },
	{ 0 }
};

static const struct cli_option peer_options[] = {
	{ 'f',      "cluster",  "CLUSTER",
	  "the cluster: a file, or JSON as in TF_CONFIG" },
	{ 't',      "task",     "TASK",
	  "the task of this program, for example worker:0" },
	{ 'w',      "timeout",  "TIMEOUT",
	  "give up on a peer that does not answer for this time (default "
	  "60s)" },
	{ INSECURE, "insecure", NULL,
	  "without --key, listen even where strangers can connect" },
	{ KEY,      "key",      "FILE",
	  "encrypt, and admit only programs with the key in this file" },
	{ LOG,      "log",      "FILE",
	  "append messages to this file" },
	{ 0 }
};

static const struct cli_option none[] = { { 0 } };
static const struct cli_program nobody = { .name = "?" };
static const struct cli_program *program = &nobody;
static char current[64];	/* the present option, as the user wrote it */
static bool log_is_file;

volatile sig_atomic_t cli_stop;
int cli_stop_fd = -1;
static int stop_pipe = -1;

/* Is this the first signal that asks for a stop, or the same one again within
   CLOCK_ONCE_MS? */
static bool
is_first(int number)
{
	static _Atomic uint64_t first;	/* its time << 8, and its number */
	const uint64_t now = clock_ms();
	uint64_t before = 0;

	return atomic_compare_exchange_strong(&first, &before,
					      now << 8 | (uint64_t)number) ||
		((before & 0xff) == (uint64_t)number &&
		 now - (before >> 8) < CLOCK_ONCE_MS);
}

/* A terminal that hangs up may send SIGHUP twice, by its shell and by itself.
   A SIGTERM after that comes from the system, not from an impatient user, so
   SIGHUP never counts as the first signal. */
static void
on_stop(int number)
{
	const int saved = errno;

	cli_stop = 1;
	if (number != SIGHUP && !is_first(number))
		_exit(128 + number);
	if (write(stop_pipe, "", 1) < 0)
		errno = saved;	/* the pipe is full, so readable already */
}

/*
 * Open the standard files that are closed, so that no socket becomes standard
 * output.  /dev/null is opened for the wrong direction: its use fails, just as
 * that of a closed file would.
 */
static void
hold_standard_files(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* SIGHUP stays ignored if nohup(1) has ignored it. */
static void
catch_stop_signals(void)
{
	const struct sigaction stop = { .sa_handler = on_stop };
	struct sigaction hangup;

	if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
	    hangup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
}

void
cli_begin(const struct cli_program *p)
{
	const struct sigaction broken = {
		.sa_handler = p->kind == CLI_FILTER ? SIG_DFL : SIG_IGN
	};
	struct fail f;
	int ends[2];

	program = p;
	log_begin(p->name, LOG_NORMAL, NULL, &f);
	hold_standard_files();
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		fail_sys(&f, FAIL_AGAIN, "cannot make a pipe");
		cli_die(&f);
	}
	cli_stop_fd = ends[0];
	stop_pipe = ends[1];
	catch_stop_signals();
	sigaction(SIGPIPE, &broken, NULL);
	/* A file at its limit (ulimit -f) makes write() fail, and kills no
	   program. */
	signal(SIGXFSZ, SIG_IGN);
	/* Our parent may ignore SIGCHLD; then waitpid() would find no child. */
	signal(SIGCHLD, SIG_DFL);
}

/* ---- the status signal ---- */

static sigset_t questions;	/* SIGUSR1; empty: not enabled */

/* A blocked signal stays pending until cli_asked() takes it, and interrupts no
   system call.  Threads that start later inherit the mask. */
void
cli_enable_status_signal(void)
{
	sigemptyset(&questions);
	sigaddset(&questions, SIGUSR1);
	sigprocmask(SIG_BLOCK, &questions, NULL);
}

bool
cli_asked(void)
{
	const struct timespec now = { 0 };

	return sigtimedwait(&questions, NULL, &now) == SIGUSR1;
}

/* ---- usage and version ---- */

/* Has the program no peers, and none of the options about them? */
static bool
launches(void)
{
	return program->kind == CLI_LAUNCHER;
}

static const struct cli_option *
own_options(void)
{
	return program->options ? program->options : none;
}

static _Noreturn void
print_help(const char *word)
{
	const struct cli_option *peers = launches() ? NULL : peer_options;
	struct text text = { 0 };

	if (!word)
		help_write(&text, program, few_options, peers);
	else if (!help_search(&text, program, few_options, peers, word))
		cli_usage("--help: no line has '%s'", word);
	fputs(text.data, stdout);
	text_release(&text);
	exit(cli_end(0));
}

static _Noreturn void
print_version(void)
{
	printf("%s (%s) %s\n", program->name, PACKAGE_NAME, PACKAGE_VERSION);
	exit(cli_end(0));
}

/* ---- the command line ---- */

/* The options in the two forms that getopt_long() takes. */
struct table {
	char letters[3 * CLI_OPTIONS + 3];
	struct option longs[CLI_OPTIONS + 1];
	size_t n;
};

static void
add_options(struct table *t, const struct cli_option *o)
{
	char *letter = t->letters + strlen(t->letters);

	for (; o->id; o++) {
		if (o->id == CLI_GROUP)
			continue;
		assert(t->n < CLI_OPTIONS);

		const int wants = !o->argument ? no_argument :
			help_may_lack(o->argument) ? optional_argument :
			required_argument;

		if (o->id < CLI_LONG)
			letter += sprintf(letter, "%c%s", o->id, wants ==
					  required_argument ? ":" : "");
		if (o->name)
			t->longs[t->n++] = (struct option){
				o->name, wants, NULL, o->id
			};
	}
}

static const struct cli_option *
find_option(int id)
{
	const struct cli_option *const all[] = { own_options(), few_options,
						 peer_options };

	for (size_t i = 0; i < (launches() ? 2 : 3); i++)
		for (const struct cli_option *o = all[i]; o->id; o++)
			if (o->id == id)
				return o;
	return NULL;
}

/* Set current to the name of an option, in the form that the user wrote. */
static void
name_option(int id, bool is_long)
{
	const struct cli_option *o = find_option(id);

	if (is_long && o)
		snprintf(current, sizeof(current), "--%s", o->name);
	else
		snprintf(current, sizeof(current), "-%c", id);
}

static void
add_names(struct choices *c, const struct cli_option *o)
{
	for (; o->id; o++)
		if (o->id != CLI_GROUP)
			choices_add(c, o->name);
}

/* Refuse an unknown long name, which may have "=ARGUMENT" after it. */
static _Noreturn void
no_option(const char *word)
{
	char name[64];
	struct choices near = { .word = name };

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	add_names(&near, own_options());
	add_names(&near, few_options);
	if (!launches())
		add_names(&near, peer_options);
	if (near.nearest)
		cli_usage("no option --%s, but --%s", name, near.nearest);
	cli_usage("no option --%s", name);
}

static _Noreturn void
refuse(int c, const char *word)
{
	const bool is_long = strncmp(word, "--", 2) == 0;

	/* When getopt_long() refuses b in "-abc" it has not passed that word,
	   so word is the one before: look at optopt first. */
	if (optopt && !find_option(optopt))
		cli_usage("no option -%c", optopt);
	if (optopt)
		name_option(optopt, is_long);
	if (c == ':')
		cli_usage("%s: needs an argument", current);
	if (optopt)
		cli_usage("%s: takes no argument", current);
	if (!is_long)
		cli_usage("no option %s", word);
	no_option(word + 2);
}

/* Handle an option of every program; false: it is the program's own. */
static bool
take_common(int c, struct cli_common *common)
{
	switch (c) {
	case 'h': print_help(optarg);
	case 'q': common->quiet = true; return true;
	case 'V': print_version();
	case 'v': common->verbose = true; return true;
	}
	if (launches())
		return false;
	switch (c) {
	case 'f': common->cluster = optarg; return true;
	case 't': common->task = optarg; return true;
	case 'w': common->timeout_ms = cli_duration(); return true;
	case INSECURE: common->insecure = true; return true;
	case KEY: common->key = optarg; return true;
	case LOG: common->log = optarg; return true;
	}
	return false;
}

static void
finish_common(struct cli_common *common)
{
	const enum log_level level = common->verbose ? LOG_VERBOSE :
		common->quiet ? LOG_QUIET : LOG_NORMAL;
	struct fail f;

	if (!common->timeout_ms)
		common->timeout_ms = 60000;
	if (!common->key && getenv("PS_KEY") && *getenv("PS_KEY"))
		common->key = getenv("PS_KEY");
	if (log_begin(program->name, level, common->log, &f) < 0)
		cli_die(&f);
	log_is_file = common->log != NULL;
}

int
cli_next(int argc, char **argv, struct cli_common *common)
{
	struct table t = { .letters = ":" };
	int c, place;

	if (launches())
		strcpy(t.letters, "+:");	/* no options after operands */
	add_options(&t, own_options());
	add_options(&t, few_options);
	if (!launches())
		add_options(&t, peer_options);
	opterr = 0;
	do {
		place = -1;
		c = getopt_long(argc, argv, t.letters, t.longs, &place);
		if (c == '?' || c == ':')
			refuse(c, argv[optind - 1]);
		if (c == -1)
			finish_common(common);
		else
			name_option(c, place >= 0);
		/* An empty argument, as of an unset variable in a script. */
		if (optarg && !*optarg)
			cli_usage("%s: needs an argument", current);
	} while (take_common(c, common));
	return c;
}

/* ---- arguments ---- */

uint64_t
cli_uint(uint64_t min, uint64_t max)
{
	uint64_t n;

	if (text_uint(optarg, &n) && n >= min && n <= max)
		return n;
	if (max == UINT64_MAX)
		cli_usage("%s: '%s' is not a whole number from %" PRIu64
			  " up", current, optarg, min);
	cli_usage("%s: '%s' is not a whole number from %" PRIu64 " to %"
		  PRIu64, current, optarg, min, max);
}

double
cli_float(double min, double max)
{
	double x;

	if (!text_double(optarg, &x) || x < min || x > max)
		cli_usage("%s: '%s' is not a number from %g to %g", current,
			  optarg, min, max);
	return x;
}

uint64_t
cli_duration(void)
{
	uint64_t ms;

	if (!text_duration(optarg, &ms) || ms == 0)
		cli_usage("%s: '%s' is not a duration such as 500ms, 5s, 2m",
			  current, optarg);
	return ms;
}

uint64_t
cli_limit(void)
{
	uint64_t ms;

	return text_duration(optarg, &ms) && ms == 0 ? 0 : cli_duration();
}

uint64_t
cli_bytes(void)
{
	uint64_t bytes;

	if (!text_bytes(optarg, &bytes) || bytes == 0)
		cli_usage("%s: '%s' is not a size such as 512, 64Ki, 1M",
			  current, optarg);
	return bytes;
}

const char *
cli_file(void)
{
	return strcmp(optarg, "-") == 0 ? NULL : optarg;
}

void
cli_shard(uint64_t *i, uint64_t *n)
{
	char *text = mem_text(optarg), *slash = strchr(text, '/');

	if (slash)
		*slash++ = '\0';
	if (!slash || !text_uint(text, i) || !text_uint(slash, n) || *i >= *n)
		cli_usage("%s: '%s' is not I/N, with I from 0 to N - 1",
			  current, optarg);
	free(text);
}

int
cli_choice(const char *const *names)
{
	struct text list = { 0 };

	for (int i = 0; names[i]; i++) {
		if (strcmp(names[i], optarg) == 0) {
			text_release(&list);
			return i;
		}
		text_add(&list, "%s%s", i ? ", " : "", names[i]);
	}
	cli_usage("%s: '%s' is none of %s", current, optarg, list.data);
}

void
cli_no_command(const char *word)
{
	struct choices near = { .word = word };

	for (const struct cli_command *x = program->commands; x->name; x++)
		choices_add(&near, x->name);
	if (near.nearest)
		cli_usage("no command '%s', but %s", word, near.nearest);
	cli_usage("no command '%s'", word);
}

/* The file of an ipc endpoint has permissions; a port is open to anybody. */
void
cli_warn_open(const struct cli_common *common, const char *endpoint)
{
	const bool near = endpoint_loopback(endpoint);

	if (common->key || strncmp(endpoint, "tcp://", 6) != 0)
		return;
	log_warn("%s: without --key %s can stop the run, read its values and "
		 "change them; %s--key keeps them out", endpoint, near ?
		 "any user of this machine" : "whoever can reach it", near ?
		 "ipc:// or " : "");
}

/* ---- ends ---- */

void
cli_usage(const char *format, ...)
{
	char text[512], shown[sizeof(text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	visible_copy(shown, sizeof(shown), text, strlen(text));
	fprintf(stderr, "%s: %s; try '%s --help'\n", program->name, shown,
		program->name);
	exit(FAIL_USAGE);
}

/* With --log, the person who started the program sees the reason, too. */
void
cli_die(const struct fail *f)
{
	char shown[sizeof(f->text)];

	log_error("%s", f->text);
	visible_copy(shown, sizeof(shown), f->text, strlen(f->text));
	if (log_is_file)
		fprintf(stderr, "%s: %s\n", program->name, shown);
	exit(f->kind);
}

/* Is it a pipe that nobody can read from any more? */
static bool
is_unread(int fd)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };

	return poll(&out, 1, 0) > 0 && out.revents & POLLERR;
}

static void
end_as_filter(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

_Noreturn void
cli_lost_output(const struct fail *f)
{
	if (is_unread(STDOUT_FILENO))
		end_as_filter();
	cli_die(f);
}

void
cli_ready(const char *endpoint)
{
	struct fail f;

	printf("%s\n", endpoint);
	if (fflush(stdout) == 0 && freopen("/dev/null", "w", stdout))
		return;
	fail_sys(&f, FAIL_IO, "cannot write standard output");
	cli_die(&f);
}

int
cli_end(int status)
{
	/* errno belongs to the last error only: an earlier error of stdout has
	   lost its reason. */
	const bool lost = ferror(stdout), unread = is_unread(STDOUT_FILENO);

	if (fclose(stdout) == 0 && !lost)
		return status;
	if (unread)
		end_as_filter();
	if (lost)
		log_error("cannot write standard output");
	else
		log_error("cannot write standard output: %s", strerror(errno));
	return FAIL_IO;
}
