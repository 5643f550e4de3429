// SPDX-License-Identifier: MIT
#include "device/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gp__report_line(struct gp__probe_report *r, const char *name, const char *fmt, ...)
{
	va_list args;

	if (r->nr_lines == GP__REPORT_LINES_MAX)
		return;
	snprintf(r->line[r->nr_lines].name, sizeof(r->line[0].name), "%s", name);
	va_start(args, fmt);
	vsnprintf(r->line[r->nr_lines].text, sizeof(r->line[0].text), fmt, args);
	va_end(args);
	r->nr_lines++;
}

/* NULL: there is no room left. */
static struct gp__fact *add_fact(struct gp__probe_report *r, const char *key,
				 enum gp__fact_type type)
{
	struct gp__fact *f;

	if (r->nr_facts == GP__REPORT_FACTS_MAX)
		return NULL;
	f = &r->fact[r->nr_facts++];
	*f = (struct gp__fact){ .key = key, .type = type };
	return f;
}

static void add_text(struct gp__probe_report *r, const char *key, enum gp__fact_type type,
		     const char *text)
{
	struct gp__fact *f = add_fact(r, key, text ? type : GP__FACT_NULL);

	if (f && text)
		snprintf(f->text, sizeof(f->text), "%s", text);
}

void gp__report_text(struct gp__probe_report *r, const char *key, const char *text)
{
	add_text(r, key, GP__FACT_TEXT, text);
}

void gp__report_list(struct gp__probe_report *r, const char *key, const char *items)
{
	add_text(r, key, GP__FACT_LIST, items);
}

void gp__report_number(struct gp__probe_report *r, const char *key, bool known, uint64_t number)
{
	struct gp__fact *f = add_fact(r, key, known ? GP__FACT_NUMBER : GP__FACT_NULL);

	if (f)
		f->number = number;
}

void gp__report_bool(struct gp__probe_report *r, const char *key, bool value)
{
	struct gp__fact *f = add_fact(r, key, GP__FACT_BOOL);

	if (f)
		f->number = value;
}

struct gp__ability *gp__report_ability(struct gp__probe_report *r, const struct gp__ability *a)
{
	if (r->nr_abilities == GP__REPORT_ABILITIES_MAX)
		return NULL;
	r->ability[r->nr_abilities] = *a;
	return &r->ability[r->nr_abilities++];
}

void gp__check(struct gp__checks *checks, const char *name, enum gp__check_result result,
	       const char *remedy, const char *fmt, ...)
{
	char message[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	checks->add(checks, name, result, remedy, message);
}
