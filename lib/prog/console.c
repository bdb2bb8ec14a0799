#include "prog/console.h"

#include "base/log.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/progress.h"

int
console_begin(struct console *t, bool quiet, const char *path, struct fail *f)
{
	t->draws = !quiet && progress_possible();
	return status_file_begin(&t->file, path, f);
}

static void
warn(struct text *warnings)
{
	if (warnings->size == 0)
		return;
	progress_wipe();
	log_warn_lines(warnings->data, warnings->size);
	text_reset(warnings);
}

static void
answer(const char *line)
{
	progress_wipe();
	log_answer("%s", line);
}

void
console_update(struct console *t, struct coord *coord)
{
	const uint64_t now = clock_ms();
	const bool asked = cli_asked();
	struct text line = { 0 };

	warn(coord_warnings(coord));
	status_file_keep(&t->file, coord, now);
	if (!asked && !t->draws)
		return;
	coord_progress(coord, &line, now);
	if (asked)
		answer(line.data);
	if (t->draws)
		progress_draw(line.data, now);
	text_release(&line);
}

void
console_end(struct console *t, struct coord *coord)
{
	console_update(t, coord);
	progress_wipe();
	status_file_end(&t->file, coord, clock_ms());
}
