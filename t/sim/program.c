#include "program.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS	8192	/* whose arguments are kept */

struct program {
	struct externals externals;
	char asked[STEPS][24];	/* what the first attempt at each got */
	const char *broken;
};

/* A step is what it was, whoever runs it again, and for whom. */
static void
note_args(struct program *p, const struct external_call *c)
{
	char *was = c->step < STEPS ? p->asked[c->step] : NULL;

	if (!strstr(c->args, "\"ask\":"))
		p->broken = "P1: a step has the arguments of its request";
	if (was && *was && strcmp(was, c->args) != 0)
		p->broken = "P2: a step that is run again has the arguments "
			"that it had";
	if (was && strlen(c->args) < sizeof(p->asked[0]))
		strcpy(was, c->args);
}

/* The sum of what flows out of the layers: the label comes last. */
static double
predict(const struct external_call *c, size_t example)
{
	float sum = 0;

	for (size_t i = 0; i + 1 < c->sents; i++)
		sum += c->sent[i].at[example];
	return (double)sum;
}

static int
call(void *own, const struct external_call *c, struct fail *f)
{
	const struct external_array *label = &c->sent[c->sents - 1];
	struct program *p = own;
	double sum = 0;

	(void)f;
	if (c->training)
		note_args(p, c);
	for (size_t i = 0; i < label->examples; i++)
		sum += fabs((double)label->at[i] - predict(c, i));
	for (size_t i = 0; i < c->wanteds; i++)
		for (size_t k = 0; k < external_size(&c->wanted[i]); k++)
			c->wanted[i].at[k] = -1;
	c->answer->loss = sum / (double)label->examples;
	c->answer->has_loss = true;
	text_add(&c->answer->result, "%s", c->args);
	return 0;
}

static int
begin(void *own, const struct model *m, struct fail *f)
{
	(void)own, (void)m, (void)f;
	return 0;
}

struct program *
program_new(void)
{
	struct program *p = mem_alloc(1, sizeof(*p));

	p->externals = (struct externals){ p, begin, call };
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

const char *
program_check(const struct program *p)
{
	return p->broken;
}
