/* SPDX-License-Identifier: MIT */
#include "hsa_test.h"

#include <stdio.h>
#include <string.h>

void lab_free(void *memory)
{
	lab_must(hsa_amd_memory_pool_free(memory));
}

void lab_run(struct lab *lab, hsa_queue_t *queue, const char *kernel, uint32_t items,
	     const void *arguments, size_t size)
{
	struct lab_kernel k = lab_find(lab, kernel);
	void *copy = lab_alloc(lab, lab->kernarg, 4096);
	hsa_signal_t done = lab_signal(1);

	/* The host pads its structs. */
	lab_check(size <= (k.kernarg_size + 7) / 8 * 8, "%s takes %u bytes of arguments, not %zu",
		  kernel, k.kernarg_size, size);
	memcpy(copy, arguments, size);
	lab_dispatch(queue, &k, lab_line(items), copy, done);
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, kernel);
	lab_must(hsa_signal_destroy(done));
	lab_free(copy);
}

void lab_copy(struct lab *lab, void *to, hsa_agent_t to_agent, const void *from,
	      hsa_agent_t from_agent, size_t size)
{
	hsa_signal_t done = lab_signal(1);

	(void)lab;
	lab_must(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, NULL, done));
	lab_wait(done, HSA_WAIT_STATE_BLOCKED, "a copy");
	lab_must(hsa_signal_destroy(done));
}

int lab_main(const struct lab_test *tests, int argc, char **argv)
{
	struct lab lab;
	int nr = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	lab_open(&lab);
	for (const struct lab_test *t = tests; t->name; t++) {
		bool wanted = argc < 2;

		for (int i = 1; i < argc; i++)
			wanted |= !strcmp(argv[i], t->name);
		if (!wanted)
			continue;
		printf("%s ...\n", t->name);
		t->run(&lab);
		printf("%s: ok\n", t->name);
		nr++;
	}
	lab_check(nr, "none of the tests has that name");
	lab_close(&lab);
	printf("all %d tests passed on %s\n", nr, lab.gpu_name);
	return 0;
}
