// SPDX-License-Identifier: MIT
#include "handler.h"

#include <stdio.h>

static uint8_t other[HANDLER_BYTES_MAX];
static size_t other_bytes;

bool handler_read(const char *path)
{
	FILE *f = fopen(path, "re");

	if (f) {
		other_bytes = fread(other, 1, sizeof(other), f);
		fclose(f);
	}
	if (!other_bytes)
		printf("there is no handler in %s; 'make kernel-handler-test' fetches it\n", path);
	return other_bytes;
}

bool handler_is_other(void)
{
	return other_bytes;
}

static void use(struct machine *m, const void *code, size_t bytes)
{
	memset(machine_at(m, m->tba), 0, HANDLER_BYTES_MAX);
	memcpy(machine_at(m, m->tba), code, bytes);
	gfx9_code_invalidate(&m->code);
}

void handler_use_own(struct machine *m)
{
	use(m, gfx9_trap_handler, gfx9_trap_handler_bytes);
}

void handler_use(struct machine *m)
{
	if (other_bytes)
		use(m, other, other_bytes);
	else
		handler_use_own(m);
}
