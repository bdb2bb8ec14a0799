#include "sys/tidings.h"

#include "base/log.h"
#include "sys/cli.h"
#include "sys/clock.h"
#include "sys/progress.h"

void
tidings_begin(struct tidings *t, bool quiet)
{
	t->draws = !quiet && progress_possible();
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
tidings_tell(struct tidings *t, struct coord *coord)
{
	const uint64_t now = clock_ms();
	const bool asked = cli_asked();
	struct text line = { 0 };

	warn(coord_warnings(coord));
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
tidings_end(struct tidings *t, struct coord *coord)
{
	tidings_tell(t, coord);
	progress_wipe();
}
