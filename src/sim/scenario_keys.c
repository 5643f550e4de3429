// SPDX-License-Identifier: MIT
/*
 * The sections and keys of a scenario file: tables, and how each value is read.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/scenario_parser.h"
#include "sim/scenario_value.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_PARAMS 64
#define PPM_OF_PERCENT 10000
/* Leaves room for the number that `count` adds. */
#define MAX_SECTION_NAME 36

#define EXPECT_SECTION "expected [scenario], [gpu NAME] or [program NAME]"

struct key {
	const char *name;
	int (*set)(struct gp__parser *p, const struct key *key, void *field, const char *value);
	size_t offset;
	uint64_t min;
	uint64_t max;
	bool required;
	bool repeats;
};

struct gp__section {
	const char *kind;
	bool named;
	const struct key *keys;
	size_t n_keys;
	int (*begin)(struct gp__parser *p, const char *name);
	int (*end)(struct gp__parser *p);
};

static int bad_value(struct gp__parser *p, const struct key *key, const char *value,
		     const char *expected)
{
	return fail(p, "'%.60s' is no value for '%s'; expected %s", value, key->name, expected);
}

static bool valid_name(const char *s)
{
	if (!isascii((unsigned char)*s) || !isalpha((unsigned char)*s))
		return false;
	for (; *s; s++) {
		if (!isascii((unsigned char)*s) ||
		    (!isalnum((unsigned char)*s) && *s != '_' && *s != '-'))
			return false;
	}
	return true;
}

/* ---- values ---- */

static int set_u64(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	char expected[80];

	if (gp__parse_u64(value, key->min, key->max, field))
		return bad_value(p, key, value,
				 gp__expect_u64(expected, sizeof(expected), key->min, key->max));
	return 0;
}

static int set_u32(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	uint64_t wide;
	int err = set_u64(p, key, &wide, value);

	if (!err)
		*(uint32_t *)field = (uint32_t)wide;
	return err;
}

static int set_auto_u32(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	char range[80], expected[100];
	uint64_t wide = 0;

	if (strcmp(value, "auto") && gp__parse_u64(value, key->min, key->max, &wide)) {
		gp__expect_u64(range, sizeof(range), key->min, key->max);
		snprintf(expected, sizeof(expected), "'auto' or %s", range);
		return bad_value(p, key, value, expected);
	}
	*(uint32_t *)field = (uint32_t)wide;
	return 0;
}

static int set_probability(struct gp__parser *p, const struct key *key, void *field,
			   const char *value)
{
	if (gp__parse_double(value, 0, 1, field))
		return bad_value(p, key, value, "a probability from 0 to 1");
	return 0;
}

static int check_time(struct gp__parser *p, const struct key *key, uint64_t ns)
{
	if (ns < key->min)
		return fail(p, "'%s' is zero; expected a time above 0", key->name);
	if (ns > GP__TIME_MAX_NS)
		return fail(p, "'%s' is too long; expected at most 8760h", key->name);
	return 0;
}

static int set_time(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	uint64_t ns;
	int err;

	err = gp__parse_duration(value, &ns);
	if (err == -ERANGE)
		return fail(p, "'%.60s' is out of range for '%s'; expected 1ns to 8760h", value,
			    key->name);
	if (err)
		return bad_value(p, key, value, GP__EXPECT_DURATION);
	err = check_time(p, key, ns);
	if (!err)
		*(uint64_t *)field = ns;
	return err;
}

static int set_dist(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	struct gp__dist dist;
	int err;

	err = gp__parse_dist(value, &dist);
	if (err)
		return bad_value(p, key, value, GP__EXPECT_DIST);
	err = check_time(p, key, dist.a_ns);
	if (!err)
		*(struct gp__dist *)field = dist;
	return err;
}

static int set_size(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	if (gp__parse_size(value, field))
		return bad_value(p, key, value, GP__EXPECT_SIZE);
	return 0;
}

static int set_percent(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	uint32_t ppm;

	if (gp__parse_percent(value, &ppm) || !ppm || ppm % PPM_OF_PERCENT)
		return bad_value(p, key, value, "a whole percentage from 1% to 100%");
	*(uint32_t *)field = ppm / PPM_OF_PERCENT;
	return 0;
}

static int set_bool(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	if (!strcmp(value, "yes") || !strcmp(value, "true"))
		*(bool *)field = true;
	else if (!strcmp(value, "no") || !strcmp(value, "false"))
		*(bool *)field = false;
	else
		return bad_value(p, key, value, "'yes' or 'no'");
	return 0;
}

static int set_name(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	if (!valid_name(value) || strlen(value) >= GP__TAG_MAX)
		return bad_value(p, key, value,
				 "a letter followed by at most 30 letters, digits, '-' or '_'");
	strcpy(field, value);
	return 0;
}

static int set_priority(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	char expected[80];
	int64_t wide;

	if (gp__parse_i64(value, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &wide))
		return bad_value(p, key, value,
				 gp__expect_i64(expected, sizeof(expected), -GP__PRIO_LIMIT,
						GP__PRIO_LIMIT));
	*(int32_t *)field = (int32_t)wide;
	return 0;
}

static int set_string(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	char *copy;

	if (!*value)
		return fail(p, "'%s' has no value; expected a text", key->name);
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	*(char **)field = copy;
	return 0;
}

static int set_class(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	if (gp__class_prio(value, field))
		return 0;
	return bad_value(p, key, value, "'online', 'normal' or 'offline'");
}

/* Level 1 needs no hardware support, so it is always available. */
static int set_levels(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	uint32_t levels;

	if (gp__parse_levels(value, &levels))
		return bad_value(p, key, value, GP__EXPECT_LEVELS);
	*(uint32_t *)field = levels | 1u << 1;
	return 0;
}

static int set_arrivals(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	struct gp__arrivals *arrivals = field;
	unsigned int before = p->key_line[GP__PROGRAM_ARRIVALS];
	size_t n_trace = arrivals->n_trace;
	int err;

	err = gp__parse_arrivals(value, arrivals);
	if (err == -ENOMEM)
		return err;
	if (err)
		return bad_value(p, key, value, GP__EXPECT_ARRIVALS);
	if (before && (!n_trace || n_trace == arrivals->n_trace))
		return fail(p, "'arrivals' was already given on line %u; only a trace may go on",
			    before);
	return 0;
}

static int set_note(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	struct gp__scenario *sc = p->draft.scenario;
	char **notes;
	int err;

	(void)field;
	notes = gp__grow(sc->notes, sc->n_notes, sizeof(*notes));
	if (!notes)
		return -ENOMEM;
	sc->notes = notes;
	err = set_string(p, key, &notes[sc->n_notes], value);
	if (!err)
		sc->n_notes++;
	return err;
}

static int set_policy(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	struct gp__scenario *sc = field;

	sc->policy_line = p->line;
	return set_name(p, key, sc->policy, value);
}

/* These are kept in the draft until all sections are known. */
static struct gp__program_draft *current_draft(struct gp__parser *p)
{
	return &p->draft.programs[p->draft.scenario->n_program_specs - 1];
}

static int set_gpu_list(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	(void)field;
	return set_string(p, key, &current_draft(p)->gpu, value);
}

static int set_process(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	(void)field;
	return set_name(p, key, current_draft(p)->process, value);
}

static int set_user(struct gp__parser *p, const struct key *key, void *field, const char *value)
{
	(void)field;
	return set_name(p, key, current_draft(p)->user, value);
}

/* ---- keys ---- */

#define FIELD(type, member) .offset = offsetof(struct type, member)
#define NO_FIELD .offset = 0

enum { SCENARIO_WARMUP };

static const struct key scenario_keys[] = {
	[SCENARIO_WARMUP] = { "warmup", set_time, FIELD(gp__scenario, warmup_ns) },
	{ "duration", set_time, FIELD(gp__scenario, duration_ns), .min = 1, .required = true },
	{ "title", set_string, FIELD(gp__scenario, title) },
	{ "note", set_note, NO_FIELD, .repeats = true },
	{ "seed", set_u64, FIELD(gp__scenario, seed), .max = UINT64_MAX },
	{ "policy", set_policy, NO_FIELD },
};

static const struct key gpu_keys[] = {
	{ "count", set_u32, FIELD(gp__gpu_spec, count), 1, GP__SCENARIO_MAX_GPUS },
	{ "vram", set_size, FIELD(gp__gpu_spec, vram_bytes) },
	{ "levels", set_levels, FIELD(gp__gpu_spec, levels) },
	{ "interrupt", set_dist, FIELD(gp__gpu_spec, interrupt) },
	{ "restore", set_dist, FIELD(gp__gpu_spec, restore) },
	{ "deactivate", set_dist, FIELD(gp__gpu_spec, deactivate) },
	{ "reactivate", set_dist, FIELD(gp__gpu_spec, reactivate) },
	{ "launch", set_dist, FIELD(gp__gpu_spec, launch) },
	{ "switch_cost", set_dist, FIELD(gp__gpu_spec, switch_cost) },
	{ "cold", set_dist, FIELD(gp__gpu_spec, cold) },
	{ "weighs", set_bool, FIELD(gp__gpu_spec, weighs) },
	{ "sees", set_dist, FIELD(gp__gpu_spec, sees) },
	{ "settles", set_dist, FIELD(gp__gpu_spec, settles) },
	{ "fail", set_probability, FIELD(gp__gpu_spec, fail) },
};

#define PROGRAM(member) FIELD(gp__program_spec, member)

static const struct key program_keys[GP__PROGRAM_KEYS] = {
	[GP__PROGRAM_GPU] = { "gpu", set_gpu_list, NO_FIELD },
	[GP__PROGRAM_GANG] = { "gang", set_bool, PROGRAM(gang) },
	[GP__PROGRAM_COUNT] = { "count", set_u32, PROGRAM(count), 1, GP__SCENARIO_MAX_PROGRAMS },
	[GP__PROGRAM_CLASS] = { "class", set_class, PROGRAM(priority) },
	[GP__PROGRAM_PRIORITY] = { "priority", set_priority, PROGRAM(priority) },
	[GP__PROGRAM_TAG] = { "tag", set_name, PROGRAM(tag) },
	[GP__PROGRAM_PROCESS] = { "process", set_process, NO_FIELD },
	[GP__PROGRAM_USER] = { "user", set_user, NO_FIELD },
	[GP__PROGRAM_STREAMS] = { "streams", set_u32, PROGRAM(streams), 1, 1024 },
	[GP__PROGRAM_LEVEL] = { "level", set_u32, PROGRAM(level), 1, 3 },
	[GP__PROGRAM_WINDOW] = { "window", set_auto_u32, PROGRAM(window), 1, 65536 },
	[GP__PROGRAM_BATCH] = { "batch", set_auto_u32, PROGRAM(batch), 1, 65536 },
	[GP__PROGRAM_DEADLINE] = { "deadline", set_time, PROGRAM(deadline_ns), 1 },
	[GP__PROGRAM_SHARE] = { "share", set_percent, PROGRAM(share_pct) },
	[GP__PROGRAM_MIN_SHARE] = { "min_share", set_percent, PROGRAM(min_share_pct) },
	[GP__PROGRAM_WEIGHT] = { "weight", set_u32, PROGRAM(weight), 1, 10000 },
	[GP__PROGRAM_MAX_HOLD] = { "max_hold", set_time, PROGRAM(max_hold_ns), 1 },
	[GP__PROGRAM_MEMORY] = { "memory", set_size, PROGRAM(memory_bytes) },
	[GP__PROGRAM_ARRIVALS] = { "arrivals", set_arrivals, PROGRAM(arrivals), .required = true,
				   .repeats = true },
	[GP__PROGRAM_THINK] = { "think", set_dist, PROGRAM(arrivals.think) },
	[GP__PROGRAM_START] = { "start", set_time, PROGRAM(start_ns) },
	[GP__PROGRAM_STOP] = { "stop", set_time, PROGRAM(stop_ns), 1 },
	[GP__PROGRAM_JOBS] = { "jobs", set_u64, PROGRAM(jobs), 1, UINT32_MAX },
	[GP__PROGRAM_HINT] = { "hint", set_time, PROGRAM(hint_ns), 1 },
	[GP__PROGRAM_KERNELS] = { "kernels", set_u32, PROGRAM(kernels), 1, 1000000 },
	[GP__PROGRAM_KERNEL] = { "kernel", set_dist, PROGRAM(kernel), 1, .required = true },
	[GP__PROGRAM_GAP] = { "gap", set_dist, PROGRAM(gap) },
	[GP__PROGRAM_FIRST] = { "first", set_dist, PROGRAM(first), 1 },
	[GP__PROGRAM_CONCURRENT] = { "concurrent", set_u32, PROGRAM(concurrent), 1, 65536 },
};

/* ---- sections ---- */

static int begin_scenario(struct gp__parser *p, const char *name)
{
	(void)name;
	if (p->have_scenario)
		return fail(p, "[scenario] was already given; expected it once");
	p->have_scenario = true;
	p->target = p->draft.scenario;
	return 0;
}

static int begin_gpu(struct gp__parser *p, const char *name)
{
	static const struct gp__dist lv3 = { GP__DIST_LOGNORMAL, 5000, 0, 0.3 };
	static const struct gp__dist lv2 = { GP__DIST_LOGNORMAL, 40000, 0, 0.3 };
	struct gp__scenario *sc = p->draft.scenario;
	struct gp__gpu_spec *specs;

	specs = gp__grow(sc->gpu_specs, sc->n_gpu_specs, sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	sc->gpu_specs = specs;
	specs += sc->n_gpu_specs++;
	*specs = (struct gp__gpu_spec){
		.line = p->line,
		.count = 1,
		.levels = 1u << 1 | 1u << 2 | 1u << 3,
		.interrupt = lv3,
		.restore = lv3,
		.deactivate = lv2,
		.reactivate = lv2,
		.launch = { .a_ns = 4000 },
	};
	strcpy(specs->name, name);
	p->target = specs;
	return 0;
}

static int begin_program(struct gp__parser *p, const char *name)
{
	struct gp__scenario *sc = p->draft.scenario;
	struct gp__program_draft *drafts;
	struct gp__program_spec *specs;

	specs = gp__grow(sc->program_specs, sc->n_program_specs, sizeof(*specs));
	if (!specs)
		return -ENOMEM;
	sc->program_specs = specs;
	drafts = gp__grow(p->draft.programs, sc->n_program_specs, sizeof(*drafts));
	if (!drafts)
		return -ENOMEM;
	p->draft.programs = drafts;
	drafts[sc->n_program_specs] = (struct gp__program_draft){ 0 };
	specs += sc->n_program_specs++;
	*specs = (struct gp__program_spec){
		.line = p->line,
		.priority = GP__PRIO_NORMAL,
		.streams = 1,
		.level = 3,
		.weight = 100,
		.kernels = 1,
		.concurrent = 1,
	};
	strcpy(specs->name, name);
	p->target = specs;
	return 0;
}

static int end_scenario(struct gp__parser *p)
{
	struct gp__scenario *sc = p->draft.scenario;

	if (sc->warmup_ns >= sc->duration_ns)
		return fail_at(p, p->key_line[SCENARIO_WARMUP],
			       "'warmup' takes the whole scenario; expected less than 'duration'");
	return 0;
}

static int exclusive(struct gp__parser *p, enum gp__program_key a, enum gp__program_key b)
{
	const struct key *keys = p->section->keys;
	unsigned int *line = p->key_line;

	if (!line[a] || !line[b])
		return 0;
	return fail_at(p, line[a] > line[b] ? line[a] : line[b],
		       "'%s' and '%s' contradict each other; expected one of them", keys[a].name,
		       keys[b].name);
}

static int end_program(struct gp__parser *p)
{
	const struct gp__program_spec *spec = p->target;
	const unsigned int *line = p->key_line;
	int err;

	memcpy(current_draft(p)->line, line, sizeof(p->key_line));
	err = exclusive(p, GP__PROGRAM_CLASS, GP__PROGRAM_PRIORITY);
	if (err)
		return err;
	if (line[GP__PROGRAM_THINK] && spec->arrivals.kind != GP__ARRIVALS_CLOSED)
		return fail_at(p, line[GP__PROGRAM_THINK],
			       "'think' is for a program that waits for its last job; expected "
			       "'arrivals = closed' with it");
	if (line[GP__PROGRAM_HINT] && spec->arrivals.kind == GP__ARRIVALS_CLOSED &&
	    !line[GP__PROGRAM_THINK])
		return fail_at(
			p, line[GP__PROGRAM_HINT],
			"'hint' announces arrivals, but the next job comes at once; expected "
			"'think' with it, or other 'arrivals'");
	if (line[GP__PROGRAM_FIRST] && (spec->gang || spec->streams > 1))
		return fail_at(p, line[GP__PROGRAM_FIRST],
			       "'first' is for a program with one stream; expected neither "
			       "'streams' nor 'gang' with it");
	if (line[GP__PROGRAM_CONCURRENT] && !line[GP__PROGRAM_FIRST])
		return fail_at(p, line[GP__PROGRAM_CONCURRENT],
			       "'concurrent' is for a program that serves requests; expected "
			       "'first' with it");
	if (spec->window && spec->batch > spec->window)
		return fail_at(p, line[GP__PROGRAM_BATCH],
			       "'batch' is larger than 'window'; expected at most %" PRIu32,
			       spec->window);
	return 0;
}

static const struct gp__section sections[] = {
	{ "scenario", false, scenario_keys, ARRAY_SIZE(scenario_keys), begin_scenario,
	  end_scenario },
	{ "gpu", true, gpu_keys, ARRAY_SIZE(gpu_keys), begin_gpu, NULL },
	{ "program", true, program_keys, ARRAY_SIZE(program_keys), begin_program, end_program },
};

int gp__parser_end_section(struct gp__parser *p)
{
	const struct gp__section *section = p->section;

	if (!section)
		return 0;
	for (size_t i = 0; i < section->n_keys; i++) {
		if (section->keys[i].required && !p->key_line[i])
			return fail_at(p, p->section_line, "this [%s] has no '%s'; expected one",
				       section->kind, section->keys[i].name);
	}
	return section->end ? section->end(p) : 0;
}

static const struct gp__section *find_section(const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (!strcmp(kind, sections[i].kind))
			return &sections[i];
	}
	return NULL;
}

/* Split "[kind name] ; comment" in place. */
static int split_header(struct gp__parser *p, char *header, char **kind, char **name)
{
	char *close = strchr(header, ']'), *rest;

	if (!close)
		return fail(p, "the section has no ']'; " EXPECT_SECTION);
	rest = close + 1 + strspn(close + 1, " \t");
	if (*rest && *rest != ';' && *rest != '#')
		return fail(p, "there is something behind ']'; expected the end of the line");
	*close = '\0';
	*kind = strtok_r(header + 1, " \t", &rest);
	*name = strtok_r(NULL, "", &rest);
	if (!*kind)
		return fail(p, "the section has no name; " EXPECT_SECTION);
	return 0;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return s + strspn(s, " \t");
}

static int check_header(struct gp__parser *p, const struct gp__section *section, const char *kind,
			const char *name)
{
	if (!section)
		return fail(p, "[%.40s] is not a section; " EXPECT_SECTION, kind);
	if (!section->named)
		return *name ? fail(p, "[%s] takes no name; expected just [%s]", kind, kind) : 0;
	if (!*name)
		return fail(p, "this [%s] has no name; expected [%s NAME]", kind, kind);
	if (!valid_name(name) || strlen(name) > MAX_SECTION_NAME)
		return fail(p,
			    "'%.60s' cannot be a name; expected a letter followed by at most %d "
			    "letters, digits, '-' or '_'",
			    name, MAX_SECTION_NAME - 1);
	return 0;
}

int gp__parser_begin_section(struct gp__parser *p, const char *header)
{
	char text[GP__PARSER_MAX_LINE + 1];
	char *kind = NULL, *name = NULL;
	int err;

	err = gp__parser_end_section(p);
	if (err)
		return err;
	strcpy(text, header);
	err = split_header(p, text, &kind, &name);
	if (err)
		return err;
	name = name ? trim(name) : "";
	p->section = find_section(kind);
	err = check_header(p, p->section, kind, name);
	if (err)
		return err;
	p->section_line = p->line;
	memset(p->key_line, 0, sizeof(p->key_line));
	return p->section->begin(p, name);
}

/* ---- key = value ---- */

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein's distance, or UINT_MAX for words that are too long to be a key. */
static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int row[24], diagonal, above;
	size_t n = strlen(b);

	if (n >= ARRAY_SIZE(row) || strlen(a) >= ARRAY_SIZE(row))
		return UINT_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i]; i++) {
		diagonal = row[0]++;
		for (size_t j = 0; j < n; j++) {
			above = row[j + 1];
			row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[n];
}

static const struct key *find_key(const struct gp__section *section, const char *name)
{
	for (size_t i = 0; i < section->n_keys; i++) {
		if (!strcmp(name, section->keys[i].name))
			return &section->keys[i];
	}
	return NULL;
}

static const struct key *nearest_key(const struct gp__section *section, const char *name)
{
	const struct key *nearest = NULL;
	unsigned int least = 3;

	for (size_t i = 0; i < section->n_keys; i++) {
		unsigned int distance = edit_distance(name, section->keys[i].name);

		if (distance < least && distance < strlen(name)) {
			least = distance;
			nearest = &section->keys[i];
		}
	}
	return nearest;
}

static int unknown_key(struct gp__parser *p, const char *name)
{
	const char *kind = p->section->kind;
	const struct key *nearest = nearest_key(p->section, name);

	if (!*name)
		return fail(p, "there is nothing before '='; expected a key of [%s]", kind);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (find_key(&sections[i], name))
			return fail(p, "'%s' is not a key of [%s]; expected it in [%s]", name, kind,
				    sections[i].kind);
	}
	if (nearest)
		return fail(p, "'%.40s' is not a key of [%s]; did you mean '%s'?", name, kind,
			    nearest->name);
	return fail(p, "'%.40s' is not a key of [%s]; expected one that gpreempt-scenario(5) has",
		    name, kind);
}

/* The first @prefix characters of @name say which table the parameter belongs to. */
static int set_param(struct gp__parser *p, struct gp__scenario_params *params, const char *name,
		     size_t prefix, const char *value)
{
	struct gp__scenario_param *v;

	if (!valid_name(name + prefix))
		return fail(p, "'%.40s' is no parameter; expected '%.*sNAME'", name, (int)prefix,
			    name);
	if (!*value)
		return fail(p, "'%.40s' has no value; expected one", name);
	for (size_t i = 0; i < params->n; i++) {
		if (!strcmp(name + prefix, params->v[i].name))
			return fail(p, "'%.40s' was already given on line %u; expected it once",
				    name, params->v[i].line);
	}
	if (params->n == MAX_PARAMS)
		return fail(p, "too many parameters; expected at most %d", MAX_PARAMS);
	v = gp__grow(params->v, params->n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	params->v = v;
	v += params->n++;
	*v = (struct gp__scenario_param){ strdup(name + prefix), strdup(value), p->line };
	return v->name && v->value ? 0 : -ENOMEM;
}

static int set_key(struct gp__parser *p, const struct key *key, const char *value)
{
	unsigned int *line = &p->key_line[key - p->section->keys];
	int err;

	if (*line && !key->repeats)
		return fail(p, "'%s' was already given on line %u; expected it once", key->name,
			    *line);
	err = key->set(p, key, (char *)p->target + key->offset, value);
	if (!*line)
		*line = p->line;
	return err;
}

int gp__parser_set(struct gp__parser *p, const char *name, const char *value)
{
	struct gp__scenario *sc = p->draft.scenario;
	const struct key *key;

	if (!p->section)
		return fail(p, "'%.40s' comes before any section; " EXPECT_SECTION, name);
	if (p->target == sc && !strncmp(name, "policy.", 7))
		return set_param(p, &sc->policy_params, name, 7, value);
	if (p->target == sc && !strncmp(name, "core.", 5))
		return set_param(p, &sc->core_params, name, 5, value);
	key = find_key(p->section, name);
	return key ? set_key(p, key, value) : unknown_key(p, name);
}
