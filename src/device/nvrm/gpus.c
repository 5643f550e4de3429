// SPDX-License-Identifier: MIT
#include "device/nvrm/gpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 4096

static const char *next_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end ? end + 1 : NULL;
}

/* The rest of the line that begins with @key and a colon, without blanks around it. */
static bool get_line(const char *text, const char *key, char *value, size_t size)
{
	size_t len = strlen(key), n;

	for (; text; text = next_line(text)) {
		const char *at = text + len;

		if (strncmp(text, key, len) || *at != ':')
			continue;
		at += 1 + strspn(at + 1, " \t");
		n = strcspn(at, "\n");
		while (n && (at[n - 1] == ' ' || at[n - 1] == '\t'))
			n--;
		snprintf(value, size, "%.*s", (int)n, at);
		return true;
	}
	return false;
}

bool gp__nvrm_gpu_parse(const char *text, struct gp__nvrm_gpu *gpu)
{
	char minor[16], *end;

	memset(gpu, 0, sizeof(*gpu));
	if (!get_line(text, "GPU UUID", gpu->uuid, sizeof(gpu->uuid)) ||
	    strncmp(gpu->uuid, "GPU-", 4) || !get_line(text, "Device Minor", minor, sizeof(minor)))
		return false;
	gpu->minor = (int)strtol(minor, &end, 10);
	if (end == minor || *end || gpu->minor < 0)
		return false;
	get_line(text, "Model", gpu->name, sizeof(gpu->name));
	get_line(text, "GPU Firmware", gpu->firmware, sizeof(gpu->firmware));
	if (!strcmp(gpu->firmware, "N/A"))
		gpu->firmware[0] = '\0';
	return true;
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ...": the
 * first word that begins with a digit and has a dot. */
bool gp__nvrm_driver_parse(const char *text, struct gp__nvrm_driver *driver)
{
	char line[256], *rest = line, *word;

	memset(driver, 0, sizeof(*driver));
	if (!get_line(text, "NVRM version", line, sizeof(line)))
		return false;
	driver->open = strstr(line, "Open Kernel Module") != NULL;
	while ((word = strsep(&rest, " "))) {
		if (*word < '0' || *word > '9' || !strchr(word, '.') ||
		    strlen(word) >= sizeof(driver->version))
			continue;
		memcpy(driver->version, word, strlen(word) + 1);
		return true;
	}
	return false;
}

static bool read_text(const char *path, char text[TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int by_minor(const void *a, const void *b)
{
	return ((const struct gp__nvrm_gpu *)a)->minor - ((const struct gp__nvrm_gpu *)b)->minor;
}

int gp__nvrm_gpus(const char *proc, struct gp__nvrm_gpu *gpus, int max)
{
	char path[PATH_MAX], text[TEXT_MAX];
	const struct dirent *entry;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/gpus", proc);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ENODEV : -errno;
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (n < max && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/gpus/%s/information", proc, entry->d_name) >=
			    (int)sizeof(path))
			continue;
		if (read_text(path, text) && gp__nvrm_gpu_parse(text, &gpus[n]))
			n++;
	}
	closedir(dir);
	qsort(gpus, (size_t)n, sizeof(*gpus), by_minor);
	return n;
}

int gp__nvrm_driver(const char *proc, struct gp__nvrm_driver *driver)
{
	char path[PATH_MAX], text[TEXT_MAX];

	snprintf(path, sizeof(path), "%s/version", proc);
	return read_text(path, text) && gp__nvrm_driver_parse(text, driver) ? 0 : -ENODEV;
}

bool gp__nvrm_has_mps(char *folder, size_t size)
{
	const char *named = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[PATH_MAX];

	snprintf(folder, size, "%s", named && *named ? named : "/tmp/nvidia-mps");
	return snprintf(path, sizeof(path), "%s/control", folder) < (int)sizeof(path) &&
	       !access(path, F_OK);
}
