// SPDX-License-Identifier: MIT
#include "oci/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "oci/rootfs.h"

#define JOIN_LIBRARY "libgpreempt-join.so"
#define OPENCL_LIBRARY "libgpreempt-opencl.so"

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/*
 * Reading
 */

/* The name that the container's engine has put there: no annotation of a pod replaces it. */
static const char *namespace_of(const json_t *annotations)
{
	const char *containerd = text_of(annotations, "io.kubernetes.cri.sandbox-namespace");

	return containerd ? containerd : text_of(annotations, "io.kubernetes.pod.namespace");
}

/*
 * The path of "/a/b" is itself; that of systemd's "a-b.slice:prefix:name" is in the slice. Another
 * form depends on the runtime.
 */
static void find_cgroup(struct oci_plan *p, const json_t *config)
{
	const char *path = text_of(json_object_get(config, "linux"), "cgroupsPath"), *end, *name;
	char slice[sizeof(p->cgroup)] = "";
	size_t n = 0;

	*p->cgroup = '\0';
	if (!path || strlen(path) >= sizeof(p->cgroup))
		return;
	if (*path == '/') {
		strcpy(p->cgroup, path);
		return;
	}
	end = strchr(path, ':');
	name = end ? strchr(end + 1, ':') : NULL;
	if (!name || end - path < 7 || strncmp(end - 6, ".slice", 6) != 0)
		return;
	for (const char *at = path; at < end - 6 && n < sizeof(slice); at++) {
		if (*at == '-')
			n += (size_t)snprintf(slice + n, sizeof(slice) - n, "/%.*s.slice",
					      (int)(at - path), path);
	}
	if (n < sizeof(slice))
		n += (size_t)snprintf(slice + n, sizeof(slice) - n, "/%.*s", (int)(end - path),
				      path);
	if (n < sizeof(slice) && snprintf(p->cgroup, sizeof(p->cgroup), "%s/%.*s%s%s.scope", slice,
					  (int)(name - end - 1), end + 1, name - end > 1 ? "-" : "",
					  name + 1) >= (int)sizeof(p->cgroup))
		*p->cgroup = '\0';
}

static struct oci_glibc needed_glibc(const struct oci_node *n)
{
	char path[PATH_MAX + sizeof(JOIN_LIBRARY) + 1];
	struct oci_glibc needs = { 0 };
	int fd;

	snprintf(path, sizeof(path), "%s/" JOIN_LIBRARY, n->libraries);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		needs = oci_glibc_of(fd);
	if (fd >= 0)
		close(fd);
	return needs;
}

static void check_library(struct oci_plan *p, const json_t *config, const struct oci_node *n,
			  const char *bundle)
{
	const char *root = text_of(json_object_get(config, "root"), "path");
	struct oci_glibc needs = needed_glibc(n), has;
	char path[2 * PATH_MAX];

	if (!needs.minor) {
		snprintf(p->unjoined, sizeof(p->unjoined),
			 "there is no " JOIN_LIBRARY
			 " in %.200s; set libraries in oci.conf, or install gpreempt",
			 n->libraries);
		return;
	}
	snprintf(path, sizeof(path), "%s%s%s", root && *root == '/' ? "" : bundle,
		 root && *root == '/' ? "" : "/", root ? root : "rootfs");
	switch (oci_rootfs_libc(path, &has)) {
	case OCI_LIBC_MUSL:
		snprintf(p->unjoined, sizeof(p->unjoined),
			 "its C library is musl, and gpreempt's libraries need glibc 2.%u; use an "
			 "image with glibc, such as Debian's",
			 needs.minor);
		break;
	case OCI_LIBC_UNKNOWN:
		snprintf(p->unjoined, sizeof(p->unjoined),
			 "its image has no C library that gpreempt knows; use one with glibc 2.%u",
			 needs.minor);
		break;
	case OCI_LIBC_GNU:
		if (has.minor && has.minor < needs.minor)
			snprintf(p->unjoined, sizeof(p->unjoined),
				 "its image has glibc 2.%u, and gpreempt's libraries need 2.%u; "
				 "use a newer image, or build gpreempt's libraries on an older "
				 "system",
				 has.minor, needs.minor);
		break;
	}
}

int oci_plan(struct oci_plan *p, const json_t *config, const struct oci_node *n, const char *bundle,
	     uid_t user, char error[OCI_ERROR_MAX])
{
	const json_t *annotations = json_object_get(config, "annotations");
	const char *class = text_of(annotations, OCI_ANNOTATION_CLASS);

	memset(p, 0, sizeof(*p));
	p->tag = text_of(annotations, OCI_ANNOTATION_TAG);
	p->rule = oci_node_rule(n, namespace_of(annotations), user);
	if (class && !oci_class(class, &p->wish)) {
		snprintf(error, OCI_ERROR_MAX,
			 "annotation " OCI_ANNOTATION_CLASS
			 ": '%.100s' is none of online, normal and offline, nor a whole number",
			 class);
		return -EINVAL;
	}
	p->wishes = class;
	find_cgroup(p, config);
	check_library(p, config, n, bundle);
	return 0;
}

/*
 * Editing
 */

static json_t *get_list(json_t *o, const char *key)
{
	json_t *list = json_object_get(o, key);

	if (json_is_array(list))
		return list;
	json_object_set_new(o, key, json_array());
	return json_object_get(o, key);
}

/* The place of a variable. Its number if there is one, else that of variables. */
static size_t find_variable(const json_t *env, const char *name)
{
	size_t n = strlen(name), i;
	json_t *value;

	json_array_foreach ((json_t *)env, i, value) {
		const char *text = json_string_value(value);

		if (text && !strncmp(text, name, n) && text[n] == '=')
			return i;
	}
	return i;
}

/* @separator: before what was there; NULL: that is replaced. */
static int set_variable(json_t *env, const char *name, const char *value, const char *separator)
{
	size_t i = find_variable(env, name);
	const char *old = json_string_value(json_array_get(env, i));
	json_t *text;

	old = old && separator ? old + strlen(name) + 1 : NULL;
	text = json_sprintf("%s=%s%s%s", name, value, old && *old ? separator : "", old ? old : "");
	if (i == json_array_size(env))
		return json_array_append_new(env, text) ? -ENOMEM : 0;
	return json_array_set_new(env, i, text) ? -ENOMEM : 0;
}

static int add_mount(json_t *mounts, const char *from, const char *to)
{
	json_t *mount =
		json_pack("{s:s, s:s, s:s, s:[s, s, s, s]}", "destination", to, "type", "bind",
			  "source", from, "options", "rbind", "ro", "nosuid", "nodev");

	return json_array_append_new(mounts, mount) ? -ENOMEM : 0;
}

/* The folder, since a gpreemptd that is started again makes another socket there. */
static void socket_folder(const struct oci_node *n, char folder[PATH_MAX])
{
	snprintf(folder, PATH_MAX, "%s", n->socket);
	*strrchr(folder, '/') = '\0';
}

static const char *socket_name(const struct oci_node *n)
{
	return strrchr(n->socket, '/') + 1;
}

static int set_wish(json_t *env, const struct oci_plan *p)
{
	char number[16];
	int err = 0;

	if (p->wishes) {
		snprintf(number, sizeof(number), "%d", p->wish);
		err = set_variable(env, "GPREEMPT_PRIORITY", number, NULL);
	} else if (find_variable(env, "GPREEMPT_PRIORITY") == json_array_size(env)) {
		err = set_variable(env, "GPREEMPT_PRIORITY", "default", NULL);
	}
	return !err && p->tag ? set_variable(env, "GPREEMPT_TAG", p->tag, NULL) : err;
}

int oci_edit(json_t *config, const struct oci_plan *p, const struct oci_node *n)
{
	json_t *process = json_object_get(config, "process"), *env;
	char folder[PATH_MAX], socket[PATH_MAX];

	if (*p->unjoined || !process)
		return 0;
	env = get_list(process, "env");
	socket_folder(n, folder);
	snprintf(socket, sizeof(socket), OCI_SOCKETS "/%.4000s", socket_name(n));
	if (set_wish(env, p) || set_variable(env, "GPREEMPT_SOCKET", socket, NULL) ||
	    set_variable(env, "LD_PRELOAD", OCI_LIBRARIES "/" JOIN_LIBRARY, ":") ||
	    set_variable(env, "HSA_TOOLS_LIB", OCI_LIBRARIES "/" JOIN_LIBRARY, " ") ||
	    set_variable(env, "OPENCL_LAYERS", OCI_LIBRARIES "/" OPENCL_LIBRARY, ":") ||
	    add_mount(get_list(config, "mounts"), n->libraries, OCI_LIBRARIES) ||
	    add_mount(get_list(config, "mounts"), folder, OCI_SOCKETS))
		return -ENOMEM;
	return 0;
}

/*
 * CDI
 */

static json_t *cdi_mount(const char *from, const char *to)
{
	return json_pack("{s:s, s:s, s:[s, s, s, s]}", "hostPath", from, "containerPath", to,
			 "options", "rbind", "ro", "nosuid", "nodev");
}

json_t *oci_cdi(const struct oci_node *n)
{
	static const struct {
		const char *name, *priority;
	} classes[] = {
		{ "online", "15" }, { "normal", "7" }, { "offline", "2" }, { "default", "default" }
	};
	json_t *devices = json_array();
	char folder[PATH_MAX];

	socket_folder(n, folder);
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		json_array_append_new(devices, json_pack("{s:s, s:{s:[o]}}", "name",
							 classes[i].name, "containerEdits", "env",
							 json_sprintf("GPREEMPT_PRIORITY=%s",
								      classes[i].priority)));
	return json_pack("{s:s, s:s, s:o, s:{s:[s, s, s, o], s:[o, o]}}", "cdiVersion", "0.5.0",
			 "kind", "gpreempt.dev/class", "devices", devices, "containerEdits", "env",
			 "LD_PRELOAD=" OCI_LIBRARIES "/" JOIN_LIBRARY,
			 "HSA_TOOLS_LIB=" OCI_LIBRARIES "/" JOIN_LIBRARY,
			 "OPENCL_LAYERS=" OCI_LIBRARIES "/" OPENCL_LIBRARY,
			 json_sprintf("GPREEMPT_SOCKET=" OCI_SOCKETS "/%s", socket_name(n)),
			 "mounts", cdi_mount(n->libraries, OCI_LIBRARIES),
			 cdi_mount(folder, OCI_SOCKETS));
}
