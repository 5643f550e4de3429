/* SPDX-License-Identifier: MIT */
/*
 * Somebody who answers a handler's questions: a thread for whom the test's own memory and
 * descriptors are the client's.
 */
#ifndef GP__TESTS_EMU_KFD_CLIENT_H
#define GP__TESTS_EMU_KFD_CLIENT_H

#include <pthread.h>

#include "emu/kfd/call.h"

struct kfd_client {
	pthread_t thread;
	int fd; /* its end of the connection */
};

/* From now on questions of the call are answered. Addresses of the first page are bad ones. */
void kfd_client_start(struct kfd_client *c, struct emu_call *call);
void kfd_client_end(struct kfd_client *c, struct emu_call *call);
/* A signal comes for the client that is in a call. */
void kfd_client_cancel(struct kfd_client *c);

#endif
