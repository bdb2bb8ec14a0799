/*
 * keeper - the coordinator's work on checkpoints: which to restore, and
 * publishing what the servers have written.
 */
#ifndef PS_KEEPER_H
#define PS_KEEPER_H

#include "role/coord.h"

struct keeper {
	const char *dir;	/* NULL: no checkpoints */
	uint64_t keep;		/* the newest so many; 0: all */
};

/*
 * Can checkpoints be kept here?  What is to be restored: "latest" (nothing,
 * if there is none yet), "none", or a path.  Fills o->checkpoint, restore,
 * restored; a checkpoint of another model is FAIL_DATA.
 */
int keeper_begin(const struct keeper *, const char *restore,
		 const struct model *, struct coord_options *o,
		 struct fail *);

/* Publish what waits, if anything does. */
void keeper_run(const struct keeper *, struct coord *,
		const struct model_source *, uint64_t now_ms);

#endif
