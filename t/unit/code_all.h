/* A plan in which all gradients and values of steps travel by one codec. */
#ifndef PS_CODE_ALL_H
#define PS_CODE_ALL_H

#include "wire/plan.h"

static inline void
code_all(struct plan *p, const struct model *model, const struct codec *codec)
{
	const struct coding_rule rule = { .codec = codec };
	size_t variables;
	const struct variable *v = model_variables(model, &variables);

	codings_free(p->codings);
	p->codings = codings_new(variables);
	for (enum way way = 0; way < WAYS; way++)
		codings_make(p->codings, way, &rule, v);
}

#endif
