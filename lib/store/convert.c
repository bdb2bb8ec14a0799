#include "store/convert.h"

#include "base/mem.h"
#include "store/arrays.h"
#include "store/whole.h"

#include <stdlib.h>
#include <string.h>

struct export {
	struct whole whole;
	const struct whole_array **array;
};

static int
read_rows(void *data, size_t i, struct rows rows, void *out, struct fail *f)
{
	const struct export *x = data;

	return whole_read(&x->whole, x->array[i], rows, out, f);
}

static int
write_arrays(struct export *x, size_t count, const char *path,
	     struct fail *f)
{
	struct arrays_item *item = mem_alloc(count, sizeof(*item));
	int r;

	for (size_t i = 0; i < count; i++)
		item[i] = (struct arrays_item){
			whole_name(x->array[i]), x->array[i]->shape,
			x->array[i]->numbers
		};
	r = arrays_write(path, &(struct arrays_source){
			 item, count, read_rows, x }, f);
	while (count > 0)
		free(item[--count].name);
	free(item);
	return r;
}

int
convert_export(struct checkpoint *c, const char *path, bool slots,
	       struct fail *f)
{
	struct export x = { 0 };
	size_t count = 0;
	int r = whole_open(&x.whole, c, f);

	x.array = mem_alloc(x.whole.count, sizeof(*x.array));
	for (size_t i = 0; i < x.whole.count; i++) {
		const struct whole_array *a = &x.whole.array[i];

		/* Rows are of no use without their ids. */
		if (*a->slot == '\0' || slots ||
		    strcmp(a->slot, CHECKPOINT_ID) == 0)
			x.array[count++] = a;
	}
	if (r == 0)
		r = write_arrays(&x, count, path, f);
	free(x.array);
	whole_release(&x.whole);
	return r;
}

static int
write_npy(const struct whole *w, const struct whole_array *a,
	  int (*add)(void *, const void *, size_t, struct fail *),
	  void *to, struct fail *f)
{
	const struct arrays_item item = { NULL, a->shape, a->numbers };
	struct export x = { *w, &a };
	char header[NPY_HEADER_MAX];
	const size_t head = a->numbers ? npy_header_numbers(a->shape, header) :
		npy_header(a->shape, header);

	if (add(to, header, head, f) < 0)
		return -1;
	return arrays_each(&(struct arrays_source){
			   &item, 1, read_rows, &x }, 0, add, to, f);
}

int
convert_array(struct checkpoint *c, const char *name,
	      int (*add)(void *, const void *, size_t, struct fail *),
	      void *to, struct fail *f)
{
	const size_t n = strcspn(name, "@");
	const char *slot = name[n] ? name + n + 1 : "";
	char *variable = mem_text_n(name, n);
	const struct checkpoint_entry *e = checkpoint_find(c, variable, slot);
	const struct whole_array part = {
		.shape = e ? e->shape : (struct shape){ 0 },
		.numbers = checkpoint_is_number(slot), .part = &e, .parts = 1,
	};
	struct whole w;
	int r = whole_open(&w, c, f);
	const struct whole_array *a = e ? &part :
		whole_find(&w, variable, slot);

	if (r == 0 && !a)
		r = fail(f, FAIL_DATA, "%s: holds no '%.200s'; see what it "
			 "holds by ps-ckpt show", checkpoint_path(c), name);
	if (r == 0)
		r = write_npy(&w, a, add, to, f);
	whole_release(&w);
	free(variable);
	return r;
}
