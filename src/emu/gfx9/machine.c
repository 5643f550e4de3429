// SPDX-License-Identifier: MIT
#include "emu/gfx9/machine.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CONTEXT_BYTES ((uint64_t)16 << 20)
/* The trap handler's buffer: code, and the handler's own memory behind it. */
#define TRAP_BYTES 8192
#define TMA_OFFSET 0x1800

static void *page(void *ctx, uint64_t va, bool write)
{
	struct machine *m = ctx;

	(void)write;
	if (va < MACHINE_BASE || va - MACHINE_BASE >= m->size)
		return NULL;
	return m->memory + (va - MACHINE_BASE);
}

uint64_t machine_alloc(struct machine *m, uint64_t bytes)
{
	uint64_t at = (m->used + 4095) & ~(uint64_t)4095;

	if (at + bytes > m->size) {
		fprintf(stderr, "the machine has too little memory\n");
		abort();
	}
	m->used = at + bytes;
	memset(m->memory + at, 0, bytes);
	return MACHINE_BASE + at;
}

void *machine_at(struct machine *m, uint64_t va)
{
	return m->memory + (va - MACHINE_BASE);
}

/*
 * The code object: an ELF shared object whose segments are copied as they are.
 */

static bool read_file(struct machine *m, const char *path)
{
	FILE *f = fopen(path, "re");
	long size;

	if (!f)
		return false;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0) {
		m->file = malloc((size_t)size);
		m->file_size = m->file ? fread(m->file, 1, (size_t)size, f) : 0;
	}
	fclose(f);
	return m->file_size > sizeof(Elf64_Ehdr) && !memcmp(m->file, ELFMAG, SELFMAG);
}

static const Elf64_Phdr *segment(const struct machine *m, int i)
{
	const Elf64_Ehdr *eh = (const void *)m->file;

	return (const void *)(m->file + eh->e_phoff + (size_t)i * eh->e_phentsize);
}

static void load_segments(struct machine *m)
{
	const Elf64_Ehdr *eh = (const void *)m->file;
	uint64_t end = 0;

	for (int i = 0; i < eh->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(m, i);

		if (ph->p_type == PT_LOAD && ph->p_vaddr + ph->p_memsz > end)
			end = ph->p_vaddr + ph->p_memsz;
	}
	m->image = machine_alloc(m, end);
	for (int i = 0; i < eh->e_phnum; i++) {
		const Elf64_Phdr *ph = segment(m, i);

		if (ph->p_type == PT_LOAD)
			memcpy(machine_at(m, m->image + ph->p_vaddr), m->file + ph->p_offset,
			       ph->p_filesz);
	}
}

static const Elf64_Shdr *section(const struct machine *m, int i)
{
	const Elf64_Ehdr *eh = (const void *)m->file;

	return (const void *)(m->file + eh->e_shoff + (size_t)i * eh->e_shentsize);
}

/* The address of a symbol, or 0. */
static uint64_t symbol(const struct machine *m, const char *name)
{
	const Elf64_Ehdr *eh = (const void *)m->file;

	for (int i = 0; i < eh->e_shnum; i++) {
		const Elf64_Shdr *sh = section(m, i);
		const Elf64_Sym *sym = (const void *)(m->file + sh->sh_offset);

		if (sh->sh_type != SHT_DYNSYM)
			continue;
		for (size_t k = 0; k < sh->sh_size / sizeof(*sym); k++) {
			const char *s =
				(const char *)m->file + section(m, (int)sh->sh_link)->sh_offset;

			if (!strcmp(s + sym[k].st_name, name))
				return m->image + sym[k].st_value;
		}
	}
	return 0;
}

struct machine *machine_new(enum gfx9_target target, uint64_t memory, const char *path)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->target = target;
	m->size = memory;
	m->memory = aligned_alloc(4096, memory);
	m->slice = 1000;
	m->threads = 1;
	if (!m->memory || !read_file(m, path)) {
		fprintf(stderr, "%s is not a code object that can be read\n", path);
		free(m->memory);
		free(m->file);
		free(m);
		return NULL;
	}
	memset(m->memory, 0, memory);
	m->vm.page = page;
	m->vm.ctx = m;
	gfx9_code_init(&m->code, target);
	for (uint32_t i = 0; i < MACHINE_CUS; i++)
		gfx9_cu_init(&m->cu[i], target, i);
	load_segments(m);
	gfx9_context_init(&m->context, machine_alloc(m, CONTEXT_BYTES), CONTEXT_BYTES);
	m->tba = machine_alloc(m, TRAP_BYTES);
	memcpy(machine_at(m, m->tba), gfx9_trap_handler, gfx9_trap_handler_bytes);
	return m;
}

void machine_free(struct machine *m)
{
	for (int i = 0; i < MACHINE_CUS; i++)
		gfx9_cu_destroy(&m->cu[i]);
	gfx9_context_destroy(&m->context);
	gfx9_code_destroy(&m->code);
	free(m->memory);
	free(m->file);
	free(m);
}

/* The packet a queue would hold; kernels read the size of their workgroup from it. */
static void write_packet(struct machine *m, const struct gfx9_dispatch *d)
{
	uint8_t *p = machine_at(m, d->packet);

	memcpy(p + 4, d->group, sizeof(d->group));
	memcpy(p + 12, d->grid, sizeof(d->grid));
	memcpy(p + 32, &d->kernel_object, 8);
	memcpy(p + 40, &d->kernarg, 8);
}

struct share {
	struct machine *m;
	struct gfx9_job *job;
	int first;
};

/* What was saved goes first, and to another compute unit than it came from. */
static void restore_all(struct machine *m, int from)
{
	for (int k = 1; k <= MACHINE_CUS; k++) {
		while (gfx9_cu_restore(&m->cu[(from + k) % MACHINE_CUS], &m->context))
			;
	}
	for (int k = 0; k < MACHINE_CUS; k++)
		gfx9_cu_leave_handlers(&m->cu[k]);
	gfx9_context_rewind(&m->context);
}

static void preempt(struct machine *m, struct gfx9_job *job, int i)
{
	if (!m->preempt || ++m->slices % m->preempt)
		return;
	gfx9_cu_save(&m->cu[i], job, &m->context);
	restore_all(m, i);
}

static void run_cu(struct machine *m, struct gfx9_job *job, int i)
{
	if (!gfx9_context_empty(&m->context))
		restore_all(m, i);
	while (gfx9_context_empty(&m->context) && gfx9_cu_take(&m->cu[i], job))
		;
	m->insts += gfx9_cu_run(&m->cu[i], m->slice);
	preempt(m, job, i);
}

static bool has_work(const struct share *s)
{
	const struct machine *m = s->m;

	if (s->job->failed)
		return false;
	for (int i = s->first; i < MACHINE_CUS; i += m->threads) {
		if (gfx9_cu_busy(&m->cu[i]))
			return true;
	}
	return s->job->nr_started < s->job->nr_groups || !gfx9_context_empty(&m->context);
}

/* Every m->threads-th compute unit, until neither they nor the job have anything left. */
static void *run_share(void *arg)
{
	const struct share *s = arg;

	do {
		for (int i = s->first; i < MACHINE_CUS; i += s->m->threads)
			run_cu(s->m, s->job, i);
	} while (has_work(s));
	return NULL;
}

static void run_to_end(struct machine *m, struct gfx9_job *job)
{
	struct share share[MACHINE_CUS] = { { m, job, 0 } };
	pthread_t thread[MACHINE_CUS];
	int started = 1;

	for (int i = 1; i < m->threads; i++)
		share[i] = (struct share){ m, job, i };
	while (started < m->threads &&
	       !pthread_create(&thread[started], NULL, run_share, &share[started]))
		started++;
	run_share(&share[0]);
	/* A share no thread was found for is run here: nothing is left out. */
	for (int i = started; i < m->threads; i++)
		run_share(&share[i]);
	while (--started > 0)
		pthread_join(thread[started], NULL);
}

int machine_run(struct machine *m, const char *kernel, uint32_t grid, uint16_t group,
		const void *args, size_t args_size, struct gfx9_report *report)
{
	uint64_t mark = m->used;
	struct gfx9_dispatch d = { .grid = { grid, 1, 1 }, .group = { group, 1, 1 } };
	struct gfx9_job job;
	char name[128];
	int err;

	snprintf(name, sizeof(name), "%s.kd", kernel);
	d.kernel_object = symbol(m, name);
	if (!d.kernel_object)
		return -ENOENT;
	d.packet = machine_alloc(m, 64);
	d.kernarg = machine_alloc(m, 1024);
	memcpy(machine_at(m, d.kernarg), args, args_size);
	write_packet(m, &d);
	err = gfx9_job_init(&job, m->target, &m->vm, &m->code, &d);
	if (!err) {
		job.tba = m->tba;
		job.tma = m->tba + TMA_OFFSET;
		job.dispatch.scratch_base =
			machine_alloc(m, (uint64_t)MACHINE_CUS * GFX9_CU_WAVES * GFX9_LANES *
						 job.dispatch.scratch_bytes);
		run_to_end(m, &job);
		/* Of a job that failed nothing may stay behind. */
		for (int i = 0; i < MACHINE_CUS; i++)
			gfx9_cu_destroy(&m->cu[i]);
		gfx9_context_destroy(&m->context);
		gfx9_context_rewind(&m->context);
		*report = job.report;
		err = job.failed ? -EIO : 0;
	}
	m->used = mark;
	return err;
}
