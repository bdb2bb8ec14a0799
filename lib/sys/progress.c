#include "sys/progress.h"

#include "base/visible_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DRAW_MS	100

static bool drawn;

bool
progress_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void
progress_wipe(void)
{
	if (drawn)
		fputs("\r\033[K", stderr);
	drawn = false;
}

/* Return how much of a text fits in most characters.  It is cut at two blanks,
   which stand before each figure, if it can be: half a number would mislead. */
static int
fitting(const char *text, int most)
{
	int n = most;

	if (strlen(text) <= (size_t)most)
		return most;
	while (n > 0 && strncmp(text + n, "  ", 2) != 0)
		n--;
	return n > 0 ? n : most;
}

void
progress_draw(const char *text, uint64_t now)
{
	static uint64_t last;
	struct winsize size;
	struct text shown = { 0 };
	int columns = 80;

	if (drawn && now - last < DRAW_MS)
		return;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		columns = size.ws_col;
	visible_add(&shown, text, strlen(text));
	fprintf(stderr, "\r%.*s\033[K", fitting(shown.data, columns - 1),
		shown.data);
	fflush(stderr);
	text_release(&shown);
	drawn = true;
	last = now;
}
