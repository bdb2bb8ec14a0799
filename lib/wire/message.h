/*
 * message - what the programs say to each other.
 *
 * A message is a header frame, a MessagePack array [kind, request, numbers...,
 * blob] of a fixed shape for each kind, and behind it frames of raw bytes.
 * The shapes are one table, in message.c; ps-wire(7) explains each kind.
 * An answer repeats the request number of what it answers.
 *
 * Of any version, now and later, HELLO begins with [1, request, version, and
 * REFUSED is [3, request, status, why]: so each can tell the other.
 *
 * A struct message owns nothing: blob and frames point into what was received,
 * or at what is to be sent.
 */
#ifndef PS_MESSAGE_H
#define PS_MESSAGE_H

#include "base/fail.h"
#include "base/refcount.h"
#include "wire/fields.h"
#include "wire/pack.h"

#define WIRE_VERSION	2
#define WIRE_MEANING	5	/* to be raised when what is said in the same
				   fields comes to mean something else */
#define WIRE_FRAME	((size_t)64 << 20)	/* bytes, at most */
#define WIRE_NONE	UINT64_MAX	/* where a number is left open */

#define MESSAGE_NUMBERS	13
#define MESSAGE_FRAMES	4
#define MESSAGE_BLOB	512		/* bytes, at most */

#define WIRE_LEVELS	12		/* of the tree over the replicas */
#define WIRE_REPLICAS	(1 << WIRE_LEVELS)	/* of a round, at most */
#define WIRE_NAME	64		/* of a site or submitter, with its 0 */
#define WIRE_RECALL	256		/* bytes of a pull's keys, from which
					   on a server remembers them */

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
	/* rounds: the coordinator to a server */
	MESSAGE_COMMIT,
	/* ... of its data */
	MESSAGE_INDEX, MESSAGE_INDEXED,
	/* a server, its standby, and the coordinator of both */
	MESSAGE_STANDBY, MESSAGE_SYNC, MESSAGE_STATE, MESSAGE_HELD,
	/* a submitter and the coordinator */
	MESSAGE_SUBMIT, MESSAGE_RESULTS,
	/* the coordinator to a worker; a relay to a server */
	MESSAGE_RELAY, MESSAGE_BUNDLE,
	/* rounds with sums of relays: the coordinator to a server, and back */
	MESSAGE_CHECK, MESSAGE_MISSING,
	MESSAGE_KINDS
};

enum role {
	ROLE_NONE, ROLE_COORDINATOR, ROLE_SERVER, ROLE_WORKER, ROLE_EVALUATOR,
	ROLE_STANDBY, ROLE_SUBMITTER, ROLE_RELAY
};

/* Will there be checkpoints of a run? */
enum saves {
	SAVES_NONE,
	SAVES,
	SAVES_BESIDE_JOURNAL	/* and that is in their directory, too */
};

/* What became of a push; of a pull, what its values are. */
enum outcome {
	OUTCOME_NONE,		/* a pull: they are those that count */
	OUTCOME_APPLIED,
	OUTCOME_DUP,		/* applied before; not again */
	OUTCOME_VOID,		/* the step has been given up; not applied */
	OUTCOME_LATER,		/* beyond the window; not applied */
	OUTCOME_STALE,		/* of another run, or an older term */
	OUTCOME_WRONG_PLAN,	/* ask the coordinator for the plan again */
	OUTCOME_STAGED,		/* kept until its round is committed */
	OUTCOME_GONE,		/* a pull that is not remembered; not applied:
				   send the keys */
	OUTCOME_AHEAD,		/* a pull: what a round will come to, if no
				   other attempts count than are here */
	OUTCOME_CONFIRMED,	/* it came to what was last sent ahead */
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
	bool foreign;		/* HELLO: of a program with other messages */
	uint64_t request;
	union {
		uint64_t number[MESSAGE_NUMBERS];
		/* blob: run; frames: endpoint, of a server, a standby or a
		   relay; site, of a relay or a worker; or, of a submitter,
		   its name: its index is what it wishes */
		struct { FIELDS_HELLO(MESSAGE_FIELD) } hello;
		/* blob: run */
		struct { FIELDS_WELCOME(MESSAGE_FIELD) } welcome;
		/* blob: why */
		struct { FIELDS_REFUSED(MESSAGE_FIELD) } refused;
		/* of a server, to PLAN: what it has; frame: steps from the
		   mark on */
		struct { FIELDS_OK(MESSAGE_FIELD) } ok;
		/* blob: run; frames: model, plan, format; journal: records
		   that are safe in it */
		struct { FIELDS_PLAN(MESSAGE_FIELD) } plan;
		struct { FIELDS_MARK(MESSAGE_FIELD) } mark;
		struct { FIELDS_VOID(MESSAGE_FIELD) } voided;
		/* save and load: blob: name; published: of thaw */
		struct { FIELDS_THAW(MESSAGE_FIELD) } cut;
		/* blob: hash */
		struct { FIELDS_SAVED(MESSAGE_FIELD) } saved;
		/* frames: keys.  coded: how the values to come travel: 0: as
		   floats; else as the plan says for the step coded - 1;
		   have: the edition of what was published that the sender has,
		   or 0 */
		struct { FIELDS_PULL(MESSAGE_FIELD) } pull;
		/* frames: keys; keys to pull; values.  back: the keys are
		   those of the pull whose request number is so much lower;
		   coded: 1: the gradient is as the plan says for its step;
		   values: as coded of pull; slot: see message_node() */
		struct { FIELDS_PUSH(MESSAGE_FIELD) } push;
		/* frames: values, or what has changed from the edition since
		   (not 0) to this one; edition 0: nothing is published */
		struct { FIELDS_VALUES(MESSAGE_FIELD) } values;
		/* frames: block, the one after it; call, if that is 1 */
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
		/* frame: attempts; CHECK, too */
		struct { FIELDS_COMMIT(MESSAGE_FIELD) } commit;
		/* MISSING: frame: slots, none or more */
		/* frames: span */
		struct { FIELDS_INDEX(MESSAGE_FIELD) } index;
		/* frames: places; records: WIRE_NONE if only the whole file
		   can be counted */
		struct { FIELDS_INDEXED(MESSAGE_FIELD) } indexed;
		/* life 0: there is none; frame: endpoint, of a server's */
		struct { FIELDS_STANDBY(MESSAGE_FIELD) } standby;
		/* as plan; one more frame: windows */
		struct { FIELDS_SYNC(MESSAGE_FIELD) } sync;
		/* frame: values, slots */
		struct { FIELDS_STATE(MESSAGE_FIELD) } state;
		struct { FIELDS_HELD(MESSAGE_FIELD) } held;
		/* frame: requests, each with its newline */
		struct { FIELDS_SUBMIT(MESSAGE_FIELD) } submit;
		/* frame: results, each with its newline */
		struct { FIELDS_RESULTS(MESSAGE_FIELD) } results;
		/* life 0: there is none; frame: endpoint */
		struct { FIELDS_RELAY(MESSAGE_FIELD) } relay;
		/* frame: see wire/bundle.h */
		struct { FIELDS_BUNDLE(MESSAGE_FIELD) } bundle;
	};
	struct frame blob;
	size_t frames;
	struct frame frame[MESSAGE_FRAMES];
};

const char *message_name(enum message_kind);
/* The names of its numbers, with a blank in front of each. */
const char *message_fields(enum message_kind);

/*
 * The hash of all kinds, their fields and frames, which every HELLO carries:
 * programs that differ in it would wait for each other in vain.
 */
uint64_t message_table(void);
/* Is this HELLO of a program that speaks as we do?  FAIL_PROTOCOL if not. */
int message_check_hello(const struct message *, struct fail *);

/* Write the header; the frames are the sender's to send behind it. */
void message_write(struct pack *, const struct message *);

/* Read a header.  FAIL_PROTOCOL says what is wrong with it. */
int message_read(struct message *, const void *header, size_t size,
		 struct fail *);

/* Does it have as many frames as its kind must? */
int message_check_frames(const struct message *, struct fail *);

/*
 * Frames of keys that are empty, of a part that has no tables, do not travel
 * if they come first.  How many of this message do not; and how many are
 * missing from one of this kind that came with so many frames.
 */
size_t message_unsent(const struct message *);
size_t message_missing(enum message_kind, size_t frames);

/* An answer: kind, and the request number of what it answers. */
struct message message_answer(const struct message *to,
			      enum message_kind kind);
/* HELLO, without a run and an endpoint.  index: WIRE_NONE if it has none. */
struct message message_hello(enum role, uint64_t index, uint64_t life,
			     uint64_t term);
struct message message_refuse(const struct message *to, enum fail_kind,
			      const char *text);

/* A name, of a site or a submitter, is a word of printable characters without
   quotes and backslashes: it stands in messages and, one day, in files. */
bool message_is_name(const char *name, size_t size);
/* The site in a HELLO; "": none.  -1: it is not a name (FAIL_PROTOCOL). */
int message_site(const struct message *hello, char site[WIRE_NAME],
		 struct fail *);

/* The status of REFUSED or FAILED as a kind; FAIL_PROTOCOL if it is none. */
enum fail_kind message_status(uint64_t status);

/* Copy a text blob: at most size - 1 bytes, of what may be shown. */
void message_text(const struct message *, char *text, size_t size);

/*
 * A replica and a level in the slot of a LEASE and a PUSH.  Of the level k it
 * may be, or is, added up with others: the node of the tree over replicas that
 * it is a leaf of has 2^k, the first of which is a multiple of that.  A relay
 * that has added them up says the first.  Level 0: a replica by itself.
 */
uint64_t message_node(uint64_t replica, unsigned level);
uint64_t message_replica(uint64_t slot);
uint64_t message_level(uint64_t slot);

/* A float in a number: its bits, so that 0.0 is 0. */
uint64_t message_float_bits(float);
float message_float(uint64_t bits);
uint64_t message_double_bits(double);
double message_double(uint64_t bits);

#endif
