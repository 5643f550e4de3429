/* SPDX-License-Identifier: MIT */
/*
 * A kernel that writes to an unmapped address. The driver reports it to the runtime's handler
 * (hsa_wild handler: the program prints the address and ends with 0) or, without one, the runtime
 * ends the program (hsa_wild abort: SIGABRT, after a message about a memory access fault).
 *
 * hsa_wild unsupported: a kernel that computes an approximate reciprocal and then executes an
 * instruction that the emulated GPU does not support; the program fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hsa_test.h"

/* An unmapped address, below what the GPU can reach. */
#define NOWHERE 0x123456789000ull

static hsa_status_t see_fault(const hsa_amd_event_t *event, void *data)
{
	(void)data;
	lab_check(event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT, "an event of type %d",
		  event->event_type);
	lab_check(event->memory_fault.virtual_address >> 12 == NOWHERE >> 12,
		  "the fault is said to be at %#lx",
		  (unsigned long)event->memory_fault.virtual_address);
	printf("memory fault at %#lx\n", (unsigned long)event->memory_fault.virtual_address);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint32_t *nowhere = (uint32_t *)NOWHERE;
	struct lab lab;

	if (argc != 2 || (strcmp(argv[1], "handler") && strcmp(argv[1], "abort") &&
			  strcmp(argv[1], "unsupported"))) {
		fprintf(stderr, "usage: hsa_wild handler|abort|unsupported\n");
		return 2;
	}
	lab_open(&lab);
	if (!strcmp(argv[1], "unsupported"))
		lab_run(&lab, lab_queue(&lab, 64), "unsupported", 64, &nowhere, sizeof(nowhere));
	if (!strcmp(argv[1], "handler"))
		lab_must(hsa_amd_register_system_event_handler(see_fault, NULL));
	lab_run(&lab, lab_queue(&lab, 64), "wild", 64, &nowhere, sizeof(nowhere));
	lab_fail("the kernel ended as if nothing had happened");
}
