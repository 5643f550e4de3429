// SPDX-License-Identifier: MIT
#include "oci/node.h"

#include <errno.h>
#include <ini.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/core.h"

struct reading {
	struct oci_node *node;
	const char *path;
	char *error;
};

/* inih cuts the names of sections after this many characters. */
#define SECTION_MAX 49

bool oci_class(const char *text, s32 *prio)
{
	int64_t n;

	if (gp__class_prio(text, prio))
		return true;
	if (gp__parse_i64(text, -GP__PRIO_LIMIT, GP__PRIO_LIMIT, &n))
		return false;
	*prio = (s32)n;
	return true;
}

static int refuse(struct reading *r, const char *what, const char *text, const char *why)
{
	if (!*r->error)
		snprintf(r->error, OCI_ERROR_MAX, "%s: %s '%.100s' %s", r->path, what, text, why);
	return 0;
}

static int set_path(struct reading *r, const char *name, const char *value, char field[PATH_MAX])
{
	if (strlen(value) >= PATH_MAX || (*value != '/' && strcmp(name, "runtime") != 0))
		return refuse(r, name, value, "is not an absolute path");
	strcpy(field, value);
	return 1;
}

static int set_oci(struct reading *r, const char *name, const char *value)
{
	if (!strcmp(name, "runtime"))
		return set_path(r, name, value, r->node->runtime);
	if (!strcmp(name, "libraries"))
		return set_path(r, name, value, r->node->libraries);
	if (!strcmp(name, "socket"))
		return set_path(r, name, value, r->node->socket);
	return refuse(r, "[oci] has no key", name, "; it has runtime, libraries and socket");
}

static bool is_same(const struct oci_rule *a, const struct oci_rule *b)
{
	return a->kind == b->kind && a->uid == b->uid && !strcmp(a->name, b->name);
}

static struct oci_rule *get_rule(struct oci_node *n, const struct oci_rule *wanted)
{
	for (u32 i = 0; i < n->nr_rules; i++) {
		if (is_same(&n->rule[i], wanted))
			return &n->rule[i];
	}
	if (n->nr_rules == OCI_RULES_MAX)
		return NULL;
	n->rule[n->nr_rules] = *wanted;
	return &n->rule[n->nr_rules++];
}

/* "default", "namespace NAME" or "user NAME". */
static bool read_section(const char *section, struct oci_rule *rule)
{
	const struct passwd *pw;
	u64 uid;

	*rule = (struct oci_rule){ 0 };
	if (!strncmp(section, "namespace ", 10) && section[10]) {
		rule->kind = OCI_RULE_NAMESPACE;
		snprintf(rule->name, sizeof(rule->name), "%s", section + 10);
		return true;
	}
	if (!strncmp(section, "user ", 5)) {
		rule->kind = OCI_RULE_USER;
		/* cppcheck-suppress getpwnamCalled; this program has one thread */
		pw = getpwnam(section + 5);
		if (!pw && gp__parse_u64(section + 5, 0, UINT32_MAX - 1, &uid))
			return false;
		rule->uid = pw ? pw->pw_uid : (uid_t)uid;
		return true;
	}
	return !strcmp(section, "default");
}

static int take_pair(void *data, const char *section, const char *name, const char *value)
{
	struct reading *r = data;
	struct oci_rule wanted, *rule;
	bool is_max = !strcmp(name, "max_class");

	if (*r->error)
		return 0;
	if (strlen(section) >= SECTION_MAX)
		return refuse(r, "the section", section, "has a name of more than 48 characters");
	if (!strcmp(section, "oci"))
		return set_oci(r, name, value);
	if (!read_section(section, &wanted))
		return refuse(r, "there is no section", section,
			      "; there are oci, default, namespace NAME and user NAME");
	rule = get_rule(r->node, &wanted);
	if (!rule)
		return refuse(r, "the section", section, "is one more than there is room for");
	if (!is_max && strcmp(name, "class") != 0)
		return refuse(r, "there is no key", name, "; there are class and max_class");
	if (!oci_class(value, is_max ? &rule->max : &rule->class))
		return refuse(r, name, value,
			      "is none of online, normal and offline, nor a whole number");
	*(is_max ? &rule->has_max : &rule->has_class) = true;
	return 1;
}

int oci_node_read(struct oci_node *n, const char *path, const char *libraries,
		  char error[OCI_ERROR_MAX])
{
	struct reading r = { .node = n, .path = path, .error = error };
	FILE *f = fopen(path, "re");
	int bad;

	memset(n, 0, sizeof(*n));
	*error = '\0';
	snprintf(n->libraries, sizeof(n->libraries), "%s", libraries);
	strcpy(n->socket, "/run/gpreempt/control.sock");
	if (!f && errno == ENOENT)
		return 0;
	if (!f) {
		snprintf(error, OCI_ERROR_MAX, "%s: %s", path, strerror(errno));
		return -EACCES;
	}
	bad = ini_parse_file(f, take_pair, &r);
	fclose(f);
	if (bad && !*error)
		snprintf(error, OCI_ERROR_MAX, "%s:%d: expected [SECTION] or NAME = VALUE", path,
			 bad);
	return bad ? -EINVAL : 0;
}

const struct oci_rule *oci_node_rule(const struct oci_node *n, const char *namespace, uid_t uid)
{
	const struct oci_rule *found = NULL;

	for (u32 i = 0; i < n->nr_rules; i++) {
		const struct oci_rule *rule = &n->rule[i];

		if (rule->kind == OCI_RULE_NAMESPACE && namespace && !strcmp(rule->name, namespace))
			return rule;
		if (rule->kind == OCI_RULE_USER && rule->uid == uid)
			found = rule;
		else if (rule->kind == OCI_RULE_DEFAULT && !found)
			found = rule;
	}
	return found;
}
