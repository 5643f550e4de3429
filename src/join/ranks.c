// SPDX-License-Identifier: MIT
#include "join/ranks.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "join/symbol.h"

#define JOB_VARIABLES 4

/* The most specific first: torchrun may be started by srun. */
static const struct launcher {
	const char *name, *rank, *size;
	/* These tell its jobs from one another; if none is set, the parent process does. */
	const char *job[JOB_VARIABLES];
} launchers[] = {
	{ "torchrun",
	  "RANK",
	  "WORLD_SIZE",
	  { "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT" } },
	{ "mpirun",
	  "OMPI_COMM_WORLD_RANK",
	  "OMPI_COMM_WORLD_SIZE",
	  { "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid" } },
	{ "mpirun", "PMI_RANK", "PMI_SIZE", { "PMI_JOBID" } },
	/* Only srun sets these: the script of a job is no rank. */
	{ "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", { "SLURM_JOB_ID", "SLURM_STEP_ID" } },
};

/* Of NCCL and RCCL, which may be a part of another library. */
#define COLLECTIVE "ncclCommInitRank"

static const char *const libraries[] = { "libnccl.so", "librccl.so", "libmpi.so", "libmpich.so" };

/* FNV-1a, with a byte between two texts. */
static u64 hash_text(u64 hash, const char *text)
{
	do {
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	} while (*text++);
	return hash;
}

static u64 hash_job(const struct launcher *l)
{
	u64 hash = hash_text(0xcbf29ce484222325, l->name);
	bool any = false;
	char parent[16];

	for (int i = 0; i < JOB_VARIABLES && l->job[i]; i++) {
		const char *text = getenv(l->job[i]);

		any |= text != NULL;
		hash = hash_text(hash, text ? text : "");
	}
	snprintf(parent, sizeof(parent), "%d", (int)getppid());
	return any ? hash : hash_text(hash, parent);
}

static bool read_number(const char *variable, u64 most, u32 *number)
{
	const char *text = getenv(variable);
	u64 value;

	if (!text || gp__parse_u64(text, 0, most, &value))
		return false;
	*number = (u32)value;
	return true;
}

static bool is_started_by(const struct launcher *l, struct gp__rank *r)
{
	return read_number(l->size, GP__WIRE_RANKS_MAX, &r->size) && r->size > 1 &&
	       read_number(l->rank, r->size - 1, &r->number);
}

void gp__rank_read(struct gp__rank *r)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *l = &launchers[i];

		memset(r, 0, sizeof(*r));
		if (!is_started_by(l, r))
			continue;
		snprintf(r->gang, sizeof(r->gang), "%s-%010llx", l->name,
			 (unsigned long long)(hash_job(l) & 0xffffffffff));
		return;
	}
	memset(r, 0, sizeof(*r));
}

static int is_for_collectives(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash ? slash + 1 : info->dlpi_name;

	(void)size;
	(void)data;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return 1;
	}
	return gp__object_exports(info, COLLECTIVE);
}

bool gp__rank_has_library(void)
{
	return dl_iterate_phdr(is_for_collectives, NULL);
}
