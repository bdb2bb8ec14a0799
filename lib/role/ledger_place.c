/*
 * The places of the ledger: which one is next, and into how many streams the
 * epochs are cut that begin so; how much was read; and all that as bytes.
 */
#include "role/ledger_inside.h"

#include "base/mem.h"

#include <string.h>

#define VISITS_AT	9	/* in a position */

static void
begin_epoch(struct ledger *l, uint64_t epoch, uint64_t streams, uint64_t unit)
{
	const struct since now = { epoch, streams, unit };
	const struct since *last = l->sinces ? &l->since[l->sinces - 1] :
		NULL;

	l->begun = epoch + 1;
	if (last && last->streams == now.streams && last->unit == now.unit)
		return;
	l->since = mem_grow(l->since, l->sinces, &l->since_room,
			    sizeof(*l->since));
	l->since[l->sinces++] = now;
}

static uint64_t
newest_streams(const struct ledger *l)
{
	return l->sinces ? l->since[l->sinces - 1].streams : 1;
}

uint64_t
ledger_take(struct ledger *l, uint64_t streams)
{
	uint64_t place;

	if (l->returns > 0) {
		place = l->returned[0];
		memmove(l->returned, l->returned + 1,
			--l->returns * sizeof(*l->returned));
		return place;
	}
	place = l->next++;
	if (ledger_epoch(l, place) >= l->begun)
		begin_epoch(l, ledger_epoch(l, place),
			    streams > 0 ? streams : newest_streams(l),
			    l->o.unit);
	return place;
}

void
ledger_return(struct ledger *l, uint64_t place)
{
	size_t i = l->returns;

	l->returned = mem_grow(l->returned, l->returns, &l->returns_room,
			       sizeof(*l->returned));
	for (; i > 0 && l->returned[i - 1] > place; i--)
		l->returned[i] = l->returned[i - 1];
	l->returned[i] = place;
	l->returns++;
}

uint64_t
ledger_now(const struct ledger *l)
{
	return ledger_epoch(l, l->returns > 0 ? l->returned[0] : l->next);
}

uint64_t
ledger_left(const struct ledger *l)
{
	const uint64_t now = ledger_now(l);
	uint64_t left = 0;

	for (size_t i = 0; i < l->returns; i++)
		left += ledger_epoch(l, l->returned[i]) == now;
	if (ledger_epoch(l, l->next) == now)
		left += ledger_steps(l) - l->next % ledger_steps(l);
	return left;
}

void
ledger_visits_add(const struct ledger *l, struct ledger_visits *v,
		  uint64_t place, uint64_t records)
{
	const uint64_t epoch = ledger_epoch(l, place);

	if (epoch > v->epoch)
		*v = (struct ledger_visits){ .epoch = epoch };
	if (epoch == v->epoch)
		v->records += records;
}

struct ledger_visits
ledger_visits(const struct ledger *l)
{
	return l->visits;
}

void
ledger_visit(struct ledger *l, uint64_t place, uint64_t records)
{
	ledger_visits_add(l, &l->visits, place, records);
}

uint64_t
ledger_visited(const struct ledger *l, uint64_t epoch)
{
	return epoch == l->visits.epoch ? l->visits.records : 0;
}

/* ---- as bytes ---- */

uint64_t
ledger_begun(const struct ledger *l)
{
	return l->begun;
}

void
ledger_write_begun(const struct ledger *l, struct pack *p)
{
	pack_uint(p, l->begun);
	pack_uint(p, newest_streams(l));
	pack_uint(p, l->sinces ? l->since[l->sinces - 1].unit : l->o.unit);
}

bool
ledger_read_begun(struct ledger *l, struct unpack *u)
{
	const uint64_t begun = unpack_uint(u), streams = unpack_uint(u);
	const uint64_t unit = unpack_uint(u);

	if (u->bad || streams == 0 || unit == 0 || begun < l->begun)
		return false;
	if (begun > l->begun)
		begin_epoch(l, l->begun, streams, unit);
	l->begun = begun;
	return true;
}

/* Epochs of which no record is left to be read need not be known. */
static size_t
superfluous(const struct ledger *l)
{
	uint64_t low = l->next;
	size_t count = 0;

	if (l->returns > 0 && l->returned[0] < low)
		low = l->returned[0];
	while (count + 1 < l->sinces &&
	       l->since[count + 1].epoch <= ledger_epoch(l, low))
		count++;
	return count;
}

void
ledger_write_position(const struct ledger *l, struct pack *p)
{
	const size_t first = superfluous(l);

	pack_array(p, 13 + 3 * (l->sinces - first) + l->returns);
	pack_uint(p, l->o.seed);
	pack_uint(p, l->o.batch);
	pack_uint(p, l->o.slots);
	pack_uint(p, l->o.buffer);
	pack_uint(p, l->o.shuffle);
	pack_uint(p, l->in.count);
	pack_uint(p, l->records);
	pack_uint(p, l->next);
	pack_uint(p, l->begun);
	pack_uint(p, l->visits.epoch);	/* VISITS_AT */
	pack_uint(p, l->visits.records);
	pack_uint(p, l->sinces - first);
	for (size_t i = first; i < l->sinces; i++) {
		pack_uint(p, l->since[i].epoch);
		pack_uint(p, l->since[i].streams);
		pack_uint(p, l->since[i].unit);
	}
	pack_uint(p, l->returns);
	for (size_t i = 0; i < l->returns; i++)
		pack_uint(p, l->returned[i]);
}

void
ledger_copy_position(const struct pack *from, const struct ledger_visits *v,
		     struct pack *to)
{
	struct unpack u = unpack_from(from->data, from->size);
	const uint32_t count = unpack_array(&u);

	pack_array(to, count);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t was = unpack_uint(&u);

		pack_uint(to, i == VISITS_AT ? v->epoch :
			  i == VISITS_AT + 1 ? v->records : was);
	}
}

static void
read_since(struct ledger *l, struct unpack *u, uint64_t count)
{
	l->sinces = 0;
	for (uint64_t i = 0; i < count && !u->bad; i++) {
		struct since s;

		s.epoch = unpack_uint(u);
		s.streams = unpack_uint(u);
		s.unit = unpack_uint(u);
		if (s.streams == 0 || s.unit == 0)
			u->bad = true;
		l->since = mem_grow(l->since, l->sinces, &l->since_room,
				    sizeof(*l->since));
		l->since[l->sinces++] = s;
	}
}

int
ledger_read_position(struct ledger *l, const void *data, size_t size,
		     struct fail *f)
{
	struct unpack u = unpack_from(data, size);
	const uint64_t count = unpack_array(&u);
	bool same = unpack_uint(&u) == l->o.seed;

	same = unpack_uint(&u) == l->o.batch && same;
	same = unpack_uint(&u) == l->o.slots && same;
	same = unpack_uint(&u) == l->o.buffer && same;
	same = unpack_uint(&u) == l->o.shuffle && same;
	same = unpack_uint(&u) == l->in.count && same;
	same = unpack_uint(&u) == l->records && same;
	if (u.bad || !same)
		return fail(f, FAIL_CONFIG, "it was another ledger's: the "
			    "inputs, --split, --batch, --seed, --shuffle and "
			    "--replicas have to stay");
	l->next = unpack_uint(&u);
	l->begun = unpack_uint(&u);
	l->visits.epoch = unpack_uint(&u);
	l->visits.records = unpack_uint(&u);
	read_since(l, &u, unpack_uint(&u));
	l->returns = 0;
	for (uint64_t left = unpack_uint(&u); left > 0 && !u.bad; left--)
		ledger_return(l, unpack_uint(&u));
	if (!unpack_ok(&u) || count != 13 + 3 * l->sinces + l->returns)
		return fail(f, FAIL_DATA, "a malformed position of the "
			    "ledger");
	return 0;
}
