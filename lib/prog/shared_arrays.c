#include "prog/shared_arrays.h"

#include "base/mem.h"
#include "sys/shared_memory.h"

#include <stdlib.h>
#include <string.h>

/*
 * The place of arrays with this name.  Wanted arrays have other places than
 * sent ones.
 */
struct region {
	char *name;
	size_t offset, room;
	size_t bytes;		/* bytes written there */
	uint64_t call;		/* number of the call that wrote them last */
};

struct regions {
	struct region *list;
	size_t count, room;
	size_t next;		/* index where the next search begins */
	struct shared_place *place;	/* places of the arrays of a call */
	size_t place_room;
};

struct shared_arrays {
	struct shared_memory *memory;
	struct area {
		struct regions sent, wanted;
	} area[EXTERNAL_ASKED];
	uint64_t calls;
};

struct shared_arrays *
shared_arrays_new(void)
{
	struct shared_memory *memory = shared_memory_new();
	struct shared_arrays *s;

	if (!memory)
		return NULL;
	s = mem_alloc(1, sizeof(*s));
	s->memory = memory;
	return s;
}

static void
regions_release(struct regions *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->list[i].name);
	free(r->list);
	free(r->place);
}

void
shared_arrays_free(struct shared_arrays *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < EXTERNAL_ASKED; i++) {
		regions_release(&s->area[i].sent);
		regions_release(&s->area[i].wanted);
	}
	shared_memory_free(s->memory);
	free(s);
}

int
shared_arrays_file(const struct shared_arrays *s)
{
	return shared_memory_file(s->memory);
}

size_t
shared_arrays_size(const struct shared_arrays *s)
{
	return shared_memory_used(s->memory);
}

/*
 * Find a place by name.  Requests have their arrays in the same order mostly,
 * so the search begins behind the last one found.
 */
static struct region *
find(struct regions *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++) {
		struct region *one = &r->list[(r->next + i) % r->count];

		if (strcmp(one->name, name) == 0) {
			r->next = (size_t)(one - r->list) + 1;
			return one;
		}
	}
	return NULL;
}

static struct region *
find_or_add(struct regions *r, const char *name)
{
	struct region *one = find(r, name);

	if (one)
		return one;
	r->list = mem_grow(r->list, r->count, &r->room, sizeof(*r->list));
	r->next = r->count + 1;
	r->list[r->count] = (struct region){ .name = mem_text(name) };
	return &r->list[r->count++];
}

/*
 * Find a place for an array.  An array that has grown gets another place, with
 * room for half as much again.
 */
static int
place(struct shared_arrays *s, struct regions *r,
      const struct external_array *a, struct region **at, struct fail *f)
{
	const size_t bytes = external_bytes(a);
	struct region *one = *at = find_or_add(r, a->name);
	const size_t room = one->room > 0 ? bytes + bytes / 2 : bytes;

	if (one->room > 0 && bytes <= one->room)
		return 0;
	one->bytes = one->room = 0;
	if (shared_memory_take(s->memory, room, &one->offset, f) < 0)
		return -1;
	one->room = room > 0 ? room : 1;
	return 0;
}

static const void *
bytes_of(const struct external_array *a)
{
	return a->id ? (const void *)a->id : a->at;
}

/* Return whether the place has the same bytes as an array. */
static bool
is_there(const struct shared_arrays *s, const struct region *r,
	 const struct external_array *a)
{
	const size_t bytes = external_bytes(a);

	return r->bytes == bytes && bytes > 0 &&
		memcmp(shared_memory_at(s->memory, r->offset), bytes_of(a),
		       bytes) == 0;
}

/* Return where an array of this name was sent last, in any area. */
static const struct region *
find_last(struct shared_arrays *s, const char *name)
{
	const struct region *last = NULL;

	for (size_t i = 0; i < EXTERNAL_ASKED; i++) {
		const struct region *one = find(&s->area[i].sent, name);

		if (one && (!last || one->call > last->call))
			last = one;
	}
	return last;
}

/* Write an array to its place; return whether it is what was sent last. */
static bool
write_array(struct shared_arrays *s, struct region *r,
	    const struct external_array *a)
{
	const size_t bytes = external_bytes(a);
	const struct region *last = find_last(s, a->name);
	const bool there = is_there(s, r, a);
	const bool unchanged = last == r ? there : is_there(s, last, a);

	if (bytes > 0 && !there)
		memcpy(shared_memory_at(s->memory, r->offset), bytes_of(a),
		       bytes);
	r->bytes = bytes;
	r->call = s->calls;
	return unchanged;
}

static int
place_all(struct shared_arrays *s, struct regions *r,
	  const struct external_array *a, size_t count, bool write,
	  struct fail *f)
{
	if (count > r->place_room) {
		r->place = mem_resize(r->place, count, sizeof(*r->place));
		r->place_room = count;
	}
	for (size_t i = 0; i < count; i++) {
		struct region *one;

		if (place(s, r, &a[i], &one, f) < 0)
			return -1;
		r->place[i] = (struct shared_place){
			one->offset, write && write_array(s, one, &a[i]) };
	}
	return 0;
}

int
shared_arrays_send(struct shared_arrays *s, size_t area,
		   const struct external_call *c,
		   const struct shared_place **sent,
		   const struct shared_place **wanted, struct fail *f)
{
	struct area *to = &s->area[area];

	s->calls++;
	if (place_all(s, &to->sent, c->sent, c->sents, true, f) < 0 ||
	    place_all(s, &to->wanted, c->wanted, c->wanteds, false, f) < 0)
		return -1;
	*sent = to->sent.place;
	*wanted = to->wanted.place;
	return 0;
}

void
shared_arrays_receive(struct shared_arrays *s, const struct external_call *c,
		      const struct shared_place *wanted)
{
	for (size_t i = 0; i < c->wanteds; i++)
		if (external_bytes(&c->wanted[i]) > 0)
			memcpy(c->wanted[i].at,
			       shared_memory_at(s->memory, wanted[i].offset),
			       external_bytes(&c->wanted[i]));
}
