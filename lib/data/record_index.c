#include "data/record_index.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	"pscount1"	/* the last character is the version */
#define MOST	((size_t)64 << 20)	/* bytes of a file that is read */

/* The head of a file; the places follow it. */
struct head {
	char magic[8];
	struct cache_key key;
	uint64_t begin, end, records, places;
	uint64_t sum;		/* XXH3-64 of the bytes before it */
	uint64_t places_sum;	/* XXH3-64 of the places */
};

_Static_assert(sizeof(struct head) == 168, "a struct without gaps");

static char *
path_of(const struct cache_input *in, const struct cache_key *key,
	const struct record_range *s)
{
	char which[40];

	snprintf(which, sizeof(which), ".count.%llu",
		 (unsigned long long)s->begin);
	return cache_key_path(key, in, which);
}

static bool
is_of(const struct head *h, const struct cache_key *key,
      const struct record_range *s)
{
	return memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 &&
		memcmp(&h->key, key, sizeof(*key)) == 0 &&
		h->begin == s->begin && h->end == s->end;
}

/* Return 1 if the file has the tally of this range, 0 if it has that of another
   input or version, -1 if it is damaged. */
static int
parse(const struct text *file, struct head *h, const struct cache_key *key,
      const struct record_range *s)
{
	const size_t rest = file->size - sizeof(*h);

	if (file->size < sizeof(*h))
		return -1;
	memcpy(h, file->data, sizeof(*h));
	if (memcmp(h->magic, MAGIC, sizeof(h->magic) - 1) == 0 &&
	    memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0)
		return 0;		/* another version: make it again */
	if (h->sum != hash64(h, offsetof(struct head, sum)))
		return -1;
	if (!is_of(h, key, s))
		return 0;
	return rest % sizeof(h->places) == 0 &&
		h->places == rest / sizeof(h->places) &&
		h->places_sum == hash64(file->data + sizeof(*h), rest) ?
		1 : -1;
}

bool
record_index_read(const struct cache_input *in, const struct cache_key *key,
		  const struct record_range *s, struct record_range_tally *t)
{
	struct text file = { 0 };
	struct head h;
	struct fail why;
	int got = 0;
	char *path = path_of(in, key, s);

	if (access(path, F_OK) == 0) {
		got = disk_read_text(AT_FDCWD, path, MOST, &file, &why);
		got = got == 0 ? parse(&file, &h, key, s) : 0;
	}
	if (got > 0) {
		*t = (struct record_range_tally){ .records = h.records,
						  .places = h.places };
		if (h.places > 0)
			t->place = mem_copy(file.data + sizeof(h),
					    file.size - sizeof(h));
	} else if (got < 0) {
		log_warn("%s: damaged; counting the records of %s again", path,
			 in->files[0]);
		unlink(path);
	}
	text_release(&file);
	free(path);
	return got > 0;
}

void
record_index_write(const struct cache_input *in, const struct cache_key *key,
		   const struct record_range *s,
		   const struct record_range_tally *t)
{
	struct head h = { .magic = MAGIC, .key = *key, .begin = s->begin,
			  .end = s->end, .records = t->records,
			  .places = t->places };
	const size_t size = t->places * sizeof(*t->place);
	struct disk_file to = { .fd = -1 };
	char *path = path_of(in, key, s);
	struct fail why;
	int got = disk_create_alone(&to, path, &why);

	h.sum = hash64(&h, offsetof(struct head, sum));
	h.places_sum = hash64(t->place, size);
	if (got == 0) {
		disk_trust_reader(&to);
		got = disk_write(&to, &h, sizeof(h), &why);
	}
	if (got == 0 && size > 0)
		got = disk_write(&to, t->place, size, &why);
	if (got == 0 && cache_key_holds(key, in))
		got = disk_commit(&to, &why);
	disk_abandon(&to);
	if (got < 0)
		log_info("%s; the counts are not kept for the next time",
			 why.text);
	free(path);
}
