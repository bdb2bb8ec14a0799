/* Arrays in memory that is shared with a program: where they lie, which are
   written again, and that the program cannot take the memory away. */
#include "prog/shared_arrays.h"

#include "sys/shared_memory.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maps the memory as the program does. */
static char *
map(const struct shared_arrays *s)
{
	void *at = mmap(NULL, shared_arrays_size(s), PROT_READ | PROT_WRITE,
			MAP_SHARED, shared_arrays_file(s), 0);

	ok(at != MAP_FAILED);
	return at;
}

static struct external_array
array(const char *name, size_t examples, float *at)
{
	return (struct external_array){ .name = name, .examples = examples,
					.shape = { 1, { 3 } }, .at = at };
}

static void
test_places(void)
{
	static float x[3000], w[3] = { 1, 2, 3 }, g[3];
	struct external_array sent[] = { array("x", 2, x), array("w", 0, w) };
	struct external_array wanted[] = { array("w", 0, g) };
	struct external_call c = { .sent = sent, .sents = 2, .wanted = wanted,
				   .wanteds = 1 };
	struct shared_arrays *s = shared_arrays_new();
	const struct shared_place *to, *from;
	size_t x_at, w_at;
	struct fail f;
	char *seen;

	ok(s && shared_arrays_send(s, 0, &c, &to, &from, &f) == 0);
	x_at = to[0].offset;
	w_at = to[1].offset;
	named(x_at % SHARED_ALIGN == 0 && w_at % SHARED_ALIGN == 0 &&
	      from[0].offset % SHARED_ALIGN == 0 && from[0].offset != w_at,
	      "each array has an aligned place of its own");
	named(!to[0].unchanged && !to[1].unchanged,
	      "all arrays of the first request are new");
	seen = map(s);
	named(memcmp(seen + w_at, w, sizeof(w)) == 0,
	      "the program sees the sent array in its place");

	memcpy(seen + from[0].offset, (float[3]){ 4, 5, 6 }, sizeof(g));
	shared_arrays_receive(s, &c, from);
	named(g[0] == 4 && g[2] == 6,
	      "the wanted array is read from its place");

	x[5] = 7;
	equals(shared_arrays_send(s, 0, &c, &to, &from, &f), 0);
	named(to[0].offset == x_at && to[1].offset == w_at,
	      "arrays keep their places in the next request");
	named(!to[0].unchanged && to[1].unchanged,
	      "an array that has not changed is marked");
	seen[w_at] ^= 1;
	equals(shared_arrays_send(s, 0, &c, &to, &from, &f), 0);
	named(!to[1].unchanged && memcmp(seen + w_at, w, sizeof(w)) == 0,
	      "an array that the program has overwritten is written again");

	sent[0] = array("x", 1000, x);
	equals(shared_arrays_send(s, 0, &c, &to, &from, &f), 0);
	named(to[0].offset > x_at && to[1].offset == w_at,
	      "an array that has grown gets a new place, and the others keep "
	      "theirs");
	x_at = to[0].offset;
	sent[0] = array("x", 900, x);
	equals(shared_arrays_send(s, 0, &c, &to, &from, &f), 0);
	named(to[0].offset == x_at && !to[0].unchanged,
	      "an array that has shrunk keeps its place");
	sent[0] = array("x", 0, x);
	sent[0].shape.dim[0] = 0;
	equals(shared_arrays_send(s, 0, &c, &to, &from, &f), 0);
	named_equals(to[0].offset, x_at, "an empty array has a place");
	shared_arrays_free(s);
}

/* One area is written while the program computes with the other. */
static void
test_areas(void)
{
	static float w[3] = { 1, 2, 3 }, g[3];
	struct external_array sent = array("w", 0, w);
	struct external_array wanted = array("w", 0, g);
	struct external_call c = { .sent = &sent, .sents = 1,
				   .wanted = &wanted, .wanteds = 1 };
	struct shared_arrays *s = shared_arrays_new();
	const struct shared_place *to[2], *from[2];
	size_t at[2];
	struct fail f;
	char *seen;

	ok(s && shared_arrays_send(s, 0, &c, &to[0], &from[0], &f) == 0);
	at[0] = to[0]->offset;
	equals(shared_arrays_send(s, 1, &c, &to[1], &from[1], &f), 0);
	at[1] = to[1]->offset;
	named(at[0] != at[1] && from[0]->offset != from[1]->offset &&
	      to[0]->offset == at[0], "each area has places of its own");
	named(to[1]->unchanged,
	      "an array that another area had unchanged is marked");
	seen = map(s);
	equals(memcmp(seen + at[1], w, sizeof(w)), 0);
	memcpy(seen + from[0]->offset, (float[3]){ 4, 5, 6 }, sizeof(g));
	memcpy(seen + from[1]->offset, (float[3]){ 7, 8, 9 }, sizeof(g));
	shared_arrays_receive(s, &c, from[0]);
	equals(g[0], 4);
	shared_arrays_receive(s, &c, from[1]);
	named_equals(g[0], 7,
		     "the wanted array is read from the area of its request");
	w[0] = 5;
	equals(shared_arrays_send(s, 0, &c, &to[0], &from[0], &f), 0);
	named(!to[0]->unchanged && to[0]->offset == at[0],
	      "an array that changed since the last request is not marked");
	w[0] = 1;
	equals(shared_arrays_send(s, 1, &c, &to[1], &from[1], &f), 0);
	named(!to[1]->unchanged,
	      "an array that differs from the last request is not marked, "
	      "although its area has it");
	munmap(seen, shared_arrays_size(s));
	shared_arrays_free(s);
}

static bool
refused(int result)
{
	return result == -1 && errno == EPERM;
}

static void
test_seals(void)
{
	struct shared_memory *s = shared_memory_new();
	const int file = s ? shared_memory_file(s) : -1;
	size_t at, more, large;
	struct fail f;

	ok(s && shared_memory_take(s, 100, &at, &f) == 0 && at == 0);
	named(refused(ftruncate(file, 0)),
	      "the program cannot shorten the shared file");
	named(refused(ftruncate(file, (off_t)1 << 41)),
	      "the program cannot lengthen the shared file");
	named(refused(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE)),
	      "the program cannot seal the shared file");
	ok(shared_memory_take(s, 1, &more, &f) == 0 && more == 128);
	equals(shared_memory_take(s, 5000000, &large, &f), 0);
	memset(shared_memory_at(s, large), 1, 5000000);
	named_equals(*(char *)shared_memory_at(s, large + 4999999), 1,
		     "all memory that was taken can be written");
	named(shared_memory_take(s, SIZE_MAX / 2, &large, &f) == -1 &&
	      f.kind == FAIL_AGAIN,
	      "a request for more memory than exists is refused");
	shared_memory_free(s);
}

int
main(void)
{
	test_places();
	test_areas();
	test_seals();
	return tap_done();
}
