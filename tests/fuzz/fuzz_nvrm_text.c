// SPDX-License-Identifier: MIT
/* No text of NVIDIA's driver and no end of a submission may crash its reader. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/nvrm/done.h"
#include "device/nvrm/gpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct gp__nvrm_driver driver;
	struct gp__nvrm_end end = { 0 };
	struct gp__nvrm_gpu gpu;
	uint32_t words[GP__NVRM_END_WORDS] = { 0 };

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (gp__nvrm_gpu_parse(text, &gpu) && (gpu.minor < 0 || strncmp(gpu.uuid, "GPU-", 4)))
		abort();
	if (gp__nvrm_driver_parse(text, &driver) && !*driver.version)
		abort();
	memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
	if (gp__nvrm_end_parse(words, &end) && (!end.at || end.at % 4))
		abort();
	free(text);
	return 0;
}
