/*
 * server_run - what a server has of a run: its plan, the variables of its
 * parts, and what has become of the steps.
 *
 * It is changed by what the coordinator and workers say, in the order in which
 * that is durable, and by nothing else: two servers that are told the same
 * come to the same.  Of who says it, it knows nothing.
 */
#ifndef PS_SERVER_RUN_H
#define PS_SERVER_RUN_H

#include "base/window.h"
#include "server/server.h"
#include "shard/shard.h"
#include "wire/message.h"

struct server_run;

/* What the program gives in; see server.h. */
struct server_world {
	uint64_t memory;	/* bytes; 0: not known */
	bool (*stopped)(void);
	bool (*forgets)(void);
};

/* Is a PLAN, or a SYNC, of some run? */
int server_run_check_id(const struct message *, struct fail *);

/* Begin with a PLAN.  0; -1: it is refused; 1: the program is to end. */
int server_run_new(struct server_run **, const struct message *plan,
		   const struct server_world *, struct fail *);
void server_run_free(struct server_run *);

/* ---- the plan: of no run (NULL), it is of nothing ---- */

struct frame server_run_id(const struct server_run *);	/* empty: none */
bool server_run_is(const struct server_run *, const struct frame *id);
uint64_t server_run_short_id(const struct server_run *);	/* or 0 */
uint64_t server_run_term(const struct server_run *);
/* What is published is to be what is there when this step is pulled for. */
void server_run_publish_at(struct server_run *, uint64_t step);

/* Take the term of a PLAN of ours, and its codecs. */
void server_run_begin_term(struct server_run *, const struct message *);
uint64_t server_run_number(const struct server_run *);	/* or WIRE_NONE */
size_t server_run_index(const struct server_run *);	/* of this server */
/* Is it the PLAN of this run, perhaps under a newer term? */
bool server_run_has_plan(const struct server_run *, const struct message *);
/* A PLAN that leads to this one, at a step; of these bytes. */
struct message server_run_plan(const struct server_run *, uint64_t step,
			       struct pack *model, struct pack *plan);

/* So many records of its journal the coordinator cannot have lost. */
uint64_t server_run_journal(const struct server_run *);
void server_run_note_journal(struct server_run *, uint64_t records);

/* ---- the variables and the steps ---- */

/* For snapshots. */
struct shard *server_run_shard(struct server_run *);

/*
 * A pull, live or of a snapshot (NULL: live, or it is not held any more).  0:
 * the answer, in which there was nothing yet, is VALUES; 1: the keys are good,
 * and it waits for its round; -1: it is refused.
 */
int server_run_pull(struct server_run *, const struct message *,
		    const struct shard_snapshot *, struct message *answer,
		    struct fail *);

/*
 * What may be sent ahead to such a PULL, before the round that it waits for has
 * ended: the number of that, and the answer is VALUES; 0: nothing yet.  When it
 * has, the number says whether a part came to it, so that an answer without
 * values will do.
 */
uint64_t server_run_pull_ahead(struct server_run *, const struct message *,
			       struct message *answer);
bool server_run_confirm(const struct server_run *, const struct message *pull,
			uint64_t ahead, struct message *answer);

/* The part that the last push was staged of, since this was asked; or -1. */
int64_t server_run_staged(struct server_run *);

/* A PUSH or PUSHPULL: the answer is VALUES, or -1, and nothing has changed. */
int server_run_push(struct server_run *, const struct message *,
		    struct message *answer, struct fail *);

void server_run_mark(struct server_run *, uint64_t step);
int server_run_void(struct server_run *, const struct message *,
		    struct fail *);
/* CHECK: an array of the slots that it lacks. */
int server_run_check_round(const struct server_run *, const struct message *,
			   struct pack *missing, struct fail *);
int server_run_commit(struct server_run *, const struct message *,
		      struct fail *);

/* Rounds have ended, since this was asked. */
bool server_run_ended(struct server_run *);
/* Those below this one have. */
uint64_t server_run_round(const struct server_run *);
/* No push waits for the end of its round. */
bool server_run_between_rounds(const struct server_run *);

/* No step from this one on was applied. */
uint64_t server_run_high(const struct server_run *);

/* Back to the initial values, or to a checkpoint, as of a step.  False: the
   program is to end, and nothing is left but to free it. */
bool server_run_reset(struct server_run *, uint64_t step);
int server_run_restore(struct server_run *, struct checkpoint *,
		       const struct checkpoint_reader *, uint64_t step,
		       struct fail *);

/* All that it has, for the coordinator: fields of an OK, and its frame, whose
   bytes the caller lends. */
#define SERVER_RUN_STANDING	WINDOW_BYTES
void server_run_standing(const struct server_run *, struct message *ok,
			 unsigned char bytes[SERVER_RUN_STANDING]);

/* ---- for a standby ---- */

/* All but the variables, as a SYNC. */
struct message server_run_sync(const struct server_run *, struct pack *model,
			       struct pack *plan, struct pack *windows);
/* Begin with a SYNC, as with a PLAN; variables come as chunks. */
int server_run_new_copy(struct server_run **, const struct message *sync,
			const struct server_world *, struct fail *);

/* For people: "mark 7, 300 pushes applied ..."; of none, too. */
void server_run_text(const struct server_run *, char *text, size_t room);

/* For tests: NULL, or what does not hold. */
const char *server_run_check(const struct server_run *);

#endif
