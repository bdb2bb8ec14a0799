/*
 * server_run - what a server has of a run: its plan, the variables of its
 * parts, and what has become of the steps.
 *
 * Only the messages of the coordinator and the workers change it, in the order
 * in which they become durable: two servers that take the same messages reach
 * the same state.  It does not know who sent a message.
 */
#ifndef PS_SERVER_RUN_H
#define PS_SERVER_RUN_H

#include "base/window.h"
#include "server/server.h"
#include "shard/shard.h"
#include "wire/message.h"

struct server_run;

/* What the program sets by server_limit() and server_forgets(). */
struct server_world {
	uint64_t memory;	/* bytes; 0: not known */
	bool (*stopped)(void);
	bool (*forgets)(void);
};

/* Has a PLAN or SYNC the id of a run?  FAIL_PROTOCOL if not. */
int server_run_check_id(const struct message *, struct fail *);

/* Begin with a PLAN, its variables at their initial values.  0: *run is the
   caller's; -1: the plan is refused (FAIL_PROTOCOL, FAIL_CONFIG); 1: the
   program is to end.  The world is copied. */
int server_run_new(struct server_run **, const struct message *plan,
		   const struct server_world *, struct fail *);
void server_run_free(struct server_run *);

/* ---- the plan; a run of NULL has none ---- */

struct frame server_run_id(const struct server_run *);	/* empty: none */
bool server_run_is(const struct server_run *, const struct frame *id);
uint64_t server_run_short_id(const struct server_run *);	/* or 0 */
uint64_t server_run_term(const struct server_run *);
/* When the round of this step opens, the published copy begins anew from the
   values themselves (see shard_publish_at()). */
void server_run_publish_at(struct server_run *, uint64_t step);

/* Take the term and the codecs of a PLAN that server_run_has_plan(). */
void server_run_begin_term(struct server_run *, const struct message *);
uint64_t server_run_number(const struct server_run *);	/* or WIRE_NONE */
size_t server_run_index(const struct server_run *);	/* of this server */
/* Has a PLAN the plan of this run, perhaps under another term? */
bool server_run_has_plan(const struct server_run *, const struct message *);
/* Returns a PLAN with which another server would get this plan, to begin at a
   step; its frames point into the two packs. */
struct message server_run_plan(const struct server_run *, uint64_t step,
			       struct pack *model, struct pack *plan);

/* How many records of its journal the coordinator cannot lose, as its newest
   PLAN, MARK or VOID says. */
uint64_t server_run_journal(const struct server_run *);
void server_run_note_journal(struct server_run *, uint64_t records);

/* ---- the variables and the steps ---- */

/* The shard, still this object's, to make snapshots of. */
struct shard *server_run_shard(struct server_run *);

/*
 * Answer a pull, live, or of the snapshot that it names (NULL if that is no
 * longer held).  0: *answer, which has the request's number, is now VALUES; 1:
 * the keys are sound, and the pull waits for its round to end; -1: it is
 * refused.
 */
int server_run_pull(struct server_run *, const struct message *,
		    const struct shard_snapshot *, struct message *answer,
		    struct fail *);

/*
 * Compute what may be sent ahead to a PULL that waits for the open round.
 * Returns the number of that result, and *answer is VALUES with it (AHEAD); 0:
 * there is none yet.  When the round has ended, server_run_confirm() is given
 * the number: true if the round made just that of the part, and *answer is
 * VALUES without values (CONFIRMED).
 */
uint64_t server_run_pull_ahead(struct server_run *, const struct message *,
			       struct message *answer);
bool server_run_confirm(const struct server_run *, const struct message *pull,
			uint64_t ahead, struct message *answer);

/* The part that a push was last staged for, since the last call; -1: none
   was. */
int64_t server_run_staged(struct server_run *);

/* Take a PUSH or PUSHPULL.  0: *answer is now VALUES; -1: it is refused, and
   nothing has changed. */
int server_run_push(struct server_run *, const struct message *,
		    struct message *answer, struct fail *);

/* Raise the low watermark to a step (MARK).  replicas: of a round; 0: the
   coordinator does not know it yet. */
void server_run_mark(struct server_run *, uint64_t step, uint64_t replicas);
/* Give up the steps of a VOID.  FAIL_PROTOCOL: they are beyond the window. */
int server_run_void(struct server_run *, const struct message *,
		    struct fail *);
/* Answer a CHECK: `missing' gets an array of the slots that are not here. */
int server_run_check_round(const struct server_run *, const struct message *,
			   struct pack *missing, struct fail *);
/* Commit a round, as round_buffer_commit() does. */
int server_run_commit(struct server_run *, const struct message *,
		      struct fail *);

/* Has a round ended since the last call? */
bool server_run_ended(struct server_run *);
/* The open round: all below it have ended. */
uint64_t server_run_round(const struct server_run *);
/* Is no push kept for the open round? */
bool server_run_between_rounds(const struct server_run *);

/* The high watermark: no step at or above it was applied. */
uint64_t server_run_high(const struct server_run *);

/* Put the variables back, as of a step: to the initial values (false: the
   program is to end, and this object can only be freed), or to a checkpoint
   (-1: it cannot be loaded). */
bool server_run_reset(struct server_run *, uint64_t step);
int server_run_restore(struct server_run *, struct checkpoint *,
		       const struct checkpoint_reader *, uint64_t step,
		       struct fail *);

/* Fill in the fields of an OK that tell the coordinator which steps are here,
   and its frame, for whose bytes the caller has room. */
#define SERVER_RUN_STANDING	WINDOW_BYTES
void server_run_standing(const struct server_run *, struct message *ok,
			 unsigned char bytes[SERVER_RUN_STANDING]);

/* ---- for a standby ---- */

/* Returns a SYNC, with all of the run but the variables; its frames point into
   the three packs.  Its number and chunks are the caller's to fill in. */
struct message server_run_sync(const struct server_run *, struct pack *model,
			       struct pack *plan, struct pack *windows);
/* Begin with a SYNC, as server_run_new() does with a PLAN; the variables are
   then taken chunk by chunk (shard_take_chunk()). */
int server_run_new_copy(struct server_run **, const struct message *sync,
			const struct server_world *, struct fail *);

/* For people: "mark 7, 300 pushes applied ..."; the run may be NULL. */
void server_run_text(const struct server_run *, char *text, size_t room);

/* For tests: NULL, or the invariant that is broken. */
const char *server_run_check(const struct server_run *);

#endif
