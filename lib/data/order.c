#include "data/order.h"

#include "base/mem.h"
#include "data/feature_set.h"

#include <stdlib.h>
#include <string.h>

void
order_release(struct order *o)
{
	for (size_t i = 0; i < o->inputs; i++)
		names_release(&o->place[i]);
	free(o->place);
	*o = (struct order){ 0 };
}

/* Of several columns with the same name the first one counts. */
static int
check(const struct names *place, const char *const *name, size_t count,
      struct fail *f)
{
	for (size_t i = 0; i < count; i++) {
		const size_t size = strlen(name[i]);
		const size_t was = names_get(place, name[i], size);
		char text[FEATURE_SET_SHOWN];

		if (was == NAMES_NONE || was == i ||
		    (was < count && strcmp(name[was], name[i]) == 0))
			continue;
		return fail(f, FAIL_DATA, "column %s is number %zu of the "
			    "columns that feed it, but was number %zu in an "
			    "earlier file; all files must have the same "
			    "columns that match columns=",
			    feature_set_shown(name[i], size, text), i + 1,
			    was + 1);
	}
	return 0;
}

int
order_keep(struct order *o, size_t inputs, size_t input,
	   const char *const *name, size_t count, struct fail *f)
{
	if (!o->place) {
		o->place = mem_alloc(inputs, sizeof(*o->place));
		o->inputs = inputs;
	}
	if (check(&o->place[input], name, count, f) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const size_t size = strlen(name[i]);

		if (names_get(&o->place[input], name[i], size) == NAMES_NONE)
			names_put(&o->place[input], name[i], size, i);
	}
	return 0;
}
