/* SPDX-License-Identifier: MIT */
/*
 * The definitions behind ours: those of the next library in the program's search order, which may
 * be another preload. A function that the C library does not have is NULL, and no program can call
 * it.
 */
#ifndef GP__EMU_CLIENT_NEXT_H
#define GP__EMU_CLIENT_NEXT_H

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef int client_filter(const struct dirent *);
typedef int client_order(const struct dirent **, const struct dirent **);

#define CLIENT_NEXT(X)                                                                             \
	X(int, open, const char *, int, ...)                                                       \
	X(int, open64, const char *, int, ...)                                                     \
	X(int, __open_2, const char *, int)                                                        \
	X(int, __open64_2, const char *, int)                                                      \
	X(int, openat, int, const char *, int, ...)                                                \
	X(int, openat64, int, const char *, int, ...)                                              \
	X(int, __openat_2, int, const char *, int)                                                 \
	X(int, __openat64_2, int, const char *, int)                                               \
	X(FILE *, fopen, const char *, const char *)                                               \
	X(FILE *, fopen64, const char *, const char *)                                             \
	X(FILE *, popen, const char *, const char *)                                               \
	X(DIR *, opendir, const char *)                                                            \
	X(int, scandir, const char *, struct dirent ***, client_filter *, client_order *)          \
	X(int, scandir64, const char *, struct dirent ***, client_filter *, client_order *)        \
	X(int, scandirat, int, const char *, struct dirent ***, client_filter *, client_order *)   \
	X(int, scandirat64, int, const char *, struct dirent ***, client_filter *, client_order *) \
	X(int, stat, const char *, struct stat *)                                                  \
	X(int, stat64, const char *, struct stat *)                                                \
	X(int, lstat, const char *, struct stat *)                                                 \
	X(int, lstat64, const char *, struct stat *)                                               \
	X(int, fstat, int, struct stat *)                                                          \
	X(int, fstat64, int, struct stat *)                                                        \
	X(int, fstatat, int, const char *, struct stat *, int)                                     \
	X(int, fstatat64, int, const char *, struct stat *, int)                                   \
	X(int, __xstat, int, const char *, struct stat *)                                          \
	X(int, __xstat64, int, const char *, struct stat *)                                        \
	X(int, __lxstat, int, const char *, struct stat *)                                         \
	X(int, __lxstat64, int, const char *, struct stat *)                                       \
	X(int, __fxstat, int, int, struct stat *)                                                  \
	X(int, __fxstat64, int, int, struct stat *)                                                \
	X(int, __fxstatat, int, int, const char *, struct stat *, int)                             \
	X(int, __fxstatat64, int, int, const char *, struct stat *, int)                           \
	X(int, statx, int, const char *, int, unsigned int, struct statx *)                        \
	X(int, access, const char *, int)                                                          \
	X(int, faccessat, int, const char *, int, int)                                             \
	X(int, eaccess, const char *, int)                                                         \
	X(int, euidaccess, const char *, int)                                                      \
	X(ssize_t, readlink, const char *, char *, size_t)                                         \
	X(ssize_t, __readlink_chk, const char *, char *, size_t, size_t)                           \
	X(ssize_t, readlinkat, int, const char *, char *, size_t)                                  \
	X(ssize_t, __readlinkat_chk, int, const char *, char *, size_t, size_t)                    \
	X(char *, realpath, const char *, char *)                                                  \
	X(char *, __realpath_chk, const char *, char *, size_t)                                    \
	X(char *, canonicalize_file_name, const char *)                                            \
	X(ssize_t, getxattr, const char *, const char *, void *, size_t)                           \
	X(ssize_t, lgetxattr, const char *, const char *, void *, size_t)                          \
	X(ssize_t, listxattr, const char *, char *, size_t)                                        \
	X(ssize_t, llistxattr, const char *, char *, size_t)                                       \
	X(int, chdir, const char *)                                                                \
	X(char *, getcwd, char *, size_t)                                                          \
	X(int, ioctl, int, unsigned long, ...)                                                     \
	X(void *, mmap, void *, size_t, int, int, int, off_t)                                      \
	X(void *, mmap64, void *, size_t, int, int, int, off_t)                                    \
	X(int, madvise, void *, size_t, int)                                                       \
	X(pid_t, fork, void)

struct client_next {
#define CLIENT_NEXT_FIELD(result, name, ...) result (*name)(__VA_ARGS__);
	CLIENT_NEXT(CLIENT_NEXT_FIELD)
#undef CLIENT_NEXT_FIELD
};

extern struct client_next client_next;

/* Looks all of them up; before that, only those below may be used. */
void client_next_find(void);

#endif
