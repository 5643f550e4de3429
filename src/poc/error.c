// SPDX-License-Identifier: MIT
/* Records a failure of a call: the errno and the sentence of gpreempt_last_error(). */
#include "poc/poc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gp__poc_fail(struct gp__poc_error *e, int err, const char *fmt, ...)
{
	int number = err < 0 ? -err : err;
	va_list args;

	e->err = number;
	e->nr_failed = 0;
	va_start(args, fmt);
	vsnprintf(e->sentence, sizeof(e->sentence), fmt, args);
	va_end(args);
	return -1;
}

int gp__poc_fail_plain(struct gp__poc_error *e, int err, const char *sentence)
{
	const char *name = strerrorname_np(err);

	return gp__poc_fail(e, err, "%s (%s)", sentence, name ? name : "?");
}

void gp__poc_fail_queue(struct gp__poc_error *e, uint32_t id)
{
	if (e->nr_failed < GPREEMPT_POC_QUEUES_MAX)
		e->failed[e->nr_failed++] = id;
}

void gp__poc_fail_more(struct gp__poc_error *e, const char *fmt, ...)
{
	size_t len = strlen(e->sentence);
	va_list args;

	va_start(args, fmt);
	vsnprintf(e->sentence + len, sizeof(e->sentence) - len, fmt, args);
	va_end(args);
}
