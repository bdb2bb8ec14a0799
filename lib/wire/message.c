#include "wire/message.h"

#include "base/visible.h"

#include "base/hash.h"
#include "base/text.h"
#include "wire/codec.h"

#include <assert.h>
#include <string.h>

#define NAME(field)	" " #field
#define ONE(field)	+ 1
#define FIELDS(kind)	"" FIELDS_##kind(NAME), 0 FIELDS_##kind(ONE)

/* The shape of each kind: its numbers, its blob and its frames. */
static const struct shape_of {
	const char *name;
	const char *fields;	/* the names of the numbers */
	size_t numbers;
	const char *blob;	/* what the blob is; NULL: there is none */
	const char *frame;	/* what each frame is */
	size_t min_frames, max_frames;
	size_t keys;		/* how many frames, the first ones, are keys */
} shapes[MESSAGE_KINDS] = {
	[MESSAGE_HELLO] = { "HELLO", FIELDS(HELLO),
		"run", "endpoint site", 0, 2, 0 },
	[MESSAGE_WELCOME] = { "WELCOME", FIELDS(WELCOME),
		"run", "", 0, 0, 0 },
	[MESSAGE_REFUSED] = { "REFUSED", FIELDS(REFUSED),
		"why", "", 0, 0, 0 },
	[MESSAGE_OK] = { "OK", FIELDS(OK),
		NULL, "steps", 0, 1, 0 },
	[MESSAGE_PING] = { "PING", FIELDS(NONE),
		NULL, "", 0, 0, 0 },
	[MESSAGE_PONG] = { "PONG", FIELDS(NONE),
		NULL, "", 0, 0, 0 },
	[MESSAGE_STOP] = { "STOP", FIELDS(NONE),
		NULL, "", 0, 0, 0 },
	[MESSAGE_BYE] = { "BYE", FIELDS(NONE),
		NULL, "", 0, 0, 0 },
	[MESSAGE_PLAN] = { "PLAN", FIELDS(PLAN),
		"run", "model plan format", 2, 3, 0 },
	[MESSAGE_MARK] = { "MARK", FIELDS(MARK),
		NULL, "", 0, 0, 0 },
	[MESSAGE_VOID] = { "VOID", FIELDS(VOID),
		NULL, "", 0, 0, 0 },
	[MESSAGE_FREEZE] = { "FREEZE", FIELDS(CUT),
		"empty", "", 0, 0, 0 },
	[MESSAGE_THAW] = { "THAW", FIELDS(THAW),
		"empty", "", 0, 0, 0 },
	[MESSAGE_SAVE] = { "SAVE", FIELDS(CUT),
		"name", "", 0, 0, 0 },
	[MESSAGE_SAVED] = { "SAVED", FIELDS(SAVED),
		"hash", "", 0, 0, 0 },
	[MESSAGE_LOAD] = { "LOAD", FIELDS(CUT),
		"name", "", 0, 0, 0 },
	[MESSAGE_PULL] = { "PULL", FIELDS(PULL),
		NULL, "keys", 1, 1, 1 },
	[MESSAGE_PUSH] = { "PUSH", FIELDS(PUSH),
		NULL, "keys gradient", 2, 2, 1 },
	[MESSAGE_PUSHPULL] = { "PUSHPULL", FIELDS(PUSH),
		NULL, "keys pulled gradient", 3, 3, 2 },
	[MESSAGE_VALUES] = { "VALUES", FIELDS(VALUES),
		NULL, "values", 0, 1, 0 },
	[MESSAGE_READY] = { "READY", FIELDS(NONE),
		NULL, "", 0, 0, 0 },
	[MESSAGE_LEASE] = { "LEASE", FIELDS(LEASE),
		NULL, "block after call", 0, 3, 0 },
	[MESSAGE_CANCEL] = { "CANCEL", FIELDS(CANCEL),
		NULL, "", 0, 0, 0 },
	[MESSAGE_DONE] = { "DONE", FIELDS(DONE),
		NULL, "results scores labels", 1, 3, 0 },
	[MESSAGE_FAILED] = { "FAILED", FIELDS(FAILED),
		"why", "", 0, 0, 0 },
	[MESSAGE_EXHAUSTED] = { "EXHAUSTED", FIELDS(EXHAUSTED),
		NULL, "", 0, 0, 0 },
	[MESSAGE_LOST] = { "LOST", FIELDS(LOST),
		"why", "", 0, 0, 0 },
	[MESSAGE_EVALUATE] = { "EVALUATE", FIELDS(EVALUATE),
		NULL, "files", 1, 1, 0 },
	[MESSAGE_EVALUATED] = { "EVALUATED", FIELDS(DONE),
		NULL, "result scores labels", 1, 3, 0 },
	[MESSAGE_CUT] = { "CUT", FIELDS(CUT),
		"empty", "", 0, 0, 0 },
	[MESSAGE_COMMIT] = { "COMMIT", FIELDS(COMMIT),
		NULL, "attempts", 1, 1, 0 },
	[MESSAGE_INDEX] = { "INDEX", FIELDS(INDEX),
		NULL, "span", 1, 1, 0 },
	[MESSAGE_INDEXED] = { "INDEXED", FIELDS(INDEXED),
		NULL, "places", 1, 1, 0 },
	[MESSAGE_STANDBY] = { "STANDBY", FIELDS(STANDBY),
		NULL, "endpoint", 0, 1, 0 },
	[MESSAGE_SYNC] = { "SYNC", FIELDS(SYNC),
		"run", "model plan windows", 3, 3, 0 },
	[MESSAGE_STATE] = { "STATE", FIELDS(STATE),
		NULL, "values", 1, 1, 0 },
	[MESSAGE_HELD] = { "HELD", FIELDS(HELD),
		NULL, "", 0, 0, 0 },
	[MESSAGE_SUBMIT] = { "SUBMIT", FIELDS(SUBMIT),
		NULL, "requests", 0, 1, 0 },
	[MESSAGE_RESULTS] = { "RESULTS", FIELDS(RESULTS),
		NULL, "results", 0, 1, 0 },
	[MESSAGE_RELAY] = { "RELAY", FIELDS(RELAY),
		NULL, "endpoint", 0, 1, 0 },
	[MESSAGE_BUNDLE] = { "BUNDLE", FIELDS(BUNDLE),
		NULL, "messages", 1, 1, 0 },
	[MESSAGE_CHECK] = { "CHECK", FIELDS(COMMIT),
		NULL, "attempts", 1, 1, 0 },
	[MESSAGE_MISSING] = { "MISSING", FIELDS(NONE),
		NULL, "slots", 1, 1, 0 },
	[MESSAGE_RESIDUAL] = { "RESIDUAL", FIELDS(RESIDUAL),
		NULL, "", 0, 0, 0 },
};

const char *
message_name(enum message_kind kind)
{
	return kind > 0 && kind < MESSAGE_KINDS ? shapes[kind].name : "?";
}

const char *
message_fields(enum message_kind kind)
{
	return kind > 0 && kind < MESSAGE_KINDS ? shapes[kind].fields : "?";
}

/* Hashes a text of all that two programs must agree on. */
uint64_t
message_table(void)
{
	struct text all = { 0 };
	uint64_t hash;

	text_add(&all, "%d %zu %d %d %d %d %d\n", WIRE_MEANING, WIRE_FRAME,
		 MESSAGE_BLOB, WIRE_REPLICAS, WIRE_RECALL, OUTCOMES,
		 CODECS);
	for (size_t i = 1; i < MESSAGE_KINDS; i++) {
		const struct shape_of *s = &shapes[i];

		text_add(&all, "%zu %s%s; %s; %s %zu %zu %zu\n", i, s->name,
			 s->fields, s->blob ? s->blob : "", s->frame,
			 s->min_frames, s->max_frames, s->keys);
	}
	hash = hash64(all.data, all.size);
	text_release(&all);
	return hash;
}

/* ---- HELLO, which tells programs apart ---- */

#define TABLE	8		/* bytes of its blob, before the run */

static void
pack_hello(struct pack *p, const struct message *m)
{
	unsigned char bytes[TABLE + MESSAGE_BLOB];
	const uint64_t table = message_table() ^ m->foreign;

	assert(m->blob.size <= MESSAGE_BLOB - TABLE);
	for (size_t i = 0; i < TABLE; i++)
		bytes[i] = (unsigned char)(table >> 8 * i);
	if (m->blob.size > 0)
		memcpy(bytes + TABLE, m->blob.data, m->blob.size);
	pack_blob(p, bytes, TABLE + m->blob.size);
}

/* Cut the hash of the message table off the blob, so that the run is left.
   false: the hash is not ours. */
static bool
unpack_hello(struct message *m)
{
	const unsigned char *bytes = m->blob.data;
	uint64_t table = 0;

	if (m->blob.size < TABLE)
		return false;
	for (size_t i = 0; i < TABLE; i++)
		table |= (uint64_t)bytes[i] << 8 * i;
	m->blob.data = bytes + TABLE;
	m->blob.size -= TABLE;
	return table == message_table();
}

/* Read a HELLO of another version or table: only its beginning is the same. */
static bool
read_foreign(struct message *m, const void *header, size_t size)
{
	struct unpack u = unpack_from(header, size);

	unpack_array(&u);
	unpack_uint(&u);
	*m = (struct message){ .kind = MESSAGE_HELLO, .foreign = true };
	m->request = unpack_uint(&u);
	m->hello.version = unpack_uint(&u);
	return !u.bad;
}

int
message_check_hello(const struct message *m, struct fail *f)
{
	if (m->hello.version != WIRE_VERSION)
		return fail(f, FAIL_PROTOCOL, "protocol version %llu, not %d: "
			    "use programs of one release",
			    (unsigned long long)m->hello.version,
			    WIRE_VERSION);
	if (m->foreign)
		return fail(f, FAIL_PROTOCOL, "protocol version %d, but with "
			    "other messages: use programs of one build",
			    WIRE_VERSION);
	return 0;
}

/* ---- headers ---- */

void
message_write(struct pack *p, const struct message *m)
{
	const struct shape_of *shape = &shapes[m->kind];

	pack_array(p, 2 + shape->numbers + (shape->blob != NULL));
	pack_uint(p, m->kind);
	pack_uint(p, m->request);
	for (size_t i = 0; i < shape->numbers; i++)
		pack_uint(p, m->number[i]);
	if (m->kind == MESSAGE_HELLO)
		pack_hello(p, m);
	else if (shape->blob)
		pack_blob(p, m->blob.data, m->blob.size);
}

static bool
unpack_message(struct message *m, struct unpack *u, uint32_t count)
{
	const struct shape_of *shape = &shapes[m->kind];

	for (size_t i = 0; i < shape->numbers; i++)
		m->number[i] = unpack_uint(u);
	if (shape->blob)
		m->blob.data = unpack_blob(u, &m->blob.size);
	return unpack_ok(u) &&
		count == 2 + shape->numbers + (shape->blob != NULL) &&
		m->blob.size <= MESSAGE_BLOB;
}

int
message_read(struct message *m, const void *header, size_t size,
	     struct fail *f)
{
	struct unpack u = unpack_from(header, size);
	const uint32_t count = unpack_array(&u);
	const uint64_t kind = unpack_uint(&u);
	bool sound;

	*m = (struct message){ 0 };
	m->request = unpack_uint(&u);
	if (u.bad || kind == 0 || kind >= MESSAGE_KINDS)
		return fail(f, FAIL_PROTOCOL, "not a message");
	m->kind = (enum message_kind)kind;
	sound = unpack_message(m, &u, count);
	if (m->kind == MESSAGE_HELLO &&
	    !(sound && m->hello.version == WIRE_VERSION && unpack_hello(m)))
		sound = read_foreign(m, header, size);
	return sound ? 0 : fail(f, FAIL_PROTOCOL, "malformed %s",
				shapes[kind].name);
}

int
message_check_frames(const struct message *m, struct fail *f)
{
	const struct shape_of *shape = &shapes[m->kind];

	if (m->foreign)
		return 0;
	if (m->frames >= shape->min_frames && m->frames <= shape->max_frames)
		return 0;
	return fail(f, FAIL_PROTOCOL, "%s with %zu frames", shape->name,
		    m->frames);
}

size_t
message_unsent(const struct message *m)
{
	size_t n = 0;

	while (n < shapes[m->kind].keys && m->frame[n].size == 0)
		n++;
	return n;
}

size_t
message_missing(enum message_kind kind, size_t frames)
{
	const struct shape_of *shape = &shapes[kind];
	const size_t missing = shape->max_frames - frames;

	return frames <= shape->max_frames && missing <= shape->keys ?
		missing : 0;
}

struct message
message_answer(const struct message *to, enum message_kind kind)
{
	return (struct message){ .kind = kind, .request = to->request };
}

struct message
message_hello(enum role role, uint64_t index, uint64_t life, uint64_t term)
{
	struct message m = { .kind = MESSAGE_HELLO };

	m.hello.version = WIRE_VERSION;
	m.hello.role = role;
	m.hello.index = index;
	m.hello.life = life;
	m.hello.term = term;
	return m;
}

bool
message_is_name(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' ||
		    name[i] == '\\')
			return false;
	return size > 0 && size < WIRE_NAME;
}

int
message_site(const struct message *m, char site[WIRE_NAME], struct fail *f)
{
	const struct frame *name = &m->frame[1];

	*site = '\0';
	if (m->frames < 2)
		return 0;
	if (!message_is_name(name->data, name->size))
		return fail(f, FAIL_PROTOCOL, "a site's name is a word of 1 "
			    "to %d characters", WIRE_NAME - 1);
	memcpy(site, name->data, name->size);
	site[name->size] = '\0';
	return 0;
}

struct message
message_refuse(const struct message *to, enum fail_kind status,
	       const char *text)
{
	struct message m = message_answer(to, MESSAGE_REFUSED);

	m.refused.status = status;
	m.blob.data = text;
	m.blob.size = strnlen(text, MESSAGE_BLOB);
	return m;
}

enum fail_kind
message_status(uint64_t status)
{
	return status >= FAIL_USAGE && status <= FAIL_CONFIG ?
		(enum fail_kind)status : FAIL_PROTOCOL;
}

void
message_text(const struct message *m, char *text, size_t size)
{
	visible_copy(text, size, m->blob.data, m->blob.size);
}

uint64_t
message_node(uint64_t replica, unsigned level)
{
	return replica + level * (uint64_t)WIRE_REPLICAS;
}

uint64_t
message_replica(uint64_t slot)
{
	return slot % WIRE_REPLICAS;
}

uint64_t
message_level(uint64_t slot)
{
	return slot / WIRE_REPLICAS;
}

uint64_t
message_float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

float
message_float(uint64_t number)
{
	const uint32_t bits = (uint32_t)number;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

uint64_t
message_double_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

double
message_double(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}
