/*
 * prometheus_text - figures as text, in Prometheus's format, version 0.0.4.
 *
 * A metric is named once, and its samples follow at once: one, or one for each
 * set of labels.
 *
 *	prometheus_metric(&text, "pskit_worker_up", "gauge", "Is it there?");
 *	prometheus_labelled(&text, "pskit_worker_up", "worker", "0", 1);
 */
#ifndef PS_PROMETHEUS_TEXT_H
#define PS_PROMETHEUS_TEXT_H

#include "base/text.h"

/* The type is counter, gauge or histogram; the help is a line. */
void prometheus_metric(struct text *, const char *name, const char *type,
		       const char *help);

void prometheus_sample(struct text *, const char *name, double value);

/* A label's value may be any text; what may not be shown becomes question
   marks. */
struct prometheus_label {
	const char *name, *value;
};
void prometheus_labels(struct text *, const char *name,
		       const struct prometheus_label *, size_t count,
		       double value);
void prometheus_labelled(struct text *, const char *name, const char *label,
			 const char *is, double value);

/* Give all samples of the text, which has some, one more label, the first. */
void prometheus_mark(struct text *, const char *label, const char *is);

/* A metric that has one sample, without labels. */
void prometheus_single(struct text *, const char *name, const char *type,
		       const char *help, double value);

#endif
