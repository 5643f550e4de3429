// SPDX-License-Identifier: MIT
#include "base/progress.h"

#include "base/clock.h"

#include <inttypes.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_AFTER_NS (2 * GP__S)
#define REDRAW_EVERY_NS (GP__S / 5)
#define ERASE_LINE "\r\033[K"

void gp__progress_start(struct gp__progress *p, FILE *stream, const char *label, const char *unit,
			uint64_t total)
{
	*p = (struct gp__progress){
		.stream = isatty(fileno(stream)) ? stream : NULL,
		.label = label,
		.unit = unit,
		.total = total,
		.started_ns = gp__clock_ns(),
	};
}

/* The width of a line; 0: unknown. A line that wraps cannot be overwritten. */
static int width_of(FILE *stream)
{
	struct winsize size;

	return ioctl(fileno(stream), TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

static void write_share(FILE *line, const struct gp__progress *p, uint64_t done, double elapsed_s)
{
	double share = (double)done / (double)p->total;

	if (share > 1)
		share = 1;
	fprintf(line, " %3.0f %%", 100 * share);
	if (done)
		fprintf(line, ", %.0f s left", elapsed_s * (1 - share) / share);
}

static void write_rate(FILE *line, const struct gp__progress *p, double rate)
{
	if (rate >= 1e6)
		fprintf(line, ", %.1f million %s/s", rate / 1e6, p->unit);
	else
		fprintf(line, ", %.0f %s/s", rate, p->unit);
}

static void print_line(const struct gp__progress *p, uint64_t done, uint64_t elapsed_ns)
{
	double elapsed_s = gp__to_s(elapsed_ns);
	int width = width_of(p->stream);
	char text[256] = "";
	FILE *line = fmemopen(text, sizeof(text), "w");

	if (!line)
		return;
	fprintf(line, "%s:", p->label);
	if (p->total)
		write_share(line, p, done, elapsed_s);
	else
		fprintf(line, " %" PRIu64 " %s", done, p->unit);
	if (p->unit)
		write_rate(line, p, (double)done / elapsed_s);
	fclose(line);
	fprintf(p->stream, ERASE_LINE "%.*s", width > 1 ? width - 1 : (int)sizeof(text), text);
	fflush(p->stream);
}

void gp__progress_update_at(struct gp__progress *p, uint64_t done, uint64_t now_ns)
{
	if (!p->stream || now_ns < p->started_ns + FIRST_AFTER_NS)
		return;
	if (now_ns < p->printed_ns + REDRAW_EVERY_NS)
		return;
	print_line(p, done, now_ns - p->started_ns);
	p->printed_ns = now_ns;
	p->visible = true;
}

void gp__progress_update(struct gp__progress *p, uint64_t done)
{
	if (p->stream)
		gp__progress_update_at(p, done, gp__clock_ns());
}

void gp__progress_end(struct gp__progress *p)
{
	if (!p->visible)
		return;
	fputs(ERASE_LINE, p->stream);
	fflush(p->stream);
	p->visible = false;
}
