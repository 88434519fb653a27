/* SPDX-License-Identifier: MIT */
/* What needs no server: the environment, a profile, a program.  The others:
 * cat-s3-credentials-come-from-where-aws-looks. */
#include "base/alloc.h"
#include "check.h"
#include "source/http/curl-call.h"
#include "source/s3/aws-credentials.h"

#include <errno.h>
#include <unistd.h>

static atomic_bool is_stopped;
static struct sfs_curl_caller *caller;

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static void finds(const char *key_id, const char *from)
{
	struct sfs_credentials c = {0};
	struct sfs_error err = {0};
	int ret = sfs_aws_credentials_find(NULL, caller, &is_stopped, &c, &err);

	if (ret < 0)
		fprintf(stderr, "%d: %s\n", ret, err.text);
	CHECK_EQ(ret, 0);
	CHECK_STR(c.key_id, key_id);
	CHECK_STR(c.from, from);
	sfs_credentials_done(&c);
}

static void fails(int wanted, const char *why)
{
	struct sfs_credentials c = {0};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_aws_credentials_find(NULL, caller, &is_stopped, &c, &err), wanted);
	CHECK_HAS(err.text, why);
	CHECK(!strstr(err.text, "SECRET"));
	CHECK(!c.key_id);
}

static void check_json(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{",
		"{}",
		"{\"AccessKeyId\":\"A\"}",
		"{\"AccessKeyId\":1}",
		"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"a b\"}",
		"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"B\"} x"};
	static const char good[] =
		"{\"Version\":1,\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"B\","
		"\"Other\":{\"AccessKeyId\":\"no\"},\"SessionToken\":\"C\","
		"\"Expiration\":\"2026-11-25T08:00:01Z\"}";
	struct sfs_credentials c = {0}, same;
	struct sfs_error err = {0};
	size_t i;

	CHECK_EQ(sfs_aws_credentials_read(good, strlen(good), "here", &c, &err), 0);
	same = sfs_credentials_copy(&c);
	sfs_credentials_done(&c);
	CHECK_STR(same.key_id, "A");
	CHECK_STR(same.secret, "B");
	CHECK_STR(same.token, "C");
	CHECK_STR(same.from, "here");
	CHECK_EQ(same.expires_s, 1795593601);
	sfs_credentials_done(&same);
	for (i = 0; i < SFS_COUNT(bad); i++) {
		CHECK_EQ(sfs_aws_credentials_read(bad[i], strlen(bad[i]), "here", &c,
						  &err),
			 -EBADMSG);
		CHECK_HAS(err.text, "from here");
	}
}

int main(void)
{
	static const char *const variables[] = {"AWS_ACCESS_KEY_ID",
						"AWS_SECRET_ACCESS_KEY",
						"AWS_SESSION_TOKEN",
						"AWS_PROFILE",
						"AWS_WEB_IDENTITY_TOKEN_FILE",
						"AWS_ROLE_ARN",
						"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
						"AWS_CONTAINER_CREDENTIALS_FULL_URI"};
	const struct sfs_http_options options = {.connect_timeout_ms = 1000,
						 .stall_timeout_ms = 1000};
	char folder[] = "/tmp/unit-aws-credentials.XXXXXX";
	size_t i;

	for (i = 0; i < SFS_COUNT(variables); i++)
		unsetenv(variables[i]);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "credentials", 1);
	setenv("AWS_CONFIG_FILE", "config", 1);
	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	caller = sfs_curl_caller_new(&options, &is_stopped, NULL);
	CHECK(caller);

	check_json();
	fails(-ENOENT, "");
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/x", 1);
	fails(-EINVAL, "only this machine");
	unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");

	write_file("config",
		   "[default]\ncredential_process = echo "
		   "'{\"AccessKeyId\":\"PROCESS\",\"SecretAccessKey\":\"SECRET\"}'\n"
		   "[profile bad]\ncredential_process = echo SECRET; exit 3\n"
		   "[profile role]\nrole_arn = arn:x\nsource_profile = default\n");
	finds("PROCESS", "the credential_process of profile 'default'");
	write_file("credentials",
		   "[default]\naws_access_key_id = KEYS\naws_secret_access_key = SECRET\n"
		   "[half]\naws_access_key_id = KEYS\n");
	finds("KEYS", "profile 'default'");
	setenv("AWS_PROFILE", "half", 1);
	fails(-EBADMSG, "lack an access key or its secret");
	setenv("AWS_PROFILE", "bad", 1);
	fails(-EIO, "exit status 3");
	setenv("AWS_PROFILE", "role", 1);
	fails(-EOPNOTSUPP, "role_arn");
	setenv("AWS_PROFILE", "none", 1);
	fails(-EINVAL, "no profile 'none'");
	setenv("AWS_ACCESS_KEY_ID", "ENV", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SECRET", 1);
	finds("ENV", "the environment"); /* the profile is not looked for */
	setenv("AWS_SESSION_TOKEN", "a\nSECRET", 1);
	fails(-EBADMSG, "hold a blank");

	sfs_curl_caller_free(caller);
	CHECK(unlink("credentials") == 0 && unlink("config") == 0);
	CHECK(chdir("/") == 0 && rmdir(folder) == 0);
	return 0;
}
