/* SPDX-License-Identifier: MIT */
/*
 * The mappings of this process, from the kernel.
 *
 * From an address on, each mapping is one query (PROCMAP_QUERY, Linux 6.11), independent of the
 * number of mappings. An older kernel has only its list, which is read from the start.
 */
#ifndef GP__EMU_CLIENT_MAPS_H
#define GP__EMU_CLIENT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CLIENT_MAPS_BUFFER 16384

struct client_vma {
	uint64_t start, end, offset, ino;
	dev_t dev;
	int prot;
	bool shared;
	const char *path; /* valid until the next one is read; "": none */
};

struct client_maps {
	int fd;
	bool no_queries; /* the kernel has refused a query */
	bool lists; /* reads the list instead of querying */
	uint64_t from; /* only mappings that end above it are left */
	size_t have, at;
	char buf[CLIENT_MAPS_BUFFER]; /* part of the list, or a name */
};

/* Starts with the first mapping that ends above @from; 0: with the first. */
int client_maps_open(struct client_maps *m, uint64_t from);
/* In order of addresses. False: that was the last one. */
bool client_maps_next(struct client_maps *m, struct client_vma *v);
void client_maps_close(struct client_maps *m);

#endif
