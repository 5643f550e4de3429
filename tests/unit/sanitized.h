/* SPDX-License-Identifier: MIT */
/* Whether the test is built with a sanitizer, whose runtime allows no preload before it. */
#ifndef GP__TESTS_UNIT_SANITIZED_H
#define GP__TESTS_UNIT_SANITIZED_H

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#endif
