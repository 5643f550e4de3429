// SPDX-License-Identifier: MIT
/* The version of the library, which may be newer than the header of a program. */
#include <gpreempt/gpreempt.h>

#define STR_(x) #x
#define STR(x) STR_(x)

const char *gp_version(void)
{
	return STR(GP_VERSION_MAJOR) "." STR(GP_VERSION_MINOR) "." STR(GP_VERSION_PATCH);
}
