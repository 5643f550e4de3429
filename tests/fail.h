/* SPDX-License-Identifier: MIT */
/* Test programs without a framework: they print "FAILED: " and the reason, and exit with 1. */
#ifndef GP__TESTS_FAIL_H
#define GP__TESTS_FAIL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *fmt, ...)
{
	va_list args;

	fputs("FAILED: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* @err is -errno, or not negative. */
static inline void must(int err, const char *what)
{
	if (err < 0)
		fail("%s: %s", what, strerror(-err));
}

#endif
