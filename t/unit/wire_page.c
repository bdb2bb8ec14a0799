/* The examples in ps-wire(7) are right: the code reads each, finds the kind
   that the page says, and writes the same bytes. */
#include "base/mem.h"
#include "wire/keys.h"
#include "wire/message.h"
#include "wire/plan.h"
#include "wire/result.h"

#include "tap.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES	1024
#define LINE	512

struct bytes {
	unsigned char at[BYTES];
	size_t size;
};

/* A message of the page: header, then frames. */
struct example {
	char name[16];
	struct bytes frame[1 + MESSAGE_FRAMES];
	size_t frames;		/* with the header */
};

/* The heading of each kind: its number, and the number of its fields. */
static struct heading {
	unsigned kind;
	size_t numbers;
	char fields[LINE];	/* " name name": as message_fields() says */
} heading[MESSAGE_KINDS];

static unsigned examples[MESSAGE_KINDS];	/* of each kind, so far */
static struct model_source source;
static struct model *model;			/* of the PLAN */

/* "Ar name , name" */
static void
read_fields(struct heading *h, const char *spec, size_t size)
{
	char list[LINE] = "", *next = list;
	size_t at = 0;

	if (spec)
		snprintf(list, sizeof(list), "%.*s", (int)size - 3, spec + 3);
	for (char *word; (word = strtok_r(next, " ,", &next)); )
		if (strcmp(word, "Ar") != 0)
			at += (size_t)snprintf(h->fields + at,
					       sizeof(h->fields) - at, " %s",
					       word);
}

/* "NAME (1), OTHER (2): Ar number , number ; Ar blob" */
static void
read_heading(const char *line)
{
	const char *spec = strstr(line, "): ");
	const size_t numbers = spec ? strcspn(spec, ";\n") : 0;
	size_t count = spec != NULL;
	struct heading all = { 0 };
	char name[16];
	unsigned kind;
	int used;

	for (size_t i = 0; i < numbers; i++)
		count += spec[i] == ',';
	read_fields(&all, spec, numbers);
	while (sscanf(line, " %15[A-Z] (%u)%n", name, &kind, &used) == 2) {
		if (kind < MESSAGE_KINDS &&
		    strcmp(message_name(kind), name) == 0) {
			all.kind = kind;
			all.numbers = count;
			heading[kind] = all;
		}
		line += used + (line[used] == ',');
	}
}

/* Append the hexadecimal numbers of a line to the last frame. */
static bool
read_hex(struct example *e, const char *line)
{
	struct bytes *to = &e->frame[e->frames - 1];
	unsigned byte;
	int used;

	while (sscanf(line, " %2x%n", &byte, &used) == 1) {
		if (to->size == BYTES)
			return false;
		to->at[to->size++] = (unsigned char)byte;
		line += used;
	}
	return line[strspn(line, " \n")] == '\0';
}

static bool
same(const struct pack *p, const struct bytes *b)
{
	return p->size == b->size && memcmp(p->data, b->at, b->size) == 0;
}

/* ---- frames ---- */

static bool
plan_holds(const struct example *e)
{
	struct pack source_out = { 0 }, plan_out = { 0 };
	struct plan plan = { 0 };
	struct fail f;
	bool good;

	good = plan_read_model(&source, e->frame[1].at, e->frame[1].size,
			       &f) == 0 &&
		(model = model_parse(&source, &f)) &&
		plan_read(&plan, model, e->frame[2].at, e->frame[2].size,
			  &f) == 0;
	if (good) {
		plan_write_model(&source_out, &source);
		plan_write(&plan_out, &plan);
		good = same(&source_out, &e->frame[1]) &&
			same(&plan_out, &e->frame[2]) && plan.pieces == 2 &&
			plan.parts == 1;
	}
	plan_release(&plan);
	pack_release(&source_out);
	pack_release(&plan_out);
	return good;
}

/* The rows 1 and 3 of 4. */
static bool
keys_hold(const struct bytes *b)
{
	struct unpack u = unpack_from(b->at, b->size);
	struct pack out = { 0 };
	uint64_t *rows = NULL;
	size_t room = 0;
	const size_t count = keys_read(&u, 0, 3, &rows, &room);
	bool good = unpack_ok(&u) && count == 2 && rows[0] == 1 &&
		rows[1] == 3;

	keys_write(&out, rows, count, 0);
	good = good && same(&out, b);
	pack_release(&out);
	free(rows);
	return good;
}

static bool
result_holds(const struct bytes *b)
{
	struct unpack u = unpack_from(b->at, b->size);
	struct pack out = { 0 };
	struct result r;
	bool good = result_read(&u, &r, 1) && unpack_ok(&u) &&
		r.examples == 2;

	result_write(&out, &r);
	good = good && same(&out, b);
	pack_release(&out);
	return good;
}

/* Two rows of one float and a bias. */
static bool
values_hold(const struct bytes *b)
{
	return b->size == 3 * sizeof(float);
}

/* In any codec the gradients are 0.5, -1 and -0.5. */
static bool
gradient_holds(const struct bytes *b, uint64_t number)
{
	const struct codec *codec = number ? &codec_bfloat16 : &codec_float32;
	float g[3];

	if (b->size != codec_size(codec, 3))
		return false;
	codec_decode(codec, g, b->at, codec_elements(3));
	return g[0] == .5f && g[1] == -1 && g[2] == -.5f;
}

static bool
frames_hold(const struct example *e, const struct message *m)
{
	switch (m->kind) {
	case MESSAGE_PLAN:
		return plan_holds(e);
	case MESSAGE_PULL:
		return keys_hold(&e->frame[1]);
	case MESSAGE_PUSH:
	case MESSAGE_PUSHPULL:
		return keys_hold(&e->frame[1]) &&
			gradient_holds(&e->frame[e->frames - 1],
				       m->push.coded);
	case MESSAGE_VALUES:
		return e->frames == 1 || values_hold(&e->frame[1]);
	case MESSAGE_DONE:
	case MESSAGE_EVALUATED:
		return result_holds(&e->frame[1]);
	default:
		return true;
	}
}

/* ---- messages ---- */

/* Prints the table of messages, to be copied to the page after a change. */
static void
show_table(void)
{
	const uint64_t table = message_table();

	printf("# HELLO: the table is now");
	for (size_t i = 0; i < 64; i += 8)
		printf(" %02x", (unsigned)(table >> i & 0xff));
	printf("\n");
}

static void
check(const struct example *e)
{
	const struct bytes *header = &e->frame[0];
	struct pack out = { 0 };
	struct message m;
	struct fail f;
	bool good = message_read(&m, header->at, header->size, &f) == 0;

	m.frames = e->frames - 1;
	if (m.foreign)
		show_table();
	good = good && !m.foreign &&
		strcmp(message_name(m.kind), e->name) == 0 &&
		message_check_frames(&m, &f) == 0;
	named_for(good, "the example of %s is read as one", e->name);
	if (!good)
		return;
	examples[m.kind]++;
	message_write(&out, &m);
	named_for(same(&out, header),
		  "the program writes %s with the bytes of the example",
		  e->name);
	/* Fewer than 16 elements: kind, request, numbers, perhaps a blob. */
	named_for(heading[m.kind].kind == m.kind && heading[m.kind].numbers +
		  2 + (m.blob.data != NULL) == (header->at[0] & 0xf),
		  "the example of %s has the numbers of its heading", e->name);
	named_for(strcmp(heading[m.kind].fields, message_fields(m.kind)) == 0,
		  "the heading of %s names the fields as the program does",
		  e->name);
	named_for(frames_hold(e, &m), "the frames of the example of %s fit it",
		  e->name);
	pack_release(&out);
}

static void
read_page(FILE *page)
{
	struct example e = { .frames = 0 };
	bool display = false, hex = true;
	char line[LINE];

	while (fgets(line, sizeof(line), page)) {
		const bool ends = strncmp(line, ".Ed", 3) == 0;

		if (strncmp(line, ".It ", 4) == 0)
			read_heading(line + 4);
		if (display && e.frames > 0 &&
		    (ends || isupper((unsigned char)*line))) {
			check(&e);
			e.frames = 0;
		}
		if (display && isupper((unsigned char)*line)) {
			e = (struct example){ .frames = 1 };
			sscanf(line, "%15s", e.name);
			hex = read_hex(&e, line + strlen(e.name)) && hex;
		} else if (display && *line == '+') {
			e.frames++;
			hex = e.frames <= 1 + MESSAGE_FRAMES &&
				read_hex(&e, line + 1) && hex;
		} else if (display && !ends) {
			hex = e.frames > 0 && read_hex(&e, line) && hex;
		}
		if (strncmp(line, ".Bd", 3) == 0 || ends)
			display = !ends;
	}
	named(hex, "every example is in hexadecimal");
}

/* Has the fuzz corpus a valid message of this kind?  Fuzzing needs one to start
   from. */
static bool
is_seeded(const char *root, unsigned kind)
{
	struct bytes seed;
	struct message m;
	struct fail f;
	char path[4096];
	FILE *file;
	size_t n;

	n = (size_t)snprintf(path, sizeof(path), "%s/t/fuzz/corpus/message/",
			     root);
	for (const char *c = message_name(kind); *c; c++)
		path[n++] = (char)tolower((unsigned char)*c);
	path[n] = '\0';
	file = fopen(path, "rb");
	if (!file)
		return false;
	seed.size = fread(seed.at, 1, sizeof(seed.at), file);
	fclose(file);
	return message_read(&m, seed.at, seed.size, &f) == 0 &&
		m.kind == kind;
}

int
main(void)
{
	const char *root = getenv("SRC") ? getenv("SRC") : ".";
	char path[4096];
	FILE *page;

	snprintf(path, sizeof(path), "%s/man/ps-wire.7", root);
	page = fopen(path, "r");
	named(page != NULL, "man/ps-wire.7 can be opened");
	if (!page)
		return tap_done();
	read_page(page);
	fclose(page);
	for (unsigned kind = 1; kind < MESSAGE_KINDS; kind++) {
		named_for(examples[kind] > 0, "%s has an example",
			  message_name(kind));
		named_for(is_seeded(root, kind), "%s has a seed for fuzzing",
			  message_name(kind));
	}
	model_free(model);
	model_source_release(&source);
	return tap_done();
}
