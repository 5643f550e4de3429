/* SPDX-License-Identifier: MIT */
/*
 * A function in a child process, for what may crash, hang, or leave something behind.
 *
 * The child is a copy of the calling thread alone: where other threads may have held locks, it must
 * not need them. It ends with its parent.
 */
#ifndef GP__DEVICE_KFD_CHILD_H
#define GP__DEVICE_KFD_CHILD_H

enum gp__child_end {
	GP__CHILD_DONE, /* the function returned */
	GP__CHILD_DIED, /* of a signal, or by leaving */
	GP__CHILD_HUNG, /* it was killed when its time was over, or did not even end then */
};

/*
 * How it ended; -errno where there is no child. @arg lies in memory that both share, where the
 * function leaves what it has found. @signal: what it died of, 0: of none. May be NULL.
 */
int gp__child_run(void (*run)(void *arg), void *arg, unsigned int timeout_ms, int *signal);

#endif
