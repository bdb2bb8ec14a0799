/* The messages of a bundle are the same when they are read again; malformed
   bundles are refused. */
#include "wire/bundle.h"

#include "tap.h"

#include <string.h>

static struct fail f;

static int
read_one(const void *bytes, size_t size, struct message *m)
{
	struct bundle b = { bytes, size };

	return bundle_next(&b, m, &f);
}

static void
test_round(void)
{
	struct message pull = { .kind = MESSAGE_PULL, .request = 7,
				.frames = 1 };
	struct message push = { .kind = MESSAGE_PUSHPULL, .request = 8,
				.frames = 3 };
	struct pack p = { 0 };
	struct bundle b;
	struct message m;

	pull.pull.part = 3;
	push.push.step = 5;
	push.frame[0] = (struct frame){ "keys", 4, NULL };
	push.frame[2] = (struct frame){ "gradient", 8, NULL };
	bundle_add(&p, &pull);
	named(p.size <= bundle_size(&pull),
	      "a packed pull is no longer than bundle_size() says");
	bundle_add(&p, &push);
	b = (struct bundle){ p.data, p.size };
	named(bundle_next(&b, &m, &f) == 1 && m.kind == MESSAGE_PULL &&
	      m.request == 7 && m.pull.part == 3 && m.frames == 1 &&
	      m.frame[0].size == 0,
	      "the first message of the bundle is the pull, whose keys are "
	      "left out");
	named(bundle_next(&b, &m, &f) == 1 && m.kind == MESSAGE_PUSHPULL &&
	      m.push.step == 5 && m.frames == 3 &&
	      memcmp(m.frame[0].data, "keys", 4) == 0 &&
	      m.frame[1].size == 0 && m.frame[2].size == 8 &&
	      memcmp(m.frame[2].data, "gradient", 8) == 0,
	      "the second message of the bundle is the push, with all its "
	      "frames");
	named_equals(bundle_next(&b, &m, &f), 0,
		     "the bundle has no third message");

	size_t cuts = 0;

	for (size_t size = 1; size < p.size; size++) {
		b = (struct bundle){ p.data, size };
		while (bundle_next(&b, &m, &f) == 1)
			;
		cuts += b.left == 0 && strstr(f.text, "bundle") == NULL;
		f.text[0] = '\0';
	}
	named_equals(cuts, 1,
		     "a bundle cut anywhere but between its messages is "
		     "refused");
	pack_release(&p);
}

static void
test_refused(void)
{
	unsigned char bytes[64] = { 3, 0, 0, 0 };
	struct message m;

	memcpy(bytes + 20, "\x92\x05\x00", 3);
	named(read_one(bytes, 23, &m) < 0 && f.kind == FAIL_PROTOCOL &&
	      strcmp(f.text, "a bundle with something other than pulls and "
		     "pushes") == 0, "a PING in a bundle is refused");
	bytes[4] = 4;
	named(read_one(bytes, 23, &m) < 0,
	      "a message of four frames in a bundle is refused");
	bytes[4] = 0;
	bytes[3] = 0xff;
	named(read_one(bytes, 23, &m) < 0,
	      "a message longer than its bundle is refused");
}

int
main(void)
{
	test_round();
	test_refused();
	return tap_done();
}
