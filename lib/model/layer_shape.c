/* layer_shape - the same floats with another shape: flatten, reshape. */
#include "model/layer.h"

static int
build_flatten(struct model *m, struct node *n, struct settings *s,
	      struct fail *f)
{
	(void)m, (void)s;
	if (node_wants_floats(n, f))
		return -1;
	n->shape = (struct shape){ 1, { node_size(n->in[0]) } };
	return 0;
}

static int
build_reshape(struct model *m, struct node *n, struct settings *s,
	      struct fail *f)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];

	(void)m;
	if (node_wants_floats(n, f) || node_shape(n, "target_shape", s, f))
		return -1;
	if (node_size(n) != node_size(n->in[0]))
		return fail(f, FAIL_CONFIG, "%s: %s: %s is %s, which does not "
			    "fill %s", n->where, n->name, n->in[0]->name,
			    shape_text(n->in[0]->shape, a),
			    shape_text(n->shape, b));
	return 0;
}

const struct layer layer_flatten = {
	.name = "flatten", .min_inputs = 1, .max_inputs = 1,
	.aliases_input = true,
	.build = build_flatten
};

const struct layer layer_reshape = {
	.name = "reshape", .min_inputs = 1, .max_inputs = 1,
	.aliases_input = true,
	.build = build_reshape
};
