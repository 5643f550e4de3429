/* SPDX-License-Identifier: MIT */
/*
 * The metrics of gpreemptd, as text in the exposition format of Prometheus.
 *
 * gpreemptd answers the request "metrics" with a JSON document: the object "daemon", and the arrays
 * "gpus", "classes", "programs" and "users", whose elements are rows. A metric takes one member of
 * each row of its scope; the row's labels are the same for all metrics of the scope. So a metric is
 * one line in the table gp__metrics.
 *
 * Nothing here knows a vendor, a clock or the daemon. A member that is missing or null gives no
 * sample.
 */
#ifndef GP__METRICS_METRICS_H
#define GP__METRICS_METRICS_H

#include <jansson.h>

enum gp__metric_type {
	GP__METRIC_COUNTER,
	GP__METRIC_GAUGE,
	GP__METRIC_HISTOGRAM,
};

enum gp__metric_scope {
	GP__SCOPE_DAEMON,
	GP__SCOPE_GPU,
	GP__SCOPE_CLASS,
	GP__SCOPE_PROGRAM,
	GP__SCOPE_USER,
	GP__SCOPES,
};

struct gp__metric {
	const char *name, *help;
	enum gp__metric_type type;
	enum gp__metric_scope scope;
	/* The member of a row. If its name ends in "_ns", the metric is in seconds. */
	const char *member;
	/* If the member is an object: the label that has the names of its members, with a sample
	 * for each. "*": the members are labels themselves, and the value is 1. */
	const char *label;
};

/* Ends with a NULL name. */
extern const struct gp__metric gp__metrics[];

/* "counter", "gauge" or "histogram". */
const char *gp__metric_type_name(enum gp__metric_type type);
/* The labels that all metrics of the scope have, ended by NULL. */
const char *const *gp__scope_labels(enum gp__metric_scope scope);

/* The text of all metrics, to be freed; NULL: out of memory. */
char *gp__metrics_text(const json_t *document, size_t *size);

#endif
