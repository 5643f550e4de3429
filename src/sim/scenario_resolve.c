// SPDX-License-Identifier: MIT
/*
 * Makes GPUs and programs from sections, and does the checks that need the whole file.
 *
 * Names are looked up in arrays sorted by name; nothing here is worse than n log n in the number of
 * GPUs and programs, which is checked before they are made.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/scenario_draft.h"
#include "sim/scenario_value.h"

struct name {
	const char *text;
	uint32_t index;
	unsigned int line;
};

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Sort, and refuse a name that is there twice. */
static int sort_names(struct gp__draft *draft, const char *kind, struct name *names, size_t n)
{
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 1; i < n; i++) {
		if (!strcmp(names[i].text, names[i - 1].text))
			return gp__draft_fail(draft, names[i].line,
					      "the %s '%s' is already made by line %u; expected "
					      "another name",
					      kind, names[i].text, names[i - 1].line);
	}
	return 0;
}

static const struct name *find_name(const struct name *names, size_t n, const char *text)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(text, names[middle].text);

		if (!order)
			return &names[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* ---- GPUs ---- */

static int count_gpus(struct gp__draft *draft, size_t *n)
{
	const struct gp__scenario *sc = draft->scenario;

	*n = 0;
	for (size_t i = 0; i < sc->n_gpu_specs; i++) {
		*n += sc->gpu_specs[i].count;
		if (*n > GP__SCENARIO_MAX_GPUS)
			return gp__draft_fail(draft, sc->gpu_specs[i].line,
					      "too many GPUs; expected at most %d in all",
					      GP__SCENARIO_MAX_GPUS);
	}
	return 0;
}

static void make_gpus_of(struct gp__scenario *sc, struct gp__gpu_spec *spec)
{
	for (uint32_t i = 0; i < spec->count; i++) {
		struct gp__scenario_gpu *gpu = &sc->gpus[sc->n_gpus++];

		gpu->spec = spec;
		if (spec->count == 1)
			strcpy(gpu->name, spec->name);
		else
			snprintf(gpu->name, sizeof(gpu->name), "%.36s%" PRIu32, spec->name, i);
	}
}

static int make_gpus(struct gp__draft *draft)
{
	struct gp__scenario *sc = draft->scenario;
	size_t n;
	int err;

	err = count_gpus(draft, &n);
	if (err)
		return err;
	sc->gpus = calloc(n, sizeof(*sc->gpus));
	if (!sc->gpus)
		return -ENOMEM;
	for (size_t i = 0; i < sc->n_gpu_specs; i++)
		make_gpus_of(sc, &sc->gpu_specs[i]);
	return 0;
}

static int name_gpus(struct gp__draft *draft, struct name **out)
{
	const struct gp__scenario *sc = draft->scenario;
	struct name *names = calloc(sc->n_gpus, sizeof(*names));

	*out = names;
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < sc->n_gpus; i++)
		names[i] = (struct name){ sc->gpus[i].name, (uint32_t)i, sc->gpus[i].spec->line };
	return sort_names(draft, "GPU", names, sc->n_gpus);
}

/* ---- GPUs of programs ---- */

struct placing {
	struct gp__draft *draft;
	const struct name *names;
	struct gp__program_spec *spec;
	unsigned int line;
	uint64_t placed; /* by all programs so far */
	uint32_t *user; /* per GPU: the last spec to name it, counted from 1 */
	uint32_t current; /* the spec at work, counted from 1 */
};

static int place_on(struct placing *place, uint32_t gpu)
{
	const struct gp__scenario *sc = place->draft->scenario;
	struct gp__program_spec *spec = place->spec;
	uint32_t *gpus;

	if (place->user[gpu] == place->current)
		return gp__draft_fail(place->draft, place->line,
				      "the GPU '%s' is named twice; expected each once",
				      sc->gpus[gpu].name);
	if (++place->placed > GP__SCENARIO_MAX_QUEUES)
		return gp__draft_fail(place->draft, place->line,
				      "the programs name too many GPUs; expected at most %d in all",
				      GP__SCENARIO_MAX_QUEUES);
	gpus = gp__grow(spec->gpus, spec->n_gpus, sizeof(*gpus));
	if (!gpus)
		return -ENOMEM;
	spec->gpus = gpus;
	gpus[spec->n_gpus++] = gpu;
	place->user[gpu] = place->current;
	return 0;
}

static int no_such_gpu(struct placing *place, const char *text)
{
	const struct gp__scenario *sc = place->draft->scenario;
	const char *first = sc->gpus[0].name, *last = sc->gpus[sc->n_gpus - 1].name;

	if (sc->n_gpus == 1)
		return gp__draft_fail(place->draft, place->line,
				      "there is no GPU '%.60s'; expected '%s'", text, first);
	return gp__draft_fail(place->draft, place->line,
			      "there is no GPU '%.60s'; expected one of '%s' to '%s'", text, first,
			      last);
}

/* "gpu*" is every GPU whose name begins with "gpu", in the order of the file. */
static int place_on_pattern(struct placing *place, const char *pattern)
{
	const struct gp__scenario *sc = place->draft->scenario;
	size_t prefix = strlen(pattern) - 1;
	bool any = false;
	int err;

	for (size_t i = 0; i < sc->n_gpus; i++) {
		if (strncmp(sc->gpus[i].name, pattern, prefix))
			continue;
		any = true;
		err = place_on(place, (uint32_t)i);
		if (err)
			return err;
	}
	return any ? 0 : no_such_gpu(place, pattern);
}

static int place_on_list(struct placing *place, const char *list)
{
	const struct gp__scenario *sc = place->draft->scenario;
	char text[GP__SCENARIO_NAME_LEN];
	const struct name *name;
	int err;

	while (!(err = gp__next_element(&list, text, sizeof(text)))) {
		name = find_name(place->names, sc->n_gpus, text);
		if (name)
			err = place_on(place, name->index);
		else if (text[strlen(text) - 1] == '*')
			err = place_on_pattern(place, text);
		else
			err = no_such_gpu(place, text);
		if (err)
			return err;
	}
	if (err == -EINVAL)
		return gp__draft_fail(place->draft, place->line,
				      "'gpu' has an empty or overlong name; expected names "
				      "separated by commas");
	return 0;
}

static int place_program(struct placing *place, size_t i)
{
	struct gp__draft *draft = place->draft;
	const struct gp__program_draft *program = &draft->programs[i];

	place->spec = &draft->scenario->program_specs[i];
	place->line = program->line[GP__PROGRAM_GPU];
	place->current = (uint32_t)i + 1;
	if (program->gpu)
		return place_on_list(place, program->gpu);
	if (draft->scenario->n_gpus == 1)
		return place_on(place, 0);
	return gp__draft_fail(draft, place->spec->line,
			      "this [program] has no 'gpu'; expected one, as there are %zu GPUs",
			      draft->scenario->n_gpus);
}

static int place_programs(struct gp__draft *draft, const struct name *gpu_names)
{
	const struct gp__scenario *sc = draft->scenario;
	struct placing place = { .draft = draft, .names = gpu_names };
	int err = 0;

	place.user = calloc(sc->n_gpus, sizeof(*place.user));
	if (!place.user)
		return -ENOMEM;
	for (size_t i = 0; i < sc->n_program_specs && !err; i++)
		err = place_program(&place, i);
	free(place.user);
	return err;
}

/* ---- programs ---- */

static int check_program(struct gp__draft *draft, size_t i)
{
	struct gp__program_spec *spec = &draft->scenario->program_specs[i];
	const unsigned int *line = draft->programs[i].line;
	uint64_t duration = draft->scenario->duration_ns;

	if (spec->gang && spec->n_gpus < 2)
		return gp__draft_fail(draft, line[GP__PROGRAM_GANG],
				      "a gang on one GPU ties nothing; expected at least two in "
				      "'gpu'");
	if (!spec->stop_ns || spec->stop_ns > duration)
		spec->stop_ns = duration;
	if (spec->start_ns >= duration)
		return gp__draft_fail(draft, line[GP__PROGRAM_START],
				      "the scenario is over at 'start'; expected less than its "
				      "'duration'");
	if (spec->start_ns >= spec->stop_ns)
		return gp__draft_fail(draft, line[GP__PROGRAM_STOP],
				      "'stop' is not after 'start'; expected a later time");
	if (!spec->count)
		spec->count = spec->gang ? 1 : spec->n_gpus;
	return 0;
}

static int check_amount(struct gp__draft *draft, const struct gp__program_spec *spec,
			uint64_t programs, uint64_t queues)
{
	if (programs > GP__SCENARIO_MAX_PROGRAMS)
		return gp__draft_fail(draft, spec->line,
				      "too many programs; expected at most %d in all",
				      GP__SCENARIO_MAX_PROGRAMS);
	if (queues > GP__SCENARIO_MAX_QUEUES)
		return gp__draft_fail(draft, spec->line,
				      "too many queues (programs x streams x GPUs of a gang); "
				      "expected at most %d in all",
				      GP__SCENARIO_MAX_QUEUES);
	return 0;
}

static int check_programs(struct gp__draft *draft, size_t *n)
{
	const struct gp__scenario *sc = draft->scenario;
	uint64_t programs = 0, queues = 0;
	int err;

	for (size_t i = 0; i < sc->n_program_specs; i++) {
		const struct gp__program_spec *spec = &sc->program_specs[i];

		err = check_program(draft, i);
		if (err)
			return err;
		programs += spec->count;
		queues += (uint64_t)spec->count * spec->streams * (spec->gang ? spec->n_gpus : 1);
		err = check_amount(draft, spec, programs, queues);
		if (err)
			return err;
	}
	*n = programs;
	return 0;
}

/* A gang runs on all its GPUs; otherwise the programs of a spec take turns over them. */
static void make_programs_of(struct gp__scenario *sc, struct gp__program_spec *spec)
{
	for (uint32_t i = 0; i < spec->count; i++) {
		struct gp__scenario_program *program = &sc->programs[sc->n_programs++];

		program->spec = spec;
		program->gpus = spec->gang ? spec->gpus : &spec->gpus[i % spec->n_gpus];
		program->n_gpus = spec->gang ? spec->n_gpus : 1;
		if (spec->count == 1)
			strcpy(program->name, spec->name);
		else
			snprintf(program->name, sizeof(program->name), "%.36s.%" PRIu32, spec->name,
				 i);
	}
}

static int make_programs(struct gp__draft *draft)
{
	struct gp__scenario *sc = draft->scenario;
	size_t n;
	int err;

	err = check_programs(draft, &n);
	if (err)
		return err;
	sc->programs = calloc(n, sizeof(*sc->programs));
	if (!sc->programs)
		return -ENOMEM;
	for (size_t i = 0; i < sc->n_program_specs; i++)
		make_programs_of(sc, &sc->program_specs[i]);
	return 0;
}

/* Two sections of one name are refused even where `count` would keep the programs apart. */
static int check_program_names(struct gp__draft *draft)
{
	const struct gp__scenario *sc = draft->scenario;
	struct name *names = calloc(sc->n_program_specs, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < sc->n_program_specs; i++)
		names[i] = (struct name){ sc->program_specs[i].name, (uint32_t)i,
					  sc->program_specs[i].line };
	err = sort_names(draft, "program", names, sc->n_program_specs);
	free(names);
	return err;
}

/* ---- processes and users ---- */

static size_t spec_index(const struct gp__draft *draft, const struct gp__scenario_program *program)
{
	return (size_t)(program->spec - draft->scenario->program_specs);
}

static size_t number_names(struct name *names, size_t n)
{
	size_t kept = 0;

	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(names[kept - 1].text, names[i].text))
			continue;
		names[kept] = names[i];
		names[kept].index = (uint32_t)kept;
		kept++;
	}
	return kept;
}

static const char *process_of(const struct gp__program_draft *draft)
{
	return draft->process;
}

static const char *user_of(const struct gp__program_draft *draft)
{
	return draft->user;
}

/* The different names that programs have, sorted. NULL: there is no memory. */
static struct name *list_names(const struct gp__draft *draft,
			       const char *(*name_of)(const struct gp__program_draft *draft),
			       size_t *n)
{
	const struct gp__scenario *sc = draft->scenario;
	struct name *names = calloc(sc->n_program_specs, sizeof(*names));

	*n = 0;
	for (size_t i = 0; names && i < sc->n_program_specs; i++) {
		const char *text = name_of(&draft->programs[i]);

		if (text[0])
			names[(*n)++] = (struct name){ .text = text };
	}
	if (names)
		*n = number_names(names, *n);
	return names;
}

static int number_processes(struct gp__draft *draft)
{
	struct gp__scenario *sc = draft->scenario;
	size_t n;
	struct name *names = list_names(draft, process_of, &n);

	if (!names)
		return -ENOMEM;
	sc->n_processes = (uint32_t)n;
	for (size_t i = 0; i < sc->n_programs; i++) {
		struct gp__scenario_program *program = &sc->programs[i];
		const char *process = process_of(&draft->programs[spec_index(draft, program)]);

		if (process[0])
			program->process = find_name(names, n, process)->index;
		else
			program->process = sc->n_processes++;
	}
	free(names);
	return 0;
}

/* A process without a user has one of its own. */
static int number_users(struct gp__draft *draft)
{
	struct gp__scenario *sc = draft->scenario;
	size_t n;
	struct name *names = list_names(draft, user_of, &n);

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < sc->n_programs; i++) {
		struct gp__scenario_program *program = &sc->programs[i];
		const char *user = user_of(&draft->programs[spec_index(draft, program)]);

		if (user[0])
			program->user = find_name(names, n, user)->index;
		else
			program->user = (uint32_t)n + program->process;
	}
	free(names);
	return 0;
}

/* Queues with the same values are one entity. */
struct group {
	uint32_t process;
	uint32_t gpu;
	int32_t priority;
	const char *tag;
	const struct gp__scenario_program *program;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return strcmp(x->tag, y->tag);
}

static size_t list_groups(const struct gp__draft *draft, struct group *groups)
{
	const struct gp__scenario *sc = draft->scenario;
	size_t n = 0;

	for (size_t i = 0; i < sc->n_programs; i++) {
		const struct gp__scenario_program *program = &sc->programs[i];

		if (!draft->programs[spec_index(draft, program)].process[0])
			continue;
		for (uint32_t j = 0; j < program->n_gpus; j++, n++) {
			if (groups)
				groups[n] = (struct group){ program->process, program->gpus[j],
							    program->spec->priority,
							    program->spec->tag, program };
		}
	}
	return n;
}

static int same_entity(struct gp__draft *draft, const struct group *a, const struct group *b)
{
	const struct gp__scenario_program *later =
		a->program > b->program ? a->program : b->program;
	const struct gp__scenario_program *earlier = later == a->program ? b->program : a->program;

	return gp__draft_fail(
		draft, draft->programs[spec_index(draft, later)].line[GP__PROGRAM_PROCESS],
		"'%s' has process, GPU, priority and tag in common with '%s' and would "
		"be one with it; expected 'streams' instead, or another 'tag'",
		later->name, earlier->name);
}

/* Programs of one process must differ in priority or tag; otherwise they are streams. */
static int check_entities(struct gp__draft *draft)
{
	size_t n = list_groups(draft, NULL);
	struct group *groups;
	int err = 0;

	if (!n)
		return 0;
	groups = calloc(n, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	list_groups(draft, groups);
	qsort(groups, n, sizeof(*groups), compare_groups);
	for (size_t i = 1; i < n && !err; i++) {
		if (!compare_groups(&groups[i - 1], &groups[i]))
			err = same_entity(draft, &groups[i - 1], &groups[i]);
	}
	free(groups);
	return err;
}

/* ---- totals per GPU ---- */

static int check_sum(struct gp__draft *draft, uint64_t *sums, enum gp__program_key key)
{
	const struct gp__scenario *sc = draft->scenario;
	const char *name = key == GP__PROGRAM_SHARE ? "share" : "min_share";

	memset(sums, 0, sc->n_gpus * sizeof(*sums));
	for (size_t i = 0; i < sc->n_programs; i++) {
		const struct gp__scenario_program *program = &sc->programs[i];
		const struct gp__program_spec *spec = program->spec;

		for (uint32_t j = 0; j < program->n_gpus; j++) {
			uint64_t *sum = &sums[program->gpus[j]];

			*sum += key == GP__PROGRAM_SHARE ? spec->share_pct : spec->min_share_pct;
			if (*sum > 100)
				return gp__draft_fail(
					draft,
					draft->programs[spec_index(draft, program)].line[key],
					"with this '%s' the programs on GPU '%s' ask for %" PRIu64
					"%%; "
					"expected at most 100%%",
					name, sc->gpus[program->gpus[j]].name, *sum);
		}
	}
	return 0;
}

static int check_memory(struct gp__draft *draft)
{
	const struct gp__scenario *sc = draft->scenario;
	char asked[32], there[32];

	for (size_t i = 0; i < sc->n_programs; i++) {
		const struct gp__scenario_program *program = &sc->programs[i];

		for (uint32_t j = 0; j < program->n_gpus; j++) {
			const struct gp__scenario_gpu *gpu = &sc->gpus[program->gpus[j]];

			if (!gpu->spec->vram_bytes ||
			    program->spec->memory_bytes <= gpu->spec->vram_bytes)
				continue;
			gp__format_size(asked, sizeof(asked), program->spec->memory_bytes);
			gp__format_size(there, sizeof(there), gpu->spec->vram_bytes);
			return gp__draft_fail(
				draft,
				draft->programs[spec_index(draft, program)]
					.line[GP__PROGRAM_MEMORY],
				"'memory' is %s but GPU '%s' has %s; expected no more than that",
				asked, gpu->name, there);
		}
	}
	return 0;
}

static int check_totals(struct gp__draft *draft)
{
	uint64_t *sums = calloc(draft->scenario->n_gpus, sizeof(*sums));
	int err;

	if (!sums)
		return -ENOMEM;
	err = check_sum(draft, sums, GP__PROGRAM_SHARE);
	if (!err)
		err = check_sum(draft, sums, GP__PROGRAM_MIN_SHARE);
	if (!err)
		err = check_memory(draft);
	free(sums);
	return err;
}

int gp__draft_resolve(struct gp__draft *draft)
{
	static int (*const steps[])(struct gp__draft *) = {
		check_program_names, make_programs,  number_processes,
		number_users,	     check_entities, check_totals,
	};
	struct name *gpu_names = NULL;
	int err;

	err = make_gpus(draft);
	if (!err)
		err = name_gpus(draft, &gpu_names);
	if (!err)
		err = place_programs(draft, gpu_names);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !err; i++)
		err = steps[i](draft);
	free(gpu_names);
	return err;
}
