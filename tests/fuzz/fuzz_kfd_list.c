// SPDX-License-Identifier: MIT
/*
 * No file of the driver and no program's environment may crash its reader. The first byte selects
 * the file.
 */
#include "device/kfd/list.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_dump(const char *text, size_t size, bool hqds)
{
	struct gp__kfd_mqds mqds;
	FILE *f = fmemopen((void *)text, size, "r");

	if (!f)
		return;
	if (hqds)
		gp__kfd_hqds_read(f, &mqds);
	else
		gp__kfd_mqds_read(f, &mqds);
	for (size_t i = 0; i < mqds.nr; i++) {
		if (mqds.mqd[i].priority > 15 || !hqds != !!mqds.mqd[i].pid)
			abort();
		gp__kfd_mqd_mapped(&mqds.mqd[i], &mqds);
	}
	gp__kfd_mqds_free(&mqds);
	fclose(f);
}

static void read_environ(const char *text, size_t size)
{
	struct gp__kfd_wishes w;

	gp__kfd_wishes_parse(text, size, &w);
	if (!memchr(w.tag, '\0', sizeof(w.tag)) || w.has_tag != !!w.tag[0])
		abort();
	for (const char *c = w.tag; *c; c++) {
		if (*c < ' ' || *c > '~')
			abort();
	}
}

static void read_number(const char *text, size_t size)
{
	uint64_t value, max = size ? (uint8_t)text[0] : 0;

	if (gp__kfd_number_parse(text, size, max, &value) && value > max)
		abort();
	gp__kfd_number_parse(text, size, UINT64_MAX, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size < 2)
		return 0;
	switch (*data % 4) {
	case 0:
		read_dump(text, size - 1, false);
		break;
	case 1:
		read_dump(text, size - 1, true);
		break;
	case 2:
		read_environ(text, size - 1);
		break;
	default:
		read_number(text, size - 1);
	}
	return 0;
}
