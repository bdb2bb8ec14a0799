/*
 * script - tests that are texts: commands, and their expected output.
  *
 * A script is a file.  It begins with a sentence, as a comment and a blank
 * line; then it has blocks, which are played one after the other on the same
 * component:
 *
 *	# Why this is so.
 *	a command
 *	another one
 *	----
 *	all that came of these,
 *	up to a blank line
 *
 * Each block is a test, with its comment as its name; one without a comment
 * continues the block before it.  The option --rewrite, in front of the names
 * of scripts, replaces the expected output by the actual one.
 */
#ifndef PS_SCRIPT_H
#define PS_SCRIPT_H

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"

#include "tap.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* The functions that play the tested component. */
struct script_player {
	void (*begin)(void);	/* a script: nothing is left of the last one */
		/* Plays a command, which it may change, and appends its output,
		   in lines that are not blank.  -1: the command cannot be
		   played, or has broken an invariant: the script ends, and is
		   not rewritten. */
	int (*play)(char *command, struct text *came, struct fail *);
	void (*end)(void);	/* a block */
};

struct script {
	const struct script_player *player;
	const char *file, *name;
	char *next;		/* what is not read yet */
	size_t line;		/* number of the last one read */
	struct text rewritten, came;
	struct text about;	/* the name of the block */
	struct text comment;	/* the last one, or the script's sentence */
	bool rewrite, titled, broken, differs;
};

static inline const char *
script_text(const struct text *t)
{
	return t->size > 0 ? t->data : "";
}

/* Returns the next line without its newline, or NULL at the end. */
static inline char *
script_line(struct script *s)
{
	char *line = s->next, *end = line + strcspn(line, "\n");

	if (!*line)
		return NULL;
	s->next = end + (*end == '\n');
	*end = '\0';
	s->line++;
	return line;
}

static inline void
script_fail(struct script *s, const char *why)
{
	char claim[600];

	snprintf(claim, sizeof(claim), "%s: %s", s->name, why);
	tap_ok(false, claim, s->file, (int)s->line);
	s->broken = true;
}

/* Prints the lines that differ, without equal lines at the front and the
   end. */
static inline void
script_show_difference(const char *expected_text, const char *got_text)
{
	char *expected = mem_text(expected_text), *got = mem_text(got_text);
	size_t at = 0, many, few;
	char **e = text_split(expected, '\n', &many);
	char **g = text_split(got, '\n', &few);

	while (many > 0 && !*e[many - 1])
		many--;
	while (few > 0 && !*g[few - 1])
		few--;
	while (at < many && at < few && strcmp(e[at], g[at]) == 0)
		at++;
	while (many > at && few > at && strcmp(e[many - 1], g[few - 1]) == 0)
		many--, few--;
	for (size_t i = at; i < many; i++)
		printf("# expected: %s\n", e[i]);
	if (at == many)
		printf("# expected: nothing\n");
	for (size_t i = at; i < few; i++)
		printf("# got:      %s\n", g[i]);
	if (at == few)
		printf("# got:      nothing\n");
	free(e);
	free(g);
	free(expected);
	free(got);
}

/* Reads the expected output up to the blank line after it, and compares. */
static inline void
script_compare(struct script *s, size_t line)
{
	struct text expected = { 0 };
	char *next;

	while ((next = script_line(s)) && *next)
		text_add(&expected, "%s\n", next);

	const char *e = script_text(&expected), *got = script_text(&s->came);
	const bool same = strcmp(e, got) == 0;
	char claim[600];

	text_add(&s->rewritten, "%s%s", got, next ? "\n" : "");
	snprintf(claim, sizeof(claim), "%s:%zu: %s", s->name, line,
		 script_text(&s->about));
	tap_ok(same || s->rewrite, claim, s->file, (int)line);
	if (!same)
		script_show_difference(e, got);
	s->differs |= !same;
	text_release(&expected);
}

/* Sets the name of a block: its comment, or else the last one, and the first
   command. */
static inline void
script_about(struct script *s, const char *line, bool comment)
{
	if (comment) {
		text_add(&s->about, "%s%s", s->about.size ? " " : "",
			 line + 1 + (line[1] == ' '));
		text_reset(&s->comment);
		text_add(&s->comment, "%s", s->about.data);
	} else if (s->about.size == 0) {
		text_add(&s->about, "%s Then: %s", script_text(&s->comment),
			 line);
	}
}

static inline void
script_block_end(struct script *s)
{
	text_reset(&s->came);
	text_reset(&s->about);
	s->player->end();
}

/* Plays a script; returns the number of its blocks. */
static inline size_t
script_play(struct script *s)
{
	struct fail f;
	size_t blocks = 0, begins = 0;
	char *line;

	while (!s->broken && (line = script_line(s))) {
		text_add(&s->rewritten, "%s\n", line);
		if (!*line && begins > 0) {
			script_fail(s, "a block without ----");
		} else if (!*line) {
			s->titled |= s->about.size > 0;
			text_reset(&s->about);
		} else if (strcmp(line, "----") == 0) {
			script_compare(s, begins);
			script_block_end(s);
			begins = 0;
			blocks++;
		} else {
			script_about(s, line, *line == '#');
			if (*line == '#')
				continue;
			begins = begins > 0 ? begins : s->line;
			if (!s->titled)
				script_fail(s, "no sentence on it, and blank "
					    "line, comes first");
			else if (s->player->play(line, &s->came, &f) < 0)
				script_fail(s, f.text);
		}
	}
	if (begins > 0 && !s->broken)
		script_fail(s, "a block without ----");
	return blocks;
}

/* Returns the bytes of a file with a NUL after them, which the caller frees;
   NULL: the file cannot be read. */
static inline char *
script_read(const char *path)
{
	struct text all = { 0 };
	char some[4096];
	size_t n;
	FILE *file = fopen(path, "r");

	if (!file)
		return NULL;
	while ((n = fread(some, 1, sizeof(some), file)) > 0)
		text_add_bytes(&all, some, n);
	fclose(file);
	return all.data ? all.data : mem_text("");
}

static inline void
script_write(struct script *s)
{
	FILE *file = fopen(s->file, "w");

	if (!file || fwrite(s->rewritten.data, 1, s->rewritten.size, file) !=
	    s->rewritten.size || fclose(file) != 0)
		script_fail(s, "cannot be written");
}

static inline void
script_run(const char *file, const struct script_player *player, bool rewrite)
{
	const char *slash = strrchr(file, '/');
	struct script s = { .player = player, .file = file,
			    .name = slash ? slash + 1 : file,
			    .rewrite = rewrite };
	char *all = s.next = script_read(file);

	if (!all) {
		script_fail(&s, "cannot be read");
		return;
	}
	player->begin();
	if (script_play(&s) == 0 && !s.broken)
		script_fail(&s, "a script without blocks");
	if (rewrite && s.differs && !s.broken)
		script_write(&s);
	text_release(&s.rewritten);
	text_release(&s.came);
	text_release(&s.about);
	text_release(&s.comment);
	free(all);
}

/* Plays these files, or all scripts of the folder, which is below that of the
   sources. */
static inline int
script_main(int count, char **argument, const char *folder,
	    const struct script_player *player)
{
	const bool rewrite = count > 1 && strcmp(argument[1], "--rewrite") == 0;
	const char *root = getenv("SRC") ? getenv("SRC") : ".";
	char pattern[4096];
	glob_t found = { 0 };

	for (int i = 1 + rewrite; i < count; i++)
		script_run(argument[i], player, rewrite);
	if (count == 1) {
		snprintf(pattern, sizeof(pattern), "%s/%s/*.txt", root, folder);
		ok(glob(pattern, 0, NULL, &found) == 0);
		for (size_t i = 0; i < found.gl_pathc; i++)
			script_run(found.gl_pathv[i], player, false);
		globfree(&found);
	}
	return tap_done();
}

#endif
