/* SPDX-License-Identifier: MIT */
/* gpreempt probe: the part about NVIDIA GPUs, which probe.c shows with the others. */
#ifndef GP_CLI_PROBE_H
#define GP_CLI_PROBE_H

#include "base/env.h"
#include "device/nvrm/gpus.h"

#include <jansson.h>

enum nvidia_what {
	NVIDIA_CONTEXT,
	NVIDIA_HOLD,
	NVIDIA_DRAIN,
	NVIDIA_SLICE,
	NVIDIA_WORK,
	NVIDIA_WHATS,
};

struct nvidia_ability {
	bool tried, works;
	double stop_us, start_us;
	char reason[256];
};

struct nvidia_finding {
	int index;
	struct gp__nvrm_gpu gpu;
	struct gp__nvrm_driver driver;
	struct nvidia_ability of[NVIDIA_WHATS];
};

/* How many there are. */
int nvidia_count(void);
/* The @nth of them; @index is what it is called. True: something can be done with it. */
bool nvidia_probe(struct nvidia_finding *f, int index, int nth);
/* A line that gpreempt-nvidia-try has printed; false: it is none. */
bool nvidia_take_line(struct nvidia_finding *f, const char *line);
json_t *nvidia_json(const struct nvidia_finding *f);
int nvidia_print(struct gp__env *env, const struct nvidia_finding *f);

/* In probe.c: a paragraph whose first line begins with @head, the others as far in. */
void probe_print_wrapped(FILE *out, const char *head, const char *text);

#endif
