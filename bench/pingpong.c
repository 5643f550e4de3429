// SPDX-License-Identifier: MIT
#include "pingpong.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static int futex_give(struct pingpong *t, int side)
{
	/* Release: the receiver of the token sees what was written before. */
	atomic_store_explicit(&t->token[side], 1, memory_order_release);
	if (syscall(SYS_futex, &t->token[side], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
		return -errno;
	return 0;
}

static int futex_take(struct pingpong *t, int side)
{
	while (!atomic_exchange_explicit(&t->token[side], 0, memory_order_acquire)) {
		if (syscall(SYS_futex, &t->token[side], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return 0;
}

static int eventfd_give(struct pingpong *t, int side)
{
	return eventfd_write(t->fd[side], 1) ? -errno : 0;
}

static int eventfd_take(struct pingpong *t, int side)
{
	eventfd_t value;

	while (eventfd_read(t->fd[side], &value)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static void *play(void *arg)
{
	struct pingpong *t = arg;

	while (!t->take(t, 1) && !atomic_load(&t->stop)) {
		if (t->give(t, 0))
			break;
	}
	return NULL;
}

int pingpong_round_trip(void *arg, uint64_t times)
{
	struct pingpong *t = arg;
	int err = 0;

	while (!err && times--) {
		err = t->give(t, 1);
		if (!err)
			err = t->take(t, 0);
	}
	return err;
}

int pingpong_start(struct pingpong *t, bool futex)
{
	int err;

	*t = (struct pingpong){
		.give = futex ? futex_give : eventfd_give,
		.take = futex ? futex_take : eventfd_take,
		.fd = { eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC) },
	};
	if (t->fd[0] < 0 || t->fd[1] < 0)
		err = -errno;
	else
		err = -pthread_create(&t->partner, NULL, play, t);
	if (!err)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
	}
	return err;
}

void pingpong_end(struct pingpong *t)
{
	atomic_store(&t->stop, true);
	t->give(t, 1);
	pthread_join(t->partner, NULL);
	close(t->fd[0]);
	close(t->fd[1]);
}
