/*
 * meaning - whether the rows of two models stand for the same things.
 *
 * A variable is found by its name and shape.  But what its rows, or the classes
 * of a label, stand for depends on how inputs get their ids and values, and on
 * the order in which a concat has its inputs.
 */
#ifndef PS_MEANING_H
#define PS_MEANING_H

#include "base/text.h"
#include "model/model.h"

/*
 * Add "model.ps:1: w: its words" to the text for each input whose ids differ
 * from an older model's.  The older input is found by its name, or by the table
 * that it looks up; labels are compared, too, and concats of the same name.
 */
void meaning_compare(const struct model *was, const struct model *is,
		     struct text *);

#endif
