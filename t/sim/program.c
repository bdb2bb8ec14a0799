#include "program.h"

#include "accounts.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS	8192	/* steps whose arguments are kept */
#define LATE	16
#define WIDE_LAG 2

struct program {
	struct externals externals;
	bool uneven;
	char asked[STEPS][24];	/* the arguments of the first attempt at each */
	uint64_t asked_term[STEPS];	/* and the term of it */
	uint64_t lost_from, lost_term;	/* from the term lost_term on, steps
					   from lost_from on may be of other
					   requests */
	uint64_t newest;		/* the newest term */
	struct met {
		uint64_t term;	/* the term of its last call, */
		float h;	/* and the H that it was given */
	} met[STEPS];
	/* Calls with another H than that of their round, step; it is the H
	   of a later round, at most last. */
	struct late {
		struct met met;
		uint64_t step, last;
	} late[LATE];
	size_t lates;
	uint64_t term, asks;	/* of the current call; calls so far */
	size_t worker;
	const char *broken;
};

/* P3: with two step lines, requests with odd numbers are for the second. */
static void
note_line(struct program *p, const struct external_call *c)
{
	const char *at = strstr(c->args, "\"ask\":");
	const bool odd = at && strtoull(at + 6, NULL, 10) % 2 > 0;

	if (strcmp(c->sent[c->sents - 1].name, "V") == 0 &&
	    (strcmp(c->name, "other") == 0) != odd)
		p->broken = "P3: a step is of the line that it was asked for";
}

/* P1, P2: a step has the same arguments, whichever worker runs it again, and
   for whichever replica. */
static void
note_args(struct program *p, const struct external_call *c)
{
	char *was = c->step < STEPS ? p->asked[c->step] : NULL;
	const uint64_t term = was ? p->asked_term[c->step] : 0;
	/* Between the two calls the step may have been given to another
	   request. */
	const bool comparable = was && *was && (c->step < p->lost_from ||
		(term < p->lost_term) == (p->term < p->lost_term));

	if (!strstr(c->args, "\"ask\":"))
		p->broken = "P1: a step has the arguments of its request";
	if (comparable && strcmp(was, c->args) != 0)
		p->broken = "P2: a step that is run again has the arguments "
			"that it had";
	if (was && term <= p->term &&
	    strlen(c->args) < sizeof(p->asked[0])) {
		strcpy(was, c->args);
		p->asked_term[c->step] = p->term;
	}
}

static const struct external_array *
find_sent(const struct external_call *c, const char *name)
{
	for (size_t i = 0; i < c->sents; i++)
		if (strcmp(c->sent[i].name, name) == 0)
			return &c->sent[i];
	return NULL;
}

static bool
same(struct met a, struct met b)
{
	return a.term == b.term && !(a.h < b.h || a.h > b.h);
}

/*
 * A call that comes after its round has ended is sent the H of a later round.
 * The call is kept until a call of a later round shows which round that was.
 */
static void
note_late(struct program *p, struct met met, uint64_t step)
{
	uint64_t last = step;

	for (uint64_t k = step + 1; k < STEPS; k++) {
		if (same(p->met[k], met))
			return;
		if (p->met[k].term == met.term)
			last = k;
	}
	if (p->lates < LATE)
		p->late[p->lates++] = (struct late){ met, step, last + 1 };
}

static void
settle_late(struct program *p, struct met met, uint64_t step)
{
	for (size_t i = p->lates; i-- > 0;) {
		const struct late *l = &p->late[i];
		const bool of_term = l->met.term == met.term;

		if (of_term && step <= l->step)
			continue;
		if (of_term && step >= l->last && !same(l->met, met))
			p->broken = "P8: replicas of a round are computed "
				"with the same values";
		if (!of_term || step >= l->last || same(l->met, met))
			p->late[i] = p->late[--p->lates];
	}
}

/* P8: all replicas of a round are computed with the same H. */
static void
note_values(struct program *p, const struct external_call *c)
{
	const struct external_array *h = find_sent(c, "H");
	struct met *was = c->step < STEPS ? &p->met[c->step] : NULL;

	if (!h || !was)
		return;

	const struct met met = { p->term, h->at[0] };

	settle_late(p, met, c->step);
	if (was->term == p->term && !same(*was, met))
		note_late(p, met, c->step);
	else
		*was = met;
}

/* P9: all numbers of W change alike, so they may differ only by the few rounds
   that the copy of one lags behind. */
static void
note_wide(struct program *p, const struct external_call *c)
{
	const struct external_array *w = find_sent(c, "W");
	float least = INFINITY, most = -INFINITY;

	for (size_t k = 0; !p->uneven && w && k < external_size(w); k++) {
		least = fminf(least, w->at[k]);
		most = fmaxf(most, w->at[k]);
	}
	if (most > least + WIDE_LAG)
		p->broken = "P9: what is lost of a change is in the next one";
}

/* The outputs of layers come first, then the label, then variables. */
static const struct external_array *
find_label(const struct external_call *c)
{
	const struct external_array *a = c->sent;

	while (strcmp(a->name, "y") != 0)
		a++;
	return a;
}

static double
predict(const struct external_call *c, size_t example)
{
	float sum = 0;

	for (const struct external_array *a = c->sent; a < find_label(c); a++)
		sum += a->at[example];
	return (double)sum;
}

/* Sets the gradients: each variable that counts goes up by one in a step,
   however many examples the step has. */
static void
count_step(struct program *p, const struct external_call *c, size_t examples)
{
	const float odd = (float)(rng_mix(p->asks + 64 * p->worker) % 8);

	for (size_t i = 0; i < c->wanteds; i++) {
		const struct external_array *a = &c->wanted[i];
		const bool layer = a->examples > 0;
		const bool counts = strcmp(c->name, "other") == 0 ||
			c->batch > 0 || strcmp(a->name, "U") == 0 ||
			strcmp(a->name, "W") == 0;

		for (size_t k = 0; k < external_size(a); k++)
			a->at[k] = strcmp(a->name, "H") == 0 ? odd :
				strcmp(a->name, "G") == 0 ? -odd :
				layer ? -1 : counts ? -(float)examples : 0;
		for (size_t k = 1; p->uneven && strcmp(a->name, "W") == 0 &&
		     k < external_size(a); k += 2)
			a->at[k] *= 2;
	}
}

/* A step that reads a second data set has as many examples of it. */
static void
note_sets(struct program *p, const struct external_call *c)
{
	const struct external_array *a = find_label(c), *z = NULL;

	for (const struct external_array *b = a; b < c->sent + c->sents; b++)
		z = strcmp(b->name, "z") == 0 ? b : z;
	if (z && z->examples != a->examples)
		p->broken = "P4: a step has all data sets that it takes";
}

/* Is it a call of a program with data of its own?  In such a program a step of
   the line "sum" has no label, and one of "score" has no layers. */
static bool
is_own(const struct external_call *c)
{
	return c->batch > 0 || strcmp(c->name, "score") == 0;
}

static int
call_own(struct program *p, const struct external_call *c)
{
	const double examples = c->training ? (double)c->batch :
		(double)c->sent->examples;
	double sum = 0;

	for (size_t i = 0; i < c->sents; i++)
		for (size_t k = 0; c->sent[i].examples == 0 &&
		     k < external_size(&c->sent[i]); k++)
			sum += (double)c->sent[i].at[k];
	count_step(p, c, (size_t)examples);
	c->answer->loss = c->training ? LABEL - sum : sum;
	c->answer->examples = (uint64_t)examples;
	return 0;
}

/* Returns the steps that U and V have counted, as a sum over the weights of
   layers. */
static double
counted(const struct external_call *c)
{
	const struct external_array *u = find_sent(c, "U");
	const struct external_array *v = find_sent(c, "V");

	return LOSS_OF_A_STEP * ((u ? (double)*u->at : 0) +
				 (v ? (double)*v->at : 0));
}

static int
call_sum(struct program *p, const struct external_call *c)
{
	const struct external_array *label = find_label(c);
	const double examples = (double)label->examples;
	double sum = 0;

	for (size_t i = 0; i < label->examples; i++)
		sum += fabs((double)label->at[i] - predict(c, i));
	if (!c->training && find_sent(c, "V"))
		sum = (sum + examples * counted(c)) / 2;
	count_step(p, c, label->examples);
	c->answer->loss = sum / examples;
	return 0;
}

/* Answers the call of a layer with its input: its values, or its gradients. */
static int
call_layer(const struct external_call *c)
{
	for (size_t i = 0; i < c->wanteds; i++)
		memcpy(c->wanted[i].at, c->sent->at,
		       external_bytes(&c->wanted[i]));
	return 0;
}

static void
ask(void *own, const struct external_call *c)
{
	struct program *p = own;

	p->asks++;
	if (c->training && c->answer) {
		note_values(p, c);
		note_wide(p, c);
		note_args(p, c);
		note_line(p, c);
	}
	if (c->answer && !is_own(c))
		note_sets(p, c);
}

/* Answers at once; host_worker.c adds the delay. */
static bool
answered(void *own, const struct external_call *c)
{
	(void)own, (void)c;
	return true;
}

static int
take(void *own, const struct external_call *c, struct fail *f)
{
	(void)f;
	if (!c->answer)
		return call_layer(c);
	c->answer->has_loss = true;
	text_add(&c->answer->result, "%s", c->args);
	return is_own(c) ? call_own(own, c) : call_sum(own, c);
}

static int
call(void *own, const struct external_call *c, struct fail *f)
{
	ask(own, c);
	return take(own, c, f);
}

static int
begin(void *own, const struct model *m, struct fail *f)
{
	(void)own, (void)m, (void)f;
	return 0;
}

struct program *
program_new(bool uneven)
{
	struct program *p = mem_alloc(1, sizeof(*p));

	p->uneven = uneven;
	p->externals = (struct externals){ p, begin, call, ask, answered,
					   take };
	return p;
}

void
program_free(struct program *p)
{
	free(p);
}

const struct externals *
program_externals(struct program *p)
{
	return &p->externals;
}

void
program_begin_ask(struct program *p, uint64_t term, size_t worker)
{
	if (!p)
		return;
	p->term = term;
	p->worker = worker;
	if (p->newest < term)
		p->newest = term;
}

void
program_forget(struct program *p, uint64_t from)
{
	if (!p)
		return;
	p->lost_from = from;
	p->lost_term = p->newest + 1;
}

const char *
program_check(const struct program *p)
{
	return p->broken;
}
