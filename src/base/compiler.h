/* SPDX-License-Identifier: MIT */
/* Attributes of gcc and clang. */
#ifndef GP_BASE_COMPILER_H
#define GP_BASE_COMPILER_H

/* Which argument is the format, and which the first that it describes. */
#define GP__PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))

#endif
