/*
 * cli - what every main() needs, and nothing else does.
 *
 * These print and exit, so nothing else in lib/ may call them.  A program
 * declares its options once, as data with their help, and reads them in one
 * loop; what all programs have in common is done here.  --help, the synopsis
 * in it and the completion in shells follow from the table.
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
 * What SIGPIPE does: a daemon ignores it, a filter dies of it, quietly.  A
 * launcher is a daemon without peers, whose operands are another program's
 * words.
 */
enum cli_kind { CLI_DAEMON, CLI_FILTER, CLI_LAUNCHER };

/* The first id for an option without a letter. */
#define CLI_LONG	256

/* No program has more options than this, with those of every program. */
#define CLI_OPTIONS	64

/* No option: those behind it are listed under this heading. */
#define CLI_GROUP	(-1)
#define CLI_HEADING(text)	{ CLI_GROUP, text, NULL, NULL }

/*
 * An argument in capitals stands for what a user writes, and its word says
 * what completes it: see bin/completion.bash.  Options are in the order of the
 * list in --help; the synopsis sorts them.  An argument that may be left out
 * belongs to the long name; the letter then has none.
 */
struct cli_option {
	int id;			/* its letter, or CLI_LONG and up; or
				   CLI_GROUP: a heading, name is its text */
	const char *name;	/* the long name */
	const char *argument;	/* NULL: none; "[...]": may be left out */
	const char *help;	/* what it does, as half a sentence */
};

/* The first operand of some programs; { 0 } behind the last one. */
struct cli_command {
	const char *name, *operands;
	int least, most;	/* operands */
	const char *takes;	/* options of its own, by name */
	const char *help;
};

struct cli_program {
	const char *name;
	enum cli_kind kind;
	const struct cli_option *options;	/* its own; NULL: none */
	const char *wanted;	/* letters of those that must be given; NULL */
	const char *operands;	/* as in the synopsis; NULL: none */
	const struct cli_command *commands;	/* NULL: none */
};

/*
 * Options of every program; of a launcher quiet and verbose alone.  { 0 } is
 * where to begin; the last cli_next() puts in the defaults.
 */
struct cli_common {
	const char *cluster;	/* -f: a file, or JSON; NULL */
	const char *task;	/* -t: TYPE:INDEX; NULL */
	const char *key;	/* --key, PS_KEY: a file, or NULL */
	const char *log;	/* --log; NULL is standard error */
	uint64_t timeout_ms;	/* -w: patience with peers; 60 s */
	bool insecure;		/* --insecure: any bind address will do */
	bool quiet, verbose;	/* already told to log */
};

/* Somebody listens there: warn of what strangers can do, if they can. */
void cli_warn_open(const struct cli_common *, const char *endpoint);

/*
 * SIGTERM, SIGINT and, unless it is ignored, SIGHUP ask for a stop: cli_stop
 * is true then, and cli_stop_fd becomes readable, and stays so, for those who
 * sleep in poll.  A second SIGTERM or SIGINT ends the program on the spot;
 * one like the first in 200 ms is none, for timeout(1) sends two.
 */
extern volatile sig_atomic_t cli_stop;
extern int cli_stop_fd;

/*
 * SIGUSR1 asks how things are; it ends a program that does not heed it, as it
 * always did.  One that does says so before it has any thread, and is told
 * once of one or more that came since it last asked.  Nothing is interrupted:
 * whoever sleeps in poll looks when that ends.
 */
void cli_enable_status_signal(void);
bool cli_asked(void);

/* The program is borrowed until the end. */
void cli_begin(const struct cli_program *);

/*
 * The id of the next option of the program's own, its argument in optarg,
 * or -1 behind the last one; then the log is open and optind is the first
 * operand.  Options of every program are taken in on the way.  --help and
 * --version end the program with 0, what is unknown ends it with 64.
 */
int cli_next(int argc, char **argv, struct cli_common *);

/*
 * The argument of the option that cli_next() just gave, as something else,
 * or the end of the program with a line that names the option.
 */
uint64_t cli_uint(uint64_t min, uint64_t max);
double cli_float(double min, double max);
uint64_t cli_duration(void);		/* milliseconds, at least one */
uint64_t cli_limit(void);		/* the same; 0: none */
uint64_t cli_bytes(void);		/* at least one */
int cli_choice(const char *const *names); /* its place; NULL ends the names */

/* The end of the program: there is no such command, but perhaps a near one. */
_Noreturn void cli_no_command(const char *word);

/* To write to; NULL, as of no such option: "-", standard output. */
const char *cli_file(void);

/* "I/N", I below N. */
void cli_shard(uint64_t *i, uint64_t *n);

/* "NAME: text; try 'NAME --help'" and 64. */
_Noreturn void cli_usage(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* "NAME: text", and the kind of the failure as status. */
_Noreturn void cli_die(const struct fail *);

/*
 * What was to go to standard output got lost, and a filter that has had to
 * tidy up first ends now: like any other filter, by SIGPIPE without a word if
 * its reader has gone, else as cli_die().
 */
_Noreturn void cli_lost_output(const struct fail *);

/*
 * Say on standard output where a daemon listens, now that it does, and close
 * it: the line is the daemon's whole output.
 */
void cli_ready(const char *endpoint);

/*
 * The last word of main(): the status, unless what was written to standard
 * output got lost; then 74, or SIGPIPE as for cli_lost_output().
 */
int cli_end(int status);

#endif
