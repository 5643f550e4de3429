/* SPDX-License-Identifier: MIT */
/* The address at which metrics are served: unix:PATH, or ADDRESS:PORT with a number for each. */
#ifndef GP__DAEMON_ADDRESS_H
#define GP__DAEMON_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

struct gp__address {
	struct sockaddr_storage socket;
	socklen_t size;
};

#define GP__EXPECT_ADDRESS "unix:PATH, ADDRESS:PORT or [ADDRESS]:PORT"

/* -EINVAL: it is none. */
int gp__address_parse(struct gp__address *a, const char *text);
/* Only this host reaches it. */
bool gp__address_is_local(const struct gp__address *a);
/* Listens there. A Unix socket is for its owner, and replaces one at which nobody listens. Returns
 * a descriptor, or -errno. */
int gp__address_listen(const struct gp__address *a);
/* Lets the group connect to a Unix socket as well. 0 or -errno. */
int gp__address_share(const struct gp__address *a, gid_t gid);
/* Removes the file of a Unix socket. */
void gp__address_remove(const struct gp__address *a);
/* Whether the path is a socket, which may be replaced; a file of another kind may not. */
bool gp__is_socket(const char *path);

#endif
