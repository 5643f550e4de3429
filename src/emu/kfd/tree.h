/* SPDX-License-Identifier: MIT */
/* Folders and small files, for a tree that is written once and removed as a whole. */
#ifndef GP__EMU_KFD_TREE_H
#define GP__EMU_KFD_TREE_H

#include "base/compiler.h"

/* All of these take a path under the folder @dir; 0 or -errno. */
int emu_tree_folder(const char *dir, const char *path);
/*
 * Makes the folders above it as well, and replaces the text of an existing file. The file is
 * read-only, as most of sysfs; emu_tree_mode() changes that.
 */
GP__PRINTF(3, 4)
int emu_tree_file(const char *dir, const char *path, const char *fmt, ...);
int emu_tree_mode(const char *dir, const char *path, unsigned int mode);
int emu_tree_link(const char *dir, const char *path, const char *to);
/* Removes it with everything below; it need not exist. "": @dir itself. */
int emu_tree_remove(const char *dir, const char *path);

#endif
