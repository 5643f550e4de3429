/* SPDX-License-Identifier: MIT */
/*
 * Whether what was put into a channel is done.
 *
 * A kernel that is done changes a number in memory, for which those wait that come after it in the
 * same stream. How it was launched is in the program's memory, at the same address for the CPU as
 * for the GPU, and so is the number: both can be found from the channel's ring. Where a submission
 * does not end with a kernel's launch as libcuda 580 has it, nothing is said.
 */
#ifndef GP__DEVICE_NVRM_DONE_H
#define GP__DEVICE_NVRM_DONE_H

#include "base/peek.h"
#include "device/nvrm/owner.h"

/* Where the number is, and what it then is. */
struct gp__nvrm_end {
	uint64_t at; /* 0: not known */
	uint32_t number;
};

/* A ring's entry: where the submission's words are, and how many. */
void gp__nvrm_entry_decode(uint64_t entry, uint64_t *at, uint32_t *words);
#define GP__NVRM_END_WORDS 20

/* From the last words of a submission. */
bool gp__nvrm_end_parse(const uint32_t words[GP__NVRM_END_WORDS], struct gp__nvrm_end *end);
/* Of the latest submission, when the channel's index is @put; its at is 0 where it is not known. */
void gp__nvrm_end_find(struct gp__peek *peek, const struct gp__nvrm_ring *ring, uint32_t put,
		       struct gp__nvrm_end *end);
/* 1: it was written; 0: not yet; -1: the memory is not there. */
int gp__nvrm_end_reached(struct gp__peek *peek, const struct gp__nvrm_end *end);

#endif
