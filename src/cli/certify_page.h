/* SPDX-License-Identifier: MIT */
#ifndef GP_CLI_CERTIFY_PAGE_H
#define GP_CLI_CERTIFY_PAGE_H

#include "cli/certify.h"

/* Writes the report's page; the stream has the error, if there is one. */
void certify_page_write(FILE *out, const struct certify *c);

#endif
