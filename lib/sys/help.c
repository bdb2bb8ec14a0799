#include "sys/help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS	79
#define HELP_AT	30	/* the column at which the help of options begins */

/* Is it an option that must be given? */
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

/* Arguments are in capitals in the list, and in small letters in a synopsis. */
static void
add_small(struct text *to, const char *argument)
{
	for (; *argument; argument++)
		text_add(to, "%c", tolower((unsigned char)*argument));
}

/* Append "=n", or "[=n]" if the argument may be left out. */
static void
add_argument(struct text *to, const char *argument)
{
	if (help_may_lack(argument))
		text_add(to, "[=%s", argument + 1);
	else
		text_add(to, "=%s", argument);
}

/* ---- the synopsis ---- */

/* Append an option as a user would type it: in its short form, if any. */
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

/* Order options: letters first, a small one before its capital, then names. */
static int
compare(const void *x, const void *y)
{
	const struct cli_option *const *a = x, *const *b = y;
	const int m = (*a)->id, n = (*b)->id;
	int order;

	if (m >= CLI_LONG && n >= CLI_LONG)
		return strcmp((*a)->name, (*b)->name);
	if (m >= CLI_LONG || n >= CLI_LONG)
		return m - n;
	order = tolower(m) - tolower(n);
	return order ? order : n - m;
}

/* Append " [-b endpoint] [--plan] ..."; or, without brackets, the options that
   must be given. */
static void
add_forms(struct text *to, const struct cli_program *p,
	  const struct cli_option *o, bool wanted)
{
	const struct cli_option *list[CLI_OPTIONS];
	size_t n = 0;

	for (; o && o->id; o++)
		if (o->id != CLI_GROUP && is_wanted(p, o) == wanted)
			list[n++] = o;
	qsort(list, n, sizeof(list[0]), compare);
	for (size_t i = 0; i < n; i++) {
		text_add(to, "%s", wanted ? " " : " [");
		add_form(to, list[i]);
		text_add(to, "%s", wanted ? "" : "]");
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
	add_forms(to, p, peers, false);
	add_forms(to, p, p->options, false);
	add_forms(to, p, p->options, true);
	if (p->operands)
		text_add(to, " %s", p->operands);
}

/* Return the length of the part of a synopsis that must stay on one line: up to
   a blank outside of brackets; "-b endpoint" is one part, too. */
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

/* Return the length of a word; text in parentheses is one word. */
static size_t
word_length(const char *text)
{
	size_t n = 0;

	for (int depth = 0; text[n] && (text[n] != ' ' || depth > 0); n++)
		depth += (text[n] == '(') - (text[n] == ')');
	return n;
}

/* Append an option or command, and its help, in as many lines as that takes. */
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

/* Is the word in a line of the list?  A NULL is in every line. */
static bool
says(const struct text *about, const char *help, const char *word)
{
	return !word || strcasestr(about->data, word) ||
		strcasestr(help, word);
}

/* Write a table of options.  A heading is written with the first option under
   it, and not at all in a search. */
static void
write_options(struct text *to, const char *heading, const struct cli_option *o,
	      const char *word)
{
	struct text about = { 0 };

	for (; o && o->id; o++) {
		if (o->id == CLI_GROUP) {
			heading = o->name;
			continue;
		}
		text_reset(&about);
		if (o->id < CLI_LONG)
			text_add(&about, "  -%c, --%s", o->id, o->name);
		else
			text_add(&about, "      --%s", o->name);
		if (o->argument)
			add_argument(&about, o->argument);
		if (!says(&about, o->help, word))
			continue;
		if (heading && !word)
			text_add(to, "\n%s:\n", heading);
		heading = NULL;
		add_line(to, &about, o->help);
	}
	text_release(&about);
}

static void
write_commands(struct text *to, const struct cli_command *c, const char *word)
{
	struct text about = { 0 };

	if (c && !word)
		text_add(to, "\nCommands:\n");
	for (; c && c->name; c++) {
		text_reset(&about);
		text_add(&about, "  %s %s", c->name, c->operands);
		if (says(&about, c->help, word))
			add_line(to, &about, c->help);
	}
	text_release(&about);
}

static void
write_list(struct text *to, const struct cli_program *p,
	   const struct cli_option *few, const struct cli_option *peers,
	   const char *word)
{
	write_commands(to, p->commands, word);
	write_options(to, "Options", p->options, word);
	write_options(to, "Options of every program", few, word);
	write_options(to, NULL, peers, word);
}

void
help_write(struct text *to, const struct cli_program *p,
	   const struct cli_option *few, const struct cli_option *peers)
{
	write_synopsis(to, p, few, peers);
	write_list(to, p, few, peers, NULL);
	text_add(to, "\nMore is in %s(1).\n", p->name);
}

bool
help_search(struct text *to, const struct cli_program *p,
	    const struct cli_option *few, const struct cli_option *peers,
	    const char *word)
{
	write_list(to, p, few, peers, word);
	return to->size > 0;
}
