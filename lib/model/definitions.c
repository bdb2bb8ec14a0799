#include "model/definitions.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAME	63

/* The present place in the text. */
struct place {
	const char *at, *end;
	const char *file;
	size_t line;
	bool quoted;		/* between two " */
	bool begins;		/* a word may begin here: # begins a comment */
};

/*
 * Return the length of the name at the head of a text that ends in a NUL; 0:
 * there is no name, or it is too long.
 */
static size_t
name_size(const char *text)
{
	static const char digits[] = "0123456789";
	static const char all[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const size_t n = strspn(text, all);

	return n <= MAX_NAME && !strchr(digits, *text) ? n : 0;
}

static struct definition *
find(const struct definitions *d, const char *name, size_t size)
{
	for (size_t i = 0; i < d->count; i++)
		if (strlen(d->list[i].name) == size &&
		    memcmp(d->list[i].name, name, size) == 0)
			return &d->list[i];
	return NULL;
}

int
definitions_add(struct definitions *d, const char *text, struct fail *f)
{
	const char *equals = strchr(text, '=');
	const size_t size = equals ? (size_t)(equals - text) : 0;

	if (!equals)
		return fail(f, FAIL_CONFIG, "'%s' is not NAME=VALUE", text);
	if (size == 0 || name_size(text) != size)
		return fail(f, FAIL_CONFIG, "'%.*s' is not a name of letters, "
			    "digits and _, which begins with no digit",
			    (int)size, text);
	if (find(d, text, size))
		return fail(f, FAIL_CONFIG, "%.*s has a value already",
			    (int)size, text);
	if (strpbrk(equals, "\n\r"))
		return fail(f, FAIL_CONFIG, "the value of %.*s is not one "
			    "line", (int)size, text);
	d->list = mem_resize(d->list, d->count + 1, sizeof(*d->list));
	d->list[d->count++] = (struct definition){
		.name = mem_text_n(text, size), .value = equals + 1
	};
	return 0;
}

void
definitions_release(struct definitions *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->list[i].name);
	free(d->list);
	*d = (struct definitions){ 0 };
}

/* Replace the ${NAME} at p, and move p behind it. */
static int
expand_one(struct definitions *d, struct place *p, struct text *out,
	   struct fail *f)
{
	const char *name = p->at + 2;
	const size_t size = name_size(name);
	struct definition *found;

	if (size == 0 || name[size] != '}')
		return fail(f, FAIL_CONFIG, "%.120s:%zu: a ${ without a name "
			    "and a } behind it; $${ is a plain ${", p->file,
			    p->line);
	found = find(d, name, size);
	if (!found)
		return fail(f, FAIL_CONFIG, "%.120s:%zu: ${%.*s} is not "
			    "defined: say -D %.*s=VALUE", p->file, p->line,
			    (int)size, name, (int)size, name);
	found->used = true;
	text_add_bytes(out, found->value, strlen(found->value));
	p->at = name + size + 1;
	p->begins = false;
	return 0;
}

/* Copy a character that stands for itself, or a whole comment. */
static void
copy(struct place *p, struct text *out)
{
	const size_t left = (size_t)(p->end - p->at);
	const bool comment = *p->at == '#' && p->begins;
	const char *line = comment ? memchr(p->at, '\n', left) : NULL;
	const size_t n = line ? (size_t)(line - p->at) : comment ? left : 1;

	if (*p->at == '\n') {
		p->line++;
		p->quoted = false;
	}
	p->quoted ^= *p->at == '"';
	p->begins = !p->quoted && strchr(" \t\r\f\v\n", *p->at) && *p->at;
	text_add_bytes(out, p->at, n);
	p->at += n;
}

int
definitions_expand(struct definitions *d, const char *file,
		   const char *text, size_t size, size_t limit,
		   struct text *out, struct fail *f)
{
	struct place p = { .at = text, .end = text + size, .file = file,
			   .line = 1, .begins = true };

	while (p.at < p.end) {
		if (strncmp(p.at, "$${", 3) == 0) {
			text_add(out, "${");
			p.at += 3;
			p.begins = false;
		} else if (strncmp(p.at, "${", 2) != 0) {
			copy(&p, out);
		} else if (expand_one(d, &p, out, f) < 0) {
			return -1;
		}
		if (out->size > limit)
			return fail(f, FAIL_CONFIG, "%s is larger than %zu "
				    "bytes", file, limit);
	}
	for (size_t i = 0; i < d->count; i++)
		if (!d->list[i].used)
			return fail(f, FAIL_CONFIG, "-D %s: there is no ${%s} "
				    "in %s", d->list[i].name, d->list[i].name,
				    file);
	return 0;
}
