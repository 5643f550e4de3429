/* SPDX-License-Identifier: MIT */
/* Ranges of addresses with a count each: which memory is shared, and how often. */
#ifndef GP__EMU_CLIENT_SEGMENTS_H
#define GP__EMU_CLIENT_SEGMENTS_H

#include <stdint.h>

/* The most mappings that there can be by the default vm.max_map_count. */
#define CLIENT_SEGMENTS_MAX 65536

struct client_segment {
	uint64_t start, end;
	uint32_t refs;
	uint64_t copy; /* for share.c: the address of its copy during a fork */
};

/* Sorted, without overlaps; neighbours differ in their count. */
struct client_segments {
	uint32_t nr;
	struct client_segment segment[CLIENT_SEGMENTS_MAX];
};

/* Increments the count of each page of the range; -ENOMEM, and nothing has changed. */
int client_segments_add(struct client_segments *s, uint64_t start, uint64_t end);
/*
 * Decrements the count of each shared page of the range. Calls @gone for segments whose count is 0
 * now, in order.
 */
typedef void client_segments_gone(uint64_t start, uint64_t end);
void client_segments_remove(struct client_segments *s, uint64_t start, uint64_t end,
			    client_segments_gone *gone);
/* The index of the first segment that ends behind @address, or nr. */
uint32_t client_segments_find(const struct client_segments *s, uint64_t address);

#endif
