/* SPDX-License-Identifier: MIT */
/* Descriptors that accompany a message (emu/protocol.h), for both ends. */
#ifndef GP__EMU_MESSAGE_H
#define GP__EMU_MESSAGE_H

#include <string.h>
#include <sys/socket.h>

#include "emu/protocol.h"

union emu_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(EMU_FDS_MAX * sizeof(int))];
};

/* Attaches descriptors to @h. */
static inline void emu_control_put(union emu_control *control, struct msghdr *h, const int *fds,
				   uint32_t n)
{
	memset(control, 0, sizeof(*control));
	if (!n)
		return;
	h->msg_control = control->bytes;
	h->msg_controllen = CMSG_SPACE(n * sizeof(int));
	control->align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS,
					   .cmsg_len = CMSG_LEN(n * sizeof(int)) };
	memcpy(CMSG_DATA(&control->align), fds, n * sizeof(int));
}

/* The descriptors of @h, whose control buffer has room for no more. */
static inline uint32_t emu_control_take(struct msghdr *h, int fds[EMU_FDS_MAX])
{
	uint32_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < here && n < EMU_FDS_MAX; i++)
			memcpy(&fds[n++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	return n;
}

#endif
