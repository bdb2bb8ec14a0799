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

bool
pause_excuse(uint64_t *ticked, uint64_t now, uint64_t lease_ms, uint64_t *heard,
	     uint64_t *since)
{
	const uint64_t pause = pause_since(ticked, now, lease_ms);

	if (pause == 0)
		return false;
	*heard = now;
	*since = pause_skip(*since, now, pause);
	return true;
}
