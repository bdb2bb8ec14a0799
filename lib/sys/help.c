#include "sys/help.h"

#include <ctype.h>
#include <stdlib.h>
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

/* Letters come first, a small one before its capital, then names. */
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

/* " [-b endpoint] [--plan] ...", or without brackets those that must be. */
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

/* Is the word in what a line says, or does it say all: the word is NULL? */
static bool
says(const struct text *about, const char *help, const char *word)
{
	return !word || strcasestr(about->data, word) ||
		strcasestr(help, word);
}

/* A heading stands before the first line under it. */
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
