/*
 * message - the messages between the programs.
 *
 * A message is a header frame, a MessagePack array [kind, request, numbers...,
 * blob] of a fixed shape for each kind, and behind it frames of raw bytes.  The
 * shapes are one table, in message.c; ps-wire(7) explains each kind.  An answer
 * repeats the request number of the message that it answers.
 *
 * Of any version, now and later, HELLO begins with [1, request, version, and
 * REFUSED is [3, request, status, why]: so programs of two versions can tell
 * each other.
 *
 * A struct message owns nothing: blob and frames point into the bytes that were
 * received, or at those that are to be sent.
 */
#ifndef PS_MESSAGE_H
#define PS_MESSAGE_H

#include "base/fail.h"
#include "base/refcount.h"
#include "wire/fields.h"
#include "wire/pack.h"

#define WIRE_VERSION	2
#define WIRE_MEANING	9	/* raise it when the same fields come to mean
				   something else */
#define WIRE_FRAME	((size_t)64 << 20)	/* bytes, at most */
#define WIRE_NONE	UINT64_MAX	/* stands for a number that is not
					   given */

#define MESSAGE_NUMBERS	13
#define MESSAGE_FRAMES	4
#define MESSAGE_BLOB	512		/* bytes, at most */

#define WIRE_LEVELS	12		/* of the tree over the replicas */
#define WIRE_REPLICAS	(1 << WIRE_LEVELS)	/* of a round, at most */
#define WIRE_NAME	64		/* bytes of a site's or submitter's
					   name, with its NUL */
#define WIRE_RECALL	256		/* a server remembers a pull's keys if
					   they have this many bytes or more */

enum message_kind {
	/* between any two */
	MESSAGE_HELLO = 1, MESSAGE_WELCOME, MESSAGE_REFUSED, MESSAGE_OK,
	MESSAGE_PING, MESSAGE_PONG, MESSAGE_STOP, MESSAGE_BYE,
	/* the coordinator to a server */
	MESSAGE_PLAN, MESSAGE_MARK, MESSAGE_VOID, MESSAGE_FREEZE,
	MESSAGE_THAW, MESSAGE_SAVE, MESSAGE_SAVED, MESSAGE_LOAD,
	/* workers and evaluators to a server */
	MESSAGE_PULL, MESSAGE_PUSH, MESSAGE_PUSHPULL, MESSAGE_VALUES,
	/* the coordinator and its workers and evaluators */
	MESSAGE_READY, MESSAGE_LEASE, MESSAGE_CANCEL, MESSAGE_DONE,
	MESSAGE_FAILED, MESSAGE_EXHAUSTED, MESSAGE_LOST, MESSAGE_EVALUATE,
	MESSAGE_EVALUATED, MESSAGE_CUT,
	/* rounds: the coordinator to a server (see also CHECK, below) */
	MESSAGE_COMMIT,
	/* data: the coordinator and its workers */
	MESSAGE_INDEX, MESSAGE_INDEXED,
	/* a server, its standby, and the coordinator of both */
	MESSAGE_STANDBY, MESSAGE_SYNC, MESSAGE_STATE, MESSAGE_HELD,
	/* a submitter and the coordinator */
	MESSAGE_SUBMIT, MESSAGE_RESULTS,
	/* the coordinator to a worker; a relay to a server */
	MESSAGE_RELAY, MESSAGE_BUNDLE,
	/* rounds with sums of relays: the coordinator to a server, and back */
	MESSAGE_CHECK, MESSAGE_MISSING,
	/* rounds with residuals: the coordinator to a worker */
	MESSAGE_RESIDUAL,
	MESSAGE_KINDS
};

/* How the gradient of a leased replica is pushed, in a run with residuals. */
enum push_how {
	PUSH_EXACT,		/* as floats; another worker has the residual */
	PUSH_CODED,		/* with the residual, as the plan says; what the
				   codec loses is the new residual */
	PUSH_FLUSH,		/* with the residual, as floats; then it is 0 */
	PUSH_HOWS
};

enum role {
	ROLE_NONE, ROLE_COORDINATOR, ROLE_SERVER, ROLE_WORKER, ROLE_EVALUATOR,
	ROLE_STANDBY, ROLE_SUBMITTER, ROLE_RELAY
};

/* Will there be checkpoints of a run? */
enum saves {
	SAVES_NONE,
	SAVES,
	SAVES_BESIDE_JOURNAL	/* and the journal lies in their directory */
};

/* The outcome of a push; for a pull, which values it is answered with. */
enum outcome {
	OUTCOME_NONE,		/* a pull: the current values */
	OUTCOME_APPLIED,
	OUTCOME_DUP,		/* applied before; not again */
	OUTCOME_VOID,		/* the step has been given up; not applied */
	OUTCOME_LATER,		/* beyond the window, or not the open round; not
				   applied */
	OUTCOME_STALE,		/* of another run, or an older term */
	OUTCOME_WRONG_PLAN,	/* ask the coordinator for the plan again */
	OUTCOME_STAGED,		/* kept until its round is committed */
	OUTCOME_GONE,		/* the pull whose keys the push refers to was
				   forgotten; not applied: send the keys */
	OUTCOME_AHEAD,		/* a pull: the values that a round will make, if
				   it commits the newest attempts that are
				   here */
	OUTCOME_CONFIRMED,	/* a pull: the round made the values that were
				   last sent ahead */
	OUTCOMES
};

struct frame {
	const void *data;
	size_t size;
	struct refcount *hold;	/* NULL: the sender copies the data at once */
};

#define MESSAGE_FIELD(name)	uint64_t name;

struct message {
	enum message_kind kind;
	bool foreign;		/* HELLO: of a program of another version, or
				   with another message table */
	uint64_t request;
	union {
		uint64_t number[MESSAGE_NUMBERS];
		/* blob: run.  frames: the endpoint of a server, standby or
		   relay; the site of a relay or worker, or the name of a
		   submitter, whose index is a sum of options, see ps-wire(7) */
		struct { FIELDS_HELLO(MESSAGE_FIELD) } hello;
		/* blob: run */
		struct { FIELDS_WELCOME(MESSAGE_FIELD) } welcome;
		/* blob: why */
		struct { FIELDS_REFUSED(MESSAGE_FIELD) } refused;
		/* a server's answer to PLAN: which steps are here; frame: steps
		   from the low watermark (mark) on that need no push */
		struct { FIELDS_OK(MESSAGE_FIELD) } ok;
		/* blob: run; frames: model, plan, format; replicas: of a
		   round, 0 if that is not known yet, or there are no rounds;
		   journal: records that are safe in it */
		struct { FIELDS_PLAN(MESSAGE_FIELD) } plan;
		struct { FIELDS_MARK(MESSAGE_FIELD) } mark;
		struct { FIELDS_VOID(MESSAGE_FIELD) } voided;
		/* SAVE and LOAD: blob: name; published: of THAW */
		struct { FIELDS_THAW(MESSAGE_FIELD) } cut;
		/* blob: hash */
		struct { FIELDS_SAVED(MESSAGE_FIELD) } saved;
		/*
		 * frame: keys.  coded: how the values of the answer travel: 0:
		 * as floats; else as the plan says for step coded - 1.  have:
		 * the edition of the published copy that the sender has; 0:
		 * none
		 */
		struct { FIELDS_PULL(MESSAGE_FIELD) } pull;
		/*
		 * frames: keys; of PUSHPULL the keys to pull; gradient.  back:
		 * 0, or the keys are those of the pull whose request number is
		 * this much lower; coded: 1: the gradient travels as the plan
		 * says for its step; values: as coded of a pull; slot: see
		 * message_node()
		 */
		struct { FIELDS_PUSH(MESSAGE_FIELD) } push;
		/* frame: the values, or, if since is not 0, the differences
		   from edition since to this one; edition 0: nothing is
		   published */
		struct { FIELDS_VALUES(MESSAGE_FIELD) } values;
		/* frames: block, the block after it; the call, if call is 1 */
		struct { FIELDS_LEASE(MESSAGE_FIELD) } lease;
		struct { FIELDS_CANCEL(MESSAGE_FIELD) } cancel;
		/* frames: results, scores, labels */
		struct { FIELDS_DONE(MESSAGE_FIELD) } done;
		/* blob: why */
		struct { FIELDS_FAILED(MESSAGE_FIELD) } failed;
		struct { FIELDS_EXHAUSTED(MESSAGE_FIELD) } exhausted;
		/* blob: why */
		struct { FIELDS_LOST(MESSAGE_FIELD) } lost;
		/* frames: files */
		struct { FIELDS_EVALUATE(MESSAGE_FIELD) } evaluate;
		/* COMMIT and CHECK: frame: attempts */
		struct { FIELDS_COMMIT(MESSAGE_FIELD) } commit;
		/* MISSING: frame: slots, none or more */
		/* frames: span */
		struct { FIELDS_INDEX(MESSAGE_FIELD) } index;
		/* frames: places; records: WIRE_NONE if only the whole file
		   can be counted */
		struct { FIELDS_INDEXED(MESSAGE_FIELD) } indexed;
		/* life 0: there is no standby; frame: the standby's endpoint,
		   from a server */
		struct { FIELDS_STANDBY(MESSAGE_FIELD) } standby;
		/* as plan; one more frame: windows */
		struct { FIELDS_SYNC(MESSAGE_FIELD) } sync;
		/* frame: values, slots */
		struct { FIELDS_STATE(MESSAGE_FIELD) } state;
		struct { FIELDS_HELD(MESSAGE_FIELD) } held;
		/* frame: requests, each ending in a newline */
		struct { FIELDS_SUBMIT(MESSAGE_FIELD) } submit;
		/* frame: results, each ending in a newline */
		struct { FIELDS_RESULTS(MESSAGE_FIELD) } results;
		/* life 0: there is no relay; frame: its endpoint */
		struct { FIELDS_RELAY(MESSAGE_FIELD) } relay;
		/* frame: see wire/bundle.h */
		struct { FIELDS_BUNDLE(MESSAGE_FIELD) } bundle;
		/* request: a lease; how: see enum push_how; step and attempt:
		   the push that left the residual that counts; attempt 0: the
		   residual is 0 */
		struct { FIELDS_RESIDUAL(MESSAGE_FIELD) } residual;
	};
	struct frame blob;
	size_t frames;
	struct frame frame[MESSAGE_FRAMES];
};

const char *message_name(enum message_kind);
/* The names of the numbers of a kind, each with a blank in front. */
const char *message_fields(enum message_kind);

/*
 * Returns the hash of all kinds of messages, their fields and frames, and the
 * limits that both sides must know.  Every HELLO carries it: programs whose
 * hashes differ would wait for each other in vain.
 */
uint64_t message_table(void);
/* Check that a HELLO is of a program with our version and our message table.
   FAIL_PROTOCOL if not. */
int message_check_hello(const struct message *, struct fail *);

/* Write the header of a message; the caller sends the frames behind it. */
void message_write(struct pack *, const struct message *);

/* Read a header; blob points into it, and there are no frames yet.
   FAIL_PROTOCOL: it is malformed; the text says what is wrong. */
int message_read(struct message *, const void *header, size_t size,
		 struct fail *);

/* Check that a message has as many frames as its kind must have.  FAIL_PROTOCOL
   if not. */
int message_check_frames(const struct message *, struct fail *);

/*
 * Empty frames of keys (of a part without tables) that stand first do not
 * travel.  message_unsent() returns how many frames of this message do not;
 * message_missing() how many were left out of a message of this kind that came
 * with so many frames.
 */
size_t message_unsent(const struct message *);
size_t message_missing(enum message_kind, size_t frames);

/* Returns an answer of a kind, with the request number of the message that it
   answers. */
struct message message_answer(const struct message *to,
			      enum message_kind kind);
/* Returns a HELLO without a run and an endpoint.  index: WIRE_NONE if the
   program has none. */
struct message message_hello(enum role, uint64_t index, uint64_t life,
			     uint64_t term);
struct message message_refuse(const struct message *to, enum fail_kind,
			      const char *text);

/* Is it a name of a site or a submitter: 1 to WIRE_NAME - 1 printable ASCII
   characters without blanks, quotes and backslashes?  Names stand in messages,
   and may stand in files. */
bool message_is_name(const char *name, size_t size);
/* Copy the name of the site in a HELLO; "" if it has none.  -1 (FAIL_PROTOCOL):
   it is not a name. */
int message_site(const struct message *hello, char site[WIRE_NAME],
		 struct fail *);

/* The status of a REFUSED or FAILED as a kind of failure; FAIL_PROTOCOL if it
   is not one. */
enum fail_kind message_status(uint64_t status);

/* Copy a text blob, cut to size - 1 bytes; bytes that cannot be shown are
   replaced. */
void message_text(const struct message *, char *text, size_t size);

/*
 * The slot of a LEASE and a PUSH: a replica and a level k in one number.  Level
 * 0 is a replica by itself.  Level k > 0 is a node of the tree over replicas:
 * 2^k neighbouring replicas, the first of which is a multiple of 2^k.  In a
 * LEASE it says which node the replica may be added up in; in the PUSH of a
 * relay, that it is the sum of that node, whose first replica it names.
 */
uint64_t message_node(uint64_t replica, unsigned level);
uint64_t message_replica(uint64_t slot);
uint64_t message_level(uint64_t slot);

/* A float as a number: its bits, so that 0.0 is 0; and back. */
uint64_t message_float_bits(float);
float message_float(uint64_t bits);
uint64_t message_double_bits(double);
double message_double(uint64_t bits);

#endif
