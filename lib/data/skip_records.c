#include "data/skip_records.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define TOLD	10	/* failures whose texts are shown */

static bool
is_power_of_ten(uint64_t n)
{
	while (n > 1 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

static void
warn_skipped(const struct skip_records *b, const struct fail *f)
{
	if (b->all <= TOLD)
		log_warn("%s; passed over", f->text);
	else if (is_power_of_ten(b->all))
		log_warn("%llu malformed records passed over so far",
			 (unsigned long long)b->all);
}

bool
skip_records_pass(struct skip_records *b, struct fail *f)
{
	const size_t size = strlen(f->text);

	if (!f->passable || b->most == 0)
		return false;
	if (b->count == b->most) {
		snprintf(f->text + size, sizeof(f->text) - size,
			 ", and %llu before it were malformed, too",
			 (unsigned long long)b->count);
		return false;
	}
	b->count++;
	b->all++;
	warn_skipped(b, f);
	return true;
}

bool
skip_records_any(const struct skip_records *b)
{
	return b && b->most > 0;
}

bool
skip_records_reports(const struct skip_records *b, bool looked)
{
	return !skip_records_any(b) ||
		(looked && (b->all < TOLD || b->count == b->most));
}

void
skip_records_end(const struct skip_records *b)
{
	if (b->all > 0)
		log_warn("%llu malformed record%s passed over",
			 (unsigned long long)b->all, b->all == 1 ? "" : "s");
}
