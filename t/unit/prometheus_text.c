/* Metrics in Prometheus's text format, to the letter. */
#include "base/prometheus_text.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static struct text out;

static bool
reads(const char *expected)
{
	const bool same = strcmp(out.data, expected) == 0;

	if (!same)
		tap_differ(out.data, expected);
	text_reset(&out);
	return same;
}

static void
values(void)
{
	prometheus_single(&out, "a_total", "counter", "So many.", 12345678901);
	ok(reads("# HELP a_total So many.\n# TYPE a_total counter\n"
		 "a_total 12345678901\n"));
	prometheus_sample(&out, "a", 1732483744.123);
	prometheus_sample(&out, "a", 0.1);
	prometheus_sample(&out, "a", -3e30);
	ok(reads("a 1732483744.123\na 0.1\na -3e+30\n"));
	prometheus_sample(&out, "a", NAN);
	prometheus_sample(&out, "a", INFINITY);
	prometheus_sample(&out, "a", -INFINITY);
	named(reads("a NaN\na +Inf\na -Inf\n"),
	      "NaN and infinities have Prometheus's words");
}

static void
labels(void)
{
	const struct prometheus_label two[] = { { "a", "1" }, { "b", "" } };

	prometheus_labels(&out, "x", two, 2, 1);
	ok(reads("x{a=\"1\",b=\"\"} 1\n"));
	prometheus_labelled(&out, "x", "file", "a \"b\"\\c\nd {e},f=%d", 1);
	named(reads("x{file=\"a \\\"b\\\"\\\\c\\nd {e},f=%d\"} 1\n"),
	      "quotes, backslashes and newlines are escaped");
	prometheus_labelled(&out, "x", "file", "\xc3\xa9", 1);
	ok(reads("x{file=\"\xc3\xa9\"} 1\n"));
	prometheus_labelled(&out, "x", "file", "\xe9t\xe9", 1);
	named(reads("x{file=\"?t?\"} 1\n"),
	      "bytes that are not UTF-8 become question marks");
}

static void
marks(void)
{
	prometheus_single(&out, "a_total", "counter", "So {many}.", 1);
	prometheus_labelled(&out, "x", "file", "a {b} c", 2);
	prometheus_mark(&out, "run", "0\"1");
	named(reads("# HELP a_total So {many}.\n# TYPE a_total counter\n"
		    "a_total{run=\"0\\\"1\"} 1\n"
		    "x{run=\"0\\\"1\",file=\"a {b} c\"} 2\n"),
	      "every sample gets the label");
}

int
main(void)
{
	values();
	labels();
	marks();
	text_release(&out);
	return tap_done();
}
