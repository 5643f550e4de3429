/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of the core's promises. Each test file is about one promise, and each test
 * about one behaviour. stage.h is the vocabulary: actors work and rest, after() lets time pass, and
 * runs() and stopped() tell what their agents did.
 */
#ifndef GP__TESTS_RULES_H
#define GP__TESTS_RULES_H

#include "../unit/test.h"

#include "stage.h"

#define OFFLINE .prio = GP__PRIO_OFFLINE
#define NORMAL .prio = GP__PRIO_NORMAL
#define ONLINE .prio = GP__PRIO_ONLINE

#define NO_AGEING ((const u64[]){ 0, 1, 100 })

#define assert_why(a, r, who)                                                         \
	do {                                                                          \
		assert_string_equal(gp__rule_name((enum gp__rule)(a)->last.why.rule), \
				    gp__rule_name(r));                                \
		assert_int_equal((a)->last.why.by, who);                              \
	} while (0)

#define T(name) cmocka_unit_test(test_##name)

/* Strict priority without ageing: guarantees and limits are tested against it. */
void begin_strict(void);
bool near(u64 got, u64 want, u64 tolerance);

#endif
