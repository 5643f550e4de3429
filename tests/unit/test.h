/* SPDX-License-Identifier: MIT */
/* The headers cmocka needs before its own, in the order it needs them. */
#ifndef GP_TEST_H
#define GP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
