#include "sys/help.h"

#include <ctype.h>
#include <string.h>

#define COLUMNS	79
#define HELP_AT	30	/* the column of what an option does */

/* Is it one that the program cannot do without? */
static bool
is_wanted(const struct cli_program *p, const struct cli_option *o)
{
	return p->wanted && o->id < CLI_LONG && strchr(p->wanted, o->id);
}

bool
help_may_lack(const char *argument)
{
	return *argument == '[' && argument[strlen(argument) - 1] == ']';
}

/* Arguments stand for themselves in capitals, and in small in a synopsis. */
static void
add_small(struct text *to, const char *argument)
{
	for (; *argument; argument++)
		text_add(to, "%c", tolower((unsigned char)*argument));
}

/* "=n", or "[=n]" of what may be left out. */
static void
add_argument(struct text *to, const char *argument)
{
	if (help_may_lack(argument))
		text_add(to, "[=%s", argument + 1);
	else
		text_add(to, "=%s", argument);
}

/* ---- the synopsis ---- */

/* The form of an option that a user would type: the short one, if any. */
static void
add_form(struct text *to, const struct cli_option *o)
{
	struct text argument = { 0 };

	if (o->id < CLI_LONG) {
		text_add(to, "-%c", o->id);
		if (o->argument)
			text_add(to, " ");
		add_small(to, o->argument ? o->argument : "");
	} else {
		text_add(to, "--%s", o->name);
		if (o->argument) {
			add_argument(&argument, o->argument);
			add_small(to, argument.data);
		}
	}
	text_release(&argument);
}

/* " [-b endpoint] [--plan] ...", but for those that it must have. */
static void
add_forms(struct text *to, const struct cli_program *p,
	  const struct cli_option *o)
{
	for (; o && o->id; o++) {
		if (is_wanted(p, o))
			continue;
		text_add(to, " [");
		add_form(to, o);
		text_add(to, "]");
	}
}

static void
add_synopsis(struct text *to, const struct cli_program *p,
	     const struct cli_option *few, const struct cli_option *peers)
{
	text_add(to, " [-");
	for (; few->id; few++)
		text_add(to, "%c", few->id);
	text_add(to, "]");
	add_forms(to, p, peers);
	add_forms(to, p, p->options);
	for (const struct cli_option *o = p->options; o && o->id; o++) {
		if (!is_wanted(p, o))
			continue;
		text_add(to, " ");
		add_form(to, o);
	}
	if (p->operands)
		text_add(to, " %s", p->operands);
}

/* The next part of a synopsis: up to a blank outside of all brackets; an
   option that must be there keeps its argument. */
static size_t
part_length(const char *text)
{
	size_t n = 0;

	for (int depth = 0; text[n] && (text[n] != ' ' || depth > 0); n++)
		depth += (text[n] == '[') - (text[n] == ']');
	if (text[0] == '-' && text[1] != '-' && n == 2 && text[n])
		n += 1 + strcspn(text + n + 1, " ");
	return n;
}

static void
write_synopsis(struct text *to, const struct cli_program *p,
	       const struct cli_option *few, const struct cli_option *peers)
{
	struct text all = { 0 };
	const size_t indent = strlen("usage: ") + strlen(p->name);
	size_t column = indent;

	add_synopsis(&all, p, few, peers);
	text_add(to, "usage: %s", p->name);
	for (const char *at = all.data + 1; *at; at += strspn(at, " ")) {
		const size_t n = part_length(at);

		if (column + 1 + n > COLUMNS) {
			text_add(to, "\n%*s", (int)indent, "");
			column = indent;
		}
		text_add(to, " %.*s", (int)n, at);
		column += 1 + n;
		at += n;
	}
	text_add(to, "\n");
	text_release(&all);
}

/* ---- the list ---- */

/* A word, or all that is in parentheses. */
static size_t
word_length(const char *text)
{
	size_t n = 0;

	for (int depth = 0; text[n] && (text[n] != ' ' || depth > 0); n++)
		depth += (text[n] == '(') - (text[n] == ')');
	return n;
}

/* What a line is about, and in as many lines as it takes what that does. */
static void
add_line(struct text *to, const struct text *about, const char *help)
{
	size_t column = about->size;

	text_add(to, "%s", about->data);
	if (column + 2 > HELP_AT) {
		text_add(to, "\n");
		column = 0;
	}
	text_add(to, "%*s", (int)(HELP_AT - column), "");
	column = HELP_AT;
	for (const char *at = help; *at; at += strspn(at, " ")) {
		const size_t n = word_length(at);

		if (column > HELP_AT && column + 1 + n > COLUMNS) {
			text_add(to, "\n%*s", HELP_AT, "");
			column = HELP_AT;
		}
		text_add(to, "%s%.*s", column > HELP_AT ? " " : "", (int)n,
			 at);
		column += (column > HELP_AT) + n;
		at += n;
	}
	text_add(to, "\n");
}

static void
write_options(struct text *to, const char *heading, const struct cli_option *o)
{
	struct text about = { 0 };

	text_add(to, "%s", heading);
	for (; o->id; o++) {
		text_reset(&about);
		if (o->id < CLI_LONG)
			text_add(&about, "  -%c, --%s", o->id, o->name);
		else
			text_add(&about, "      --%s", o->name);
		if (o->argument)
			add_argument(&about, o->argument);
		add_line(to, &about, o->help);
	}
	text_release(&about);
}

static void
write_commands(struct text *to, const struct cli_command *c)
{
	struct text about = { 0 };

	text_add(to, "\nCommands:\n");
	for (; c->name; c++) {
		text_reset(&about);
		text_add(&about, "  %s %s", c->name, c->operands);
		add_line(to, &about, c->help);
	}
	text_release(&about);
}

void
help_write(struct text *to, const struct cli_program *p,
	   const struct cli_option *few, const struct cli_option *peers)
{
	write_synopsis(to, p, few, peers);
	if (p->commands)
		write_commands(to, p->commands);
	if (p->options)
		write_options(to, "\nOptions:\n", p->options);
	write_options(to, "\nOptions of every program:\n", few);
	if (peers)
		write_options(to, "", peers);
	text_add(to, "\nMore is in %s(1).\n", p->name);
}
