/* SPDX-License-Identifier: MIT */
/*
 * Processes that a command starts and whose output it reads, and the signals that end the command.
 * Each process has its own process group, so that the terminal's signals do not reach it, and the
 * kernel ends it when this process ends.
 */
#ifndef GP_CLI_PROCESS_H
#define GP_CLI_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/env.h"

struct process {
	const char *name; /* for people */
	pid_t pid; /* 0: none runs */
	int out; /* its standard output; -1: closed */
	char err[PATH_MAX]; /* the file of its standard error */
	/* For the reader of its output: an incomplete line. */
	char line[256];
	size_t used;
};

/*
 * @folder: of the file of its standard error. @out: its output is read from p->out. 0, or an exit
 * status after an error message.
 */
int process_start(struct gp__env *env, const char *folder, struct process *p,
		  const char *const *argv, bool out);
/* Waits for its end. Returns its status. */
int process_reap(struct process *p);
/* Sends a signal to it and to what it has started, if it runs, and waits for its end. */
void process_end(struct process *p, int number);
/*
 * Ends it with SIGTERM, and after so long with SIGKILL. False: it has not ended after twice the
 * time, as in a call of the driver that does not return; it is left alone then.
 */
bool process_stop(struct process *p, unsigned int ms);
/* The last lines of its standard error. */
void process_errors(const struct process *p, char *text, size_t size);
/* Reports its failure with the last lines of its standard error. Returns an exit status. */
int process_failed(struct gp__env *env, const struct process *p, const char *how);

/* Catches signals that would end the command; returns the one that came, or 0. */
void process_signals_catch(void);
int process_signal(void);
/* The exit status after a signal. No message is needed: the sender of the signal knows why. */
int process_interrupted(void);

#endif
