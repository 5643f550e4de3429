// SPDX-License-Identifier: MIT
/* What the demo's report says and shows; report_page.c makes the page. */
#include "cli/demo.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/report_page.h"

/* The time shown before the first request, and at once. */
#define BEFORE_NS 200000000u
#define SHOWS_MS 1500
#define LEAST_MS 20

/* The demo's modes and what they are called here. */
struct modes {
	const struct demo_mode *all, *native, *best;
	size_t n;
	bool llm;
	const char *patient;
};

static bool is_shown(const struct demo_mode *m)
{
	return !*m->unsupported;
}

static const struct demo_mode *find(const struct modes *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++) {
		if (!strcmp(m->all[i].name, name) && is_shown(&m->all[i]))
			return &m->all[i];
	}
	return NULL;
}

static double to_ms(double ns)
{
	return ns / GP__MS;
}

/* Negative: not known. */
static double if_p99(const struct demo_mode *m, double ns)
{
	return m->figures.has_p99 ? ns : -1;
}

static double wall_ns(double ms)
{
	return ms * GP__MS;
}

static const char *times_text(char *buf, size_t n, const struct demo_mode *m)
{
	double x = m->figures.x_alone;

	if (!m->figures.has_p99)
		snprintf(buf, n, "–");
	else
		snprintf(buf, n, "%.*f×", x >= 10 ? 0 : x >= 3 ? 1 : 2, x);
	return buf;
}

/*
 * Sentences
 */

static void add_stats(json_t *page, const struct modes *m)
{
	char native[32], best[32], wrong[64] = "";

	times_text(native, sizeof(native), m->native);
	times_text(best, sizeof(best), m->best);
	report_add_stat(page, native, json_string(best), false,
			report_text("p99 of requests, compared with alone: without gpreempt, and "
				    "with it"));
	report_add_stat(page, NULL, report_text("%.1f %%", m->best->figures.kept_pct), false,
			report_text("of its speed is what the %s keeps in the time that requests "
				    "leave it",
				    m->patient));
	report_add_stat(page, NULL,
			report_text("%llu", (unsigned long long)m->best->figures.preemptions),
			false, report_text("times it was stopped in the middle of kernels"));
	for (size_t i = 0; i < m->n; i++) {
		size_t used = strlen(wrong);

		if (is_shown(&m->all[i]) && !m->all[i].figures.identical)
			snprintf(wrong + used, sizeof(wrong) - used, "%s%s", used ? ", " : "",
				 m->all[i].name);
	}
	if (*wrong)
		report_add_stat(page, NULL, json_string("different"), true,
				report_text("results in %s", wrong));
	else
		report_add_stat(page, NULL, json_string("identical"), false,
				report_text(m->llm ? "tokens in every mode, and on the processor"
						   : "results in every mode, after every step of "
						     "the trainer"));
}

static void tell(json_t *page, const struct modes *m)
{
	const struct demo_figures *f = &m->best->figures;

	json_object_set_new(page, "claim",
			    json_string(f->has_p99 && f->x_alone <= 1.5
						? "An urgent program has the GPU almost to itself, "
						  "and the patient one loses next to nothing"
						: "An urgent program beside a patient one, on one "
						  "GPU"));
	json_object_set_new(
		page, "lead",
		report_text("%zu %s on a GPU that a %s keeps full: without a scheduler they wait "
			    "for its kernels; under gpreempt those are stopped in the middle and "
			    "go on later. %s",
			    m->best->requests.n,
			    m->llm ? "requests to a language model" : "inference requests",
			    m->patient,
			    m->llm ? "The server and the batch are llama.cpp, unmodified."
				   : "Both programs are unmodified."));
	add_stats(page, m);
}

static void add_notes(json_t *page, const struct modes *m)
{
	char text[600];

	report_add_note(
		page, "The programs",
		m->llm ? "Two llama.cpp servers with the backend for AMD GPUs, as Debian ships "
			 "them. Neither includes, links or knows anything of gpreempt. A request "
			 "to the online one is a short prompt; a batch of the offline one is two "
			 "long prompts, and counts as a step. Both use a small model of random "
			 "weights. Every token is compared with llama.cpp's on the processor."
		       : "An inference server and a trainer for AMD's ROCm runtime, as the "
			 "distribution ships it. Neither includes, links or knows anything of "
			 "gpreempt. The server checks every answer; every step of the trainer is "
			 "compared with the same step computed on the host.");
	report_add_note(page, "alone, native",
			"Each program by itself on the GPU; both together as the driver shares "
			"it.");
	snprintf(text, sizeof(text),
		 "Both started with `gpreempt run`, the server as online and the %s as offline. At "
		 "level 1 nothing more is launched while the server has work; at level 2 kernels "
		 "that run are let finish; at level 3 they are stopped in the middle, their waves "
		 "saved, and they go on later where they were. Levels 1 and 3 use a stock driver. "
		 "Only a driver that schedules queues itself can drain them: level 2 uses one with "
		 "gpreempt's series and `amdgpu.sched_policy=2`.",
		 m->patient);
	report_add_note(page, "lv1, lv2, lv3", text);
	snprintf(text, sizeof(text),
		 "What the GPU executed between the arrival of a request and its answer while the "
		 "request had work for it, by its own clock and whosever work it was: the request, "
		 "the %s's work that it waited for, and the saving of waves. What the GPU does for "
		 "others while a request is with the host's processor does not count. A device "
		 "cycle is one instruction of a SIMD, or one nanosecond.",
		 m->patient);
	report_add_note(page, "device time", text);
	snprintf(text, sizeof(text),
		 "The %s's steps per second, of those it had alone in the time that the requests "
		 "leave it. Time in which the GPU did nothing counts against it.",
		 m->patient);
	report_add_note(page, "kept", text);
	report_add_note(page, "An emulated GPU",
			"Kernels are executed instruction by instruction, far slower than on "
			"hardware. Ratios between the modes mean something; times are not those "
			"of a real GPU.");
}

/*
 * Tables
 */

static void add_figures(json_t *row, const struct demo_mode *m)
{
	const struct demo_figures *f = &m->figures;
	char times[32];

	report_add_textf(row, "%zu", m->requests.n);
	report_add_time(row, wall_ns(f->p50_ms));
	report_add_time(row, if_p99(m, wall_ns(f->p99_ms)));
	report_add_time(row, f->p50_device_ns);
	report_add_time(row, if_p99(m, f->p99_device_ns));
	report_add_textf(row, "%s", times_text(times, sizeof(times), m));
	report_add_textf(row, "%.2f", f->steps_per_s);
	report_add_textf(row, "%.1f %%", f->kept_pct);
	report_add_textf(row, "%llu", (unsigned long long)f->preemptions);
	report_add_cell(row, f->identical ? json_pack("[s, s]", "identical", "good")
					  : json_pack("[s, s]", "different", "bad"));
}

static void add_table(json_t *page, const struct modes *m)
{
	const char *head[] = { "mode",	      "requests",    "p50\nwall",    "p99\nwall",
			       "p50\ndevice", "p99\ndevice", "p99\n× alone", "steps/s",
			       "kept",	      "preemptions", "results",	     NULL };
	json_t *table, *row;

	if (m->llm)
		head[7] = "batches/s";
	table = report_add_table(page, "All figures", "", head, 1u << 10);
	for (size_t i = 0; i < m->n; i++) {
		const struct demo_mode *mode = &m->all[i];

		row = report_add_row(table, mode->name, mode == m->best);
		report_add_textf(row, "%s", mode->name);
		if (is_shown(mode))
			add_figures(row, mode);
		else
			json_object_set_new(row, "rest", gp__json_text(mode->unsupported));
	}
}

/* A language model's own figures. */
static void add_tokens(json_t *page, const struct modes *m)
{
	static const char *const head[] = { "mode",
					    "first token\np50 wall",
					    "first token\np99 wall",
					    "first token\np99 device",
					    "next tokens\nper second",
					    "next token\ndevice",
					    NULL };
	json_t *table, *row;

	if (!m->llm)
		return;
	table = report_add_table(page, "Tokens", "", head, 0);
	for (size_t i = 0; i < m->n; i++) {
		const struct demo_mode *mode = &m->all[i];
		const struct demo_figures *f = &mode->figures;

		if (!is_shown(mode))
			continue;
		row = report_add_row(table, mode->name, mode == m->best);
		report_add_textf(row, "%s", mode->name);
		report_add_time(row, wall_ns(f->first_p50_ms));
		report_add_time(row, if_p99(mode, wall_ns(f->first_p99_ms)));
		report_add_time(row, if_p99(mode, f->first_p99_device_ns));
		report_add_textf(row, "%.1f", f->tokens_per_s);
		report_add_time(row, f->token_device_ns);
	}
}

/*
 * Pictures
 */

static double latency_ms(const struct demo_mode *m, const struct demo_request *r, bool device)
{
	return to_ms(device ? (double)demo_device_ns(m, r) : (double)(r->answered - r->arrived));
}

static json_t *curve(const struct modes *m, const struct demo_mode *mode, bool device)
{
	static const struct {
		const char *name, *dash;
	} dashes[] = { { "alone", "2 4" }, { "lv1", "1 3" }, { "lv2", "8 4" } };
	double *ms = calloc(mode->requests.n + 1, sizeof(*ms));
	const char *dash = "";
	json_t *o;

	if (!ms)
		return NULL;
	for (size_t i = 0; i < mode->requests.n; i++)
		ms[i] = latency_ms(mode, &mode->requests.at[i], device);
	for (size_t i = 0; i < sizeof(dashes) / sizeof(dashes[0]); i++) {
		if (!strcmp(dashes[i].name, mode->name))
			dash = dashes[i].dash;
	}
	o = report_curve(mode->name, mode->name, dash, mode == m->best, ms, mode->requests.n);
	free(ms);
	return o;
}

static void add_curves(json_t *page, const struct modes *m)
{
	json_object_set_new(page, "cdf_title", json_string("How long requests took"));
	for (int device = 1; device >= 0; device--) {
		json_t *series = json_array();

		for (size_t i = 0; i < m->n; i++) {
			if (is_shown(&m->all[i]) && m->all[i].requests.n)
				json_array_append_new(series, curve(m, &m->all[i], device));
		}
		json_array_append_new(
			json_object_get(page, "cdfs"),
			json_pack(
				"{s:s, s:s, s:s, s:b, s:o}", "name",
				device ? "device time" : "wall time", "about",
				device ? "Share of requests that were answered within a time. By "
					 "the device's clock: what the GPU executed, for anybody, "
					 "while they had work for it."
				       : "Share of requests that were answered within a time. By a "
					 "watch on the wall: with all that the host did, and at an "
					 "emulator's speed.",
				"axis",
				device ? "device time of a request, while it has work"
				       : "wall time of a request, from arrival to answer",
				"log", 0, "series", series));
	}
}

static json_t *spans_layer(const struct demo_spans *spans, uint64_t zero, uint64_t end,
			   const char *fill, double opacity)
{
	struct report_layer l;

	report_layer_begin(&l, zero, end, report_gap(end - zero, 1));
	for (size_t i = 0; i < spans->n; i++)
		report_layer_add(&l, spans->at[i].from, spans->at[i].to, -1);
	return report_layer_end(&l, fill, opacity);
}

static json_t *requests_layer(const struct demo_requests *r, uint64_t zero, uint64_t end)
{
	struct report_layer l;

	report_layer_begin(&l, zero, end, 0);
	for (size_t i = 0; i < r->n; i++)
		report_layer_add(&l, r->at[i].arrived, r->at[i].answered, -1);
	return report_layer_end(&l, "#waits", 0.8);
}

/* Adds the lanes of a mode. Returns how much time they show, in ms. */
static double add_lanes(json_t *groups, const struct modes *m, const struct demo_mode *mode)
{
	const struct demo_requests *r = &mode->requests;
	uint64_t zero = r->at[0].arrived - BEFORE_NS, end = r->at[r->n - 1].answered;
	json_t *rows = json_array(), *layers;

	layers = json_pack("[o, o]", requests_layer(r, zero, end),
			   spans_layer(&mode->on[DEMO_ONLINE], zero, end, "online", 1));
	json_array_append_new(rows, json_pack("{s:s, s:o}", "name", "server", "layers", layers));
	if (mode->on[DEMO_OFFLINE].n) {
		layers = json_pack("[o, o]", spans_layer(&mode->held, zero, end, "#held", 0.8),
				   spans_layer(&mode->on[DEMO_OFFLINE], zero, end, "offline", 1));
		json_array_append_new(
			rows, json_pack("{s:s, s:o}", "name", m->patient, "layers", layers));
	}
	json_array_append_new(groups, json_pack("{s:o, s:s, s:o}", "name",
						report_text("%s: %s", mode->name, mode->title),
						"color", mode->name, "rows", rows));
	return to_ms((double)(end - zero));
}

static json_t *legend_of(const struct modes *m)
{
	return json_pack("[[s, s], [s, s], [s, o], [s, o]]", "online", "server on the GPU",
			 "#waits", "request waits", "offline",
			 report_text("%s on the GPU", m->patient), "#held",
			 report_text("%s held by gpreempt", m->patient));
}

static void add_timeline(json_t *page, const struct modes *m)
{
	double length = 0, least = 0;
	json_t *groups = json_array();

	for (size_t i = 0; i < m->n; i++) {
		double ms;

		if (!is_shown(&m->all[i]) || !m->all[i].requests.n)
			continue;
		ms = add_lanes(groups, m, &m->all[i]);
		length = ms > length ? ms : length;
		least = !least || ms < least ? ms : least;
	}
	if (!json_array_size(groups)) {
		json_decref(groups);
		return;
	}
	/* Not from the first moments, in which everything is cold; and where all have something. */
	json_object_set_new(
		page, "timeline",
		json_pack(
			"{s:s, s:s, s:s, s:f, s:f, s:f, s:i, s:[], s:o, s:o}", "title",
			"Who ran when", "about",
			"Workgroups on the GPU's compute units, as the emulated machine saw them, "
			"in wall time.",
			"describe",
			"for each mode a lane of each program, with when it was on the GPU, when "
			"requests waited, and when the offline one was held.",
			"length", length, "from", least / 3, "shows",
			length < SHOWS_MS ? length : SHOWS_MS, "least", LEAST_MS, "words", "legend",
			legend_of(m), "groups", groups));
}

int demo_report_write(const char *path, const struct demo_mode *modes, size_t n, bool llm)
{
	struct modes m = { .all = modes, .n = n, .llm = llm, .patient = llm ? "batch" : "trainer" };
	json_t *page = report_page_new("gpreempt demo", "Written by `gpreempt demo`.");

	m.native = find(&m, "native");
	m.best = find(&m, "lv3");
	json_object_set_new(page, "claim", json_string("gpreempt demo"));
	json_object_set_new(page, "lead", json_string(""));
	if (m.native && m.best)
		tell(page, &m);
	add_timeline(page, &m);
	add_curves(page, &m);
	add_table(page, &m);
	add_tokens(page, &m);
	add_notes(page, &m);
	return report_page_write(path, page);
}
