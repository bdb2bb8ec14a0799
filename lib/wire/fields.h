/*
 * fields - the numbers of each kind of message, in order.
 *
 * Each list is the only place where they are named: the structs of message.h,
 * the shapes in message.c and the hash in HELLO are all generated from it.
 */
#ifndef PS_FIELDS_H
#define PS_FIELDS_H

#define FIELDS_NONE(N)
#define FIELDS_HELLO(N)		N(version) N(role) N(index) N(life) N(term)
#define FIELDS_WELCOME(N)	FIELDS_HELLO(N) N(plan) N(journal)
#define FIELDS_REFUSED(N)	N(status)
#define FIELDS_OK(N)		N(above) N(mark) N(round) N(initial) N(standby)
#define FIELDS_PLAN(N)		N(term) N(plan) N(seed) N(server) N(step) \
				N(replicas) N(standby) N(saves) N(batches) \
				N(journal)
#define FIELDS_MARK(N)		N(run) N(term) N(step) N(replicas) N(journal)
#define FIELDS_VOID(N)		N(run) N(term) N(first) N(count) N(journal)
#define FIELDS_CUT(N)		N(run) N(term) N(cut) N(step) N(part) N(parts)
#define FIELDS_THAW(N)		FIELDS_CUT(N) N(published)
#define FIELDS_SAVED(N)		N(size)
#define FIELDS_PULL(N)		N(run) N(term) N(plan) N(part) N(cut) \
				N(after) N(coded) N(have)
#define FIELDS_PUSH(N)		N(run) N(term) N(plan) N(part) N(step) \
				N(examples) N(version) N(rate) N(slot) \
				N(attempt) N(back) N(coded) N(values)
#define FIELDS_VALUES(N)	N(outcome) N(version) N(staleness) N(edition) \
				N(since)
#define FIELDS_LEASE(N)		N(term) N(first) N(count) N(attempt) N(batch) \
				N(rate) N(pass) N(more) N(slot) N(slots) \
				N(server) N(call)
#define FIELDS_CANCEL(N)	N(first) N(count)
#define FIELDS_DONE(N)		N(term) N(count)
#define FIELDS_FAILED(N)	N(term) N(step) N(status)
#define FIELDS_EXHAUSTED(N)	N(term) N(records)
#define FIELDS_LOST(N)		N(term) N(server)
#define FIELDS_EVALUATE(N)	N(term) N(shard) N(shards) N(batch) \
				N(cut)
#define FIELDS_COMMIT(N)	N(run) N(term) N(step)
#define FIELDS_INDEX(N)		N(term) N(dataset)
#define FIELDS_INDEXED(N)	N(term) N(records)
#define FIELDS_STANDBY(N)	N(run) N(term) N(life) N(counted)
#define FIELDS_SYNC(N)		N(term) N(plan) N(seed) N(server) N(step) \
				N(replicas) N(pushes) N(number) N(chunks) \
				N(journal) N(initial)
#define FIELDS_STATE(N)		N(piece) N(chunk) N(updates) N(since) N(begun)
#define FIELDS_HELD(N)		N(number)
#define FIELDS_SUBMIT(N)	N(first) N(hash) N(received)
#define FIELDS_RESULTS(N)	N(accepted) N(hash) N(room) N(pending) \
				N(first) N(status)
#define FIELDS_RELAY(N)	N(life)
#define FIELDS_BUNDLE(N)	N(count)
#define FIELDS_RESIDUAL(N)	N(term) N(how) N(step) N(attempt)

#endif
