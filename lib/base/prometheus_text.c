#include "base/prometheus_text.h"

#include "base/visible_text.h"

#include <math.h>
#include <string.h>

void
prometheus_metric(struct text *out, const char *name, const char *type,
		  const char *help)
{
	text_add(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* 15 digits: counts up to 10^15 are exact, times are so to the microsecond. */
static void
add_value(struct text *out, double value)
{
	if (isnan(value))
		text_add(out, " NaN\n");
	else if (isinf(value))
		text_add(out, " %cInf\n", value < 0 ? '-' : '+');
	else
		text_add(out, " %.15g\n", value);
}

void
prometheus_sample(struct text *out, const char *name, double value)
{
	prometheus_labels(out, name, NULL, 0, value);
}

/* One byte that is not UTF-8 would make Prometheus refuse the whole text. */
static void
add_quoted(struct text *out, const char *value)
{
	struct text words = { 0 };

	text_add(out, "\"");
	for (size_t n; *value; value += n) {
		n = strcspn(value, "\n\"\\");
		text_reset(&words);
		visible_add(&words, value, n);
		text_add(out, "%s", words.data);
		if (value[n])
			text_add(out, value[n] == '\n' ? "\\n" : "\\%c",
				 value[n]);
		n += value[n] != '\0';
	}
	text_add(out, "\"");
	text_release(&words);
}

void
prometheus_labels(struct text *out, const char *name,
		  const struct prometheus_label *label, size_t count,
		  double value)
{
	text_add(out, "%s", name);
	for (size_t i = 0; i < count; i++) {
		text_add(out, "%c%s=", i == 0 ? '{' : ',', label[i].name);
		add_quoted(out, label[i].value);
	}
	if (count > 0)
		text_add(out, "}");
	add_value(out, value);
}

void
prometheus_labelled(struct text *out, const char *name, const char *label,
		    const char *is, double value)
{
	const struct prometheus_label one = { label, is };

	prometheus_labels(out, name, &one, 1, value);
}

void
prometheus_single(struct text *out, const char *name, const char *type,
		  const char *help, double value)
{
	prometheus_metric(out, name, type, help);
	prometheus_sample(out, name, value);
}

/* The name of a sample ends at the "{" of its labels, or at the blank before
   its value. */
static void
add_marked(struct text *out, const char *line, size_t size, const char *label,
	   const char *is)
{
	const size_t name = strcspn(line, "{ ");
	const bool labels = line[name] == '{';

	text_add_bytes(out, line, name);
	text_add(out, "{%s=", label);
	add_quoted(out, is);
	text_add(out, labels ? "," : "}");
	text_add_bytes(out, line + name + labels, size - name - labels);
}

void
prometheus_mark(struct text *text, const char *label, const char *is)
{
	struct text marked = { 0 };
	size_t size;

	for (const char *line = text->data, *end = line + text->size;
	     line < end; line += size) {
		size = strcspn(line, "\n") + 1;
		if (*line == '#')
			text_add_bytes(&marked, line, size);
		else
			add_marked(&marked, line, size, label, is);
	}
	text_release(text);
	*text = marked;
}
