/*
 * layer_category_encoding - ids as floats: one number for each possible id.
 * Keras's CategoryEncoding.
 */
#include "model/layer.h"

#include <string.h>

#define TOKENS	((uint64_t)1 << 20)	/* most ids; for more use linear or
					   embedding */

static int
build(struct model *m, struct node *n, struct settings *s, struct fail *f)
{
	const char *mode = settings_text(s, "output_mode");
	bool *count = n->private;

	(void)m;
	if (node_wants_ids(n, f))
		return -1;
	*count = mode && strcmp(mode, "count") == 0;
	if (mode && !*count && strcmp(mode, "multi_hot") != 0)
		return fail(f, FAIL_CONFIG, "%s: %s: output_mode=%s is neither "
			    "multi_hot nor count", n->where, n->name, mode);

	const uint64_t rows = n->in[0]->input->rows;

	if (n->in[0]->input->hashed)
		return fail(f, FAIL_CONFIG, "%s: %s: the ids of %s have no "
			    "upper bound, so they cannot be encoded; use "
			    "linear or embedding", n->where,
			    n->name, n->in[0]->name);
	if (rows > TOKENS)
		return fail(f, FAIL_CONFIG, "%s: %s: %s has %llu ids, too many "
			    "to encode; use linear or embedding", n->where,
			    n->name, n->in[0]->name,
			    (unsigned long long)rows);
	n->shape = (struct shape){ 1, { (size_t)rows } };
	return 0;
}

static void
forward(const struct pass *p)
{
	const struct flow *in = &p->in[0];
	const size_t size = node_size(p->node);
	const bool count = *(const bool *)p->node->private;

	memset(p->out.value, 0, p->examples * size * sizeof(float));
	for (size_t i = 0; i < p->examples; i++) {
		const struct bag bag = flow_bag(in, i);
		float *y = p->out.value + i * size;

		for (size_t j = bag.first; j < bag.first + bag.count; j++) {
			const uint64_t id = feature_id(in->feature, j);

			y[id] = count ? y[id] + flow_weight(in, j) : 1;
		}
	}
}

const struct layer layer_category_encoding = {
	.name = "category_encoding", .min_inputs = 1, .max_inputs = 1,
	.private = sizeof(bool), .build = build, .forward = forward
};
