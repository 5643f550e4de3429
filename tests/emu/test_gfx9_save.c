// SPDX-License-Identifier: MIT
/*
 * Waves are saved and restored at every instruction and in every state: their results must be the
 * same, and readers of the save area must find them.
 *
 *     test_gfx9_save KERNELS ASSEMBLY [HANDLER]
 *
 * The names of the code objects contain the target; HANDLER is another trap handler.
 */
#include "../unit/test.h"

#include "cases.h"
#include "emu/gfx9/area.h"
#include "handler.h"
#include "lab.h"
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY ((uint64_t)512 << 20)

static const char *kernels, *assembly;
static enum gfx9_target target;
static uint64_t nr_switches;

static struct lab lab;

static struct machine *new_machine(const char *path)
{
	struct machine *m = machine_new(target, MEMORY, path);

	assert_non_null(m);
	handler_use(m);
	return m;
}

static void assert_restored(struct lab *l, const char *kernel)
{
	if (l->differs[0])
		fail_msg("%s: %s is not what it was", kernel, l->differs);
}

static void assert_no_scratch_in_use(const struct lab *l)
{
	for (int i = 0; i < GFX9_SCRATCH_WORDS; i++)
		assert_int_equal(l->q.scratch_slots[i], 0);
}

/*
 * The content of the save area
 */

static uint32_t status_in_handler(const struct gfx9_wave *w)
{
	return w->status | GFX9_STATUS_PRIV | (w->scc ? GFX9_STATUS_SCC : 0) |
	       (gfx9_exec(w) ? 0 : GFX9_STATUS_EXECZ) |
	       (gfx9_get64(w, GFX9_VCC) ? 0 : GFX9_STATUS_VCCZ);
}

static bool hw_matches(const struct record *r, const struct gfx9_wave *w)
{
	const uint32_t expected[10] = {
		w->s[GFX9_M0],	 (uint32_t)w->pc,	(uint32_t)(w->pc >> 32),
		w->s[GFX9_EXEC], w->s[GFX9_EXEC + 1],	status_in_handler(w),
		w->trapsts,	 w->s[GFX9_XNACK_MASK], w->s[GFX9_XNACK_MASK + 1],
		w->mode,
	};

	return !memcmp(r->hw, expected, sizeof(expected)) &&
	       !memcmp(r->ttmp + 4, &w->s[GFX9_TTMP0 + 4], 8 * 4) &&
	       r->ttmp[13] == w->s[GFX9_TTMP0 + 13];
}

static bool matches(const struct record *r, const struct shot *s)
{
	const struct gfx9_wave *w = &s->w;

	return r->nr_vgprs == w->nr_vgprs && r->nr_agprs == w->nr_agprs &&
	       r->nr_sgprs == w->nr_sgprs && r->lds_bytes == w->lds_bytes && hw_matches(r, w) &&
	       !memcmp(r->v, s->v, (size_t)(w->nr_vgprs + w->nr_agprs) * 256) &&
	       !memcmp(r->s, w->s, 108 * 4) && !memcmp(r->s + 108, w->s_rest, 4 * 4) &&
	       (!r->first || !memcmp(r->lds, s->lds, w->lds_bytes));
}

/* Every saved wave is found once, those of a workgroup together, from first to last. */
static void assert_area_describes(struct lab *l, uint32_t nr_lost)
{
	const struct shot *leader = NULL, *s;
	bool found[LAB_WAVES] = { false };
	uint32_t n = 0, i;
	struct record r;
	struct walk k;

	assert_true(walk_begin(&k, l->m, l->q.context[0].area));
	while (walk_on(&k, &r)) {
		for (i = 0; i < l->nr_shots; i++) {
			if (!found[i] && matches(&r, &l->shot[i]))
				break;
		}
		if (i == l->nr_shots)
			fail_msg("record %u is of no wave", n);
		found[i] = true;
		s = &l->shot[i];
		assert_int_equal(r.first, !leader);
		if (r.first)
			leader = s;
		assert_memory_equal(s->group, leader->group, sizeof(s->group));
		if (r.last)
			leader = NULL;
		n++;
	}
	assert_true(walk_is_complete(&k));
	assert_null(leader);
	assert_int_equal(n + nr_lost, l->nr_shots);
}

static void save_and_restore(struct lab *l, const char *kernel)
{
	assert_int_equal(lab_save(l), 0);
	assert_area_describes(l, 0);
	lab_restore(l);
	assert_restored(l, kernel);
}

/*
 * The same bits
 */

static void interrupt(struct machine *m, const struct kernel_case *k, uint64_t seed)
{
	uint64_t args[CASE_ARGS_MAX / 8], mark = m->used;
	uint32_t wrong;

	lab.rng = seed;
	k->prepare(m, args);
	assert_int_equal(lab_open(&lab, m, k->name, k->grid, k->group, args, sizeof(args)), 0);
	/* From every instruction to occasionally. */
	for (uint64_t slice = 1 + seed % 5 * 40; lab_step(&lab, 1 + lab_draw(&lab) % slice);) {
		if (lab_draw(&lab) % (5 + 300 / slice) == 0)
			save_and_restore(&lab, k->name);
	}
	assert_int_equal(lab.job.failed, 0);
	wrong = k->check(m, args);
	if (wrong != CASE_RIGHT)
		fail_msg("%s: element %u is wrong", k->name, wrong);
	assert_no_scratch_in_use(&lab);
	nr_switches += lab.nr_saved;
	lab_close(&lab);
	m->used = mark;
}

static void no_wave_notices(void **state)
{
	struct machine *m = new_machine(kernels);

	(void)state;
	for (unsigned int i = 0; i < nr_kernel_cases; i++) {
		for (uint64_t seed = 1; seed <= 10; seed++)
			interrupt(m, &kernel_cases[i], seed + 10 * i);
	}
	machine_free(m);
	print_message("%llu waves saved and restored\n", (unsigned long long)nr_switches);
	assert_true(nr_switches > 5000);
}

/*
 * A kernel that uses all state
 */

#define FIELDS_GROUPS 2
#define FIELDS_WAVES (2 * FIELDS_GROUPS)
#define FIELDS_BYTES (1024 + 42 * 256)

struct fields {
	struct machine *m;
	uint64_t out, window, window_end;
};

/* On a separate machine: without its registers it may write anywhere. */
static void fields_open(struct fields *f)
{
	f->m = new_machine(assembly);
	f->window = machine_symbol(f->m, "fields_window");
	f->window_end = machine_symbol(f->m, "fields_window_end");
	f->out = machine_alloc(f->m, FIELDS_WAVES * FIELDS_BYTES);
	assert_int_equal(lab_open(&lab, f->m, "fields", 128 * FIELDS_GROUPS, 128, &f->out, 8), 0);
}

/* The window is so long that all waves are in it at the same time. */
static void fields_to_window(struct fields *f)
{
	do
		assert_true(lab_step(&lab, 1));
	while (!lab_in_window(&lab, f->window, f->window_end));
}

static void fields_close(struct fields *f)
{
	lab_close(&lab);
	machine_free(f->m);
}

/* The results of an undisturbed run. */
static void fields_reference(struct fields *f, uint8_t *dump)
{
	fields_open(f);
	while (lab_step(&lab, 7))
		;
	assert_int_equal(lab.job.failed, 0);
	memcpy(dump, machine_at(f->m, f->out), FIELDS_WAVES * FIELDS_BYTES);
	fields_close(f);
}

/* At each of its instructions in turn. */
static void every_field_is_kept(void **state)
{
	static uint8_t expected[FIELDS_WAVES * FIELDS_BYTES];
	struct fields f;
	uint32_t at = 0, done;
	bool more = true;

	(void)state;
	fields_reference(&f, expected);
	for (; more; at++) {
		fields_open(&f);
		for (done = 0; (more = lab_step(&lab, 1)) && done < at; done++)
			;
		if (more)
			save_and_restore(&lab, "fields");
		while (lab_step(&lab, 1000))
			;
		assert_int_equal(lab.job.failed, 0);
		assert_memory_equal(machine_at(f.m, f.out), expected, sizeof(expected));
		nr_switches += lab.nr_saved;
		fields_close(&f);
	}
	print_message("interrupted at each of %u instructions\n", at);
	assert_true(at > 400);
}

/*
 * Every part that is left out of a restore is noticed. An unrestored register holds nothing in
 * scalars, garbage in vectors.
 */

enum part { VGPR, SGPR, XNACK, BLOCK, TTMP, LDS, FIRST, RECORD };

struct left_out {
	const char *name;
	enum part part;
	uint32_t nr; /* fields of it, each left out in turn */
	uint32_t at, value;
};

#define RUBBISH 0xa5a5a5a5
#define PC_LO 1
#define PC_HI 2

static const struct left_out parts[] = {
	{ "vector registers", VGPR, 24, 0, RUBBISH },
	{ "accumulation registers", VGPR, 16, 24, RUBBISH },
	{ "scalar registers", SGPR, 102, 0, 0 },
	{ "FLAT_SCRATCH", SGPR, 2, 102, 0 },
	{ "XNACK_MASK", XNACK, 2, 0, 0 },
	{ "VCC", SGPR, 2, 106, 0 },
	{ "scalar registers beyond", SGPR, 4, 108, 0 },
	{ "M0", BLOCK, 1, 0, 0 },
	{ "PC", BLOCK, 2, PC_LO, 0 },
	{ "EXEC", BLOCK, 2, 3, 0 },
	{ "STATUS", BLOCK, 1, 5, GFX9_STATUS_PRIV | GFX9_STATUS_TRAP_EN },
	{ "SCC", BLOCK, 1, 5, GFX9_STATUS_PRIV | GFX9_STATUS_TRAP_EN | 2 << 3 },
	{ "TRAPSTS", BLOCK, 1, 6, 0 },
	{ "MODE", BLOCK, 1, 9, 0 },
	{ "ttmp4 to ttmp11", TTMP, 8, 4, 0 },
	{ "ttmp13", TTMP, 1, 13, 0 },
	{ "LDS", LDS, 2, 0, RUBBISH },
	{ "which wave is the first", FIRST, 1, 0, 0 },
	{ "which record is whose", RECORD, 1, 0, 0 },
};

static void replace(uint32_t *at, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		at[i] = value;
}

static void leave_out_of_record(const struct left_out *p, uint32_t nr, const struct record *r)
{
	uint32_t at = p->at + nr;

	switch (p->part) {
	case VGPR:
		replace(r->v + 64 * at, 64, p->value);
		break;
	case SGPR:
		r->s[at] = p->value;
		break;
	case XNACK: /* is there twice */
		r->s[104 + at] = r->hw[7 + at] = p->value;
		break;
	case BLOCK:
		r->hw[at] = p->value;
		break;
	case TTMP:
		r->ttmp[at] = p->value;
		break;
	case LDS:
		if (r->lds)
			replace((uint32_t *)r->lds + 64 * at, 64, p->value);
		break;
	default:
		break;
	}
}

static void leave_out_of_hardware(const struct left_out *p, struct gfx9_saved_group *s)
{
	uint64_t record = s->wave[0].record;

	if (p->part == FIRST)
		s->wave[0].first = false;
	if (p->part == RECORD) {
		s->wave[0].record = s->wave[1].record;
		s->wave[1].record = record;
	}
}

static void leave_out(struct lab *l, const struct left_out *p, uint32_t nr)
{
	struct gfx9_saved_group *s;
	struct record r;
	struct walk k;

	walk_begin(&k, l->m, l->q.context[0].area);
	while (walk_on(&k, &r))
		leave_out_of_record(p, nr, &r);
	for (s = l->q.context[0].saved; s; s = s->next)
		leave_out_of_hardware(p, s);
}

struct noticed {
	uint32_t state, program;
};

static void try_without(struct fields *f, const struct left_out *p, uint32_t nr,
			const uint8_t *expected, struct noticed *n)
{
	uint32_t steps = 0;
	bool state;

	fields_open(f);
	fields_to_window(f);
	assert_int_equal(lab_save(&lab), 0);
	leave_out(&lab, p, nr);
	lab_restore(&lab);
	state = lab.differs[0];
	/* A wave may be anywhere now, and never end. */
	while (lab_step(&lab, 1000) && steps < 100)
		steps++;
	n->program += lab.job.failed || steps == 100 ||
		      memcmp(machine_at(f->m, f->out), expected, FIELDS_WAVES * FIELDS_BYTES);
	n->state += state;
	if (!state)
		print_message("%s %u: its state is the same without\n", p->name, nr);
	fields_close(f);
}

static void nothing_can_be_left_out(void **state)
{
	static uint8_t expected[FIELDS_WAVES * FIELDS_BYTES];
	struct fields f;
	bool all = true;

	(void)state;
	fields_reference(&f, expected);
	print_message("%-28s fields  noticed in its state  by the program\n", "left out");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct noticed n = { 0, 0 };

		for (uint32_t nr = 0; nr < parts[i].nr; nr++)
			try_without(&f, &parts[i], nr, expected, &n);
		print_message("%-28s %6u %21u %15u\n", parts[i].name, parts[i].nr, n.state,
			      n.program);
		all &= n.state == parts[i].nr;
		/* A program cannot see the handler's registers. */
		all &= parts[i].part == TTMP || n.program == parts[i].nr;
	}
	assert_true(all);
}

/* Only the hardware knows the scratch of a wave; an error is noticed when all have ended. */
static void scratch_cannot_be_left_out(void **state)
{
	struct machine *m = new_machine(kernels);
	const struct kernel_case *k = kernel_cases;
	uint64_t args[CASE_ARGS_MAX / 8], in_use = 0;

	(void)state;
	while (strcmp(k->name, "calls"))
		k++;
	k->prepare(m, args);
	assert_int_equal(lab_open(&lab, m, k->name, k->grid, k->group, args, sizeof(args)), 0);
	for (int i = 0; i < 20; i++)
		assert_true(lab_step(&lab, 20));
	assert_int_equal(lab_save(&lab), 0);
	for (uint32_t i = 0; i < lab.q.context[0].saved->nr_waves; i++)
		lab.q.context[0].saved->wave[i].scratch_slot = 0;
	lab_restore(&lab);
	assert_string_equal(lab.differs, "scratch0");
	while (lab_step(&lab, 1000))
		;
	for (int i = 0; i < GFX9_SCRATCH_WORDS; i++)
		in_use |= lab.q.scratch_slots[i];
	assert_int_not_equal(in_use, 0);
	lab_close(&lab);
	machine_free(m);
}

/*
 * Space
 */

static const char *const shapes[] = {
	"shape_small", "shape_small_lds", "shape_tiny_arch", "shape_128",  "shape_168",
	"shape_256",   "shape_512",	  "shape_all_acc",   "shape_full",
};

/* As many workgroups as fit, in an area of the driver's size. */
static void fill_up(struct machine *m, const char *shape, uint16_t group)
{
	const struct emu_gpu_shape gpu = {
		.nr_xccs = 1, .xcc_cus = LAB_CUS, .nr_arrays = 1, .engine_arrays = 1
	};
	struct emu_save_sizes sizes = gfx9_area_sizes(&gpu);
	uint64_t mark = m->used, gate = machine_alloc(m, 4);

	if (lab_open(&lab, m, shape, 4096 * group, group, &gate, 8))
		fail_msg("%s", shape);
	lab.q.context[0].size = sizes.slice_bytes;
	lab.q.context[0].ctl_bytes = sizes.ctl_bytes;
	for (int i = 0; i < GFX9_CU_WAVES; i++)
		lab_step(&lab, 3);
	assert_int_equal(lab_save(&lab), 0);
	/* A single shape leaves no free byte. */
	if (!strcmp(shape, "shape_full") && group == 64)
		assert_int_equal(lab.q.context[0].used, sizes.slice_bytes - sizes.ctl_bytes);
	assert_area_describes(&lab, 0);
	lab_restore(&lab);
	assert_restored(&lab, shape);
	save_and_restore(&lab, shape);
	nr_switches += lab.nr_saved;
	lab_close(&lab);
	m->used = mark;
}

static void the_area_is_large_enough(void **state)
{
	static const uint16_t groups[] = { 64, 128, 192, 256, 512, 1024 };
	struct machine *m = new_machine(assembly);

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++) {
			/* A workgroup that fits on no compute unit does not start. */
			fill_up(m, shapes[i], groups[k]);
		}
	}
	machine_free(m);
}

/* Workgroups of a failed job leave holes between others. */
static void holes_are_closed(void **state)
{
	struct machine *m = new_machine(kernels);
	uint64_t args[CASE_ARGS_MAX / 8];
	struct gfx9_saved_group **link;
	struct gfx9_context *c = &lab.q.context[0];
	uint32_t nr_lost = 0;
	uint64_t used;

	(void)state;
	kernel_cases[0].prepare(m, args);
	assert_int_equal(lab_open(&lab, m, kernel_cases[0].name, kernel_cases[0].grid,
				  kernel_cases[0].group, args, sizeof(args)),
			 0);
	for (int i = 0; i < 8; i++)
		assert_true(lab_step(&lab, 2));
	assert_int_equal(lab_save(&lab), 0);
	used = c->used;
	for (link = &c->saved; *link && (*link)->next; link = &(*link)->next) {
		struct gfx9_saved_group *s = (*link)->next;

		nr_lost += s->nr_waves;
		(*link)->next = s->next;
		free(s);
	}
	assert_true(nr_lost > 10);
	gfx9_context_write(c, &m->vm);
	assert_true(c->used < used);
	assert_area_describes(&lab, nr_lost);
	lab_restore(&lab);
	assert_restored(&lab, "what is left");
	assert_int_equal(c->used, 0);
	lab_close(&lab);
	machine_free(m);
}

/*
 * The time it takes, without LDS and with all of it, for waves with few registers and with all of
 * them.
 */
static void instructions_it_takes(void **state)
{
	struct machine *m = new_machine(assembly);
	uint64_t gate = machine_alloc(m, 4);

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		assert_int_equal(lab_open(&lab, m, shapes[i], 64, 64, &gate, 8), 0);
		lab_step(&lab, 3);
		save_and_restore(&lab, shapes[i]);
		print_message("%-16s %3u registers, %5u bytes of LDS: save %4llu, restore %4llu\n",
			      shapes[i], gfx9_job_vgprs(&lab.job), gfx9_job_lds(&lab.job),
			      (unsigned long long)lab.save_insts,
			      (unsigned long long)lab.restore_insts);
		lab_close(&lab);
	}
	machine_free(m);
}

/*
 * Another trap handler
 */

/* Documented words of a record, which are the same with both handlers. */
static bool same_record(const struct record *a, const struct record *b)
{
	bool lost = lab.four_lose_agprs && a->nr_vgprs == 4;
	size_t rows = lost ? 4 : a->nr_vgprs + a->nr_agprs;

	return !memcmp(a->v, b->v, rows * 256) && !memcmp(a->s, b->s, a->nr_sgprs * 4) &&
	       !memcmp(a->hw, b->hw, 10 * 4) && !memcmp(a->ttmp + 4, b->ttmp + 4, 8 * 4) &&
	       a->ttmp[13] == b->ttmp[13] && a->first == b->first && a->last == b->last &&
	       (!a->first || !memcmp(a->lds, b->lds, a->lds_bytes));
}

/* Workgroups may have changed their positions. */
static void assert_in_area(struct machine *m, uint64_t area, const struct record *a)
{
	struct record b;
	struct walk k;

	walk_begin(&k, m, area);
	while (walk_on(&k, &b)) {
		if (same_record(a, &b))
			return;
	}
	fail_msg("the handlers have written different things");
}

static uint64_t copy_area(struct lab *l)
{
	const struct gfx9_context *c = &l->q.context[0];
	uint64_t to = machine_alloc(l->m, c->size);

	memcpy(machine_at(l->m, to), machine_at(l->m, c->area), c->size);
	return to;
}

static void save_with_both(struct lab *l)
{
	uint64_t theirs;
	struct record r;
	struct walk k;

	assert_int_equal(lab_save(l), 0);
	theirs = copy_area(l);
	lab_restore(l);
	assert_restored(l, "with the other handler");
	handler_use_own(l->m);
	assert_int_equal(lab_save(l), 0);
	walk_begin(&k, l->m, theirs);
	while (walk_on(&k, &r))
		assert_in_area(l->m, l->q.context[0].area, &r);
	/* Each handler restores what the other has saved. */
	handler_use(l->m);
	lab_restore(l);
	assert_restored(l, "with two handlers");
}

static void both_handlers_write_the_same(void **state)
{
	uint64_t args[CASE_ARGS_MAX / 8];
	struct machine *m;
	struct fields f;

	(void)state;
	if (!handler_is_other()) {
		print_message("there is one handler; see make kernel-handler-test\n");
		skip();
	}
	fields_open(&f);
	fields_to_window(&f);
	save_with_both(&lab);
	fields_close(&f);
	m = new_machine(kernels);
	for (unsigned int i = 0; i < nr_kernel_cases; i++) {
		const struct kernel_case *k = &kernel_cases[i];
		uint64_t mark = m->used;

		k->prepare(m, args);
		assert_int_equal(lab_open(&lab, m, k->name, k->grid, k->group, args, sizeof(args)),
				 0);
		for (int n = 0; n < 10; n++)
			assert_true(lab_step(&lab, 1 + lab_draw(&lab) % 5));
		save_with_both(&lab);
		while (lab_step(&lab, 1000))
			;
		assert_int_equal(k->check(m, args), CASE_RIGHT);
		lab_close(&lab);
		m->used = mark;
	}
	machine_free(m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_wave_notices),
		cmocka_unit_test(every_field_is_kept),
		cmocka_unit_test(nothing_can_be_left_out),
		cmocka_unit_test(scratch_cannot_be_left_out),
		cmocka_unit_test(the_area_is_large_enough),
		cmocka_unit_test(holes_are_closed),
		cmocka_unit_test(instructions_it_takes),
		cmocka_unit_test(both_handlers_write_the_same),
	};

	if (argc < 3) {
		fprintf(stderr, "usage: %s KERNELS ASSEMBLY [HANDLER]\n", argv[0]);
		return 2;
	}
	kernels = argv[1];
	assembly = argv[2];
	target = machine_target(kernels);
	if (argc > 3 && !handler_read(argv[3]))
		return 77;
	lab.four_lose_agprs = handler_is_other();
	return cmocka_run_group_tests_name(kernels, tests, NULL, NULL);
}
