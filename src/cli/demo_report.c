// SPDX-License-Identifier: MIT
/*
 * Writes the report: one self-contained file, made from demo_report.html by replacing a mark with
 * the figures and times of all modes.
 */
#include "cli/demo.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

#define MARK "@DATA@"
/* The time shown before the first request. */
#define BEFORE_NS 200000000u
#define GAPS_SHOWN 100000

/* demo_report.html, as a string made by the build. */
extern const char demo_page[];

static double ms_since(uint64_t zero, uint64_t ns)
{
	return ((double)ns - (double)zero) / GP__MS;
}

static json_t *pair(uint64_t zero, uint64_t from, uint64_t to)
{
	return json_pack("[f, f]", ms_since(zero, from), ms_since(zero, to));
}

/* The spans in the time shown. Gaps that are too small to see are closed, to bound the number. */
static json_t *spans_json(const struct demo_spans *spans, uint64_t zero, uint64_t end)
{
	uint64_t gap = (end - zero) / GAPS_SHOWN;
	json_t *list = json_array();

	for (size_t i = 0; i < spans->n; i++) {
		struct demo_span s = spans->at[i];

		if (s.to <= zero || s.from >= end)
			continue;
		while (i + 1 < spans->n && spans->at[i + 1].from < s.to + gap)
			s.to = spans->at[++i].to;
		json_array_append_new(list, pair(zero, s.from, s.to));
	}
	return list;
}

static json_t *timeline_json(const struct demo_mode *m)
{
	const struct demo_requests *r = &m->requests;
	uint64_t zero = r->at[0].arrived - BEFORE_NS, end = r->at[r->n - 1].answered;
	json_t *requests = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(requests, pair(zero, r->at[i].arrived, r->at[i].answered));
	return json_pack("{s:f, s:o, s:o, s:o, s:o}", "length_ms", ms_since(zero, end), "requests",
			 requests, "online", spans_json(&m->on[DEMO_ONLINE], zero, end), "offline",
			 spans_json(&m->on[DEMO_OFFLINE], zero, end), "held",
			 spans_json(&m->held, zero, end));
}

static void add_latencies(json_t *o, const struct demo_mode *m)
{
	json_t *wall = json_array(), *device = json_array();

	for (size_t i = 0; i < m->requests.n; i++) {
		const struct demo_request *r = &m->requests.at[i];

		json_array_append_new(wall, json_real(ms_since(r->arrived, r->answered)));
		json_array_append_new(device, json_real((double)demo_device_ns(m, r) / GP__US));
	}
	json_object_set_new(o, "wall_ms", wall);
	json_object_set_new(o, "device_us", device);
}

static json_t *mode_json(const struct demo_mode *m)
{
	const struct demo_figures *f = &m->figures;
	json_t *o = json_pack("{s:s, s:s}", "name", m->name, "title", m->title);

	if (*m->unsupported) {
		json_object_set_new(o, "unsupported", json_string(m->unsupported));
		return o;
	}
	json_object_update_new(o,
			       json_pack("{s:I, s:f, s:f, s:f, s:f, s:b, s:I}", "requests",
					 (json_int_t)m->requests.n, "p50_ms", f->p50_ms,
					 "p50_device_us", f->p50_device_ns / GP__US, "steps_per_s",
					 f->steps_per_s, "kept_pct", f->kept_pct, "identical",
					 f->identical, "preemptions", (json_int_t)f->preemptions));
	gp__json_set_real(o, "p99_ms", f->has_p99, f->p99_ms);
	gp__json_set_real(o, "p99_device_us", f->has_p99, f->p99_device_ns / GP__US);
	gp__json_set_real(o, "x_alone", f->has_p99, f->x_alone);
	if (m->requests.n && m->requests.at[0].tokens) {
		json_object_update_new(o,
				       json_pack("{s:f, s:f, s:f}", "first_p50_ms", f->first_p50_ms,
						 "tokens_per_s", f->tokens_per_s, "token_device_us",
						 f->token_device_ns / GP__US));
		gp__json_set_real(o, "first_p99_ms", f->has_p99, f->first_p99_ms);
		gp__json_set_real(o, "first_p99_device_us", f->has_p99,
				  f->first_p99_device_ns / GP__US);
	}
	add_latencies(o, m);
	if (m->requests.n)
		json_object_set_new(o, "timeline", timeline_json(m));
	return o;
}

/* Escapes slashes, so that no text can end the script element. */
static int write_data(FILE *out, const struct demo_mode *modes, size_t n, bool llm)
{
	json_t *root = json_object(), *list = json_array();
	int err;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, mode_json(&modes[i]));
	json_object_set_new(root, "modes", list);
	json_object_set_new(root, "llm", json_boolean(llm));
	err = json_dumpf(root, out, JSON_COMPACT | JSON_ESCAPE_SLASH | JSON_REAL_PRECISION(9));
	json_decref(root);
	return err ? -EIO : 0;
}

int demo_report_write(const char *path, const struct demo_mode *modes, size_t n, bool llm)
{
	const char *mark = strstr(demo_page, MARK);
	FILE *out = fopen(path, "we");
	int err;

	if (!out)
		return -errno;
	errno = 0;
	fwrite(demo_page, 1, (size_t)(mark - demo_page), out);
	err = write_data(out, modes, n, llm);
	fputs(mark + strlen(MARK), out);
	if (ferror(out) && !err)
		err = errno ? -errno : -EIO;
	if (fclose(out))
		err = -errno;
	return err;
}
