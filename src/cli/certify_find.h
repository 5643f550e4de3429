/* SPDX-License-Identifier: MIT */
/* Finds members of JSON documents by paths such as "gpus.0.name". */
#ifndef GP_CLI_CERTIFY_FIND_H
#define GP_CLI_CERTIFY_FIND_H

#include <jansson.h>

/* NULL: there is none. */
json_t *certify_member(const json_t *at, const char *path);
/* The last object of an array whose members are as in @where, "a=b,c=d"; NULL: any. */
json_t *certify_find_row(const json_t *list, const char *where);

#endif
