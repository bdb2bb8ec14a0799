/* inputs - the inputs of a test, which adds them one by one. */
#ifndef PS_INPUTS_H
#define PS_INPUTS_H

#include "examples.h"
#include "tap.h"

static struct input in[8], label;
static size_t inputs;

static inline void
forget(void)
{
	for (size_t i = 0; i < inputs; i++)
		free(in[i].name);
	inputs = 0;
}

static inline struct input *
add(const char *name, enum input_kind kind, uint64_t rows, size_t width)
{
	in[inputs] = examples_input(name, kind, rows, width);
	return &in[inputs++];
}

/* Do the files, read in batches of several sizes, give this text? */
static inline bool
reads_with(const char *files, const struct reader_options *o,
	   const char *expected)
{
	bool same = true;

	for (size_t size = 1; size < 6; size++) {
		char *got = examples_read(files, o, in, inputs,
					  label.name ? &label : NULL, size,
					  20);

		if (strcmp(got, expected) != 0) {
			printf("# batches of %zu\n", size);
			tap_differ(got, expected);
			same = false;
		}
		free(got);
	}
	return same;
}

#endif
