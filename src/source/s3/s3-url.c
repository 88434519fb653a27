/* SPDX-License-Identifier: MIT */
#include "source/s3/s3-url.h"

#include "base/alloc.h"
#include "source/http/key-url.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

int sfs_s3_service_set(struct sfs_s3_service *service, const char *text,
		       struct sfs_error *err)
{
	char *endpoint = sfs_endpoint_read(text, err);

	if (!endpoint)
		return -EINVAL;
	free(service->endpoint);
	service->endpoint = endpoint;
	return 0;
}

void sfs_s3_service_done(struct sfs_s3_service *service)
{
	free(steal(&service->endpoint));
}

/* The service's own URL. */
static char *url_of_service(const struct sfs_s3_service *service, const char *region)
{
	if (service->endpoint)
		return sfs_strdup(service->endpoint);
	return sfs_asprintf("https://s3.%s.amazonaws.com%s", region,
			    strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

static bool is_one_label(const char *bucket)
{
	for (; *bucket; bucket++)
		if (!islower((unsigned char)*bucket) &&
		    !isdigit((unsigned char)*bucket) && *bucket != '-')
			return false;
	return true;
}

char *sfs_s3_url_of_bucket(const struct sfs_s3_service *service, const char *bucket,
			   const char *region)
{
	sfs_autofree char *url = url_of_service(service, region);
	const char *host = strstr(url, "://") + 3;
	bool is_virtual = service->style == SFS_S3_STYLE_VIRTUAL;

	if (service->style == SFS_S3_STYLE_AUTO)
		is_virtual = !service->endpoint && is_one_label(bucket);
	if (is_virtual)
		return sfs_asprintf("%.*s%s.%s/", (int)(host - url), url, bucket, host);
	return sfs_asprintf("%s/%s/", url, bucket);
}

char *sfs_s3_host(const char *url, const char **ret_path)
{
	bool is_tls = strncmp(url, "https://", 8) == 0;
	const char *host = url + (is_tls ? 8 : 7), *port = is_tls ? ":443" : ":80";
	size_t n = strcspn(host, "/?"), n_port = strlen(port);

	*ret_path = host + n;
	if (n > n_port && memcmp(host + n - n_port, port, n_port) == 0)
		n -= n_port;
	return sfs_strndup(host, n);
}
