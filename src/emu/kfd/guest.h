/* SPDX-License-Identifier: MIT */
/*
 * Copies to and from programs' memory. Programs, waves and engines may race on the same bytes, as
 * on hardware: each may see any mixture, and the machine relies on nothing that it reads. The
 * thread sanitizer is told to ignore these races.
 */
#ifndef GP__EMU_KFD_GUEST_H
#define GP__EMU_KFD_GUEST_H

#include <string.h>

#if defined(__SANITIZE_THREAD__)
#define EMU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EMU_TSAN 1
#endif
#endif

#ifdef EMU_TSAN
/* From the sanitizer's runtime. */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/* The ranges may overlap. */
static inline void emu_guest_copy(void *to, const void *from, size_t bytes)
{
#ifdef EMU_TSAN
	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
	memmove(to, from, bytes);
#ifdef EMU_TSAN
	AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

#endif
