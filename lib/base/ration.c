#include "base/ration.h"

static bool
take(struct ration *r, uint64_t now)
{
	const uint64_t more = now < r->refilled_ms ? 0 :
		(now - r->refilled_ms) / RATION_MS;

	r->used = r->used > more ? r->used - more : 0;
	r->refilled_ms += more * RATION_MS;
	if (r->used >= RATION_LINES)
		return false;
	r->used++;
	return true;
}

bool
ration_take(struct ration *r, uint64_t now)
{
	const bool may = take(r, now);

	r->left_out += !may;
	return may;
}

uint64_t
ration_left_out(struct ration *r, uint64_t now)
{
	const uint64_t left_out = r->left_out;

	if (left_out == 0 || !take(r, now))
		return 0;
	r->left_out = 0;
	return left_out;
}
