/*
 * fleet - the coordinator's servers: who is there, and what they were asked.
 *
 * An ask is one message to every server and its answers.  What gets lost with
 * a connection is asked again.  A server that comes back as another life has
 * lost its variables, unless it has a log: fleet_changed() tells so, and the
 * coordinator has it take a plan and a checkpoint anew.  One that does not
 * come back is an error that names it.
 */
#ifndef PS_FLEET_H
#define PS_FLEET_H

#include "base/ranges.h"
#include "wire/outbox.h"
#include "wire/plan.h"

struct fleet;

/* A server whose endpoint is NULL is one that will register itself. */
struct fleet *fleet_new(char *const *endpoint, size_t servers,
			const unsigned char run[PLAN_RUN], uint64_t term,
			uint64_t life, struct outbox *, uint64_t now_ms,
			struct fail *);
void fleet_free(struct fleet *);

size_t fleet_size(const struct fleet *);
const char *fleet_endpoint(const struct fleet *, size_t server);
bool fleet_knows(const struct fleet *, uint64_t peer);
/* Which server a peer is that fleet_knows(). */
size_t fleet_server(const struct fleet *, uint64_t peer);

/*
 * So many records are safe in the coordinator's journal: servers are told so
 * with what is acted on.  One that has been told of more shows that the
 * journal is older than it was (FAIL_DATA), and then that is stale.
 */
void fleet_kept(struct fleet *, uint64_t records);
bool fleet_stale(const struct fleet *);

/* The standby that PLAN says is counted on for a server: its life, or 0. */
void fleet_set_standby(struct fleet *, size_t server, uint64_t life);

/* The run, and the term that is said in HELLO. */
void fleet_begin_term(struct fleet *, const unsigned char run[PLAN_RUN],
		      uint64_t term);

/*
 * Has a server come as another life, or been moved, since this was last
 * asked?
 */
bool fleet_changed(struct fleet *);

/* Has it the plan and the variables?  And: it has them now; it is to load
   others. */
bool fleet_holds(const struct fleet *, size_t server);
void fleet_set_loaded(struct fleet *, size_t server);
void fleet_set_lost(struct fleet *, size_t server);
uint64_t fleet_incarnation(const struct fleet *, size_t server);

/*
 * As a journal has it: the life that had the variables (0: none did), and the
 * last term whose plan it took.  And: it is at this endpoint.
 */
void fleet_resume(struct fleet *, size_t server, uint64_t life,
		  uint64_t term);
uint64_t fleet_term(const struct fleet *, size_t server);
/* What a server has, as it said when it took the plan of this term. */
struct standing {
	uint64_t low, round;	/* steps below have ended; rounds, too */
	bool initial;		/* no checkpoint and no step is in it */
	uint64_t standby;	/* the life of the one it has, and knows to be
				   counted on; or 0 */
	unsigned char *steps;	/* that it has, as bits, the low watermark's
				   first */
	size_t bytes;
};
const struct standing *fleet_standing(const struct fleet *, size_t server);
/* Has it a step that is not below the low watermark? */
bool standing_has(const struct standing *, uint64_t step);
/* Its low watermark is what it said; what was told it before does not count. */
void fleet_stands(struct fleet *, size_t server);

/* No step from here on was pushed to any server before this term. */
uint64_t fleet_high_watermark(const struct fleet *);
int fleet_place(struct fleet *, size_t server, const char *endpoint,
		struct fail *);

/*
 * From now on a server is the one of this life at this endpoint, its standby,
 * which has its variables.  Should it not be found there, or be another, the
 * place where the server was is tried in turn with this one.
 */
int fleet_move(struct fleet *, size_t server, const char *endpoint,
	       uint64_t life, uint64_t now_ms, struct fail *);
/* It may be there as well.  And: where it may be besides, or "". */
void fleet_seek(struct fleet *, size_t server, const char *endpoint);
const char *fleet_elsewhere(const struct fleet *, size_t server);

/* Say something to one server alone, if it is there. */
void fleet_send(struct fleet *, size_t server, const struct message *);

/* Its low watermark: to be told by the next MARK; and the one it has
   acknowledged. */
uint64_t fleet_watermark(const struct fleet *, size_t server);
uint64_t fleet_acked_watermark(const struct fleet *, size_t server);
/* the least of them */
uint64_t fleet_lowest_acked_watermark(const struct fleet *);
void fleet_set_watermark(struct fleet *, size_t server, uint64_t step);
/* It has gone back to this one. */
void fleet_back(struct fleet *, size_t server, uint64_t step);

/*
 * Since when a server has been gone; 0: it is there, or never was.  One that
 * is there again still counts until fleet_returned() is called.
 */
uint64_t fleet_gone(const struct fleet *, size_t server, uint64_t *heard);
bool fleet_present_at(const struct fleet *, size_t server);
/* How long it takes a word to go there and its answer to come back, at the
   least; WIRE_NONE: it has not answered yet. */
uint64_t fleet_trip(const struct fleet *, size_t server);
void fleet_returned(struct fleet *);

/* A server says where it is. */
int fleet_register(struct fleet *, uint64_t server, const char *endpoint,
		   struct fail *);

void fleet_up(struct fleet *, uint64_t peer, uint64_t now_ms);
void fleet_down(struct fleet *, uint64_t peer, uint64_t now_ms);
bool fleet_welcome(const struct fleet *);	/* all are there */
size_t fleet_present(const struct fleet *);	/* how many are */

/* What each server said to an ask. */
struct ask {
	enum message_kind kind;		/* 0: free */
	uint64_t number;
	struct message message;
	char blob[MESSAGE_BLOB];
	size_t unanswered;		/* servers that have not answered */
	uint64_t since;			/* 0: it has just been asked */
	bool *answered;			/* of each server */
	struct message_saved {		/* of SAVE */
		uint64_t size;
		char hash[64];
	} *saved;
	struct ranges missing;		/* of CHECK: slots that some server
					   lacks */
	bool failed;
	struct fail why;
};

/*
 * Ask all servers.  m->blob is copied, frames must last until it has ended.
 * For PLAN and SAVE each server is told its own index, for MARK its own low
 * watermark; those that hold what LOAD is to bring are not asked to.
 */
void fleet_ask(struct fleet *, const struct message *m);

/* Nobody waits for what was asked any more. */
void fleet_forget(struct fleet *);

/* Is an ask of this kind under way? */
bool fleet_asking(const struct fleet *, enum message_kind);

/*
 * The ask that has been under way longest, since when, and the first server
 * that has not answered it; NULL: there is none.
 */
const struct ask *fleet_late(const struct fleet *, size_t *server,
			     uint64_t *since);

/*
 * A server said something; *ended is the ask that has now been answered by
 * all, good until the next call, or NULL.
 */
int fleet_receive(struct fleet *, uint64_t peer, const struct message *,
		  uint64_t now_ms, const struct ask **ended, struct fail *);

/*
 * Deadlines and pings.  A server whose connection is whole, but which has not
 * said a word for a lease though it was asked to, hangs: it is called anew and
 * counts as gone until it answers that.  Making variables and loading them
 * may take longer.  One that may be at two places is looked for at each in
 * turn, for a lease, since nobody knows how far the other one is.  -1: a server
 * is gone, or was not there in time.
 */
int fleet_tick(struct fleet *, uint64_t now_ms, uint64_t lease_ms,
	       uint64_t timeout_ms, uint64_t patience_ms, struct fail *);

/* We did not listen ourselves for so long: nobody's silence counts until now,
   nor that time of those who are gone. */
void fleet_excuse(struct fleet *, uint64_t now_ms, uint64_t pause_ms);

/* It is gone, though its connection was whole. */
bool fleet_hangs(const struct fleet *, size_t server);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *fleet_check(const struct fleet *);

#endif
