/* SPDX-License-Identifier: MIT */
/* How this works: a scheme is built in, or a row says which plug-in has it. */
#include "ring/plugin.h"
#include "transport/receiver.h"
#include "transport/transport.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

uint64_t sfs_transport_session(const struct sfs_transport_settings *settings)
{
	uint64_t session = settings->session;

	if (session == 0 && getrandom(&session, sizeof session, 0) != sizeof session)
		session = sfs_clock_ns();
	return session;
}

static const struct {
	const char *scheme;
	const struct sfs_transport_ops *transport; /* NULL: it only receives */
	const struct sfs_receiver_ops *receiver;   /* NULL: it only sends */
} built_in[] = {
	{"local", &sfs_local_ops, NULL},
	{"tcp", &sfs_tcp_ops, &sfs_tcp_receiver_ops},
};

/* The schemes of plug-ins, which may have "+tcp" or "+ipc" behind them. */
static const struct {
	const char *schemes; /* a space before and behind each */
	const char *plugin;
	const char *option;
} plugins[] = {
	{" zpush zpull zpub zsub zrpush zrpull zrpub zrsub ", "zmq", "--with-zmq"},
	{" rdma ", "rdma", "--with-verbs"},
};

static int unknown(const char *url, struct sfs_error *err)
{
	return sfs_error_set(err, -EINVAL,
			     "'%s': unknown scheme; use local:PATH, samples:PATH, "
			     "tcp://HOST:PORT, rdma://HOST:PORT, zpush://HOST:PORT, ...",
			     url);
}

/* Does the list have this word of n bytes? */
static bool has_scheme(const char *schemes, const char *scheme, size_t n)
{
	sfs_autofree char *word = sfs_asprintf(" %.*s ", (int)n, scheme);

	return strstr(schemes, word) != NULL;
}

/* The symbol of the plug-in that has this scheme. */
static int load(size_t which, const char *symbol, const void **ret, struct sfs_error *err)
{
	const struct sfs_plugin plugin = {.name = plugins[which].plugin,
					  .option = plugins[which].option,
					  .symbol = symbol,
					  .version = SFS_TRANSPORT_VERSION};

	return sfs_plugin_load(&plugin, ret, err);
}

_Static_assert(SFS_TRANSPORT_VERSION == SFS_RECEIVER_VERSION, "one version for load()");

static int find(const char *url, bool receives, const void **ret, struct sfs_error *err)
{
	size_t n = strcspn(url, ":"), n_name = strcspn(url, ":+"), i;
	const void *found;

	if (!url[n])
		return unknown(url, err);
	for (i = 0; i < SFS_COUNT(built_in); i++) {
		if (strlen(built_in[i].scheme) != n ||
		    strncmp(url, built_in[i].scheme, n) != 0)
			continue;
		found = receives ? (const void *)built_in[i].receiver
				 : (const void *)built_in[i].transport;
		if (!found)
			break;
		*ret = found;
		return 0;
	}
	for (i = 0; i < SFS_COUNT(plugins); i++)
		if (has_scheme(plugins[i].schemes, url, n_name))
			return load(i,
				    receives ? "sfs_receiver_plugin"
					     : "sfs_transport_plugin",
				    ret, err);
	return unknown(url, err);
}

int sfs_transport_find(const char *target, const struct sfs_transport_ops **ret_ops,
		       struct sfs_error *err)
{
	return find(target, false, (const void **)ret_ops, err);
}

int sfs_receiver_find(const char *source, const struct sfs_receiver_ops **ret_ops,
		      struct sfs_error *err)
{
	return find(source, true, (const void **)ret_ops, err);
}
