/*
 * meaning - do the rows of two models stand for the same things?
 *
 * A variable is found by its name and shape; what its rows, and the classes of
 * a label, stand for is in how inputs come to their ids and values.
 */
#ifndef PS_MEANING_H
#define PS_MEANING_H

#include "base/text.h"
#include "model/model.h"

/*
 * Add "model.ps:1: w: its words" for each input of a model whose ids are
 * others than an older model's, by the name of the input or that of the table
 * that it looks up.
 */
void meaning_compare(const struct model *was, const struct model *is,
		     struct text *);

#endif
