/* SPDX-License-Identifier: MIT */
/*
 * A program with a queue that allocates memory of the GPU as it is told. It prints "ready", and
 * then "done" after each line from standard input: a number allocates so many mebibytes, "free"
 * frees what was allocated last. It ends with its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsa_test.h"

enum { PIECES = 64, PACKETS = 64 };

int main(void)
{
	void *piece[PIECES];
	hsa_queue_t *queue;
	struct lab lab;
	char line[32];
	size_t n = 0;

	lab_must(hsa_init());
	lab_open(&lab);
	queue = lab_queue(&lab, PACKETS);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		bool frees = !strcmp(line, "free\n");

		lab_check(frees ? n > 0 : n < PIECES, "too few or too many pieces");
		if (frees)
			lab_free(piece[--n]);
		else
			piece[n++] = lab_alloc(&lab, lab.vram, strtoull(line, NULL, 10) << 20);
		puts("done");
		fflush(stdout);
	}
	lab_must(hsa_queue_destroy(queue));
	lab_close(&lab);
	lab_must(hsa_shut_down());
	return 0;
}
