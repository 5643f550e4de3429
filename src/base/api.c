// SPDX-License-Identifier: MIT
#include "base/api.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* No struct of ours will ever be larger; a size beyond it is an accident. */
#define STRUCT_MAX 4096

static int size_read(const void *p, size_t *size)
{
	memcpy(size, p, sizeof(*size));
	return *size < sizeof(*size) || *size > STRUCT_MAX ? -EINVAL : 0;
}

int gp__struct_in(void *dst, size_t dst_size, const void *src)
{
	const unsigned char *bytes = src;
	size_t size, i;

	if (size_read(src, &size))
		return -EINVAL;
	for (i = dst_size; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(dst, 0, dst_size);
	memcpy(dst, src, size < dst_size ? size : dst_size);
	return 0;
}

int gp__struct_out(void *dst, const void *src, size_t src_size)
{
	size_t size, n;

	if (size_read(dst, &size))
		return -EINVAL;
	n = size < src_size ? size : src_size;
	memcpy((char *)dst + sizeof(size), (const char *)src + sizeof(size), n - sizeof(size));
	memset((char *)dst + n, 0, size - n);
	return 0;
}

int gp__fail(struct gp_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return code;
}
