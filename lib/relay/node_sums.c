#include "relay/node_sums.h"

#include "base/mem.h"
#include "wire/gradient_tree.h"
#include "wire/keys.h"

#include <stdlib.h>

/*
 * A node of a part, in the newest round in which it was pushed.
 *
 *	APART --node_sums_add(), of a newer round, if all leaves came in the
 *		one before--> WAITS
 *	WAITS --all leaves have come--> APART	they leave as one, if that pays
 *	WAITS --release_node()--> APART		they leave each by itself
 */
struct node {
	uint64_t first, level, step;
	uint64_t received;		/* pushes of this round */
	bool waits;			/* a push waits for the others */
	bool expires;			/* some have waited since the last
					   node_sums_expire() */
	struct letter *member;		/* pushes that wait, in the order of
					   their replicas */
	uint64_t members;
	struct node *next;
};

struct leaving {
	struct departure departure;
	struct leaving *next;
};

struct node_sums {
	const struct plan *plan;
	struct node **of;		/* each part */
	struct leaving *first, **end;
	struct gradient_tree *tree;
	struct row_list *rows;		/* of each piece of a part */
	size_t most_pieces;
	struct pack keys;
	size_t waiting;
};

struct node_sums *
node_sums_new(const struct plan *plan)
{
	struct node_sums *s = mem_alloc(1, sizeof(*s));

	s->plan = plan;
	s->of = mem_alloc(plan->parts, sizeof(struct node *));
	s->end = &s->first;
	s->tree = gradient_tree_new(plan);
	for (size_t i = 0; i < plan->parts; i++)
		if (plan->part[i].count > s->most_pieces)
			s->most_pieces = plan->part[i].count;
	s->rows = mem_alloc(s->most_pieces, sizeof(*s->rows));
	return s;
}

static void
drop_all(struct letter *l)
{
	struct letter *next;

	for (; l; l = next) {
		next = l->next;
		letter_drop(l);
	}
}

static void
node_free(struct node *node)
{
	drop_all(node->member);
	free(node);
}

void
node_sums_free(struct node_sums *s)
{
	struct departure d;
	struct node *next;

	if (!s)
		return;
	while (node_sums_next(s, &d)) {
		drop_all(d.member);
		if (d.sum)
			letter_drop(d.sum);
	}
	for (size_t i = 0; i < s->plan->parts; i++)
		for (struct node *node = s->of[i]; node; node = next) {
			next = node->next;
			node_free(node);
		}
	for (size_t i = 0; i < s->most_pieces; i++)
		free(s->rows[i].row);
	free(s->of);
	free(s->rows);
	gradient_tree_free(s->tree);
	pack_release(&s->keys);
	free(s);
}

/* ---- what leaves ---- */

static void
append_departure(struct node_sums *s, struct letter *sum, struct letter *member)
{
	struct leaving *l = mem_alloc(1, sizeof(*l));

	l->departure = (struct departure){ sum, member };
	*s->end = l;
	s->end = &l->next;
}

bool
node_sums_next(struct node_sums *s, struct departure *d)
{
	struct leaving *l = s->first;

	if (!l)
		return false;
	*d = l->departure;
	s->first = l->next;
	if (!s->first)
		s->end = &s->first;
	free(l);
	return true;
}

/* Let the pushes that wait leave: as the sum, or (NULL) each by itself. */
static void
release_node(struct node_sums *s, struct node *node, struct letter *sum)
{
	if (node->member)
		append_departure(s, sum, node->member);
	s->waiting -= node->members;
	node->member = NULL;
	node->members = 0;
	node->waits = false;
}

void
node_sums_disband(struct node_sums *s)
{
	for (size_t i = 0; i < s->plan->parts; i++)
		for (struct node *node = s->of[i]; node; node = node->next)
			if (node->members > 0)
				release_node(s, node, NULL);
}

void
node_sums_expire(struct node_sums *s)
{
	for (size_t i = 0; i < s->plan->parts; i++)
		for (struct node *node = s->of[i]; node; node = node->next) {
			if (node->members > 0 && node->expires)
				release_node(s, node, NULL);
			node->expires = node->members > 0;
		}
}

/* ---- a sum ---- */

static uint64_t
leaves_of(const struct node *node)
{
	return UINT64_C(1) << node->level;
}

static size_t
bytes_of(const struct letter *l)
{
	return l->message.frame[0].size + l->message.frame[1].size;
}

static struct gradient_leaf
leaf_of(const struct node_sums *s, const struct letter *l)
{
	const struct message *m = &l->message;

	return (struct gradient_leaf){
		message_replica(m->push.slot), &m->frame[0], &m->frame[1],
		{ m->push.coded ? s->plan->codings : NULL, m->push.step }
	};
}

/* List the leaves that have examples and return their number; -1: one of the
   pushes is malformed. */
static int
list_leaves(const struct node_sums *s, size_t part, const struct node *node,
	    struct gradient_leaf *leaf)
{
	int count = 0;

	for (const struct letter *l = node->member; l; l = l->next) {
		if (l->message.push.coded > 1)
			return -1;
		leaf[count] = leaf_of(s, l);
		if (l->message.push.examples == 0 && bytes_of(l) == 0)
			continue;
		if (l->message.push.examples == 0 ||
		    !gradient_leaf_is_sound(s->plan, part, &leaf[count]))
			return -1;
		count++;
	}
	return count;
}

/* Write the keys of the sum. */
static void
write_keys(struct node_sums *s, const struct part *part)
{
	pack_reset(&s->keys);
	for (size_t i = 0; i < part->count; i++) {
		const struct piece *piece = &s->plan->piece[part->first + i];

		if (piece->table)
			row_list_write(&s->rows[i], &s->keys, piece);
	}
}

/* The push of the sum; NULL: its members have no more bytes, or a frame cannot
   hold it. */
static struct letter *
write_sum(struct node_sums *s, size_t part, const struct node *node,
	  const float *sum, size_t floats)
{
	struct message m = node->member->message;
	const size_t bytes = floats * sizeof(*sum);
	size_t before = 0;

	write_keys(s, &s->plan->part[part]);
	m.push.slot = message_node(node->first, (unsigned)node->level);
	m.push.examples = m.push.coded = 0;
	for (const struct letter *l = node->member; l; l = l->next) {
		m.push.examples += l->message.push.examples;
		before += bytes_of(l);
	}
	if (s->keys.size + bytes >= before || bytes > WIRE_FRAME ||
	    s->keys.size > WIRE_FRAME)
		return NULL;
	m.frame[0] = (struct frame){ s->keys.data, s->keys.size, NULL };
	m.frame[1] = (struct frame){ sum, bytes, NULL };
	return letter_new(&m);
}

static struct letter *
sum_node(struct node_sums *s, size_t part, const struct node *node)
{
	struct gradient_leaf *leaf = mem_alloc(node->members, sizeof(*leaf));
	const int leaves = list_leaves(s, part, node, leaf);
	struct letter *l = NULL;
	size_t floats;
	float *sum;

	if (leaves > 0) {
		floats = gradient_tree_sum(s->tree, part, leaf, (size_t)leaves,
					   s->rows, &sum);
		l = write_sum(s, part, node, sum, floats);
	}
	free(leaf);
	return l;
}

/* ---- pushes ---- */

/* Drop nodes that were not pushed in the round before this step or later: their
   leaves now belong to other nodes. */
static void
drop_older(struct node **at, uint64_t step)
{
	while (*at) {
		struct node *node = *at;

		if (node->members > 0 || node->step + 1 >= step) {
			at = &node->next;
			continue;
		}
		*at = node->next;
		node_free(node);
	}
}

static struct node *
find_node(struct node_sums *s, const struct message *m)
{
	const uint64_t level = message_level(m->push.slot);
	const uint64_t first = message_replica(m->push.slot) >> level << level;
	struct node *node = s->of[m->push.part];

	while (node && (node->first != first || node->level != level))
		node = node->next;
	if (node)
		return node;
	drop_older(&s->of[m->push.part], m->push.step);
	node = mem_alloc(1, sizeof(*node));
	*node = (struct node){ .first = first, .level = level,
			       .step = m->push.step,
			       .next = s->of[m->push.part] };
	s->of[m->push.part] = node;
	return node;
}

static void
begin_round(struct node_sums *s, struct node *node, uint64_t step)
{
	release_node(s, node, NULL);
	node->waits = node->received == leaves_of(node);
	node->received = 0;
	node->step = step;
}

/* The place of a push among those that wait; NULL: it cannot be added to
   them. */
static struct letter **
find_place(struct node *node, const struct letter *l)
{
	const struct message *m = &l->message;
	struct letter **at = &node->member;

	if (*at && (*at)->message.push.attempt != m->push.attempt)
		return NULL;
	while (*at && (*at)->message.push.slot < m->push.slot)
		at = &(*at)->next;
	return *at && (*at)->message.push.slot == m->push.slot ? NULL : at;
}

/* May a sum be smaller than its pushes?  With tables that depends on the rows,
   and only write_sum() knows; else all pushes are as large as the first. */
static bool
may_save_bytes(const struct node_sums *s, const struct node *node,
	       const struct message *m)
{
	const struct part *part = &s->plan->part[m->push.part];

	for (size_t i = 0; i < part->count; i++)
		if (s->plan->piece[part->first + i].table)
			return true;
	return m->frame[1].size * leaves_of(node) >
		plan_part_dense(s->plan, m->push.part) * sizeof(float);
}

void
node_sums_add(struct node_sums *s, struct letter *l)
{
	const struct message *m = &l->message;
	struct node *node = find_node(s, m);
	struct letter **at;

	l->next = NULL;
	if (m->push.step > node->step)
		begin_round(s, node, m->push.step);
	node->received += m->push.step == node->step;
	at = m->push.step == node->step && node->waits &&
		may_save_bytes(s, node, m) ? find_place(node, l) : NULL;
	if (!at) {
		release_node(s, node, NULL);
		append_departure(s, NULL, l);
		return;
	}
	l->next = *at;
	*at = l;
	node->members++;
	s->waiting++;
	if (node->members == leaves_of(node))
		release_node(s, node, sum_node(s, m->push.part, node));
}

size_t
node_sums_waiting(const struct node_sums *s)
{
	return s->waiting;
}

/* ---- what always holds ---- */

static const char *
check_node(const struct node *node)
{
	uint64_t members = 0;

	for (const struct letter *l = node->member; l; l = l->next) {
		const uint64_t replica = message_replica(l->message.push.slot);

		members++;
		if (l->message.push.step != node->step ||
		    replica < node->first ||
		    replica >= node->first + leaves_of(node))
			return "relay 9: a push that waits for a node is a "
				"leaf of it, in its round";
		if (l->next && l->next->message.push.slot <=
		    l->message.push.slot)
			return "relay 10: a node has one push of each leaf, in "
				"order";
	}
	if (members != node->members ||
	    (members > 0 && (!node->waits || members == leaves_of(node))))
		return "relay 11: a node whose pushes wait lacks others";
	return NULL;
}

const char *
node_sums_check(const struct node_sums *s)
{
	const char *violation = NULL;
	size_t waiting = 0;

	for (size_t i = 0; i < s->plan->parts && !violation; i++)
		for (const struct node *node = s->of[i]; node && !violation;
		     node = node->next) {
			violation = check_node(node);
			waiting += node->members;
		}
	if (!violation && waiting != s->waiting)
		violation = "relay 12: those who wait are counted";
	return violation;
}
