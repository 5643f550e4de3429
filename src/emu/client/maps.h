/* SPDX-License-Identifier: MIT */
/* The mappings of this process, as the kernel lists them. */
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
	size_t have, at;
	char buf[CLIENT_MAPS_BUFFER];
};

int client_maps_open(struct client_maps *m);
/* In order of addresses. False: that was the last one. */
bool client_maps_next(struct client_maps *m, struct client_vma *v);
void client_maps_close(struct client_maps *m);

#endif
