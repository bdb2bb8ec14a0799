/*
 * coord_members - workers and evaluators: who is there.
 */
#ifndef PS_COORD_MEMBERS_H
#define PS_COORD_MEMBERS_H

#include "coord/coord_private.h"

/*
 * One that dialled us: a worker, an evaluator or a relay.  What a part knows of
 * it beyond that it keeps by its index.
 */
struct member {
	enum role role;		/* worker, evaluator or relay */
	uint64_t peer, life, index, heard;
	size_t at;		/* no other one has this */
	char name[32];		/* "worker:2" */
	bool ready, exhausted, gone;
	bool unreachable;	/* something could not be sent to it: coord.c
				   is yet to hear that it is gone */
	bool joined;		/* was ready once */
	bool name_taken;	/* another has come by its name */
	bool silent;		/* for so long that it hangs */
	bool relieved;		/* others were given its steps: it gets none
				   until it has come to the end of them */
	struct member *next;
};

/* Workers that died at each of these; how many of them are known of. */
struct deaths {
	uint64_t *died;
	size_t count;
};

void members_init(struct coord *);
/* Answer a HELLO: whoever it is from is let in, as this index or none. */
void members_welcome(struct coord *, uint64_t peer, uint64_t index,
		     const struct message *hello);
/* At that peer, or by its life; or NULL. */
struct member *members_at(const struct coord *, uint64_t peer);
struct member *members_find(const struct coord *, uint64_t life);
/* One that has come for the first time; its name is its own. */
struct member *members_add(struct coord *, const struct message *hello);
/* It is at that peer from now on; or not there any more. */
void members_call(struct coord *, struct member *, uint64_t peer);
void members_hang_up(struct coord *, const struct member *);
void members_forget(struct coord *, struct member *);
void members_release(struct coord *);
/* Room for a member in an array by index, in which it is 0. */
void *members_room(void *of, size_t *room, const struct member *, size_t size);
const char *members_check(const struct coord *);
bool worker_leasable(const struct member *);
/* It is there, and at nothing that others have been given. */
bool worker_answers(const struct member *);
size_t workers_ready(const struct coord *);	/* can be leased to */
size_t workers_present(const struct coord *);
/* Could they do it, or will they when they are ready? */
bool workers_can(const struct coord *, enum request_op);
/* One that does not answer, and may again; or NULL. */
const struct member *workers_hanging(const struct coord *);
void workers_stop(struct coord *);
/* One more died at this one: are they too many? */
bool deaths_add(struct deaths *, size_t i);
/* Nobody has died yet. */
void deaths_release(struct deaths *);

#endif
