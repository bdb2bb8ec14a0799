/*
 * ration - bounds the lines of a log that peers can cause.
 *
 * A peer may say the same as often as it likes, and peers may come and go.  So
 * RATION_LINES lines may be written at once, and then one more each second; the
 * others are only counted.
 */
#ifndef PS_RATION_H
#define PS_RATION_H

#include <stdbool.h>
#include <stdint.h>

#define RATION_LINES	1000
#define RATION_MS	1000	/* after which there may be one more */

struct ration {			/* { 0 } allows RATION_LINES lines */
	uint64_t used, refilled_ms;
	uint64_t left_out;
};

/* May a line be written?  If not, it is counted as left out. */
bool ration_take(struct ration *, uint64_t now_ms);

/* If lines were left out, and there may be one again, which is to say so,
   return their number; else 0. */
uint64_t ration_left_out(struct ration *, uint64_t now_ms);

#endif
