/* SPDX-License-Identifier: MIT */
/* The configuration, gpreemptd.conf(5). It takes effect only when all of it is valid. */
#ifndef GP__DAEMON_CONFIG_H
#define GP__DAEMON_CONFIG_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/core.h"
#include "daemon/cgroups.h"
#include "daemon/limit.h"
#include "policy/choice.h"

#define GP__CONFIG_PATH_MAX 256
#define GP__CONFIG_DEVICES_MAX 256
#define GP__CONFIG_SUBUIDS_MAX 1024

/* A line of /etc/subuid: @owner may use these uids in its user namespaces. */
struct gp__subuids {
	uid_t owner;
	u32 first, count;
};

struct gp__config {
	char log[GP__CONFIG_PATH_MAX]; /* the decision log's file; "": none */
	char group[64]; /* its members are administrators */
	char subuid[GP__CONFIG_PATH_MAX]; /* like /etc/subuid; "": none */
	gid_t admin_gid;
	bool has_admin_gid;
	bool admins_anywhere; /* administrators may be in other namespaces than the daemon */
	bool hides_users; /* uids that the daemon's user namespace does not map look alike */
	bool warn_unjoined; /* about programs that disturb joined ones */
	bool watch; /* programs that have not joined */
	u64 ttl_ns;
	u64 rank_hold; /* the longest hold of a rank, see gangs.h */
	u64 log_max; /* bytes; 0: no limit */
	bool journal; /* decisions are in systemd's journal, too */
	char metrics[GP__CONFIG_PATH_MAX]; /* where they are served, as in address.h; "": nowhere */
	bool metrics_anywhere; /* not only to this host */
	char devices[GP__CONFIG_DEVICES_MAX]; /* glob patterns of device files, in one line */
	struct gp__choice choice;
	struct gp__limits limits;
	struct gp__cgroup_rule rules[GP__CGROUP_RULES_MAX];
	u32 nr_rules;
	struct gp__subuids subuids[GP__CONFIG_SUBUIDS_MAX];
	u32 nr_subuids;
};

#define GP__CONFIG_ERROR_MAX 512

void gp__config_defaults(struct gp__config *c);
/*
 * Reads the file @path, then the files *.conf in the folder @path.d in the order of their names.
 * Returns 0, or -errno and a sentence in @error that begins with the file and line. Changes @c only
 * on success. Unless @required, a missing file is no error.
 */
int gp__config_read(struct gp__config *c, const char *path, bool required,
		    char error[GP__CONFIG_ERROR_MAX]);

/* The user whose limits apply to @uid: the owner of a subordinate uid, else @uid itself. */
uid_t gp__config_owner(const struct gp__config *c, uid_t uid);
bool gp__config_is_admin(const struct gp__config *c, uid_t uid, const gid_t *gids, size_t nr_gids);

#endif
