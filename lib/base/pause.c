#include "base/pause.h"

#define PAUSE_MS	1000

uint64_t
pause_since(uint64_t *ticked, uint64_t now, uint64_t lease_ms)
{
	const uint64_t pause = *ticked ? now - *ticked : 0;

	*ticked = now;
	return pause < PAUSE_MS || pause < lease_ms / 2 ? 0 : pause;
}

uint64_t
pause_skip(uint64_t since, uint64_t now, uint64_t pause)
{
	return now - since < pause ? now : since + pause;
}
