/* SPDX-License-Identifier: MIT */
/*
 * Overrides functions of the C library: ours have other names in C, so that no declaration of the
 * same function (fortified, for large files) conflicts.
 */
#ifndef GP__EMU_CLIENT_HOOK_H
#define GP__EMU_CLIENT_HOOK_H

#define HOOK(result, name, ...)                                                                \
	__attribute__((visibility("default"))) result hook_##name(__VA_ARGS__) __asm__(#name); \
	result hook_##name(__VA_ARGS__)

/* Converts a result of the kernel's kind to that of the C library. */
#define HOOK_RESULT(type, result)                               \
	({                                                      \
		long result_ = (result);                        \
                                                                \
		if (raw_failed(result_))                        \
			errno = (int)-result_;                  \
		raw_failed(result_) ? (type)-1 : (type)result_; \
	})

#endif
