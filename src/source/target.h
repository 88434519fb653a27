/* SPDX-License-Identifier: MIT */
/* target - where no server may send us, whoever it is: by a redirect, or by a list that
 * names shards at another server.
 *
 * At link-local addresses, and at a few others, clouds tell each machine its secrets
 * ("instance metadata").  A server that sends us there could have shufflefs fetch them and
 * show them as a shard.  Users may name such an address themselves.
 *
 * Forbidden are 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291); fd00:ec2::/32 (AWS),
 * 100.100.100.200 (Alibaba), 168.63.129.16 (Azure), 192.0.0.192 (Oracle); and the IPv4 ones of these
 * as IPv6 (::ffff:0:0/96, and 64:ff9b::/96 of RFC 6052).  Pure.
 */
#ifndef SFS_TARGET_H
#define SFS_TARGET_H

#include <stdbool.h>

struct sockaddr;

bool sfs_target_may_reach(const struct sockaddr *address);

/* `host` as in a URL: a name, of which nothing is known here, may be reached. */
bool sfs_target_may_name(const char *host);

/* The host of an origin, "https://host:443": as in a URL.  The caller frees it. */
char *sfs_target_host(const char *origin);

/* Why an address or host was not reached, to which a redirect or (false) a list led: a
 * sentence.  The caller frees it. */
char *sfs_target_refusal(const char *where, bool is_redirect);

#endif
