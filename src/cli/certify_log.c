// SPDX-License-Identifier: MIT
/* Reads what the kernel logs of AMD GPUs while something runs on them. */
#include "cli/certify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define RECORD_MAX 8192

int certify_log_open(char *why, size_t size)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	*why = '\0';
	if (fd < 0) {
		snprintf(why, size,
			 "the kernel's log cannot be read (%s): run certify as root, or set "
			 "kernel.dmesg_restrict=0",
			 strerror(errno));
		return -1;
	}
	lseek(fd, 0, SEEK_END);
	return fd;
}

bool certify_log_is_bad(const char *line)
{
	static const char *const drivers[] = { "amdgpu", "kfd" };
	static const char *const words[] = {
		"reset",   "hang ",	"hung",	     "page fault", "protection_fault",
		"timeout", "timed out", "kernel BUG"
	};
	bool ours = false;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		ours = ours || strstr(line, drivers[i]);
	for (size_t i = 0; ours && i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasestr(line, words[i]))
			return true;
	}
	return false;
}

/* A read returns one record: "priority,number,time,flags;text". */
json_t *certify_log_read(int fd)
{
	char record[RECORD_MAX];
	json_t *text = json_array();
	ssize_t n;

	/* EPIPE: records were overwritten before they were read. */
	while ((n = read(fd, record, sizeof(record) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		const char *line;

		if (n < 0)
			continue;
		record[n] = '\0';
		record[strcspn(record, "\n")] = '\0';
		line = strchr(record, ';');
		if (line && certify_log_is_bad(line + 1))
			json_array_append_new(text, gp__json_text(line + 1));
	}
	return json_pack("{s:i, s:o}", "lines", (int)json_array_size(text), "text", text);
}
