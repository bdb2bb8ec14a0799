/*
 * coord_members - workers, evaluators and relays: which are there.
 */
#ifndef PS_COORD_MEMBERS_H
#define PS_COORD_MEMBERS_H

#include "coord/coord_private.h"

/*
 * A program that dialled the coordinator.  Other parts keep what else they know
 * of a member in an array of their own, at its seat (at): see members_room().
 */
struct member {
	enum role role;		/* worker, evaluator or relay */
	/* peer: its connection; life: see fleet.h; index: the number in its
	   name; heard: when its last message came, in ms */
	uint64_t peer, life, index, heard;
	size_t at;		/* its seat, which no other member has */
	char name[32];		/* "worker:2" */
	bool ready, exhausted, gone;
	bool unreadable;	/* exhausted, but not at the end of its data */
	bool joined;		/* was ready once */
	bool name_taken;	/* another member has come by its name */
	bool silent;		/* it hangs: it has not answered in time */
	bool relieved;		/* others were given its steps: it is leased
				   nothing until it has ended its own */
	struct member *next;
};

/* The deaths of workers under each piece of work, by the number of the
   piece. */
struct deaths {
	uint64_t *died;
	size_t count;		/* of died */
};

void members_init(struct coord *);
/* Answers a HELLO with WELCOME; index: the member's, or WIRE_NONE. */
void members_welcome(struct coord *, uint64_t peer, uint64_t index,
		     const struct message *hello);
/* Find a member by its peer, or by its life; NULL: there is none. */
struct member *members_at(const struct coord *, uint64_t peer);
struct member *members_find(const struct coord *, uint64_t life);
/* Adds a member that has come for the first time, with a name of its own if its
   HELLO has none. */
struct member *members_add(struct coord *, const struct message *hello);
/* Sets the peer from which the member calls; removes it. */
void members_call(struct coord *, struct member *, uint64_t peer);
void members_hang_up(struct coord *, const struct member *);
/* Frees a member and its seat. */
void members_forget(struct coord *, struct member *);
void members_release(struct coord *);
/* Makes room for a member in an array by seats, of elements of this size:
   returns the array, with the member's element zeroed.  *room: elements. */
void *members_room(void *of, size_t *room, const struct member *, size_t size);
const char *members_check(const struct coord *);
/* Can this worker be leased a step now? */
bool worker_leasable(const struct member *);
/* Is the member there, and not busy with steps that others were given? */
bool worker_answers(const struct member *);
size_t workers_ready(const struct coord *);	/* that can be leased to */
size_t workers_training(const struct coord *);	/* also those that have a PLAN
					   to answer before they are ready */
size_t workers_present(const struct coord *);	/* that are not gone */
/* Is there a worker that came to the end of its data? */
bool workers_at_end(const struct coord *);
/* Is there a worker that can do such a request, now or when it is ready? */
bool workers_can(const struct coord *, enum request_op);
/* Returns a worker that hangs, and may answer again, or NULL. */
const struct member *workers_hanging(const struct coord *);
/* Sends STOP to all members. */
void workers_stop(struct coord *);
/* Counts one more death under piece i; true: that makes QUEUE_DEATHS or
   more. */
bool deaths_add(struct deaths *, size_t i);
/* Frees and zeroes the counts. */
void deaths_release(struct deaths *);

#endif
