/*
 * server_replay - a server and its standby, which receive the same messages.
 *
 * A random script has the messages of a coordinator and a worker in one run; at
 * the end both servers must have the same state.  A file that includes this one
 * includes tap.h, too.
 */
#ifndef PS_SERVER_REPLAY_H
#define PS_SERVER_REPLAY_H

#include "server/server.h"

#include "base/hash.h"
#include "base/window.h"
#include "server/commit_log.h"
#include "tensor/table.h"
#include "wire/keys.h"

#include "code_all.h"
#include "model_fixture.h"
#include <math.h>

#define COORD	1	/* peers of the server and, if promoted, the standby */
#define WORKER	2
#define STANDBY	3	/* of the server: the standby */
#define PRIMARY	4	/* of the standby: the server */
#define TERM	4
#define STEPS	120
#define CHANGES	4000

static const char model[] =
	"input  id id rows=40\n"
	"input  any id rows=hash\n"
	"label  y float\n"
	"e  = embedding id dim=3\n"
	"a  = embedding any dim=2 admit=2 evict=age:60\n"
	"b  = embedding any dim=600\n"
	"c  = concat e a b\n"
	"h  = dense c units=5\n"
	"p  = dense h units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam learning_rate=0.1\n";

/* A server, and the messages under way to the other one. */
static struct side {
	struct server *server;
	struct outbox outbox;
	struct commit_log out;		/* messages, in order */
	uint64_t answered[CHANGES];	/* outcome + 1 of each, or 1 */
	struct message said;		/* the last message to the
					   coordinator */
	uint64_t standby_life, standby_term;	/* as reported to the
						   coordinator */
	bool standby_counted;
	bool told;
	void (*after)(struct side *);	/* called after each message; or NULL */
} primary, standby, reference;

static struct model_fixture fixture;
static struct plan plan;
static struct pack model_frame, plan_frame;
static const unsigned char run[PLAN_RUN] = "a run, 16 bytes";

static struct commit_log script;	/* messages for the server */
static uint64_t heard, synced_at;	/* messages of the script that were
					   delivered */
static bool unreachable;		/* the standby cannot be reached */

static inline int
send_to(void *to, uint64_t peer, const struct message *m)
{
	struct side *s = to;

	if (peer == STANDBY && unreachable)
		return -1;
	if (peer == STANDBY || peer == PRIMARY) {
		if (m->kind == MESSAGE_SYNC)
			synced_at = heard;
		commit_log_add(&s->out, 0, m);
	} else if (m->kind == MESSAGE_STANDBY) {
		s->told = true;
		s->standby_life = m->standby.life;
		s->standby_term = m->standby.term;
		s->standby_counted = m->standby.counted;
	} else if (m->request > 0) {
		if (m->request < CHANGES)
			s->answered[m->request] = 1 +
				(m->kind == MESSAGE_VALUES ?
				 m->values.outcome : 0);
		s->said = *m;
	}
	return 0;
}

static inline int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to;
	(void)endpoint;
	(void)f;
	*peer = PRIMARY;
	return 0;
}

static inline void
side_new(struct side *s, uint64_t life)
{
	*s = (struct side){ .outbox = { send_to, dial, NULL, s } };
	s->server = server_new(life, 1000, &s->outbox);
}

static inline void
side_free(struct side *s)
{
	server_free(s->server);
	commit_log_release(&s->out);
	*s = (struct side){ 0 };
}

static inline void
side_receive(struct side *s, uint64_t peer, const struct message *m)
{
	server_receive(s->server, peer, m, 0);
	if (s->after)
		s->after(s);
}

/* ---- the script ---- */

static inline void
greet(struct side *s, uint64_t peer, enum role role, uint64_t term)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.term = term;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	side_receive(s, peer, &m);
}

static inline struct message
plan_message(uint64_t term, uint64_t life)
{
	struct message m = { .kind = MESSAGE_PLAN, .frames = 2 };

	m.plan.term = term;
	m.plan.plan = 1;
	m.plan.seed = 7;
	m.plan.standby = life;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	m.frame[0] = (struct frame){ model_frame.data, model_frame.size,
				     NULL };
	m.frame[1] = (struct frame){ plan_frame.data, plan_frame.size, NULL };
	return m;
}

static inline void
add(struct message *m, uint64_t peer)
{
	m->request = script.last + 1;
	commit_log_add(&script, peer, m);
}

/* Draws two rows, in order; in a hashed table, the rows of some of 80 ids. */
static inline void
draw_rows(struct rng *rng, bool hashed, uint64_t *row)
{
	row[0] = rng_below(rng, 20);
	row[1] = 20 + rng_below(rng, 20);
	for (size_t i = 0; hashed && i < 2; i++)
		row[i] = hash_mix(2 * row[i] + rng_below(rng, 2));
	if (row[0] > row[1]) {
		const uint64_t first = row[0];

		row[0] = row[1];
		row[1] = first;
	}
}

static inline void
add_push(struct rng *rng, uint64_t step)
{
	struct message m = { .kind = MESSAGE_PUSH, .frames = 2 };
	const bool coded = script.last % 2;
	const struct codec *codec = coded ? &codec_bfloat16 : &codec_float32;
	const size_t part = rng_below(rng, plan.parts);
	float value[4096], sent[4096];
	struct pack keys = { 0 };
	size_t floats = 0;
	uint64_t rows[2];

	for (size_t i = 0; i < plan.part[part].count; i++) {
		const struct piece *p = &plan.piece[plan.part[part].first + i];

		draw_rows(rng, p->hashed, rows);
		if (p->table)
			keys_write(&keys, rows, 2, 0);
		floats += (p->table ? 2 : p->count) * p->width;
	}
	for (size_t i = 0; i < floats; i++)
		value[i] = fixture_random(rng);
	if (rng_below(rng, 50) == 0)
		value[0] = NAN;		/* refused by both servers */
	m.push.run = plan_run(&plan);
	m.push.term = rng_below(rng, 30) ? TERM : TERM - 1;
	m.push.plan = 1;
	m.push.part = part;
	m.push.step = step;
	m.push.examples = 1 + rng_below(rng, 4);
	m.push.coded = coded;
	codec_for(codec, codec_elements(floats))->encode(sent, value,
						codec_elements(floats));
	m.frame[0] = (struct frame){ keys.data, keys.size, NULL };
	m.frame[1] = (struct frame){ sent, codec_size(codec, floats), NULL };
	add(&m, WORKER);
	pack_release(&keys);
}

/* Writes a script: pushes, some of them twice, some of steps that are void;
   watermarks; cuts, and late pushes of steps below them. */
static inline void
write_script(struct rng *rng)
{
	uint64_t mark = 0, above = 0, cuts = 2;
	struct message m = plan_message(TERM, 0);

	add(&m, COORD);
	while (mark < STEPS) {
		const uint64_t kind = rng_below(rng, 20);

		if (kind > 2) {
			const uint64_t step = mark + rng_below(rng, 12);

			add_push(rng, step);
			above = step < above ? above : step + 1;
			continue;
		}
		m = (struct message){ .kind = MESSAGE_VOID };
		m.voided.run = plan_run(&plan);
		m.voided.term = TERM;
		m.voided.first = mark + rng_below(rng, 12);
		m.voided.count = 1;
		if (kind == 1) {
			m.kind = MESSAGE_MARK;
			m.mark.step = mark += rng_below(rng, 5);
		}
		if (kind == 2) {
			m.kind = MESSAGE_FREEZE;
			m.cut.cut = ++cuts;
			m.cut.step = above > mark ? above : mark;
		}
		add(&m, COORD);
	}
}

/* ---- delivery ---- */

static inline void
receive_script(struct side *s, uint64_t number)
{
	const struct change *c = commit_log_find(&script, number);

	side_receive(s, c->peer, &c->message);
}

/* Delivers one message from one side to the other. */
static inline bool
deliver(struct side *from, struct side *to, uint64_t as)
{
	struct change *c = commit_log_take(&from->out, UINT64_MAX);

	if (!c)
		return false;
	side_receive(to, as, &c->message);
	refcount_drop(&c->hold);
	return true;
}

static inline void
deliver_all(void)
{
	do
		server_flush(standby.server);
	while (deliver(&primary, &standby, PRIMARY) ||
	       deliver(&standby, &primary, STANDBY));
}

static inline void
begin(struct rng *rng)
{
	write_script(rng);
	heard = synced_at = 0;
	side_new(&primary, 1);
	side_new(&standby, 2);
	greet(&primary, COORD, ROLE_COORDINATOR, TERM);
	receive_script(&primary, ++heard);
	greet(&primary, WORKER, ROLE_WORKER, TERM);
}

static inline void
end(void)
{
	side_free(&primary);
	side_free(&standby);
	commit_log_release(&script);
	script = (struct commit_log){ 0 };
}

static inline void
call(void)
{
	struct fail f;

	server_follow(standby.server, "node:1", "node:2", &f);
	server_up(standby.server, PRIMARY);
}

/* The coordinator makes the standby take over. */
static inline void
promote(void)
{
	struct message m = plan_message(TERM + 1, 0);

	greet(&standby, COORD, ROLE_COORDINATOR, TERM + 1);
	m.request = CHANGES - 1;
	side_receive(&standby, COORD, &m);
	greet(&standby, WORKER, ROLE_WORKER, TERM + 1);
}

/* The coordinator is about to rely on this incarnation.  Has the server
   agreed? */
static inline bool
count_on(struct side *s, uint64_t term, uint64_t life)
{
	struct message m = { .kind = MESSAGE_STANDBY };

	m.standby.run = plan_run(&plan);
	m.standby.term = term;
	m.standby.life = life;
	s->told = false;
	side_receive(s, COORD, &m);
	return s->told && s->standby_life == life && s->standby_counted;
}

static inline void
notify_plan(struct side *s, uint64_t term, uint64_t life)
{
	struct message m = plan_message(term, life);

	m.request = CHANGES - 1;
	s->answered[m.request] = 0;
	side_receive(s, COORD, &m);
}

/* ---- comparison ---- */

static inline struct server_job
saved(struct side *s)
{
	struct message m = { .kind = MESSAGE_FREEZE };
	struct server_job job = { 0 };

	m.cut.run = plan_run(&plan);
	m.cut.term = TERM + 1;
	m.cut.cut = 2;
	m.cut.step = WIRE_NONE;
	side_receive(s, COORD, &m);
	m.kind = MESSAGE_SAVE;
	m.cut.parts = 1;
	m.blob = (struct frame){ "x", 1, NULL };
	side_receive(s, COORD, &m);
	server_job(s->server, &job);
	return job;
}

static inline bool
same_rows(const struct table *a, const struct table *b)
{
	const size_t size = table_floats(a) * sizeof(float);
	struct table_walk x = { 0 }, y = { 0 };
	bool more = table_next(a, &x), equal = more == table_next(b, &y);

	while (equal && more) {
		equal = x.key == y.key && x.update == y.update &&
			memcmp(x.row, y.row, size) == 0;
		more = table_next(a, &x);
		equal = equal && more == table_next(b, &y);
	}
	table_walk_release(&x);
	table_walk_release(&y);
	return equal;
}

static inline bool
same_array(const struct checkpoint_array *a, const struct checkpoint_array *b)
{
	if (strcmp(a->variable, b->variable) != 0 ||
	    strcmp(a->slot, b->slot) != 0 || a->updates != b->updates ||
	    a->pieces != b->pieces || !a->table != !b->table ||
	    (a->table && !same_rows(a->table, b->table)))
		return false;
	for (size_t i = 0; i < a->pieces; i++)
		if (a->piece[i].count != b->piece[i].count ||
		    memcmp(a->piece[i].data, b->piece[i].data,
			   a->piece[i].count * sizeof(float)) != 0)
			return false;
	return true;
}

/* Is the watermark the same?  Counters are not part of the state. */
static inline bool
same_mark(struct side *x, struct side *y)
{
	const char *a = server_state(x->server), *b = server_state(y->server);

	return strncmp(a, b, strcspn(a, ",")) == 0;
}

/* Have both the same values, slots, counts, and outcome of every step? */
static inline bool
same(struct side *x, struct side *y)
{
	struct server_job a = saved(x), b = saved(y);
	bool equal = a.arrays == b.arrays && a.arrays > 0 && same_mark(x, y);

	for (size_t i = 0; equal && i < a.arrays; i++)
		equal = same_array(&a.array[i], &b.array[i]);
	for (uint64_t n = 2; equal && n < 200 && n <= script.last; n++) {
		const struct change *c = commit_log_find(&script,
							 script.last + 2 - n);
		struct message m = c->message;

		if (m.kind != MESSAGE_PUSH)
			continue;
		m.push.term = TERM + 1;
		m.request = CHANGES - 2;
		x->answered[m.request] = y->answered[m.request] = 0;
		side_receive(x, WORKER, &m);
		side_receive(y, WORKER, &m);
		equal = x->answered[m.request] == y->answered[m.request] &&
			x->answered[m.request] > 0;
	}
	if (!equal)
		printf("# %s, %s\n", server_state(x->server),
		       server_state(y->server));
	return equal;
}

/* Makes a server that never had a standby, and delivers the first messages of
   the script. */
static inline void
make_reference(uint64_t count)
{
	struct message m = plan_message(TERM + 1, 0);
	struct fail why = { 0 };
	struct server_job job;

	side_new(&reference, 3);
	greet(&reference, COORD, ROLE_COORDINATOR, TERM);
	receive_script(&reference, 1);
	greet(&reference, WORKER, ROLE_WORKER, TERM);
	for (uint64_t n = 2; n <= count; n++)
		receive_script(&reference, n);
	while (server_job(reference.server, &job))
		server_saved(reference.server, &job, NULL, &why);
	side_receive(&reference, COORD, &m);
	greet(&reference, WORKER, ROLE_WORKER, TERM + 1);
}

static inline void
replay_open(void)
{
	char *endpoint[] = { (char *)(uintptr_t)"-" };
	struct place *place;
	size_t places;

	fixture_begin(&fixture, model);
	place = partition_plan(fixture.variable, fixture.variables,
			       &(struct partitioner){ .kind = PARTITION_NONE },
			       &placement_balanced, 1, &places);
	plan_make(&plan, fixture.model, place, places, endpoint, 1);
	code_all(&plan, fixture.model, &codec_bfloat16);
	/* A part for each piece. */
	plan.part = mem_resize(plan.part, plan.pieces, sizeof(*plan.part));
	for (size_t i = 0; i < plan.pieces; i++)
		plan.part[i] = (struct part){ 0, i, 1 };
	plan.parts = plan.pieces;
	memcpy(plan.run, run, PLAN_RUN);
	plan_write_model(&model_frame, &fixture.source);
	plan_write(&plan_frame, &plan);
	free(place);
}

static inline void
replay_close(void)
{
	plan_release(&plan);
	pack_release(&model_frame);
	pack_release(&plan_frame);
	fixture_end(&fixture);
}

#endif
