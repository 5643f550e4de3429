// SPDX-License-Identifier: MIT
/* No allocation while the core handles events: the linker routes these calls here (--wrap). */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define EVENTS 100000

static u64 calls;

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);

void *__wrap_malloc(size_t size)
{
	calls++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	calls++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	calls++;
	return __real_realloc(p, size);
}

void __wrap_free(void *p)
{
	calls++;
	__real_free(p);
}

/* The counter must count, or zero means nothing. */
static bool counter_works(void)
{
	void *volatile p = malloc(1);

	free(p);
	return calls == 2;
}

static bool run(const struct gp__policy *policy)
{
	static struct world w;

	world_init(&w, 7);
	w.keep_policy = true;
	gp__core_set_policy(&w.core, policy, NULL, w.now);
	calls = 0;
	while (w.nr_events < EVENTS) {
		if (!world_step(&w)) {
			fprintf(stderr, "%s: broken rule: %s\n", policy->name, w.broken);
			return false;
		}
	}
	printf("%s: %llu allocations in %d events\n", policy->name, (unsigned long long)calls,
	       EVENTS);
	return calls == 0;
}

int main(void)
{
	const struct gp__policy *const *p;

	if (!counter_works()) {
		fprintf(stderr, "calls to malloc are not counted\n");
		return 1;
	}
	for (p = gp__policies; *p; p++) {
		if (!run(*p))
			return 1;
	}
	return 0;
}
