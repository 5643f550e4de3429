/* SPDX-License-Identifier: MIT */
/*
 * Events of markers that represent a guarded launch (guard.h), while the program has them: queries
 * about the launch are answered from its first run.
 */
#ifndef GP__JOIN_OPENCL_EVENTS_H
#define GP__JOIN_OPENCL_EVENTS_H

#include "join/opencl/cl.h"

/* @event represents @run, which is released when the program has released @event. */
void gp__cl_event_stands_for(cl_event event, cl_event run);
void gp__cl_replace_events(cl_icd_dispatch *table);

#endif
