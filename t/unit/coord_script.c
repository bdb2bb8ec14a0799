/*
 * The coordinator, with servers and members that scripts play: the messages
 * that it sends, to which peers, and its lines to the letter.  The scripts are
 * in t/unit/coord; HACKING says how to write one.  Whole clusters are in
 * t/sim.
 */
#include "coord/coord.h"

#include "wire/result.h"

#include "message_line.h"
#include "model_fixture.h"
#include "samplers_of.h"
#include "script.h"

#include <inttypes.h>

#define WORKER		1	/* peers: A to Z */
#define EVALUATOR	50	/* eye, eye:1 ... */
#define SERVER		100	/* server, its standby, server:1 ... */
#define STANDBY		(SERVER + 1)
#define PEERS		128
#define TICK		10	/* ms */

static struct model_fixture fixture;
static struct coord *coord;
static struct coord_options options;
static uint64_t now;			/* ms */
static uint64_t lines, written;	/* requests read; bytes of results taken */
static uint64_t lives;			/* the last incarnation given out */
static uint64_t told;			/* records, by the last MARK */

static struct {
	/* deaf: nothing can be sent to it; silent: it answers no PING, of
	   which one waits */
	bool deaf, silent, pinged;
} peer_state[PEERS];

/* The messages that the coordinator has sent. */
static struct sent {
	uint64_t peer;
	struct message m;	/* without frames */
	bool answered;
} *sent;
static size_t sents, sent_room;

/* ---- the output of a command ---- */

static struct text *came;
static uint64_t began, marked;	/* the begin of pass, and its last line */
static char only[256];	/* the kinds that this block shows; "": all */
static bool job_shown, over_shown;

static struct text *
out(void)
{
	if (began && marked != now)
		text_add(came, "+%" PRIu64 "ms\n", now - began);
	marked = now;
	return came;
}

static bool
shows(const char *kind)
{
	return !*only || line_lists(only, kind);
}

static const char *
peer_name(uint64_t peer)
{
	static char name[32];

	if (peer < EVALUATOR)
		snprintf(name, sizeof(name), "%c", (int)('A' + peer - WORKER));
	else if (peer == STANDBY)
		return "standby";
	else if (peer == EVALUATOR || peer == SERVER)
		return peer == SERVER ? "server" : "eye";
	else if (peer < SERVER)
		snprintf(name, sizeof(name), "eye:%d", (int)(peer - EVALUATOR));
	else
		snprintf(name, sizeof(name), "server:%d",
			 (int)(peer - STANDBY));
	return name;
}

/* ---- the coordinator's outbox ---- */

static int
post(void *to, uint64_t peer, const struct message *m)
{
	(void)to;
	if (peer_state[peer].deaf)
		return -1;
	if (m->kind == MESSAGE_PING) {
		peer_state[peer].pinged = true;
		return 0;
	}
	if (m->kind == MESSAGE_MARK)
		told = m->mark.journal;
	sent = mem_grow(sent, sents, &sent_room, sizeof(*sent));
	sent[sents++] = (struct sent){ .peer = peer, .m = *m };
	if (shows(message_name(m->kind))) {
		text_add(out(), "%s: ", peer_name(peer));
		line_add_message(came, m);
	}
	return 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to;
	(void)f;
	*peer = SERVER + (uint64_t)(endpoint[0] - 'a');
	if (shows("dials"))
		text_add(out(), "dials %s\n", peer_name(*peer));
	return 0;
}

static void
hang_up(void *to, uint64_t peer)
{
	(void)to;
	(void)peer;
}

static struct outbox outbox = { .send = post, .dial = dial,
				.hang_up = hang_up };

/* Returns the first message of this kind that the peer has not answered, or
   NULL. */
static struct sent *
unanswered(uint64_t peer, enum message_kind kind)
{
	for (size_t i = 0; i < sents; i++)
		if (sent[i].peer == peer && sent[i].m.kind == kind &&
		    !sent[i].answered)
			return &sent[i];
	return NULL;
}

/* Returns the last lease of the step that the peer was given, or NULL. */
static struct sent *
lease_of(uint64_t peer, uint64_t step)
{
	for (size_t i = sents; i-- > 0;)
		if (sent[i].peer == peer && sent[i].m.kind == MESSAGE_LEASE &&
		    step - sent[i].m.lease.first < sent[i].m.lease.count)
			return &sent[i];
	return NULL;
}

/* Drops the messages that were sent to the peer, which do not reach it. */
static void
forget_sent(uint64_t peer)
{
	for (size_t i = 0; i < sents; i++)
		sent[i].answered |= sent[i].peer == peer;
}

/* ---- the coordinator's journal ---- */

static struct kept {
	uint32_t kind;
	size_t size;
	void *bytes;
} *kept;
static size_t keeps, kept_room, copied;
static bool full;	/* the journal has no room */

static int
keep(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
     struct fail *f)
{
	(void)to;
	(void)safe;
	if (full)
		return fail(f, FAIL_IO, "no room");
	kept = mem_grow(kept, keeps, &kept_room, sizeof(*kept));
	kept[keeps++] = (struct kept){ kind, size, mem_copy(bytes, size) };
	return 0;
}

/* Loses the records from this one on. */
static void
lose_records(size_t from)
{
	while (keeps > from)
		free(kept[--keeps].bytes);
}

/* Drops the records before this one. */
static void
drop_records(size_t before)
{
	for (size_t i = 0; i < before; i++)
		free(kept[i].bytes);
	keeps -= before;
	memmove(kept, kept + before, keeps * sizeof(*kept));
}

/* ---- words of commands ---- */

/* Removes and returns the next word; NULL: no word is left. */
static char *
next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " "), *end;

	if (!*word)
		return NULL;
	end = word + strcspn(word, " ");
	*rest = end + (*end == ' ');
	*end = '\0';
	return word;
}

static bool
peer_of(const char *word, uint64_t *peer)
{
	const char *colon = strchr(word, ':');
	const uint64_t index = colon ? strtoull(colon + 1, NULL, 10) : 0;
	const size_t size = colon ? (size_t)(colon - word) : strlen(word);

	if (size == 1 && *word >= 'A' && *word <= 'Z')
		*peer = WORKER + (uint64_t)(*word - 'A');
	else if (strncmp(word, "eye", size) == 0 && size == 3)
		*peer = EVALUATOR + index;
	else if (strncmp(word, "server", size) == 0 && size == 6)
		*peer = index > 0 ? STANDBY + index : SERVER;
	else if (strcmp(word, "standby") == 0)
		*peer = STANDBY;
	else
		return false;
	return *peer < PEERS;
}

/* ---- messages to the coordinator ---- */

static enum role
role_of(uint64_t peer)
{
	return peer < EVALUATOR ? ROLE_WORKER :
		peer < SERVER ? ROLE_EVALUATOR :
		peer == STANDBY ? ROLE_STANDBY : ROLE_SERVER;
}

static void
deliver(uint64_t peer, const struct message *m)
{
	coord_receive(coord, peer, m, now);
}

/* Returns a peer's message with its usual fields. */
static struct message
message_of(uint64_t peer, enum message_kind kind)
{
	struct message m = { .kind = kind };

	if (kind == MESSAGE_HELLO) {
		m = message_hello(role_of(peer), WIRE_NONE, peer, 0);
	} else if (kind == MESSAGE_WELCOME) {
		m.welcome.version = WIRE_VERSION;
		m.welcome.role = role_of(peer);
		m.welcome.index = peer > STANDBY ? peer - STANDBY : 0;
		m.welcome.life = peer == STANDBY ? 9 : 7;
	} else if (kind == MESSAGE_STANDBY) {
		m.standby.term = coord_term(coord);
	} else if (kind == MESSAGE_DONE || kind == MESSAGE_FAILED) {
		m.done.term = coord_term(coord);
	}
	return m;
}

/* Delivers a message with [FIELD=NUMBER...] [frame=HEX...] [TEXT].  HELLO
   "anew" is of another incarnation; WELCOME "as-told" is of a server that knows
   the journal's records that the coordinator has reported to it. */
static int
deliver_with(uint64_t peer, struct message m, const char *rest, struct fail *f)
{
	unsigned char bytes[MESSAGE_FRAMES][LINE_FRAME];
	char word[2 * LINE_FRAME + 16];
	const char *hex;
	int n;

	for (; sscanf(rest, " %79s%n", word, &n) == 1; rest += n)
		if (m.kind == MESSAGE_HELLO && strcmp(word, "anew") == 0) {
			m.hello.life = ++lives;
		} else if (strcmp(word, "as-told") == 0) {
			m.welcome.journal = told;
		} else if ((hex = line_value(word, "frame")) &&
			   m.frames < MESSAGE_FRAMES) {
			if (!line_set_frame(&m, hex, bytes[m.frames]))
				return fail(f, FAIL_USAGE, "no bytes: %s", hex);
		} else if (!line_set(&m, word)) {
			break;
		}
	rest += strspn(rest, " ");
	if (!line_set_text(&m, rest))
		return fail(f, FAIL_USAGE, "%s has no place for: %s",
			    message_name(m.kind), rest);
	if (m.kind == MESSAGE_READY)
		forget_sent(peer);
	deliver(peer, &m);
	return 0;
}

/* ---- actions of a peer ---- */

/* Returns the first message of this kind that the peer has not answered; NULL:
   there is none, and *f is the error. */
static struct sent *
question(uint64_t peer, enum message_kind kind, struct fail *f)
{
	struct sent *s = unanswered(peer, kind);

	if (!s)
		fail(f, FAIL_USAGE, "%s has no %s to answer", peer_name(peer),
		     message_name(kind));
	return s;
}

static int
do_say(uint64_t peer, char *rest, struct fail *f)
{
	const enum message_kind kind = line_kind(next_word(&rest));

	if (!kind)
		return fail(f, FAIL_USAGE, "says what?");
	return deliver_with(peer, message_of(peer, kind), rest, f);
}

static int
do_join(uint64_t peer, char *rest, struct fail *f)
{
	forget_sent(peer);
	if (deliver_with(peer, message_of(peer, MESSAGE_HELLO), rest, f) < 0)
		return -1;
	if (role_of(peer) == ROLE_WORKER)
		deliver(peer, &(struct message){ .kind = MESSAGE_READY });
	return 0;
}

static void
send_result(uint64_t peer, struct message m, const struct result *r)
{
	struct pack p = { 0 };

	result_write(&p, r);
	m.done.count = 1;
	m.frame[m.frames++] = (struct frame){ p.data, p.size, NULL };
	deliver(peer, &m);
	pack_release(&p);
}

/* Returns the number behind NAME= in a list of words, or 0. */
static uint64_t
number_in(const char *list, const char *name)
{
	const char *at = strstr(list, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Reports a step as done: [lease=ID] [mixed] [zero] [minus] [scores=N]
   [result=JSON].  mixed: servers already had a part of the step; zero, minus:
   labels for "no" were 0, or -1. */
static int
do_step(uint64_t peer, uint64_t step, struct sent *l, const char *how,
	struct fail *f)
{
	struct message m = message_of(peer, MESSAGE_DONE);
	struct result r = { .step = step, .attempt = 1, .examples = LINE_BATCH,
			    .staleness = 2, .microseconds = 250000,
			    .mixed = strstr(how, "mixed"), .loss = 2,
			    .negatives = { .zero = strstr(how, "zero"),
					   .minus = strstr(how, "minus") },
			    .scores = number_in(how, "scores=") };

	const char *json = strstr(how, "result=");

	if (json)
		r.json = (struct frame){ json + 7, strlen(json + 7), NULL };
	m.request = number_in(how, "lease=");
	if (m.request == 0 && !l)
		return fail(f, FAIL_USAGE, "%s has no lease of step %" PRIu64,
			    peer_name(peer), step);
	if (m.request == 0) {
		m.request = l->m.request;
		m.done.term = l->m.lease.term;
		r.attempt = l->m.lease.attempt;
		l->answered |= step + 1 == l->m.lease.first + l->m.lease.count;
	}
	send_result(peer, m, &r);
	return 0;
}

/* [STEP | FIRST..LAST], then as do_step(): reports these steps, or the peer's
   next one. */
static int
do_work(uint64_t peer, char *rest, struct fail *f)
{
	uint64_t first, last;
	struct sent *next;
	int n;

	if (sscanf(rest, "%" SCNu64 "%n", &first, &n) < 1) {
		next = question(peer, MESSAGE_LEASE, f);
		return next ? do_step(peer, next->m.lease.first, next, rest, f)
			: -1;
	}
	if (sscanf(rest + n, "..%" SCNu64, &last) < 1)
		last = first;
	for (;; first++)
		if (do_step(peer, first, lease_of(peer, first), rest, f) < 0)
			return -1;
		else if (first == last)
			return 0;
}

/* Returns the peer's usual answer to a message of this kind. */
static struct message
answer_of(const struct sent *to, const char *rest)
{
	const enum message_kind kind = to->m.kind == MESSAGE_SAVE ?
		MESSAGE_SAVED : MESSAGE_OK;
	struct message m = message_answer(&to->m, kind);

	if (kind == MESSAGE_SAVED)
		m.blob = (struct frame){ "ab", 2, NULL };
	if (to->m.kind == MESSAGE_PLAN)
		m.ok.initial = !strstr(rest, "mark=") &&
			!strstr(rest, "frame=");
	return m;
}

/* KIND [FIELD=NUMBER...]: a server answers this message.  Other peers: as
   do_work(). */
static int
do_does(uint64_t peer, char *rest, struct fail *f)
{
	char word[32] = "";
	struct sent *s;

	sscanf(rest, "%31s", word);
	if (!line_kind(word))
		return do_work(peer, rest, f);
	s = question(peer, line_kind(word), f);
	if (!s)
		return -1;
	s->answered = true;
	return deliver_with(peer, answer_of(s, rest), rest + strlen(word), f);
}

/* KIND STATUS WHY: the peer refuses a message. */
static int
do_refuse(uint64_t peer, char *rest, struct fail *f)
{
	const enum message_kind kind = line_kind(next_word(&rest));
	const char *why = next_word(&rest);
	struct sent *s = question(peer, kind, f);
	uint64_t status;
	struct message m;

	if (!s)
		return -1;
	if (!why || !line_number(why, &status))
		return fail(f, FAIL_USAGE, "no status");
	s->answered = true;
	m = message_refuse(&s->m, (enum fail_kind)status, rest);
	deliver(peer, &m);
	return 0;
}

/* STEP WHY: the step fails, of a lease that the peer has, or of none. */
static int
do_fail(uint64_t peer, char *rest, struct fail *f)
{
	const char *step = next_word(&rest);
	struct message m = message_of(peer, MESSAGE_FAILED);
	struct sent *l;

	if (!step || !text_uint(step, &m.failed.step))
		return fail(f, FAIL_USAGE, "fails which step?");
	l = lease_of(peer, m.failed.step);
	if (l) {
		l->answered = true;
		m.request = l->m.request;
	}
	m.failed.status = FAIL_DATA;
	m.blob = (struct frame){ rest, strlen(rest), NULL };
	deliver(peer, &m);
	return 0;
}

/* RECORDS [at=PLACE] [again]: the peer has counted records, the first of which
   begins at PLACE; "again" repeats the answer. */
static int
do_count(uint64_t peer, char *rest, struct fail *f)
{
	const char *records = next_word(&rest), *at = strstr(rest, "at=");
	struct message m = { .kind = MESSAGE_INDEXED, .frames = 1 };
	struct pack p = { 0 };
	struct sent *s = NULL;

	for (size_t i = sents; i-- > 0 && !s && strstr(rest, "again");)
		if (sent[i].peer == peer && sent[i].answered &&
		    sent[i].m.kind == MESSAGE_INDEX)
			s = &sent[i];
	s = s ? s : question(peer, MESSAGE_INDEX, f);
	if (!s)
		return -1;
	if (!records || !line_number(records, &m.indexed.records))
		return fail(f, FAIL_USAGE, "counts how many?");
	pack_array(&p, at != NULL);
	if (at)
		pack_uint(&p, number_in(at, "at="));
	s->answered = true;
	m.request = s->m.request;
	m.frame[0] = (struct frame){ p.data, p.size, NULL };
	deliver(peer, &m);
	pack_release(&p);
	return 0;
}

/* [scores=N]: the peer reports the evaluation that it was asked for. */
static int
do_evaluate(uint64_t peer, char *rest, struct fail *f)
{
	struct sent *s = question(peer, MESSAGE_EVALUATE, f);
	struct result r = { .examples = LINE_BATCH, .loss = 2 };
	struct message m;

	if (!s)
		return -1;
	r.scores = number_in(rest, "scores=");
	r.metrics = r.scores > 0;
	s->answered = true;
	m = message_answer(&s->m, MESSAGE_EVALUATED);
	m.done.term = s->m.evaluate.term;
	send_result(peer, m, &r);
	return 0;
}

/* gone, deaf, silent, up, down or here: sets the state of the peer. */
static int
do_be(uint64_t peer, char *rest, struct fail *f)
{
	if (strcmp(rest, "here again") == 0) {
		peer_state[peer].deaf = peer_state[peer].silent = false;
	} else if (strcmp(rest, "deaf") == 0) {
		peer_state[peer].deaf = true;
	} else if (strcmp(rest, "silent") == 0) {
		peer_state[peer].silent = true;
	} else if (strcmp(rest, "gone") == 0) {
		peer_state[peer].deaf = true;
		coord_somebody_left(coord, now);
		peer_state[peer].deaf = false;
	} else if (strcmp(rest, "up") == 0) {
		coord_up(coord, peer, now);
	} else if (strcmp(rest, "down") == 0) {
		forget_sent(peer);
		coord_down(coord, peer, now);
	} else {
		return fail(f, FAIL_USAGE, "is what?");
	}
	return 0;
}

/* The peer restarts, and sends WELCOME with the words of do_say(). */
static int
do_restart(uint64_t peer, char *rest, struct fail *f)
{
	forget_sent(peer);
	coord_down(coord, peer, now);
	coord_up(coord, peer, now);
	return deliver_with(peer, message_of(peer, MESSAGE_WELCOME), rest, f);
}

static const struct deed {
	const char *name;
	int (*act)(uint64_t peer, char *rest, struct fail *);
} deeds[] = {
	{ "says", do_say }, { "joins", do_join }, { "does", do_does },
	{ "refuses", do_refuse }, { "fails", do_fail }, { "counts", do_count },
	{ "evaluates", do_evaluate }, { "is", do_be },
	{ "restarts", do_restart }
};

static int
play_deed(uint64_t peer, char *rest, struct fail *f)
{
	const char *name = next_word(&rest);

	for (size_t i = 0; name && i < sizeof(deeds) / sizeof(*deeds); i++)
		if (strcmp(deeds[i].name, name) == 0)
			return deeds[i].act(peer, rest, f);
	return fail(f, FAIL_USAGE, "nothing that a peer does: %s",
		    name ? name : "");
}

/* ---- the coordinator's options and start ---- */

static const char model[] =
	"input  x float[2]\nlabel y float\n"
	"p = dense x units=1\nloss mean_squared_error p\n"
	"optimizer sgd\n";
static const char scored_model[] =
	"input  x float[2]\nlabel y binary\n"
	"p = dense x units=1 activation=sigmoid\n"
	"loss binary_crossentropy p\nmetric auc p\n"
	"optimizer sgd\n";

static bool scored, with_data;

/* The options of a coordinator; those with a value have "=" in front of it. */
static const struct choice {
	const char *name;
	bool *flag;
	uint64_t *number, *duration;
} choices[] = {
	{ "keep-going", .flag = &options.keep_going },
	{ "suspend", .flag = &options.suspend },
	{ "checkpoint", .flag = &options.checkpoint },
	{ "scored", .flag = &scored },
	{ "data", .flag = &with_data },
	{ "every", .number = &options.every_steps },
	{ "servers", .number = &options.servers },
	{ "fold", .number = &options.fold_bytes },
	{ "lease", .duration = &options.lease_ms },
	{ "patience", .duration = &options.patience_ms },
	{ "grace", .duration = &options.grace_ms },
	{ "timeout", .duration = &options.timeout_ms },
	{ "step-timeout", .duration = &options.step_timeout_ms }
};

static const struct journal journal = { .add = keep };

static bool
set_setting(const char *word)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		const struct choice *s = &choices[i];
		const char *value = line_value(word, s->name);

		if (s->flag && strcmp(word, s->name) == 0)
			return *s->flag = true;
		if (!s->flag && value)
			return s->number ? text_uint(value, s->number) :
				text_duration(value, s->duration);
	}
	return false;
}

/* restore=STEP: restores the checkpoint of this step. */
static bool
set_restored(const char *step)
{
	if (!text_uint(step, &options.restored.step))
		return false;
	snprintf(options.restore, sizeof(options.restore), "ckpt-%08d",
		 (int)options.restored.step);
	memset(options.restored.run, '0', 2 * PLAN_RUN);
	return true;
}

static int
set_options(char *rest, struct fail *f)
{
	static char *unknown[] = { NULL };
	const char *word, *value;

	while ((word = next_word(&rest)))
		if (strcmp(word, "journal") == 0)
			options.journal = &journal;
		else if (strcmp(word, "unknown-server") == 0)
			options.server = unknown;
		else if (strcmp(word, "results=errors") == 0)
			options.results = RESULTS_ERRORS;
		else if (strcmp(word, "results=none") == 0)
			options.results = RESULTS_NONE;
		else if ((value = line_value(word, "restore"))) {
			if (!set_restored(value))
				return fail(f, FAIL_USAGE, "no step");
		} else if (!set_setting(word)) {
			return fail(f, FAIL_USAGE, "no option: %s", word);
		}
	return 0;
}

/* Makes a sampler of two splits of a file, of bytes 0 to 50, and 50 to 90. */
static void
make_samplers(void)
{
	const struct sampler_options o = { .batch = LINE_BATCH, .unit = 1 };
	struct splits s = { .files = 1, .count = 2 };

	samplers_free(options.samplers);
	options.samplers = NULL;
	if (!with_data)
		return;
	s.file = mem_alloc(1, sizeof(*s.file));
	s.split = mem_alloc(2, sizeof(*s.split));
	s.file[0].name = mem_text("a.svm");
	s.split[0] = (struct split){ 0, 0, 50 };
	s.split[1] = (struct split){ 0, 50, 90 };
	options.samplers = samplers_of(sampler_new(&o, &s), 0);
}

static void
free_all(void)
{
	coord_free(coord);
	coord = NULL;
	if (fixture.model)
		fixture_end(&fixture);
	fixture = (struct model_fixture){ 0 };
	sents = 0;
	job_shown = over_shown = false;
	memset(peer_state, 0, sizeof(peer_state));
}

/* Reads the records of the journal into the coordinator. */
static void
replay(void)
{
	struct coord_progress before;
	struct fail f;

	for (size_t i = 0; i < keeps; i++)
		if (coord_replay(coord, kept[i].kind, kept[i].bytes,
				 kept[i].size, &f) < 0)
			text_add(out(), "record %zu: %s\n", i, f.text);
	if (coord_start(coord, &before, &f) < 0)
		text_add(out(), "refuses: %s %s\n", line_status[f.kind],
			 f.text);
	lines = before.line;
	written = before.written;
}

static int
create(struct fail *f)
{
	free_all();
	now = 1000;
	fixture_begin(&fixture, scored ? scored_model : model);
	make_samplers();
	coord = coord_new(&options, &fixture.source, fixture.model, &outbox,
			  now, f);
	if (!coord)
		return -1;
	if (options.journal)
		replay();
	return 0;
}

static void
reset(void)
{
	static char *endpoint[] = { (char *)(uintptr_t)"a",
				    (char *)(uintptr_t)"c" };

	free_all();
	samplers_free(options.samplers);
	options = (struct coord_options){
		.server = endpoint, .servers = 1, .batch = LINE_BATCH,
		.pack = 1, .in_flight = 2, .min_workers = 1, .timeout_ms = 5000,
		.patience_ms = 1000, .lease_ms = 10000, .grace_ms = 7000
	};
	scored = with_data = full = false;
	lines = written = told = 0;
	lives = 1000;
	lose_records(0);
}

static void
add_warnings(const struct text *warnings)
{
	const char *at = warnings->size > 0 ? warnings->data : "";

	for (size_t n; *at && shows("warnings"); at += n + 1) {
		n = strcspn(at, "\n");
		text_add(out(), "warning: %.*s\n", (int)n, at);
	}
}

/* Adds a checkpoint that is to be published. */
static void
add_job(const struct coord_job *job)
{
	text_add(out(), "publish: %s examples=%" PRIu64, job->name,
		 job->info.examples);
	if (job->info.seconds > 0)
		text_add(came, " seconds=%g", job->info.seconds);
	for (size_t i = 0; i < job->parts; i++)
		if (job->part[i].size > 0)
			text_add(came, " size=%" PRIu64, job->part[i].size);
	text_add(came, "%s%s\n", job->again ? " again" : "",
		 job->info.final ? " final" : "");
}

static void
add_end(int status, const struct fail *why)
{
	if (status == 0)
		text_add(out(), "ends: well\n");
	else
		text_add(out(), "ends: %s%s%s\n", line_status[status],
			 *why->text ? " " : "", why->text);
}

/* Handles the effects of an event: results, jobs and journal. */
static int
settle(struct fail *f)
{
	const struct coord_job *job = coord_job(coord);
	struct text *results = coord_output(coord);
	struct text *warnings = coord_warnings(coord);
	const char *broken = coord_check(coord, now);
	struct fail why;
	int status;

	written += results->size;
	if (results->size > 0 && shows("results"))
		text_add_bytes(out(), results->data, results->size);
	add_warnings(warnings);
	text_reset(results);
	text_reset(warnings);
	if (job && !job_shown && shows("publish"))
		add_job(job);
	job_shown = job != NULL;
	if (!over_shown && coord_over(coord, &status, &why)) {
		over_shown = true;
		add_end(status, &why);
	}
	return broken ? fail(f, FAIL_INTERNAL, "broken: %s", broken) : 0;
}

/* ---- events ---- */

/* [OPTION...]: starts a coordinator. */
static int
do_begin(char *rest, struct fail *f)
{
	reset();
	return set_options(rest, f) < 0 ? -1 : create(f);
}

/* [OPTION...]: starts another coordinator, with the same options and these,
   which reads the journal. */
static int
do_again(char *rest, struct fail *f)
{
	return set_options(rest, f) < 0 ? -1 : create(f);
}

/* Starts a coordinator, whose server has no variables and takes the plan; only
   results and warnings of this are shown. */
static int
begin_with_plan(int (*begin)(char *, struct fail *), char *rest, struct fail *f)
{
	char shown[sizeof(only)], plan[] = "PLAN";
	struct message m;
	int begun;

	memcpy(shown, only, sizeof(only));
	snprintf(only, sizeof(only), " results warnings ");
	begun = begin(rest, f);
	if (begun == 0) {
		m = message_of(SERVER, MESSAGE_WELCOME);
		coord_up(coord, SERVER, now);
		deliver(SERVER, &m);
		begun = do_does(SERVER, plan, f);
	}
	memcpy(only, shown, sizeof(only));
	return begun;
}

static int
do_run(char *rest, struct fail *f)
{
	return begin_with_plan(do_begin, rest, f);
}

static int
do_resume(char *rest, struct fail *f)
{
	return begin_with_plan(do_again, rest, f);
}

/* Reads a line of requests, in which \0 is a NUL. */
static int
do_line(char *rest, struct fail *f)
{
	size_t size = strlen(rest);
	char *nul = strstr(rest, "\\0");

	(void)f;
	if (nul) {
		memmove(nul + 1, nul + 2, strlen(nul + 2) + 1);
		*nul = '\0';
		size--;
	}
	coord_request(coord, rest, size, ++lines, now);
	return 0;
}

static int
do_request(char *rest, struct fail *f)
{
	do_line(rest, f);
	coord_tick(coord, now);
	return 0;
}

static int
duration_of(const char *text, uint64_t *ms, struct fail *f)
{
	return text_duration(text, ms) ? 0 :
		fail(f, FAIL_USAGE, "no time: %s", text);
}

/* TIME: moves the time forward, without any event. */
static int
do_after(char *rest, struct fail *f)
{
	uint64_t ms;

	if (duration_of(rest, &ms, f) < 0)
		return -1;
	now += ms;
	coord_tick(coord, now);
	return 0;
}

static void
answer_pings(void)
{
	const struct message pong = { .kind = MESSAGE_PONG };

	for (uint64_t peer = 0; peer < PEERS; peer++)
		if (peer_state[peer].pinged && !peer_state[peer].silent) {
			peer_state[peer].pinged = false;
			deliver(peer, &pong);
		}
}

/* TIME: passes the time, in which all peers answer PING, except silent ones;
   each output has its time. */
static int
do_pass(char *rest, struct fail *f)
{
	uint64_t ms;
	int status;

	if ((status = duration_of(rest, &ms, f)) < 0)
		return -1;
	began = marked = now;
	for (const uint64_t end = now + ms; now < end && status == 0;) {
		now = end - now < TICK ? end : now + TICK;
		coord_tick(coord, now);
		answer_pings();
		status = settle(f);
	}
	began = 0;
	return status;
}

static void
do_stop(void)
{
	coord_stop(coord, now);
}

static void
do_end(void)
{
	coord_end_of_requests(coord, now);
}

/* The peers that were asked to leave do so. */
static void
do_leave(void)
{
	for (size_t i = 0; i < sents; i++) {
		const struct sent s = sent[i];
		struct message m = message_answer(&s.m, MESSAGE_OK);

		if (s.answered || (s.m.kind != MESSAGE_STOP &&
				   s.m.kind != MESSAGE_BYE))
			continue;
		if (s.peer < SERVER)
			m.kind = MESSAGE_BYE;
		sent[i].answered = true;
		deliver(s.peer, &m);
	}
	coord_tick(coord, now);
}

/* [WHY]: the checkpoint is published, or fails for this reason. */
static int
do_publish(char *rest, struct fail *f)
{
	struct fail why;

	(void)f;
	fail(&why, FAIL_IO, "%s", rest);
	coord_published(coord, *rest ? &why : NULL, now);
	return 0;
}

/* All results are written, and the journal is notified. */
static void
do_write(void)
{
	coord_note(coord, written, true, now);
}

/* Ends the program after the end of the run. */
static void
do_finish(void)
{
	coord_finish(coord, written, now);
}

static size_t
last_record(uint32_t kind, size_t at)
{
	while (at > 0 && kept[at - 1].kind != kind)
		at--;
	return at;
}

/* Drops records as the program does, in front of a FOLD: the last one that is
   FOLDED, or else the first one that is not empty. */
static int
drop_folded(bool settled, struct fail *f)
{
	size_t at = 0;

	if (settled)
		at = last_record(JOURNAL_FOLD,
				 last_record(JOURNAL_FOLDED, keeps));
	else
		while (at < keeps && (kept[at].kind != JOURNAL_FOLD ||
				      kept[at].size == 0))
			at++;
	at -= settled && at > 0;
	if (at == 0 || at == keeps || kept[at].size == 0)
		return fail(f, FAIL_USAGE, "nothing is folded");
	drop_records(at);
	return 0;
}

static int
do_journal(char *rest, struct fail *f)
{
	if (strcmp(rest, "is full") == 0)
		full = true;
	else if (strcmp(rest, "has room") == 0)
		full = false;
	else if (strcmp(rest, "is copied") == 0)
		copied = keeps;
	else if (strcmp(rest, "is the copy") == 0)
		lose_records(copied);
	else if (strcmp(rest, "loses STREAMS") == 0)
		lose_records(last_record(JOURNAL_STREAMS, keeps) - 1);
	else if (strcmp(rest, "is cut behind FOLD") == 0)
		lose_records(last_record(JOURNAL_FOLD, keeps));
	else if (strcmp(rest, "begins at FOLD") == 0)
		return drop_folded(false, f);
	else if (strcmp(rest, "begins at FOLDED") == 0)
		return drop_folded(true, f);
	else
		text_add(out(), "%zu records\n", keeps);
	return 0;
}

static void
do_show_wants(void)
{
	text_add(out(), "%s\n", coord_wants(coord) ? "yes" : "no");
}

static void
do_show_progress(void)
{
	struct text line = { 0 };

	coord_progress(coord, &line, now);
	text_add(out(), "%s\n", line.data);
	text_release(&line);
}

/* Adds a line of metrics, with 0 for the run and - for the version. */
static void
add_figure(const char *line)
{
	static const char run[] = "run=\"00000000000000000000000000000000";
	static const char version[] = "version=\"" PACKAGE_VERSION;
	const char *at = strstr(line, run);

	if (at) {
		text_add(out(), "%.*srun=\"0", (int)(at - line), line);
		line = at + sizeof(run) - 1;
	}
	at = strstr(line, version);
	if (at) {
		text_add(out(), "%.*sversion=\"-", (int)(at - line), line);
		line = at + sizeof(version) - 1;
	}
	text_add(out(), "%s\n", line);
}

/* [NAME...]: shows all metrics, or only these, without "pskit_". */
static int
do_show_figures(char *rest, struct fail *f)
{
	struct text all = { 0 };
	char names[256], name[64];
	size_t count;
	char **line;

	(void)f;
	snprintf(names, sizeof(names), " %s ", rest);
	coord_status(coord, &all, now, 1700000000.25);
	line = text_split(all.data, '\n', &count);
	for (size_t i = 0; i < count; i++)
		if (*line[i] && (!*rest ||
		    (sscanf(line[i], "pskit_%63[a-z_]", name) == 1 &&
		     line_lists(names, name))))
			add_figure(line[i]);
	free(line);
	text_release(&all);
	return 0;
}

/* KIND...: this block shows only messages of these kinds. */
static int
do_only(char *rest, struct fail *f)
{
	(void)f;
	snprintf(only, sizeof(only), " %s ", rest);
	return 0;
}

/* This block shows only its end. */
static void
do_quiet(void)
{
	snprintf(only, sizeof(only), " nothing ");
}

/* The events, and the words that a script may leave out. */
static const struct event {
	const char *name;
	int (*happens_with)(char *rest, struct fail *);
	void (*happens)(void);
} events[] = {
	{ "begin", do_begin, NULL }, { "run", do_run, NULL },
	{ "again", do_again, NULL }, { "resume", do_resume, NULL },
	{ "line", do_line, NULL }, { "request", do_request, NULL },
	{ "requests end", NULL, do_end },
	{ "stop", NULL, do_stop }, { "all leave", NULL, do_leave },
	{ "after", do_after, NULL }, { "pass", do_pass, NULL },
	{ "published", do_publish, NULL },
	{ "results are written", NULL, do_write },
	{ "finish", NULL, do_finish }, { "journal", do_journal, NULL },
	{ "wants requests?", NULL, do_show_wants },
	{ "progress", NULL, do_show_progress },
	{ "figures", do_show_figures, NULL }, { "only", do_only, NULL },
	{ "quiet", NULL, do_quiet }
};

static int
play_event(char *command, struct fail *f)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		const struct event *e = &events[i];
		const size_t size = strlen(e->name);
		char *rest = command + size;

		if (strncmp(command, e->name, size) != 0 ||
		    (*rest && *rest != ' ') || (*rest && e->happens))
			continue;
		if (!e->happens)
			return e->happens_with(rest + strspn(rest, " "), f);
		e->happens();
		return 0;
	}
	return fail(f, FAIL_USAGE, "nothing that happens: %s", command);
}

static int
play_one(char *command, struct fail *f)
{
	char word[32] = "";
	uint64_t peer;
	int done;

	sscanf(command, "%31s", word);
	if (!coord && !line_lists(" begin run only quiet ", word))
		return fail(f, FAIL_USAGE, "begin, or run, comes first");
	if (peer_of(word, &peer))
		done = play_deed(peer, command + strlen(word), f);
	else
		done = play_event(command, f);
	return done < 0 ? -1 : coord ? settle(f) : 0;
}

/* COMMAND; COMMAND...: plays each once. */
static int
play_all(const char *commands, struct fail *f)
{
	char *copy = mem_text(commands);
	size_t count;
	char **each = text_split(copy, ';', &count);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++)
		status = play_one(each[i] + strspn(each[i], " "), f);
	free(each);
	free(copy);
	return status;
}

/* Plays COMMAND, or "N times: COMMAND; COMMAND...". */
static int
play(char *command, struct text *to, struct fail *f)
{
	unsigned times = 1;
	int at = 0;

	came = to;
	sscanf(command, "%u times: %n", &times, &at);
	if (at == 0)
		return play_one(command, f);
	for (unsigned i = 0; i < times; i++)
		if (play_all(command + at, f) < 0)
			return -1;
	return 0;
}

static void
end_block(void)
{
	*only = '\0';
}

int
main(int argc, char **argv)
{
	static const struct script_player player = { reset, play, end_block };
	const int status = script_main(argc, argv, "t/unit/coord", &player);

	reset();
	free(sent);
	free(kept);
	return status;
}
