// SPDX-License-Identifier: MIT
#include "oci/rootfs.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VERSION "GLIBC_2."

static int open_in(int root, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static unsigned int highest_minor(const char *text, size_t size)
{
	const char *end = text + size, *at = text;
	unsigned int most = 0;

	while ((at = memmem(at, (size_t)(end - at), VERSION, sizeof(VERSION) - 1))) {
		unsigned int n = 0;

		at += sizeof(VERSION) - 1;
		for (; at < end && *at >= '0' && *at <= '9' && n < 1000; at++)
			n = n * 10 + (unsigned int)(*at - '0');
		/* "GLIBC_2.2.5" counts as 2.2. */
		most = n > most && n < 1000 ? n : most;
	}
	return most;
}

struct oci_glibc oci_glibc_of(int fd)
{
	struct oci_glibc found = { 0 };
	struct stat st;
	char *text;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return found;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return found;
	found.minor = highest_minor(text, (size_t)st.st_size);
	munmap(text, (size_t)st.st_size);
	return found;
}

static bool find_glibc(int root, struct oci_glibc *glibc)
{
	static const char *const places[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/libc.so.6",
		"/usr/lib64/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6",
		"/usr/lib/aarch64-linux-gnu/libc.so.6",
		"/lib/libc.so.6",
		"/usr/lib/libc.so.6",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd = open_in(root, places[i]);

		if (fd < 0)
			continue;
		*glibc = oci_glibc_of(fd);
		close(fd);
		return true;
	}
	return false;
}

static bool has_musl(int root)
{
	static const char *const places[] = { "/lib/ld-musl-x86_64.so.1",
					      "/lib/ld-musl-aarch64.so.1" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int fd = open_in(root, places[i]);

		if (fd >= 0)
			close(fd);
		if (fd >= 0)
			return true;
	}
	return false;
}

enum oci_libc oci_rootfs_libc(const char *root, struct oci_glibc *glibc)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum oci_libc found = OCI_LIBC_UNKNOWN;

	*glibc = (struct oci_glibc){ 0 };
	if (fd < 0)
		return found;
	if (find_glibc(fd, glibc))
		found = OCI_LIBC_GNU;
	else if (has_musl(fd))
		found = OCI_LIBC_MUSL;
	close(fd);
	return found;
}
