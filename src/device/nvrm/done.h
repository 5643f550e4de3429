/* SPDX-License-Identifier: MIT */
/*
 * Tells whether the work that was put into a channel is done.
 *
 * A kernel that ends changes a number in memory, for which later work of its stream waits. The
 * launch and the number are in the program's memory, at the same address for the CPU and the GPU,
 * and both can be found from the channel's ring. If a submission does not end with a kernel's
 * launch in the form of libcuda 580, its end is unknown.
 */
#ifndef GP__DEVICE_NVRM_DONE_H
#define GP__DEVICE_NVRM_DONE_H

#include "base/peek.h"
#include "device/nvrm/owner.h"

/* The address of the number, and its value when the work is done. */
struct gp__nvrm_end {
	uint64_t at; /* 0: not known */
	uint32_t number;
};

/* A ring's entry: the address of the submission's words, and how many there are. */
void gp__nvrm_entry_decode(uint64_t entry, uint64_t *at, uint32_t *words);
#define GP__NVRM_END_WORDS 20

/* Finds the end in the last words of a submission. */
bool gp__nvrm_end_parse(const uint32_t words[GP__NVRM_END_WORDS], struct gp__nvrm_end *end);
/* Finds the end of the latest submission, when the channel's index is @put; at is 0 if it is
 * unknown. */
void gp__nvrm_end_find(struct gp__peek *peek, const struct gp__nvrm_ring *ring, uint32_t put,
		       struct gp__nvrm_end *end);
/* 1: it was written; 0: not yet; -1: the memory is gone. */
int gp__nvrm_end_reached(struct gp__peek *peek, const struct gp__nvrm_end *end);

#endif
