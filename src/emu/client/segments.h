/* SPDX-License-Identifier: MIT */
/* Ranges of addresses with a count each: which memory is shared, and how often that was asked. */
#ifndef GP__EMU_CLIENT_SEGMENTS_H
#define GP__EMU_CLIENT_SEGMENTS_H

#include <stdint.h>

/* As many as there can be mappings, where nobody has changed vm.max_map_count. */
#define CLIENT_SEGMENTS_MAX 65536

struct client_segment {
	uint64_t start, end;
	uint32_t refs;
	uint64_t copy; /* for share.c: where the copy of it is, while a fork is under way */
};

/* In order, without overlaps; neighbours differ in their count. */
struct client_segments {
	uint32_t nr;
	struct client_segment segment[CLIENT_SEGMENTS_MAX];
};

/* One more for each page of the range; -ENOMEM, and nothing has changed. */
int client_segments_add(struct client_segments *s, uint64_t start, uint64_t end);
/* One less for each that has one. Those that have none left are passed on, in order. */
typedef void client_segments_gone(uint64_t start, uint64_t end);
void client_segments_remove(struct client_segments *s, uint64_t start, uint64_t end,
			    client_segments_gone *gone);
/* The first one that ends behind @address: an index, or nr. */
uint32_t client_segments_find(const struct client_segments *s, uint64_t address);

#endif
