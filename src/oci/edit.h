/* SPDX-License-Identifier: MIT */
/*
 * Edits the config.json of a container so that its programs join: the environment, the folder of
 * gpreempt's libraries and the folder of gpreemptd's socket.
 */
#ifndef GP__OCI_EDIT_H
#define GP__OCI_EDIT_H

#include <jansson.h>

#include "oci/node.h"

#define OCI_ANNOTATION_CLASS "gpreempt.dev/class"
#define OCI_ANNOTATION_TAG "gpreempt.dev/tag"
/* Where the two folders are in the container. */
#define OCI_LIBRARIES "/run/gpreempt-lib"
#define OCI_SOCKETS "/run/gpreempt-socket"

struct oci_plan {
	bool wishes; /* an annotation asks for a class */
	s32 wish;
	const char *tag; /* of an annotation, or NULL */
	const struct oci_rule *rule; /* of the node, or NULL */
	char unjoined[OCI_ERROR_MAX]; /* why the programs cannot join; "": they can */
	char cgroup[256]; /* of the container, as in /proc/PID/cgroup; "": not known */
};

/*
 * Reads what a container asks for, what the node grants, and whether its C library is one that
 * gpreempt's libraries work with. @bundle: the folder of config.json; @user: who runs the
 * container. 0, or -EINVAL with a sentence in @error.
 */
int oci_plan(struct oci_plan *p, const json_t *config, const struct oci_node *n, const char *bundle,
	     uid_t user, char error[OCI_ERROR_MAX]);
/* 0 or -ENOMEM. */
int oci_edit(json_t *config, const struct oci_plan *p, const struct oci_node *n);
/* The CDI specification that has the same edits, for `gpreempt cdi generate`. */
json_t *oci_cdi(const struct oci_node *n);

#endif
