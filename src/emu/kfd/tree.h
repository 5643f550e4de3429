/* SPDX-License-Identifier: MIT */
/* Folders and small files, for a tree that is written once and removed as a whole. */
#ifndef GP__EMU_KFD_TREE_H
#define GP__EMU_KFD_TREE_H

#include "base/compiler.h"

/* All of these take a path under the folder @dir; 0 or -errno. */
int emu_tree_folder(const char *dir, const char *path);
/*
 * Makes the folders above it as well; of a file that is there, the text is another now. It is one
 * to read, as most of sysfs; emu_tree_mode() makes it another.
 */
GP__PRINTF(3, 4)
int emu_tree_file(const char *dir, const char *path, const char *fmt, ...);
int emu_tree_mode(const char *dir, const char *path, unsigned int mode);
int emu_tree_link(const char *dir, const char *path, const char *to);
/* Everything below it, and the folder; what is not there need not be removed. "": @dir itself. */
int emu_tree_remove(const char *dir, const char *path);

#endif
