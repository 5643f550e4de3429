/* SPDX-License-Identifier: MIT */
/*
 * Runs a function in a child process, for code that may crash, hang or leave something behind.
 *
 * The child is a copy of the calling thread alone, so it must not need locks that other threads may
 * have held. It ends with its parent.
 */
#ifndef GP__DEVICE_KFD_CHILD_H
#define GP__DEVICE_KFD_CHILD_H

enum gp__child_end {
	GP__CHILD_DONE, /* the function returned */
	GP__CHILD_DIED, /* by a signal, or by exiting */
	GP__CHILD_HUNG, /* it was killed after its timeout, or could not be killed */
};

/*
 * How the child ended; -errno: there is no child. @arg is in memory that both share, where the
 * function leaves its result. @signal gets the signal that ended the child, 0: none; it may be
 * NULL.
 */
int gp__child_run(void (*run)(void *arg), void *arg, unsigned int timeout_ms, int *signal);

#endif
