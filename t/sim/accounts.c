#include "accounts.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define STEPS	100000

struct request_account {
	uint64_t done, cancelled, errors, lines;
};

struct accounts {
	const struct scenario *s;
	struct request_account of[MAX_REQUESTS];
	unsigned char *seen;	/* steps with a result */
	uint64_t done, given_up;
	char wrong[200];
};

struct accounts *
accounts_new(const struct scenario *s)
{
	struct accounts *a = mem_alloc(1, sizeof(*a));

	a->s = s;
	a->seen = mem_alloc(STEPS, 1);
	return a;
}

void
accounts_free(struct accounts *a)
{
	free(a->seen);
	free(a);
}

void
accounts_reset(struct accounts *a)
{
	memset(a->seen, 0, STEPS);
	memset(a->of, 0, sizeof(a->of));
	a->done = a->given_up = 0;
}

static void
break_rule(struct accounts *a, const char *rule, const char *line)
{
	if (!*a->wrong)
		snprintf(a->wrong, sizeof(a->wrong), "%s: %.120s", rule,
			 line);
}

static uint64_t
field(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : UINT64_MAX;
}

static bool
is_train(const struct accounts *a, size_t id)
{
	return a->s->ask[id].op == 't';
}

/* An epoch has a line for each pass, all others that are not steps one. */
static uint64_t
lines_of(const struct ask_line *ask)
{
	return ask->op == 'p' ? ask->steps : 1;
}

static bool
has_ended(const struct accounts *a, size_t id)
{
	const struct request_account *r = &a->of[id];
	const struct ask_line *ask = &a->s->ask[id];

	if (is_train(a, id))
		return r->errors > 0 || r->done + r->cancelled == ask->steps;
	return r->cancelled > 0 || r->errors > 0 || r->lines == lines_of(ask);
}

/* Is all that was asked before done, and nothing behind it? */
static bool
in_its_place(const struct accounts *a, size_t id)
{
	for (size_t i = 0; i < a->s->asks; i++)
		if ((i < id && !has_ended(a, i)) ||
		    (i > id && (a->of[i].lines > 0 || a->of[i].done > 0)))
			return false;
	return true;
}

static void
take_step(struct accounts *a, size_t id, const char *line)
{
	const uint64_t step = field(line, "\"step\":");
	const uint64_t examples = field(line, "\"examples\":");
	const uint64_t batch = a->s->ledger ? a->s->o.batch :
		a->s->ask[id].batch;

	if (step >= STEPS || a->seen[step]++ > 0)
		break_rule(a, "R1 a step has two results", line);
	if (batch > 0 && examples % batch != 0)
		break_rule(a, "R1 a step is not of its size", line);
	a->of[id].done++;
	a->done++;
}

static void
take_barrier(struct accounts *a, size_t id, const char *line)
{
	const struct ask_line *ask = &a->s->ask[id];
	uint64_t joined = 0;

	if (a->of[id].lines == lines_of(ask) && !in_its_place(a, id))
		break_rule(a, "R3 a barrier is not in its place", line);
	if (strstr(line, "\"error\":"))
		return;
	if (ask->op == 'e' && field(line, "\"examples\":") != EVALUATED)
		break_rule(a, "R5 an evaluation lacks records", line);
	if (ask->op == 'p' && strstr(line, "\"missed\":"))
		break_rule(a, "R6 an epoch missed records", line);
	for (size_t i = id; i > 0 && a->s->ask[i - 1].op != 'j'; i--)
		joined += a->of[i - 1].done;
	if (ask->op == 'j' && field(line, "\"steps\":") != joined)
		break_rule(a, "R4 a join does not count its steps", line);
}

/* A line that was no request at all has a number, from 1, in place of an id. */
static uint64_t
id_of(const char *line)
{
	const char *at = strstr(line, "\"error\":\"request ");

	if (strstr(line, "\"id\":") || !at)
		return field(line, "\"id\":");
	return field(at, "\"request ") - 1;
}

/* One that was passed over at the end has none: it is the first of those. */
static uint64_t
passed_over(const struct accounts *a, const char *line)
{
	if (!strstr(line, "\"op\":\"request\",\"cancelled\":true"))
		return UINT64_MAX;
	for (size_t i = 0; i < a->s->asks; i++)
		if (a->s->ask[i].op == 'x' && !has_ended(a, i))
			return i;
	return UINT64_MAX;
}

void
accounts_line(struct accounts *a, const char *line)
{
	uint64_t id = id_of(line);
	const bool step = strstr(line, "\"op\":\"train\"") != NULL;
	struct request_account *r;

	if (id == UINT64_MAX)
		id = passed_over(a, line);
	if (id == UINT64_MAX)
		return;		/* not a request's own */
	if (id >= a->s->asks) {
		break_rule(a, "R2 nobody asked for it", line);
		return;
	}
	r = &a->of[id];
	if (strstr(line, "\"cancelled\":true")) {
		r->lines++;
		r->cancelled += is_train(a, id) ? field(line, "\"steps\":") :
			1;
		a->given_up += is_train(a, id);
	} else if (step && strstr(line, "\"error\":")) {
		r->errors++;
		a->given_up++;
	} else if (step) {
		take_step(a, id, line);
	} else {
		r->lines++;
		r->errors += strstr(line, "\"error\":") != NULL;
		take_barrier(a, id, line);
	}
}

uint64_t
accounts_done(const struct accounts *a)
{
	return a->done;
}

bool
accounts_given_up(const struct accounts *a)
{
	return a->given_up > 0;
}

const char *
accounts_wrong(const struct accounts *a)
{
	return *a->wrong ? a->wrong : NULL;
}

const char *
accounts_unanswered(const struct accounts *a, size_t asked)
{
	static char what[80];

	for (size_t i = 0; i < asked; i++) {
		if (has_ended(a, i))
			continue;
		snprintf(what, sizeof(what), "R7 request %zu (%c) is not "
			 "answered: %llu of %llu done", i, a->s->ask[i].op,
			 (unsigned long long)a->of[i].done,
			 (unsigned long long)a->s->ask[i].steps);
		return what;
	}
	return NULL;
}
