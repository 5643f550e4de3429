/* SPDX-License-Identifier: MIT */
/*
 * A thread that answers a handler's requests: the test's own memory and descriptors are the
 * client's.
 */
#ifndef GP__TESTS_EMU_KFD_CLIENT_H
#define GP__TESTS_EMU_KFD_CLIENT_H

#include <pthread.h>

#include "emu/kfd/call.h"

struct kfd_client {
	pthread_t thread;
	int fd; /* its end of the connection */
};

/* Requests of the call are answered from now on. Addresses in the first page are bad. */
void kfd_client_start(struct kfd_client *c, struct emu_call *call);
void kfd_client_end(struct kfd_client *c, struct emu_call *call);
/* Sends a signal to the client that is in a call. */
void kfd_client_cancel(struct kfd_client *c);

#endif
