/*
 * cli - what every main() needs, and nothing else does.
 *
 * These functions print and exit, so nothing else in lib/ may call them.  A
 * program declares its options once, in a table with their help, and reads them
 * in one loop; options of every program are handled here.  --help, the synopsis
 * in it and the completion in shells are made of the table.
 *
 *	static const struct cli_option options[] = {
 *		{ 'b',     "bind",    "ENDPOINT", "listen here" },
 *		{ PLAN,    "plan",    NULL,       "print the plan, and exit" },
 *		{ SHUFFLE, "shuffle", "[BUFFER]", "in another order" },
 *		{ 0 }
 *	};
 *	static const struct cli_program program = {
 *		.name = "ps-coord", .kind = CLI_FILTER,
 *		.options = options, .operands = "input ..."
 *	};
 *
 *	cli_begin(&program);
 *	while ((c = cli_next(argc, argv, &common)) != -1) {
 *		switch (c) {
 *		case 'b':  o.bind = optarg; break;
 *		case 'B':  o.batch = cli_uint(1, 65536); break;
 *		case PLAN: o.plan = true; break;
 *		...
 *	}
 *	... argv[optind] and on are the operands ...
 *	if (work(&o, &f) < 0)
 *		cli_die(&f);
 *	return cli_end(0);
 */
#ifndef PS_CLI_H
#define PS_CLI_H

#include "base/fail.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>	/* optarg, optind */

/*
 * The kind decides what SIGPIPE does: a daemon ignores it, a filter dies of it,
 * quietly.  A launcher is a daemon without peers, whose operands are the
 * command line of another program.
 */
enum cli_kind { CLI_DAEMON, CLI_FILTER, CLI_LAUNCHER };

/* The first id for an option without a letter. */
#define CLI_LONG	256

/* The most options of a program, those of every program included. */
#define CLI_OPTIONS	64

/* The id of a heading, under which --help lists the options that follow. */
#define CLI_GROUP	(-1)
#define CLI_HEADING(text)	{ CLI_GROUP, text, NULL, NULL }

/*
 * An argument in capitals stands for what a user writes; its word says how
 * shells complete it, see bin/completion.bash.  --help lists the options in the
 * order of the table; the synopsis sorts them.  An argument that may be left
 * out can only follow the long name, "--name=argument"; the letter has none.
 */
struct cli_option {
	int id;			/* its letter, or CLI_LONG and up; or
				   CLI_GROUP: a heading, name is its text */
	const char *name;	/* the long name */
	const char *argument;	/* NULL: none; "[...]": may be left out */
	const char *help;	/* what it does, as half a sentence */
};

/* A command: the first operand of some programs.  { 0 } ends a list. */
struct cli_command {
	const char *name, *operands;
	int least, most;	/* number of operands */
	const char *takes;	/* options that only it takes, by name */
	const char *help;
};

struct cli_program {
	const char *name;
	enum cli_kind kind;
	const struct cli_option *options;	/* its own; NULL: none */
	const char *wanted;	/* letters of options that must be given, or
				   NULL */
	const char *operands;	/* as in the synopsis; NULL: none */
	const struct cli_command *commands;	/* NULL: none */
};

/*
 * The options of every program; a launcher has only quiet and verbose.  A
 * caller begins with { 0 }; the last cli_next() sets the defaults.
 */
struct cli_common {
	const char *cluster;	/* -f: a file, or JSON; NULL */
	const char *task;	/* -t: TYPE:INDEX; NULL */
	const char *key;	/* --key, PS_KEY: a file, or NULL */
	const char *log;	/* --log; NULL is standard error */
	uint64_t timeout_ms;	/* -w: patience with peers; 60 s */
	bool insecure;		/* --insecure: bind to any address */
	bool quiet, verbose;	/* the log has them already */
};

/*
 * The program listens at a tcp endpoint.  Without a key, warn who can connect
 * to it, and what these can do.
 */
void cli_warn_open(const struct cli_common *, const char *endpoint);

/*
 * SIGTERM, SIGINT and, unless it is ignored, SIGHUP ask the program to stop:
 * they set cli_stop, and make cli_stop_fd readable, for good, so that poll()
 * returns.  A second SIGTERM or SIGINT ends the program at once.  The same
 * signal within 200 ms does not count, since timeout(1) sends two.
 */
extern volatile sig_atomic_t cli_stop;
extern int cli_stop_fd;

/*
 * SIGUSR1 asks for a status line, in programs that call
 * cli_enable_status_signal(), before they start any thread; it ends other
 * programs, as is its default.  cli_asked() is true once for one or more
 * signals since its last call.  The signal interrupts no system call: a program
 * that sleeps in poll() asks when that returns.
 */
void cli_enable_status_signal(void);
bool cli_asked(void);

/*
 * Set up signals, standard files and the log; main() calls it first.  The
 * program is borrowed until the end.
 */
void cli_begin(const struct cli_program *);

/*
 * Return the id of the program's next own option, with its argument in optarg;
 * -1 after the last one: the log is open then, and argv[optind] is the first
 * operand.  Options of every program go into the struct on the way.  --help and
 * --version end the program with status 0, an unknown option with 64.
 */
int cli_next(int argc, char **argv, struct cli_common *);

/*
 * Return the argument of the option that cli_next() has just given, converted;
 * if it is malformed or out of range, end the program by cli_usage(), with a
 * message that names the option.
 */
uint64_t cli_uint(uint64_t min, uint64_t max);
double cli_float(double min, double max);
uint64_t cli_duration(void);		/* milliseconds, at least one */
uint64_t cli_limit(void);		/* the same, or 0: no limit */
uint64_t cli_bytes(void);		/* at least one */
int cli_choice(const char *const *names); /* place in a list that NULL ends */

/* End the program: the word is not a command.  The message suggests the
   nearest one. */
_Noreturn void cli_no_command(const char *word);

/* Return a path to write to; NULL, the same as without the option, is standard
   output, written "-". */
const char *cli_file(void);

/* Read "I/N", with I below N. */
void cli_shard(uint64_t *i, uint64_t *n);

/* Print "NAME: text; try 'NAME --help'", and exit with status 64. */
_Noreturn void cli_usage(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* Log "NAME: text", and exit with the kind of the failure as the status. */
_Noreturn void cli_die(const struct fail *);

/*
 * End a filter that has found its standard output lost, and has cleaned up: by
 * SIGPIPE and without a message, like any filter, if nobody reads the output
 * any more; else as cli_die() does.
 */
_Noreturn void cli_lost_output(const struct fail *);

/*
 * Print the endpoint of a daemon that listens now, and close standard output:
 * the line is the daemon's whole output.
 */
void cli_ready(const char *endpoint);

/*
 * Close standard output, and return what main() returns: the status; or 74 if
 * output was lost.  If nobody reads the output any more the program ends by
 * SIGPIPE instead.
 */
int cli_end(int status);

#endif
