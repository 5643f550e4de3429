// SPDX-License-Identifier: MIT
/* No bytes may crash the reader of code objects; an object that it accepts can be loaded and
 * searched. */
#include "base/object.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp__object o;
	void *copy = malloc(size + 1), *memory;
	uint64_t bytes, offset;

	memcpy(copy, data, size);
	if (gp__object_parse(&o, copy, size))
		return 0;
	bytes = gp__object_bytes(&o);
	if (bytes <= BYTES_MAX) {
		memory = calloc(1, bytes + 1);
		gp__object_load(&o, memory);
		free(memory);
	}
	gp__object_symbol(&o, "gate.kd", &offset);
	gp__object_machine(&o);
	gp__object_free(&o);
	return 0;
}
