/* SPDX-License-Identifier: MIT */
/* The progress of a running workload: a page that it maps, and any process may read. */
#ifndef DEMO_PROGRESS_H
#define DEMO_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

#define PROGRESS_MAGIC 0x6770726fu

/* python/ and tests/ read it as "=IIQQQ". */
struct progress {
	_Atomic uint32_t magic; /* written last: the rest is valid */
	uint32_t pid;
	_Atomic uint64_t steps, digest; /* steps is written after the digest of that step */
	_Atomic uint64_t device_ns; /* for which its dispatches ran, stops included */
};

#endif
