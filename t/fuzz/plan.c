/* A plan that is read covers the model and is written back the same; so does
   the model that travels before it. */
#include "wire/plan.h"

#include "fuzz.h"

#include <string.h>

static const char text[] =
	"input  id id rows=37\n"
	"input  x float[5]\n"
	"label  y float\n"
	"e  = embedding id dim=3\n"
	"d  = dense x units=3\n"
	"m  = add e d\n"
	"h  = dense m units=70001\n"
	"p  = dense h units=1\n"
	"loss mean_squared_error p\n"
	"optimizer adam\n";

static struct model *model;

static void
begin(void)
{
	struct model_file file = {
		.name = (char[]){ "model.ps" },
		.text = (char *)(uintptr_t)text, .size = sizeof(text) - 1,
	};
	const struct model_source source = { .file = &file, .count = 1 };
	struct fail f;

	model = model_parse(&source, &f);
	if (!model)
		abort();
}

static void
read_plan(const uint8_t *data, size_t size)
{
	struct plan plan = { 0 };
	struct pack pack = { 0 };
	struct fail f;

	if (plan_read(&plan, model, data, size, &f) == 0) {
		plan_write(&pack, &plan);
		FUZZ_CHECK(pack.size == size);
		FUZZ_CHECK(memcmp(pack.data, data, size) == 0);
	}
	pack_release(&pack);
	plan_release(&plan);
}

static void
read_model(const uint8_t *data, size_t size)
{
	struct model_source source = { 0 };
	struct fail f;

	plan_read_model(&source, data, size, &f);
	model_source_release(&source);
}

int
fuzz_one(const uint8_t *data, size_t size)
{
	if (!model)
		begin();
	read_plan(data, size);
	read_model(data, size);
	return 0;
}
