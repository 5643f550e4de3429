/* SPDX-License-Identifier: MIT */
/*
 * Looks into the root file system of a container before it starts. Its links are followed inside of
 * it, since the container's image made them.
 */
#ifndef GP__OCI_ROOTFS_H
#define GP__OCI_ROOTFS_H

#include <stdbool.h>

enum oci_libc {
	OCI_LIBC_UNKNOWN, /* there is none, or it cannot be found: programs may be static */
	OCI_LIBC_GNU,
	OCI_LIBC_MUSL,
};

/* A version of the symbols of GNU's C library, 2.@minor; 0: unknown. */
struct oci_glibc {
	unsigned int minor;
};

/* Finds the C library. @root: the folder. @glibc: what it has. */
enum oci_libc oci_rootfs_libc(const char *root, struct oci_glibc *glibc);
/* The highest version whose symbols a library needs, or has. */
struct oci_glibc oci_glibc_of(int fd);

#endif
