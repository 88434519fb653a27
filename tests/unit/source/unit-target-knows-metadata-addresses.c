/* SPDX-License-Identifier: MIT */
/* Link-local and cloud metadata addresses are told from all others, in whatever form an
 * address comes. */
#include "base/alloc.h"
#include "check.h"
#include "source/target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

static const struct {
	const char *address;
	bool is_allowed;
} cases[] = {
	{"169.254.169.254", false},
	{"169.254.0.0", false},
	{"169.254.255.255", false},
	{"169.253.255.255", true},
	{"169.255.0.0", true},
	{"100.100.100.200", false},
	{"100.100.100.201", true},
	{"168.63.129.16", false},
	{"192.0.0.192", false},
	{"127.0.0.1", true},
	{"10.0.0.1", true},
	{"192.168.1.1", true},
	{"0.0.0.0", true},
	{"255.255.255.255", true},
	{"fe80::1", false},
	{"febf:ffff::1", false},
	{"fec0::1", true},
	{"fe7f::1", true},
	{"fd00:ec2::254", false},
	{"fd00:ec2::23", false},
	{"fd00:ec3::254", true},
	{"::ffff:169.254.169.254", false},
	{"::ffff:127.0.0.1", true},
	{"64:ff9b::169.254.169.254", false},
	{"64:ff9b::8.8.8.8", true},
	{"::1", true},
	{"2001:db8::a9fe:a9fe", true},
};

static bool may_reach(const char *text)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in four = {.sin_family = AF_INET};

	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		return sfs_target_may_reach((struct sockaddr *)&four);
	CHECK_EQ(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
	return sfs_target_may_reach((struct sockaddr *)&six);
}

static void hosts_of_origins(void)
{
	static const char *const origins[][2] = {
		{"https://host:443", "host"},	    {"http://[fe80::1]:80", "[fe80::1]"},
		{"http://169.254.0.1:80", "169.254.0.1"}, {"s3://bucket", "bucket"},
		{"webhdfs://h:9870/a", "h"},	    {"http://[::1", "["},
		{"host", "host"},		    {"", ""}};
	size_t i;

	for (i = 0; i < SFS_COUNT(origins); i++) {
		sfs_autofree char *host = sfs_target_host(origins[i][0]);

		CHECK(strcmp(host, origins[i][1]) == 0);
	}
}

int main(void)
{
	struct sockaddr local = {.sa_family = AF_UNIX};
	char host[64];
	size_t i;

	for (i = 0; i < SFS_COUNT(cases); i++) {
		const char *address = cases[i].address;

		snprintf(host, sizeof host, strchr(address, ':') ? "[%s]" : "%s", address);
		printf("%s\n", address);
		CHECK_EQ(may_reach(address), cases[i].is_allowed);
		CHECK_EQ(sfs_target_may_name(host), cases[i].is_allowed);
	}
	CHECK(!sfs_target_may_name("[fe80::1%25eth0]"));
	CHECK(sfs_target_may_name("metadata.google.internal")); /* its address is seen later */
	CHECK(sfs_target_may_name(""));
	CHECK(sfs_target_may_name("["));
	CHECK(sfs_target_may_name("[]"));
	CHECK(sfs_target_may_name("[fe80::1:2:3:4:5:6:7:8:9:1:2:3:4:5:6:7:8:9]"));
	CHECK(sfs_target_may_reach(&local));
	hosts_of_origins();
	return 0;
}
