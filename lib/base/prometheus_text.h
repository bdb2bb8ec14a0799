/*
 * prometheus_text - writes metrics in Prometheus's text format, version 0.0.4.
 *
 * A metric is declared once, and its samples follow directly: one, or one for
 * each set of labels.
 *
 *	prometheus_metric(&text, "pskit_worker_up", "gauge", "Is it there?");
 *	prometheus_labelled(&text, "pskit_worker_up", "worker", "0", 1);
 */
#ifndef PS_PROMETHEUS_TEXT_H
#define PS_PROMETHEUS_TEXT_H

#include "base/text.h"

/* Declare a metric.  The type is "counter", "gauge" or "histogram"; the help is
   one line. */
void prometheus_metric(struct text *, const char *name, const char *type,
		       const char *help);

/* Add a sample without labels. */
void prometheus_sample(struct text *, const char *name, double value);

/*
 * Add a sample with count labels, or with one.  The value of a label may be any
 * text; a character that must not reach a terminal becomes a question mark.
 */
struct prometheus_label {
	const char *name, *value;
};
void prometheus_labels(struct text *, const char *name,
		       const struct prometheus_label *, size_t count,
		       double value);
void prometheus_labelled(struct text *, const char *name, const char *label,
			 const char *is, double value);

/* Give every sample of a text one more label, in front of the others.  The text
   must not be empty. */
void prometheus_mark(struct text *, const char *label, const char *is);

/* Declare a metric, and add its one sample, without labels. */
void prometheus_single(struct text *, const char *name, const char *type,
		       const char *help, double value);

#endif
