/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A guard is a condition that a promise of the core depends on. scripts/mutation compiles the core
 * once for each name below with that guard switched off (GP__MUTANT=GP__GUARD_name) and expects a
 * test to fail.
 */
#ifndef GP__CORE_GUARD_H
#define GP__CORE_GUARD_H

#include "core/types.h"

#define GP__GUARDS(X)        \
	X(ONE_IN_FLIGHT)     \
	X(ACK_TIMEOUT)       \
	X(ACK_SPURIOUS)      \
	X(ACK_LATE)          \
	X(HOLD_TRIES)        \
	X(RELEASE_RETRY)     \
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
	X(SWITCH_COST)       \
	X(TOKEN_BOUND)       \
	X(LINGER)            \
	X(LINGER_ENDS)       \
	X(LINGER_LEARNED)    \
	X(LINGER_COST)       \
	X(WASTE_BUDGET)      \
	X(SEEN_LINGER)       \
	X(BURST_HELD)        \
	X(BURST_WAIT)        \
	X(DEFERRED)          \
	X(EXPECT_DOUBT)      \
	X(DOUBT_AHEAD)       \
	X(GIVEN_UP)          \
	X(EXPECT_ENDS)       \
	X(LEAD_UNKNOWN)      \
	X(LEAD_VARIES)       \
	X(EXPECT_MET)        \
	X(EXPECT_ONCE)       \
	X(OFF_WINS)          \
	X(OPERATOR_WINS)     \
	X(OBSERVED_RUNS)     \
	X(EXEMPT_RUNS)       \
	X(EXEMPT_FREE)       \
	X(GANG_TOGETHER)     \
	X(GANG_FITS_ALL)     \
	X(GANG_RATE)         \
	X(GANG_IDLE_FREE)    \
	X(GANG_WAITS)        \
	X(GANG_ALL_DUE)      \
	X(GANG_LATE_WORK)    \
	X(GANG_BOUND)        \
	X(REMOVE_UNLINKS)    \
	X(TIME_MONOTONE)     \
	X(REPORT_ONCE)       \
	X(VTIME_FLOOR)       \
	X(WAKE_UP)           \
	X(CREDIT_EARNED)     \
	X(TURN_GOES_ON)      \
	X(OWED_BOUND)        \
	X(OWED_CAP)          \
	X(DEFAULTS_BOUND)    \
	X(REWEIGH)           \
	X(WEIGH_RUNNING)     \
	X(PATIENT_ALONE)     \
	X(YIELDS)            \
	X(YIELDING_OWED)     \
	X(ANNOUNCED_KEPT)    \
	X(EDF_LATE_YIELDS)   \
	X(OWNER_SHARE)       \
	X(OWNER_FIRST)       \
	X(OWNER_GUARANTEES)  \
	X(OWNER_GRANTS)      \
	X(CLAIMS_BOUND)      \
	X(DRF_REFRESH)       \
	X(DRF_BOUND)         \
	X(PARAM_RANGE)       \
	X(POLICY_STATE)      \
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

/* Linux has a macro of that name for its locks; the core takes none. */
#undef guard
/* @cond, or false in the build that switches this guard off. */
#define guard(name, cond) (GP__MUTANT != GP__GUARD_##name && (cond))

#endif
