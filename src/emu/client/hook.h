/* SPDX-License-Identifier: MIT */
/*
 * How a function of the C library is taken over: ours has a name of its own in C, so that no
 * header's idea of the same function (fortified, for large files) is in the way.
 */
#ifndef GP__EMU_CLIENT_HOOK_H
#define GP__EMU_CLIENT_HOOK_H

#define HOOK(result, name, ...)                                                                \
	__attribute__((visibility("default"))) result hook_##name(__VA_ARGS__) __asm__(#name); \
	result hook_##name(__VA_ARGS__)

/* A result of the kernel's kind as the C library gives it. */
#define HOOK_RESULT(type, result)                               \
	({                                                      \
		long result_ = (result);                        \
                                                                \
		if (raw_failed(result_))                        \
			errno = (int)-result_;                  \
		raw_failed(result_) ? (type)-1 : (type)result_; \
	})

#endif
