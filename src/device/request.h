/* SPDX-License-Identifier: MIT */
/*
 * A request is what `gpreempt run` asks for a program, in environment variables. Child processes
 * inherit them, and containers if they are given them.
 */
#ifndef GP__DEVICE_REQUEST_H
#define GP__DEVICE_REQUEST_H

#include "wire/wire.h"

#define GP__ENV_PRIORITY "GPREEMPT_PRIORITY" /* a program that has it is joined */
#define GP__PRIORITY_DEFAULT "default" /* its value: as the control group says, else normal */
#define GP__ENV_TAG "GPREEMPT_TAG"
#define GP__ENV_LEVEL "GPREEMPT_LEVEL"
#define GP__ENV_WINDOW "GPREEMPT_WINDOW" /* launch window of level 1: 8 packets, or 2ms */
#define GP__ENV_IDEMPOTENT "GPREEMPT_IDEMPOTENT" /* 1: level 2 may drop kernels and rerun them */
#define GP__ENV_SPLIT "GPREEMPT_SPLIT_STREAMS" /* 1: see `splits` below */
#define GP__ENV_OBSERVE "GPREEMPT_OBSERVE" /* 1: see `observed` below */
#define GP__ENV_INDEPENDENT "GPREEMPT_INDEPENDENT" /* 1: see `independent` below */
#define GP__ENV_COPIES "GPREEMPT_COPIES" /* 1: copies are held as well */
#define GP__ENV_ANY_DRIVER "GPREEMPT_ANY_DRIVER" /* 1: also drivers that are not known */
#define GP__ENV_SHARE "GPREEMPT_SHARE" /* percent */
#define GP__ENV_DEADLINE "GPREEMPT_DEADLINE" /* 5ms */
#define GP__ENV_GANG "GPREEMPT_GANG" /* a name, or a name and a number of members: ranks:4 */
#define GP__ENV_WAY "GPREEMPT_WAY"
#define GP__ENV_NOTES "GPREEMPT_NOTES" /* gpreempt run's file for what joined programs say */
#define GP__ENV_SOCKET "GPREEMPT_SOCKET"

/* The library that joins a program; $LD_PRELOAD has it. */
#define GP__JOIN_LIBRARY "libgpreempt-join.so"

/*
 * The name of the file of GPREEMPT_NOTES, a memfd, and about how long it may grow. Its lines are a
 * pid, one of the words below, and a text.
 */
#define GP__NOTES_FILE "gpreempt-notes"
#define GP__NOTES_MAX (64u << 10)
#define GP__NOTE_UNSCHEDULED "unscheduled" /* why something of the program has no priority */
#define GP__NOTE_HIDDEN "hidden" /* the library that has the program's calls first */
#define GP__NOTE_REACHED "reached" /* it passes them on */
/* The library was loaded without LD_PRELOAD and sees no calls; how its line of maps begins. */
#define GP__NOTE_LATE "late"

struct gp__request {
	bool joined;
	bool by_default; /* no priority is asked for */
	u32 level; /* 0: the best available */
	bool idempotent; /* level 2 only */
	bool splits; /* queues of different own priorities are different groups */
	bool observed; /* it is neither held, nor are others for it */
	bool independent; /* ranks of a launcher are not a gang */
	bool copies; /* hold copies too, on GPUs where that is optional */
	bool any_driver; /* join on drivers and GPUs that gpreempt does not know, too */
	u32 window; /* level 1: in packets; 0: as many as take window_ns */
	u64 window_ns; /* 0: the default */
	char tag[GP__WIRE_TAG_MAX];
	char gang[GP__WIRE_TAG_MAX]; /* "": none */
	u32 gang_members; /* 0: any number */
	struct gp__wire_hints hints;
};

#define GP__EXPECT_GANG "a name, or a name and a number of members from 2 to 64, such as ranks:4"

/* 1 to 31 characters, none of which is a blank, ':' or '='. */
bool gp__gang_name_ok(const char *name);
/* Reads NAME or NAME:N. False: it is neither. */
bool gp__request_gang(const char *text, char name[GP__WIRE_TAG_MAX], u32 *members);

/* False: a variable has an invalid value. *@bad is its name, *@expected what it may be. */
bool gp__request_read(struct gp__request *request, const char **bad, const char **expected);

#endif
