// SPDX-License-Identifier: MIT
#include "daemon/devices.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/emulated.h"

#define TEXT_MAX 8192
#define NODES_MAX 256
#define BANKS_MAX 16
#define HEAP_PUBLIC 1
#define HEAP_PRIVATE 2

/*
 * Device files
 */

static void add_file(struct gp__devices *d, const char *path)
{
	const char *file = strrchr(path, '/') + 1;
	struct stat st;

	if (d->nr == GP__DEVICES_MAX || strlen(file) >= GP__DEVICE_FILE_MAX || stat(path, &st) ||
	    !S_ISCHR(st.st_mode))
		return;
	for (u32 i = 0; i < d->nr; i++) {
		if (d->device[i].number == st.st_rdev)
			return;
	}
	d->device[d->nr] = (struct gp__device){ .number = st.st_rdev };
	strcpy(d->device[d->nr++].file, file);
}

static void find_files(struct gp__devices *d, const char *pattern)
{
	glob_t found;

	if (*pattern != '/' || glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		add_file(d, found.gl_pathv[i]);
	globfree(&found);
}

static struct gp__device *by_number(struct gp__devices *d, unsigned int major, unsigned int minor)
{
	for (u32 i = 0; i < d->nr; i++) {
		if (d->device[i].number == makedev(major, minor))
			return &d->device[i];
	}
	return NULL;
}

/*
 * Texts
 */

static bool read_text(const char *path, char text[TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Copies the rest of the line that begins with @key and @separator. */
static bool get_line(const char *text, const char *key, char separator, char *value, size_t size)
{
	size_t len = strlen(key), n;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) || line[len] != separator)
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		n = strcspn(line, "\n");
		while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
			n--;
		return snprintf(value, size, "%.*s", (int)n, line) < (int)size;
	}
	return false;
}

static u64 get_number(const char *text, const char *key, char separator)
{
	char value[32];

	return get_line(text, key, separator, value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

/*
 * AMD
 */

/* An emulated machine has the device files only for functions that open a path. */
static struct gp__device *add_emulated(struct gp__devices *d, unsigned int minor)
{
	struct gp__device *device = &d->device[d->nr];

	if (d->nr == GP__DEVICES_MAX)
		return NULL;
	*device = (struct gp__device){ .number = makedev(GP__MAJOR_DRM, minor) };
	snprintf(device->file, sizeof(device->file), "renderD%u", minor);
	d->nr++;
	return device;
}

/* Adds up the banks that are on the GPU itself. */
static u64 read_memory(const char *node, char text[TEXT_MAX])
{
	char path[PATH_MAX];
	u64 sum = 0;

	for (int bank = 0; bank < BANKS_MAX; bank++) {
		u64 heap;

		snprintf(path, sizeof(path), "%s/mem_banks/%d/properties", node, bank);
		if (!read_text(path, text))
			break;
		heap = get_number(text, "heap_type", ' ');
		if (heap == HEAP_PUBLIC || heap == HEAP_PRIVATE)
			sum += get_number(text, "size_in_bytes", ' ');
	}
	return sum;
}

/* Describes the GPU of a node of amdkfd's topology. False: there is no such node. */
static bool describe_node(struct gp__devices *d, const char *node, u32 order, char text[TEXT_MAX])
{
	char path[PATH_MAX];
	struct gp__device *device;
	u64 gpu_id, unique_id;

	snprintf(path, sizeof(path), "%s/gpu_id", node);
	if (!read_text(path, text))
		return false;
	gpu_id = strtoull(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/properties", node);
	if (!gpu_id || !read_text(path, text)) /* a processor has no gpu_id */
		return true;
	device = by_number(d, GP__MAJOR_DRM,
			   (unsigned int)get_number(text, "drm_render_minor", ' '));
	if (!device && gp__is_emulated())
		device = add_emulated(d, (unsigned int)get_number(text, "drm_render_minor", ' '));
	if (!device)
		return true;
	unique_id = get_number(text, "unique_id", ' ');
	if (unique_id)
		snprintf(device->key, sizeof(device->key), "amd-%016llx",
			 (unsigned long long)unique_id);
	else
		snprintf(device->key, sizeof(device->key), "amd-%llu", (unsigned long long)gpu_id);
	device->weighing = GP__WEIGHS_NOT;
	snprintf(path, sizeof(path), "%s/name", node);
	if (read_text(path, text)) {
		text[strcspn(text, "\n")] = '\0';
		gp__wire_text(device->name, sizeof(device->name), text);
	}
	device->memory = read_memory(node, text);
	device->kfd_id = (u32)gpu_id;
	device->order = order;
	return true;
}

static void describe_amd(struct gp__devices *d, const char *root, char text[TEXT_MAX])
{
	char node[PATH_MAX / 2];

	for (int i = 0; i < NODES_MAX; i++) {
		snprintf(node, sizeof(node), "%s/sys/class/kfd/kfd/topology/nodes/%d", root, i);
		if (!describe_node(d, node, (u32)i, text))
			return;
	}
}

/*
 * NVIDIA
 */

/* Agents name the GPU by its UUID without hyphens. */
static void describe_information(struct gp__devices *d, const char *text)
{
	char uuid[64], minor_text[16];
	struct gp__device *device;
	size_t n;

	if (!get_line(text, "GPU UUID", ':', uuid, sizeof(uuid)) || strncmp(uuid, "GPU-", 4) ||
	    !get_line(text, "Device Minor", ':', minor_text, sizeof(minor_text)))
		return;
	device = by_number(d, GP__MAJOR_NVIDIA, (unsigned int)strtoul(minor_text, NULL, 10));
	if (!device)
		return;
	n = (size_t)snprintf(device->key, sizeof(device->key), "nvidia-");
	for (const char *c = uuid + 4; *c && n < sizeof(device->key) - 1; c++) {
		if (*c != '-')
			device->key[n++] = *c;
	}
	device->key[n] = '\0';
	device->weighing = GP__WEIGHS_YIELDING;
	device->order = (u32)minor(device->number);
	if (get_line(text, "Model", ':', uuid, sizeof(uuid)))
		gp__wire_text(device->name, sizeof(device->name), uuid);
}

static void describe_nvidia(struct gp__devices *d, const char *root, char text[TEXT_MAX])
{
	char path[PATH_MAX];
	const struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
	folder = opendir(path);
	/* cppcheck-suppress readdirCalled; the stream is this call's own */
	while (folder && (entry = readdir(folder))) {
		snprintf(path, sizeof(path), "%.2000s/proc/driver/nvidia/gpus/%s/information", root,
			 entry->d_name);
		if (entry->d_name[0] != '.' && read_text(path, text))
			describe_information(d, text);
	}
	if (folder)
		closedir(folder);
}

/*
 * All
 */

static size_t size_of(u32 nr)
{
	return sizeof(struct gp__devices) + nr * sizeof(struct gp__device);
}

struct gp__devices *gp__devices_find(const char *patterns, const char *root)
{
	struct gp__devices *d = calloc(1, size_of(GP__DEVICES_MAX));
	char *words = strdup(patterns), *rest = words, *word;
	char *text = malloc(TEXT_MAX);

	if (!d || !words || !text) {
		free(d);
		d = NULL;
		goto out;
	}
	while ((word = strsep(&rest, " \t")))
		find_files(d, word);
	describe_amd(d, root, text);
	describe_nvidia(d, root, text);
out:
	free(words);
	free(text);
	return d;
}

static void measure(struct gp__device *device, pid_t pid, const char *root)
{
	char path[PATH_MAX], text[TEXT_MAX], *end;

	snprintf(path, sizeof(path), "%.2000s/sys/class/kfd/kfd/proc/%d/vram_%u", root, (int)pid,
		 device->kfd_id);
	if (!device->is_open || !device->kfd_id || !read_text(path, text))
		return;
	device->used = strtoull(text, &end, 10);
	device->is_used_known = end != text;
}

void gp__devices_measure(struct gp__devices *d, pid_t pid, const char *root)
{
	for (u32 i = 0; i < d->nr; i++)
		measure(&d->device[i], pid, root);
}

struct gp__devices *gp__devices_copy(const struct gp__devices *d)
{
	struct gp__devices *copy = malloc(size_of(d->nr));

	if (copy)
		memcpy(copy, d, size_of(d->nr));
	return copy;
}

const struct gp__device *gp__devices_by_key(const struct gp__devices *d, const char *key)
{
	for (u32 i = 0; d && *key && i < d->nr; i++) {
		if (!strcmp(d->device[i].key, key))
			return &d->device[i];
	}
	return NULL;
}

static bool is_before(const struct gp__device *a, const struct gp__device *b)
{
	bool nvidia_a = major(a->number) == GP__MAJOR_NVIDIA;
	bool nvidia_b = major(b->number) == GP__MAJOR_NVIDIA;

	return nvidia_a == nvidia_b ? a->order < b->order : nvidia_b;
}

static u32 place_of(const struct gp__devices *d, const struct gp__device *device)
{
	u32 place = 0;

	for (u32 i = 0; i < d->nr; i++)
		place += *d->device[i].key && is_before(&d->device[i], device);
	return place;
}

int gp__devices_place(const struct gp__devices *d, const char *key)
{
	const struct gp__device *device = gp__devices_by_key(d, key);

	return device ? (int)place_of(d, device) : -1;
}

const struct gp__device *gp__devices_at(const struct gp__devices *d, u32 place)
{
	for (u32 i = 0; d && i < d->nr; i++) {
		if (*d->device[i].key && place_of(d, &d->device[i]) == place)
			return &d->device[i];
	}
	return NULL;
}

u32 gp__devices_nr_known(const struct gp__devices *d)
{
	u32 nr = 0;

	for (u32 i = 0; d && i < d->nr; i++)
		nr += *d->device[i].key != '\0';
	return nr;
}

bool gp__devices_any_open(const struct gp__devices *d)
{
	for (u32 i = 0; d && i < d->nr; i++) {
		if (d->device[i].is_open)
			return true;
	}
	return false;
}

static bool is_open(const struct gp__devices *d, dev_t number)
{
	for (u32 i = 0; i < d->nr; i++) {
		if (d->device[i].number == number)
			return d->device[i].is_open;
	}
	return false;
}

bool gp__devices_any_closed(const struct gp__devices *before, const struct gp__devices *now)
{
	for (u32 i = 0; before && i < before->nr; i++) {
		if (before->device[i].is_open && !is_open(now, before->device[i].number))
			return true;
	}
	return false;
}
