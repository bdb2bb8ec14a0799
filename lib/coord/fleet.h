/*
 * fleet - the coordinator's servers: which are connected, and what they were
 * asked.
 *
 * An ask is one message to every server and the answers to it.  An ask whose
 * message or answer was lost with a connection is sent again.
 *
 * A life is the random number of one start of a program.  A server that comes
 * back with another life has lost its variables, unless it has a log:
 * fleet_changed() then returns true, and the coordinator sends it the plan and
 * a checkpoint again.  A server that does not come back in time is an error
 * that names the server.
 *
 * "server" is an index below fleet_size(); a peer is a connection's number in
 * the outbox; now_ms and all *_ms are milliseconds.
 */
#ifndef PS_FLEET_H
#define PS_FLEET_H

#include "base/ranges.h"
#include "wire/outbox.h"
#include "wire/plan.h"

struct fleet;

/*
 * Makes a fleet and dials each server that has an endpoint; a server whose
 * endpoint is NULL registers itself later.  Endpoints and run are copied, the
 * outbox is borrowed.  life is the coordinator's.  NULL: an endpoint cannot be
 * dialled; the error names the server.
 */
struct fleet *fleet_new(char *const *endpoint, size_t servers,
			const unsigned char run[PLAN_RUN], uint64_t term,
			uint64_t life, struct outbox *, uint64_t now_ms,
			struct fail *);
void fleet_free(struct fleet *);

size_t fleet_size(const struct fleet *);
const char *fleet_endpoint(const struct fleet *, size_t server);
/* Is this peer the connection to a server of the fleet? */
bool fleet_knows(const struct fleet *, uint64_t peer);
/* Returns the index of the server at a peer that fleet_knows(). */
size_t fleet_server(const struct fleet *, uint64_t peer);

/*
 * Sets the number of records that are safe in the coordinator's journal.  PLAN,
 * MARK and VOID carry it to the servers.  A server that knows a larger number
 * shows that the journal was cut short or is an older copy: fleet_receive()
 * fails with FAIL_DATA then, and fleet_stale() is true from there on.
 */
void fleet_kept(struct fleet *, uint64_t records);
bool fleet_stale(const struct fleet *);

/* Sets the life of the standby that PLAN names for this server; 0: none. */
void fleet_set_standby(struct fleet *, size_t server, uint64_t life);

/* Sets the run and the term that HELLO carries from now on. */
void fleet_begin_term(struct fleet *, const unsigned char run[PLAN_RUN],
		      uint64_t term);

/* Has a server come back with another life, or been moved, since the last call
   of this function? */
bool fleet_changed(struct fleet *);

/*
 * fleet_holds(): does the server have the plan and the variables?
 * fleet_set_loaded() and fleet_set_lost() set that to true and to false; a
 * server without them is sent LOAD.  fleet_incarnation() is the server's life;
 * 0: not known.
 */
bool fleet_holds(const struct fleet *, size_t server);
void fleet_set_loaded(struct fleet *, size_t server);
void fleet_set_lost(struct fleet *, size_t server);
uint64_t fleet_incarnation(const struct fleet *, size_t server);

/* Restores what the journal knows of a server: the life that had the variables
   (0: none had), and the last term whose PLAN the server took. */
void fleet_resume(struct fleet *, size_t server, uint64_t life,
		  uint64_t term);
/* Returns the last term whose PLAN the server took. */
uint64_t fleet_term(const struct fleet *, size_t server);
/* The state of a server, as its answer to the newest PLAN described it. */
struct standing {
	uint64_t low, round;	/* all steps (in sync: all rounds) below this
				   number have ended there */
	bool initial;		/* initial values: no checkpoint was loaded and
				   no step was applied */
	uint64_t standby;	/* life of its standby, if the server knows
				   that the coordinator counts on it; else 0 */
	unsigned char *steps;	/* bit i, lowest bits first: the server has
				   step low + i */
	size_t bytes;		/* of steps */
};
const struct standing *fleet_standing(const struct fleet *, size_t server);
/* Does the server have this step?  The step must be at or above the low
   watermark of the standing. */
bool standing_has(const struct standing *, uint64_t step);
/* Sets both low watermarks of the server (sent, acknowledged) to the one of its
   standing, which may be lower than what it was sent before. */
void fleet_stands(struct fleet *, size_t server);

/* Returns a step such that neither it nor any above it was pushed to a server
   before this term. */
uint64_t fleet_high_watermark(const struct fleet *);
/* Dials the server at another endpoint.  -1: that cannot be dialled, and the
   server stays where it was. */
int fleet_place(struct fleet *, size_t server, const char *endpoint,
		struct fail *);

/*
 * Puts a standby in the place of a server: the program of this life at this
 * endpoint, which has the server's variables.  If it does not answer there, or
 * has another life, the old endpoint and this one are tried in turn.  -1: the
 * endpoint cannot be dialled.
 */
int fleet_move(struct fleet *, size_t server, const char *endpoint,
	       uint64_t life, uint64_t now_ms, struct fail *);
/* Sets a second endpoint at which the server may be, in the place of any other
   second one.  fleet_elsewhere() returns it; "": there is none. */
void fleet_seek(struct fleet *, size_t server, const char *endpoint);
const char *fleet_elsewhere(const struct fleet *, size_t server);

/* Sends a message to one server, if that has answered HELLO. */
void fleet_send(struct fleet *, size_t server, const struct message *);

/* The low watermark that the next MARK sends to the server, and the last one
   that the server acknowledged. */
uint64_t fleet_watermark(const struct fleet *, size_t server);
uint64_t fleet_acked_watermark(const struct fleet *, size_t server);
/* Returns the lowest acknowledged low watermark of all servers. */
uint64_t fleet_lowest_acked_watermark(const struct fleet *);
void fleet_set_watermark(struct fleet *, size_t server, uint64_t step);
/* Notes that the server went back to the state before this step: its low
   watermarks and its high one become this step. */
void fleet_back(struct fleet *, size_t server, uint64_t step);

/*
 * Returns the time since which a server has been gone; 0: it is there, or never
 * was.  *heard is when its last message came.  A server that is there again
 * still counts as gone until fleet_returned() is called.
 */
uint64_t fleet_gone(const struct fleet *, size_t server, uint64_t *heard);
/* Has the server answered HELLO on its present connection? */
bool fleet_present_at(const struct fleet *, size_t server);
/* Returns the shortest time from a HELLO or PING to its answer, in ms;
   WIRE_NONE: the server has not answered yet. */
uint64_t fleet_trip(const struct fleet *, size_t server);
/* Ends the absence of all servers that are there. */
void fleet_returned(struct fleet *);

/*
 * Takes the endpoint that a server registered by this peer, and dials it; if it
 * is that at which the server was looked for before, both are tried in turn.
 * If the program that has the variables has not answered yet at the endpoint
 * that is dialled, as after a start of the coordinator, that one comes first.
 * -1: there is no such server (FAIL_CONFIG), it is alive at another endpoint
 * (FAIL_AGAIN), or the endpoint cannot be dialled.  If the server is found at
 * another endpoint later, that peer is refused then (FAIL_AGAIN).
 */
int fleet_register(struct fleet *, uint64_t server, uint64_t peer,
		   const char *endpoint, uint64_t now, struct fail *);

/* The connection to a peer that fleet_knows() was made (HELLO is sent), or
   broke. */
void fleet_up(struct fleet *, uint64_t peer, uint64_t now_ms);
void fleet_down(struct fleet *, uint64_t peer, uint64_t now_ms);
bool fleet_welcome(const struct fleet *);	/* all servers are there */
size_t fleet_present(const struct fleet *);	/* how many are there */

/* An ask and the answers to it. */
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
	struct ranges missing;		/* of CHECK: replicas that some server
					   lacks */
	bool failed;			/* a server refused; why: the first */
	struct fail why;
};

/*
 * Sends a message to all servers and awaits an answer of each.  m->blob is
 * copied; the frames must last until the ask has ended.  PLAN and SAVE carry
 * each server's own index, MARK its own low watermark.  LOAD is not sent to
 * servers for which fleet_holds() is true.
 */
void fleet_ask(struct fleet *, const struct message *m);
/* From now on STOP goes as BYE to servers for which fleet_holds() is false. */
void fleet_spare(struct fleet *);

/* Drops all asks: later answers to them are ignored. */
void fleet_forget(struct fleet *);

/* Is an ask of this kind under way? */
bool fleet_asking(const struct fleet *, enum message_kind);

/*
 * Returns the ask that has been under way longest; *since is its time, *server
 * the first server that has not answered it.  NULL: no ask is under way.
 */
const struct ask *fleet_late(const struct fleet *, size_t *server,
			     uint64_t *since);

/*
 * Takes a message of a server.  *ended is the ask whose last answer this was,
 * good until the next call, or NULL.  -1: the server refuses the coordinator
 * (with the server's status), is not a ps-serve of this release
 * (FAIL_PROTOCOL), is a standby that was not promoted (FAIL_AGAIN), or knows
 * more records of the journal than there are (FAIL_DATA).
 */
int fleet_receive(struct fleet *, uint64_t peer, const struct message *,
		  uint64_t now_ms, const struct ask **ended, struct fail *);

/*
 * Sends pings and looks at deadlines.
 *
 *  - A server that has not answered for a lease, though its connection is
 *    whole, hangs: it is dialled again and counts as gone until it answers.
 *    PLAN and LOAD, which make and load variables, may take longer.
 *  - A server that may be at two endpoints is looked for at each in turn, for
 *    a lease or longer, as nobody knows how far away the other one is.
 *
 * -1 (FAIL_PEER): a server did not register or answer within timeout_ms of the
 * start, or has been gone for patience_ms.
 */
int fleet_tick(struct fleet *, uint64_t now_ms, uint64_t lease_ms,
	       uint64_t timeout_ms, uint64_t patience_ms, struct fail *);

/* Forgives a pause of pause_ms in which the coordinator itself did not listen:
   the silence of servers is counted from now, and the absence of those that are
   gone is shortened by the pause. */
void fleet_skip_pause(struct fleet *, uint64_t now_ms, uint64_t pause_ms);

/* Is the server gone because it hangs: its connection was whole? */
bool fleet_hangs(const struct fleet *, size_t server);

/* For tests, between two calls: NULL, or the words of what does not hold. */
const char *fleet_check(const struct fleet *);

#endif
