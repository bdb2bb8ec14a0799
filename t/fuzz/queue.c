/*
 * The messages of submitters and a coordinator to each other.
 *
 * The bytes are a script of events: a byte for the kind, and the bytes that
 * this kind needs.  After each event the coordinator's invariants hold, and a
 * second coordinator that is started with its journal knows the same of each
 * submitter.
 */
#include "base/mem.h"
#include "client/submission.h"
#include "coord/coord_private.h"
#include "coord/submitters.h"

#include "fuzz.h"

#include <string.h>

#define SERVER	1000
#define PEERS	4
#define RECORDS	256

static const char text[] =
	"input x sparse[4]\nlabel y binary\nlogit = linear x\n"
	"loss binary_crossentropy logit from_logits=true\noptimizer sgd\n";

struct kept_record {
	uint32_t kind;
	void *bytes;
	size_t size;
};

static struct model_source source;
static struct model *model;
static struct kept_record record[RECORDS];
static size_t records;
static uint64_t server;		/* the peer that was dialled last */
static const uint8_t *at, *end;

static uint8_t
byte(void)
{
	return at < end ? *at++ : 0;
}

static uint64_t
number(void)
{
	const uint8_t few = byte();

	return few < 255 ? few : UINT64_MAX - byte();
}

/* Takes the number of bytes that the next byte says, or all; mostly with a
   newline at their end. */
static struct frame
lines(void)
{
	static char bytes[1024];
	size_t n = byte();

	if (n > (size_t)(end - at))
		n = (size_t)(end - at);
	memcpy(bytes, at, n);
	at += n;
	if (byte() % 8 > 0)
		bytes[n++] = '\n';
	return (struct frame){ bytes, n, NULL };
}

static int
send(void *to, uint64_t peer, const struct message *m)
{
	struct fail f;

	(void)to, (void)peer;
	FUZZ_CHECK(message_check_frames(m, &f) == 0);
	if (m->kind == MESSAGE_RESULTS && m->frames > 0)
		FUZZ_CHECK(((const char *)m->frame[0].data)
			   [m->frame[0].size - 1] == '\n');
	return 0;
}

static int
dial(void *to, const char *endpoint, uint64_t *peer, struct fail *f)
{
	(void)to, (void)endpoint, (void)f;
	*peer = ++server;
	return 0;
}

static void
hang_up(void *to, uint64_t peer)
{
	(void)to, (void)peer;
}

static struct outbox outbox = {
	.send = send, .dial = dial, .hang_up = hang_up
};

/* ---- a journal ---- */

/* Drops what the last FOLD of the journal replaces. */
static void
drop_folded(void)
{
	size_t from = records;

	while (from > 0 && record[from - 1].kind != JOURNAL_FOLD)
		from--;
	FUZZ_CHECK(from > 0 && record[from - 1].size > 0);
	for (size_t i = 0; i < from - 1; i++)
		free(record[i].bytes);
	records -= from - 1;
	memmove(record, record + from - 1, records * sizeof(*record));
}

static int
add(void *to, uint32_t kind, const void *bytes, size_t size, bool safe,
    struct fail *f)
{
	(void)to, (void)safe;
	if (records == RECORDS)
		return fail(f, FAIL_IO, "no room");
	record[records] = (struct kept_record){
		kind, mem_alloc(size + 1, 1), size
	};
	memcpy(record[records++].bytes, bytes, size);
	if (kind == JOURNAL_FOLDED)
		drop_folded();
	return 0;
}

static const struct journal journal = { .add = add };

/* ---- a coordinator ---- */

static struct coord *
begin(void)
{
	static char *endpoint[] = { (char *)(uintptr_t)"node:1" };
	const struct coord_options o = {
		.endpoint = "node:0", .server = endpoint, .servers = 1,
		.batch = 4, .pack = 2, .in_flight = 2, .min_workers = 1,
		.timeout_ms = 5000, .patience_ms = 8000, .lease_ms = 1000,
		.grace_ms = 7000, .forget_ms = 100000, .queue = true,
		.fold_bytes = 1, .journal = &journal
	};
	struct fail f;
	struct coord *c;

	if (!model) {
		source = (struct model_source){ .count = 1 };
		source.file = mem_alloc(1, sizeof(*source.file));
		source.file->name = mem_text("model.ps");
		source.file->text = mem_text(text);
		source.file->size = strlen(text);
		model = model_parse(&source, &f);
		FUZZ_CHECK(model);
	}
	server = SERVER - 1;
	c = coord_new(&o, &source, model, &outbox, 1000, &f);
	FUZZ_CHECK(c);
	return c;
}

static void
receive(struct coord *c, uint64_t peer, const struct message *m, uint64_t now)
{
	coord_receive(c, peer, m, now);
	FUZZ_CHECK(!coord_check(c, now));
}

/* Brings the run to the point where its server has the plan and submitters take
   turns. */
static void
run(struct coord *c)
{
	struct message m = { .kind = MESSAGE_WELCOME };

	coord_up(c, server, 1000);
	m.welcome.version = WIRE_VERSION;
	m.welcome.role = ROLE_SERVER;
	m.welcome.life = 7;
	receive(c, server, &m, 1000);
	m = (struct message){ .kind = MESSAGE_OK, .request = 1 };
	m.ok.initial = 1;
	receive(c, server, &m, 1000);
}

static void
calls(struct coord *c, uint64_t peer, uint64_t now)
{
	static const char *const name[] = { "a", "b", "c", "" };
	struct message m = message_hello(ROLE_SUBMITTER, byte() % 4, 7, 0);
	const char *of = name[byte() % 4];

	m.frames = 1;
	m.frame[0] = (struct frame){ of, strlen(of), NULL };
	receive(c, peer, &m, now);
}

/* Sends SUBMIT with the numbers that are due, or with others. */
static void
submits(struct coord *c, uint64_t peer, bool due, uint64_t now)
{
	const struct submitters *s = c->submitters;
	const size_t i = submitters_at(s, peer);
	struct message m = { .kind = MESSAGE_SUBMIT };

	m.submit.first = number();
	m.submit.hash = number();
	m.submit.received = number();
	if (due && i != SUBMITTER_NONE) {
		m.submit.first = submitters_accepted(s, i) + 1;
		m.submit.hash = submitters_hash(s, i);
	}
	m.frames = byte() % 8 > 0;
	if (m.frames > 0)
		m.frame[0] = lines();
	receive(c, peer, &m, now);
}

static void
own(struct coord *c, uint64_t now)
{
	static uint64_t count;
	struct frame line = lines();
	char *copy = mem_text_n(line.data, line.size);

	copy[strcspn(copy, "\n")] = '\0';
	if (coord_wants(c))
		coord_request(c, copy, strlen(copy), ++count, now);
	free(copy);
}

static void
event(struct coord *c, uint64_t *now)
{
	const struct message bye = { .kind = MESSAGE_BYE };
	const uint8_t what = byte();
	const uint64_t peer = 1 + what / 16 % PEERS;

	*now += what % 5;
	switch (what % 16) {
	case 0:
	case 1:
		calls(c, peer, *now);
		break;
	case 2:
		submits(c, peer, false, *now);
		break;
	case 3:
		receive(c, peer, &bye, *now);
		break;
	case 4:
		own(c, *now);
		break;
	case 5:
		*now += 10 * number() % 10000;
		break;
	case 6:
		text_reset(coord_output(c));
		break;
	case 7:
		coord_end_of_requests(c, *now);
		break;
	case 8:
	case 9:
	case 10:
		coord_tick(c, *now);
		FUZZ_CHECK(!coord_check(c, *now));
		break;
	default:
		submits(c, peer, true, *now);
	}
}

static bool
same(const struct submitters *a, const struct submitters *b, size_t i)
{
	const struct text *x = submitters_output(a, i);
	const struct text *y = submitters_output(b, i);

	return submitters_accepted(a, i) == submitters_accepted(b, i) &&
		submitters_hash(a, i) == submitters_hash(b, i) &&
		submitters_pending(a, i) == submitters_pending(b, i) &&
		submitters_closed(a, i) == submitters_closed(b, i) &&
		submitters_room(a, i) == submitters_room(b, i) &&
		(i == SUBMITTER_OWN ||
		 (x->size == y->size &&
		  (x->size == 0 || memcmp(x->data, y->data, x->size) == 0)));
}

/* All is in the journal once pending answers have been sent. */
static void
restart(struct coord *c, uint64_t now)
{
	struct coord *again;
	struct fail f;

	for (int i = 0; i < 3; i++)
		coord_tick(c, now += 200);
	coord_note(c, 0, true, now);
	if (records == RECORDS || c->phase == PHASE_END)
		return;
	again = begin();
	for (size_t i = 0; i < records; i++)
		FUZZ_CHECK(coord_replay(again, record[i].kind,
					record[i].bytes, record[i].size,
					&f) == 0);
	for (size_t i = 0; i < submitters_count(c->submitters); i++)
		if (submitters_used(c->submitters, i) &&
		    !submitters_leaving(c->submitters, i))
			FUZZ_CHECK(submitters_used(again->submitters, i) &&
				   same(c->submitters, again->submitters, i));
	FUZZ_CHECK(submitters_all_pending(c->submitters) ==
		   submitters_all_pending(again->submitters));
	coord_free(again);
}

static void
coordinator(void)
{
	struct coord *c = begin();
	struct coord_progress before;
	uint64_t now = 1000;
	struct fail f;

	FUZZ_CHECK(coord_start(c, &before, &f) == 0);
	if (byte() % 4 > 0)
		run(c);
	while (at < end)
		event(c, &now);
	restart(c, now);
	coord_free(c);
	while (records > 0)
		free(record[--records].bytes);
}

/* ---- a submitter ---- */

static void
submitter(void)
{
	const struct submission_options o = {
		.coordinator = "c", .name = "me", .life = 7,
		.timeout_ms = 1000, .whole = byte() % 2,
		.received = byte() % 2 ? number() : WIRE_NONE
	};
	struct submission *s;
	struct fail f;
	uint64_t now = 1;
	int status;

	s = submission_new(&o, &outbox, now, &f);
	submission_up(s, now);
	while (at < end) {
		static const enum message_kind kind[] = {
			MESSAGE_WELCOME, MESSAGE_RESULTS, MESSAGE_RESULTS,
			MESSAGE_PING, MESSAGE_STOP, MESSAGE_REFUSED
		};
		struct message m = { .kind = kind[byte() % 6] };
		struct frame line;

		if (m.kind == MESSAGE_RESULTS) {
			m.results.accepted = number();
			m.results.hash = number();
			m.results.room = number();
			m.results.pending = number();
			m.results.first = number();
			m.results.status = number();
			m.frames = byte() % 4 > 0;
			m.frame[0] = lines();
		}
		if (submission_receive(s, &m, now, &f) < 0)
			break;
		line = lines();
		if (submission_has_room(s) && line.size > 0 &&
		    submission_add_line(s, line.data, line.size - 1, &f) < 0)
			break;
		if (byte() % 2)
			text_reset(submission_output(s));
		if (submission_needs_sync(s))
			submission_synced(s);
		if (submission_tick(s, ++now, &f) < 0 ||
		    submission_over(s, &status))
			break;
	}
	submission_leave(s);
	submission_free(s);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	at = data;
	end = data + size;
	if (byte() % 4 == 0)
		submitter();
	else
		coordinator();
	return 0;
}
