/*
 * The coordinator, spoken to by one server and a few members that the test
 * plays: what it says, to whom, and its lines to the letter.  Whole clusters
 * are in cluster_run.
 */
#include "coord/coord.h"

#include "coord/coord_lease.h"
#include "coord/coord_members.h"
#include "wire/result.h"

#include "model_fixture.h"
#include "samplers_of.h"
#include "tap.h"

#include <malloc.h>

/* The label of all figures. */
#define OF_RUN	"run=\"00000000000000000000000000000000\""

#define SERVER	100	/* peers */
#define A	1
#define B	2
#define EYE	3	/* an evaluator */
#define SAID	512

static const char model[] =
	"input  x float[2]\nlabel y float\n"
	"p = dense x units=1\nloss mean_squared_error p\n"
	"optimizer sgd\n";

static struct model_fixture fixture;
static struct coord *coord;
static struct coord_options options = { .grace_ms = 7000,
					.lease_ms = 10000 };
static uint64_t now, term = 1, dead, patience = 1000;

/* All that it has said since last asked. */
static struct said {
	uint64_t peer;
	struct message m;
	char blob[MESSAGE_BLOB + 1];
} said[SAID];
static size_t count;

static int
record(void *to, uint64_t peer, const struct message *m)
{
	struct said *s = &said[count % SAID];

	(void)to;
	if (peer == dead)
		return -1;
	count++;
	*s = (struct said){ .peer = peer, .m = *m };
	message_text(m, s->blob, sizeof(s->blob));
	return 0;
}

static uint64_t dials;

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to;
	(void)f;
	dials++;
	*peer = SERVER + (uint64_t)(endpoint[0] - 'a');
	return 0;
}

static void
hang_up(void *to, uint64_t peer)
{
	(void)to;
	(void)peer;
}

static struct outbox outbox = { .send = record, .dial = dial,
				.hang_up = hang_up };

/* The first thing of that kind to this peer that was not asked for yet. */
static const struct message *
heard(uint64_t peer, enum message_kind kind)
{
	for (size_t i = 0; i < count && i < SAID; i++)
		if (said[i].peer == peer && said[i].m.kind == kind) {
			said[i].peer = 0;
			return &said[i].m;
		}
	return NULL;
}

static bool
refused(uint64_t peer, const char *why)
{
	for (size_t i = 0; i < count && i < SAID; i++)
		if (said[i].peer == peer &&
		    said[i].m.kind == MESSAGE_REFUSED) {
			said[i].peer = 0;
			if (strcmp(said[i].blob, why) == 0)
				return true;
			printf("# %s\n", said[i].blob);
		}
	return false;
}

static void
tell(uint64_t peer, struct message m)
{
	coord_receive(coord, peer, &m, now);
}

/* What the server says to PLAN that it has: initial values, or this. */
static struct message has;

static struct message
standing(const struct message *plan)
{
	struct message m = has;

	m.kind = MESSAGE_OK;
	m.request = plan->request;
	m.ok.initial = has.ok.mark == 0 && has.frames == 0;
	return m;
}

/* The server does what it was asked. */
static bool
obey(enum message_kind kind)
{
	const struct message *m = heard(SERVER, kind);

	if (!m)
		return false;
	tell(SERVER, kind == MESSAGE_PLAN ? standing(m) :
	     message_answer(m, MESSAGE_OK));
	return true;
}

/* Do the lines read so?  They are taken. */
static bool
lines(struct text *out, const char *expected)
{
	const bool same = out->size == strlen(expected) &&
		memcmp(out->size ? out->data : "", expected, out->size) == 0;

	if (!same)
		printf("# %.*s\n", (int)out->size, out->size ? out->data :
		       "");
	text_reset(out);
	return same;
}

static bool
prints(const char *expected)
{
	return lines(coord_output(coord), expected);
}

static bool
warns(const char *expected)
{
	return lines(coord_warnings(coord), expected);
}

static void
ask(const char *line)
{
	static uint64_t number;

	coord_request(coord, line, strlen(line), ++number, now);
	coord_tick(coord, now);
}

static void
hello_as(uint64_t peer, enum role role, uint64_t life, uint64_t index)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.index = index;
	m.hello.life = life;
	tell(peer, m);
}

static void
hello(uint64_t peer, enum role role, uint64_t life)
{
	hello_as(peer, role, life, WIRE_NONE);
}

static void
join_worker(uint64_t peer)
{
	hello(peer, ROLE_WORKER, peer);
	tell(peer, (struct message){ .kind = MESSAGE_READY });
}

/* It has the variables of a run, or none. */
static void
welcome_with(uint64_t life, const unsigned char *run)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = life;
	m.blob = (struct frame){ run, run ? PLAN_RUN : 0, NULL };
	tell(SERVER, m);
}

static void
welcome(uint64_t life)
{
	welcome_with(life, NULL);
}

static void
begin(void)
{
	static char *endpoint[] = { (char *)"a" };
	struct fail f;

	coord_free(coord);
	now = 1000;
	count = 0;
	options.server = options.server ? options.server : endpoint;
	options.servers = 1;
	options.batch = 4;
	options.pack = 1;
	options.in_flight = 2;
	options.min_workers = 1;
	options.timeout_ms = 5000;
	options.patience_ms = patience;
	coord = coord_new(&options, &fixture.source, fixture.model, &outbox,
			  now, &f);
}

static void
begin_run(void)
{
	begin();
	coord_up(coord, SERVER, now);
	welcome(7);
	obey(MESSAGE_PLAN);
	count = 0;
}

/* A result of a step, in DONE; mixed: servers had a part of it. */
static void
done_with(uint64_t peer, uint64_t lease, uint64_t step, bool mixed)
{
	const struct result r = { .step = step, .attempt = 1, .examples = 4,
				  .staleness = 2, .microseconds = 250000,
				  .mixed = mixed, .loss = 2 };
	struct message m = { .kind = MESSAGE_DONE, .request = lease,
			     .frames = 1 };
	struct pack p = { 0 };

	result_write(&p, &r);
	m.done.term = term;
	m.done.count = 1;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	tell(peer, m);
	pack_release(&p);
}

static void
done(uint64_t peer, uint64_t lease, uint64_t step)
{
	done_with(peer, lease, step, false);
}

static void
failed_in(uint64_t peer, uint64_t lease, uint64_t step, const char *why)
{
	struct message m = { .kind = MESSAGE_FAILED, .request = lease };

	m.failed.term = term;
	m.failed.step = step;
	m.failed.status = FAIL_DATA;
	m.blob = (struct frame){ why, strlen(why), NULL };
	tell(peer, m);
}

static void
failed(uint64_t peer, uint64_t step, const char *why)
{
	failed_in(peer, 0, step, why);
}

/* Its next lease, which must be of this step, is done. */
static void
does(uint64_t peer, uint64_t step)
{
	const struct message *m = heard(peer, MESSAGE_LEASE);

	if (m && m->lease.first == step && m->lease.count == 1)
		done(peer, m->request, step);
	else
		ok(m && m->lease.first == step && m->lease.count == 1);
}

static bool
over(int status, const char *why)
{
	struct fail f;
	int is;

	if (!obey(MESSAGE_STOP))
		obey(MESSAGE_BYE);
	tell(A, (struct message){ .kind = MESSAGE_BYE });
	tell(B, (struct message){ .kind = MESSAGE_BYE });
	coord_tick(coord, now);
	return coord_over(coord, &is, &f) && is == status &&
		strcmp(f.text, why) == 0;
}

/* ---- the tests ---- */

/* Of totals whose steps met all as many pushes. */
#define STALE(most, pairs) \
	"\"staleness\":{\"p50\":" most ",\"p90\":" most ",\"p99\":" most "," \
	"\"max\":" most ",\"pairs\":[" pairs "]}," \
	"\"pushed\":0,\"pulled\":0,"

#define STEP(id, n, worker) \
	"{" id "\"op\":\"train\",\"step\":" n ",\"worker\":\"" worker "\"," \
	"\"attempt\":1,\"examples\":4,\"loss\":0.5,\"metrics\":{}," \
	"\"staleness\":2,\"seconds\":0.25}\n"

/* What it was at has ended. */
static void
stopped(uint64_t peer)
{
	ok(heard(peer, MESSAGE_CANCEL));
	tell(peer, (struct message){ .kind = MESSAGE_OK });
}

/* Who says HELLO as somebody else is no longer who it was. */
static void
other_lives(void)
{
	const struct message *m;

	begin_run();
	join_worker(A);
	ask("train");
	ok(heard(A, MESSAGE_LEASE) != NULL);
	hello(A, ROLE_EVALUATOR, 50);
	ok(warns("worker:0 is gone\n"));
	join_worker(B);
	m = heard(B, MESSAGE_LEASE);
	ok(m && m->lease.first == 0 && m->lease.attempt == 2);
	hello(3, ROLE_WORKER, A);	/* the first one, from elsewhere */
	tell(A, (struct message){ .kind = MESSAGE_CUT });
	ok(!refused(A, "say HELLO first"));

	const size_t before = mallinfo2().uordblks;

	for (uint64_t life = 100; life < 20000; life++) {
		count = 0;
		hello(A, life % 2 ? ROLE_WORKER : ROLE_EVALUATOR, life);
		text_reset(coord_warnings(coord));
	}
	ok(heard(A, MESSAGE_WELCOME) != NULL);
	named(mallinfo2().uordblks < before + ((size_t)1 << 20),
	      "nor is anything kept of it");
}

/* Workers that were here and are gone, one after the other. */
static void
many_lives(void)
{
	size_t before = 0;

	begin_run();
	ask("train 9");
	for (uint64_t life = 100; life < 8100; life++) {
		if (life == 4100)
			before = mallinfo2().uordblks;
		count = 0;
		join_worker(life);
		tell(life, (struct message){ .kind = MESSAGE_BYE });
		text_reset(coord_warnings(coord));
	}
	join_worker(A);
	does(A, 0);
	named(mallinfo2().uordblks < before + ((size_t)1 << 18),
	      "workers that come and go are not kept for ever");
}

/* A save holds all that was asked before it, whatever else is saved. */
static void
saves(void)
{
	struct message m = { .kind = MESSAGE_FREEZE };
	const struct message *s, *l;

	options.checkpoint = true;
	options.every_steps = 1;
	begin();
	coord_up(coord, SERVER, now);
	welcome(7);
	obey(MESSAGE_PLAN);
	s = heard(SERVER, MESSAGE_FREEZE);
	ok(s && s->cut.step == 1);
	m = message_answer(s ? s : &m, MESSAGE_OK);
	join_worker(A);
	ask("a");
	ask("b");
	l = heard(A, MESSAGE_LEASE);
	done(A, l ? l->request : 0, 0);
	ok(!heard(A, MESSAGE_LEASE));
	tell(SERVER, m);
	l = heard(A, MESSAGE_LEASE);
	named(l != NULL, "a step behind a cut waits until the servers know of "
	      "the cut");
	ask("save");
	done(A, l ? l->request : 0, 1);
	for (uint64_t i = 1; i <= 2; i++) {
		text_reset(coord_output(coord));
		if (i == 2)
			ok(obey(MESSAGE_FREEZE));
		s = heard(SERVER, MESSAGE_SAVE);
		ok(s && s->cut.step == i && s->cut.part == 0);
		m = message_answer(s ? s : &m, MESSAGE_SAVED);
		m.saved.size = 10 * i;
		m.blob = (struct frame){ "ab", 2, NULL };
		tell(SERVER, m);
		ok(coord_job(coord) && coord_job(coord)->info.step == i &&
		   coord_job(coord)->part[0].size == 10 * i);
		coord_published(coord, NULL, now);
	}
	ok(prints("{\"op\":\"save\",\"step\":2,\"checkpoint\":"
		  "\"ckpt-00000002\"}\n"));
	ask("save");
	named(prints("{\"op\":\"save\",\"step\":2,\"checkpoint\":"
		     "\"ckpt-00000002\"}\n"), "what is saved is saved");
	coord_end_of_requests(coord, now);
	ok(!coord_job(coord) && obey(MESSAGE_FREEZE));
	ok(heard(SERVER, MESSAGE_THAW) != NULL);
	ok(coord_job(coord) && coord_job(coord)->again &&
	   coord_job(coord)->info.final);
	coord_published(coord, NULL, now);
	ok(over(0, ""));
	options.checkpoint = false;
	options.every_steps = 0;
}

/* ---- one that is started again ---- */

#define KEPT	256

static struct kept {
	uint32_t kind;
	size_t size;
	void *bytes;
} kept[KEPT];
static size_t keeps;
static uint64_t written;
static bool full;	/* there is no room for what is to be kept */

static int
keep(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
     struct fail *f)
{
	(void)to;
	(void)safe;
	if (keeps == KEPT || full)
		return fail(f, FAIL_IO, "no room");
	kept[keeps++] = (struct kept){ kind, size, mem_copy(bytes, size) };
	return 0;
}

static void
forget_kept(void)
{
	while (keeps > 0)
		free(kept[--keeps].bytes);
}

/* It has read what was kept, and has not found its server yet. */
static void
start_again(void)
{
	static const struct journal journal = { .add = keep };
	struct fail f;
	uint64_t line;

	options.journal = &journal;
	begin();
	for (size_t i = 0; i < keeps; i++)
		if (coord_replay(coord, kept[i].kind, kept[i].bytes,
				 kept[i].size, &f) < 0)
			printf("# record %zu: %s\n", i, f.text);
	coord_start(coord, &line, &written, &f);
	text_reset(coord_warnings(coord));
}

static void
go_on(const unsigned char *run)
{
	start_again();
	coord_up(coord, SERVER, now);
	welcome_with(7, run);
	obey(MESSAGE_PLAN);
	term = coord_term(coord);
}

static void
begin_again(void)
{
	go_on(NULL);
}

/* One with a journal, which is empty. */
static void
begin_kept(void)
{
	forget_kept();
	begin_again();
}

/* The results are written: do they read so? */
static bool
writes(const char *expected)
{
	written += coord_output(coord)->size;

	const bool same = prints(expected);

	coord_note(coord, written, true, now);
	return same;
}

static void
end_kept(void)
{
	forget_kept();
	options.journal = NULL;
	term = 1;
}

/* While the servers are waited for nothing goes into the journal. */
static void
many_lines(void)
{
	const size_t size = (size_t)1 << 20;
	char *line = mem_alloc(1, size + 1);
	size_t taken = 0;

	memset(line, '#', size);
	forget_kept();
	begin_again();
	coord_down(coord, SERVER, now);
	for (; taken < 100 && coord_wants(coord); taken++)
		coord_request(coord, line, strlen(line), taken + 1, now);
	named(taken == 16, "lines are read as far as they can be kept");
	free(line);
	coord_up(coord, SERVER, now);
	welcome(7);
	obey(MESSAGE_PLAN);
	ok(coord_wants(coord));
	end_kept();
}

/* A line is kept with all that is in it. */
static void
hidden(void)
{
	begin_kept();
	coord_request(coord, "train 5\0x", 9, 1, now);
	coord_tick(coord, now);
	text_reset(coord_output(coord));
	begin_again();
	coord_tick(coord, now);
	named(prints("{\"op\":\"request\",\"error\":\"request 1: a line with "
		     "a NUL in it is not a request\"}\n"),
	      "what is behind a NUL is not a request after a new start, "
	      "either");
	end_kept();
}

#define BAD_STEP(id) "{" id "\"op\":\"train\",\"step\":0,\"worker\":" \
	"\"worker:0\",\"error\":\"bad\"}\n"

static void
an_old_error(void)
{
	options.keep_going = true;
	begin_kept();
	join_worker(A);
	ask("train");
	ask("join");
	failed(A, 0, "bad");
	stopped(A);
	obey(MESSAGE_VOID);
	ok(writes(BAD_STEP("") "{\"op\":\"join\",\"step\":1,\"steps\":0,"
		  "\"examples\":0,\"loss\":null,\"metrics\":{},"
		  "\"seconds\":0,\"error\":\"bad\"}\n"));
	ask("join");
	text_reset(coord_output(coord));
	begin_again();
	coord_tick(coord, now);
	named(prints("{\"op\":\"join\",\"step\":1,\"steps\":0,"
		     "\"examples\":0,\"loss\":null,\"metrics\":{},"
		     "\"seconds\":0}\n"),
	      "an error is told by one join, though it is started again");
	options.keep_going = false;
	end_kept();
}

/* A checkpoint is made, and what was kept before it is dropped. */
static void
an_old_error_folded(void)
{
	size_t fold = 0;

	options.keep_going = options.checkpoint = true;
	begin_kept();
	join_worker(A);
	ask("train");
	failed(A, 0, "bad");
	stopped(A);
	obey(MESSAGE_VOID);
	ok(writes(BAD_STEP("")));
	ask("save");
	ask("join");
	while (fold < keeps && (kept[fold].kind != JOURNAL_FOLD ||
				kept[fold].size == 0))
		free(kept[fold++].bytes);
	memmove(kept, kept + fold, (keeps - fold) * sizeof(*kept));
	keeps -= fold;
	named(keeps > 0, "what an error has left behind can be folded");
	has.ok.mark = 1;
	go_on(options.run);
	has.ok.mark = 0;
	coord_tick(coord, now);
	named(prints("{\"op\":\"save\",\"step\":1,\"checkpoint\":"
		     "\"ckpt-00000001\"}\n{\"op\":\"join\",\"step\":1,"
		     "\"steps\":0,\"examples\":0,\"loss\":null,"
		     "\"metrics\":{},\"seconds\":0,\"error\":\"bad\"}\n"),
	      "and the next join tells of it, still");
	options.keep_going = options.checkpoint = false;
	end_kept();
}

/* As a program that has FOLDED drops it; did anything come before? */
static bool
drop_folded(void)
{
	size_t at = keeps;

	while (at > 0 && kept[at - 1].kind != JOURNAL_FOLDED)
		at--;
	while (at > 0 && kept[at - 1].kind != JOURNAL_FOLD)
		at--;
	if (at < 2 || kept[at - 1].size == 0)
		return false;
	for (size_t i = 0; i < at - 1; i++)
		free(kept[i].bytes);
	keeps -= at - 1;
	memmove(kept, kept + at - 1, keeps * sizeof(*kept));
	return true;
}

#define FOLDED_STEPS	40

/* Without checkpoints all steps may have to be run again, as they were. */
static void
folded_without_checkpoints(void)
{
	const struct message *m;
	size_t good = 0;
	char line[32];

	options.keep_going = true;
	options.fold_bytes = 1;
	begin_kept();
	join_worker(A);
	ask("train");
	failed(A, 0, "bad");
	stopped(A);
	obey(MESSAGE_VOID);
	ok(writes(BAD_STEP("")));
	for (uint64_t i = 1; i < FOLDED_STEPS; i++) {
		count = 0;
		snprintf(line, sizeof(line), "train 1 batch=%d",
			 i < 20 ? 2 : 3);
		ask(line);
		does(A, i);
		written += coord_output(coord)->size;
		text_reset(coord_output(coord));
		coord_note(coord, written, true, now);
	}
	named(drop_folded() && keeps < FOLDED_STEPS,
	      "a journal without checkpoints is folded");
	count = 0;
	begin_again();
	join_worker(A);
	for (uint64_t i = 1; i < FOLDED_STEPS; i++) {
		m = heard(A, MESSAGE_LEASE);
		good += m && m->lease.first == i && m->lease.server == 0 &&
			m->lease.batch == (i < 20 ? 2 : 3);
		done(A, m ? m->request : 0, i);
	}
	named(good == FOLDED_STEPS - 1,
	      "and what a lost server had is run again, as it was asked");
	ask("train");
	m = heard(A, MESSAGE_LEASE);
	named(m && m->lease.first == FOLDED_STEPS &&
	      m->lease.server == WIRE_NONE, "then comes the next step");
	options.keep_going = false;
	options.fold_bytes = 0;
	end_kept();
}

static void
a_long_id(void)
{
	char id[700], line[800], expected[1000];

	memset(id, 'i', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	snprintf(line, sizeof(line), "{\"id\":\"%s\"}", id);
	snprintf(expected, sizeof(expected), BAD_STEP("\"id\":\"%s\","), id);
	begin_kept();
	join_worker(A);
	ask(line);
	failed(A, 0, "bad");
	stopped(A);
	ok(heard(SERVER, MESSAGE_VOID) != NULL);
	begin_again();
	named(prints(expected), "a step that failed before it was started "
	      "again has its id, however long");
	end_kept();
}

/* How long it has taken counts on, though it is started again. */
static void
seconds(void)
{
	begin_kept();
	now += 250;	/* nothing to note has happened until it is killed */
	begin_again();
	now += 250;
	ask("join");
	named(prints("{\"op\":\"join\",\"step\":0,\"steps\":0,"
		     "\"examples\":0,\"loss\":null,\"metrics\":{},"
		     "\"seconds\":0.25}\n"),
	      "who was killed before a step was done began then, not long ago");

	options.checkpoint = true;
	begin_kept();
	join_worker(A);
	ask("train");
	now += 2000;
	does(A, 0);
	ok(writes(STEP("", "0", "worker:0")));
	has.ok.mark = 1;
	go_on(options.run);
	has.ok.mark = 0;
	now += 500;
	ask("save");
	obey(MESSAGE_FREEZE);

	const struct message *save = heard(SERVER, MESSAGE_SAVE);

	ok(save != NULL);
	if (save)
		tell(SERVER, message_answer(save, MESSAGE_SAVED));
	named(coord_job(coord) && coord_job(coord)->info.seconds >= 2.5 &&
	      coord_job(coord)->info.seconds < 2.6,
	      "a checkpoint says how long the whole run has trained");
	end_kept();
	options.checkpoint = false;
}

/* Started again, as there is nothing left to do: who is there then? */
static void
met_again(void)
{
	/* Who was not told is, at once. */
	start_again();
	coord_end_of_requests(coord, now);
	coord_up(coord, SERVER, now);
	welcome_with(7, options.run);
	ok(heard(SERVER, MESSAGE_STOP) && !heard(SERVER, MESSAGE_PLAN));

	/* Somebody else's is not. */
	start_again();
	coord_up(coord, SERVER, now);
	welcome(8);
	coord_end_of_requests(coord, now);
	const struct message *plan = heard(SERVER, MESSAGE_PLAN);

	ok(plan != NULL);
	if (plan)
		tell(SERVER, message_refuse(plan, FAIL_AGAIN, "busy"));
	ok(heard(SERVER, MESSAGE_BYE) && !heard(SERVER, MESSAGE_STOP));
	now += 5000;
	ok(over(0, ""));

	/* Nor has a new one in its place to do all of it again. */
	start_again();
	coord_end_of_requests(coord, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	ok(heard(SERVER, MESSAGE_BYE) && !heard(SERVER, MESSAGE_STOP) &&
	   !heard(SERVER, MESSAGE_PLAN));
	now += 5000;
	ok(over(0, "") && prints(""));
}

/* Killed while it told everybody to stop: who has gone is not waited for. */
static void
ended(void)
{
	begin_kept();
	join_worker(A);
	ask("train");
	does(A, 0);
	coord_end_of_requests(coord, now);
	named(!heard(SERVER, MESSAGE_STOP), "nobody is told to stop before it "
	      "is kept that there is nothing left to do");
	ok(writes(STEP("", "0", "worker:0")) && heard(SERVER, MESSAGE_STOP));
	options.timeout_ms = 60000;
	start_again();
	coord_tick(coord, now);
	coord_end_of_requests(coord, now);
	now += 4999;
	coord_tick(coord, now);
	ok(!over(0, ""));
	now += 1;
	coord_tick(coord, now);
	now += 5000;	/* for workers */
	ok(over(0, "") && prints(""));
	text_reset(coord_warnings(coord));
	full = true;
	coord_finish(coord, written, now);
	full = false;
	ok(warns("the journal of this run, which is over, is left behind: no "
		 "room\n"));
	met_again();
	end_kept();
}

/* Why its status is what it is whoever goes on with the run tells, too. */
static void
kept_going(void)
{
	static const char why[] = "request 1: train '0': not a number of "
				  "steps";

	options.keep_going = true;
	begin_kept();
	coord_request(coord, "train 0", 7, 1, now);
	coord_end_of_requests(coord, now);
	ok(writes("{\"op\":\"request\",\"error\":\"request 1: train '0': "
		  "not a number of steps\"}\n"));
	start_again();
	coord_end_of_requests(coord, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	now += 5000;
	ok(over(FAIL_DATA, why));
	options.keep_going = false;
	end_kept();
}

/* What is behind an error was cancelled, and stays so. */
static void
ending(void)
{
	begin_kept();
	join_worker(A);
	ask("train");
	ask("join");
	ask("{\"id\":\"more\",\"op\":\"train\",\"steps\":7}");
	ask("join");
	failed(A, 0, "bad");
	stopped(A);
	obey(MESSAGE_VOID);
	ok(writes(BAD_STEP("") "{\"op\":\"join\",\"cancelled\":true}\n"
		  "{\"id\":\"more\",\"op\":\"train\",\"steps\":7,"
		  "\"cancelled\":true}\n"
		  "{\"op\":\"join\",\"cancelled\":true}\n"));
	begin_again();
	named(!coord_wants(coord), "a run that was ending takes no requests");
	join_worker(A);
	named(!heard(A, MESSAGE_LEASE) && prints(""),
	      "and what it has cancelled is not begun");
	ok(over(FAIL_DATA, "bad"));
	begin_kept();
	ask("train 3");
	full = true;
	begin_again();
	full = false;
	named(over(FAIL_IO, "no room"), "that it could keep nothing of it is "
	      "an error of its own");

	/* Asked to stop, too; and as long as it has not been told, it goes
	   on. */
	begin_kept();
	join_worker(A);
	ask("train 3");
	ask("join");
	coord_stop(coord, now);
	begin_again();
	ok(coord_wants(coord));
	join_worker(A);
	ok(heard(A, MESSAGE_LEASE) != NULL);
	coord_stop(coord, now);
	stopped(A);
	obey(MESSAGE_VOID);
	ok(writes("{\"op\":\"train\",\"steps\":3,\"cancelled\":true}\n"
		  "{\"op\":\"join\",\"cancelled\":true}\n"));
	begin_again();
	join_worker(A);
	ok(!coord_wants(coord) && prints("") && over(0, ""));
	end_kept();
}

/* B keeps two steps of a cut, and A goes on: what is saved is of the cut. */
static void
open_cuts(void)
{
	struct message m = { .kind = MESSAGE_FREEZE };
	const struct message *s;

	options.checkpoint = true;
	options.every_steps = 4;
	begin();
	coord_up(coord, SERVER, now);
	welcome(7);
	obey(MESSAGE_PLAN);
	s = heard(SERVER, MESSAGE_FREEZE);
	ok(s && s->cut.step == 4);
	m = message_answer(s ? s : &m, MESSAGE_OK);
	tell(SERVER, m);
	join_worker(B);
	ask("train 40");
	join_worker(A);
	for (uint64_t step = 2; step < 8; step++)
		does(A, step);
	named(!heard(SERVER, MESSAGE_SAVE) && !heard(A, MESSAGE_LEASE),
	      "nobody waits for a cut, but for the one behind it");
	hello(EYE, ROLE_EVALUATOR, 9);
	tell(EYE, (struct message){ .kind = MESSAGE_CUT, .request = 41 });
	ok(!heard(EYE, MESSAGE_CUT));
	dead = B;
	coord_somebody_left(coord, now);
	dead = 0;
	does(A, 0);
	does(A, 1);
	s = heard(SERVER, MESSAGE_SAVE);
	ok(s && s->cut.step == 4);
	m = message_answer(s ? s : &m, MESSAGE_SAVED);
	m.blob = (struct frame){ "ab", 2, NULL };
	now += 250;
	coord_tick(coord, now);
	s = heard(EYE, MESSAGE_CUT);
	named(s && s->request == 41 && s->cut.cut == WIRE_NONE,
	      "an evaluator is told that a checkpoint is written first");
	tell(SERVER, m);
	named(coord_job(coord) && coord_job(coord)->info.step == 4 &&
	      coord_job(coord)->info.examples == 16,
	      "the examples are those of the cut");
	count = 0;
	coord_published(coord, NULL, now);
	named(obey(MESSAGE_FREEZE) && (s = heard(EYE, MESSAGE_CUT)) &&
	      s->cut.step == 8, "then it is the evaluator's turn");
	s = heard(SERVER, MESSAGE_FREEZE);
	named(s && s->cut.step == 8, "and the next multiple's");
	m = message_answer(s ? s : &m, MESSAGE_OK);
	tell(SERVER, m);
	s = heard(SERVER, MESSAGE_SAVE);
	ok(s && s->cut.step == 8);
	does(A, 8);
	does(A, 9);
	named(!heard(EYE, MESSAGE_REFUSED), "which is saved in its turn");
	options.checkpoint = false;
	options.every_steps = 0;
}

/* A cut that lies ahead makes room for one that is wanted now. */
static void
called_off(void)
{
	const struct message *s;
	uint64_t ahead;

	options.checkpoint = true;
	options.every_steps = 100;
	begin();
	coord_up(coord, SERVER, now);
	welcome(7);
	obey(MESSAGE_PLAN);
	s = heard(SERVER, MESSAGE_FREEZE);
	ok(s && s->cut.step == 100);
	ahead = s ? s->cut.cut : 0;
	if (s)
		tell(SERVER, message_answer(s, MESSAGE_OK));
	join_worker(A);
	ask("a");
	ask("save");
	does(A, 0);
	s = heard(SERVER, MESSAGE_THAW);
	ok(s && s->cut.cut == ahead && !s->cut.published);
	s = heard(SERVER, MESSAGE_FREEZE);
	ok(s && s->cut.step == 1 && s->cut.cut != ahead);
	if (s)
		tell(SERVER, message_refuse(s, FAIL_AGAIN, "steps up to 4 are "
					    "applied"));
	text_reset(coord_output(coord));
	named(warns("no checkpoint of step 1: server 0 (a): steps up to 4 are "
		    "applied\n"), "no cut is made without a step that it has");
	s = heard(SERVER, MESSAGE_FREEZE);
	named(s && s->cut.step == 100, "and comes back behind it");
	options.checkpoint = false;
	options.every_steps = 0;
}

static void
servers(void)
{
	struct message m = { .kind = MESSAGE_HELLO, .frames = 1 };
	static char *unknown[] = { NULL };
	char **const known = options.server;

	begin_run();
	coord_down(coord, SERVER, now);
	now += 250;
	coord_tick(coord, now);
	ok(warns("server 0 (a) is gone: waiting 1 s for it\n"));
	now += 749;
	coord_tick(coord, now);
	now += 1;
	coord_tick(coord, now);
	ok(over(FAIL_PEER, "server 0 (a) is gone, last heard 1.0 s ago"));

	begin();
	now += 5000;
	coord_tick(coord, now);
	ok(over(FAIL_PEER, "server 0 (a) does not answer within 5 s: is it "
		"running?"));

	options.server = unknown;
	begin();
	m.hello.version = WIRE_VERSION;
	m.hello.role = ROLE_SERVER;
	m.hello.index = 1;
	m.frame[0] = (struct frame){ "a", 1, NULL };
	tell(B, m);
	ok(refused(B, "no server 1 in this run: it has 1"));
	m.hello.index = 0;
	tell(B, m);
	ok(heard(B, MESSAGE_OK));
	coord_up(coord, SERVER, now);
	welcome(7);
	ok(obey(MESSAGE_PLAN));
	ask("join");
	named(coord_output(coord)->size > 0, "a server says where it is");
	options.server = known;
}

/* What a server without variables lacks is run again, for it alone. */
static void
a_lost_server(void)
{
	const struct message *m;
	uint64_t lease;

	begin_run();
	join_worker(A);
	ask("train 3");
	for (uint64_t i = 0; i < 2; i++) {
		m = heard(A, MESSAGE_LEASE);
		done(A, m ? m->request : 0, i);
	}
	text_reset(coord_output(coord));
	heard(A, MESSAGE_LEASE);
	heard(A, MESSAGE_PLAN);
	coord_down(coord, SERVER, now);
	now += 500;
	coord_up(coord, SERVER, now);
	welcome(8);
	m = heard(SERVER, MESSAGE_PLAN);
	ok(m && m->plan.term == 2 && m->plan.step == 0);
	named(!heard(A, MESSAGE_PLAN), "the servers come first");
	done(A, 3, 2);
	named(prints(""), "what was done in an earlier term does not count");
	if (m)
		tell(SERVER, standing(m));
	ok(warns("server 0 (a) is back after 0.5 s without its variables: "
		 "initial values, 2 steps are run again\n"));
	m = heard(A, MESSAGE_PLAN);
	ok(m && m->plan.term == 2);
	count = 0;
	tell(A, (struct message){ .kind = MESSAGE_READY });
	term = 2;
	for (uint64_t i = 0; i < 2; i++) {
		m = heard(A, MESSAGE_LEASE);
		ok(m && m->lease.first == i && m->lease.server == 0 &&
		   m->lease.term == 2);
		lease = m ? m->request : 0;
		done(A, lease, i);
	}
	ok(prints(""));
	m = heard(A, MESSAGE_LEASE);
	ok(m && m->lease.first == 2 && m->lease.server == WIRE_NONE &&
	   m->lease.attempt == 2);
	done(A, m ? m->request : 0, 2);
	ok(coord_output(coord)->size > 0);
	term = 1;
}

/* What is being published may be what a lost server is to load. */
static void
lost_meanwhile(void)
{
	struct message m = { .kind = MESSAGE_SAVE };
	const struct message *s;

	options.checkpoint = true;
	begin_run();
	join_worker(A);
	ask("a");
	does(A, 0);
	ask("save");
	ok(obey(MESSAGE_FREEZE));
	s = heard(SERVER, MESSAGE_SAVE);
	m = message_answer(s ? s : &m, MESSAGE_SAVED);
	m.blob = (struct frame){ "ab", 2, NULL };
	tell(SERVER, m);
	ok(coord_job(coord) != NULL);
	coord_down(coord, SERVER, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	named(!heard(SERVER, MESSAGE_PLAN), "that is waited for");
	coord_published(coord, NULL, now);
	named(!heard(SERVER, MESSAGE_THAW), "nobody holds its cut any more");
	s = heard(SERVER, MESSAGE_PLAN);
	ok(s && s->plan.term == 2 && s->plan.step == 1);
	if (s)
		tell(SERVER, standing(s));
	ok(heard(SERVER, MESSAGE_LOAD) != NULL);
	options.checkpoint = false;
}

/* Steps of a request are given to five who die of the first. */
static void
kill_five(void)
{
	for (uint64_t i = 0; i < 7; i++) {
		hello(A, ROLE_WORKER, 50 + i);
		tell(A, (struct message){ .kind = MESSAGE_READY });
		count = 0;
		if (i < 2) {	/* it leaves, which is no death */
			tell(A, (struct message){ .kind = MESSAGE_BYE });
			continue;
		}
		dead = A;
		coord_somebody_left(coord, now);
		dead = 0;
	}
	text_reset(coord_warnings(coord));
}

/* A step that kills whoever runs it is quarantined, and the run goes on. */
static void
a_deadly_step(void)
{
	static const char aside[] = "{\"id\":7,\"op\":\"train\",\"step\":0,"
		"\"worker\":\"worker:6\",\"error\":\"quarantined: 5 workers "
		"died under it\"}\n";
	const struct message *m;

	begin_run();
	ask("{\"id\":7,\"steps\":3}");
	kill_five();
	m = heard(SERVER, MESSAGE_VOID);
	ok(m && m->voided.first == 0 && m->voided.count == 1);
	if (m)
		tell(SERVER, message_answer(m, MESSAGE_OK));
	ok(prints(aside));
	hello(A, ROLE_WORKER, 99);
	tell(A, (struct message){ .kind = MESSAGE_READY });
	for (uint64_t i = 1; i < 3; i++) {
		m = heard(A, MESSAGE_LEASE);
		ok(m && m->lease.first == i);
		done(A, m ? m->request : 0, i);
	}
	coord_end_of_requests(coord, now);
	ok(over(FAIL_DATA, "step 0: quarantined: 5 workers died under it"));

	begin_kept();
	ask("{\"id\":7,\"steps\":3}");
	kill_five();
	begin_again();
	named(prints(aside), "so it is by whoever goes on with the run");
	end_kept();
}

static void
quiet(void)
{
	const struct message *m;

	options.results = RESULTS_ERRORS;
	begin_run();
	join_worker(A);
	ask("a");
	m = heard(A, MESSAGE_LEASE);
	done(A, m ? m->request : 0, 0);
	ok(prints(""));
	ask("b");
	failed(A, 1, "bad");
	stopped(A);
	obey(MESSAGE_VOID);
	ok(coord_output(coord)->size > 0);
	options.results = RESULTS_NONE;
	begin_run();
	ask("trian 5");
	ok(prints(""));
	options.results = RESULTS_ALL;
}

/* Nobody takes its results: it goes on with those it has begun only. */
static void
unread(void)
{
	struct text *out;
	uint64_t lease[2], step = 0;

	begin_run();
	join_worker(A);
	ask("train 20000");
	out = coord_output(coord);
	for (const struct message *m;
	     step < 20000 && (m = heard(A, MESSAGE_LEASE)); step++) {
		lease[step % 2] = m->request;
		if (step == 0)
			continue;
		count = 0;
		done(A, lease[(step - 1) % 2], step - 1);
	}
	done(A, lease[(step - 1) % 2], step - 1);
	coord_tick(coord, now);
	named(out->size > 1000000 && out->size < 1100000 &&
	      !heard(A, MESSAGE_LEASE) && !coord_wants(coord),
	      "no step is begun while nobody takes the results");
	tell(A, (struct message){ .kind = MESSAGE_PING });
	ok(heard(A, MESSAGE_PONG) != NULL);
	text_reset(out);
	coord_tick(coord, now);
	named(heard(A, MESSAGE_LEASE) && coord_wants(coord),
	      "it goes on when somebody does");
}

/* ---- data of its own ---- */

static void
make_sampler(uint64_t unit)
{
	const struct sampler_options o = { .batch = 4, .unit = unit };
	struct splits s = { .files = 1, .count = 2 };

	s.file = mem_alloc(1, sizeof(*s.file));
	s.split = mem_alloc(2, sizeof(*s.split));
	s.file[0].name = mem_text("a.svm");
	s.split[0] = (struct split){ 0, 0, 50 };
	s.split[1] = (struct split){ 0, 50, 90 };
	samplers_free(options.samplers);
	options.samplers = samplers_of(sampler_new(&o, &s), 0);
	options.pack = unit;
}

/* It counted so many: the first begins at this byte. */
static void
indexed(uint64_t peer, uint64_t request, uint64_t records, uint64_t place)
{
	struct message m = { .kind = MESSAGE_INDEXED, .request = request,
			     .frames = 1 };
	struct pack p = { 0 };

	pack_array(&p, records > 0 && records != WIRE_NONE);
	if (p.size > 0 && records > 0 && records != WIRE_NONE)
		pack_uint(&p, place);
	m.indexed.records = records;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	tell(peer, m);
	pack_release(&p);
}

/* Of a lease's first slice, which is of the data set without a name. */
static uint64_t
slice_from(const struct message *m)
{
	struct unpack u = unpack_from(m->frame[0].data, m->frame[0].size);

	return unpack_uint(&u) == 0 ? unpack_uint(&u) : WIRE_NONE;
}

#define DATA_STEP(n, worker) \
	"{\"op\":\"train\",\"step\":" n ",\"epoch\":0,\"worker\":\"" \
	worker "\",\"attempt\":1,\"examples\":4,\"loss\":0.5," \
	"\"metrics\":{},\"staleness\":2,\"seconds\":0.25}\n"

static void
counting(void)
{
	const struct message *m;
	uint64_t a, b;

	make_sampler(1);
	begin_run();
	join_worker(A);
	m = heard(A, MESSAGE_PLAN);
	named(m && m->frames == 3, "that there are data is part of the plan");
	named(!heard(A, MESSAGE_INDEX), "nothing is counted in vain");
	ask("epoch");
	m = heard(A, MESSAGE_INDEX);
	ok(m && m->frames == 1 && !heard(A, MESSAGE_INDEX));
	a = m ? m->request : 0;
	join_worker(B);
	m = heard(B, MESSAGE_INDEX);
	ok(m != NULL);
	b = m ? m->request : 0;
	tell(B, (struct message){ .kind = MESSAGE_BYE });
	indexed(A, a, 3, 0);
	m = heard(A, MESSAGE_INDEX);
	named(m != NULL, "what one leaves undone another one counts");
	indexed(B, b, 7, 50);
	ok(!heard(A, MESSAGE_LEASE));
	b = m ? m->request : 0;
	indexed(A, b, WIRE_NONE, 0);
	m = heard(A, MESSAGE_INDEX);
	named(m && !heard(A, MESSAGE_LEASE), "a file may have to be whole");
	indexed(A, b, 7, 50);
	indexed(A, m ? m->request : 0, 8, 0);
	m = heard(A, MESSAGE_LEASE);
	ok(m && m->frames == 2 && slice_from(m) == 0 && m->lease.batch == 4);
	a = m ? m->request : 0;
	m = heard(A, MESSAGE_LEASE);
	named(m && slice_from(m) == 0 && m->frames == 1, "a block is a batch");
	now = 3000;
	done(A, a, 0);
	ok(prints(DATA_STEP("0", "worker:0")));
	done(A, m ? m->request : 0, 1);
	ok(prints(DATA_STEP("1", "worker:0")
		  "{\"op\":\"epoch\",\"epoch\":0,\"step\":2,\"steps\":2,"
		  "\"examples\":8,\"loss\":0.5,\"metrics\":{},"
		  STALE("2", "[2,2]")
		  "\"seconds\":2,\"records\":8}\n"));
}

/* An epoch of 16 records in two splits, which A counts: of four steps. */
static void
ask_epoch(void)
{
	const struct message *m;

	ask("epoch");
	m = heard(A, MESSAGE_INDEX);
	indexed(A, m ? m->request : 0, 9, 0);
	m = heard(A, MESSAGE_INDEX);
	indexed(A, m ? m->request : 0, 7, 60);
}

static void
missed(void)
{
	const struct message *m;

	make_sampler(1);
	options.keep_going = true;
	begin_run();
	join_worker(A);
	ask_epoch();
	m = heard(A, MESSAGE_LEASE);
	const uint64_t first = m ? m->request : 0;

	ok(heard(A, MESSAGE_LEASE) != NULL);
	done(A, first, 0);
	ok(heard(A, MESSAGE_LEASE) != NULL);
	coord_output(coord)->size = 0;
	failed(A, 1, "a.svm:5: bad");
	stopped(A);
	obey(MESSAGE_VOID);
	ok(prints("{\"op\":\"train\",\"step\":1,\"worker\":\"worker:0\","
		  "\"error\":\"a.svm:5: bad\"}\n"
		  "{\"op\":\"epoch\",\"steps\":2,\"cancelled\":true}\n"));
	ask("epoch");
	m = heard(A, MESSAGE_LEASE);
	named(m && m->lease.first == 4, "a number is never used again");
	now = 2500;
	done(A, m ? m->request : 0, 4);
	m = heard(A, MESSAGE_LEASE);
	named(m && m->lease.first == 5, "what was not begun another one reads");
	done(A, m ? m->request : 0, 5);
	ok(prints(DATA_STEP("4", "worker:0") DATA_STEP("5", "worker:0")
		  "{\"op\":\"epoch\",\"epoch\":0,\"step\":6,\"steps\":3,"
		  "\"examples\":12,\"loss\":0.5,\"metrics\":{},"
		  STALE("2", "[2,3]")
		  "\"seconds\":1.5,\"records\":16,\"missed\":4}\n"));
	ask("train 2 batch=3");
	ok(strstr(coord_output(coord)->data, "batch=3: with data of ps-coord "
		  "(-d) all steps are of one size, --batch"));
	options.keep_going = false;
}

/*
 * A server is lost when a step has failed and while it is told: the new term
 * tells it.  What nobody had begun is read, here or by whoever goes on.
 */
static void
lost_between(void)
{
	const struct message *m;

	make_sampler(1);
	options.keep_going = true;
	begin_kept();
	join_worker(A);
	ask_epoch();
	m = heard(A, MESSAGE_LEASE);
	done(A, m ? m->request : 0, 0);
	failed(A, 1, "bad");
	ok(!heard(SERVER, MESSAGE_VOID));
	stopped(A);
	named(!heard(SERVER, MESSAGE_VOID) &&
	      writes(DATA_STEP("0", "worker:0")) &&
	      heard(SERVER, MESSAGE_VOID) != NULL,
	      "nothing is void before what has ended is in the journal");
	coord_down(coord, SERVER, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	ok(obey(MESSAGE_PLAN));
	ok(writes("{\"op\":\"train\",\"step\":1,\"worker\":\"worker:0\","
		  "\"error\":\"bad\"}\n"
		  "{\"op\":\"epoch\",\"steps\":2,\"cancelled\":true}\n"));
	ask("epoch");

	make_sampler(1);
	begin_again();
	join_worker(B);
	does(B, 0);	/* again, for the server */
	does(B, 4);
	does(B, 5);
	ok(writes(DATA_STEP("4", "worker:0") DATA_STEP("5", "worker:0")
		  "{\"op\":\"epoch\",\"epoch\":0,\"step\":6,\"steps\":3,"
		  "\"examples\":12,\"loss\":0.5,\"metrics\":{},"
		  STALE("2", "[2,3]")
		  "\"seconds\":0,\"records\":16,\"missed\":4}\n"));
	options.keep_going = false;
	end_kept();
}

/*
 * It is lost before that is decided: what the term before had given out may be
 * on some server, and is done before anything is given up.
 */
static void
lost_before(void)
{
	make_sampler(1);
	options.keep_going = true;
	begin_run();
	join_worker(A);
	ask_epoch();
	does(A, 0);
	failed(A, 1, "bad");
	ok(heard(A, MESSAGE_CANCEL) && !heard(SERVER, MESSAGE_VOID));
	coord_down(coord, SERVER, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	term = 2;
	ok(obey(MESSAGE_PLAN));
	named(prints(DATA_STEP("0", "worker:0")),
	      "a new term gives up nothing by itself");
	while (heard(A, MESSAGE_LEASE))
		;	/* of the term before */
	tell(A, (struct message){ .kind = MESSAGE_READY });
	stopped(A);
	does(A, 0);	/* again, for the server */
	ok(!heard(SERVER, MESSAGE_VOID));
	does(A, 2);
	named(obey(MESSAGE_VOID), "what may have been pushed is done first");
	ok(prints(DATA_STEP("2", "worker:0")
		  "{\"op\":\"train\",\"step\":1,\"worker\":\"worker:0\","
		  "\"error\":\"bad\"}\n"
		  "{\"op\":\"epoch\",\"steps\":1,\"cancelled\":true}\n"));
	options.keep_going = false;
	term = 1;
}

/*
 * Into how many streams an epoch is cut was lost with the journal's end.  A
 * server that has a step of it shows that: cut anew it would be of other
 * records.
 */
static void
an_epoch_that_the_journal_lost(void)
{
	static const unsigned char steps[] = { 3 };	/* 0 and 1 */

	make_sampler(1);
	begin_kept();
	join_worker(A);
	ask_epoch();
	ok(heard(A, MESSAGE_LEASE) && heard(A, MESSAGE_LEASE));
	while (keeps > 0 && kept[keeps - 1].kind != JOURNAL_STREAMS)
		free(kept[--keeps].bytes);
	ok(keeps > 0);
	free(kept[--keeps].bytes);
	has.ok.above = 2;
	has.frame[0] = (struct frame){ steps, sizeof(steps), NULL };
	has.frames = 1;
	make_sampler(1);
	go_on(options.run);
	join_worker(A);
	join_worker(B);
	ok(!heard(A, MESSAGE_LEASE) && !heard(B, MESSAGE_LEASE));
	ok(over(FAIL_DATA, "a server has step 0, of an epoch of which this "
		"run's journal does not know: it was cut short, or is an "
		"older one. Put the right one in its place, or remove it to "
		"begin anew"));
	has = (struct message){ 0 };
	end_kept();
}

static void
no_data(void)
{
	const struct message *m;
	struct message r = { .kind = MESSAGE_REFUSED };

	make_sampler(1);
	begin_run();
	join_worker(A);
	ask("train 5");
	m = heard(A, MESSAGE_INDEX);
	r = message_refuse(m, FAIL_DATA, "a.svm:7: a NUL byte");
	tell(A, r);
	ok(prints("{\"op\":\"data\",\"worker\":\"worker:0\",\"error\":"
		  "\"a.svm:7: a NUL byte\"}\n"
		  "{\"op\":\"train\",\"steps\":5,\"cancelled\":true}\n"));
	ok(over(65, "a.svm:7: a NUL byte"));
}

/* Of a run that does not begin: is the server told to stop? */
static bool
stops_server(enum fail_kind why)
{
	const struct message *plan;

	begin();
	coord_up(coord, SERVER, now);
	welcome(7);
	plan = heard(SERVER, MESSAGE_PLAN);
	count = 0;
	tell(SERVER, message_refuse(plan, why, "no"));
	coord_tick(coord, now);
	return heard(SERVER, MESSAGE_STOP) && !heard(SERVER, MESSAGE_BYE);
}

/* Servers that another run may have, or will, are left alone. */
static void
others_servers(void)
{
	ok(stops_server(FAIL_CONFIG));
	ok(!stops_server(FAIL_AGAIN));
}

/* ---- far away ---- */

#define AWAY	(SERVER + 1)	/* the peer at endpoint "b" */

/* The server says that it has a standby, at "b", of this life; and that it is
   to be counted on. */
static void
notify_standby(uint64_t life, bool counted)
{
	struct message m = { .kind = MESSAGE_STANDBY, .frames = 1 };

	m.standby.term = term;
	m.standby.life = life;
	m.standby.counted = counted;
	m.frame[0] = (struct frame){ "b", 1, NULL };
	tell(SERVER, m);
}

static void
standby_answers(uint64_t life)
{
	static const unsigned char run[PLAN_RUN];
	struct message m = { .kind = MESSAGE_WELCOME };

	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_STANDBY;
	m.welcome.life = life;
	m.welcome.plan = 1;
	m.blob = (struct frame){ run, PLAN_RUN, NULL };
	tell(AWAY, m);
}

/* A server, which answers after so long, and its standby. */
static void
pair(uint64_t trip)
{
	begin();
	coord_up(coord, SERVER, now);
	now += trip;
	welcome(7);
	obey(MESSAGE_PLAN);
	notify_standby(9, false);
	now += 4 * trip;	/* until it can be spoken to */
	coord_tick(coord, now);
	coord_up(coord, AWAY, now);
	now += trip;
	standby_answers(9);
	notify_standby(9, true);
	coord_tick(coord, now);
}

/* Its connection breaks; does this follow, and when, in milliseconds? */
static uint64_t
lost_after(uint64_t peer, const char *words)
{
	const uint64_t began = now;

	text_reset(coord_warnings(coord));
	coord_down(coord, peer, now);
	for (; now < began + 20000; now += 10) {
		const struct text *said_so = coord_warnings(coord);

		if (peer != AWAY)
			tell(AWAY, (struct message){ .kind = MESSAGE_PONG });
		coord_tick(coord, now);
		if (said_so->size > 0 && strstr(said_so->data, words))
			return now - began;
	}
	return now - began;
}

static void
far(void)
{
	options.lease_ms = 10000;
	patience = 60000;
	pair(0);
	ok(warns("server 0 (a) has a standby at b\n"));
	equals(lost_after(SERVER, "its standby b takes over"), 250);
	pair(400);
	named(warns("server 0 (a) has a standby at b\n"),
	      "a standby that is far away has time to answer");
	named(lost_after(SERVER, "its standby b takes over") == 3450,
	      "a connection to far away has time to be made again");
	pair(400);
	equals(lost_after(AWAY, "it goes on without one"), 3450);
	pair(2000);
	named(lost_after(SERVER, "its standby b takes over") == 10000,
	      "but no more than a lease");
}

/*
 * Connections that break while it is frozen are new when it goes on, and what
 * it says before it knows of that is there ahead of HELLO, and refused.
 */
static void
overtakes_hello(void)
{
	const struct message early = { .kind = MESSAGE_REFUSED,
				       .request = WIRE_NONE,
				       .refused.status = FAIL_PROTOCOL };
	const struct message *m;

	pair(0);
	m = heard(SERVER, MESSAGE_STANDBY);
	named(m && m->request == WIRE_NONE,
	      "no refusal of STANDBY looks like one of HELLO");
	text_reset(coord_warnings(coord));
	coord_down(coord, SERVER, now);
	coord_down(coord, AWAY, now);
	coord_up(coord, SERVER, now);
	coord_up(coord, AWAY, now);
	tell(SERVER, early);
	tell(AWAY, early);
	welcome(7);
	standby_answers(9);
	coord_tick(coord, now);
	ok(!heard(SERVER, MESSAGE_STOP) && coord_warnings(coord)->size == 0);
}

/* The longest time for which it looks in one place for one who is gone. */
static uint64_t
longest_stay(void)
{
	const uint64_t end = now + 50000;
	uint64_t last = now, longest = 0;

	for (dials = 0; now < end; now += 10) {
		coord_tick(coord, now);
		if (dials > 0 && now - last > longest)
			longest = now - last;
		if (dials > 0)
			last = now;
		dials = 0;
	}
	return longest;
}

/* No lease is too short to reach who is there. */
static void
farther_than_a_lease(void)
{
	options.lease_ms = 1000;
	pair(180);
	equals(lost_after(SERVER, "its standby b takes over"), 1000);
	named(longest_stay() >= 8000, "who takes over is far away, and the "
	      "lease is short: it is looked for longer");
	options.lease_ms = 10000;
}

/* ---- nothing is believed but what was acknowledged ---- */

static const unsigned char no_run[PLAN_RUN];

static bool
warned(const char *words)
{
	const struct text *said_so = coord_warnings(coord);

	return said_so->size > 0 && strstr(said_so->data, words);
}

/* The server is started again, and has all or a part of what it had. */
static void
back_from_log(uint64_t life)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	coord_down(coord, SERVER, now);
	coord_up(coord, SERVER, now);
	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = life;
	m.welcome.term = coord_term(coord);
	m.welcome.plan = 1;
	m.blob = (struct frame){ no_run, PLAN_RUN, NULL };
	tell(SERVER, m);
}

/* A run of a server with a standby that the coordinator has greeted. */
static void
greeted(bool acknowledged)
{
	options.lease_ms = 10000;
	patience = 60000;
	term = 1;
	begin_run();
	join_worker(A);
	ask("train 9");
	does(A, 0);
	does(A, 1);
	notify_standby(9, false);
	coord_up(coord, AWAY, now);
	standby_answers(9);
	if (acknowledged)
		notify_standby(9, true);
	count = 0;
	text_reset(coord_warnings(coord));
}

/* Steps that are leased to A from now on, for the server alone. */
static bool
runs_again(uint64_t first, uint64_t last)
{
	tell(A, (struct message){ .kind = MESSAGE_READY });
	for (uint64_t i = first; i <= last; i++) {
		const struct message *m = heard(A, MESSAGE_LEASE);

		if (!m || m->lease.first != i || m->lease.server != 0)
			return false;
		done(A, m->request, i);
	}
	const struct message *m = heard(A, MESSAGE_LEASE);

	return m && m->lease.server == WIRE_NONE;
}

static void
counted_on(void)
{
	const struct message *m;

	greeted(false);
	named(!warned("has a standby"),
	      "a standby is none before its server has acknowledged it");
	named(lost_after(SERVER, "is gone: waiting 60 s for it") == 250,
	      "nor is it promoted");

	greeted(false);
	notify_standby(8, true);
	named(lost_after(SERVER, "is gone: waiting 60 s for it") == 250,
	      "an acknowledgement that names another life is none");

	/* The server was told of no standby meanwhile, and says so. */
	greeted(true);
	notify_standby(0, false);
	m = heard(SERVER, MESSAGE_PLAN);
	named(m && m->plan.term == 2 && m->plan.standby == 0,
	      "a server that let it go has a term without it");
	named(lost_after(SERVER, "is gone: waiting 60 s for it") == 250,
	      "a standby that was let go is not promoted");

	/* What is in sync in the new term its OK to PLAN tells. */
	greeted(true);
	back_from_log(8);
	has.ok.mark = 2;
	term = 2;
	ok(obey(MESSAGE_PLAN));
	has.ok.mark = 0;
	named(lost_after(SERVER, "is gone: waiting 60 s for it") == 250,
	      "a standby of a server that was started again is none of it");
	term = 1;
}

/* One server takes its plan at once, the other one has much to make: meanwhile
   the first has a standby, and tells of it. */
static void
counted_meanwhile(void)
{
	static char *two[] = { (char *)"a", (char *)"c" };
	static const uint64_t peer[] = { SERVER, SERVER + 2 };
	char **one = options.server;
	const struct message *plan;
	struct fail why;

	coord_free(coord);
	now = 1000;
	count = 0;
	options.server = two;
	options.servers = 2;
	coord = coord_new(&options, &fixture.source, fixture.model, &outbox,
			  now, &why);
	for (uint64_t i = 0; i < 2; i++) {
		struct message m = { .kind = MESSAGE_WELCOME };

		coord_up(coord, peer[i], now);
		m.welcome.version = WIRE_VERSION;
		m.welcome.role = ROLE_SERVER;
		m.welcome.index = i;
		m.welcome.life = 70 + i;
		m.welcome.plan = WIRE_NONE;
		tell(peer[i], m);
	}
	ok(obey(MESSAGE_PLAN));
	notify_standby(9, false);
	coord_up(coord, AWAY, now);
	standby_answers(9);
	notify_standby(9, true);
	plan = heard(peer[1], MESSAGE_PLAN);
	ok(plan != NULL);
	if (plan)
		tell(peer[1], standing(plan));
	named(!warned("no standby"), "who is counted on meanwhile stays so");
	equals(lost_after(SERVER, "its standby b takes over"), 250);
	options.server = one;
	options.servers = 1;
}

/* It takes over, and has two steps: as its mark says, or its bits, or not. */
static void
promoted(uint64_t mark, const char *steps)
{
	greeted(true);
	equals(lost_after(SERVER, "its standby b takes over"), 250);
	coord_up(coord, AWAY, now);
	standby_answers(9);

	const struct message *m = heard(AWAY, MESSAGE_PLAN);

	has.ok.mark = mark;
	has.frames = *steps != 0;
	has.frame[0] = (struct frame){ steps, strlen(steps), NULL };
	term = 2;
	ok(m != NULL);
	if (m)
		tell(AWAY, standing(m));
	has = (struct message){ 0 };
}

static void
compared(void)
{
	const struct message *m;

	promoted(0, "\x03");
	named(heard(A, MESSAGE_PLAN) && !warned("run again"),
	      "a standby that has all goes on");
	count = 0;
	tell(A, (struct message){ .kind = MESSAGE_READY });
	m = heard(A, MESSAGE_LEASE);
	ok(m && m->lease.first == 2 && m->lease.server == WIRE_NONE);
	promoted(0, "\x02");
	named(runs_again(0, 0), "what a standby lacks is run again for it");
	promoted(1, "");
	named(runs_again(1, 1), "wherever its mark is");
	promoted(0, "");
	named(runs_again(0, 1), "though it be all");
	term = 1;

	/* So it is with a server that is back from its log. */
	greeted(false);
	back_from_log(8);
	has.ok.mark = 1;
	term = 2;
	ok(obey(MESSAGE_PLAN));
	has.ok.mark = 0;
	ok(warns("server 0 (a) is back after 0.0 s with less than it had "
		 "acknowledged: 1 steps are run again\n"));
	named(runs_again(1, 1), "a log that was cut short is noticed");
	term = 1;
}

/* What is in the newest checkpoint cannot be run again, but loaded. */
static void
compared_with_checkpoint(void)
{
	const struct message *m;

	options.checkpoint = true;
	begin_run();
	join_worker(A);
	ask("train 3");
	does(A, 0);
	does(A, 1);
	does(A, 2);
	ask("save");
	ok(obey(MESSAGE_FREEZE));
	m = heard(SERVER, MESSAGE_SAVE);
	ok(m != NULL);
	if (m)
		tell(SERVER, message_answer(m, MESSAGE_SAVED));
	coord_published(coord, NULL, now);
	for (int i = 0; i < 3; i++) {
		back_from_log(8 + (uint64_t)i);
		has.ok.mark = i == 0 ? 2 : i == 1 ? 0 : 3;
		has.frames = i == 1;
		has.frame[0] = (struct frame){ "\x07", 1, NULL };
		term = coord_term(coord);
		ok(obey(MESSAGE_PLAN));
		m = heard(SERVER, MESSAGE_LOAD);
		named(!m == (i > 0), i > 0 ? "it has all of a checkpoint" :
		      "it lacks a step of the checkpoint, and loads that");
		if (m)
			tell(SERVER, message_answer(m, MESSAGE_OK));
	}
	has = (struct message){ 0 };
	options.checkpoint = false;
	term = 1;
}

/* Server and standby were killed together, and started again. */
static void
both_lost(void)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	greeted(true);
	coord_down(coord, SERVER, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	ok(warned("its standby b takes over"));
	coord_up(coord, AWAY, now);
	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_STANDBY;
	m.welcome.life = 10;
	m.welcome.plan = WIRE_NONE;
	tell(AWAY, m);
	named(!heard(AWAY, MESSAGE_PLAN),
	      "a standby that was started again is not asked to take over");
	for (int i = 0; i < 20; i++)
		coord_tick(coord, now += 10);
	coord_up(coord, SERVER, now);
	welcome(8);
	term = coord_term(coord);
	named(obey(MESSAGE_PLAN), "its server is taken where it was");
	ok(runs_again(0, 1));
	ok(!warned("took over"));
	term = 1;
}

/* One that does not know the end of steps that are in a checkpoint. */
static void
an_older_journal_than_checkpoint(void)
{
	uint64_t line;
	struct fail why;

	begin_kept();
	join_worker(A);
	ask("train 3");
	does(A, 0);
	ok(writes(STEP("", "0", "worker:0")));
	for (uint64_t step = 1; step < 3; step++) {
		snprintf(options.restore, sizeof(options.restore),
			 "ckpt-%08d", (int)step);
		memset(options.restored.run, '0', 2 * PLAN_RUN);
		options.restored.step = step;
		begin();
		for (size_t i = 0; i < keeps; i++)
			ok(coord_replay(coord, kept[i].kind, kept[i].bytes,
					kept[i].size, &why) == 0);
		named((coord_start(coord, &line, &line, &why) < 0) ==
		      (step > 1), step > 1 ?
		      "a checkpoint of steps that have not ended is refused" :
		      "one of steps that have ended is gone on with");
	}
	equals(strncmp(why.text, "ckpt-00000002 holds steps", 25), 0);
	*options.restore = '\0';
	options.restored = (struct checkpoint_info){ 0 };
	end_kept();
}

/*
 * A step fails while another is run again for a server that was lost: that one
 * is done first, for what is void a server takes no more.
 */
static void
failed_meanwhile(void)
{
	const struct message *m;
	uint64_t peer;

	options.keep_going = true;
	term = 1;
	begin_run();
	join_worker(A);
	ask("train 9");
	m = heard(A, MESSAGE_LEASE);
	ok(m && m->lease.first == 0);
	does(A, 1);		/* and the mark stays where it is */
	count = 0;
	coord_down(coord, SERVER, now);
	coord_up(coord, SERVER, now);
	welcome(8);
	term = 2;
	ok(obey(MESSAGE_PLAN));
	tell(A, (struct message){ .kind = MESSAGE_READY });
	m = heard(A, MESSAGE_LEASE);
	ok(m && m->lease.first == 1 && m->lease.server == 0);
	join_worker(B);
	m = heard(B, MESSAGE_LEASE);
	ok(m && m->lease.server == WIRE_NONE);
	failed(B, m ? m->lease.first : 0, "bad");
	tell(B, (struct message){ .kind = MESSAGE_OK });
	tell(A, (struct message){ .kind = MESSAGE_OK });
	named(!heard(SERVER, MESSAGE_VOID),
	      "nothing is void before what a server lacks was run again");
	for (m = NULL, peer = A; !m && peer; peer = peer == A ? B : 0)
		while ((m = heard(peer, MESSAGE_LEASE)) &&
		       m->lease.server == WIRE_NONE)
			;
	named(m && m->lease.first == 1, "whose worker may have dropped it");
	if (m)
		done(peer == B ? A : B, m->request, 1);
	ok(!heard(SERVER, MESSAGE_VOID));
	/* Nor before what was begun in the term before. */
	while ((m = heard(peer = A, MESSAGE_LEASE)) ||
	       (m = heard(peer = B, MESSAGE_LEASE)))
		done(peer, m->request, m->lease.first);
	m = heard(SERVER, MESSAGE_VOID);
	ok(m != NULL);
	options.keep_going = false;
	term = 1;
}

/* A journal that is older than what was told. */
static void
an_older_journal(void)
{
	struct message m = { .kind = MESSAGE_WELCOME };
	const struct message *mark;
	size_t before = 0;
	uint64_t told;

	begin_kept();
	join_worker(A);
	ask("train 3");
	before = keeps;
	ask("train 3");
	does(A, 0);
	now += 300;
	coord_tick(coord, now);
	mark = heard(SERVER, MESSAGE_MARK);
	told = mark ? mark->mark.journal : 0;
	ok(told > 0 && keeps > before);
	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = 7;
	m.welcome.journal = told;
	m.blob = (struct frame){ no_run, PLAN_RUN, NULL };
	for (int older = 0; older < 3; older++) {
		size_t was;

		while (older > 0 && keeps > before)
			free(kept[--keeps].bytes);
		was = keeps;
		start_again();
		coord_up(coord, SERVER, now);
		tell(SERVER, m);
		if (older == 0) {
			named(heard(SERVER, MESSAGE_PLAN) != NULL,
			      "a whole journal is gone on with");
			continue;
		}
		named(!heard(SERVER, MESSAGE_PLAN) && keeps == was,
		      "an older journal is refused, however often");
		ok(warned("has not ended"));
		ok(!heard(SERVER, MESSAGE_STOP) && !heard(SERVER, MESSAGE_BYE));
	}
	end_kept();
}

/* ---- who hangs, and what stands still ---- */

/* So many milliseconds pass, in which these answer whatever they are asked. */
static void
pass(uint64_t ms, uint64_t one, uint64_t other)
{
	const struct message pong = { .kind = MESSAGE_PONG };

	for (const uint64_t end = now + ms; now < end; now += 50) {
		coord_tick(coord, now);
		tell(SERVER, pong);
		if (one)
			tell(one, pong);
		if (other)
			tell(other, pong);
		count = 0;
	}
}

static void
a_silent_worker(void)
{
	const struct message *m;
	uint64_t lease;

	begin_run();
	join_worker(A);
	join_worker(B);
	ask("train 5");
	m = heard(A, MESSAGE_LEASE);
	lease = m ? m->request : 0;
	does(B, 1);
	text_reset(coord_output(coord));
	pass(9950, B, 0);
	ok(warns("") && !heard(A, MESSAGE_CANCEL));
	coord_tick(coord, now + 100);
	m = heard(A, MESSAGE_CANCEL);
	ok(m && m->request == 0 && m->cancel.count == UINT64_MAX);
	named(warns("worker:0 hangs: it has not answered for 10.1 s\n"),
	      "a worker whose connection is whole, but which does not answer");
	count = 0;
	done(B, 4, 3);
	m = heard(B, MESSAGE_LEASE);
	named(m && m->lease.first == 0 && m->lease.attempt == 2,
	      "others get its steps");
	done(A, lease, 0);
	named(prints(STEP("", "3", "worker:1") STEP("", "0", "worker:0")),
	      "what it has done all the same counts");
	ok(strstr(coord_warnings(coord)->data, "worker:0 answers again"));
	done(B, m ? m->request : 0, 0);
	ok(prints(""));
	count = 0;
	ask("train 9");
	named(!heard(A, MESSAGE_LEASE), "it gets none before it is free");
	tell(A, (struct message){ .kind = MESSAGE_OK });
	ok(heard(A, MESSAGE_LEASE) != NULL);
	ok(coord_over(coord, &(int){ 0 }, &(struct fail){ 0 }) == false);
	text_reset(coord_warnings(coord));
}

static void
nobody_answers(void)
{
	struct fail f;
	int is;

	patience = 3000;
	begin_run();
	join_worker(A);
	ask("train 5");
	pass(12000, 0, 0);
	ok(!coord_over(coord, &is, &f));
	pass(2000, 0, 0);
	coord_tick(coord, now + 6000);
	ok(coord_over(coord, &is, &f) && is == FAIL_PEER &&
	   strstr(f.text, "worker:0 hangs, last heard "));
	patience = 1000;
}

/* It is the server that keeps the worker from being ready. */
static void
a_server_gone_before_anybody_is_ready(void)
{
	struct fail f;
	int is;

	patience = 20000;
	begin_run();
	hello(A, ROLE_WORKER, A);
	ask("train 5");
	coord_down(coord, SERVER, now);
	for (const uint64_t end = now + 19000; now < end; now += 50) {
		coord_tick(coord, now);
		tell(A, (struct message){ .kind = MESSAGE_PONG });
	}
	named(!coord_over(coord, &is, &f), "a server is waited for longer than "
	      "workers that cannot be ready without it");
	for (const uint64_t end = now + 8000; now < end; now += 50) {
		coord_tick(coord, now);
		tell(A, (struct message){ .kind = MESSAGE_PONG });
	}
	ok(coord_over(coord, &is, &f) && is == FAIL_PEER &&
	   strncmp(f.text, "server 0 (a)", 12) == 0);
	patience = 1000;
}

/* A silent server is called anew; and what it was asked is asked again. */
static void
a_silent_server(void)
{
	patience = 5000;
	begin_run();
	join_worker(A);
	for (const uint64_t end = now + 11500; now < end; now += 50) {
		coord_tick(coord, now);
		tell(A, (struct message){ .kind = MESSAGE_PONG });
	}
	coord_tick(coord, now);
	ok(strstr(coord_warnings(coord)->data,
		  "server 0 (a) hangs: waiting 5 s for it\n"));
	count = 0;
	coord_up(coord, SERVER, now);
	ok(heard(SERVER, MESSAGE_HELLO) != NULL);
	welcome(7);
	coord_tick(coord, now);
	ok(strstr(coord_warnings(coord)->data, "server 0 (a) is back after"));
	named(!heard(SERVER, MESSAGE_PLAN), "it has everything still");

	/* Nobody's silence counts while we did not listen. */
	begin_run();
	join_worker(A);
	coord_tick(coord, now);
	coord_tick(coord, now + 300);
	now += 60000;
	coord_tick(coord, now);
	named(warns(""), "who has stood still itself blames nobody");
	patience = 1000;
}

static void
a_long_step(uint64_t timeout, const char *warning)
{
	struct text line = { 0 };
	const struct message *m;

	options.step_timeout_ms = timeout;
	begin_run();
	join_worker(A);
	ask("train 6");
	for (uint64_t i = 0; i < 5; i++)
		does(A, i);
	ok(heard(A, MESSAGE_LEASE) != NULL);
	join_worker(B);
	pass(24900, A, B);
	ok(warns("") || timeout);
	coord_progress(coord, &line, now);
	named(!strstr(line.data, "at step"), "a long step is not named yet");
	text_reset(&line);
	now += 200;
	coord_tick(coord, now);
	m = heard(B, MESSAGE_LEASE);
	ok(timeout ? m && m->lease.first == 5 : !m);
	ok(warns(warning));
	coord_progress(coord, &line, now);
	ok(timeout || strstr(line.data, "  worker:0 at step 5 for 25 s"));
	text_reset(&line);
	coord_status(coord, &line, now, 0);
	ok(timeout || strstr(line.data, "\npskit_step_late_seconds{" OF_RUN
			     ",step=\"5\",worker=\"0\"} 25.1\n"));
	text_release(&line);
	options.step_timeout_ms = 0;
}

/* Whatever may have gone wrong with leases: it does not last. */
static void
standing_still(void)
{
	begin_run();
	join_worker(A);
	/* Of nobody's. */
	for (size_t i = 0; i < options.in_flight; i++)
		lease_of(coord, coord->member)[i].id = 77;
	ask("train 3");
	pass(9900, A, 0);
	named(!heard(A, MESSAGE_LEASE) && warns(""), "a lease is never given");
	pass(300, A, 0);
	named(warns("nothing has been leased for 10.0 s, though steps wait "
		    "and worker:0 is free, which is an error of ps-coord: "
		    "leasing begins anew\n"),
	      "that is said, once, and mended");
	equals(queue_running(coord->queue), 2);
	pass(20000, A, 0);
	ok(warns(""));
}

/* A run that is left stays so, whatever servers still answer. */
static void
left_early(void)
{
	options.suspend = true;
	begin();
	coord_up(coord, SERVER, now);
	welcome(7);
	coord_stop(coord, now);
	named(obey(MESSAGE_PLAN) && !coord_check(coord, now),
	      "a plan is taken when it is too late");
	named(over(FAIL_AGAIN, ""), "the run is left as it was");
	options.suspend = false;
}

/* ---- figures ---- */

#define FIGURE(name, type, help) \
	"# HELP pskit_" name " " help "\n# TYPE pskit_" name " " type "\n"
#define ONE(name, type, help, value) \
	FIGURE(name, type, help) "pskit_" name "{" OF_RUN "} " value "\n"
#define OF(name, label, value) \
	"pskit_" name "{" OF_RUN "," label "} " value "\n"

static const char status[] =
	FIGURE("info", "gauge", "What is run; always 1.")
	OF("info",
		"version=\"" PACKAGE_VERSION "\",mode=\"async\","
		"model=\"model.ps\"", "1")
	ONE("start_time_seconds", "gauge",
		"Unix time when the coordinator was started.", "1700000001.25")
	ONE("term", "gauge", "One more each time that servers changed.", "1")
	FIGURE("phase", "gauge", "1 for the phase that the run is in, else 0.")
	OF("phase", "phase=\"greet\"", "0")
	OF("phase", "phase=\"plan\"", "0")
	OF("phase", "phase=\"load\"", "0")
	OF("phase", "phase=\"run\"", "1")
	OF("phase", "phase=\"stop\"", "0")
	OF("phase", "phase=\"over\"", "0")
	ONE("step", "gauge", "All steps below this one have ended.", "1")
	ONE("steps_total", "counter", "Steps done.", "2")
	ONE("examples_total", "counter", "Examples trained on.", "8")
	ONE("steps_mixed_total", "counter",
		"Steps of which servers may have another attempt's part.", "0")
	ONE("steps_failed_total", "counter", "Steps that could not be done.",
		"0")
	ONE("steps_set_aside_total", "counter",
		"Steps quarantined since workers died under them.", "0")
	ONE("attempts_retried_total", "counter",
		"Times that a step, or slot, was given out again.", "1")
	ONE("steps_run_again_total", "counter",
		"Steps run again for servers that lost their variables.", "0")
	ONE("steps_leased", "gauge", "Steps that workers are at.", "2")
	ONE("steps_waiting", "gauge",
		"Steps up to the next barrier that nobody is at.", "2")
	ONE("requests_waiting", "gauge", "Requests read that have not ended.",
		"1")
	FIGURE("step_staleness", "histogram",
		"Pushes of others that a step met; at most 255.")
	OF("step_staleness_bucket", "le=\"0\"", "0")
	OF("step_staleness_bucket", "le=\"1\"", "0")
	OF("step_staleness_bucket", "le=\"2\"", "2")
	OF("step_staleness_bucket", "le=\"4\"", "2")
	OF("step_staleness_bucket", "le=\"8\"", "2")
	OF("step_staleness_bucket", "le=\"16\"", "2")
	OF("step_staleness_bucket", "le=\"32\"", "2")
	OF("step_staleness_bucket", "le=\"64\"", "2")
	OF("step_staleness_bucket", "le=\"128\"", "2")
	OF("step_staleness_bucket", "le=\"+Inf\"", "2")
	"pskit_step_staleness_sum{" OF_RUN "} 4\n"
	"pskit_step_staleness_count{" OF_RUN "} 2\n"
	ONE("gradient_bytes_total", "counter", "Bytes that steps moved.", "0")
	ONE("gradient_float_bytes_total", "counter",
		"What these would be as floats.", "0")
	ONE("gradient_coded_bytes_total", "counter",
		"Of these, those that a codec was for.", "0")
	ONE("value_bytes_total", "counter", "Bytes that steps moved.", "0")
	ONE("value_float_bytes_total", "counter",
		"What these would be as floats.", "0")
	ONE("value_coded_bytes_total", "counter",
		"Of these, those that a codec was for.", "0")
	ONE("loss", "gauge", "Mean loss since the last join.", "0.5")
	ONE("workers", "gauge", "Workers that are there.", "1")
	FIGURE("worker_up", "gauge", "1 if the worker is there, else 0.")
	OF("worker_up", "worker=\"0\"", "0")
	OF("worker_up", "worker=\"1\"", "1")
	FIGURE("worker_steps_total", "counter",
		"Steps, or slots, whose result was this worker's.")
	OF("worker_steps_total", "worker=\"0\"", "1")
	OF("worker_steps_total", "worker=\"1\"", "1")
	FIGURE("worker_silent_seconds", "gauge",
		"Time since the worker was last heard.")
	OF("worker_silent_seconds", "worker=\"0\"", "0.5")
	OF("worker_silent_seconds", "worker=\"1\"", "0.1")
	FIGURE("step_late_seconds", "gauge",
		"Time of a step that takes a hundred times as long as others.")
	ONE("servers", "gauge", "Servers that are there.", "1")
	FIGURE("server_up", "gauge", "1 if the server is there, else 0.")
	OF("server_up", "server=\"0\"", "1")
	FIGURE("server_standby", "gauge",
		"1 if a standby can take over, else 0.")
	OF("server_standby", "server=\"0\"", "0")
	FIGURE("server_bytes", "gauge",
		"Variables and slots by the plan, without hashed ids.")
	OF("server_bytes", "server=\"0\"", "12")
	FIGURE("server_beside", "gauge",
		"1 if a worker is beside the server, else 0.")
	OF("server_beside", "server=\"0\"", "0")
	FIGURE("server_step_pull_bytes", "gauge",
		"What a step pulls of the server at most, by the plan.")
	OF("server_step_pull_bytes", "server=\"0\"", "12")
	FIGURE("server_step_push_bytes", "gauge",
		"What a step pushes to the server at most, by the plan.")
	OF("server_step_push_bytes", "server=\"0\"", "12")
	FIGURE("server_silent_seconds", "gauge",
		"Time since the server was last heard.")
	OF("server_silent_seconds", "server=\"0\"", "0.5")
	ONE("checkpoints_total", "counter", "Checkpoints published.", "0")
	ONE("checkpoints_failed_total", "counter",
		"Checkpoints that came to nothing.", "0");

/* A worker is lost, and another one has done one of its steps, and is at one
   that the lost one had. */
static void
figures(void)
{
	struct text out = { 0 };
	const struct message *m;

	begin_run();
	join_worker(A);
	ask("train 6");
	m = heard(A, MESSAGE_LEASE);
	done(A, m ? m->request : 0, 0);
	now += 400;
	join_worker(B);
	dead = A;
	coord_somebody_left(coord, now);
	dead = 0;
	does(B, 3);
	now += 100;
	coord_status(coord, &out, now, 1700000000.25);
	named(lines(&out, status), "what is told of a run");
	text_reset(&out);
	does(B, 4);
	does(B, 1);
	ask("join");
	does(B, 2);
	does(B, 5);
	coord_end_of_requests(coord, now);
	coord_status(coord, &out, now, 0);
	ok(strstr(out.data, "\npskit_attempts_retried_total{" OF_RUN "} 2\n"));
	ok(strstr(out.data, "\npskit_worker_steps_total{" OF_RUN
		  ",worker=\"1\"} 5\n"));
	ok(strstr(out.data, "\npskit_phase{" OF_RUN ",phase=\"stop\"} 1\n"));
	named(strstr(out.data, "\npskit_loss{" OF_RUN "} 0.5\n"),
	      "behind a join the loss is that before it");
	text_release(&out);
}

int
main(void)
{
	fixture_begin(&fixture, model);
	figures();
	others_servers();
	many_lines();
	hidden();
	an_old_error();
	an_old_error_folded();
	folded_without_checkpoints();
	a_long_id();
	seconds();
	ended();
	kept_going();
	ending();
	other_lives();
	many_lives();
	saves();
	open_cuts();
	called_off();
	servers();
	a_lost_server();
	lost_meanwhile();
	a_deadly_step();
	quiet();
	unread();
	counting();
	missed();
	lost_between();
	lost_before();
	an_epoch_that_the_journal_lost();
	no_data();
	coord_free(coord);
	coord = NULL;
	samplers_free(options.samplers);
	options.samplers = NULL;
	far();
	overtakes_hello();
	farther_than_a_lease();
	a_silent_worker();
	nobody_answers();
	a_server_gone_before_anybody_is_ready();
	a_silent_server();
	a_long_step(0, "step 5 has taken worker:0 25.1 s, others take "
		    "0.250 s\n");
	a_long_step(25000, "step 5 has taken worker:0 25.1 s: another worker "
		    "gets it\n");
	standing_still();
	left_early();
	counted_on();
	counted_meanwhile();
	compared();
	compared_with_checkpoint();
	both_lost();
	failed_meanwhile();
	an_older_journal();
	an_older_journal_than_checkpoint();
	coord_free(coord);
	fixture_end(&fixture);
	return tap_done();
}
