/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A guard is a condition that protects somebody. The mutation target compiles the core once for
 * each name below with that one guard switched off (GP__MUTANT=GP__GUARD_name) and expects the
 * tests to notice.
 */
#ifndef GP__CORE_GUARD_H
#define GP__CORE_GUARD_H

#include "core/types.h"

#define GP__GUARDS(X)        \
	X(ONE_IN_FLIGHT)     \
	X(ACK_TIMEOUT)       \
	X(ACK_SPURIOUS)      \
	X(ACK_LATE)          \
	X(STOP_TRIES)        \
	X(ADMIT_RETRY)       \
	X(FAULT_OUT_OF_PLAN) \
	X(SOMEBODY_RUNS)     \
	X(DORMANT_STAYS)     \
	X(DORMANT_FREED)     \
	X(NEW_QUEUE_HELD)    \
	X(HOLD_GOES_ON)      \
	X(MAX_HOLD)          \
	X(MIN_SHARE)         \
	X(AGEING)            \
	X(GRANT_ENDS)        \
	X(SWITCH_RATE)       \
	X(TOKEN_BOUND)       \
	X(LINGER)            \
	X(LINGER_ENDS)       \
	X(EXPECT_DOUBT)      \
	X(EXPECT_ENDS)       \
	X(LEAD_UNKNOWN)      \
	X(EXPECT_MET)        \
	X(EXPECT_ONCE)       \
	X(OPERATOR_WINS)     \
	X(GANG_TOGETHER)     \
	X(GANG_FITS_ALL)     \
	X(GANG_RATE)         \
	X(GANG_IDLE_FREE)    \
	X(REMOVE_UNLINKS)    \
	X(TIME_MONOTONE)     \
	X(REPORT_ONCE)       \
	X(VTIME_FLOOR)       \
	X(TURN_GOES_ON)      \
	X(OWED_BOUND)        \
	X(OWED_CAP)          \
	X(DEFAULTS_BOUND)    \
	X(REWEIGH)           \
	X(WEIGH_RUNNING)     \
	X(PATIENT_ALONE)     \
	X(ANNOUNCED_KEPT)    \
	X(EDF_LATE_YIELDS)   \
	X(DRF_REFRESH)       \
	X(DRF_BOUND)         \
	X(PARAM_RANGE)       \
	X(HINT_RANGE)

enum gp__guard {
	GP__GUARD_NONE,
#define GP__GUARD_ENUM(name) GP__GUARD_##name,
	GP__GUARDS(GP__GUARD_ENUM)
#undef GP__GUARD_ENUM
};

#ifndef GP__MUTANT
#define GP__MUTANT GP__GUARD_NONE
#endif

/* Linux has a macro of that name for its locks. Nothing here takes one. */
#undef guard
/* @cond as it is, or "the guard never applies" in the build that switches it off. */
#define guard(name, cond) (GP__MUTANT != GP__GUARD_##name && (cond))

#endif
