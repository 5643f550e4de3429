/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the node, oci.conf: which runtime is beneath, and which class a container
 * may have. It decides, whatever the annotations of the container say; those are only wishes.
 */
#ifndef GP__OCI_NODE_H
#define GP__OCI_NODE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/types.h"

#define OCI_RULES_MAX 256

enum oci_rule_kind { OCI_RULE_DEFAULT, OCI_RULE_NAMESPACE, OCI_RULE_USER };

struct oci_rule {
	enum oci_rule_kind kind;
	char name[254]; /* of the namespace */
	uid_t uid;
	bool has_class, has_max;
	s32 class, max;
};

struct oci_node {
	char runtime[PATH_MAX]; /* "": the first of runc and crun that there is */
	char libraries[PATH_MAX]; /* the folder with gpreempt's libraries */
	char socket[PATH_MAX]; /* of gpreemptd */
	struct oci_rule rule[OCI_RULES_MAX];
	u32 nr_rules;
};

#define OCI_ERROR_MAX 512

/* A missing file is no error. 0, or -errno and a sentence in @error. */
int oci_node_read(struct oci_node *n, const char *path, const char *libraries,
		  char error[OCI_ERROR_MAX]);
/* The rule for a container: of its namespace, else of the user, else the default. NULL: none. */
const struct oci_rule *oci_node_rule(const struct oci_node *n, const char *namespace, uid_t uid);
/* Reads a class or a priority. */
bool oci_class(const char *text, s32 *prio);

#endif
