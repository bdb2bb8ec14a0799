/* Numbers, arrays and blobs read back as they were written; msgpack-c, an
   independent reader, agrees; invalid bytes of a peer are refused. */
#include "wire/pack.h"

#include "base/mem.h"
#include "base/rng.h"

#include "tap.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS	40
#define ROUNDS	60

enum item_kind { ITEM_UINT, ITEM_ARRAY, ITEM_BLOB };

struct item {
	enum item_kind kind;
	uint64_t number;	/* a blob: its size */
};

static const unsigned char bytes[70000] = { 1, 2, 3 };

/* Draws a number of any number of bits, so that every length of encoding
   occurs. */
static uint64_t
random_number(struct rng *rng, unsigned bits)
{
	const uint64_t shift = 64 - bits + rng_below(rng, bits + 1);

	return shift > 63 ? 0 : rng_next(rng) >> shift;
}

static void
write_item(struct pack *p, const struct item *item)
{
	switch (item->kind) {
	case ITEM_UINT:		pack_uint(p, item->number); break;
	case ITEM_ARRAY:	pack_array(p, item->number); break;
	default:		pack_blob(p, bytes, item->number);
	}
}

static size_t
write_random(struct pack *p, struct item *item, struct rng *rng)
{
	const size_t count = 1 + rng_below(rng, ITEMS);

	pack_reset(p);
	for (size_t i = 0; i < count; i++) {
		item[i].kind = (enum item_kind)rng_below(rng, 3);
		item[i].number = random_number(rng,
			item[i].kind == ITEM_UINT ? 64 :
			item[i].kind == ITEM_ARRAY ? 32 : 16);
		write_item(p, &item[i]);
	}
	return count;
}

/* Does the cursor read this item? */
static bool
same_item(struct unpack *u, const struct item *item)
{
	size_t size;
	const void *blob;

	switch (item->kind) {
	case ITEM_UINT:
		return unpack_uint(u) == item->number && !u->bad;
	case ITEM_ARRAY:
		return unpack_array(u) == item->number && !u->bad;
	default:
		blob = unpack_blob(u, &size);
		return !u->bad && size == item->number &&
			memcmp(blob, bytes, size) == 0;
	}
}

static bool
reads_back(const struct pack *p, const struct item *item, size_t count)
{
	struct unpack u = unpack_from(p->data, p->size);

	for (size_t i = 0; i < count; i++)
		if (!same_item(&u, &item[i]))
			return false;
	return unpack_ok(&u);
}

/*
 * The oracle: does msgpack-c read this item?  It reads whole objects, so arrays
 * get their items.
 */
static bool
oracle_agrees(const struct item *item)
{
	struct pack p = { 0 };
	msgpack_unpacked result;
	size_t at = 0;
	bool same = false;

	write_item(&p, item);
	for (size_t i = 0; item->kind == ITEM_ARRAY && i < item->number; i++)
		pack_uint(&p, i);
	msgpack_unpacked_init(&result);
	if (msgpack_unpack_next(&result, (const char *)p.data, p.size, &at) ==
	    MSGPACK_UNPACK_SUCCESS && at == p.size) {
		const msgpack_object *o = &result.data;

		same = item->kind == ITEM_UINT ?
			o->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
			o->via.u64 == item->number :
			item->kind == ITEM_ARRAY ?
			o->type == MSGPACK_OBJECT_ARRAY &&
			o->via.array.size == item->number :
			o->type == MSGPACK_OBJECT_BIN &&
			o->via.bin.size == item->number &&
			memcmp(o->via.bin.ptr, bytes, item->number) == 0;
	}
	msgpack_unpacked_destroy(&result);
	pack_release(&p);
	return same;
}

/* Reads items from any bytes, of each kind in turn; writes the accepted
   ones. */
static bool
decode(const unsigned char *data, size_t size, const struct item *item,
       size_t count, struct pack *again)
{
	struct unpack u = unpack_from(data, size);
	const void *blob;
	size_t n;

	pack_reset(again);
	for (size_t i = 0; i < count && !u.bad; i++)
		switch (item[i].kind) {
		case ITEM_UINT:
			pack_uint(again, unpack_uint(&u));
			break;
		case ITEM_ARRAY:
			pack_array(again, unpack_array(&u));
			break;
		default:
			blob = unpack_blob(&u, &n);
			pack_blob(again, blob ? blob : bytes, n);
		}
	return unpack_ok(&u);
}

/* Damages a copy of exactly this size, so that a read after its end is
   caught. */
static bool
damage(const struct pack *p, const struct item *item, size_t count,
       struct rng *rng)
{
	struct pack again = { 0 };
	bool good = true;

	for (size_t cut = 0; cut < p->size && cut < 600; cut++) {
		unsigned char *copy = mem_copy(p->data, cut);

		good = good && !decode(copy, cut, item, count, &again);
		free(copy);
	}
	for (size_t i = 0; i < p->size && i < 600; i++) {
		unsigned char *copy = mem_copy(p->data, p->size);

		copy[i] = (unsigned char)rng_next(rng);
		if (decode(copy, p->size, item, count, &again))
			good = good && again.size == p->size &&
				memcmp(again.data, copy, p->size) == 0;
		free(copy);
	}
	pack_release(&again);
	return good;
}

static bool
refused(const char *data, size_t size, enum item_kind kind)
{
	struct unpack u = unpack_from(data, size);
	size_t n;

	if (kind == ITEM_UINT)
		unpack_uint(&u);
	else if (kind == ITEM_ARRAY)
		unpack_array(&u);
	else
		unpack_blob(&u, &n);
	return u.bad && !unpack_ok(&u) && unpack_left(&u) == 0 &&
		unpack_uint(&u) == 0;
}

#define REFUSED(text, kind) refused(text, sizeof(text) - 1, kind)

int
main(void)
{
	struct rng rng = { .seed = 1 };
	struct item item[ITEMS];
	struct pack p = { 0 };
	bool same = true, oracle = true, sound = true;

	for (size_t i = 0; i < ROUNDS; i++) {
		const size_t count = write_random(&p, item, &rng);

		same = same && reads_back(&p, item, count);
		sound = sound && damage(&p, item, count, &rng);
		for (size_t k = 0; k < count; k++)
			if (item[k].kind != ITEM_ARRAY ||
			    item[k].number < 70000)
				oracle = oracle && oracle_agrees(&item[k]);
	}
	named(same, "values are read back as they were written");
	named(oracle, "msgpack-c reads the same values");
	named(sound,
	      "bytes cut short are refused, and changed bytes are refused or "
	      "another valid value");

	ok(REFUSED("", ITEM_UINT));
	ok(REFUSED("\xcc\x7f", ITEM_UINT));
	ok(REFUSED("\xcd\x00\xff", ITEM_UINT));
	ok(REFUSED("\xce\x00\x00\xff\xff", ITEM_UINT));
	ok(REFUSED("\xcf\x00\x00\x00\x00\xff\xff\xff\xff", ITEM_UINT));
	ok(REFUSED("\xff", ITEM_UINT));
	ok(REFUSED("\xdc\x00\x0f", ITEM_ARRAY));
	ok(REFUSED("\xdd\x00\x00\xff\xff", ITEM_ARRAY));
	ok(REFUSED("\x80", ITEM_ARRAY));
	ok(REFUSED("\xc5\x00\x01" "a", ITEM_BLOB));
	ok(REFUSED("\xc6\x00\x00\x00\x01" "a", ITEM_BLOB));
	ok(REFUSED("\xc6\xff\xff\xff\xff" "a", ITEM_BLOB));
	ok(REFUSED("\xa1" "a", ITEM_BLOB));

	struct unpack u = unpack_from("\x05\x05\x07", 3);

	ok(unpack_below(&u, 6) == 5 && !u.bad);
	ok(unpack_below(&u, 5) == 0 && u.bad);
	u = unpack_from("\x01\x02", 2);
	ok(unpack_uint(&u) == 1 && unpack_left(&u) == 1 && !unpack_ok(&u));

	pack_reset(&p);
	pack_text(&p, "abc");
	ok(p.size == 5 && memcmp(p.data, "\xc4\x03" "abc", 5) == 0);
	pack_release(&p);
	ok(p.data == NULL);
	return tap_done();
}
