// SPDX-License-Identifier: MIT
/* No list of faults may crash its parser, and a refused one changes nothing and says why. */
#include "emu/kfd/fault.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct emu_faults none = { 0 };
	struct emu_faults faults = { 0 };
	char text[256], why[64] = "";

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (emu_faults_parse(text, &faults, why, sizeof(why)) &&
	    (memcmp(&faults, &none, sizeof(none)) || !*why || !memchr(why, '\0', sizeof(why))))
		abort();
	if (faults.preempt_timeout > 1000000 || faults.ioctl_eintr > 1000000)
		abort();
	return 0;
}
