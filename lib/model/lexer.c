#include "model/lexer.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/*
 * Return a copy of a word without its quotes.  It has only the memory that it
 * needs, as there may be many.
 */
static char *
unquoted(const char *p, const char *end)
{
	char *word = mem_alloc((size_t)(end - p) + 1, 1), *to = word;

	for (; p < end; p++)
		if (*p != '"')
			*to++ = *p;
	return word;
}

/*
 * Return the next word of a line, without its quotes, and move *at behind it.
 * Return NULL at the end of the line; or when a quote is not closed, and then
 * *at is at that quote.
 */
static char *
next_word(const char **at, const char *end)
{
	const char *p = *at, *quote = NULL;

	while (p < end && blank(*p))
		p++;
	*at = end;
	if (p == end || *p == '#')
		return NULL;

	const char *start = p;

	for (; p < end && (quote || !blank(*p)); p++)
		if (*p == '"')
			quote = quote ? NULL : p;
	*at = quote ? quote : p;
	return quote ? NULL : unquoted(start, p);
}

static void
statement_release(struct statement *s)
{
	for (size_t i = 0; i < s->words; i++)
		free(s->word[i]);
	free(s->word);
	settings_release(&s->settings);
}

static int
add_setting(struct statement *s, const char *word, struct fail *f)
{
	if (s->settings.count == STATEMENT_SETTINGS)
		return fail(f, FAIL_CONFIG, "%s: a line has at most %d "
			    "settings", s->settings.where,
			    STATEMENT_SETTINGS);
	return settings_add(&s->settings, word, f);
}

/*
 * Refuse "units = 1", "units =1" and "units= 1".  A setting may be empty, as
 * mask_token=, but then no plain word follows it.  open: the word before was
 * "KEY=".
 */
static int
check_blanks(const struct statement *s, const char *word, bool open,
	     struct fail *f)
{
	const struct settings *of = &s->settings;
	const char *key;

	if (open && !strchr(word, '='))
		key = of->list[of->count - 1].key;
	else if (*word == '=' && s->words > 1)
		key = s->word[s->words - 1];
	else if (*word == '=' && s->words == 1 && word[1])
		return fail(f, FAIL_CONFIG, "%s: put blanks around the = of "
			    "%s", of->where, s->word[0]);
	else
		return 0;
	return fail(f, FAIL_CONFIG, "%s: put no blanks around the = of %s",
		    of->where, key);
}

static int
read_line(struct statement *s, const char *at, const char *end,
	  struct fail *f)
{
	size_t room = 0;
	bool open = false;
	char *word;

	while ((word = next_word(&at, end)) != NULL) {
		if (check_blanks(s, word, open, f)) {
			free(word);
			return -1;
		}
		/*
		 * A setting stands behind a name: "a=b" at the head of a line
		 * is a name with a blank missing.
		 */
		if (s->words > 0 && strchr(word, '=') &&
		    strcmp(word, "=") != 0) {
			const int bad = add_setting(s, word, f);

			open = at[-1] == '=';
			free(word);
			if (bad)
				return -1;
			continue;
		}
		open = false;
		s->word = mem_grow(s->word, s->words, &room,
				   sizeof(*s->word));
		s->word[s->words++] = word;
	}
	if (at < end)
		return fail(f, FAIL_CONFIG, "%s: a \" is not closed",
			    s->settings.where);
	return 0;
}

int
statements_read(struct statements *all, const char *name, const char *text,
		struct fail *f)
{
	for (size_t line = 1; *text; line++) {
		const char *end = strchrnul(text, '\n');
		struct statement s = { 0 };

		snprintf(s.settings.where, sizeof(s.settings.where),
			 "%.120s:%zu", name, line);
		if (line > STATEMENT_LINES) {
			fail(f, FAIL_CONFIG, "%s: a model has at most %d lines",
			     s.settings.where, STATEMENT_LINES);
			return -1;
		}
		if (read_line(&s, text, end, f)) {
			statement_release(&s);
			return -1;
		}
		if (s.words > 0) {
			all->list = mem_grow(all->list, all->count,
					     &all->room, sizeof(*all->list));
			all->list[all->count++] = s;
		}
		text = *end ? end + 1 : end;
	}
	return 0;
}

void
statements_release(struct statements *all)
{
	for (size_t i = 0; i < all->count; i++)
		statement_release(&all->list[i]);
	free(all->list);
	*all = (struct statements){ 0 };
}
