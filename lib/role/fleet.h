/*
 * fleet - the coordinator's servers: who is there, and what they were asked.
 *
 * An ask is one message to every server and its answers.  What gets lost with
 * a connection is asked again; a server that does not come back, or comes
 * back as another life without its variables, is an error that names it.
 */
#ifndef PS_FLEET_H
#define PS_FLEET_H

#include "role/outbox.h"
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
	size_t left;			/* servers that have not answered */
	bool *answered;			/* of each server */
	struct message_saved {		/* of SAVE */
		uint64_t size;
		char hash[64];
	} *saved;
	bool failed;
	struct fail why;
};

/*
 * Ask all servers.  m->blob is copied, frames must last until it has ended.
 * For PLAN and SAVE each server is told its own index.
 */
void fleet_ask(struct fleet *, const struct message *m);

/* Is an ask of this kind under way? */
bool fleet_asking(const struct fleet *, enum message_kind);

/*
 * A server said something; *ended is the ask that has now been answered by
 * all, good until the next call, or NULL.
 */
int fleet_hear(struct fleet *, uint64_t peer, const struct message *,
	       uint64_t now_ms, const struct ask **ended, struct fail *);

/*
 * Deadlines and pings.  -1: a server is gone, or was not there in time.
 */
int fleet_tick(struct fleet *, uint64_t now_ms, uint64_t timeout_ms,
	       uint64_t patience_ms, struct fail *);

#endif
