/* Every kind of message is the same when it is written and read again; a
   malformed one is refused by name. */
#include "wire/message.h"

#include "base/rng.h"

#include "tap.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char text[] = "some words";
static struct fail f;

static struct message
sample(enum message_kind kind, struct rng *rng)
{
	struct message m = { .kind = kind, .request = rng_next(rng) };

	for (size_t i = 0; i < MESSAGE_NUMBERS; i++)
		m.number[i] = rng_next(rng) >> rng_below(rng, 64);
	if (kind == MESSAGE_HELLO)
		m.hello.version = WIRE_VERSION;
	m.blob = (struct frame){ text, strlen(text), NULL };
	return m;
}

/* Does the message that was read equal the one written?  Missing numbers are
   0. */
static bool
same(const struct message *m, const struct message *read)
{
	size_t n = MESSAGE_NUMBERS;

	while (n > 0 && read->number[n - 1] == 0)
		n--;
	return m->kind == read->kind && m->request == read->request &&
		memcmp(m->number, read->number, n * 8) == 0 &&
		(read->blob.size == 0 ||
		 (read->blob.size == m->blob.size &&
		  memcmp(read->blob.data, text, m->blob.size) == 0));
}

/* Are the bytes malformed, or a HELLO of another version? */
static bool
unreadable(const void *bytes, size_t size)
{
	struct message read;

	if (message_read(&read, bytes, size, &f) < 0)
		return f.kind == FAIL_PROTOCOL;
	fail(&f, FAIL_PROTOCOL, "malformed HELLO");
	return read.kind == MESSAGE_HELLO && read.foreign;
}

static void
goes_round(enum message_kind kind, struct rng *rng)
{
	const struct message m = sample(kind, rng);
	struct pack p = { 0 }, again = { 0 };
	struct message read;
	char why[64];

	message_write(&p, &m);
	named_for(message_read(&read, p.data, p.size, &f) == 0 &&
		  same(&m, &read), "%s is read back as it was written",
		  message_name(kind));
	message_write(&again, &read);
	named_for(again.size == p.size &&
		  memcmp(again.data, p.data, p.size) == 0,
		  "%s that was read is written with the same bytes",
		  message_name(kind));

	/* The message is cut short, or has a byte too many. */
	snprintf(why, sizeof(why), "malformed %s", message_name(kind));
	named_for(unreadable(p.data, p.size - 1) &&
		  (strcmp(f.text, why) == 0 ||
		   strcmp(f.text, "not a message") == 0),
		  "%s without its last byte is refused", message_name(kind));
	pack_uint(&p, 0);
	named_for(unreadable(p.data, p.size) &&
		  (kind == MESSAGE_HELLO || strcmp(f.text, why) == 0),
		  "%s with a byte too many is refused by name",
		  message_name(kind));
	pack_release(&p);
	pack_release(&again);
}

/* Is a message with any byte changed refused, or valid with the content of its
   bytes? */
static bool
sound(enum message_kind kind, struct rng *rng)
{
	const struct message m = sample(kind, rng);
	struct pack p = { 0 }, again = { 0 };
	struct message read;
	bool good = true;

	message_write(&p, &m);
	for (size_t i = 0; i < p.size; i++)
		for (unsigned to = 0; to < 256; to++) {
			const unsigned char was = p.data[i];

			p.data[i] = (unsigned char)to;
			pack_reset(&again);
			if (message_read(&read, p.data, p.size, &f) == 0 &&
			    !read.foreign) {
				message_write(&again, &read);
				good = good && again.size == p.size &&
					memcmp(again.data, p.data,
					       p.size) == 0;
			}
			p.data[i] = was;
		}
	pack_release(&p);
	pack_release(&again);
	return good;
}

/* Is this HELLO of another version, or with other messages, recognized? */
static bool
is_foreign(const struct pack *p, uint64_t version, const char *why)
{
	struct message m;

	return message_read(&m, p->data, p->size, &f) == 0 &&
		m.kind == MESSAGE_HELLO && m.foreign && m.request == 7 &&
		m.hello.version == version && m.hello.life == 0 &&
		m.blob.size == 0 && message_check_frames(&m, &f) == 0 &&
		message_check_hello(&m, &f) < 0 &&
		f.kind == FAIL_PROTOCOL && strcmp(f.text, why) == 0;
}

static void
foreign(void)
{
	static const char other[] = "protocol version 2, but with other "
		"messages: use programs of one build";
	struct message m = { .kind = MESSAGE_HELLO, .request = 7 };
	struct pack p = { 0 };

	m.hello.version = WIRE_VERSION;
	m.hello.life = 3;
	message_write(&p, &m);
	ok(message_read(&m, p.data, p.size, &f) == 0 && !m.foreign &&
	   m.hello.life == 3 && m.blob.size == 0 &&
	   message_check_hello(&m, &f) == 0);

	/* Flip a bit of the hash of the message table, which is at the end. */
	p.data[p.size - 1] ^= 1;
	named(is_foreign(&p, WIRE_VERSION, other),
	      "a HELLO with another message table is foreign");
	p.data[p.size - 1] ^= 1;
	pack_uint(&p, 0);
	p.data[0]++;
	named(is_foreign(&p, WIRE_VERSION, other),
	      "a HELLO with more fields is foreign");

	/* Version 1 had no hash. */
	static const uint64_t one[] = { MESSAGE_HELLO, 7, 1, ROLE_WORKER,
					WIRE_NONE, 3, 0 };

	pack_reset(&p);
	pack_array(&p, 8);
	for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++)
		pack_uint(&p, one[i]);
	pack_blob(&p, "", 0);
	named(is_foreign(&p, 1, "protocol version 1, not 2: use programs of "
			 "one release"), "a HELLO of version 1 is foreign");

	/* Only the beginning of the HELLO of a later version is known. */
	pack_reset(&p);
	pack_array(&p, 4);
	pack_uint(&p, MESSAGE_HELLO);
	pack_uint(&p, 7);
	pack_uint(&p, 300);
	pack_array(&p, 0);
	named(is_foreign(&p, 300, "protocol version 300, not 2: use programs "
			 "of one release"),
	      "a HELLO of version 300 is foreign");
	pack_release(&p);
}

/* The table has the name of each field, so that the hash covers the fields. */
static void
fields(void)
{
	ok(strcmp(message_fields(MESSAGE_HELLO),
		  " version role index life term") == 0);
	equals(message_fields(MESSAGE_PING), "");
	equals(message_fields(MESSAGE_KINDS), "?");
	ok(message_table() != 0 && message_table() == message_table());
}

static void
frames(void)
{
	struct message m = { .kind = MESSAGE_PUSH, .frames = 2 };

	equals(message_check_frames(&m, &f), 0);
	m.frames = 3;
	ok(message_check_frames(&m, &f) < 0 && f.kind == FAIL_PROTOCOL);
	equals(f.text, "PUSH with 3 frames");
	m.kind = MESSAGE_PING;
	m.frames = 0;
	equals(message_check_frames(&m, &f), 0);
	m.frames = 1;
	ok(message_check_frames(&m, &f) < 0);
}

/* Of empty frames in front only keys are not sent. */
static void
unsent(void)
{
	struct message m = { .kind = MESSAGE_PUSHPULL, .frames = 3 };

	equals(message_unsent(&m), 2);
	m.frame[1].size = 1;
	equals(message_unsent(&m), 1);
	m.frame[0].size = 1;
	m.frame[1].size = 0;
	equals(message_unsent(&m), 0);
	m = (struct message){ .kind = MESSAGE_VALUES, .frames = 1 };
	equals(message_unsent(&m), 0);
	for (size_t frames = 0; frames < 6; frames++) {
		ok(message_missing(MESSAGE_PUSHPULL, frames) ==
		   (frames == 1 || frames == 2 ? 3 - frames : 0));
		ok(message_missing(MESSAGE_PULL, frames) == (frames == 0));
		equals(message_missing(MESSAGE_VALUES, frames), 0);
	}
}

static void
answers(void)
{
	static const char longest[MESSAGE_BLOB + 100];
	const struct message to = { .kind = MESSAGE_PULL, .request = 7 };
	struct message m = message_answer(&to, MESSAGE_VALUES);
	char out[8];

	ok(m.kind == MESSAGE_VALUES && m.request == 7 && m.frames == 0);
	m = message_refuse(&to, FAIL_AGAIN, "not\nnow, please");
	ok(m.kind == MESSAGE_REFUSED && m.request == 7 &&
	   m.refused.status == FAIL_AGAIN);
	message_text(&m, out, sizeof(out));
	equals(out, "not?now");

	char words[sizeof(longest)];

	memset(words, 'x', sizeof(words));
	words[sizeof(words) - 1] = '\0';
	m = message_refuse(&to, FAIL_AGAIN, words);
	equals(m.blob.size, MESSAGE_BLOB);
	equals(message_name(MESSAGE_KINDS), "?");
	equals(message_name((enum message_kind)0), "?");
}

static void
nonsense(void)
{
	struct pack p = { 0 };
	struct message m;

	ok(message_read(&m, NULL, 0, &f) < 0);
	equals(f.text, "not a message");
	pack_array(&p, 2);
	pack_uint(&p, MESSAGE_KINDS);
	pack_uint(&p, 1);
	ok(message_read(&m, p.data, p.size, &f) < 0);
	equals(f.text, "not a message");

	/* A blob that is too long is refused. */
	char words[MESSAGE_BLOB + 1] = "";

	m = (struct message){ .kind = MESSAGE_FAILED,
			      .blob = { words, sizeof(words), NULL } };
	pack_reset(&p);
	message_write(&p, &m);
	ok(message_read(&m, p.data, p.size, &f) < 0);
	equals(f.text, "malformed FAILED");
	pack_release(&p);
}

static void
floats(void)
{
	static const float some[] = { 0, -0.0f, 1, -1.5f, FLT_MAX, FLT_MIN,
				      INFINITY };
	bool same_bits = true;

	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		const float f1 = message_float(message_float_bits(some[i]));
		const double d = message_double(
			message_double_bits((double)some[i] / 3));

		same_bits = same_bits &&
			memcmp(&f1, &some[i], sizeof(f1)) == 0 &&
			d == (double)some[i] / 3;
	}
	named(same_bits, "floats and doubles keep every bit in a message");
	equals(message_float_bits(0), 0);
}

int
main(void)
{
	struct rng rng = { .seed = 2 };
	bool good = true;

	for (int k = 1; k < MESSAGE_KINDS; k++) {
		goes_round((enum message_kind)k, &rng);
		good = good && sound((enum message_kind)k, &rng);
	}
	named(good,
	      "a message with any byte changed is refused, or is another "
	      "valid message");
	foreign();
	fields();
	frames();
	unsent();
	answers();
	nonsense();
	floats();
	return tap_done();
}
