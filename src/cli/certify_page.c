// SPDX-License-Identifier: MIT
/*
 * Writes the page of the report: HTML without scripts, so that it can be printed, mailed and kept.
 * certify_report.html is its frame. On an emulated machine, a banner is at its top, in each section
 * and on each printed page.
 */
#include "cli/certify_page.h"

#include <stdio.h>
#include <string.h>

#define MARK "@BODY@"
#define BANNER "Emulated machine: these are not the figures of a GPU."

/* certify_report.html, as a string made by the build. */
extern const char certify_page[];

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

/* <@tag class="@class">@text</@tag> */
static void put(FILE *out, const char *tag, const char *class, const char *text)
{
	fprintf(out, "<%s class=\"%s\">", tag, class);
	put_text(out, text);
	fprintf(out, "</%s>\n", tag);
}

static const char *class_of(enum certify_verdict verdict)
{
	static const char *const names[CERTIFY_VERDICTS] = { "none", "passed", "failed" };

	return names[verdict];
}

/*
 * The head
 */

static const char *title_of(const struct certify *c)
{
	if (c->emulated)
		return "gpreempt certify, rehearsed on an emulated machine";
	return "gpreempt certify";
}

static const char *sentence_of(const struct certify *c)
{
	if (certify_overall(c) == CERTIFY_FAILED)
		return "At least one goal was missed.";
	if (c->emulated)
		return "Nothing failed. This is a rehearsal: it certifies no GPU.";
	if (certify_overall(c) == CERTIFY_PASSED)
		return "Every goal that was measured was reached.";
	return "Nothing was measured.";
}

static void put_count(FILE *out, const struct certify *c, enum certify_verdict verdict)
{
	fprintf(out, "<div class=\"count %s\"><b>%zu</b><span>%s</span></div>\n", class_of(verdict),
		certify_count(c, verdict), certify_verdict_name(verdict));
}

static void put_head(FILE *out, const struct certify *c)
{
	if (c->emulated)
		put(out, "div", "banner", BANNER);
	put(out, "h1", "title", title_of(c));
	put(out, "p", "lead", sentence_of(c));
	fprintf(out, "<div class=\"counts\">\n");
	put_count(out, c, CERTIFY_PASSED);
	put_count(out, c, CERTIFY_FAILED);
	put_count(out, c, CERTIFY_NOT_MEASURED);
	fprintf(out, "</div>\n<dl>\n");
	put(out, "dt", "", "GPU");
	put(out, "dd", "", c->gpu);
	put(out, "dt", "", "Driver");
	put(out, "dd", "", c->driver);
	put(out, "dt", "", "Measured");
	fprintf(out, "<dd>%s, by gpreempt %s, %s%s</dd>\n", c->date, GP_VERSION,
		c->root ? "as root" : "not as root",
		c->options.quick ? ", with --quick: a check, not a measurement" : "");
	fprintf(out, "</dl>\n");
	for (size_t i = 0; i < c->nr_notes; i++)
		put(out, "p", "note", c->note[i]);
}

/*
 * The sections
 */

static const char *measured_how(const struct certify *c)
{
	return c->emulated ? "emulated" : "measured";
}

static void put_row(FILE *out, const struct certify *c, const struct certify_row *row)
{
	char text[64];

	fprintf(out, "<tr><td class=\"what\">");
	put_text(out, row->goal->what);
	if (*row->why)
		put(out, "small", "why", row->why);
	fprintf(out, "</td>\n<td class=\"goal\" data-name=\"goal\">");
	put_text(out, certify_goal_text(row->goal, text, sizeof(text)));
	fprintf(out, "</td>\n<td class=\"value\" data-name=\"%s\">", measured_how(c));
	put_text(out, certify_value_text(row, text, sizeof(text)));
	fprintf(out, "</td>\n<td class=\"verdict %s\" data-name=\"verdict\">%s</td></tr>\n",
		class_of(row->verdict), certify_verdict_name(row->verdict));
}

static bool has_rows(const struct certify *c, enum certify_section section)
{
	for (size_t i = 0; i < c->nr_rows; i++) {
		if (c->row[i].goal->section == section)
			return true;
	}
	return false;
}

static void put_section(FILE *out, const struct certify *c, enum certify_section section)
{
	const struct certify_section_text *s = &certify_sections[section];

	if (!has_rows(c, section))
		return;
	fprintf(out, "<section>\n");
	if (*s->seed)
		fprintf(out, "<span class=\"seed\">seed %s</span>\n", s->seed);
	put(out, "h2", "", s->title);
	put(out, "p", "soft", s->text);
	fprintf(out,
		"<table><colgroup><col class=\"what\"><col class=\"goal\"><col class=\"value\">"
		"<col></colgroup><thead>\n");
	/* The head of a table is printed again on each page. */
	if (c->emulated)
		fprintf(out, "<tr><th class=\"banner\" colspan=\"4\">" BANNER "</th></tr>\n");
	fprintf(out,
		"<tr class=\"names\"><th>what</th><th>goal</th><th>%s</th><th>verdict</th></tr>"
		"</thead><tbody>\n",
		measured_how(c));
	for (size_t i = 0; i < c->nr_rows; i++) {
		if (c->row[i].goal->section == section)
			put_row(out, c, &c->row[i]);
	}
	fprintf(out, "</tbody></table>\n</section>\n");
}

void certify_page_write(FILE *out, const struct certify *c)
{
	const char *mark = strstr(certify_page, MARK);

	fwrite(certify_page, 1, (size_t)(mark - certify_page), out);
	put_head(out, c);
	for (int i = 0; i < CERTIFY_SECTIONS; i++)
		put_section(out, c, (enum certify_section)i);
	fputs(mark + strlen(MARK), out);
}
